"""Singular configurations: where a frame loses a direction, or where the drives lose their hold of it.

Gosselin & Angeles' two types, for any robot. Type 1 (serial, of the inputs): the drives can move while the frame does
not, and it loses a direction. Type 2 (parallel, of the platform): the frame can move while all drives are held. A third
case, in which the loops themselves lose a constraint, is told as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.task_map import TaskMap
from pliant.errors import did_you_mean

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

SINGULAR = 1e-6
"""Part of the largest rate below which a direction is lost."""
NEAR = 1e-2
"""Part below which it is nearly so."""
SMALL = 1e-6
"""Part of a direction that is not told."""


@dataclass(frozen=True, eq=False)
class LostDirection:
    """One of the two types at a configuration.

    type         1: serial, of the inputs; 2: parallel, of the platform
    condition    largest over least rate; infinite where a direction is lost for good
    determinant  signed: it changes its sign where a direction is lost; nan where drives and motions differ in number
    least        the least rate itself, without units
    direction    (6,) shift (m) and turn (rad), base axes: type 1, what the frame can do least; type 2, how it moves
                 when the drives hold it least
    rates        rates of all joints (by name, rad or m) in that motion; those of type 1 leave the frame where it is
    """

    type: Literal[1, 2]
    condition: float
    determinant: float
    least: float
    direction: Floats
    rates: dict[str, float]

    @property
    def singular(self) -> bool:
        """Whether the direction is lost."""
        return self.condition * SINGULAR >= 1.0

    @property
    def near(self) -> bool:
        """Whether it is nearly lost."""
        return self.condition * NEAR >= 1.0


@dataclass(frozen=True, eq=False)
class Singularity:
    """How far a configuration is from singular ones.

    q         the configuration, with closed loops (n,)
    frame     the frame that works, and the ``axes`` of it that count
    length    m: characteristic length; shifts are divided by it before they are compared with turns
    mobility  independent motions of the joints here; ``generic`` is their number elsewhere
    freedom   independent motions of the frame elsewhere
    drives    number of drives
    serial    type 1
    parallel  type 2
    """

    q: Floats
    frame: str
    axes: tuple[str, ...]
    length: float
    mobility: int
    generic: int
    freedom: int
    drives: int
    serial: LostDirection
    parallel: LostDirection

    @property
    def types(self) -> tuple[int, ...]:
        """The types of singularity here: (), (1,), (2,) or (1, 2)."""
        return tuple(each.type for each in (self.serial, self.parallel) if each.singular)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What is lost, in words; empty at a regular configuration."""
        return tuple(self._words())

    def _words(self) -> Iterator[str]:
        if self.mobility > self.generic:
            yield (
                f"the loops lose {self.mobility - self.generic} constraint"
                f"{'s' if self.mobility - self.generic > 1 else ''} here: the joints have {self.mobility} motions, "
                f"elsewhere {self.generic}"
            )
        for each, what in ((self.serial, "loses"), (self.parallel, "moves freely, the drives held,")):
            if each.near:
                yield (
                    f"type {each.type} ({'serial' if each.type == 1 else 'parallel'}), "
                    f"{'' if each.singular else 'nearly: '}{self.frame} {what} {motion_words(each.direction)}"
                )
        if self.drives > self.generic:
            yield f"{self.drives} drives for {self.generic} motions: they can work against one another"
        if self.drives < self.generic:
            yield f"{self.drives} drives for {self.generic} motions: what they do not hold moves freely"


def motion_words(twist: Floats) -> str:
    """A direction of motion in words: a shift, a turn about a line, or a screw."""
    v, w = twist[:3], twist[3:]
    turn = float(np.linalg.norm(w))
    if turn <= SMALL * np.linalg.norm(v):
        return f"a shift along {_vector(v / np.linalg.norm(v))}"
    axis = w / turn
    pitch = float(v @ w) / turn**2
    at = np.cross(w, v) / turn**2
    text = f"a turn about {_vector(axis)}"
    if float(np.linalg.norm(at)) > SMALL:
        text += f" at {_vector(at)} m from it"
    return text + (f" with {pitch:.4g} m/rad along it" if abs(pitch) > SMALL else "")


def _vector(x: Floats) -> str:
    return f"({', '.join(f'{value + 0.0:.4g}' for value in np.round(x, 6))})"


