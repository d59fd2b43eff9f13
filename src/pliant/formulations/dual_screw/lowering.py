"""From the tree of links to the linearised one: the same frames and coordinates, everything elastic expanded."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from pliant.bodies.constants import GROUND, terms_of
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.terms import Body
from pliant.formulations.dual_screw.constants import DualConstants, DualLink, LinearBody
from pliant.formulations.dual_screw.expansion import expand_body, expand_seat
from pliant.mechanism import Mechanism, once
from pliant.tree.lowering import lower
from pliant.tree.tree import Tree, TreeLink


@once
def expand(mechanism: Mechanism, *, printed: bool = False) -> Tree:
    """First-order expansion of every link of a mechanism's tree, at rest and straight.

    printed  whether angular velocities of sections are theta_dot and section inertia does not turn, as in the paper
    """
    tree = lower(mechanism, discs=False)
    bodies = regrouped(tree)
    terms: list[Body] = [terms_of(body, link.rule) for body, link in zip(bodies, tree.links, strict=True)]
    links: list[TreeLink] = []
    for i, link in enumerate(tree.links):
        parent: Body = GROUND if link.parent < 0 else terms[link.parent]
        size = 0 if link.parent < 0 else tree.links[link.parent].kind.size
        seat = expand_seat(link.seat, parent, size)
        body = printed_body(bodies[i], link.rule) if printed else expand_body(terms[i], link.kind.size)
        if printed:
            seat = seat._replace(turn=np.zeros((3, 3, 3)).tolist())
        given = {each.name: getattr(link, each.name) for each in fields(link)}
        links.append(
            DualLink(
                **given, expanded=DualConstants(seat, link.drive, list(link.parameters), body, link.constants.drag)
            )
        )
    return replace(tree, links=tuple(links))


def regrouped(tree: Tree) -> list[ModalBody]:
    """The bodies with the mass of each link, and of all that it carries, moved to the section that it sits on.

    A point mass there moves as one at the link's origin, which is the same point: the equations stay the same, and
    links without mass need fewer operations. It must not move on if the origin slides or swings on the section.
    """
    bodies = [link.body for link in tree.links]
    for i, link in reversed(list(enumerate(tree.links))):
        # bodies that bend far keep their own mass, and their sections move on curves
        far = [bodies[k].large is not None for k in (i, link.parent) if k >= 0]
        if (link.kind.held and not _turns_alone(link)) or any(link.seat.offset) or any(far):
            continue
        if link.parent >= 0:
            section = link.seat.section
            place, shapes = np.array([section.position]), np.array([section.Phi_d]).reshape(1, 3, -1)
            mass = np.array([bodies[i].mass])
            bodies[link.parent] = bodies[link.parent].with_mass_points(mass, place, shapes)
        # on the base it rests
        bodies[i] = replace(bodies[i], mass=0.0)
    return bodies


def _turns_alone(link: TreeLink) -> bool:
    """Whether a link's origin rests on its seat."""
    screw = link.kind.joint.screw(link.parameters)
    return screw is not None and not screw[1]


def printed_body(body: ModalBody, rule: str) -> LinearBody:
    """A body whose section inertia keeps the axes of the link, as the inertia matrix (107) has it."""
    n = body.size
    linear = expand_body(terms_of(body.without_discs(), rule), n)
    if not len(body.section_inertia):
        return linear
    P = body.section_axes
    # J a + w x J w of every section with w = w_0 + phi v: J is constant in link axes, (104)
    J = np.einsum("ab,sb,cb->sac", P, body.section_inertia, P)
    phi = np.einsum("ab,sbk->sak", P, body.section_turn)
    Jphi = np.einsum("sab,sbk->sak", J, phi)
    # w x (J phi_k) + phi_k x J w + J (w x phi_k), as a matrix on w
    hat = _hats()
    each = (
        -np.einsum("sck,cab->skab", Jphi, hat)
        + np.einsum("sck,cab,sbd->skad", phi, hat, J)
        - np.einsum("sab,sck,cbd->skad", J, phi, hat)
    )
    # phi_k . (w x J w) = -w^T N_k w
    N = np.einsum("sck,cde,sef->kdf", phi, hat, J)
    changes = {
        "C0": J.sum(axis=0),
        "E_w0": Jphi.sum(axis=0),
        "M_e0": np.einsum("sak,sai->ki", phi, Jphi),
        "G": each.sum(axis=0),
        "N0": 0.5 * (N + np.swapaxes(N, 1, 2)),
        "L": np.einsum("sak,siab->ikb", phi, each),
    }
    sums = {name: (np.array(getattr(linear, name)) + value).tolist() for name, value in changes.items()}
    return linear._replace(**sums)


def _hats() -> Array:
    """hat[c] = e_c~, so that a~ = sum_c a_c hat[c]."""
    out = np.zeros((3, 3, 3))
    for c, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[c, a, b], out[c, b, a] = -1.0, 1.0
    return out
