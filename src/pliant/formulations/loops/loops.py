"""The loops of a robot as a value: those of a tree have no rows, and everything about them is empty.

Loops know the robot only as an open tree in numbers. Nothing here changes with the states that are asked about.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced
from pliant.formulations.loops.algorithms import LoopInverse
from pliant.formulations.loops.closure import merged
from pliant.formulations.loops.cuts import Plan
from pliant.formulations.loops.dense_forms import SINGULAR, Reduced
from pliant.formulations.loops.redundant_drives import redundant_inverse

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism
    from pliant.tree.tree import Tree


class LoopError(ValueError):
    """A closed loop of a robot cannot be handled as asked."""


class PlaneError(LoopError):
    """A loop that is said to move in a plane, and does not."""


class AssemblyError(LoopError):
    """Loops that do not close; ``gaps`` maps their names to (distance in m, angle in rad)."""

    def __init__(self, message: str, gaps: Mapping[str, tuple[float, float]]) -> None:
        super().__init__(message)
        self.gaps = dict(gaps)

    def __reduce__(self) -> tuple[Any, ...]:
        # an exception is made anew from its message alone
        return type(self), (str(self), self.gaps)


class SingularConfigurationError(LoopError):
    """A configuration in which the motion, or what was asked for, is not determined.

    loops      names of the loops that lose a constraint
    condition  condition number there (infinite, or beyond what double precision resolves)
    """

    def __init__(self, message: str, loops: tuple[str, ...], condition: float) -> None:
        super().__init__(message)
        self.loops = loops
        self.condition = condition

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.loops, self.condition)


# ---- the loops of a robot as a value

Floats = NDArray[np.float64]
DenseForm = Literal["dense", "minimal", "platform"]

FAINT = 1e-2
"""Part of a constraint, squared, that the others must leave of it where other rows may say the same better."""

LARGEST = 150
"""Coordinates of a tree up to which an inverse whose code grows with the tree is worth its compilation."""


class OpenTree(Protocol):
    """The robot without its loops, in numbers."""

    mechanism: Mechanism
    tree: Tree

    @property
    def size(self) -> int: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def B(self) -> Floats: ...
    def reference_pose(self) -> Floats: ...
    def traced(self, what: Any) -> Traced: ...
    def evaluator(self, traced: Traced, seed: str = "") -> Any: ...
    def count(self, traced: Traced) -> Any: ...
    def structure(self, traced: Traced) -> str: ...
    def mass_matrix(self, q: Any) -> Floats: ...
    def bias(self, q: Any, v: Any) -> Floats: ...
    def forces(self, q: Any, v: Any, a: Any) -> Floats: ...
    def inverse_derivatives(self, q: Any, v: Any, a: Any) -> Any: ...
    def jacobian(self, frame: str, q: Any) -> Floats: ...
    def pose(self, frame: str, q: Any) -> Any: ...
    def acceleration(self, frame: str, q: Any, v: Any, a: Any) -> Any: ...


class Elimination(NamedTuple):
    """A compiled elimination and the least pivots, behind its results, with which they are good."""

    run: Any
    least_pivots: Floats


class ClosureSlopes(NamedTuple):
    """Derivatives of the rates and accelerations of closures by coordinates and rates (rows, n) each."""

    rate_by_q: Floats
    acceleration_by_q: Floats
    acceleration_by_v: Floats


class Rows(NamedTuple):
    """Numbers of rows that serve about a state, and the least pivots down to which they do."""

    kept: tuple[int, ...]
    least: tuple[float, ...]
    is_last: bool = False

    def to_the_end(self) -> Rows:
        """Rows that serve as long as they are independent at all, where no others serve better."""
        return Rows(self.kept, tuple(SINGULAR / FAINT * x for x in self.least), is_last=True)


class Loops(ABC):
    """The loops of a robot, which may be none.

    rows       names of the constraints: LOOP.x, .y, .z shifts along base axes, .rx, .ry, .rz turns
    stabilise  1/s: rate at which gaps decay in the accelerations (Baumgarte)
    """

    rows: tuple[str, ...]
    stabilise: float
    dense = False
    """Whether accelerations and efforts come from the whole mass matrix, as method ``dense`` has them."""

    def __init__(self, arm: OpenTree) -> None:
        self.arm = arm
        self.driven = tuple(arm.names.index(name) for name in arm.inputs)

    # ---- what there is

    @property
    @abstractmethod
    def rank(self) -> int:
        """Number of independent constraints."""

    @property
    @abstractmethod
    def redundant(self) -> tuple[str, ...]:
        """Names of the constraints that follow from the others (an over-constrained loop)."""

    # ---- coordinates

    @property
    @abstractmethod
    def independent(self) -> tuple[str, ...]:
        """Names of the coordinates whose rates determine all others."""

    @property
    @abstractmethod
    def dependent(self) -> tuple[str, ...]:
        """Names of the coordinates that follow from the others."""

    @property
    @abstractmethod
    def column_scale(self) -> Floats:
        """Change of each coordinate that moves the robot by its own size, or by a radian (n,)."""

    @property
    @abstractmethod
    def extent(self) -> float:
        """Size of the robot, m."""

    @abstractmethod
    def scaled(self, q: Floats) -> Floats:
        """J of the constraints that are used, without units."""

    @abstractmethod
    def require_regular(self, q: Floats) -> None:
        """Raise where the loops lose a constraint."""

    @abstractmethod
    def require_planes(self) -> None:
        """Raise where a loop that is said to move in a plane leaves it."""

    @abstractmethod
    def require_drivable(self, driven: Sequence[int]) -> None:
        """Raise where the motions of drives cannot all be given, because the loops make some follow others."""

    @abstractmethod
    def require_driven(self, q: Floats, driven: Sequence[int]) -> None:
        """Raise where given accelerations of the drives do not determine those of the other coordinates."""

    @property
    @abstractmethod
    def excess_drives(self) -> int:
        """How many drives the loops make follow from the others: their efforts can work against one another."""

    # ---- levels

    @abstractmethod
    def gaps(self, q: Floats) -> Floats:
        """How far the closures are open (rows,)."""

    @abstractmethod
    def rates(self, q: Floats, v: Floats) -> Floats:
        """Relative velocities of the closures' frames (rows,), J v."""

    @abstractmethod
    def bias(self, q: Floats, v: Floats) -> Floats:
        """What J a must cancel (rows,): J' v, and what stabilisation adds."""

    @abstractmethod
    def jacobian(self, q: Floats) -> Floats:
        """J (rows, n): relative velocities of the closures' frames per unit rate of each coordinate; batches, too."""

    @property
    @abstractmethod
    def row_is_length(self) -> tuple[bool, ...]:
        """Whether each row is in metres, or an angle."""

    @abstractmethod
    def open_by(self, q: Floats) -> dict[str, tuple[float, float]]:
        """Loop -> (distance, angle) by which it is open."""

    @abstractmethod
    def largest_gap(self, q: Floats) -> float:
        """The largest gap of all rows, relative to the size of the robot (or in radians)."""

    @abstractmethod
    def slipping(self, q: Floats, v: Floats, tolerance: float) -> str | None:
        """The loop that rates would open by more than this part of the motion, if there is one."""

    @abstractmethod
    def condition(self, q: Floats) -> float:
        """Condition number of the scaled constraints at q; infinite where a loop is singular."""

    @abstractmethod
    def least_condition(self, moving: Sequence[int]) -> float:
        """The least condition number around the reference pose, with all coordinates held but the moving ones."""

    # ---- states on the loops

    @abstractmethod
    def assemble(self, q: Floats, hold: Sequence[str] | None = None, bend: bool | None = None) -> Floats:
        """A configuration near q that closes all loops."""

    @abstractmethod
    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The nearest state on the constraints."""

    @abstractmethod
    def corrected(self, q: Floats, v: Floats, driven: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
        """A state that is nearly closed, or a batch of them, put onto the loops; ``driven`` coordinates stay."""

    @abstractmethod
    def closest(self, q: Floats, held: tuple[int, ...]) -> Floats:
        """Configurations, one or a batch, with loops as nearly closed as coordinates that are not ``held`` get them."""

    @abstractmethod
    def stabilised(self) -> Loops:
        """These loops with gaps that decay in ``forward`` and ``inverse`` (Baumgarte), for simulations."""

    # ---- dynamics

    @abstractmethod
    def traced_forward(self, driven: tuple[int, ...] = (), rows: Rows | None = None) -> Traced:
        """(q, v, f) -> accelerations that close the loops.

        ``driven`` coordinates have their accelerations in f, and their efforts come first in the result. ``rows`` of
        over-constrained loops may become dependent on the way: the results are no numbers there.
        """

    @abstractmethod
    def elimination(self, driven: tuple[int, ...] = ()) -> Elimination:
        """``traced_forward`` compiled, with the least pivots with which its results are good."""

    @abstractmethod
    def rows_at(self, q: Floats) -> Rows:
        """The rows that are most independent at q."""

    @abstractmethod
    def traced_correction(self, driven: tuple[int, ...] = (), kept: tuple[int, ...] | None = None) -> Traced:
        """(q, v) -> a Newton step of q towards closed loops, and v along them; ``driven`` coordinates stay."""

    def forward(self, q: Floats, v: Floats, f: Floats) -> Floats:
        """Accelerations of all coordinates, consistent with the loops."""
        return self._with_driven((), q, v, f)

    @cached_property
    def inverse_is_traced(self) -> bool:
        """Whether the inverse dynamics are recursive: no motor acts on elastic coordinates (pinned modes)."""
        drives_bend = np.count_nonzero(self.arm.B) > len(self.driven)
        determined = not drives_bend and not self.excess_drives and not self.dense
        return determined and (bool(self.rows) or self.arm.size <= LARGEST)

    def inverse(
        self, q: Floats, v: Floats, a: Floats, force: Floats | None = None, preload: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Efforts of the drives and accelerations of all coordinates, from those of the driven ones.

        ``force`` are further generalised forces (n,). Of redundant drives the efforts nearest to a ``preload``.
        """
        others = np.zeros_like(q) if force is None else force
        if self.excess_drives:
            near = np.zeros((*q.shape[:-1], len(self.driven))) if preload is None else preload
            wanted = np.broadcast_to(near, (*q.shape[:-1], len(self.driven)))
            found: tuple[Floats, Floats] = each_state(partial(redundant_inverse, self), q, v, a, others, wanted)
            return found
        if not self.inverse_is_traced:
            both: tuple[Floats, Floats] = each_state(self._dense_inverse, q, v, a, others)
            return both
        driven, m = list(self.driven), len(self.driven)
        given = others.copy()
        given[..., driven] = a
        out = self._with_driven(self.driven, q, v, given)
        return out[..., :m] - others[..., driven], out[..., m:]

    @abstractmethod
    def _with_driven(self, driven: tuple[int, ...], q: Floats, v: Floats, x: Floats) -> Floats:
        """Efforts of driven coordinates and all accelerations; x holds forces, and accelerations of those."""

    def _dense_inverse(self, q: Floats, v: Floats, a: Floats, force: Floats) -> tuple[Floats, Floats]:
        """The inverse dynamics by one dense system, for motors that also act on elastic coordinates."""
        self.require_driven(q, self.driven)
        driven, n = list(self.driven), self.arm.size
        J, b = self.used_rows(q, v)
        M, h, B = self.arm.mass_matrix(q), self.arm.bias(q, v), self.arm.B
        others = [k for k in range(n) if k not in driven]
        nothing = np.zeros((len(J), B.shape[1] + len(J)))
        A = np.block([[M[:, others], -B, -J.T], [J[:, others], nothing]])
        x = np.linalg.solve(A, -np.concatenate([h + M[:, driven] @ a - force, b + J[:, driven] @ a]))
        every = np.zeros(n)
        every[driven], every[others] = a, x[: len(others)]
        return x[len(others) : len(others) + B.shape[1]], every

    @abstractmethod
    def kept_at(self, q: Floats) -> list[int]:
        """The rows that are used at a configuration."""

    @abstractmethod
    def used_rows(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """J and bias of the constraints that are used at a state."""

    @abstractmethod
    def closure_slopes(self, q: Floats, v: Floats, a: Floats) -> ClosureSlopes:
        """How the rates J v and accelerations J a + J' v of the closures that are used change with the state."""

    @abstractmethod
    def forward_dense(self, form: DenseForm, q: Floats, v: Floats, f: Floats) -> Floats:
        """Accelerations of one state through dense matrices."""

    @abstractmethod
    def reduced(
        self, q: Floats, v: Floats, independent: Sequence[str] | None = None, platform: str | None = None
    ) -> Reduced:
        """The model in independent rates; see ``Dynamics.reduced``."""

    @abstractmethod
    def multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces and moments of the closures along their rows (rows,)."""

    @abstractmethod
    def multipliers_beside_drives(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces of the closures (rows,) where f has no efforts of the drives: these give what the motion needs."""

    @abstractmethod
    def closing_wrenches(self, q: Floats, multipliers: Floats) -> list[tuple[str, Floats]]:
        """(frame, force and moment on it in base axes (6,)) of the closures' multipliers (rows,)."""

    @abstractmethod
    def kept_multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        """Forces of the closures (rows,) with none along redundant rows, as the accelerations are computed."""

    @abstractmethod
    def closing_stiffness(self, q: Floats, multipliers: Floats) -> Floats:
        """Derivative by q (n, n) of the closing forces J^T lambda at constant ``kept_multipliers`` (rows,)."""

    @abstractmethod
    def closing_slopes(self, q: Floats, multipliers: Floats, kept: Sequence[int]) -> Floats:
        """Derivatives by q (count, n, n) of the closing forces of kept rows at states (count, n), multipliers held."""

    @abstractmethod
    def sensitivities(
        self, q: Floats, v: Floats, a: Floats, f: Floats, driven: Sequence[int] = ()
    ) -> tuple[Floats, Floats, Floats]:
        """Derivatives (n, n) of the accelerations a of one state under the forces f by q, v and the forces.

        Accelerations of ``driven`` coordinates are given; f then holds what drives them.
        """

    @abstractmethod
    def operations(self, what: Literal["forward", "inverse"]) -> Any:
        """Operations of one evaluation."""


@final
class NoLoops(Loops):
    """The loops of a tree: no rows, and everything about them is empty."""

    rows = ()
    stabilise = 0.0
    rank = 0
    redundant = ()
    excess_drives = 0

    def __init__(self, arm: OpenTree) -> None:
        super().__init__(arm)
        self._prescribed: dict[tuple[int, ...], Traced] = {}

    # ---- coordinates

    @property
    def independent(self) -> tuple[str, ...]:
        return self.arm.names

    @property
    def dependent(self) -> tuple[str, ...]:
        return ()

    @property
    def column_scale(self) -> Floats:
        return np.ones(self.arm.size)

    @property
    def extent(self) -> float:
        return 1.0

    def scaled(self, q: Floats) -> Floats:
        return np.zeros((0, self.arm.size))

    def require_regular(self, q: Floats) -> None:
        pass

    def require_planes(self) -> None:
        pass

    def require_drivable(self, driven: Sequence[int]) -> None:
        pass

    def require_driven(self, q: Floats, driven: Sequence[int]) -> None:
        pass

    # ---- levels

    def gaps(self, q: Floats) -> Floats:
        return np.zeros((*q.shape[:-1], 0))

    def rates(self, q: Floats, v: Floats) -> Floats:
        return np.zeros((*q.shape[:-1], 0))

    def bias(self, q: Floats, v: Floats) -> Floats:
        return np.zeros((*q.shape[:-1], 0))

    def jacobian(self, q: Floats) -> Floats:
        return np.zeros((*q.shape[:-1], 0, self.arm.size))

    @property
    def row_is_length(self) -> tuple[bool, ...]:
        return ()

    def open_by(self, q: Floats) -> dict[str, tuple[float, float]]:
        return {}

    def largest_gap(self, q: Floats) -> float:
        return 0.0

    def slipping(self, q: Floats, v: Floats, tolerance: float) -> str | None:
        return None

    def condition(self, q: Floats) -> float:
        return 1.0

    def least_condition(self, moving: Sequence[int]) -> float:
        return 1.0

    # ---- states on the loops

    def assemble(self, q: Floats, hold: Sequence[str] | None = None, bend: bool | None = None) -> Floats:
        return q

    def project(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        return q, v

    def corrected(self, q: Floats, v: Floats, driven: tuple[int, ...] = ()) -> tuple[Floats, Floats]:
        return q, v

    def closest(self, q: Floats, held: tuple[int, ...]) -> Floats:
        return q

    def stabilised(self) -> Loops:
        return self

    # ---- dynamics

    def traced_forward(self, driven: tuple[int, ...] = (), rows: Rows | None = None) -> Traced:
        if not driven:
            return self.arm.traced("forward")
        if driven not in self._prescribed:
            short = merged(self.arm.tree)
            algorithm = LoopInverse.of(short.order, (), plan=Plan(), driven=driven, forces=True, pivots=False)
            self._prescribed[driven] = Traced(algorithm, short.tree)
        return self._prescribed[driven]

    def elimination(self, driven: tuple[int, ...] = ()) -> Elimination:
        return Elimination(self.arm.evaluator(self.traced_forward(driven)), np.zeros(0))

    def rows_at(self, q: Floats) -> Rows:
        return Rows((), ())

    def traced_correction(self, driven: tuple[int, ...] = (), kept: tuple[int, ...] | None = None) -> Traced:
        raise NotImplementedError

    def _with_driven(self, driven: tuple[int, ...], q: Floats, v: Floats, x: Floats) -> Floats:
        run = self.arm.evaluator(self.traced_forward(driven))
        out: Floats = run.batch(q, v, x) if q.ndim == 2 else run(q, v, x)
        return out

    def kept_at(self, q: Floats) -> list[int]:
        return []

    def used_rows(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        return np.zeros((0, self.arm.size)), np.zeros(0)

    def closure_slopes(self, q: Floats, v: Floats, a: Floats) -> ClosureSlopes:
        none = np.zeros((0, self.arm.size))
        return ClosureSlopes(none, none, none)

    def forward_dense(self, form: DenseForm, q: Floats, v: Floats, f: Floats) -> Floats:
        if str(form) != "dense":
            raise ValueError(f"solver is {form!r}; it must be 'recursive' or 'dense'")
        from scipy.linalg import cho_factor, cho_solve

        solved: Floats = cho_solve(cho_factor(self.arm.mass_matrix(q)), f - self.arm.bias(q, v))
        return solved

    def reduced(
        self, q: Floats, v: Floats, independent: Sequence[str] | None = None, platform: str | None = None
    ) -> Reduced:
        if independent is not None or platform is not None:
            raise ValueError(f"robot '{self.arm.mechanism.name}' has no loops; all its coordinates are independent")
        n = self.arm.size
        return Reduced(self.arm.mass_matrix(q), self.arm.bias(q, v), np.eye(n), np.zeros(n), self.arm.names)

    def multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        return np.zeros(0)

    def multipliers_beside_drives(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        return np.zeros(0)

    def closing_wrenches(self, q: Floats, multipliers: Floats) -> list[tuple[str, Floats]]:
        return []

    def kept_multipliers(self, q: Floats, v: Floats, a: Floats, f: Floats) -> Floats:
        return np.zeros(0)

    def closing_stiffness(self, q: Floats, multipliers: Floats) -> Floats:
        return np.zeros((self.arm.size, self.arm.size))

    def closing_slopes(self, q: Floats, multipliers: Floats, kept: Sequence[int]) -> Floats:
        return np.zeros((len(q), self.arm.size, self.arm.size))

    def sensitivities(
        self, q: Floats, v: Floats, a: Floats, f: Floats, driven: Sequence[int] = ()
    ) -> tuple[Floats, Floats, Floats]:
        n, d = self.arm.size, self.arm.inverse_derivatives(q, v, a)
        free = [i for i in range(n) if i not in driven]
        right = np.hstack([-d.q, -d.v, np.eye(n)])[free]
        x = np.zeros((n, 3 * n))
        x[free] = np.linalg.solve(d.a[np.ix_(free, free)], right)
        return x[:, :n], x[:, n : 2 * n], x[:, 2 * n :]

    def operations(self, what: Literal["forward", "inverse"]) -> Any:
        return self.arm.count(self.arm.traced(what))


def each_state(f: Callable[..., Any], *inputs: Floats) -> Any:
    """A function of one state, or of each state of a batch."""
    if inputs[0].ndim == 1:
        return f(*inputs)
    found = [f(*state) for state in zip(*inputs, strict=True)]
    return tuple(map(np.array, zip(*found, strict=True))) if isinstance(found[0], tuple) else np.array(found)
