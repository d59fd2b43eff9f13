"""Equilibrium: where a robot rests, or turns steadily, under gravity, loads and the efforts of its drives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.limits import state_limits, tell
from pliant.analysis.statics import (
    FALLS,
    RESIDUAL,
    Loads,
    NoEquilibriumError,
    Statics,
    coordinate_sizes,
    softest,
    stiffness_scale,
    wrenches,
)
from pliant.bodies.words import stiffens_by_load
from pliant.errors import did_you_mean
from pliant.model.notebook import html_page, made_by

if TYPE_CHECKING:
    from pandas import DataFrame

    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

FIRST_LOAD, LEAST_LOAD = 0.25, 1e-3
"""Parts of the load that are added at once where Newton's method does not find the whole way."""
LOAD_CORRECTIONS = 15
STEADY = 1e-6
"""Change of the forces with the turning joints, relative to the largest, up to which a motion is steady."""
AHEAD = 1e-2
"""Angle by which the joints are turned to see it, rad."""


class Equilibrium(NamedTuple):
    """A state of rest, or of steady rotation.

    q         coordinates (n,)
    tau       efforts of the actuated joints that hold it, N m or N (inputs,)
    residual  largest unbalanced generalised force
    steps     Newton steps that were needed
    warnings  what is beyond the limits of the model there, in words
    v         rates (n,): zero but for joints that turn steadily
    names     of the coordinates, and their units
    inputs    names of the actuated joints
    loads, followers  on frames, along base axes or with the frames
    pushes    N, of the actuators along lines that hold their length, by name
    """

    q: Floats
    tau: Floats
    residual: float
    steps: int
    warnings: tuple[str, ...] = ()
    v: Floats = np.zeros(0)
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    loads: Mapping[str, Floats] = MappingProxyType({})
    followers: Mapping[str, Floats] = MappingProxyType({})
    pushes: Mapping[str, float] = MappingProxyType({})

    def rows(self) -> list[tuple[str, float, str, float | None, str]]:
        """Name of each coordinate, its value and unit, and the effort that holds it with its unit, if it is driven."""
        efforts = dict(zip(self.inputs, self.tau.tolist(), strict=True))
        return [
            (name, value, unit, efforts.get(name), ("N" if unit == "m" else "N m") if name in efforts else "")
            for name, value, unit in zip(self.names, self.q.tolist(), self.units, strict=True)
        ]

    def to_dataframe(self) -> DataFrame:
        """A pandas table with a row for each coordinate: value, unit, effort and its unit."""
        pandas: Any = made_by("results.tables", "needed")("pandas", "a table")
        columns = ["coordinate", "value", "unit", "effort", "effort unit"]
        table: DataFrame = pandas.DataFrame(self.rows(), columns=columns).set_index("coordinate")
        return table

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{value:.6g} {unit}", "" if effort is None else f"{effort:.6g} {word}")
            for name, value, unit, effort, word in self.rows()
        ]
        rows += [(name, "held length", f"{push:.6g} N") for name, push in self.pushes.items()]
        return html_page("Equilibrium", ("coordinate", "value", "effort that holds it"), rows, self.warnings)


def equilibrium(
    arm: Dynamics,
    q: States | None = None,
    *,
    tau: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
    rates: Mapping[str, float] | None = None,
) -> Equilibrium:
    """The state of rest near q, by Newton's method on the static forces.

    q          start, an array or values by name; default the reference pose with straight links
    tau        given: all coordinates settle under these efforts (inputs,); default: the drives hold their motor angles
               as they are at q, and the efforts that this takes are found
    loads      frame -> force (3,) N, or force and moment (6,) N, N m, along the axes of the base
    followers  the same along the axes of the frame, with which they turn
    rates      joint -> rad/s: joints that turn on steadily; the links bend as the rotation bends them
    """
    from pliant.analysis.left_out import left_out_of, too_stiff

    found = state_of_rest(arm, q, tau=tau, loads=loads, followers=followers, rates=rates)
    found = found._replace(warnings=(*found.warnings, *left_out_of(arm.robot), *too_stiff(arm.robot)))
    tell(found.warnings)
    return found


def state_of_rest(
    arm: Dynamics,
    q: States | None = None,
    *,
    tau: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
    rates: Mapping[str, float] | None = None,
) -> Equilibrium:
    """Equilibrium without raised warnings: what is beyond the limits of the model is in its ``warnings`` only."""
    problem = _problem(arm, q, tau, loads, followers, rates)
    found, x = _solved(problem)
    told = state_limits(arm, found.q, found.v, tau=found.tau, loads=[*problem.loads, *problem.line_loads(x)])
    return found._replace(warnings=(*told, *stability(problem, x)))


