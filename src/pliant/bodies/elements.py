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
        local = (np.stack(rows) / stretch for rows in (value, rotation, strain, shear))
        return ShapeSamples(*(_scatter(rows, element, len(self.nodes)) for rows in local))


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
        element, xi, h = _locate(self.nodes, x)
        shape = _scatter(np.stack([1 - xi, xi]), element, len(self.nodes))
        strain = _scatter(np.stack([-1 / h, 1 / h]), element, len(self.nodes))
        none = np.zeros_like(shape)
        return (
            ShapeSamples(none, shape, strain, none)
            if self.family == "torsion"
            else ShapeSamples(shape, none, strain, none)
        )


def element_set(
    family: str, profile: BeamProfile, number: int, *, timoshenko: bool = False
) -> BendingElements | RodElements:
    """The nodal shapes of ``number`` elements of one family."""
    nodes = element_nodes(profile, number)
    motion = MOTIONS[family]
    if motion.shear is None:
        return RodElements(family, nodes)
    if not timoshenko:
        return BendingElements(family, nodes, (0.0,) * number)
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


def _locate(nodes: tuple[float, ...], x: Array) -> tuple[NDArray[np.intp], Array, Array]:
    # element, local coordinate and length of the element at each station
    ends = np.asarray(nodes)
    element = np.searchsorted(ends[1:-1], x, side="right")
    h = np.diff(ends)[element]
    return element, (x - ends[element]) / h, h


def _scatter(local: Array, element: NDArray[np.intp], nodes: int) -> Array:
    # local shapes (per element) to nodal shapes (per beam), without the clamped root node
    per_node = len(local) // 2
    shapes = np.zeros((per_node * nodes, len(element)))
    columns = np.arange(len(element))
    for j, row in enumerate(local):
        shapes[per_node * element + j, columns] = row
    return shapes[per_node:]
