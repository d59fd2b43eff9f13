"""Buckling: the load at which a robot leaves its equilibrium, and the shape in which it does."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.limits import state_limits, tell
from pliant.analysis.load_path import Follower, LoadPath, balanced, check_factor, growing
from pliant.analysis.statics import (
    Loads,
    NoEquilibriumError,
    Statics,
    coordinate_sizes,
    is_symmetric,
    stiffness_scale,
)
from pliant.bodies.words import words_of
from pliant.model.notebook import html_page, made_by

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

MOVED = 1e-3
"""Motion (reach, or rad) over which the change of the stiffness with the load is looked at ..."""
SOFTENED = 0.1
"""... and part of the stiffness that the load itself may change over it."""
NO_STIFFNESS = 1e-12
"""Part of the largest stiffness that is none."""
LEAST_BENT = 1e-9
"""Motion (reach, or rad) of a coordinate under the load that is rounding."""
BEYOND = 5.0
"""Times the linear factor at which a path without a critical state is given up."""


@dataclass(frozen=True, eq=False)
class Buckling:
    """Critical loads of a robot.

    factor    times the load at which the first critical state is met on the path of equilibria; inf if none is
    kind      "bifurcation" (it leaves sideways), "limit point" (it snaps through) or "none"; "linear" where the path
              could not be followed to a critical state: factor, shape and state are those of the linear problem
    shape     motion at that state (n,), its largest displacement one (reach of the robot, or a radian)
    q         that state (n,)
    factors   critical factors of the linear problem about the state without the load, the lowest first (k,)
    shapes    their shapes (n, k)
    path      the states from no load to the critical one
    names     coordinates
    warnings  what is beyond the limits of the model, in words
    """

    arm: Dynamics
    factor: float
    kind: Literal["bifurcation", "limit point", "none", "linear"]
    shape: Floats
    q: Floats
    factors: Floats
    shapes: Floats
    path: LoadPath
    problem: Statics
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, the rows of the shapes."""
        return self.arm.names

    def leading(self, k: int | None = None) -> str:
        """The coordinate that moves most in the critical shape, or in the linear one k (from 0)."""
        shape = self.shape if k is None else self.shapes[:, k]
        return self.names[int(np.argmax(np.abs(shape) / coordinate_sizes(self.arm, self.q)))]

    def branch(self, *, until: float, side: float = 1.0) -> LoadPath:
        """The path that leaves at the bifurcation, to ``until`` times the load; side -1.0: to the other side."""
        if self.kind != "bifurcation":
            lost = self.kind in ("none", "linear")
            where = "no critical state was found on its path" if lost else f"it has a {self.kind}"
            raise ValueError(f"robot '{self.arm.robot.name}' does not bifurcate: {where}; use pliant.load_path")
        x = balanced(self.problem, _started(self.problem, self.q), self.factor)
        if x is None:
            raise NoEquilibriumError(f"the critical state at the load factor {self.factor:.6g} is not balanced")
        follower = Follower(self.problem, x, self.factor, unit=self.factor, along=side * self.shape)
        return follower.path(until=until)

    def draw(self, path: str | Path | None = None) -> Figure:
        """A picture of the critical shapes; ``path``: PNG, SVG or PDF file to write."""
        figure: Figure = made_by("pictures.load_plot", "buckling_figure")(self, path)
        return figure

    def _repr_html_(self) -> str:
        rows = [(k + 1, f"{factor:.6g}", self.leading(k)) for k, factor in enumerate(self.factors)]
        return html_page(repr(self), ("linear problem", "load factor", "mostly"), rows)

    def __repr__(self) -> str:
        if not isfinite(self.factor):
            return f"Buckling(none up to factor {self.path.factors.max():.4g})"
        return f"Buckling({self.kind} at factor {self.factor:.6g}, mostly {self.leading()})"


