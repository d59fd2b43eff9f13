"""Inverse kinematics: all joint positions that bring a frame to a pose, with closed loops, by their assembly modes.

Gaps of the loops and the way to the pose vanish together. Levenberg's method starts from a given configuration, from
the robot's assembly modes and from joints anywhere in their ranges, always the same ones, many side by side; solutions
that differ by whole turns are one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.task_map import AXES, TaskMap
from pliant.errors import did_you_mean, require_count
from pliant.formulations.loops.constraints import Assembled
from pliant.formulations.loops.constraints import assemble as close
from pliant.formulations.loops.loops import LoopError
from pliant.model.notebook import html_page
from pliant.states import Pose

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]
Target = Pose | Mapping[str, float | str] | ArrayLike
"""A pose, its components by name, or a position (3,)."""

REACHED = 1e-9
"""Scaled distance from a pose at which it is reached."""
SAME = 1e-5
"""Scaled difference of joints below which two solutions are one."""
STARTS = 64
"""Configurations from which solutions are looked for ..."""
ROUNDS, IDLE = 8, 2
"""... how often others are taken, and how often they may find no new ones."""
STEPS_ALONG = 12
"""Newton steps from a pose to the next one of a grid, and the scaled change of a joint at which they are given up."""
LEAP = 2.0
BENT_ROUNDS = 40
"""Corrections of a pose by what bending changes."""


class OutOfReachError(ValueError):
    """A pose that a frame does not reach; the message tells how near it comes."""


@dataclass(frozen=True, eq=False)
class KinematicSolution:
    """Joints that bring a frame to a pose.

    q       coordinates (n,)
    mode    name of the assembly mode: that of the robot's ``assembly`` where it is one of these, else "mode K"
    drives  positions of the actuated joints by name
    beyond  joints beyond their limits, in words
    """

    q: Floats
    mode: str
    drives: dict[str, float]
    beyond: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class KinematicSolutions(Sequence[KinematicSolution]):
    """All solutions that were found, within limits first, then by their distance from the start.

    frame, axes  what was brought to the pose
    free         motions of the joints that leave the frame there: solutions of a redundant robot are never all
    """

    arm: Dynamics
    frame: str
    axes: tuple[str, ...]
    solutions: tuple[KinematicSolution, ...]
    free: int

    @property
    def q(self) -> Floats:
        """Coordinates of the solution nearest to the start (n,)."""
        return self.solutions[0].q

    def modes(self) -> dict[str, dict[str, float]]:
        """Mode -> positions of the passive joints, as ``assembly: {modes: ...}`` of a robot file takes them."""
        passive = [name for name in self.arm.robot.joint_coordinates if name not in self.arm.inputs]
        return {
            each.mode: {name: float(each.q[self.arm.names.index(name)]) for name in passive} for each in self.solutions
        }

    def __len__(self) -> int:
        return len(self.solutions)

    @overload
    def __getitem__(self, k: int) -> KinematicSolution: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[KinematicSolution]: ...
    def __getitem__(self, k: int | slice) -> KinematicSolution | Sequence[KinematicSolution]:
        return self.solutions[k]

    def _repr_html_(self) -> str:
        rows = [
            (each.mode, ", ".join(f"{k} {x:.4g}" for k, x in each.drives.items()), "; ".join(each.beyond))
            for each in self.solutions
        ]
        return html_page(f"Ways of {self.frame}", ("mode", "drives", "beyond limits"), rows)


def inverse_kinematics(
    arm: Dynamics,
    pose: Target,
    *,
    frame: str = "tip",
    start: States | None = None,
    axes: Sequence[str] | None = None,
    limits: bool = True,
    bent: bool = False,
    starts: int = STARTS,
) -> KinematicSolutions:
    """All joint positions that bring a frame to a pose, with closed loops.

    pose    ``Pose(position, rotation)``, a position (3,), or components by name: ``{"x": 0.1, "y": "4 cm", "rz": 1}``,
            of which rx, ry, rz are a rotation vector
    frame   default: the robot's tip
    start   configuration that solutions shall be near, and that elastic coordinates are taken from; default: the
            reference pose with straight links
    axes    components that must agree; default: those given, or of a Pose all that the joints can bring there
    limits  leave out solutions beyond limits of joints; False: tell them with ``beyond``
    bent    the robot rests there, bent as gravity bends it while the drives hold; default: links are as in ``start``
    starts  how many configurations to start from

    Raises OutOfReachError with the distance that is left where there is none.
    """
    require_count("starts", starts)
    first = arm.reference_pose() if start is None else arm.labels.states("q", start).copy()
    if first.shape != (arm.size,):
        raise ValueError(f"start has shape {first.shape}; this takes one configuration ({arm.size},)")
    target, given = _target(pose)
    task = TaskMap(arm, frame, axes if axes is not None else given)
    _require_whole_turns(task, axes is None and given is not None)
    solver = PoseSolver(task)
    freedom = task.mobility - task.freedom
    every = _every(solver, first, target, starts, limits=limits, once=freedom > 0)
    if freedom > 0:
        # of a curve of solutions the nearest one; the others mean no more
        every = every[:1]
    if bent:
        every = [solver.rested(q, target) for q in every]
    listed = _listed(task, every)
    inside = [each for each in listed if not each.beyond]
    if limits and not inside:
        raise OutOfReachError(
            f"frame '{frame}' of robot '{arm.robot.name}' reaches the pose only beyond limits of its joints: "
            f"{'; '.join(listed[0].beyond)}; limits=False gives these solutions"
        )
    outside = [] if limits else [each for each in listed if each.beyond]
    return KinematicSolutions(arm, frame, task.axes, (*inside, *outside), max(freedom, 0))


# ---- poses


def _target(pose: Target) -> tuple[Pose, Sequence[str] | None]:
    """A pose, and the components that were given."""
    if isinstance(pose, Pose):
        return Pose(np.asarray(pose.position, dtype=float), np.asarray(pose.rotation, dtype=float)), None
    if isinstance(pose, Mapping):
        values = np.zeros(6)
        for name, value in pose.items():
            if name not in AXES:
                raise ValueError(
                    f"pose: there is no component '{name}'; they are {', '.join(AXES)}{did_you_mean(name, AXES)}"
                )
            values[AXES.index(name)] = component(name, value)
        from pliant.screws import SO3

        return Pose(values[:3], SO3.exp(values[3:]).matrix), tuple(pose)
    position = np.asarray(pose, dtype=float)
    if position.shape != (3,) or not np.isfinite(position).all():
        raise ValueError(f"pose is {position.tolist()}; give a Pose, three numbers (m), or components by name")
    return Pose(position, np.eye(3)), ("x", "y", "z")


def component(name: str, value: float | str) -> float:
    """A component of a pose, a number in m or rad or text with a unit."""
    from pliant.model.units import Quantity

    try:
        number = float(Quantity("rad" if name.startswith("r") else "m").read(value, {"units": True}))
    except ValueError as error:
        raise ValueError(f"pose: {name}: {error}") from None
    if not np.isfinite(number):
        raise ValueError(f"pose: {name} is {number}; it must be finite")
    return number


def _require_whole_turns(task: TaskMap, by_name: bool) -> None:
    """Refuse a part of a rotation vector where the frame turns about other axes as well."""
    if not by_name:
        return
    turns = [name for name in task.axes if name.startswith("r")]
    moving = TaskMap(task.arm, task.frame, AXES).moving
    missing = [AXES[k] for k in moving if k >= 3 and AXES[k] not in turns]
    if turns and missing:
        raise ValueError(
            f"pose: {', '.join(turns)} alone is no rotation of frame '{task.frame}', which also turns about "
            f"{', '.join(missing)}; give rx, ry and rz, or a Pose with axes="
        )


def pose_errors(task: TaskMap, q: Floats, target: Pose) -> Floats:
    """How far the frame is from poses (count, 6), base axes: lengths of the robot, and the sine of turns."""
    at = task.arm.pose(task.frame, q)
    Q = at.rotation @ np.swapaxes(target.rotation, -1, -2)
    turn = np.stack([Q[:, 2, 1] - Q[:, 1, 2], Q[:, 0, 2] - Q[:, 2, 0], Q[:, 1, 0] - Q[:, 0, 1]], axis=-1) / 2
    return np.concatenate([(at.position - target.position) / task.length, turn], axis=-1)


class PoseSolver:
    """Closes loops and brings a frame to poses, many configurations at once."""

    def __init__(self, task: TaskMap) -> None:
        self.task = task
        self.columns = np.eye(task.arm.size)[:, task.joints] * task.units

    def followed(self, q: Floats, target: Pose) -> Floats:
        """Configurations q (count, n) taken along to poses nearby, each to its own, by Newton's method alone."""
        task, out = self.task, q.copy()
        left = np.arange(len(q))
        for _ in range(STEPS_ALONG):
            at, wanted = out[left], Pose(target.position[left], target.rotation[left])
            gap = np.hstack([task.gaps_of(at), pose_errors(task, at, wanted)[:, task.components]])
            J = np.concatenate([task.rows_of(at), self._slopes(at, wanted)], axis=1)
            change = (np.linalg.pinv(J, rcond=1e-8) @ gap[..., None])[..., 0]
            out[left[:, None], task.joints] -= task.units * change
            # what leaps is lost, and what stands is there
            size = np.abs(change).max(axis=1)
            left = left[(size < LEAP) & (size > 1e-14)]
            if not len(left):
                break
        return out

    def solved(self, q: Floats, target: Pose) -> Assembled:
        """As near as configurations q (count, n) get to a pose, or each to its own."""
        task = self.task
        # the method asks for some of them at a time; each carries its pose along behind its coordinates
        n, count = task.arm.size, len(q)
        position = np.broadcast_to(target.position, (count, 3))
        rotation = np.broadcast_to(target.rotation, (count, 3, 3)).reshape(count, 9)
        carried = np.hstack([q, position, rotation])
        columns = np.vstack([self.columns, np.zeros((12, len(task.joints)))])

        def parts(x: Floats) -> tuple[Floats, Pose]:
            return np.ascontiguousarray(x[:, :n]), Pose(x[:, n : n + 3], x[:, n + 3 :].reshape(-1, 3, 3))

        def gaps(x: Floats) -> Floats:
            at, wanted = parts(x)
            return np.hstack([task.gaps_of(at), pose_errors(task, at, wanted)[:, task.components]])

        def jacobian(x: Floats) -> Floats:
            at, wanted = parts(x)
            return np.concatenate([task.rows_of(at), self._slopes(at, wanted)], axis=1)

        found = close(carried, gaps, jacobian, columns)
        return Assembled(np.ascontiguousarray(found.q[:, :n]), found.gap)

    def _slopes(self, q: Floats, target: Pose) -> Floats:
        """Derivatives of ``pose_errors`` along scaled joints (count, components, joints)."""
        task = self.task
        T = task.twists_of(q).copy()
        Q = task.arm.pose(task.frame, q).rotation @ np.swapaxes(target.rotation, -1, -2)
        # the axial vector of ([w] Q + Q^T [w])/2 is (tr(Q) 1 - Q) w / 2
        turn = (np.trace(Q, axis1=1, axis2=2)[:, None, None] * np.eye(3) - Q) / 2
        T[:, 3:] = turn @ T[:, 3:]
        return np.asarray(T[:, task.components])

    def reached(self, q: Floats, target: Pose) -> NDArray[np.bool_]:
        """Which configurations have closed loops and their frame at the pose (count,); half a turn off is none."""
        task = self.task
        errors = pose_errors(task, q, target)[:, task.components]
        closed = np.abs(task.gaps_of(q)).max(axis=1, initial=0.0) <= REACHED
        there = np.abs(errors).max(axis=1, initial=0.0) <= REACHED
        turns = [k - 3 for k in task.components if k >= 3]
        if turns:
            Q = task.arm.pose(task.frame, q).rotation @ np.swapaxes(target.rotation, -1, -2)
            # the cosine of a turn about one axis is that of the plane across it
            there &= np.array([min(R[j, j] for j in range(3) if j not in turns or len(turns) == 3) > 0 for R in Q])
        return np.asarray(closed & there)

    def rested(self, q: Floats, target: Pose) -> Floats:
        """The robot at rest, bent, with its frame at the pose, from joints q that bring the unbent one there."""
        from pliant.screws import SO3

        task, arm = self.task, self.task.arm
        wanted, joints = target, q
        for _ in range(BENT_ROUNDS):
            rest = settle(arm, joints).q
            at = arm.pose(task.frame, rest)
            error = pose_errors(task, rest[None], target)[0, task.components]
            if np.abs(error).max() <= REACHED:
                return rest
            # the pose at which the straight robot must be for the bent one to be where it shall
            turn = SO3(target.rotation @ at.rotation.T).log()
            wanted = Pose(wanted.position + target.position - at.position, SO3.exp(turn).matrix @ wanted.rotation)
            joints = self.solved(joints[None], wanted).q[0]
        raise OutOfReachError(
            f"robot '{arm.robot.name}' bends so far that its frame '{task.frame}' does not come to the pose: "
            f"{task.length * float(np.abs(error).max()):.3g} m are left"
        )


