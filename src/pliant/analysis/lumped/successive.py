"""Inverse dynamics by successive approximation: Di Gregorio, section 5.1.

Frames shall follow a path, by their positions or by whole poses. The nominal robot is led beside the path so that its
elastic displacement, and turn, brings the frames onto it:

    p_0 = path;  elastic motion about p_k -> displacement d_k;  e_k = p_k + d_k - path;  p_{k+1} = p_k - F e_k.

Fed back in full, F = 1, the iteration diverges wherever the path's spectrum meets the first natural frequency: there
the displacement is larger than the motion that causes it. F therefore passes only what lies well below that frequency,
but for the first time: that correction is the displacement which the loads of the path itself would have without
vibrations. It is as smooth as the path's accelerations, above the band too. ``static`` does so every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np

from pliant.analysis.lumped.displacements import NO_LOADS, AppliedLoads, Loading
from pliant.analysis.lumped.elastic_motion import (
    INSIDE,
    ElasticMotion,
    ElasticState,
    InterruptedMotionError,
    Reactions,
    assemble_at,
    elastic_motion,
    reactions,
    solve_static,
)
from pliant.analysis.lumped.frequencies import SLOW, natural_frequencies
from pliant.analysis.lumped.led_frames import FramePoses, LedFrames
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.node_equations import Floats
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.errors import ModelError, require_count, require_number, require_word

END_POINTS = 6
"""Points that tell how a correction begins or ends."""


class DrivenMotion(Protocol):
    """Positions, rates and accelerations (times, inputs) of the actuated joints at times."""

    def __call__(self, times: Floats, /) -> tuple[Floats, Floats, Floats]: ...


@dataclass(frozen=True, eq=False)
class CorrectedMotion:
    """A path of the actuated joints and a correction, which is known at times (N,) and joined by quintic splines.

    The path is taken as it is, with all that its rates and accelerations do; a spline through it would round off what
    jumps, and invent how it begins and ends.

    path  motion of the actuated joints
    q     positions of all joints (N, joints) at the times, path and correction together
    """

    model: LumpedModel
    path: DrivenMotion
    times: Floats
    q: Floats

    @cached_property
    def _correction(self) -> Any:
        from scipy.interpolate import make_interp_spline

        q, v, _ = self.path(self.times)
        change = self.q[:, self.model.skeleton.driven] - q
        if not change.any():
            return None
        ends = [self._end(change[::step], v[::step], float(step)) for step in (1, -1)]
        return make_interp_spline(self.times, change, k=5, bc_type=(ends[0], ends[1]))

    def _end(self, change: Floats, v: Floats, sign: float) -> list[tuple[int, Floats]]:
        """Rate and acceleration of the correction where it begins or ends: rest, or those of its nearest points."""
        if not v[0].any():
            still = np.zeros(v.shape[1])
            return [(1, still), (2, still)]
        step = float(self.times[1] - self.times[0])
        powers = np.vander(np.arange(float(END_POINTS)), increasing=True)
        coefficients = np.linalg.solve(powers, change[:END_POINTS])
        return [(1, sign * coefficients[1] / step), (2, 2 * coefficients[2] / step**2)]

    def __call__(self, t: Floats) -> JointMotion:
        """Motion of all joints; that of passive ones closes the loops."""
        driven = self.path(t)
        if self._correction is not None:
            driven = tuple(x + np.asarray(self._correction(t, k)) for k, x in enumerate(driven))
        near = np.column_stack([np.interp(t, self.times, column) for column in self.q.T])
        return self.model.nominal(JointMotion(*driven), start=near)


# ---- inverse dynamics by successive approximation

Feedback = Literal["band", "static", "full"]
Outcome = Literal["converged", "unconfirmed", "stalled", "diverged", "interrupted", "out of iterations"]

BAND = 0.4
"""Band of the feedback, as a part of the first natural frequency along the path."""
ORDER = 4
"""Of the low-pass filter, which runs forwards and backwards."""
TOLERANCE = 5e-6
"""m: the iteration ends when the frame is this close to its path."""
ITERATIONS = 10
GROWTH = 2.0
"""Growth of the error over the best one that counts as divergence."""
STALLED = 0.98
"""Part of the error that must be left after an iteration for it to have been of no use."""
PROBES = 25
"""Poses of the path at which the first natural frequency is looked for."""
STEPS_PER_PERIOD = 60
FEWEST_STEPS, MOST_STEPS = 300, 20_000
LEAST_PER_PERIOD = 8
"""Steps in a period of the lowest vibration below which it is not followed."""
SUDDEN = 1e-6
"""Part of the largest acceleration or load by which it jumps."""
TINY = 1e-30
CHUNK = 400
"""Instants whose reactions are computed in one go."""


@dataclass(frozen=True, slots=True)
class Approximation:
    """One iteration: largest and root-mean-square distance (m) of the frames from their path, where drives move them.

    Where orientations are kept, turns count by a length.
    """

    largest: float
    rms: float


@dataclass(frozen=True, eq=False)
class PathSolution:
    """What the drives must do.

    led                 the frames that keep the path
    times       (N,)
    wanted              desired poses of the frames
    found               what the model says they have
    nominal             motion of the joints, to be commanded
    elastic             displacements beside it
    iterations          distances from the path, the first without any correction
    outcome             converged, unconfirmed (terms of second order may be more than the tolerance), stalled,
                        diverged, interrupted or out of iterations; ``words`` say why
    frequency   rad/s   the lowest along the path
    moved       (N, frames, 6)  displacements and turns of the frames beside their nominal motion
    band        rad/s   of the feedback
    loads               what acts from outside
    breaks      s       times at which something jumps
    """

    model: LumpedModel
    led: LedFrames
    times: Floats
    wanted: FramePoses
    found: FramePoses
    nominal: CorrectedMotion
    elastic: ElasticMotion
    iterations: tuple[Approximation, ...]
    outcome: Outcome
    words: str
    frequency: float
    moved: Floats
    band: float
    loads: Loading | None = None
    breaks: tuple[float, ...] = ()
    _kept: list[Reactions] = field(default_factory=list)

    @property
    def frame(self) -> str:
        """The frame, or the first of several."""
        return self.led.names[0]

    @property
    def path(self) -> Floats:
        """Desired positions of the (first) frame (N, 3)."""
        return self.wanted.position[:, 0]

    @property
    def reached(self) -> Floats:
        """Where the model says that it is (N, 3)."""
        return self.found.position[:, 0]

    @property
    def tilt(self) -> float:
        """rad: the most by which an orientation differs from that of the path, in any direction."""
        return float(np.linalg.norm(self.led.apart(self.found, self.wanted)[..., 3:], axis=2).max())

    @property
    def aside(self) -> float:
        """m: the most by which a frame is off in directions that no drive moves."""
        rows = self.led.rows(self.led.apart(self.found, self.wanted))
        return float(self.led.distances(rows - self.led.led(self.nominal.q, rows)).max())

    @property
    def motion(self) -> JointMotion:
        """Positions, rates and accelerations of the actuated joints (N, inputs)."""
        every = self.nominal(self.times)
        return JointMotion(*(x[:, self.model.skeleton.driven] for x in every))

    def reactions(self) -> Reactions:
        """Efforts of the drives and all constraint reactions at ``times``."""
        if not self._kept:
            self._kept.append(reactions_along(self.model, self.nominal, self.elastic, self.loads))
        return self._kept[0]

    @property
    def displacement(self) -> float:
        """m: largest elastic displacement of a frame."""
        return float(np.linalg.norm(self.moved[..., :3], axis=2).max())

    @property
    def turn(self) -> float:
        """rad: largest turn of a frame beside its nominal motion."""
        return float(np.linalg.norm(self.moved[..., 3:], axis=2).max())

    @property
    def neglected(self) -> float:
        """m: size of the terms of second order, a displacement that is turned by half of the frame's turn."""
        return self.displacement * self.turn / 2

    @property
    def efforts(self) -> Floats:
        """Efforts of the drives (N, inputs), N m or N."""
        return self.reactions().efforts


