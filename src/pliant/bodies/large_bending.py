"""What a beam does beyond small deflections, kept beside the constants of its linear body."""

from __future__ import annotations

from typing import Any, Protocol, Self

from pliant.bodies.modal_body import Array
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.terms import Body


class LargeBending(Protocol):
    """A kind of bending that is not linear: a Foreshortening or a Rod."""

    def reframed(self, R: Array, p: Array) -> Self:
        """In a frame where a point at r is at R r + p."""
        ...

    def with_rigid(self, mass: float, com: Array, inertia: Array) -> Self:
        """With a rigid part welded to the body's own frame; ``inertia`` about its centre of mass."""
        ...

    def with_point(self, mass: float, frame: str, position: Array) -> Self | None:
        """With a point mass at a frame, which is at a position; None where it needs a link of its own."""
        ...

    def terms(self, linear: ModalTerms) -> Body:
        """The terms of the body, from those of the linear one; both may hold arrays in the place of nested lists."""
        ...

    def section(self, frame: str, linear: ModalSection) -> Any:
        """What these terms need to know of a frame, from what the linear ones do."""
        ...
