"""Capabilities for control, each with an independent way to what it computes: one class each, and one line below."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm, schur, solve_continuous_are

from combinations.differences import differences
from combinations.features import Feature, arm_of, start_of, target_of
from pliant import (
    LQR,
    PID,
    Disturbance,
    Dynamics,
    Hold,
    Nonic,
    PrescribedMotion,
    Quintic,
    Sampling,
    Shaped,
    Start,
    Study,
    inverse_dynamics,
    linearise,
    optimal_move,
    recommend_shaper,
    sweep,
    two_time_scales,
    zeros,
)
from pliant.control.regulator import kalman, lqr, process_matrix, sensor_noise, weight_matrices
from pliant.model.description.sensors import Accelerometer, Encoder, Gyro, Sensor, StrainGauge
from pliant.simulation.run import Run
from pliant.simulation.shaping import residual_swing


@dataclass(frozen=True)
class Apart:
    """A feature that a capability does not meet, and why."""

    why: str


class Capability(ABC):
    """Something that control engineers use.

    name    of its row
    proof   how it is compared
    limit   of the difference that `on` and the others give
    """

    name: str
    proof: str
    limit: float

    @abstractmethod
    def on(self, feature: Feature) -> float | Apart:
        """Difference of both ways for the robot of a feature."""

    prescribed: Apart
    loads: Apart
    lanes: Apart
    resumed: Apart
    exported: Apart

    def cell(self, feature: Feature) -> float | Apart:
        """The difference, or why there is none."""
        if feature.build is not None:
            return self.on(feature)
        special = {
            "prescribed motion": "prescribed",
            "loads": "loads",
            "sweep in lanes": "lanes",
            "kill and resume": "resumed",
            "export": "exported",
        }[feature.name]
        found = getattr(self, special)
        return found if isinstance(found, Apart) else found(feature)


NO_RUN = Apart("it is no run: there is nothing to interrupt")


# ---------------------------------------------------------------- motions


class ShapedTrajectory(Capability):
    name = "shaped trajectory"
    proof = "simulated: what `zvd` leaves of the swing after a small move, under PD control with its loops closed"
    limit = 0.04
    exported = Apart("exports are of robots; a motion is numbers over time")

    def study(self, feature, **changes):
        joints = start_of(feature)
        move = Quintic(to=target_of(feature), duration=0.2)
        weight = "desired" if feature.name == "gravity" else "none"
        given = {"drive": PID(trajectory=move, kp=150.0, kd=0.5, gravity=weight), **changes}
        start = Start(position=joints, links="equilibrium")
        return Study(robot=arm_of(feature.name).robot, until=1.0, start=start, **given)

    def on(self, feature):
        return recommend_shaper(self.study(feature), kinds=["zvd"]).row("zvd").simulated

    def prescribed(self, feature):
        move = Quintic(to=target_of(feature), duration=0.2)
        return (
            recommend_shaper(self.study(feature, drive=PrescribedMotion(trajectory=move)), kinds=["zvd"])
            .row("zvd")
            .simulated
        )

    def loads(self, feature):
        """The swing beside that of the load alone."""
        push = Disturbance(frame="tip", force=(0.0, 0.3, 0.0))
        study = self.study(feature, disturbances=(push,))
        found = recommend_shaper(study, kinds=["zvd"])
        plain, shaped = found.rows[0], found.row("zvd")
        resting = study.with_changes(
            until=float(plain.time[-1]),
            outputs={"step": float(plain.time[1])},
            drive=study.drive.with_changes(trajectory=Hold()),
        )
        run = Run(resting, arm_of(feature.name))
        run.go()
        still = run.result()["tip.position"]
        window = float(plain.time[-1] - shaped.end)
        swings = [residual_swing(row.time, row.path - still, row.end, window) for row in (plain, shaped)]
        return swings[1] / swings[0]

    def shaped(self, feature):
        study = self.study(feature)
        return study.with_changes(
            until=0.4, drive=study.drive.with_changes(trajectory=Shaped(motion=study.drive.trajectory, shaper="zvd"))
        )

    def lanes(self, feature):
        return in_lanes(self.shaped(feature))

    def resumed(self, feature):
        return gone_on(self.shaped(feature))


MASS = "fore.payloads[0].mass"


def in_lanes(study):
    """Runs with other payloads side by side, beside each alone."""
    masses = [0.1, 0.15, 0.2, 0.25]
    table = sweep(study, {MASS: masses}, outputs="final(tip.y)")
    assert not table.info.alone, table.info.alone
    lone = []
    for mass in masses:
        run = Run(study.with_changes(robot=study.robot.set(MASS, mass)))
        run.go()
        lone.append(run.result()["tip.y"][-1])
    return float(np.abs(np.array(lone) - table["final(tip.y)"]).max() / np.ptp(lone))


def gone_on(study):
    """A run that was killed and goes on is the same to the last bit."""
    whole, first, second = (Run(study) for _ in range(3))
    whole.go()
    first.go(lambda at: at.t > 0.4 * study.until)
    second.recall(first.memory(), first.recorder.samples())
    second.go()
    assert second.recorder.samples() == whole.recorder.samples()
    return 0.0


# ---------------------------------------------------------------- linear models


@cache
def model_of(feature):
    """The linear model of a feature's robot at its pose, and that of differences."""
    model = linearise(arm_of(feature.name), start_of(feature), outputs=feature.output, dry_friction=True)
    return model, differences(model, [feature.output])


