"""The constraints of a robot's loops as numbers: gaps, Jacobian, bias, scales; closing them and staying on them.

Loops are closed by Levenberg's method on the gaps, in scaled coordinates of which some are held: steps are
least-norm, so that a guess is changed as little as the loops allow, and loops that cannot close end at their smallest
gap instead of wandering off. Many guesses are taken side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced, views
from pliant.formulations.loops.algorithms import Closing, ClosingAcceleration
from pliant.formulations.loops.closure import close, merged, normal_of
from pliant.formulations.loops.cuts import move_frames, named_indices
from pliant.formulations.loops.dense_forms import kkt_solve
from pliant.formulations.loops.loops import AssemblyError, PlaneError
from pliant.joints.rows import AXES
from pliant.mechanism import BASE, LoopEnds
from pliant.tree.kinematics import MOTION, MOTION_SIZE, motion_arrays
from pliant.tree.tree import TreeView

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import OpenTree

Floats = NDArray[np.float64]

ALONG = 1e-6
"""Sine of the angle between directions that are the same, and part of the robot's size that is no distance."""

PLANES = {0: "yz", 1: "zx", 2: "xy"}


def end_names(arm: OpenTree, loop: LoopEnds) -> list[str]:
    """The frames of a loop as LINK.FRAME; of the base, empty."""
    members = arm.mechanism.members
    return ["" if member == BASE else f"{members[member].name}.{frame}" for member, frame in loop.frames]


def require_planes(arm: OpenTree, size: float) -> None:
    """Raise where a loop that is said to move in a plane has a pin, or joints, that move it out of the plane.

    Joints turn about the normal everywhere if they do so in the reference pose of the unbent robot.
    """
    q, joints = arm.reference_pose(), arm.mechanism.joints
    for loop in arm.mechanism.loops:
        if loop.planar is None:
            continue
        normal = normal_of(loop.planar)
        inside = [k for k in range(3) if k != normal]
        ends = end_names(arm, loop)
        J = [arm.jacobian(end, q)[:, joints] if end else np.zeros((6, len(joints))) for end in ends]
        turns = [(k, j[3:, k]) for j in J for k in range(len(joints)) if np.abs(j[3:, k]).max() > ALONG]
        axis = np.asarray((arm.pose(ends[0], q).rotation if ends[0] else np.eye(3)) @ loop.axis)
        if loop.has_axis and np.abs(axis[inside]).max() > ALONG:
            _refuse(arm, loop, f"its pin turns about {_direction(axis)}", axis)
        for k, w in turns:
            if np.abs(w[inside]).max() > ALONG * np.linalg.norm(w):
                name = arm.names[joints[k]]
                _refuse(arm, loop, f"joint '{name}' turns its frames about {_direction(w)}", axis)
        apart = np.abs((J[0] - J[1])[normal])
        if apart.max(initial=0.0) > ALONG * max(size, 1.0):
            name = arm.names[joints[int(np.argmax(apart))]]
            _refuse(arm, loop, f"joint '{name}' moves its frames apart along {AXES[normal]}", axis)


def _direction(axis: Floats) -> str:
    """A direction in words: a base axis, or a vector."""
    unit = axis / np.linalg.norm(axis)
    k = int(np.argmax(np.abs(unit)))
    if 1.0 - abs(unit[k]) < ALONG**2:
        return f"the base's {AXES[k]}"
    return f"({', '.join(f'{x:.3g}' for x in unit)})"


def _refuse(arm: OpenTree, loop: LoopEnds, why: str, pin: Floats) -> None:
    k = int(np.argmax(np.abs(pin)))
    fitting = loop.has_axis and 1.0 - abs(pin[k]) < ALONG**2 and PLANES[k] != loop.planar
    remedy = (
        f"write planar: {PLANES[k]}, or leave it out"
        if fitting
        else "leave planar out, and the loop is closed in space"
    )
    raise PlaneError(
        f"robot '{arm.mechanism.name}': loop '{loop.name}': planar is {loop.planar}, a plane of the base frame, but "
        f"{why}; {remedy}"
    )


