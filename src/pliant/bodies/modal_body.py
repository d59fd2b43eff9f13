"""The constant data of one link: all that the dynamics may know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pliant.bodies.large_bending import LargeBending

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
        """The same frame in the coordinates p of q_e = V p."""
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