class _Linear(Capability):
    prescribed = Apart("inputs are efforts; drives that prescribe a motion have none")
    loads = Apart("it is about a state of rest under gravity; `modes` takes loads")
    resumed = NO_RUN

    def lanes(self, feature):
        """The same of each changed robot, beside one by one."""
        robot, masses = arm_of(feature.name).robot, [0.1, 0.2]
        table = sweep(robot, {MASS: masses}, do=self.number)
        lone = [self.number(Dynamics(robot.set(MASS, mass)))["value"] for mass in masses]
        return float(np.abs(table["value"] / np.array(lone) - 1).max())

    def number(self, arm):
        """A number of the robot, for sweeps."""
        model = linearise(arm, {"shoulder": 0.3, "elbow": 0.8}, outputs="tip.y")
        return {"value": float(abs(self.of_model(model)))}


CANCELLED = 1e-3
"""Relative distance of a zero from a pole that cancels it."""
OMEGA = np.array([0.7, 3.1, 17.0, 61.0, 240.0])
"""rad/s."""


class FrequencyResponse(_Linear):
    name = "linear model, `frf`"
    proof = "beside the response of a linear model from differences of `forward` and `pose`, at five frequencies"
    limit = 1e-5

    def on(self, feature):
        model, other = model_of(feature)
        found = model.frf(OMEGA, feature.output)
        wanted = other.response(1j * OMEGA)[:, 0]
        return float((np.abs(found - wanted) / np.abs(wanted).max(axis=1, keepdims=True)).max())

    def of_model(self, model):
        return model.frf(17.0, "tip.y", "elbow")

    def exported(self, feature):
        """The package `control` computes the same."""
        model, _ = model_of(feature)
        found = np.array([model.to_control()(1j * w).ravel() for w in OMEGA])
        wanted = model.frf(OMEGA, feature.output)
        return float((np.abs(found - wanted) / np.abs(wanted).max(axis=1, keepdims=True)).max())


class Zeros(_Linear):
    name = "`zeros`"
    proof = "at the lowest zeros the response of that other model vanishes, beside its size nearby"
    limit = 1e-3
    exported = Apart("it is a list of numbers")

    def on(self, feature):
        model, other = model_of(feature)
        last = model.inputs[-1]
        found = zeros(model, feature.output, last)
        # motions that this input does not reach are poles and zeros alike
        apart = np.abs(np.subtract.outer(found, np.linalg.eigvals(other.A))).min(axis=1)
        found = found[(apart > CANCELLED * np.abs(found)) & (np.abs(found) > 1e-3)]
        found = found[np.argsort(np.abs(found))][:4]
        assert len(found)
        at, near = (np.abs(other.response(s, [len(model.inputs) - 1]))[:, 0, 0] for s in (found, 1.05 * found))
        return float((at / near).max())

    def of_model(self, model):
        return np.abs(zeros(model, "tip.y", "elbow")).min()


