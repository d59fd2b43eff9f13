"""The static problem of a robot under loads that a factor scales: forces that should balance, and their exact tangent.

    h(q, v) - f(q, s) - B tau - J^T lambda = 0,   B^T (q - q0) = 0 (held drives),   gaps(q) = 0

Actuators along lines add their pushes; those that hold their length l add F (dl/dq)^T and l(q) = l(q0).

The factor s multiplies what grows: given loads, gravity, or everything at once. The tangent by q has three parts:
that of the robot, of the loads (J^T w turns with q) and of the closing forces of the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.line_forces import LineAt, RestingLines
from pliant.bodies.words import words_of

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.tree_dynamics import TreeDynamics

Floats = NDArray[np.float64]

Loads = Mapping[str, ArrayLike]
"""Frame -> force (3,), or force and moment (6,), on it."""

RESIDUAL = 1e-10
"""Unbalanced force, relative to the largest force in the robot, at which a state counts as equilibrium."""
WEIGHT, STRAIN = 1e-4, 1e-16
"""Part of weight times reach, and motion (rad, m) against stiffness: RESIDUAL times their forces is rounding."""
LINE = 1e-5
"""Part of stiffness times length of springs along lines: RESIDUAL times it is the rounding of their lengths."""
STEPS = 60
SHORTEST = 1e-4
"""Smallest part of a Newton step that is still tried."""
MOST_AWAY = 8
"""Newton steps, no part of which brings the forces closer to balance, after which it leads nowhere."""
FALLS = -1e-9
"""Stiffness, of coordinates scaled to one, below which a state is unstable."""
RANK = 1e-13
"""Least singular value of the scaled Newton matrix that is not rounding."""
SYMMETRIC = 1e-7
"""Part of a tangent that its skew part may be: loads that follow, and moments, have no potential."""


class NoEquilibriumError(ValueError):
    """No state of rest was found."""


class FrameLoad(NamedTuple):
    """Force and moment (6,) on a frame, along base axes or (follows) its own; grows: the factor multiplies it."""

    frame: str
    value: Floats
    follows: bool
    grows: bool


def wrenches(given: Loads | None, *, follows: bool = False, grows: bool = False) -> list[FrameLoad]:
    """Loads as a user gives them."""
    return [FrameLoad(frame, _wrench(frame, value), follows, grows) for frame, value in (given or {}).items()]


def _wrench(frame: str, given: ArrayLike) -> Floats:
    values = np.asarray(given, dtype=float)
    if values.shape not in ((3,), (6,)) or not np.isfinite(values).all():
        raise ValueError(
            f"the load on '{frame}' is {values.tolist()}; it must be 3 numbers (force) or 6 (force and moment)"
        )
    return np.concatenate([values, np.zeros(6 - len(values))])


def wrench_force(arm: Dynamics, q: Floats, loads: Sequence[FrameLoad]) -> Floats:
    """Generalised forces (n,) of loads, J^T w."""
    total = np.zeros(arm.size)
    for load in loads:
        total += arm.jacobian(load.frame, q).T @ _along_base(arm, q, load)
    return total


def wrench_stiffness(arm: TreeDynamics, q: Floats, loads: Sequence[FrameLoad]) -> Floats:
    """Derivative by q (n, n) of the generalised forces of loads, exact.

    The acceleration of a frame at a = 0 is quadratic in v: its polar form is the symmetric part. The columns of the
    angular Jacobian obey d_i w_j - d_j w_i = w_i x w_j, which is the rest.
    """
    n = arm.size
    total = np.zeros((n, n))
    if not any(load.value.any() for load in loads):
        return total
    i, j = np.triu_indices(n)
    unit = np.eye(n)
    v = unit[i] + np.where(i == j, 0.0, 1.0)[:, None] * unit[j]
    still = np.zeros_like(v)
    for load in loads:
        w = _along_base(arm, q, load)
        turned = arm.acceleration(load.frame, np.broadcast_to(q, v.shape).copy(), v, still)
        work = turned.linear @ w[:3] + turned.angular @ w[3:]
        square = np.zeros((n, n))
        square[i, j] = square[j, i] = work
        own = np.diag(square).copy()
        polar = (square - own[:, None] - own[None, :]) / 2
        np.fill_diagonal(polar, own)
        J = arm.jacobian(load.frame, q)
        # rows are forces, columns the coordinates that move
        total += polar - np.einsum("ai,abc,bj,c->ij", J[3:], LEVI_CIVITA, J[3:], w[3:]) / 2
        if load.follows:
            # d_j (R w) = w_j x (R w)
            for part in (slice(0, 3), slice(3, 6)):
                total += J[part].T @ np.cross(J[3:].T, w[part]).T
    return total


LEVI_CIVITA = np.array([[[(i - j) * (j - k) * (k - i) / 2 for k in range(3)] for j in range(3)] for i in range(3)])


def _along_base(arm: TreeDynamics, q: Floats, load: FrameLoad) -> Floats:
    if not load.follows:
        return load.value
    R = arm.pose(load.frame, q).rotation
    return np.concatenate([R @ load.value[:3], R @ load.value[3:]])


def coordinate_sizes(arm: Dynamics, q: Floats) -> Floats:
    """Change of each coordinate that moves some place of the robot by its reach, or turns it by a radian (n,)."""
    length, most = arm.reach, np.zeros(arm.size)
    for member in arm.mechanism.members:
        for end in ("root", "tip"):
            J = arm.jacobian(f"{member.name}.{end}", q)
            most = np.maximum(most, np.maximum(np.linalg.norm(J[:3], axis=0) / length, np.linalg.norm(J[3:], axis=0)))
    # many shapes leave both ends where they are
    members = {member.name: member for member in arm.mechanism.members}
    for link in arm.robot.links:
        inside = words_of(link, arm.robot).largest_motions(length)
        if inside is not None:
            place = members[link.name].elastic
            most[place] = np.maximum(most[place], inside)
    return 1.0 / np.where(most > 0, most, 1.0)


Rows = NDArray[np.int64]
"""Numbers of the robots of which something is asked."""


def newton(
    residuals: Callable[[Rows, Floats], tuple[Floats, Floats]],
    steps: Callable[[Rows, Floats, Floats], Floats],
    x: Floats,
    most: int = STEPS,
) -> tuple[Floats, Floats, int]:
    """States at rest (robots, size) by Newton's method, their errors, and how many steps it took; for many at a time.

    Each step is shortened until it brings the forces of its robot closer to balance. Where none does so again and
    again, or where there are no numbers, the error stays above RESIDUAL.

    residuals  (robots, states of these) -> residuals (robots, size) and errors (robots,)
    steps      (robots, states, residuals of these) -> whole Newton steps
    """
    x, everyone = x.copy(), np.arange(len(x))
    residual, error = residuals(everyone, x)
    away = np.zeros(len(x), dtype=int)
    for count in range(most):
        going = everyone[(error > RESIDUAL) & np.isfinite(error) & (away <= MOST_AWAY)]
        if not len(going):
            return x, error, count
        before, full = x[going], steps(going, x[going], residual[going])
        left, part = np.arange(len(going)), 1.0
        while len(left):
            leads_away = part <= SHORTEST
            share = 1.0 if leads_away else part
            trial = before[left] + share * full[left]
            found, worse = residuals(going[left], trial)
            good = (worse < error[going[left]]) | leads_away
            taken = going[left[good]]
            x[taken], residual[taken], error[taken] = trial[good], found[good], worse[good]
            away[taken] += leads_away
            left, part = left[~good], part / 2
    return x, error, most


def relative_error(forces: Floats, conditions: Floats, largest: Floats | float) -> Any:
    """Largest unbalanced force, of the largest force in a robot, or violated condition; along the last axis."""
    worst = np.abs(forces).max(axis=-1, initial=0.0) / np.where(np.asarray(largest) > 0, largest, 1.0)
    return np.maximum(worst, np.abs(conditions).max(axis=-1, initial=0.0))


class Statics:
    """Unknown x: coordinates, efforts (unless given) and forces of the loops; and the factor of what grows.

    tau              efforts that are given; None: the drives hold their motor angles as they are at q0
    gravity_grows    whether the factor multiplies gravity
    efforts_grow     whether it multiplies given efforts
    oil_gives_way    whether tangents count the oil of cylinders as springs; else their lengths are held
    """

    oil_gives_way: bool = False

    def __init__(
        self,
        arm: Dynamics,
        q0: Floats,
        *,
        tau: Floats | None = None,
        loads: Sequence[FrameLoad] = (),
        v: Floats | None = None,
        gravity_grows: bool = False,
        efforts_grow: bool = False,
    ) -> None:
        self.arm, self.q0, self.loads = arm, q0, tuple(loads)
        self.held = tau is None
        self.tau = np.zeros(len(arm.inputs)) if tau is None else tau
        self.rows = len(arm.loops.rows)
        self.v = np.zeros(arm.size) if v is None else v
        self.still = np.zeros(arm.size)
        self.gravity_grows, self.efforts_grow = gravity_grows, efforts_grow
        self.lines = RestingLines(arm) if arm.robot.actuators else None
        if self.lines is not None:
            self.lines.require_rest(q0, self.v)
        self.lengths = np.array([line.length for line in self._holding(q0)])
        # where all forces vanish, as in a pendulum that hangs straight, rounding is not compared with rounding
        weight = arm.robot.mass * float(np.linalg.norm(arm.robot.gravity))
        self.largest = max(WEIGHT * weight * arm.reach, STRAIN * float(np.abs(arm.stiffness).max(initial=0.0)))
        if self.lines is not None:
            self.largest = max(self.largest, LINE * self.lines.size(q0))

    def all_growing(self) -> Statics:
        """The problem with gravity and every load and effort multiplied by the factor."""
        loads = [load._replace(grows=True) for load in self.loads]
        tau = None if self.held else self.tau
        return Statics(self.arm, self.q0, tau=tau, loads=loads, v=self.v, gravity_grows=True, efforts_grow=True)

    def start(self) -> Floats:
        """The coordinates q0, without forces."""
        return np.concatenate([self.q0, np.zeros((len(self.tau) if self.held else 0) + len(self.lengths) + self.rows)])

    def _holding(self, q: Floats) -> list[LineAt]:
        """The lines that hold their length."""
        if self.lines is None:
            return []
        every = self.lines.at(q)
        return [every[k] for k in self.lines.holding]

    def pushes(self, x: Floats) -> Floats:
        """Pushes of the lines that hold their length."""
        n = self.arm.size + (len(self.tau) if self.held else 0)
        return x[n : n + len(self.lengths)]

    def line_loads(self, x: Floats) -> list[FrameLoad]:
        """Pushes of all lines as forces on frames."""
        if self.lines is None:
            return []
        at = self.lines.at(x[: self.arm.size])
        return self.lines.wrenches(at, self.lines.rest(at, self.pushes(x)))

    def _line_force(self, x: Floats) -> Floats:
        """Generalised forces (n,) of all lines."""
        if self.lines is None:
            return np.zeros(self.arm.size)
        at = self.lines.at(x[: self.arm.size])
        return self.lines.force(at, self.lines.rest(at, self.pushes(x)))

    def split(self, x: Floats, s: float = 1.0) -> tuple[Floats, Floats, Floats]:
        """Coordinates, efforts and forces of the loops."""
        n, m = self.arm.size, len(self.tau) if self.held else 0
        given = self.tau * (s if self.efforts_grow else 1.0)
        return x[:n], x[n : n + m] if self.held else given, x[n + m + len(self.lengths) :]

    # ---- forces

    def at(self, s: float) -> list[FrameLoad]:
        """The loads at a factor."""
        return [load._replace(value=s * load.value) if load.grows else load for load in self.loads]

    def _balance(self, x: Floats, s: float) -> Floats:
        """Unbalanced forces (n,)."""
        q, tau, closing = self.split(x, s)
        h = self.arm.bias(q, self.v)
        # weight, springs and strain
        resting = self.arm.bias(q, self.still) if self.v.any() else h
        if self.gravity_grows:
            h = h - (1.0 - s) * self.arm.gravity(q)
        loads = wrench_force(self.arm, q, self.at(s))
        drive = self.arm.B @ tau
        loops = self.arm.loops.jacobian(q).T @ closing
        lines = self._line_force(x)
        parts = np.concatenate([resting, drive, loops, loads, lines, self.arm.stiffness @ q])
        size = float(np.abs(parts).max(initial=0.0))
        # a pendulum at its bottom feels none of the forces that brought it there
        self.largest = max(self.largest, size if np.isfinite(size) else 0.0)
        return np.asarray(h - loads - drive - loops - lines)

    def _conditions(self, x: Floats) -> Floats:
        q = self.split(x)[0]
        held = self.arm.B.T @ (q - self.q0) if self.held else np.zeros(0)
        lengths = np.array([line.length for line in self._holding(q)]) - self.lengths
        return np.concatenate([held, lengths, self.arm.loops.gaps(q)])

    def residual(self, x: Floats, s: float = 1.0) -> tuple[Floats, float]:
        """Unbalanced forces and violated conditions, and the largest of them relative to their sizes."""
        forces, conditions = self._balance(x, s), self._conditions(x)
        if not np.isfinite(forces).all():
            return np.concatenate([forces, conditions]), np.inf
        return np.concatenate([forces, conditions]), float(relative_error(forces, conditions, self.largest))

    def unbalanced(self, x: Floats, s: float = 1.0) -> float:
        """Largest unbalanced generalised force."""
        return float(np.abs(self._balance(x, s)).max(initial=0.0))

    def error(self, x: Floats, s: float = 1.0) -> float:
        """Unbalanced forces and violated conditions, relative to their sizes."""
        return self.residual(x, s)[1]

    def push(self, x: Floats) -> Floats:
        """Generalised forces (n,) per unit of the factor."""
        q = self.split(x)[0]
        total = wrench_force(self.arm, q, [load for load in self.loads if load.grows])
        if self.gravity_grows:
            total = total - self.arm.gravity(q)
        if self.efforts_grow and not self.held:
            total = total + self.arm.B @ self.tau
        return total

    # ---- tangents

    def stiffness(self, x: Floats, s: float = 1.0) -> Floats:
        """K (n, n): how the unbalanced forces change with q, at constant efforts and forces of the loops."""
        arm, (q, tau, _) = self.arm, self.split(x, s)
        K = arm.force_derivative("q", q, self.v, self.still) - wrench_stiffness(arm, q, self.at(s))
        if self.lines is not None:
            at = self.lines.at(q)
            rest = self.lines.vibrating if self.oil_gives_way else self.lines.rest
            K = K - self.lines.stiffness(q, at, rest(at, self.pushes(x)))
        if self.gravity_grows and s != 1.0:
            K = K - (1.0 - s) * arm.gravity_derivative(q)
        if self.rows:
            f = arm.B @ tau + wrench_force(arm, q, self.at(s)) + self._line_force(x)
            if self.gravity_grows:
                f = f + (1.0 - s) * arm.gravity(q)
            K = K - arm.loops.closing_stiffness(q, arm.loops.kept_multipliers(q, self.v, self.still, f))
        return np.asarray(K)

    def constraints(self, q: Floats) -> Floats:
        """What may not move (k, n): held motor angles and loops."""
        J = self.arm.loops.jacobian(q)
        rows = [line.row for line in self._holding(q)]
        if self.oil_gives_way and self.lines is not None:
            rows = list(self.lines.rigid_rows(self.lines.at(q)).values())
        return np.vstack([*([self.arm.B.T] if self.held else []), *rows, J])

    def settled(self, x: Floats, s: float = 1.0, most: int = STEPS) -> tuple[Floats, float, int]:
        """The state at rest near x at a constant factor, its error, and the Newton steps that it took."""

        def residuals(rows: Rows, x: Floats) -> tuple[Floats, Floats]:
            residual, error = self.residual(x[0], s)
            return residual[None], np.array([error])

        def steps(rows: Rows, x: Floats, residual: Floats) -> Floats:
            return self._solve(x[0], s, -residual[0])[None]

        found, error, count = newton(residuals, steps, x[None], most)
        return found[0], float(error[0]), count

    def newton(self, x: Floats, s: float) -> Floats:
        """One Newton step of x at a constant factor."""
        return self._solve(x, s, -self.residual(x, s)[0])

    def slope(self, x: Floats, s: float) -> Floats:
        """Change of x per unit of the factor along the path of equilibria."""
        return self._solve(x, s, np.concatenate([self.push(x), np.zeros(len(x) - self.arm.size)]))

    def correct(self, x: Floats, s: float, row: Floats, entry: float, value: float) -> tuple[Floats, float]:
        """The Newton step of x and the factor on the plane row dq + entry ds = value."""
        both = self._solve(x, s, np.append(-self.residual(x, s)[0], value), (row, entry))
        return both[:-1], float(both[-1])

    def direction(self, x: Floats, s: float, row: Floats, entry: float) -> tuple[Floats, float]:
        """The tangent of the path of equilibria, on the side of (row, entry)."""
        both = self._solve(x, s, np.append(np.zeros(len(x)), 1.0), (row, entry))
        return both[:-1], float(both[-1])

    def _solve(self, x: Floats, s: float, right: Floats, border: tuple[Floats, float] | None = None) -> Floats:
        """Changes of x, and with a border of the factor, that change the residual by the right-hand side."""
        A = self.constraints(self.split(x)[0])
        n, size = self.arm.size, len(right)
        matrix = np.zeros((size, size))
        matrix[:n, :n] = self.stiffness(x, s)
        matrix[:n, n : len(x)], matrix[n : len(x), :n] = -A.T, A
        if border is not None:
            matrix[:n, -1], matrix[-1, :n], matrix[-1, -1] = -self.push(x), *border
        if not np.isfinite(matrix).all() or not np.isfinite(right).all():
            return np.full(len(right), np.nan)
        return _scaled_solution(matrix, right, len(x))

    def reduced(self, x: Floats, s: float, sizes: Floats, like: Floats | None = None) -> tuple[Floats, Floats]:
        """Tangent (m, m) in scaled motions that the conditions leave, and those motions Z (n, m), scaled.

        like  motions of a state nearby, of which these are the projections
        """
        K = self.stiffness(x, s) * np.outer(sizes, sizes)
        Z = _kernel(self.constraints(self.split(x)[0]) * sizes)
        if like is not None and self.rows:
            Z = Z @ (Z.T @ like)
        elif like is not None:
            Z = like
        return Z.T @ K @ Z, Z


def _scaled_solution(matrix: Floats, right: Floats, square: int) -> Floats:
    """The least solution, with rows and columns of like size; a border beyond the square part has its own."""
    rows = np.sqrt(np.abs(matrix[:square, :square]).max(axis=1, initial=0.0))
    rows[rows == 0.0] = 1.0
    columns = rows
    if len(matrix) > square:
        columns = np.append(rows, np.abs(matrix[:square, -1] / rows).max(initial=0.0) or 1.0)
        rows = np.append(rows, np.abs(matrix[-1] / columns).max() or 1.0)
    solved: Floats = np.linalg.lstsq(matrix / np.outer(rows, columns), right / rows, rcond=RANK)[0] / columns
    return solved


def _kernel(A: Floats) -> Floats:
    """Motions (n, m) that rows A (k, n) leave, orthonormal."""
    n = A.shape[1]
    if not len(A):
        return np.eye(n)
    _, values, V = np.linalg.svd(A)
    rank = int(np.count_nonzero(values > 1e-10 * values.max(initial=0.0)))
    return V[rank:].T


def stiffness_scale(K: Floats) -> Floats:
    """Sizes of coordinates (n,) with which the diagonal of a stiffness becomes one."""
    d = np.abs(np.diag(K))
    least = 1e-12 * d.max(initial=0.0)
    return np.where(d > least, 1.0 / np.sqrt(np.where(d > least, d, 1.0)), 1.0)


def softest(K: Floats, A: Floats) -> float:
    """Least stiffness, of coordinates scaled to one, that motions meet which rows A (k, n) leave; inf without any."""
    sizes = stiffness_scale(K)
    Z = _kernel(A * sizes)
    return float(lowest_stiffness(Z.T @ (K * np.outer(sizes, sizes)) @ Z).min(initial=np.inf))


def is_symmetric(K: Floats) -> bool:
    """Whether forces have a potential."""
    return bool(np.abs(K - K.T).max(initial=0.0) <= SYMMETRIC * np.abs(K).max(initial=0.0))


def lowest_stiffness(K: Floats) -> Floats:
    """Eigenvalues of a tangent, the lowest first; of a skew one its real ones (complex ones are no buckling)."""
    if is_symmetric(K):
        return np.asarray(np.linalg.eigvalsh((K + K.T) / 2))
    values = np.linalg.eigvals(K)
    real = np.abs(values.imag) <= SYMMETRIC * np.abs(values).max(initial=0.0)
    return np.asarray(np.sort(values[real].real), dtype=float)
