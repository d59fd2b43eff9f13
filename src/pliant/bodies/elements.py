"""Beam elements: nodal shape functions on a chain of elements clamped at the root; rigid pieces on nodes; reduction.

Bending elements are the exact static solutions of a uniform shear-flexible beam; with the shear parameter
Phi = 12 EI / (GA h^2) equal to zero they are the cubic Hermite functions. Torsion and axial elements are
linear. The nodal coordinates of bending are the deflection w and the section's slope psi of each node (in
both planes the slope counts as dw/dx); those of the tip come last.

Frequencies converge with order 4 in the number of elements (linear elements: 2). Shear-flexible elements
do so while they are longer than the shear length sqrt(12 EI / GA), and with order 2 beyond. Shear
deformation and the rotary inertia of the sections are separate switches; Timoshenko's theory has both on.

Lumped links, after Di Gregorio, have the stiffness and the frames of the elements, and their mass in rigid bodies that
are cut half-way between the nodes and move with the node that they contain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.beam_modes import family_inertia, mass_matrix, stiffness
from pliant.bodies.families import FAMILIES, CombinedSet, ShapeSamples
from pliant.bodies.modal_body import Array, ModalBody
from pliant.bodies.profile import BeamProfile, equal_breaks

SHORTEST = 1e-4
"""Of the length of a beam, for an element that bends: the lowest frequency then has four digits."""


@dataclass(frozen=True, slots=True)
class BendingElements:
    """Bending in one plane; two coordinates (w, psi) per node."""

    family: str
    nodes: tuple[float, ...]
    shear_parameters: tuple[float, ...]

    @property
    def size(self) -> int:
        return 2 * (len(self.nodes) - 1)

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.nodes

    @property
    def points(self) -> int:
        # degree 3 + 3 of the shapes and 2 of the lever arms
        return 5

    def sample(self, x: Array) -> ShapeSamples:
        return _scattered(*self.local(x), len(self.nodes))

    def local(self, x: Array) -> tuple[NDArray[np.intp], ShapeSamples]:
        """Element at each station, and its shapes (4, stations) of (w, psi) at its two ends."""
        element, xi, h = _locate(self.nodes, x)
        p = np.asarray(self.shear_parameters)[element]
        stretch, one = 1.0 + p, np.ones_like(xi)
        bubble = xi * (1 - xi)
        value = [
            (1 - xi) * ((1 - xi) * (1 + 2 * xi) + p),
            h * bubble * (1 - xi + p / 2),
            xi * (xi * (3 - 2 * xi) + p),
            -h * bubble * (xi + p / 2),
        ]
        rotation = [-6 * bubble / h, (1 - xi) * (1 - 3 * xi + p), 6 * bubble / h, xi * (3 * xi - 2 + p)]
        strain = [
            6 * (2 * xi - 1) / h**2,
            (6 * xi - 4 - p) / h,
            6 * (1 - 2 * xi) / h**2,
            (6 * xi - 2 + p) / h,
        ]
        shear = [-p / h, -p / 2 * one, p / h, -p / 2 * one]
        return element, ShapeSamples(*(np.stack(rows) / stretch for rows in (value, rotation, strain, shear)))


@dataclass(frozen=True, slots=True)
class RodElements:
    """Torsion or elongation; one coordinate per node."""

    family: str
    nodes: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.nodes) - 1

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.nodes

    @property
    def points(self) -> int:
        return 3

    def sample(self, x: Array) -> ShapeSamples:
        return _scattered(*self.local(x), len(self.nodes))

    def local(self, x: Array) -> tuple[NDArray[np.intp], ShapeSamples]:
        """Element at each station, and its shapes (2, stations) of its two ends."""
        element, xi, h = _locate(self.nodes, x)
        shape, strain = np.stack([1 - xi, xi]), np.stack([-1 / h, 1 / h])
        none = np.zeros_like(shape)
        turns = FAMILIES[self.family].is_angle
        return element, ShapeSamples(none if turns else shape, shape if turns else none, strain, none)


def element_set(
    family: str, profile: BeamProfile, number: int, *, timoshenko: bool = False
) -> BendingElements | RodElements:
    """The nodal shapes of ``number`` elements of one family."""
    return elements_between(family, profile, element_nodes(profile, number), timoshenko=timoshenko)


def elements_between(
    family: str, profile: BeamProfile, nodes: tuple[float, ...], *, timoshenko: bool = False
) -> BendingElements | RodElements:
    """The nodal shapes of one family of elements that end at ``nodes``."""
    motion = FAMILIES[family]
    if motion.shear is None:
        return RodElements(family, nodes)
    if not timoshenko:
        return BendingElements(family, nodes, (0.0,) * (len(nodes) - 1))
    ends = np.asarray(nodes)
    section = profile.at((ends[:-1] + ends[1:]) / 2)
    EI, GA = getattr(section, motion.stiffness), getattr(section, motion.shear)
    return BendingElements(family, nodes, tuple(float(p) for p in 12 * EI / (GA * np.diff(ends) ** 2)))


def element_nodes(profile: BeamProfile, number: int) -> tuple[float, ...]:
    """Ends of the elements: equal within each piece, pieces sharing the elements by their lengths.

    With fewer elements than pieces all elements are equal and the steps fall inside them.
    """
    lengths = [piece.length for piece in profile.pieces]
    if number < len(lengths):
        return equal_breaks(profile.length, number)
    shares = [1] * len(lengths)
    for _ in range(number - len(lengths)):
        # the next element goes where the elements are longest
        longest = max(range(len(lengths)), key=lambda k: lengths[k] / shares[k])
        shares[longest] += 1
    breaks = profile.breaks
    inner = [
        breaks[k] + lengths[k] * j / share for k, share in enumerate(shares) for j in range(share)
    ]  # fmt: skip
    return (*inner, profile.length)


def too_short(nodes: tuple[float, ...]) -> str:
    """Why elements between these nodes cannot bend, in words; empty if they can.

    The stiffness of an element is EI / h^3: beside one that is short, rounding holds the others like springs to the
    ground, by 1e-16 (length / h)^3 of what the whole beam has.
    """
    ends = np.asarray(nodes)
    h = float(np.diff(ends).min())
    if h > SHORTEST * ends[-1]:
        return ""
    return (
        f"its shortest element is {h:.3g} m long, {h / ends[-1]:.1e} of its length; below {SHORTEST:g} bending has no "
        "digits left: make that segment longer or part of its neighbour, or give the link modes"
    )


def _locate(nodes: tuple[float, ...], x: Array) -> tuple[NDArray[np.intp], Array, Array]:
    # element, local coordinate and length of the element at each station
    ends = np.asarray(nodes)
    element = np.searchsorted(ends[1:-1], x, side="right")
    h = np.diff(ends)[element]
    return element, (x - ends[element]) / h, h


def _scattered(element: NDArray[np.intp], local: ShapeSamples, nodes: int) -> ShapeSamples:
    parts = (local.value, local.rotation, local.strain, local.shear)
    return ShapeSamples(*(_scatter(rows, element, nodes) for rows in parts))


def _scatter(local: Array, element: NDArray[np.intp], nodes: int) -> Array:
    # local shapes (per element) to nodal shapes (per beam), without the clamped root node
    per_node = len(local) // 2
    shapes = np.zeros((per_node * nodes, len(element)))
    columns = np.arange(len(element))
    for j, row in enumerate(local):
        shapes[per_node * element + j, columns] = row
    return shapes[per_node:]


# ---------------------------------------------------------------- lumped links after Di Gregorio


@dataclass(frozen=True, slots=True)
class RigidPieces:
    """Displacement of the second partition; coordinates as in the elements of the same nodes."""

    family: str
    nodes: tuple[float, ...]

    @property
    def size(self) -> int:
        return self._per_node * (len(self.nodes) - 1)

    @property
    def breaks(self) -> tuple[float, ...]:
        return tuple((a + b) / 2 for a, b in zip(self.nodes, self.nodes[1:], strict=False))

    @property
    def points(self) -> int:
        return 3

    @property
    def _per_node(self) -> int:
        return 2 if FAMILIES[self.family].bends else 1

    def sample(self, x: Array) -> ShapeSamples:
        node = np.searchsorted(np.asarray(self.breaks), x, side="right")
        columns, one = np.arange(len(x)), np.ones(len(x))
        value, rotation = (np.zeros((self._per_node * len(self.nodes), len(x))) for _ in range(2))
        if not FAMILIES[self.family].bends:
            moved = rotation if FAMILIES[self.family].is_angle else value
            moved[node, columns] = one
        else:
            value[2 * node, columns] = one
            value[2 * node + 1, columns] = x - np.asarray(self.nodes)[node]
            rotation[2 * node + 1, columns] = one
        # the body of the root node belongs to the clamp
        value, rotation = value[self._per_node :], rotation[self._per_node :]
        none = np.zeros_like(value)
        return ShapeSamples(value, rotation, none, none)


# ---------------------------------------------------------------- constant changes of basis


def change_basis(body: ModalBody, V: Array, names: tuple[str, ...]) -> ModalBody:
    """The body in the coordinates p of q_e = V p; ``V`` is (n, number of names)."""
    V = np.asarray(V, dtype=float)
    if V.shape != (body.size, len(names)):
        raise ValueError(f"V has shape {V.shape}; {body.size} coordinates and {len(names)} names need another")
    frames = {name: frame.combined(V) for name, frame in body.frames.items()}
    return replace(
        body,
        names=tuple(names),
        first_modal=body.first_modal @ V,
        beta=body.beta @ V,
        lam=_both(V, body.lam),
        I_re=np.einsum("kp,kab->pab", V, body.I_re),
        I_ee=_both(V, body.I_ee),
        M_ee=_symmetric(V.T @ body.M_ee @ V),
        K_ee=_symmetric(V.T @ body.K_ee @ V),
        D_ee=_symmetric(V.T @ body.D_ee @ V),
        frames=frames,
        section_turn=body.section_turn @ V if len(body.section_inertia) else np.zeros((0, 3, len(names))),
    )


def reduced_set(
    nodal: BendingElements | RodElements, profile: BeamProfile, modes: int, *, section_inertia: bool
) -> CombinedSet:
    """Elements reduced to the motion of the tip and so many vibrations with a fixed tip."""
    kept = 2 if isinstance(nodal, BendingElements) else 1
    K = stiffness([nodal], profile)
    if not modes:
        return CombinedSet(nodal, static_basis(K, kept))
    V = craig_bampton_basis(mass_matrix(nodal, profile, section_inertia=section_inertia), K, kept, modes)
    # interior modes scaled to the inertia of the beam, starting with positive strain at the root
    root = nodal.sample(np.array([0.0])).strain[:, 0]
    V[:, :modes] *= sqrt(family_inertia(nodal.family, profile)) * np.where(root @ V[:, :modes] < 0, -1.0, 1.0)
    return CombinedSet(nodal, V)


def static_basis(K: Array, kept: int) -> Array:
    """Shapes of unit displacements of the last ``kept`` coordinates, the others free of load (Guyan)."""
    inner = len(K) - kept
    V = np.zeros((len(K), kept))
    V[inner:] = np.eye(kept)
    if inner:
        V[:inner] = -np.linalg.solve(K[:inner, :inner], K[:inner, inner:])
    return V


def craig_bampton_basis(M: Array, K: Array, kept: int, modes: int) -> Array:
    """``modes`` mass-normalised modes with the last ``kept`` coordinates fixed, then the static shapes."""
    from scipy.linalg import eigh

    inner = len(K) - kept
    if modes > inner:
        raise ValueError(f"{modes} interior modes asked; {inner} interior coordinates allow no more than {inner}")
    V = np.zeros((len(K), modes + kept))
    V[:, modes:] = static_basis(K, kept)
    if modes:
        # the inverse problem M v = K v / omega^2 keeps the digits of the low modes
        highest = (inner - modes, inner - 1)
        periods, shapes = eigh(M[:inner, :inner], K[:inner, :inner], subset_by_index=highest)
        V[:inner, :modes] = (shapes / np.sqrt(periods))[:, ::-1]
    return V


def _both(V: Array, A: Array) -> Array:
    # congruence on the two leading axes
    half = np.einsum("ip,ik...->pk...", V, A)
    whole: Array = np.einsum("kq,pk...->pq...", V, half)
    return whole


def _symmetric(A: Array) -> Array:
    return (A + A.T) / 2
