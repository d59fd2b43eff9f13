"""Forces that are linear in what is to be identified: forces(q, v, a) = Y(q, v, a) theta + known.

theta: of every rigid link, hub and payload its ten inertial parameters about its frame, of every joint rotor inertia,
viscous and dry friction and spring, of every bending link factors of its stiffness and damping. What is not linear in
numbers of a description, such as the inertia of a bending link, is known. Parameters that a motion cannot tell apart
are grouped: base parameters are combinations of theta that forces depend on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.modal_body import hat, steiner
from pliant.errors import require_count
from pliant.formulations.loops.loops import each_state
from pliant.model.description.actuators import refuse_lines
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.mechanism import Member
    from pliant.states import States

Floats = NDArray[np.float64]

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Mass, first moments and inertia about the origin of a frame, in its axes."""
INERTIAL_UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))

RANK = 1e-9
"""Part of the largest column, scaled, below which a combination of parameters does not act."""
SMALL = 1e-8
"""Part of a parameter in a combination that is rounding."""
STATES = 60
"""Random states from which base parameters are found, at the least."""


class RigidPiece(NamedTuple):
    """A rigid body that a frame carries.

    name   LINK, or LINK.hub, LINK.payload1 of bending links
    frame  LINK.FRAME about whose origin theta counts, in its axes
    theta  ten inertial parameters
    """

    name: str
    frame: str
    theta: Floats


@dataclass(frozen=True, eq=False)
class Regressor:
    """``forces = Y theta + known`` of one state or of each of a batch (first axis).

    Y        generalised forces per parameter (n, p)
    names    of the parameters, and their ``units``
    theta    their values in the robot's description (p,)
    known    forces of what is no parameter (n,): inertia of bending links, springs of ball joints
    efforts  efforts of the drives per parameter (inputs, p), with loops through independent motions; and
    known_efforts  those of what is no parameter (inputs,)
    """

    Y: Floats
    names: tuple[str, ...]
    units: tuple[str, ...]
    theta: Floats
    known: Floats
    efforts: Floats
    known_efforts: Floats


def regressor(arm: Dynamics, q: States, v: States, a: States) -> Regressor:
    """The regressor of a motion: states (n,), or (count, n) for a batch.

    q, v, a  coordinates, rates and accelerations of all coordinates; with loops a motion that keeps them closed, such
             as that of a run, or of ``arm.inverse``

    ``efforts @ theta + known_efforts`` are the efforts of ``arm.inverse`` for that motion. Drives that loops make
    redundant have the least ones.
    """
    refuse_lines(arm.robot, "a regressor does not know")
    q, v, a = (arm.labels.states(name, x) for name, x in (("q", q), ("v", v), ("a", a)))
    if not q.shape == v.shape == a.shape:
        raise ValueError(f"q has shape {q.shape}, v {v.shape} and a {a.shape}; they must be the same")
    parameters = parameters_of(arm)
    batch = [np.atleast_2d(x) for x in (q, v, a)]
    Y = parameters.columns(*batch)
    known = arm.forces(*batch) - Y @ parameters.theta
    G = effort_map(arm, batch[0])
    efforts, known_efforts = G @ Y, (G @ known[..., None])[..., 0]
    if q.ndim == 1:
        Y, known, efforts, known_efforts = Y[0], known[0], efforts[0], known_efforts[0]
    return Regressor(Y, parameters.names, parameters.units, parameters.theta, known, efforts, known_efforts)


def motions_at(arm: Dynamics, q: Floats) -> Floats:
    """Motions Z (n, m) of all coordinates that the loops leave at q (n,)."""
    if not arm.loops.rows:
        return np.eye(arm.size)
    J = arm.loops.used_rows(q, np.zeros_like(q))[0] * arm.loops.column_scale
    J = J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), np.finfo(float).tiny)
    return np.asarray(arm.loops.column_scale[:, None] * np.linalg.svd(J)[2][len(J) :].T)


