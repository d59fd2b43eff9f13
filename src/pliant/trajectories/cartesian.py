"""Lines and circles of a frame in space, turned into joint motions by the inverse kinematics of the rigid robot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from pliant.formulations.loops.loops import LoopError
from pliant.model.element import Direction, Position, of_value, refuse, rule
from pliant.model.units import Quantity, Time
from pliant.trajectories.driven_twin import DrivenTwin
from pliant.trajectories.joint_moves import SMOOTH_PROFILES, Duration, Profile, Ramp, fitting_ramp, trapezoidal
from pliant.trajectories.path import Desired, Floats, Path, Surroundings, Trajectory

if TYPE_CHECKING:
    from pliant.dynamics import Pose

STRIDES = 100
"""Points of the curve at which it must be in reach."""
SMOOTH = 1e-11
"""Relative error of the joint positions along a curve ..."""
LARGEST_DEGREE = 1024
"""... unless it takes polynomials of a higher degree."""
CLOSE = 1e-11
"""Distance (relative to the robot's reach) at which a point counts as reached."""
MOST_ITERATIONS = 60
SINGULAR = 1e-6
"""Directions in which the joints move the frame less than this part of the most are not used."""

MOST_TURNS = 1000


class UnreachableError(ValueError):
    """A curve that the robot cannot follow."""


class Curve(NamedTuple):
    """A point of a curve and its derivatives by the parameter s."""

    p: Floats
    dp: Floats
    ddp: Floats


class CartesianMove(Trajectory):
    """A frame moves along a curve from rest to rest."""

    frame: str = Field(default="tip", description="the frame that follows the curve: LINK.FRAME, LINK or tip")
    duration: Duration = Field(description="time from rest to rest")
    start: Time = Field(default=0.0, description="time before the motion begins")
    profile: Literal["cycloidal", "quintic", "septic", "nonic", "trapezoidal"] = Field(
        default="quintic", description="how the motion along the curve develops"
    )
    ramp: Ramp = Field(default=1 / 3, description="of a trapezoidal profile: part of the duration that each ramp takes")
    orientation: Literal["auto", "keep", "free"] = Field(
        default="auto",
        description="whether the frame keeps its orientation; auto: if the robot has six joints or more",
    )

    @model_validator(mode="after")
    def _ramps_fit(self) -> Self:
        fitting_ramp(self.ramp)
        return self

    @abstractmethod
    def curve(self, p0: Floats) -> Callable[[float], Curve]:
        """The curve from the position p0, s from 0 to 1."""

    def kinematics(self, around: Surroundings) -> InverseKinematics:
        """What finds the joints of the robot along the curve."""
        keep = self.orientation == "keep" or (self.orientation == "auto" and len(around.inputs) >= 6)
        return InverseKinematics(around, self.frame, keep)

    def in_space(self, p0: Floats, t0: float) -> FrameMotion:
        """The motion of the frame itself from a position p0 (3,), beginning at time t0."""
        return FrameMotion(self._progress(), t0 + self.start, self.duration, self.curve(p0))

    def _progress(self) -> Profile:
        return trapezoidal(self.ramp) if self.profile == "trapezoidal" else SMOOTH_PROFILES[self.profile]

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        kinematics = self.kinematics(around)
        p0 = kinematics.start(q0)
        try:
            joints = kinematics.follow(self.curve(p0), q0)
        except UnreachableError as error:
            raise self.fault(str(error)) from None
        return CurveMotion(self._progress(), t0 + self.start, self.duration, joints)


class Line(CartesianMove):
    """A straight line."""

    kind = "line"
    to: Position | None = Field(default=None, description="end of the line in the base frame")
    by: Position | None = Field(default=None, description="or: displacement from the start, in base axes")

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.to is None) == (self.by is None):
            raise rule("give either to or by")
        return self

    def curve(self, p0: Floats) -> Callable[[float], Curve]:
        d = np.array(self.by, dtype=float) if self.by is not None else np.array(self.to, dtype=float) - p0
        still = np.zeros(3)
        return lambda s: Curve(p0 + s * d, d, still)


