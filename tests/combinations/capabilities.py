"""Capabilities for control, each with an independent way to what it computes: one class each, and one line below."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.linalg import solve_continuous_are

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
    Shaped,
    Start,
    Study,
    inverse_dynamics,
    linearise,
    recommend_shaper,
    sweep,
    zeros,
)
from pliant.control.regulator import kalman, lqr, process_matrix, weight_matrices
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


CAPABILITIES = (ShapedTrajectory(), FrequencyResponse(), Zeros(), Reduced(), Regulators(), Filters(), Inversion())
"""All rows, in order."""