def buckling(
    arm: Dynamics,
    loads: Loads | None = None,
    q: States | None = None,
    *,
    followers: Loads | None = None,
    dead: Loads | None = None,
    tau: States | None = None,
    count: int = 4,
    most: float | None = None,
) -> Buckling:
    """The factor of a load at which a robot buckles or snaps through.

    loads      frame -> force (3,) N, or force and moment (6,) N, N m, base axes, that grow together; without any load
               gravity grows, and its factor multiplies the weight
    q          pose from which the load grows; default the reference pose
    followers  loads that grow and turn with their frames
    dead       loads that act from the beginning, as gravity does where other loads grow
    tau        efforts (inputs,) that act from the beginning; default: the drives hold their motor angles
    count      how many factors of the linear problem
    most       factor up to which the path is followed; default: five times the first of the linear problem

    First comes the linear problem (K + s dK/ds) x = 0 with exact tangents about the state without the load. Then the
    path of equilibria is followed to the first state with a singular tangent, however far the links bend before.
    """
    found = critical_load(arm, loads, q, followers=followers, dead=dead, tau=tau, count=count, most=most)
    tell(found.warnings)
    return found


def critical_load(
    arm: Dynamics,
    loads: Loads | None = None,
    q: States | None = None,
    *,
    followers: Loads | None = None,
    dead: Loads | None = None,
    tau: States | None = None,
    count: int = 4,
    most: float | None = None,
) -> Buckling:
    """The critical load without a Python warning: what is beyond the limits of the model is in ``warnings`` only."""
    if most is not None:
        check_factor("most", most)
    problem = growing(arm, loads, q, followers=followers, dead=dead, tau=tau)
    x = balanced(problem, problem.start(), 0.0)
    if x is None:
        raise NoEquilibriumError(
            f"robot '{arm.robot.name}' has no equilibrium without the load near this pose; look at pliant.equilibrium"
        )
    factors, shapes = linear_problem(problem, x, count)
    end = most if most is not None else BEYOND * factors[0] if len(factors) else None
    remarks = list[str]()
    if followers:
        remarks.append(
            "loads that follow their frames may also make a robot flutter, which no static path shows: look at "
            "pliant.modes with the same followers"
        )
    if any(link.is_flexible and words_of(link).bends_linearly_by_choice for link in arm.robot.links):
        remarks.append(
            "links of linear bending do not buckle: an axial force changes nothing in them; write bending: "
            "second-order or exact"
        )
    remarks += _lateral(problem, x)
    if end is None:
        remarks.append("nothing in the robot softens under this load; give most= to follow it nevertheless")
        still = np.zeros(arm.size)
        path = Follower(problem, x, 0.0, unit=1.0).path(until=inf, most=1)
        return Buckling(arm, inf, "none", still, problem.split(x)[0], factors, shapes, path, problem, tuple(remarks))
    unit = factors[0] if len(factors) else end
    lost = list[NoEquilibriumError]()
    path = Follower(problem, x, 0.0, unit=unit).path(until=end, first_critical=True, lost=lost)
    if lost and len(factors):
        remarks.append(
            f"the path of equilibria was lost at {path.factors[-1]:.4g} times the load, before a critical state: "
            f"{lost[0]}. The factor is that of the linear problem about the state without the load, which is right "
            "only where the robot moves little before it buckles"
        )
        start = problem.split(x)[0]
        remarks += state_limits(arm, path.q[-1])
        return Buckling(
            arm, float(factors[0]), "linear", shapes[:, 0], start, factors, shapes, path, problem, tuple(remarks)
        )
    if lost:
        raise lost[0]
    met = path.critical[0] if path.critical else None
    state = problem.split(x)[0] if met is None else met.q
    remarks += state_limits(arm, state)
    shape = np.zeros(arm.size) if met is None else met.shape
    kind = "none" if met is None else met.kind
    factor = inf if met is None else met.factor
    return Buckling(arm, factor, kind, shape, state, factors, shapes, path, problem, tuple(remarks))


