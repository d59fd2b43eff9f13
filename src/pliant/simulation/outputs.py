"""What a study asks of its result: samples, frames, strains and the channels of tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import InitErrorDetails

from pliant.errors import did_you_mean
from pliant.model.description.pieces import pieces_of, place_along
from pliant.model.description.robot import Robot
from pliant.model.element import Element, Title, at, of_value
from pliant.model.units import Length
from pliant.results.samples import Strain
from pliant.trajectories.joint_moves import Duration


class StrainPoint(Element):
    """A place on a beam where the strain along the beam is wanted, such as a strain gauge."""

    name: Title = Field(description="what its channel is called: strain.NAME")
    link: str = Field(description="name of the link")
    x: Length = Field(description="place along the beam")
    y: Length = Field(default=0.0, description="distance from the axis in y")
    z: Length = Field(default=0.0, description="distance from the axis in z")

    def on(self, robot: Robot) -> Strain:
        """The place on a robot whose beam may be in pieces."""
        link, x = place_along(pieces_of(robot, self.link), self.x)
        return Strain(self.name, link.name, x, self.y, self.z)


NAMES_SCHEMA = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
"""One name, or a list of them."""
OneOrMore = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": NAMES_SCHEMA}),
]


class Outputs(Element):
    """What the result holds."""

    step: Duration | None = Field(default=None, description="time between samples; default: a thousand in the run")
    frames: OneOrMore = Field(default=(), description="frames beside the tip that plots and tables show")
    strains: tuple[StrainPoint, ...] = Field(default=(), description="places where strains are wanted")
    channels: OneOrMore = Field(
        default=(), description="channels that tables show, such as tip.z; default: the usual ones"
    )


def as_channels(value: Any) -> Any:
    """Names alone are those of channels."""
    names = [value] if isinstance(value, str) else value
    alone = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return {"channels": names} if alone else value


def strain_problems(robot: Robot, point: StrainPoint, place: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    """Why a place has no strain, each reason with its place in a file."""
    pieces = pieces_of(robot, point.link)
    length = sum(piece.length for piece in pieces)
    if not pieces:
        hint = did_you_mean(point.link, robot.link_names)
        yield at(*place, "link", message=f"the robot has no link '{point.link}'{hint}")
    elif not all(piece.is_flexible and piece.beam is not None for piece in pieces):
        yield at(*place, "link", message=f"link '{point.link}' does not bend, so it has no strain")
    elif not 0 <= point.x <= length:
        yield of_value(*place, "x", message=f"is {point.x:g} m; the beam is {length:g} m long")
