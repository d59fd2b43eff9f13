"""What a user should know about a run: deflections beyond the model, joints beyond their limits, energy that leaks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.analysis.limits import (
    LARGEST_SLOPE,
    TURNING,
    AxialChange,
    axial_changes,
    axial_words,
    closing_loads,
    has_axial_limits,
    linearised_limits,
    own_limits,
    plane_limits,
    slope_words,
)
from pliant.analysis.statics import FrameLoad
from pliant.bodies.words import words_of
from pliant.dynamics import Dynamics
from pliant.formulations.recursive.recursions import NoInertiaError
from pliant.formulations.robot_damping import ratios_at
from pliant.model.description.plausible import description_limits
from pliant.results.result import Result
from pliant.results.samples import Floats, Samples
from pliant.simulation.requests import Request

if TYPE_CHECKING:
    from pliant.simulation.state_equations import StateEquations

BEYOND = 1e-6
"""A limit is passed if it is exceeded by more than this part of it."""
LEAK = 1e-3
"""Part of the energy turnover that the balance may miss."""
ROUNDING = 1e-12
"""Part of the energies themselves that rounding may take."""
NEARLY_LINEAR = 0.5
"""Part of the largest slopes up to which a tip turns by the sum of what its shapes do, but for some hundredths."""
SAME_RATIO = 1.5
"""Factor by which a damping ratio of the whole robot may be another one in other poses."""
INSTANTS = 200
"""Instants at which desired rates are looked at before a run."""
TRIALS = 16
"""Rates at which the energy of a resting robot is looked at."""


@dataclass(eq=False)
class AxialRequest(Request[list[dict[str, AxialChange]]]):
    """Asks what axial forces do to links at some instants (instants, ...).

    force             generalised forces of all loads, or none of them
    frames, wrenches  frames on which loads act, and force and moment on each (instants, 6 frames)
    """

    arm: Dynamics
    q: Floats
    v: Floats
    tau: Floats
    force: Floats
    frames: tuple[str, ...] = ()
    wrenches: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @cached_property
    def value(self) -> list[dict[str, AxialChange]]:
        arm, f, a, acting = self.arm, self.tau @ self.arm.B.T, list[Floats](), self.loads()
        if self.force.shape[1]:
            f = f + self.force
        for q, v, force, loads in zip(self.q, self.v, f, acting, strict=True):
            a.append(_accelerations(arm, q, v, force))
            loads += closing_loads(arm, q, v, a[-1], force)
        return axial_changes(arm, self.q, self.v, np.array(a), each=acting)

    def loads(self) -> list[list[FrameLoad]]:
        """What acts on frames at each instant."""
        rows = self.wrenches.reshape(len(self.q), len(self.frames), 6)
        return [[FrameLoad(frame, w, False, False) for frame, w in zip(self.frames, row, strict=True)] for row in rows]


def _accelerations(arm: Dynamics, q: Floats, v: Floats, force: Floats) -> Floats:
    """Accelerations of the coordinates (n,): where some move no inertia, of those that move all masses rightly.

    A massless motor and the spring behind it share an acceleration in a way that no mass feels.
    """
    try:
        return arm.forward(q, v, force=force)
    except NoInertiaError:
        J, closing = arm.loops.used_rows(q, v) if arm.loops.rows else (np.zeros((0, arm.size)), np.zeros(0))
        right = np.append(force - arm.forces(q, v, np.zeros(arm.size)), -closing)
        whole = np.block([[arm.mass_matrix(q), J.T], [J, np.zeros((len(J), len(J)))]])
        return np.asarray(np.linalg.lstsq(whole, right, rcond=None)[0][: arm.size])


@dataclass(eq=False)
class EnergiesRequest(Request[Floats]):
    """Asks for kinetic, strain and gravity energy (states, 3)."""

    arm: Dynamics
    q: Floats
    v: Floats

    @cached_property
    def value(self) -> Floats:
        return np.array(self.arm.energy(self.q, self.v)).T


class WarningData:
    """What the warnings of a run are derived from, beside its samples.

    near      names of what may leave the range in which nothing is to be said, of those of ``allowed_ranges``
    loaded    the frames on which loads act
    instants  numbers of the samples at which axial forces may be worst
    """

    def __init__(self, arm: Dynamics, samples: Samples, near: Collection[str], loaded: tuple[str, ...] = ()) -> None:
        self.near, self.instants, s = near, _worst(arm, samples), samples
        q, v, tau, force, wrenches = (each[self.instants] for each in (s.q, s.v, s.tau, s.force, s.wrenches))
        self._axial = AxialRequest(arm, q, v, tau, force, loaded, wrenches) if self.instants else None
        self._energies = EnergiesRequest(arm, s.q, s.v)

    @property
    def requests(self) -> list[Request[Any]]:
        """What may be found together with what other runs need."""
        return [self._energies] if self._axial is None else [self._axial, self._energies]

    @property
    def changes(self) -> list[dict[str, AxialChange]]:
        """What axial forces do to the links at the instants."""
        return [] if self._axial is None else self._axial.value

    @property
    def energies(self) -> Floats:
        """Kinetic, strain and gravity energy of all samples (N, 3)."""
        return self._energies.value


def range_warnings(run: Result, limits: bool, data: WarningData) -> Iterator[str]:
    """The warnings of a run, in words."""
    yield from description_limits(run.robot)
    yield from _linearised(run)
    yield from _slopes(run, data.near)
    yield from own_limits(run.arm, run.q, lambda k: f" (at {run.time[k]:.4g} s)")
    yield from plane_limits(run.arm, run.q, lambda k: f" (at {run.time[k]:.4g} s)")
    yield from _axial(run, data)
    yield from _ratios(run)
    if limits:
        yield from _limits(run, data.near)
    yield from _energy(run)


def planned_turns(equations: StateEquations, v0: Floats, until: float) -> Iterator[str]:
    """Links that turn too fast for their bending at the start of a study or where its drives are to move fastest.

    Nothing is integrated: links are straight, as far as rotation goes. Loops are left to the run.
    """
    arm = equations.arm
    if arm.mechanism.is_closed or not has_axial_limits(arm.robot):
        return
    v, times = v0[None], np.zeros(1)
    if equations.path is not None:
        times = np.append(times, np.linspace(0.0, until, INSTANTS))
        desired = equations.path.many(equations.clocks(times[1:]))
        v = np.vstack([v, np.zeros((INSTANTS, arm.size))])
        v[1:, [arm.names.index(name) for name in arm.inputs]] = desired.v
    worst = sorted({0, *np.abs(v[:, arm.mechanism.joints]).argmax(axis=0).tolist()})
    at = np.tile(arm.mechanism.pose, (len(worst), 1))
    warned = set[str]()
    for k, changes in zip(worst, axial_changes(arm, at, v[worst], np.zeros_like(at)), strict=True):
        for name, change in changes.items():
            if change.turning > TURNING and name not in warned:
                warned.add(name)
                yield from axial_words(arm, {name: change}, f" (at {times[k]:.4g} s)")


def allowed_ranges(arm: Dynamics) -> dict[str, tuple[float, float]]:
    """What is followed between the samples for the sake of these warnings, and where nothing is to be said of it."""
    ranges = {arm.names[i]: bounds for i, bounds in arm.position_limits.items()}
    for link in arm.robot.links:
        if link.is_flexible:
            # equations of first order are looked at where links bend most
            largest = LARGEST_SLOPE.get(words_of(link).bending, inf) if arm.method.order is None else 0.0
            ranges[f"{link.name}.slope"] = (-inf, NEARLY_LINEAR * largest)
    return ranges


def _linearised(run: Result) -> Iterator[str]:
    """What equations of first order cannot tell, at the instants at which the links bend most."""
    if run.arm.method.order is None:
        return
    warned = set[str]()
    for link in run.robot.links:
        if link.is_flexible:
            k = int(np.argmin(np.abs(run.time - run.extreme(f"{link.name}.slope").most_at)))
            for text in linearised_limits(run.arm, run.q[k], f" (at {run.time[k]:.4g} s)"):
                what = text.partition(" (at")[0].partition(" turns by")[0]
                if what not in warned:
                    warned.add(what)
                    yield text


def _slopes(run: Result, near: Collection[str]) -> Iterator[str]:
    for link in run.robot.links:
        if f"{link.name}.slope" in near:
            turn = run.extreme(f"{link.name}.slope")
            yield from slope_words(link, turn.most, f" (at {turn.most_at:.4g} s)")


def _worst(arm: Dynamics, samples: Samples) -> list[int]:
    """The instants at which axial forces may be worst: the ends, and those of the largest rates, efforts and loads."""
    if not has_axial_limits(arm.robot):
        return []
    joints = [arm.names.index(name) for name in arm.robot.joint_coordinates]
    worst = {0, len(samples) - 1}
    for size in (np.abs(samples.v[:, joints]), np.abs(samples.tau), np.abs(samples.wrenches)):
        worst.update(size.argmax(axis=0).tolist())
    return sorted(worst)


def _axial(run: Result, data: WarningData) -> Iterator[str]:
    warned = set[str]()
    for k, found in zip(data.instants, data.changes, strict=True):
        for text in axial_words(run.arm, found, f" (at {run.time[k]:.4g} s)"):
            link = text.partition("'")[2].partition("'")[0]
            if link not in warned:
                warned.add(link)
                yield text


def _ratios(run: Result) -> Iterator[str]:
    """A ratio of the whole robot that is another one where its joints are farthest from the reference pose."""
    wanted = run.robot.damping.ratio if run.robot.damping is not None else None
    joints = run.arm.mechanism.joints
    if not wanted or not len(joints) or run.arm.mechanism.drag is None:
        return
    k = int(np.argmax(np.abs(run.q[:, joints] - run.arm.mechanism.pose[joints]).max(axis=1)))
    found = ratios_at(run.robot, run.q[k])
    if len(found) and not np.all((found > wanted / SAME_RATIO) & (found < wanted * SAME_RATIO)):
        yield (
            f"the damping ratio of {wanted:g} is that of the reference pose: where the robot is at {run.time[k]:.4g} s "
            f"its lowest vibrations have {found.min():.2g} to {found.max():.2g}, since the damping matrix does not "
            "follow the pose; take one in the middle of the motion as `pose`"
        )


def _limits(run: Result, near: Collection[str]) -> Iterator[str]:
    for i, bounds in run.arm.position_limits.items():
        if run.arm.names[i] in near:
            found = run.extreme(run.arm.names[i])
            ends = ((found.least, found.least_at), (found.most, found.most_at))
            yield from _position_words(run.arm, i, bounds, ends)
    driven = [run.arm.names.index(name) for name in run.arm.inputs]
    yield from _effort_words(run.arm, run.time, run.tau)
    yield from _rate_words(run.arm, run.time, run.v[:, driven])


def joint_limit_words(arm: Dynamics, times: Floats, q: Floats, v: Floats, tau: Floats) -> Iterator[str]:
    """Limits of the actuated joints that positions, rates and efforts (times, inputs) pass, in words."""
    limits = arm.position_limits
    for j, name in enumerate(arm.inputs):
        i = arm.names.index(name)
        if i in limits:
            ends = ((float(q[k, j]), float(times[k])) for k in (int(q[:, j].argmin()), int(q[:, j].argmax())))
            yield from _position_words(arm, i, limits[i], ends)
    yield from _effort_words(arm, times, tau)
    yield from _rate_words(arm, times, v)


def _position_words(
    arm: Dynamics, i: int, bounds: tuple[float, float], ends: Iterable[tuple[float, float]]
) -> Iterator[str]:
    """Warnings of the least and the greatest position, with their times, where they are beyond the limits."""
    low, high = bounds
    unit = arm.mechanism.units[i]
    for value, when in ends:
        bound = high if value > high else low
        passed = value > high or value < low
        if passed and abs(value - bound) > BEYOND * max(abs(bound), 1e-3):
            yield (
                f"joint '{arm.names[i]}' goes to {value:.4g} {unit} at {when:.4g} s, beyond its limit of "
                f"{bound:.4g} {unit}"
            )


def _effort_words(arm: Dynamics, times: Floats, tau: Floats) -> Iterator[str]:
    for j, largest in enumerate(arm.effort_limits):
        k = int(np.abs(tau[:, j]).argmax())
        peak, unit = abs(float(tau[k, j])), "N" if _slides(arm, j) else "N m"
        if peak > largest * (1 + BEYOND):
            yield (
                f"joint '{arm.inputs[j]}' is driven with {peak:.4g} {unit} at {times[k]:.4g} s, above its limit of "
                f"{largest:.4g} {unit}"
            )


def _rate_words(arm: Dynamics, times: Floats, v: Floats) -> Iterator[str]:
    for j, name in enumerate(arm.inputs):
        bounds = arm.robot.joint(name).limits
        k = int(np.abs(v[:, j]).argmax())
        peak, unit = abs(float(v[k, j])), "m/s" if _slides(arm, j) else "rad/s"
        if bounds is not None and bounds.velocity is not None and peak > bounds.velocity * (1 + BEYOND):
            yield (
                f"joint '{name}' moves at {peak:.4g} {unit} at {times[k]:.4g} s, above its limit of "
                f"{bounds.velocity:.4g} {unit}"
            )


def _slides(arm: Dynamics, j: int) -> bool:
    return arm.robot.joint(arm.inputs[j]).mechanics.slides()


def _energy(run: Result) -> Iterator[str]:
    found = run.quantities
    balance, energies = float(np.abs(found.balance).max()), found.energies
    turned_over = np.ptp(found.total_energy), np.abs(run.samples.work).max(), np.abs(energies[:, 0]).max()
    turnover = float(sum(turned_over))
    rounding = ROUNDING * float(np.abs(energies).max())
    if balance > max(LEAK * turnover, rounding) and balance > _rest_energy(run):
        method = run.arm.method
        remedy = (
            "use a smaller tolerance or step"
            if method.order is None
            else f"so much is missing in method '{method.name}', which is approximate; method 'recursive' is not"
        )
        share = f"{100 * balance / turnover:.2g} % of what was turned over"
        yield f"the energy balance is off by {balance:.3g} J, {share}; {remedy}"


def _rest_energy(run: Result) -> float:
    """What rates as small as the tolerance hold, which the integrator cannot tell from rest."""
    # the trace of the mass matrix without the matrix: mean of the energies at rates of unit size and any signs
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (TRIALS, run.arm.size))
    kinetic = run.arm.energy(np.tile(run.q[0], (TRIALS, 1)), signs).kinetic
    return run.info.tolerance**2 * float(np.mean(kinetic))