class Reduced(_Linear):
    name = "`reduced`"
    proof = "the error beside that other model is within the bound that is told, at five frequencies"
    limit = 1.001

    def on(self, feature):
        model, other = model_of(feature)
        kp, kd = 150.0, 5.0
        small = model.closed(kp, kd).reduced(feature.order)
        own = [model.arm.names.index(name) for name in model.tangent.names]
        seen = model.arm.B.T @ model.tangent.N
        gain = np.hstack([kp * seen, kd * seen])
        assert gain.shape[1] == 2 * len(own)
        closed = other._replace(A=other.A - other.B @ gain)
        error = np.linalg.norm(closed.response(1j * OMEGA) - small.frf(OMEGA), ord=2, axis=(1, 2)).max()
        return float(error / small.bound)

    def of_model(self, model):
        return model.closed(150.0, 5.0).reduced(4).bound

    def exported(self, feature):
        model, _ = model_of(feature)
        small = model.closed(150.0, 5.0).reduced(4)
        found = np.array([small.to_control()(1j * w) for w in OMEGA])
        return float(np.abs(found - small.frf(OMEGA)).max() / small.bound)


# ---------------------------------------------------------------- regulators and filters


class Regulators(_Linear):
    name = "`lqr`"
    proof = "gains beside those that SciPy's Riccati equation gives for that other model; runs of the drive, too"
    limit = 1e-4
    prescribed = Apart("it computes efforts; drives that prescribe a motion have none")
    exported = Apart(
        "gains are numbers; `export --controller` writes sampled drives as C, which a test of its own runs"
    )

    def weights(self, output):
        return {output: 1e3, "coordinates": 1.0, "rates": 0.1, "effort": 0.1}

    def on(self, feature):
        model, other = model_of(feature)
        weights = self.weights(feature.output)
        found = lqr(model, weights)
        Q, R = weight_matrices(model, weights)
        P = solve_continuous_are(other.A, other.B, Q, R)
        wanted = np.linalg.solve(R, other.B.T @ P)
        return float(np.abs(found.K - wanted).max() / np.abs(wanted).max())

    def of_model(self, model):
        return lqr(model, self.weights("tip.y")).K[1, 1]

    def study(self, feature):
        move = Quintic(to=target_of(feature), duration=0.2)
        start = Start(position=start_of(feature), links="equilibrium")
        drive = LQR(trajectory=move, weights=self.weights("tip.y"))
        return Study(robot=arm_of(feature.name).robot, until=0.4, start=start, drive=drive)

    def lanes(self, feature):
        return in_lanes(self.study(feature))

    def resumed(self, feature):
        return gone_on(self.study(feature))

    def loads(self, feature):
        """Where a load leaves the regulated tip, beside what the linear model from differences says."""
        joints, force = start_of(feature), 1e-3
        push = Disturbance(frame="tip", force=(0.0, force, 0.0))
        hold = LQR(trajectory=Hold(), weights=self.weights("tip.y"))
        start = Start(position=joints, links="equilibrium")
        arm = arm_of(feature.name)
        run = Run(Study(robot=arm.robot, until=15.0, start=start, drive=hold, disturbances=(push,)), arm)
        run.go()
        moved = run.result()["tip.y"]
        model = linearise(arm, joints, outputs="tip.y", dry_friction=True)
        other = differences(model, ["tip.y"])
        K = lqr(model, self.weights("tip.y")).K
        pull = np.linalg.solve(arm.mass_matrix(model.q), arm.jacobian("tip", model.q)[1])
        pushed = np.concatenate([np.zeros(arm.size), pull])
        wanted = float((other.C @ np.linalg.solve(-(other.A - other.B @ K), pushed * force))[0])
        return abs((moved[-1] - moved[0]) / wanted - 1) / 100


NOISE = 1e-4
"""Standard deviation of every reading, in samples 1 ms apart."""


