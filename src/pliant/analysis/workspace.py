"""The workspace of a frame over a grid of poses: where it comes, how well, and where it is singular on the way.

From solutions at one pose the grid is filled outwards, neighbour by neighbour: every new pose starts from the
configuration of a neighbour that is reached, so that a branch (an assembly mode with its working mode) stays itself.
Poses at the rim of what is filled are solved side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.inverse_kinematics import OutOfReachError, PoseSolver, component, inverse_kinematics
from pliant.analysis.task_map import AXES, TaskMap
from pliant.errors import require_count
from pliant.model.notebook import made_by
from pliant.screws import SO3
from pliant.states import Pose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Colour = Literal["dexterity", "stiffness"]
Range = tuple[float | str, float | str] | tuple[float | str, float | str, int]

LONGEST = 1.2
"""Scaled change of a joint from a pose to the next that is no leap to another branch."""
POINTS = 41
"""Poses along an axis of the grid, unless told."""
MOST = 250_000
"""Poses of a grid that memory surely holds."""
SEEDS = 9
"""Poses of the grid at which other branches are looked for."""


@dataclass(frozen=True, eq=False)
class WorkspaceBranch:
    """One way to reach a part of the grid: an assembly mode with its working mode.

    name         "mode K", or that of the robot's assembly mode
    reached      which poses are reached (grid)
    q            coordinates there (grid, n); nan elsewhere
    serial       determinant of type 1 (grid), nan where it is not reached or not square
    parallel     determinant of type 2 (grid)
    dexterity    least over largest rate of the frame per rate of the drives (grid)
    stiffness    N/m: the softest against a force, of straight links without weight (grid); None: not asked for
    """

    name: str
    reached: Bools
    q: Floats
    serial: Floats
    parallel: Floats
    dexterity: Floats
    stiffness: Floats | None


@dataclass(frozen=True, eq=False)
class FrameWorkspace:
    """Where a frame comes.

    axes      names of the axes of the grid, and ``ticks`` their values
    held      other components of the pose that are held, by name
    branches  the ways to reach it; the first is that of the start
    length    m: characteristic length of dexterity
    """

    arm: Dynamics
    frame: str
    axes: tuple[str, ...]
    ticks: tuple[Floats, ...]
    held: dict[str, float]
    branches: tuple[WorkspaceBranch, ...]
    length: float

    @property
    def reached(self) -> Bools:
        """Which poses are reached by any branch (grid)."""
        return np.asarray(np.any([branch.reached for branch in self.branches], axis=0))

    @property
    def area(self) -> float:
        """Length, area or volume of what is reached: cells of the grid that count whole, m or rad each."""
        steps = [float(tick[1] - tick[0]) for tick in self.ticks]
        return float(self.reached.sum() * np.prod(steps))

    def regular(self, branch: int = 0) -> Bools:
        """Poses of a branch that are reached from the start's side of its parallel singularities (grid)."""
        own = self.branches[branch]
        signs = np.sign(own.parallel)
        seed = np.unravel_index(int(np.nanargmax(np.where(own.reached, own.dexterity, np.nan))), own.reached.shape)
        return np.asarray(own.reached & ((signs == signs[seed]) | np.isnan(own.parallel)))

    def draw(self, path: str | Path | None = None, *, colour: Colour = "dexterity") -> Figure:
        """A picture of the first branch, coloured, with singular curves and the rim of all; ``path``: file to write."""
        figure: Figure = made_by("pictures.workspace_plot", "workspace_figure")(self, path, colour=colour)
        return figure