def reactions_along(
    model: LumpedModel,
    nominal: Callable[[Floats], JointMotion],
    elastic: ElasticMotion,
    loads: Loading | None = None,
) -> Reactions:
    """Reactions at the ends of all steps of an elastic motion."""
    parts, times = [], _from_inside(elastic.times)
    for k in range(0, len(times), CHUNK):
        at = slice(k, k + CHUNK)
        s = elastic.state
        assembled = assemble_at(model, nominal, times[at], loads)
        parts.append(reactions(model, assembled, ElasticState(s.z[at], s.z_dot[at], s.z_ddot[at])))

    def join(of: Callable[[Reactions], dict[str, Floats]]) -> dict[str, Floats]:
        return {key: np.concatenate([of(part)[key] for part in parts]) for key in of(parts[0])}

    efforts = np.concatenate([part.efforts for part in parts])
    return Reactions(join(lambda r: r.joints), join(lambda r: r.loops), efforts)


def _from_inside(times: Floats) -> Floats:
    """The ends of steps as the steps see them: what jumps there belongs to the next one."""
    return np.append(times[:1], times[1:] - INSIDE * np.diff(times))


def lowest_frequency(model: LumpedModel, q: Floats) -> float:
    """The lowest natural frequency (rad/s) at rest in poses (k, joints) of all joints."""
    which = np.unique(np.linspace(0, len(q) - 1, min(PROBES, len(q))).astype(int))
    still = np.zeros((1, q.shape[1]))
    return float(min(natural_frequencies(model, JointMotion(q[[k]], still, still), 1)[0] for k in which))


