"""Sensors on a robot: strain gauges, encoders, gyros, accelerometers and torque sensors, with their imperfections."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from pliant.errors import ModelError, did_you_mean
from pliant.model.description.derived_links import pieces_of, place_along
from pliant.model.element import Element, Name, at, of_value, refuse, rule
from pliant.model.units import NON_NEGATIVE, POSITIVE, Length, Number, Quantity, Time, WholeNumber

if TYPE_CHECKING:
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Axis = Literal["x", "y", "z"]
Step = Annotated[float, Quantity("", POSITIVE)]
Noise = Annotated[float, Quantity("", NON_NEGATIVE)]
BRIDGES = {"axial": (1.0, 0.0, 0.0), "bend_y": (0.0, 1.0, 0.0), "bend_z": (0.0, 0.0, 1.0)}
"""What bridges read of u', u_y'' and u_z''."""


class StrainGauge(Element):
    """A gauge on a beam: the strain u' - y u_y'' - z u_z'' of a fibre, or what a bridge sees of one family."""

    key: ClassVar[str] = "strain"
    link: str = Field(description="name of the beam")
    x: Length = Field(description="place along the beam, from its root")
    y: Length = Field(default=0.0, description="distance of the fibre from the axis in y")
    z: Length = Field(default=0.0, description="distance of the fibre from the axis in z")
    family: Literal["axial", "bend_y", "bend_z"] | None = Field(
        default=None,
        description="a bridge that sees the stretch u' or one curvature, u_y'' or u_z'', 1/m; without y, z",
    )

    @model_validator(mode="after")
    def _fibre(self) -> Self:
        if self.family is not None and (self.y or self.z):
            raise rule("give the place y, z of a fibre, or the family that a bridge sees, not both")
        if self.family is None and not (self.y or self.z):
            raise rule("a gauge on the axis does not see bending: give y or z, or family: bend_y, bend_z or axial")
        return self

    @property
    def weights(self) -> tuple[float, float, float]:
        """What it sees of u', u_y'' and u_z''."""
        return BRIDGES[self.family] if self.family is not None else (1.0, -self.y, -self.z)

    @property
    def unit(self) -> str:
        """Unit of what the sensor reads."""
        return "1/m" if self.family in ("bend_y", "bend_z") else ""

    def place(self, robot: Robot) -> tuple[Link, float]:
        """Its link, which may be a piece of the beam, and the place on it."""
        return place_along(pieces_of(robot, self.link), self.x)

    def problems(self, robot: Robot) -> Iterator[InitErrorDetails]:
        """Why it cannot sit there."""
        yield from gauge_problems(robot, self.link, self.x)


class Encoder(Element):
    """The angle or displacement of a joint, at its motor or behind the joint on the link."""

    key: ClassVar[str] = "encoder"
    joint: str = Field(description="name of the joint")
    side: Literal["motor", "link"] | None = Field(
        default=None, description="motor or link side; they differ for pinned shapes; default: motor, if there is one"
    )
    counts: Annotated[int, WholeNumber(1, 2**31)] | None = Field(
        default=None, description="steps per turn of the joint; turning joints only"
    )
    resolution: Step | None = Field(default=None, description="smallest step of the reading, rad or m, before the gain")

    def problems(self, robot: Robot) -> Iterator[InitErrorDetails]:
        """Why it cannot sit there."""
        problem = joint_problem(robot, self.joint)
        if problem is not None:
            yield problem
            return
        joint = robot.joint(self.joint)
        if self.side == "motor" and not joint.actuated:
            yield at("side", message=f"joint '{self.joint}' has no motor; write side: link")
        if self.counts is not None and joint.mechanics.slides():
            yield at("counts", message=f"joint '{self.joint}' slides; write resolution: 1e-6 (m) instead of counts")
        if self.counts is not None and self.resolution is not None:
            yield at("counts", message="counts and resolution are the same; give one of them")

    @property
    def step(self) -> float:
        """Smallest step of the reading, rad or m; 0 without any."""
        return 2 * math.pi / self.counts if self.counts is not None else self.resolution or 0.0


class _OnFrame(Element):
    """A sensor on a frame that sees one of its axes."""

    frame: str = Field(description="frame that carries it, LINK.FRAME, LINK (its tip) or tip")
    axis: Axis = Field(description="axis of the frame that it sees")

    def problems(self, robot: Robot) -> Iterator[InitErrorDetails]:
        """Why it cannot sit there."""
        try:
            link, _ = ("", "") if self.frame == "tip" else robot.resolve_frame(self.frame)
        except ModelError as error:
            yield of_value("frame", message=f"is '{self.frame}'; {error.problems[0].message}")
            return
        if link == "base":
            yield of_value(
                "frame", message=f"is '{self.frame}'; the base does not move, so there is nothing to measure"
            )


class Accelerometer(_OnFrame):
    """What an accelerometer reads along an axis of its frame: acceleration less gravity, m/s^2."""

    key: ClassVar[str] = "accelerometer"
    unit: ClassVar[str] = "m/s^2"


class Gyro(_OnFrame):
    """Rate of turn about an axis of a frame, rad/s."""

    key: ClassVar[str] = "gyro"
    unit: ClassVar[str] = "rad/s"


class TorqueSensor(Element):
    """What a drive hands to its link: the motor's effort less what its rotor and the friction of the joint take."""

    key: ClassVar[str] = "torque"
    joint: str = Field(description="name of an actuated joint")

    def problems(self, robot: Robot) -> Iterator[InitErrorDetails]:
        """Why it cannot sit there."""
        problem = joint_problem(robot, self.joint)
        if problem is not None:
            yield problem
        elif not robot.joint(self.joint).actuated:
            yield of_value("joint", message=f"is '{self.joint}', which no motor drives: there is no torque to measure")


