"""What the full nonlinear model says of a motion that was found for a path."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pliant.results.result import Result

Floats = NDArray[np.float64]
Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Confirmation(ABC, Generic[Found]):
    """A motion on the full nonlinear model.

    run        the motion, perhaps corrected or on finer knots
    result     its simulation
    distances  of the frames from their path (N,), m
    rounds     corrections, or halvings of the knots, because the full model did not agree
    """

    run: Found
    result: Result
    distances: Floats
    rounds: int

    @property
    def distance(self) -> float:
        """m: the largest."""
        return float(self.distances.max())
