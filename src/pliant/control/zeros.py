"""Transmission zeros of linear models: where outputs do not answer inputs, and whether an inverse is stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.convergence import MOST_COORDINATES, can_be_refined, refined
from pliant.control.linear_model import LinearModel, linearise

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.robot import Robot
    from pliant.states import States

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
    input   actuated joints; default: the joints that are named as outputs, or all where there are as many
    """
    outputs = (output,) if isinstance(output, str) else tuple(output)
    inputs = _inputs(model, outputs, (input,) if isinstance(input, str) else input)
    if len(inputs) != len(outputs):
        raise ValueError(f"there are {len(outputs)} outputs and {len(inputs)} inputs; zeros need as many of each")
    M, D, K, size = model.tangent.scaled()
    B = size[:, None] * model.tangent.B[:, [model.inputs.index(name) for name in inputs]]
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
        if len(outputs) == len(model.inputs):
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


MOVES = 0.01
"""Change of a zero by finer links, relative, from which the model is too coarse for it."""
ON_AXIS = 1e-6
"""Real part of a zero, of its size, that is none."""


class ZeroDynamics(NamedTuple):
    """Zeros from inputs to outputs, and what they say about an inverse.

    zeros   1/s, sorted by size
    moved   how far each of them goes where links are finer, relative; empty where nothing can be finer
    finer   zeros of the finer robot; empty likewise
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    zeros: Complexes
    moved: Floats
    finer: Complexes

    @property
    def right(self) -> Complexes:
        """Zeros in the right half plane: the inverse grows as they do."""
        return self.zeros[self.zeros.real > ON_AXIS * np.abs(self.zeros)]

    @property
    def is_minimum_phase(self) -> bool:
        """Whether the inverse is stable: no zero in the right half plane."""
        return not len(self.right)

    @property
    def verdict(self) -> str:
        """One sentence about the inverse."""
        between = f"from {', '.join(self.inputs)} to {', '.join(self.outputs)}"
        if len(self.right):
            slow = float(self.right.real.min())
            return (
                f"not minimum phase {between}: {len(self.right)} of {len(self.zeros)} zeros lie in the right half "
                f"plane, the slowest at {slow:.5g} 1/s; no causal controller can make the output follow exactly, and "
                f"joints must move about {3 / slow:.2g} s before the output does"
            )
        if np.any(self.zeros.real > -ON_AXIS * np.abs(self.zeros)):
            return f"on the border {between}: zeros on the imaginary axis, which no motion of the output damps"
        return f"minimum phase {between}: all zeros decay"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Zeros that the links are too coarse for."""
        return tuple(
            f"the zero {_written(zero)} 1/s moves by {100 * change:.2g} % where links are finer: it is one of the "
            "truncation, not of the robot; give the links more modes or elements"
            for zero, change in zip(self.zeros, self.moved, strict=False)
            if change > MOVES and zero.imag >= 0
        )


def _written(zero: complex) -> str:
    return f"{zero.real:.4g}" if abs(zero.imag) <= ON_AXIS * abs(zero) else f"{zero.real:.4g} +- {abs(zero.imag):.4g}i"


def zero_dynamics(
    arm: Dynamics,
    output: str | Sequence[str],
    input: str | Sequence[str] | None = None,
    *,
    q: States | None = None,
    v: States | None = None,
    refine: bool = True,
) -> ZeroDynamics:
    """Zeros of a robot about a state, whether its inverse is stable, and which zeros finer links would move.

    output  outputs that are positions or turns, see LinearModel.output_row
    input   actuated joints, as many as outputs; default as for ``zeros``
    q, v    the state, see ``linearise``; joints by name where links shall be refined
    refine  whether finer links are looked at
    """
    model = linearise(arm, q, v)
    outputs = (output,) if isinstance(output, str) else tuple(output)
    inputs = _inputs(model, outputs, (input,) if isinstance(input, str) else input)
    found = zeros(model, outputs, inputs)
    by_name = all(x is None or isinstance(x, Mapping) for x in (q, v))
    if not (refine and by_name and can_be_refined(arm.robot) and arm.size <= MOST_COORDINATES):
        return ZeroDynamics(inputs, outputs, found, np.zeros(0), np.zeros(0, dtype=complex))
    # the damping ratio of a whole robot is for few coordinates: both are compared without it
    bare = arm.robot.model_copy(update={"damping": None})
    now, finer = (_zeros_of(robot, outputs, inputs, q, v) for robot in (bare, refined(bare, 1)))
    own = found if arm.robot.damping is None else now
    moved = np.array([np.abs(finer - s).min(initial=np.inf) / max(abs(s), 1e-300) for s in own])
    return ZeroDynamics(inputs, outputs, found, moved, finer)


def _zeros_of(
    robot: Robot, outputs: tuple[str, ...], inputs: tuple[str, ...], q: States | None, v: States | None
) -> Complexes:
    """Zeros of a robot about joints by name."""
    from pliant.dynamics import Dynamics

    return zeros(linearise(Dynamics(robot, compile="never"), q, v), outputs, inputs)
