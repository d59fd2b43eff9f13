"""Inverse dynamics by successive approximation: Di Gregorio, section 5.1.

A frame shall follow a path. The nominal robot is led beside the path so that its elastic displacement brings the frame
onto it:

    p_0 = path;  elastic motion about p_k -> displacement d_k;  e_k = p_k + d_k - path;  p_{k+1} = p_k - F e_k.

Fed back in full, F = 1, the iteration diverges wherever the path's spectrum meets the first natural frequency: there
the displacement is larger than the motion that causes it. F therefore passes only what lies well below that frequency,
but for the first time: that correction is the displacement which the loads of the path itself would have without
vibrations. It is as smooth as the path's accelerations, above the band too. ``static`` does so every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pliant.formulations.lumped_fe.elastic_motion import (
    ElasticMotion,
    InterruptedMotionError,
    elastic_motion,
    solve_static,
)
from pliant.formulations.lumped_fe.frequencies import natural_frequencies
from pliant.formulations.lumped_fe.model import AssembledMotion, LumpedModel
from pliant.formulations.lumped_fe.node_matrices import Floats
from pliant.formulations.lumped_fe.recovery import ElasticState, Reactions, frame_displacement, reactions
from pliant.formulations.lumped_fe.rigid_path import SampledMotion, follow, frame_positions
from pliant.formulations.lumped_fe.skeleton import JointMotion

Feedback = Literal["band", "static", "full"]

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
CHUNK = 400
"""Instants whose reactions are computed in one go."""


@dataclass(frozen=True, slots=True)
class Approximation:
    """One iteration: largest and root-mean-square distance (m) of the frame from its path."""

    largest: float
    rms: float


@dataclass(frozen=True, eq=False)
class PathSolution:
    """What the drives must do.

    times       (N,)
    path        (N, 3)  desired positions of the frame
    reached     (N, 3)  what the model says it does
    nominal             motion of the joints, to be commanded
    elastic             displacements beside it
    iterations          distances from the path, the first without any correction
    outcome             converged, stalled, diverged, interrupted or out of iterations; ``words`` say why
    frequency   rad/s   the lowest along the path
    """

    model: LumpedModel
    frame: str
    times: Floats
    path: Floats
    reached: Floats
    nominal: SampledMotion
    elastic: ElasticMotion
    iterations: tuple[Approximation, ...]
    outcome: Literal["converged", "stalled", "diverged", "interrupted", "out of iterations"]
    words: str
    frequency: float
    _kept: list[Reactions] = field(default_factory=list)

    @property
    def motion(self) -> JointMotion:
        """Positions, rates and accelerations of the actuated joints (N, inputs)."""
        every = self.nominal(self.times)
        return JointMotion(*(x[:, self.model.skeleton.driven] for x in every))

    def reactions(self) -> Reactions:
        """Efforts of the drives and all constraint reactions at ``times``."""
        if not self._kept:
            self._kept.append(reactions_along(self.model, self.nominal, self.elastic))
        return self._kept[0]

    @property
    def efforts(self) -> Floats:
        """Of the drives (N, inputs), N m or N."""
        return self.reactions().efforts


def reactions_along(model: LumpedModel, nominal: Callable[[Floats], JointMotion], elastic: ElasticMotion) -> Reactions:
    """Reactions at the ends of all steps of an elastic motion."""
    parts = []
    for k in range(0, len(elastic.times), CHUNK):
        at = slice(k, k + CHUNK)
        s = elastic.state
        assembled = model.assemble(nominal(elastic.times[at]))
        parts.append(reactions(model, assembled, ElasticState(s.z[at], s.z_dot[at], s.z_ddot[at])))

    def join(of: Callable[[Reactions], dict[str, Floats]]) -> dict[str, Floats]:
        return {key: np.concatenate([of(part)[key] for part in parts]) for key in of(parts[0])}

    efforts = np.concatenate([part.efforts for part in parts])
    return Reactions(join(lambda r: r.joints), join(lambda r: r.loops), efforts)


def lowest_frequency(model: LumpedModel, q: Floats) -> float:
    """The lowest natural frequency (rad/s) at rest in poses (k, joints) of all joints."""
    which = np.unique(np.linspace(0, len(q) - 1, min(PROBES, len(q))).astype(int))
    still = np.zeros((1, q.shape[1]))
    return float(min(natural_frequencies(model, JointMotion(q[[k]], still, still), 1)[0] for k in which))


def step_times(until: float, frequency: float) -> Floats:
    """Equal steps that resolve the lowest vibration."""
    steps = int(np.ceil(until * frequency / (2 * np.pi) * STEPS_PER_PERIOD))
    return np.linspace(0.0, until, min(max(steps, FEWEST_STEPS), MOST_STEPS) + 1)


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
    frame: str,
    times: Floats,
    q: Floats,
    *,
    feedback: Feedback = "band",
    band: float | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    report: Callable[[int, float, Approximation | None], object] | None = None,
) -> PathSolution:
    """Lead a frame along the path that it has in the rigid robot at joint positions q (N, joints).

    feedback    band: after a quasi-static correction what lies below ``band`` (rad/s; default 0.4 of the lowest natural
                frequency); static: quasi-static ones only; full: everything, which diverges on most paths
    iterations  the most that are tried
    tolerance   m: distance from the path that is good enough
    report      called with iteration, time that is reached, and at its end the distance; ``True`` ends the iterations
                with the best of the finished ones, or with an InterruptedMotionError if there is none
    """
    path = frame_positions(model, q, frame)
    frequency = lowest_frequency(model, q)
    limit = BAND * frequency if band is None else band
    step = float(times[1] - times[0])
    target, best = path, None
    found: list[Approximation] = []
    outcome, words = "out of iterations", f"{iterations} iterations were not enough for {tolerance:.1e} m"
    for k in range(iterations + 1):
        nominal = SampledMotion(model, times, q)

        def at(t: float, k: int = k) -> object:
            return report is not None and report(k, t, None)

        try:
            elastic = elastic_motion(model, nominal, times, report=at)
        except InterruptedMotionError:
            if best is None:
                raise
            outcome, words = _interrupted(found)
            break
        quasi = feedback == "static" or (feedback == "band" and not k)
        displaced, still = _displacements(model, nominal, elastic, frame, static=quasi)
        reached = frame_positions(model, q, frame) + displaced
        error = reached - path
        size = np.linalg.norm(error, axis=1)
        found.append(Approximation(float(size.max()), float(np.sqrt((size**2).mean()))))
        stop = report is not None and report(k, float(times[-1]), found[-1])
        if best is None or found[-1].largest < best[0].largest:
            best = (found[-1], nominal, elastic, reached)
        ended = _ended(found, tolerance, feedback, frequency, limit) or (_interrupted(found) if stop else None)
        if ended is not None:
            outcome, words = ended
            break
        if k == iterations:
            break
        if quasi or feedback == "full":
            target = path - (still if quasi else displaced)
        else:
            target = target - low_pass(error, step, limit)
        q = follow(model, frame, target, q)
    assert best is not None
    _, nominal, elastic, reached = best
    return PathSolution(
        model, frame, times, path, reached, nominal, elastic, tuple(found), outcome, words, frequency  # type: ignore[arg-type]
    )  # fmt: skip


def _interrupted(found: list[Approximation]) -> tuple[str, str]:
    done, least = len(found) - 1, min(a.largest for a in found)
    return "interrupted", f"after iteration {done}; the best one, which comes within {least:.2e} m of the path, is kept"


def _ended(
    found: list[Approximation], tolerance: float, feedback: Feedback, frequency: float, band: float
) -> tuple[str, str] | None:
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
    model: LumpedModel, nominal: SampledMotion, elastic: ElasticMotion, frame: str, *, static: bool
) -> tuple[Floats, Floats]:
    """Displacement of the frame (N, 3), with vibrations, and if asked without."""
    moved, slow = [], []
    for k in range(0, len(elastic.times), CHUNK):
        at = slice(k, k + CHUNK)
        assembled = model.assemble(nominal(elastic.times[at]))
        moved.append(_position(model, assembled, elastic.state.z[at], frame))
        if static:
            z = np.array([solve_static(model, assembled, t) for t in range(len(elastic.times[at]))])
            slow.append(_position(model, assembled, z, frame))
    return np.concatenate(moved), np.concatenate(slow) if static else np.zeros((0, 3))


def _position(model: LumpedModel, assembled: AssembledMotion, z: Floats, frame: str) -> Floats:
    none = np.zeros_like(z)
    return frame_displacement(model, assembled, ElasticState(z, none, none), frame)[:, :3]