def settle(
    arm: Dynamics,
    q: States | None = None,
    *,
    tau: States | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
    rates: Mapping[str, float] | None = None,
) -> Equilibrium:
    """Equilibrium without a check of the limits of the model, for callers that check them themselves."""
    return _solved(_problem(arm, q, tau, loads, followers, rates))[0]


def _problem(
    arm: Dynamics,
    q: States | None,
    tau: States | None,
    loads: Loads | None,
    followers: Loads | None,
    rates: Mapping[str, float] | None,
) -> Statics:
    start = arm.reference_pose() if q is None else arm.labels.states("q", q)
    if start.shape != (arm.size,):
        raise ValueError(f"q has shape {start.shape}; robot '{arm.robot.name}' needs ({arm.size},)")
    efforts = None if tau is None else arm.input_labels.states("tau", tau)
    if efforts is not None and efforts.shape != (len(arm.inputs),):
        raise ValueError(f"tau has shape {efforts.shape}; robot '{arm.robot.name}' has {len(arm.inputs)} inputs")
    forces = [*wrenches(loads), *wrenches(followers, follows=True)]
    return Statics(arm, arm.assemble(start), tau=efforts, loads=forces, v=_steady_rates(arm, rates or {}))


def _solved(problem: Statics) -> tuple[Equilibrium, Floats]:
    """The equilibrium, and all unknowns of it."""
    arm = problem.arm
    floats = [m.joint.name for m in arm.mechanism.members if m.joint.kind.symbol.floats]
    if floats and any(arm.robot.gravity) and not arm.loops.rows and not problem.loads and problem.lines is None:
        raise NoEquilibriumError(
            f"robot '{arm.robot.name}' has no equilibrium: nothing holds the free joint '{floats[0]}', and gravity "
            "makes it fall; write gravity: [0, 0, 0] for one in orbit (`--weightless` for its modes), or fix its base"
        )
    x, error, steps = problem.settled(problem.start())
    if error > RESIDUAL:
        x, more = _by_load_steps(problem, x)
        steps += more
    elif problem.held and bends_far(problem.arm) and _softest(problem, x) < FALLS:
        # Newton's method may leap onto another path than the one that the loads would take
        try:
            risen, more = _by_load_steps(problem, x)
        except NoEquilibriumError:
            pass
        else:
            x = risen if _softest(problem, risen) >= FALLS else x
            steps += more
    q, tau, _ = problem.split(x)
    _check_steady(problem, q)
    arm = problem.arm
    held = () if problem.lines is None else problem.lines.held_names
    acting = [load for load in (*problem.loads, *problem.line_loads(x)) if not load.follows]
    found = Equilibrium(
        q,
        tau,
        problem.unbalanced(x),
        steps,
        v=problem.v,
        names=arm.names,
        units=arm.mechanism.units,
        inputs=arm.inputs,
        loads={
            frame: sum((load.value for load in acting if load.frame == frame), np.zeros(6))
            for frame in dict.fromkeys(load.frame for load in acting)
        },
        followers={load.frame: load.value for load in problem.loads if load.follows},
        pushes=dict(zip(held, problem.pushes(x).tolist(), strict=True)),
    )
    return found, x


def _by_load_steps(problem: Statics, failed: Floats) -> tuple[Floats, int]:
    """The state reached from none of the loads by adding a part of them at a time, and the Newton steps of it."""
    growing = problem.all_growing()
    x, error, count = growing.settled(growing.start(), 0.0)
    s, step, calm = 0.0, FIRST_LOAD, problem.held
    if error > RESIDUAL:
        raise NoEquilibriumError(_no_equilibrium(problem, failed))
    while s < 1.0:
        step = min(step, 1.0 - s)
        trial, error, more = growing.settled(x + step * growing.slope(x, s), s + step, LOAD_CORRECTIONS)
        count += more
        if error <= RESIDUAL:
            falls = calm and _softest(growing, trial, s + step) < FALLS
            if falls and step > LEAST_LOAD:
                # a long step may miss the way on which the robot stays stable
                step /= 3
                continue
            calm = calm and not falls
            x, s, step = trial, s + step, 1.5 * step
            continue
        step /= 3
        if step < LEAST_LOAD:
            raise NoEquilibriumError(_no_equilibrium(problem, failed, _where_it_ends(growing, x, s)))
    return x, count


