"""A robot ready for export: each wanted function as a program, the parameters that all of them read, names.

A program is one kernel for the whole robot while that is short, else a loop over the links with a kernel for
each class of them. Names of a robot become identifiers, and files are checked before anything is computed.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pliant.algorithm import Algorithm, Carrier, PassAlgorithm, Traced
from pliant.engine.compile.statements import is_whole
from pliant.engine.trace.program import Kernel, RolledProgram
from pliant.engine.trace.roller import rolled, whole
from pliant.engine.trace.structure import Slot, split_tree, structure_key
from pliant.export.exported_algorithms import (
    CompositeMass,
    GapAccelerations,
    GapRates,
    Gaps,
    InOrder,
    Multipliers,
    NewtonStep,
    Transmitted,
)
from pliant.export.programs import (
    BIAS,
    ENERGIES,
    POSE,
    TWIST,
    Resting,
    entries,
    pairs,
    program_of,
    unit_tangents,
    with_frames,
    with_marks,
)
from pliant.export.signatures import (
    ALL,
    DERIVATIVES,
    DYNAMICS,
    FUNCTIONS,
    PARAMETERS,
    SIGNATURES,
    Signature,
    known,
    signature,
)
from pliant.files import write_generated
from pliant.formulations.loops.algorithms import LoopForward, LoopInverse
from pliant.formulations.loops.cuts import Plan, preferences
from pliant.formulations.loops.dense_loops import DenseLoops
from pliant.formulations.loops.loops import FAINT, Rows
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


# ---- a robot ready for export

UNROLL_MATRIX_BELOW = 200
"""Pairs of a coordinate and a link below it up to which a matrix is one kernel: about 60 operations each."""

GRAVITY = 3
"""The parameters begin with the vector of gravity; the constants of the links follow."""

OF_PARAMETERS = ("gravity", "constants")
"""What parameters are on a tape."""


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

    @property
    def word(self) -> str:
        """The first quantity that it stands for; numbers of a body's stations have no names of their own."""
        return self.uses[0] if self.uses else "constant"


@dataclass(frozen=True, slots=True)
class Model:
    """A robot ready for export: functions, parameters with what they stand for, names."""

    name: str
    mechanism: Mechanism
    tree: Tree
    functions: tuple[Exported, ...]
    frames: tuple[str, ...]
    joints: tuple[str, ...]
    rows: tuple[str, ...]
    independent: tuple[str, ...]
    parameters: tuple[float, ...]
    meanings: tuple[Meaning, ...]
    structure: str


def model(
    arm: Dynamics,
    functions: Sequence[str] = FUNCTIONS,
    frames: Sequence[str] = ("tip",),
    *,
    unroll: bool | None = None,
    flat: bool = False,
    marks: bool = False,
) -> Model:
    """Trace the wanted functions of an arm; ``unroll`` forces whole programs (True) or loops over links (False).

    flat   every function is one kernel, derivatives too
    marks  a symbol in the array MARK on the tape says where a step of a pass begins, for listings
    """
    refuse_lines(arm.robot, "exported code does not know: export a copy of the robot without them")
    wanted = known(functions_of(arm, functions))
    for each in wanted:
        refused = why_not(arm, each)
        if refused:
            raise ValueError(refused)
    asked = tuple(dict.fromkeys(_listed(frames))) if any(each.per_frame for each in wanted) else None
    if asked is not None and not asked:
        raise ValueError(f"frames is empty; a pose or a Jacobian needs one of {', '.join(arm.frames)}")
    maker = _Maker(arm, asked or (), True if flat else unroll, flat, marks)
    exported = tuple(maker.exported(each) for each in wanted)
    read = frozenset().union(*(_parameters_read(each.program) for each in exported))
    return Model(
        name=arm.robot.name,
        mechanism=arm.mechanism,
        tree=arm.tree,
        functions=exported,
        frames=maker.frames,
        joints=maker.joint_names if any("joints" in each.shape for each in wanted) else (),
        rows=arm.loops.rows if any(each.needs == "loops" for each in wanted) else (),
        independent=arm.independent if arm.loops.rows else (),
        parameters=constants_of(maker.framed),
        meanings=tuple(Meaning(owner, names, k in read) for k, (owner, names) in enumerate(_all_uses(maker.framed))),
        structure=maker.structure(exported),
    )