def _lateral(problem: Statics, x: Floats) -> list[str]:
    """Second-order beams that the load bends in their stiffer plane: they may buckle sideways, and do not know it."""
    arm, found = problem.arm, list[str]()
    way = np.abs(problem.slope(x, 0.0)[: arm.size] / coordinate_sizes(arm, problem.split(x)[0]))
    for member in arm.mechanism.members:
        own = way[member.elastic]
        bent = {
            name.partition(".")[0] for name, moved in zip(member.body.names, own, strict=True) if moved > LEAST_BENT
        }
        if bent and words_of(member.link, arm.robot).overlooks_lateral_buckling(bent):
            found.append(member.name)
    if not found:
        return []
    return [
        f"the load bends {', '.join(found)} in the stiffer plane, and links of second-order bending do not know "
        "lateral buckling (bending across with torsion), which may come first: write bending: exact with torsion and "
        "both planes, or give modal data of the solid"
    ]


def _started(problem: Statics, q: Floats) -> Floats:
    x = problem.start()
    x[: len(q)] = q
    return x


def linear_problem(problem: Statics, x: Floats, count: int) -> tuple[Floats, Floats]:
    """Positive critical factors (k,) and shapes (n, k) of (K + s dK/ds) shape = 0 about the state without the load."""
    from scipy.linalg import eig, eigh

    scale = stiffness_scale(problem.stiffness(x, 0.0))
    K, Z = problem.reduced(x, 0.0, scale)
    _require_stable(problem, K, scale[:, None] * Z)
    slope = problem.slope(x, 0.0)
    sizes = coordinate_sizes(problem.arm, problem.split(x)[0])
    moved = float(np.abs(slope[: len(sizes)] / sizes).max(initial=0.0))
    changed = problem.stiffness(x, 1.0) - problem.stiffness(x, 0.0)
    direct = float(np.abs(changed * np.outer(scale, scale)).max(initial=0.0)) / float(np.abs(K).max(initial=0.0))
    if not moved and not direct:
        return np.zeros(0), np.zeros((problem.arm.size, 0))
    step = min(MOVED / moved if moved else inf, SOFTENED / direct if direct else inf)
    ends = []
    for s in (step, -step):
        state = balanced(problem, x + s * slope, s)
        if state is None:
            raise NoEquilibriumError(f"robot '{problem.arm.robot.name}' cannot be followed under a small load")
        ends.append(problem.reduced(state, s, scale, Z)[0])
    change = (ends[0] - ends[1]) / (2 * step)
    if is_symmetric(K) and is_symmetric(change):
        inverse, vectors = eigh(-(change + change.T) / 2, (K + K.T) / 2)
    else:
        values, complex_vectors = eig(-change, K)
        real = np.abs(values.imag) <= 1e-9 * np.abs(values).max(initial=0.0)
        inverse, vectors = values[real].real, complex_vectors[:, real].real
    rounding = 1e-9 * float(np.abs(inverse).max(initial=0.0))
    order = [k for k in np.argsort(-inverse) if inverse[k] > rounding][:count]
    shapes = scale[:, None] * (Z @ vectors[:, order])
    parts = shapes / sizes[:, None]
    largest = parts[np.argmax(np.abs(parts), axis=0), np.arange(len(order))]
    return 1.0 / inverse[order], shapes / largest


def _require_stable(problem: Statics, K: Floats, Z: Floats) -> None:
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    if len(values) and values[0] > NO_STIFFNESS * values[-1]:
        return
    name = problem.arm.robot.name
    if not len(values):
        raise ValueError(f"robot '{name}': nothing can move while the drives hold the joints, so nothing buckles")
    shape = Z @ vectors[:, 0]
    sizes = coordinate_sizes(problem.arm, problem.q0)
    leading = problem.arm.names[int(np.argmax(np.abs(shape) / sizes))]
    how = "has no stiffness" if values[0] > -NO_STIFFNESS * values[-1] else "falls"
    raise NoEquilibriumError(
        f"robot '{name}' {how} along '{leading}' before any load acts; hold that joint with a spring or a drive, or "
        "start from a pose in which it rests"
    )
