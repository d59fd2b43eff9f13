"""Forward and inverse dynamics of a robot, and everything that comes with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.formulations.recursive.connection import seat_turn
from pliant.formulations.recursive.passes import ENERGY, FORWARD, INVERSE, MOTION, REACTION, Algorithm
from pliant.formulations.recursive.tree import Tree, build_tree
from pliant.mechanism import Mechanism, assemble

if TYPE_CHECKING:
    from pliant.engine.trace.tape import Operations
    from pliant.formulations.loops.coordinates import Choice
    from pliant.formulations.loops.forms import Reduced
    from pliant.formulations.loops.loops import Loops
    from pliant.model import Robot

Floats = NDArray[np.float64]
Solver = Literal["recursive", "dense", "minimal", "platform"]


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
    """The equations of motion ``M(q) a + C(q, v) v + K q + D v + g(q) + friction = B tau + J^T lambda`` of a robot.

    robot        a Robot, or the name or path of one
    compile      "auto": machine code through LLVM where llvmlite is installed; "never": plain NumPy
    independent  of closed loops: "auto", "elastic" (what the last bending link of the closing legs does is dependent)
                 or names of coordinates
    stabilise    1/s: rate at which gaps of the loops decay in ``forward`` (Baumgarte); zero leaves them as they are

    Coordinates are in the order of ``names``. A leading axis on q, v, tau makes a batch of states. Loops keep all
    coordinates of the tree; M, C, g and h are those of the open tree and ``forward`` obeys the loops.
    """

    def __init__(
        self,
        robot: Robot | str,
        *,
        compile: Literal["auto", "never"] = "auto",
        independent: Choice = "auto",
        stabilise: float = 0.0,
    ) -> None:
        from pliant.model import Robot
        from pliant.model.library import load

        if compile not in ("auto", "never"):
            raise ValueError(f"compile is {compile!r}; it must be 'auto' or 'never'")
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        self.tree: Tree = build_tree(self.robot)
        self.compiled = compile == "auto" and _has_llvm()
        self._evaluators: dict[Any, Any] = {}
        self._built_in: dict[Any, Callable[..., Floats | None]] = {}
        self.loops: Loops | None = None
        if self.robot.loops:
            from pliant.formulations.loops.loops import Loops

            self.loops = Loops(self, independent, stabilise)

    def __repr__(self) -> str:
        how = "compiled" if self.compiled else "NumPy"
        loops = f", {len(self.robot.loops)} loops" if self.loops is not None else ""
        return f"Dynamics({self.robot.name!r}, {self.size} coordinates, {len(self.inputs)} inputs{loops}, {how})"

    # ---- what there is

    @cached_property
    def mechanism(self) -> Mechanism:
        """The robot's links as they hang together, in the frames of its description."""
        return assemble(self.robot)

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
        solver: Solver = "recursive",
    ) -> Floats:
        """Accelerations; those of a robot with loops keep a closed state closed.

        tau       efforts of the actuated joints, N m or N (inputs,); default zero
        force     further generalised forces (n,)
        wrenches  frame -> (force, moment) on it, base axes (6,)
        solver    "recursive": articulated elimination, O(links); "dense": Cholesky of M, of loops with multipliers;
                  of loops also "minimal": independent coordinates, "platform": a platform's twist among them
        """
        if force is None and wrenches is None and solver == "recursive":
            fast: Floats | None = self._fast_forward(q, v, tau)
            if fast is not None:
                return fast
        q, v = self._state(q, v)
        f = self._generalised(q, tau, force, wrenches)
        if solver == "recursive":
            a = self._evaluate(FORWARD, q, v, f) if self.loops is None else self.loops.forward(q, v, f)
            if not np.isfinite(a).all():
                self._explain(q, v, f)
            return a
        return _each(self._forward_by(solver), q, v, f)

    def _forward_by(self, solver: Solver) -> Callable[..., Floats]:
        """Accelerations of one state (q, v, f) through dense matrices."""
        if self.loops is not None and solver in ("dense", "minimal", "platform"):
            return partial(self.loops.forward_dense, solver)
        if solver != "dense":
            choices = "'recursive' or 'dense'" + (", 'minimal' or 'platform'" if self.loops is not None else "")
            raise ValueError(f"solver is {solver!r}; it must be {choices}")
        from scipy.linalg import cho_factor, cho_solve

        return lambda q, v, f: np.asarray(cho_solve(cho_factor(self.mass_matrix(q)), f - self.bias(q, v)))

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
        fast: Floats | None = self._fast_inverse(q, v, a)
        if fast is not None:
            return fast
        q, v = self._state(q, v)
        return self._evaluate(INVERSE, q, v, self._like("a", a, q))

    def inverse(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Floats, Floats]:
        """Efforts tau of the actuated joints for their accelerations a, and the accelerations of all others.

        The other coordinates (elastic ones, passive joints) move as the equations of motion and the loops say.
        """
        q, v = self._state(q, v)
        if self.loops is not None:
            tau, every = self.loops.inverse(q, v, self._vector("a", a, len(self.inputs)))
            return tau, every[..., self._others]
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
        fast: Floats | None = self._fast_inverse(q, v, self._nothing)
        if fast is not None:
            return fast
        q, v = self._state(q, v)
        return self._evaluate(INVERSE, q, v, np.zeros_like(q))

    def mass_matrix(self, q: ArrayLike) -> Floats:
        """M (n, n), symmetric."""
        fast = self._quick(INVERSE, "a")(q, self._nothing, self._nothing)
        if fast is not None:
            return fast
        q, v = self._state(q)
        return self._derivative(INVERSE, "a", q, v, v)

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """C (n, n), the Christoffel matrix: C v are the velocity forces and dM/dt - 2 C is skew."""
        # the velocity forces are quadratic in v with the symmetric Christoffel symbols: C = (d(C v)/dv) / 2
        fast = self._quick(INVERSE, "v", "conservative")(q, v, self._nothing)
        if fast is not None:
            return 0.5 * fast
        q, v = self._state(q, v)
        evaluator = self._evaluator(INVERSE, ("v",), "conservative")
        return 0.5 * np.asarray(_each(evaluator, q, v, np.zeros_like(q)))

    def gravity(self, q: ArrayLike) -> Floats:
        """g (n,): generalised forces of gravity, on the left-hand side."""
        fast, held = (self._quick(INVERSE, "", kind)(q, self._nothing, self._nothing) for kind in ("", "weightless"))
        if fast is not None and held is not None:
            return fast - held
        q, v = self._state(q)
        weightless = self._evaluator(INVERSE, (), "weightless")
        run = weightless.batch if q.ndim == 2 else weightless
        without: Floats = run(q, v, v)
        return self._evaluate(INVERSE, q, v, v) - without

    def energy(self, q: ArrayLike, v: ArrayLike) -> Energies:
        """Energies of a state, numbers; of a batch, arrays."""
        total = self._energies(q, v)
        parts = total[..., 0], total[..., 1], total[..., 2]
        return Energies(*(float(x) for x in parts) if total.ndim == 1 else parts)

    def momentum(self, q: ArrayLike, v: ArrayLike) -> Momentum:
        """Momentum of a state or of each state of a batch."""
        total = self._energies(q, v)
        return Momentum(total[..., 3:6], total[..., 6:])

    def _energies(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Energies and momenta of the whole robot (9,)."""
        q, v = self._state(q, v)
        per_link = self._evaluate(ENERGY, q, v).reshape(*q.shape[:-1], len(self.tree.links), 9)
        total: Floats = per_link.sum(axis=-2)
        return total

    def reactions(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> dict[str, Floats]:
        """Joint name -> (force, moment) (6,) that the joint transmits to its link, in the link's axes.

        The moment is about the point of the joint axis that is nearest to the link's origin.
        """
        q, v = self._single_state(q, v)
        a = self._like("a", a, q)
        out = self._evaluate(REACTION, q, v, a).reshape(-1, 6)
        if self.loops is not None:
            # closures carry a part of it
            out = out - self.loops.wrenches(q, v, a)
        return {
            link.joint or link.name: np.concatenate([link.R_DB.T @ w[:3], link.R_DB.T @ w[3:]])
            for link, w in zip(self.tree.links, out, strict=True)
        }

    # ---- closed loops

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the coordinates whose rates determine all others (all of them without loops)."""
        return self.names if self.loops is None else self.loops.independent

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the coordinates that follow from the others by the loops."""
        return () if self.loops is None else self.loops.dependent

    def closure(self, q: ArrayLike) -> Floats:
        """How far the loops are open, (constraints,): metres along base axes, and 2 tan(angle/2) of turns.

        The order is that of ``loops.rows``; a state of a simulation should have zero here.
        """
        q, _ = self._state(q)
        return np.zeros((*q.shape[:-1], 0)) if self.loops is None else self.loops.gaps(q)

    def closure_rate(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Relative velocities of the frames that the loops hold together, (constraints,)."""
        q, v = self._state(q, v)
        return np.zeros((*q.shape[:-1], 0)) if self.loops is None else self.loops.rates(q, v)

    def assemble(self, q: ArrayLike | None = None, *, hold: Sequence[str] | None = None, bend: bool = False) -> Floats:
        """A configuration near q (default: the reference pose) in which all loops are closed.

        hold  names of coordinates that stay as they are; default: the actuated joints
        bend  whether elastic coordinates may change

        Raises AssemblyError with the gaps that remain where a loop cannot close.
        """
        start = self.reference_pose() if q is None else self._state(q)[0]
        if self.loops is None:
            return start
        if start.ndim == 2:
            return np.array([self.loops.assemble(x, hold, bend) for x in start])
        return self.loops.assemble(start, hold, bend)

    def reference_pose(self) -> Floats:
        """The pose of the description as coordinates; all that it does not name are zero."""
        q = np.zeros(self.size)
        for name, value in self.robot.pose.items():
            q[self.names.index(name)] = value
        return q

    def project(self, q: ArrayLike, v: ArrayLike) -> tuple[Floats, Floats]:
        """The nearest state that satisfies the loops, in the metric of the mass matrix."""
        q, v = self._state(q, v)
        if self.loops is None:
            return q, v
        if q.ndim == 2:
            pairs = [self.loops.project(*state) for state in zip(q, v, strict=True)]
            return np.array([x for x, _ in pairs]), np.array([x for _, x in pairs])
        return self.loops.project(q, v)

    def reduced(
        self,
        q: ArrayLike,
        v: ArrayLike,
        *,
        independent: Sequence[str] | None = None,
        platform: str | None = None,
    ) -> Reduced:
        """The model in independent rates: ``M a_r + c = N^T f`` and ``a = N a_r + shift``.

        independent  names of coordinates to use at this state instead of the robot's choice
        platform     a frame whose twist is to be independent; then the elastic coordinates at the ends of the legs
                     are the dependent ones (Briot & Khalil's choice)
        """
        q, v = self._state(q, v)
        if q.ndim == 2:
            raise ValueError("q is a batch; the reduced model takes one state at a time")
        if self.loops is not None:
            return self.loops.reduced(q, v, independent, platform)
        if independent is not None or platform is not None:
            raise ValueError(f"robot '{self.robot.name}' has no loops; all its coordinates are independent")
        from pliant.formulations.loops.forms import Reduced

        n = self.size
        return Reduced(self.mass_matrix(q), self.bias(q, v), np.eye(n), np.zeros(n), self.names)

    def multipliers(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike | None = None,
        *,
        force: ArrayLike | None = None,
        wrenches: dict[str, ArrayLike] | None = None,
    ) -> Floats:
        """Forces (N) and moments (N m) of the closures on their first frames, in the order of ``loops.rows``."""
        q, v = self._state(q, v)
        if self.loops is None:
            return np.zeros((*q.shape[:-1], 0))
        f = self._generalised(q, tau, force, wrenches)
        return _each(self.loops.multipliers, q, v, self.forward(q, v, force=f), f)

    # ---- kinematics

    def pose(self, frame: str, q: ArrayLike) -> Pose:
        """Pose of a frame of the deformed robot; of a batch, positions (count, 3) and rotations (count, 3, 3)."""
        q, v = self._state(q)
        index, seat = self.tree.frame(frame)
        R, p = self._link_motion(index, q, v)[:2]
        link = self.tree.links[index]
        q_e = q[..., link.own.stop - link.kind.size : link.own.stop]
        turn = seat_turn(link.kind, seat, q_e.tolist() if q.ndim == 1 else list(q_e.T), [0.0] * link.kind.size)
        E = np.eye(3) if turn is None else _matrices(turn.R, q.shape[:-1])
        Phi_d = np.array(seat.Phi_d, dtype=float).reshape(3, link.kind.size)
        arm = np.array(seat.position) + q_e @ Phi_d.T + E @ seat.offset
        return Pose(p + (R @ arm[..., None])[..., 0], R @ E @ np.array(seat.R0))

    def velocity(self, frame: str, q: ArrayLike, v: ArrayLike) -> Twist:
        """Velocity of a frame of the deformed robot."""
        q, v = self._state(q, v)
        twist = self.jacobian(frame, q) @ v
        return Twist(twist[:3], twist[3:])

    def jacobian(self, frame: str, q: ArrayLike) -> Floats:
        """J (6, n): linear, then angular velocity of a frame per unit rate of each coordinate, base axes."""
        q, v = self._single_state(q)
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
        m = self._evaluate(MOTION, q, v)[..., 18 * index : 18 * index + 18]
        return m[..., :9].reshape(*q.shape[:-1], 3, 3), m[..., 9:12], m[..., 12:15], m[..., 15:18]

    # ---- derivatives

    def inverse_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> InverseDerivatives:
        """Exact derivatives of ``forces``."""
        d_q, d_v, d_a = (self._quick(INVERSE, seed)(q, v, a) for seed in "qva")
        if d_q is not None and d_v is not None and d_a is not None:
            return InverseDerivatives(d_q, d_v, d_a)
        q, v = self._state(q, v)
        a = self._like("a", a, q)
        return InverseDerivatives(*(self._derivative(INVERSE, seed, q, v, a) for seed in "qva"))

    def derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None = None) -> ForwardDerivatives:
        """Exact derivatives of ``forward``: -M^-1 times those of the inverse dynamics at the accelerations."""
        q, v = self._single_state(q, v)
        a = self.forward(q, v, tau)
        if self.loops is not None:
            return ForwardDerivatives(*self.loops.derivatives(q, v, a, self._generalised(q, tau, None, None)))
        # accelerations are linear in forces: their derivative by them, by recursion, is M^-1
        mobility = self._derivative(FORWARD, "f", q, v, self._nothing)
        by_q, by_v = (-mobility @ self._derivative(INVERSE, seed, q, v, a) for seed in "qv")
        return ForwardDerivatives(by_q, by_v, mobility @ self.B)

    def operations(self, what: Literal["forward", "inverse"] = "forward") -> Operations:
        """Arithmetic operations of one evaluation."""
        if self.loops is not None:
            return self.loops.operations(what)
        from pliant.engine.trace.rolled import whole

        return whole({"forward": FORWARD, "inverse": INVERSE}[what], self.tree).operations

    # ---- evaluation

    @cached_property
    def _fast_forward(self) -> Callable[..., Floats | None]:
        """A built-in function for plain arrays of one state; declines where a motor drives more than its own joint."""
        simple = np.count_nonzero(self.B) == len(self.inputs) and np.all(self.B[self._driven].diagonal() == 1)
        if not simple or not self.compiled:
            return _decline
        if self.loops is not None:
            return self.loops.fast_forward(self._driven) or _decline
        return (self._evaluator(FORWARD).fast(self._driven) if self.size else None) or _decline

    @cached_property
    def _fast_inverse(self) -> Callable[..., Floats | None]:
        return self._quick(INVERSE)

    def _quick(self, algorithm: Algorithm, seed: str = "", variant: str = "") -> Callable[..., Floats | None]:
        """An evaluation or its derivative as a built-in function, which declines what needs checks."""
        key = (algorithm.name, seed, variant)
        found = self._built_in.get(key)
        if found is None:
            evaluator = self._evaluator(algorithm, (seed,) if seed else (), variant)
            found = self._built_in[key] = (self.compiled and self.size and evaluator.fast()) or _decline
        return found

    @cached_property
    def _nothing(self) -> Floats:
        """Zeros (n,): no rates, no accelerations, no forces."""
        zeros = np.zeros(self.size)
        zeros.flags.writeable = False
        return zeros

    def _evaluate(self, algorithm: Algorithm, *inputs: Floats) -> Floats:
        evaluator = self._evaluator(algorithm)
        out: Floats = evaluator.batch(*inputs) if inputs[0].ndim == 2 else evaluator(*inputs)
        return out

    def _derivative(self, algorithm: Algorithm, seed: str, *inputs: Floats) -> Floats:
        fast = self._quick(algorithm, seed)(*inputs)
        return _each(self._evaluator(algorithm, (seed,)), *inputs) if fast is None else fast

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
            from pliant.engine.trace.structure import dissipative_slots

            evaluator.constants[dissipative_slots(self.tree)] = 0.0
        return evaluator

    # ---- checks at the border

    def _state(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Floats, Floats]:
        q = self._vector("q", q, self.size)
        v = np.zeros_like(q) if v is None else self._vector("v", v, self.size)
        if q.shape != v.shape:
            raise ValueError(f"q has shape {q.shape} and v {v.shape}; they must be the same")
        return q, v

    def _single_state(self, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Floats, Floats]:
        q, v = self._state(q, v)
        if q.ndim == 2:
            raise ValueError(f"q has shape {q.shape}, a batch; this takes one state at a time")
        return q, v

    def _vector(self, name: str, x: ArrayLike, n: int) -> Floats:
        array = np.asarray(x, dtype=float)
        if array.ndim not in (1, 2) or array.shape[-1] != n:
            raise ValueError(
                f"{name} has shape {array.shape}; robot '{self.robot.name}' needs ({n},) or a batch (count, {n})"
            )
        return array

    def _like(self, name: str, x: ArrayLike, q: Floats) -> Floats:
        """An array for every coordinate of the state or the states q."""
        array = self._vector(name, x, self.size)
        if array.shape != q.shape:
            raise ValueError(f"q has shape {q.shape} and {name} {array.shape}; they must be the same")
        return array

    def _generalised(
        self, q: Floats, tau: ArrayLike | None, force: ArrayLike | None, wrenches: dict[str, ArrayLike] | None
    ) -> Floats:
        f = np.zeros_like(q)
        if tau is not None:
            efforts = self._vector("tau", tau, len(self.inputs))
            if efforts.shape[:-1] != q.shape[:-1]:
                raise ValueError(f"q has shape {q.shape} and tau {efforts.shape}; both must be one state or a batch")
            f += efforts @ self.B.T
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
        from pliant.engine.backends.evaluator import Evaluator, Program

        return Evaluator(Program(algorithm, tree, seeds))
    from pliant.engine.backends.replay import ReplayEvaluator
    from pliant.engine.trace.rolled import whole

    return ReplayEvaluator(whole(algorithm, tree, seeds), tree.gravity, tree.size)


def _decline(*state: ArrayLike) -> None:
    """There is no fast way."""


def _matrices(rows: Sequence[Sequence[Any]], shape: tuple[int, ...]) -> Floats:
    """Matrices (*shape, 3, 3) from rows of numbers or arrays of that shape."""
    return np.stack([np.stack([np.broadcast_to(x, shape) for x in row], axis=-1) for row in rows], axis=-2)


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
