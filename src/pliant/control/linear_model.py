"""Linear models of a robot about a state: matrices with names, frequency responses, for control design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.analysis.equilibrium import resting
from pliant.analysis.limits import state_limits, tell
from pliant.analysis.line_forces import RestingLines
from pliant.analysis.statics import FrameLoad, NoEquilibriumError
from pliant.analysis.tangent import Tangent, tangent
from pliant.control.output_rows import OutputRow, State, output_row
from pliant.control.state_space import ReducedModel, SampledModel, StateSpace
from pliant.errors import did_you_mean
from pliant.model.description.actuators import refuse_lines
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.sensors import LowPass
    from pliant.states import States

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Names = str | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class LinearModel:
    """x' = A x + B u, y = C x + D u for small changes about a state; x are coordinates, then their rates.

    names        of the states: coordinates, the same with .rate, and states of filters of sensors that are outputs
    inputs       actuated joints; u are changes of their efforts, N m or N
    outputs      names of the rows of C and D
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
        rates = (f"{name}.rate" for name in self.tangent.names)
        filters = (f"{name}.filter{'.rate' if k else ''}" for name, low in self._filters for k in range(low.order))
        return (*self.tangent.names, *rates, *filters)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The actuated joints."""
        return self.arm.inputs

    @property
    def A(self) -> Floats:
        """State matrix (states, states)."""
        A, C = self._of_robot[0], self._unfiltered[0]
        rows = [np.hstack([A, np.zeros((len(A), len(self.names) - len(A)))])]
        at = len(A)
        for name, low in self._filters:
            own, taken = (np.array(x) for x in low.matrices())
            row = np.zeros((low.order, len(self.names)))
            row[:, : len(A)] = np.outer(taken, C[self.outputs.index(name)])
            row[:, at : at + low.order] = own
            rows.append(row)
            at += low.order
        return np.vstack(rows)

    @property
    def B(self) -> Floats:
        """Input matrix (states, inputs)."""
        D = self._unfiltered[1]
        taken = [np.outer(low.matrices()[1], D[self.outputs.index(name)]) for name, low in self._filters]
        return np.vstack([self._of_robot[1], *taken])

    @property
    def C(self) -> Floats:
        """Output matrix (outputs, states)."""
        C = np.hstack([self._unfiltered[0], np.zeros((len(self.outputs), sum(low.order for _, low in self._filters)))])
        at = 2 * len(self.tangent.names)
        for name, low in self._filters:
            C[self.outputs.index(name)] = np.eye(C.shape[1])[at]
            at += low.order
        return C

    @property
    def D(self) -> Floats:
        """Feedthrough (outputs, inputs): that of accelerations and torques, none of positions, rates, and filters."""
        D = self._unfiltered[1].copy()
        D[[self.outputs.index(name) for name, _ in self._filters]] = 0.0
        return D

    @cached_property
    def _filters(self) -> tuple[tuple[str, LowPass], ...]:
        """Filters of the sensors among the outputs, each once."""
        known = {sensor.name: sensor.filter for sensor in self.arm.robot.sensors if sensor.filter is not None}
        return tuple((name, known[name]) for name in dict.fromkeys(self.outputs) if name in known)

    @property
    def without_filters(self) -> LinearModel:
        """This model without outputs that are filtered: its states are those of the robot alone."""
        filtered = [name for name, _ in self._filters]
        return self.with_outputs(*(name for name in self.outputs if name not in filtered)) if filtered else self

    @cached_property
    def _of_robot(self) -> tuple[Floats, Floats]:
        """State and input matrix of the robot alone (2 m, 2 m) and (2 m, inputs)."""
        t, m = self.tangent, len(self.tangent.names)
        lower = np.linalg.solve(t.M, np.hstack([-t.K, -t.D, t.B]))
        A = np.vstack([np.hstack([np.zeros((m, m)), np.eye(m)]), lower[:, : 2 * m]])
        return A, np.vstack([np.zeros((m, len(self.inputs))), lower[:, 2 * m :]])

    @cached_property
    def _unfiltered(self) -> tuple[Floats, Floats]:
        """Outputs before filters: rows on the states of the robot (outputs, 2 m), and on inputs."""
        by_x, by_rate, by_acceleration = self._levels(self.outputs)
        m, (A, B) = len(self.tangent.names), self._of_robot
        C = np.hstack([by_x, by_rate]) + by_acceleration @ A[m:]
        return C, by_acceleration @ B[m:] + self._direct(self.outputs)

    def _direct(self, outputs: Sequence[str]) -> Floats:
        """How outputs depend on efforts, other than by accelerations (outputs, inputs)."""
        rows = (self.output_row(name).tau for name in outputs)
        found = [np.zeros(len(self.inputs)) if row is None else row for row in rows]
        return np.array(found).reshape(len(outputs), len(self.inputs))

    def _levels(self, outputs: Sequence[str]) -> tuple[Floats, Floats, Floats]:
        """How outputs depend on x, x' and x'' of the independent coordinates (outputs, m) each."""
        t, n = self.tangent, self.arm.size
        rows = np.array([self.output_row(name)[:3] for name in outputs]).reshape(len(outputs), 3, n)
        q, v, a = np.moveaxis(rows, 1, 0)
        return q @ t.N + v @ t.P + a @ t.G, v @ t.N + a @ t.H, a @ t.N

    @property
    def poles(self) -> Complexes:
        """Eigenvalues of A, 1/s, sorted by size."""
        from scipy.linalg import eig

        # a generalised problem keeps M and K apart
        M, D, K, _ = self.tangent.scaled()
        m = len(M)
        rate = float(np.sqrt(np.abs(K).max(initial=0.0))) or 1.0
        left = np.block([[np.zeros((m, m)), np.eye(m)], [-K / rate**2, -D / rate]])
        right = np.block([[np.eye(m), np.zeros((m, m))], [np.zeros((m, m)), M]])
        own = [np.linalg.eigvals(np.array(low.matrices()[0])) for _, low in self._filters]
        found = np.concatenate([rate * eig(left, right, right=False), *own]).astype(np.complex128)
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

    def output_row(self, name: str) -> OutputRow:
        """How an output changes with all coordinates, rates and accelerations (n,) each.

        A coordinate by its name; JOINT.motor, the motor angle (with pinned shapes not the joint coordinate);
        JOINT.link, the angle of the link's own frame; FRAME.x, .y, .z, the position of a frame, and .rx, .ry, .rz, its
        small turn, in base axes; .rate or .acceleration behind any of these; FRAME.x.accelerometer and FRAME.x.gyro,
        what sensors on a section read in its own axes, the first with gravity; a sensor of the robot by its name (its
        gain is part of it, and its filter of responses and of A to D; delay and noise are not), and strain.SENSOR,
        what a gauge sees before filter and gain.
        """
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = output_row(self.arm, State(self.q, self.v, self.a), name)
        return row

    @cached_property
    def _rows(self) -> dict[str, OutputRow]:
        """Rows that were asked for."""
        return {}

    def with_outputs(self, *outputs: str) -> LinearModel:
        """This linear model with other outputs."""
        model = LinearModel(self.arm, self.tangent, self.q, self.v, self.tau, self.a, tuple(outputs))
        for name in outputs:
            model.output_row(name)
        return model

    def position_rows(self, outputs: Sequence[str]) -> Floats:
        """Rows (outputs, m) of outputs that are positions, as zeros are found from; others are refused."""
        by_x, by_rate, by_acceleration = self._levels(outputs)
        for name, *others in zip(outputs, by_rate, by_acceleration, self._direct(outputs), strict=True):
            if any(row.any() for row in others):
                raise ValueError(
                    f"zeros of '{name}': zeros are those of positions, turns and strains; a rate has one more at 0, an "
                    "acceleration two, and a torque has those of what it turns"
                )
        return by_x

    def frf(self, omega: ArrayLike, output: Names = None, input: Names = None) -> Complexes:
        """Frequency response: outputs per unit of inputs that swing with exp(i omega t).

        omega   rad/s, one or several
        output  a name or names, see ``output_row``; default: the outputs of the model
        input   actuated joints; default: all
        Returns (frequencies, outputs, inputs); axes of a single frequency, output or input are dropped.
        """
        outputs = self.outputs if output is None else (output,) if isinstance(output, str) else tuple(output)
        inputs = self.chosen_inputs(input)
        at = np.atleast_1d(np.asarray(omega, dtype=float))
        if at.ndim != 1 or not np.isfinite(at).all():
            raise ValueError("omega must be one or several finite numbers, in rad/s")
        B = self.tangent.B[:, [self.inputs.index(name) for name in inputs]]
        by_x, by_rate, by_acceleration = self._levels(outputs)
        direct = self._direct(outputs)[:, [self.inputs.index(name) for name in inputs]]
        known = {sensor.name: sensor.filter for sensor in self.arm.robot.sensors}
        filters = [(j, low) for j, name in enumerate(outputs) if (low := known.get(name)) is not None]
        M, D, K, size = self.tangent.scaled()
        found = np.empty((len(at), len(outputs), len(inputs)), dtype=complex)
        for k, w in enumerate(at):
            try:
                X = size[:, None] * np.linalg.solve(K - w**2 * M + 1j * w * D, size[:, None] * B)
            except np.linalg.LinAlgError:
                # on an undamped pole
                X = np.full(B.shape, np.inf + 0j)
            found[k] = (by_x + 1j * w * by_rate - w**2 * by_acceleration) @ X + direct
            for j, low in filters:
                found[k, j] *= low.response(1j * w)
        dropped = tuple(
            axis
            for axis, single in enumerate((np.ndim(omega) == 0, isinstance(output, str), isinstance(input, str)))
            if single
        )
        return found.squeeze(axis=dropped)

    def chosen_inputs(self, given: Names) -> tuple[str, ...]:
        """Inputs by their names; all of them if none is given."""
        if given is None:
            return self.inputs
        names = (given,) if isinstance(given, str) else tuple(given)
        for name in names:
            if name not in self.inputs:
                hint = did_you_mean(name, self.inputs) or f"; there are {', '.join(self.inputs)}"
                raise ValueError(f"robot '{self.arm.robot.name}' has no input '{name}'{hint}")
        return names

    @property
    def state_space(self) -> StateSpace:
        """The model as plain matrices with names."""
        return StateSpace(self.A, self.B, self.C, self.D, self.names, self.inputs, self.outputs)

    def closed(self, kp: Mapping[str, float] | float = 0.0, kd: Mapping[str, float] | float = 0.0) -> LinearModel:
        """The model with position and rate feedback at its motors: u = w - kp B^T q - kd B^T v, w are its inputs.

        kp, kd  gains of all inputs, or by the names of joints
        """
        gains = [
            np.array([float(g.get(name, 0.0)) if isinstance(g, Mapping) else float(g) for name in self.inputs])
            for g in (kp, kd)
        ]
        for g in (kp, kd):
            if isinstance(g, Mapping):
                self.chosen_inputs(tuple(g))
        t = self.tangent
        seen, moved = self.arm.B.T @ t.N, self.arm.B.T @ t.P
        K = t.K + t.B @ (gains[0][:, None] * seen + gains[1][:, None] * moved)
        D = t.D + t.B @ (gains[1][:, None] * seen)
        return LinearModel(self.arm, t._replace(K=K, D=D), self.q, self.v, self.tau, self.a, self.outputs)

    def reduced(
        self,
        order: int,
        method: Literal["balanced", "residual", "modal"] = "balanced",
        *,
        input_scales: Mapping[str, float] | None = None,
        output_scales: Mapping[str, float] | None = None,
    ) -> ReducedModel:
        """A model with fewer states between the same inputs and outputs; see ``StateSpace.reduced``."""
        return self.state_space.reduced(order, method, input_scales=input_scales, output_scales=output_scales)

    def sampled(self, period: float, *, delay: float = 0.0) -> SampledModel:
        """The model as a computer sees it that samples and holds; see ``StateSpace.sampled``."""
        return self.state_space.sampled(period, delay=delay)

    def to_control(self) -> Any:
        """A StateSpace of the package ``control``, with the names of states, inputs and outputs."""
        return self.state_space.to_control(self.arm.robot.name)


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
    v             velocities; default zero; those of closed loops must fit together
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
    _require_closed_rates(arm, state, rates)
    force, loads = _line_forces(arm, state, rates)
    still = np.zeros(len(arm.inputs))
    efforts = arm.inverse(state, rates, still, force=force).tau if tau is None else arm.tau(tau)
    a = arm.forward(state, rates, efforts, force=force)
    tell(state_limits(arm, state, rates, a, tau=efforts, loads=loads))
    t = tangent(arm, state, rates, a, efforts, dry_friction=dry_friction)
    model = LinearModel(arm, t, state, rates, efforts, a, t.names)
    names = (outputs,) if isinstance(outputs, str) else outputs
    return model if names is None else model.with_outputs(*names)


