"""The constraints of a robot's loops as numbers: gaps, Jacobian, bias, scales; closing them and staying on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.algorithm import Traced, views
from pliant.formulations.loops.algorithms import Closing, ClosingAcceleration
from pliant.formulations.loops.assembly import Assembled, assemble
from pliant.formulations.loops.closure import close
from pliant.formulations.loops.cuts import move_frames
from pliant.formulations.loops.errors import AssemblyError
from pliant.formulations.loops.forms import kkt_solve
from pliant.formulations.loops.legs import named_indices
from pliant.formulations.loops.merging import merged
from pliant.formulations.loops.planes import require_planes
from pliant.tree.kinematics import MOTION_SIZE, motion_arrays
from pliant.tree.passes import MOTION
from pliant.tree.views import TreeView

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import OpenTree

Floats = NDArray[np.float64]

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
"""Part of the smallest gap so far from which on another attempt is told instead."""

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
        """J (rows, n): relative velocities of the closures' frames per unit rate of each coordinate."""
        still = np.zeros_like(q)
        J: Floats = self.arm.evaluator(self.acceleration, "a")(q, still, still)
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