class Filters(_Linear):
    name = "`kalman`"
    proof = "its covariance solves the Riccati equation of that other model, and its gains follow; errors die out"
    limit = 1e-4
    prescribed = Apart("it estimates what efforts move; drives that prescribe a motion know it")
    exported = Regulators.exported

    def _given(self, model):
        measured = dict.fromkeys(model.inputs, NOISE)
        return {**measured, model.outputs[0]: NOISE}, {"effort": 0.1, "states": 1e-3}

    def on(self, feature):
        model, _ = model_of(feature)
        measured, process = self._given(model)
        found = kalman(model, measured, process=process)
        other = differences(model, list(measured))
        W, noise = process_matrix(model, process), NOISE**2 * 1e-3
        P = found.P
        balance = other.A @ P + P @ other.A.T + W - P @ other.C.T @ other.C @ P / noise
        assert np.linalg.eigvals(other.A - found.L @ other.C).real.max() < 0
        # each entry beside the parts that it is the sum of, those of its row and column
        size = np.abs(other.A) @ np.abs(P)
        own = np.diag(size + size.T + np.abs(W))
        size = np.sqrt(np.outer(own, own))
        return float((np.abs(balance) / size).max() + np.abs(found.L * noise - P @ other.C.T).max())

    def of_model(self, model):
        measured, process = self._given(model)
        return kalman(model, measured, process=process).L[1, 1]


STEP = 1e-6
"""Of central differences of accelerations."""


