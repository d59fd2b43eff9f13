"""What the axial force of a bending link acts on: the slopes of its shapes, at places along its axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.build import shape_sets
from pliant.bodies.data_slopes import data_slopes
from pliant.bodies.profile import beam_profile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks
from pliant.mechanism import assemble
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.bodies.modal_body import ModalBody
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]


def padded(arrays: Sequence[Floats]) -> Floats:
    """Arrays along beams as one; places that some of them do not have weigh nothing."""
    most = max(array.shape[-1] for array in arrays)
    out = np.zeros((len(arrays), *arrays[0].shape[:-1], most))
    for target, array in zip(out, arrays, strict=True):
        target[..., : array.shape[-1]] = array
    return out


class AxialShapes(NamedTuple):
    """A beam along its axis.

    x, weights  places and weights of a rule of integration over it   m  (places,)
    rhoA        mass per length there                                 kg/m  (places,)
    slopes      of the shapes of each plane of bending, combined to unit stiffness  (shapes, places)
    slowest     first frequency of bending, rad/s
    """

    x: Floats
    weights: Floats
    rhoA: Floats
    slopes: list[Floats]
    slowest: float


@once_per_element
def along_axis(robot: Robot, name: str) -> AxialShapes:
    """What the axial force of a link acts on."""
    link, body = robot.link(name), next(m.body for m in assemble(robot).members if m.name == name)
    if link.beam is None:
        return _along_data(body)
    profile, shapes = beam_profile(link.beam), shape_sets(link, robot)
    breaks = merge_breaks(profile.breaks, *(s.breaks for s in shapes), length=profile.length)
    x, weights = gauss(breaks, max(s.points for s in shapes) + TAPER_POINTS)
    start, slowest, slopes = 0, np.inf, list[Floats]()
    for s in shapes:
        place = slice(start, start + s.size)
        start += s.size
        if s.family not in ("bend_y", "bend_z"):
            continue
        K, M = body.K_ee[place, place], body.M_ee[place, place]
        size = 1.0 / np.sqrt(np.maximum(np.diag(K), np.finfo(float).tiny))
        both = np.outer(size, size)
        # a pinned shape without strain has no bending stiffness of its own
        if np.linalg.eigvalsh(K * both)[0] < 1e-12:
            continue
        # of G x = k K x by the factors of K = L L^T; a solver package would take longer to import
        inverse = np.linalg.inv(np.linalg.cholesky(K * both))
        slopes.append(inverse @ (size[:, None] * s.sample(x).rotation))
        slowest = min(slowest, _slowest(inverse @ (M * both) @ inverse.T))
    return AxialShapes(x, weights, np.broadcast_to(profile.at(x).rhoA, x.shape), slopes, slowest)


def _slowest(compliances: Floats) -> float:
    """First frequency of shapes of unit stiffness, rad/s."""
    most = float(np.linalg.eigvalsh(compliances)[-1])
    return 1.0 / float(np.sqrt(most)) if most > 0 else np.inf


def _along_data(body: ModalBody) -> AxialShapes:
    """The same of modal data, roughly: its mass is spread evenly up to its last frame."""
    found = data_slopes(body)
    values, vectors = np.linalg.eigh(body.K_ee)
    # motions without stiffness are no vibrations
    stiff = values > 1e-12 * values.max(initial=0.0)
    unit = (vectors[:, stiff] / np.sqrt(values[stiff])).T
    slowest = _slowest(unit @ body.M_ee @ unit.T) if stiff.any() else np.inf
    rhoA = np.full(len(found.x), body.mass / found.weights.sum() if len(found.x) else 0.0)
    # of many shapes at few places no more than so many combinations have slopes there
    slopes = [np.asarray(np.linalg.qr(unit @ slope, mode="r")) for slope in found.planes if stiff.any()]
    return AxialShapes(found.x, found.weights, rhoA, slopes, slowest)
