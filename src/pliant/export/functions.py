"""What can be exported: each function as a program on the robot's tape, with its arguments in words.

A program is one kernel for the whole robot while that is short, else a loop over the links with a kernel for
each class of them. Names of a robot become identifiers, and files are checked before anything is computed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pliant.algorithm import Carrier, Traced
from pliant.engine.compile.statements import is_whole
from pliant.engine.trace.program import Kernel, RolledProgram
from pliant.engine.trace.roller import rolled, whole
from pliant.engine.trace.structure import Slot, split_tree, structure_key
from pliant.export.programs import (
    BIAS,
    ENERGIES,
    POSE,
    TWIST,
    Resting,
    composite_mass,
    pairs,
    program_of,
    summed,
    unit_tangents,
    with_frames,
    with_marks,
)
from pliant.files import write_generated
from pliant.formulations.recursive.recursions import INVERSE
from pliant.model.description.actuators import refuse_lines
from pliant.tree.tree import Tree

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Mechanism

# of C99, and of C++, which reads the header, too
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
asm bool catch class delete explicit export false friend mutable namespace new operator private protected
public template this throw true try typename using virtual
"""
C_KEYWORDS = frozenset(_KEYWORDS.split())


def word(name: str) -> str:
    """Letters, digits and underscores of a name: ``upper.bend_y.1`` -> ``upper_bend_y_1``."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def words(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Words for several names, all different (also from those already taken)."""
    used = set(taken)
    out = []
    for name in names:
        plain = candidate = word(name)
        k = 2
        while candidate in used:
            candidate, k = f"{plain}_{k}", k + 1
        used.add(candidate)
        out.append(candidate)
    return out


