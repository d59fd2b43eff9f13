"""From the arrays of a body to the nested lists that its terms read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.bodies.foreshortening import Foreshortening
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.modal_terms import DenseColumn, DenseTerms, ModalSection, ModalTerms
from pliant.bodies.rod import Rod, rod_deflection
from pliant.bodies.terms import Body
from pliant.spatial.rounding import as_lists, clean, listed, rounded

ARRAYS = [name for name in ModalTerms._fields if name not in ("mass", "section_axes", "rule")]
UNIT = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
LOOPED_ABOVE = 5000
"""Numbers that couple two elastic coordinates of a body, up to which straight code compiles as fast as a loop."""


def terms_of(body: ModalBody, rule: str) -> Body:
    """The terms of a body; its sections turn by a rule as long as they are those of a linear one."""
    terms: Body = as_lists(terms_in_arrays(body, rule))
    return terms


def terms_in_arrays(body: ModalBody, rule: str) -> Any:
    """The terms of a body with arrays in the place of nested lists: numbers alone, with which nothing is computed."""
    if body.large is None and is_dense(body):
        return dense_terms(body, rule)
    linear = linear_terms(body, rule)
    return linear if body.large is None else body.large.terms(linear)


def is_dense(body: ModalBody) -> bool:
    """Whether so many coordinates act on each other that code for one of them in a loop is much shorter."""
    pairs = (body.lam, body.I_ee)
    return sum(map(np.size, pairs)) > LOOPED_ABOVE and sum(map(np.count_nonzero, map(rounded, pairs))) > LOOPED_ABOVE


def dense_terms(body: ModalBody, rule: str) -> DenseTerms:
    """The terms of a body for small deflections, coordinate by coordinate."""
    lam, I_ee = rounded(body.lam), rounded(body.I_ee)
    linear = linear_terms(replace(body, lam=np.zeros_like(lam), I_ee=np.zeros_like(I_ee)), rule)
    columns = zip(np.moveaxis(I_ee, 0, -1).tolist(), np.moveaxis(lam, 0, -1).tolist(), strict=True)
    return DenseTerms(linear, [DenseColumn(*each) for each in columns])


def linear_terms(body: ModalBody, rule: str) -> ModalTerms:
    """The terms of a body for small deflections."""
    arrays: dict[str, Any] = {name: getattr(body, name) for name in ARRAYS}
    return ModalTerms(mass=float(body.mass), **arrays, section_axes=clean(body.section_axes), rule=rule)


def section_of(body: ModalBody, frame: str, rule: str) -> Any:
    """The section of a frame of a body; the order of ``xyz`` is that of the link's own axes."""
    at = body.frames[frame]
    axes, Phi_r = UNIT, at.Phi_r
    if rule == "xyz":
        axes, Phi_r = clean(body.section_axes), body.section_axes.T @ at.Phi_r
    linear = ModalSection(clean(at.point), at.slides.tolist(), Phi_r.tolist(), axes, rule)
    return linear if body.large is None else body.large.section(frame, linear)


def offset_of(body: ModalBody, frame: str) -> list[float]:
    """From the point of a frame's section to the frame, turning with the section."""
    return clean(body.large.offset(frame) if isinstance(body.large, Rod) else body.frames[frame].offset)


def deflection(body: ModalBody, frame: str, q_e: Array) -> tuple[Array, Array]:
    """Displacement and rotation vector (..., 3) of a frame on the axis against where it is in the undeformed body."""
    at = body.frames[frame]
    if isinstance(body.large, Rod):
        return rod_deflection(body.large, frame, q_e)
    linear = q_e @ at.Phi_d.T
    turned = q_e @ at.Phi_r.T
    if not isinstance(body.large, Foreshortening):
        return np.asarray(linear), turned
    return linear + body.large.displacement(frame, q_e), turned + body.large.turn(frame, q_e)


def disc_sections(body: ModalBody, rule: str) -> list[tuple[ModalSection, Array]]:
    """The sections of a body that turn exactly, and their moments of inertia in its section axes; none has a place."""
    nothing: Array = np.zeros((3, body.size))
    axes, turns = (body.section_axes, body.section_turn)
    if rule != "xyz":
        # all other maps turn with their argument
        axes, turns = np.eye(3), np.einsum("ab,sbk->sak", axes, turns)
    return [
        (ModalSection([0.0] * 3, nothing.tolist(), listed(turn), clean(axes), rule), moments)
        for turn, moments in zip(turns, body.section_inertia, strict=True)
    ]


def fixed_section(position: Array, size: int, rule: str) -> ModalSection:
    """A place that no elastic coordinate moves, on a body with so many of them."""
    none = [[0.0] * size] * 3
    return ModalSection(clean(position), none, none, UNIT, rule)


def embedded(section: Any, R: Array, p: Array, first: int, size: int) -> Any:
    """The section of a body that became part of a larger one: placed there by R, p, its coordinates from ``first``."""
    if not isinstance(section, ModalSection):
        # bodies that bend far stay bodies of their own
        return section
    n = len(section.Phi_d[0])
    own = slice(first, first + n)
    Phi_d, Phi_r = np.zeros((3, size)), np.zeros((3, size))
    Phi_d[:, own] = R @ np.array(section.Phi_d, dtype=float).reshape(3, n)
    Phi_r[:, own] = np.array(section.Phi_r, dtype=float).reshape(3, n)
    axes: Array = R @ np.array(section.axes)
    if section.rule != "xyz" or not Phi_r.any():
        # all other maps turn with their argument
        axes, Phi_r = np.eye(3), axes @ Phi_r
    position = p + R @ np.array(section.position)
    # products with a rotation leave rounding beside zeros and ones
    return ModalSection(clean(position), clean(Phi_d), clean(Phi_r), clean(axes), section.rule)


GROUND = terms_of(ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3))), "exponential")
"""The base: it has places, and nothing else."""
