"""Paths of equilibria under a growing load: followed by arc length through limit points, with every critical state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.statics import (
    Loads,
    NoEquilibriumError,
    Statics,
    coordinate_sizes,
    lowest_stiffness,
    stiffness_scale,
    wrenches,
)
from pliant.model.notebook import html_page, made_by

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]
Kind = Literal["bifurcation", "limit point"]

BALANCED = 1e-10
"""Unbalanced force, relative to the largest, at which a state is on the path."""
FIRST, LONGEST, SHORTEST = 0.05, 0.15, 1e-7
"""Steps along the path: parts of the robot's reach, of a radian, or of the load at which it would buckle."""
CORRECTIONS = 12
BENT = 0.9
"""Cosine of the turn of the path's tangent beyond which a step was too long."""
MOST_POINTS = 600
PUSHED = 1e-5
"""Part of the load's work that a critical shape takes where the path has a limit point, and none at a bifurcation."""


class Critical(NamedTuple):
    """A state at which the stiffness vanishes along a shape.

    factor  of the load
    kind    "limit point": no state nearby carries more; "bifurcation": another path of states leaves
    q       the state (n,)
    shape   the motion without stiffness (n,), its largest displacement one
    point   index of the path's point before it
    """

    factor: float
    kind: Kind
    q: Floats
    shape: Floats
    point: int


@dataclass(frozen=True, eq=False)
class LoadPath:
    """Equilibria of a robot under a growing load, in the order in which they follow each other.

    factors   of the load (k,); they fall where the robot snaps through
    q         coordinates (k, n)
    tau       efforts that hold them (k, inputs)
    unstable  number of motions along which each state falls away (k,)
    critical  states at which that number changes
    """

    arm: Dynamics
    factors: Floats
    q: Floats
    tau: Floats
    unstable: NDArray[np.int_]
    critical: tuple[Critical, ...]

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def stable(self) -> NDArray[np.bool_]:
        """Whether each state comes back after a disturbance (k,)."""
        return np.asarray(self.unstable == 0)

    def positions(self, frame: str = "tip") -> Floats:
        """Positions of a frame along the path, m (k, 3)."""
        return self.arm.pose(frame, self.q).position

    def draw(self, path: str | Path | None = None, frame: str = "tip") -> Figure:
        """A picture of the load against the way of a frame, and of the robot on its way."""
        figure: Figure = made_by("pictures.load_plot", "path_figure")(self, frame, path)
        return figure

    def _repr_html_(self) -> str:
        rows = [(c.kind, f"{c.factor:.6g}", _leading(self.arm, c.shape)) for c in self.critical]
        return html_page(repr(self), ("critical state", "load factor", "mostly"), rows)

    def __repr__(self) -> str:
        met = "".join(f", {c.kind} at {c.factor:.6g}" for c in self.critical)
        return f"LoadPath({len(self)} states, factor {self.factors[0]:.4g} to {self.factors[-1]:.4g}{met})"


def _leading(arm: Dynamics, shape: Floats) -> str:
    return arm.names[int(np.argmax(np.abs(shape) / coordinate_sizes(arm, arm.reference_pose())))]


def load_path(
    arm: Dynamics,
    loads: Loads | None = None,
    q: States | None = None,
    *,
    followers: Loads | None = None,
    dead: Loads | None = None,
    tau: States | None = None,
    until: float = 1.0,
) -> LoadPath:
    """The states of rest from no load to ``until`` times the load, also those that lie beyond a limit point.

    loads      frame -> force (3,) N, or force and moment (6,), base axes, that grow; without any load gravity grows
    q          start; default the reference pose
    followers  loads that grow and turn with their frames
    dead       loads that act from the beginning
    tau        efforts (inputs,) that act from the beginning; default: the drives hold their motor angles
    until      factor at which the path ends
    """
    check_factor("until", until)
    problem = growing(arm, loads, q, followers=followers, dead=dead, tau=tau)
    start = problem.start()
    x = balanced(problem, start, 0.0)
    if x is None:
        raise NoEquilibriumError(f"robot '{arm.robot.name}' has no equilibrium without the load near this pose")
    follower = Follower(problem, x, 0.0, unit=until)
    return follower.path(until=until)


