"""The inertia of links in symbols: rigid parts by mass, centre and inertia; beams by the integrals of their shapes.

The integrals are those of ModalBody, in the link's own frame. All of them follow from the first moments and from
int a^p b^q dm, where a and b are the place r of a material point or one of the shapes phi_k; only those numbers that
are not zero get a name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from pliant.bodies.families import FAMILIES, family_of
from pliant.bodies.foreshortening import WIDENED, Foreshortening
from pliant.bodies.modal_body import Array, ModalBody, add_part
from pliant.bodies.words import words_of
from pliant.formulations.lagrange.algebra.series import Series, Vector, add, inner, times
from pliant.formulations.lagrange.algebra.symbols import AXES, Constant, Kind, Names, Origin, latex_index
from pliant.mechanism import Member, Part

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism
    from pliant.model.description.links import Link

# a part of an inertia that is this small beside the whole is the rounding of a subtraction
ROUNDING = 1e-12

Matrix = list[list[Series]]

FormOrigin = tuple[Literal["form", "shortening"], str]
"""Quantity and frame of the origin of a quadratic form."""

# a coordinate of torsion is an angle: each one adds a length to the unit of an integral
UNITS = {
    "kg": ("kg", "kg m", "kg m^2"),
    "kg m": ("kg m", "kg m^2"),
    "N/m": ("N/m", "N", "N m"),
    "N s/m": ("N s/m", "N s", "N m s"),
}

LETTERS = {name: family.letter for name, family in FAMILIES.items() if family.letter}
LATEX_LETTERS = {"psi": r"\psi"}
FAMILY_MARKS = {name: family.mark for name, family in FAMILIES.items() if family.mark}


@dataclass(frozen=True, slots=True)
class RigidInertia:
    """A rigid body: mass, centre of mass and inertia about it, in the axes of a frame."""

    mass: Series
    centre: list[Series]
    inertia: Matrix


@dataclass(frozen=True, slots=True)
class FlexibleInertia:
    """The integrals of a ModalBody, about the origin of the link frame; see there.

    I_re is the symmetric part of int r~^T phi_k~ dm, I_ee that of int phi_i~^T phi_k~ dm.
    """

    mass: Series
    first: list[Series]
    first_modal: list[list[Series]]
    beta: list[list[Series]]
    lam: list[list[list[Series]]]
    I_rr: Matrix
    I_re: list[Matrix]
    I_ee: list[list[Matrix]]
    M_ee: Matrix


@dataclass(frozen=True, slots=True)
class LinkNames:
    """How the constants of one link are called: its number, its name and the marks of its elastic coordinates."""

    names: Names
    number: int
    link: str
    marks: tuple[str, ...]

    def constant(
        self, letter: str, latex: str, index: str, value: float, unit: str, meaning: str, kind: Kind,
        *, scales: bool = False, short: bool = False, bound: bool = False, origin: Origin | None = None,
    ) -> Series:  # fmt: skip
        """A constant ``letter_NUMBER_index`` of this link; ``short`` drops the index if it is the only one."""
        return self.names.constant(
            self.described(
                letter, latex, index, value, unit, meaning, kind, scales=scales, short=short, bound=bound, origin=origin
            )
        )

    def described(
        self, letter: str, latex: str, index: str, value: float, unit: str, meaning: str, kind: Kind,
        *, scales: bool = False, short: bool = False, bound: bool = False, origin: Origin | None = None,
    ) -> Constant:  # fmt: skip
        """The description of such a constant."""
        words = index.split()
        name = "_".join([letter, str(self.number), *words])
        # 11 for shapes 1 and 1, but 1,11 for 1 and 11, and words apart
        apart = any(len(word) > 2 or (len(word) == 2 and word.isdigit()) for word in words)
        label = ",".join([str(self.number), ("," if apart else "").join(words)] if words else [str(self.number)])
        label = latex_index(label)
        head, underscore, mark = latex.partition("_")
        mark = mark.strip("{}")
        return Constant(
            name=name,
            latex=f"{head}_{{{mark}{label}}}" if underscore else f"{head}_{{{label}}}",
            value=float(value),
            unit=unit,
            meaning=f"{meaning} of {self.link}",
            kind=kind,
            scales=scales,
            family=f"{letter}_{self.number}",
            short=f"{letter}_{self.number}" if short else "",
            short_latex=f"{head}_{{{mark}{self.number}}}" if short else "",
            bound=bound,
            origin=origin,
        )

    def vector(self, letter: str, latex: str, values: Array, meaning: str, *, short: bool = True) -> list[Series]:
        """The components of a position, m; the first is the short one."""
        return [
            self.constant(letter, latex, AXES[d], values[d], "m", f"{AXES[d]} of {meaning}", "geometry", short=short)
            for d in range(3)
        ]


def coordinate_marks(names: tuple[str, ...]) -> tuple[str, ...]:
    """Short marks of elastic coordinates: 1, 2 within one family; y1, z1, t1, x1 where there are several."""
    parts = [name.rpartition(".") for name in names]
    families = {family for family, _, _ in parts}
    if len(families) == 1:
        return tuple(number for _, _, number in parts)
    if families <= FAMILY_MARKS.keys():
        return tuple(FAMILY_MARKS[family] + number for family, _, number in parts)
    return tuple(str(k + 1) for k in range(len(names)))


def rigid_inertia(part: Part, own: LinkNames, mark: str, meaning: str) -> RigidInertia:
    """A rigid link (mark ""), a hub (h) or a payload (p) in symbols."""
    at = f"_{{{mark}}}" if mark else ""
    word = f" {meaning}" if meaning else ""
    mass = own.constant(f"m{mark}", f"m{at}", "", part.mass, "kg", f"mass{word}", "inertia", scales=True)
    centre = own.vector(f"lc{mark}", f"l_{{c{mark}}}", part.com, f"the centre of mass{word}")
    I = part.inertia  # noqa: E741
    letter = f"I{mark}"
    if np.array_equal(I, I[0, 0] * np.eye(3)):
        text = f"inertia about every axis through the centre of mass{word}"
        same = own.constant(letter, f"I{at}", "", I[0, 0], "kg m^2", text, "inertia", scales=True)
        return RigidInertia(mass, centre, _symmetric(lambda a, b: same if a == b else same * 0.0))

    def entry(a: int, b: int) -> Series:
        index = AXES[a] + AXES[b]
        text = f"{index} of the inertia about the centre of mass{word}"
        return own.constant(letter, f"I{at}", index, I[a, b], "kg m^2", text, "inertia", scales=True, short=True)

    return RigidInertia(mass, centre, _symmetric(entry))


def flexible_inertia(body: ModalBody, link: Link, own: LinkNames) -> FlexibleInertia:
    """The integrals of a beam or of modal data in symbols, for small deflections."""
    zero = own.names.algebra.number(0.0)
    mass, first, I_rr = _undeformed(body, link, own)
    n = body.size
    first_modal = [
        [
            own.constant(
                "a", "a", index_of(own, k, AXES[d] if _several(body.first_modal[:, k]) else ""), body.first_modal[d, k],
                unit_of("kg", body.names[k]), f"integral of phi dm, coordinate {body.names[k]}", "modal", scales=True,
                origin=None if _several(body.first_modal[:, k]) else Origin("first", own.link, (k,)),
            )
            for k in range(n)
        ]
        for d in range(3)
    ]  # fmt: skip
    S = _second_moments(body)
    if S is None:
        return _as_given(body, own, mass, first, first_modal, I_rr)
    r_phi = [_moments(own, "b", S.r_phi[k], (k,), "x phi", body.names) for k in range(n)]
    phi_phi = [[_no_matrix(zero) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for k in range(i, n):
            block = _moments(own, "m", S.phi_phi[i, k], (i, k), "phi phi", body.names)
            phi_phi[i][k] = block
            phi_phi[k][i] = [[block[q][p] for q in range(3)] for p in range(3)]
    return FlexibleInertia(
        mass=mass,
        first=first,
        first_modal=first_modal,
        beta=[[x[d] for x in map(_cross, r_phi)] for d in range(3)] if n else [[], [], []],
        lam=[[_cross(phi_phi[k][i]) for i in range(n)] for k in range(n)],
        I_rr=I_rr,
        I_re=[_inertia(block) for block in r_phi],
        I_ee=[[_inertia(block) for block in row] for row in phi_phi],
        M_ee=[[_trace(block) for block in row] for row in phi_phi],
    )


def _undeformed(body: ModalBody, link: Link, own: LinkNames) -> tuple[Series, list[Series], Matrix]:
    """Mass, first moment and inertia about the origin; by mass per length and length where the beam is uniform."""
    zero, bends = own.names.algebra.number(0.0), body.size > 0
    loaded = link.has_axis and link.body is not None and abs(body.mass - link.body.mass) > ROUNDING * body.mass
    if not words_of(link).is_uniform or loaded:
        whole = ", with the point masses on it," if loaded else ""
        mass = own.constant("m", "m", "", body.mass, "kg", f"mass{whole}", "inertia", scales=True, bound=bends,
                            origin=Origin("whole", own.link, (), "mass"))  # fmt: skip
        first = [
            own.constant("S", "S", AXES[d], body.first[d], "kg m", f"{AXES[d]} of the first moment{whole}",
                         "inertia", scales=True, short=True, bound=bends,
                         origin=Origin("whole", own.link, (), f"first {AXES[d]}"))
            for d in range(3)
        ]  # fmt: skip

        def entry(a: int, b: int) -> Series:
            index = AXES[a] + AXES[b]
            text = f"{index} of the inertia about the joint{whole}"
            value, origin = body.I_rr[a, b], Origin("whole", own.link, (), f"inertia {index}")
            return own.constant(
                "J", "J", index, value, "kg m^2", text, "inertia", scales=True, short=True, bound=bends, origin=origin
            )

        return mass, first, _symmetric(entry)
    length = own.constant("l", "l", "", link.length, "m", "length", "geometry", bound=bends)
    rho = own.constant(
        "rho", r"\rho", "", body.mass / link.length, "kg/m", "mass per length", "inertia", scales=True, bound=bends
    )
    slender = body.mass * link.length**2 / 3 * np.diag([0.0, 1.0, 1.0])
    third = own.names.fraction(3) * rho * length * length * length
    sections = np.diag(body.I_rr - slender)
    sections = np.where(np.abs(sections) > ROUNDING * body.I_rr.max(), sections, 0.0)
    I_rr = _no_matrix(zero)
    for a in range(3):
        text = f"{AXES[a]} of the inertia of the sections"
        extra = own.constant(
            "Js", "J_s", AXES[a], sections[a], "kg m^2", text, "inertia", scales=True, short=True, bound=bends
        )
        I_rr[a][a] = extra + third if a else extra
    return rho * length, [rho * length * length * 0.5, zero, zero], I_rr


@dataclass(frozen=True, slots=True)
class _SecondMoments:
    """int r^p phi_k^q dm (n, 3, 3) and int phi_i^p phi_k^q dm (n, n, 3, 3)."""

    r_phi: Array
    phi_phi: Array


def _second_moments(body: ModalBody) -> _SecondMoments | None:
    """The second moments behind the inertia integrals; None where the integrals do not fit together.

    int a~^T b~ dm = (int a . b dm) 1 - int b a^T dm has the trace 2 int a . b dm.
    """

    def moments(I: Array) -> Array:  # noqa: E741
        trace = np.einsum("...aa->...", I) / 2
        S = np.swapaxes(trace[..., None, None] * np.eye(3) - I, -1, -2)
        return np.where(np.abs(S) > ROUNDING * np.abs(S).max(initial=0.0, axis=(-1, -2), keepdims=True), S, 0.0)

    r_phi, phi_phi = moments(body.I_re), moments(body.I_ee)
    checks = (
        (body.beta.T, _numeric_cross(r_phi)),
        (body.lam, _numeric_cross(phi_phi)),
        (body.M_ee, np.einsum("ikaa->ik", phi_phi)),
    )
    if any(np.abs(a - b).max(initial=0.0) > 1e-9 * max(np.abs(a).max(initial=0.0), 1e-300) for a, b in checks):
        return None
    return _SecondMoments(r_phi, phi_phi)


def _moments(
    own: LinkNames, letter: str, S: Array, shapes: tuple[int, ...], text: str, names: tuple[str, ...]
) -> Matrix:
    """int a^p b^q dm as symbols, with the directions where they are needed to tell them apart."""
    several = _several(S)
    which = tuple(names[k] for k in shapes)
    index = " ".join(own.marks[k] for k in shapes)
    unit = unit_of("kg m" if letter == "b" else "kg", *which)
    origin = None if several else Origin("moment" if letter == "b" else "mass", own.link, shapes)
    return [
        [
            own.constant(
                letter, letter, f"{index} {AXES[p] + AXES[q]}" if several else index, S[p, q], unit,
                f"integral of {text} dm, {listed_coordinates(which)}", "modal", scales=True, origin=origin,
            )
            for q in range(3)
        ]
        for p in range(3)
    ]  # fmt: skip


def _as_given(
    body: ModalBody, own: LinkNames, mass: Series, first: list[Series], first_modal: list[list[Series]], I_rr: Matrix
) -> FlexibleInertia:
    """The arrays of modal data entry by entry, where they do not follow from one set of second moments."""
    n = body.size

    def modal(letter: str, index: str, value: float, unit: str, text: str) -> Series:
        return own.constant(letter, letter, index, value, unit, text, "modal", scales=True)

    def matrix(letter: str, index: str, I: Array, unit: str, text: str) -> Matrix:  # noqa: E741
        symmetric = (I + I.T) / 2
        return _symmetric(lambda a, b: modal(letter, f"{index} {AXES[a] + AXES[b]}", symmetric[a, b], unit, text))

    pairs = [[f"{index_of(own, i)} {index_of(own, k)}" for k in range(n)] for i in range(n)]
    return FlexibleInertia(
        mass=mass,
        first=first,
        first_modal=first_modal,
        beta=[
            [modal("b", f"{index_of(own, k)} {AXES[d]}", body.beta[d, k], "kg m", "beta") for k in range(n)]
            for d in range(3)
        ],
        lam=[
            [
                [modal("c", f"{pairs[k][i]} {AXES[d]}", body.lam[k, i, d], "kg", "lambda") for d in range(3)]
                for i in range(n)
            ]
            for k in range(n)
        ],
        I_rr=I_rr,
        I_re=[matrix("R", index_of(own, k), body.I_re[k], "kg m", "I_re") for k in range(n)],
        I_ee=[[matrix("E", pairs[i][k], body.I_ee[i, k], "kg", "I_ee") for k in range(n)] for i in range(n)],
        M_ee=mirrored(n, lambda i, k: modal("m", pairs[i][k], body.M_ee[i, k], "kg", "modal mass")),
    )


def elastic_matrix(
    own: LinkNames, letter: str, values: Array, unit: str, text: str, kind: Kind, body: ModalBody
) -> Matrix:
    """A symmetric matrix of the elastic coordinates: stiffness or damping."""

    def entry(i: int, k: int) -> Series:
        which = (body.names[i], body.names[k])
        index = f"{index_of(own, i)} {index_of(own, k)}"
        origin = Origin("stiffness", own.link, (i, k)) if kind == "stiffness" else None
        meaning = f"{text}, {listed_coordinates(which)}"
        return own.constant(letter, letter, index, values[i, k], unit_of(unit, *which), meaning, kind, origin=origin)

    return mirrored(body.size, entry)


def coupled_damping(mechanism: Mechanism, drag: Array, names: Names) -> Matrix:
    """Damping that couples links (n, n)."""
    known, units = mechanism.coordinates, mechanism.units

    def entry(i: int, k: int) -> Series:
        unit = UNITS["N s/m"][(units[i] == "rad") + (units[k] == "rad")]
        meaning = f"damping, {listed_coordinates((known[i], known[k]))}"
        name, latex = f"D_{i + 1}_{k + 1}", f"D_{{{i + 1} {k + 1}}}"
        return names.constant(Constant(name, latex, float(drag[i, k]), unit, meaning, "damping"))

    return mirrored(mechanism.size, entry)


def unit_of(unit: str, *coordinates: str) -> str:
    """The unit of an integral over the shapes of some coordinates."""
    families = (family_of(name) for name in coordinates)
    return UNITS[unit][sum(family is not None and family.is_angle for family in families)]


def listed_coordinates(coordinates: tuple[str, ...]) -> str:
    different = tuple(dict.fromkeys(coordinates))
    return f"coordinate {different[0]}" if len(different) == 1 else f"coordinates {' and '.join(different)}"


def index_of(own: LinkNames, k: int, extra: str = "") -> str:
    return f"{own.marks[k]} {extra}".strip()


def _several(values: Array) -> bool:
    return int(np.count_nonzero(values)) > 1


def _symmetric(entry: Callable[[int, int], Series]) -> Matrix:
    return mirrored(3, entry)


def mirrored(n: int, entry: Callable[[int, int], Series]) -> Matrix:
    upper = {(i, k): entry(i, k) for i in range(n) for k in range(i, n)}
    return [[upper[min(i, k), max(i, k)] for k in range(n)] for i in range(n)]


def _no_matrix(zero: Series) -> Matrix:
    return [[zero] * 3 for _ in range(3)]


def _cross(S: Matrix) -> list[Series]:
    """int a x b dm from int a^p b^q dm."""
    return [S[1][2] - S[2][1], S[2][0] - S[0][2], S[0][1] - S[1][0]]


def _numeric_cross(S: Array) -> Array:
    return np.stack([S[..., 1, 2] - S[..., 2, 1], S[..., 2, 0] - S[..., 0, 2], S[..., 0, 1] - S[..., 1, 0]], axis=-1)


def _trace(S: Matrix) -> Series:
    return S[0][0] + S[1][1] + S[2][2]


def _inertia(S: Matrix) -> Matrix:
    """The symmetric part of int a~^T b~ dm."""
    trace = _trace(S)
    return [
        [(trace if p == q else trace * 0.0) - (S[p][q] + S[q][p]) * 0.5 for q in range(3)]
        for p in range(3)
    ]  # fmt: skip


# ---- beams of second-order bending in symbols


@dataclass(frozen=True, slots=True)
class ShortenedInertia:
    """A beam whose axis does not stretch: a linear body with n + k modes, the last of which move by forms of the first.

    linear  its integrals
    forms   F of p = q^T F q / 2   k x n x n
    """

    linear: FlexibleInertia
    forms: list[Matrix]


def with_points(member: Member) -> tuple[ModalBody, list[Part]]:
    """The body of a link with the point masses that its second-order integrals count among its own; the other parts."""
    body, rest = member.body, list[Part]()
    for part in member.parts:
        merged = add_part(body, part.frame, part.mass, part.com, part.inertia) if body.moves(part.frame) else None
        if merged is None:
            rest.append(part)
        else:
            body = merged
    return body, rest


def shortened_frame(
    own: LinkNames, frame: str, Gamma: Array, q: Vector, r: list[Series], shapes: list[list[Series]]
) -> tuple[list[Series], list[list[Series]]]:
    """Place and displacement shapes of a frame with q^T Gamma q / 2 and its gradient Gamma q."""
    text = f"shortening at frame '{frame}'"
    origins: list[FormOrigin | None] = [("shortening", frame), None, None]
    forms = symmetric_forms(own, "Gam", r"\Gamma", [f"{frame} {axis}" for axis in AXES], Gamma, text, origins)
    rows = [times(form, q) for form in forms]
    moved = [[x + rows[d][k] for d, x in enumerate(shape)] for k, shape in enumerate(shapes)]
    return add(r, [inner(row, q) * 0.5 for row in rows]), moved


def shortened_inertia(body: ModalBody, back: Foreshortening, link: Link, own: LinkNames) -> ShortenedInertia:
    """The inertia of a beam whose axis does not stretch."""
    arrays, forms = back.widened({name: getattr(body, name) for name in WIDENED})
    marks = tuple(f"s{j + 1}" for j in range(len(forms)))
    wide = replace(body, names=(*body.names, *marks), **arrays)  # type: ignore[arg-type]
    linear = flexible_inertia(wide, link, replace(own, marks=(*own.marks, *marks)))
    origins: list[FormOrigin | None] = [("form", mark) for mark in marks]
    return ShortenedInertia(linear, symmetric_forms(own, "F", "F", marks, forms, "form of the shortening", origins))


def symmetric_forms(
    own: LinkNames,
    letter: str,
    latex: str,
    indices: Sequence[str],
    values: Array,
    text: str,
    origins: Sequence[FormOrigin | None],
) -> list[Matrix]:
    """Quadratic forms (d, n, n) of the elastic coordinates, 1/m (1/m^2 of a mode that stretches)."""

    def form(d: int) -> Matrix:
        which = origins[d]

        def entry(i: int, k: int) -> Series:
            index = f"{indices[d]} {index_of(own, i)} {index_of(own, k)}"
            origin = None if which is None else Origin(which[0], own.link, (i, k), which[1])
            return own.constant(letter, latex, index, values[d, i, k], "1/m", text, "modal", origin=origin)

        return mirrored(values.shape[1], entry)

    return [form(d) for d in range(len(values))]
