"""Elastic stops at the position limits of joints."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.laws import Action, Floats
from pliant.loads.load import Load
from pliant.model.element import Element
from pliant.model.units import NON_NEGATIVE, POSITIVE, Quantity
from pliant.spatial.scalars import Scalar, ramp
from pliant.spatial.vectors import Vector


class Stops(Element):
    """Elastic stops at the position limits of the joints.

    At the depth d behind a limit a stop pushes back with ``stiffness d (1 + loss d_dot)``, never pulling
    (Hunt & Crossley): the force has no jump at the touch, and ``loss`` is what a hard bounce loses.
    """

    stiffness: Annotated[float, Quantity("", POSITIVE)] = Field(default=1e4, description="of the stops, N m/rad or N/m")
    loss: Annotated[float, Quantity("", NON_NEGATIVE)] = Field(
        default=0.5, description="damping of the stops, s/rad or s/m"
    )

    def bind(self, arm: Dynamics) -> Load:
        """The stops of a robot; joints without position limits have none."""
        limits = arm.position_limits
        if not limits:
            raise ModelError(f"robot '{arm.robot.name}' has no joint with position limits, so it has no stops")
        return ElasticStops(limits, self.stiffness, self.loss)


class ElasticStops(Load):
    """Stops at limits of coordinates."""

    kinks = ("elastic stops",)
    touched: ClassVar[str] = "stop"

    def __init__(self, limits: dict[int, tuple[float, float]], stiffness: float, loss: float) -> None:
        self.limits = [(i, low, high) for i, (low, high) in limits.items()]
        self.stiffness, self.loss = stiffness, loss

    @property
    def gains(self) -> tuple[float, ...]:  # type: ignore[override]
        return (self.stiffness, self.loss, *(x for _, low, high in self.limits for x in (low, high)))

    @property
    def structure(self) -> Hashable:
        return "stops", tuple(i for i, _, _ in self.limits)

    def rate(self, q: Floats, mobility: Callable[[Floats], float]) -> float:
        """How fast the robot rings on the hardest stop that it may touch, rad/s."""
        pushed = (np.eye(1, len(q), i)[0] for i, _, _ in self.limits)
        return max(float(np.sqrt(self.stiffness * max(mobility(f), 0.0))) for f in pushed)

    def touches(self, q: Floats) -> NDArray[np.bool_]:
        out = np.zeros(len(q), dtype=bool)
        for i, low, high in self.limits:
            out |= (q[:, i] < low) | (q[:, i] > high)
        return out

    def efforts(self, q: Vector, v: Vector, z: Vector, signals: Vector, gains: Vector) -> Action:
        stiffness, loss, *bounds = gains
        out: Vector = [0.0] * len(q)
        stored: Scalar = 0.0
        lost: Scalar = 0.0
        for k, (i, _, _) in enumerate(self.limits):
            low, high = bounds[2 * k : 2 * k + 2]
            below, above = ramp(low - q[i]), ramp(q[i] - high)
            out[i] = ramp(stiffness * below * (1.0 - loss * v[i])) - ramp(stiffness * above * (1.0 + loss * v[i]))
            spring = stiffness * (below - above)
            stored = stored + 0.5 * stiffness * (below * below + above * above)
            # what the stop pushes besides its spring takes energy: it has the sign of the motion into the stop
            lost = lost + (spring - out[i]) * v[i]
        return Action(out, [], stored, lost, 0.0)
