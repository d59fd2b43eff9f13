"""One table of identities over the whole zoo: each row must hold for every robot.

The sides come from different routes: compiled code, the passes on plain and on complex numbers, composite
bodies, natural orthogonal complements, and material points that share no code with them (oracle.py).
"""

from functools import cache, cached_property

import numpy as np
import pytest

import zoo
from oracle import STEP, Oracle
from pliant.algorithm import result, run
from pliant.dynamics import Dynamics
from pliant.formulations.recursive.recursions import FORWARD, INVERSE
from pliant.tree import composite
from pliant.tree.kinematics import ENERGY

# robots with what others lack: their derivatives are compiled; those of the others are replayed in NumPy, since the
# kernels of the compiler are told apart by structure and not by robots
COMPILED = {
    "rigid-7", "rigid-20", "rigid-tree", "clamped-mass", "pinned", "rotary-exact", "mixed", "branches-exponential",
    "prismatic", "drives", "lumped", "satellite", "forty", "second-order", "rods-in-a-plane", "rod-in-space",
}  # fmt: skip
TOLERANCE = 1e-10
"""Of the largest entry: double precision, some thousand operations, condition numbers of M about 1e5."""


def unit(n):
    return np.eye(n)


def stepped(x, directions):
    """Complex numbers x + i h d, one lane for each column d of the directions."""
    return list(np.asarray(x)[:, None] + 1j * STEP * np.asarray(directions))


def stack(values, lanes):
    return np.array([np.broadcast_to(x, lanes) for x in values])