# ---- starts and solutions


def _every(solver: PoseSolver, first: Floats, target: Pose, starts: int, *, limits: bool, once: bool) -> list[Floats]:
    """Different solutions, the nearest to the start first: from more starts as long as these find new ones."""
    task = solver.task
    found: list[Floats] = []
    idle = 0
    for k in range(1 if once else ROUNDS):
        near = solver.solved(_starts(task, first, starts, seed=k, limits=limits, known=found), target)
        reached = solver.reached(near.q, target)
        if not found and not reached.any():
            raise OutOfReachError(_unreachable(task, near, target))
        more = _distinct(task, _wound(task, np.vstack([*found, near.q[reached]]), first), first)
        idle = idle + 1 if len(more) == len(found) else 0
        found = more
        if idle == IDLE:
            break
    return found


def _starts(task: TaskMap, first: Floats, count: int, *, seed: int, limits: bool, known: Sequence[Floats]) -> Floats:
    """The start, the robot's assembly modes, joints anywhere in their ranges, and joints of known solutions mixed."""
    arm, rng = task.arm, np.random.default_rng(seed)
    given = [first]
    for mode in arm.robot.assembly.modes:
        try:
            given.append(arm.assemble(first, mode=mode))
        except LoopError:
            # drives at which this mode does not close
            continue
    low, high = _ranges(task, first, limits=limits)
    spread = np.tile(first, (max(count - len(given), 0), 1))
    spread[:, task.joints] = rng.uniform(low, high, (len(spread), len(task.joints)))
    if known:
        # elbows and wrists turn over one by one
        mixed = slice(len(spread) // 2)
        chosen = rng.integers(len(known), size=spread[mixed, task.joints].shape)
        spread[mixed, task.joints] = np.array(known)[:, task.joints][chosen, np.arange(len(task.joints))]
    return np.vstack([given, spread])


def _ranges(task: TaskMap, first: Floats, *, limits: bool) -> tuple[Floats, Floats]:
    """Where joints may start (joints,): their limits, a turn, or the extent of the robot."""
    ranges = task.arm.position_limits if limits else {}
    reach = np.where(task.units == 1.0, np.pi, task.length)
    low, high = first[task.joints] - reach, first[task.joints] + reach
    for k, joint in enumerate(task.joints.tolist()):
        if joint in ranges:
            low[k], high[k] = max(ranges[joint][0], low[k]), min(ranges[joint][1], high[k])
            low[k] = min(low[k], high[k])
    return low, high


def _wound(task: TaskMap, q: Floats, first: Floats) -> Floats:
    """Configurations whose joints have turned by whole turns into their limits, or nearest to the start."""
    limits = task.arm.position_limits
    # rotation vectors of ball joints no longer than half a turn
    out = np.array([task.arm.recentred(each, np.zeros_like(each))[0] for each in q]).reshape(q.shape)
    turn = 2 * np.pi
    for k, joint in enumerate(task.joints.tolist()):
        if task.periodic[k]:
            out[:, joint] -= turn * np.round((out[:, joint] - first[joint]) / turn)
            if joint in limits:
                low, high = limits[joint]
                out[:, joint] += turn * np.ceil(np.maximum(low - out[:, joint] - SAME, 0.0) / turn)
                out[:, joint] -= turn * np.ceil(np.maximum(out[:, joint] - high - SAME, 0.0) / turn)
    return out


def _distinct(task: TaskMap, q: Floats, first: Floats) -> list[Floats]:
    """Different ones among configurations, the nearest to the start first.

    Those with all links at the same places are one, whatever turns their joints have counted.
    """
    away = np.linalg.norm((q - first)[:, task.joints] / task.units, axis=1)
    at = task.arm.link_poses(q)
    placed = np.hstack([(at.position / task.length).reshape(len(q), -1), at.rotation.reshape(len(q), -1)])
    kept: list[int] = []
    for k in np.argsort(away, kind="stable").tolist():
        if not kept or np.abs(placed[kept] - placed[k]).max(axis=1).min() >= SAME:
            kept.append(k)
    return [q[k] for k in kept]


def _listed(task: TaskMap, every: Sequence[Floats]) -> list[KinematicSolution]:
    out, unnamed = list[KinematicSolution](), 0
    for q in every:
        mode = _mode(task, q)
        if mode is None:
            unnamed += 1
            mode = f"mode {unnamed}"
        drives = {name: float(q[task.arm.names.index(name)]) for name in task.arm.inputs}
        out.append(KinematicSolution(q, mode, drives, tuple(_beyond(task, q))))
    return out


def _mode(task: TaskMap, q: Floats) -> str | None:
    """The assembly mode of the robot's description that a configuration is in: the nearest that leads to it."""
    arm, found = task.arm, list[tuple[float, str]]()
    for name, positions in arm.robot.assembly.modes.items():
        try:
            other = arm.assemble(q, mode=name)
        except LoopError:
            continue
        if len(_distinct(task, np.array([q, other]), q)) == 1:
            places = [task.joint_names.index(joint) for joint in positions]
            away = q[task.joints][places] - list(positions.values())
            turns = task.periodic[places]
            away[turns] = (away[turns] + np.pi) % (2 * np.pi) - np.pi
            found.append((float(np.linalg.norm(away)), name))
    return min(found)[1] if found else None


def _beyond(task: TaskMap, q: Floats) -> Iterator[str]:
    for joint, (low, high) in task.arm.position_limits.items():
        value, unit = float(q[joint]), task.arm.mechanism.units[joint]
        if not low - SAME <= value <= high + SAME:
            yield f"{task.arm.names[joint]} is at {value:.4g} {unit}, its range {low:.4g} ... {high:.4g} {unit}"


def _unreachable(task: TaskMap, found: Assembled, target: Pose) -> str:
    """How near the frame comes with closed loops."""
    q = task.arm.loops.closest(found.q, task.elastic)
    errors = np.abs(pose_errors(task, q, target)[:, task.components]).max(axis=1)
    closed = np.abs(task.gaps_of(q)).max(axis=1, initial=0.0) <= REACHED
    k = int(np.argmin(np.where(closed, errors, np.inf)))
    at = task.arm.pose(task.frame, q[k]).position
    wanted = ", ".join(f"{x:.4g}" for x in target.position)
    near = f"; the nearest that was found is ({', '.join(f'{x + 0.0:.4g}' for x in at)}) m" if closed.any() else ""
    return (
        f"frame '{task.frame}' of robot '{task.arm.robot.name}' does not reach ({wanted}) m along "
        f"{', '.join(task.axes)}{near}; ask for fewer axes=, or another start"
    )
