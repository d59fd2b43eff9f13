"""The equations as code: files in several languages that depend on nothing, and functions for use right here.

A language is a module with one class and a line of ``LANGUAGES`` here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.formulations.lagrange.code.in_c import InC
from pliant.formulations.lagrange.code.in_fortran import InFortran
from pliant.formulations.lagrange.code.in_julia import InJulia
from pliant.formulations.lagrange.code.in_mathematica import InMathematica
from pliant.formulations.lagrange.code.in_matlab import InMatlab
from pliant.formulations.lagrange.code.in_python import InPython
from pliant.formulations.lagrange.code.traced_equations import EquationLanguage

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations

Floats = NDArray[np.float64]

LANGUAGES: dict[str, EquationLanguage] = {
    language.name: language for language in (InPython(), InC(), InFortran(), InMatlab(), InJulia(), InMathematica())
}


class EquationFunctions:
    """The generated Python functions on NumPy arrays, with the values of the equations' constants."""

    def __init__(self, equations: Equations) -> None:
        self.source = LANGUAGES["python"].text(equations)
        self.size, self.inputs = len(equations.coordinates), len(equations.inputs)
        self._module: dict[str, Any] = {}
        exec(compile(self.source, f"<equations of {equations.robot}>", "exec"), self._module)

    def mass_matrix(self, q: ArrayLike) -> Floats:
        """M (n, n)"""
        return self._array("mass_matrix", (self.size, self.size), q)

    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """D (n, n)"""
        return self._array("coriolis", (self.size, self.size), q, v)

    def gravity(self, q: ArrayLike) -> Floats:
        """G (n,)"""
        return self._array("gravity", (self.size,), q)

    def bias(self, q: ArrayLike, v: ArrayLike) -> Floats:
        """Everything on the left-hand side but M a (n,)"""
        return self._array("bias", (self.size,), q, v)

    @property
    def stiffness(self) -> Floats:
        """U (n, n)"""
        return self._array("stiffness", (self.size, self.size))

    @property
    def damping(self) -> Floats:
        """F (n, n)"""
        return self._array("damping", (self.size, self.size))

    @property
    def B(self) -> Floats:
        """Input matrix (n, inputs)"""
        return self._array("input_matrix", (self.size, self.inputs))

    def _array(self, name: str, shape: tuple[int, ...], *arguments: ArrayLike) -> Floats:
        lists = [np.asarray(x, dtype=float).tolist() for x in arguments]
        return np.array(self._module[name](*lists), dtype=float).reshape(shape)
