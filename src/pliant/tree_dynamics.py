"""The dynamics of an open tree in numbers: what one method computes of a robot, whatever loops it has."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.bodies.joint_drive import JointDrive
from pliant.engine.backends.function import Function, Variant, make_evaluator
from pliant.formulations.method import Method, Traced, What
from pliant.formulations.methods import method_class
from pliant.formulations.recursive.connection import carried_acceleration, connect
from pliant.formulations.recursive.kinematics import MOTION_SIZE, Motion, motion_of, move
from pliant.formulations.recursive.link import LinkConstants, LinkKind
from pliant.formulations.recursive.lowering import lower
from pliant.formulations.recursive.tree import Tree, TreeLink
from pliant.mechanism import Mechanism, assemble
from pliant.spatial.vectors import Vector
from pliant.states import Labels, States

if TYPE_CHECKING:
    from pliant.bodies.terms import FrameTerms
    from pliant.engine.trace.tape import Operations
    from pliant.formulations.recursive.link import Seat
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


class FrameAcceleration(NamedTuple):
    """Acceleration of a frame's origin (m/s^2) and angular acceleration (rad/s^2), base axes."""

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


class InverseDerivatives(NamedTuple):
    """Derivatives of the generalised forces by q, v and a (n, n); the last is the mass matrix."""

    q: Floats
    v: Floats
    a: Floats


FIXED = LinkKind("fixed", 2, 1.0, 0, False)