def workspace(
    arm: Dynamics,
    over: Mapping[str, Range],
    *,
    frame: str = "tip",
    at: Mapping[str, float | str] | None = None,
    start: States | None = None,
    branches: Literal["start", "all"] = "start",
    limits: bool = True,
    colour: Colour = "dexterity",
    length: float | None = None,
) -> FrameWorkspace:
    """Poses on a grid that a frame reaches, with dexterity or stiffness and the determinants of both singularities.

    over      one to three components of the pose with their ranges: ``{"x": (-0.3, 0.3), "y": (0.1, 0.6, 80)}``, the
              third number counts poses
    frame     default: the robot's tip
    at        other components that are held, such as ``{"rz": 0}``; what is named in neither is free
    start     configuration from which the grid is filled; default: the reference pose
    branches  "start": the branch of the start alone; "all": every one that is found at some poses of the grid
    limits    whether joints stay within their limits
    colour    "stiffness": also compute the softest stiffness of the frame, of straight links without weight
    length    m: characteristic length by which shifts are divided; default: the extent of the robot

    Links stay straight. A branch is what is connected with its first pose without passing a singularity of type 1.
    """
    axes, ticks = _grid(over)
    held = {name: component(name, value) for name, value in (at or {}).items()}
    if bad := [name for name in held if name not in AXES or name in axes]:
        raise ValueError(f"at: '{bad[0]}' is no other component of the pose; they are {', '.join(AXES)}")
    if branches not in ("start", "all"):
        raise ValueError(f"branches is {branches!r}; it must be 'start' or 'all'")
    if colour not in get_args(Colour):
        raise ValueError(f"colour is {colour!r}; it must be one of {', '.join(get_args(Colour))}")
    first = arm.assemble(arm.reference_pose() if start is None else arm.labels.states("q", start))
    named = tuple(name for name in AXES if name in (*axes, *held))
    task = TaskMap(arm, frame, named, length)
    if task.mobility > task.freedom:
        raise ValueError(
            f"robot '{arm.robot.name}' has {task.mobility} motions, and {', '.join(named)} determine {task.freedom} of "
            f"them; name more components of '{frame}' (at={{...}}) so that a pose has single solutions"
        )
    shape = tuple(len(tick) for tick in ticks)
    poses = _poses(axes, ticks, held)
    filler = _Filler(task, poses, shape, limits)
    kept = list[WorkspaceBranch]()
    for name, seed, q in _seeds(filler, arm, first, named, branches):
        if not any(_holds(each, seed, q) for each in kept):
            number = f"mode {len(kept) + 1}" if name.startswith("mode ") else name
            kept.append(_branch(task, filler, colour, number, seed, q))
    if not kept:
        raise OutOfReachError(
            f"frame '{frame}' of robot '{arm.robot.name}' reaches no pose of the grid from its start within limits; "
            "take other ranges, another start, or limits=False"
        )
    return FrameWorkspace(arm, frame, axes, ticks, held, tuple(kept), task.length)


def _grid(over: Mapping[str, Range]) -> tuple[tuple[str, ...], tuple[Floats, ...]]:
    if not 1 <= len(over) <= 3:
        raise ValueError(f"over names {len(over)} components; name one to three of {', '.join(AXES)}")
    ticks = []
    for name, given in over.items():
        if name not in AXES:
            raise ValueError(f"over: there is no component '{name}'; they are {', '.join(AXES)}")
        if len(given) not in (2, 3):
            raise ValueError(f"over: {name} is {given}; give its first and last value, and how many")
        low, high = component(name, given[0]), component(name, given[1])
        count = int(given[2]) if len(given) == 3 else POINTS
        require_count(f"over: poses along {name}", count, least=2)
        if not high > low:
            raise ValueError(f"over: {name} goes from {low:g} to {high:g}; the second must be larger")
        ticks.append(np.linspace(low, high, count))
    total = int(np.prod([len(tick) for tick in ticks]))
    if total > MOST:
        raise ValueError(f"over: the grid has {total} poses; {MOST} at the most")
    return tuple(over), tuple(ticks)