class ExtendedFilters(Capability):
    name = "`ekf`"
    proof = (
        "its estimates beside a filter in dense algebra that hears the same readings: exponentials by SciPy, slopes "
        "from differences of `forward`; the covariance is meant to a thousandth"
    )
    limit = 5e-3
    prescribed = Filters.prescribed
    exported = Regulators.exported
    process = {"effort": 0.1, "states": 1e-3}  # noqa: RUF012  never changed

    def period(self, feature):
        """Time between ticks, s: elements have fast vibrations."""
        return 5e-4 if feature.name == "finite-element link" else 1e-3

    def robot(self, feature):
        """The robot with encoders at its drives, a gauge on its last beam, a gyro and an accelerometer."""
        plain = arm_of(feature.name).robot
        beam = next(link.name for link in reversed(plain.links) if link.beam is not None)
        encoders = (
            Sensor(name=f"at_{joint}", encoder=Encoder(joint=joint), noise=NOISE)
            for joint in arm_of(feature.name).inputs
        )
        others = [Sensor(name="gauge", strain=StrainGauge(link=beam, x=0.05, y=0.002), noise=1e-6)]
        # slopes of many coordinates take long to compile
        if feature.name != "finite-element link":
            others.append(Sensor(name="turn", gyro=Gyro(frame="tip", axis="z"), noise=1e-2))
        # an accelerometer feels loads, which is refused
        if feature.name not in ("finite-element link", "loads"):
            others.append(Sensor(name="push", accelerometer=Accelerometer(frame="tip", axis="y"), noise=0.05))
        return plain.with_changes(sensors=(*encoders, *others))

    def study(self, feature, **changes):
        drive = LQR(
            trajectory=Quintic(to=target_of(feature), duration=0.2),
            weights={feature.output: 1e3, "coordinates": 1.0, "rates": 0.1, "effort": 0.1},
            estimator="ekf",
            process=self.process,
            sampling=Sampling(period=self.period(feature)),
            seed=7,
        )
        start = Start(position=start_of(feature), links="equilibrium")
        given = {"until": 50 * self.period(feature), "outputs": {"step": self.period(feature) / 2}, **changes}
        return Study(robot=self.robot(feature), start=start, drive=drive, **given)

    def on(self, feature, **changes):
        study = self.study(feature, **changes)
        arm = Dynamics(study.robot)
        run = Run(study, arm)
        run.go()
        result = run.result()
        # in the middle between ticks, everything is what the last one left
        tau = np.stack([result[f"{name}.torque"][1::2] for name in arm.inputs], axis=1)
        y = np.stack([result[f"drive.reading.{sensor.name}"][1::2] for sensor in study.robot.sensors], axis=1)
        names = (*arm.names, *(f"{name}.rate" for name in arm.names))
        found = np.stack([result[f"drive.estimate.{name}"][1::2] for name in names], axis=1)
        first = linearise(arm, start_of(feature))
        wanted = self.dense(arm, first, y, tau, self.period(feature))
        size = np.abs(wanted - wanted[0]).max(axis=0).clip(1e-6)
        return float((np.abs(found - wanted) / size).max())

    def dense(self, arm, model, y, tau, h):
        """Estimates (ticks, 2 n) of an extended filter that begins at rest."""
        n = arm.size

        def rates(x, u):
            return np.concatenate([x[n:], arm.forward(x[:n], x[n:], u)])

        def slopes(function, at):
            return np.array([(function(at + e) - function(at - e)) / (2 * STEP) for e in STEP * np.eye(len(at))]).T

        gauge = model.with_outputs("gauge").C[0]
        V = np.diag([sensor_noise(arm, sensor.name) ** 2 for sensor in arm.robot.sensors])

        def read(x, u):
            q, v, R = x[:n], x[n:], arm.pose("tip", x[:n]).rotation
            out = [*(q[arm.names.index(name)] for name in arm.inputs), gauge @ x]
            if len(V) > len(out):
                out.append((R.T @ arm.velocity("tip", q, v).angular)[2])
            if len(V) > len(out):
                moved = arm.acceleration("tip", q, v, arm.forward(q, v, u)).linear
                out.append((R.T @ (moved - np.array(arm.robot.gravity)))[1])
            return np.array(out)

        x, P = np.concatenate([model.q, np.zeros(n)]), np.diag(np.repeat([1e-4, 1e-2], n))
        out = []
        for k in range(len(y)):
            # before the first command the motors are off
            u = tau[k - 1] if k else np.zeros(len(arm.inputs))
            if k:
                F, G = slopes(lambda z, u=u: rates(z, u), x), slopes(lambda w, x=x: rates(x, w), u)
                block = np.zeros((2 * n + 1, 2 * n + 1))
                block[: 2 * n, : 2 * n], block[: 2 * n, 2 * n] = h * F, h * rates(x, u)
                E = expm(block)
                Q = self.process["effort"] ** 2 * G @ G.T + self.process["states"] ** 2 * np.eye(2 * n)
                x = x + E[: 2 * n, 2 * n]
                E = E[: 2 * n, : 2 * n]
                P = E @ (P + h / 2 * Q) @ E.T + h / 2 * Q
            C = slopes(lambda z, u=u: read(z, u), x)
            gain = np.linalg.solve(C @ P @ C.T + V, C @ P).T
            x, P = x + gain @ (y[k] - read(x, u)), P - gain @ C @ P
            out.append(x)
        return np.array(out)

    def loads(self, feature):
        """A push that neither filter knows of."""
        return self.on(feature, disturbances=(Disturbance(frame="tip", force=(0.0, 0.3, 0.0)),))

    def lanes(self, feature):
        return in_lanes(self.study(feature))

    def resumed(self, feature):
        return gone_on(self.study(feature))


class SlowAndFast(_Linear):
    name = "slow and fast"
    proof = "poles of both parts of the exact split beside those of the linear model from differences, under PD control"
    limit = 1e-4
    exported = Apart("its parts are plain matrices with names, as linear models are")

    def on(self, feature):
        kp, kd = 2.0, 0.2
        split = two_time_scales(
            arm_of(feature.name), start_of(feature), order=None, kp=kp, kd=kd, outputs=feature.output
        )
        model, other = model_of(feature)
        seen = model.arm.B.T @ model.tangent.N
        wanted = np.linalg.eigvals(other.A - other.B @ np.hstack([kp * seen, kd * seen]))
        apart = np.abs(np.subtract.outer(split.poles, wanted))
        return float((apart.min(axis=1) / np.abs(split.poles).clip(1e-3)).max())

    def of_model(self, model):
        return two_time_scales(model.arm, {"shoulder": 0.3, "elbow": 0.8}, kp=2.0, kd=0.2).fast_frequencies[0]


# ---------------------------------------------------------------- moves


