"""Appendix B of Cibicik & Egeland in symbols: the velocity of a point of the second boom, whole and to first order.

q1, q2, q3 are joints; t1, t2, t3 small angles of the first boom's tip about x, y, z; r2, r3 its displacement; k2, k3
the displacement of the point at x of the second boom. A letter d before a name is its rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pliant.formulations.lagrange.equations import require_sympy

if TYPE_CHECKING:
    from rich.console import Console

JOINTS, ELASTIC = ("q1", "q2", "q3"), ("t1", "t2", "t3", "k2", "k3", "r2", "r3")
# a moderate state for numbers: joints in rad, small angles in rad, displacements in m, and rates
STATE = {
    **{"q1": 0.0, "q2": 0.5, "q3": 2.0, "t1": 0.004, "t2": -0.01, "t3": 0.02, "k2": 0.01, "k3": -0.006},
    **{"r2": 0.015, "r3": 0.008, "dq1": 0.5, "dq2": -0.8, "dq3": 1.1, "dt1": 0.05, "dt2": 0.1, "dt3": -0.2},
    **{"dk2": 0.15, "dk3": 0.1, "dr2": -0.2, "dr3": 0.1, "x": 1.2, "L2": 2.0},
}


@dataclass(frozen=True)
class BoomVelocity:
    """Symbols, frames and velocities of the point, in the axes of frame 1 (q1 = 0).

    q, u          names -> coordinates and rates
    x, L2         place of the point on the second boom, length of the first
    R02, R03      axes of frames 2 and 3 (with the elastic rotation Rx Ry Rz of the tip)
    root, point   velocity of the second boom's root, and of the point against the root, all orders
    """

    q: dict[str, Any]
    u: dict[str, Any]
    x: Any
    L2: Any
    R02: Any
    R03: Any
    root: Any
    point: Any

    def first_order(self, expression: Any) -> Any:
        """Terms of order zero and one in the elastic states; cosines of q2, q3 reduced by c^2 = 1 - s^2."""
        import sympy

        eps = sympy.Symbol("eps")
        small = {s: eps * s for name in ELASTIC for s in (self.q[name], self.u[name])}
        e = expression.subs(small, simultaneous=True)
        out = sympy.expand(e.subs(eps, 0) + e.diff(eps).subs(eps, 0))
        for name in ("q2", "q3"):
            c, s = sympy.cos(self.q[name]), sympy.sin(self.q[name])
            out = sympy.expand(out.subs(c**2, 1 - s**2).subs(c**3, c * (1 - s**2)))
        return out

    def printed_root(self) -> Any:
        """(147)."""
        import sympy

        q, u = self.q, self.u
        x1, y1 = sympy.eye(3)[:, 0], sympy.eye(3)[:, 1]
        x2, y2, z2 = (self.R02[:, k] for k in range(3))
        s2, c2 = sympy.sin(q["q2"]), sympy.cos(q["q2"])
        return (
            u["r2"] * y2
            + u["r3"] * z2
            - u["q1"] * q["r3"] * x1
            + u["q1"] * (self.L2 * s2 + q["r2"] * c2) * y1
            + u["q2"] * (self.L2 * y2 - q["r2"] * x2)
        )

    def printed(self) -> Any:
        """(149) behind its first term."""
        import sympy

        q, u, x = self.q, self.u, self.x
        x1, y1 = sympy.eye(3)[:, 0], sympy.eye(3)[:, 1]
        x2, y2, z2 = (self.R02[:, k] for k in range(3))
        x3, y3, z3 = (self.R03[:, k] for k in range(3))
        (s2, c2), (s3, c3) = ((sympy.sin(q[n]), sympy.cos(q[n])) for n in ("q2", "q3"))
        t1, t2, t3 = q["t1"], q["t2"], q["t3"]
        return (
            u["k2"] * y3
            + u["k3"] * z3
            + u["q1"] * x * (-s3 * t1 + c3 * t2) * x1
            + u["q1"] * x * (c3 * (c2 * t3 + s2) + s3 * (c2 - t3 * s2)) * y1
            + u["q1"] * q["k2"] * (c3 * c2 - s3 * s2) * y1
            - u["q1"] * q["k3"] * x1
            + u["q2"] * x * (-s3 - c3 * t3) * x2
            + u["q2"] * x * (c3 - t3 * s3) * y2
            - u["q2"] * q["k2"] * c3 * x2
            - u["q2"] * q["k2"] * s3 * y2
            + u["q3"] * x * y3
            - u["q3"] * q["k2"] * x3
            + u["t1"] * x * s3 * z2
            - u["t2"] * x * c3 * z2
            - u["t3"] * x * s3 * x2
            + u["t3"] * x * c3 * y2
        )


def boom_velocity() -> BoomVelocity:
    """The velocity from the position of the point, differentiated."""
    require_sympy()
    import sympy

    names = (*JOINTS, *ELASTIC)
    q = {name: sympy.Symbol(name) for name in names}
    u = {name: sympy.Symbol("d" + name) for name in names}
    x, L2 = sympy.symbols("x L2")

    def turn(axis: int, angle: Any) -> Any:
        c, s = sympy.cos(angle), sympy.sin(angle)
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        R = sympy.eye(3)
        R[i, i], R[j, j], R[i, j], R[j, i] = c, c, -s, s
        return R

    R02 = turn(2, q["q1"]) * turn(0, -sympy.pi / 2) * turn(2, -sympy.pi / 2) * turn(2, q["q2"])
    R03 = R02 * turn(0, q["t1"]) * turn(1, q["t2"]) * turn(2, q["t3"]) * turn(2, q["q3"])
    places = R02 * sympy.Matrix([L2, q["r2"], q["r3"]]), R03 * sympy.Matrix([x, q["k2"], q["k3"]])
    rates = [sum((p.diff(q[n]) * u[n] for n in names), sympy.zeros(3, 1)).subs(q["q1"], 0) for p in places]
    frames = [R.subs(q["q1"], 0) for R in (R02, R03)]
    return BoomVelocity(q, u, x, L2, *frames, *rates)


def print_appendix_b(console: Console) -> None:
    """Both velocities by their sizes and numbers, and (149) term by term."""
    import sympy
    from rich.table import Table

    v = boom_velocity()
    printed = v.printed()
    rows = Table(title="Appendix B: velocity of a point of the second boom against its root, axes of frame 1")
    columns = ("axis", "operations, whole", "first order, (149)", "ours - (149)", "whole, m/s", "first order, m/s")
    for column in columns:
        rows.add_column(column, justify="right")
    for k, axis in enumerate("xyz"):
        first = v.first_order(v.point[k])
        difference = sympy.expand(first - v.first_order(printed[k]))
        numbers = (float(e.subs(STATE)) for e in (v.point[k], first))
        counts = (str(sympy.count_ops(e)) for e in (v.point[k], printed[k]))
        rows.add_row(axis, *counts, str(difference), *(f"{value:.5f}" for value in numbers))
    console.print(rows)
    console.print(
        "(149) is the first-order part of the true velocity, term by term. (148), which should be the whole, counts "
        "its last term with the rate of theta_3 twice."
    )
