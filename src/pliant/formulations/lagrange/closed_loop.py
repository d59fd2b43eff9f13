"""Small loops in closed form: dependent joints, the motions that a loop leaves, and equations of the others alone.

The rows c(q) = 0 of a loop determine as many passive joints. With their rates v_d = -J_d^-1 J_i v_i all velocities are
v = Z v_i, and the equations of the independent coordinates are those of the open tree times Z^T: the multipliers fall
out, as Z^T J^T = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError
from pliant.formulations.lagrange.typesetting.expression import to_sympy

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations


@dataclass(frozen=True)
class ReducedEquations:
    """M a_i + h = B tau of the independent coordinates, and all velocities v = Z v_i, accelerations Z a_i + z.

    Matrices of SymPy in all coordinates q, which the loop ties, and in the independent velocities.
    """

    M: Any
    h: Any
    B: Any
    Z: Any
    z: Any


class ClosedLoop:
    """The loops of a robot in symbols."""

    def __init__(self, equations: Equations) -> None:
        found = equations.system.closure
        if found is None:
            raise ModelError(f"robot '{equations.robot}' has no closed loop")
        self.equations, self.system, self.names = equations, found, found.names

    @cached_property
    def gap(self) -> Any:
        """c(q), which is zero where the loop is closed, m (rows, 1)."""
        return self.equations._matrix([[x] for x in self.system.gaps])

    @cached_property
    def J(self) -> Any:
        """dc/dq (rows, n)"""
        return self.equations._matrix(self.system.J)

    @cached_property
    def bias(self) -> Any:
        """J_dot v (rows, 1)"""
        import sympy

        eq = self.equations
        writer = eq.writer(expanded=True)
        rows = [[to_sympy(writer.velocity_entry(x, eq.rates)) for x in row] for row in self.system.rates]
        return sympy.Matrix(rows) * sympy.Matrix(eq.v)

    # ---- coordinates

    @cached_property
    def dependent(self) -> tuple[int, ...]:
        """Places of the passive joints that the loop determines: the last ones that can."""
        eq, rows = self.equations, len(self.names)
        names = set(eq.inputs)
        passive = [i for i, c in enumerate(eq.coordinates) if not c.elastic and c.robot_name not in names]
        every = list(range(rows))
        for chosen in reversed(list(combinations(passive, rows))):
            if self.J.extract(every, list(chosen)).det() != 0:
                return chosen
        raise ModelError(
            f"the loop of '{eq.robot}' determines no {rows} passive joints: every choice has a singular Jacobian"
        )

    @property
    def independent(self) -> tuple[int, ...]:
        """Places of the other coordinates."""
        return tuple(i for i in range(len(self.equations.coordinates)) if i not in self.dependent)

    # ---- velocities and accelerations

    @cached_property
    def reduced(self) -> ReducedEquations:
        """The equations of the independent coordinates."""
        import sympy

        eq, dependent, rest = self.equations, list(self.dependent), list(self.independent)
        every = list(range(len(self.names)))
        A = self.J.extract(every, dependent)
        determinant, adjugate = _short(A.det(method="berkowitz")), A.adjugate(method="berkowitz")
        n = len(eq.coordinates)
        Z, z = sympy.zeros(n, len(rest)), sympy.zeros(n, 1)
        # determinants of pins are sines of sums of angles
        share = (-adjugate * self.J.extract(every, rest)).applyfunc(lambda x: _short(x) / determinant)
        for k, i in enumerate(rest):
            Z[i, k] = 1
            for row, j in enumerate(dependent):
                Z[j, k] = share[row, k]
        v = Z * sympy.Matrix([eq.v[i] for i in rest])
        rates = {eq.v[j]: v[j] for j in dependent}
        tail = -adjugate * self.bias.subs(rates, simultaneous=True) / determinant
        for row, j in enumerate(dependent):
            z[j] = tail[row]
        h = Z.T * (eq.M * z + eq.bias.subs(rates, simultaneous=True))
        return ReducedEquations(Z.T * eq.M * Z, h, Z.T * eq.B, Z, z)

    # ---- positions

    def positions(self, branch: int = 1) -> dict[Any, Any]:
        """The dependent joints of a four-bar by the other coordinates: the symbol of each and what it is.

        A pin between two arms, each held by one passive revolute joint: c = a + A e(u) + B e(w) with e = (cos, sin) of
        the two angles, where A and B turn and stretch. Then |a + A e(u)| is the length of the other arm, an equation
        p cos u + r sin u = s with two solutions.

        branch  1 or -1: on which side of the line between the two joints the pin is
        """
        import sympy

        if branch not in (1, -1):
            raise ModelError(f"branch is {branch!r}; it must be 1 or -1")
        eq = self.equations
        if len(self.names) != 2 or any(eq.coordinates[i].unit != "rad" for i in self.dependent):
            raise ModelError(
                "positions in closed form are for a pin in a plane that two passive revolute joints follow"
            )
        u, w = (eq.q[i] for i in self.dependent)
        waves = [f(x) for x in (u, w) for f in (sympy.cos, sympy.sin)]
        opened = sympy.expand(self.gap.applyfunc(lambda x: sympy.expand(sympy.expand_trig(x))))
        A, B = (
            sympy.Matrix(2, 2, [opened[i].coeff(f) for i in range(2) for f in pair]) for pair in (waves[:2], waves[2:])
        )
        a = opened.subs(dict.fromkeys(waves, 0))
        if any(x.has(u, w) for matrix in (A, B, a) for x in matrix):
            raise ModelError("the two passive joints stand on one side of the pin; their angles have no such form")
        # A^T A and B^T B are squares of lengths times the unit matrix
        first, second = (_short((C.T * C)[0, 0]) for C in (A, B))
        p, r = (_short(2 * x) for x in A.T * a)
        s = _short(second - first - (a.T * a)[0, 0])
        angle = sympy.atan2(r, p) + branch * sympy.acos(s / sympy.sqrt(p**2 + r**2))
        e = -(B.T * (a + A * sympy.Matrix([sympy.cos(u), sympy.sin(u)]))) / second
        return {u: angle, w: sympy.atan2(e[1], e[0]).subs(u, angle)}


SIMPLIFIED = 60
"""Operations up to which sums of cosines and sines are looked through."""


def _short(x: Any) -> Any:
    """An expression with its cosines and sines collected, where that is quick."""
    import sympy

    opened = sympy.expand(x)
    return sympy.trigsimp(opened) if sympy.count_ops(opened) <= SIMPLIFIED else opened
