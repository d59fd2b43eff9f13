"""Where a simulation begins: joint positions and rates, and the shape of the links."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from pliant.analysis.equilibrium import settle
from pliant.analysis.statics import NoEquilibriumError
from pliant.dynamics import Dynamics
from pliant.errors import ModelError, Problem, did_you_mean
from pliant.formulations.loops.dense_forms import RANK
from pliant.formulations.loops.loops import LoopError, PlaneError
from pliant.loads.line_start import first_states
from pliant.model.element import Element, Frozen, FrozenDict, rule
from pliant.model.units import Number, Quantity
from pliant.simulation.requests import Request
from pliant.trajectories.per_joint import Coordinates, Shapes, Speeds

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import Loops
    from pliant.loads.point_forces import PointLoads

Floats = NDArray[np.float64]

LoadForce = Annotated[float, Quantity("N")]
NEARLY = 1e-6
"""Scaled gap and rate up to which a given state counts as closed; it is then put onto the loops."""


class Start(Element):
    """The first state of a run."""

    position: Coordinates | None = Field(
        default=None, description="joint positions by name; the others are those of the robot's pose"
    )
    velocity: Speeds | None = Field(default=None, description="joint rates by name; the others are zero")
    links: Literal["straight", "equilibrium"] = Field(
        default="straight", description="shape of the links: straight, or bent as gravity and springs bend them at rest"
    )
    shape: Shapes | None = Field(
        default=None,
        description="elastic coordinates by name, instead of links: arm.bend_y.1; the others are zero; strains in 1/m",
    )
    loads: Annotated[dict[str, tuple[LoadForce, LoadForce, LoadForce]], Frozen] | None = Field(
        default=None,
        description="frames to forces along the base axes that bend the links, with links: equilibrium, and let go",
    )
    pressures: Literal["balance"] | None = Field(
        default=None, description="balance: one pressure of each cylinder is that which holds the pose"
    )
    states: Annotated[dict[str, float | str], Frozen] = Field(
        default_factory=FrozenDict, description="states of actuators by name, such as lift.pB: 30 bar"
    )
    q: tuple[Number, ...] | None = Field(default=None, description="all coordinates, instead of position and links")
    v: tuple[Number, ...] | None = Field(default=None, description="all rates, instead of velocity")

    @field_validator("q", "v", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        """Links are straight, at rest or of a given shape; loads bend them at rest."""
        if self.shape is not None and (self.links == "equilibrium" or self.q is not None):
            raise rule("give one of shape, links: equilibrium and q")
        if self.loads is not None and self.links != "equilibrium":
            raise rule("loads bend links at rest: write links: equilibrium with them")
        return self

    def rest(self, arm: Dynamics) -> RestRequest | None:
        """The state of rest that a robot begins in; None if it begins in another one."""
        if self.q is not None or self.links != "equilibrium":
            return None
        return RestRequest(arm, self._pose(arm), self.loads)

    def state(self, arm: Dynamics, rest: RestRequest | None = None) -> tuple[Floats, Floats]:
        """q and v (n,) of a robot, with closed loops; ``rest`` if it is there already."""
        v = np.zeros(arm.size)
        moved = _fill(v, self.velocity, arm)
        rest = self.rest(arm) if rest is None else rest
        if rest is not None:
            q = rest.value
        elif self.q is not None:
            q = np.array(self.q)
        else:
            q = self._pose(arm)
            q = q if self.shape is None else _bent(arm, q, self.shape)
        if self.v is not None:
            v = np.array(self.v)
        elif moved:
            v = _following(arm, q, v, moved)
        return _checked(arm.loops, q, v)

    def begin(self, arm: Dynamics, lines: PointLoads | None, q0: Floats) -> None:
        """Give the actuators of a robot their first states, at its first configuration (n,)."""
        if lines is not None:
            balance = self.pressures is not None
            lines.begin(first_states(arm, q0, lines.states, self.states, balance=balance))
        elif self.states or self.pressures is not None:
            raise ModelError("the robot has no actuators, so there are neither pressures nor states to begin with")

    def _pose(self, arm: Dynamics) -> Floats:
        """The reference pose with the given joint positions, loops closed."""
        q = arm.reference_pose()
        return _assembled(arm, q, _fill(q, self.position, arm))


def _bent(arm: Dynamics, q: Floats, shape: Mapping[str, float]) -> Floats:
    """The pose with elastic coordinates by name; loops are closed with what is given held."""
    elastic = [name for name in arm.names if name not in arm.robot.joint_coordinates]
    for name, value in shape.items():
        if name not in elastic:
            hint = did_you_mean(name, elastic) or f"; it has {', '.join(elastic) or 'none'}"
            raise ModelError(Problem("", f"the robot has no elastic coordinate '{name}'{hint}", path=("shape", name)))
        q[arm.names.index(name)] = value
    return _assembled(arm, q, list(shape)) if arm.loops.rows else q


def _fill(target: Floats, given: Any, arm: Dynamics) -> list[str]:
    """Put values into a vector; the names of those that were given."""
    if isinstance(given, tuple):
        given = dict(zip(arm.inputs, given, strict=True))
    for name, value in (given or {}).items():
        target[arm.names.index(name)] = value
    return list(given or {})


# ---------------------------------------------------------------- closed loops


def _assembled(arm: Dynamics, q: Floats, placed: list[str]) -> Floats:
    """Close the loops from q: what is given stays, the drives stay if they can, links stay straight."""
    inputs = arm.inputs
    # joints that were given may be those that the drives have to follow
    ways = [list(dict.fromkeys([*placed, *inputs])), *([placed] if set(placed) - set(inputs) else [])]
    for hold in ways:
        try:
            return arm.loops.assemble(q, hold=hold)
        except PlaneError as error:
            raise ModelError(str(error)) from None
        except LoopError as error:
            message = str(error).partition("; free them")[0]
    raise ModelError(f"{message}; give others, or fewer, and the rest is assembled")


def _following(arm: Dynamics, q: Floats, v: Floats, moved: list[str]) -> Floats:
    """Rates of the other joints that the given ones ask for; drives that were not given rest if they can."""
    loops, names, scale = arm.loops, arm.names, arm.loops.column_scale
    J = loops.scaled(q)
    joints = [k for k in arm.mechanism.joints.tolist() if names[k] not in moved]
    passive = [k for k in joints if names[k] not in arm.inputs]
    for free in (passive, joints):
        change = np.linalg.lstsq(J[:, free], -J @ (v / scale), rcond=RANK)[0]
        out = v.copy()
        out[free] += change * scale[free]
        if loops.slipping(q, out, NEARLY) is None:
            break
    return out


def _checked(loops: Loops, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """The state put exactly onto the loops, unless it is too far from them."""
    size = loops.extent
    for name, (distance, angle) in loops.open_by(q).items():
        if max(distance / size, angle) > NEARLY:
            message = f"it leaves loop '{name}' open by {distance:.4g} m and {angle:.4g} rad; "
            remedy = "give positions of the drives instead, and the rest is assembled"
            raise ModelError(Problem("", message + remedy, path=("q",)))
    open_loop = loops.slipping(q, v, NEARLY)
    if open_loop is not None:
        raise ModelError(f"the given rates open loop '{open_loop}'; give those of the drives, and the rest follows")
    try:
        loops.require_planes()
        loops.require_regular(q)
    except LoopError as error:
        raise ModelError(f"the run cannot begin there: {error}") from None
    return loops.corrected(q, v)


@dataclass(eq=False)
class RestRequest(Request[Floats]):
    """Asks for the coordinates with the links bent as they are at rest."""

    arm: Dynamics
    q: Floats
    loads: Mapping[str, Any] | None

    @cached_property
    def value(self) -> Floats:
        return equilibrium(self.arm, self.q, self.loads)


def equilibrium(arm: Dynamics, q: Floats, loads: Mapping[str, Any] | None = None) -> Floats:
    """The coordinates with the links bent as they are at rest, under loads, while the drives hold their angles."""
    for frame in loads or {}:
        try:
            arm.mechanism.frame(frame)
        except KeyError as error:
            raise ModelError(Problem("", str(error.args[0]), path=("loads", frame))) from None
    try:
        return settle(arm, q, loads=dict(loads) if loads else None).q
    except NoEquilibriumError as error:
        raise ModelError(str(error)) from None
