"""All drives by name, and how files write them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from pliant.drives.callback import Callback
from pliant.drives.computed_torque import ComputedTorque
from pliant.drives.drive import Drive
from pliant.drives.feed_forward import FeedForward
from pliant.drives.given import GivenTorque
from pliant.drives.lqr import LQR
from pliant.drives.pid import PID
from pliant.drives.prescribed import PrescribedMotion
from pliant.model.element import Element
from pliant.model.tagged import OneOf

DRIVES = OneOf("drive", GivenTorque, PID, ComputedTorque, FeedForward, LQR, PrescribedMotion, Callback)
"""The kinds of drives that studies know; ``register`` adds one."""


def register(kind: type[Drive]) -> type[Drive]:
    """Let studies know a further kind of drive by its ``kind``; also as a decorator of its class."""
    return DRIVES.register(kind)


def _as_drive(value: Any) -> Any:
    """A bare function is a control law."""
    return Callback(function=value) if callable(value) and not isinstance(value, type | Element) else value


AnyDrive = Annotated[Drive, DRIVES, BeforeValidator(_as_drive)]
