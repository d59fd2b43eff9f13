"""An independent model of a robot: what its material points carry, and what acts on them.

Nothing here is shared with the formulations: forces = sum m J^T (acceleration - gravity) + strain, joints and motors.
"""

import numpy as np

from material_points import STEP, MaterialPoints, exponential, hat, section_rotation

__all__ = ["STEP", "Oracle", "section_rotation"]


class Oracle(MaterialPoints):
    """Joints and motors, energies, momentum and generalised forces of a robot from its material points."""

    # ---- joints and motors

    def motor_rows(self):
        """(part, row (n,)) of every motor angle theta + (axis . turn of the root) q_e."""
        for part in self.parts:
            joint = part.joint
            if joint.type not in ("revolute", "prismatic", "helical"):
                continue
            row = np.zeros(self.size)
            row[part.columns[0]] = 1.0
            if joint.type in ("revolute", "helical"):
                axis_in_link = joint.child_placement.matrix().T @ joint.axis_vector()
                row[part.elastic] = axis_in_link @ part.root
            yield part, row

    def drive_forces(self, q, v, a):
        """Generalised forces of motors' rotors, springs, dampers and friction, on the left-hand side."""
        f = np.zeros(self.size)
        for part, row in self.motor_rows():
            joint = part.joint
            angle, rate, acceleration = row @ q, row @ v, row @ a
            effort = 0.0
            if joint.motor:
                effort += joint.motor.rotor_inertia * joint.motor.gear_ratio**2 * acceleration
            if joint.spring:
                effort += joint.spring.stiffness * (angle - joint.spring.rest) + joint.spring.damping * rate
            if joint.friction:
                effort += joint.friction.viscous * rate + self.dry_friction(joint.friction, rate)
            f = f + row * effort
        for part in self.balls():
            f[part.columns] += self.ball_damping(part, q) @ v[part.columns]
            if part.joint.spring:
                f[part.columns] += part.joint.spring.stiffness * q[part.columns]
        return f

    @staticmethod
    def ball_damping(part, q):
        """Forces per rate of a rotation vector (3, 3): a damper feels the angular velocity of the rotation."""
        R = exponential(hat(q[part.columns]))
        turned = [exponential(hat(q[part.columns] + 1j * STEP * e)).imag / STEP @ R.T for e in np.eye(3)]
        T = np.array([[w[2, 1], w[0, 2], w[1, 0]] for w in turned]).T
        spring, friction = part.joint.spring, part.joint.friction
        return ((spring.damping if spring else 0.0) + (friction.viscous if friction else 0.0)) * T.T @ T

    def balls(self):
        """Links on joints that turn any way with a spring or a damper."""
        return [p for p in self.parts if p.joint.type == "spherical" and (p.joint.spring or p.joint.friction)]

    @staticmethod
    def dry_friction(friction, rate):
        return friction.coulomb * np.tanh(rate / friction.smoothing)

    def input_matrix(self):
        """B: the motors' work per unit of each coordinate."""
        rows = [row for part, row in self.motor_rows() if part.joint.actuated]
        return np.array(rows).T.reshape(self.size, len(rows))

    def motor_inertia(self):
        M = np.zeros((self.size, self.size))
        for part, row in self.motor_rows():
            if part.joint.motor:
                M += part.joint.motor.rotor_inertia * part.joint.motor.gear_ratio**2 * np.outer(row, row)
        return M

    # ---- dynamics

    def mass_matrix(self, q):
        J = self.jacobian(q)
        return np.einsum("p,pdi,pdk->ik", self.masses, J, J) + self.motor_inertia()

    def kinetic(self, q, v):
        u = self.velocities(q, v)
        return 0.5 * self.masses @ (u * u).sum(axis=1) + 0.5 * v @ self.motor_inertia() @ v

    def strain(self, q):
        total = sum(0.5 * q[part.elastic] @ part.K @ q[part.elastic] for part in self.parts)
        for part, row in self.motor_rows():
            if part.joint.spring:
                total += 0.5 * part.joint.spring.stiffness * (row @ q - part.joint.spring.rest) ** 2
        for part in self.balls():
            if part.joint.spring:
                total += 0.5 * part.joint.spring.stiffness * q[part.columns] @ q[part.columns]
        return total

    def weight_potential(self, q):
        return -self.masses @ self.points(q) @ self.gravity

    def momentum(self, q, v):
        """Linear momentum, and angular momentum about the origin."""
        p, u = self.points(q), self.velocities(q, v)
        return self.masses @ u, self.masses @ np.cross(p, u)

    def forces(self, q, v, a):
        """Generalised forces that give the accelerations a, by Newton's law for every point."""
        effective = self.accelerations(q, v, a) - self.gravity
        f = np.einsum("p,pdi,pd->i", self.masses, self.jacobian(q), effective)
        for part in self.parts:
            f[part.elastic] += part.K @ q[part.elastic] + part.D @ v[part.elastic]
        return f + self.drive_forces(q, v, a)

    def joint_wrenches(self, q, v, a, wrenches=()):
        """Joint -> force and moment on all that hangs on it, in the axes of its link, by Newton's law.

        wrenches  (LINK.FRAME, force and moment on it in base axes), of loads and of closures of loops

        The point is the one of the joint axis that is nearest to the link's origin; a sliding or fixed joint
        has it at the link's origin, one that turns any way at its moving frame.
        """
        effective = self.masses[:, None] * (self.accelerations(q, v, a) - self.gravity)
        points, poses = self.points(q), self.poses(q)
        ends = np.cumsum([len(self._masses(part)) for part in self.parts])
        rows = {part.name: np.arange(end - len(self._masses(part)), end) for part, end in zip(self.parts, ends)}
        for part in reversed(self.parts):
            if part.parent != "base":
                rows[part.parent] = np.concatenate([rows[part.parent], rows[part.name]])
        parents = {part.name: part.parent for part in self.parts}
        pulls = {part.name: [] for part in self.parts}
        for frame, wrench in wrenches:
            name, _, _ = frame.partition(".")
            while name != "base":
                pulls[name].append((self.frame(frame, q)[1], np.asarray(wrench)))
                name = parents[name]
        out = {}
        for part in self.parts:
            joint, (R, p) = part.joint, poses[part.name]
            lever = joint.child_placement.vector()
            if joint.type in ("revolute", "helical", "cylindrical"):
                lever = lever - joint.axis_vector() * (joint.axis_vector() @ lever)
            elif joint.type not in ("free", "spherical", "planar"):
                lever = np.zeros(3)
            at = p - R @ joint.child_placement.matrix().T @ lever
            f = effective[rows[part.name]]
            moment = np.cross(points[rows[part.name]] - at, f).sum(axis=0)
            force = f.sum(axis=0)
            for place, pull in pulls[part.name]:
                force = force - pull[:3]
                moment = moment - pull[3:] - np.cross(place - at, pull[:3])
            out[joint.name] = np.concatenate([R.T @ force, R.T @ moment])
        return out
