"""Derivatives of Cibicik & Egeland's dual projection matrices in symbols, by their screws and by the chain rule.

The paper reports 11 s of MATLAB for the first and 181 s for the second. The arm is theirs: a column, two elastic booms
with two shapes of torsion and two of flexure in each plane, a tool; matrices are those of the four link frames.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from pliant.formulations.lagrange.equations import require_sympy

PAPER_SECONDS = {"screws": 11.0, "chain rule": 181.0}
SHAPES = 2
"""Shapes of torsion and of flexure in each plane, per boom."""


class LinkStep(NamedTuple):
    """What one link adds to the projection matrix of the link below: in symbols.

    V, own, S  screw transformation (66) from the link below, line of the joint, elastic screws of the end below
    columns    where the elastic coordinates of the end below stand
    twist      dual twist of the link against the one below; the velocity of the end's point, which (79) leaves out, is
               of order one as the elastic screws are, and their product vanishes
    """

    V: Any
    own: Any
    S: Any
    columns: list[int]
    twist: Any


class SymbolicArm(NamedTuple):
    """Dual projection matrices (12, 16) of the four link frames, (92), in symbols, and the steps that made them.

    q, u  coordinates and speeds: joints q1 to q4, then torsion, xy and xz of both booms
    """

    q: tuple[Any, ...]
    u: tuple[Any, ...]
    P: list[Any]
    steps: list[LinkStep]


class DerivativeCosts(NamedTuple):
    """Processor seconds of each way, operations of its expressions, and the largest difference of their numbers."""

    seconds: dict[str, float]
    operations: dict[str, int]
    apart: float


def _skew(sympy: Any, a: Any) -> Any:
    return sympy.Matrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _hat(sympy: Any, a: Any) -> Any:
    """[a]^ of a dual vector in R^6, (10)."""
    real, dual = _skew(sympy, a[:3]), _skew(sympy, a[3:])
    return sympy.Matrix(sympy.BlockMatrix([[real, sympy.zeros(3)], [dual, real]]))


def _turn(sympy: Any, axis: int, angle: Any) -> Any:
    c, s = sympy.cos(angle), sympy.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R = sympy.eye(3)
    R[i, i], R[j, j], R[i, j], R[j, i] = c, c, -s, s
    return R


def symbolic_arm() -> SymbolicArm:
    """The projection matrices by the procedure of section IV."""
    require_sympy()
    import sympy

    n = 4 + 2 * 3 * SHAPES
    q, u = (sympy.symbols(f"{letter}1:{n + 1}") for letter in "qu")
    half = sympy.pi / 2
    before = [sympy.eye(3), _turn(sympy, 0, -half) * _turn(sympy, 2, -half), sympy.eye(3), sympy.eye(3)]
    P: list[Any] = []
    steps: list[LinkStep] = []
    for i in range(4):
        step = _step(sympy, i, before[i] * _turn(sympy, 2, q[i]), q, u)
        matrix = step.V * P[-1] if P else sympy.zeros(12, n)
        matrix[:, i] += step.own
        for c, k in enumerate(step.columns):
            matrix[:, k] += step.S[:, c]
        P.append(matrix)
        steps.append(step)
    return SymbolicArm(q, u, P, steps)


def _step(sympy: Any, i: int, R: Any, q: Any, u: Any) -> LinkStep:
    """The transformation from the link below, whose end bends, and the screws between the two."""
    slides, turns, columns = _end(sympy, i - 1)
    q_b, u_b = (sympy.Matrix(len(columns), 1, [x[k] for k in columns]) for x in (q, u))
    length = sympy.Symbol(f"L{i}") if columns else 0
    p = sympy.Matrix([length, 0, 0, *(slides * q_b)])
    # (32): the inverse of the dual rotation (31)
    X = sympy.zeros(6)
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -R.T * _skew(sympy, turns * q_b)
    turned = sympy.diag(X, X)
    U = sympy.eye(12)
    U[6:, :6] = -_hat(sympy, p)
    S = sympy.zeros(12, len(columns))
    # (67): elastic rates fill the dual parts alone
    S[3:6, :], S[9:12, :] = turns, slides
    S = turned * S
    own = sympy.Matrix([0, 0, 1, *[0] * 9])
    twist = own * u[i] + S * u_b
    return LinkStep(turned * U, own, S, columns, twist)


def by_screws(arm: SymbolicArm) -> list[Any]:
    """Rates of the projection matrices, (96), by differentiation matrices of screws, (76) to (79)."""
    import sympy

    out: list[Any] = []
    for step, below in zip(arm.steps, [None, *arm.P], strict=False):
        if below is None:
            out.append(sympy.zeros(*arm.P[0].shape))
            continue
        d = _differentiation(sympy, step.twist)
        rate = step.V * out[-1] + d * (step.V * below)
        for c, k in enumerate(step.columns):
            rate[:, k] += d * step.S[:, c]
        out.append(rate)
    return out


def _differentiation(sympy: Any, twist: Any) -> Any:
    """[d], (77)."""
    w, v = _hat(sympy, twist[:6, 0]), _hat(sympy, twist[6:, 0])
    return -sympy.Matrix(sympy.BlockMatrix([[w, sympy.zeros(6)], [v, w]]))


def _end(sympy: Any, link: int) -> tuple[Any, Any, list[int]]:
    """Displacement and turn (3, n) of a boom's end per unit of its coordinates, and where these stand."""
    if link not in (1, 2):
        return sympy.zeros(3, 0), sympy.zeros(3, 0), []
    start = 4 + 3 * SHAPES * (link - 1)
    slides, turns = sympy.zeros(3, 3 * SHAPES), sympy.zeros(3, 3 * SHAPES)
    for k in range(SHAPES):
        slope = sympy.Symbol(f"s{link + 1}_{k + 1}")
        # unit values at the tip; theta = (phi, -z', y'), (71)
        turns[0, k] = 1
        slides[1, SHAPES + k], turns[2, SHAPES + k] = 1, slope
        slides[2, 2 * SHAPES + k], turns[1, 2 * SHAPES + k] = 1, -slope
    return slides, turns, list(range(start, start + 3 * SHAPES))


def chain_rule(arm: SymbolicArm) -> list[Any]:
    """Rates of the projection matrices as sum_k dP/dq_k u_k, every entry differentiated."""
    import sympy

    out = []
    for matrix in arm.P:
        rate = sympy.zeros(*matrix.shape)
        for q, u in zip(arm.q, arm.u, strict=True):
            rate += matrix.diff(q) * u
        out.append(rate)
    return out


def derivative_costs() -> DerivativeCosts:
    """Both ways once, their times, sizes and the difference of their numbers at a state."""
    require_sympy()
    import sympy
    from sympy.core.cache import clear_cache

    arm = symbolic_arm()
    ways = {"screws": by_screws, "chain rule": chain_rule}
    found: dict[str, list[Any]] = {}
    seconds: dict[str, float] = {}
    for name, way in ways.items():
        # neither profits from what the other has left behind
        clear_cache()
        began = time.process_time()
        found[name] = way(arm)
        seconds[name] = time.process_time() - began
    symbols = sorted(set().union(*(m.free_symbols for rates in found.values() for m in rates)), key=str)
    values = np.random.default_rng(1).normal(size=len(symbols))
    numbers = [np.array(sympy.lambdify(symbols, rates, cse=True)(*values), dtype=float) for rates in found.values()]
    counts = {name: sum(int(sympy.count_ops(m)) for m in rates) for name, rates in found.items()}
    return DerivativeCosts(seconds, counts, float(np.abs(numbers[0] - numbers[1]).max()))
