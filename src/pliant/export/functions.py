"""What can be exported: each function as a program on the robot's tape, with its arguments in words.

A program is one kernel for the whole robot while that is short, else a loop over the links with a kernel for
each class of them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.bodies.modal_body import ModalBody
from pliant.engine.backends.evaluator import fitting_program
from pliant.engine.backends.statements import is_whole
from pliant.engine.trace.rolled import Address, Kernel, RolledProgram, rolled, whole
from pliant.engine.trace.structure import Slot, from_slots, split_tree, structure_key
from pliant.engine.trace.tape import Tape, tangents
from pliant.formulations.recursive.composite import mass_matrix
from pliant.formulations.recursive.link import LinkKind
from pliant.formulations.recursive.lowering import rigid_link
from pliant.formulations.recursive.passes import ENERGY, FORWARD, INVERSE, MOTION, Algorithm, LinkView, Pass, Step
from pliant.formulations.recursive.tree import Tree
from pliant.spatial.scalars import Scalar

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Mechanism

UNROLL_MATRIX_BELOW = 200
"""The same for matrices, in pairs of a coordinate and a link below it: about 60 operations each."""

GRAVITY = 3
"""The parameters begin with the vector of gravity; the constants of the links follow."""

MARK = "mark"
"""The array of symbols that nothing reads: their role says which step begins there."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function in words: its inputs, its output, and what they mean."""

    name: str
    inputs: tuple[str, ...]
    output: str
    meaning: str
    per_frame: int = 0


MEANINGS = {
    "q": "coordinates",
    "v": "their rates",
    "a": "accelerations",
    "f": "generalised forces; of drive efforts tau: f = B tau",
    "h": "generalised forces that hold the robot at a = 0",
    "M": "mass matrix, row by row",
    "energies": "kinetic, strain, gravity (J)",
    "poses": "for each frame its position (3, m), then its rotation matrix (9, row by row), base frame",
    "J": "for each frame 6 rows (linear, then angular velocity, base axes) with one column per coordinate",
}
SIGNATURES = {
    each.name: each
    for each in (
        Signature("forward", ("q", "v", "f"), "a", "Forward dynamics: accelerations by articulated bodies."),
        Signature("inverse", ("q", "v", "a"), "f", "Inverse dynamics: forces for given accelerations."),
        Signature("bias", ("q", "v"), "h", "Everything in the equations of motion but M a."),
        Signature("mass_matrix", ("q",), "M", "Mass matrix M(q)."),
        Signature("energy", ("q", "v"), "energies", "Kinetic energy, strain energy, potential of gravity."),
        Signature("pose", ("q",), "poses", "Where the frames of the deformed robot are.", 12),
        Signature("jacobian", ("q",), "J", "Velocities of the frames per unit rate of each coordinate.", 6),
    )
}
FUNCTIONS = tuple(SIGNATURES)


@dataclass(frozen=True, slots=True)
class Exported:
    """A function of a robot: its program, the shape of its output, whether the links' outputs are summed."""

    signature: Signature
    program: RolledProgram
    shape: tuple[int, ...]
    summed: bool = False

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def is_whole(self) -> bool:
        """One kernel for the whole robot, or a loop over its links."""
        return is_whole(self.program)

    @property
    def kernels(self) -> list[Kernel]:
        return [kernel for each in self.program.passes for kernel in each.kernels]


class Meaning(NamedTuple):
    """What a parameter stands for: quantities of a link (or gravity), and whether any function reads it."""

    owner: str
    uses: tuple[str, ...]
    is_read: bool


@dataclass(frozen=True, slots=True)
class Model:
    """A robot ready for export: functions, parameters with what they stand for, names."""

    name: str
    mechanism: Mechanism
    tree: Tree
    functions: tuple[Exported, ...]
    frames: tuple[str, ...]
    parameters: tuple[float, ...]
    meanings: tuple[Meaning, ...]
    structure: str


