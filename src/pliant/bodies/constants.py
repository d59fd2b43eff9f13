"""From the arrays of a body to the nested lists that its terms read."""

from __future__ import annotations

import numpy as np

from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.rounding import clean, listed


def terms_of(body: ModalBody, rule: str) -> ModalTerms:
    """The terms of a body whose sections turn by a rule."""
    arrays = [name for name in ModalTerms._fields if name not in ("section_axes", "rule")]
    values = {name: listed(getattr(body, name)) for name in arrays}
    return ModalTerms(**values, section_axes=clean(body.section_axes), rule=rule)


def section_of(body: ModalBody, frame: str, rule: str) -> ModalSection:
    """A frame of a body, without its fixed rotation; the order of ``xyz`` is that of the link's own axes."""
    at = body.frames[frame]
    axes, Phi_r = (body.section_axes, body.section_axes.T @ at.Phi_r) if rule == "xyz" else (np.eye(3), at.Phi_r)
    return ModalSection(clean(at.position), at.Phi_d.tolist(), Phi_r.tolist(), clean(axes), rule)


def fixed_section(position: Array, size: int, rule: str) -> ModalSection:
    """A place that no elastic coordinate moves, on a body with so many of them."""
    nothing = np.zeros((3, size)).tolist()
    return ModalSection(clean(position), nothing, np.zeros((3, size)).tolist(), np.eye(3).tolist(), rule)


def embedded(section: ModalSection, R: Array, p: Array, first: int, size: int) -> ModalSection:
    """The section of a body that became part of a larger one: placed there by R, p, its coordinates from ``first``."""
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
