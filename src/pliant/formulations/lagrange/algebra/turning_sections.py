"""How a frame turns with the deformed section it sits on: rotation, and angular velocity per unit rate, in symbols.

The rotation is exact and the angular velocity its true derivative, as in ``pliant.spatial.attitude``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.formulations.lagrange.algebra.series import Series, Vector, add, cross, inner, powers, scaled
from pliant.formulations.lagrange.algebra.symbols import AXES, Names, latex_index

ORDERS = range(1, 8)
"""Functions c_k that can occur: c1 to c4 in M, the others in its derivatives."""

WHOLE = 1e-12
"""Entries of fixed rotations this close to a whole number are meant to be it."""

Map = Callable[[Vector], list[Series]]
Parts = list[tuple[float, tuple[int, ...], int]]


@dataclass(frozen=True, slots=True)
class TurningSection:
    """The turn of a section by the elastic coordinates of its link.

    out     components in the turned axes -> components in the link's axes
    before  angular velocity per unit rate of each coordinate, link's axes
    after   the same in the turned axes
    """

    out: Map
    before: list[list[Series]]
    after: list[list[Series]]


@dataclass(frozen=True, slots=True)
class Place:
    """Which section it is: number and name of the link, frame, and the link's elastic coordinates."""

    number: int
    link: str
    frame: str
    elastic: tuple[int, ...]


def turn_out(x: Vector, axis: Array, c: Series, s: Series) -> list[Series]:
    """R x with R the turn about a unit vector by the angle with cosine c and sine s: the part along it stays."""
    algebra = x[0].algebra
    along = algebra.total((float(a), y) for a, y in zip(axis, x, strict=True) if a and y)
    one = algebra.number(1.0)
    out = []
    for d in range(3):
        i, k = (d + 1) % 3, (d + 2) % 3
        parallel = along * float(axis[d])
        side = algebra.total(((float(axis[i]), x[k]), (-float(axis[k]), x[i])))
        out.append(algebra.dot(((parallel, one), (x[d] - parallel, c), (side, s))))
    return out


def elementary(names: Names, place: Place, slopes: Sequence[Vector], axis: int, group: int) -> TurningSection:
    """A turn about one coordinate axis."""
    angle = names.elastic_angle(group, *_component(place, slopes, axis))
    c, s, e = names.algebra.cosine(angle), names.algebra.sine(angle), np.eye(3)[axis]
    rates = [list(slope) for slope in slopes]
    return TurningSection(lambda x: turn_out(x, e, c, s), rates, rates)


def xyz(
    names: Names, place: Place, slopes: Sequence[Vector], active: Sequence[int], groups: Sequence[int]
) -> TurningSection:
    """Rx Ry Rz: turns about x, the moved y and the moved z."""
    turns: list[tuple[int, Map, Map]] = []
    for axis, group in zip(active, groups, strict=True):
        angle = names.elastic_angle(group, *_component(place, slopes, axis))
        c, s, e = names.algebra.cosine(angle), names.algebra.sine(angle), np.eye(3)[axis]
        turns.append((axis, _turn(e, c, s), _turn(e, c, s * -1.0)))

    def out(x: Vector) -> list[Series]:
        for _, turn, _ in reversed(turns):
            x = turn(x)
        return list(x)

    before, after = [], []
    zero = names.algebra.number(0.0)
    for slope in slopes:
        early, late = [zero] * 3, [zero] * 3
        for number, (axis, _, _) in enumerate(turns):
            rate = [slope[axis] if d == axis else zero for d in range(3)]
            moved: Vector = rate
            for _, turn, _ in reversed(turns[:number]):
                moved = turn(moved)
            early = add(early, moved)
            moved = rate
            for _, _, back in turns[number + 1 :]:
                moved = back(moved)
            late = add(late, moved)
        before.append(early)
        after.append(late)
    return TurningSection(out, before, after)


def exponential(names: Names, place: Place, slopes: Sequence[Vector], active: Sequence[int]) -> TurningSection:
    """R = 1 + c1 theta~ + c2 theta~^2, omega = (1 + c2 theta~ + c3 theta~^2) theta_dot, c_k(s) with s = |theta|^2."""
    algebra = names.algebra
    theta, variables = _rotation_vector(names, place, slopes, active)
    # dc_k/dq = (k c_(k+2) - c_(k+1)) theta . dtheta/dq
    along = {q: inner(theta, slope) for q, slope in zip(place.elastic, slopes, strict=True)}
    numbers = {k: names.function(k, variables) for k in ORDERS}
    c = {k: algebra.monomial(number) for k, number in numbers.items()}
    for k in ORDERS[:-2]:
        algebra.slopes[numbers[k]] = {q: x * (c[k + 2] * float(k) - c[k + 1]) for q, x in along.items() if x}
    # s c_(k+2) = 1/k! - c_k, and what follows from sin^2 + cos^2 = 1; each rule lowers a power for good
    first, *others = (algebra.monomial(v, v) for v in variables)
    for k in ORDERS[:-2]:
        start = names.fraction(factorial(k)) - c[k]
        algebra.rule(first * c[k + 2], start - algebra.total(x * c[k + 2] for x in others))
    algebra.rule(c[2] * c[2], c[3] + c[1] * c[3] - c[4] * 2.0)
    algebra.rule(c[2] * c[3], c[3] * 0.5 - c[4] + c[1] * c[4])
    return _from_powers(theta, slopes, (algebra.number(1.0), c[1], c[2]), (algebra.number(1.0), c[2], c[3]))