def singularity(
    arm: Dynamics,
    q: States | None = None,
    *,
    frame: str = "tip",
    axes: Sequence[str] | None = None,
    length: float | None = None,
) -> Singularity:
    """How near a configuration is to singular ones of type 1 and type 2, and the directions that are lost there.

    q       configuration, an array or by name; loops are closed with the drives held. Default: the reference pose
    frame   the frame that works; default: the robot's tip
    axes    its components that count, of x, y, z, rx, ry, rz; default: shifts alone where they determine the motion,
            else all that move
    length  m: characteristic length by which shifts are divided; default: the extent of the robot

    Elastic coordinates stay as they are in q. Condition numbers of robots that shift and turn depend on ``length``;
    whether a determinant vanishes does not.
    """
    start = arm.reference_pose() if q is None else arm.labels.states("q", q)
    if start.shape != (arm.size,):
        raise ValueError(f"q has shape {start.shape}; this takes one configuration ({arm.size},)")
    task = TaskMap(arm, frame, axes, length)
    closed = start if arm.loops.largest_gap(start) <= 1e-10 else arm.assemble(start)
    return singularity_of(task, closed)


def singularity_of(task: TaskMap, q: Floats) -> Singularity:
    """Singularities of a task at a configuration q (n,) whose loops are closed."""
    Z = task.motions(q)
    serial, parallel = task.determinants(q)
    return Singularity(
        q,
        task.frame,
        task.axes,
        task.length,
        Z.shape[1],
        task.mobility,
        task.freedom,
        len(task.driven),
        _serial(task, q, Z, serial),
        _parallel(task, q, Z, parallel),
    )


def _serial(task: TaskMap, q: Floats, Z: Floats, determinant: float) -> LostDirection:
    U, sizes, Vt = np.linalg.svd(task.task_rows(q) @ Z)
    k = task.freedom - 1
    least = float(sizes[k]) if k < len(sizes) else 0.0
    # a motion of the joints that leaves the frame, if there is one beside those of redundant arms
    still = Z @ Vt[k if task.freedom == Z.shape[1] else -1]
    return _lost(task, 1, sizes, least, determinant, task.task_direction(U[:, k]), still)


def _parallel(task: TaskMap, q: Floats, Z: Floats, determinant: float) -> LostDirection:
    A = Z[task.driven]
    _, sizes, Vt = np.linalg.svd(A)
    m = Z.shape[1]
    least = float(sizes[m - 1]) if 0 < m <= len(sizes) else 0.0
    loose = Z @ Vt[m - 1] if m else np.zeros(len(task.joints))
    return _lost(task, 2, sizes, least if m else 1.0, determinant, task.twist(loose, q), loose)


def _lost(
    task: TaskMap, kind: Literal[1, 2], sizes: Floats, least: float, determinant: float, way: Floats, motion: Floats
) -> LostDirection:
    largest = float(sizes.max(initial=0.0))
    condition = largest / least if least > 0.0 else np.inf
    size = float(np.linalg.norm(way * task.weights))
    rates = task.units * motion
    # the largest rate is positive, so that the same direction has the same sign everywhere
    worst = int(np.argmax(np.abs(way * task.weights)))
    sign = np.sign(way[worst]) or 1.0
    direction = sign * way / size if size > 0.0 else way
    return LostDirection(
        kind,
        condition,
        determinant,
        least,
        np.asarray(direction),
        dict(zip(task.joint_names, (sign * rates).tolist(), strict=True)),
    )


# ---- singular configurations on the way of one drive

STEP = 0.05
"""Scaled length of a step along the curve ..."""
MOST = 2000
"""... and the number of steps after which it is given up."""
NEWTON = 12
ROOT = 1e-13
"""Part of a step to which a root is found."""


