"""A body's constants seen from another frame that is fixed to it; rigid parts and whole bodies added to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pliant.bodies.modal_body import Array, Attachment, ModalBody, hat, steiner

IDENTITY = np.eye(3)


def reframe(body: ModalBody, R: Array, p: Array) -> ModalBody:
    """The body in a frame D: a point at r in B is at R r + p in D. Elastic coordinates stay the same."""
    if is_same_frame(R, p):
        return body
    first, first_modal = R @ body.first, R @ body.first_modal
    p_hat, first_hat = hat(p), hat(first)
    cross_term = p_hat.T @ first_hat
    return replace(
        body,
        first=first + body.mass * p,
        first_modal=first_modal,
        beta=R @ body.beta + p_hat @ first_modal,
        lam=body.lam @ R.T,
        I_rr=R @ body.I_rr @ R.T + cross_term + cross_term.T + body.mass * p_hat.T @ p_hat,
        I_re=R @ body.I_re @ R.T + p_hat.T @ hat(first_modal.T),
        I_ee=R @ body.I_ee @ R.T,
        section_axes=R @ body.section_axes,
        large=None if body.large is None else body.large.reframed(R, p),
        frames={
            name: Attachment(R @ a.point + p, R @ a.rotation, R @ a.slides, R @ a.Phi_r, R @ a.offset)
            for name, a in body.frames.items()
        },
    )


def is_same_frame(R: Array, p: Array) -> bool:
    """Whether a frame that is placed by R, p in another one is that frame."""
    return not np.count_nonzero(p) and not np.count_nonzero(R != IDENTITY)


def add_part(body: ModalBody, frame: str, mass: float, com: Array, inertia: Array) -> ModalBody | None:
    """Weld a rigid part to a frame of a body, ``com`` and ``inertia`` in its axes; None: it needs a link of its own.

    Constants can tell of parts that do not move relative to the body's own frame, and of point masses that are not on
    levers.
    """
    at = body.frames[frame]
    if not body.moves(frame):
        return add_rigid(body, mass, at.position + at.rotation @ com, at.rotation @ inertia @ at.rotation.T)
    if np.count_nonzero(com) or np.count_nonzero(inertia) or at.has_lever:
        return None
    large = None if body.large is None else body.large.with_point(mass, frame, at.position)
    if body.large is not None and large is None:
        return None
    return replace(add_point(body, mass, at), large=large)


def add_rigid(body: ModalBody, mass: float, com: Array, inertia: Array) -> ModalBody:
    """Weld a rigid part to a body's own frame; ``inertia`` about the part's centre of mass."""
    large = None if body.large is None else body.large.with_rigid(mass, com, inertia)
    I_rr = body.I_rr + inertia + steiner(mass, com)
    return replace(body, mass=body.mass + mass, first=body.first + mass * com, I_rr=I_rr, large=large)


def add_point(body: ModalBody, mass: float, at: Attachment) -> ModalBody:
    """Fix a point mass to an attachment frame: exact, because its displacement is linear in q_e."""
    return body.with_mass_points(np.array([mass]), at.position[None], at.Phi_d[None])


def can_join(a: ModalBody, b: ModalBody) -> bool:
    """Whether constants can tell of two bodies as one: not where both have turning sections, nor of large bending."""
    return a.large is None and b.large is None and not (len(a.section_inertia) and len(b.section_inertia))


def joined(a: ModalBody, b: ModalBody) -> ModalBody:
    """Two bodies in the same frame as one; the elastic coordinates of b follow those of a."""
    n, m = a.size, b.size

    def stacked(x: Array, y: Array, axes: Sequence[int]) -> Array:
        """Block-diagonal along the axes of elastic coordinates."""
        out = np.zeros([n + m if k in axes else size for k, size in enumerate(x.shape)])
        for part, span in ((x, slice(0, n)), (y, slice(n, n + m))):
            out[tuple(span if k in axes else slice(None) for k in range(out.ndim))] = part
        return out

    sections, before = (a, 0) if len(a.section_inertia) else (b, n)
    turn = np.zeros((len(sections.section_inertia), 3, n + m))
    if len(turn):
        turn[:, :, before : before + sections.size] = sections.section_turn
    return ModalBody(
        names=a.names + b.names,
        mass=a.mass + b.mass,
        first=a.first + b.first,
        first_modal=stacked(a.first_modal, b.first_modal, (1,)),
        beta=stacked(a.beta, b.beta, (1,)),
        lam=stacked(a.lam, b.lam, (0, 1)),
        I_rr=a.I_rr + b.I_rr,
        I_re=stacked(a.I_re, b.I_re, (0,)),
        I_ee=stacked(a.I_ee, b.I_ee, (0, 1)),
        M_ee=stacked(a.M_ee, b.M_ee, (0, 1)),
        K_ee=stacked(a.K_ee, b.K_ee, (0, 1)),
        D_ee=stacked(a.D_ee, b.D_ee, (0, 1)),
        section_inertia=sections.section_inertia,
        section_turn=turn,
        section_axes=sections.section_axes,
    )
