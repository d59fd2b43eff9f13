"""Taylor polynomials of the equations in the elastic coordinates.

Every entry of M, D and G is expanded on its own, after all differentiation: a rotation that is linearised before it is
differentiated changes D v by its own size even at zero deflection. The matrix M stays symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import factorial

from pliant.formulations.lagrange.algebra.series import BITS, Algebra, Factor, Series, normal_factor, powers
from pliant.formulations.lagrange.algebra.symbols import Names, SpecialFunction
from pliant.formulations.lagrange.algebra.system_matrices import SymbolicSystem


def truncated(names: Names, system: SymbolicSystem, order: int) -> SymbolicSystem:
    """The entries up to an order in the elastic coordinates; the potential energy up to the next one."""
    expand = _Expansion(names, order).series
    above = _Expansion(names, order + 1).series
    known: dict[int, Series] = {}

    def once(x: Series) -> Series:
        # symmetric entries are one object
        if id(x) not in known:
            known[id(x)] = expand(x)
        return known[id(x)]

    closure = system.closure
    if closure is not None:
        closure = replace(
            closure,
            gaps=[once(x) for x in closure.gaps],
            J=[[once(x) for x in row] for row in closure.J],
            rates=[[{k: y for k, x in entry.items() if (y := once(x))} for entry in row] for row in closure.rates],
        )
    return replace(
        system,
        closure=closure,
        M=[[once(x) for x in row] for row in system.M],
        christoffel=[
            [{k: y for k, x in entry.items() if (y := once(x))} for entry in row] for row in system.christoffel
        ],
        G=[once(x) for x in system.G],
        potential=above(system.potential),
    )


@dataclass(slots=True)
class _Expansion:
    names: Names
    order: int
    _waves: dict[int, Series] = field(default_factory=dict)
    _turns: dict[int, Series] = field(default_factory=dict)
    _functions: dict[int, Series] = field(default_factory=dict)

    @property
    def algebra(self) -> Algebra:
        return self.names.algebra

    def series(self, x: Series) -> Series:
        """The Taylor polynomial of a series."""
        parts = []
        for t, poly in x.terms.items():
            wave = self._wave(t)
            plain: dict[int, float] = {}
            for m, c in poly.items():
                special = [(i, power) for i, power in powers(m) if self._is_small(i)]
                if not special:
                    plain[m] = c
                    continue
                rest = Series(self.algebra, {0: {m - self._monomial(special): c}})
                for i, power in special:
                    for _ in range(power):
                        rest = self._cut(rest * self._function(i))
                parts.append(self._cut(rest * wave))
            parts.append(self._cut(Series(self.algebra, {0: plain}) * wave))
        return self._cut(self.algebra.total(parts))

    # ---- degrees

    def _cut(self, x: Series) -> Series:
        kept = {t: {m: c for m, c in p.items() if self._degree(m) <= self.order} for t, p in x.terms.items()}
        return Series(self.algebra, {t: p for t, p in kept.items() if p})

    def _degree(self, monomial: int) -> int:
        return sum(power for i, power in powers(monomial) if self._is_elastic(i))

    def _is_elastic(self, variable: int) -> bool:
        found = self.names.coordinates.get(variable)
        if found is not None:
            return found.elastic
        short = self.names.abbreviations.get(variable)
        return short is not None and any(self._is_elastic(v) for _, parts in short.parts for v in parts)

    def _is_small(self, variable: int) -> bool:
        """Whether a variable is a function of a squared angle that is small with the elastic coordinates."""
        special = self.names.functions.get(variable)
        return special is not None and all(self._is_elastic(v) for v in special.components)

    @staticmethod
    def _monomial(variables: list[tuple[int, int]]) -> int:
        return sum(power << BITS * i for i, power in variables)

    # ---- functions

    def _function(self, variable: int) -> Series:
        """c_k(s) = 1/k! - s/(k+2)! + ..., or 4/(4 + s) = 1 - s/4 + ..."""
        if variable not in self._functions:
            self._functions[variable] = self._taylor(self.names.functions[variable])
        return self._functions[variable]

    def _taylor(self, special: SpecialFunction) -> Series:
        one, k = self.algebra.number(1.0), special.order
        s = self.algebra.total(self.algebra.monomial(v, v) for v in special.components)
        total, power = self.algebra.number(0.0), one
        for j in range(self.order // 2 + 1):
            weight = one * 4.0**-j if k is None else self.names.fraction(factorial(k + 2 * j))
            total = total + power * weight * (-1.0) ** j
            power = power * s
        return total

    def _wave(self, t: int) -> Series:
        """A product of cosines and sines, its small angles expanded."""
        if t not in self._waves:
            product = self.algebra.number(1.0)
            for factor in self.algebra.trig(t):
                product = self._cut(product * self._expanded(factor))
            self._waves[t] = product
        return self._waves[t]

    def _expanded(self, factor: Factor) -> Series:
        """f(a + e) = f(a) + e f'(a) + e^2 f''(a)/2 + ... for the small part e of a sum of angles."""
        group, harmonic, is_sine = factor
        large = tuple((a, k) for a, k in harmonic if not self._turns_small(a))
        small = self.algebra.total((float(k), self._turn(a)) for a, k in harmonic if self._turns_small(a))
        total, power = self.algebra.number(0.0), self.algebra.number(1.0)
        for j in range(self.order + 1):
            # derivatives of the sine: sin, cos, -sin, -cos; the cosine is one of them ahead
            place = (j + (not is_sine)) % 4
            wave = self._plain(group, large, is_sine=place % 2 == 0) * (-1.0 if place > 1 else 1.0)
            total = total + power * wave * self.names.fraction(factorial(j))
            power = power * small
            if not small:
                break
        return total

    def _plain(self, group: int, harmonic: tuple[tuple[int, int], ...], *, is_sine: bool) -> Series:
        if not harmonic:
            return self.algebra.number(0.0 if is_sine else 1.0)
        weight, factor = normal_factor(group, 1.0, harmonic, is_sine)
        assert factor is not None
        return Series(self.algebra, {self.algebra.trig_number((factor,)): {0: weight}})

    def _turns_small(self, angle: int) -> bool:
        return any(self._is_elastic(v) for _, parts in self.names.angle_parts[angle] for v in parts)

    def _turn(self, angle: int) -> Series:
        """A small angle as a variable, or as its one term."""
        if angle not in self._turns:
            short = self.names.angle_names[angle]
            self._turns[angle] = self.names.as_variable(short)
        return self._turns[angle]