def cayley(names: Names, place: Place, slopes: Sequence[Vector], active: Sequence[int]) -> TurningSection:
    """R = 1 + a theta~ + a/2 theta~^2, omega = a (1 + theta~/2) theta_dot, a = 4/(4 + |theta|^2)."""
    algebra = names.algebra
    theta, variables = _rotation_vector(names, place, slopes, active)
    number = names.function(None, variables)
    a = algebra.monomial(number)
    along = {q: inner(theta, slope) for q, slope in zip(place.elastic, slopes, strict=True)}
    algebra.slopes[number] = {q: x * a * a * -0.5 for q, x in along.items() if x}
    # a (4 + |theta|^2) = 4
    first, *others = (algebra.monomial(v, v) for v in variables)
    algebra.rule(a * first, algebra.number(4.0) - a * 4.0 - algebra.total(a * x for x in others))
    return _from_powers(theta, slopes, (algebra.number(1.0), a, a * 0.5), (a, a * 0.5, algebra.number(0.0)))


def _from_powers(
    theta: Vector, slopes: Sequence[Vector], rotation: Sequence[Series], rate: Sequence[Series]
) -> TurningSection:
    """A section whose rotation and rate are polynomials in theta~; the rate turned back has the other odd sign."""

    def apply(k: Sequence[Series], x: Vector, sign: float) -> list[Series]:
        once = cross(theta, x)
        return add(scaled(x, k[0]), scaled(once, k[1] * sign), scaled(cross(theta, once), k[2]))

    return TurningSection(
        lambda x: apply(rotation, x, 1.0),
        [apply(rate, slope, 1.0) for slope in slopes],
        [apply(rate, slope, -1.0) for slope in slopes],
    )


def _turn(axis: Array, c: Series, s: Series) -> Map:
    return lambda x: turn_out(x, axis, c, s)


def _rotation_vector(
    names: Names, place: Place, slopes: Sequence[Vector], active: Sequence[int]
) -> tuple[list[Series], tuple[int, ...]]:
    """The components of the rotation vector as variables."""
    theta = [names.algebra.number(0.0)] * 3
    variables = tuple(names.abbreviated(*_component(place, slopes, axis)) for axis in active)
    for axis, variable in zip(active, variables, strict=True):
        theta[axis] = names.algebra.monomial(variable)
    return theta, variables


def _component(place: Place, slopes: Sequence[Vector], axis: int) -> tuple[str, str, str, Parts]:
    """Name and terms of one component of the rotation vector."""
    alone = len({d for slope in slopes for d in range(3) if slope[d]}) == 1
    mark = "" if alone else AXES[axis]
    name = "_".join(
        word for word in (f"alpha_{place.number}", mark, "" if place.frame == "tip" else place.frame) if word
    )
    label = f"{place.number}{mark}" + ("" if place.frame == "tip" else f",{latex_index(place.frame)}")
    parts: Parts = [
        (factor, variables_of(monomial), q)
        for q, slope in zip(place.elastic, slopes, strict=True)
        for monomial, factor in slope[axis].terms.get(0, {}).items()
    ]
    return name, rf"\alpha_{{{label}}}", f"turn of {place.link}.{place.frame} about {AXES[axis]}", parts


def variables_of(monomial: int) -> tuple[int, ...]:
    """The variables of a monomial, each as often as its power."""
    return tuple(i for i, power in powers(monomial) for _ in range(power))


def matrix_map(R: Array) -> Map:
    """A fixed rotation of components."""

    def out(x: Vector) -> list[Series]:
        total = x[0].algebra.total
        return [total((float(R[d, i]), x[i]) for i in range(3) if R[d, i] and x[i]) for d in range(3)]

    return out


def single_axis(R: Array) -> tuple[Array, float] | None:
    """(axis, angle) of a turn about a coordinate axis that is no multiple of a right angle."""
    for k in range(3):
        if R[k, k] == 1.0:
            i, j = (k + 1) % 3, (k + 2) % 3
            angle = float(np.arctan2(R[j, i], R[i, i]))
            return None if abs(np.sin(2 * angle)) < WHOLE else (np.eye(3)[k], angle)
    return None


def whole(a: Array) -> Array:
    """Without the rounding beside round numbers."""
    return np.where(np.abs(a - np.round(a)) < WHOLE, np.round(a), a) + 0.0