def _line_forces(arm: Dynamics, q: Floats, v: Floats) -> tuple[Floats | None, list[FrameLoad]]:
    """Generalised forces (n,) of springs along lines, and their forces on frames; none without any."""
    if not arm.robot.actuators:
        return None, []
    lines = RestingLines(arm)
    at = lines.at(q)
    if lines.holding:
        refuse_lines(arm.robot, "have commands and states that a linear model does not know: pliant.modes, or simulate")
    rest = lines.rest(at, np.zeros(0))
    return lines.force(at, rest) - lines.damping(at, rest) @ v, lines.wrenches(at, rest)


LOOSE = 1e-6
"""Rates of gaps, of the robot's own rates and size, at which closed loops come apart."""


def _require_closed_rates(arm: Dynamics, q: Floats, v: Floats) -> None:
    """Refuse rates of closed loops that do not fit together."""
    if not (arm.loops.rows and v.any()):
        return
    gap = np.abs(arm.closure_rate(q, v)).max(initial=0.0)
    if gap > LOOSE * (1.0 + np.abs(v).max()):
        raise ValueError(
            f"v: the loops of robot '{arm.robot.name}' would come apart at {gap:.2g} (m/s or rad/s); "
            "arm.project(q, v) gives the nearest rates that fit"
        )


def linearise_along(
    arm: Dynamics,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    outputs: str | Sequence[str] | None = None,
    dry_friction: bool = False,
) -> Iterator[LinearModel]:
    """Linear models at the states of a motion, one after the other: a linear time-varying model.

    q, v          coordinates and rates (times, n), as a run has them
    tau           efforts (times, inputs)
    outputs       a name or names of outputs, see LinearModel.output_row; default: all coordinates
    dry_friction  whether the slope of the smoothed dry friction is part of the damping
    """
    states, rates, efforts = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (q, v, tau))
    if not len(states) == len(rates) == len(efforts):
        raise ValueError(f"q has {len(states)} rows, v {len(rates)} and tau {len(efforts)}; they must be as many")
    for each in zip(states, rates, efforts, strict=True):
        yield linearise(arm, each[0], each[1], tau=each[2], outputs=outputs, dry_friction=dry_friction)
