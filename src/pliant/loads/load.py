"""What a load is: its keys before the robot is known, and its law once it is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.laws import Floats, Law, flattened
from pliant.model.element import Element
from pliant.spatial.vectors import Vector


class Load(Law):
    """The law of a load on a known robot: its efforts are generalised forces (n,).

    prefix  beginning of the names of its states in results
    frames  those on which it acts with forces and moments that results know
    kinks   what of it is not smooth, in words
    fastest rate at which its own states may die away somewhere, 1/s; zero: as fast as they do at the start
    touched what of it a motion may touch, in words; empty: nothing
    """

    prefix: ClassVar[str] = "load."
    frames: tuple[str, ...] = ()
    kinks: tuple[str, ...] = ()
    fastest: float = 0.0
    touched: ClassVar[str] = ""

    def acts(self, start: float, end: float) -> bool:
        """Whether it does anything in an interval between breaks."""
        return True

    def rate(self, q: Floats, mobility: Callable[[Floats], float]) -> float:
        """How fast the robot rings on what of it is touched, rad/s.

        mobility  of generalised forces f (n,): acceleration along them, f^T M^-1 f
        """
        return 0.0

    def touches(self, q: Floats) -> NDArray[np.bool_]:
        """Whether it is touched at positions (rows, n), of each row."""
        return np.zeros(len(q), dtype=bool)

    def wrenches(self, q: Floats, v: Floats, z: Floats, signals: Floats) -> Floats:
        """Forces and moments on its frames at several instants, base axes (times, 6 frames)."""
        return np.zeros((len(q), 6 * len(self.frames)))

    def law(self, q: Vector, v: Vector, r: Vector, gains: Vector) -> Vector:
        """Generalised forces (n,), rates of its states, powers lost and supplied; r are signals, then own states."""
        return flattened(self.efforts(q, v, list(r[self.channels :]), list(r[: self.channels]), gains), v)


class LoadElement(Element):
    """A force that no motor makes, before the robot is known; a study lists those of registered kinds under loads."""

    kind: ClassVar[str]

    @abstractmethod
    def bind(self, arm: Dynamics) -> Load:
        """The load of a robot."""