def sized(arm: Dynamics, functions: Sequence[str], frames: Sequence[str]) -> list[tuple[Signature, tuple[int, ...]]]:
    """The wanted functions with the shapes of their outputs; nothing is traced."""
    wanted = known(functions_of(arm, functions))
    asked = tuple(dict.fromkeys(_listed(frames))) if any(each.per_frame for each in wanted) else ()
    sizes = _Maker(arm, asked, unroll=None, flat=False, marks=False).sizes
    return [(each, each.sized(sizes)) for each in wanted]


def functions_of(arm: Dynamics, functions: Sequence[str]) -> tuple[str, ...]:
    """The wanted functions, where ``all`` stands for every one that a robot has."""
    wanted = _listed(functions)
    if ALL in wanted:
        return tuple(name for name in (*SIGNATURES, *DERIVATIVES) if not why_not(arm, signature(name)))
    if tuple(wanted) == FUNCTIONS:
        return tuple(name for name in FUNCTIONS if not why_not(arm, SIGNATURES[name]))
    return tuple(wanted)


def why_not(arm: Dynamics, wanted: Signature) -> str:
    """Why a function of a robot cannot be exported; empty where it can."""
    robot = f"robot '{arm.robot.name}'"
    if not is_own(arm) and wanted.base not in DYNAMICS:
        offered = ", ".join(f"'{name}'" for name in DYNAMICS)
        return (
            f"{robot} is computed by method '{arm.method.name}'; of such a robot {offered} can be exported, "
            f"not {wanted.name}; method 'recursive' exports all functions"
        )
    if wanted.needs == "loops" and not arm.loops.rows:
        return f"{robot} has no closed loops, so there is no {wanted.name} of it"
    if wanted.needs == "traced inverse" and not (arm.loops.inverse_is_traced and arm.inputs):
        why = "has no drives"
        if arm.inputs:
            why = (
                "has motors that also bend links (pinned shapes), redundant drives, many coordinates or method 'dense'"
            )
        return f"{robot} {why}, so that {wanted.name} has no code of its own; export inverse or forward instead"
    return ""


