"""Forward and inverse dynamics of a robot with its loops, and everything that comes with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.engine.call.uncollected import uncollected
from pliant.engine.compile.jit import has_llvm
from pliant.formulations.loops.closed_loops import closed_loops
from pliant.formulations.loops.dense_loops import DenseLoops
from pliant.formulations.loops.loops import DenseForm, Loops, NoLoops, each_state
from pliant.formulations.recursive.recursions import HANDED
from pliant.model.description.actuators import refuse_lines
from pliant.model.notebook import html_page, made_by
from pliant.model.once import quick_property
from pliant.platform_answers import PlatformAnswers
from pliant.states import (
    Energies,
    FrameAcceleration,
    InverseDerivatives,
    InverseSolution,
    Momentum,
    Pose,
    States,
    Twist,
    as_states,
    solutions_of,
)
from pliant.tree.function import Function, declined

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from pliant.engine.call.calls import Operand, QuickCall
    from pliant.engine.trace.tape import Operations
    from pliant.formulations.loops.coordinates import Choice
    from pliant.formulations.loops.dense_forms import Reduced
    from pliant.model import Robot
    from pliant.viewer.server import Viewer

__all__ = [
    "Dynamics",
    "Energies",
    "ForwardDerivatives",
    "FrameAcceleration",
    "InverseDerivatives",
    "Momentum",
    "Pose",
    "Twist",
]

Floats = NDArray[np.float64]

UNBALANCED = 1e-6
"""Part of the forces of a coordinate that efforts and loads may miss and still belong to a motion ..."""
ROUNDING = 1e-9
"""... and part of the largest forces of all, which leave so much in small ones."""
Solver = Literal["recursive"] | DenseForm


class ForwardDerivatives(NamedTuple):
    """Derivatives of the accelerations by q, v (n, n) and tau (n, inputs)."""

    q: Floats
    v: Floats
    tau: Floats


class Dynamics(PlatformAnswers):
    """The equations of motion ``M(q) a + C(q, v) v + K q + D v + g(q) + friction = B tau + J^T lambda`` of a robot.

    robot        a Robot, or the name or path of one
    method       what computes them: "recursive" (articulated bodies, any robot) or another of ``METHODS``
    compile      "auto": machine code through LLVM where llvmlite is installed; "never": plain NumPy
    independent  of closed loops: "auto", "elastic" (what the last bending link of the closing legs does is dependent)
                 or names of coordinates
    stabilise    1/s: rate at which gaps of the loops decay in ``forward`` (Baumgarte); zero leaves them as they are

    Coordinates are in the order of ``names``. A leading axis on q, v, tau makes a batch of states. Loops keep all
    coordinates of the tree; M, C, g and h are those of the open tree and ``forward`` obeys the loops.
    """

    def __init__(
        self,
        robot: Robot | str,
        *,
        method: str = "recursive",
        compile: Literal["auto", "never"] = "auto",
        independent: Choice = "auto",
        stabilise: float = 0.0,
    ) -> None:
        from pliant.model.description.robot import Robot
        from pliant.model.readers.library import load

        if compile not in ("auto", "never"):
            raise ValueError(f"compile is {compile!r}; it must be 'auto' or 'never'")
        loaded = robot if isinstance(robot, Robot) else load(robot)
        self.options = {"method": method, "compile": compile, "independent": independent, "stabilise": stabilise}
        with uncollected():
            super().__init__(loaded, method, compile == "auto" and has_llvm())
            self.loops: Loops = (
                closed_loops(self, independent, stabilise, dense=self.method.name == "dense")
                if self.mechanism.is_closed
                else NoLoops(self)
            )

    def __repr__(self) -> str:
        how = "compiled" if self.compiled else "NumPy"
        loops = f", {len(self.mechanism.loops)} loops" if self.mechanism.loops else ""
        method = "" if self.method.name == "recursive" else f", {self.method.name}"
        sizes = f"{self.size} coordinates, {len(self.inputs)} inputs"
        return f"Dynamics({self.robot.name!r}, {sizes}{loops}{method}, {how})"

    def __reduce__(self) -> tuple[Any, ...]:
        # machine code stays here: it is made anew, or found in the cache
        return _made, (self.robot, self.options)

    def set(self, path: str, value: Any) -> Dynamics:
        """The dynamics of the robot with another value at a place, ``arm.set("forearm.payloads[0].mass", 2.0)``.

        Machine code depends on the structure of a robot only: with other numbers nothing is compiled again.
        """
        return _made(self.robot.set(path, value), self.options)

    def draw(self, path: str | Path | None = None) -> Figure:
        """A picture of the robot in its reference pose; ``path``: PNG, SVG or PDF file to write."""
        figure: Figure = made_by("pictures.drawing", "robot_figure")(self.robot, path)
        return figure

    def view(self, *, port: int = 8080, browser: bool = True) -> Viewer:
        """The robot in three dimensions in the browser, on this computer only (needs viser: pip install viser).

        Joints are set by sliders, modes swing, colours show deflection and stress.
        """
        shown: Viewer = made_by("viewer.server", "view_robot")(self, port=port, browser=browser)
        return shown

    def _repr_html_(self) -> str:
        rows = zip(self.names, self.mechanism.units, self.mechanism.pose, strict=True)
        drives = set(self.inputs)
        return html_page(
            repr(self),
            ("coordinate", "unit", "reference pose", "motor"),
            [(name, unit, f"{x:.4g}", "yes" if name in drives else "") for name, unit, x in rows],
        )

    # ---- dynamics

    def forward(
        self,
        q: States,
        v: States,
        tau: States | None = None,
        *,
        force: States | None = None,
        wrenches: dict[str, ArrayLike] | None = None,
        solver: Solver = "recursive",
    ) -> Floats:
        """Accelerations; those of a robot with loops keep a closed state closed.

        tau       efforts of the actuated joints, N m or N (inputs,); default zero
        force     further generalised forces (n,)
        wrenches  frame -> (force, moment) on it, base axes (6,)
        solver    "recursive": the method's own forward dynamics; "dense": Cholesky of M, of loops with multipliers;
                  of loops also "minimal": independent coordinates, "platform": a platform's twist among them
        """
        if solver == "recursive":
            if wrenches is None:
                fast: Floats | None = self._quick_forward(q, v, tau, force)
            else:
                fast = self._quick_with_wrenches(q, v, tau, force, wrenches)
            if fast is not None:
                return fast
        self._require_lines(force, wrenches)
        q, v = self._state(q, v)
        f = self._generalised(q, tau, force, wrenches)
        if solver != "recursive":
            accelerations: Floats = each_state(partial(self.loops.forward_dense, solver), q, v, f)
            return accelerations
        a = self.loops.forward(q, v, f)
        if not np.isfinite(a).all():
            self._explain(q, v, f)
        return a

    def _quick_with_wrenches(
        self, q: States, v: States, tau: States | None, force: Any, wrenches: Mapping[str, ArrayLike]
    ) -> Floats | None:
        for frame, wrench in wrenches.items():
            force = self._frame_calls[frame].quick_pull(q, wrench, force)
            if force is None:
                return None
        fast: Floats | None = self._quick_forward(q, v, tau, force)
        return fast

    @quick_property
    def _quick_forward(self) -> Callable[..., Any]:
        """A built-in function for plain arrays of one state: q, v, and if there are any tau and further forces."""
        if not self._is_quick:
            return declined
        from pliant.engine.call.calls import QuickCall

        call, n = QuickCall(), self.size
        q, v, tau = call.takes(n), call.takes(n), call.takes(len(self.inputs), optional=True)
        call.gives(self._accelerations(call, q, v, call.sparse(self.B, tau, call.takes(n, optional=True))))
        return call.built()

    @property
    def _is_quick(self) -> bool:
        # rows that follow from others are chosen anew at every state
        return self._inverse.is_quick and not self.loops.redundant and not self.robot.actuators

    def _accelerations(self, call: QuickCall, q: Operand, v: Operand, f: Operand) -> Floats:
        """The step of a call that finds accelerations; a lost row of the loops makes them no numbers."""
        run, least = self.loops.elimination()
        out = call.evaluates(run, q, v, f)
        call.guard(out[self.size :], least, out)
        return out[: self.size]

    def _explain(self, q: Floats, v: Floats, f: Floats) -> None:
        """Say why accelerations are not finite."""
        for name, x in (("q", q), ("v", v), ("force", f)):
            self.labels.require_finite(name, x)
        first: Floats = np.atleast_2d(q)[0]
        loose = self._indefinite(first) or self.without_inertia(first)
        raise FloatingPointError(
            f"the accelerations of robot '{self.robot.name}' are not finite: "
            + (loose or "its mass matrix is singular at this q, or the state is out of range")
        )

    def _indefinite(self, q: Floats) -> str:
        """Where the mass matrix of a method of some order stops being one; nothing of methods that are exact."""
        if self.method.order is None:
            return ""
        values, vectors = np.linalg.eigh(self.mass_matrix(q))
        if values[0] > 0:
            return ""
        worst = int(np.argmax(np.abs(vectors[:, 0])))
        bent = [k for k in range(self.size) if k not in self.mechanism.joints]
        far = max(bent, key=lambda k: abs(float(q[k])), default=worst)
        return (
            f"the mass matrix of method '{self.method.name}', of order {self.method.order} in the elastic coordinates, "
            f"is not positive at this q (along {self.names[worst]}), where {self.names[far]} is {q[far]:.4g}: too far "
            "for it; use method 'recursive'"
        )

    def inverse(
        self,
        q: States,
        v: States,
        a: States,
        *,
        force: States | None = None,
        wrenches: dict[str, ArrayLike] | None = None,
        preload: States | None = None,
    ) -> InverseSolution:
        """Efforts tau of the actuated joints for their accelerations a, and the accelerations of all others.

        force     further generalised forces (n,)
        wrenches  frame -> (force, moment) on it, base axes (6,)
        preload   of redundant drives: efforts (inputs,) to which those that are found shall be nearest; default none

        The other coordinates (elastic ones, passive joints) move as the equations of motion and the loops say. Of more
        drives than the loops leave motions, the least efforts are given (those of slides times the robot's size).
        """
        if force is None and wrenches is None and preload is None:
            fast: InverseSolution | None = self._quick_inverse_solution(q, v, a)
            if fast is not None:
                return fast
        self._require_lines(force, wrenches)
        q, v = self._state(q, v)
        given = self.input_labels.states("a", a)
        if given.shape[:-1] != q.shape[:-1]:
            raise ValueError(f"q has shape {q.shape} and a {given.shape}; both must be one state or a batch")
        near = None if preload is None else self.input_labels.states("preload", preload)
        if near is not None and not self.loops.excess_drives:
            raise ValueError(
                f"preload: robot '{self.robot.name}' has no redundant drives, and the motion determines their efforts; "
                "links that bend are preloaded by the positions of the drives (pliant.equilibrium)"
            )
        tau, every = self.loops.inverse(q, v, given, self._generalised(q, None, force, wrenches), near)
        return solutions_of(self.inputs, self._other_names)(tau, every[..., self._others])

    @quick_property
    def _quick_inverse_solution(self) -> Callable[..., Any]:
        if not (self._is_quick and self.loops.inverse_is_traced):
            return declined
        from pliant.engine.call.calls import QuickCall

        call, n, m, every = QuickCall(), self.size, len(self.inputs), np.eye(self.size)
        q, v, a = call.takes(n), call.takes(n), call.takes(m)
        run, least = self.loops.elimination(tuple(self._driven.tolist()))
        out = call.evaluates(run, q, v, call.sparse(every[:, self._driven], a))
        call.guard(out[m + n :], least, out)
        call.gives(out[:m], call.sparse(every[self._others], out[m:]))
        return call.built(solutions_of(self.inputs, self._other_names))

    @cached_property
    def _driven(self) -> NDArray[np.int_]:
        return np.array([self.names.index(name) for name in self.inputs], dtype=int)

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the coordinates without a motor: elastic ones and passive joints."""
        return self._other_names

    @cached_property
    def _other_names(self) -> tuple[str, ...]:
        return tuple(self.names[k] for k in self._others)

    @cached_property
    def _others(self) -> NDArray[np.int_]:
        return np.setdiff1d(np.arange(self.size), self._driven)

    def reactions(
        self,
        q: States,
        v: States,
        a: States,
        tau: States | None = None,
        *,
        force: States | None = None,
        wrenches: dict[str, ArrayLike] | None = None,
    ) -> dict[str, Floats]:
        """Joint name -> (force, moment) (6,) that the joint transmits to its link, in the link's axes.

        a         accelerations (n,), such as ``forward`` gives for the same efforts and loads
        tau       efforts of the actuated joints (inputs,); default: those that the motion a needs, and where loops
                  leave a choice between them and the forces of closures the smallest
        force     further generalised forces (n,)
        wrenches  frame -> (force, moment) on it, base axes (6,)

        The moment is about the point of the joint axis that is nearest to the link's origin. Drive, spring and friction
        of a joint are part of what it transmits. Raises ValueError where the motion does not belong to the efforts.
        """
        if self.robot.actuators and wrenches is None:
            refuse_lines(self.robot, "reactions do not know: give their forces on frames as wrenches")
        q, v = self._state(q, v, batch=False)
        a = self.labels.states("a", a)
        f = self._generalised(q, tau, force, wrenches)
        if tau is not None:
            self._require_motion(q, v, a, f)
        loads = [(name, as_states(f"wrench on {name}", x, 6, self.robot.name)) for name, x in (wrenches or {}).items()]
        return self.by_joint(q, v, a, [*loads, *self.closing_wrenches(q, v, a, f, given=tau is not None)])

    def _require_motion(self, q: Floats, v: Floats, a: Floats, f: Floats) -> None:
        """Raise where forces f do not give the accelerations a."""
        missing = self.forces(q, v, a) - f
        if self.loops.rows:
            missing -= self.loops.jacobian(q).T @ self.loops.multipliers(q, v, a, f)
        needed = np.abs(self.mass_matrix(q)) @ np.abs(a) + np.abs(self.bias(q, v)) + np.abs(f)
        beyond = np.abs(missing) - UNBALANCED * needed - ROUNDING * needed.max(initial=0.0)
        if (beyond > 0.0).any():
            worst = int(np.argmax(beyond))
            unit = self.mechanism.words[self.names[worst]].force
            raise ValueError(
                f"a is not the motion of robot '{self.robot.name}' under tau and these loads: '{self.names[worst]}' "
                f"lacks {abs(missing[worst]):.3g} {unit}; take a from forward() with the same efforts and loads"
            )

    def closing_wrenches(self, q: Floats, v: Floats, a: Floats, f: Floats, *, given: bool) -> list[tuple[str, Floats]]:
        """(frame, force and moment on it in base axes (6,)) of all closures of loops, at forces f of efforts and loads.

        given  whether the efforts of the drives are part of f; else they are those that the motion needs
        """
        if not self.loops.rows:
            return []
        find = self.loops.multipliers if given else self.loops.multipliers_beside_drives
        return self.loops.closing_wrenches(q, find(q, v, a, f))

    def handed(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """What every link with all that it carries needs to move so, and how it moves (links, HANDED), its axes."""
        return self._reaction(q, v, a).reshape(-1, HANDED)

    def by_joint(self, q: Floats, v: Floats, a: Floats, acting: Sequence[tuple[str, Floats]]) -> dict[str, Floats]:
        """``reactions`` from all wrenches (frame, (6,) in base axes) that loads and closures exert."""
        needed, flat = self.handed(q, v, a)[:, :6], self._places(q)
        for frame, wrench in acting:
            index = self._frame_link(frame)
            at, _ = self._path(index).pose(flat)
            # of the joints between the frame and the base each carries the whole of it
            while (index := self._framed.links[index].parent) >= 0:
                p, R = self._path(index).pose(flat)
                needed[index, :3] -= R.T @ wrench[:3]
                needed[index, 3:] -= R.T @ (wrench[3:] + np.cross(at - p, wrench[:3]))
        # sections of beams are links without mass and without a joint of their own
        return {
            link.joint or link.name: np.concatenate([link.R_DB.T @ w[:3], link.R_DB.T @ w[3:]])
            for link, w in zip(self.tree.links, needed, strict=True)
            if link.joint or link.body.mass
        }

    @cached_property
    def _reaction(self) -> Function:
        return self._function("reaction")

    def derivatives(self, q: States, v: States, tau: States | None = None) -> ForwardDerivatives:
        """Exact derivatives of ``forward``: -M^-1 times those of the inverse dynamics at the accelerations.

        With loops, of the equations of motion together with those of the loops.
        """
        fast: ForwardDerivatives | None = self._quick_derivatives(q, v, tau)
        if fast is not None:
            return fast
        refuse_lines(self.robot, "these derivatives do not know; pliant.modes has their stiffness")
        q, v = self._state(q, v, batch=False)
        a = self.forward(q, v, tau)
        by_q, by_v, by_f = self.loops.sensitivities(q, v, a, self._generalised(q, tau, None, None))
        return ForwardDerivatives(by_q, by_v, by_f @ self.B)

    @quick_property
    def _quick_derivatives(self) -> Callable[..., Any]:
        if not self._is_quick:
            return declined
        from pliant.engine.call.calls import QuickCall, padded_rows
        from pliant.formulations.loops.loop_calls import LoopSlopes

        call, n = QuickCall(), self.size
        q, v, tau = call.takes(n), call.takes(n), call.takes(len(self.inputs), optional=True)
        f = call.sparse(self.B, tau)
        a = self._accelerations(call, q, v, f)
        *slopes, mass = self._slopes.all(call, q, v, a)
        if isinstance(self.loops, DenseLoops):
            missing = call.sparse(-np.eye(n), f, call.evaluates(self._inverse.evaluator, q, v, a))
            mobility, slopes = LoopSlopes(self.loops, call).closed(q, v, a, mass, missing, slopes)
        else:
            mobility, _ = call.inverted(mass)
        call.gives(*(call.minus_product(mobility, right) for right in slopes))
        by_f = mobility[:, :n]
        call.gives(by_f if np.array_equal(self.B, np.eye(n)) else call.minus_product(by_f, padded_rows(-self.B)))
        return call.built(ForwardDerivatives)

    def operations(self, what: Literal["forward", "inverse"] = "forward") -> Operations:
        """Arithmetic operations of one evaluation."""
        counted: Operations = self.loops.operations(what)
        return counted

    # ---- closed loops

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the coordinates whose rates determine all others (all of them without loops)."""
        return self.loops.independent

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the coordinates that follow from the others by the loops."""
        return self.loops.dependent

    def closure(self, q: States) -> Floats:
        """How far the loops are open, (constraints,): metres along base axes, and 2 tan(angle/2) of turns.

        The order is that of ``loops.rows``; a state of a simulation should have zero here.
        """
        return self.loops.gaps(self._state(q)[0])

    def closure_rate(self, q: States, v: States) -> Floats:
        """Relative velocities of the frames that the loops hold together, (constraints,)."""
        return self.loops.rates(*self._state(q, v))

    def assemble(
        self,
        q: States | None = None,
        *,
        hold: Sequence[str] | None = None,
        bend: bool | None = None,
        mode: str | None = None,
    ) -> Floats:
        """A configuration near q (default: the reference pose) in which all loops are closed.

        hold  names of coordinates that stay as they are; default: the actuated joints
        bend  whether links may bend where joints alone cannot close the loops; default: as the robot's ``assembly``
        mode  assembly mode of the robot from whose positions the other joints start

        Where the guess leads nowhere the joints are led there from where the loops close, and then tried from other
        positions, always the same ones; the nearest configuration is taken. Raises AssemblyError with the gaps that
        remain where a loop cannot close.
        """
        start = self.reference_pose() if q is None else self._state(q)[0]
        if mode is not None:
            held = set(self.inputs if hold is None else hold)
            values = self.robot.assembly.positions(mode).items()
            start = self.labels.states(
                "q", {**self.labels.by_name(start), **{k: x for k, x in values if k not in held}}
            )
        closed: Floats = each_state(partial(self.loops.assemble, hold=hold, bend=bend), start)
        return closed

    def project(self, q: States, v: States) -> tuple[Floats, Floats]:
        """The nearest state that satisfies the loops, in the metric of the mass matrix."""
        nearest: tuple[Floats, Floats] = each_state(self.loops.project, *self._state(q, v))
        return nearest

    def reduced(
        self,
        q: States,
        v: States,
        *,
        independent: Sequence[str] | None = None,
        platform: str | None = None,
    ) -> Reduced:
        """The model in independent rates: ``M a_r + c = N^T f`` and ``a = N a_r + shift``.

        independent  names of coordinates to use at this state instead of the robot's choice
        platform     a frame whose twist is to be independent; then the elastic coordinates at the ends of the legs
                     are the dependent ones (Briot & Khalil's choice)
        """
        return self.loops.reduced(*self._state(q, v, batch=False), independent, platform)

    def multipliers(
        self,
        q: States,
        v: States,
        tau: States | None = None,
        *,
        force: States | None = None,
        wrenches: dict[str, ArrayLike] | None = None,
    ) -> Floats:
        """Forces (N) and moments (N m) of the closures on their first frames, in the order of ``loops.rows``."""
        q, v = self._state(q, v)
        f = self._generalised(q, tau, force, wrenches)
        found: Floats = each_state(self.loops.multipliers, q, v, self.forward(q, v, force=f), f)
        return found

    # ---- checks at the border

    def _state(self, q: States, v: States | None = None, *, batch: bool = True) -> tuple[Floats, Floats]:
        q = self.labels.states("q", q)
        v = np.zeros_like(q) if v is None else self.labels.states("v", v)
        if q.shape != v.shape:
            raise ValueError(f"q has shape {q.shape} and v {v.shape}; they must be the same")
        if q.ndim == 2 and not batch:
            raise ValueError(f"q has shape {q.shape}, a batch; this takes one state at a time")
        return q, v

    def _require_lines(self, force: States | None, wrenches: dict[str, ArrayLike] | None) -> None:
        """Refuse to leave out what actuators along lines push."""
        if force is None and wrenches is None:
            refuse_lines(
                self.robot, "act as loads: give their forces as force (n,) or as wrenches on frames; zeros: none act"
            )

    def _generalised(
        self, q: Floats, tau: States | None, force: States | None, wrenches: dict[str, ArrayLike] | None
    ) -> Floats:
        f = np.zeros_like(q)
        if tau is not None:
            efforts = self.input_labels.states("tau", tau)
            if efforts.shape[:-1] != q.shape[:-1]:
                raise ValueError(f"q has shape {q.shape} and tau {efforts.shape}; both must be one state or a batch")
            f += efforts @ self.B.T
        if force is not None:
            f += self.labels.states("force", force)
        for frame, wrench in (wrenches or {}).items():
            given = as_states(f"wrench on {frame}", wrench, 6, self.robot.name)
            f += (np.swapaxes(self.jacobian(frame, q), -1, -2) @ given[..., None])[..., 0]
        return f


def _made(robot: Robot, options: dict[str, Any]) -> Dynamics:
    return Dynamics(robot, **options)
