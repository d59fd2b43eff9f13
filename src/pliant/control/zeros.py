"""Transmission zeros of linear models: where outputs do not answer inputs, and whether an inverse is stable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.control.linear_model import LinearModel

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

INFINITE = 1e-10
"""An eigenvalue alpha/beta of the scaled pencil with |beta| below this part of |alpha| is infinite."""

UNDAMPED = 1e-14
"""Damping below this part of critical damping counts as none; the zeros then come in exact pairs."""


def zeros(model: LinearModel, output: str | Sequence[str], input: str | Sequence[str] | None = None) -> Complexes:
    """Zeros (1/s) from inputs to outputs, sorted by size.

    model   from ``linearise``
    output  such as "tip.y", a joint or "JOINT.motor"; see LinearModel.output_row. As many outputs as inputs
    input   actuated joints; default: the joints that are named as outputs, or the only input
    """
    outputs = (output,) if isinstance(output, str) else tuple(output)
    inputs = _inputs(model, outputs, (input,) if isinstance(input, str) else input)
    if len(inputs) != len(outputs):
        raise ValueError(f"there are {len(outputs)} outputs and {len(inputs)} inputs; zeros need as many of each")
    t = model.tangent
    size = 1.0 / np.sqrt(np.diag(t.M))
    M, D, K = (x * np.outer(size, size) for x in (t.M, t.D, t.K))
    B = size[:, None] * t.B[:, [model.inputs.index(name) for name in inputs]]
    C = model.position_rows(outputs) * size
    R, L = _null(C, outputs), _null(B.T, inputs)
    M, D, K = (L.T @ x @ R for x in (M, D, K))
    found = _undamped(M, K) if _is_undamped(M, D, K) else _damped(M, D, K)
    return found[np.lexsort((found.imag, found.real, np.abs(found).round(9)))]


def _inputs(model: LinearModel, outputs: tuple[str, ...], given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        named = [name.removesuffix(".motor") for name in outputs]
        if all(name in model.inputs for name in named):
            return tuple(named)
        if len(model.inputs) == 1:
            return model.inputs
        raise ValueError(f"which input? The robot has {', '.join(model.inputs)}; give input=")
    return model.chosen_inputs(given)


def _null(rows: Floats, names: tuple[str, ...]) -> Floats:
    """An orthonormal basis of the motions that a few rows do not see."""
    _, sizes, V = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-300))
    if sizes.min(initial=1.0) < 1e-9:
        raise ValueError(f"{', '.join(names)}: these do not move, or not independently of one another")
    return np.asarray(V[len(rows) :].T)


def _is_undamped(M: Floats, D: Floats, K: Floats) -> bool:
    critical = np.sqrt(np.abs(M).max(initial=0.0) * np.abs(K).max(initial=0.0))
    return bool(np.abs(D).max(initial=0.0) <= UNDAMPED * critical)


def _undamped(M: Floats, K: Floats) -> Complexes:
    """s = +-sqrt(lambda) with K x + lambda M x = 0."""
    squares = _finite(-K, M)
    roots = np.sqrt(squares.astype(complex))
    return np.concatenate([roots, -roots])


def _damped(M: Floats, D: Floats, K: Floats) -> Complexes:
    n = len(M)
    zero, one = np.zeros((n, n)), np.eye(n)
    rate = np.sqrt(np.abs(K).max(initial=0.0) / (np.abs(M).max(initial=0.0) or 1.0)) or 1.0
    left = np.block([[zero, one], [-K / rate**2, -D / rate]])
    right = np.block([[one, zero], [zero, M]])
    return np.asarray(rate * _finite(left, right), dtype=complex)


def _finite(A: Floats, B: Floats) -> Complexes:
    """Finite eigenvalues of A x = s B x."""
    from scipy.linalg import eig

    if not len(A):
        return np.zeros(0, dtype=complex)
    a, b = np.abs(A).max() or 1.0, np.abs(B).max() or 1.0
    alpha, beta = eig(A / a, B / b, right=False, homogeneous_eigvals=True)
    keep = np.abs(beta) > INFINITE * np.maximum(np.abs(alpha), INFINITE)
    return np.asarray(alpha[keep] / beta[keep] * (a / b), dtype=complex)
