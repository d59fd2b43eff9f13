"""How the joints of a robot, its drives and a frame move together: the rates of a mechanism without units.

Loops leave motions Z of the joints, J Z = 0. The drives see A = Z[drives] of them, the frame T = J_frame Z. Links are
taken as they are bent; only joints move. Shifts are measured in a characteristic length, turns in radians: numbers that
compare the two depend on it, and it is told with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.errors import did_you_mean, require_number
from pliant.formulations.loops.dense_forms import condition_of, independent_rows, rank_of
from pliant.formulations.loops.dense_loops import DenseLoops
from pliant.model.description.actuators import refuse_lines

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""Shifts along base axes and turns about them."""

SAMPLES = 6
"""Configurations at which ranks are looked at: the reference pose may be a special one."""
NEARBY, ANYWHERE = 0.1, 1.0
"""Their distance from it in joints of loops, which must close, and of trees."""
CLEAR = 0.2
"""Least over largest shift from which on shifts alone say where a frame is."""
MOVES = 1e-9
"""Part of the largest motion below which an axis of a frame does not move."""
CLOSED = 1e-9
"""Scaled gap up to which a configuration counts as closed."""


class TaskMap:
    """The joints, drives and a frame of a robot at any configuration.

    frame   name of the frame
    axes    its components that count, of x, y, z, rx, ry, rz. Default: shifts alone where they determine the motion
            (a point that two drives move in a plane), else all that move
    length  m: what a radian counts as; default: the extent of the robot
    """

    def __init__(
        self, arm: Dynamics, frame: str = "tip", axes: Sequence[str] | None = None, length: float | None = None
    ) -> None:
        refuse_lines(arm.robot, "maps from drives to frames do not know: what they hold would count as free")
        arm.mechanism.frame(frame)
        self.arm, self.frame = arm, frame
        self.joints: NDArray[np.int_] = arm.mechanism.joints.astype(int)
        own = {name: k for k, name in enumerate(self.joint_names)}
        self.driven = [own[name] for name in arm.inputs]
        self.passive = [k for k in range(len(self.joints)) if k not in self.driven]
        self.length = self._extent if length is None else length
        require_number("length", self.length, "m", positive=True)
        self.units = np.where([arm.mechanism.units[k] == "m" for k in self.joints], self.length, 1.0)
        self.weights = np.array([1.0 / self.length] * 3 + [1.0] * 3)
        self.components = self._components(axes)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joint coordinates."""
        return tuple(self.arm.names[k] for k in self.joints)

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the components that count."""
        return tuple(AXES[k] for k in self.components)

    @property
    def _extent(self) -> float:
        return self.arm.loops.extent if self.arm.loops.rows else self.arm.reach

    @cached_property
    def elastic(self) -> tuple[int, ...]:
        """Indices of the elastic coordinates, which stay as they are."""
        return tuple(sorted(set(range(self.arm.size)) - set(self.joints.tolist())))

    # ---- what is generic

    @cached_property
    def samples(self) -> list[Floats]:
        """The reference configuration, unbent, and others around it, all closed."""
        arm, rng = self.arm, np.random.default_rng(0)
        q = arm.reference_pose()
        if isinstance(arm.loops, DenseLoops):
            q = arm.loops.constraints.reference.copy()
        away = NEARBY if arm.loops.rows else ANYWHERE
        out = [self.closed(q)]
        for _ in range(SAMPLES):
            moved = out[0].copy()
            moved[self.joints] += away * self.units * rng.standard_normal(len(self.joints))
            moved = self.closed(moved)
            if arm.loops.largest_gap(moved) <= CLOSED:
                out.append(moved)
        return out

    def closed(self, q: Floats) -> Floats:
        """The configuration near q with closed loops; all joints may move, links stay as they are bent."""
        return self.arm.loops.closest(q, self.elastic)

    @cached_property
    def _selection(self) -> tuple[int, list[int]]:
        """Rank of the loops, and rows that have it, found where they are most independent."""
        every = [self._loop_rows(q) for q in self.samples]
        rank = max(rank_of(J) for J in every)
        best = min(every, key=lambda J: condition_of(J, rank))
        return rank, list(independent_rows(best, rank)[0]) if rank else []

    @property
    def mobility(self) -> int:
        """Number of independent motions of the joints."""
        return len(self.joints) - self._selection[0]

    @cached_property
    def _task(self) -> Floats:
        """Orthonormal directions (components, r) in which the frame moves anywhere near the reference pose."""
        every = np.hstack([self._twists(q)[self.components] @ self.motions(q) for q in self.samples])
        U, sizes, _ = np.linalg.svd(every, full_matrices=False)
        kept = sizes > MOVES * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)
        return np.asarray(U[:, kept])

    @cached_property
    def freedom(self) -> int:
        """Number of independent motions of the frame's axes."""
        return max(rank_of(self.task_rates(q)) for q in self.samples)

    @cached_property
    def moving(self) -> list[int]:
        """The components of the frame that move at all, whichever of them count."""
        rates = [self._twists(q) @ self.motions(q) for q in self.samples]
        most = np.max([np.abs(T).max(axis=1, initial=0.0) for T in rates], axis=0)
        return [k for k in range(6) if most[k] > MOVES * most.max()]

    def _components(self, axes: Sequence[str] | None) -> list[int]:
        if axes is not None:
            for name in axes:
                if name not in AXES:
                    raise ValueError(
                        f"axes: there is no axis {name!r}; they are {', '.join(AXES)}{did_you_mean(name, AXES)}"
                    )
            if not axes or len(set(axes)) < len(axes):
                raise ValueError(f"axes are {list(axes)}; name at least one, and each once")
            return sorted(AXES.index(name) for name in axes)
        rates, moving = [self._twists(q) @ self.motions(q) for q in self.samples], self.moving
        if not moving:
            raise ValueError(
                f"no joint of robot '{self.arm.robot.name}' moves frame '{self.frame}'; name a frame that they move"
            )
        shifts = [k for k in moving if k < 3]
        freedom = max(rank_of(T[moving]) for T in rates)
        sizes = [np.linalg.svd(T[shifts], compute_uv=False) for T in rates] if len(shifts) >= freedom else []
        # turns that shift a frame a little by the way are turns
        clear = max((float(size[freedom - 1] / size[0]) for size in sizes if len(size) >= freedom), default=0.0)
        return shifts if clear > CLEAR else moving

    # ---- at a configuration

    def _loop_rows(self, q: Floats) -> Floats:
        loops = self.arm.loops
        if not isinstance(loops, DenseLoops):
            return np.zeros((0, len(self.joints)))
        return loops.jacobian(q)[:, self.joints] * self.units / loops.constraints.row_scale[:, None]

    def loop_rows(self, q: Floats) -> Floats:
        """Independent rows of the loops (rank, joints), without units."""
        return self._loop_rows(q)[self._selection[1]]

    def gaps(self, q: Floats) -> Floats:
        """How far the loops are open (rank,), along the same rows."""
        loops = self.arm.loops
        if not isinstance(loops, DenseLoops):
            return np.zeros(0)
        return np.asarray((loops.gaps(q) / loops.constraints.row_scale)[self._selection[1]])

    def motions(self, q: Floats) -> Floats:
        """Z (joints, m): motions that the loops leave, orthonormal; more than the mobility where rows are lost."""
        J = self._loop_rows(q)
        if not len(J):
            return np.eye(len(self.joints))
        return np.asarray(np.linalg.svd(J)[2][rank_of(J) :].T)

    def _twists(self, q: Floats) -> Floats:
        J = self.arm.jacobian(self.frame, q)[:, self.joints]
        return np.asarray(self.weights[:, None] * J * self.units)

    def task_rows(self, q: Floats) -> Floats:
        """Rates of the frame (r, joints) along the directions in which it moves, without units."""
        return np.asarray(self._task.T @ self._twists(q)[self.components])

    def task_rates(self, q: Floats) -> Floats:
        """T (r, m): rates of the frame per motion of the joints."""
        return np.asarray(self.task_rows(q) @ self.motions(q))

    def twist(self, motion: Floats, q: Floats) -> Floats:
        """Twist (6,) of the frame, m and rad, at a motion of the joints without units."""
        return np.asarray(self.arm.jacobian(self.frame, q)[:, self.joints] @ (self.units * motion))

    def task_direction(self, along: Floats) -> Floats:
        """The twist (6,) of a direction (r,) of the frame's motion, m and rad."""
        out = np.zeros(6)
        out[self.components] = self._task @ along
        return np.asarray(out / self.weights)

    def determinants(self, q: Floats) -> tuple[float, float]:
        """Signed determinants that vanish where the frame, and where the drives, lose a motion; nan: not square."""
        J = self.loop_rows(q)
        T = self.task_rows(q)
        frame = np.vstack([J, T]) if self.freedom == len(T) == self.mobility else None
        drives = J[:, self.passive] if len(self.driven) == self.mobility else None
        serial, parallel = (float("nan") if M is None else float(np.linalg.det(M)) for M in (frame, drives))
        return serial, parallel

    # ---- many configurations at once

    def gaps_of(self, q: Floats) -> Floats:
        """Scaled gaps of all rows of the loops (count, rows)."""
        loops = self.arm.loops
        if not isinstance(loops, DenseLoops):
            return np.zeros((len(q), 0))
        return np.asarray(loops.gaps(q).reshape(len(q), -1) / loops.constraints.row_scale)

    def rows_of(self, q: Floats, columns: Floats | None = None) -> Floats:
        """Derivatives of those gaps (count, rows, k) along columns (n, k); default: the scaled joints."""
        loops = self.arm.loops
        if columns is None:
            columns = np.eye(self.arm.size)[:, self.joints] * self.units
        if not isinstance(loops, DenseLoops):
            return np.zeros((len(q), 0, columns.shape[1]))
        count, k = len(q), columns.shape[1]
        # rates of the gaps at unit rates along one column after the other
        rates = loops.rates(np.repeat(q, k, axis=0), np.tile(columns.T, (count, 1))) / loops.constraints.row_scale
        return np.asarray(np.swapaxes(rates.reshape(count, k, -1), 1, 2))

    def twists_of(self, q: Floats) -> Floats:
        """Scaled rates of the frame (count, 6, joints) per scaled joint."""
        J = self.arm.jacobian(self.frame, q)[..., self.joints]
        return np.asarray(self.weights[:, None] * J * self.units)

    def determinants_of(self, q: Floats) -> Floats:
        """Both determinants of many configurations (count, 2)."""
        J, T = self.rows_of(q)[:, self._selection[1]], self._task.T @ self.twists_of(q)[:, self.components]
        out = np.full((len(q), 2), np.nan)
        if self.freedom == T.shape[1] == self.mobility:
            out[:, 0] = np.linalg.det(np.concatenate([J, T], axis=1))
        if len(self.driven) == self.mobility:
            out[:, 1] = np.linalg.det(J[:, :, self.passive])
        return out

    def dexterity_of(self, q: Floats) -> Floats:
        """Least over largest rate of the frame per rate of the drives (count,); 0 at singular configurations."""
        J, T = self.rows_of(q)[:, self._selection[1]], self._task.T @ self.twists_of(q)[:, self.components]
        Z = np.swapaxes(np.linalg.svd(J)[2][:, J.shape[1] :], 1, 2) if J.shape[1] else np.eye(len(self.joints))
        A = np.broadcast_to(Z, (len(q), len(self.joints), self.mobility))[:, self.driven]
        if A.shape[1] < self.mobility:
            return np.full(len(q), np.nan)
        rates = np.linalg.svd(T @ Z @ np.linalg.pinv(A), compute_uv=False)
        out: Floats = rates[:, self.freedom - 1] / rates[:, 0]
        return out

    @cached_property
    def periodic(self) -> NDArray[np.bool_]:
        """Which joints come back after a full turn (joints,)."""
        q = self.samples[0].copy()
        q[self.joints] += 0.3 * self.units * np.random.default_rng(1).standard_normal(len(self.joints))
        first = self.arm.link_poses(q)
        out = np.zeros(len(self.joints), dtype=bool)
        for k, joint in enumerate(self.joints):
            if self.arm.mechanism.units[joint] == "rad":
                turned = q.copy()
                turned[joint] += 2 * np.pi
                again = self.arm.link_poses(turned)
                away = np.abs(again.position - first.position).max() / self.length
                out[k] = max(away, np.abs(again.rotation - first.rotation).max()) < CLOSED
        return out