def model(
    arm: Dynamics,
    functions: Sequence[str] = FUNCTIONS,
    frames: Sequence[str] = ("tip",),
    *,
    unroll: bool | None = None,
    marks: bool = False,
) -> Model:
    """Trace the wanted functions of an arm; ``unroll`` forces whole programs (True) or loops (False).

    ``marks`` leaves a symbol in the array MARK on the tape where a step of a pass begins, for listings.
    """
    if arm.loops.rows:
        return _closed_model(arm, functions)
    functions, frames = _known(functions), tuple(dict.fromkeys(_listed(frames)))
    wants_frames = any(SIGNATURES[name].per_frame for name in functions)
    if wants_frames and not frames:
        raise ValueError(f"frames is empty; a pose or a Jacobian needs one of {', '.join(arm.frames)}")
    used = frames if wants_frames else ()
    tree = with_frames(arm, used)
    uses = _all_uses(tree)
    exported = tuple(_exported(name, arm.tree, tree, used, unroll, marks) for name in functions)
    read = frozenset().union(*(_parameters_read(each.program) for each in exported))
    return Model(
        name=arm.robot.name,
        mechanism=arm.mechanism,
        tree=tree,
        functions=exported,
        frames=used,
        parameters=parameters(arm, used),
        meanings=tuple(Meaning(owner, names, k in read) for k, (owner, names) in enumerate(uses)),
        structure=structure_key(tree)[:16],
    )


def _closed_model(arm: Dynamics, functions: Sequence[str]) -> Model:
    """A robot with loops: its forward dynamics, which runs over a tree of its own with rigid parts merged."""
    wanted = ("forward",) if tuple(functions) == FUNCTIONS else _known(functions)
    if wanted != ("forward",):
        names = ", ".join(f"'{loop.name}'" for loop in arm.robot.loops)
        raise ValueError(
            f"robot '{arm.robot.name}' has closed loops ({names}); of such a robot 'forward' can be exported, "
            f"not {', '.join(name for name in wanted if name != 'forward')}"
        )
    algorithm, tree = arm.loops.traced_forward()
    exported = Exported(SIGNATURES["forward"], whole(algorithm, tree), (arm.size,))
    read = _parameters_read(exported.program)
    return Model(
        name=arm.robot.name,
        mechanism=arm.mechanism,
        tree=arm.tree,
        functions=(exported,),
        frames=(),
        parameters=_values(tree),
        meanings=tuple(Meaning(owner, names, k in read) for k, (owner, names) in enumerate(_all_uses(tree))),
        structure=structure_key(tree)[:16],
    )


def _all_uses(tree: Tree) -> list[tuple[str, tuple[str, ...]]]:
    """What each parameter stands for: whose it is, and which quantities."""
    uses: list[tuple[str, tuple[str, ...]]] = [("gravity", (axis,)) for axis in "xyz"]
    for link, s in zip(tree.links, split_tree(tree), strict=True):
        uses += [(link.name, names) for names in _uses(s.pattern, len(s.values))]
    return uses


def _values(tree: Tree) -> tuple[float, ...]:
    return (
        *tree.gravity.tolist(),
        *(x for split in split_tree(tree) for x in split.values),
    )


def parameters(arm: Dynamics, frames: Sequence[str] = ()) -> tuple[float, ...]:
    """Gravity and the constants of the links, then those of frames: the parameters of exported functions.

    Frames have constants where pose or jacobian is exported.
    """
    if arm.loops.rows:
        return _values(arm.loops.traced_forward().carrier)
    return _values(with_frames(arm, _listed(frames)))


def version() -> str:
    """Version of Pliant; the front door is not imported here, but it is always open."""
    return str(sys.modules["pliant"].__version__)


def _listed(names: Sequence[str]) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _known(functions: Sequence[str]) -> tuple[str, ...]:
    """The names without repetition, refused if there is no such function."""
    from difflib import get_close_matches

    wanted = tuple(dict.fromkeys(_listed(functions)))
    for name in wanted:
        if name not in SIGNATURES:
            close = get_close_matches(str(name), SIGNATURES, n=1)
            hint = f" did you mean '{close[0]}'?" if close else ""
            known = ", ".join(SIGNATURES)
            raise ValueError(f"there is no function '{name}' to export;{hint} choose from {known}")
    if not wanted:
        raise ValueError(f"functions is empty; choose from {', '.join(SIGNATURES)}")
    return wanted