def step_times(until: float, frequency: float, steps: int | None = None) -> Floats:
    """Equal steps that resolve the lowest vibration, or so many."""
    periods = until * frequency / (2 * np.pi)
    if steps is None:
        steps = min(max(int(np.ceil(periods * STEPS_PER_PERIOD)), FEWEST_STEPS), MOST_STEPS)
    least = max(int(np.ceil(periods * LEAST_PER_PERIOD)), 2 * END_POINTS)
    if steps < least:
        raise ModelError(
            f"steps is {steps}; the lowest vibration, of {frequency / (2 * np.pi):.3g} Hz, needs at least {least} of "
            f"them in {until:g} s"
        )
    return np.linspace(0.0, until, steps + 1)


def low_pass(signal: Floats, step: float, band: float) -> Floats:
    """A signal (N, k) without what is faster than ``band`` (rad/s), without delay; it goes on as it begins and ends."""
    from scipy.signal import butter, sosfiltfilt

    rate = 2 * np.pi / step
    sections = butter(ORDER, min(band, 0.49 * rate), fs=rate, output="sos")
    # as long as the filter remembers
    pad = int(np.ceil(6 * np.pi / (band * step)))
    longer = np.pad(signal, ((pad, pad), (0, 0)), mode="edge")
    return np.asarray(sosfiltfilt(sections, longer, axis=0, padlen=0)[pad : len(longer) - pad])


def successive_approximation(
    model: LumpedModel,
    led: LedFrames,
    times: Floats,
    path: DrivenMotion,
    start: Floats,
    *,
    loads: Loading | None = None,
    breaks: Sequence[float] = (),
    feedback: Feedback = "band",
    band: float | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    report: Callable[[int, float, Approximation | None], object] | None = None,
) -> PathSolution:
    """Lead frames along the way that they have in the rigid robot while the actuated joints follow their path.

    led         the frames, and whether they keep orientations, too
    path        motion of the actuated joints
    start       positions of all joints (joints,) near the first instant
    loads       what acts from outside
    breaks      times at which accelerations of the path or loads jump
    feedback    band: after a quasi-static correction what lies below ``band`` (rad/s; default 0.4 of the lowest natural
                frequency); static: quasi-static ones only; full: everything, which diverges on most paths
    iterations  the most that are tried
    tolerance   m: distance from the path that is good enough
    report      called with iteration, time that is reached, and at its end the distance; ``True`` ends the iterations
                with the best of the finished ones, or with an InterruptedMotionError if there is none
    """
    _require(feedback, band, iterations, tolerance)
    q = model.nominal(JointMotion(*path(times)), start).q
    way = led.poses(q)
    frequency = lowest_frequency(model, q)
    limit = BAND * frequency if band is None else band
    step = float(times[1] - times[0])
    jumps = _jumps(path, loads, times, breaks)
    rigid, best = q, None
    shift = np.zeros_like(led.rows(led.apart(way, way)))
    found: list[Approximation] = []
    outcome: Outcome = "out of iterations"
    words = f"{iterations} iterations were not enough for {tolerance:.1e} m"
    for k in range(iterations + 1):
        nominal = CorrectedMotion(model, path, times, q)

        def at(t: float, k: int = k) -> object:
            return report is not None and report(k, t, None)

        try:
            elastic = _elastic(model, nominal, times, breaks, loads, at)
        except InterruptedMotionError:
            if best is None:
                raise
            outcome, words = _interrupted(found)
            break
        quasi = feedback == "static" or (feedback == "band" and not k)
        displaced, still = _displacements(led, nominal, elastic, loads, static=quasi)
        reached = led.displaced(led.poses(q), displaced)
        error = led.rows(led.apart(reached, way))
        size = led.distances(led.led(rigid, error))
        found.append(Approximation(float(size.max()), float(np.sqrt((size**2).mean()))))
        stop = report is not None and report(k, float(times[-1]), found[-1])
        if best is None or found[-1].largest < best[0].largest:
            best = (found[-1], nominal, elastic, reached, displaced)
        ended = _ended(found, tolerance, feedback, frequency, limit) or (_interrupted(found) if stop else None)
        if ended is not None:
            outcome, words = ended
            break
        if k == iterations:
            break
        if quasi:
            shift = -(_without_jumps(still, nominal, times, limit) if jumps else still)
        elif feedback == "full":
            shift = -led.rows(displaced)
        else:
            shift = shift - low_pass(error, step, limit)
        q = led.follow(led.shifted(way, shift), q)
    assert best is not None
    _, nominal, elastic, reached, displaced = best
    solution = PathSolution(
        model, led, times, way, reached, nominal, elastic, tuple(found), outcome, words, frequency, displaced, limit,
        loads, tuple(breaks),
    )  # fmt: skip
    return _with_small_turns(solution, tolerance) if outcome == "converged" else solution