class TreeDynamics:
    """The functions of a robot that know nothing of its loops."""

    def __init__(self, robot: Robot, method: str, compiled: bool) -> None:
        self.robot = robot
        self.mechanism: Mechanism = assemble(robot)
        self.tree: Tree = lower(self.mechanism)
        self.method: Method = method_class(method)(self.mechanism, robot, self.tree)
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

    @cached_property
    def stiffness(self) -> Floats:
        """K (n, n): strain of the links and springs of the joints."""
        return self._joint_and_elastic("K_ee", "stiffness")

    @cached_property
    def damping(self) -> Floats:
        """D (n, n): structural damping and viscous friction."""
        return self._joint_and_elastic("D_ee", "damping")

    def _joint_and_elastic(self, body: str, joint: Literal["stiffness", "damping"]) -> Floats:
        out = np.zeros((self.size, self.size))
        for member in self.mechanism.members:
            out[member.elastic, member.elastic] = getattr(member.body, body)
        for member in self.mechanism.driven_members:
            row = self.mechanism.motor_row(member)
            out += getattr(member.joint.drive, joint) * np.outer(row, row)
        return out

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
            given = labels.by_name(given)
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
        from pliant.engine.trace.rolled import whole

        return whole(*traced).operations

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
    def _motion(self) -> Function:
        return self._function("motion")

    @cached_property
    def _energy(self) -> Function:
        return self._function("energy")

    # ---- terms of the equations of motion

    def forces(self, q: States, v: States, a: States) -> Floats:
        """Generalised forces (n,) that give all coordinates the accelerations a (n,)."""
        return self._inverse(q, v, a)

    def bias(self, q: States, v: States) -> Floats:
        """h (n,): everything of the left-hand side but M a."""
        return self._inverse(q, v, self._nothing)

    def mass_matrix(self, q: States) -> Floats:
        """M (n, n), symmetric."""
        return self._mass(q, self._nothing, self._nothing)

    def coriolis(self, q: States, v: States) -> Floats:
        """C (n, n), the Christoffel matrix: C v are the velocity forces and dM/dt - 2 C is skew."""
        # the velocity forces are quadratic in v with the symmetric Christoffel symbols: C = (d(C v)/dv) / 2
        return 0.5 * self._christoffel(q, v, self._nothing)

    def gravity(self, q: States) -> Floats:
        """g (n,): generalised forces of gravity, on the left-hand side."""
        return self._inverse(q, self._nothing, self._nothing) - self._weightless(q, self._nothing, self._nothing)

    def inverse_derivatives(self, q: States, v: States, a: States) -> InverseDerivatives:
        """Exact derivatives of ``forces``."""
        return InverseDerivatives(*(self._inverse.by(seed)(q, v, a) for seed in "qva"))

    def energy(self, q: States, v: States) -> Energies:
        """Energies of a state, numbers; of a batch, arrays."""
        total = self._energies(q, v)
        parts = total[..., 0], total[..., 1], total[..., 2]
        return Energies(*(float(x) for x in parts) if total.ndim == 1 else parts)

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
        m, shape = self._frame_motion(frame, q, self._nothing)
        return Pose(_vectors(m.p, shape), _matrices(m.R, shape))

    def link_pose(self, link: str, q: States) -> Pose:
        """Pose of a link's own frame B, in which its axis and its elastic displacements are described."""
        q = self.labels.states("q", q)
        index = next((i for i, each in enumerate(self.tree.links) if each.name == link), None)
        if index is None:
            raise KeyError(f"robot '{self.robot.name}' has no link '{link}'")
        m, placed = self._link_motion(index, q, self._nothing), self.tree.links[index]
        R, p = _matrices(m.R, q.shape[:-1]), _vectors(m.p, q.shape[:-1])
        return Pose(p + R @ placed.p_DB, R @ placed.R_DB)

    def velocity(self, frame: str, q: States, v: States) -> Twist:
        """Velocity of a frame of the deformed robot, of one state or of each of a batch."""
        m, shape = self._frame_motion(frame, q, v)
        return Twist(_vectors(m.v, shape), _vectors(m.w, shape))

    def acceleration(self, frame: str, q: States, v: States, a: States) -> FrameAcceleration:
        """Acceleration of a frame at accelerations a of the coordinates, of one state or of each of a batch."""
        q, v, a = (self.labels.states(name, x) for name, x in zip("qva", (q, v, a), strict=True))
        index, link, seat = self._seat(frame)
        flat = self._acceleration(q, v, a).T.reshape(len(self.tree.links), MOTION_SIZE + 9, *q.shape[:-1])[index]
        m, (w, a_v, a_w) = motion_of(list(flat)), (list(flat[k : k + 3]) for k in (18, 21, 24))
        terms = _terms(link, seat, q, v)
        held = LinkConstants(seat, JointDrive.none(0), link.constants.body)
        c = connect(FIXED, held, [], [], terms, w)
        own_v, own_w = carried_acceleration(c, a_v, a_w, _columns(a[..., link.elastic]))
        R = _matrices(move(FIXED, held, [], [], terms, m).R, q.shape[:-1])
        linear, angular = (R @ _vectors(x, q.shape[:-1])[..., None] for x in (own_v, own_w))
        return FrameAcceleration(linear[..., 0], angular[..., 0])

    def jacobian(self, frame: str, q: States) -> Floats:
        """J (6, n): linear, then angular velocity of a frame per unit rate of each coordinate, base axes.

        Of a batch, (count, 6, n).
        """
        q = self.labels.states("q", q)
        if q.ndim == 2:
            return np.array([self.jacobian(frame, each) for each in q])
        index, link, seat = self._seat(frame)
        rows = slice(MOTION_SIZE * index, MOTION_SIZE * (index + 1))
        rates = motion_of(list(self._motion.by("v")(q, self._nothing)[rows]))
        J_v, J_w = np.array(rates.v), np.array(rates.w)
        R: Floats = np.array(self._link_motion(index, q, self._nothing).R)
        terms = _terms(link, seat, q, self._nothing)
        turned: Floats = np.eye(3) if terms.R is None else np.array(terms.R, dtype=float)
        lever = turned @ seat.offset
        n = link.kind.size
        own_v = np.array(terms.J_v, dtype=float).reshape(3, n)
        own_w = np.zeros((3, n)) if terms.spin is None else np.array(terms.spin.J_w, dtype=float).reshape(3, n)
        J_v += np.cross(J_w.T, R @ (np.array(terms.r, dtype=float) + lever)).T
        J_v[:, link.elastic] += R @ (own_v + np.cross(own_w.T, lever).T)
        J_w[:, link.elastic] += R @ own_w
        return np.vstack([J_v, J_w])

    @cached_property
    def _acceleration(self) -> Function:
        # accelerations of frames are those of the motion: gravity is no part of them
        return self._function("acceleration", "weightless")

    def _seat(self, frame: str) -> tuple[int, TreeLink, Seat]:
        """The link that carries a frame, and the frame's place on it."""
        member, name = self.mechanism.frame(frame)
        index, seat = self.tree.frames[f"{self.mechanism.members[member].name}.{name}"]
        return index, self.tree.links[index], seat

    def _link_motion(self, index: int, q: Floats, v: Floats) -> Motion:
        """Pose and velocity of a link's dynamics frame; numbers, or arrays over a batch."""
        flat = self._motion(q, v)[..., MOTION_SIZE * index : MOTION_SIZE * (index + 1)]
        return motion_of(_columns(flat))

    def _frame_motion(self, frame: str, q: States, v: States) -> tuple[Motion, tuple[int, ...]]:
        """Pose and velocity of a frame, and the shape of the batch."""
        q = self.labels.states("q", q)
        v = v if v is self._nothing else self.labels.states("v", v)
        index, link, seat = self._seat(frame)
        m = self._link_motion(index, q, v)
        held = LinkConstants(seat, JointDrive.none(0), link.constants.body)
        return move(FIXED, held, [], [], _terms(link, seat, q, v), m), q.shape[:-1]


def _terms(link: TreeLink, seat: Seat, q: Floats, v: Floats) -> FrameTerms:
    """Motion of a frame of a link relative to it, on numbers or on arrays over a batch."""
    return link.constants.body.frame(seat.section, _columns(q[..., link.elastic]), _columns(v[..., link.elastic]))


def _columns(x: Floats) -> Vector:
    """The entries of a vector, or of each vector of a batch as arrays over it."""
    return x.tolist() if x.ndim == 1 else list(x.T)


def _vectors(entries: Vector, shape: tuple[int, ...]) -> Floats:
    """(*shape, 3) from numbers or arrays of that shape."""
    return np.stack([np.broadcast_to(x, shape) for x in entries], axis=-1).astype(float)


def _matrices(rows: list[Vector], shape: tuple[int, ...]) -> Floats:
    """(*shape, 3, 3) from rows of numbers or arrays of that shape."""
    return np.stack([_vectors(row, shape) for row in rows], axis=-2)


def has_llvm() -> bool:
    """Whether there is a compiler; a warning if not."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        warnings.warn("llvmlite is not installed: dynamics run on NumPy, about 100 times slower", stacklevel=4)
        return False
    return True