def c_identifier(name: str) -> str:
    """A name that may begin the names of C functions, refused if it cannot."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and name not in C_KEYWORDS:
        return name
    better = word(name).strip("_") or "arm"
    better = f"arm_{better}" if better[0].isdigit() or better in C_KEYWORDS else better
    raise ValueError(
        f"'{name}' is not a C identifier (letters, digits and '_', a letter first, no keyword), but the "
        f"names of the functions begin with it; '{better}' would do"
    )


# ---- where exported files go


def target(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """A path that can be written and ends as it must."""
    out = Path(path)
    if suffixes and out.suffix not in suffixes:
        raise ValueError(f"{out}: the file must end in {' or '.join(suffixes)}")
    if out.is_dir():
        raise ValueError(f"{out}: this is a folder; give the name of a file")
    if not out.parent.is_dir():
        raise ValueError(f"{out}: the folder {out.parent} does not exist")
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise ValueError(f"{out}: it cannot be written (no permission)")
    return out


def write(path: Path, text: str) -> None:
    """Write a text file, the same on every platform."""
    write_generated(path, text, newline="\n")


# ---- what can be exported

UNROLL_MATRIX_BELOW = 200
"""The same for matrices, in pairs of a coordinate and a link below it: about 60 operations each."""

GRAVITY = 3
"""The parameters begin with the vector of gravity; the constants of the links follow."""


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
DYNAMICS = ("forward", "inverse", "bias", "mass_matrix")
"""What every method has."""


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
    of_open_tree: bool = False,
) -> Model:
    """Trace the wanted functions of an arm; ``unroll`` forces whole programs (True) or loops (False).

    ``marks`` leaves a symbol in the array MARK on the tape where a step of a pass begins, for listings. With
    ``of_open_tree`` loops are left open, as ``arm.forces`` and ``arm.mass_matrix`` leave them.
    """
    refuse_lines(arm.robot, "exported code does not know: export a copy of the robot without them")
    if arm.loops.rows and not of_open_tree:
        return _one_carrier(arm, ("forward",), functions, "has closed loops", arm.loops.traced_forward())
    if arm.traced("inverse").carrier is not arm.tree:
        return _one_carrier(arm, DYNAMICS, functions, f"is computed by method '{arm.method.name}'")
    functions, frames = _known(functions), tuple(dict.fromkeys(_listed(frames)))
    wants_frames = any(SIGNATURES[name].per_frame for name in functions)
    if wants_frames and not frames:
        raise ValueError(f"frames is empty; a pose or a Jacobian needs one of {', '.join(arm.frames)}")
    used = frames if wants_frames else ()
    tree = with_frames(arm, used)
    uses = _all_uses(tree)
    exported = tuple(_exported(name, arm, tree, used, unroll, marks) for name in functions)
    read = frozenset().union(*(_parameters_read(each.program) for each in exported))
    return Model(
        name=arm.robot.name,
        mechanism=arm.mechanism,
        tree=tree,
        functions=exported,
        frames=used,
        parameters=parameters(arm, used, of_open_tree=True),
        meanings=tuple(Meaning(owner, names, k in read) for k, (owner, names) in enumerate(uses)),
        structure=structure_key(tree)[:16],
    )


def _one_carrier(
    arm: Dynamics, offered: tuple[str, ...], functions: Sequence[str], why: str, forward: Traced | None = None
) -> Model:
    """Functions over constants that are not those of the robot's own tree: of loops, or of another method."""
    wanted = offered if tuple(functions) == FUNCTIONS else _known(functions)
    others = [name for name in wanted if name not in offered]
    if others:
        names = ", ".join(f"'{loop.name}'" for loop in arm.robot.loops)
        why += f" ({names})" if names else ""
        hint = "" if names else "; method 'recursive' exports all functions"
        raise ValueError(
            f"robot '{arm.robot.name}' {why}; of such a robot {_quoted(offered)} can be exported, "
            f"not {', '.join(others)}{hint}"
        )
    carrier = (forward or arm.traced("inverse")).carrier
    exported = tuple(Exported(SIGNATURES[name], *_of_method(name, arm, forward)) for name in wanted)
    read = frozenset().union(*(_parameters_read(each.program) for each in exported))
    return Model(
        name=arm.robot.name,
        mechanism=arm.mechanism,
        tree=arm.tree,
        functions=exported,
        frames=(),
        parameters=constants_of(carrier),
        meanings=tuple(Meaning(owner, names, k in read) for k, (owner, names) in enumerate(_all_uses(carrier))),
        structure=structure_key(carrier)[:16],
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _of_method(name: str, arm: Dynamics, forward: Traced | None) -> tuple[RolledProgram, tuple[int, ...]]:
    """A function that every method has, as one kernel, and the shape of its output."""
    if name == "forward":
        return whole(*(forward or arm.traced("forward"))), (arm.size,)
    inverse, carrier = arm.traced("inverse")
    if name == "mass_matrix":
        return unit_tangents(inverse, carrier, "a", "mass_matrix"), (arm.size, arm.size)
    if name == "bias":
        return whole(Resting("bias", ("q", "v"), (), "", inverse), carrier), (arm.size,)
    return whole(inverse, carrier), (arm.size,)


def _all_uses(tree: Carrier) -> list[tuple[str, tuple[str, ...]]]:
    """What each parameter stands for: whose it is, and which quantities."""
    uses: list[tuple[str, tuple[str, ...]]] = [("gravity", (axis,)) for axis in "xyz"]
    for link, s in zip(tree.links, split_tree(tree), strict=True):
        uses += [(link.name, names) for names in _uses(s.pattern, len(s.values))]
    return uses


def constants_of(tree: Carrier) -> tuple[float, ...]:
    """Gravity and the constants of all links, in the order in which programs read them."""
    return (
        *tree.gravity.tolist(),
        *(x for split in split_tree(tree) for x in split.values),
    )


def parameters(arm: Dynamics, frames: Sequence[str] = (), *, of_open_tree: bool = False) -> tuple[float, ...]:
    """Gravity and the constants of the links, then those of frames: the parameters of exported functions.

    Frames have constants where pose or jacobian is exported. Of a robot with loops, ``of_open_tree`` gives those of the
    functions that leave the loops open (all CasADi functions but forward).
    """
    if arm.loops.rows and not of_open_tree:
        return constants_of(arm.loops.traced_forward().carrier)
    carrier = arm.traced("inverse").carrier
    return constants_of(with_frames(arm, _listed(frames)) if carrier is arm.tree else carrier)


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


def _exported(
    name: str,
    arm: Dynamics,
    marked: Tree,
    frames: Sequence[str],
    unroll: bool | None,
    marks: bool,
) -> Exported:
    """``marked`` is the tree with its frames as links; only pose and jacobian need it."""
    signature, tree, n = SIGNATURES[name], arm.tree, arm.size
    if name in ("mass_matrix", "jacobian"):
        # damping that couples links leaves no loop over them
        short = tree.drag is not None or (pairs(tree) <= UNROLL_MATRIX_BELOW if unroll is None else unroll)
        if name == "mass_matrix":
            program = composite_mass(tree) if short else rolled(INVERSE, tree, ("a",))
            return Exported(signature, program, (n, n))
        program = unit_tangents(TWIST, marked, "v", "jacobian") if short else rolled(TWIST, marked, ("v",))
        return Exported(signature, program, (len(frames), 6, n))
    if name in ("forward", "inverse"):
        algorithm = arm.traced("forward" if name == "forward" else "inverse").algorithm
    else:
        algorithm = {"bias": BIAS, "energy": ENERGIES, "pose": POSE}[name]
    algorithm = with_marks(algorithm) if marks else algorithm
    program = program_of(algorithm, marked if name == "pose" else tree, unroll)
    if name == "pose":
        return Exported(signature, program, (len(frames), 12))
    if name == "energy":
        if is_whole(program):
            return Exported(signature, summed(program, 3), (3,))
        return Exported(signature, program, (3,), summed=True)
    return Exported(signature, program, (n,))
