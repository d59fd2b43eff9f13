"""The constant data of one link: all that the dynamics may know of it; changes of its frame, parts added to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.terms import Body

Array = NDArray[np.float64]

EPSILON = np.zeros((3, 3, 3))
EPSILON[(0, 1, 2), (1, 2, 0), (2, 0, 1)], EPSILON[(0, 2, 1), (2, 1, 0), (1, 0, 2)] = 1.0, -1.0
_HAT = -EPSILON.reshape(3, 9)
_UNIT = np.eye(3)
# of the nine entries int a^p b^q dm to the sums below
_CROSS = EPSILON.reshape(3, 9).T
_TENSOR = (_UNIT.reshape(9, 1) * _UNIT.reshape(1, 9)) - np.einsum("pc,qr->pqrc", _UNIT, _UNIT).reshape(9, 9)


def hat(a: Array) -> Array:
    """Cross-product matrices: ``hat(a) @ b == cross(a, b)``; works on arrays (..., 3)."""
    a = np.asarray(a, dtype=float)
    return np.asarray((a @ _HAT).reshape(*a.shape[:-1], 3, 3))


def steiner(mass: float, com: Array) -> Array:
    """Inertia (3, 3) about the origin of a mass at com."""
    return np.asarray(mass * (com @ com * _UNIT - com[:, None] * com))


def dot_moments(S: Array) -> Array:
    """int a . b dm (...) of second moments int a b^T dm (..., 3, 3)."""
    return np.asarray(S[..., 0, 0] + S[..., 1, 1] + S[..., 2, 2])


def cross_moments(S: Array) -> Array:
    """int a x b dm (..., 3) of the same."""
    return np.asarray(S.reshape(*S.shape[:-2], 9) @ _CROSS)


def tensor_moments(S: Array) -> Array:
    """int a~^T b~ dm = (int a . b dm) 1 - int b a^T dm (..., 3, 3) of the same."""
    return np.asarray((S.reshape(*S.shape[:-2], 9) @ _TENSOR).reshape(S.shape))


@dataclass(frozen=True, slots=True)
class Attachment:
    """A frame A fixed to one material section of a link, seen from the link frame B.

    point     p_BS        m    (3,)    of the section, in the undeformed link
    rotation  R_BA        -    (3, 3)  of the frame in the undeformed link
    slides    dp_BS/dq_e  m    (3, n)  displacement shapes of the point, in B
    Phi_r     dtheta/dq_e rad  (3, n)  rotation shapes, in B: the section turns by rot(Phi_r q_e)
    offset    p_SA        m    (3,)    lever from the point to the frame, in B; it turns with the section
    """

    point: Array
    rotation: Array
    slides: Array
    Phi_r: Array
    offset: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def has_lever(self) -> bool:
        """Whether the frame stands beside the point of its section."""
        return bool(np.count_nonzero(self.offset))

    @property
    def position(self) -> Array:
        """p_BA (3,): the frame in the undeformed link."""
        return self.point + self.offset if self.has_lever else self.point

    @property
    def Phi_d(self) -> Array:
        """Displacement shapes of the frame (3, n), for small turns of its lever: slides + Phi_r x offset."""
        return self.slides - hat(self.offset) @ self.Phi_r if self.has_lever else self.slides

    def combined(self, V: Array) -> Attachment:
        """The frame in the coordinates p of q_e = V p."""
        return Attachment(self.point, self.rotation, self.slides @ V, self.Phi_r @ V, self.offset)


@dataclass(frozen=True, slots=True)
class ModalBody:
    """Everything the dynamics may know of one link, in its own frame B (n elastic coordinates).

    The names follow the appendix of Briot & Khalil with the corrections of their (57) and (67).

    mass         m                          kg        ()
    first        int r dm                   kg m      (3,)
    first_modal  int phi_k dm               kg        (3, n)
    beta         int r x phi_k dm           kg m      (3, n)
    lam          int phi_k x phi_i dm       kg        (n, n, 3)     first index k, second i
    I_rr         int r~^T r~ dm             kg m^2    (3, 3)
    I_re         int r~^T phi_k~ dm         kg m      (n, 3, 3)
    I_ee         int phi_i~^T phi_k~ dm     kg        (n, n, 3, 3)
    M_ee         int phi_i . phi_k dm       kg        (n, n)
    K_ee         stiffness                  N/m       (n, n)
    D_ee         damping                    N s/m     (n, n)

    Sections that turn exactly (rather than through the integrals above, which take their rotation as linear in q_e)
    are discs at stations along the beam, about the axes of the link's own frame:

    section_inertia  rho (J, Iy, Iz) dx     kg m^2    (s, 3)
    section_turn     dtheta/dq_e            rad       (s, 3, n)
    section_axes     R from the link's frame to this  (3, 3)

    What the body does beyond small deflections is ``large``; all other constants are those of small ones.

    The units are those of a coordinate in metres; a coordinate in radians scales them.
    """

    names: tuple[str, ...]
    mass: float
    first: Array
    first_modal: Array
    beta: Array
    lam: Array
    I_rr: Array
    I_re: Array
    I_ee: Array
    M_ee: Array
    K_ee: Array
    D_ee: Array
    frames: Mapping[str, Attachment] = field(default_factory=dict)
    section_inertia: Array = field(default_factory=lambda: np.zeros((0, 3)))
    section_turn: Array = field(default_factory=lambda: np.zeros((0, 3, 0)))
    section_axes: Array = field(default_factory=lambda: np.eye(3))
    large: LargeBending | None = None

    @property
    def size(self) -> int:
        """Number of elastic coordinates."""
        return len(self.names)

    @property
    def straight_mass(self) -> Array:
        """Mass matrix of the elastic coordinates of the undeformed body, turning sections included."""
        turn = self.section_turn
        return self.M_ee + np.einsum("sa,sai,sak->ik", self.section_inertia, turn, turn) if len(turn) else self.M_ee

    def without_discs(self) -> ModalBody:
        """The body without its sections that turn exactly."""
        if not len(self.section_inertia):
            return self
        none = {"section_inertia": np.zeros((0, 3)), "section_turn": np.zeros((0, 3, self.size))}
        return replace(self, **none)  # type: ignore[arg-type]

    def moves(self, frame: str) -> bool:
        """Whether elastic coordinates move or turn a frame."""
        at = self.frames[frame]
        return bool(np.count_nonzero(at.Phi_d) or np.count_nonzero(at.Phi_r))

    def turn_of(self, frame: str, axis: Array) -> Array:
        """Turn of a frame about an axis per unit of the elastic coordinates (n,), for small ones."""
        at = self.frames.get(frame)
        return np.zeros(self.size) if at is None else axis @ at.Phi_r

    @classmethod
    def rigid(
        cls, mass: float, com: Array, inertia: Array, frames: Mapping[str, Attachment] | None = None
    ) -> ModalBody:
        """A body without elastic coordinates; ``inertia`` is about the centre of mass, in B's axes."""
        com = np.asarray(com, dtype=float)
        return cls.from_integrals(
            names=(),
            mass=mass,
            first=mass * com,
            I_rr=np.asarray(inertia, dtype=float) + steiner(mass, com),
            frames=frames or {},
        )

    @classmethod
    def from_integrals(
        cls,
        *,
        names: tuple[str, ...],
        mass: float,
        first: Array,
        I_rr: Array,
        frames: Mapping[str, Attachment],
        **modal: Array,
    ) -> ModalBody:
        """Build a body from the integrals that are not zero; the others get zeros of the right shape."""
        n = len(names)
        shapes: dict[str, tuple[int, ...]] = {
            "first_modal": (3, n),
            "beta": (3, n),
            "lam": (n, n, 3),
            "I_re": (n, 3, 3),
            "I_ee": (n, n, 3, 3),
            "M_ee": (n, n),
            "K_ee": (n, n),
            "D_ee": (n, n),
            "section_turn": (0, 3, n),
        }
        filled = {
            key: np.asarray(modal[key], dtype=float) if key in modal else np.zeros(shape)
            for key, shape in shapes.items()
        }
        return cls(names=names, mass=float(mass), first=first, I_rr=I_rr, frames=frames, large=None, **filled)

    def with_mass_points(self, masses: Array, r: Array, phi: Array) -> ModalBody:
        """Add material points: masses (p,), positions r (p, 3) and their shapes phi (p, 3, n)."""
        added = point_integrals(masses, r, phi)
        return replace(self, **{key: getattr(self, key) + value for key, value in added.items()})


def point_integrals(masses: Array, r: Array, phi: Array) -> dict[str, Array]:
    """The inertia integrals of a cloud of material points: the definition, and the oracle of the tests."""
    r_hat, phi_hat = hat(r), hat(np.moveaxis(phi, 2, 1))  # (p,3,3), (p,n,3,3)
    return {
        "mass": masses.sum(),
        "first": masses @ r,
        "first_modal": np.einsum("p,pdk->dk", masses, phi),
        "beta": np.einsum("p,pab,pbk->ak", masses, r_hat, phi),
        "lam": np.einsum("p,pkab,pbi->kia", masses, phi_hat, phi),
        "I_rr": np.einsum("p,pba,pbc->ac", masses, r_hat, r_hat),
        "I_re": np.einsum("p,pba,pkbc->kac", masses, r_hat, phi_hat),
        "I_ee": np.einsum("p,piba,pkbc->ikac", masses, phi_hat, phi_hat),
        "M_ee": np.einsum("p,pdi,pdk->ik", masses, phi, phi),
    }


# ---------------------------------------------------------------- what a beam does beyond small deflections, kept besid


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


# ---------------------------------------------------------------- a body's constants seen from another frame that is fi


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
