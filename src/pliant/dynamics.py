"""Forward and inverse dynamics of a robot, and everything that comes with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.formulations.connection import seat_turn
from pliant.formulations.passes import ENERGY, FORWARD, INVERSE, MOTION, REACTION, Algorithm
from pliant.tree import Tree, build_tree

if TYPE_CHECKING:
    from pliant.engine.tape import Operations
    from pliant.model import Robot

Floats = NDArray[np.float64]


class Pose(NamedTuple):
    """Position (m) and rotation matrix of a frame in the base frame."""

    position: Floats
    rotation: Floats


class Twist(NamedTuple):
    """Velocity of a frame's origin (m/s) and angular velocity (rad/s), base axes."""

    linear: Floats
    angular: Floats


class Energies(NamedTuple):
    """Kinetic energy, strain energy of links and joint springs, potential of gravity (J)."""

    kinetic: float
    strain: float
    gravity: float

    @property
    def total(self) -> float:
        return self.kinetic + self.strain + self.gravity


class Momentum(NamedTuple):
    """Linear momentum (kg m/s) and angular momentum about the base's origin (kg m^2/s)."""

    linear: Floats
    angular: Floats


class ForwardDerivatives(NamedTuple):
    """Derivatives of the accelerations by q, v (n, n) and tau (n, inputs)."""

    q: Floats
    v: Floats
    tau: Floats


class InverseDerivatives(NamedTuple):
    """Derivatives of the generalised forces by q, v and a (n, n); the last is the mass matrix."""

    q: Floats
    v: Floats
    a: Floats