class _Maker:
    """Programs of one robot, all on the constants of one tree."""

    def __init__(self, arm: Dynamics, frames: tuple[str, ...], unroll: bool | None, flat: bool, marks: bool) -> None:
        self.arm, self.frames, self.unroll, self.flat, self.marks = arm, frames, unroll, flat, marks
        self.closed = bool(arm.loops.rows)
        self.order = tuple(range(arm.size))
        self.tree = carrier_of(arm)
        if isinstance(arm.loops, DenseLoops):
            self.order = arm.loops.constraints.order
        self.own = is_own(arm)
        self.framed: Any = with_frames(arm, frames, self.tree) if self.own else self.tree

    @cached_property
    def joints(self) -> dict[str, int]:
        """Joints whose reactions are given: of each the number of its link; what has no joint has a link's name."""
        found: dict[str, int] = {}
        if self.own:
            for i, link in enumerate(self.tree.links):
                if link.joint or link.body.mass:
                    found.setdefault(link.joint or link.name, i)
        return found

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(self.joints)

    @property
    def sizes(self) -> dict[str, int]:
        """What names in shapes stand for."""
        n, inputs = self.arm.size, len(self.arm.inputs)
        counts = {"frames": len(self.frames), "rows": len(self.arm.loops.rows), "joints": len(self.joints)}
        return {"n": n, "2 n": 2 * n, "inputs + n": inputs + n, "p": len(constants_of(self.framed)), **counts}

    def structure(self, exported: Sequence[Exported]) -> str:
        """A digest of all that decides the code but for the parameters."""
        parts = [structure_key(self.framed)]
        if self.closed:
            parts.append(self.arm.loops.traced_forward().algorithm.name)
        if any("joints" in each.signature.shape for each in exported):
            parts.append(self._source("reactions")[0].name)
        return parts[0][:16] if len(parts) == 1 else hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]

    # ---- one function

    def exported(self, wanted: Signature) -> Exported:
        """A function as a program."""
        shape, n = wanted.sized(self.sizes), self.arm.size
        if wanted.seed:
            return Exported(wanted, self._derivative(*self._source(wanted.base), wanted), shape)
        if wanted.name == "closure_jacobian":
            return Exported(wanted, unit_tangents(*self._source("closure_rate"), entries("v", n), wanted.name), shape)
        if wanted.name in ("mass_matrix", "jacobian"):
            return Exported(wanted, self._matrix(wanted.name), shape)
        algorithm, carrier = self._source(wanted.name)
        program = program_of(algorithm, carrier, self.unroll)
        if wanted.name == "energy":
            if not is_whole(program):
                return Exported(wanted, program, shape, summed=True)
            program = whole(InOrder.of(algorithm, self.order, parts=3), carrier)
        return Exported(wanted, program, shape)

    def _matrix(self, name: str) -> RolledProgram:
        """Mass matrix or Jacobian: one kernel where that is short, else a direction at a time."""
        n, tree, framed = self.arm.size, self.tree, self.framed
        if not self.own:
            return unit_tangents(*self._source("inverse"), entries("a", n), name)
        # damping that couples links leaves no loop over them
        short = tree.drag is not None or self.closed
        short = short or (pairs(tree) <= UNROLL_MATRIX_BELOW if self.unroll is None else self.unroll)
        if name == "mass_matrix":
            return whole(*self._source(name)) if short else rolled(INVERSE, tree, ("a",))
        if not short:
            return rolled(TWIST, framed, ("v",))
        return unit_tangents(self._placed(TWIST, vector=False), framed, entries("v", n), name)

    def _derivative(self, algorithm: Algorithm, carrier: Any, wanted: Signature) -> RolledProgram:
        if wanted.base == "energy":
            algorithm = InOrder.of(algorithm, self.order, parts=3)
        seed, of_parameters = wanted.seed, wanted.seed == PARAMETERS
        if not self.flat:
            seeds = OF_PARAMETERS if of_parameters else (seed,)
            return program_of(algorithm, carrier, True if of_parameters else self.unroll, seeds)
        count = len(constants_of(self.framed)) - GRAVITY
        gravity = [each._replace(role="") for each in entries("gravity", GRAVITY)]
        by = [*gravity, *entries("constants", count)] if of_parameters else entries(seed, self.arm.size)
        return unit_tangents(algorithm, carrier, by, wanted.name)

    def _source(self, name: str) -> tuple[Algorithm, Any]:
        """The algorithm of a function, and the tree that it is of."""
        arm = self.arm
        if name == "forward":
            forward = self._on_loops() if self.closed else arm.traced("forward")
            return self._marked(forward.algorithm), forward.carrier
        if name == "efforts":
            return self._marked(self._efforts), self.tree
        if not self.own:
            inverse = arm.traced("inverse")
            resting = Resting("bias", ("q", "v"), (), "", inverse.algorithm)
            return (resting if name == "bias" else inverse.algorithm), inverse.carrier
        if name in ("inverse", "bias", "energy", "pose"):
            inner: Algorithm = {"inverse": INVERSE, "bias": BIAS, "energy": ENERGIES, "pose": POSE}[name]
            if name == "inverse" and not self.closed:
                inner = arm.traced("inverse").algorithm
            placed = self._placed(self._marked(inner), vector=name in ("inverse", "bias"))
            return placed, self.framed if name == "pose" else self.tree
        return self._whole(name), self.tree

    def _whole(self, name: str) -> Algorithm:
        """An algorithm that has no passes over the links."""
        if name == "mass_matrix":
            return CompositeMass.of(self.order, ())
        if name == "reactions":
            axes = ((i, self.tree.links[i].R_DB.tolist()) for i in self.joints.values())
            joints = tuple((i, tuple(map(tuple, R))) for i, R in axes)
            closing = self._multipliers if self.closed else None
            return Transmitted.of(self.order, self._closures, joints=joints, closing=closing)
        if name == "multipliers":
            return self._multipliers
        if name in ("assemble", "project"):
            return self._newton(name)
        rows = {"closure": Gaps, "closure_rate": GapRates, "closure_acceleration": GapAccelerations}
        return rows[name].of(self.order, self._closures)

    @property
    def _loops(self) -> DenseLoops:
        assert isinstance(self.arm.loops, DenseLoops)
        return self.arm.loops

    @property
    def _closures(self) -> tuple[Any, ...]:
        return self._loops.constraints.closures if self.closed else ()

    @property
    def _multipliers(self) -> Multipliers:
        loops = self._loops
        return Multipliers.of(
            self.order,
            self._closures,
            used=tuple(loops.coordinates.selection.kept),
            row=tuple(loops.constraints.row_scale.tolist()),
            column=tuple(loops.column_scale.tolist()),
        )

    def _newton(self, name: str) -> Algorithm:
        loops, weights = self._loops, preferences(self.arm.mechanism) ** 2
        if name == "assemble":
            weights[[self.arm.names.index(each) for each in self.arm.independent]] = 0.0
        step = NewtonStep.of(
            self.order,
            self._closures,
            kept=loops.closures(loops.coordinates.selection.kept),
            weights=tuple(weights.tolist()),
            scale=tuple(loops.constraints.row_scale.tolist()),
        )
        return replace(step, inputs=SIGNATURES[name].inputs)

    def _on_loops(self, driven: tuple[int, ...] = ()) -> Traced:
        """Accelerations that obey the loops, which are no numbers where a row is lost; flat code does not look."""
        if self.flat:
            return self.arm.loops.traced_forward(driven)
        kept = self._loops.coordinates.selection.kept
        mobility = FAINT * self._loops.resistance(kept)
        return self.arm.loops.traced_forward(driven, Rows(kept, tuple(mobility.tolist())).to_the_end())

    @property
    def _efforts(self) -> Algorithm:
        """Inverse dynamics of the drives on the tree of the other functions."""
        driven = tuple(self.arm.names.index(name) for name in self.arm.inputs)
        if self.closed:
            return self._on_loops(driven).algorithm
        return LoopInverse.of(self.order, (), plan=Plan(), driven=driven, forces=True, pivots=False)

    def _placed(self, algorithm: Algorithm, *, vector: bool) -> Algorithm:
        """An algorithm of the tree in the order of the robot's coordinates."""
        return InOrder.of(algorithm, self.order, vector=vector) if self.closed else algorithm

    def _marked(self, algorithm: Algorithm) -> Algorithm:
        """An algorithm that tells its steps where listings ask for it."""
        if self.marks and isinstance(algorithm, PassAlgorithm):
            return with_marks(algorithm)
        return (
            replace(algorithm, marks=True)
            if self.marks and isinstance(algorithm, LoopForward | LoopInverse)
            else algorithm
        )


def is_own(arm: Dynamics) -> bool:
    """Whether a robot is computed on the tree of its links, or on what another method makes of it."""
    return arm.traced("inverse").carrier is arm.tree


def carrier_of(arm: Dynamics) -> Any:
    """What carries the constants of all exported functions: the tree, the merged one of loops, or a method's own."""
    if isinstance(arm.loops, DenseLoops):
        return arm.loops.constraints.tree
    return arm.traced("inverse").carrier


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


def parameters(arm: Dynamics, frames: Sequence[str] = ()) -> tuple[float, ...]:
    """Gravity and the constants of the links, then those of frames: the parameters of exported functions.

    Frames have constants where pose or jacobian is exported.
    """
    carrier = carrier_of(arm)
    return constants_of(with_frames(arm, _listed(frames), carrier) if is_own(arm) else carrier)


def version() -> str:
    """Version of Pliant; the front door is not imported here, but it is always open."""
    return str(sys.modules["pliant"].__version__)


def _listed(names: Sequence[str]) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


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
