"""Motors that are off."""

from __future__ import annotations

from pliant.drives.given import GivenLaw


class NoDrive(GivenLaw):
    """All motors off: no effort at any time."""

    def __init__(self, inputs: int) -> None:
        self.channels = inputs