def led_by(solution: PathSolution, error: Floats) -> PathSolution:
    """The solution with its path corrected by what a better model says is wrong with it: error (N, rows), m."""
    s, led = solution, solution.led
    step = float(s.times[1] - s.times[0])
    target = led.shifted(led.poses(s.nominal.q), -low_pass(error, step, s.band))
    q = led.follow(target, s.nominal.q)
    nominal = CorrectedMotion(s.model, s.nominal.path, s.times, q)
    elastic = _elastic(s.model, nominal, s.times, s.breaks, s.loads, lambda t: None)
    moved, _ = _displacements(led, nominal, elastic, s.loads, static=False)
    found = led.displaced(led.poses(q), moved)
    return replace(s, nominal=nominal, elastic=elastic, moved=moved, found=found, _kept=[])


def _require(feedback: str, band: float | None, iterations: int, tolerance: float) -> None:
    """Refuse what means nothing."""
    require_word("feedback", feedback, get_args(Feedback))
    if band is not None:
        require_number("band", band, "rad/s", positive=True)
    require_count("iterations", iterations, least=0)
    require_number("tolerance", tolerance, "m", positive=True)


def _with_small_turns(solution: PathSolution, tolerance: float) -> PathSolution:
    """The equations of the nodes are linear: say what they leave out, and that it may be more than what they find."""
    words = (
        f"{solution.words} by the linear equations of the nodes; displaced by {solution.displacement:.2g} m and turned "
        f"by {solution.turn:.2g} rad, it has terms of second order of about {solution.neglected:.1e} m"
    )
    if solution.neglected <= tolerance:
        return replace(solution, words=words)
    return replace(solution, outcome="unconfirmed", words=f"{words}, more than the tolerance of {tolerance:.1e} m")


def _elastic(
    model: LumpedModel,
    nominal: CorrectedMotion,
    times: Floats,
    breaks: Sequence[float],
    loads: Loading | None,
    report: Callable[[float], object],
) -> ElasticMotion:
    """The elastic motion at ``times``, with steps that end at breaks, too."""
    step = float(times[1] - times[0])
    inner = [b for b in breaks if times[0] < b < times[-1] and np.abs(times - b).min() > INSIDE * step]
    grid = np.union1d(times, inner)
    whole = elastic_motion(model, nominal, grid, _begin(model, nominal, times, loads), loads=loads, report=report)
    at, s = np.searchsorted(grid, times), whole.state
    return ElasticMotion(times, ElasticState(s.z[at], s.z_dot[at], s.z_ddot[at]))


def _begin(model: LumpedModel, nominal: CorrectedMotion, times: Floats, loads: Loading | None) -> tuple[Floats, Floats]:
    """Displacements and rates in balance: of a robot at rest, or of one that bends as slowly as it moves."""
    motion = nominal(times[:1])
    if np.abs(motion.v).max(initial=0.0) < SLOW:
        # what accelerates it acts from now on
        rest = model.assemble(
            JointMotion(motion.q, 0 * motion.v, 0 * motion.a), NO_LOADS if loads is None else loads(times[:1])
        )
        return solve_static(model, rest, 0), np.zeros(model.size)
    h = 0.1 * float(times[1] - times[0])
    assembled = assemble_at(model, nominal, times[0] + h * np.arange(3), loads)
    z = [solve_static(model, assembled, t) for t in range(3)]
    return z[0], (-3 * z[0] + 4 * z[1] - z[2]) / (2 * h)


