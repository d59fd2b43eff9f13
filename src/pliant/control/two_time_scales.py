"""Slow and fast: a flexible robot as a rigid one with compliance, and the vibrations of its links beside it.

A linear model x' = A x + B u has slow states (joints and their rates) and fast ones (elastic coordinates and theirs).
Chang's transformation takes them apart exactly,

    eta = fast + L slow,    xi = slow - H eta,
    xi' = (A11 - A12 L) xi + ...,    eta' = (A22 + L A12) eta + ...,

where L and H solve A21 - A22 L + L A11 - L A12 L = 0 and A12 + (A11 - A12 L) H - H (A22 + L A12) = 0. Both are found
by iteration from A22^-1 A21 and A12 A22^-1, which is the rigid robot. Two further steps, for positions and for rates,
are a correction: each multiplies the error by about epsilon^2, the squared ratio of a slow frequency to a fast one.
(Kokotovic, Khalil and O'Reilly, Singular Perturbation Methods in Control; for flexible arms Siciliano and Book, 1988.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.control.linear_model import LinearModel, linearise
from pliant.control.output_rows import require_unfiltered
from pliant.control.state_space import StateSpace
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

MOST = 200
"""Steps of the iteration for the exact split."""
EXACT = 1e-13
"""Relative change that ends it."""
GROWN = 1e6
"""Factor by which a matrix grows where the iteration runs away."""
BALANCED = 1e-12
"""Newton step, of the largest coordinate or one, that ends the search of a slow state."""
STEPS = 40


class SlowState(NamedTuple):
    """A motion without vibration: accelerations of the joints (joints,), all coordinates as the links bend (n,)."""

    a: Floats
    q: Floats


@dataclass(frozen=True, eq=False)
class TwoTimeScales:
    """A linear model of a robot in its slow and its fast part.

    model    the whole linear model
    slow     x' = A x + B u of the slow states xi; its outputs are those of the model, with the compliance of the links
             as feedthrough: y = C xi + D u
    fast     the same of the fast states eta, which decay to zero when nothing shakes the links
    L, H     Chang's matrices: eta = fast + L slow, xi = slow - H eta
    order    corrections: 0 rigid, 1 with the compliance of the links, ...; None: exact
    """

    arm: Dynamics
    model: LinearModel
    slow: StateSpace
    fast: StateSpace
    L: Floats
    H: Floats
    order: int | None

    @cached_property
    def fast_frequencies(self) -> Floats:
        """rad/s: sizes of the fast poles, each pair once, lowest first; joints are free beside such quick motions."""
        poles = self.fast.poles
        return np.sort(np.abs(poles[poles.imag >= 0]))

    @cached_property
    def epsilon(self) -> float:
        """Ratio of time scales: largest slow pole over the lowest fast one; 0 where nothing moves by itself slowly."""
        slow = float(np.abs(self.slow.poles).max(initial=0.0))
        return slow / float(self.fast_frequencies[0])

    @property
    def poles(self) -> Complexes:
        """Slow and fast poles together, 1/s, sorted by size."""
        both = np.concatenate([self.slow.poles, self.fast.poles])
        return both[np.lexsort((both.imag, both.real, np.abs(both).round(9)))]

    @property
    def compliance(self) -> Floats:
        """Slow outputs per unit of effort at once (outputs, inputs): what the links give without any vibration."""
        return self.slow.D

    def slow_state(self, q: States, v: States, tau: States) -> SlowState:
        """The slow motion of the nonlinear robot: links that bend as inertia, weight and efforts bend them, at once.

        q, v, tau  joints, their rates and efforts by name, or arrays; elastic coordinates are found
        """
        return slow_state(self.arm, q, v, tau)

    def at(self, q: States) -> TwoTimeScales:
        """The split about another pose: slow and fast matrices as functions of it."""
        return two_time_scales(self.arm, q, order=self.order, outputs=self.model.outputs)

    def __repr__(self) -> str:
        lowest, rest = self.fast_frequencies[0], len(self.slow.names)
        return (
            f"TwoTimeScales({self.arm.robot.name!r}, {rest} slow and {self.fast.order} fast states, fast from "
            f"{lowest:.4g} rad/s, epsilon {self.epsilon:.3g})"
        )

    def _repr_html_(self) -> str:
        rows = [("slow", f"{p.real:.4g}", f"{p.imag:.4g}") for p in self.slow.poles if p.imag >= 0]
        rows += [("fast", f"{p.real:.4g}", f"{p.imag:.4g}") for p in self.fast.poles if p.imag >= 0]
        return html_page(repr(self), ("part", "pole, real part 1/s", "imaginary part"), rows)


def two_time_scales(
    arm: Dynamics,
    q: States | None = None,
    *,
    order: int | None = 1,
    kp: Mapping[str, float] | float = 0.0,
    kd: Mapping[str, float] | float = 0.0,
    outputs: str | tuple[str, ...] | None = None,
) -> TwoTimeScales:
    """A robot about a pose as a slow one, rigid with the compliance of its links, and a fast one, their vibrations.

    q        the pose, as of ``linearise``: bent as gravity bends it while the drives hold it
    order    0: the rigid robot and the links with free joints; 1: corrected by the compliance of the links; more:
             further corrections; None: exact, as far as both parts can be told apart
    kp, kd   feedback at the motors, by which slow motions get poles; gains of all inputs, or by the names of joints
    outputs  see LinearModel.output_row; default: all coordinates
    """
    if order is not None and (not isinstance(order, int) or order < 0):
        raise ValueError(f"order is {order!r}; it must be a whole number, zero or more, or None for the exact split")
    model = linearise(arm, q, outputs=outputs)
    require_unfiltered(arm.robot, model.outputs, "leave it out of outputs")
    if kp or kd:
        model = model.closed(kp, kd)
    joints = {arm.names[k] for k in arm.mechanism.joints}
    names = model.tangent.names
    rigid, elastic = ([k for k, name in enumerate(names) if (name in joints) == wanted] for wanted in (True, False))
    _require_two(arm, model, rigid, elastic)
    m = len(names)
    slow, fast = ([*part, *(m + k for k in part)] for part in (rigid, elastic))
    A, B, C, D = model.A, model.B, model.C, model.D
    size = _sizes(model)
    blocks = _Blocks.of(A * size[None, :] / size[:, None], slow, fast)
    L, H = _chang(blocks, order)
    scale_s, scale_f = size[slow], size[fast]
    L, H = L * scale_f[:, None] / scale_s[None, :], H * scale_s[:, None] / scale_f[None, :]
    A11, A12, A22 = A[np.ix_(slow, slow)], A[np.ix_(slow, fast)], A[np.ix_(fast, fast)]
    slow_A, fast_A = A11 - A12 @ L, A22 + L @ A12
    fast_B = B[fast] + L @ B[slow]
    slow_B = B[slow] - H @ fast_B
    # slow = xi + H eta, fast = eta - L slow
    slow_C = C[:, slow] - C[:, fast] @ L
    fast_C = C[:, fast] + slow_C @ H
    states = model.names
    # eta of a slow motion is what the efforts bend at once
    at_once = -fast_C @ np.linalg.solve(fast_A, fast_B)
    parts = (model.inputs, model.outputs)
    return TwoTimeScales(
        arm,
        model,
        StateSpace(slow_A, slow_B, slow_C, D + at_once, tuple(states[k] for k in slow), *parts),
        StateSpace(fast_A, fast_B, fast_C, -at_once, tuple(states[k] for k in fast), *parts),
        L,
        H,
        order,
    )


def _require_two(arm: Dynamics, model: LinearModel, rigid: list[int], elastic: list[int]) -> None:
    """Refuse robots without two time scales."""
    robot = arm.robot.name
    if not elastic:
        raise ValueError(f"robot '{robot}' has no links that bend: all of it is slow; `linearise` gives its model")
    if arm.loops.rows:
        free = len(arm.mechanism.joints) - _rigid_rank(arm, model.q)
        if len(rigid) != free:
            names = ", ".join(model.tangent.names[k] for k in rigid) or "none"
            raise ValueError(
                f"the loops of robot '{robot}' leave {free} motions of its joints, but the joints among its "
                f"independent coordinates are {names}; choose others with that many joints: "
                "Dynamics(robot, independent=[...])"
            )
    if not rigid:
        raise ValueError(f"robot '{robot}' has no joint that moves by itself: all of it is fast")
    K = model.tangent.K[np.ix_(elastic, elastic)]
    M = model.tangent.M[np.ix_(elastic, elastic)]
    size = 1.0 / np.sqrt(np.diag(M))
    if np.linalg.eigvalsh((K + K.T) / 2 * np.outer(size, size))[0] <= 0:
        raise ValueError(
            f"the links of robot '{robot}' have no stiffness in this pose: they buckle, and nothing is fast"
        )


def _rigid_rank(arm: Dynamics, q: Floats) -> int:
    """How many motions of the joints the loops forbid, with links that do not bend."""
    J = arm.loops.scaled(q)[:, arm.mechanism.joints]
    return int(np.linalg.matrix_rank(J, tol=1e-9))


def _sizes(model: LinearModel) -> Floats:
    """Sizes of the states, so that entries of A can be compared: unit inertia, rates in those of the fastest swing."""
    size = 1.0 / np.sqrt(np.diag(model.tangent.M))
    K = model.tangent.K * np.outer(size, size)
    rate = float(np.sqrt(np.abs(K).max(initial=1.0)))
    return np.concatenate([size, rate * size])


class _Blocks(NamedTuple):
    """The parts of A between slow and fast states."""

    slow: Floats
    to_slow: Floats
    to_fast: Floats
    fast: Floats

    @classmethod
    def of(cls, A: Floats, slow: list[int], fast: list[int]) -> _Blocks:
        return cls(*(A[np.ix_(i, j)] for i, j in ((slow, slow), (slow, fast), (fast, slow), (fast, fast))))


def _chang(A: _Blocks, order: int | None) -> tuple[Floats, Floats]:
    """L and H after so many corrections, two steps of the iteration each; None: until they stay."""
    inverse = np.linalg.inv(A.fast)
    L = _repeated(A, inverse @ A.to_fast, lambda L: inverse @ (A.to_fast + L @ (A.slow - A.to_slow @ L)), order)
    slow, beside = A.slow - A.to_slow @ L, L @ A.to_slow
    H = _repeated(A, A.to_slow @ inverse, lambda H: (A.to_slow + slow @ H - H @ beside) @ inverse, order)
    return L, H


def _repeated(A: _Blocks, first: Floats, step: Callable[[Floats], Floats], order: int | None) -> Floats:
    """Steps from a first matrix: two for each correction, or until they change nothing."""
    found, most = first, max(1.0, float(np.abs(first).max()))
    for _ in range(MOST if order is None else 2 * order):
        following = step(found)
        change, found = np.abs(following - found).max(), following
        if order is None and change <= EXACT * np.abs(found).max():
            return found
        if not np.abs(found).max() < GROWN * most:
            raise _no_two_scales(A)
    if order is None:
        raise _no_two_scales(A)
    return found


def _no_two_scales(A: _Blocks) -> ValueError:
    slow = np.abs(np.linalg.eigvals(A.slow - A.to_slow @ np.linalg.solve(A.fast, A.to_fast))).max()
    fast = np.abs(np.linalg.eigvals(A.fast)).min()
    return ValueError(
        f"slow and fast cannot be told apart: the ratio of time scales is {slow / fast:.3g}, and the iteration does "
        "not end; take softer feedback (kp, kd), or a finite order"
    )


def slow_state(arm: Dynamics, q: States, v: States, tau: States) -> SlowState:
    """Accelerations of the joints and the shape of the links at once, for joints, rates and efforts: the slow manifold.

    Solves forces(q, v, a) = B tau with elastic coordinates that have neither rates nor accelerations. Robots with loops
    are refused.
    """
    if arm.loops.rows:
        raise ValueError(
            f"slow_state: robot '{arm.robot.name}' has closed loops; its slow motion is that of its linear split "
            "(two_time_scales(...).slow), or of its rigid twin"
        )
    joints = arm.mechanism.joints
    elastic = np.setdiff1d(np.arange(arm.size), joints)
    state, rates, efforts = arm.q(q).copy(), arm.v(v).copy(), arm.tau(tau)
    for name, x in (("q", state), ("v", rates)):
        if x.shape != (arm.size,):
            raise ValueError(f"{name} has shape {x.shape}; robot '{arm.robot.name}' needs ({arm.size},)")
    rates[elastic] = 0.0
    a = np.zeros(arm.size)
    for _ in range(STEPS):
        missing = arm.B @ efforts - arm.forces(state, rates, a)
        slopes = arm.inverse_derivatives(state, rates, a)
        matrix = np.hstack([slopes.a[:, joints], slopes.q[:, elastic]])
        rows = 1.0 / np.maximum(np.abs(matrix).max(axis=1), 1e-300)
        step = np.linalg.solve(matrix * rows[:, None], missing * rows)
        a[joints] += step[: len(joints)]
        state[elastic] += step[len(joints) :]
        if np.abs(step[len(joints) :]).max(initial=0.0) < BALANCED * max(1.0, float(np.abs(state).max())):
            return SlowState(a[joints], state)
    raise ValueError(
        f"slow_state: the links of robot '{arm.robot.name}' find no balance at these rates and efforts; take less"
    )
