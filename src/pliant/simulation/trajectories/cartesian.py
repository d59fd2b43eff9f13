"""Lines and circles of a frame in space, turned into joint motions by the inverse kinematics of the rigid robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from pliant.model.element import Direction, Position
from pliant.model.errors import ModelError
from pliant.model.units import Quantity, Time
from pliant.simulation.trajectories.joint_moves import Duration
from pliant.simulation.trajectories.path import Desired, Floats, Path, Surroundings, Trajectory
from pliant.simulation.trajectories.profiles import CYCLOIDAL, QUINTIC, Profile, trapezoidal

if TYPE_CHECKING:
    from scipy.interpolate import BPoly

KNOTS = 201
"""Points of the curve at which the joints are solved for; between them polynomials of fifth degree (error 1e-9)."""
CLOSE = 1e-11
"""Distance (relative to the robot's reach) at which a point counts as reached."""
MOST_ITERATIONS = 60
SINGULAR = 1e-6
"""Directions in which the joints move the frame less than this part of the most are not used."""
DIFFERENCE = 1e-5
"""Step, in the parameter of the curve, of the central difference of the Jacobian."""

PROFILES: dict[str, Profile] = {"cycloidal": CYCLOIDAL, "quintic": QUINTIC, "trapezoidal": trapezoidal(1 / 3)}


class Curve(NamedTuple):
    """A point of a curve and its derivatives by the parameter s."""

    p: Floats
    dp: Floats
    ddp: Floats


class _Cartesian(Trajectory):
    """A frame moves along a curve from rest to rest."""

    frame: str = Field(default="tip", description="the frame that follows the curve: LINK.FRAME, LINK or tip")
    duration: Duration = Field(description="time from rest to rest")
    start: Time = Field(default=0.0, description="time before the motion begins")
    profile: Literal["cycloidal", "quintic", "trapezoidal"] = Field(
        default="quintic", description="how the motion along the curve develops"
    )
    orientation: Literal["auto", "keep", "free"] = Field(
        default="auto",
        description="whether the frame keeps its orientation; auto: if the robot has six joints or more",
    )

    def curve(self, p0: Floats) -> Callable[[float], Curve]:
        """The curve from the position p0, s from 0 to 1."""
        raise NotImplementedError

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        keep = self.orientation == "keep" or (self.orientation == "auto" and len(around.inputs) >= 6)
        kinematics = InverseKinematics(around, self.frame, keep)
        p0 = kinematics.start(q0)
        joints = kinematics.follow(self.curve(p0), q0)
        return CurveMotion(joints, PROFILES[self.profile], t0 + self.start, self.duration)


class Line(_Cartesian):
    """A straight line."""

    kind = "line"
    to: Position | None = Field(default=None, description="end of the line in the base frame")
    by: Position | None = Field(default=None, description="or: displacement from the start, in base axes")

    def curve(self, p0: Floats) -> Callable[[float], Curve]:
        if (self.to is None) == (self.by is None):
            raise ModelError("a line needs either 'to' or 'by'")
        d = np.array(self.by, dtype=float) if self.by is not None else np.array(self.to, dtype=float) - p0
        still = np.zeros(3)
        return lambda s: Curve(p0 + s * d, d, still)


class Circle(_Cartesian):
    """A circle through the start."""

    kind = "circle"
    centre: Position = Field(description="centre in the base frame")
    normal: Direction = Field(default=(0.0, 0.0, 1.0), description="axis of the circle; right-handed sense")
    turns: Annotated[float, Quantity("")] = Field(default=1.0, description="number of turns")

    def curve(self, p0: Floats) -> Callable[[float], Curve]:
        axis = np.array(self.normal, dtype=float)
        axis /= np.linalg.norm(axis)
        centre = np.array(self.centre, dtype=float)
        # the centre may be given anywhere on the axis
        centre = centre + axis * (axis @ (p0 - centre))
        u = p0 - centre
        if np.linalg.norm(u) < CLOSE:
            raise ModelError("the centre of the circle is where the frame starts; its radius would be zero")
        v = np.cross(axis, u)
        w = 2 * np.pi * self.turns

        def at(s: float) -> Curve:
            c, d = np.cos(w * s), np.sin(w * s)
            return Curve(centre + c * u + d * v, w * (c * v - d * u), -(w**2) * (c * u + d * v))

        return at


@dataclass(frozen=True)
class CurveMotion:
    """Joint positions along a curve, with the parameter following a profile in time."""

    joints: BPoly
    profile: Profile
    start: float
    duration: float

    @property
    def breaks(self) -> tuple[float, ...]:
        return (self.start, *(self.start + u * self.duration for u in self.profile.breaks), self.end)

    @property
    def end(self) -> float:
        return self.start + self.duration

    def at(self, t: float) -> Desired:
        T = self.duration
        s, ds, dds = self.profile((t - self.start) / T)
        q, dq, ddq = (self.joints(s, nu) for nu in range(3))
        return Desired(q, dq * ds / T, ddq * (ds / T) ** 2 + dq * dds / T**2)


class InverseKinematics:
    """Joint positions of the rigid twin that put a frame on a point, from a start nearby."""

    def __init__(self, around: Surroundings, frame: str, keep_orientation: bool) -> None:
        self.twin = around.twin
        self.inputs = around.twin_indices()
        self.frame, self.keep = frame, keep_orientation
        self.q = np.zeros(self.twin.size)
        for i, name in enumerate(self.twin.names):
            self.q[i] = around.arm.robot.pose.get(name, 0.0)

    def start(self, q0: Floats) -> Floats:
        """Position of the frame at the start; its orientation is remembered."""
        self.q[self.inputs] = q0
        pose = self.twin.pose(self.frame, self.q)
        self.R0 = pose.rotation
        self.reach = max(float(np.linalg.norm(pose.position)), 1e-3)
        return np.asarray(pose.position)

    def follow(self, curve: Callable[[float], Curve], q0: Floats) -> BPoly:
        """Joint positions along a curve as polynomials that take position, tangent and curvature at every knot."""
        from scipy.interpolate import BPoly

        s = np.linspace(0.0, 1.0, KNOTS)
        rows = []
        q = q0
        for value in s:
            point = curve(float(value))
            q = self.solve(point.p, q, float(value))
            rows.append([q, *self._tangents(q, point)])
        return BPoly.from_derivatives(s, np.array(rows))

    def solve(self, p: Floats, guess: Floats, s: float) -> Floats:
        """Newton iterations with the pseudo-inverse; small steps of redundant joints."""
        q = guess.copy()
        best = np.inf
        for _ in range(MOST_ITERATIONS):
            error = self._error(p, q)
            size = float(np.abs(error).max())
            if size < CLOSE * self.reach:
                return q
            if size > 10 * best:
                break
            best = min(best, size)
            q = q + self._pseudo_inverse(self._jacobian(q)) @ error
        raise ModelError(
            f"frame '{self.frame}' cannot follow the curve: at {100 * s:.0f} % of it the point "
            f"({', '.join(f'{x:.4g}' for x in p)}) m is not reached; keep it inside the workspace, "
            "away from stretched poses" + (", or set orientation: free" if self.keep else "")
        )

    def _tangents(self, q: Floats, point: Curve) -> tuple[Floats, Floats]:
        """dq/ds = J^+ p' and d2q/ds2 = J^+ (p'' - J' q')."""
        zeros = np.zeros(3 if self.keep else 0)
        inverse = self._pseudo_inverse(self._jacobian(q))
        dq = inverse @ np.concatenate([point.dp, zeros])
        change = self._jacobian(q + DIFFERENCE * dq) - self._jacobian(q - DIFFERENCE * dq)
        ddq = inverse @ (np.concatenate([point.ddp, zeros]) - change @ dq / (2 * DIFFERENCE))
        return dq, ddq

    def _error(self, p: Floats, q: Floats) -> Floats:
        self.q[self.inputs] = q
        pose = self.twin.pose(self.frame, self.q)
        if not self.keep:
            return np.asarray(p - pose.position)
        E = self.R0 @ pose.rotation.T
        turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        return np.concatenate([p - pose.position, turn])

    def _jacobian(self, q: Floats) -> Floats:
        self.q[self.inputs] = q
        J = self.twin.jacobian(self.frame, self.q)[:, self.inputs]
        return J if self.keep else J[:3]

    def _pseudo_inverse(self, J: Floats) -> Floats:
        return np.asarray(np.linalg.pinv(J, rcond=SINGULAR))