def _parameters_read(program: RolledProgram) -> set[int]:
    """Entries of the parameters that a program reads."""
    out: set[int] = set()
    for each in program.passes:
        reads = [kernel.reads() for kernel in each.kernels]
        for i, k in enumerate(each.kernel_of):
            neighbours = {"own": i, "parent": program.parents[i]}
            neighbours.update({f"child{c}": j for c, j in enumerate(program.children[i])})
            for array, role, index in reads[k]:
                if array == "gravity":
                    out.add(index)
                elif array == "constants":
                    out.add(GRAVITY + program.constant_start[neighbours[role]] + index)
    return out


def _uses(pattern: Any, count: int) -> list[tuple[str, ...]]:
    """For each slot of a link's constants, the quantities that it stands for."""
    found: list[list[str]] = [[] for _ in range(count)]

    def walk(path: str, value: Any) -> None:
        if isinstance(value, Slot):
            found[value.index].append(f"{'-' if value.sign < 0 else ''}{path}")
        elif hasattr(value, "_asdict"):
            for field, each in value._asdict().items():
                walk(field, each)
        elif isinstance(value, list):
            for i, each in enumerate(value):
                walk(f"{path}_{i + 1}", each)

    walk("", pattern)
    return [tuple(names) for names in found]


# ---- frames as links


@dataclass(frozen=True, slots=True)
class FrameKind(LinkKind):
    """A link without inertia and coordinates that marks a frame."""


def with_frames(arm: Dynamics, frames: Sequence[str]) -> Tree:
    """The tree with a massless link at each frame; their constants come after those of the real links."""
    mechanism, links = arm.mechanism, list(arm.tree.links)
    nothing = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
    for name in frames:
        try:
            member, frame = mechanism.frame(name)
        except KeyError:
            known = ", ".join(mechanism.frames)
            raise ValueError(f"robot '{mechanism.name}' has no frame '{name}'; choose from {known}") from None
        parent, seat = arm.tree.frames[f"{mechanism.members[member].name}.{frame}"]
        marked = rigid_link(f"frame {name}", parent, seat, nothing, mechanism.rule, mechanism.size)
        links.append(replace(marked, kind=FrameKind("fixed", 2, 1.0, 0, False)))
    return replace(arm.tree, links=tuple(links))


# ---- algorithms that only exports need


def _at_rest(each: Pass) -> Pass:
    """A pass of the inverse dynamics with all accelerations zero: they cost nothing."""

    def step(view: LinkView) -> dict[str, Any]:
        return each.step(replace(view, inputs={**view.inputs, "a": [0.0] * view.kind.coordinates}))

    return replace(each, step=step)


def _first(each: Pass, count: int) -> Pass:
    """A pass that gives out only the first results of a link."""

    def step(view: LinkView) -> dict[str, Any]:
        values = each.step(view)
        return {**values, "result": values["result"][:count]}

    return replace(each, step=step)


def _of_frames(start: int, stop: int) -> Step:
    """The part of a frame's (R, p, v, w), nothing for a real link."""
    give = MOTION.passes[1].step

    def step(view: LinkView) -> dict[str, Any]:
        if not isinstance(view.kind, FrameKind):
            return {"result": []}
        m = give(view)["result"]
        return {"result": (m[9:12] + m[:9] + m[12:])[start:stop]}

    return step


MOVE, GIVE = MOTION.passes
BIAS = Algorithm("bias", ("q", "v"), tuple(_at_rest(each) for each in INVERSE.passes), INVERSE.output)
ENERGIES = replace(ENERGY, passes=(ENERGY.passes[0], _first(ENERGY.passes[1], 3)))
POSE = replace(MOTION, name="pose", passes=(MOVE, replace(GIVE, step=_of_frames(0, 12))))
TWIST = replace(MOTION, name="twist", passes=(MOVE, replace(GIVE, step=_of_frames(12, 18))))