class Dynamics:
    """The equations of motion ``M(q) a + C(q, v) v + K q + D v + g(q) + friction = B tau`` of a tree robot.

    robot    a Robot, or the name or path of one
    compile  "auto": machine code through LLVM where llvmlite is installed; "never": plain NumPy

    Coordinates are in the order of ``names``. A leading axis on q, v, tau makes a batch of states.
    """

    def __init__(self, robot: Robot | str, *, compile: Literal["auto", "never"] = "auto") -> None:
        from pliant.model import Robot
        from pliant.model.library import load

        if compile not in ("auto", "never"):
            raise ValueError(f"compile is {compile!r}; it must be 'auto' or 'never'")
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        if self.robot.loops:
            names = ", ".join(f"'{loop.name}'" for loop in self.robot.loops)
            raise ValueError(f"robot '{self.robot.name}' has closed loops ({names}); Dynamics takes trees")
        self.tree: Tree = build_tree(self.robot)
        self.compiled = compile == "auto" and _has_llvm()
        self._evaluators: dict[Any, Any] = {}

    def __repr__(self) -> str:
        how = "compiled" if self.compiled else "NumPy"
        return f"Dynamics({self.robot.name!r}, {self.size} coordinates, {len(self.inputs)} inputs, {how})"

    # ---- what there is

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return self.tree.size

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates: each link's joint, then its elastic coordinates."""
        return self.tree.coordinates

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuated joints, in the order of tau."""
        return self.tree.actuated

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames that can be asked for."""
        return tuple(self.tree.frames)

    @property
    def B(self) -> Floats:
        """Input matrix (n, inputs); a motor also drives the root tangent of a pinned mode."""
        return self.tree.B

    @cached_property
    def stiffness(self) -> Floats:
        """K (n, n): strain of the links and springs of the joints."""
        return self._joint_and_elastic("K_ee", "stiffness")

    @cached_property
    def damping(self) -> Floats:
        """D (n, n): structural damping and viscous friction."""
        return self._joint_and_elastic("D_ee", "damping")

    def _joint_and_elastic(self, body: str, joint: str) -> Floats:
        out = np.zeros((self.size, self.size))
        for link in self.tree.links:
            elastic = slice(link.own.stop - link.kind.size, link.own.stop)
            out[elastic, elastic] = getattr(link.body, body)
            if link.kind.joint != "fixed":
                row = np.array([link.kind.sign, *link.constants.motor_row])
                out[link.own, link.own] += getattr(link.constants.joint, joint) * np.outer(row, row)
        return out

    # ---- dynamics

    def forward(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        force: ArrayLike | None = None,
        wrenches: dict[str, ArrayLike] | None = None,
        solver: Literal["recursive", "dense"] = "recursive",
    ) -> Floats:
        """Accelerations.

        tau       efforts of the actuated joints, N m or N (inputs,); default zero
        force     further generalised forces (n,)
        wrenches  frame -> (force, moment) on it, base axes (6,)
        solver    "recursive": articulated elimination, O(links); "dense": Cholesky of M
        """
        if self._fast_forward is not None and force is None and wrenches is None and solver == "recursive":
            a: Floats = np.empty(self._length)
            if self._fast_forward(q, v, tau, a) is a:
                return a  # type: ignore[no-any-return]
        q, v = self._state(q, v)
        f = self._generalised(q, tau, force, wrenches)
        if solver == "recursive":
            a = self._evaluate(FORWARD, q, v, f)
            if a.size and not isfinite(a.flat[0] + a.flat[-1]):
                self._explain(q, v, f)
            return a
        if solver != "dense":
            raise ValueError(f"solver is {solver!r}; it must be 'recursive' or 'dense'")
        from scipy.linalg import cho_factor, cho_solve

        if q.ndim == 2:
            return np.array([self.forward(*x, solver="dense") for x in zip(q, v, [None] * len(q), strict=True)])
        return np.asarray(cho_solve(cho_factor(self.mass_matrix(q)), f - self.bias(q, v)))

    def _explain(self, q: Floats, v: Floats, f: Floats) -> None:
        """Say why accelerations are not finite."""
        for name, x in (("q", q), ("v", v), ("force", f)):
            bad = np.argwhere(~np.isfinite(np.atleast_2d(x)))
            if len(bad):
                raise ValueError(f"{name} of '{self.names[bad[0][1]]}' is {np.atleast_2d(x)[tuple(bad[0])]}")
        raise FloatingPointError(
            f"the accelerations of robot '{self.robot.name}' are not finite: its mass matrix is singular at this q, "
            "or the state is out of range"
        )

    def forces(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Floats:
        """Generalised forces (n,) that give all coordinates the accelerations a (n,)."""
        if self._fast_inverse is not None:
            f: Floats = np.empty(self._length)
            if self._fast_inverse(q, v, a, f) is f:
                return f  # type: ignore[no-any-return]
        q, v = self._state(q, v)
        return self._evaluate(INVERSE, q, v, self._vector("a", a, self.size))

    def inverse(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Floats, Floats]:
        """Efforts tau of the actuated joints for their accelerations a, and the accelerations of all others.

        The other coordinates (elastic ones, passive joints) move as the equations of motion say.
        """
        q, v = self._state(q, v)
        if q.ndim == 2:
            pairs = [self.inverse(*x) for x in zip(q, v, np.asarray(a, dtype=float), strict=True)]
            return np.array([t for t, _ in pairs]), np.array([e for _, e in pairs])
        given = self._vector("a", a, len(self.inputs))
        driven, others = self._driven, self._others
        M, h = self.mass_matrix(q), self.bias(q, v)
        # unknown: accelerations of the others and efforts
        unknown = _solve(np.hstack([M[:, others], -self.B]), -h - M[:, driven] @ given)
        return unknown[len(others) :], unknown[: len(others)]

    @cached_property
    def _driven(self) -> NDArray[np.int_]:
        return np.array([self.names.index(name) for name in self.inputs], dtype=int)

    @cached_property
    def _others(self) -> NDArray[np.int_]:
        return np.setdiff1d(np.arange(self.size), self._driven)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """h (n,): everything of the left-hand side but M a."""
        q, v = self._state(q, v)
        return self._evaluate(INVERSE, q, v, np.zeros_like(q))

    def mass_matrix(self, q: ArrayLike) -> Floats:
        """M (n, n), symmetric."""
        q, v = self._state(q)
        return self._derivative(INVERSE, "a", q, v, v)

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """C (n, n), the Christoffel matrix: C v are the velocity forces and dM/dt - 2 C is skew."""
        q, v = self._state(q, v)
        # the velocity forces are quadratic in v with the symmetric Christoffel symbols: C = (d(C v)/dv) / 2
        evaluator = self._evaluator(INVERSE, ("v",), "conservative")
        return 0.5 * np.asarray(_each(evaluator, q, v, np.zeros_like(q)))

    def gravity(self, q: ArrayLike) -> Floats:
        """g (n,): generalised forces of gravity, on the left-hand side."""
        q, v = self._state(q)
        weightless = self._evaluator(INVERSE, (), "weightless")
        run = weightless.batch if q.ndim == 2 else weightless
        held: Floats = run(q, v, v)
        return self._evaluate(INVERSE, q, v, v) - held

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energies:
        """Energies of one state."""
        per_link = self._energies(q, v)
        return Energies(*(float(x) for x in per_link[:, :3].sum(axis=0)))

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Momentum:
        """Momentum of one state."""
        per_link = self._energies(q, v)
        return Momentum(per_link[:, 3:6].sum(axis=0), per_link[:, 6:].sum(axis=0))

    def _energies(self, q: ArrayLike, v: ArrayLike) -> Floats:
        q, v = self._state(q, v)
        if q.ndim == 2:
            raise ValueError("q is a batch; energies and momentum take one state at a time")
        return self._evaluate(ENERGY, q, v).reshape(len(self.tree.links), 9)

    def reactions(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> dict[str, Floats]:
        """Joint name -> (force, moment) (6,) that the joint transmits to its link, at the joint, link axes."""
        q, v = self._state(q, v)
        out = self._evaluate(REACTION, q, v, self._vector("a", a, self.size)).reshape(-1, 6)
        return {
            link.joint or link.name: np.concatenate([link.R_DB.T @ w[:3], link.R_DB.T @ w[3:]])
            for link, w in zip(self.tree.links, out, strict=True)
        }

    # ---- kinematics

    def pose(self, frame: str, q: ArrayLike) -> Pose:
        """Pose of a frame of the deformed robot."""
        q, v = self._state(q)
        index, seat = self.tree.frame(frame)
        R, p, _, _ = self._link_motion(index, q, v)
        link = self.tree.links[index]
        q_e = q[link.own][link.kind.coordinates - link.kind.size :]
        turn = seat_turn(link.kind, seat, q_e.tolist(), [0.0] * len(q_e))
        E = np.eye(3) if turn is None else np.array(turn.R, dtype=float)
        Phi_d = np.array(seat.Phi_d, dtype=float).reshape(3, len(q_e))
        return Pose(p + R @ (np.array(seat.position) + Phi_d @ q_e + E @ seat.offset), R @ E @ np.array(seat.R0))

    def velocity(self, frame: str, q: ArrayLike, v: ArrayLike) -> Twist:
        """Velocity of a frame of the deformed robot."""
        q, v = self._state(q, v)
        twist = self.jacobian(frame, q) @ v
        return Twist(twist[:3], twist[3:])

    def jacobian(self, frame: str, q: ArrayLike) -> Floats:
        """J (6, n): linear, then angular velocity of a frame per unit rate of each coordinate, base axes."""
        q, v = self._state(q)
        index, seat = self.tree.frame(frame)
        link = self.tree.links[index]
        R = self._link_motion(index, q, v)[0]
        rates = self._evaluator(MOTION, ("v",))(q, v)[18 * index : 18 * index + 18]
        J_v, J_w = rates[12:15].copy(), rates[15:18].copy()
        q_e = q[link.own][link.kind.coordinates - link.kind.size :]
        turn = seat_turn(link.kind, seat, q_e.tolist(), [0.0] * len(q_e))
        E, T = (np.eye(3), np.zeros((3, 3))) if turn is None else (np.array(turn.R), np.array(turn.T, dtype=float))
        Phi_d: Floats = np.array(seat.Phi_d).reshape(3, len(q_e))
        Phi_r: Floats = np.array(seat.Phi_r).reshape(3, len(q_e))
        lever = E @ seat.offset
        arm = R @ (np.array(seat.position) + Phi_d @ q_e + lever)
        J_v += np.cross(J_w.T, arm).T
        elastic = slice(link.own.stop - link.kind.size, link.own.stop)
        J_v[:, elastic] += R @ (Phi_d + np.cross((T @ Phi_r).T, lever).T)
        J_w[:, elastic] += R @ T @ Phi_r
        return np.vstack([J_v, J_w])

    def _link_motion(self, index: int, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        m = self._evaluate(MOTION, q, v)[18 * index : 18 * index + 18]
        return m[:9].reshape(3, 3), m[9:12], m[12:15], m[15:18]

    # ---- derivatives

    def inverse_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> InverseDerivatives:
        """Exact derivatives of ``forces``."""
        q, v = self._state(q, v)
        a = self._vector("a", a, self.size)
        return InverseDerivatives(*(self._derivative(INVERSE, seed, q, v, a) for seed in "qva"))

    def derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None) -> ForwardDerivatives:
        """Exact derivatives of ``forward``: -M^-1 times those of the inverse dynamics at the accelerations."""
        a = self.forward(q, v, tau)
        d = self.inverse_derivatives(q, v, a)
        solved = _solve(d.a, np.hstack([-d.q, -d.v, self.B]))
        n = self.size
        return ForwardDerivatives(solved[:, :n], solved[:, n : 2 * n], solved[:, 2 * n :])

    def operations(self, what: Literal["forward", "inverse"] = "forward") -> Operations:
        """Arithmetic operations of one evaluation."""
        from pliant.engine.rolled import whole

        return whole({"forward": FORWARD, "inverse": INVERSE}[what], self.tree).operations

    # ---- evaluation

    @cached_property
    def _length(self) -> int:
        return self.size

    @cached_property
    def _fast_forward(self) -> Callable[..., Any] | None:
        """A built-in function for plain arrays of one state; none where a motor drives more than its own joint."""
        simple = np.count_nonzero(self.B) == len(self.inputs) and np.all(self.B[self._driven].diagonal() == 1)
        return self._evaluator(FORWARD).fast(self._driven) if self.compiled and self.size and simple else None

    @cached_property
    def _fast_inverse(self) -> Callable[..., Any] | None:
        return self._evaluator(INVERSE).fast(np.arange(self.size)) if self.compiled and self.size else None

    def _evaluate(self, algorithm: Algorithm, *inputs: Floats) -> Floats:
        evaluator = self._evaluator(algorithm)
        out: Floats = evaluator.batch(*inputs) if inputs[0].ndim == 2 else evaluator(*inputs)
        return out

    def _derivative(self, algorithm: Algorithm, seed: str, *inputs: Floats) -> Floats:
        return _each(self._evaluator(algorithm, (seed,)), *inputs)

    def _evaluator(self, algorithm: Algorithm, seeds: tuple[str, ...] = (), variant: str = "") -> Any:
        key = (algorithm.name, seeds, variant)
        if key not in self._evaluators:
            self._evaluators[key] = self._make(algorithm, seeds, variant)
        return self._evaluators[key]

    def _make(self, algorithm: Algorithm, seeds: tuple[str, ...], variant: str) -> Any:
        evaluator = make_evaluator(algorithm, self.tree, seeds, self.compiled)
        if variant == "weightless":
            evaluator.gravity[:] = 0.0
        elif variant == "conservative":
            from pliant.engine.structure import dissipative_slots

            evaluator.constants[dissipative_slots(self.tree)] = 0.0
        return evaluator

    # ---- checks at the border

    def _state(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Floats, Floats]:
        q = self._vector("q", q, self.size)
        v = np.zeros_like(q) if v is None else self._vector("v", v, self.size)
        if q.shape != v.shape:
            raise ValueError(f"q has shape {q.shape} and v {v.shape}; they must be the same")
        return q, v

    def _vector(self, name: str, x: ArrayLike, n: int) -> Floats:
        array = np.asarray(x, dtype=float)
        if array.ndim not in (1, 2) or array.shape[-1] != n:
            raise ValueError(
                f"{name} has shape {array.shape}; robot '{self.robot.name}' needs ({n},) or a batch (count, {n})"
            )
        return array

    def _generalised(
        self, q: Floats, tau: ArrayLike | None, force: ArrayLike | None, wrenches: dict[str, ArrayLike] | None
    ) -> Floats:
        f = np.zeros_like(q)
        if tau is not None:
            f += self._vector("tau", tau, len(self.inputs)) @ self.B.T
        if force is not None:
            f += self._vector("force", force, self.size)
        for frame, wrench in (wrenches or {}).items():
            if q.ndim == 2:
                raise ValueError("wrenches act on one state at a time; q is a batch")
            f += self.jacobian(frame, q).T @ self._vector(f"wrench on {frame}", wrench, 6)
        return f


def make_evaluator(algorithm: Algorithm, tree: Tree, seeds: tuple[str, ...] = (), compiled: bool = True) -> Any:
    """An algorithm for a tree as a callable: machine code, or its replay in NumPy."""
    if compiled:
        from pliant.engine.evaluator import Evaluator, Program

        return Evaluator(Program(algorithm, tree, seeds))
    from pliant.engine.replay import ReplayEvaluator
    from pliant.engine.rolled import whole

    return ReplayEvaluator(whole(algorithm, tree, seeds), tree.gravity, tree.size)


def _solve(A: Floats, b: Floats) -> Floats:
    x: Floats = np.asarray(np.linalg.solve(A, b), dtype=np.float64)
    return x


def _each(evaluator: Any, *inputs: Floats) -> Floats:
    """A Jacobian for one state, or one for each state of a batch."""
    if inputs[0].ndim == 1:
        out: Floats = evaluator(*inputs)
        return out
    return np.array([evaluator(*state) for state in zip(*inputs, strict=True)])


def _has_llvm() -> bool:
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        warnings.warn("llvmlite is not installed: dynamics run on NumPy, about 100 times slower", stacklevel=3)
        return False
    return True
