"""Actuators of a robot that push along a line between two places, and supplies of oil that several of them share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import InitErrorDetails

from pliant.errors import ModelError, did_you_mean
from pliant.model.actuators.cylinder import HydraulicCylinder
from pliant.model.actuators.force import LineForce
from pliant.model.actuators.gas import GasSpring
from pliant.model.actuators.line import LineKind
from pliant.model.actuators.spring import LineSpring
from pliant.model.description.inertia import RigidPart
from pliant.model.description.joints import Anchor, LoopFrame
from pliant.model.description.links import Link
from pliant.model.element import Element, Name, at, of_value, rule, sequence, within
from pliant.model.units import Mass

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot

BASE = "base"
KIND_KEYS = ("spring", "gas", "force", "cylinder")
Place = str | tuple[float, float, float]
"""LINK.FRAME, or a place on the base."""


class Actuator(Element):
    """What pushes along the line between two places; it has no bodies, and closes no loop."""

    name: Name = Field(description="name of the actuator; no link, joint or sensor may have it")
    frames: Annotated[
        tuple[LoopFrame, LoopFrame], BeforeValidator(sequence(2, of="frames, such as [base, boom.eye]"))
    ] = Field(description="its two ends: LINK.FRAME, LINK (its tip), base, or a mapping with a place beside one")
    masses: Annotated[tuple[Mass, Mass], BeforeValidator(sequence(2, of="masses"))] | None = Field(
        default=None, description="its own mass as lumps at its two ends; the robot has them as payloads"
    )
    spring: LineSpring | None = Field(default=None, description="a spring and damper, or a rod")
    gas: GasSpring | None = Field(default=None, description="a gas spring")
    force: LineForce | None = Field(default=None, description="a force that a command sets, as of an electric cylinder")
    cylinder: HydraulicCylinder | None = Field(default=None, description="a hydraulic cylinder")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [key for key in KIND_KEYS if getattr(self, key) is not None]
        if len(kinds) != 1:
            found = f"{' and '.join(kinds)} are" if kinds else "none is"
            raise rule("an actuator has one of {keys}; {found} given", keys=", ".join(KIND_KEYS), found=found)
        return self

    @property
    def pushes(self) -> LineKind:
        """What pushes."""
        found: LineKind = next(part for key in KIND_KEYS if (part := getattr(self, key)) is not None)
        return found

    @property
    def places(self) -> tuple[Place, Place]:
        """Its two ends: frames of links, or places on the base."""
        first, second = (_place(end) for end in self.frames)
        return first, second


def _place(end: str | Anchor) -> Place:
    if isinstance(end, str):
        return (0.0, 0.0, 0.0) if end in (BASE, f"{BASE}.root") else end
    x, y, z = end.position
    return x, y, z


def refuse_lines(robot: Robot, what: str) -> None:
    """Refuse a robot whose actuators push along lines where something does not know them."""
    if robot.actuators:
        names = ", ".join(f"'{each.name}'" for each in robot.actuators)
        raise ModelError(f"robot '{robot.name}' has actuators along lines ({names}), which {what}")


def placed_actuators(robot: Robot) -> tuple[tuple[Link, ...], tuple[Actuator, ...]]:
    """Links and actuators with every end on a link made a frame of it, and every lump a payload there."""
    from pliant.model.description.derived_links import beside

    links, actuators = {link.name: link for link in robot.links}, []
    for actuator in robot.actuators:
        ends: list[str | Anchor] = []
        for end, word, mass in zip(actuator.frames, ("first", "second"), actuator.masses or (0.0, 0.0), strict=True):
            anchor = end if isinstance(end, Anchor) else Anchor(frame=end)
            name, frame = robot.resolve_frame(anchor.frame)
            if name == BASE:
                ends.append(end)
                continue
            where = f"{name}.{frame}"
            if any(anchor.position):
                where = beside(robot, links, anchor, f"{actuator.name}_{word}")
            if mass:
                own, at_frame = links[name], where.partition(".")[2]
                lump = RigidPart(mass=mass, frame=at_frame)
                links[name] = own.model_copy(update={"payloads": (*own.payloads, lump)})
            ends.append(where)
        actuators.append(actuator.model_copy(update={"frames": tuple(ends), "masses": None}))
    return tuple(links.values()), tuple(actuators)


def actuator_problems(robot: Robot) -> Iterator[InitErrorDetails]:
    """What is wrong with the actuators and supplies of a robot, each with its place in the description."""
    seen: dict[str, str] = dict.fromkeys(robot.link_names, "a link")
    seen |= {str(link.joint.name): "a joint" for link in robot.links}
    seen |= dict.fromkeys(robot.joint_coordinates, "a coordinate")
    seen |= {sensor.name: "a sensor" for sensor in robot.sensors}
    listed: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("actuators", tuple(robot.actuators)),
        ("supplies", tuple(robot.supplies)),
    )
    for key, items in listed:
        for i, item in enumerate(items):
            if item.name in seen:
                yield of_value(
                    key, i, "name", message=f"is '{item.name}', the name of {seen[item.name]}; choose another"
                )
            seen.setdefault(item.name, f"{key}[{i}]")
    for i, actuator in enumerate(robot.actuators):
        yield from _end_problems(robot, actuator, ("actuators", i))
        yield from within(("actuators", i, actuator.pushes.key), actuator.pushes.problems())
    yield from _supply_problems(robot)


def _end_problems(robot: Robot, actuator: Actuator, place: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    owners = []
    for k, end in enumerate(actuator.frames):
        name = end.frame if isinstance(end, Anchor) else end
        try:
            link, _ = robot.resolve_frame(name)
        except ModelError as error:
            yield of_value(*place, "frames", k, message=f"is '{name}'; {error.problems[0].message}")
            continue
        owners.append(link)
        if link != BASE and isinstance(end, Anchor) and robot.link(link).modal is not None and any(end.position):
            yield at(*place, "frames", k, message=f"link '{link}' has modal data: name a frame of modal.frames")
        if link == BASE and actuator.masses is not None and actuator.masses[k]:
            yield at(*place, "masses", k, message="a mass on the base moves nothing; leave it out (0)")
    if len(owners) == 2 and owners[0] == owners[1] and (owners[0] == BASE or not robot.link(owners[0]).is_flexible):
        where = "the base" if owners[0] == BASE else f"the rigid link '{owners[0]}'"
        yield at(*place, "frames", message=f"both ends are on {where}, where nothing changes their distance")


def _supply_problems(robot: Robot) -> Iterator[InitErrorDetails]:
    known = {each.name: each for each in robot.actuators}
    fed: dict[str, str] = {}
    for i, supply in enumerate(robot.supplies):
        for k, name in enumerate(supply.feeds):
            place = ("supplies", i, "feeds", k)
            cylinder = known[name].cylinder if name in known else None
            if name not in known:
                yield of_value(*place, message=f"is '{name}'; there is no such actuator{did_you_mean(name, known)}")
            elif cylinder is None or cylinder.valve is None:
                yield of_value(*place, message=f"is '{name}', which has no hydraulic valve")
            elif name in fed:
                yield of_value(*place, message=f"is '{name}', which supply '{fed[name]}' feeds already")
            elif cylinder.valve.supply is not None:
                yield of_value(
                    *place, message=f"is '{name}', whose valve has a supply pressure of its own; leave that out"
                )
            fed.setdefault(name, supply.name)
    for i, actuator in enumerate(robot.actuators):
        cylinder = actuator.cylinder
        if cylinder is None or cylinder.valve is None or actuator.name in fed or cylinder.valve.supply is not None:
            continue
        yield at(
            "actuators", i, "cylinder", "valve",
            message="it has no supply: write supply: 200 bar, or let one of the robot's supplies feed it",
        )  # fmt: skip
