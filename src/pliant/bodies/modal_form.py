"""Flexible links of any kind as modal data, for what knows links by their constants alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.bodies.build import build_body
from pliant.bodies.foreshortening import Foreshortening
from pliant.bodies.modal_body import Array, Attachment, ModalBody
from pliant.errors import ModelError, Problem, did_you_mean
from pliant.model.description.modal import ModalData, ModalFrame
from pliant.model.description.robot import Robot


def link_modal(robot: Robot, name: str) -> ModalData:
    """A flexible link of any kind as modal data; raises ModelError where it has no such form."""
    names = [link.name for link in robot.links]
    if name not in names:
        raise ModelError(f"robot '{robot.name}' has no link '{name}'{did_you_mean(name, names) or ''}")
    link = robot.link(name)
    if not link.is_flexible:
        raise ModelError(Problem(f"link '{name}'", "does not bend; only flexible links are written"))
    if link.modal is not None:
        return link.modal
    body = build_body(link, robot)
    if body.large is not None and not isinstance(body.large, Foreshortening):
        raise ModelError(
            Problem(f"link '{name}'", "bends exactly, which no such format knows; write bending: second-order for it")
        )
    return _of_body(body, link.length)


def _of_body(body: ModalBody, length: float) -> ModalData:
    """The constants of a body; sections that turn are counted with their linear turns."""
    P = body.section_axes
    discs, turn = body.section_inertia, body.section_turn
    I_rr = body.I_rr + (P * discs.sum(axis=0)) @ P.T
    beta = body.beta + P @ np.einsum("sa,sak->ak", discs, turn) if len(discs) else body.beta
    large = body.large if isinstance(body.large, Foreshortening) else None
    more: dict[str, Any] = {} if large is None else {"Gamma_first": large.first, "Gamma_second": large.second}
    plain = {key: getattr(body, key) for key in ("first", "first_modal", "lam", "I_re", "I_ee", "K_ee", "D_ee")}
    return ModalData(
        names=body.names, mass=body.mass, length=length, I_rr=I_rr, beta=beta, M_ee=body.straight_mass, **plain, **more,
        frames={name: _frame(name, at, large) for name, at in body.frames.items() if name != "root"},
    )  # fmt: skip


def _frame(name: str, at: Attachment, large: Foreshortening | None) -> ModalFrame:
    keys: dict[str, Any] = {"position": tuple(at.position.tolist()), "Phi_d": at.Phi_d, "Phi_r": at.Phi_r}
    if np.abs(at.rotation - np.eye(3)).max() > 1e-12:
        keys["rotation"] = {"matrix": at.rotation.tolist()}
    if large is not None:
        keys["Gamma"] = large.frames[name] + _lever(at)
        if name in large.turns:
            keys["Gamma_r"] = large.turns[name]
    return ModalFrame(**keys)


def _lever(at: Attachment) -> Array:
    """What a turning lever adds to second order: theta_i x (theta_j x offset), symmetric in i and j."""
    T, o = at.Phi_r, at.offset
    dots = np.einsum("ai,bj,b->aij", T, T, o)
    return np.asarray((dots + dots.swapaxes(1, 2)) / 2 - np.einsum("ij,a->aij", T.T @ T, o))