def effort_map(arm: Dynamics, q: Floats) -> Floats:
    """Efforts of the drives per generalised force (count, inputs, n): closures of loops do no work."""

    def one(each: Floats) -> Floats:
        Z = motions_at(arm, each)
        return np.asarray(np.linalg.pinv(Z.T @ arm.B) @ Z.T)

    mapped: Floats = each_state(one, q)
    return mapped


class Parameters:
    """The linear parameters of a robot, and the forces of each."""

    def __init__(self, arm: Dynamics) -> None:
        self.arm = arm
        self.pieces = tuple(piece for member in arm.mechanism.members for piece in _pieces(arm, member))
        self.bending = tuple(m for m in arm.mechanism.members if m.body.size)
        self.moved = arm.mechanism.driven_members
        self.names, self.units, self.theta = self._listed()

    def _listed(self) -> tuple[tuple[str, ...], tuple[str, ...], Floats]:
        rows: list[tuple[str, str, float]] = []
        for piece in self.pieces:
            rows += [
                (f"{piece.name}.{symbol}", unit, float(value))
                for symbol, unit, value in zip(INERTIAL, INERTIAL_UNITS, piece.theta, strict=True)
            ]
        for member in self.moved:
            rows += [(f"{member.joint.name}.{key}", unit, value) for key, unit, value in _joint_rows(self.arm, member)]
        for member in self.bending:
            rows += [(f"{member.name}.stiffness", "1", 1.0), (f"{member.name}.damping", "1", 1.0)]
        if self.arm.mechanism.drag is not None:
            rows.append(("damping", "1", 1.0))
        return tuple(r[0] for r in rows), tuple(r[1] for r in rows), np.array([r[2] for r in rows])

    def columns(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Y (count, n, p)."""
        parts = [self._inertial(piece.frame, q, v, a) for piece in self.pieces]
        parts += [self._joint(member, q, v, a) for member in self.moved]
        if self.bending:
            strain = self.arm.bias(q, np.zeros_like(v)) - self.arm.gravity(q) - self._springs(q)
            parts += [self._bending(member, strain, v) for member in self.bending]
        if self.arm.mechanism.drag is not None:
            parts.append((v @ self.arm.mechanism.drag.T)[..., None])
        return np.concatenate(parts, axis=2) if parts else np.zeros((*q.shape, 0))

    def _inertial(self, frame: str, q: Floats, v: Floats, a: Floats) -> Floats:
        """Newton and Euler for a body on a frame, per inertial parameter (count, n, 10)."""
        arm = self.arm
        R = arm.pose(frame, q).rotation
        moved, turning = arm.acceleration(frame, q, v, a), arm.velocity(frame, q, v).angular
        # in the axes of the frame; weight is an acceleration of the base upwards
        lift, w, alpha = (
            np.einsum("kji,kj->ki", R, x) for x in (moved.linear - arm.mechanism.gravity, turning, moved.angular)
        )
        W = np.zeros((len(q), 6, 10))
        W[:, :3, 0] = lift
        W[:, :3, 1:4] = hat(alpha) + hat(w) @ hat(w)
        W[:, 3:, 1:4] = -hat(lift)
        W[:, 3:, 4:] = _tensor_columns(alpha) + hat(w) @ _tensor_columns(w)
        J = arm.jacobian(frame, q)
        turned = np.concatenate([R @ W[:, :3], R @ W[:, 3:]], axis=1)
        return np.asarray(np.swapaxes(J, 1, 2) @ turned)

    def _joint(self, member: Member, q: Floats, v: Floats, a: Floats) -> Floats:
        """Rotor, friction and spring of a joint, on its motor angle (count, n, k)."""
        row, drive = self.arm.mechanism.motor_row(member), member.joint.drive
        values = {"rotor": a @ row, "viscous": v @ row}
        if drive.smoothing:
            values["coulomb"] = np.tanh(v @ row / drive.smoothing)
        if drive.stiffness:
            values |= {"stiffness": q @ row, "preload": np.ones(len(q))}
        own = [values[key] for key, _, _ in _joint_rows(self.arm, member)]
        return np.stack([x[:, None] * row for x in own], axis=2)

    def _springs(self, q: Floats) -> Floats:
        """Forces of the springs of joints with one coordinate (count, n)."""
        total = np.zeros_like(q)
        for member in self.moved:
            row, drive = self.arm.mechanism.motor_row(member), member.joint.drive
            total += drive.stiffness * (q @ row - drive.rest)[:, None] * row
        return total

    def _bending(self, member: Member, strain: Floats, v: Floats) -> Floats:
        """Strain and damping of a bending link, per factor (count, n, 2)."""
        out = np.zeros((*v.shape, 2))
        own = member.elastic
        out[:, own, 0] = strain[:, own]
        out[:, own, 1] = v[:, own] @ member.body.D_ee.T
        return out


def parameters_of(arm: Dynamics) -> Parameters:
    """The linear parameters of a robot."""
    return Parameters(arm)


def _tensor_columns(x: Floats) -> Floats:
    """I x per entry of a symmetric tensor (count, 3, 6)."""
    out = np.zeros((len(x), 3, 6))
    for k, (i, j) in enumerate(_PAIRS):
        out[:, i, k] += x[:, j]
        if i != j:
            out[:, j, k] += x[:, i]
    return out


def _joint_rows(arm: Dynamics, member: Member) -> list[tuple[str, str, float]]:
    """Parameters of a joint with their units and values."""
    drive, joint = member.joint.drive, member.joint
    turns = arm.mechanism.units[member.start] != "m"
    effort = "N m" if turns else "N"
    rows = [("rotor", "kg m^2" if turns else "kg", float(drive.inertia))] if joint.is_actuated else []
    rows.append(("viscous", f"{effort} s/rad" if turns else "N s/m", float(drive.damping)))
    if drive.smoothing:
        rows.append(("coulomb", effort, float(drive.coulomb)))
    if drive.stiffness:
        rows.append(("stiffness", "N m/rad" if turns else "N/m", float(drive.stiffness)))
        rows.append(("preload", effort, -float(drive.stiffness * drive.rest)))
    return rows


def _pieces(arm: Dynamics, member: Member) -> list[RigidPiece]:
    """Rigid bodies of a member: one of a rigid link with all that it carries, else its hub and payloads."""
    parts = [(part.name, part.frame, _theta(part.mass, part.com, part.inertia)) for part in member.parts]
    if member.body.size:
        return [RigidPiece(f"{member.name}.{name}", f"{member.name}.{frame}", theta) for name, frame, theta in parts]
    root = f"{member.name}.root"
    body = member.body
    # the body counts about its own frame B, parts about theirs
    q = arm.reference_pose()
    B = arm.link_pose(member.name, q)
    at = arm.pose(root, q)
    total = _moved(np.array([body.mass, *body.first, *_entries(body.I_rr)]), *_relative(at, B))
    for _, frame, theta in parts:
        total = total + _moved(theta, *_relative(at, arm.pose(f"{member.name}.{frame}", q)))
    return [RigidPiece(member.name, root, total)]


def _relative(at: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Rotation and position of another frame in a frame."""
    return at[1].T @ other[1], at[1].T @ (other[0] - at[0])


def _entries(inertia: Floats) -> Floats:
    return np.array([inertia[i, j] for i, j in _PAIRS])


def _theta(mass: float, com: Floats, inertia: Floats) -> Floats:
    """Ten parameters about the frame's origin of a mass with its inertia about its centre."""
    return np.array([mass, *(mass * com), *_entries(inertia + steiner(mass, com))])


def _moved(theta: Floats, R: Floats, p: Floats) -> Floats:
    """Parameters of a body about another frame, in which its own stands at p turned by R."""
    m, first = float(theta[0]), R @ theta[1:4]
    own = np.zeros((3, 3))
    for value, (i, j) in zip(theta[4:], _PAIRS, strict=True):
        own[i, j] = own[j, i] = value
    # int |p + r|^2 1 - (p + r)(p + r)^T dm
    mixed = np.outer(p, first) + np.outer(first, p)
    moved = R @ own @ R.T + steiner(m, p) + np.trace(mixed) * np.eye(3) - mixed
    return np.array([m, *(first + m * p), *_entries(moved)])


# ---- what forces depend on


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations of the parameters that forces depend on, and nothing else does.

    names     of the parameters that lead a combination, with the ``units`` of theirs
    matrix    the combinations (rank, p): beta = matrix @ theta
    all_names of all parameters, and their values ``theta`` (p,) in the description
    idle      parameters that no force shows at all
    """

    arm: Dynamics
    names: tuple[str, ...]
    units: tuple[str, ...]
    matrix: Floats
    all_names: tuple[str, ...]
    theta: Floats
    idle: tuple[str, ...]

    @property
    def rank(self) -> int:
        """How many combinations there are."""
        return len(self.names)

    @property
    def values(self) -> Floats:
        """beta (rank,) of the robot's description."""
        return np.asarray(self.matrix @ self.theta)

    @cached_property
    def leading(self) -> list[int]:
        """Places of the leading parameters among all."""
        return [self.all_names.index(name) for name in self.names]

    def words(self, k: int) -> str:
        """A combination in words: ``elbow.m + 0.5 forearm.m - ...``."""
        text = self.names[k]
        for name, factor in zip(self.all_names, self.matrix[k], strict=True):
            if name != self.names[k] and factor:
                number = "" if abs(abs(factor) - 1.0) < SMALL else f"{abs(factor):.4g} "
                text += f" {'+' if factor > 0 else '-'} {number}{name}"
        return text

    def fit(self, q: States, v: States, a: States, tau: States) -> ParameterFit:
        """Least squares of the combinations from a measured motion with its efforts.

        q, v, a  all coordinates over time (count, n); derivatives of measured positions should be filtered first
                 (``pliant.filtered``)
        tau      efforts of the drives (count, inputs)
        """
        found = regressor(self.arm, q, v, a)
        efforts = self.arm.input_labels.states("tau", tau)
        if found.efforts.ndim != 3 or efforts.shape != found.efforts.shape[:2]:
            raise ValueError(f"tau has shape {efforts.shape}; it must be (count, inputs), as many as q has states")
        W = found.efforts[:, :, self.leading].reshape(-1, self.rank)
        y = (efforts - found.known_efforts).ravel()
        scale = np.linalg.norm(W, axis=0)
        scale[scale == 0.0] = 1.0
        sizes = np.linalg.svd(W / scale, compute_uv=False)
        shown = int(np.count_nonzero(sizes > RANK * sizes[0]))
        if shown < self.rank:
            raise ValueError(
                f"this motion shows {shown} of the {self.rank} base parameters; move all joints, faster, and through "
                "more of their range"
            )
        beta, *_ = np.linalg.lstsq(W / scale, y, rcond=None)
        left = y - W @ (beta / scale)
        spread = float(left @ left) / max(len(y) - self.rank, 1)
        errors = np.sqrt(spread * np.diag(np.linalg.inv((W / scale).T @ (W / scale)))) / scale
        return ParameterFit(self.names, beta / scale, errors, float(sizes[0] / sizes[-1]), float(np.sqrt(spread)))

    def _repr_html_(self) -> str:
        rows = [(self.words(k), f"{self.values[k]:.6g}", self.units[k]) for k in range(self.rank)]
        title = f"{self.rank} base parameters of {len(self.all_names)}"
        return html_page(title, ("combination", "value", "unit"), rows)


class ParameterFit(NamedTuple):
    """Base parameters from a measured motion.

    names      leading parameter of each combination
    values     of the combinations
    errors     standard deviations, for errors of the efforts that are independent and alike
    condition  of the scaled regressor: how many times errors grow in the worst combination
    residual   N m, N: standard deviation of the efforts that is left
    """

    names: tuple[str, ...]
    values: Floats
    errors: Floats
    condition: float
    residual: float


def base_parameters(arm: Dynamics, *, states: int = STATES, seed: int = 0) -> BaseParameters:
    """Which combinations of the linear parameters of a robot its forces depend on, found from random states.

    states  how many random states; more are taken where there are many parameters
    seed    of these states

    Numerical rank of the stacked regressor, scaled, by a factorisation with pivots (Gautier): parameters that act first
    in the order of the links lead, and what follows from them is added to them.
    """
    refuse_lines(arm.robot, "base parameters do not know")
    require_count("states", states)
    parameters = parameters_of(arm)
    p = len(parameters.names)
    rng = np.random.default_rng(seed)
    drawn = [_random_motion(arm, rng) for _ in range(max(states, 2 * p // max(arm.size, 1)))]
    Y = parameters.columns(*(np.array([each[k] for each in drawn]) for k in range(3)))
    W = np.concatenate([Z.T @ own for own, (_, _, _, Z) in zip(Y, drawn, strict=True)])
    scale = np.linalg.norm(W, axis=0)
    acts = scale > RANK * np.maximum(scale.max(initial=0.0), np.finfo(float).tiny)
    kept = _independent_columns(W / np.where(acts, scale, 1.0), acts)
    others = [k for k in range(p) if k not in kept and acts[k]]
    factors, *_ = np.linalg.lstsq(W[:, kept] / scale[kept], W[:, others] / scale[others], rcond=None)
    factors = factors * scale[others] / scale[kept][:, None]
    matrix = np.zeros((len(kept), p))
    matrix[np.arange(len(kept)), kept] = 1.0
    small = np.abs(factors) * scale[kept][:, None] <= SMALL * scale[others]
    matrix[:, others] = np.where(small, 0.0, factors)
    return BaseParameters(
        arm,
        tuple(parameters.names[k] for k in kept),
        tuple(parameters.units[k] for k in kept),
        matrix,
        parameters.names,
        parameters.theta,
        tuple(parameters.names[k] for k in range(p) if not acts[k]),
    )


def _independent_columns(W: Floats, acts: NDArray[np.bool_]) -> list[int]:
    """Columns that no earlier one, with a smaller place, stands for."""
    kept, basis = list[int](), np.zeros((len(W), 0))
    for k in np.flatnonzero(acts).tolist():
        left = W[:, k] - basis @ (basis.T @ W[:, k])
        left = left - basis @ (basis.T @ left)
        size = float(np.linalg.norm(left))
        if size > RANK**0.5:
            kept.append(k)
            basis = np.column_stack([basis, left / size])
    return kept


def _random_motion(arm: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    """A state with accelerations that keep the loops closed, and the motions Z (n, m) that they leave."""
    joints = arm.mechanism.joints
    stiff = np.maximum(np.diag(arm.stiffness), 1.0)
    q = arm.reference_pose() + 1e-2 * rng.standard_normal(arm.size) / np.sqrt(stiff)
    far = 0.2 if arm.loops.rows else 1.0
    q[joints] += far * rng.standard_normal(len(joints)) * np.where(_slides(arm), arm.loops.extent, 1.0)
    if not arm.loops.rows:
        v, a = rng.standard_normal((2, arm.size))
        return q, v, a, np.eye(arm.size)
    q = arm.loops.closest(q, tuple(sorted(set(range(arm.size)) - set(joints.tolist()))))
    Z = motions_at(arm, q)
    v, a = Z @ rng.standard_normal(Z.shape[1]), Z @ rng.standard_normal(Z.shape[1])
    J, b = arm.loops.used_rows(q, v)
    return q, v, a - np.linalg.pinv(J) @ b, Z


def _slides(arm: Dynamics) -> NDArray[np.bool_]:
    return np.array([arm.mechanism.units[k] == "m" for k in arm.mechanism.joints])