def _no_equilibrium(problem: Statics, x: Floats, reached: str = "") -> str:
    if problem.held:
        remedy = "Its links bend too far under the loads, or a passive joint cannot come to rest near its start"
    else:
        remedy = "Start nearer to it, change the efforts, or leave them out to hold the drives"
    left = f"Newton's method leaves {problem.unbalanced(x):.3g} N (N m) unbalanced"
    open_by, redundant = problem.arm.loops.open_by(problem.split(x)[0]), problem.arm.loops.redundant
    if open_by and redundant and problem.unbalanced(x) <= RESIDUAL * (problem.largest or 1.0):
        # forces are found that balance; it is the loops that do not close under them
        name, (distance, angle) = max(open_by.items(), key=lambda item: max(item[1]))
        left = f"forces balance only with loop '{name}' open by {distance:.2g} m and {angle:.2g} rad"
        reached = ""
        remedy = (
            f"The loops are over-constrained ({', '.join(redundant)} follow from other rows where links are not bent, "
            "and do not where they are): let the links stretch or bend otherwise too (axial, torsion), or hold less"
        )
    return f"robot '{problem.arm.robot.name}' has no equilibrium near this state: {left}. {reached}{remedy}"


def _where_it_ends(growing: Statics, x: Floats, s: float) -> str:
    """How far the loads can be raised, and the motion along which the robot gives way there."""
    if s < LEAST_LOAD:
        return ""
    slope = growing.slope(x, s)[: growing.arm.size]
    leading = growing.arm.names[int(np.argmax(np.abs(slope / coordinate_sizes(growing.arm, x[: len(slope)]))))]
    return (
        f"Raised from zero, its loads find an equilibrium up to {100 * s:.3g} % of them; there it gives way, mostly "
        f"along '{leading}': pliant.buckling finds that load, pliant.load_path follows it beyond. "
    )


def bends_far(arm: Dynamics) -> bool:
    """Whether it has links whose stiffness depends on their load."""
    return any(stiffens_by_load(link) for link in arm.robot.links)


def _softest(problem: Statics, x: Floats, s: float = 1.0) -> float:
    """Least stiffness of an equilibrium, of coordinates scaled to one; zero where nothing can move."""
    return softest(problem.stiffness(x, s), problem.constraints(problem.split(x, s)[0]))


def stability(problem: Statics, x: Floats) -> Iterator[str]:
    """What to say of an equilibrium that falls away when it is disturbed while the drives hold."""
    if not problem.held:
        return
    if _softest(problem, x) >= FALLS:
        return
    scale = stiffness_scale(problem.stiffness(x))
    K, Z = problem.reduced(x, 1.0, scale)
    vectors = np.linalg.eigh((K + K.T) / 2)[1]
    shape = scale * (Z @ vectors[:, 0])
    arm = problem.arm
    leading = arm.names[int(np.argmax(np.abs(shape) / coordinate_sizes(arm, problem.split(x)[0])))]
    yield (
        f"this equilibrium is unstable: disturbed, robot '{arm.robot.name}' falls or buckles, mostly along '{leading}';"
        " pliant.buckling tells at which part of its load"
    )


def _steady_rates(arm: Dynamics, rates: Mapping[str, float]) -> Floats:
    v = np.zeros(arm.size)
    for name, rate in rates.items():
        if name not in arm.robot.joint_coordinates:
            hint = did_you_mean(name, arm.robot.joint_coordinates)
            raise ValueError(f"rates: robot '{arm.robot.name}' has no joint '{name}'{hint}")
        v[arm.names.index(name)] = rate
    if v.any() and arm.loops.rows:
        raise ValueError(f"robot '{arm.robot.name}' has closed loops; it does not turn steadily, leave rates out")
    return v


def resting(
    arm: Dynamics,
    q: States | None,
    v: States | None = None,
    *,
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> Floats:
    """The configuration about which an analysis is made.

    An array is taken as it is. Joints by name, and by default the reference pose, are bent as gravity, the loads and a
    steady rotation v bend the robot while the drives hold them; where elastic coordinates are named too, nothing is
    left to be found.
    """
    rates = {name: rate for name, rate in arm.by_name(arm.v(v)).items() if rate}
    if q is None:
        return settle(arm, loads=loads, followers=followers, rates=rates).q
    state = arm.labels.states("q", q)
    joints = {arm.names[k] for k in arm.mechanism.joints}
    if isinstance(q, Mapping) and joints.issuperset(q):
        return settle(arm, state, loads=loads, followers=followers, rates=rates).q
    return state.copy()


def _check_steady(problem: Statics, q: Floats) -> None:
    """Refuse a rotation along which the forces change."""
    v, arm = problem.v, problem.arm
    if not v.any():
        return
    ahead = q + AHEAD / np.abs(v).max() * v
    change = np.abs(arm.bias(ahead, v) - arm.bias(q, v)).max()
    if change > STEADY * problem.largest:
        raise NoEquilibriumError(
            f"robot '{arm.robot.name}' cannot turn steadily at these rates: forces on it change as it turns. "
            "Turn a joint whose axis gravity is along (or take gravity away), and no joint that another one carries"
        )
