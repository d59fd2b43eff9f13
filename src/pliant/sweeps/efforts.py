"""Efforts of several runs at once: the text of their law runs on the states of all of them, each with its own gains."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.drives.drive import DriveLaw
from pliant.drives.pid import FeedbackLaw
from pliant.dynamics import Dynamics
from pliant.engine.stepping.signal_table import Signals, places_of
from pliant.laws import on_columns
from pliant.simulation.integrators.compiled import SignalsRequest
from pliant.simulation.outputs import InstantsRequest
from pliant.simulation.state_equations import Moments, StateEquations
from pliant.trajectories.joint_moves import ProfiledMove
from pliant.trajectories.path import Chain, Desired, Path, Rest

Floats = NDArray[np.float64]
Weigh = Callable[[Sequence[Dynamics], Sequence[Floats]], list[Floats]]
"""Weights (states, inputs) of robots whose links are straight, at positions of their inputs (states, inputs) each."""


def law_structure(equations: StateEquations) -> Hashable:
    """What laws have in common whose text runs once for all of them; None: there are none beside it.

    Loops are closed for each robot alone, and so are prescribed motions.
    """
    drive, feedback = equations.drive, _feedback(equations.drive)
    if drive.in_python or drive.driven or equations.loops.rows:
        return None
    return drive.structure, None if feedback is None else feedback.desired_weight is None


def _feedback(drive: DriveLaw) -> FeedbackLaw | None:
    """The feedback law that a drive is, with or without limits, if its signals follow from path, weight and gains."""
    own = drive.within
    return own if type(own) is FeedbackLaw else None


class Laws:
    """Laws of one structure on robots, and how the weights of these are found."""

    def __init__(self, equations: Sequence[StateEquations], weigh: Weigh) -> None:
        self.equations, self.weigh = equations, weigh
        self.arms, self.drives = [each.arm for each in equations], [each.drive for each in equations]
        followers = [law for drive in self.drives if (law := _feedback(drive)) is not None]
        self.followers = followers if len(followers) == len(self.drives) else None

    def moments(self, requests: Sequence[InstantsRequest]) -> list[Moments]:
        """Everything about instants of the runs, as each finds it alone."""
        times = []
        for each in requests:
            with each.equations.anywhere():
                times.append(each.equations.clocks(each.clocks))
        sizes, layout = [len(t) for t in times], requests[0].equations.layout
        who, cuts = np.repeat(np.arange(len(requests)), sizes), np.cumsum(sizes)[:-1]
        states = np.vstack([each.states for each in requests])
        q, v, z = (states[:, part] for part in (layout.q, layout.v, layout.drive))
        signals, references = self._followed(times)
        gains = np.array([drive.gains for drive in self.drives])
        own = z[:, : self.drives[0].state_count]
        done = on_columns(self.drives[0], q, v, own, np.vstack(signals), list(gains[who].T))
        found = []
        parts = (np.split(x, cuts) for x in (q, v, z, done.efforts, done.balanced[:, None]))
        for each, t, reference, q_k, v_k, z_k, tau, held in zip(requests, times, references, *parts, strict=True):
            loads = each.equations.loads_along(t, q_k, v_k, z_k)
            acting = loads.force, reference, loads.wrenches, held + loads.stored
            found.append(Moments(q_k.copy(), v_k.copy(), tau, *acting))
        return found

    def fits(self, requests: Sequence[SignalsRequest]) -> list[Signals | None]:
        """Polynomials of what the drives follow, over one span of time; None where they need more pieces."""
        start, end, pieces = requests[0].start, requests[0].end, requests[0].pieces
        if self.followers is None:
            return [None] * len(requests)
        places = places_of(start, end, pieces).ravel()
        times = [each.equations.clocks(places) for each in requests]
        values = np.array(self._followed(times)[0])
        if requests[0].equations.loads:
            pairs = zip(requests, times, strict=True)
            further = [np.hstack([load.signals(t) for load in each.equations.loads]) for each, t in pairs]
            values = np.concatenate([values, np.array(further)], axis=2)
        return Signals.fit_each(values, start, end, pieces)

    def _followed(self, times: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        """Signals of all runs at times of each, and desired positions (none without a path)."""
        if self.followers is None:
            pairs = list(zip(self.drives, times, strict=True))
            paths = [np.zeros((len(t), 0)) if law.path is None else law.path.many(t).q for law, t in pairs]
            return [law.signals(t) for law, t in pairs], paths
        sizes, laws = [len(t) for t in times], self.followers
        who, cuts = np.repeat(np.arange(len(laws)), sizes), np.cumsum(sizes)[:-1]
        desired = _desired([law.path for law in laws], times)
        weight: Floats | float = 0.0
        if laws[0].desired_weight is not None:
            weight = np.concatenate(self.weigh(self.arms, np.split(desired.q, cuts)))
        kp, kd = (np.array([getattr(law, key) for law in laws])[who] for key in ("kp", "kd"))
        signals = laws[0].followed(np.concatenate(times), desired, weight, kp, kd)
        return np.split(signals, cuts), np.split(desired.q, cuts)


def _desired(paths: Sequence[Path], times: Sequence[Floats]) -> Desired:
    """What paths want at times of each, one after the other (all times, inputs)."""
    first: dict[Hashable, Path] = {}
    clocks: dict[Hashable, dict[bytes, Floats]] = {}
    wanted = [(path_key(path), t.tobytes()) for path, t in zip(paths, times, strict=True)]
    for (key, clock), path, t in zip(wanted, paths, times, strict=True):
        first.setdefault(key, path)
        clocks.setdefault(key, {})[clock] = t
    known: dict[Hashable, Desired] = {}
    for key, own in clocks.items():
        # one motion at the times of all runs that follow it
        cuts = np.cumsum([len(t) for t in own.values()])[:-1]
        found = first[key].many(np.concatenate([*own.values()]))
        for clock, *parts in zip(own, *(np.split(each, cuts) for each in found), strict=True):
            known[key, clock] = Desired(*parts)
    return Desired(*(np.concatenate(each) for each in zip(*(known[key] for key in wanted), strict=True)))


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
