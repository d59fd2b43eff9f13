"""State-space models with names: frequency response, fewer states with an error bound, sampled with delay."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import did_you_mean

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Method = Literal["balanced", "residual", "modal"]


class ReductionWarning(UserWarning):
    """A reduced or sampled model that is to be used with care."""


@dataclass(frozen=True, eq=False)
class NamedMatrices(ABC):
    """Matrices A, B, C, D with the names of states, inputs and outputs."""

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    names: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.A)

    @property
    def poles(self) -> Complexes:
        """Eigenvalues of A, sorted by size."""
        found = np.linalg.eigvals(self.A).astype(complex)
        return found[np.lexsort((found.imag, found.real, np.abs(found).round(9)))]

    def frf(self, omega: ArrayLike) -> Complexes:
        """Outputs per unit of inputs that swing with exp(i omega t) (frequencies, outputs, inputs); omega in rad/s."""
        one = np.eye(self.order)
        at = self._on_contour(np.atleast_1d(np.asarray(omega, dtype=float)))
        return np.array([self.C @ np.linalg.solve(s * one - self.A, self.B) + self.D for s in at])

    @abstractmethod
    def _on_contour(self, omega: Floats) -> Complexes:
        """Values of s or z of a frequency."""

    def to_control(self, name: str = "pliant") -> Any:
        """A StateSpace of the package ``control``, with the names of states, inputs and outputs."""
        try:
            import control
        except ImportError:
            raise ImportError("this needs python-control; install it with: pip install control") from None

        # the package keeps dots for its own use
        names = [[each.replace(".", "_") for each in group] for group in (self.names, self.inputs, self.outputs)]
        return control.ss(
            self.A, self.B, self.C, self.D, *self._sampling(),
            states=names[0], inputs=names[1], outputs=names[2], name=name.replace(".", "_"),
        )  # fmt: skip

    @abstractmethod
    def _sampling(self) -> Sequence[float]:
        """The period, of models that have one."""


@dataclass(frozen=True, eq=False)
class StateSpace(NamedMatrices):
    """x' = A x + B u, y = C x + D u, with the names of states, inputs and outputs."""

    def _on_contour(self, omega: Floats) -> Complexes:
        return np.asarray(1j * omega, dtype=np.complex128)

    def _sampling(self) -> Sequence[float]:
        return ()

    def reduced(
        self,
        order: int,
        method: Method = "balanced",
        *,
        input_scales: Mapping[str, float] | None = None,
        output_scales: Mapping[str, float] | None = None,
    ) -> ReducedModel:
        """A model with fewer states between the same inputs and outputs, and a bound of its error.

        Motions that do not decay (poles at zero: a robot without brakes) or grow are kept as they are.

        order   states that stay; at least as many as there are motions that do not decay
        method  balanced: those that inputs reach and outputs see best; no error at infinite frequency
                residual: the same, and no error at frequency zero: the sag under a constant load is right
                modal: the slowest poles
        input_scales, output_scales  names -> what counts as one unit of them, where metres stand beside radians
        """
        from pliant.control.reduction import reduce_model

        scales = _units("input", self.inputs, input_scales), _units("output", self.outputs, output_scales)
        return reduce_model(self, order, method, scales)

    def sampled(self, period: float, *, delay: float = 0.0) -> SampledModel:
        """The model at the instants k T with inputs that are held in between and take effect after a delay.

        Inputs that wait are states of their own behind those of the model.
        """
        if not (np.isfinite(period) and period > 0):
            raise ValueError(f"period is {period} s; it must be positive")
        if not (np.isfinite(delay) and delay >= 0):
            raise ValueError(f"delay is {delay} s; it must not be negative")
        fastest = float(np.abs(self.poles.imag).max(initial=0.0))
        if fastest > np.pi / period:
            warnings.warn(
                f"the model swings at up to {fastest:.4g} rad/s, beyond the {np.pi / period:.4g} rad/s that samples "
                f"every {period:g} s can tell: sample faster, or reduce the model first",
                ReductionWarning,
                stacklevel=2,
            )
        whole = int(np.floor(delay / period * (1 + 1e-12)))
        part = max(delay - whole * period, 0.0)
        n, m = self.order, len(self.inputs)
        A, late, early = self._held(period, part)
        waiting = whole + (1 if part > 1e-12 * period else 0)
        if not waiting:
            return SampledModel(A, early, self.C, self.D, self.names, self.inputs, self.outputs, period)
        # x, then inputs of the past, the oldest last: u[k-1], ..., u[k-waiting]
        size = n + m * waiting
        big_A, big_B = np.zeros((size, size)), np.zeros((size, m))
        big_A[:n, :n] = A
        big_B[n : n + m] = np.eye(m)
        for k in range(1, waiting):
            big_A[n + k * m : n + (k + 1) * m, n + (k - 1) * m : n + k * m] = np.eye(m)
        C = np.hstack([self.C, np.zeros((len(self.outputs), m * waiting))])
        # during a period the input of `whole` periods ago follows that of one period more
        if part > 1e-12 * period:
            big_A[:n, size - m :] = late
            if whole:
                big_A[:n, n + (whole - 1) * m : n + whole * m] = early
            else:
                big_B[:n] = early
        else:
            big_A[:n, size - m :] = early
        # what acts at the instant itself is the oldest input that has not been replaced yet
        C[:, size - m :] = self.D
        names = (*self.names, *(f"{name}.waiting{k + 1}" for k in range(waiting) for name in self.inputs))
        return SampledModel(big_A, big_B, C, np.zeros_like(self.D), names, self.inputs, self.outputs, period)

    def _held(self, period: float, part: float) -> tuple[Floats, Floats, Floats]:
        """exp(A T), and what inputs do that are held during the first part of a period, and during the rest."""
        from scipy.linalg import expm

        n, m = self.order, len(self.inputs)

        def over(t: float) -> tuple[Floats, Floats]:
            block = np.zeros((n + m, n + m))
            block[:n, :n], block[:n, n:] = self.A * t, self.B * t
            whole = expm(block)
            return whole[:n, :n], whole[:n, n:]

        A, B = over(period)
        if part <= 1e-12 * period:
            return A, np.zeros((n, m)), B
        rest_A, rest_B = over(period - part)
        _, first_B = over(part)
        return A, rest_A @ first_B, rest_B


@dataclass(frozen=True, eq=False)
class ReducedModel(StateSpace):
    """A model with fewer states.

    bound   of the largest error of the frequency response at any frequency, in the scales that were given
    hankel  Hankel values of the motions that decay, largest first; those beyond the order are lost
    """

    bound: float
    hankel: Floats


@dataclass(frozen=True, eq=False)
class SampledModel(NamedMatrices):
    """x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k] every ``period`` seconds."""

    period: float

    def _on_contour(self, omega: Floats) -> Complexes:
        return np.asarray(np.exp(1j * self.period * omega), dtype=np.complex128)

    def _sampling(self) -> Sequence[float]:
        return (self.period,)


def _units(what: str, names: tuple[str, ...], given: Mapping[str, float] | None) -> Floats:
    """What counts as one of each; 1 where nothing is given."""
    for name, value in (given or {}).items():
        if name not in names:
            raise ValueError(f"{what}_scales: there is no {what} '{name}'{did_you_mean(name, names)}")
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{what}_scales: {name} is {value}; it must be positive")
    return np.array([float((given or {}).get(name, 1.0)) for name in names])