def check_factor(name: str, value: float) -> None:
    """Refuse factors up to which no load can grow."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(
            f"{name} is {value:g}; it must be a positive number: turn the loads round to pull the other way"
        )


def growing(
    arm: Dynamics,
    loads: Loads | None,
    q: States | None,
    *,
    followers: Loads | None,
    dead: Loads | None,
    tau: States | None,
) -> Statics:
    """The static problem of a load that grows: the given one, or gravity."""
    start = arm.assemble(arm.reference_pose() if q is None else arm.labels.states("q", q))
    acting = [*wrenches(loads, grows=True), *wrenches(followers, follows=True, grows=True)]
    if acting and not any(load.value.any() for load in acting):
        raise ValueError("all loads that shall grow are zero: nothing grows")
    if not acting and not np.any(arm.mechanism.gravity):
        raise ValueError(f"robot '{arm.robot.name}' has no gravity, and no load is given: nothing grows")
    efforts = None if tau is None else arm.input_labels.states("tau", tau)
    return Statics(
        arm, start, tau=efforts, loads=[*acting, *wrenches(dead)], gravity_grows=not acting
    )  # fmt: skip


def balanced(problem: Statics, x: Floats, s: float, corrections: int = 3 * CORRECTIONS) -> Floats | None:
    """The equilibrium near x at a factor, if Newton's method finds one."""
    for _ in range(corrections):
        if problem.error(x, s) <= BALANCED:
            return x
        x = x + problem.newton(x, s)
        if not np.isfinite(x).all():
            return None
    return x if problem.error(x, s) <= BALANCED else None


class Point(NamedTuple):
    """A state on the path, the path's direction there, and the eigenvalues of its tangent."""

    x: Floats
    s: float
    along: Floats
    rising: float
    values: Floats

    @property
    def unstable(self) -> int:
        return int(np.count_nonzero(self.values < 0.0))


