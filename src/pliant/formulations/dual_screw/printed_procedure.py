"""The procedure as printed (Cibicik & Egeland, algorithm 1), section by section, in NumPy: for reading and checks.

A dual screw in R^12 is (angular real, angular dual, linear real, linear dual), section IV; dual vectors in R^6 are
(real, dual), and ``DualRotation.hat(a) @ b`` is their cross product, (13).

It keeps the printed approximations: angular velocities of sections are theta_dot, section inertia keeps the axes of
the link, and elastic columns of the Jacobian form are of order one, so that the mass matrix is not symmetric. The
compiled variant ``literal`` has the same numbers from integrals along the beams.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pliant.bodies.modal_body import Array
from pliant.bodies.sections_along import GROUND_STATION, Station, station_of
from pliant.bodies.words import words_of
from pliant.formulations.method import MethodError
from pliant.mechanism import BASE, Mechanism, Member, assemble
from pliant.screws import (
    INTERCHANGE,
    SO3,
    DualRotation,
    dual_differentiation,
    dual_inertia,
    dual_line,
    dual_reference_change,
    dual_screw_transformation,
    dual_vector,
    elastic_screws,
    lambda_matrix,
    wrench_projection,
)

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot


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
    """The paper's algorithm 1 for a tree of rigid links and beams: matrices of one state (q, u) at a time.

    robot      or its name; links without parts on moving sections, joints with one line each
    mechanism  its assembly, if it is there already

    ``matrices(q, u)`` are M and C of (112) and the forces of gravity; after ``set_state(q, u)`` the ``links`` hold
    their dual projection matrices (92) to (96). For study: method 'dual_screw' has equations that are symmetric and
    stable.
    """

    def __init__(self, robot: Robot | str, mechanism: Mechanism | None = None) -> None:
        from pliant.model.readers.library import load

        robot = load(robot) if isinstance(robot, str) else robot
        mechanism = assemble(robot) if mechanism is None else mechanism
        self.mechanism = mechanism
        for joint in (member.joint for member in mechanism.members):
            if joint.kind.screw(joint.parameters) is None:
                raise MethodError(
                    f"joint '{joint.name}' is {joint.kind.name}; the printed procedure has one dual line for each "
                    "joint: use method 'recursive'"
                )
        self.links = [ScrewLink(member, _stations(robot, member), not member.body.size) for member in mechanism.members]
        self.size = mechanism.size

    def set_state(self, q: Array, u: Array) -> None:
        """Dual projection matrices of all links, (92)-(96)."""
        for link in self.links:
            self._move(link, q, u)

    def _move(self, link: ScrewLink, q: Array, u: Array) -> None:
        member, joint, n = link.member, link.member.joint, self.size
        parent = None if member.parent == BASE else self.links[member.parent]
        at, offset, R_frame, elastic = GROUND_STATION, np.zeros(3), np.eye(3), slice(0, 0)
        if parent is not None:
            at, offset, R_frame = station_of(parent.member.body, member.frame)
            elastic = parent.member.elastic
        coordinate, speed = (float(x[member.start]) if joint.kind.coordinates else 0.0 for x in (q, u))
        turns, slides = _screw(member)
        turn, slide = SO3.exp(joint.axis * (turns * coordinate)).A, joint.axis * (slides * coordinate)
        q_b, u_b = q[elastic], u[elastic]
        theta, d = at.turns @ q_b, at.slides @ q_b
        # dual rotation (31) and the dual vectors from the section to the link frame, parent axes
        R = DualRotation(R_frame @ joint.R_PJ @ turn @ joint.R_JB, theta)
        lever = offset + R_frame @ (joint.p_PJ + joint.R_PJ @ (slide + turn @ joint.p_JB))
        arm = dual_vector(lever, np.cross(theta, lever))
        V = dual_screw_transformation(R.inverse(), -(arm + dual_vector(at.position, d)))
        V_section = dual_screw_transformation(R.inverse(), -arm)
        own_line = self._line(member)
        S = V_section @ elastic_screws(at.slides, at.turns)
        # motion against the parent's frame, and the same without the velocity of the section's point, (79)
        twist = own_line * speed + S @ u_b
        about_section = twist.copy()
        about_section[6:] -= R.inverse().matrix @ dual_vector(np.zeros(3), at.slides @ u_b)
        up = np.zeros((12, n)) if parent is None else parent.P
        up_projecting = np.zeros((12, n)) if parent is None else parent.P_projecting
        up_rate = np.zeros((12, n)) if parent is None else parent.P_rate
        link.P, link.P_projecting = V @ up, V @ up_projecting
        link.P_rate = V @ up_rate + dual_differentiation(twist) @ V @ up
        link.P[:, elastic] += S
        link.P_projecting[:, elastic] += V_section @ INTERCHANGE @ elastic_screws(at.slides, at.turns)
        link.P_rate[:, elastic] += dual_differentiation(about_section) @ S
        if joint.kind.coordinates:
            link.P[:, member.start] += own_line
            link.P_projecting[:, member.start] += own_line
        link.R = R if parent is None else parent.R @ R

    @staticmethod
    def _line(member: Member) -> Array:
        """The dual line (or slide) of a joint, at the link's origin in link axes, (115)."""
        joint, (turns, slides) = member.joint, _screw(member)
        about = dual_line(joint.axis_B, joint.R_JB.T @ np.cross(joint.axis, joint.p_JB))
        return turns * about + slides * dual_line(np.zeros(3), joint.axis_B)

    def at_station(self, link: ScrewLink, station: Station, q: Array, u: Array) -> tuple[Array, Array, Array]:
        """Projection matrices at a section, in link axes: Jacobian form, its rate, projecting form."""
        own = link.member.elastic
        p = dual_vector(station.position, station.slides @ q[own])
        U = dual_reference_change(-p)
        U_rate = dual_reference_change(-dual_vector(np.zeros(3), station.slides @ u[own])) - np.eye(12)
        S = elastic_screws(station.slides, station.turns)
        P, P_projecting = U @ link.P, U @ link.P_projecting
        P[:, own] += S
        P_projecting[:, own] += INTERCHANGE @ S
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
                D = dual_inertia(station.mass, station.J)
                if link.rigid:
                    # (98), (101)-(103)
                    W = np.kron(np.eye(2), lambda_matrix(w_link))
                    forces = D @ P_rate + W @ D @ P
                else:
                    # (105)-(108)
                    W_first = np.kron(np.eye(2), DualRotation.hat(w_link))
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
            if not _screw(member)[0]:
                continue
            root, _, _ = station_of(member.body, "root")
            column = self._torque(link, root, joint.axis_B, q)
            if member.parent != BASE:
                parent = self.links[member.parent]
                end, _, R_frame = station_of(parent.member.body, member.frame)
                column -= self._torque(parent, end, R_frame @ joint.R_PJ @ joint.axis, q)
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
        P, _, _ = self.at_station(link, words_of(robot.link(name), robot).station(x), q, u)
        return P @ u, link.R


def _screw(member: Member) -> tuple[float, float]:
    """Angle and way along the axis per unit of a joint's coordinate."""
    found = member.joint.kind.screw(member.joint.parameters)
    assert found is not None
    return found


def _stations(robot: Robot, member: Member) -> list[Station]:
    """Sections of a beam at Gauss points; a rigid link is one station at its centre of mass."""
    link = robot.link(member.name)
    if member.parts:
        raise MethodError(
            f"link '{member.name}': the printed procedure knows no hubs and payloads; method 'dual_screw' does"
        )
    found = words_of(link, robot).stations()
    if found is None:
        raise MethodError(
            f"link '{member.name}': the printed procedure needs beams or rigid links, not modal data; "
            "method 'dual_screw' takes any"
        )
    return found