def _exported(
    name: str,
    tree: Tree,
    marked: Tree,
    frames: Sequence[str],
    unroll: bool | None,
    marks: bool,
) -> Exported:
    """``marked`` is the tree with its frames as links; only pose and jacobian need it."""
    signature, n = SIGNATURES[name], tree.size
    if name in ("mass_matrix", "jacobian"):
        short = _pairs(tree) <= UNROLL_MATRIX_BELOW if unroll is None else unroll
        if name == "mass_matrix":
            program = _composite(tree) if short else rolled(INVERSE, tree, ("a",))
            return Exported(signature, program, (n, n))
        program = _unit_tangents(TWIST, marked, "v") if short else rolled(TWIST, marked, ("v",))
        return Exported(signature, program, (len(frames), 6, n))
    algorithm = {"forward": FORWARD, "inverse": INVERSE, "bias": BIAS, "energy": ENERGIES, "pose": POSE}[name]
    algorithm = _with_marks(algorithm) if marks else algorithm
    program = _program(algorithm, marked if name == "pose" else tree, unroll)
    if name == "pose":
        return Exported(signature, program, (len(frames), 12))
    if name == "energy":
        if is_whole(program):
            return Exported(signature, _summed(program, 3), (3,))
        return Exported(signature, program, (3,), summed=True)
    return Exported(signature, program, (n,))


def _with_marks(algorithm: Algorithm) -> Algorithm:
    """The algorithm with a mark on the tape before every step."""

    def marked(each: Pass) -> Pass:
        def step(view: LinkView) -> dict[str, Any]:
            traced = [x for vector in view.inputs.values() for x in vector]
            if traced:
                traced[0].tape.symbol(Address(MARK, f"{each.name}: {view.name}", 0))
            return each.step(view)

        return replace(each, step=step)

    return replace(algorithm, passes=tuple(marked(each) for each in algorithm.passes))


def _pairs(tree: Tree) -> int:
    """Pairs of a coordinate and a link between it and the base: entries of the mass matrix, by blocks."""
    depth: list[int] = []
    for link in tree.links:
        depth.append(1 + (depth[link.parent] if link.parent >= 0 else 0))
    return sum(link.kind.coordinates * d for link, d in zip(tree.links, depth, strict=True))


def _program(algorithm: Algorithm, tree: Tree, unroll: bool | None) -> RolledProgram:
    if unroll is None:
        return fitting_program(algorithm, tree)
    return whole(algorithm, tree) if unroll else rolled(algorithm, tree)


def _replaced(program: RolledProgram, tape: Tape, outputs: list[Scalar], name: str) -> RolledProgram:
    """A whole program with other outputs."""
    (each,) = program.passes
    kernel = replace(each.kernels[0], tape=tape, outputs=outputs)
    return replace(program, name=name, passes=[replace(each, kernels=[kernel])], outputs=len(outputs))


def _summed(program: RolledProgram, parts: int) -> RolledProgram:
    """The sum over the links of a whole program's outputs."""
    (kernel,) = program.passes[0].kernels
    totals: list[Scalar] = [0.0] * parts
    for i, x in enumerate(kernel.outputs):
        totals[i % parts] = totals[i % parts] + x
    return _replaced(program, kernel.tape, totals, program.name)


def _unit_tangents(algorithm: Algorithm, tree: Tree, seed: str) -> RolledProgram:
    """All derivatives by one input, traced at once: what is zero or one in them costs nothing."""
    program = whole(algorithm, tree)
    (kernel,) = program.passes[0].kernels
    tape, n = kernel.tape, tree.size
    columns = [tangents(kernel.outputs, {tape.symbol(Address(seed, "own", j)).index: 1.0}) for j in range(n)]
    return _replaced(program, tape, [x for row in zip(*columns) for x in row], "jacobian")


def _composite(tree: Tree) -> RolledProgram:
    """The mass matrix by composite bodies: a third of the operations of seeded inverse dynamics or less."""
    program = whole(BIAS, tree)
    tape = Tape()
    constants, start = [], 0
    for s in program.patterns:
        symbols = [tape.symbol(Address("constants", "own", start + k)) for k in range(len(s.values))]
        constants.append(from_slots(s.pattern, symbols.__getitem__))
        start += len(symbols)
    q = [tape.symbol(Address("q", "own", k)) for k in range(tree.size)]
    M = mass_matrix(tree, q, constants)
    return _replaced(program, tape, [x for row in M for x in row], "mass_matrix")
