"""A body's constants seen from another frame that is fixed to it, and rigid parts added to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pliant.bodies.modal_body import Array, Attachment, ModalBody, hat


def reframe(body: ModalBody, R: Array, p: Array) -> ModalBody:
    """The body in a frame D: a point at r in B is at R r + p in D. Elastic coordinates stay the same."""
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
        frames={
            name: Attachment(R @ a.position + p, R @ a.rotation, R @ a.Phi_d, R @ a.Phi_r)
            for name, a in body.frames.items()
        },
    )


def add_rigid(body: ModalBody, mass: float, com: Array, inertia: Array) -> ModalBody:
    """Weld a rigid part to a body's own frame; ``inertia`` about the part's centre of mass."""
    part = ModalBody.rigid(mass, com, inertia)
    return replace(body, mass=body.mass + mass, first=body.first + part.first, I_rr=body.I_rr + part.I_rr)


def add_point(body: ModalBody, mass: float, at: Attachment) -> ModalBody:
    """Fix a point mass to an attachment frame: exact, because its displacement is linear in q_e."""
    return body.with_mass_points(np.array([mass]), at.position[None], at.Phi_d[None])