class Moves(Capability):
    name = "optimal move"
    proof = (
        "least effort of a small move beside that of the linear model from differences at its middle, a problem of "
        "least squares in steps of the same collocation; its efforts replayed on the nonlinear robot"
    )
    limit = 2e-3
    prescribed = Apart("it finds efforts; drives that prescribe a motion have none")
    loads = Apart("it is a move of a robot under gravity, not a study; its studies take loads")
    lanes = Apart("it is solved once; the studies that it writes are runs like any other")
    resumed = NO_RUN
    exported = Apart("it writes tables and studies")

    def on(self, feature):
        pytest.importorskip("casadi")
        arm, frame = arm_of(feature.name), feature.output.rpartition(".")[0]
        start, to = start_of(feature), target_of(feature)
        # vibrations of some are much faster than any interval; those of the others are all prescribed to rest
        duration, intervals = (0.4, 20) if feature.name in ("loop", "finite-element link") else (0.2, 40)
        move = optimal_move(
            arm, start, to, "energy", duration=duration, intervals=intervals, refinements=1, frame=frame, chatter=1e-7
        )
        assert move.converged, move.words
        middle = {name: (start[name] + to[name]) / 2 for name in start}
        model = linearise(arm, middle, outputs=feature.output, dry_friction=True)
        other = differences(model, [feature.output])
        n, m, N = len(other.A), len(arm.inputs), move.intervals
        h = duration / N
        block = np.zeros((n + m, n + m))
        block[:n, :n], block[:n, n:] = h * other.A, h * other.B
        # three Radau points make of exp(Z) this fraction (Hairer and Wanner, Solving ODEs II, table IV.5.6)
        one, square = np.eye(n + m), block @ block
        step = np.linalg.solve(one - 0.6 * block + 0.15 * square - square @ block / 60, one + 0.4 * block + square / 20)
        own = [arm.names.index(name) for name in model.tangent.names]
        # deviations from the middle: x_N - A^N x_0 = sum A^(N-1-k) B u_k, least sum of squares of tau + u_k
        columns, power = [], np.eye(n)
        for _ in range(N):
            columns.insert(0, power @ step[:n, n:])
            power = step[:n, :n] @ power
        first, last = (np.concatenate([q[own] - model.q[own], np.zeros(n // 2)]) for q in (move.start.q, move.end.q))
        reach, hold = np.hstack(columns), np.tile(model.tau / move.sizes, N)
        reach = reach * np.tile(move.sizes, N)
        away = last - power @ first + reach @ hold
        if move.notes:
            # vibrations within an interval are left to die out
            _, Z, slow = schur(other.A.T, sort=lambda real, imaginary: np.hypot(real, imaginary) < 2 * np.pi / h)
            reach, away = Z[:, :slow].T @ reach, Z[:, :slow].T @ away
        # motions that no effort reaches are rounding
        u = np.linalg.lstsq(reach, away, rcond=1e-7)[0]
        return abs(move.cost / (h * float(u @ u)) - 1)


# ---------------------------------------------------------------- inversion


class Inversion(Capability):
    name = "stable inversion"
    proof = "simulated on the nonlinear robot: the largest distance of the frame from its path, m"
    limit = 1e-6
    lanes = resumed = Apart("it is solved once; the study that it writes is a run like any other")
    exported = Apart("it writes tables and studies")

    def on(self, feature, **changes):
        drive = PrescribedMotion(trajectory=Nonic(to=target_of(feature), duration=0.3))
        given = {"start": Start(position=start_of(feature)), "drive": drive, **changes}
        study = Study(robot=arm_of(feature.name).robot, until=0.3, **given)
        return inverse_dynamics(study, frame=feature.output.rpartition(".")[0]).confirmed(self.limit).distance

    def prescribed(self, feature):
        return self.on(feature)

    def loads(self, feature):
        return self.on(feature, disturbances=(Disturbance(frame="tip", force=(0.0, 0.3, 0.0)),))


CAPABILITIES = (
    ShapedTrajectory(),
    FrequencyResponse(),
    Zeros(),
    Reduced(),
    SlowAndFast(),
    Regulators(),
    Filters(),
    ExtendedFilters(),
    Inversion(),
    Moves(),
)
"""All rows, in order."""