def _poses(axes: Sequence[str], ticks: Sequence[Floats], held: Mapping[str, float]) -> Pose:
    """All poses of the grid, in its order: positions (count, 3) and rotations (count, 3, 3)."""
    every = [each.ravel() for each in np.meshgrid(*ticks, indexing="ij")]
    values = np.zeros((len(every[0]), 6))
    values[:, [AXES.index(name) for name in axes]] = np.column_stack(every)
    values[:, [AXES.index(name) for name in held]] = list(held.values())
    if not values[:, 3:].any():
        return Pose(values[:, :3], np.broadcast_to(np.eye(3), (len(values), 3, 3)))
    return Pose(values[:, :3], np.array([SO3.exp(turn).matrix for turn in values[:, 3:]]))


class _Filler:
    """Fills the grid from a seed, one rim after the other."""

    def __init__(self, task: TaskMap, poses: Pose, shape: tuple[int, ...], limits: bool) -> None:
        self.task, self.poses, self.shape = task, poses, shape
        self.solver = PoseSolver(task)
        self.limits = task.arm.position_limits if limits else {}
        self.count = len(poses.position)

    def pose(self, index: NDArray[np.int_]) -> Pose:
        return Pose(self.poses.position[index], self.poses.rotation[index])

    def solved(self, start: Floats, index: NDArray[np.int_]) -> tuple[Floats, Bools]:
        """Configurations at poses of the grid from those of neighbours, and which are good."""
        target = self.pose(index)
        q = self.solver.followed(start, target)
        good = self.solver.reached(q, target)
        good &= np.abs((q - start)[:, self.task.joints] / self.task.units).max(axis=1) < LONGEST
        return q, good & self.allowed(q)

    def allowed(self, q: Floats) -> Bools:
        out = np.ones(len(q), dtype=bool)
        for joint, (low, high) in self.limits.items():
            out &= (q[:, joint] >= low - 1e-9) & (q[:, joint] <= high + 1e-9)
        return out

    def filled(self, seed: int, q: Floats) -> tuple[Floats, Floats]:
        """Coordinates (count, n) and determinants (count, 2) of a branch; nan where it does not reach."""
        task = self.task
        every = np.full((self.count, task.arm.size), np.nan)
        values = np.full((self.count, 2), np.nan)
        every[seed], values[seed] = q, task.determinants_of(q[None])[0]
        rim = np.array([seed])
        while len(rim):
            ends, begins = self._beyond(rim, every)
            if not len(ends):
                break
            found, good = self.solved(every[begins], ends)
            after = np.full((len(ends), 2), np.nan)
            if good.any():
                after[good] = task.determinants_of(found[good])
                # where the sign of the serial determinant differs, the solution is on the other side of a rim
                good &= ~(after[:, 0] * values[begins, 0] < 0.0)
            rim = ends[good]
            every[rim], values[rim] = found[good], after[good]
        return every, values

    def _beyond(self, rim: NDArray[np.int_], every: Floats) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
        """Poses next to a rim that are not reached yet, and the neighbour from which each is tried."""
        at = np.array(np.unravel_index(rim, self.shape))
        ends, begins = [], []
        for axis, size in enumerate(self.shape):
            for step in (-1, 1):
                moved = at.copy()
                moved[axis] += step
                inside = (moved[axis] >= 0) & (moved[axis] < size)
                flat = np.ravel_multi_index(tuple(moved[:, inside]), self.shape)
                new = np.isnan(every[flat, 0])
                ends.append(flat[new])
                begins.append(rim[inside][new])
        # a pose that several neighbours reach is tried from the first; from the others when their turn comes
        found, place = np.unique(np.concatenate(ends), return_index=True)
        return found, np.concatenate(begins)[place]


