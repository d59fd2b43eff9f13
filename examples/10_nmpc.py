"""Nonlinear model predictive control of a flexible two-link arm: CasADi and IPOPT in the loop of a simulation.

    python examples/10_nmpc.py [FOLDER [SIZE]]

writes nmpc.png: joints, efforts, the tip about its goal, and the computing time of every step beside its period.

Every 5 ms a horizon of the arm's own equations of motion is optimised: forces(q, v, a) = B u at the ends of steps, by
implicit Euler, least weighted errors of joints and tip and changes of the efforts, within limits of these. The first
effort is held until the next step. A published set-up of this kind has 5 ms, a horizon of 125 steps and three segments
in each link: that is the size `published`; `modest` is what the picture shows, `short` what a test runs.
"""

import sys
import time
from pathlib import Path
from typing import NamedTuple

import casadi as ca
import numpy as np
from matplotlib.figure import Figure

import pliant

PERIOD = 5e-3
"""s between two samples."""
LARGEST = 12.0
"""N m of both motors."""
GOAL = {"shoulder": 0.6, "elbow": -0.5}
WEIGHTS = {"tip": 300.0, "joint": 10.0, "rate": 0.1, "elastic rate": 1e-2, "effort": 1e-4, "change": 1e-3, "end": 100.0}


class SetUp(NamedTuple):
    """Steps of the horizon, segments of each link, and steps of the run."""

    horizon: int
    segments: int
    steps: int


SET_UPS = {"published": SetUp(125, 3, 160), "modest": SetUp(40, 1, 160), "short": SetUp(10, 1, 4)}


def robot(segments: int) -> pliant.Robot:
    """Two steel strips on edge that swing in the horizontal plane, with a load at the tip."""
    links = []
    for name, joint, length, thickness in (("upper", "shoulder", 0.5, 4e-3), ("fore", "elbow", 0.45, 3e-3)):
        beam = pliant.Beam(
            length=length,
            material="steel",
            section=pliant.Rectangle(width=thickness, height=0.04),
            bending="linear",
            elements=pliant.Elements(number=segments, bend_y=True, bend_z=False),
            damping=pliant.Damping(ratio=0.01),
        )
        motor = pliant.Motor(rotor_inertia=0.02, max_effort=LARGEST)
        links.append(
            pliant.Link(
                name=name,
                joint=pliant.Joint(name=joint, axis="z", motor=motor, friction=pliant.Friction(viscous=0.1)),
                beam=beam,
                payloads=(pliant.RigidPart(mass=0.3, inertia=1e-3),),
            )
        )
    return pliant.Robot(name="two-strips", gravity=(0.0, 0.0, -9.81), links=tuple(links))


class Controller:
    """tau = law(t, q, v): the first effort of the best horizon, warm from the last one."""

    def __init__(self, arm: pliant.Dynamics, horizon: int) -> None:
        self.arm, self.horizon = arm, horizon
        self.n, self.m = arm.size, len(arm.inputs)
        self.goal = arm.q(GOAL)
        self.times: list[float] = []
        self.failed = 0
        self.solver, self.low, self.high = self._program()
        self.guess: np.ndarray | None = None

    def _program(self) -> tuple[ca.Function, np.ndarray, np.ndarray]:
        n, m, N = self.n, self.m, self.horizon
        forces = pliant.casadi_function(self.arm, "inverse")
        Q, V, U = (ca.MX.sym(name, size, N) for name, size in (("Q", n), ("V", n), ("U", m)))
        now = ca.MX.sym("now", 2 * n + m)
        before_q, before_v = ca.horzcat(now[:n], Q[:, :-1]), ca.horzcat(now[n : 2 * n], V[:, :-1])
        before_u = ca.horzcat(now[2 * n :], U[:, :-1])
        # implicit Euler: fast vibrations that 5 ms cannot follow are damped, not amplified
        step = ca.Function(
            "step",
            [q := ca.SX.sym("q", n), v := ca.SX.sym("v", n), w := ca.SX.sym("w", n)],
            [forces(q, v, (v - w) / PERIOD)],
        )
        sizes = np.maximum(np.diag(self.arm.mass_matrix(self.goal)) / PERIOD, 1e-6)
        missing = (step.map(N)(Q, V, before_v) - ca.DM(self.arm.B) @ U) / ca.DM(sizes)
        g = ca.vertcat(ca.vec(Q - before_q - PERIOD * V), ca.vec(missing))
        joints = self.arm.mechanism.joints.tolist()
        elastic = [k for k in range(n) if k not in joints]
        cost = WEIGHTS["joint"] * ca.sumsqr(Q[joints, :] - ca.repmat(ca.DM(self.goal[joints]), 1, N))
        cost += WEIGHTS["rate"] * ca.sumsqr(V[joints, :]) + WEIGHTS["elastic rate"] * ca.sumsqr(V[elastic, :])
        tip = pliant.casadi_function(self.arm, "pose").map(N)(Q)[:2, :]
        goal = self.arm.pose("tip", self.goal).position[:2]
        cost += WEIGHTS["tip"] * ca.sumsqr(tip - ca.repmat(ca.DM(goal), 1, N))
        # the end of the horizon stands for all that comes after it
        cost += WEIGHTS["end"] * (ca.sumsqr(Q[joints, -1] - ca.DM(self.goal[joints])) + 0.01 * ca.sumsqr(V[:, -1]))
        cost += WEIGHTS["effort"] * ca.sumsqr(U) + WEIGHTS["change"] * ca.sumsqr(U - before_u)
        x = ca.vertcat(ca.vec(Q), ca.vec(V), ca.vec(U))
        options = {
            "ipopt": {"print_level": 0, "sb": "yes", "max_iter": 30, "tol": 1e-5},
            "print_time": False,
            "expand": True,
        }
        solver = ca.nlpsol("nmpc", "ipopt", {"x": x, "p": now, "f": cost, "g": g}, options)
        bound = np.r_[np.full(2 * n * N, np.inf), np.full(m * N, LARGEST)]
        return solver, -bound, bound

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        n, m, N = self.n, self.m, self.horizon
        if self.guess is None:
            self.guess = np.r_[np.tile(q, N), np.tile(v, N), np.zeros(m * N)]
        applied = self.guess[2 * n * N : 2 * n * N + m]
        start = time.perf_counter()
        found = self.solver(x0=self.guess, p=np.r_[q, v, applied], lbx=self.low, ubx=self.high, lbg=0.0, ubg=0.0)
        self.times.append(time.perf_counter() - start)
        self.failed += not self.solver.stats()["success"]
        x = np.array(found["x"]).ravel()
        # the next horizon begins one step later
        parts = [x[: n * N].reshape(N, n), x[n * N : 2 * n * N].reshape(N, n), x[2 * n * N :].reshape(N, m)]
        effort = parts[2][0]
        self.guess = np.concatenate([np.vstack([part[1:], part[-1:]]).ravel() for part in parts])
        self.guess[2 * n * N : 2 * n * N + m] = effort
        return effort


