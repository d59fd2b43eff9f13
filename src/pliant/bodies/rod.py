"""The constant data of a rod with strain modes: stations, moments of the strains between them, masses along it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.reframe import reframe
from pliant.bodies.rod_motion import RodStep
from pliant.bodies.rod_station import RodStation
from pliant.bodies.rod_terms import RodSection, RodTerms
from pliant.spatial.rounding import clean, listed
from pliant.spatial.vectors import Matrix

# moments of inertia that differ by less, of the largest, are equal
DISTINCT = 1e-12


@dataclass(frozen=True, slots=True)
class RodFrame:
    """A frame on the section at x.

    offset     from the axis to the frame, in the body's axes  m    (3,)
    turned     axes of the section in the undeformed rod       -    (3, 3)
    row        its position from the tangents                  m    (N,)
    before     number of stations before it
    moments    b0 and b1 from the last of these                rad  (2, 3, n)
    reference  the same of the undeformed curvature            rad  (2, 3)
    """

    x: float
    offset: Array
    turned: Array
    row: Array
    before: int
    moments: Array
    reference: Array

    @property
    def moves(self) -> bool:
        """Whether it is not at the root."""
        return self.x > 0.0


@dataclass(frozen=True, slots=True)
class RigidRoot:
    """Rigid parts at the root of a rod: mass (kg), first moment (kg m) and inertia (kg m^2) about the body's origin."""

    mass: float = 0.0
    first: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def with_part(self, mass: float, com: Array, inertia: Array) -> RigidRoot:
        """With a further part; ``inertia`` about its centre of mass."""
        part = ModalBody.rigid(mass, com, inertia)
        return RigidRoot(self.mass + part.mass, self.first + part.first, self.inertia + part.I_rr)

    def reframed(self, R: Array, p: Array) -> RigidRoot:
        """In a frame where a point at r is at R r + p."""
        part = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
        part = reframe(replace(part, mass=self.mass, first=self.first, I_rr=self.inertia), R, p)
        return RigidRoot(part.mass, part.first, part.I_rr)


