"""A derivation that a class can follow: frames, points, Jacobians, energies link by link, then the equations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pliant.formulations.lagrange.algebra.chain import ChainBody
from pliant.formulations.lagrange.algebra.link_inertia import FlexibleInertia, Matrix, RigidInertia, ShortenedInertia
from pliant.formulations.lagrange.algebra.series import Series
from pliant.formulations.lagrange.algebra.symbols import AXES, latex_index
from pliant.formulations.lagrange.typesetting.pages import PageEntry, PagePart

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations
    from pliant.formulations.lagrange.typesetting.writing import EquationWriter


def steps_before(eq: Equations) -> Iterator[PagePart]:
    """Everything up to the kinetic energy: Lin & Lewis (1)-(16), link by link."""
    known, writer = eq.kinematics, eq.writer(expanded=False)
    shown = [(body, motion) for body, motion in zip(eq.chain.bodies, known.motions, strict=True) if body.inertia]
    for number, (body, motion) in enumerate(shown, start=1):
        yield PagePart(
            f"Step 1.{number}: place of {body.label}",
            _place_words(body) + " R are its axes in those of the base, p is its place; other entries are 0 or 1.",
            (*_matrix(writer, "R", body.label, motion.R), *_vector(writer, "p", body.label, motion.p)),
            *_point(body),
        )
    for number, (body, motion) in enumerate(shown, start=1):
        yield PagePart(
            f"Step 2.{number}: Jacobians of {body.label}",
            "J are the derivatives of p by the coordinates, W the angular velocity per unit rate, a column for each.",
            (*_jacobian(writer, "J", body.label, motion.J_v), *_jacobian(writer, "W", body.label, motion.J_w)),
        )
    for number, part in enumerate(known.parts, start=1):
        body = next(body for body, _ in shown if body.label == part.label)
        yield PagePart(
            f"Step 3.{number}: energies of {part.label}",
            "Kinetic energy v^T H v / 2, of which the upper half is written, and potential energy V in gravity.",
            (*_upper(writer, "H", part.label, part.H), *_vector(writer, "V", part.label, [part.potential], bare=True)),
            *_energy(body),
        )
    yield PagePart(
        "Step 4: all of them",
        "The kinetic energy is the sum over the bodies, with the inertia of motors on their angles; the potential "
        "energy that of gravity and of what is strained.",
        (),
        r"T = \tfrac{1}{2} \dot q^T M \dot q, \quad M = \sum_i H_i, \qquad "
        r"V = \sum_i V_i + \tfrac{1}{2} q^T U q, \qquad "
        r"\frac{d}{dt} \frac{\partial T}{\partial \dot q} - \frac{\partial T}{\partial q} "
        r"+ \frac{\partial V}{\partial q} = B \tau",
        "T = v^T M v / 2 with M = sum of H; V = sum of V + q^T U q / 2; d/dt dT/dv - dT/dq + dV/dq = B tau",
    )


def steps_between(eq: Equations) -> Iterator[PagePart]:
    """From M to D: the slopes of M and how they make the Christoffel symbols."""
    writer, n = eq.writer(expanded=False), range(len(eq.coordinates))
    entries = []
    for i in n:
        for k in n[i:]:
            for j, q in enumerate(eq.system.coordinates):
                slope = eq.system.M[i][k].by(q).reduced()
                if slope:
                    latex = rf"M_{{{i + 1}{k + 1};{j + 1}}}"
                    entries.append(PageEntry(latex, f"M[{i + 1},{k + 1};{j + 1}]", writer.entry(slope)))
    yield PagePart(
        "Step 5: slopes of M, and D from them",
        "The number behind the semicolon is that of the coordinate by which an entry is differentiated.",
        tuple(entries),
        r"D_{ij} = \tfrac{1}{2} \sum_k \left( M_{ij;k} + M_{ik;j} - M_{jk;i} \right) \dot q_k, \qquad "
        r"G_i = \frac{\partial V_g}{\partial q_i}",
        "D[i,j] = sum over k of (M[i,j;k] + M[i,k;j] - M[j,k;i]) v[k] / 2; G[i] = dV/dq[i] of gravity",
    )


# ---------------------------------------------------------------- words and formulas


def _place_words(body: ChainBody) -> str:
    if isinstance(body.inertia, RigidInertia):
        return "The centre of mass of a rigid body."
    return "The frame at the root of a body that bends."


def _point(body: ChainBody) -> tuple[str, str]:
    """Where a material point of a body that bends is."""
    if isinstance(body.inertia, RigidInertia):
        return "", ""
    back, text = "", ""
    if isinstance(body.inertia, ShortenedInertia):
        back, text = r" + \tfrac{1}{2} q_e^T \Gamma(x) q_e", " + q_e^T Gamma(x) q_e / 2"
    return (
        rf"P(x) = p + R \left( x\, e_x + \textstyle\sum_k \phi_k(x)\, q_k{back} \right)",
        f"P(x) = p + R (x e_x + sum of phi_k(x) q_k{text})",
    )


def _energy(body: ChainBody) -> tuple[str, str]:
    """What the energies are of."""
    if isinstance(body.inertia, (FlexibleInertia, ShortenedInertia)):
        return (
            r"H = \int_0^l \rho\, J_P(x)^T J_P(x)\, dx, \quad J_P = \frac{\partial P}{\partial q}, \qquad "
            r"V = - \int_0^l \rho\, g^T P(x)\, dx",
            "H = int rho J^T J dx with J = dP/dq; V = - int rho g . P dx",
        )
    return (
        r"H = m J^T J + W^T I W, \qquad V = - m\, g^T p",
        "H = m J^T J + W^T I W; V = - m g . p",
    )


# ---------------------------------------------------------------- entries


def _label(letter: str, name: str, index: str) -> tuple[str, str]:
    comma = "," if index else ""
    bracket = f"[{index}]" if index else ""
    return f"{letter}_{{{latex_index(name)}{comma}{index}}}", f"{letter}_{name.replace(' ', '_')}{bracket}"


def _entry(writer: EquationWriter, letter: str, name: str, index: str, x: Series) -> PageEntry:
    return PageEntry(*_label(letter, name, index), writer.entry(x))


def _is_plain(x: Series) -> bool:
    """Whether an entry is zero or one."""
    return not x or (set(x.terms) == {0} and x.terms[0] == {0: 1.0})


def _matrix(writer: EquationWriter, letter: str, name: str, rows: Matrix) -> list[PageEntry]:
    return [
        _entry(writer, letter, name, f"{AXES[i]}{AXES[k]}", x)
        for i, row in enumerate(rows)
        for k, x in enumerate(row)
        if not _is_plain(x)
    ]


def _vector(
    writer: EquationWriter, letter: str, name: str, values: list[Series], *, bare: bool = False
) -> list[PageEntry]:
    return [_entry(writer, letter, name, "" if bare else AXES[d], x) for d, x in enumerate(values) if x]


def _jacobian(writer: EquationWriter, letter: str, name: str, rows: Matrix) -> list[PageEntry]:
    return [
        _entry(writer, letter, name, f"{AXES[d]}{k + 1}", x)
        for d, row in enumerate(rows)
        for k, x in enumerate(row)
        if x
    ]


def _upper(writer: EquationWriter, letter: str, name: str, rows: Matrix) -> list[PageEntry]:
    return [
        _entry(writer, letter, name, f"{i + 1}{k + 1}", x)
        for i, row in enumerate(rows)
        for k, x in enumerate(row)
        if k >= i and x
    ]
