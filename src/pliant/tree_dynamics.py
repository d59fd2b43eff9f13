"""The dynamics of an open tree in numbers: what one method computes of a robot, whatever loops it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.algorithm import Algorithm, Traced
from pliant.formulations.method import Method, What, method_class
from pliant.formulations.robot_damping import damped
from pliant.mechanism import Mechanism, assemble
from pliant.model.once import quick_property
from pliant.spatial.attitude import recentred
from pliant.states import (
    Energies,
    FrameAcceleration,
    InverseDerivatives,
    Labels,
    Momentum,
    Pose,
    States,
    Twist,
)
from pliant.tree.frames import PLACES, FramesByName, WayToBase, paths
from pliant.tree.function import Function, Variant, declined, make_evaluator
from pliant.tree.kinematics import ACCELERATION, LOSS, MOTION, MOTION_SIZE, motion_arrays
from pliant.tree.lowering import lower, lower_with_frames
from pliant.tree.slope_calls import SlopeSteps
from pliant.tree.tree import Tree

if TYPE_CHECKING:
    from pliant.engine.trace.tape import Operations
    from pliant.formulations.recursive.denoc import Denoc
    from pliant.model import Robot

Floats = NDArray[np.float64]

SINGULAR = 1e-14
"""Least eigenvalue of a mass matrix of unit diagonal, for each coordinate, that is more than rounding."""

TOGETHER = 100_000
"""Coordinates of states whose frames are found together: the places of all links are many times as many numbers."""


class TreeDynamics:
    """The functions of a robot that know nothing of its loops; or of another mechanism, such as a link of it alone."""

    def __init__(self, robot: Robot, method: str, compiled: bool, mechanism: Mechanism | None = None) -> None:
        self.robot = robot
        own = mechanism or (assemble(robot) if robot.damping is None else damped(robot))
        self.mechanism: Mechanism = own
        self.tree: Tree = lower(self.mechanism)
        self.method: Method = method_class(method)(self.mechanism)
        self.compiled = compiled
        self._evaluators: dict[tuple[str, str, int], tuple[Any, Traced]] = {}

    # ---- what there is

    @property
    def size(self) -> int:
        """Number of coordinates n."""
        return self.mechanism.size

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates: each link's joint, then its elastic coordinates."""
        return self.mechanism.coordinates

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuated joints, in the order of tau."""
        return self.mechanism.actuated

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames that can be asked for."""
        return tuple(self.mechanism.frames)

    @property
    def B(self) -> Floats:
        """Input matrix (n, inputs); a motor also drives the root tangent of a pinned mode."""
        return self.mechanism.B

    @property
    def stiffness(self) -> Floats:
        """K (n, n): strain of the links and springs of the joints."""
        return self.mechanism.stiffness

    @property
    def damping(self) -> Floats:
        """D (n, n): structural damping and viscous friction; that of spherical joints where they are not turned."""
        return self.mechanism.damping

    @property
    def position_limits(self) -> dict[int, tuple[float, float]]:
        """Lowest and highest position where joints have limits, rad or m, by their places in q."""
        joints = [link.joint for link in self.robot.links]
        given = [(joint.name, joint.limits.position) for joint in joints if joint.limits is not None]
        return {self.names.index(name): bounds for name, bounds in given if bounds is not None}

    @property
    def effort_limits(self) -> Floats:
        """Largest effort of each input, N m or N: the smaller of the motor's and the joint's, infinite without both."""
        limits = []
        for joint in map(self.robot.joint, self.inputs):
            known = [joint.motor.max_effort if joint.motor else None, joint.limits.effort if joint.limits else None]
            limits.append(min((x for x in known if x is not None), default=np.inf))
        return np.array(limits)

    @property
    def reach(self) -> float:
        """Length of all links and offsets, m; 1 where there is none."""
        offsets = (float(np.linalg.norm(link.joint.placement.vector())) for link in self.robot.links)
        return sum(link.length for link in self.robot.links) + sum(offsets) or 1.0

    def reference_pose(self) -> Floats:
        """The pose of the description as coordinates; all that it does not name are zero."""
        return self.mechanism.pose.copy()

    # ---- by name

    @cached_property
    def labels(self) -> Labels:
        """Names and units of the coordinates."""
        return Labels(self.robot.name, self.names, self.mechanism.units, self.mechanism.pose)

    @cached_property
    def input_labels(self) -> Labels:
        """Names of the inputs and units of their efforts."""
        units = dict(zip(self.names, self.mechanism.units, strict=True))
        efforts = tuple("N" if units[name] == "m" else "N m" for name in self.inputs)
        return Labels(self.robot.name, self.inputs, efforts, np.zeros(len(self.inputs)), "input")

    def q(self, given: States | None = None, /, **joints: Any) -> Floats:
        """Coordinates (n,) by name: ``arm.q(elbow=0.5)``, ``arm.q({"upper.bend_y.1": 1e-3}, elbow="30 deg")``.

        What is not named is that of the reference pose; arrays over time give a batch.
        """
        return self._by_name("q", given, joints)

    def v(self, given: States | None = None, /, **joints: Any) -> Floats:
        """Rates (n,) by name; what is not named is zero."""
        return self._by_name("v", given, joints)

    def tau(self, given: States | None = None, /, **joints: Any) -> Floats:
        """Efforts (inputs,) by name; what is not named is zero."""
        return self._by_name("tau", given, joints)

    def _by_name(self, symbol: str, given: States | None, joints: dict[str, Any]) -> Floats:
        labels = self.input_labels if symbol == "tau" else self.labels
        if given is not None and not isinstance(given, Mapping):
            given = labels.by_name(given, symbol)
        return labels.states(symbol, {**(given or {}), **joints})

    def by_name(self, vector: ArrayLike) -> dict[str, Any]:
        """The entries of a vector of coordinates (n,) or of inputs (inputs,) by their names."""
        n = np.shape(vector)[-1:]
        return (self.labels if n == (self.size,) else self.input_labels).by_name(vector)

    # ---- functions

    def traced(self, what: What) -> Traced:
        """A function of the method as the engine takes it."""
        return self.method.require(what, f"robot '{self.robot.name}'")

    def evaluator(self, traced: Traced, seed: str = "") -> Any:
        """A traced function, or its derivative by an input, ready to run; each is made once."""
        key = (traced.algorithm.name, seed, id(traced.carrier))
        if key not in self._evaluators:
            # the carrier is kept with it, so that its identity stays its own
            self._evaluators[key] = (make_evaluator(traced, (seed,) if seed else (), self.compiled), traced)
        return self._evaluators[key][0]

    def count(self, traced: Traced) -> Operations:
        """Arithmetic operations of one evaluation."""
        from pliant.engine.trace.roller import counted

        return counted(*traced)

    def structure(self, traced: Traced) -> str:
        """What decides the code of a function: robots that differ in their numbers alone have the same."""
        from pliant.engine.trace.structure import structure_key

        return f"{structure_key(traced.carrier)} {traced.algorithm.name}"

    @cached_property
    def _nothing(self) -> Floats:
        """Zeros (n,): no rates, no accelerations, no forces."""
        zeros = np.zeros(self.size)
        zeros.flags.writeable = False
        return zeros

    def _function(self, what: What, variant: Variant = "") -> Function:
        return Function(self.traced(what), self.labels, self._nothing, compiled=self.compiled, variant=variant)

    @cached_property
    def _inverse(self) -> Function:
        return self._function("inverse")

    @quick_property
    def _quick_inverse(self) -> Callable[..., Any]:
        return self._inverse.built()

    @quick_property
    def _quick_slopes(self) -> Callable[..., Any]:
        if not self._inverse.is_quick:
            return declined
        from pliant.engine.call.calls import QuickCall

        call = QuickCall()
        call.gives(*self._slopes.all(call, *(call.takes(self.size) for _ in "qva")))
        return call.built(InverseDerivatives)

    @quick_property
    def _quick_mass(self) -> Callable[..., Any]:
        if not self._inverse.is_quick:
            return declined
        from pliant.engine.call.calls import QuickCall

        call = QuickCall()
        call.gives(self._slopes.mass(call, call.takes(self.size)))
        return call.built()

    @property
    def _slopes(self) -> SlopeSteps:
        """Mass matrix and derivatives as steps of calls."""
        return SlopeSteps(self._inverse, self.tree if self.method.name == "recursive" else None)

    @cached_property
    def _mass(self) -> Function:
        return self._inverse.by("a")

    @cached_property
    def _weightless(self) -> Function:
        return self._function("inverse", "weightless")

    @cached_property
    def _christoffel(self) -> Function:
        return self._function("inverse", "conservative").by("v")

    @cached_property
    def _energy(self) -> Function:
        return self._function("energy")

    @cached_property
    def _loss(self) -> Function:
        return Function(Traced(LOSS, self.tree), self.labels, self._nothing, compiled=self.compiled)

    # ---- terms of the equations of motion

    def forces(self, q: States, v: States, a: States) -> Floats:
        """Generalised forces (n,) that give all coordinates the accelerations a (n,)."""
        fast: Floats | None = self._quick_inverse(q, v, a)
        return self._inverse(q, v, a) if fast is None else fast

    def bias(self, q: States, v: States) -> Floats:
        """h (n,): everything of the left-hand side but M a."""
        fast: Floats | None = self._quick_inverse(q, v, self._nothing)
        return self._inverse(q, v, self._nothing) if fast is None else fast

    def mass_matrix(self, q: States) -> Floats:
        """M (n, n), symmetric."""
        fast: Floats | None = self._quick_mass(q)
        return self._mass(q, self._nothing, self._nothing) if fast is None else fast

    def denoc(self, q: States, v: States | None = None) -> Denoc:
        """Mohan & Saha's matrices of the open tree at one state, with the names of links, joints and coordinates.

        q, v  one state (n,), as arrays or by name; without rates gamma is that of the strained links alone

        N_l, N_d, A_ij, P_i, M_i, gamma_i, composite and articulated bodies, the factors of M = U D U^T and the inverse
        of M from them; for study, not for speed.
        """
        from pliant.formulations.recursive.denoc import denoc

        q = self.labels.states("q", q)
        v = np.zeros_like(q) if v is None else self.labels.states("v", v)
        if q.ndim != 1 or v.ndim != 1:
            raise ValueError(f"q has shape {q.shape} and v {v.shape}; both must be one state ({self.size},)")
        return denoc(self.tree, q, v)

    def recentred(self, q: States, v: States) -> tuple[Floats, Floats]:
        """A state (n,) with rotation vectors no longer than half a turn; simulations do so between steps.

        Joints with springs keep theirs: a spring counts turns.
        """
        q, v = self.labels.states("q", q).copy(), self.labels.states("v", v).copy()
        if q.ndim != 1 or v.ndim != 1:
            raise ValueError(f"q has shape {q.shape} and v {v.shape}; both must be one state ({self.size},)")
        for k in self.mechanism.attitudes:
            own = slice(k, k + 3)
            if q[own] @ q[own] > np.pi**2:
                short = recentred(q[own].tolist(), v[own].tolist())
                q[own], v[own] = short.theta, short.rate
        return q, v

    def without_inertia(self, q: Floats) -> str:
        """In words, a motion of the tree that moves no inertia at q (n,); empty if there is none."""
        M = self.mass_matrix(q)
        if not np.isfinite(M).all():
            return "a rotation vector of a full turn has no rates; give the shorter one of the same rotation"
        size = np.sqrt(np.maximum(np.diag(M), 0.0))
        size[size == 0.0] = 1.0
        squares, motions = np.linalg.eigh(M / np.outer(size, size))
        if squares[0] > SINGULAR * len(M):
            return ""
        part = np.abs(motions[:, 0])
        names = [name for name, share in zip(self.names, part, strict=True) if share > 0.1 * part.max()]
        return (
            f"{' and '.join(names)} move{'s' if len(names) == 1 else ' together'} without any inertia; give the link, "
            "its hub or payload, or a motor some (a beam: rotary_inertia)"
        )

    def coriolis(self, q: States, v: States) -> Floats:
        """C (n, n), the Christoffel matrix: C v are the velocity forces and dM/dt - 2 C is skew.

        Methods of first order in the elastic coordinates, such as dual_screw, drop terms of M and of the velocity
        forces apart: C v are their velocity forces, and dM/dt - 2 C is skew where nothing elastic moves or is bent.
        """
        # the velocity forces are quadratic in v with the symmetric Christoffel symbols: C = (d(C v)/dv) / 2
        return 0.5 * self._christoffel(q, v, self._nothing)

    def gravity(self, q: States) -> Floats:
        """g (n,): generalised forces of gravity, on the left-hand side."""
        # without springs and strain nothing else acts on a robot at rest
        if not self.stiffness.any():
            return self._inverse(q, self._nothing, self._nothing)
        return self._inverse(q, self._nothing, self._nothing) - self._weightless(q, self._nothing, self._nothing)

    def gravity_derivative(self, q: States) -> Floats:
        """Exact derivative of ``gravity`` by q (n, n)."""
        state = (q, self._nothing, self._nothing)
        return self._inverse.by("q")(*state) - self._weightless.by("q")(*state)

    def inverse_derivatives(self, q: States, v: States, a: States) -> InverseDerivatives:
        """Exact derivatives of ``forces``."""
        fast: InverseDerivatives | None = self._quick_slopes(q, v, a)
        if fast is not None:
            return fast
        return InverseDerivatives(*(self.force_derivative(seed, q, v, a) for seed in "qva"))

    def force_derivative(self, by: str, q: States, v: States, a: States) -> Floats:
        """Exact derivative of ``forces`` by one of q, v and a (n, n)."""
        return self._inverse.by(by)(q, v, a)

    def energy(self, q: States, v: States) -> Energies:
        """Energies of a state, numbers; of a batch, arrays."""
        fast: Energies | None = self._quick_energy(q, v)
        if fast is not None:
            return fast
        total = self._energies(q, v)
        parts = total[..., 0], total[..., 1], total[..., 2]
        return Energies(*(float(x) for x in parts) if total.ndim == 1 else parts)

    @quick_property
    def _quick_energy(self) -> Callable[..., Any]:
        if not self._energy.is_quick:
            return declined
        from pliant.engine.call.calls import QuickCall

        call = QuickCall()
        per_link = call.evaluates(self._energy.evaluator, call.takes(self.size), call.takes(self.size))
        total = call.sparse(np.tile(np.eye(3, 9), len(self.tree.links)), per_link)
        call.gives(*(total[k : k + 1].reshape(()) for k in range(3)))
        return call.built(Energies)

    def lost_power(self, q: States, v: States) -> Any:
        """Power that damping and friction take, W: a number for a state (n,), an array (count,) for a batch."""
        total = self._loss(q, v).sum(axis=-1)
        return float(total) if np.ndim(total) == 0 else total

    def momentum(self, q: States, v: States) -> Momentum:
        """Momentum of a state or of each state of a batch."""
        total = self._energies(q, v)
        return Momentum(total[..., 3:6], total[..., 6:])

    def _energies(self, q: States, v: States) -> Floats:
        """Energies and momenta of the whole robot (9,)."""
        per_link = self._energy(q, v)
        total: Floats = per_link.reshape(*per_link.shape[:-1], len(self.tree.links), 9).sum(axis=-2)
        return total

    # ---- kinematics

    def pose(self, frame: str, q: States) -> Pose:
        """Pose of a frame of the deformed robot; of a batch, positions (count, 3) and rotations (count, 3, 3)."""
        at = self._frame_calls[frame]
        fast: Pose | None = at.quick_pose(q)
        return at.pose(q) if fast is None else fast

    def poses(self, frames: Sequence[str], q: States) -> Pose:
        """Poses of several frames at once: positions (frames, 3), rotations (frames, 3, 3); of a batch, count first."""
        flat = self._places(q)
        found = [self._frame_calls[name].path.pose(flat) for name in frames]
        return Pose(np.stack([p for p, _ in found], axis=-2), np.stack([R for _, R in found], axis=-3))

    def positions(self, frames: Sequence[str], q: States) -> Floats:
        """Positions of several frames at once (frames, 3); of a batch, (count, frames, 3)."""
        if isinstance(q, np.ndarray) and q.ndim == 2 and q.size > TOGETHER:
            rows = max(TOGETHER // q.shape[1], 1)
            return np.concatenate([self.positions(frames, q[k : k + rows]) for k in range(0, len(q), rows)])
        flat = self._places(q)
        return np.stack([self._frame_calls[name].path.position(flat) for name in frames], axis=-2)

    def link_pose(self, link: str, q: States) -> Pose:
        """Pose of a link's own frame B, in which its axis and its elastic displacements are described."""
        index = next((i for i, each in enumerate(self.robot.links) if each.name == link), None)
        if index is None:
            raise KeyError(f"robot '{self.robot.name}' has no link '{link}'")
        every = self.link_poses(q)
        return Pose(every.position[..., index, :], every.rotation[..., index, :, :])

    def link_poses(self, q: States) -> Pose:
        """Poses of the own frames B of all links, as those of ``poses``."""
        flat, own = self._places(q), {each.name: (i, each) for i, each in enumerate(self._framed.links)}
        places, axes = [], []
        for index, placed in (own[link.name] for link in self.robot.links):
            p, R = self._path(index).pose(flat)
            places.append(p + R @ placed.p_DB)
            axes.append(R @ placed.R_DB)
        return Pose(np.stack(places, axis=-2), np.stack(axes, axis=-3))

    def velocity(self, frame: str, q: States, v: States) -> Twist:
        """Velocity of a frame of the deformed robot, of one state or of each of a batch."""
        at = self._frame_calls[frame]
        fast: Twist | None = at.quick_twist(q, v)
        if fast is not None:
            return fast
        m = motion_arrays(self._motion(q, v)[..., _rows(self._frame_link(frame), MOTION_SIZE)])
        return Twist(m.v, m.w)

    def acceleration(self, frame: str, q: States, v: States, a: States) -> FrameAcceleration:
        """Acceleration of a frame at accelerations a of the coordinates, of one state or of each of a batch."""
        rows = _rows(self._frame_link(frame), MOTION_SIZE + 9)
        flat = self._acceleration(q, v, a)[..., rows]
        R, a_v, a_w = motion_arrays(flat).R, flat[..., -6:-3, None], flat[..., -3:, None]
        return FrameAcceleration((R @ a_v)[..., 0], (R @ a_w)[..., 0])

    def frame_acceleration(self, frame: str, *, weight: bool = False) -> tuple[slice, Function]:
        """The traced accelerations of all frames, and where this frame stands in them.

        A frame has R (9), p, v, w (3 each); in its own axes angular velocity, linear and angular acceleration.

        weight  less gravity, as an accelerometer reads it
        """
        rows = _rows(self._frame_link(frame), MOTION_SIZE + 9)
        return rows, self._felt_acceleration if weight else self._acceleration

    def jacobian(self, frame: str, q: States) -> Floats:
        """J (6, n): linear, then angular velocity of a frame per unit rate of each coordinate, base axes.

        Of a batch, (count, 6, n).
        """
        at = self._frame_calls[frame]
        fast: Floats | None = at.quick_jacobian(q)
        return at.jacobian(q) if fast is None else fast

    @property
    def _framed(self) -> Tree:
        return lower_with_frames(self.mechanism)

    def _frame_link(self, frame: str) -> int:
        return self._frame_calls.link(frame)

    @cached_property
    def _frame_calls(self) -> FramesByName:
        return FramesByName(self.mechanism, self._framed, self._path, self._places)

    @cached_property
    def _path(self) -> Callable[[int], WayToBase]:
        """The ways from the links of the tree with frames to the base."""
        return paths(self._framed)

    def _kinematics(self, algorithm: Algorithm, variant: Variant = "") -> Function:
        """Kinematics of all links and frames, shared by all methods."""
        traced = Traced(algorithm, self._framed)
        return Function(traced, self.labels, self._nothing, compiled=self.compiled, variant=variant)

    @cached_property
    def _places(self) -> Function:
        return self._kinematics(PLACES)

    @cached_property
    def _motion(self) -> Function:
        return self._kinematics(MOTION)

    @cached_property
    def _felt_acceleration(self) -> Function:
        """Accelerations of frames less gravity, as accelerometers read them."""
        return self._kinematics(ACCELERATION)

    @cached_property
    def _acceleration(self) -> Function:
        # accelerations of frames are those of the motion: gravity is no part of them
        return self._kinematics(ACCELERATION, "weightless")


def _rows(index: int, size: int) -> slice:
    """Where the results of a link are."""
    return slice(size * index, size * (index + 1))
