"""Efforts of several runs at once, where drives are PID laws: desired motions, weights of rigid robots, feedback."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.engine.stepping.signals import Signals, places_of
from pliant.simulation.drives.controllers import ActivePID
from pliant.simulation.drives.drive import ActiveDrive
from pliant.simulation.drives.saturated import SaturatedDrive
from pliant.simulation.integrators.compiled import SignalsRequest
from pliant.simulation.recorder import InstantsRequest
from pliant.simulation.state_equations import Moments, StateEquations
from pliant.simulation.trajectories.joint_moves import ProfiledMove
from pliant.simulation.trajectories.path import Chain, Desired, Path, Rest

Floats = NDArray[np.float64]
Weigh = Callable[[Sequence[Dynamics], Sequence[Floats]], list[Floats]]
"""Weights (states, inputs) of robots whose links are straight, at positions of their inputs (states, inputs) each."""


class PidLaw(NamedTuple):
    """The PID law of a robot, and the efforts (inputs,) at which it is cut."""

    arm: Dynamics
    drive: ActivePID
    limits: Floats | None

    @classmethod
    def of(cls, equations: StateEquations) -> PidLaw | None:
        """The PID law of a tree whose joints are not prescribed; None: there is none."""
        drive: ActiveDrive = equations.drive
        limits: Floats | None = None
        if isinstance(drive, SaturatedDrive):
            limits, drive = drive.limits, drive.inner
        if not isinstance(drive, ActivePID) or equations.constrained is not None or equations.loops.rows:
            return None
        return cls(equations.arm, drive, limits)

    @property
    def structure_key(self) -> Hashable:
        """What laws have in common that are found at once."""
        drive = self.drive
        weights = drive.desired_weight is None, drive.measured_weight is None
        return drive.B.shape, drive.B.tobytes(), drive.states, self.limits is None, weights


class PidLaws:
    """Laws that are alike, and how the weights of their robots are found."""

    def __init__(self, laws: Sequence[PidLaw], weigh: Weigh) -> None:
        self.arms, self.drives, self.weigh = [law.arm for law in laws], [law.drive for law in laws], weigh
        self.first = self.drives[0]
        self.kp, self.kd, self.ki = (np.array([getattr(each, x) for each in self.drives]) for x in ("kp", "kd", "ki"))
        self.limits = None if laws[0].limits is None else np.array([law.limits for law in laws])

    def moments(self, requests: Sequence[InstantsRequest]) -> list[Moments]:
        """Everything about instants of the runs, as each finds it alone."""
        times = []
        for each in requests:
            with each.equations.anywhere():
                times.append(each.equations.clocks(each.clocks))
        sizes, layout = [len(t) for t in times], requests[0].equations.layout
        who, cuts = np.repeat(np.arange(len(requests)), sizes), np.cumsum(sizes)[:-1]
        desired, states = self._desired(times), np.vstack([each.states for each in requests])
        q, v, x = (states[:, part] for part in (layout.q, layout.v, layout.drive))
        measured = q @ self.first.B
        tau = self.kp[who] * (desired.q - measured) + self.kd[who] * (desired.v - v @ self.first.B)
        tau += self._weight("desired_weight", desired.q, cuts)
        tau += self._weight("measured_weight", measured, cuts)
        if self.first.states:
            tau += self.ki[who] * x
        if self.limits is not None:
            tau = np.clip(tau, -self.limits[who], self.limits[who])
        found = []
        for each, t, *own in zip(
            requests, times, *(np.split(each, cuts) for each in (q, v, tau, desired.q)), strict=True
        ):
            q_k, v_k, tau_k, reference = own
            force = np.zeros((len(t), each.equations.arm.size if each.equations.loads else 0))
            for load in each.equations.acting:
                force += load.forces(t, q_k, v_k)
            found.append(Moments(q_k.copy(), v_k.copy(), tau_k, force, reference, each.equations.wrenches(t)))
        return found

    def fits(self, requests: Sequence[SignalsRequest]) -> list[Signals | None]:
        """Polynomials of what the drives follow, over one span of time; None where they need more pieces."""
        start, end, pieces = requests[0].start, requests[0].end, requests[0].pieces
        places = places_of(start, end, pieces).ravel()
        times = [each.equations.clocks(places) for each in requests]
        desired, runs = self._desired(times), len(requests)
        shape = runs, len(places), -1
        pull = desired.q.reshape(shape) * self.kp[:, None] + desired.v.reshape(shape) * self.kd[:, None]
        cuts = len(places) * np.arange(1, runs)
        pull += np.reshape(self._weight("desired_weight", desired.q, cuts), shape)
        values = np.concatenate([pull, desired.q.reshape(shape)], axis=2) if self.first.states else pull
        if requests[0].equations.loads:
            further = [
                [load.signals(t) for load in each.equations.loads] for each, t in zip(requests, times, strict=True)
            ]
            values = np.concatenate([values, np.array([np.hstack(each) for each in further])], axis=2)
        return Signals.fit_each(values, start, end, pieces)

    def _desired(self, times: Sequence[Floats]) -> Desired:
        """What the paths of all drives want at times of each, one after the other (all times, inputs)."""
        paths: dict[Hashable, Path] = {}
        clocks: dict[Hashable, dict[bytes, Floats]] = {}
        wanted = [(path_key(drive.path), t.tobytes()) for drive, t in zip(self.drives, times, strict=True)]
        for (path, clock), drive, t in zip(wanted, self.drives, times, strict=True):
            paths.setdefault(path, drive.path)
            clocks.setdefault(path, {})[clock] = t
        known: dict[Hashable, Desired] = {}
        for path, own in clocks.items():
            # one motion at the times of all runs that follow it
            cuts = np.cumsum([len(t) for t in own.values()])[:-1]
            found = paths[path].many(np.concatenate([*own.values()]))
            for clock, *parts in zip(own, *(np.split(each, cuts) for each in found), strict=True):
                known[path, clock] = Desired(*parts)
        return Desired(*(np.concatenate(each) for each in zip(*(known[key] for key in wanted), strict=True)))

    def _weight(self, name: str, q: Floats, cuts: NDArray[np.int64]) -> Floats | float:
        """Weight of the rigid robots at positions of the inputs of all runs (states, inputs), if it is compensated."""
        return 0.0 if getattr(self.first, name) is None else np.concatenate(self.weigh(self.arms, np.split(q, cuts)))


def path_key(path: Path) -> Hashable:
    """What paths have in common that are the same motion."""
    match path:
        case ProfiledMove():
            return path.q0.tobytes(), path.delta.tobytes(), path.profile, path.start, path.duration
        case Rest():
            return path.q.tobytes()
        case Chain():
            return (*map(path_key, path.paths), *path.starts)
    return id(path)
