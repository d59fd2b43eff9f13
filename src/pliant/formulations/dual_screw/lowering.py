"""From the neutral mechanism to the linearised links: the skeleton of the recursions, everything elastic expanded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pliant.bodies.constants import GROUND, terms_of
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.terms import Body
from pliant.formulations.dual_screw.constants import DualConstants, DualLink, LinearBody
from pliant.formulations.dual_screw.expansion import expand_body, expand_seat
from pliant.formulations.recursive.lowering import lower as lower_tree
from pliant.formulations.recursive.tree import Tree
from pliant.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class DualTree:
    """Linearised links, parents first, and gravity.

    printed  whether angular velocities of sections are theta_dot and section inertia does not turn, as in the paper
    """

    links: tuple[DualLink, ...]
    gravity: Array
    printed: bool

    @cached_property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(link.kind.coordinates for link in self.links)

    @cached_property
    def constants(self) -> list[DualConstants]:
        """Of all links."""
        return [link.constants for link in self.links]


def lower(mechanism: Mechanism, *, printed: bool = False) -> DualTree:
    """The linearised tree of a mechanism; closures are not part of it."""
    return expand(lower_tree(mechanism), printed=printed)


def expand(tree: Tree, *, printed: bool = False) -> DualTree:
    """First-order expansion of every link of a tree."""
    terms: list[Body] = [link.constants.body for link in tree.links]
    links = []
    for i, link in enumerate(tree.links):
        parent: Body = GROUND if link.parent < 0 else terms[link.parent]
        size = 0 if link.parent < 0 else tree.links[link.parent].kind.size
        seat = expand_seat(link.seat, parent, size)
        body = printed_body(link.body, link.rule) if printed else expand_body(terms[i], link.kind.size)
        if printed:
            seat = seat._replace(turn=np.zeros((3, 3, 3)).tolist())
        constants = DualConstants(seat, link.drive, body)
        links.append(DualLink(link.name, link.parent, link.kind, constants, link.start))
    return DualTree(tuple(links), np.array(tree.gravity, dtype=float), printed)


def printed_body(body: ModalBody, rule: str) -> LinearBody:
    """A body whose section inertia keeps the axes of the link, as the inertia matrix (107) has it."""
    n = body.size
    bare = replace(body, section_inertia=np.zeros((0, 3)), section_turn=np.zeros((0, 3, n)))
    linear = expand_body(terms_of(bare, rule), n)
    if not len(body.section_inertia):
        return linear
    P = body.section_axes
    # J a + w x J w of every section with w = w_0 + phi v: J is constant in link axes, (104)
    J = np.einsum("ab,sb,cb->sac", P, body.section_inertia, P)
    phi = np.einsum("ab,sbk->sak", P, body.section_turn)
    Jphi = np.einsum("sab,sbk->sak", J, phi)
    hat = _hats()
    # w x (J phi_k) + phi_k x J w + J (w x phi_k), as matrices on w
    G = (
        -np.einsum("abc,sck->kab", hat_columns(hat), Jphi)
        + np.einsum("sck,cab,sbd->kad", phi, hat, J)
        - np.einsum("sab,sck,cbd->kad", J, phi, hat)
    )
    # phi_k . (w x J w) = -w^T N w
    N = -np.einsum("sck,dab,sbe,ca->kde", phi, hat, J, np.eye(3))
    changes = {
        "C0": J.sum(axis=0),
        "E_w0": Jphi.sum(axis=0),
        "M_e0": np.einsum("sak,sai->ki", phi, Jphi),
        "G": G,
        "N0": 0.5 * (N + np.swapaxes(N, 1, 2)),
        "L": np.einsum("sak,sab,i->ik", phi, J, np.zeros(n))[..., None] * np.zeros(3),
    }
    # phi_k . (G_i w), section by section
    each = (
        -np.einsum("abc,sci->siab", hat_columns(hat), Jphi)
        + np.einsum("sci,cab,sbd->siad", phi, hat, J)
        - np.einsum("sab,sci,cbd->siad", J, phi, hat)
    )
    changes["L"] = np.einsum("sak,siab->ikb", phi, each)
    sums = {name: (np.array(getattr(linear, name)) + value).tolist() for name, value in changes.items()}
    return linear._replace(**sums)


def _hats() -> Array:
    """hat[c] = e_c~, so that a~ = sum_c a_c hat[c]."""
    out = np.zeros((3, 3, 3))
    for c, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[c, a, b], out[c, b, a] = -1.0, 1.0
    return out


def hat_columns(hat: Array) -> Array:
    """[a, b, c] of a~ seen as a matrix on another factor: (x~)_ab = sum_c x_c out[a, b, c]."""
    return np.moveaxis(hat, 0, 2)
