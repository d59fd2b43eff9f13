"""What several runs need at the same time, found together: steps in lanes, equilibria, rates and efforts in batches.

Every value is that of the run alone, to rounding; what cannot be found together is left to each run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import bends_far
from pliant.analysis.limits import RootLoads, axial_changes_of, axial_links, root_loads
from pliant.analysis.statics import FALLS, RESIDUAL, Rows, newton, relative_error, softest
from pliant.dynamics import Dynamics
from pliant.engine.stepping.lane_system import step_together
from pliant.formulations.recursive.recursions import HANDED, NoInertiaError
from pliant.simulation.choice import ITERATED, LinearStart
from pliant.simulation.integrators.compiled import SignalsRequest, StepsRequest
from pliant.simulation.monitoring.checks import AxialRequest, EnergiesRequest
from pliant.simulation.monitoring.extremes import ExtremesRequest, PositionsRequest, search_together
from pliant.simulation.outputs import InstantsRequest
from pliant.simulation.requests import Request
from pliant.simulation.start import RestRequest
from pliant.simulation.state_equations import DIFFERENCE, StateEquations
from pliant.sweeps.efforts import Laws, law_structure
from pliant.sweeps.ensemble import Ensemble, structure_key

Floats = NDArray[np.float64]
Found = list[Any]
"""A value for each request; None where it cannot be found together with the others."""


class Together:
    """Runs that are made at the same time, and the ensembles of their robots."""

    def __init__(self) -> None:
        self._members: dict[object, list[Dynamics]] = {}
        self._places: dict[int, tuple[object, int]] = {}
        self._ensembles: dict[object, Ensemble] = {}

    def find(self, requests: Iterable[Request[Any] | None]) -> None:
        """Put values where they can be found for several requests at once."""
        open_ones = [request for request in requests if request is not None and not request.is_known]
        for kind, find in self._ways.items():
            own = [request for request in open_ones if isinstance(request, kind)]
            if len(own) > 1:
                # a state that is no number must not hurt the others
                with suppress(ValueError, FloatingPointError):
                    for request, value in zip(own, find(own), strict=True):
                        if value is not None:
                            request.value = value

    @property
    def _ways(self) -> dict[type, Callable[[Any], Found]]:
        return {
            StepsRequest: _steps,
            RestRequest: self._rests,
            LinearStart: self._rates,
            SignalsRequest: self._signals,
            InstantsRequest: self._moments,
            PositionsRequest: self._positions,
            EnergiesRequest: self._energies,
            AxialRequest: self._axials,
            ExtremesRequest: self._extremes,
        }

    # ---- ensembles

    def _ensemble(self, arms: Sequence[Dynamics]) -> tuple[Ensemble, list[int]] | None:
        """An ensemble in which robots are, and their numbers in it; None if they are not all alike."""
        for arm in arms:
            if id(arm) not in self._places:
                key = structure_key(arm)
                members = self._members.setdefault(key, [])
                self._places[id(arm)] = key, len(members)
                members.append(arm)
                self._ensembles.pop(key, None)
        keys = {self._places[id(arm)][0] for arm in arms}
        if len(keys) != 1 or None in keys:
            return None
        (key,) = keys
        if key not in self._ensembles:
            self._ensembles[key] = Ensemble(self._members[key])
        return self._ensembles[key], [self._places[id(arm)][1] for arm in arms]

    def _alike(self, arms: Sequence[Dynamics]) -> Iterator[tuple[Ensemble, list[int], list[int]]]:
        """Ensembles, the positions of the given robots that are in them, and their numbers there."""
        groups: dict[object, list[int]] = {}
        for k, arm in enumerate(arms):
            self._ensemble([arm])
            groups.setdefault(self._places[id(arm)][0], []).append(k)
        for key, places in groups.items():
            found = self._ensemble([arms[k] for k in places]) if key is not None else None
            if found is not None:
                yield found[0], places, found[1]

    # ---- equilibria

    def _rests(self, requests: Sequence[RestRequest]) -> Found:
        out: Found = [None] * len(requests)
        plain = [k for k, each in enumerate(requests) if not (each.loads or each.arm.robot.actuators)]
        for ensemble, places, numbers in self._alike([requests[k].arm for k in plain]):
            own = [plain[k] for k in places]
            q = _settled(ensemble, np.array(numbers), np.array([requests[k].q for k in own]))
            for k, state in zip(own, q, strict=True):
                out[k] = state if np.isfinite(state).all() else None
        return out

    # ---- the fastest motion at the start

    def _rates(self, requests: Sequence[LinearStart]) -> Found:
        out: Found = [None] * len(requests)
        # states of drives are moved for each run alone
        plain = [k for k, each in enumerate(requests) if _is_plain(each.equations) and not each.equations.states]
        for ensemble, places, numbers in self._alike([requests[k].equations.arm for k in plain]):
            own = [requests[plain[k]] for k in places]
            n = ensemble.size
            starts = [each.equations.start(each.q, each.v) for each in own]
            # the start itself, then each coordinate and rate moved
            moved = [y + DIFFERENCE * np.eye(2 * n + 1, len(y), -1) for y in starts]
            instants = [
                InstantsRequest(each.equations, np.zeros(2 * n + 1), y) for each, y in zip(own, moved, strict=True)
            ]
            self.find(instants)
            tau = np.vstack([each.value.tau for each in instants])
            y = np.vstack([x[:, : 2 * n] for x in moved])
            who = np.repeat(numbers, 2 * n + 1)
            with ensemble.of(who):
                a = ensemble.loops.forward(y[:, :n], y[:, n:], tau @ ensemble.B.T)
            rates = np.hstack([y[:, n:], a]).reshape(len(own), 2 * n + 1, 2 * n)
            A = (rates[:, 1:] - rates[:, :1]) / DIFFERENCE
            finite = np.flatnonzero(np.isfinite(A).all(axis=(1, 2)))
            fastest = np.abs(np.linalg.eigvals(A[finite])).max(axis=1, initial=0.0)
            for k, rate in zip(finite.tolist(), fastest.tolist(), strict=True):
                out[plain[places[k]]] = rate
        return out

    # ---- what follows from a motion

    def _by_ensembles(self, requests: Sequence[Any], find: Callable[[Ensemble, list[Any]], Floats]) -> Found:
        """Rows of what is found for ensembles, each with the requests of its robots, for the states of each each."""
        out: Found = [None] * len(requests)
        for ensemble, places, numbers in self._alike([each.arm for each in requests]):
            own = [requests[k] for k in places]
            sizes = [len(each.q) for each in own]
            with ensemble.of(np.repeat(numbers, sizes)):
                found = find(ensemble, own)
            for k, part in zip(places, np.split(found, np.cumsum(sizes)[:-1]), strict=True):
                out[k] = part
        return out

    def _positions(self, requests: Sequence[PositionsRequest]) -> Found:
        if len({each.frames for each in requests}) > 1:
            return [None] * len(requests)
        return self._by_ensembles(requests, lambda ensemble, own: ensemble.positions(own[0].frames, _stacked(own, "q")))

    def _energies(self, requests: Sequence[EnergiesRequest]) -> Found:
        def energies(ensemble: Ensemble, own: list[EnergiesRequest]) -> Floats:
            return np.array(ensemble.energy(_stacked(own, "q"), _stacked(own, "v"))).T

        return self._by_ensembles(requests, energies)

    def _axials(self, requests: Sequence[AxialRequest]) -> Found:
        def handed(ensemble: Ensemble, own: list[AxialRequest]) -> Floats:
            q, v, tau, force = (_stacked(own, name) for name in ("q", "v", "tau", "force"))
            return ensemble._reaction(q, v, ensemble.forward(q, v, tau, force=force if force.shape[1] else None))

        out: Found = [None] * len(requests)
        links = axial_links(requests[0].arm)
        if not links or any(axial_links(each.arm) != links for each in requests):
            return out
        try:
            found = self._by_ensembles(requests, handed)
        except NoInertiaError:
            # massless motors are looked at run by run
            return out
        ensembles: dict[object, list[int]] = {}
        for k, each in enumerate(requests):
            if found[k] is not None:
                ensembles.setdefault(self._places[id(each.arm)][0], []).append(k)
        for places in ensembles.values():
            arms, sizes = [requests[k].arm for k in places], [len(found[k]) for k in places]
            own = [root_loads(requests[k].arm, found[k].reshape(len(found[k]), -1, HANDED)) for k in places]
            known = RootLoads(*(np.vstack(parts) for parts in zip(*own, strict=True)))
            who, q = np.repeat(np.arange(len(arms)), sizes), _stacked([requests[k] for k in places], "q")
            acting = [loads for k in places for loads in requests[k].loads()]
            changes = iter(axial_changes_of(arms, who, q, known, acting))
            for k, size in zip(places, sizes, strict=True):
                out[k] = [next(changes) for _ in range(size)]
        return out

    def _extremes(self, requests: Sequence[ExtremesRequest]) -> Found:
        out: Found = [None] * len(requests)
        alike: dict[object, list[int]] = {}
        for k, each in enumerate(requests):
            alike.setdefault(each.structure_key, []).append(k)
        for places in alike.values():
            # what goes wrong in one of them is found by each alone
            with suppress(Exception):
                for k, value in zip(places, search_together([requests[k] for k in places], self.find), strict=True):
                    out[k] = value
        return out

    # ---- efforts

    def _signals(self, requests: Sequence[SignalsRequest]) -> Found:
        return self._by_laws(requests, Laws.fits, lambda each: (each.start, each.end, each.pieces))

    def _moments(self, requests: Sequence[InstantsRequest]) -> Found:
        return self._by_laws(requests, Laws.moments, lambda each: each.equations.layout)

    def _by_laws(
        self,
        requests: Sequence[Any],
        find: Callable[[Laws, list[Any]], Sequence[Any]],
        key_of: Callable[[Any], Hashable],
    ) -> Found:
        """What is found for runs whose laws are alike; nothing for those that have none."""
        out: Found = [None] * len(requests)
        alike: dict[Hashable, list[int]] = {}
        for k, each in enumerate(requests):
            structure = law_structure(each.equations)
            # methods that are not exact have rigid robots of their own
            if structure is not None and each.equations.arm.method.order is None:
                alike.setdefault((structure, key_of(each), bool(each.equations.loads)), []).append(k)
        for places in alike.values():
            own = [requests[k] for k in places]
            laws = Laws([each.equations for each in own], self._weights)
            for k, value in zip(places, find(laws, own), strict=True):
                out[k] = value
        return out

    def _weights(self, arms: Sequence[Dynamics], positions: Sequence[Floats]) -> list[Floats]:
        """Weights of rigid robots: those of the flexible ones with straight links, whose joints carry the same."""
        out: list[Any] = [None] * len(arms)
        for ensemble, places, numbers in self._alike(arms):
            inputs, sizes = (
                [ensemble.names.index(name) for name in ensemble.inputs],
                [len(positions[k]) for k in places],
            )
            q = np.repeat(np.array([arms[k].reference_pose() for k in places]), sizes, axis=0)
            q[:, inputs] = np.vstack([positions[k] for k in places])
            with ensemble.of(np.repeat(numbers, sizes)):
                weights = ensemble.gravity(q)[:, inputs]
            for k, weight in zip(places, np.split(weights, np.cumsum(sizes)[:-1]), strict=True):
                out[k] = weight
        if any(weight is None for weight in out):
            raise ValueError("a robot that is in no ensemble")
        return out


def _stacked(requests: Sequence[Any], name: str) -> Floats:
    return np.vstack([getattr(each, name) for each in requests])


def _steps(requests: Sequence[StepsRequest]) -> Found:
    return step_together([each.lane for each in requests])


def _is_plain(equations: StateEquations) -> bool:
    """Whether rates follow from the efforts of the drive alone, of a tree without prescribed joints."""
    return not equations.loads and equations.constrained is None and equations.layout.v.stop <= ITERATED


def _settled(ensemble: Ensemble, who: Rows, q0: Floats) -> Floats:
    """Coordinates at rest (robots, n) near q0 with the drives held, by Newton's method for all robots at a time.

    Not a number where that finds no equilibrium that surely stays: those need a closer look.
    """
    n, m, B = ensemble.size, len(ensemble.inputs), ensemble.B
    stiffness = np.array([ensemble.members[k].stiffness for k in who])
    largest = np.zeros(len(q0))

    def residuals(rows: Rows, x: Floats) -> tuple[Floats, Floats]:
        q = x[:, :n]
        with ensemble.of(who[rows]):
            h = ensemble.bias(q, np.zeros_like(q))
        drive, elastic = x[:, n:] @ B.T, np.einsum("kij,kj->ki", stiffness[rows], q)
        size = np.abs(np.hstack([h, drive, elastic])).max(axis=1)
        largest[rows] = np.maximum(largest[rows], np.where(np.isfinite(size), size, 0.0))
        forces, held = h - drive, (q - q0[rows]) @ B
        error = np.where(np.isfinite(forces).all(axis=1), relative_error(forces, held, largest[rows]), np.inf)
        return np.hstack([forces, held]), error

    def steps(rows: Rows, x: Floats, residual: Floats) -> Floats:
        matrix = np.zeros((len(rows), n + m, n + m))
        matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = _stiffness(ensemble, who[rows], x[:, :n]), -B, B.T
        scale = np.sqrt(np.abs(matrix).max(axis=2))
        try:
            step = np.linalg.solve(matrix / scale[:, :, None] / scale[:, None, :], -(residual / scale)[..., None])
        except np.linalg.LinAlgError:
            return np.full_like(x, np.nan)
        return np.asarray(step[..., 0] / scale)

    x, error, _ = newton(residuals, steps, np.hstack([q0, np.zeros((len(q0), m))]))
    out = np.where((error <= RESIDUAL)[:, None], x[:, :n], np.nan)
    doubtful = np.array(
        [k for k in np.flatnonzero(error <= RESIDUAL) if bends_far(ensemble.members[who[k]])], dtype=int
    )
    if len(doubtful):
        for k, K in zip(doubtful, _stiffness(ensemble, who[doubtful], x[doubtful, :n]), strict=True):
            if softest(K, B.T) < FALLS:
                out[k] = np.nan
    return out


def _stiffness(ensemble: Ensemble, who: Rows, q: Floats) -> Floats:
    still = np.zeros_like(q)
    with ensemble.of(who):
        return ensemble.force_derivative("q", q, still, still)
