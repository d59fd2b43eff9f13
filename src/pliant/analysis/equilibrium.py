"""Equilibrium: where a robot rests, or turns steadily, under gravity, loads and the efforts of its drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.limits import state_limits, tell
from pliant.model.errors import did_you_mean

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

RESIDUAL = 1e-10
"""Unbalanced force, relative to the largest force in the robot, at which a state counts as equilibrium."""

STEPS = 60
SHORTEST = 1e-4
"""Smallest part of a Newton step that is still tried."""


STEADY = 1e-6
"""Change of the forces with the turning joints, relative to the largest, up to which a motion is steady."""
AHEAD = 1e-2
"""Angle by which the joints are turned to see it, rad."""
DIFFERENCE = 1e-6
"""Step of the derivatives of loads, which are smooth."""

Loads = Mapping[str, ArrayLike]
"""Frame -> force (3,), or force and moment (6,), on it."""


class Equilibrium(NamedTuple):
    """A state of rest, or of steady rotation.

    q         coordinates (n,)
    tau       efforts of the actuated joints that hold it, N m or N (inputs,)
    residual  largest unbalanced generalised force
    steps     Newton steps that were needed
    warnings  what is beyond the limits of the model there, in words
    v         rates (n,): zero but for joints that turn steadily
    """

    q: Floats
    tau: Floats
    residual: float
    steps: int
    warnings: tuple[str, ...] = ()
    v: Floats = np.zeros(0)


class NoEquilibriumError(ValueError):
    """No state of rest was found."""


def equilibrium(
    arm: Dynamics,
    q: States | None = None,
    *,
    tau: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
    rates: Mapping[str, float] | None = None,
) -> Equilibrium:
    """The state of rest near q, by Newton's method on the static forces.

    q          start, an array or values by name; default the reference pose with straight links
    tau        given: all coordinates settle under these efforts (inputs,); default: the drives hold their motor angles
               as they are at q, and the efforts that this takes are found
    loads      frame -> force (3,) N, or force and moment (6,) N, N m, along the axes of the base
    followers  the same along the axes of the frame, with which they turn
    rates      joint -> rad/s: joints that turn on steadily; the links bend as the rotation bends them
    """
    found = settle(arm, q, tau=tau, loads=loads, followers=followers, rates=rates)
    found = found._replace(warnings=tuple(state_limits(arm, found.q, found.v)))
    tell(found.warnings)
    return found


def settle(
    arm: Dynamics,
    q: States | None = None,
    *,
    tau: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
    rates: Mapping[str, float] | None = None,
) -> Equilibrium:
    """The same without a look at the limits of the model, for those who look at them themselves."""
    start = arm.reference_pose() if q is None else arm.labels.states("q", q)
    if start.shape != (arm.size,):
        raise ValueError(f"q has shape {start.shape}; robot '{arm.robot.name}' needs ({arm.size},)")
    start = arm.assemble(start)
    v = _steady_rates(arm, rates or {})
    forces = [(frame, _wrench(frame, given), False) for frame, given in (loads or {}).items()]
    forces += [(frame, _wrench(frame, given), True) for frame, given in (followers or {}).items()]
    problem = _Statics(arm, start, None if tau is None else arm.input_labels.states("tau", tau), forces, v)
    x = problem.start()
    error = problem.error(x)
    for step in range(STEPS):
        if error <= RESIDUAL:
            q, tau, _ = problem.split(x)
            problem.check_steady(q)
            return Equilibrium(q, tau, problem.unbalanced(x), step, v=v)
        x, error = _newton_step(problem, x, error)
    raise NoEquilibriumError(
        f"robot '{arm.robot.name}' has no equilibrium near this state: after {STEPS} Newton steps "
        f"{problem.unbalanced(x):.3g} N (N m) are unbalanced. {problem.remedy}"
    )


def _wrench(frame: str, given: ArrayLike) -> Floats:
    values = np.asarray(given, dtype=float)
    if values.shape not in ((3,), (6,)) or not np.isfinite(values).all():
        raise ValueError(
            f"the load on '{frame}' is {values.tolist()}; it must be 3 numbers (force) or 6 (force and moment)"
        )
    return np.concatenate([values, np.zeros(6 - len(values))])


def _steady_rates(arm: Dynamics, rates: Mapping[str, float]) -> Floats:
    v = np.zeros(arm.size)
    for name, rate in rates.items():
        if name not in arm.robot.joint_coordinates:
            hint = did_you_mean(name, arm.robot.joint_coordinates)
            raise ValueError(f"rates: robot '{arm.robot.name}' has no joint '{name}'{hint}")
        v[arm.names.index(name)] = rate
    if v.any() and arm.loops.rows:
        raise ValueError(f"robot '{arm.robot.name}' has closed loops; it does not turn steadily, leave rates out")
    return v


def _newton_step(problem: _Statics, x: Floats, error: float) -> tuple[Floats, float]:
    """One step, shortened until it brings the forces closer to balance."""
    full = problem.step(x)
    part = 1.0
    while part > SHORTEST:
        trial = x + part * full
        found = problem.error(trial)
        if found < error:
            return trial, found
        part /= 2
    return x + full, problem.error(x + full)


def resting(arm: Dynamics, q: States | None) -> Floats:
    """The configuration about which an analysis is made.

    An array is taken as it is. Joints by name, and by default the reference pose, are bent as gravity bends the robot
    while the drives hold them; where elastic coordinates are named too, nothing is left to be found.
    """
    if q is None:
        return settle(arm).q
    state = arm.labels.states("q", q)
    joints = {arm.names[k] for k in arm.mechanism.joints}
    return settle(arm, state).q if isinstance(q, Mapping) and joints.issuperset(q) else state.copy()


class _Statics:
    """Unknown: coordinates, efforts (unless given) and forces of the loops.

    h(q, v) - f(q) - B tau - J^T lambda = 0,  B^T (q - q0) = 0 (held drives),  gaps(q) = 0
    """

    def __init__(
        self, arm: Dynamics, q0: Floats, tau: Floats | None, forces: list[tuple[str, Floats, bool]], v: Floats
    ) -> None:
        self.arm, self.q0 = arm, q0
        self.held = tau is None
        if tau is not None and tau.shape != (len(arm.inputs),):
            raise ValueError(f"tau has shape {tau.shape}; robot '{arm.robot.name}' has {len(arm.inputs)} inputs")
        self.tau = np.zeros(len(arm.inputs)) if tau is None else tau
        self.rows = len(arm.loops.rows)
        self.forces, self.v, self.still = forces, v, np.zeros(arm.size)
        self.largest = 0.0

    @property
    def remedy(self) -> str:
        """What the user may change."""
        if not self.held:
            return "Start nearer to it, change the efforts, or leave them out to hold the drives"
        return "Its links bend too far under their own weight, or a passive joint cannot come to rest near its start"

    def start(self) -> Floats:
        unknown = np.zeros(self.arm.size + (len(self.tau) if self.held else 0) + self.rows)
        unknown[: self.arm.size] = self.q0
        return unknown

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        n, m = self.arm.size, len(self.tau) if self.held else 0
        return x[:n], x[n : n + m] if self.held else self.tau, x[n + m :]

    def _balance(self, x: Floats) -> tuple[Floats, float]:
        """Unbalanced forces (n,), and the size of the forces that should balance."""
        q, tau, closing = self.split(x)
        h = self.arm.bias(q, self.v)
        loads = self.applied(q)
        drive = self.arm.B @ tau
        loops = self.arm.loops.jacobian(q).T @ closing
        g = self.arm.gravity(q)
        parts = (g, drive, loops, loads, self.arm.stiffness @ q)
        size = max(float(np.abs(part).max(initial=0.0)) for part in parts)
        # a pendulum at its bottom feels none of the forces that brought it there
        self.largest = max(self.largest, size if np.isfinite(size) else 0.0)
        return h - loads - drive - loops, self.largest

    def applied(self, q: Floats) -> Floats:
        """Generalised forces of the loads (n,)."""
        total = np.zeros(self.arm.size)
        for frame, wrench, follows in self.forces:
            if follows:
                R = self.arm.pose(frame, q).rotation
                wrench = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
            total += self.arm.jacobian(frame, q).T @ wrench
        return total

    def check_steady(self, q: Floats) -> None:
        """Refuse a rotation along which the forces change."""
        if not self.v.any():
            return
        ahead = q + AHEAD / np.abs(self.v).max() * self.v
        change = np.abs(self.arm.bias(ahead, self.v) - self.arm.bias(q, self.v)).max()
        if change > STEADY * self.largest:
            raise NoEquilibriumError(
                f"robot '{self.arm.robot.name}' cannot turn steadily at these rates: forces on it change as it turns. "
                "Turn a joint whose axis gravity is along (or take gravity away), and no joint that another one carries"
            )

    def unbalanced(self, x: Floats) -> float:
        """Largest unbalanced generalised force."""
        return float(np.abs(self._balance(x)[0]).max(initial=0.0))

    def error(self, x: Floats) -> float:
        """Unbalanced forces and violated conditions, relative to their sizes."""
        forces, scale = self._balance(x)
        if not np.isfinite(forces).all():
            return np.inf
        worst = float(np.abs(forces).max(initial=0.0)) / (scale or 1.0)
        return max(worst, float(np.abs(self._conditions(x)).max(initial=0.0)))

    def _conditions(self, x: Floats) -> Floats:
        q = self.split(x)[0]
        held = self.arm.B.T @ (q - self.q0) if self.held else np.zeros(0)
        return np.concatenate([held, self.arm.closure(q)])

    def step(self, x: Floats) -> Floats:
        """The Newton step; the change of the loops' directions is left out."""
        q = self.split(x)[0]
        K = self.arm.force_derivative("q", q, self.v, self.still)
        for k in range(len(q) if self.forces else 0):
            aside = np.zeros(len(q))
            aside[k] = DIFFERENCE
            K[:, k] -= (self.applied(q + aside) - self.applied(q - aside)) / (2 * DIFFERENCE)
        J = self.arm.loops.jacobian(q)
        constraints = np.vstack([self.arm.B.T, J]) if self.held else J
        k = len(constraints)
        matrix = np.block([[K, -constraints.T], [constraints, np.zeros((k, k))]])
        right = -np.concatenate([self._balance(x)[0], self._conditions(x)])
        # rows and columns of like size; the least change where the equilibrium is not unique
        size = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
        size[size == 0.0] = 1.0
        solved: Floats = np.linalg.lstsq(matrix / np.outer(size, size), right / size, rcond=1e-13)[0] / size
        return solved
