"""Linear models of a robot about a state: matrices with names, for control design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import resting
from pliant.analysis.limits import state_limits, tell
from pliant.analysis.statics import NoEquilibriumError
from pliant.analysis.tangent import Tangent, tangent
from pliant.errors import did_you_mean
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

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
        """The linear model with other outputs."""
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
