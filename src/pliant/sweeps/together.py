"""Answers to what several runs ask for at the same time: steps in lanes, equilibria, rates and efforts in batches.

Every answer is that of the run alone, to rounding; what cannot be found together is found for each run alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import MOST_AWAY, RESIDUAL, bends_far
from pliant.analysis.limits import RootLoads, axial_changes_of, axial_links, root_loads
from pliant.dynamics import Dynamics
from pliant.engine.stepping.lane_system import LaneRun, step_together
from pliant.formulations.recursive.recursions import HANDED
from pliant.simulation.checks import AxialAsk, EnergiesAsk
from pliant.simulation.choice import ITERATED, RateAsk
from pliant.simulation.climbs import TopsAsk, climb
from pliant.simulation.integrators.compiled import FitAsk
from pliant.simulation.integrators.lockstep import Ask, Steps
from pliant.simulation.peaks import PositionsAsk
from pliant.simulation.recorder import InstantsAsk
from pliant.simulation.start import RestAsk
from pliant.simulation.state_equations import DIFFERENCE, StateEquations
from pliant.sweeps.flock import Flock, likeness
from pliant.sweeps.pids import PidLaw, PidLaws

Floats = NDArray[np.float64]
Answer = Any
"""What was asked for, or the error instead of it."""


class Together:
    """Runs that are made at the same time, and the flocks of their robots."""

    def __init__(self) -> None:
        self._members: dict[object, list[Dynamics]] = {}
        self._places: dict[int, tuple[object, int]] = {}
        self._flocks: dict[object, Flock] = {}

    def answers(self, asks: Sequence[Ask]) -> list[Answer]:
        """One for each, in their order."""
        found: dict[int, Answer] = {}
        for kind, find in self._ways.items():
            own = [k for k, ask in enumerate(asks) if isinstance(ask, kind)]
            if len(own) > 1:
                # a state that is no number must not hurt the others
                with suppress(ValueError, FloatingPointError):
                    found |= zip(own, find([asks[k] for k in own]), strict=True)
        return [found[k] if found.get(k) is not None else answered(ask) for k, ask in enumerate(asks)]

    @property
    def _ways(self) -> dict[type, Callable[[Any], list[Answer]]]:
        return {
            LaneRun: step_together,
            RestAsk: self._rests,
            RateAsk: self._rates,
            FitAsk: self._fits,
            InstantsAsk: self._moments,
            PositionsAsk: self._positions,
            EnergiesAsk: self._energies,
            AxialAsk: self._axials,
            TopsAsk: self._tops,
        }

    def in_step(self, steps: Sequence[Steps[Any]]) -> list[Any]:
        """What comes out of generators that ask side by side; raises the first error."""
        out: list[Any] = [None] * len(steps)
        waiting: dict[int, Ask] = {}

        def go_on(k: int, answer: Answer) -> None:
            if isinstance(answer, Exception):
                raise answer
            try:
                waiting[k] = steps[k].send(answer)
            except StopIteration as end:
                out[k] = end.value

        for k in range(len(steps)):
            go_on(k, None)
        while waiting:
            asked, waiting = waiting, {}
            for k, answer in zip(asked, self.answers([*asked.values()]), strict=True):
                go_on(k, answer)
        return out

    # ---- flocks

    def _flock(self, arms: Sequence[Dynamics]) -> tuple[Flock, list[int]] | None:
        """A flock in which robots are, and their numbers in it; None if they are not all alike."""
        for arm in arms:
            if id(arm) not in self._places:
                key = likeness(arm)
                members = self._members.setdefault(key, [])
                self._places[id(arm)] = key, len(members)
                members.append(arm)
                self._flocks.pop(key, None)
        keys = {self._places[id(arm)][0] for arm in arms}
        if len(keys) != 1 or None in keys:
            return None
        (key,) = keys
        if key not in self._flocks:
            self._flocks[key] = Flock(self._members[key])
        return self._flocks[key], [self._places[id(arm)][1] for arm in arms]

    def _alike(self, arms: Sequence[Dynamics]) -> Iterator[tuple[Flock, list[int], list[int]]]:
        """Flocks, the positions of the given robots that are in them, and their numbers there."""
        groups: dict[object, list[int]] = {}
        for k, arm in enumerate(arms):
            self._flock([arm])
            groups.setdefault(self._places[id(arm)][0], []).append(k)
        for key, places in groups.items():
            found = self._flock([arms[k] for k in places]) if key is not None else None
            if found is not None:
                yield found[0], places, found[1]

    # ---- equilibria

    def _rests(self, asks: Sequence[RestAsk]) -> list[Answer]:
        out: list[Answer] = [None] * len(asks)
        plain = [k for k, ask in enumerate(asks) if not ask.loads]
        for flock, places, numbers in self._alike([asks[k].arm for k in plain]):
            own = [plain[k] for k in places]
            q = _settled(flock, np.array(numbers), np.array([asks[k].q for k in own]))
            for k, state in zip(own, q, strict=True):
                out[k] = state if np.isfinite(state).all() else None
        return out

    # ---- the fastest motion at the start

    def _rates(self, asks: Sequence[RateAsk]) -> list[Answer]:
        out: list[Answer] = [None] * len(asks)
        # states of drives are moved for each run alone
        plain = [k for k, ask in enumerate(asks) if _is_plain(ask.equations) and not ask.equations.states]
        for flock, places, numbers in self._alike([asks[k].equations.arm for k in plain]):
            own = [asks[plain[k]] for k in places]
            n = flock.size
            starts = [ask.equations.start(ask.q, ask.v) for ask in own]
            # the start itself, then each coordinate and rate moved
            moved = [y + DIFFERENCE * np.eye(2 * n + 1, len(y), -1) for y in starts]
            instants = [InstantsAsk(ask.equations, np.zeros(2 * n + 1), y) for ask, y in zip(own, moved, strict=True)]
            tau = np.vstack([moments.tau for moments in self.in_step([_asked(ask) for ask in instants])])
            y = np.vstack([x[:, : 2 * n] for x in moved])
            who = np.repeat(numbers, 2 * n + 1)
            with flock.of(who):
                a = flock.loops.forward(y[:, :n], y[:, n:], tau @ flock.B.T)
            rates = np.hstack([y[:, n:], a]).reshape(len(own), 2 * n + 1, 2 * n)
            A = (rates[:, 1:] - rates[:, :1]) / DIFFERENCE
            finite = np.flatnonzero(np.isfinite(A).all(axis=(1, 2)))
            fastest = np.abs(np.linalg.eigvals(A[finite])).max(axis=1, initial=0.0)
            for k, rate in zip(finite.tolist(), fastest.tolist(), strict=True):
                out[plain[places[k]]] = rate
        return out

    # ---- what follows from a motion

    def _by_flocks(self, asks: Sequence[Any], find: Callable[[Flock, list[Any]], Floats]) -> list[Answer]:
        """Rows of what is found for flocks, each with the asks of its robots, for the states of each ask."""
        out: list[Answer] = [None] * len(asks)
        for flock, places, numbers in self._alike([ask.arm for ask in asks]):
            own = [asks[k] for k in places]
            sizes = [len(ask.q) for ask in own]
            with flock.of(np.repeat(numbers, sizes)):
                found = find(flock, own)
            for k, part in zip(places, np.split(found, np.cumsum(sizes)[:-1]), strict=True):
                out[k] = part
        return out

    def _positions(self, asks: Sequence[PositionsAsk]) -> list[Answer]:
        if len({ask.frames for ask in asks}) > 1:
            return [None] * len(asks)
        return self._by_flocks(asks, lambda flock, own: flock.positions(own[0].frames, _stacked(own, "q")))

    def _energies(self, asks: Sequence[EnergiesAsk]) -> list[Answer]:
        def energies(flock: Flock, own: list[EnergiesAsk]) -> Floats:
            return np.array(flock.energy(_stacked(own, "q"), _stacked(own, "v"))).T

        return self._by_flocks(asks, energies)

    def _axials(self, asks: Sequence[AxialAsk]) -> list[Answer]:
        def handed(flock: Flock, own: list[AxialAsk]) -> Floats:
            q, v, tau, force = (_stacked(own, name) for name in ("q", "v", "tau", "force"))
            return flock._reaction(q, v, flock.forward(q, v, tau, force=force if force.shape[1] else None))

        out: list[Answer] = [None] * len(asks)
        links = axial_links(asks[0].arm)
        if not links or any(axial_links(ask.arm) != links for ask in asks):
            return out
        found = self._by_flocks(asks, handed)
        flocks: dict[object, list[int]] = {}
        for k, ask in enumerate(asks):
            if found[k] is not None:
                flocks.setdefault(self._places[id(ask.arm)][0], []).append(k)
        for places in flocks.values():
            arms, sizes = [asks[k].arm for k in places], [len(found[k]) for k in places]
            each = [root_loads(asks[k].arm, found[k].reshape(len(found[k]), -1, HANDED)) for k in places]
            known = RootLoads(*(np.vstack(parts) for parts in zip(*each, strict=True)))
            who, q = np.repeat(np.arange(len(arms)), sizes), _stacked([asks[k] for k in places], "q")
            acting = [loads for k in places for loads in asks[k].loads()]
            changes = iter(axial_changes_of(arms, who, q, known, acting))
            for k, size in zip(places, sizes, strict=True):
                out[k] = [next(changes) for _ in range(size)]
        return out

    def _tops(self, asks: Sequence[TopsAsk]) -> list[Answer]:
        out: list[Answer] = [None] * len(asks)
        alike: dict[object, list[int]] = {}
        for k, ask in enumerate(asks):
            alike.setdefault(ask.likeness, []).append(k)
        for places in alike.values():
            # what goes wrong in one of them is found by each alone
            with suppress(Exception):
                climb([asks[k] for k in places], self.in_step)
                for k in places:
                    out[k] = True
        return out

    # ---- efforts

    def _fits(self, asks: Sequence[FitAsk]) -> list[Answer]:
        return self._by_laws(asks, PidLaws.fits, lambda ask: (ask.start, ask.end, ask.pieces))

    def _moments(self, asks: Sequence[InstantsAsk]) -> list[Answer]:
        return self._by_laws(asks, PidLaws.moments, lambda ask: ask.equations.layout)

    def _by_laws(
        self,
        asks: Sequence[Any],
        find: Callable[[PidLaws, list[Any]], Sequence[Answer]],
        likeness_of: Callable[[Any], Hashable],
    ) -> list[Answer]:
        """What is found for runs whose laws are alike; nothing for those that have none."""
        out: list[Answer] = [None] * len(asks)
        laws = [PidLaw.of(ask.equations) for ask in asks]
        alike: dict[Hashable, list[int]] = {}
        for k, (ask, law) in enumerate(zip(asks, laws, strict=True)):
            # methods that are not exact have rigid robots of their own
            if law is not None and ask.equations.arm.method.order is None:
                alike.setdefault((law.likeness, likeness_of(ask), bool(ask.equations.loads)), []).append(k)
        for places in alike.values():
            own = [law for k in places if (law := laws[k]) is not None]
            for k, answer in zip(places, find(PidLaws(own, self._weights), [asks[k] for k in places]), strict=True):
                out[k] = answer
        return out

    def _weights(self, arms: Sequence[Dynamics], positions: Sequence[Floats]) -> list[Floats]:
        """Of rigid robots: those of the robots themselves with straight links, whose joints carry the same."""
        out: list[Any] = [None] * len(arms)
        for flock, places, numbers in self._alike(arms):
            inputs, sizes = [flock.names.index(name) for name in flock.inputs], [len(positions[k]) for k in places]
            q = np.repeat(np.array([arms[k].reference_pose() for k in places]), sizes, axis=0)
            q[:, inputs] = np.vstack([positions[k] for k in places])
            with flock.of(np.repeat(numbers, sizes)):
                weights = flock.gravity(q)[:, inputs]
            for k, weight in zip(places, np.split(weights, np.cumsum(sizes)[:-1]), strict=True):
                out[k] = weight
        if any(weight is None for weight in out):
            raise ValueError("a robot that is in no flock")
        return out


def _stacked(asks: Sequence[Any], name: str) -> Floats:
    return np.vstack([getattr(ask, name) for ask in asks])


def _asked(ask: Ask) -> Steps[Any]:
    """Asks and gives the answer."""
    return (yield ask)


def answered(ask: Ask) -> Answer:
    """What a run asks for, found alone, or the error."""
    try:
        return ask.alone()
    except Exception as error:
        return error


def _is_plain(equations: StateEquations) -> bool:
    """Whether rates follow from the efforts of the drive alone, of a tree without prescribed joints."""
    return not equations.loads and equations.constrained is None and equations.layout.v.stop <= ITERATED


def _settled(flock: Flock, who: NDArray[np.int64], q0: Floats) -> Floats:
    """Coordinates at rest (robots, n) near q0 with the drives held, by full Newton steps of all robots at a time.

    Not a number where that does not lead straight to an equilibrium that surely stays: those need a closer look.
    """
    n, m, B = flock.size, len(flock.inputs), flock.B
    stiffness = np.array([flock.members[k].stiffness for k in who])
    out = np.full_like(q0, np.nan)
    x, largest = np.hstack([q0, np.zeros((len(q0), m))]), np.zeros(len(q0))

    def error(x: Floats, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        q, still = x[:, :n], np.zeros((len(x), n))
        with flock.of(who[rows]):
            g, h = flock.gravity(q), flock.bias(q, still)
        drive, elastic = x[:, n:] @ B.T, np.einsum("kij,kj->ki", stiffness[rows], q)
        size = np.abs(np.hstack([g, drive, elastic])).max(axis=1)
        largest[rows] = np.maximum(largest[rows], np.where(np.isfinite(size), size, 0.0))
        residual = np.hstack([h - drive, (q - q0[rows]) @ B])
        scaled = np.abs(residual) / np.hstack(
            [np.where(largest[rows] > 0, largest[rows], 1.0)[:, None].repeat(n, 1), np.ones((len(x), m))]
        )
        return residual, scaled.max(axis=1, initial=0.0)

    active = np.arange(len(q0))
    residual, now = error(x, active)
    for _ in range(MOST_AWAY):
        K = _stiffness(flock, who[active], x[active, :n])
        done = now <= RESIDUAL
        stays = np.array([not bends_far(flock.members[who[k]]) for k in active]) | _holds(K, B)
        out[active[done & stays]] = x[active[done & stays], :n]
        going = ~done & np.isfinite(now)
        active, K, residual, now = active[going], K[going], residual[going], now[going]
        if not len(active):
            break
        matrix = np.zeros((len(active), n + m, n + m))
        matrix[:, :n, :n], matrix[:, :n, n:], matrix[:, n:, :n] = K, -B, B.T
        scale = np.sqrt(np.abs(matrix).max(axis=2))
        try:
            step = np.linalg.solve(matrix / scale[:, :, None] / scale[:, None, :], -(residual / scale)[..., None])
        except np.linalg.LinAlgError:
            break
        trial = x[active] + step[..., 0] / scale
        residual, found = error(trial, active)
        # a step that leads away is to be shortened
        good = found < now
        x[active] = trial
        active, residual, now = active[good], residual[good], found[good]
    return out


def _stiffness(flock: Flock, who: NDArray[np.int64], q: Floats) -> Floats:
    still = np.zeros_like(q)
    with flock.of(who):
        return flock.force_derivative("q", q, still, still)


def _holds(K: Floats, B: Floats) -> NDArray[np.bool_]:
    """Whether stiffnesses (robots, n, n) resist every motion that held drives leave."""
    n, m = B.shape
    Z = np.linalg.qr(B, mode="complete")[0][:, m:] if m else np.eye(n)
    reduced = Z.T @ K @ Z
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(reduced).all(axis=(1, 2)))
    symmetric = np.where(finite[:, None, None], reduced + reduced.transpose(0, 2, 1), 0.0)
    size = np.sqrt(np.maximum(np.abs(np.diagonal(symmetric, axis1=1, axis2=2)), np.finfo(float).tiny))
    lowest = (
        np.linalg.eigvalsh(symmetric / size[:, :, None] / size[:, None, :])[:, 0] if Z.shape[1] else np.ones(len(K))
    )
    found: NDArray[np.bool_] = finite & (lowest > 0)
    return found
