"""Where a simulation begins: joint positions and rates, and the shape of the links."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from pliant.analysis.equilibrium import NoEquilibriumError
from pliant.analysis.equilibrium import equilibrium as rest
from pliant.dynamics import Dynamics
from pliant.model.element import Element
from pliant.model.errors import ModelError, did_you_mean
from pliant.model.units import Number
from pliant.simulation.per_joint import Coordinates, Speeds

Floats = NDArray[np.float64]


class Start(Element):
    """The first state of a run."""

    position: Coordinates | None = Field(
        default=None, description="joint positions by name; the others are those of the robot's pose"
    )
    velocity: Speeds | None = Field(default=None, description="joint rates by name; the others are zero")
    links: Literal["straight", "equilibrium"] = Field(
        default="straight", description="shape of the links: straight, or bent as gravity and springs bend them at rest"
    )
    q: tuple[Number, ...] | None = Field(default=None, description="all coordinates, instead of position and links")
    v: tuple[Number, ...] | None = Field(default=None, description="all rates, instead of velocity")

    @field_validator("q", "v", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    def state(self, arm: Dynamics) -> tuple[Floats, Floats]:
        """q and v (n,) of a robot."""
        q = np.array([arm.robot.pose.get(name, 0.0) for name in arm.names])
        v = np.zeros(arm.size)
        _fill(q, self.position, arm)
        _fill(v, self.velocity, arm)
        if self.q is not None:
            q = _whole("q", self.q, arm)
        elif self.links == "equilibrium":
            q = equilibrium(arm, q)
        if self.v is not None:
            v = _whole("v", self.v, arm)
        return q, v


def _fill(target: Floats, given: Any, arm: Dynamics) -> None:
    if isinstance(given, tuple):
        if len(given) != len(arm.inputs):
            raise ModelError(f"start has {len(given)} entries; the robot has the inputs {', '.join(arm.inputs)}")
        given = dict(zip(arm.inputs, given, strict=True))
    for name, value in (given or {}).items():
        if name not in arm.names:
            raise ModelError(f"start: the robot has no coordinate '{name}'{did_you_mean(name, arm.names)}")
        target[arm.names.index(name)] = value


def _whole(name: str, values: tuple[float, ...], arm: Dynamics) -> Floats:
    if len(values) != arm.size:
        raise ModelError(f"start.{name} has {len(values)} entries; the robot has {arm.size} coordinates")
    return np.array(values)


def equilibrium(arm: Dynamics, q: Floats) -> Floats:
    """The coordinates with the links bent as they are at rest while the drives hold their angles."""
    try:
        return rest(arm, q).q
    except NoEquilibriumError as error:
        raise ModelError(str(error)) from None
