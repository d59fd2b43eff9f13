"""Static equilibrium: where a robot rests under gravity and the efforts of its drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.limits import state_limits, tell

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

RESIDUAL = 1e-10
"""Unbalanced force, relative to the largest force in the robot, at which a state counts as equilibrium."""

STEPS = 60
SHORTEST = 1e-4
"""Smallest part of a Newton step that is still tried."""


class Equilibrium(NamedTuple):
    """A state of rest.

    q         coordinates (n,)
    tau       efforts of the actuated joints that hold it, N m or N (inputs,)
    residual  largest unbalanced generalised force
    steps     Newton steps that were needed
    warnings  what is beyond the limits of the model there, in words
    """

    q: Floats
    tau: Floats
    residual: float
    steps: int
    warnings: tuple[str, ...] = ()


class NoEquilibriumError(ValueError):
    """No state of rest was found."""


def equilibrium(arm: Dynamics, q: States | None = None, *, tau: States | None = None) -> Equilibrium:
    """The state of rest near q, by Newton's method on the static forces.

    q    start, an array or values by name; default the reference pose with straight links
    tau  given: all coordinates settle under these efforts (inputs,); default: the drives hold their motor angles as
         they are at q, and the efforts that this takes are found
    """
    found = settle(arm, q, tau=tau)
    found = found._replace(warnings=tuple(state_limits(arm, found.q)))
    tell(found.warnings)
    return found


def settle(arm: Dynamics, q: States | None = None, *, tau: States | None = None) -> Equilibrium:
    """The same without a look at the limits of the model, for those who look at them themselves."""
    start = arm.reference_pose() if q is None else arm.labels.states("q", q)
    if start.shape != (arm.size,):
        raise ValueError(f"q has shape {start.shape}; robot '{arm.robot.name}' needs ({arm.size},)")
    start = arm.assemble(start)
    problem = _Statics(arm, start, None if tau is None else arm.input_labels.states("tau", tau))
    x = problem.start()
    error = problem.error(x)
    for step in range(STEPS):
        if error <= RESIDUAL:
            q, tau, _ = problem.split(x)
            return Equilibrium(q, tau, problem.unbalanced(x), step)
        x, error = _newton_step(problem, x, error)
    raise NoEquilibriumError(
        f"robot '{arm.robot.name}' has no equilibrium near this state: after {STEPS} Newton steps "
        f"{problem.unbalanced(x):.3g} N (N m) are unbalanced. {problem.remedy}"
    )


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

    h(q, 0) - B tau - J^T lambda = 0,  B^T (q - q0) = 0 (held drives),  gaps(q) = 0
    """

    def __init__(self, arm: Dynamics, q0: Floats, tau: Floats | None) -> None:
        self.arm, self.q0 = arm, q0
        self.held = tau is None
        if tau is not None and tau.shape != (len(arm.inputs),):
            raise ValueError(f"tau has shape {tau.shape}; robot '{arm.robot.name}' has {len(arm.inputs)} inputs")
        self.tau = np.zeros(len(arm.inputs)) if tau is None else tau
        self.rows = len(arm.loops.rows)
        self.still = np.zeros(arm.size)
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
        h = self.arm.bias(q, self.still)
        drive = self.arm.B @ tau
        loops = self.arm.loops.jacobian(q).T @ closing
        g = self.arm.gravity(q)
        size = max(float(np.abs(part).max(initial=0.0)) for part in (g, drive, loops, self.arm.stiffness @ q))
        # a pendulum at its bottom feels none of the forces that brought it there
        self.largest = max(self.largest, size if np.isfinite(size) else 0.0)
        return h - drive - loops, self.largest

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
        K = self.arm.inverse_derivatives(q, self.still, self.still).q
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