@dataclass(frozen=True, slots=True)
class Rod:
    """Everything the dynamics may know of a rod beyond the linear beam (n elastic coordinates, N stations).

    x          stations                                  m        (N,)
    moments    b0 and b1 of the curvatures up to each    rad      (N, 2, 3, n)
    reference  those of the undeformed rod               rad      (N, 2, 3)
    strains    stretch at the stations                   -        (N, 3, n)
    masses     of points along the axis                  kg       (p,)
    rows       their positions from the tangents         m        (p, N)
    sections   rotary inertia of the stations            kg m^2   (N, 3)
    root       rigid parts there
    root_R, root_p   axes and origin of the root in the body

    The mass points are those of a fine quadrature rule, and added ones: their number costs nothing, see rod_terms.
    """

    x: Array
    moments: Array
    reference: Array
    strains: Array
    masses: Array
    rows: Array
    sections: Array
    frames: Mapping[str, RodFrame] = field(default_factory=dict)
    root: RigidRoot = field(default_factory=RigidRoot)
    root_R: Array = field(default_factory=lambda: np.eye(3))
    root_p: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def plane(self) -> str:
        """The one axis about which sections turn; empty if there are several."""
        turning = [k for k in range(3) if self.moments[:, :, k].any() or self.reference[:, :, k].any()]
        return "xyz"[turning[0]] if len(turning) == 1 else "" if turning else "z"

    def terms(self, linear: ModalTerms) -> RodTerms:
        """The terms of the rod; stiffness and damping are those of the linear beam."""
        return self.inertial_terms(linear.K_ee, linear.D_ee)

    def inertial_terms(self, K_ee: Matrix, D_ee: Matrix) -> RodTerms:
        """The terms with a given stiffness and damping."""
        gathered = np.cumsum if self.plane else _as_they_are
        moments, reference = gathered(self.moments, axis=0), gathered(self.reference, axis=0)
        G = mass_gram(self.masses, self.rows)
        return RodTerms(
            mass=self.root.mass + float(self.masses.sum()),
            first=listed(self.root.first),
            I_rr=listed(self.root.inertia),
            root_R=clean(self.root_R),
            root_p=clean(self.root_p),
            axis_mass=float(G[0, 0]),
            stations=[
                RodStation(_step(b, c), strain, masses, disc)
                for b, c, strain, masses, disc in zip(
                    moments, reference, _if_any(self.strains), G[1:].tolist(), _if_any(self._discs()), strict=True
                )
            ],
            K_ee=K_ee,
            D_ee=D_ee,
            plane=self.plane,
        )

    def _discs(self) -> Array:
        """J_x - J_z, J_y - J_z and J_z of every station; what only rounding tells apart is equal."""
        x, y, z = self.sections.T
        near = DISTINCT * np.abs(self.sections).max(axis=1)
        return np.stack([np.where(np.abs(d) > near, d, 0.0) for d in (x - z, y - z, z)], axis=1)

    def section(self, frame: str, linear: ModalSection) -> RodSection | ModalSection:
        """What the terms need to know of a frame: at the root, that it does not move."""
        at = self.frames[frame]
        return self.section_at(at) if at.moves else linear

    def section_at(self, at: RodFrame) -> RodSection:
        """The section of a frame."""
        if self.plane:
            moments = self.moments[: at.before].sum(axis=0) + at.moments
            step = _step(moments, self.reference[: at.before].sum(axis=0) + at.reference)
        else:
            step = _step(at.moments, at.reference)
        return RodSection(at.row.tolist(), step, str(at.before), clean(at.turned.T))

    def offset(self, frame: str) -> Array:
        """From the section's point to the frame, turning with it (3,)."""
        at = self.frames[frame]
        return at.offset if at.moves else np.zeros(3)

    def place(self, frame: str, q_e: Array) -> tuple[Array, Array]:
        """Where a frame is: position (..., 3) and axes (..., 3, 3) of its section, without any derivative.

        At the root it stays; axes are against those of the undeformed section.
        """
        at, lanes = self.frames[frame], q_e.shape[:-1]
        if not at.moves:
            return np.broadcast_to(self.root_p, (*lanes, 3)), np.broadcast_to(np.eye(3), (*lanes, 3, 3))
        positions, axes = self.sections_at([at], q_e)
        return positions[..., 0, :], axes[..., 0, :, :] @ at.turned.T

    def sections_at(self, frames: Sequence[RodFrame], q_e: Array) -> tuple[Array, Array]:
        """Positions (..., frames, 3) and axes (..., frames, 3, 3) of the sections of some frames."""
        from scipy.spatial.transform import Rotation

        b0, b1 = np.moveaxis(np.concatenate([self.moments, [at.moments for at in frames]]), 1, 0)
        c0, c1 = np.moveaxis(np.concatenate([self.reference, [at.reference for at in frames]]), 1, 0)
        u0, u1 = (np.einsum("jak,...k->...ja", b, q_e) + c for b, c in ((b0, c0), (b1, c1)))
        theta = u0 + np.cross(u0, u1)
        turns = Rotation.from_rotvec(theta.reshape(-1, 3)).as_matrix().reshape(*theta.shape, 3)
        axes = [np.broadcast_to(self.root_R, (*q_e.shape[:-1], 3, 3))]
        for j in range(len(self.x)):
            axes.append(axes[-1] @ turns[..., j, :, :])
        strain = np.einsum("jak,...k->...ja", self.strains, q_e) + np.eye(3)[0]
        tangents = np.einsum("...jab,...jb->...ja", np.stack(axes[1:], axis=-3), strain)
        R = np.stack([axes[at.before] for at in frames], axis=-3) @ turns[..., len(self.x) :, :, :]
        rows = np.stack([at.row for at in frames])
        return self.root_p + np.einsum("fj,...ja->...fa", rows, tangents), np.asarray(R)

    def reframed(self, R: Array, p: Array) -> Rod:
        """In a frame where a point at r is at R r + p."""
        frames = {
            name: replace(at, offset=R @ at.offset, turned=R @ at.turned) for name, at in self.frames.items()
        }  # fmt: skip
        return replace(
            self, root=self.root.reframed(R, p), root_R=R @ self.root_R, root_p=R @ self.root_p + p, frames=frames
        )

    def with_rigid(self, mass: float, com: Array, inertia: Array) -> Rod:
        """With a rigid part welded to the root; ``com`` in the body's frame, ``inertia`` about it."""
        return replace(self, root=self.root.with_part(mass, com, inertia))

    def with_point(self, mass: float, frame: str, position: Array) -> Rod | None:
        """With a point mass at a frame; None where it is not on the axis."""
        at = self.frames[frame]
        if at.offset.any():
            return None
        return replace(self, masses=np.append(self.masses, mass), rows=np.vstack([self.rows, at.row]))


def mass_gram(masses: Array, rows: Array) -> Array:
    """[1, S]^T diag(m) [1, S], symmetric to the last digit."""
    fields = np.hstack([np.ones((len(masses), 1)), rows])
    G = fields.T @ (masses[:, None] * fields)
    return np.asarray((G + G.T) / 2)


def _as_they_are(a: Array, axis: int) -> Array:
    return a


def _if_any(arrays: Array) -> list[Any]:
    """An array of each station, or none where all of them are zero."""
    return arrays.tolist() if arrays.any() else [[]] * len(arrays)


def _step(moments: Array, reference: Array) -> RodStep:
    return RodStep(moments[0].tolist(), moments[1].tolist(), reference[0].tolist(), reference[1].tolist())