def _seeds(
    filler: _Filler, arm: Dynamics, first: Floats, axes: tuple[str, ...], branches: str
) -> Iterator[tuple[str, int, Floats]]:
    """Name, pose of the grid and configuration from which branches are filled; the start's own first."""
    task = filler.task
    at = arm.pose(task.frame, first)
    errors = np.hstack(
        [
            (filler.poses.position - at.position) / task.length,
            np.array([SO3(at.rotation.T @ R).log() for R in filler.poses.rotation])
            if any(k >= 3 for k in task.components)
            else np.zeros((filler.count, 3)),
        ]
    )[:, task.components]
    nearest = int(np.argmin(np.linalg.norm(errors, axis=1)))
    # the first pose may be far from the start; those after it are not
    target = filler.pose(np.array([nearest]))
    q = filler.solver.solved(first[None], target).q
    if filler.solver.reached(q, target)[0] and filler.allowed(q)[0]:
        yield "start", nearest, q[0]
    if branches == "start":
        return
    for seed in np.unique(np.linspace(0, filler.count - 1, SEEDS + 2).astype(int)[1:-1].tolist() + [nearest]).tolist():
        pose = filler.pose(np.array(seed))
        try:
            found = inverse_kinematics(arm, pose, frame=task.frame, axes=axes, start=first, limits=bool(filler.limits))
        except OutOfReachError:
            continue
        yield from ((each.mode, seed, each.q) for each in found)


def _branch(task: TaskMap, filler: _Filler, colour: Colour, name: str, seed: int, q: Floats) -> WorkspaceBranch:
    every, values = filler.filled(seed, q)
    reached = ~np.isnan(every[:, 0])
    dexterity = np.full(filler.count, np.nan)
    dexterity[reached] = task.dexterity_of(every[reached])
    soft = None
    if colour == "stiffness":
        soft = np.full(filler.count, np.nan)
        soft[reached] = softest_stiffness(task, every[reached])
        soft = soft.reshape(filler.shape)
    shape = filler.shape
    return WorkspaceBranch(
        name,
        reached.reshape(shape),
        every.reshape(*shape, -1),
        values[:, 0].reshape(shape),
        values[:, 1].reshape(shape),
        dexterity.reshape(shape),
        soft,
    )


def _holds(branch: WorkspaceBranch, seed: int, q: Floats) -> bool:
    """Whether a branch has this configuration at a pose of the grid; whole turns are no difference."""
    away = np.abs(branch.q.reshape(-1, len(q))[seed] - q) % (2 * np.pi)
    return bool(np.minimum(away, 2 * np.pi - away).max() < 1e-6)


def softest_stiffness(task: TaskMap, q: Floats) -> Floats:
    """N/m: the softest stiffness of the frame against a force (count,), drives held, links straight, no weight."""
    arm = task.arm
    n, count = arm.size, len(q)
    K = arm.stiffness
    diagonal = np.diag(K)
    if not diagonal.any():
        return np.full(count, np.inf)
    size = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    A = np.concatenate(
        [np.broadcast_to(arm.B.T * size, (count, len(arm.inputs), n)), task.rows_of(q, np.diag(size))], axis=1
    )
    J = arm.jacobian(task.frame, q)[:, :3] * size
    _, sizes, Vt = np.linalg.svd(A)
    # one rank for all: redundant rows are so everywhere
    rank = int(np.median(np.count_nonzero(sizes > 1e-9 * sizes[:, :1], axis=1)))
    Z = np.swapaxes(Vt[:, rank:], 1, 2)
    if not Z.shape[2]:
        return np.full(count, np.inf)
    reduced = np.swapaxes(Z, 1, 2) @ (K * np.outer(size, size)) @ Z
    moved = J @ Z
    soft, ways = np.linalg.eigh(reduced)
    # motions that nothing holds: no stiffness at all
    along = moved @ ways
    held = soft > 1e-12 * soft[:, -1:]
    loose = np.where(held[:, None], 0.0, np.abs(along)).max(axis=(1, 2)) > 1e-9 * np.abs(along).max(axis=(1, 2))
    gives = np.where(held[:, None], along, 0.0) / np.sqrt(np.where(held, soft, 1.0))[:, None]
    largest = np.linalg.svd(gives, compute_uv=False)[:, 0] ** 2
    out = np.full(count, np.inf)
    np.divide(1.0, largest, out=out, where=largest > 0.0)
    return np.where(loose, 0.0, out)
