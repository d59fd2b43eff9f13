"""A study solved by stable inversion: what the drives do, how long before the path, and what the full model says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.modes import vibration_modes
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, require_count, require_number
from pliant.loads.disturbance import FrameWrench
from pliant.results.result import Result
from pliant.simulation.inverse.confirmation import Confirmation
from pliant.simulation.inverse.replay_study import Replay, delayed, slow_gains
from pliant.simulation.inverse.spline_least_squares import Levels
from pliant.simulation.inverse.stable_inversion import Inversion, InversionSolution, bent_at_rest
from pliant.simulation.monitoring.checks import joint_limit_words
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import run_study
from pliant.simulation.start import Start
from pliant.simulation.study import DEFAULT_TOLERANCE, Study
from pliant.trajectories.joint_moves import Spline
from pliant.trajectories.path import Path as JointPath

Floats = NDArray[np.float64]

SAMPLES = 8
"""Samples of the motion between two knots."""
UNMOVED = 1e-3
"""Part of the tolerance that is no motion of the frame: so long the replay need not begin."""
HALVINGS = 3
"""The most times that knots become twice as many because the full model does not agree."""
LESS = 0.7
"""Part of what finer knots must leave of a distance to go on with them."""
MOST_UNKNOWNS = 200_000


class Lead(NamedTuple):
    """How long before the path, or changing loads, drives begin (s), and by how much they have moved then (rad, m)."""

    time: float
    moved: dict[str, float]


@dataclass(frozen=True, eq=False)
class InversionRun:
    """A study solved by stable inversion.

    path       the joints of the rigid robot along the desired path
    inversion  the equations, for finer knots
    solution   the motion of the flexible robot, in the time of the study
    tolerance  m: distance from the path that is good enough
    """

    study: Study
    arm: Dynamics
    path: JointPath
    inversion: Inversion
    solution: InversionSolution
    tolerance: float

    @property
    def inputs(self) -> tuple[str, ...]:
        """The drives."""
        return self.arm.inputs

    @property
    def frames(self) -> tuple[str, ...]:
        """What follows the path."""
        return self.solution.equations.path.frames

    # ---- the motion

    @cached_property
    def times(self) -> Floats:
        """Samples in the time of the study (N,), s: negative before it begins."""
        # loads that go on to change are known as long as the study says
        until, (_, end) = self.study.until, self.inversion.active
        # the last knots stand for all that comes after them
        stop = until if self._loads_change else max(until, (end + self.solution.span[1]) / 2)
        first = min(self._first_motion, 0.0)
        count = int(np.ceil(SAMPLES * (stop - first) / self.solution.spacing))
        return np.linspace(first, stop, count + 1)

    @cached_property
    def _first_motion(self) -> float:
        """s: when the drives leave their rest by something that matters."""
        edges = self.solution.space.edges
        edges = edges[edges <= self.inversion.active[0]]
        on = np.flatnonzero((self._away(edges) > UNMOVED * self.tolerance).any(axis=1))
        return float(edges[max(on[0] - 1, 0)]) if len(on) else self.inversion.active[0]

    def _away(self, times: Floats) -> Floats:
        """How far the drives are from their first rest (times, inputs), as motions of the frame, m."""
        path = self.solution.equations.path
        q = self.solution.levels(times).q[:, self._driven]
        return np.asarray(np.abs(q - self.solution.rests[0].q[self._driven]) * path.length / path.sizes)

    @cached_property
    def _loads_change(self) -> bool:
        until, last = self.study.until, self.solution.span[1]
        times = np.linspace(until, max(last, until), 16)
        held = np.full_like(times, np.nextafter(until, 0.0))
        return any(not np.array_equal(x.signals(times), x.signals(held)) for x in self.solution.equations.loads)

    @property
    def before(self) -> float:
        """s: how much earlier than the study its replay begins."""
        return max(0.0, -float(self.times[0]))

    @cached_property
    def states(self) -> Levels:
        """All coordinates with their rates and accelerations at ``times``, each (N, n)."""
        return self.solution.levels(self.times)

    @property
    def motion(self) -> JointMotion:
        """Positions, rates and accelerations of the driven coordinates (N, inputs)."""
        return JointMotion(*(x[:, self._driven] for x in self.states))

    @cached_property
    def efforts(self) -> Floats:
        """Efforts of the drives (N, inputs), N m or N."""
        return self.solution.efforts(self.times)

    @cached_property
    def _driven(self) -> list[int]:
        return [self.arm.names.index(name) for name in self.inputs]

    @cached_property
    def lead(self) -> Lead:
        """How long before the path the drives begin to move, by more than moves the frame by the tolerance."""
        begin, (first, _) = self.inversion.active[0], self.solution.span
        times = np.linspace(first, begin, 401)
        q = self.solution.levels(times[[0, -1]]).q[:, self._driven]
        on = np.flatnonzero((self._away(times) > self.tolerance).any(axis=1))
        moved = dict(zip(self.inputs, (q[1] - q[0]).tolist(), strict=True))
        return Lead(begin - float(times[on[0]]) if len(on) else 0.0, moved)

    def reactions(self) -> dict[str, Floats]:
        """Wrenches of joints on their links, column by column (N,), and forces of closures."""
        eq, arm = self.solution.equations, self.arm
        at, x = eq.at(self.times), self.states
        whole = np.zeros((len(self.times), len(arm.loops.rows)))
        whole[:, eq.kept] = self.solution.closing(self.times)
        axes = ("fx", "fy", "fz", "mx", "my", "mz")
        rows = list[Mapping[str, Floats]]()
        for k, state in enumerate(zip(*x, strict=True)):
            acting = [
                (load.frame, signals[k])
                for load, signals in zip(eq.loads, at.signals, strict=True)
                if isinstance(load, FrameWrench)
            ]
            if eq.kept:
                acting += arm.loops.closing_wrenches(state[0], whole[k])
            rows.append(arm.by_joint(*state, acting))
        out = {
            f"{joint}.{axis}": np.array([row[joint][k] for row in rows])
            for joint in rows[0]
            for k, axis in enumerate(axes)
        }
        return {**out, **dict(zip(arm.loops.rows, whole.T, strict=True))}

    @cached_property
    def frequency(self) -> float:
        """rad/s: the lowest vibration where the path begins, with the drives held."""
        found = vibration_modes(self.arm, self.solution.rests[0].q, locked=True).frequencies
        found = found[found > 0]
        return float(found.min()) if len(found) else 2 * np.pi / self.inversion.duration

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Limits of the joints that the motion and its efforts pass, in words."""
        return tuple(joint_limit_words(self.arm, self.times + self.before, self.motion.q, self.motion.v, self.efforts))

    # ---- on the full model

    def trajectory(self) -> Spline:
        """The motion of the drives, in the time of the replay."""
        points = tuple(dict(zip(self.inputs, row, strict=True)) for row in self.motion.q.tolist())
        last = dict(zip(self.inputs, self.motion.v[-1].tolist(), strict=True))
        return Spline(
            times=tuple((self.times + self.before).tolist()), points=points, degree="quintic", final_rate=last
        )

    def start(self) -> Start:
        """The state of rest in which the replay begins."""
        return Start(q=tuple(self.states.q[0].tolist()), v=tuple(np.zeros(self.arm.size).tolist()))

    def replay_study(self, **changes: Any) -> Study:
        """The study with drives that move as computed; it begins earlier by ``before``.

        Errors of its steps are those of studies that say nothing about them, or less.
        """
        own = self.study.integrator
        given = {
            "drive": PrescribedMotion(trajectory=self.trajectory()),
            "start": self.start(),
            "until": float(self.times[-1] + self.before),
            "disturbances": delayed(self.study.disturbances, self.before),
            "outputs": Outputs(step=float(self.times[1] - self.times[0])),
            "integrator": own.with_changes(tolerance=min(own.tolerance, DEFAULT_TOLERANCE)),
            "events": (),
            "limits": "ignore",
            **changes,
        }
        return self.study.with_changes(**given)

    def confirm(self, **changes: Any) -> tuple[Result, Floats]:
        """Simulate the motion on the full nonlinear model; distances of the frames from their path (N,), m.

        Events of the study, and limits at which it would stop, are left out.
        changes  other keys of the study, such as ``integrator``
        """
        run = run_study(self.replay_study(**changes), self.arm)
        if not run.info.finished:
            raise ModelError(
                f"study '{self.study.name}': the full model follows the motion up to {run.time[-1]:.4g} s only: "
                f"{run.info.ended}"
            )
        return run, self.distances(run)

    def as_if_rigid(self, **changes: Any) -> tuple[Result, Floats]:
        """A run whose drives move as those of the rigid robot, from rest, and how far its frames are off, m."""
        joints = self.path.many(self.times).q
        q = self.solution.rests[0].q.copy()
        q[self._driven] = joints[0]
        points = tuple(dict(zip(self.inputs, row, strict=True)) for row in joints.tolist())
        spline = Spline(times=tuple((self.times + self.before).tolist()), points=points, degree="quintic")
        bent = bent_at_rest(self.arm, self.arm.assemble(q), self.solution.equations.wrenches(float(self.times[0])))
        start = Start(q=tuple(bent.tolist()), v=tuple(np.zeros(self.arm.size).tolist()))
        given = {"drive": PrescribedMotion(trajectory=spline), "start": start, **changes}
        run = run_study(self.replay_study(**given), self.arm)
        return run, self.distances(run)

    def off_path(self, run: Result) -> Floats:
        """How far the frames are from their path in a run of the replay (N, rows), m; turns count by the length."""
        eq = self.solution.equations
        return eq.off_path(eq.at(run.time - self.before), run.q)

    def distances(self, run: Result) -> Floats:
        """How far the frame that is farthest from its path is off (N,), m, in directions that drives move."""
        return self._distances(run)[0]

    def aside(self, run: Result) -> float:
        """m: the most by which a frame is off in directions that no drive moves."""
        return float(self._distances(run)[1].max(initial=0.0))

    def _distances(self, run: Result) -> tuple[Floats, Floats]:
        eq = self.solution.equations
        at = eq.at(run.time - self.before)
        off, led = eq.off_path(at, run.q), at.wanted.led
        along = np.einsum("kri,ki->kr", led, np.einsum("kri,kr->ki", led, off))
        parts = []
        for rows in (along, off - along):
            each = rows.reshape(len(rows), len(self.frames), -1)
            parts.append(np.linalg.norm(each, axis=2).max(axis=1))
        return parts[0], parts[1]

    def confirmed(
        self, tolerance: float | None = None, *, rounds: int = HALVINGS, **changes: Any
    ) -> InversionConfirmation:
        """Confirm the motion on the full nonlinear model, on knots twice as fine until that agrees.

        tolerance  m: distance from the path that is good enough; default: that of the inversion
        rounds     the most halvings
        changes    other keys of the study, such as ``integrator``
        """
        wanted = self.tolerance if tolerance is None else tolerance
        require_number("tolerance", wanted, "m", positive=True)
        require_count("rounds", rounds, least=0)
        best = last = InversionConfirmation(self, *self.confirm(**changes), 0)
        for k in range(rounds):
            if best.distance <= wanted or 2 * last.run.solution.unknowns > MOST_UNKNOWNS:
                break
            finer = self.inversion.solve(last.run.solution.spacing / 2, wanted, last.run.solution)
            again = replace(self, solution=finer)
            last = InversionConfirmation(again, *again.confirm(**changes), k + 1)
            helps = last.distance < LESS * best.distance
            if last.distance < best.distance:
                best = last
            if not helps:
                break
        return best

    def hindrances(self) -> str:
        """What keeps an inversion from its path, as far as the study says; empty if it says nothing."""
        eq, until = self.solution.equations, self.study.until
        jumps = sorted({t for load in eq.loads for t in load.breaks if t < until})
        rubbing = [
            str(link.joint.name)
            for link in self.arm.robot.links
            if not link.joint.actuated and link.joint.friction is not None and link.joint.friction.coulomb > 0
        ]
        words = []
        if jumps:
            words.append(f"Loads jump at {', '.join(f'{t:.4g}' for t in jumps)} s, and no smooth motion takes that up")
        if rubbing:
            words.append(f"Dry friction of {', '.join(rubbing)}, which no drive moves, asks for motions with kinks")
        if not self.solution.settled:
            words.append("The steps of Gauss and Newton did not settle: a slower or smoother path may")
        return ". ".join(words)

    # ---- files

    def gains(self) -> tuple[Floats, Floats]:
        """Feedback gains (inputs,) of a slow, well damped loop around each drive of the rigid robot."""
        return slow_gains(self.arm, self.solution.rests[0].q, self.frequency)

    def plot(self, path: str | Path, certain: InversionConfirmation | None = None) -> None:
        """Draw path, distances, drives and efforts into a file; ``certain``: what the full model says."""
        from pliant.simulation.inverse.inversion_plot import plot_inversion

        plot_inversion(self, Path(path), certain)

    def write(self, folder: Path, name: str) -> list[Path]:
        """Motion, efforts and reactions as tables, and two studies that run them on the full model."""
        study = self.study.with_changes(disturbances=delayed(self.study.disturbances, self.before))
        replay = Replay(
            study,
            self.inputs,
            self.times + self.before,
            self.motion.q,
            self.states.q @ self.arm.B,
            self.efforts,
            self.reactions(),
            self.start(),
            self.gains(),
            {"ends": "rest", "degree": "quintic"},
        )
        return replay.write(folder, name)


class InversionConfirmation(Confirmation[InversionRun]):
    """A motion on the full nonlinear model, with halved knots where that does not agree."""

    @property
    def aside(self) -> float:
        """m: the largest in directions that no drive moves."""
        return self.run.aside(self.result)

    @property
    def swing(self) -> float:
        """m: the most by which the frames leave their path after its end."""
        after = self.result.time - self.run.before >= self.run.solution.window[1]
        return float(self.distances[after].max(initial=0.0))
