"""Linear models of a robot about a state: matrices with names, for control design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import resting
from pliant.analysis.limits import state_limits, tell
from pliant.analysis.statics import FrameLoad, NoEquilibriumError, wrench_force, wrench_stiffness
from pliant.errors import did_you_mean
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States


Floats = NDArray[np.float64]


class Tangent(NamedTuple):
    """Small motions x of the independent coordinates; all coordinates move by N x.

    M, D, K  inertia, damping and stiffness (m, m); gravity is in K
    B        input matrix (m, inputs)
    N        all coordinates per independent one (n, m); the identity without loops
    names    the independent coordinates
    """

    M: Floats
    D: Floats
    K: Floats
    B: Floats
    N: Floats
    names: tuple[str, ...]


def tangent(
    arm: Dynamics,
    q: Floats,
    v: Floats,
    a: Floats,
    tau: Floats,
    *,
    dry_friction: bool,
    loads: Sequence[FrameLoad] = (),
) -> Tangent:
    """The linearised equations at a state whose accelerations are a, under loads; without loops tau drops out."""
    d = arm.inverse_derivatives(q, v, a)
    M, D, K, B, N, names = d.a, d.v, d.q - wrench_stiffness(arm, q, loads), arm.B, np.eye(arm.size), arm.names
    if not dry_friction:
        D = D - _dry_slope(arm, v)
    if not arm.loops.rows:
        return Tangent(M, D, K, B, N, names)
    if v.any():
        raise ValueError(f"robot '{arm.robot.name}' has closed loops; it is linearised at rest, v must be zero")
    model = arm.reduced(q, v)
    N, names = model.N, model.names
    # the closing forces J^T lambda turn with the frames that they act on
    forces = B @ tau + wrench_force(arm, q, loads)
    K = K - arm.loops.closing_stiffness(q, arm.loops.kept_multipliers(q, v, a, forces))
    stiffness = K @ N + M @ _turning(arm, q, a, N, names)
    return Tangent(N.T @ M @ N, N.T @ D @ N, N.T @ stiffness, N.T @ B, N, names)


def _turning(arm: Dynamics, q: Floats, a: Floats, N: Floats, names: tuple[str, ...]) -> Floats:
    """Change (n, m) of accelerations a that keep the loops closed, per unit motion x, at constant independent ones."""
    change = np.zeros_like(N)
    if not a.any():
        return change
    J, _ = arm.loops.used_rows(q, np.zeros_like(q))
    dependent = [k for k, name in enumerate(arm.names) if name not in names]
    change[dependent] = np.linalg.solve(J[:, dependent], -arm.loops.acceleration_slope(q, a) @ N)
    return change


def _dry_slope(arm: Dynamics, v: Floats) -> Floats:
    """Derivative of the smoothed dry friction by the velocities (n, n)."""
    out = np.zeros((arm.size, arm.size))
    for member in arm.mechanism.driven_members:
        row = arm.mechanism.motor_row(member)
        out += member.joint.drive.dry_slope(float(row @ v)) * np.outer(row, row)
    return out


DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False)
class LinearModel:
    """x' = A x + B u, y = C x + D u for small changes about a state; x are coordinates, then their rates.

    names        of the states: coordinates, and the same with .rate
    inputs       actuated joints; u are changes of their efforts, N m or N
    outputs      names of the rows of C
    q, v, tau    the state and the efforts about which the model is linear
    a            accelerations there (n,); all zero where it is a state of rest or of steady motion
    tangent      the same model of second order, with M, D, K
    """

    arm: Dynamics
    tangent: Tangent
    q: Floats
    v: Floats
    tau: Floats
    a: Floats
    outputs: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """States: coordinates, then rates."""
        return (*self.tangent.names, *(f"{name}.rate" for name in self.tangent.names))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The actuated joints."""
        return self.arm.inputs

    @property
    def A(self) -> Floats:
        """State matrix (2 m, 2 m)."""
        m = len(self.tangent.names)
        lower = np.linalg.solve(self.tangent.M, np.hstack([-self.tangent.K, -self.tangent.D]))
        return np.vstack([np.hstack([np.zeros((m, m)), np.eye(m)]), lower])

    @property
    def B(self) -> Floats:
        """Input matrix (2 m, inputs)."""
        m = len(self.tangent.names)
        return np.vstack([np.zeros((m, len(self.inputs))), np.linalg.solve(self.tangent.M, self.tangent.B)])

    @property
    def C(self) -> Floats:
        """Output matrix (outputs, 2 m)."""
        rows = [self.output_row(name) for name in self.outputs]
        positions = np.array(rows).reshape(len(rows), len(self.tangent.names))
        return np.hstack([positions, np.zeros_like(positions)])

    @property
    def D(self) -> Floats:
        """Feedthrough (outputs, inputs): none, since outputs are positions."""
        return np.zeros((len(self.outputs), len(self.inputs)))

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Eigenvalues of A, 1/s, sorted by size."""
        from scipy.linalg import eig

        # a generalised problem keeps M and K apart
        t = self.tangent
        m = len(t.names)
        size = 1.0 / np.sqrt(np.diag(t.M))
        M, D, K = (x * np.outer(size, size) for x in (t.M, t.D, t.K))
        rate = float(np.sqrt(np.abs(K).max(initial=0.0))) or 1.0
        left = np.block([[np.zeros((m, m)), np.eye(m)], [-K / rate**2, -D / rate]])
        right = np.block([[np.eye(m), np.zeros((m, m))], [np.zeros((m, m)), M]])
        found = np.asarray(rate * eig(left, right, right=False), dtype=np.complex128)
        return found[np.lexsort((found.imag, found.real, np.abs(found).round(9)))]

    def __repr__(self) -> str:
        sizes = f"{len(self.names)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"LinearModel({self.arm.robot.name!r}, {sizes})"

    def _repr_html_(self) -> str:
        poles = self.poles
        seen = poles[poles.imag >= 0]
        rows = [
            (f"{p.real:.4g}", f"{p.imag:.4g}", f"{p.imag / (2 * np.pi):.4g}" if p.imag > 0 else "", _ratio(p))
            for p in seen
        ]
        notes = [f"inputs: {', '.join(self.inputs)}", f"outputs: {', '.join(self.outputs)}"]
        return html_page(repr(self), ("pole, real part 1/s", "imaginary part", "Hz", "damping %"), rows, notes)

    def output_row(self, name: str) -> Floats:
        """How an output depends on the coordinates (m,).

        A coordinate by its name; JOINT.motor, the motor angle (with pinned shapes not the joint coordinate);
        FRAME.x, .y, .z, the position of a frame, and .rx, .ry, .rz, its small turn, in base axes.
        """
        if name in self.arm.names:
            row = np.zeros(self.arm.size)
            row[self.arm.names.index(name)] = 1.0
            return row @ self.tangent.N
        base, _, last = name.rpartition(".")
        if last == "motor" and base in self.inputs:
            return np.asarray(self.arm.B[:, self.inputs.index(base)] @ self.tangent.N)
        if last in DIRECTIONS:
            try:
                J = self.arm.jacobian(base, self.q)
            except KeyError as error:
                raise ValueError(f"output '{name}': {error.args[0]}") from None
            return np.asarray(J[DIRECTIONS.index(last)] @ self.tangent.N)
        options = [*self.arm.names, *(f"{joint}.motor" for joint in self.inputs), "tip.x", "tip.y", "tip.z"]
        hint = did_you_mean(name, options) or f"; there are {', '.join(options)} and FRAME.x of every frame"
        raise ValueError(f"robot '{self.arm.robot.name}' has no output '{name}'{hint}")

    def with_outputs(self, *outputs: str) -> LinearModel:
        """This linear model with other outputs."""
        model = LinearModel(self.arm, self.tangent, self.q, self.v, self.tau, self.a, tuple(outputs))
        for name in outputs:
            model.output_row(name)
        return model

    def to_control(self) -> Any:
        """A StateSpace of the package ``control``, with the names of states, inputs and outputs."""
        try:
            import control
        except ImportError:
            raise ImportError("this needs python-control; install it with: pip install control") from None

        # the package keeps dots for its own use
        names = [[name.replace(".", "_") for name in group] for group in (self.names, self.inputs, self.outputs)]
        return control.ss(
            self.A, self.B, self.C, self.D, states=names[0], inputs=names[1], outputs=names[2],
            name=self.arm.robot.name.replace(".", "_"),
        )  # fmt: skip


def _ratio(pole: complex) -> str:
    return f"{-100 * pole.real / abs(pole):.3g}" if pole.imag > 0 else ""


def linearise(
    arm: Dynamics,
    q: States | None = None,
    v: States | None = None,
    *,
    tau: States | None = None,
    outputs: str | Sequence[str] | None = None,
    dry_friction: bool = False,
) -> LinearModel:
    """A linear model of a robot about a state.

    q             coordinates; default, and joints by name ({"elbow": 0.5}): that pose, bent as gravity bends it while
                  the drives hold it, and as a steady rotation v does
    v             velocities; default zero
    tau           efforts; default: those that give the driven joints no acceleration
    outputs       a name or names of outputs, see LinearModel.output_row; default: all coordinates
    dry_friction  whether the slope of the smoothed dry friction at v is part of the damping
    """
    rates = arm.v(v)
    try:
        state = resting(arm, q, {name: rates[arm.names.index(name)] for name in arm.robot.joint_coordinates})
    except NoEquilibriumError:
        # a motion that is not steady has no bent shape of its own
        state = resting(arm, q)
    for name, x in (("q", state), ("v", rates)):
        if x.shape != (arm.size,):
            raise ValueError(f"{name} has shape {x.shape}; robot '{arm.robot.name}' needs ({arm.size},)")
    efforts = arm.inverse(state, rates, np.zeros(len(arm.inputs))).tau if tau is None else arm.tau(tau)
    a = arm.forward(state, rates, efforts)
    tell(state_limits(arm, state, rates, a, tau=efforts))
    t = tangent(arm, state, rates, a, efforts, dry_friction=dry_friction)
    model = LinearModel(arm, t, state, rates, efforts, a, t.names)
    names = (outputs,) if isinstance(outputs, str) else outputs
    return model if names is None else model.with_outputs(*names)


Complexes = NDArray[np.complex128]

INFINITE = 1e-10
"""An eigenvalue alpha/beta of the scaled pencil with |beta| below this part of |alpha| is infinite."""

UNDAMPED = 1e-14
"""Damping below this part of critical damping counts as none; the zeros then come in exact pairs."""


def zeros(model: LinearModel, output: str | Sequence[str], input: str | Sequence[str] | None = None) -> Complexes:
    """Zeros (1/s) from inputs to outputs, sorted by size.

    model   from ``linearise``
    output  such as "tip.y", a joint or "JOINT.motor"; see LinearModel.output_row. As many outputs as inputs
    input   actuated joints; default: the joints that are named as outputs, or the only input
    """
    outputs = (output,) if isinstance(output, str) else tuple(output)
    inputs = _inputs(model, outputs, (input,) if isinstance(input, str) else input)
    if len(inputs) != len(outputs):
        raise ValueError(f"there are {len(outputs)} outputs and {len(inputs)} inputs; zeros need as many of each")
    t = model.tangent
    size = 1.0 / np.sqrt(np.diag(t.M))
    M, D, K = (x * np.outer(size, size) for x in (t.M, t.D, t.K))
    B = size[:, None] * t.B[:, [model.inputs.index(name) for name in inputs]]
    C = np.array([model.output_row(name) for name in outputs]) * size
    R, L = _null(C, outputs), _null(B.T, inputs)
    M, D, K = (L.T @ x @ R for x in (M, D, K))
    found = _undamped(M, K) if _is_undamped(M, D, K) else _damped(M, D, K)
    return found[np.lexsort((found.imag, found.real, np.abs(found).round(9)))]


def _inputs(model: LinearModel, outputs: tuple[str, ...], given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        named = [name.removesuffix(".motor") for name in outputs]
        if all(name in model.inputs for name in named):
            return tuple(named)
        if len(model.inputs) == 1:
            return model.inputs
        raise ValueError(f"which input? The robot has {', '.join(model.inputs)}; give input=")
    for name in given:
        if name not in model.inputs:
            hint = did_you_mean(name, model.inputs) or f"; there are {', '.join(model.inputs)}"
            raise ValueError(f"robot '{model.arm.robot.name}' has no input '{name}'{hint}")
    return tuple(given)


def _null(rows: Floats, names: tuple[str, ...]) -> Floats:
    """An orthonormal basis of the motions that a few rows do not see."""
    _, sizes, V = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-300))
    if sizes.min(initial=1.0) < 1e-9:
        raise ValueError(f"{', '.join(names)}: these do not move, or not independently of one another")
    return np.asarray(V[len(rows) :].T)


def _is_undamped(M: Floats, D: Floats, K: Floats) -> bool:
    critical = np.sqrt(np.abs(M).max(initial=0.0) * np.abs(K).max(initial=0.0))
    return bool(np.abs(D).max(initial=0.0) <= UNDAMPED * critical)


def _undamped(M: Floats, K: Floats) -> Complexes:
    """s = +-sqrt(lambda) with K x + lambda M x = 0."""
    squares = _finite(-K, M)
    roots = np.sqrt(squares.astype(complex))
    return np.concatenate([roots, -roots])


def _damped(M: Floats, D: Floats, K: Floats) -> Complexes:
    n = len(M)
    zero, one = np.zeros((n, n)), np.eye(n)
    rate = np.sqrt(np.abs(K).max(initial=0.0) / (np.abs(M).max(initial=0.0) or 1.0)) or 1.0
    left = np.block([[zero, one], [-K / rate**2, -D / rate]])
    right = np.block([[one, zero], [zero, M]])
    return np.asarray(rate * _finite(left, right), dtype=complex)


def _finite(A: Floats, B: Floats) -> Complexes:
    """Finite eigenvalues of A x = s B x."""
    from scipy.linalg import eig

    if not len(A):
        return np.zeros(0, dtype=complex)
    a, b = np.abs(A).max() or 1.0, np.abs(B).max() or 1.0
    alpha, beta = eig(A / a, B / b, right=False, homogeneous_eigvals=True)
    keep = np.abs(beta) > INFINITE * np.maximum(np.abs(alpha), INFINITE)
    return np.asarray(alpha[keep] / beta[keep] * (a / b), dtype=complex)
