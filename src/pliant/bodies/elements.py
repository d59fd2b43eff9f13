"""Beam elements: nodal shape functions on a chain of elements clamped at the root.

Bending elements are the exact static solutions of a uniform shear-flexible beam; with the shear parameter
Phi = 12 EI / (GA h^2) equal to zero they are the cubic Hermite functions. Torsion and axial elements are
linear. The nodal coordinates of bending are the deflection w and the section's slope psi of each node (in
both planes the slope counts as dw/dx); those of the tip come last.

Frequencies converge with order 4 in the number of elements (linear elements: 2). Shear-flexible elements
do so while they are longer than the shear length sqrt(12 EI / GA), and with order 2 beyond. Shear
deformation and the rotary inertia of the sections are separate switches; Timoshenko's theory has both on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.families import MOTIONS, ShapeSamples
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import BeamProfile
from pliant.bodies.quadrature import equal_breaks

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
        turns = self.family == "torsion"
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
    motion = MOTIONS[family]
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