def singularities_along(
    arm: Dynamics,
    joint: str,
    q: States | None = None,
    *,
    frame: str = "tip",
    axes: Sequence[str] | None = None,
    length: float | None = None,
) -> list[Singularity]:
    """Singular configurations on the curve that a robot follows when one drive moves and all others are held.

    joint   the drive that moves; where the robot cannot go on with it, it turns back on another assembly mode: both
            determinants are followed smoothly there
    q       start of the curve, see ``singularity``; frame, axes and length as there

    The curve is followed both ways, through limits of joints too, until it closes or a joint has made two turns. Needs
    as many drives as motions. Sorted by the position of the drive.
    """
    first = singularity(arm, q, frame=frame, axes=axes, length=length)
    task = TaskMap(arm, frame, axes, length)
    if joint not in arm.inputs:
        raise ValueError(
            f"joint is '{joint}'; the drives of robot '{arm.robot.name}' are {', '.join(arm.inputs)}"
            f"{did_you_mean(joint, arm.inputs)}"
        )
    if len(task.driven) != task.mobility:
        raise ValueError(
            f"robot '{arm.robot.name}' has {len(task.driven)} drives and {task.mobility} motions; a curve of one drive "
            "needs as many drives as motions"
        )
    held = [k for k in task.driven if task.joint_names[k] != joint]
    along = np.eye(len(task.joints))[task.joint_names.index(joint)]
    found: list[Floats] = []
    closed = False
    for sign in (1.0, -1.0):
        if not closed:
            roots, closed = _followed(task, first.q, held, sign * along)
            found += roots
    index = arm.names.index(joint)
    return [singularity_of(task, each) for each in sorted(found, key=lambda each: float(each[index]))]


def _followed(task: TaskMap, start: Floats, held: list[int], way: Floats) -> tuple[list[Floats], bool]:
    """Roots of the determinants along the curve from a start, and whether it came back there."""
    q, found = start, list[Floats]()
    values = np.array(task.determinants(q))
    tangent = _tangent(task, q, held, way)
    for step in range(MOST):
        moved = _corrected(task, q, held, tangent, STEP)
        if moved is None:
            break
        after = np.array(task.determinants(moved))
        for k in range(2):
            if values[k] * after[k] < 0.0:
                found.append(_root(task, q, held, tangent, k, float(values[k])))
        before, q, values = q, moved, after
        tangent = _tangent(task, q, held, tangent)
        away = _apart(task, q, start)
        if step > 2 and away < STEP and _apart(task, before, start) < 2 * STEP:
            return found, True
        if np.abs((q - start)[task.joints] / task.units).max() > 4 * np.pi:
            break
    return found, False


def _apart(task: TaskMap, q: Floats, other: Floats) -> float:
    """Scaled distance of two configurations; whole turns of joints do not count."""
    away = (q - other)[task.joints] / task.units
    turns = np.array([task.arm.mechanism.units[k] != "m" for k in task.joints])
    away[turns] = (away[turns] + np.pi) % (2 * np.pi) - np.pi
    return float(np.linalg.norm(away))


def _rows(task: TaskMap, q: Floats, held: list[int]) -> Floats:
    return np.vstack([task.loop_rows(q), np.eye(len(task.joints))[held]])


def _tangent(task: TaskMap, q: Floats, held: list[int], like: Floats) -> Floats:
    """The direction of the curve, on the side of another one."""
    t = np.linalg.svd(_rows(task, q, held))[2][-1]
    return np.asarray(t if t @ like >= 0 else -t)


def _corrected(task: TaskMap, q: Floats, held: list[int], tangent: Floats, step: float) -> Floats | None:
    """The point of the curve on the plane at a distance from q along its tangent; None: it is lost."""
    out = q.copy()
    out[task.joints] += step * task.units * tangent
    for _ in range(NEWTON):
        gap = task.gaps(out)
        right = np.concatenate([gap, np.zeros(len(held)), [0.0]])
        matrix = np.vstack([_rows(task, out, held), tangent])
        try:
            change = np.linalg.solve(matrix, -right)
        except np.linalg.LinAlgError:
            return None
        out[task.joints] += task.units * change
        size = float(np.abs(change).max())
        if size < 1e-14:
            break
    return out if float(np.abs(task.gaps(out)).max(initial=0.0)) < 1e-11 else None


def _root(task: TaskMap, q: Floats, held: list[int], tangent: Floats, which: int, value: float) -> Floats:
    """Where a determinant vanishes between q and the next step."""
    from scipy.optimize import brentq

    def determinant(step: float) -> float:
        at = _corrected(task, q, held, tangent, step) if step else q
        return task.determinants(at)[which] if at is not None else value

    s = brentq(determinant, 0.0, STEP, xtol=ROOT * STEP, rtol=1e-14)
    at = _corrected(task, q, held, tangent, float(s))
    return q if at is None else at