Measures = StrainGauge | Encoder | Accelerometer | Gyro | TorqueSensor
SENSOR_KEYS = ("strain", "encoder", "accelerometer", "gyro", "torque")


class LowPass(Element):
    """A low-pass filter: w / (s + w), or with a damping ratio w^2 / (s^2 + 2 zeta w s + w^2), w = 2 pi low_pass."""

    low_pass: Annotated[float, Quantity("Hz", POSITIVE)] = Field(description="cut-off frequency")
    zeta: Annotated[float, Quantity("", POSITIVE)] | None = Field(
        default=None, description="damping ratio of a filter of second order; default: one of first order"
    )

    @property
    def rate(self) -> float:
        """Cut-off frequency, rad/s."""
        return 2 * math.pi * self.low_pass

    @property
    def order(self) -> int:
        """Number of its states."""
        return 1 if self.zeta is None else 2

    def matrices(self) -> tuple[list[list[float]], list[float]]:
        """A and B of its states, the first of which is what leaves it."""
        w = self.rate
        if self.zeta is None:
            return [[-w]], [w]
        return [[0.0, 1.0], [-(w**2), -2 * self.zeta * w]], [0.0, w**2]

    def response(self, s: complex) -> complex:
        """What leaves it per unit of exp(s t)."""
        w = self.rate
        return w / (s + w) if self.zeta is None else w**2 / (s**2 + 2 * self.zeta * w * s + w**2)


class Sensor(Element):
    """A sensor: what it measures, under one key, and how well: reading = gain (value) + bias + noise, late by a delay.

    Noise and bias are those of the reading. An encoder's steps are those of its value. A filter stands before all of
    these.
    """

    name: Name = Field(description="name of the sensor, unique in the robot; no joint may have it")
    strain: StrainGauge | None = Field(default=None, description="a strain gauge on a beam")
    encoder: Encoder | None = Field(default=None, description="an encoder of a joint")
    accelerometer: Accelerometer | None = Field(default=None, description="an accelerometer on a frame")
    gyro: Gyro | None = Field(default=None, description="a gyro on a frame")
    torque: TorqueSensor | None = Field(default=None, description="a torque sensor between a drive and its link")
    gain: Number = Field(default=1.0, description="reading per unit of what it measures")
    bias: Number = Field(default=0.0, description="reading where there is nothing to measure")
    noise: Noise = Field(default=0.0, description="standard deviation of the noise of one sample of the reading")
    delay: Time = Field(default=0.0, description="how late the reading is")
    filter: LowPass | None = Field(default=None, description="low-pass filter before steps and gain")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [key for key in SENSOR_KEYS if getattr(self, key) is not None]
        if len(kinds) != 1:
            found = " and ".join(kinds) if kinds else "none"
            raise rule("a sensor has one of {keys}; {found} given", keys=", ".join(SENSOR_KEYS), found=f"{found} is")
        if not self.gain:
            refuse([of_value("gain", message="is 0; such a sensor reads nothing")])
        if self.filter is not None and self.torque is not None:
            message = "is for encoders, strain gauges, gyros and accelerometers; a torque has that of its drive"
            refuse([at("filter", message=message)])
        return self

    @property
    def measures(self) -> Measures:
        """What it measures, and where."""
        found: Measures = next(part for key in SENSOR_KEYS if (part := getattr(self, key)) is not None)
        return found

    def unit(self, robot: Robot) -> str:
        """Unit of its reading; that of a gain is not known."""
        if self.gain != 1.0:
            return ""
        own = self.measures
        if isinstance(own, Encoder | TorqueSensor):
            slides = robot.joint(own.joint).mechanics.slides()
            return ("m" if slides else "rad") if isinstance(own, Encoder) else ("N" if slides else "N m")
        return own.unit


def joint_problem(robot: Robot, joint: str) -> InitErrorDetails | None:
    """What is wrong with the name of a joint with one coordinate."""
    names = [str(link.joint.name) for link in robot.links if len(link.joint.coordinates) == 1]
    if joint in names:
        return None
    hint = did_you_mean(joint, names) or f"; joints: {', '.join(names[:20])}"
    return of_value("joint", message=f"is '{joint}'; there is no joint with one coordinate of that name{hint}")


def gauge_problems(robot: Robot, link: str, x: float) -> Iterator[InitErrorDetails]:
    """Why a place has no strain."""
    pieces = pieces_of(robot, link)
    length = sum(piece.length for piece in pieces)
    if not pieces:
        yield at("link", message=f"the robot has no link '{link}'{did_you_mean(link, robot.link_names)}")
    elif not all(piece.is_flexible for piece in pieces):
        yield at("link", message=f"link '{link}' does not bend, so it has no strain")
    elif not all(piece.has_axis for piece in pieces):
        yield at("link", message=f"link '{link}' is known at its frames alone, so it has no strain along an axis")
    elif not 0 <= x <= length:
        yield of_value("x", message=f"is {x:g} m; the beam is {length:g} m long")


def sensor_problems(robot: Robot) -> Iterator[InitErrorDetails]:
    """What is wrong with the sensors of a robot, each with its place in the description."""
    from pliant.model.element import within

    seen: dict[str, int] = {}
    for i, sensor in enumerate(robot.sensors):
        place: tuple[Any, ...] = ("sensors", i)
        if seen.setdefault(sensor.name, i) != i:
            message = f"is '{sensor.name}', as of sensors[{seen[sensor.name]}]; names must differ"
            yield of_value(*place, "name", message=message)
        elif sensor.name in robot.joint_coordinates:
            yield of_value(*place, "name", message=f"is '{sensor.name}', the name of a joint; choose another")
        yield from within((*place, sensor.measures.key), sensor.measures.problems(robot))
