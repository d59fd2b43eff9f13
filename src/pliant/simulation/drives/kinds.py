"""All drives, and how files write them."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from pliant.model.element import Element
from pliant.simulation.drives.callback import Callback
from pliant.simulation.drives.controllers import PID, ComputedTorque
from pliant.simulation.drives.drive import NO_RATES, Action, ActiveDrive
from pliant.simulation.drives.feed_forward import FeedForward
from pliant.simulation.drives.given import GivenTorque
from pliant.simulation.drives.prescribed import PrescribedMotion
from pliant.simulation.tagged import OneOf
from pliant.simulation.trajectories.path import Floats


def _as_drive(value: Any) -> Any:
    """A bare function is a control law."""
    return Callback(function=value) if callable(value) and not isinstance(value, type | Element) else value


AnyDrive = Annotated[
    GivenTorque | PID | ComputedTorque | FeedForward | PrescribedMotion | Callback,
    OneOf("drive", GivenTorque, PID, ComputedTorque, FeedForward, PrescribedMotion, Callback),
    BeforeValidator(_as_drive),
]


class NoDrive(ActiveDrive):
    """All motors off."""

    feedback = False

    def __init__(self, inputs: int) -> None:
        self.action = Action(np.zeros(inputs), NO_RATES)

    def act(self, t: float, q: Floats, v: Floats, x: Floats) -> Action:
        return self.action

    def efforts(self, times: Floats, q: Floats, v: Floats, x: Floats) -> Floats:
        return np.zeros((len(times), len(self.action.tau)))
