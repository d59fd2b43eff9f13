"""Fewer states between inputs and outputs: balanced truncation, its residual form, and modal truncation.

B. C. Moore, IEEE Trans. Automatic Control 26 (1981) 17; the bound 2 (s_{r+1} + ... + s_n) of the largest error at any
frequency is D. F. Enns's and K. Glover's (Int. J. Control 39 (1984) 1115); the residual form is Y. Liu and B. D. O.
Anderson's (Int. J. Control 50 (1989) 1379).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pliant.control.state_space import Method, ReducedModel, StateSpace

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

RIGID = 1e-7
"""Real parts of poles, of the fastest pole, at which a motion neither decays nor grows."""
DEFECTIVE = 1e9
"""Condition of the eigenvectors from which poles count as one multiple pole that has too few of them."""
NOTHING = 1e-15
"""Hankel values, of the largest, that are rounding."""
PAIR = 1.05
"""Ratio of neighbouring Hankel values below which both belong to one motion."""


class _Part(NamedTuple):
    """A part of a model that is independent of the others.

    poles  of the single states or pairs of them, slowest first, where A is block-diagonal; else None
    """

    A: Floats
    B: Floats
    C: Floats
    poles: Complexes | None = None


def reduce_model(model: StateSpace, order: int, method: Method, scales: tuple[Floats, Floats]) -> ReducedModel:
    """A model of a lower order; ``scales`` are the units of inputs and outputs."""
    from pliant.control.state_space import ReducedModel, ReductionWarning

    if method not in ("balanced", "residual", "modal"):
        raise ValueError(f"method is {method!r}; it must be 'balanced', 'residual' or 'modal'")
    lasting, decaying = _split(model, scales)
    kept, n = len(lasting.A), len(model.A)
    if order != int(order) or not kept <= order <= n:
        what = f"between {kept} (its motions that do not decay) and {n}" if kept else f"between 0 and {n}"
        raise ValueError(f"order is {order}; it must be a whole number {what}")
    r = int(order) - kept
    decaying = _in_modes(decaying)
    hankel, left, right = _balance(decaying)
    if method == "modal":
        part, D, bound = _modal(decaying, r)
    else:
        if 0 < r < len(hankel) and hankel[r] * PAIR > hankel[r - 1]:
            warnings.warn(
                f"order {order} cuts between two Hankel values that are nearly equal ({hankel[r - 1]:.3g} and "
                f"{hankel[r]:.3g}), as those of a lightly damped vibration are: {order - 1} or {order + 1} cuts beside",
                ReductionWarning,
                stacklevel=3,
            )
        part, D = _balanced(decaying, left, right, hankel, r, residual=method == "residual")
        bound = 2.0 * float(hankel[r:].sum())
    u, y = scales
    A = _diagonal(lasting.A, part.A)
    B, C = np.vstack([lasting.B, part.B]) / u, y[:, None] * np.hstack([lasting.C, part.C])
    names = tuple(f"state{k + 1}" for k in range(len(A)))
    D = model.D + y[:, None] * D / u
    return ReducedModel(A, B, C, D, names, model.inputs, model.outputs, bound, hankel)


def _diagonal(one: Floats, other: Floats) -> Floats:
    from scipy.linalg import block_diag

    return np.asarray(block_diag(one, other), dtype=float)


def _split(model: StateSpace, scales: tuple[Floats, Floats]) -> tuple[_Part, _Part]:
    """What does not decay and what does, by an ordered Schur form whose coupling a Sylvester equation removes."""
    from scipy.linalg import matrix_balance, schur, solve_sylvester

    u, y = scales
    # coordinates and rates differ by orders of magnitude
    A, T = matrix_balance(model.A, permute=False)
    B, C = np.linalg.solve(T, model.B * u), model.C @ T / y[:, None]
    fastest = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
    still = -RIGID * fastest
    S, Q, k = schur(A, output="real", sort=lambda re, im: re >= still)
    B, C = Q.T @ B, C @ Q
    # [I X; 0 I] makes the form block-diagonal: A1 X - X A2 = -A12
    X = solve_sylvester(S[:k, :k], -S[k:, k:], -S[:k, k:]) if 0 < k < len(A) else np.zeros((k, len(A) - k))
    return (
        _Part(S[:k, :k], B[:k] - X @ B[k:], C[:, :k]),
        _Part(S[k:, k:], B[k:], C[:, k:] + C[:, :k] @ X),
    )


def _in_modes(part: _Part) -> _Part:
    """The part with a block for every pole or pair of poles, slowest first; as it is where poles are defective."""
    values, vectors = np.linalg.eig(part.A)
    order = np.lexsort((-values.imag, np.abs(values).round(9)))
    values, vectors = values[order].astype(complex), vectors[:, order].astype(complex)
    basis, k = np.empty_like(part.A), 0
    while k < len(values):
        if values[k].imag == 0:
            basis[:, k] = vectors[:, k].real
            k += 1
            continue
        if k + 1 == len(values) or not np.isclose(values[k + 1], values[k].conj(), rtol=1e-9):
            return part
        basis[:, k], basis[:, k + 1] = np.sqrt(2.0) * vectors[:, k].real, np.sqrt(2.0) * vectors[:, k].imag
        k += 2
    if len(values) and np.linalg.cond(basis) > DEFECTIVE:
        return part
    B, C = np.asarray(np.linalg.solve(basis, part.B), dtype=float), part.C @ basis
    A, k = np.zeros_like(part.A), 0
    while k < len(values):
        if values[k].imag == 0:
            A[k, k] = values[k].real
            k += 1
        else:
            re, im = values[k].real, values[k].imag
            A[k : k + 2, k : k + 2] = [[re, im], [-im, re]]
            k += 2
    return _Part(A, B, C, values)


def _gramian(part: _Part, rows: Floats) -> Floats:
    """W with A W + W A^T = -rows rows^T.

    Of modes entry by entry, -b_i b_j* / (p_i + p_j*): small entries have as many digits as large ones.
    """
    from scipy.linalg import solve_continuous_lyapunov

    if part.poles is None:
        return np.asarray(solve_continuous_lyapunov(part.A, -rows @ rows.T))
    # real blocks are complex modes in other unitary coordinates
    U, k = np.eye(len(part.A), dtype=complex), 0
    while k < len(part.poles):
        if part.poles[k].imag == 0:
            k += 1
        else:
            U[k : k + 2, k : k + 2] = np.array([[1.0, 1.0], [1j, -1j]]) / np.sqrt(2.0)
            k += 2
    b = U.conj().T @ rows
    W = -(b @ b.conj().T) / (part.poles[:, None] + part.poles.conj())
    return np.asarray((U @ W @ U.conj().T).real)


def _balance(part: _Part) -> tuple[Floats, Floats, Floats]:
    """Hankel values, and the transformations to and from balanced coordinates: x_b = left^T x, x = right x_b."""
    from scipy.linalg import svd

    if not len(part.A):
        return np.zeros(0), part.A, part.A
    reached = _factor(_gramian(part, part.B))
    mirrored = _Part(part.A.T, part.C.T, part.B.T, None if part.poles is None else part.poles.conj())
    seen = _factor(_gramian(mirrored, part.C.T))
    U, hankel, Vt = svd(seen.T @ reached)
    known = hankel > NOTHING * hankel.max(initial=0.0)
    size = np.zeros_like(hankel)
    size[known] = 1.0 / np.sqrt(hankel[known])
    return hankel, seen @ U * size, reached @ Vt.T * size


def _factor(gramian: Floats) -> Floats:
    """L with L L^T = gramian, each row to its own size; what rounding made negative is left out."""
    size = np.sqrt(np.maximum(np.diag(gramian), 0.0))
    scale = np.where(size > 0, size, 1.0)
    even = gramian / np.outer(scale, scale)
    try:
        return np.asarray(scale[:, None] * np.linalg.cholesky(even))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh((even + even.T) / 2)
        return np.asarray(scale[:, None] * (vectors * np.sqrt(np.maximum(values, 0.0))))


def _balanced(
    part: _Part, left: Floats, right: Floats, hankel: Floats, r: int, *, residual: bool
) -> tuple[_Part, Floats]:
    """The first r balanced coordinates, and the feedthrough; residual: the others follow at once."""
    # coordinates that nothing reaches or sees have no balanced form and no part in the response
    known = int(np.count_nonzero(hankel > NOTHING * hankel.max(initial=0.0)))
    L, R = left[:, :known], right[:, :known]
    A, B, C = L.T @ part.A @ R, L.T @ part.B, part.C @ R
    r = min(r, known)
    nothing = np.zeros((len(C), B.shape[1]))
    if not residual or r == known:
        return _Part(A[:r, :r], B[:r], C[:, :r]), nothing
    follow = np.linalg.solve(A[r:, r:], np.hstack([A[r:, :r], B[r:]]))
    by_x, by_u = follow[:, :r], follow[:, r:]
    kept = _Part(A[:r, :r] - A[:r, r:] @ by_x, B[:r] - A[:r, r:] @ by_u, C[:, :r] - C[:, r:] @ by_x)
    return kept, -C[:, r:] @ by_u


def _modal(part: _Part, r: int) -> tuple[_Part, Floats, float]:
    """The r slowest poles; the bound sums |c| |b| / |Re p| of those that are left out."""
    if part.poles is None:
        raise ValueError("modal: the model has multiple poles without modes of their own; take balanced or residual")
    p = part.poles
    if 0 < r < len(p) and p[r].imag < 0:
        raise ValueError(f"the order cuts through the pair of poles {p[r].real:.4g} +- {abs(p[r].imag):.4g}i")
    kept = _Part(part.A[:r, :r], part.B[:r], part.C[:, :r])
    sizes = np.linalg.norm(part.C, axis=0) ** 2, np.linalg.norm(part.B, axis=1) ** 2
    bound, k = 0.0, r
    while k < len(p):
        states = 1 if p[k].imag == 0 else 2
        c, b = (float(np.sqrt(size[k : k + states].sum())) for size in sizes)
        bound += c * b / abs(p[k].real)
        k += states
    return kept, np.zeros((part.C.shape[0], part.B.shape[1])), bound
