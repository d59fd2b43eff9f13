"""Zero dynamics of small arms in symbols: what can still move while the outputs are kept where they are.

With outputs y = C q and efforts B tau, motions R with C R = 0 and equations L with L^T B = 0 leave

    L^T (M(q) R z_ddot + D R z_dot + F R z_dot + U R z) = 0

Lin & Lewis keep the joint coordinates. Pinned shapes turn the root, on which the motor acts: L differs from R there,
and what is left can be unstable; clamped ones leave M_FF z_ddot + U_FF z = 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

MOST = 6
"""Coordinates that are left, up to which a determinant in symbols is short enough to be of use."""

Outputs = Literal["joints", "motors"] | Sequence[Any]


@dataclass(frozen=True)
class SymbolicZeroDynamics:
    """The motion that is left: (s^2 M + s F + K) z = 0 about a straight robot at a pose, as SymPy matrices.

    coordinates  z, by name
    M, F, K      L^T M R, L^T F R, L^T (U + dG/dq) R
    values       of the constants
    """

    coordinates: tuple[str, ...]
    M: Any
    F: Any
    K: Any
    values: Mapping[str, float]

    @cached_property
    def s(self) -> Any:
        """The symbol of the Laplace variable."""
        import sympy

        return sympy.Symbol("s")

    @cached_property
    def polynomial(self) -> Any:
        """det(s^2 M + s F + K), whose roots are the zeros."""
        import sympy

        n = len(self.coordinates)
        if n > MOST:
            raise ModelError(f"{n} coordinates are left; a determinant in symbols is for {MOST} at the most, see zeros")
        whole = (self.s**2 * self.M + self.s * self.F + self.K).det(method="berkowitz") if n else sympy.Integer(1)
        return sympy.Poly(sympy.expand(whole), self.s)

    @cached_property
    def zeros(self) -> NDArray[np.complex128]:
        """The zeros for the values of the constants, 1/s, by size."""
        from scipy.linalg import eig

        n = len(self.coordinates)
        M, F, K = (self._number(x) for x in (self.M, self.F, self.K))
        none, one = np.zeros((n, n)), np.eye(n)
        found = eig(np.block([[none, one], [-K, -F]]), np.block([[one, none], [none, M]]), right=False)
        finite = [complex(z) for z in found[np.isfinite(found)]]
        # pairs of one size, whose last digits differ, by their parts
        ordered = sorted(finite, key=lambda z: (float(f"{abs(z):.9g}"), round(z.real, 9), round(z.imag, 9)))
        return np.array(ordered, dtype=complex)

    def _number(self, matrix: Any) -> NDArray[np.float64]:
        import sympy

        numbers = {sympy.Symbol(name): value for name, value in self.values.items()}
        return np.array(matrix.subs(numbers).tolist(), dtype=float).reshape(matrix.shape)


def zero_dynamics(
    eq: Equations, outputs: Outputs, at: Mapping[str, float] | None, *, gravity: bool
) -> SymbolicZeroDynamics:
    """The zero dynamics of some equations; see ``Equations.zero_dynamics``."""
    import sympy

    if eq.system.closure is not None:
        raise ModelError(f"'{eq.robot}' has closed loops; pliant.zero_dynamics finds its zeros in numbers")
    q = sympy.Matrix(eq.q)
    pose = _pose(eq, at or {})
    y = _outputs(eq, outputs)
    if y.shape[0] != len(eq.inputs):
        raise ModelError(f"{y.shape[0]} outputs and {len(eq.inputs)} inputs; zero dynamics are for as many of both")
    straight = dict(zip(eq.q, pose, strict=True))
    C, B = y.jacobian(q).subs(straight), eq.B
    solved = _solved(eq, C, B)
    rest = [i for i in range(len(eq.coordinates)) if i not in solved]
    R, L = _null(C, solved, rest), _null(B.T, solved, rest)
    K = eq.U + (eq.G.jacobian(q).subs(straight) if gravity else sympy.zeros(len(eq.q), len(eq.q)))
    return SymbolicZeroDynamics(
        coordinates=tuple(eq.coordinates[i].robot_name for i in rest),
        M=(L.T * eq.M.subs(straight) * R).applyfunc(sympy.expand),
        F=(L.T * eq.F * R).applyfunc(sympy.expand),
        K=(L.T * K * R).applyfunc(sympy.expand),
        values=eq.values,
    )


def _pose(eq: Equations, at: Mapping[str, float]) -> list[Any]:
    """Numbers for the coordinates that are given, zero for the others."""
    import sympy

    names = [c.robot_name for c in eq.coordinates]
    for name in at:
        if name not in names:
            hint = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise ModelError(f"the equations of '{eq.robot}' have no coordinate '{name}'{hint}")
    return [sympy.nsimplify(at[name], rational=True) if name in at else sympy.Integer(0) for name in names]


def _outputs(eq: Equations, outputs: Outputs) -> Any:
    import sympy

    if isinstance(outputs, str):
        if outputs == "motors":
            return eq.B.T * sympy.Matrix(eq.q)
        if outputs != "joints":
            raise ModelError(f"outputs is {outputs!r}; it must be 'joints', 'motors' or expressions of eq.q")
        names = [c.robot_name for c in eq.coordinates]
        return sympy.Matrix([eq.q[names.index(name)] for name in eq.inputs])
    return sympy.Matrix(list(outputs))


def _solved(eq: Equations, C: Any, B: Any) -> list[int]:
    """The driven coordinates, which the outputs determine and whose equations the efforts take."""
    names = [c.robot_name for c in eq.coordinates]
    solved = [names.index(name) for name in eq.inputs]
    every = list(range(C.shape[0]))
    if C.extract(every, solved).det() == 0 or B.extract(solved, every).det() == 0:
        raise ModelError("the outputs do not determine the driven joints at this pose")
    return solved


def _null(C: Any, solved: list[int], rest: list[int]) -> Any:
    """Columns R with C R = 0 that are a unit matrix in the coordinates that are left."""
    import sympy

    every = list(range(C.shape[0]))
    dependent = -C.extract(every, solved).inv() * C.extract(every, rest)
    out = sympy.zeros(C.shape[1], len(rest))
    for k, i in enumerate(rest):
        out[i, k] = 1
        for row, j in enumerate(solved):
            out[j, k] = dependent[row, k]
    return out