# ---- closing the loops

CLOSED = 1e-10
"""Largest gap of a closed loop, relative to the size of the robot (or in radians)."""

EXACT = 1e-15
"""Gap at which nothing is left to gain."""

STATIONARY = 1e-8
"""Change of a gap per scaled change of the coordinates, as a part of it, at which no smaller one is near."""

STEPS = 200

FIRST, MOST, LEAST = 1e-3, 1e8, 1e-24
"""Damping of the first step, that from which on no step helps, and the least."""


class Assembled(NamedTuple):
    """The configurations reached (count, n) and their largest scaled gaps (count,)."""

    q: Floats
    gap: Floats

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Which of them have closed loops (count,)."""
        return np.asarray(self.gap <= CLOSED)


def assemble(
    q: Floats, gaps: Callable[[Floats], Floats], jacobian: Callable[[Floats], Floats], columns: Floats
) -> Assembled:
    """Close the gaps of guesses (count, n); one that is not finite stays as it is.

    gaps      (count, n) -> scaled gaps (count, rows)
    jacobian  (count, n) -> their derivatives by the scaled coordinates that may change (count, rows, free)
    columns   the coordinates per scaled coordinate that may change (n, free)
    """
    q, count = q.copy(), len(q)
    g = gaps(q)
    damping = np.full(count, FIRST)
    left = np.isfinite(g).all(axis=1)
    for _ in range(STEPS):
        left &= np.abs(g).max(axis=1, initial=0.0) > EXACT
        at = np.flatnonzero(left)
        if not len(at):
            break
        U, sigma, Vt = np.linalg.svd(jacobian(q[at]), full_matrices=False)
        along = np.einsum("kij,ki->kj", U, g[at])
        size = np.linalg.norm(g[at], axis=1)
        # the smallest gap that is to be had here
        stuck = (np.linalg.norm(sigma * along, axis=1) <= STATIONARY * size) & (size > CLOSED)
        left[at[stuck]] = False
        at, sigma, Vt, along = at[~stuck], sigma[~stuck], Vt[~stuck], along[~stuck]
        while len(at):
            scaled = np.einsum("kji,kj->ki", Vt, sigma / (sigma**2 + damping[at, None]) * along)
            trial = q[at] - scaled @ columns.T
            moved = gaps(trial)
            # a gap that is no number is no smaller one
            better = np.linalg.norm(moved, axis=1) < np.linalg.norm(g[at], axis=1)
            q[at[better]], g[at[better]] = trial[better], moved[better]
            damping[at] = np.where(better, np.maximum(damping[at] * 1e-2, LEAST), damping[at] * 10.0)
            left[at[~better & (damping[at] >= MOST)]] = False
            again = ~better & left[at]
            at, sigma, Vt, along = at[again], sigma[again], Vt[again], along[again]
    return Assembled(q, np.abs(g).max(axis=1, initial=0.0))


# ---- the constraints of a robot's loops as numbers

OPEN = 1e-9
"""Scaled gap from which a loop is named as open."""

ROUNDING = 1e-9
"""Part of the largest motion of a frame per unit of a coordinate below which a coordinate moves none."""

PROJECTED = 1e-15
"""Scaled gap at which a projection stops; rounding of positions is of this size."""


FEW = 8
"""Configurations up to which gaps are found one after the other."""

STARTS = 16
"""Other positions of passive joints from which an assembly is tried where the guess fails."""

SMALLER = 0.99
"""Part of the smallest gap so far from which on another attempt is reported instead."""

FIRST_STEP, LEAST_STEP, LONGEST = 0.25, 1e-4, 0.5
"""Parts of the way on which held joints are led, and the scaled change that is no jump to another assembly mode."""


class Constraints:
    """Closures between frames of a robot, first frame minus second, row by row.

    rows  names of the constraints: LOOP.x, .y, .z shifts along base axes, .rx, .ry, .rz turns
    """

    def __init__(self, arm: OpenTree) -> None:
        self.arm = arm
        self._in_planes = False
        short = merged(arm.tree)
        self.order = short.order
        self.tree, self.closures = close(short.tree, arm.mechanism, short.order)
        self.rows: tuple[str, ...] = tuple(f"{c.name}.{row.label}" for c in self.closures for row in c.rows)
        self.loop_of = tuple(c.name for c in self.closures for _ in c.rows)
        self.levels = Traced(Closing.of(self.order, self.closures), self.tree)
        self.acceleration = Traced(ClosingAcceleration.of(self.order, self.closures), self.tree)

    # ---- levels

    def closing(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Gaps, their rates, and their accelerations when the coordinates have none."""
        evaluator = self.arm.evaluator(self.levels)
        still = np.zeros_like(q)
        out = evaluator.batch(q, v, still) if q.ndim == 2 else evaluator(q, v, still)
        gap, rate, acceleration = np.split(out, 3, axis=-1)
        return gap, rate, acceleration

    def gaps(self, q: Floats) -> Floats:
        """How far each closure is open: metres, and 2 tan(angle/2); (rows,)."""
        return self.closing(q, np.zeros_like(q))[0]

    def jacobian(self, q: Floats) -> Floats:
        """J (rows, n): relative velocities of the closures' frames per unit rate of each coordinate; batches, too."""
        evaluator, still = self.arm.evaluator(self.acceleration, "a"), np.zeros(self.arm.size)
        J: Floats = evaluator(q, still, still) if q.ndim == 1 else np.array([evaluator(x, still, still) for x in q])
        return J

    # ---- structure

    @cached_property
    def in_motion(self) -> list[TreeView]:
        """All links with their frames at a state that is not special, where structure shows."""
        rng = np.random.default_rng(0)
        q, v = (rng.uniform(0.1, 1.0, self.tree.size).tolist() for _ in range(2))
        links = views(self.tree, {"q": q, "v": v})
        move_frames(links)
        return links

    # ---- scales

    @cached_property
    def _motion(self) -> tuple[Floats, Floats]:
        """Positions (links, 3) and velocities per unit rate (links, 2, 3, n) of all frames at the reference pose."""
        q = self.arm.reference_pose()[list(self.order)]
        still = np.zeros_like(q)
        moved = Traced(MOTION, self.tree)
        positions = motion_arrays(self.arm.evaluator(moved)(q, still).reshape(-1, MOTION_SIZE)).p
        per_rate = self.arm.evaluator(moved, "v")(q, still).reshape(-1, MOTION_SIZE, len(q))
        columns = motion_arrays(np.moveaxis(per_rate, 1, 2))
        rates = np.zeros((len(self.tree.links), 2, 3, len(q)))
        rates[:, 0][..., list(self.order)] = np.moveaxis(columns.v, 1, 2)
        rates[:, 1][..., list(self.order)] = np.moveaxis(columns.w, 1, 2)
        return positions, rates

    @cached_property
    def size(self) -> float:
        """Extent of the robot, m."""
        positions, _ = self._motion
        return float(np.linalg.norm(np.ptp(positions, axis=0))) or 1.0

    @cached_property
    def is_length(self) -> tuple[bool, ...]:
        """Whether each row is in metres, or an angle."""
        return tuple(row.is_length for c in self.closures for row in c.rows)

    @cached_property
    def row_scale(self) -> Floats:
        """The robot's size for shifts, a radian for turns."""
        return np.where(self.is_length, self.size, 1.0)

    @cached_property
    def column_scale(self) -> Floats:
        """Change of each coordinate that moves some frame by the robot's size, or by a radian."""
        _, rates = self._motion
        moved = np.linalg.norm(rates, axis=2) / np.array([self.size, 1.0])[:, None]
        most = moved.max(axis=(0, 1))
        # what rounding leaves of a shape that moves no frame is not a motion
        return 1.0 / np.where(most > ROUNDING * most.max(initial=0.0), most, 1.0)

    def scaled(self, q: Floats) -> Floats:
        """J without units."""
        out: Floats = self.jacobian(q) * self.column_scale / self.row_scale[:, None]
        return out

    # ---- closing the loops

    def require_planes(self) -> None:
        """Raise where a loop in a plane has joints that leave it; looked at once."""
        if not self._in_planes:
            require_planes(self.arm, self.size)
            self._in_planes = True

    def held(self, hold: Sequence[str] | None = None, bend: bool = False) -> list[int]:
        """Coordinates that an assembly leaves alone: those named (default: the drives) and, if asked, elastic ones."""
        names, joints = self.arm.names, set(self.arm.mechanism.joints.tolist())
        held = named_indices(names, self.arm.inputs if hold is None else hold, "hold")
        return held if bend else [*held, *(k for k in range(len(names)) if k not in joints)]

    @cached_property
    def _closing_scale(self) -> Floats:
        """Changes of the coordinates (n,) that an assembly weighs alike: links bend where they are soft."""
        strain = np.diag(self.arm.mechanism.stiffness) * self.column_scale**2
        strain[self.arm.mechanism.joints] = 0.0
        elastic, scale = strain > 0.0, self.column_scale.copy()
        if elastic.any():
            scale[elastic] *= np.sqrt(strain[elastic].min() / strain[elastic])
        return scale

    def approach(self, q: Floats, held: Sequence[int]) -> Assembled:
        """As closed as the loops get from guesses q (count, n), with some coordinates held."""
        free = [k for k in range(self.arm.size) if k not in set(held)]
        scale, columns = self._closing_scale[free], np.diag(self._closing_scale)[:, free]

        def gaps(q: Floats) -> Floats:
            # code for batches is not worth its compilation for a few
            found: Floats = self.gaps(q) if len(q) > FEW else np.array([self.gaps(each) for each in q])
            return np.asarray(found.reshape(len(q), -1) / self.row_scale)

        def jacobian(q: Floats) -> Floats:
            if len(q) <= FEW:
                return np.asarray([self.jacobian(each)[:, free] * scale / self.row_scale[:, None] for each in q])
            # rates of the gaps at unit rates of one scaled coordinate after the other
            rates = self.closing(np.repeat(q, len(free), axis=0), np.tile(columns.T, (len(q), 1)))[1] / self.row_scale
            return np.swapaxes(rates.reshape(len(q), len(free), -1), 1, 2)

        return assemble(q, gaps, jacobian, columns)

    def assemble(self, q: Floats, hold: Sequence[str] | None = None, bend: bool | None = None) -> Floats:
        """A configuration near q that closes all loops; links bend only where joints alone cannot do it."""
        self.require_planes()
        may_bend = self.arm.mechanism.bends if bend is None else bend
        ways = [self.held(hold)] + ([self.held(hold, bend=True)] if may_bend else [])
        best: Assembled | None = None
        for held in ways:
            for reached in self._attempts(q, held):
                closed = np.flatnonzero(reached.closed)
                if len(closed):
                    away = np.linalg.norm((reached.q[closed] - q) / self.column_scale, axis=1)
                    nearest: Floats = reached.q[closed[int(np.argmin(away))]]
                    return nearest
                k = int(np.argmin(reached.gap))
                if best is None or reached.gap[k] < SMALLER * best.gap[0]:
                    best = Assembled(reached.q[[k]], reached.gap[[k]])
        assert best is not None
        raise self._open(best.q[0], ways[-1])

    def _attempts(self, q: Floats, held: Sequence[int]) -> Iterator[Assembled]:
        """From the guess itself, on the way from a closed configuration, then from joints anywhere; never by chance."""
        yield self.approach(q[None], held)
        yield from self._led(q, held)
        free = [k for k in self.arm.mechanism.joints.tolist() if k not in set(held)]
        if free:
            starts = np.tile(q, (STARTS, 1))
            rng = np.random.default_rng(0)
            # turns anywhere, shifts as far as the robot is large
            reach = np.where([self.arm.mechanism.units[k] == "m" for k in free], self.size, np.pi)
            starts[:, free] += reach * rng.uniform(-1.0, 1.0, (STARTS, len(free)))
            yield self.approach(starts, held)

    def _led(self, q: Floats, held: Sequence[int]) -> Iterator[Assembled]:
        """Lead held coordinates from where the loops close, near the guess, to where they shall be, in small steps."""
        joints = [k for k in held if k in set(self.arm.mechanism.joints.tolist())]
        start = self.approach(q[None], [k for k in held if k not in joints])
        if not joints or not start.closed[0]:
            return
        at, away = start.q[0], q[joints] - start.q[0, joints]
        part, step = 0.0, FIRST_STEP
        while part < 1.0 and step > LEAST_STEP:
            moved = at.copy()
            moved[joints] = q[joints] - (1.0 - min(part + step, 1.0)) * away
            reached = self.approach(moved[None], held)
            jump = np.abs((reached.q[0] - at) / self.column_scale).max()
            if reached.closed[0] and jump < LONGEST:
                at, part, step = reached.q[0], min(part + step, 1.0), 2 * step
            else:
                step /= 4
        if part >= 1.0:
            yield Assembled(at[None], np.abs(self.gaps(at) / self.row_scale).max(keepdims=True))

    @cached_property
    def reference(self) -> Floats:
        """The reference pose with closed loops (as it is, where they do not close)."""
        q = self.arm.reference_pose()
        bends = [self.held(bend=True)] if self.arm.mechanism.bends else []
        for held in (self.held(), *bends, self.held([])):
            reached = self.approach(q[None], held)
            if reached.closed[0]:
                return np.asarray(reached.q[0])
        return q

    def open_by(self, q: Floats) -> dict[str, tuple[float, float]]:
        """Loop name -> (distance in m, angle in rad) between its frames, as far as the loop holds them."""
        gaps = self.gaps(q)
        out = {}
        start = 0
        for closure in self.closures:
            part = gaps[start : start + len(closure.rows)]
            shift = np.array([row.is_length for row in closure.rows])
            angle = 2 * np.arctan(np.linalg.norm(part[~shift]) / 2)
            out[closure.name] = (float(np.linalg.norm(part[shift])), float(angle))
            start += len(closure.rows)
        return out

    def _open(self, q: Floats, held: Sequence[int]) -> AssemblyError:
        """Name the loops that stay open, by how much, and what was held."""
        every = self.open_by(q)
        wide = {name: gap for name, gap in every.items() if max(gap[0] / self.size, gap[1]) > OPEN} or every
        parts = []
        for name, (distance, angle) in wide.items():
            gaps = [f"{distance:.6g} m"] if distance > OPEN * self.size else []
            gaps += [f"{angle:.6g} rad"] if angle > OPEN else []
            parts.append(f"'{name}' stays open by {' and '.join(gaps) or f'{distance:.3g} m'}")
        joints = set(self.arm.mechanism.joints.tolist())
        kept = [self.arm.names[k] for k in held if k in joints]
        remedy = f" with {', '.join(kept)} held; free them with hold=[]" if kept else ""
        stiff = [k for k in range(self.arm.size) if k not in joints and k in set(held)]
        if stiff:
            remedy += "; links that may bend to close them: write assembly: {bend: true}"
        return AssemblyError(
            f"robot '{self.arm.mechanism.name}': the loops cannot close: {', '.join(parts)}{remedy}", wide
        )

    # ---- staying on them

    def project(self, q: Floats, v: Floats, kept: Sequence[int]) -> tuple[Floats, Floats]:
        """The nearest state on the kept constraints, in the metric of the mass matrix."""
        rows, nothing = list(kept), np.zeros(len(q))
        M = self.arm.mass_matrix(q)
        q = q.copy()
        for _ in range(20):
            gap = self.gaps(q)[rows]
            if np.abs(gap / self.row_scale[rows]).max(initial=0.0) <= PROJECTED:
                break
            step, _ = kkt_solve(M, self.jacobian(q)[rows], nothing, -gap)
            q += step
            if np.abs(step / self.column_scale).max() <= PROJECTED:
                break
        J = self.jacobian(q)[rows]
        correction, _ = kkt_solve(self.arm.mass_matrix(q), J, nothing, -(J @ v))
        return q, v + correction