class Follower:
    """Goes along a path by arc length.

    unit   factor that counts like a motion by the robot's reach
    along  first direction, changes of all coordinates (n,); default: that of the growing load
    """

    def __init__(self, problem: Statics, x: Floats, s: float, *, unit: float, along: Floats | None = None) -> None:
        self.problem, self.unit = problem, unit
        q = problem.split(x)[0]
        self.sizes = coordinate_sizes(problem.arm, q)
        self.scale = stiffness_scale(problem.stiffness(x, s))
        if along is None:
            way, rising = problem.slope(x, s), 1.0
        else:
            way, rising = np.concatenate([along, np.zeros(len(x) - len(along))]), 0.0
        self.first = self._point(x, s, *self._normal(way, rising))

    def _normal(self, way: Floats, rising: float) -> tuple[Floats, float]:
        size = np.sqrt(np.sum((way[: len(self.sizes)] / self.sizes) ** 2) + (rising / self.unit) ** 2)
        return way / size, rising / float(size)

    def _point(self, x: Floats, s: float, way: Floats, rising: float) -> Point:
        return Point(x, s, way, rising, lowest_stiffness(self.problem.reduced(x, s, self.scale)[0]))

    def advance(self, a: Point, step: float) -> tuple[Point, int] | None:
        """The point at a distance and the number of corrections that it took."""
        n = len(self.sizes)
        row, entry = a.along[:n] / self.sizes**2, a.rising / self.unit**2
        x, s = a.x + step * a.along, a.s + step * a.rising
        corrections = 0
        while self.problem.error(x, s) > BALANCED:
            if corrections == CORRECTIONS:
                return None
            corrections += 1
            left = step - float(row @ (x - a.x)[:n]) - entry * (s - a.s)
            dx, ds = self.problem.correct(x, s, row, entry, left)
            x, s = x + dx, s + ds
            if not (np.isfinite(x).all() and np.isfinite(s)):
                return None
        way, rising = self._normal(*self.problem.direction(x, s, row, entry))
        turn = float((way[:n] / self.sizes) @ (a.along[:n] / self.sizes)) + rising * a.rising / self.unit**2
        if turn < BENT:
            return None
        return self._point(x, s, way, rising), corrections

    def points(self) -> Iterator[tuple[Point, float]]:
        """One point after the other, each with its distance from the last."""
        a, step = self.first, FIRST
        while True:
            found = self.advance(a, step)
            while found is None:
                step *= 0.4
                if step < SHORTEST:
                    raise NoEquilibriumError(
                        f"the path of robot '{self.problem.arm.robot.name}' cannot be followed beyond the load factor "
                        f"{a.s:.6g}: its direction changes abruptly there. Start from another pose, or give its links "
                        "more modes"
                    )
                found = self.advance(a, step)
            taken = step
            a, k = found
            step = min(step * (1.5 if k <= 3 else 0.7 if k >= 6 else 1.0), LONGEST)
            yield a, taken

    def path(
        self,
        *,
        until: float,
        first_critical: bool = False,
        most: int = MOST_POINTS,
        lost: list[NoEquilibriumError] | None = None,
    ) -> LoadPath:
        """As far as the factor ``until``, or only to the first critical state.

        lost  takes the error where the path cannot be followed, and what was found so far is given; default: raise it
        """
        points, critical = [self.first], list[Critical]()
        for b, step in self._kept(lost):
            a = points[-1]
            if b.unstable != a.unstable:
                critical.append(self.critical(a, b, step, len(points) - 1))
                if first_critical:
                    break
            if (b.s - until) * (a.s - until) <= 0.0 and a is not self.first:
                points.append(self._landed(a, b, until))
                break
            points.append(b)
            if len(points) > most:
                break
        split = [self.problem.split(p.x, p.s) for p in points]
        return LoadPath(
            self.problem.arm,
            np.array([p.s for p in points]),
            np.array([q for q, _, _ in split]),
            np.array([tau for _, tau, _ in split]),
            np.array([p.unstable for p in points]),
            tuple(critical),
        )

    def _kept(self, lost: list[NoEquilibriumError] | None) -> Iterator[tuple[Point, float]]:
        """``points``, of which the last error may be kept instead of raised."""
        try:
            yield from self.points()
        except NoEquilibriumError as error:
            if lost is None:
                raise
            lost.append(error)

    def _landed(self, a: Point, b: Point, s: float) -> Point:
        part = (s - a.s) / (b.s - a.s)
        x = balanced(self.problem, a.x + part * (b.x - a.x), s)
        return b if x is None else self._point(x, s, b.along, b.rising)

    def critical(self, a: Point, b: Point, step: float, index: int) -> Critical:
        """The state between two points at which the stiffness vanishes."""
        from scipy.optimize import brentq

        which = min(a.unstable, b.unstable)
        known = {0.0: a, step: b}

        def point(length: float) -> Point:
            if length not in known:
                found = self.advance(a, length)
                if found is None:
                    # where two stiffnesses vanish at once no correction stays on the path: it is smooth in between
                    return self._between(a, known, length)
                known[length] = found[0]
            return known[length]

        length = brentq(lambda length: float(point(length).values[which]), 0.0, step, xtol=1e-13 * step, rtol=1e-13)
        p = point(length)
        shape = self.soft_shape(p)
        push = self.problem.push(p.x)
        work = abs(float(shape @ push)) / (float(np.linalg.norm(shape / self.scale)) or 1.0)
        whole = float(np.linalg.norm(push * self.scale)) or 1.0
        kind: Kind = "limit point" if work > PUSHED * whole else "bifurcation"
        return Critical(p.s, kind, self.problem.split(p.x)[0], shape, index)

    def _between(self, a: Point, known: dict[float, Point], length: float) -> Point:
        """A point between the two nearest known ones, by a cubic; distances are counted along the direction of a."""
        low, high = max(k for k in known if k < length), min(k for k in known if k > length)
        h, t = high - low, (length - low) / (high - low)
        n, ends = len(self.sizes), list[tuple[Floats, Floats]]()
        for p in (known[low], known[high]):
            turn = float((p.along[:n] / self.sizes) @ (a.along[:n] / self.sizes)) + p.rising * a.rising / self.unit**2
            ends.append((np.append(p.x, p.s), np.append(p.along, p.rising) / turn))
        (x0, w0), (x1, w1) = ends
        x = (1 + 2 * t) * (1 - t) ** 2 * x0 + t * t * (3 - 2 * t) * x1 + h * t * (1 - t) * ((1 - t) * w0 - t * w1)
        way = (1 - t) * w0 + t * w1
        return self._point(x[:-1], float(x[-1]), *self._normal(way[:-1], float(way[-1])))

    def soft_shape(self, p: Point) -> Floats:
        """The motion of least stiffness, its largest displacement one (reach, or a radian)."""
        K, Z = self.problem.reduced(p.x, p.s, self.scale)
        values, vectors = np.linalg.eig(K)
        shape = self.scale * (Z @ vectors[:, int(np.argmin(np.abs(values)))].real)
        parts = shape / self.sizes
        return np.asarray(shape / parts[int(np.argmax(np.abs(parts)))])
