"""The procedure as printed (Cibicik & Egeland, algorithm 1), section by section, in NumPy: for reading and checks.

It keeps the printed approximations: angular velocities of sections are theta_dot, section inertia keeps the axes of
the link, and elastic columns of the Jacobian form are of order one, so that the mass matrix is not symmetric. The
compiled variant ``literal`` has the same numbers from integrals along the beams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.build import shape_sets
from pliant.bodies.invariants import attachment
from pliant.bodies.modal_body import Array
from pliant.bodies.profile import beam_profile
from pliant.bodies.quadrature import TAPER_POINTS, gauss, merge_breaks
from pliant.formulations.dual_screw.screws import (
    N,
    differentiation,
    dual_vector,
    elastic_screws,
    inertia,
    lambda_matrix,
    line,
    reference_change,
    screw_transformation,
    wrench_projection,
)
from pliant.mechanism import BASE, Mechanism, Member
from pliant.spatial.dual_groups import DualRotation, exp_rotation, hat1

if TYPE_CHECKING:
    from pliant.model.robot import Robot


@dataclass(frozen=True, slots=True)
class Station:
    """A section of a beam, or the centre of mass of a rigid link: where it is, and what it weighs.

    mass      kg      of the piece that it stands for
    J         kg m^2  (3, 3), link axes
    position  m       (3,) in the link frame
    Phi_d     (3, n)  displacement per elastic coordinate
    Phi_r     (3, n)  section angles per elastic coordinate
    """

    mass: float
    J: Array
    position: Array
    Phi_d: Array
    Phi_r: Array


@dataclass(slots=True)
class ScrewLink:
    """A link in one state: projection matrices of its frame and their rates (12, n).

    P, P_projecting       Jacobian form (92) and projecting form (93)
    P_rate                (96)
    R                     dual rotation base axes <- link axes
    """

    member: Member
    stations: list[Station]
    rigid: bool
    P: Array = field(default_factory=lambda: np.zeros((12, 0)))
    P_projecting: Array = field(default_factory=lambda: np.zeros((12, 0)))
    P_rate: Array = field(default_factory=lambda: np.zeros((12, 0)))
    R: DualRotation = field(default_factory=DualRotation.identity)


class PrintedArm:
    """A tree of rigid links and beams without parts on moving sections; matrices of one state (q, u) at a time."""

    def __init__(self, robot: Robot, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.links = [ScrewLink(member, _stations(robot, member), not member.body.size) for member in mechanism.members]
        self.size = mechanism.size

    def set_state(self, q: Array, u: Array) -> None:
        """Dual projection matrices of all links, (92)-(96)."""
        for link in self.links:
            self._move(link, q, u)

    def _move(self, link: ScrewLink, q: Array, u: Array) -> None:
        member, joint, n = link.member, link.member.joint, self.size
        parent = None if member.parent == BASE else self.links[member.parent]
        r, R_frame, Phi_d, Phi_r, elastic = np.zeros(3), np.eye(3), np.zeros((3, 0)), np.zeros((3, 0)), slice(0, 0)
        if parent is not None:
            at = parent.member.body.frames[member.frame]
            r, R_frame, Phi_d, Phi_r = at.position, at.rotation, at.Phi_d, at.Phi_r
            elastic = parent.member.elastic
        coordinate, speed = (float(x[member.start]) if joint.kind != "fixed" else 0.0 for x in (q, u))
        turn = exp_rotation(joint.axis * coordinate) if joint.kind == "revolute" else np.eye(3)
        slide = joint.axis * coordinate if joint.kind == "prismatic" else np.zeros(3)
        q_b, u_b = q[elastic], u[elastic]
        theta, d = Phi_r @ q_b, Phi_d @ q_b
        # dual rotation (31) and the dual vectors from the section to the link frame, parent axes
        R = DualRotation(R_frame @ joint.R_PJ @ turn @ joint.R_JB, theta)
        lever = R_frame @ (joint.p_PJ + joint.R_PJ @ (slide + turn @ joint.p_JB))
        arm = dual_vector(lever, np.cross(theta, lever))
        V = screw_transformation(R.inverse(), -(arm + dual_vector(r, d)))
        V_section = screw_transformation(R.inverse(), -arm)
        own_line = self._line(member)
        S = V_section @ elastic_screws(Phi_d, Phi_r)
        # motion against the parent's frame, and the same without the velocity of the section's point, (79)
        twist = own_line * speed + S @ u_b
        about_section = twist.copy()
        about_section[6:] -= R.inverse().matrix @ dual_vector(np.zeros(3), Phi_d @ u_b)
        up = np.zeros((12, n)) if parent is None else parent.P
        up_projecting = np.zeros((12, n)) if parent is None else parent.P_projecting
        up_rate = np.zeros((12, n)) if parent is None else parent.P_rate
        link.P, link.P_projecting = V @ up, V @ up_projecting
        link.P_rate = V @ up_rate + differentiation(twist) @ V @ up
        link.P[:, elastic] += S
        link.P_projecting[:, elastic] += V_section @ N @ elastic_screws(Phi_d, Phi_r)
        link.P_rate[:, elastic] += differentiation(about_section) @ S
        if joint.kind != "fixed":
            link.P[:, member.start] += own_line
            link.P_projecting[:, member.start] += own_line
        link.R = R if parent is None else parent.R @ R

    @staticmethod
    def _line(member: Member) -> Array:
        """The dual line (or slide) of a joint, at the link's origin in link axes, (115)."""
        joint = member.joint
        if joint.kind == "revolute":
            return line(joint.axis_B, joint.R_JB.T @ np.cross(joint.axis, joint.p_JB))
        return line(np.zeros(3), joint.axis_B if joint.kind == "prismatic" else np.zeros(3))

    def at_station(self, link: ScrewLink, station: Station, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """Projection matrices at a section, in link axes: Jacobian form, its rate, projecting form."""
        own = link.member.elastic
        p = dual_vector(station.position, station.Phi_d @ q[own])
        U = reference_change(-p)
        U_rate = reference_change(-dual_vector(np.zeros(3), station.Phi_d @ u[own])) - np.eye(12)
        S = elastic_screws(station.Phi_d, station.Phi_r)
        P, P_projecting = U @ link.P, U @ link.P_projecting
        P[:, own] += S
        P_projecting[:, own] += N @ S
        return P, U @ link.P_rate + U_rate @ link.P, P_projecting

    def matrices(self, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """M and C of (112), and the forces of gravity on the left-hand side, -tau of (109)."""
        self.set_state(q, u)
        n = self.size
        M, C, g = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
        for link in self.links:
            w_link = (link.P @ u)[:6]
            for station in link.stations:
                P, P_rate, P_projecting = self.at_station(link, station, q, u)
                D = inertia(station.mass, station.J)
                if link.rigid:
                    # (98), (101)-(103)
                    W = np.kron(np.eye(2), lambda_matrix(w_link))
                    forces = D @ P_rate + W @ D @ P
                else:
                    # (105)-(108)
                    W_first = np.kron(np.eye(2), hat1(w_link))
                    W_second = np.kron(np.diag([1.0, 0.0]), lambda_matrix((P @ u)[:6]))
                    forces = D @ P_rate + D @ W_first @ P + W_second @ D @ P
                M += P_projecting.T @ D @ P
                C += P_projecting.T @ forces
                weight = link.R.inverse().matrix @ dual_vector(station.mass * self.mechanism.gravity)
                g -= P_projecting.T @ wrench_projection() @ np.concatenate([weight, np.zeros(6)])
        return M, C, g

    def inputs(self, q: Array) -> Array:
        """(n, joints): generalised forces of unit joint torques by (125)-(127).

        The reaction on a link's end is about the axis of the undeformed link there, so internal torques do not balance
        to first order; simulations take the deformed axis instead, where every torque acts on its own joint alone.
        """
        still = np.zeros(self.size)
        self.set_state(q, still)
        columns = []
        for link in self.links:
            member, joint = link.member, link.member.joint
            if joint.kind != "revolute":
                continue
            root = Station(0.0, np.zeros((3, 3)), np.zeros(3), *_shapes_at(member, "root"))
            column = self._torque(link, root, joint.axis_B, q)
            if member.parent != BASE:
                parent = self.links[member.parent]
                at = parent.member.body.frames[member.frame]
                end = Station(0.0, np.zeros((3, 3)), at.position, at.Phi_d, at.Phi_r)
                column -= self._torque(parent, end, at.rotation @ joint.R_PJ @ joint.axis, q)
            columns.append(column)
        return np.array(columns).T

    def _torque(self, link: ScrewLink, station: Station, axis: Array, q: Array) -> Array:
        _, _, P_projecting = self.at_station(link, station, q, np.zeros(self.size))
        wrench = np.concatenate([np.zeros(6), dual_vector(axis)])
        return np.asarray(P_projecting.T @ wrench_projection() @ wrench)

    def section_twist(self, name: str, x: float, robot: Robot, q: Array, u: Array) -> tuple[Array, DualRotation]:
        """The dual twist (12,) of the section at x of a beam, link axes, (90), and the dual rotation to base axes."""
        self.set_state(q, u)
        link = next(each for each in self.links if each.member.name == name)
        at = attachment(shape_sets(robot.link(name), robot), x)
        station = Station(0.0, np.zeros((3, 3)), at.position, at.Phi_d, at.Phi_r)
        P, _, _ = self.at_station(link, station, q, u)
        return P @ u, link.R


def _shapes_at(member: Member, frame: str) -> tuple[Array, Array]:
    at = member.body.frames[frame]
    return at.Phi_d, at.Phi_r


def _stations(robot: Robot, member: Member) -> list[Station]:
    """Sections of a beam at Gauss points; a rigid link is one station at its centre of mass."""
    from pliant.model.errors import ModelError

    link = robot.link(member.name)
    body = member.body
    if member.parts:
        raise ModelError(f"link '{member.name}': the printed procedure knows no hubs and payloads; leave them out")
    if link.beam is None:
        if body.size:
            raise ModelError(
                f"link '{member.name}': the printed procedure needs a beam or a rigid link, not modal data"
            )
        if body.mass == 0.0:
            return []
        com = body.first / body.mass
        J = body.I_rr - body.mass * (com @ com * np.eye(3) - np.outer(com, com))
        return [Station(body.mass, J, com, np.zeros((3, 0)), np.zeros((3, 0)))]
    sets = shape_sets(link, robot)
    profile = beam_profile(link.beam.with_materials(robot.materials))
    breaks = merge_breaks(profile.breaks, *(shapes.breaks for shapes in sets), length=profile.length)
    x, weights = gauss(breaks, max((shapes.points for shapes in sets), default=2) + TAPER_POINTS)
    section = profile.at(x)
    turning = bool(link.beam.rotary_inertia) or "torsion" in link.beam.families
    moments = np.stack(np.broadcast_arrays(section.polar, section.rhoIy, section.rhoIz), axis=1) * float(turning)
    rhoA = np.broadcast_to(np.asarray(section.rhoA, dtype=float), x.shape)
    places = [attachment(sets, each) for each in x]
    return [
        Station(float(w * m), w * np.diag(J), at.position, at.Phi_d, at.Phi_r)
        for w, m, J, at in zip(weights, rhoA, moments, places, strict=True)
    ]
