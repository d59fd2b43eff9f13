"""The elastic motion of a study's robot along a nominal one: Di Gregorio, sections 5.1 and 5.2.

The nominal motion of the joints is given: by the study's trajectory, or as the motion of the rigid robot under the
study's drive, which makes approximate forward dynamics of it. The links' nodes are displaced beside it by linear
equations. Disturbances of the study and further wrenches act on frames and nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.limits import LARGEST_LINEARISED
from pliant.analysis.lumped.displacements import NO_LOADS, AppliedLoads, Loading
from pliant.analysis.lumped.elastic_motion import (
    ElasticMotion,
    ElasticState,
    Nominal,
    Reactions,
    assemble_at,
    elastic_motion,
    frame_displacement,
    nodal_displacements,
    solve_static,
    with_loops,
)
from pliant.analysis.lumped.frequencies import PathFrequencies, frequencies_along
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.node_equations import Variant
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.lumped.reduced_link import ReducedLink
from pliant.analysis.lumped.successive import CorrectedMotion, lowest_frequency, reactions_along, step_times
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, require_count, require_word, show
from pliant.model.description.robot import rigid_twin
from pliant.results.result import Result
from pliant.results.storage import FIRST_COLUMN, StoredChannel, save_channels
from pliant.results.tables import write_rows
from pliant.simulation.inverse.node_loads import node_loads
from pliant.simulation.inverse.path_window import require_smooth
from pliant.simulation.inverse.study_path import bound_path, require_start_rates, straight_start, trajectory_of
from pliant.simulation.monitoring.checks import joint_limit_words
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import run_study
from pliant.simulation.study import Study
from pliant.trajectories.signals import signal

Floats = NDArray[np.float64]
T = TypeVar("T")
Wrench = Sequence[float | str]
NominalKind = Literal["path", "rigid"]
NOMINALS: tuple[NominalKind, ...] = ("path", "rigid")

CHUNK = 400
"""Instants that are assembled in one go."""
REVERSED = 0.02
"""Part of the time in which a passive joint with dry friction may turn against its nominal rate."""
INSTANTS = 41
"""Instants of a motion at which its natural frequencies are looked for."""
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")


class DisplacedFrame(NamedTuple):
    """A frame along the motion, base axes.

    position, rotation  (N, 3), (N, 3, 3) of the nominal motion
    displacement, turn  (N, 3), m and rad: what bending adds
    """

    position: Floats
    rotation: Floats
    displacement: Floats
    turn: Floats

    @property
    def reached(self) -> Floats:
        """Where the frame is (N, 3), m."""
        return self.position + self.displacement


@dataclass(frozen=True, eq=False)
class ElasticRun:
    """Nodes, frames, reactions and efforts along a nominal motion.

    times    (N,) s
    nominal  of all joints at any times
    motion   of all joints at ``times``
    elastic  independent displacements at ``times``; ``model.names`` are their names
    given    (N, inputs) efforts of the drive, where it gave the rigid robot its motion; None: the motion was given
    """

    study: Study
    arm: Dynamics
    model: LumpedModel
    times: Floats
    nominal: Nominal
    motion: JointMotion
    elastic: ElasticMotion
    loads: Loading | None
    lowest: float
    given: Floats | None = None
    _kept: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The drives."""
        return self.model.inputs

    def frame(self, name: str) -> DisplacedFrame:
        """A frame, or a node as LINK.NUMBER, beside its nominal motion."""

        def made() -> DisplacedFrame:
            end = self.model.skeleton.frame(name)
            poses, moved = [], []
            for _, assembled, state in self._pieces():
                poses.append(self.model.skeleton.pose(assembled.links, *end))
                moved.append(frame_displacement(self.model, assembled, state, name))
            p, R, d = (np.concatenate(part) for part in ([x[0] for x in poses], [x[1] for x in poses], moved))
            return DisplacedFrame(p, R, d[:, :3], d[:, 3:])

        return self._once(f"frame {name}", made)

    def nodes(self, link: str) -> Floats:
        """Displacements and turns (N, nodes, 6) of the nodes of a link, the root first, base axes.

        Of a link by its own coordinates: of its root and its frames, as ``model.meshes[...].names`` has them.
        """
        self.model.robot.link(link)
        mesh = self.model.meshes[self.model.robot.link_names.index(link)]
        count = mesh.places if isinstance(mesh, ReducedLink) else mesh.nodes

        def made() -> Floats:
            parts = [nodal_displacements(self.model, a, state, link)[:, :count] for _, a, state in self._pieces()]
            return np.concatenate(parts)

        return self._once(f"nodes {link}", made)

    def reactions(self) -> Reactions:
        """Wrenches of all joints and closures, and the efforts of the drives."""
        return self._once("reactions", lambda: reactions_along(self.model, self.nominal, self.elastic, self.loads))

    @property
    def efforts(self) -> Floats:
        """Efforts that the motion needs of the drives (N, inputs), N m or N."""
        return self.reactions().efforts

    @property
    def effort_error(self) -> float | None:
        """Largest difference of needed and given efforts, of the largest given one; None where no efforts were given.

        It does not bound the error of positions.
        """
        if self.given is None:
            return None
        return float(np.abs(self.efforts - self.given).max() / np.abs(self.given).max())

    def frequencies(self, count: int = 4, instants: int = INSTANTS) -> PathFrequencies:
        """Natural frequencies at some instants of the motion, with its speed and acceleration, and at rest there."""
        require_count("instants", instants)
        which = np.unique(np.linspace(0, len(self.times) - 1, min(instants, len(self.times))).astype(int))
        return frequencies_along(self.model, self.nominal, self.times[which], count, loads=self.loads)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What needs care, in words: limits of joints, and what linear equations do not know."""
        driven = self.model.skeleton.driven
        q, v = self.motion.q[:, driven], self.motion.v[:, driven]
        limits = joint_limit_words(self.arm, self.times, q, v, self.efforts)
        return (*limits, *self._large_turns(), *self._reversed_friction())

    def _large_turns(self) -> Iterator[str]:
        for link, mesh in zip(self.model.robot.links, self.model.meshes, strict=True):
            if not mesh.own:
                continue
            moved = self.nodes(link.name)
            turn = np.linalg.norm(moved[:, 1:, 3:] - moved[:, :1, 3:], axis=2).max(axis=1)
            k = int(np.argmax(turn))
            if turn[k] > LARGEST_LINEARISED:
                yield (
                    f"link '{link.name}' turns by {turn[k]:.3g} rad at {self.times[k]:.4g} s; the equations of the "
                    f"nodes are of first order, and beyond {LARGEST_LINEARISED:g} rad more than about a percent off: "
                    "`pliant simulate` takes the nonlinear robot"
                )

    def _reversed_friction(self) -> Iterator[str]:
        """Passive joints whose dry friction has the sense of the nominal rate while they swing the other way."""
        seats, numbering = self.model.skeleton.seats, self.model.numbering
        dry = [i for i, seat in enumerate(seats) if seat.is_passive and seat.is_single and seat.drive.coulomb]
        if not dry:
            return
        places = np.concatenate([numbering.joint[i] for i in dry])
        nominal = self.motion.v[:, [seats[i].coordinates[0] for i in dry]]
        beside = np.concatenate([with_loops(a, state).z_dot[:, places] for _, a, state in self._pieces()])
        turned = (nominal * (nominal + beside) < 0).mean(axis=0)
        for i, part in zip(dry, turned, strict=True):
            if part > REVERSED:
                yield (
                    f"joint '{seats[i].name}': its dry friction is that of the nominal rate, and vibrations turn it "
                    f"the other way for {100 * part:.0f} % of the time, where friction would take their energy: "
                    "`pliant simulate` knows it"
                )

    def simulated(self, **changes: Any) -> Result:
        """The full nonlinear model, sampled at ``times``: under the study's drive, or its joints moved as here.

        changes  other keys of the study, such as ``integrator``
        """
        given: dict[str, Any] = {"outputs": self._outputs()}
        if self.given is None:
            trajectory = trajectory_of(self.study)
            given |= {"drive": PrescribedMotion(trajectory=trajectory), "events": (), "limits": "ignore"}
        return run_study(self.study.with_changes(**{**given, **changes}), self.arm)

    def _outputs(self) -> Outputs:
        return Outputs(step=float(self.times[1] - self.times[0]))

    def channels(self, frames: Sequence[str] = ("tip",), *, nodes: bool = True) -> list[StoredChannel]:
        """Everything by name, with units: joints, efforts, frames, nodes and reactions."""
        out = [
            StoredChannel(name, self.arm.labels.units[self.arm.names.index(name)], "nominal position", column)
            for name, column in zip(self.model.joints, self.motion.q.T, strict=True)
        ]
        out += [
            StoredChannel(f"{name}.effort", "N m or N", "effort that the motion needs", column)
            for name, column in zip(self.inputs, self.efforts.T, strict=True)
        ]
        for name in frames:
            at = self.frame(name)
            out.append(StoredChannel(f"{name}.position", "m", "nominal position, base axes", at.position))
            out.append(StoredChannel(f"{name}.displacement", "m", "what bending adds to it", at.displacement))
            out.append(StoredChannel(f"{name}.turn", "rad", "turn by bending, base axes", at.turn))
        for link in self.model.robot.link_names if nodes else ():
            for k, moved in enumerate(np.moveaxis(self.nodes(link), 1, 0)):
                out.append(StoredChannel(f"{link}.{k}.displacement", "m", "of a node, base axes", moved[:, :3]))
                out.append(StoredChannel(f"{link}.{k}.turn", "rad", "of a node, base axes", moved[:, 3:]))
        # a node may be asked for as a frame, too
        out = list({each.name: each for each in out}.values())
        found = self.reactions()
        words = "force and moment on its link, link axes"
        out += [StoredChannel(f"{joint}.reaction", "N, N m", words, w) for joint, w in found.joints.items()]
        return out + [StoredChannel(row, "N or N m", "of a closure", x) for row, x in found.loops.items()]

    def to_csv(self, path: Path, frames: Sequence[str] = ("tip",)) -> None:
        """A line for each instant, with everything but the nodes."""
        heads, columns = [FIRST_COLUMN], [self.times[:, None]]
        for each in self.channels(frames, nodes=False):
            values = each.values.reshape(len(self.times), -1)
            parts = {1: ("",), 3: (".x", ".y", ".z"), 6: tuple(f".{axis}" for axis in WRENCH)}[values.shape[1]]
            heads += [f"{each.name}{part} [{each.unit}]" for part in parts]
            columns.append(values)
        write_rows(path, heads, np.hstack(columns).tolist())

    def save(self, path: Path, frames: Sequence[str] = ("tip",)) -> None:
        """An HDF5 file with robot, study and all channels, nodes included."""
        texts = {"robot": self.study.robot.to_yaml(), "study": self.study.to_yaml()}
        save_channels(path, "elastic motion", texts, self.times, self.channels(frames))

    def plot(self, path: Path, frames: Sequence[str] = ("tip",), full: Result | None = None) -> None:
        """Displacements of frames, turns, efforts, and natural frequencies along the motion; ``full`` is laid over."""
        from pliant.simulation.inverse.elastic_plot import plot_elastic

        plot_elastic(self, path, frames, full)

    def _pieces(self) -> Iterator[tuple[slice, Any, ElasticState]]:
        for k in range(0, len(self.times), CHUNK):
            at, s = slice(k, k + CHUNK), self.elastic.state
            assembled = assemble_at(self.model, self.nominal, self.times[at], self.loads)
            yield at, assembled, ElasticState(s.z[at], s.z_dot[at], s.z_ddot[at])

    def _once(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._kept:
            self._kept[name] = make()
        return cast("T", self._kept[name])


def elastic_run(
    study: Study,
    *,
    nominal: NominalKind | None = None,
    wrenches: Mapping[str, Wrench] | None = None,
    elements: int | Mapping[str, int] | None = None,
    variant: Variant = "complete",
    stiffening: bool | None = None,
    balanced: bool = False,
    steps: int | None = None,
    second_order: bool = False,
    report: Callable[[float], object] | None = None,
) -> ElasticRun:
    """The elastic motion of a study's robot beside a nominal motion of its joints, linear in the displacements.

    study         its robot, drive, disturbances, time, and whether links begin straight or in equilibrium
    nominal       "path": the joints move as the trajectory of the drive says; "rigid": as those of the rigid robot
                  under the drive (approximate forward dynamics). Default: the path, where there is one
    wrenches      further forces (3) or forces and moments (6) along base axes, N and N m, on frames or on nodes
                  (LINK.NUMBER): numbers, or expressions in t
    elements      of every bending link, or link -> elements; default: as described
    variant       of the node equations: "complete"; "absolute" and "printed" are wrong to first order
    stiffening    geometric stiffness of nominal internal forces; default: of beams with second-order bending
    balanced      begin at rest in balance with what acts from outside, too; default: as the start of the study says
    steps         default: 60 in a period of the lowest vibration
    second_order  the centrifugal wrenches F_C(gamma) of (4.4), too
    report        called with the time that is reached; ``True`` ends the motion with an InterruptedMotionError
    """
    if steps is not None:
        require_count("steps", steps)
    kind = _kind(study, nominal, wrenches or {})
    arm = Dynamics(study.robot, compile="auto" if study.compile else "never")
    model = LumpedModel(study.robot, elements=elements, variant=variant, stiffening=stiffening)
    loads, jumps = node_loads(model, arm, study)
    loads, kinks = _with_wrenches(model, loads, wrenches or {})
    jumps = (*jumps, *kinks)
    given: Floats | None = None
    moves: Nominal
    if kind == "path":
        straight = straight_start(study, arm)
        _, path = bound_path(study, arm, straight)
        require_start_rates(study, arm, path)
        require_smooth(study.name, arm.inputs, path, study.until)
        first = np.array([straight[arm.names.index(name)] for name in model.joints])
        coarse = model.nominal(JointMotion(*path.many(np.linspace(0.0, study.until, 101))), first)
        lowest = lowest_frequency(model, coarse.q)
        times = step_times(study.until, lowest, steps)
        moves = CorrectedMotion(model, path.many, times, model.nominal(JointMotion(*path.many(times)), first).q)
        jumps = (*path.breaks, *jumps)
    else:
        twin = study.with_changes(robot=rigid_twin(study.robot))
        rough = run_study(twin.with_changes(outputs=Outputs()))
        lowest = lowest_frequency(model, np.column_stack([rough[name] for name in model.joints]))
        times = step_times(float(rough.time[-1]), lowest, steps)
        rigid = run_study(twin.with_changes(outputs=Outputs(step=float(times[1] - times[0]))))
        moves = SampledRun(model, rigid)
        given = np.column_stack([np.interp(times, rigid.time, column) for column in rigid.tau.T])
    start = _start(model, moves(times[:1]), study.start.links == "straight", None)
    if balanced:
        start = _start(model, moves(times[:1]), False, loads)
    grid = with_jumps(times, jumps)
    whole = elastic_motion(model, moves, grid, start, loads=loads, second_order=second_order, report=report)
    at, s = np.searchsorted(grid, times), whole.state
    elastic = ElasticMotion(times, ElasticState(s.z[at], s.z_dot[at], s.z_ddot[at]))
    return ElasticRun(study, arm, model, times, moves, moves(times), elastic, loads, lowest, given)


def _kind(study: Study, nominal: NominalKind | None, wrenches: Mapping[str, Wrench]) -> NominalKind:
    """Where the nominal motion comes from; what it cannot be is refused."""
    has_path = getattr(study.drive, "trajectory", None) is not None
    kind = nominal or ("path" if has_path else "rigid")
    require_word("nominal", kind, NOMINALS)
    for key in ("shape", "loads", *(("v",) if kind == "path" else ())):
        if getattr(study.start, key) is not None:
            raise ModelError(
                f"study '{study.name}': start.{key}: the elastic motion begins with straight links, or with links: "
                "equilibrium"
            )
    if kind == "path" and not has_path:
        raise ModelError(
            f"study '{study.name}': its drive has no trajectory that the joints could follow; give one, such as "
            "prescribed: {trajectory: {quintic: ...}}, or take nominal: rigid"
        )
    if kind == "rigid" and wrenches:
        raise ModelError(
            f"study '{study.name}': wrenches on nodes do not move the rigid robot, whose motion under its drive is the "
            "nominal one; let them act as disturbances of the study"
        )
    return kind


def with_jumps(times: Floats, jumps: Iterable[float]) -> Floats:
    """Ends of steps, and between them the times at which something jumps: no step goes over a jump."""
    near = 1e-9 * float(times[1] - times[0])
    inner = [b for b in jumps if times[0] < b < times[-1] and np.abs(times - b).min() > near]
    return np.union1d(times, inner)


def _start(model: LumpedModel, first: JointMotion, straight: bool, loads: Loading | None) -> tuple[Floats, Floats]:
    """Displacements and rates of the first instant: straight links, or links at rest in balance with what acts."""
    rest = JointMotion(first.q, 0 * first.v, 0 * first.a)
    # loops leave fewer displacements, which the first instant shows
    assembled = model.assemble(rest, NO_LOADS if loads is None else loads(np.zeros(1)))
    still = np.zeros(model.size)
    return (still if straight else solve_static(model, assembled, 0)), still


def _with_wrenches(
    model: LumpedModel, loads: Loading | None, wrenches: Mapping[str, Wrench]
) -> tuple[Loading | None, tuple[float, ...]]:
    """Loads with further wrenches on frames and nodes, and the times at which these jump."""
    if not wrenches:
        return loads, ()
    ends, parts = [], []
    for name, given in wrenches.items():
        if isinstance(given, str) or len(given) not in (3, 6):
            raise ModelError(
                f"wrenches: '{name}' has {show(given)}; it must be a force (3 numbers, N) or force and moment (6), "
                "along base axes"
            )
        ends.append(model.skeleton.frame(name))
        parts.append([signal(x) for x in (*given, *([0.0] * (6 - len(given))))])

    def at(times: Floats) -> AppliedLoads:
        base = NO_LOADS if loads is None else loads(times)
        further = tuple(
            (end, np.array([[part(float(t)) for part in each] for t in times]).reshape(-1, 6))
            for end, each in zip(ends, parts, strict=True)
        )
        return AppliedLoads((*base.wrenches, *further), base.efforts)

    return at, tuple(t for each in parts for part in each for t in part.breaks)


class SampledRun:
    """The motion of all joints in a run of the rigid robot, joined by quintic splines."""

    def __init__(self, model: LumpedModel, run: Result) -> None:
        from scipy.interpolate import make_interp_spline

        q, v, a = (
            np.column_stack([run[f"{name}{kind}"] for name in model.joints]) for kind in ("", ".rate", ".acceleration")
        )
        ends = tuple([(1, v[k]), (2, a[k])] for k in (0, -1))
        self.curve: Any = make_interp_spline(run.time, q, k=5, bc_type=ends)
        self.model = model

    def __call__(self, t: Floats) -> JointMotion:
        every = [np.asarray(self.curve(t, k)) for k in range(3)]
        driven = self.model.skeleton.driven
        return self.model.nominal(JointMotion(*(x[:, driven] for x in every)), start=every[0])
