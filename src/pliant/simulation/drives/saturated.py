"""Efforts that do not exceed what the motors can give."""

from __future__ import annotations

import numpy as np

from pliant.dynamics import Dynamics
from pliant.simulation.drives.drive import Action, ActiveDrive
from pliant.simulation.trajectories.path import Floats


def effort_limits(arm: Dynamics) -> Floats:
    """Largest effort of each input: the smaller of the motor's and the joint's; infinite if neither is given."""
    limits = []
    for name in arm.inputs:
        joint = arm.robot.joint(name)
        known = [joint.motor.max_effort if joint.motor else None, joint.limits.effort if joint.limits else None]
        limits.append(min((x for x in known if x is not None), default=np.inf))
    return np.array(limits)


class SaturatedDrive(ActiveDrive):
    """Another drive, cut at limits."""

    def __init__(self, inner: ActiveDrive, limits: Floats) -> None:
        self.inner, self.limits = inner, limits
        self.states, self.feedback, self.path = inner.states, inner.feedback, inner.path

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.inner.breaks

    def initial(self) -> Floats:
        return self.inner.initial()

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        tau, x_dot = self.inner.act(t, q, v, x)
        return Action(np.clip(tau, -self.limits, self.limits), x_dot)

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return np.clip(self.inner.efforts(times, q, v, x), -self.limits, self.limits)