class State:
    """A robot at one state: everything the identities compare, computed when first asked for."""

    def __init__(self, name):
        self.robot = zoo.robot(name)
        self.arm = Dynamics(self.robot)
        self.slopes = self.arm if name in COMPILED else Dynamics(self.robot, compile="never")
        self.tree = self.arm.tree
        self.n = self.arm.size
        self.q, self.v, self.a = zoo.state(self.arm)
        self.tau = np.linspace(-1.0, 2.0, len(self.arm.inputs))
        damping = {link.name: link.body.D_ee for link in self.tree.links if link.body.size}
        self.points = Oracle(self.robot, self.arm.names, damping, zoo.CLOUDS.get(name, dict)())

    # ---- compiled

    @cached_property
    def M(self):
        return self.slopes.mass_matrix(self.q)

    @cached_property
    def scale(self):
        """Natural size of each row of M."""
        return np.sqrt(np.outer(np.diag(self.M), np.diag(self.M)))

    def metric(self, a):
        """Accelerations in the metric of the mass matrix: light coordinates count by what they move."""
        return np.linalg.cholesky(self.M).T @ a

    @cached_property
    def C(self):
        return self.slopes.coriolis(self.q, self.v)

    @cached_property
    def h(self):
        return self.arm.bias(self.q, self.v)

    @cached_property
    def g(self):
        return self.slopes.gravity(self.q)

    @cached_property
    def forces(self):
        return self.arm.forces(self.q, self.v, self.a)

    @cached_property
    def free_acceleration(self):
        """Of the robot under its drives."""
        return self.arm.forward(self.q, self.v, self.tau)

    @cached_property
    def energy(self):
        return self.arm.energy(self.q, self.v)

    @cached_property
    def derivatives(self):
        return self.slopes.inverse_derivatives(self.q, self.v, self.a)

    @cached_property
    def forward_derivatives(self):
        return self.slopes.derivatives(self.q, self.v, self.tau)

    def inverse_and_forward(self):
        """Efforts for given accelerations of the drives, and what those efforts then do."""
        driven = [self.arm.names.index(name) for name in self.arm.inputs]
        others = np.setdiff1d(np.arange(self.n), driven)
        tau, rest = self.slopes.inverse(self.q, self.v, self.a[driven])
        a = self.arm.forward(self.q, self.v, tau)
        wanted = np.empty(self.n)
        wanted[driven], wanted[others] = self.a[driven], rest
        return self.metric(wanted), self.metric(a)

    # ---- passes on plain and complex numbers

    def plain(self, algorithm, **inputs):
        return np.array(result(algorithm, run(algorithm, self.tree, {k: x.tolist() for k, x in inputs.items()})))

    def complex_step(self, algorithm, directions, **inputs):
        """Derivatives of a pass along given directions of its inputs, one column each."""
        lanes = next(iter(directions.values())).shape[1]
        given = {k: stepped(x, directions.get(k, np.zeros((len(x), lanes)))) for k, x in inputs.items()}
        return stack(result(algorithm, run(algorithm, self.tree, given)), lanes).imag / STEP

    @cached_property
    def dM(self):
        """dM_ij/dq_k (n, n, n) by complex step through the composite bodies."""
        rows = composite.mass_matrix(self.tree, stepped(self.q, unit(self.n)))
        return np.array([stack(row, self.n) for row in rows]).imag / STEP

    @cached_property
    def christoffel(self):
        symbols = self.dM + np.swapaxes(self.dM, 1, 2) - np.transpose(self.dM, (2, 1, 0))
        return 0.5 * symbols @ self.v

    def energy_rates(self, q_dot, v_dot):
        """d/dt of kinetic, strain and gravity energy and the momenta of each link along (q_dot, v_dot)."""
        along = {"q": q_dot[:, None], "v": v_dot[:, None]}
        return self.complex_step(ENERGY, along, q=self.q, v=self.v).reshape(-1, 9)

    @cached_property
    def potential_gradient(self):
        """d(strain), d(gravity) by q."""
        rates = self.complex_step(ENERGY, {"q": unit(self.n)}, q=self.q, v=0 * self.v).reshape(-1, 9, self.n)
        return rates[:, 1].sum(axis=0), rates[:, 2].sum(axis=0)

    # ---- forces of the joints

    @cached_property
    def drive_bias(self):
        """Springs at rest, dry friction, dampers of turned balls: what h has beyond C v + K q + D v + g."""
        rest = self.points.drive_forces(0 * self.q, 0 * self.v, 0 * self.a)
        dry = np.zeros(self.n)
        for part, row in self.points.motor_rows():
            if part.joint.friction:
                dry += row * self.points.dry_friction(part.joint.friction, row @ self.v)
        turned = np.zeros(self.n)
        for part in self.points.balls():
            own = part.columns
            change = self.points.ball_damping(part, self.q) - self.arm.damping[np.ix_(own, own)]
            turned[own] = change @ self.v[own]
        return rest, dry, turned

    def power(self):
        """Rate of the total energy along the motion, and the power of drives, dampers and friction."""
        rate = self.energy_rates(self.v, self.free_acceleration)[:, :3].sum()
        dissipated = self.arm.lost_power(self.q, self.v)
        # the parts are much larger than their sum: compare with the largest of them
        kinetic = self.v @ self.M @ self.free_acceleration
        return np.array([rate, kinetic]), np.array([self.tau @ self.arm.B.T @ self.v - dissipated, kinetic])

    def reactions(self):
        found = self.points.joint_wrenches(self.q, self.v, self.a)
        given = self.slopes.reactions(self.q, self.v, self.a)
        return np.array([given[joint] for joint in found]), np.array(list(found.values()))

    # ---- frames

    def frame_names(self):
        """All frames of the description's links, but at most eight."""
        names = [f"{link.name}.{frame}" for link in self.robot.links for frame in link.frame_names]
        return names[:: -(-len(names) // 8)]

    def poses(self):
        ours, theirs = [], []
        for name in self.frame_names():
            pose = self.slopes.pose(name, self.q)
            R, p = self.points.frame(name, self.q)
            ours.append(np.vstack([pose.rotation, pose.position]))
            theirs.append(np.vstack([R, p]))
        return np.array(ours), np.array(theirs)

    def jacobians(self):
        names = self.frame_names()
        ours = [self.slopes.jacobian(name, self.q) for name in names]
        return np.array(ours), np.array([self.points.frame_jacobian(name, self.q) for name in names])

    def velocities(self):
        names = self.frame_names()
        ours = [np.concatenate(self.slopes.velocity(name, self.q, self.v)) for name in names]
        return np.array(ours), np.array([self.points.frame_twist(name, self.q, self.v) for name in names])

    def wrench_work(self):
        """A wrench on a frame acts on the accelerations as its power on the velocities."""
        name, wrench = self.frame_names()[-1], np.array([100.0, -200.0, 50.0, 30.0, 20.0, -70.0])
        pushed = self.slopes.forward(self.q, self.v, wrenches={name: wrench}) - self.slopes.forward(self.q, self.v)
        return self.M @ pushed, self.points.frame_jacobian(name, self.q).T @ wrench


IDENTITIES = {
    # the mass matrix and its routes
    "mass symmetric": lambda s: (s.M / s.scale, s.M.T / s.scale),
    "mass positive definite": lambda s: (
        np.linalg.cholesky(s.M) @ np.linalg.cholesky(s.M).T / s.scale,
        s.M / s.scale,
    ),
    "kinetic energy": lambda s: (s.energy.kinetic, s.v @ s.M @ s.v / 2),
    "composite bodies": lambda s: (
        s.M / s.scale,
        np.array(composite.mass_matrix(s.tree, s.q.tolist())) / s.scale,
    ),
    # material points
    "points: mass": lambda s: (s.M / s.scale, s.points.mass_matrix(s.q) / s.scale),
    "points: kinetic energy": lambda s: (s.energy.kinetic, s.points.kinetic(s.q, s.v)),
    "points: strain energy": lambda s: (s.energy.strain, s.points.strain(s.q)),
    "points: potential": lambda s: (s.energy.gravity, s.points.weight_potential(s.q)),
    "points: momentum": lambda s: (
        np.concatenate(s.arm.momentum(s.q, s.v)),
        np.concatenate(s.points.momentum(s.q, s.v)),
    ),
    "points: forces": lambda s: (s.forces, s.points.forces(s.q, s.v, s.a)),
    "points: input matrix": lambda s: (s.arm.B, s.points.input_matrix()),
    "points: poses": lambda s: s.poses(),
    # forward and inverse dynamics
    "forward(inverse)": lambda s: (s.metric(s.a), s.metric(s.arm.forward(s.q, s.v, force=s.forces))),
    "inverse of the drives": lambda s: s.inverse_and_forward(),
    "recursive = dense": lambda s: (
        s.metric(s.free_acceleration),
        s.metric(s.slopes.forward(s.q, s.v, s.tau, solver="dense")),
    ),
    "M a + h": lambda s: (s.M @ s.a + s.h, s.forces),
    "h = C v + K q + D v + friction + g": lambda s: (
        s.h,
        s.C @ s.v + s.arm.stiffness @ s.q + s.arm.damping @ s.v + sum(s.drive_bias) + s.g,
    ),
    # structure of the velocity and potential forces
    "passivity": lambda s: (s.dM @ s.v, s.C + s.C.T),
    "Christoffel": lambda s: (s.C, s.christoffel),
    "gravity = dV/dq": lambda s: (s.g, s.potential_gradient[1]),
    "springs = dV/dq": lambda s: (s.arm.stiffness @ s.q + s.drive_bias[0], s.potential_gradient[0]),
    "energy rate = power": lambda s: s.power(),
    "reactions = free bodies": lambda s: s.reactions(),
    "wrench": lambda s: s.wrench_work(),
    # derivatives
    "Jacobians": lambda s: s.jacobians(),
    "velocities": lambda s: s.velocities(),
    "d forces/dq": lambda s: (
        s.derivatives.q,
        s.complex_step(INVERSE, {"q": unit(s.n)}, q=s.q, v=s.v, a=s.a),
    ),
    "d forces/dv": lambda s: (
        s.derivatives.v,
        s.complex_step(INVERSE, {"v": unit(s.n)}, q=s.q, v=s.v, a=s.a),
    ),
    "d forces/da": lambda s: (
        s.derivatives.a,
        s.complex_step(INVERSE, {"a": unit(s.n)}, q=s.q, v=s.v, a=s.a),
    ),
    "d acceleration/dq": lambda s: (
        s.forward_derivatives.q,
        s.complex_step(FORWARD, {"q": unit(s.n)}, q=s.q, v=s.v, f=s.arm.B @ s.tau),
    ),
    "d acceleration/dv": lambda s: (
        s.forward_derivatives.v,
        s.complex_step(FORWARD, {"v": unit(s.n)}, q=s.q, v=s.v, f=s.arm.B @ s.tau),
    ),
    "d acceleration/dtau": lambda s: (
        s.forward_derivatives.tau,
        s.complex_step(FORWARD, {"f": s.arm.B}, q=s.q, v=s.v, f=s.arm.B @ s.tau) if len(s.tau) else np.zeros((s.n, 0)),
    ),
    # routes of evaluation
    "compiled = plain: forward": lambda s: (
        s.metric(s.arm.forward(s.q, s.v, force=s.forces)),
        s.metric(s.plain(FORWARD, q=s.q, v=s.v, f=s.forces)),
    ),
    "compiled = plain: inverse": lambda s: (s.forces, s.plain(INVERSE, q=s.q, v=s.v, a=s.a)),
    "compiled = plain: energies": lambda s: (
        np.concatenate([s.energy, *s.arm.momentum(s.q, s.v)]),
        s.plain(ENERGY, q=s.q, v=s.v).reshape(-1, 9).sum(axis=0),
    ),
}


@cache
def state(name):
    return State(name)


def deviation(left, right):
    """Largest difference over the largest entry of both."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    assert left.shape == right.shape
    size = max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    return np.abs(left - right).max(initial=0.0) / size if size else 0.0


@pytest.mark.parametrize(
    ("name", "identity"),
    [(name, row) for name in zoo.ZOO for row in IDENTITIES],
)
def test_identity(name, identity):
    left, right = IDENTITIES[identity](state(name))
    assert deviation(left, right) <= TOLERANCE
