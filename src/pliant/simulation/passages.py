"""Singular configurations that a run passes: rates must go on as they were, and the loops must stay closed.

Where loops lose a constraint for an instant, a motion may go on in several ways (a parallelogram that lies flat), and
the smallest slip of a step decides which one the equations follow. A run that changes its way there, or that tears a
loop open because it has none, is ended before.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.dense_forms import condition_of
from pliant.simulation.integrators.integrator import Piece
from pliant.simulation.state_equations import StateEquations

Floats = NDArray[np.float64]

SUDDEN = 5.0
"""Factor of the mean accelerations of a run, over time, from which they may be those of a jump."""
NEAR = 30.0
"""Factor of the condition number around the reference pose from which a configuration counts as nearly singular."""
JUMP = 1e-3
"""Part of the rates by which they may differ from what the accelerations beside a passage give, and from what a change
of these gives."""
OPENED = 0.02
"""Gap, relative to the size of the robot (or in radians), of a loop that is torn."""


class Jump(NamedTuple):
    """The last time before a jump, and what happened."""

    time: float
    words: str


class _Moment(NamedTuple):
    """A time with scaled rates and accelerations."""

    time: float
    v: Floats
    a: Floats


class _Worst(NamedTuple):
    """The largest scaled acceleration since the last calm moment; condition and names of loops that lost a row."""

    acceleration: float = 0.0
    condition: float = 0.0
    loops: tuple[str, ...] = ()


_NOTHING = _Worst()


class Passages:
    """Looks at the steps of a run for jumps and for loops that open."""

    def __init__(self, equations: StateEquations) -> None:
        self.equations, self.loops = equations, equations.loops
        self._sum = self._duration = 0.0
        self._calm: _Moment | None = None
        self._worst = _NOTHING

    def look(self, piece: Piece) -> Jump | None:
        """The first jump in a piece."""
        if not self.loops.rows:
            return None
        at = self.equations.layout
        scale = self.loops.column_scale[self.equations.moving]
        times, v, a = piece.knots, piece.knot_states[:, at.v] / scale, piece.knot_rates[:, at.v] / scale
        sizes = np.abs(a).max(axis=1, initial=0.0)
        # over time a jump counts little, however many steps it takes
        steps = np.diff(times)
        self._sum += float(steps @ (sizes[1:] + sizes[:-1]) / 2)
        self._duration += float(steps.sum())
        sudden = sizes * self._duration > SUDDEN * self._sum
        if not self._worst.acceleration and not sudden.any():
            self._calm = _Moment(float(times[-1]), v[-1], a[-1])
            return self._torn(piece)
        for k in range(len(times)):
            if not sudden[k]:
                here = _Moment(float(times[k]), v[k], a[k])
                if self._worst.loops and self._calm is not None and self._has_jumped(self._calm, here):
                    return Jump(max(self._calm.time, piece.start), self._words(self._calm.time))
                self._calm, self._worst = here, _NOTHING
            elif sizes[k] > self._worst.acceleration:
                self._worst = self._lost(float(times[k]), piece.knot_states[k], float(sizes[k]))
        return self._torn(piece)

    def memory(self) -> bytes:
        """What must be kept for a resumption."""
        calm = self._calm and (self._calm.time, self._calm.v.tolist(), self._calm.a.tolist())
        return json.dumps([self._sum, self._duration, calm, self._worst]).encode()

    def recall(self, kept: Any) -> None:
        """Go on from what ``memory`` gave."""
        self._sum, self._duration, calm, (acceleration, condition, loops) = json.loads(bytes(kept))
        self._calm = calm and _Moment(calm[0], np.array(calm[1]), np.array(calm[2]))
        self._worst = _Worst(acceleration, condition, tuple(loops))

    def _has_jumped(self, before: _Moment, after: _Moment) -> bool:
        between = after.time - before.time
        expected = before.v + between * (before.a + after.a) / 2
        size = max(np.abs(before.v).max(initial=0.0), np.abs(after.v).max(initial=0.0))
        changed = between * np.abs(after.a - before.a).max(initial=0.0)
        return bool(np.abs(after.v - expected).max(initial=0.0) > JUMP * size + changed)

    def _words(self, t: float) -> str:
        quoted = ", ".join(f"'{name}'" for name in self._worst.loops)
        return (
            f"{self._what} nearly singular there (t = {t:.6g} s, {quoted}, condition number "
            f"{self._worst.condition:.3g}), and the rates do not go on as they were: several motions are possible, or "
            "none; use another tolerance or method, or keep away from that configuration"
        )

    @property
    def _what(self) -> str:
        return "the loops are" if self.equations.constrained is None else "the pose of the drives is"

    def _lost(self, t: float, y: Floats, acceleration: float) -> _Worst:
        """How singular the loops are at a state of large accelerations, and which of them."""
        q, loops = self._coordinates(t, y), self.loops
        J = loops.scaled(q)[:, self.equations.moving]
        condition = condition_of(J, len(J))
        if condition <= NEAR * self._regular:
            return self._worst._replace(acceleration=acceleration)
        lost = np.abs(np.linalg.svd(J)[0][:, -1])
        names = (loops.rows[k].rpartition(".")[0] for k, part in zip(loops.kept_at(q), lost, strict=True) if part > 0.1)
        return _Worst(acceleration, condition, tuple(dict.fromkeys(names)))

    def _coordinates(self, t: float, y: Floats) -> Floats:
        """All coordinates, as they are integrated."""
        return self.equations.expand(t, y, np.zeros(self.equations.count))[0]

    @cached_property
    def _regular(self) -> float:
        """The least condition number around the reference pose."""
        return self.loops.least_condition(self.equations.moving.tolist())

    def _torn(self, piece: Piece) -> Jump | None:
        """Where a loop has opened by the end of a piece: the last time at which it had not."""
        states, times = piece.knot_states, piece.knots

        def opened(k: int) -> dict[str, tuple[float, float]]:
            q = self._coordinates(float(times[k]), states[k])
            if not np.isfinite(q).all() or self.loops.largest_gap(q) <= OPENED:
                return {}
            return self.loops.open_by(q)

        if not opened(len(times) - 1):
            return None
        first = next(k for k in range(len(times)) if opened(k))
        name, (distance, angle) = max(opened(first).items(), key=lambda item: max(item[1]))
        words = (
            f"loop '{name}' opens by {distance:.2g} m and {angle:.2g} rad at t = {times[first]:.6g} s: {self._what} "
            "nearly singular there, and the motion cannot go on with closed loops"
        )
        return Jump(float(times[max(first - 1, 0)]), words)
