"""Beams of second-order bending in symbols: what the displacement q^T Gamma q / 2 adds to a body and to its frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pliant.bodies.foreshortening import Foreshortening
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.reframe import add_part
from pliant.bodies.shortening_fields import WIDENED
from pliant.formulations.lagrange.bodies import FlexibleInertia, LinkNames, Matrix, flexible_inertia, index_of, mirrored
from pliant.formulations.lagrange.names import AXES
from pliant.formulations.lagrange.series import Series, Vector, add, inner, times
from pliant.mechanism import Member, Part

if TYPE_CHECKING:
    from pliant.model.description.links import Link


@dataclass(frozen=True, slots=True)
class ShortenedInertia:
    """A beam whose axis does not stretch: a linear body with n + k modes, the last of which move by forms of the first.

    linear  its integrals
    forms   F of p = q^T F q / 2   k x n x n
    """

    linear: FlexibleInertia
    forms: list[Matrix]


def with_points(member: Member) -> tuple[ModalBody, list[Part]]:
    """The body of a link with the point masses that its second-order integrals count among its own; the other parts."""
    body, rest = member.body, list[Part]()
    for part in member.parts:
        merged = add_part(body, part.frame, part.mass, part.com, part.inertia) if body.moves(part.frame) else None
        if merged is None:
            rest.append(part)
        else:
            body = merged
    return body, rest


def shortened_frame(
    own: LinkNames, frame: str, Gamma: Array, q: Vector, r: list[Series], shapes: list[list[Series]]
) -> tuple[list[Series], list[list[Series]]]:
    """Place and displacement shapes of a frame with q^T Gamma q / 2 and its gradient Gamma q."""
    forms = symmetric_forms(
        own, "Gam", r"\Gamma", [f"{frame} {axis}" for axis in AXES], Gamma, f"shortening at frame '{frame}'"
    )
    rows = [times(form, q) for form in forms]
    moved = [[x + rows[d][k] for d, x in enumerate(shape)] for k, shape in enumerate(shapes)]
    return add(r, [inner(row, q) * 0.5 for row in rows]), moved


def shortened_inertia(body: ModalBody, back: Foreshortening, link: Link, own: LinkNames) -> ShortenedInertia:
    """The inertia of a beam whose axis does not stretch."""
    arrays, forms = back.widened({name: getattr(body, name) for name in WIDENED})
    marks = tuple(f"s{j + 1}" for j in range(len(forms)))
    wide = replace(body, names=(*body.names, *marks), **arrays)  # type: ignore[arg-type]
    linear = flexible_inertia(wide, link, replace(own, marks=(*own.marks, *marks)))
    return ShortenedInertia(linear, symmetric_forms(own, "F", "F", marks, forms, "form of the shortening"))


def symmetric_forms(
    own: LinkNames, letter: str, latex: str, indices: Sequence[str], values: Array, text: str
) -> list[Matrix]:
    """Quadratic forms (d, n, n) of the elastic coordinates, 1/m."""

    def form(d: int) -> Matrix:
        def entry(i: int, k: int) -> Series:
            index = f"{indices[d]} {index_of(own, i)} {index_of(own, k)}"
            return own.constant(letter, latex, index, values[d, i, k], "1/m", text, "modal")

        return mirrored(values.shape[1], entry)

    return [form(d) for d in range(len(values))]
