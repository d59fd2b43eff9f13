"""A link of finite elements clamped at its root: static answers, modes and the reduced basis, all from one factor.

Rigid frames are coordinates (constraint modes, Craig and Bampton 1968); frames that follow an average are loads
(attachment modes) beside modes that leave them free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.sparse import csc_array, csr_array

from pliant.errors import ModelError, Problem
from pliant.solid_mechanics.interfaces import Interface
from pliant.solid_mechanics.solid_mesh import Array, Indices

LOOSE = 1e-12
"""Smallest eigenvalue of the held stiffness, scaled to a unit diagonal: below it something hangs on nothing."""
INVERSE_STEPS = 8
FULL_SIZE = 600
"""Up to so many unknowns full matrices are faster."""
DEPENDENT = 1e-10
"""Eigenvalue of the scaled stiffness of the shapes below which a shape is a sum of others."""


class SparseFactor:
    """The factor of a symmetric positive definite matrix, scaled to a unit diagonal; columns are solved together.

    Raises ModelError with the unknown that hangs on nothing.
    """

    def __init__(self, K: csc_array, places: Indices, d: int) -> None:
        diagonal = K.diagonal()
        if len(diagonal) and not diagonal.min() > 0:
            _loose(int(places[np.argmin(diagonal)]), d)
        self.scale = 1 / np.sqrt(diagonal)
        scaled = csc_array(K.multiply(self.scale[:, None]).multiply(self.scale[None, :]))
        self._solve = self._factor(scaled, places, d)
        v = np.random.default_rng(0).normal(size=len(places))
        for _ in range(INVERSE_STEPS if len(v) else 0):
            v = self._solve(v / np.linalg.norm(v))
            if not np.isfinite(v).all():
                self._find_loose(scaled, places, d)
        if len(v):
            v /= np.linalg.norm(v)
            if not v @ (scaled @ v) > LOOSE:
                _loose(int(places[np.argmax(np.abs(v))]), d)

    def _factor(self, scaled: csc_array, places: Indices, d: int) -> Any:
        from scipy.linalg import LinAlgError, cho_factor, cho_solve
        from scipy.sparse.linalg import splu

        if len(places) <= FULL_SIZE:
            try:
                factor = cho_factor(scaled.toarray()) if len(places) else None
            except LinAlgError:
                self._find_loose(scaled, places, d)
            return lambda b: cho_solve(factor, b) if len(places) else b
        try:
            # minimum degree on the pattern of a symmetric matrix: a third of the fill of the usual choice
            lu = splu(scaled, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:
            self._find_loose(scaled, places, d)
        return lu.solve

    @staticmethod
    def _find_loose(scaled: csc_array, places: Indices, d: int) -> NoReturn:
        """Name the unknown that moves most in the softest motion, by inverse iteration on a shifted matrix."""
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        factors = splu(csc_array(scaled + LOOSE / 2 * eye_array(len(places))))
        v = np.random.default_rng(0).normal(size=len(places))
        for _ in range(INVERSE_STEPS):
            v = factors.solve(v / np.linalg.norm(v))
        _loose(int(places[np.argmax(np.abs(v))]), d)

    def solve(self, b: Array) -> Array:
        """K^-1 b of one or many columns."""
        scale = self.scale if b.ndim == 1 else self.scale[:, None]
        return np.asarray(scale * self._solve(np.asarray(scale * b)))


def _loose(place: int, d: int) -> NoReturn:
    raise ModelError(
        Problem(
            "stiffness",
            f"leaves node {place // d} loose (row {place + 1}) when root and frames are held: its rank is too small. "
            "The mesh has parts, or turns, that hang on nothing",
        )
    )


class ShapeBasis(NamedTuple):
    """Orthonormal shapes of a reduced link.

    shapes   (unknowns, n)  with unit modal mass
    squares  (n,)           eigenvalues omega^2, rad^2/s^2
    """

    shapes: Array
    squares: Array

    @property
    def hz(self) -> Array:
        """Frequencies of the shapes, Hz."""
        return np.asarray(np.sqrt(np.maximum(self.squares, 0)) / (2 * np.pi))

    def first(self, count: int) -> ShapeBasis:
        """The lowest ones."""
        return ShapeBasis(self.shapes[:, :count], self.squares[:count])


@dataclass(frozen=True, eq=False)
class ClampedLink:
    """A link held at its root, with frames.

    K, M        stiffness and mass of the free link, d unknowns per node (displacements first)
    root        nodes that are held
    interfaces  its frames
    """

    K: csr_array
    M: csr_array
    d: int
    root: Indices
    interfaces: Sequence[Interface]

    @property
    def size(self) -> int:
        """Unknowns of the free link."""
        return int(self.K.shape[0])

    @cached_property
    def inner(self) -> Indices:
        """Unknowns that neither the root nor rigid frames hold."""
        held = [self.root, *(face.nodes for face in self.interfaces if face.kind == "rigid")]
        out = np.ones(self.size, dtype=bool)
        out[unknowns(np.concatenate(held), self.d)] = False
        return np.flatnonzero(out)

    @cached_property
    def factor(self) -> SparseFactor:
        """The one factor of the stiffness at inner unknowns."""
        return SparseFactor(csc_array(self.K[self.inner][:, self.inner]), self.inner, self.d)

    @cached_property
    def constraint_modes(self) -> Array:
        """Static shapes (unknowns, 6 R) of unit motions of each rigid frame, the others held."""
        rigid = [face for face in self.interfaces if face.kind == "rigid"]
        out = np.zeros((self.size, 6 * len(rigid)))
        for k, face in enumerate(rigid):
            out[unknowns(face.nodes, self.d)[:, None], 6 * k + np.arange(6)] = self.rigid_motion(face)
        if rigid:
            out[self.inner] = -self.factor.solve(np.asarray((self.K @ out)[self.inner]))
        return out

    def rigid_motion(self, face: Interface) -> Array:
        """Displacements (m d, 6) of the nodes of a rigid frame for its unit motions."""
        out = np.zeros((len(face.nodes), self.d, 6))
        out[:, :3] = face.moved
        if self.d == 6:
            out[:, 3:, 3:] = np.eye(3)
        return out.reshape(-1, 6)

    @cached_property
    def _frame_stiffness(self) -> Array:
        """Stiffness (6 R, 6 R) of the rigid frames: what is left of the link when inner unknowns are free."""
        S = self.constraint_modes.T @ (self.K @ self.constraint_modes)
        return np.asarray((S + S.T) / 2)

    def answer(self, forces: Array) -> Array:
        """Static displacements (unknowns, k) under forces at the unknowns, root held, all frames free to move."""
        out = np.zeros(forces.shape)
        out[self.inner] = self.factor.solve(forces[self.inner])
        C = self.constraint_modes
        if C.shape[1]:
            out += C @ np.linalg.solve(self._frame_stiffness, C.T @ forces)
        return out

    def wrench_answers(self) -> Array:
        """Static displacements (unknowns, 6 F) under unit forces and moments at the frames, in their order."""
        columns, rigid = [], 0
        turned = np.linalg.inv(self._frame_stiffness) if self.constraint_modes.shape[1] else np.zeros((0, 0))
        for face in self.interfaces:
            if face.kind == "rigid":
                columns.append(self.constraint_modes @ turned[:, rigid : rigid + 6])
                rigid += 6
            else:
                columns.append(self.answer(self.spread_load(face)))
        return np.concatenate(columns, axis=1) if columns else np.zeros((self.size, 0))

    def spread_load(self, face: Interface) -> Array:
        """Forces (unknowns, 6) at the nodes of an average frame under its unit force and moment."""
        out = np.zeros((self.size // self.d, self.d, 6))
        out[face.nodes, :3] = face.fit.transpose(1, 2, 0)
        return out.reshape(self.size, 6)

    def frame_motion(self, face: Interface, shapes: Array) -> Array:
        """d and theta (6, k) of a frame in some shapes (unknowns, k)."""
        at = shapes.reshape(-1, self.d, shapes.shape[1])[face.nodes][:, :3]
        return np.asarray(np.einsum("ami,mik->ak", face.fit, at))

    def held_modes(self, count: int) -> ShapeBasis:
        """The lowest modes with root and rigid frames held, unit modal mass."""
        from scipy.linalg import eigh
        from scipy.sparse.linalg import LinearOperator, eigsh

        inner, n = self.inner, len(self.inner)
        shapes = np.zeros((self.size, count))
        if not count:
            return ShapeBasis(shapes, np.zeros(0))
        # refuses first what hangs on nothing
        factor = self.factor
        M = self.M[inner][:, inner]
        if n <= FULL_SIZE or count >= n - 1:
            # the inverse problem keeps the digits of the low modes
            K = self.K[inner][:, inner].toarray()
            periods, V = eigh(M.toarray(), K, subset_by_index=(n - count, n - 1))
            shapes[inner] = (V / np.sqrt(periods))[:, ::-1]
            return ShapeBasis(shapes, 1 / periods[::-1])
        K = csc_array(self.K[inner][:, inner])
        back = LinearOperator((n, n), matvec=lambda b: factor.solve(np.asarray(b).ravel()), dtype=float)
        start = np.random.default_rng(0).normal(size=n)
        squares, V = eigsh(K, count, M, sigma=0.0, OPinv=back, v0=start)
        order = np.argsort(squares)
        shapes[inner] = V[:, order]
        return ShapeBasis(shapes, squares[order])

    def basis(self, modes: int) -> ShapeBasis:
        """Orthonormal shapes: so many held modes, and what the frames do statically."""
        spread = [face for face in self.interfaces if face.kind == "average"]
        columns = [self.held_modes(modes).shapes, self.constraint_modes]
        columns += [self.answer(self.spread_load(face)) for face in spread]
        return self.orthonormal(np.concatenate(columns, axis=1))

    def orthonormal(self, V: Array) -> ShapeBasis:
        """The space of some shapes by shapes with unit mass and diagonal stiffness; sums of others are dropped."""
        from scipy.linalg import eigh

        K = V.T @ (self.K @ V)
        scale = 1 / np.sqrt(np.diag(K))
        strengths, W = np.linalg.eigh((K + K.T) / 2 * np.outer(scale, scale))
        W = scale[:, None] * (W / np.sqrt(np.maximum(strengths, DEPENDENT)))[:, strengths > DEPENDENT]
        V = V @ W
        K, M = V.T @ (self.K @ V), V.T @ (self.M @ V)
        periods, W = eigh((M + M.T) / 2, (K + K.T) / 2)
        periods, W = periods[::-1], W[:, ::-1]
        V = V @ (W / np.sqrt(periods))
        # the largest displacement points along an axis: the same on every processor
        largest = V[np.argmax(np.abs(V) > (1 - 1e-6) * np.abs(V).max(axis=0), axis=0), range(V.shape[1])]
        return ShapeBasis(V * np.sign(largest), 1 / periods)


def unknowns(nodes: Indices, d: int) -> Indices:
    """Numbers of the unknowns of some nodes."""
    return np.asarray((d * np.asarray(nodes, dtype=int)[:, None] + np.arange(d)).ravel())


def truncation_errors(link: ClampedLink, basis: ShapeBasis, count: int) -> Array:
    """Relative errors (count,) of the lowest frequencies of a basis, by the Rayleigh quotient of K^-1 M phi.

    One inverse iteration squares the error of a shape: what it lowers the frequency by is the error to two digits.
    """
    phi, squares = basis.shapes[:, :count], basis.squares[:count]
    forces = np.asarray(link.M @ phi)
    better = link.answer(forces)
    # x^T K x with K x = M phi
    energy = np.einsum("ik,ik->k", better, forces)
    kinetic = np.einsum("ik,ik->k", better, np.asarray(link.M @ better))
    return np.asarray(np.sqrt(squares * kinetic / energy) - 1)