def main(folder: Path = Path(), size: str = "modest") -> dict[str, float]:
    """Run the loop, draw it, and give what was found."""
    set_up = SET_UPS[size]
    arm = pliant.Dynamics(robot(set_up.segments))
    controller = Controller(arm, set_up.horizon)
    # the plant is the model itself: what is left is due to the horizon and the sampling
    run = pliant.simulate(
        arm,
        until=set_up.steps * PERIOD,
        drive=pliant.Callback(function=controller, period=PERIOD),
        start={"shoulder": 0.0, "elbow": 0.0},
        output_step=PERIOD / 5,
    )
    goal = arm.pose("tip", arm.q(GOAL)).position
    distance = np.linalg.norm(run["tip.position"][:, :2] - goal[:2], axis=1)
    spent = 1e3 * np.array(controller.times)
    draw(run, distance, spent, set_up, folder / "nmpc.png")
    late = run.time > 0.9 * run.time[-1]
    return {
        "unknowns of a step": (2 * arm.size + 2) * set_up.horizon,
        "largest effort, N m": max(np.abs(run[f"{joint}.torque"]).max() for joint in arm.inputs),
        "tip from its goal at the end, mm": 1e3 * float(distance[late].max()),
        "steps that IPOPT did not finish": controller.failed,
        "median computing time, ms": float(np.median(spent)),
        "longest computing time, ms": float(spent.max()),
    }


def draw(run: pliant.Result, distance: np.ndarray, spent: np.ndarray, set_up: SetUp, path: Path) -> None:
    """Joints, efforts, distance and computing times."""
    figure = Figure(figsize=(10.0, 6.0), layout="constrained")
    joints, efforts, tip, clock = figure.subplots(2, 2).ravel()
    for name in GOAL:
        joints.plot(run.time, run[name], label=name)
        efforts.plot(run.time, run[f"{name}.torque"], label=name)
        joints.axhline(GOAL[name], color="0.6", lw=0.8, ls="--")
    for limit in (-LARGEST, LARGEST):
        efforts.axhline(limit, color="0.6", lw=0.8, ls=":")
    tip.semilogy(run.time, 1e3 * np.maximum(distance, 1e-7))
    clock.plot(PERIOD * np.arange(len(spent)), spent, ".")
    clock.axhline(1e3 * PERIOD, color="tab:red", lw=0.8, label="period")
    titles = "joints, rad", "efforts, N m", "tip from its goal, mm", "computing time of a step, ms"
    for axes, title in zip((joints, efforts, tip, clock), titles, strict=True):
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("time, s")
        axes.grid(alpha=0.3)
    for axes in (joints, efforts, clock):
        axes.legend(fontsize=8)
    figure.suptitle(
        f"NMPC every {1e3 * PERIOD:g} ms, horizon {set_up.horizon} steps, {set_up.segments} elements per link"
    )
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    for key, value in main(Path(*sys.argv[1:2]), *sys.argv[2:3]).items():
        print(f"{key:40} {value:.4g}")