class Circle(CartesianMove):
    """A circle through the start."""

    kind = "circle"
    centre: Position = Field(description="centre in the base frame")
    normal: Direction = Field(default=(0.0, 0.0, 1.0), description="axis of the circle; right-handed sense")
    turns: Annotated[float, Quantity("")] = Field(default=1.0, description="number of turns")

    @model_validator(mode="after")
    def _directed(self) -> Self:
        if not any(self.normal):
            refuse([of_value("normal", message="is zero; it must be a direction")])
        if abs(self.turns) > MOST_TURNS:
            refuse([of_value("turns", message=f"is {self.turns:g}; at most {MOST_TURNS} are followed")])
        return self

    def curve(self, p0: Floats) -> Callable[[float], Curve]:
        axis = np.array(self.normal, dtype=float)
        axis /= np.linalg.norm(axis)
        centre = np.array(self.centre, dtype=float)
        # the centre may be given anywhere on the axis
        centre = centre + axis * (axis @ (p0 - centre))
        u = p0 - centre
        if np.linalg.norm(u) < CLOSE:
            raise UnreachableError("the centre of the circle is where the frame starts; its radius would be zero")
        v = np.cross(axis, u)
        w = 2 * np.pi * self.turns

        def at(s: float) -> Curve:
            c, d = np.cos(w * s), np.sin(w * s)
            return Curve(centre + c * u + d * v, w * (c * v - d * u), -(w**2) * (c * u + d * v))

        return at


