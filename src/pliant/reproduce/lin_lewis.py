"""Lin & Lewis (1994), symbolic equations of rigid and flexible arms: the four examples, term by term.

Printed numbers are set beside ours, with the corrections that a second derivation showed to be needed: the tip mass of
section 4.2 is 0.1 lbf s^2/in, its eigenvalues are those of [M^-1]_FF U_FF, 3.70e5 is 3.70e4, the pinned-pinned zeros
are real, and the appendix has some misprints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.modes import modes
from pliant.bodies.shape_constants import shape_constants
from pliant.control.linear_model import linearise
from pliant.control.zeros import zeros
from pliant.dynamics import Dynamics
from pliant.formulations.lagrange.equations import Equations, equations
from pliant.model import Family, Joint, Link, Rigid, Robot
from pliant.model.readers.library import load
from pliant.reproduce.claim import Claim

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Floats = NDArray[np.float64]

# section 4.2, 15 pinned-pinned modes: printed, and with the misprint corrected and put in order
PRINTED = (2320.64, 1.87e5, 3.70e5, 5.92e5, 1.44e6, 2.99e6, 5.55e6, 9.47e6, 1.51e7, 2.31e7, 3.38e7, 4.79e7, 6.60e7,
           8.88e7, 1.17e8)  # fmt: skip
CORRECTED = (2320.64, 3.70e4, *PRINTED[1:2], *PRINTED[3:])
MODE_NUMBERS = (2, 5, 10, 15)
PRINTED_ZEROS = {"clamped-free": "±j1.0914, ±j76.98", "pinned-pinned": "±58.89 ± j76.06"}

# appendix: the mode cosh bs - cos bs - sigma (sinh bs - sin bs), s = y/L, and its integrals as printed
APPENDIX_MODE = {"b": 0.912224, "sigma": 1.1213}
APPENDIX_NUMBERS = {
    "phi_L": 0.5497897482078318,
    "int_phi": 0.20665119305760396,
    "int_y_phi": 0.1514662974543848,
    "int_phi_phi": 0.07147226535009998,
}


def main(out: Path, console: Console) -> None:
    """Compute all four examples, print the comparison and write the equations into a folder."""
    console.print("[bold]Lin & Lewis, Int. J. Robotics Research 13(5), 1994[/]")
    _rigid_arm(out, console)
    _one_link(out, console)
    _turret(out, console)
    _rigid_flexible_rigid(out, console)


# ---------------------------------------------------------------- 4.1 rigid two-link arm


def two_link_arm() -> Robot:
    """The rigid two-link arm of section 4.1, in the vertical plane."""
    links = [
        Link(
            name=name,
            joint=Joint(name=joint, axis="z"),
            rigid=Rigid(mass=mass, com=(centre, 0.0, 0.0), inertia=(0.0, inertia, inertia), length=length),
        )
        for name, joint, mass, centre, inertia, length in (
            ("upper", "shoulder", 2.0, 0.2, 0.03, 0.5),
            ("fore", "elbow", 1.0, 0.15, 0.008, 0.3),
        )
    ]
    return Robot(name="rigid-two-link", gravity=(0.0, -9.81, 0.0), links=tuple(links))


def textbook_two_link(eq: Equations) -> dict[str, Any]:
    """Spong & Vidyasagar (1989): M, D and G of the arm, in the symbols of our equations."""
    import sympy

    m1, m2, l1, c1, c2, I1, I2, g = (eq.symbol(x) for x in ("m_1", "m_2", "l_1", "lc_1", "lc_2", "I_1", "I_2", "g"))
    (q1, q2), (v1, v2) = eq.q, eq.v
    cos, sin = sympy.cos, sympy.sin
    d12 = m2 * (c2**2 + l1 * c2 * cos(q2)) + I2
    h = -m2 * l1 * c2 * sin(q2)
    return {
        "M": sympy.Matrix(
            [
                [m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cos(q2)) + I1 + I2, d12],
                [d12, m2 * c2**2 + I2],
            ]
        ),
        "D": sympy.Matrix([[h * v2, h * v2 + h * v1], [-h * v1, 0]]),
        "G": sympy.Matrix([(m1 * c1 + m2 * l1) * g * cos(q1) + m2 * c2 * g * cos(q1 + q2), m2 * c2 * g * cos(q1 + q2)]),
    }


def _rigid_arm(out: Path, console: Console) -> None:
    import sympy

    eq = equations(two_link_arm())
    book = textbook_two_link(eq)
    rows = _table("entry", "ours minus the textbook")
    for letter, n in (("M", 4), ("D", 4), ("G", 2)):
        found = getattr(eq, letter)
        for i in range(n):
            difference = sympy.expand(found[i] - book[letter][i])
            rows.add_row(f"{letter}[{i // 2 + 1},{i % 2 + 1}]" if n == 4 else f"{letter}[{i + 1}]", str(difference))
    _print(console, "4.1 Rigid two-link arm, term by term against Spong & Vidyasagar", rows)
    eq.save(out / "rigid-two-link.tex")
    eq.save(out / "rigid-two-link.md")


# ---------------------------------------------------------------- 4.2 one flexible link


def one_link(count: int, shape: str = "pinned-pinned") -> Robot:
    """The flexible link of section 4.2 with some modes."""
    robot = load("lin-lewis-one-link")
    (link,) = robot.links
    assert link.beam is not None
    assert link.beam.modes is not None
    modes = link.beam.modes.with_changes(shape=shape, bend_y=Family(count=count))
    return robot.with_changes(links=(link.with_changes(beam=link.beam.with_changes(modes=modes)),))


@dataclass(frozen=True)
class OneLink:
    """M and U of one flexible link at rest, from its equations in symbols."""

    M: Floats
    U: Floats

    @property
    def eigenvalues(self) -> Floats:
        """Eigenvalues of [M^-1]_FF U_FF, the rigid coordinate kept: what the paper prints."""
        return _sorted_eigenvalues(np.linalg.inv(self.M)[1:, 1:] @ self.U[1:, 1:])

    @property
    def literal(self) -> Floats:
        """Eigenvalues of M_FF^-1 U_FF, as the text of the paper describes it."""
        return _sorted_eigenvalues(np.linalg.solve(self.M[1:, 1:], self.U[1:, 1:]))


def one_link_matrices(count: int, shape: str = "pinned-pinned") -> OneLink:
    """The matrices of the link with some modes."""
    functions = equations(one_link(count, shape)).functions()
    return OneLink(functions.mass_matrix(np.zeros(count + 1)), functions.stiffness)


def nesting_error(many: OneLink, few: OneLink) -> float:
    """How far M_FF and U_FF of few modes are from blocks of those of many, relative to their largest entries."""
    n = len(few.M)
    pairs = ((many.M, few.M), (many.U, few.U))
    return max(float(np.abs(a[1:n, 1:n] - b[1:, 1:]).max() / np.abs(b[1:, 1:]).max()) for a, b in pairs)


def one_link_zeros(shape: str, count: int = 2, output: str = "shoulder") -> NDArray[np.complex128]:
    """Zeros from the motor torque to the joint coordinate (or another output)."""
    arm = Dynamics(one_link(count, shape), compile="never")
    return zeros(linearise(arm, np.zeros(arm.size)), output, "shoulder")


def _sorted_eigenvalues(A: NDArray[Any]) -> Floats:
    return np.sort(np.linalg.eigvals(A).real)


def _one_link(out: Path, console: Console) -> None:
    matrices = {n: one_link_matrices(n) for n in MODE_NUMBERS}
    rows = _table("mode", "printed", "corrected", *(f"ours, {n} modes" for n in reversed(MODE_NUMBERS)))
    for k in range(15):
        ours = [f"{m.eigenvalues[k]:.6g}" if k < n else "" for n, m in reversed(matrices.items())]
        rows.add_row(str(k + 1), f"{PRINTED[k]:.6g}", f"{CORRECTED[k]:.6g}", *ours)
    _print(console, "4.2 One flexible link, pinned-pinned: eigenvalues of [M^-1]_FF U_FF in 1/s^2", rows)
    first = matrices[15].eigenvalues[0]
    console.print(
        f"first eigenvalue {first:.7f}; the literal M_FF^-1 U_FF would be k^4 * {matrices[15].literal[0]:.5f}"
    )
    worst = max(nesting_error(matrices[15], matrices[n]) for n in MODE_NUMBERS)
    console.print(
        f"M_FF and U_FF of 2, 5 and 10 modes are blocks of those of 15 to {worst:.0e} of their largest entries"
    )
    rows = _table("shapes", "output", "zeros in 1/s", "printed", words=4)
    for shape in ("clamped-free", "pinned-pinned"):
        printed = PRINTED_ZEROS[shape]
        rows.add_row(shape, "joint", _pairs(one_link_zeros(shape)), printed)
        rows.add_row("", "tip", _pairs(one_link_zeros(shape, output="tip.y")), "")
    _print(console, "4.2 Zero dynamics with two modes, torque to joint coordinate", rows)
    for shape in ("clamped-free", "pinned-pinned"):
        left = equations(one_link(2, shape), bending="linear", integrals="inside").zero_dynamics()
        console.print(f"{shape}: 0 = {_polynomial(left.polynomial)}")
    for shape in ("clamped-free", "pinned-pinned"):
        equations(one_link(2, shape), integrals="closed").save(out / f"one-flexible-link-{shape}.tex")


# ---------------------------------------------------------------- 4.3 tank turret


def turret(shape: str = "clamped-free") -> Robot:
    """The turret with its barrel, with some boundary conditions of the shapes."""
    robot = load("lin-lewis-tank-turret")
    base, barrel = robot.links
    assert barrel.beam is not None
    assert barrel.beam.modes is not None
    shapes = barrel.beam.modes.with_changes(shape=shape)
    return robot.with_changes(links=(base, barrel.with_changes(beam=barrel.beam.with_changes(modes=shapes))))


def turret_zeros(shape: str) -> NDArray[np.complex128]:
    """Zero dynamics of the turret in its reference pose: both joint coordinates kept, no gravity as in the paper."""
    arm = Dynamics(turret(shape).with_changes(gravity=(0.0, 0.0, 0.0)), compile="never")
    q = arm.reference_pose()
    return zeros(linearise(arm, q), ("azimuth", "elevation"))


@dataclass(frozen=True)
class FlexibilityChange:
    """How much the blocks of the joints change as the barrel swings: root mean squares over its phases.

    deflection  of the tip, as a part of the length, in both directions
    M, D, h     ||M_RR - M_RR(straight)||/||M_RR(straight)||, the same of D_RR and of the rows (D v)_R
    """

    deflection: float
    M: float
    D: float
    h: float


DEFLECTIONS = (0.002, 0.005, 0.01, 0.02, 0.05)
PHASES = 16


def turret_states(deflection: float) -> list[tuple[Floats, Floats]]:
    """States of the turret that turns at 1 rad/s about both axes, 20 degrees up, while its barrel swings.

    Both directions swing at their clamped frequency with the amplitude of a tip deflection (a part of the length),
    PHASES phases each; coordinates in the order of the equations.
    """
    eq = equations(turret(), bending="linear")
    c = eq.values
    rate = np.sqrt(c["k_2_y1_y1"] / (c["m_2_y1_y1"] + c["phi_2_y1"] ** 2 * c["mp_2"]))
    size = deflection * c["l_2"] / c["phi_2_y1"]
    turns = 2 * np.pi * np.arange(PHASES) / PHASES
    out = []
    for a in turns:
        for b in turns:
            q = np.array([0.0, np.radians(20.0), size * np.cos(a), 0.0, size * np.cos(b), 0.0])
            v = np.array([1.0, 1.0, -size * rate * np.sin(a), 0.0, -size * rate * np.sin(b), 0.0])
            out.append((q, v))
    return out


def flexibility_changes() -> list[FlexibilityChange]:
    """Section 4.3: the flexible motion changes D much and M hardly."""
    f = equations(turret(), bending="linear").functions()
    out = []
    for deflection in DEFLECTIONS:
        changes = []
        for q, v in turret_states(deflection):
            still = np.where(np.arange(6) < 2, q, 0.0), np.where(np.arange(6) < 2, v, 0.0)
            pairs = [(f.mass_matrix(x)[:2, :2], f.coriolis(x, y)[:2, :2], (f.coriolis(x, y) @ y)[:2])
                     for x, y in ((q, v), still)]  # fmt: skip
            changes.append([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(*pairs, strict=True)])
        M, D, h = np.sqrt(np.mean(np.square(changes), axis=0))
        out.append(FlexibilityChange(deflection, float(M), float(D), float(h)))
    return out


def _turret(out: Path, console: Console) -> None:
    eq = equations(turret())
    M, D = eq.system.M, eq.system.christoffel
    console.print("\n[bold]4.3 Turret with a barrel that bends in two directions (RF)[/]")
    console.print("coordinates: " + ", ".join(f"{c.name} = {c.robot_name}" for c in eq.coordinates))
    inertia, velocity = sum(len(x) for row in M for x in row), sum(len(x) for row in D for e in row for x in e.values())
    console.print(f"terms of M: {inertia}, of D: {velocity}")
    rows = _table("shapes", "zeros in 1/s, both joint angles kept", words=2)
    for shape in ("clamped-free", "pinned-pinned"):
        rows.add_row(shape, _pairs(turret_zeros(shape)))
    _print(console, "4.3 Zero dynamics of the turret", rows)
    rows = _table("tip deflection", "change of M_RR", "of D_RR", "of (D v)_R")
    for change in flexibility_changes():
        rows.add_row(*(f"{100 * x:.3g} %" for x in (change.deflection, change.M, change.D, change.h)))
    _print(console, "4.3 What the swinging barrel changes, joints at 1 rad/s", rows)
    eq.save(out / "tank-turret.tex")
    eq.save(out / "tank-turret.html")


# ---------------------------------------------------------------- 4.4 rigid, flexible, rigid


@dataclass(frozen=True)
class AppendixEntry:
    """An entry of the appendix as printed, what has to be added to it, and why."""

    printed: Any
    correction: Any
    why: str


def appendix(eq: Equations) -> dict[tuple[int, int], AppendixEntry]:
    """M of the appendix in the paper's order th1, th2, th3, v, transcribed as printed, with our symbols.

    The printed numbers are constants of the mode: 0.54979 phi(L), 0.20665 A ro L the integral a, 0.15147 A ro L^2 the
    integral b, 0.07147 A ro L the modal mass, 0.30227 phi(L)^2. The chord turns the last link by e = phi(L) v/L2.
    """
    import sympy

    cos, sin = sympy.cos, sympy.sin
    names = ("l_1", "l_2", "l_3", "lc_1", "lc_3", "m_1", "m_3", "mp_3", "I_1", "I_3", "rho_2", "a_2_1", "b_2_1")
    L1, L2, L3, Lc1, Lc3, m1, m3, mp, I1, I3, rho, a, b = (eq.symbol(x) for x in names)
    mm, phi, v = eq.symbol("m_2_1_1"), eq.symbol("phi_2_1"), eq.symbol("v_2_1")
    th2, th3 = eq.symbol("theta_2"), eq.symbol("theta_3")
    e = th3 + phi * v / L2
    c2, s2, ce, se, c2e = cos(th2), sin(th2), cos(e), sin(e), cos(th2 + e)
    bent = phi**2 * mp * v**2 + phi**2 * m3 * v**2 + mm * v**2
    lost = "I_x3 is lost by (7)"

    M11 = (
        I1 + I3 + mp * L1**2 + 2 * mp * c2 * L1 * L2 + mp * L2**2 + 2 * mp * c2e * L1 * L3 + 2 * mp * ce * L2 * L3
        + mp * L3**2 + Lc1**2 * m1 + L1**2 * m3 + 2 * c2 * L1 * L2 * m3 + L2**2 * m3 + 2 * c2e * L1 * Lc3 * m3
        + 2 * ce * L2 * Lc3 * m3 + Lc3**2 * m3 + L1**2 * L2 * rho + c2 * L1 * L2**2 * rho + L2**3 * rho / 3
        - 2 * phi * mp * L1 * s2 * v - 2 * phi * L1 * m3 * s2 * v - 2 * a * L1 * s2 * v + 2 * phi * mp * L3 * se * v
        + 2 * phi * Lc3 * m3 * se + bent
    )  # fmt: skip
    M12 = (
        mp * c2 * L1 * L2 + mp * L2**2 + mp * c2e * L1 * L3 + 2 * mp * ce * L2 * L3 + mp * L3**2 + c2 * L1 * L2 * m3
        + L2**2 * m3 + c2e * L1 * L3 * m3 + 2 * ce * L2 * Lc3 * m3 + Lc3**2 * m3 + c2 * L1 * L2**2 * rho / L2
        + L2**3 * rho / 3 - phi * mp * L1 * s2 * v - phi * L1 * m3 * s2 * v + a * L1 * s2 * v
        + 2 * phi * mp * L3 * se * v + 2 * phi * Lc3 * m3 * se * v + bent
    )  # fmt: skip
    M12_correction = (
        c2e * L1 * (Lc3 - L3) * m3 + c2 * L1 * L2**2 * rho / 2 - c2 * L1 * L2 * rho - 2 * a * L1 * s2 * v + I3
    )
    M13 = I3 + sum(
        m * (c2e * L1 * x + ce * L2 * x + x**2 + phi * x * se * v) for m, x in ((mp, L3), (m3, Lc3))
    )  # fmt: skip
    M14 = phi / (2 * L2) * (
        2 * mp * c2 * L1 * L2**2 + 2 * mp * c2e * L1 * L3 + 4 * mp * ce * L2 * L3 + 2 * mp * L3**2
        + 2 * c2 * L1 * L2 * m3 + 2 * L2**2 * m3 + 2 * c2e * L1 * Lc3 * m3 + 4 * ce * L2 * Lc3 * m3 + 2 * Lc3**2 * m3
        + 2 * phi * mp * L3 * se * v + 2 * phi * Lc3 * m3 * se * v
    ) + a * L1 * c2 + b  # fmt: skip
    M14_correction = phi / L2 * mp * (c2 * L1 * L2 + L2**2 - c2 * L1 * L2**2) + I3 * phi / L2
    M22 = (
        mp * L2**2 + 2 * mp * ce * L2 * L3 + mp * L3**2 + L2**2 * m3 + 2 * ce * L2 * Lc3 * m3 + Lc3**2 * m3
        + L2**3 * rho / 3 + 2 * phi * mp * L3 * se * v + 2 * phi * Lc3 * m3 * se * v + bent
    )  # fmt: skip
    M23 = sum(m * (ce * L2 * x + x**2 + phi * x * se * v) for m, x in ((mp, L3), (m3, Lc3)))
    M24 = phi / L2 * (
        mp * L2**2 + 2 * mp * ce * L2 * L3 + mp * L3**2 + L2**2 * m3 + 2 * ce * L2 * Lc3 * m3 + Lc3**2 * m3
        + phi * mp * L3 * se * v + phi * Lc3 * m3 * se * v
    ) + b  # fmt: skip
    M33 = I3 + mp * L3**2 + Lc3**2 * m3
    product = cos(th3 * phi * v / L2)
    M34 = phi * mp * product * L3 + phi * mp * L3**2 / L2 + phi * ce * Lc3 * m3 + phi * Lc3**2 * m3 / L2
    M44 = (
        phi**2 * mp + 2 * phi**2 * mp * ce * L3 / L2 + phi**2 * mp * L3**2 / L2**2 + phi**2 * m3
        + 2 * phi**2 * ce * Lc3 * m3 / L2 + phi**2 * L3**2 * m3 / L2**2 + mm
    )  # fmt: skip
    none = sympy.Integer(0)
    return {
        (0, 0): AppendixEntry(M11, 2 * phi * Lc3 * m3 * se * (v - 1), "v is missing behind the second sine of e"),
        (0, 1): AppendixEntry(M12, M12_correction, f"L3 for Lc3, /L2 for /2, sign of 0.206651; {lost}"),
        (0, 2): AppendixEntry(M13, none, ""),
        (0, 3): AppendixEntry(M14, M14_correction, f"two terms of mpd run together; {lost}"),
        (1, 1): AppendixEntry(M22, I3, lost),
        (1, 2): AppendixEntry(M23, I3, lost),
        (1, 3): AppendixEntry(M24, I3 * phi / L2, lost),
        (2, 2): AppendixEntry(M33, none, ""),
        (2, 3): AppendixEntry(M34, phi * mp * L3 * (ce - product) + I3 * phi / L2, f"a plus in the cosine; {lost}"),
        (3, 3): AppendixEntry(
            M44, phi**2 * m3 * (Lc3**2 - L3**2) / L2**2 + I3 * phi**2 / L2**2, f"L3^2 for Lc3^2; {lost}"
        ),
    }


PAPER_ORDER = ("theta_1", "theta_2", "theta_3", "v_2_1")


def appendix_differences() -> dict[str, tuple[Any, str]]:
    """Our M by the chord rule minus the printed appendix and its corrections (all zero), and what was corrected."""
    import sympy

    eq = equations("lin-lewis-rfr", tip_rotation="chord")
    order = [[c.name for c in eq.coordinates].index(name) for name in PAPER_ORDER]
    out = {}
    for (i, k), entry in appendix(eq).items():
        difference = sympy.expand(sympy.expand(eq.M[order[i], order[k]] - entry.printed - entry.correction))
        out[f"M[{i + 1},{k + 1}]"] = (difference, entry.why)
    return out


def appendix_integrals() -> dict[str, float]:
    """The integrals of the mode of the appendix, with its rounded b and sigma."""
    from pliant.bodies.shapes import Clamped

    mode = Clamped(length=1.0, beta=APPENDIX_MODE["b"], sigma=APPENDIX_MODE["sigma"])
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (x + 1) / 2, w / 2
    phi = mode(x)
    return {
        "phi_L": float(mode(1.0)),
        "int_phi": float(w @ phi),
        "int_y_phi": float(w @ (x * phi)),
        "int_phi_phi": float(w @ phi**2),
    }


@dataclass(frozen=True)
class ChordStudy:
    """What the chord rule does to the arm in its reference pose: tip angle per unit of v, and locked frequencies."""

    slope: float
    chord: float
    slope_hertz: Floats
    chord_hertz: Floats


def chord_study() -> ChordStudy:
    """The tip angle and the locked frequency of the arm by slope and by chord."""
    found = {}
    for rule in ("slope", "chord"):
        eq = equations("lin-lewis-rfr", tip_rotation=rule)
        functions = eq.functions()
        arm = Dynamics("lin-lewis-rfr", compile="never")
        elastic = [k for k, name in enumerate(arm.names) if "." in name]
        M = functions.mass_matrix(modes(arm).q)[np.ix_(elastic, elastic)]
        U = functions.stiffness[np.ix_(elastic, elastic)]
        found[rule] = np.sqrt(_sorted_eigenvalues(np.linalg.solve(M, U))) / (2 * np.pi)
    constants = equations("lin-lewis-rfr").values
    chord = constants["phi_2_1"] / constants["l_2"]
    return ChordStudy(constants["dphi_2_1"], chord, found["slope"], found["chord"])


def chord_ratios() -> list[float]:
    """Chord over slope at the tip for the clamped-free modes 1, 2, 3."""
    from pliant.bodies.shapes import bending_shapes

    return [float(s(1.0) / s(1.0, 1)) for s in bending_shapes("clamped-free", 3, 1.0)]


def _rigid_flexible_rigid(out: Path, console: Console) -> None:
    rows = _table("entry", "misprints", "ours minus the corrected entry", words=2)
    for name, (difference, why) in appendix_differences().items():
        rows.add_row(name, why, str(difference))
    _print(console, "4.4 Rigid, flexible, rigid (RFR): M by the chord rule against the appendix", rows)
    rows = _table("integral of the appendix", "printed", "ours")
    for (name, printed), ours in zip(APPENDIX_NUMBERS.items(), appendix_integrals().values(), strict=True):
        rows.add_row(name, f"{printed:.16f}", f"{ours:.16f}")
    _print(console, "4.4 The mode cosh bs - cos bs - sigma (sinh bs - sin bs), b = 0.912224, sigma = 1.1213", rows)
    study = chord_study()
    rows = _table("rule", "turn of the tip, rad/m", "locked frequency, Hz")
    rows.add_row("slope phi'(L)", f"{study.slope:.6f}", f"{study.slope_hertz[0]:.6f}")
    rows.add_row("chord phi(L)/L", f"{study.chord:.6f}", f"{study.chord_hertz[0]:.6f}")
    _print(console, "4.4 Chord against slope in the reference pose", rows)
    ratios = ", ".join(f"{100 * abs(r):.1f} %" for r in chord_ratios())
    console.print(f"the chord is {ratios} of the true angle for the clamped-free modes 1, 2, 3")
    equations("lin-lewis-rfr", integrals="closed").save(out / "rigid-flexible-rigid.tex")
    console.print(f"\nequations written to {out}/")


# ---------------------------------------------------------------- printing


def _table(*columns: str, words: int = 1) -> Table:
    from rich import box
    from rich.table import Table

    rows = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        rows.add_column(column, justify="left" if i < words else "right")
    return rows


def _print(console: Console, title: str, rows: Table) -> None:
    console.print(f"\n[bold]{title}[/]")
    console.print(rows)


def _polynomial(polynomial: Any) -> str:
    """A polynomial of a Laplace variable with factors of a few digits."""
    import sympy

    terms = [f"({sympy.N(sympy.factor(sympy.expand(c)), 6)}) s^{power[0]}" for power, c in polynomial.terms()]
    return " + ".join(term.removesuffix(" s^0") for term in terms)


def _pairs(values: NDArray[np.complex128]) -> str:
    """±a and ±jb of zeros that come in pairs; others as they are."""
    out = []
    for z in values:
        if abs(z.imag) <= 1e-9 * abs(z) and z.real > 0:
            out.append(f"±{z.real:.6g}")
        elif abs(z.real) <= 1e-9 * abs(z) and z.imag > 0:
            out.append(f"±j{z.imag:.6g}")
        elif min(abs(z.real), abs(z.imag)) > 1e-9 * abs(z) and z.real > 0 and z.imag > 0:
            out.append(f"±{z.real:.6g}±j{z.imag:.6g}")
    return ", ".join(dict.fromkeys(out))


# ---------------------------------------------------------------- the numbers


def claims() -> Iterator[Claim]:
    """Eigenvalues and zeros of the flexible link, printed and corrected."""
    matrices = one_link_matrices(15)
    for k, (value, printed) in enumerate(zip(CORRECTED, PRINTED, strict=True)):
        ours = float(matrices.eigenvalues[k])
        # the paper cuts off after three digits
        digit = 10.0 ** (np.floor(np.log10(value)) - 2)
        yield Claim(
            f"published.lin-lewis.eigenvalue.{k + 1}",
            f"eigenvalue {k + 1} of [M^-1]_FF U_FF, one flexible link",
            ours,
            value,
            digit,
            "Lin & Lewis, section 4.2, three digits",
            "1/s^2",
            absolute=True,
        )
        if printed != value and k == 1:
            yield Claim(
                "published.lin-lewis.misprint.eigenvalue.2",
                "eigenvalue 2 as it is printed, in a list that should rise",
                ours,
                3.70e5,
                1e-2,
                "Lin & Lewis, section 4.2",
                "1/s^2",
                wrong="3.70e5 stands for 3.70e4: the exponent is wrong",
            )
    found = np.sort(np.abs(one_link_zeros("clamped-free").imag))[::2]
    for k, (value, within) in enumerate(((1.0914, 1e-4), (76.98, 5e-4))):
        yield Claim(
            f"published.lin-lewis.zero.clamped-free.{k + 1}",
            "zero of the motor angle, clamped-free shapes",
            float(found[k]),
            value,
            within,
            "Lin & Lewis, section 4.2, M rounded to five decimals",
            "1/s",
        )
    pinned = one_link_zeros("pinned-pinned")
    yield Claim(
        "published.lin-lewis.misprint.zero.pinned-pinned",
        "largest imaginary part of the zeros with pinned-pinned shapes",
        float(np.abs(pinned.imag).max()),
        76.06,
        1e-3,
        "Lin & Lewis, section 4.2",
        "1/s",
        wrong="the zeros are real (56.42 and 163.96 1/s), not a complex quadruple",
    )
    ratio = chord_ratios()[0]
    yield Claim(
        "published.lin-lewis.misprint.chord",
        "angle of the chord over that of the tip, first clamped-free mode",
        float(ratio),
        1.0,
        1e-2,
        "Lin & Lewis turn the next link by the chord",
        wrong="the next link turns by the slope at the tip; the chord turns by 72.6 % of it",
    )
    yield from _shape_claims()
    yield from _zero_claims()


def _shape_claims() -> Iterator[Claim]:
    """The mode of the appendix: its root and factor, and its integrals."""
    (shape,) = shape_constants("lin-lewis-rfr")
    named = (("root", shape.root, 0.912224, 1e-6), ("sigma", shape.sigma, APPENDIX_MODE["sigma"], 1e-4))
    for name, ours, printed, within in named:
        assert ours is not None
        what = f"{name} of the loaded mode of the second link"
        yield Claim(f"published.lin-lewis.shape.{name}", what, ours, printed, within, "Lin & Lewis, appendix")
    for (name, printed), ours in zip(APPENDIX_NUMBERS.items(), appendix_integrals().values(), strict=True):
        what = f"{name} of the printed mode"
        yield Claim(f"published.lin-lewis.integral.{name}", what, ours, printed, 1e-13, "Lin & Lewis, appendix")


def _zero_claims() -> Iterator[Claim]:
    """Zeros from the polynomial in symbols against those that were computed with other software."""
    second = {"clamped-free": (1.0914429, 76.95351), "pinned-pinned": (56.423985, 163.960699)}
    for shape, expected in second.items():
        left = equations(one_link(2, shape), bending="linear", integrals="inside").zero_dynamics()
        for k, value in enumerate(expected):
            yield Claim(
                f"published.lin-lewis.symbolic-zero.{shape}.{k + 1}",
                f"size of a zero of the joint coordinate in symbols, {shape} shapes",
                float(abs(left.zeros[2 * k])),
                value,
                1e-7,
                "second computation of Lin & Lewis, section 4.2",
                "1/s",
            )