def _jumps(path: DrivenMotion, loads: Loading | None, times: Floats, breaks: Sequence[float]) -> bool:
    """Whether loads or accelerations jump: corrections as quick as they would be blows to the links."""
    near = INSIDE * float(times[-1] - times[0])
    inner = np.array([b for b in breaks if times[0] < b < times[-1]])
    _, v, a = path(times)
    scale = max(float(np.abs(a).max(initial=0.0)), TINY)
    if np.abs(v[0]).max(initial=0.0) < SLOW and np.abs(a[0]).max(initial=0.0) > SUDDEN * scale:
        return True
    if not len(inner):
        return False
    before, after = (path(inner + side) for side in (-near, near))
    if np.abs(after[2] - before[2]).max(initial=0.0) > SUDDEN * scale:
        return True
    if loads is None:
        return False
    all_times, left, right = (loads(t) for t in (times, inner - near, inner + near))
    rows = zip(_values(left), _values(right), _values(all_times), strict=True)
    return any(np.abs(y - x).max() > SUDDEN * max(float(np.abs(every).max()), TINY) for x, y, every in rows)


def _values(loads: AppliedLoads) -> list[Floats]:
    return [w for _, w in loads.wrenches] + [*loads.efforts.values()]


def _without_jumps(still: Floats, nominal: CorrectedMotion, times: Floats, band: float) -> Floats:
    """A correction that no drive could follow at once, without what is faster than the band; from rest and to rest."""
    slow = low_pass(still, float(times[1] - times[0]), band)
    _, v, _ = nominal.path(times[[0, -1]])
    for rate, end, since in ((v[0], still[0], times - times[0]), (v[1], still[-1], times[-1] - times)):
        if np.abs(rate).max(initial=0.0) < SLOW:
            u = np.clip(since * band / np.pi, 0.0, 1.0)[:, None]
            slow = end + u**3 * (10 - 15 * u + 6 * u**2) * (slow - end)
    return slow


def _interrupted(found: list[Approximation]) -> tuple[Outcome, str]:
    done, least = len(found) - 1, min(a.largest for a in found)
    return "interrupted", f"after iteration {done}; the best one, which comes within {least:.2e} m of the path, is kept"


def _ended(
    found: list[Approximation], tolerance: float, feedback: Feedback, frequency: float, band: float
) -> tuple[Outcome, str] | None:
    now, least = found[-1].largest, min(a.largest for a in found)
    first = frequency / (2 * np.pi)
    if now <= tolerance:
        number = f"{len(found) - 1} iteration{'' if len(found) == 2 else 's'}"
        return "converged", f"the frame is within {now:.2e} m of its path after {number}"
    if len(found) > 2 and (not np.isfinite(now) or now > GROWTH * least):
        why = f"the distance grew from {least:.2e} m to {now:.2e} m; "
        if feedback == "full":
            why += (
                f"above about 0.7 of the first natural frequency ({first:.2f} Hz) a link answers a correction with "
                "more than the correction. Feed back only what is slower: feedback band"
            )
        else:
            why += f"the band of {band / (2 * np.pi):.2f} Hz is too near to the first natural frequency, {first:.2f} Hz"
        return "diverged", why
    if len(found) > 3 and all(b.largest > STALLED * a.largest for a, b in zip(found[-3:-1], found[-2:], strict=True)):
        return "stalled", (
            f"{least:.2e} m are left and no longer change: vibrations above the band of the feedback, which a "
            "smoother or slower path does not excite"
        )
    return None


def _displacements(
    led: LedFrames, nominal: CorrectedMotion, elastic: ElasticMotion, loads: Loading | None, *, static: bool
) -> tuple[Floats, Floats]:
    """Displacements and turns of the frames (N, frames, 6) with vibrations, and if asked rows (N, rows) without."""
    moved, slow, model = [], [], led.model
    for k in range(0, len(elastic.times), CHUNK):
        at = slice(k, k + CHUNK)
        assembled = assemble_at(model, nominal, elastic.times[at], loads)
        moved.append(led.displacements(assembled, elastic.state.z[at]))
        if static:
            z = np.array([solve_static(model, assembled, t) for t in range(len(elastic.times[at]))])
            slow.append(led.rows(led.displacements(assembled, z)))
    still = np.concatenate(slow) if static else np.zeros((0, 3))
    if static:
        # it begins in balance, whatever accelerates it then
        still[0] = led.rows(moved[0][:1])[0]
    return np.concatenate(moved), still