@dataclass(frozen=True)
class JointCurve:
    """Joint positions over s from 0 to 1 as Chebyshev series: coefficients (degree + 1, 3 inputs) of q, q' and q''."""

    series: Floats

    @classmethod
    def of(cls, coefficients: Floats) -> JointCurve:
        from numpy.polynomial.chebyshev import chebder

        # d/ds = 2 d/dx on x from -1 to 1
        columns = np.zeros((len(coefficients), 3, coefficients.shape[1]))
        for k in range(3):
            columns[: len(coefficients) - k, k] = 2**k * np.asarray(chebder(coefficients, k))
        return cls(columns.reshape(len(columns), -1))

    def __call__(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """q, dq/ds and d2q/ds2 at places s (k,), each (k, inputs)."""
        # T_k(cos x) = cos(k x); rounding may leave s just outside
        angles = np.arccos(np.clip(2 * s - 1, -1.0, 1.0))
        values = np.cos(np.outer(angles, np.arange(len(self.series)))) @ self.series
        q, dq, ddq = np.split(values, 3, axis=1)
        return q, dq, ddq


@dataclass(frozen=True)
class _AlongCurve(ABC):
    """A motion along a curve whose parameter follows a profile in time."""

    profile: Profile
    start: float
    duration: float

    @property
    def breaks(self) -> tuple[float, ...]:
        return (self.start, *(self.start + u * self.duration for u in self.profile.breaks), self.end)

    @property
    def end(self) -> float:
        return self.start + self.duration

    @abstractmethod
    def _points(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions and their first two derivatives by the parameter, each (places, n)."""

    def at(self, t: float) -> Desired:
        return Desired(*(x[0] for x in self.many(np.array([t]))))

    def many(self, times: Floats) -> Desired:
        """The motion at several times."""
        T = self.duration
        s, ds, dds = (x[:, None] for x in self.profile.many((times - self.start) / T))
        q, dq, ddq = self._points(s[:, 0])
        return Desired(q, dq * ds / T, ddq * (ds / T) ** 2 + dq * dds / T**2)


@dataclass(frozen=True)
class CurveMotion(_AlongCurve):
    """Joint positions along a curve."""

    joints: JointCurve

    def _points(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        return self.joints(s)


@dataclass(frozen=True)
class FrameMotion(_AlongCurve):
    """Positions of a frame in space along a curve."""

    curve: Callable[[float], Curve]

    def _points(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        p, dp, ddp = (np.array(each) for each in zip(*map(self.curve, s.tolist()), strict=True))
        return p, dp, ddp


class InverseKinematics:
    """Joint positions of the rigid twin that put a frame on a point, from a start nearby."""

    def __init__(self, around: Surroundings, frame: str, keep_orientation: bool) -> None:
        self.mechanism = DrivenTwin(around)
        self.frame, self.keep = frame, keep_orientation

    def start(self, q0: Floats) -> Floats:
        """Position of the frame at the start; its orientation is remembered."""
        pose = self._pose(q0)
        self.R0 = pose.rotation
        self.reach = max(float(np.linalg.norm(pose.position)), 1e-3)
        return np.asarray(pose.position)

    def _pose(self, q: Floats) -> Pose:
        return self.mechanism.twin.pose(self.frame, self.mechanism.configuration(q))

    def follow(self, curve: Callable[[float], Curve], q0: Floats, strides: int = STRIDES) -> JointCurve:
        """Joint positions along a curve, by the least motion of the joints; first of all in strides."""
        from scipy.integrate import solve_ivp

        # first in strides: whatever is out of reach is found here
        q = q0
        for s in np.linspace(0.0, 1.0, strides + 1):
            q = self.solve(curve(float(s)).p, q, float(s))

        def tangent(s: float, q: Floats) -> Floats:
            velocity = np.concatenate([curve(s).dp, np.zeros(3 if self.keep else 0)])
            return np.asarray(self._pseudo_inverse(self._jacobian(q)) @ velocity)

        way = solve_ivp(tangent, (0.0, 1.0), q0, method="DOP853", rtol=SMOOTH, atol=SMOOTH, dense_output=True)
        degree = 16
        while True:
            # the extrema of the Chebyshev polynomial of this degree
            angles = np.pi * np.arange(degree + 1) / degree
            places = (1 - np.cos(angles)) / 2
            values = np.array([self.solve(curve(float(s)).p, way.sol(s), float(s)) for s in places])
            weights = np.where(np.arange(degree + 1) % degree == 0, 0.5, 1.0)
            transform = np.cos(np.outer(np.arange(degree + 1), angles[::-1])) * weights * weights[:, None]
            c = 2 / degree * transform @ values
            if np.abs(c[-3:]).max() <= SMOOTH * np.abs(c).max() or degree >= LARGEST_DEGREE:
                return JointCurve.of(c)
            degree *= 2

    def solve(self, p: Floats, guess: Floats, s: float) -> Floats:
        """Newton iterations with the pseudo-inverse; small steps of redundant joints."""
        q = guess.copy()
        best = np.inf
        for _ in range(MOST_ITERATIONS):
            try:
                error = self._error(p, q)
            except LoopError:
                break
            size = float(np.abs(error).max())
            if size < CLOSE * self.reach:
                # one step more ends at rounding
                return q + self._pseudo_inverse(self._jacobian(q)) @ error
            if size > 10 * best:
                break
            best = min(best, size)
            q = q + self._pseudo_inverse(self._jacobian(q)) @ error
        raise UnreachableError(
            f"frame '{self.frame}' cannot follow the curve: at {100 * s:.0f} % of it the point "
            f"({', '.join(f'{x:.4g}' for x in p)}) m is not reached; keep it inside the workspace, "
            "away from stretched poses" + (", or set orientation: free" if self.keep else "")
        )

    def _error(self, p: Floats, q: Floats) -> Floats:
        pose = self._pose(q)
        if not self.keep:
            return np.asarray(p - pose.position)
        E = self.R0 @ pose.rotation.T
        turn = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
        return np.concatenate([p - pose.position, turn])

    def _jacobian(self, q: Floats) -> Floats:
        J = self.mechanism.jacobian(self.frame, self.mechanism.configuration(q))
        return J if self.keep else J[:3]

    def _pseudo_inverse(self, J: Floats) -> Floats:
        return np.asarray(np.linalg.pinv(J, rcond=SINGULAR))
