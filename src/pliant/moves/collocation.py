"""The best move as a nonlinear program: Radau collocation of the inverse dynamics, solved by IPOPT through CasADi.

Between instants t_k the coordinates and rates are polynomials through the state at t_k and those at Radau points (the
last of which is t_k+1). At each point the slopes of the polynomials obey

    q' = v + J^T mu,    forces(q, v, v') = B u + J^T lambda,    gaps(q) = 0,    J v = 0

with J, lambda and mu of closed loops alone: mu keeps both gaps and rates of the loops at zero (Gear, Gupta and
Leimkuhler) and is rounding in a solution. No accelerations are unknowns, and no mass matrix is inverted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.tangent import tangent
from pliant.export.casadi import casadi_function, casadi_package
from pliant.moves.move_limits import Bounds
from pliant.moves.reached_motions import reached_motions, tangents_along

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

Floats = NDArray[np.float64]
Objective = Literal["time", "energy"]

UNREACHED = 1e-6
"""Part of a motion that efforts reach, that is rounding."""
STAGES = 3
"""Radau points of an interval: order 5 at its end."""
SHORTEST, LONGEST = 1e-2, 50.0
"""Durations that are looked for, in parts of the first guess."""
RESOLVED = 6.283185307179586
"""Angle of a vibration in an interval, a whole period, from which on three Radau points damp it by half in each."""
FEW = 10.0
"""Ratio of the fastest vibration to those that are resolved up to which all are prescribed to rest."""
IPOPT = {
    "print_level": 0,
    "sb": "yes",
    "mu_strategy": "adaptive",
    "tol": 1e-8,
    # where the objective hardly falls any more: motions that cost nearly the same are many
    "acceptable_tol": 1e-4,
    "acceptable_constr_viol_tol": 1e-8,
    "acceptable_obj_change_tol": 1e-5,
    "acceptable_iter": 10,
    # with weaker pivots MUMPS miscounts negative eigenvalues, and curvature is added that slows every step
    "mumps_pivtol": 1e-3,
}


class Ends(NamedTuple):
    """A state of rest: coordinates (n,) and the efforts that hold it (inputs,)."""

    q: Floats
    tau: Floats


class Guess(NamedTuple):
    """A motion to begin with, as functions of the part s of its time: q (len(s), n), v, tau, and its duration.

    closing  forces of the kept rows of closed loops (len(s), rows)
    """

    q: Any
    v: Any
    tau: Any
    closing: Any
    duration: float


class Solution(NamedTuple):
    """What IPOPT found.

    duration    s
    nodes       coordinates and rates at the instants (intervals + 1, 2 n)
    inside      the same at the Radau points (intervals, stages, 2 n)
    tau         efforts at the instants (intervals + 1, inputs); held ones from each instant on
    closing     forces of the kept rows of closed loops at the Radau points (intervals, stages, rows)
    cost        objective without the penalty of chatter
    status      what IPOPT said
    success     whether it is a solution
    iterations, variables, constraints  sizes
    violated    (constraint, by how much in scaled units), worst first, of what is no solution
    """

    duration: float
    nodes: Floats
    inside: Floats
    tau: Floats
    closing: Floats
    cost: float
    status: str
    success: bool
    iterations: int
    variables: int
    constraints: int
    violated: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class MoveProblem:
    """A move of a robot between two states of rest.

    arm          its dynamics, with friction that is smooth enough
    duration     s; None: it is found
    scale        sizes of coordinates (n,); ``efforts`` (inputs,) those of efforts, ``pulls`` (rows,) of closing forces
    end_fixed    coordinates whose end is prescribed: all, or with loops the independent ones
    chatter      weight of the squared steps of scaled efforts
    """

    arm: Dynamics
    start: Ends
    end: Ends
    bounds: Bounds
    objective: Objective
    duration: float | None
    scale: Floats
    efforts: Floats
    pulls: Floats
    end_fixed: tuple[int, ...]
    rows: tuple[int, ...]
    chatter: float
    guess: Guess

    @property
    def pace(self) -> float:
        """s: what times are measured in."""
        return self.guess.duration

    @cached_property
    def points(self) -> tuple[Floats, Floats]:
        """Radau points in an interval (stages,), and slopes at them per value (stages + 1, stages)."""
        ca = casadi_package()
        at = ca.collocation_points(STAGES, "radau")
        C, _, _ = ca.collocation_coeff(at)
        return np.array(at), np.array(C)

    @cached_property
    def interval(self) -> Any:
        """(state, stages, multipliers, effort before and after, step) -> scaled residuals, then path constraints."""
        ca, arm = casadi_package(), self.arm
        n, m, r = arm.size, len(arm.inputs), len(self.rows)
        at, C = self.points
        forces = casadi_function(arm, "inverse")
        first, inside = ca.SX.sym("first", 2 * n), ca.SX.sym("inside", 2 * n, STAGES)
        closing = ca.SX.sym("closing", 2 * r, STAGES)
        u, after, h = ca.SX.sym("u", m), ca.SX.sym("after", m), ca.SX.sym("h")
        sizes = ca.DM(np.tile(self.scale, 2) * np.repeat([1.0, 1.0 / self.pace], n))
        states = [sizes * first, *(sizes * inside[:, j] for j in range(STAGES))]
        residuals, path = [], []
        for j in range(STAGES):
            slope = sum((float(C[k, j]) * states[k] for k in range(1, STAGES + 1)), float(C[0, j]) * states[0]) / h
            q, v = states[j + 1][:n], states[j + 1][n:]
            effort = u + float(at[j]) * (after - u) if self.bounds.ramps else u
            missing = forces(q, v, slope[n:]) - ca.mtimes(ca.DM(arm.B), ca.DM(self.efforts) * effort)
            drift = slope[:n] - v
            if r:
                J = self._jacobian(q)
                missing -= ca.mtimes(J.T, ca.DM(self.pulls) * closing[:r, j])
                # in sizes of the coordinates, so that each gap is closed by those that move easily
                drift -= ca.DM(self.scale**2 / self.pace) * ca.mtimes(J.T, closing[r:, j] / ca.DM(self.row_sizes))
                residuals += [self._gaps(q) / ca.DM(self.row_sizes)]
                residuals += [ca.mtimes(J, v) * self.pace / ca.DM(self.row_sizes)]
            residuals += [drift * self.pace / ca.DM(self.scale), missing / ca.DM(self.force_sizes)]
            path += [self._path(q)]
        return ca.Function("interval", [first, inside, closing, u, after, h], [ca.vertcat(*residuals, *path)])

    @cached_property
    def _slopes(self) -> tuple[Any, Any]:
        """Derivatives of ``interval`` by all that it takes, and the lower half of its second ones, with multipliers."""
        ca, f = casadi_package(), self.interval
        takes = [ca.SX.sym(f.name_in(i), *f.size_in(i)) for i in range(f.n_in())]
        out = f(*takes)
        y, weights = ca.vertcat(*(ca.vec(x) for x in takes)), ca.SX.sym("weights", out.numel())
        second, _ = ca.hessian(ca.dot(weights, out), y)
        return (
            ca.Function("slopes", takes, [ca.jacobian(out, y)]),
            ca.Function("curvature", [*takes, weights], [ca.tril(second)]),
        )

    @cached_property
    def _closures(self) -> tuple[Any, ...]:
        return tuple(casadi_function(self.arm, name) for name in ("closure", "closure_jacobian"))

    def _gaps(self, q: Any) -> Any:
        return self._closures[0](q)[list(self.rows)]

    def _jacobian(self, q: Any) -> Any:
        return self._closures[1](q)[list(self.rows), :]

    @cached_property
    def row_sizes(self) -> Floats:
        """Sizes of the gaps (rows,)."""
        J = self.arm.loops.jacobian(self.start.q)[list(self.rows)]
        return np.asarray(np.abs(J * self.scale).max(axis=1, initial=1e-12))

    @cached_property
    def force_sizes(self) -> Floats:
        """Sizes of generalised forces (n,): of inertia and strain of a coordinate of size one, or of its drive."""
        q = self.start.q
        inertia = np.abs(self.arm.mass_matrix(q)) @ self.scale / self.pace**2
        strain = np.abs(self.arm.stiffness) @ self.scale
        sizes = np.maximum(np.maximum(inertia, strain), np.abs(self.arm.B) @ self.efforts)
        # a pivot without inertia has none
        return np.asarray(np.maximum(sizes, 1e-6 * sizes.max()))

    # ---- limits along the way

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        """The limits of deflection and strain, in words."""
        frames = [f"deflection of {frame}" for frame, _ in self.bounds.deflection]
        return (*frames, *(f"strain of {place.link} at x = {place.x:g} m" for place, _ in self.bounds.strain))

    @cached_property
    def _path(self) -> Any:
        """(q) -> squared deflections over their limits, then strains over theirs."""
        ca, b = casadi_package(), self.bounds
        q = ca.SX.sym("q", self.arm.size)
        parts = []
        if b.deflection:
            moved = casadi_function(self.arm, "deflection", frames=[frame for frame, _ in b.deflection])(q)
            parts += [ca.sumsqr(moved[:, k]) / most**2 for k, (_, most) in enumerate(b.deflection)]
        if b.strain:
            strains = casadi_function(self.arm, "strain", strains=[place for place, _ in b.strain])(q)
            parts += [strains[k] / most for k, (_, most) in enumerate(b.strain)]
        return ca.Function("path", [q], [ca.vertcat(*parts) if parts else ca.SX.zeros(0)])

    def along(self, q: Floats) -> Floats:
        """Deflections and strains of a configuration in parts of their limits (path_names,)."""
        parts = np.array(self._path(q)).ravel()
        k = len(self.bounds.deflection)
        return np.concatenate([np.sqrt(parts[:k]), np.abs(parts[k:])])

    # ---- the end

    def end_modes(self, intervals: int) -> Floats | None:
        """Scaled coordinates to motions (modes, n) that are at rest at the end; None: all coordinates are.

        Vibrations much faster than an interval die out in the collocation by themselves: to prescribe them as well
        would be the same condition twice. So would those that no effort reaches.
        """
        values, motions, M = self._end_motions
        slow = values <= self._fastest(intervals) ** 2
        kept, s, _ = np.linalg.svd(self._reached[:, slow].T, full_matrices=False)
        kept = kept[:, s > UNREACHED]
        if kept.shape[1] == len(values):
            return None
        fixed = list(self.end_fixed)
        rows = np.zeros((kept.shape[1], self.arm.size))
        rows[:, fixed] = (motions[:, slow] @ kept).T @ M * self.scale[fixed]
        return np.asarray(rows / np.abs(rows).max(axis=1, keepdims=True))

    @cached_property
    def _reached(self) -> Floats:
        """What efforts make of the motions about the end and of their rates (directions, motions), along the way."""
        values, motions, _ = self._end_motions
        s = np.linspace(0.0, 1.0, 5)
        tangents = tangents_along(self.arm, self.guess.q(s), self.guess.v(s), self.guess.tau(s))
        basis = reached_motions(tangents, motions, np.sqrt(np.maximum(values, self.pace**-2)))
        return np.vstack(np.split(basis.T, 2, axis=1))

    @cached_property
    def _end_motions(self) -> tuple[Floats, Floats, Floats]:
        """Squared frequencies, motions of the independent coordinates and their inertia about the end."""
        from scipy.linalg import eigh

        still = np.zeros(self.arm.size)
        t = tangent(self.arm, self.end.q, still, still, self.end.tau, dry_friction=False)
        M, _, K, size = t.scaled()
        values, vectors = eigh((K + K.T) / 2, (M + M.T) / 2)
        return values, size[:, None] * vectors, t.M

    def unresolved(self, intervals: int) -> float:
        """rad/s: the lowest vibration that is left to die out by itself; infinite if there is none."""
        values = self._end_motions[0]
        beyond = values[values > self._fastest(intervals) ** 2]
        return float(np.sqrt(beyond.min(initial=np.inf)))

    def _fastest(self, intervals: int) -> float:
        """rad/s: the fastest vibration that is prescribed to rest; where few are faster, all are."""
        duration = self.guess.duration if self.duration is None else self.duration
        fastest = RESOLVED * intervals / duration
        highest = float(np.sqrt(max(self._end_motions[0].max(), 0.0)))
        # the square of a root is not always the number itself
        return np.inf if highest <= FEW * fastest else fastest

    # ---- the program

    def solve(self, intervals: int, guess: Guess, most: int) -> Solution:
        """Solve with so many intervals, from a guess; ``most`` iterations."""
        ca, arm, b = casadi_package(), self.arm, self.bounds
        n, m, r, N = arm.size, len(arm.inputs), len(self.rows), intervals
        free = self.duration is None
        X, U = ca.MX.sym("X", 2 * n, N + 1), ca.MX.sym("U", m, N + 1 if b.ramps else N)
        P, Z = ca.MX.sym("P", 2 * n, STAGES * N), ca.MX.sym("Z", 2 * r, STAGES * N)
        T = ca.MX.sym("T") if self.duration is None else ca.MX(self.duration / self.pace)
        h = self.pace * T / N
        w = ca.vertcat(ca.vec(X), ca.vec(P), ca.vec(U), ca.vec(Z), *([T] if free else []))
        pieces = [X[:, :-1], P, Z, U[:, :N], U[:, 1:] if b.ramps else U, ca.repmat(h, 1, N)]
        moved = ca.vec(self.interval.map(N)(*pieces))
        steps = U[:, 1:] - U[:, :-1]
        total = h / 2 * (ca.sumsqr(U[:, :-1]) + ca.sumsqr(U[:, 1:])) if b.ramps else h * ca.sumsqr(U)
        cost = self.pace * T if self.objective == "time" else total
        linear = {"continuity": ca.vec(X[:, 1:] - P[:, STAGES - 1 :: STAGES])}
        rest = self.end_modes(N)
        if rest is not None:
            away = ca.DM(rest) @ (X[: len(self.scale), N] - ca.DM(self.end.q / self.scale))
            linear["rest at the end"] = ca.vertcat(away, ca.DM(rest) @ X[n:, N])
        limited = np.flatnonzero(np.isfinite(b.effort_rate))
        if len(limited):
            ramp = ca.repmat(ca.DM((b.effort_rate / self.efforts)[limited]) * h, 1, N)
            change = steps[limited.tolist(), :]
            linear["effort rate"] = ca.vertcat(ca.vec(change - ramp), ca.vec(-change - ramp))
        g = ca.vertcat(moved, *linear.values())
        ends = self._constraint_bounds(N, linear)
        f = (cost + self.chatter * self.pace * ca.sumsqr(steps)) / self.pace
        solver = ca.nlpsol(
            "move",
            "ipopt",
            {"x": w, "f": f, "g": g},
            {
                "ipopt": {**IPOPT, "max_iter": most},
                "print_time": False,
                "error_on_fail": False,
                "show_eval_warnings": False,
                **self._derivatives(N, w, f, g, pieces),
            },
        )
        low, high = self._bounds(N)
        found = solver(x0=self._first(N, guess), lbx=low, ubx=high, lbg=ends[0], ubg=ends[1])
        told = solver.stats()
        nodes, inside, efforts, closing, time, value = (
            np.array(x) for x in ca.Function("parts", [w], [X, P, U, Z[:r, :], T, cost])(found["x"])
        )
        sizes = np.tile(self.scale, 2) * np.repeat([1.0, 1.0 / self.pace], n)
        tau = efforts.T * self.efforts
        return Solution(
            duration=float(time.item()) * self.pace,
            nodes=nodes.T * sizes,
            inside=inside.T.reshape(N, STAGES, 2 * n) * sizes,
            tau=tau if b.ramps else np.vstack([tau, self.end.tau]),
            closing=closing.T.reshape(N, STAGES, r) * self.pulls,
            cost=float(value.item()),
            status=str(told["return_status"]),
            success=bool(told["success"]),
            iterations=int(told["iter_count"]),
            variables=int(w.numel()),
            constraints=int(g.numel()),
            violated=self._violated(N, linear, np.array(found["g"]).ravel(), ends),
        )

    def _derivatives(self, N: int, w: Any, f: Any, g: Any, pieces: Sequence[Any]) -> dict[str, Any]:
        """Jacobian and Hessian for IPOPT, put together from those of one interval: all else is linear or quadratic.

        CasADi would find the second ones by sweeps through all intervals, dozens of times as long.
        """
        ca = casadi_package()
        slopes, curvature = self._slopes
        rows, p = self.interval.size1_out(0), ca.MX.sym("p", 0)
        places, factors = self._places(N)
        inner = ca.MX(slopes.map(N)(*pieces)).nz[:]
        local = np.array(slopes.sparsity_out(0).get_triplet())
        at = (np.arange(N)[:, None] * rows + local[0]).ravel(), places[:, local[1]].ravel()
        kept = at[1] >= 0
        jacobian = _scattered(ca, g.numel(), w.numel(), at, np.tile(factors[local[1]], N), kept, inner)
        others = ca.vertcat(ca.MX.zeros(rows * N), g[rows * N :])
        jacobian += ca.Function("constant", [w], [ca.jacobian(others, w)])(0)
        weight, multipliers = ca.MX.sym("weight"), ca.MX.sym("multipliers", g.numel())
        inner = ca.MX(curvature.map(N)(*pieces, ca.reshape(multipliers[: rows * N], rows, N))).nz[:]
        local = np.array(curvature.sparsity_out(0).get_triplet())
        one, other = places[:, local[0]].ravel(), places[:, local[1]].ravel()
        both = np.minimum(one, other), np.maximum(one, other)
        size = np.tile(factors[local[0]] * factors[local[1]], N)
        hessian = _scattered(ca, w.numel(), w.numel(), both, size, both[0] >= 0, inner)
        hessian += weight * ca.Function("constant", [w], [ca.triu(ca.hessian(f, w)[0])])(0)
        return {
            "jac_g": ca.Function("nlp_jac_g", [w, p], [g, jacobian], ["x", "p"], ["g", "jac_g_x"]),
            "hess_lag": ca.Function(
                "nlp_hess_l", [w, p, weight, multipliers], [hessian],
                ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"],
            ),
        }  # fmt: skip

    def _places(self, N: int) -> tuple[NDArray[np.int_], Floats]:
        """Where what an interval takes stands among the unknowns (intervals, taken), -1: nowhere; and factors of it."""
        n, m, r = self.arm.size, len(self.arm.inputs), len(self.rows)
        count = N + 1 if self.bounds.ramps else N
        starts = np.cumsum([0, 2 * n * (N + 1), 2 * n * STAGES * N, m * count, 2 * r * STAGES * N])
        k = np.arange(N)[:, None]
        parts = [
            starts[0] + 2 * n * k + np.arange(2 * n),
            starts[1] + 2 * n * STAGES * k + np.arange(2 * n * STAGES),
            starts[3] + 2 * r * STAGES * k + np.arange(2 * r * STAGES),
            starts[2] + m * k + np.arange(m),
            starts[2] + m * np.minimum(k + 1, count - 1) + np.arange(m),
            np.full((N, 1), starts[4] if self.duration is None else -1),
        ]
        factors = np.ones(sum(part.shape[1] for part in parts))
        factors[-1] = self.pace / N
        return np.hstack(parts), factors

    def _constraint_bounds(self, N: int, linear: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Lowest and highest constraints."""
        b, along = self.bounds, len(self.path_names)
        rows = self.interval.size1_out(0) - STAGES * along
        lows = np.tile(np.r_[np.full(len(b.deflection), -np.inf), np.full(len(b.strain), -1.0)], STAGES)
        low = [np.tile(np.r_[np.zeros(rows), lows], N)]
        high = [np.tile(np.r_[np.zeros(rows), np.ones(STAGES * along)], N)]
        for name, each in linear.items():
            low.append(np.full(each.numel(), -np.inf if name == "effort rate" else 0.0))
            high.append(np.zeros(each.numel()))
        return np.concatenate(low), np.concatenate(high)

    def _violated(
        self, N: int, linear: Mapping[str, Any], g: Floats, ends: tuple[Floats, Floats]
    ) -> tuple[tuple[str, float], ...]:
        """Kinds of constraints by how far they are missed, worst first."""
        beyond = np.maximum(np.maximum(ends[0] - g, g - ends[1]), 0.0)
        rows, along = self.interval.size1_out(0), STAGES * len(self.path_names)
        inner = beyond[: rows * N].reshape(N, rows)
        found = [("equations of motion", inner[:, : rows - along]), ("deflection or strain", inner[:, rows - along :])]
        start = rows * N
        for name, each in linear.items():
            found.append((name, beyond[start : start + each.numel()]))
            start += each.numel()
        return tuple(sorted(((name, float(x.max(initial=0.0))) for name, x in found), key=lambda pair: -pair[1]))

    def _bounds(self, N: int) -> tuple[Floats, Floats]:
        """Lowest and highest scaled unknowns."""
        b, n = self.bounds, self.arm.size
        both = []
        for side in (0, 1):
            state = np.concatenate([b.position[side] / self.scale, b.rate[side] / self.scale * self.pace])
            nodes = np.tile(state, (N + 1, 1))
            start = np.concatenate([self.start.q / self.scale, np.zeros(n)])
            nodes[0] = start
            fixed = list(self.end_fixed) if self.end_modes(N) is None else []
            nodes[-1, fixed] = (self.end.q / self.scale)[fixed]
            nodes[-1, [n + k for k in fixed]] = 0.0
            efforts = np.tile(b.effort[side] / self.efforts, (N + 1 if b.ramps else N, 1))
            if b.ramps:
                limited = np.isfinite(b.effort_rate)
                efforts[0, limited] = (self.start.tau / self.efforts)[limited]
                efforts[-1, limited] = (self.end.tau / self.efforts)[limited]
            inside = np.tile(state, STAGES * N)
            time = [] if self.duration is not None else [(SHORTEST, LONGEST)[side]]
            multipliers = np.full(2 * len(self.rows) * STAGES * N, (-np.inf, np.inf)[side])
            both.append(np.concatenate([nodes.ravel(), inside, efforts.ravel(), multipliers, time]))
        return both[0], both[1]

    def _first(self, N: int, guess: Guess) -> Floats:
        """Scaled unknowns of a guess."""
        at, _ = self.points
        nodes = np.linspace(0.0, 1.0, N + 1)
        inside = ((np.arange(N)[:, None] + at) / N).ravel()

        def states(s: Floats) -> Floats:
            return np.hstack([guess.q(s) / self.scale, guess.v(s) / self.scale * self.pace])

        efforts = guess.tau(nodes if self.bounds.ramps else nodes[:-1]) / self.efforts
        time = [] if self.duration is not None else [guess.duration / self.pace]
        pulling = guess.closing(inside) / self.pulls
        multipliers = np.hstack([pulling, np.zeros_like(pulling)]).ravel()
        return np.concatenate([states(nodes).ravel(), states(inside).ravel(), efforts.ravel(), multipliers, time])


def _scattered(
    ca: Any,
    rows: int,
    columns: int,
    at: tuple[NDArray[np.int_], NDArray[np.int_]],
    factors: Floats,
    kept: NDArray[np.bool_],
    values: Any,
) -> Any:
    """A sparse matrix of values times factors at places; what falls on one place is summed."""
    from scipy.sparse import csc_matrix

    linear = (at[1] * rows + at[0])[kept]
    places, where = np.unique(linear, return_inverse=True)
    entries = np.flatnonzero(kept)
    sums = csc_matrix((factors[kept], (where, entries)), shape=(len(places), len(factors)))
    starts = np.searchsorted(places // rows, np.arange(columns + 1))
    pattern = ca.Sparsity(rows, columns, starts.tolist(), (places % rows).tolist())
    return ca.MX(pattern, ca.mtimes(ca.DM(sums), values))
