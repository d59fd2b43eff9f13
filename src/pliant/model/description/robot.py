"""The robot: links in a tree, loops that close it, gravity and a reference pose.

Poses are values by name of the joint; they say where joints stand, and from which of them loops are closed. The rigid
twin of a robot is the model that a controller of a stiff robot would use.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import ModelError, did_you_mean, show
from pliant.files import write_file
from pliant.joints.universal import Universal
from pliant.model.actuators.supply import Supply
from pliant.model.description.actuators import Actuator, actuator_problems, placed_actuators
from pliant.model.description.derived_links import Tie, resolve_ties
from pliant.model.description.discretisation import Damping
from pliant.model.description.inertia import Rigid
from pliant.model.description.joints import Anchor, Joint, Loop, Mimic
from pliant.model.description.links import Link
from pliant.model.description.materials import Material
from pliant.model.description.outline import BASE, MOST_LINKS, Outline
from pliant.model.description.placement import Frame
from pliant.model.description.sensors import Sensor, sensor_problems
from pliant.model.element import (
    Acceleration3,
    Element,
    Frozen,
    FrozenDict,
    Name,
    Text,
    Title,
    at,
    of_value,
    refuse,
    within,
)
from pliant.model.notebook import html_page
from pliant.model.once import once_per_element
from pliant.model.paths import value_at, with_value
from pliant.model.units import Quantity


class PoseValues:
    """The reading of a reference pose: each joint coordinate is an angle or a length, as its joint is."""

    number = Quantity("rad", sliding="m")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": ["number", "string"]}}

    def read(self, value: Any, info: ValidationInfo) -> FrozenDict[str, float]:
        if not isinstance(value, dict):
            raise PydanticCustomError(
                "value", "is {given}; it must be a mapping of joint names to values", {"given": show(value)}
            )
        context = info.context if isinstance(info.context, dict) else {}
        lengths = context.get("lengths", ())
        read: dict[str, float] = {}
        problems = []
        for key, entry in value.items():
            try:
                read[key] = float(self.number.read(entry, {**context, "slides": key in lengths}))
            except PydanticCustomError as error:
                problems.append(InitErrorDetails(type=error, loc=(str(key),), input=entry))
        refuse(problems)
        return FrozenDict(read)


PoseOfJoints = Annotated[dict[str, float], PoseValues()]


class Assembly(Element):
    """How the loops of a robot are closed.

    Loops often close in several ways, with elbows in or out. The way that is nearest to the reference pose is taken;
    a mode gives other positions from which passive joints start.
    """

    bend: StrictBool = Field(
        default=False, description="whether links may bend to close the loops where joints alone cannot"
    )
    modes: Annotated[dict[Title, PoseOfJoints], Frozen] = Field(
        default_factory=FrozenDict, description="assembly modes by name: positions from which joints start"
    )
    mode: Title | None = Field(default=None, description="the mode that is taken; default: the reference pose")

    @model_validator(mode="after")
    def _known(self) -> Assembly:
        if self.mode is not None and self.mode not in self.modes:
            refuse([of_value("mode", message=f"is '{self.mode}'; {self._names(self.mode)}")])
        return self

    def _names(self, mode: str) -> str:
        known = ", ".join(f"'{name}'" for name in self.modes) or "none"
        return f"the assembly modes are {known}{did_you_mean(mode, self.modes)}"

    def positions(self, mode: str | None = None) -> Mapping[str, float]:
        """Positions from which joints start in a mode; default: the chosen one."""
        name = self.mode if mode is None else mode
        if name is not None and name not in self.modes:
            raise ModelError(f"there is no assembly mode '{name}'; {self._names(name)}")
        return {} if name is None else self.modes[name]


class Robot(Element):
    """A robot with flexible links. Links stand in tree order, parents before their children."""

    name: Title = Field(description="name of the robot")
    description: Text = Field(default="", description="what it is")
    source: Text = Field(default="", description="where the numbers come from")
    gravity: Acceleration3 = Field(default=(0.0, 0.0, -9.81), description="acceleration of gravity in the base frame")
    attachment_rotation: Literal["exponential", "cayley", "xyz"] = Field(
        default="exponential",
        description="how the rotation of an elastic attachment follows from its rotation vector",
    )
    damping: Damping | None = Field(
        default=None,
        description="structural damping of all that has none of its own; a ratio is that of the whole robot's modes",
    )
    materials: Annotated[dict[Name, Material], Frozen] = Field(
        default_factory=FrozenDict, description="materials of the user, by name"
    )
    links: tuple[Link, ...] = Field(description="the links, each with its inboard joint")
    loops: tuple[Loop, ...] = Field(default=(), description="closures of kinematic loops")
    aliases: Annotated[dict[str, str], Frozen] = Field(
        default_factory=FrozenDict, description="further names of frames: NAME: LINK.FRAME"
    )
    pose: PoseOfJoints = Field(
        default_factory=FrozenDict, description="reference pose: joint coordinates by name; others are zero"
    )
    assembly: Assembly = Field(default_factory=lambda: Assembly(), description="how the loops are closed")
    sensors: tuple[Sensor, ...] = Field(default=(), description="strain gauges, encoders, gyros and the like, by name")
    actuators: tuple[Actuator, ...] = Field(
        default=(), description="what pushes along lines between two places: springs, cylinders and the like, by name"
    )
    supplies: tuple[Supply, ...] = Field(default=(), description="pumps that feed several cylinders")
    tip: Text | None = Field(
        default=None, description="the frame that is called tip, LINK.FRAME; default: the tip of the last link"
    )

    @field_validator("links", mode="before")
    @classmethod
    def _some_links(cls, links: Any) -> Any:
        if not isinstance(links, list | tuple):
            raise PydanticCustomError("value", "is {given}; it must be a list", {"given": show(links)})
        if not 1 <= len(links) <= MOST_LINKS:
            raise PydanticCustomError(
                "value",
                "has {n} entries; a robot has 1 to {most} links",
                {"n": len(links), "most": MOST_LINKS},
            )
        return links

    @field_validator("materials")
    @classmethod
    def _named(cls, materials: dict[str, Material]) -> dict[str, Material]:
        return FrozenDict(
            {name: m if m.name == name else m.model_copy(update={"name": name}) for name, m in materials.items()}
        )

    @model_validator(mode="wrap")
    @classmethod
    def _cross_checks(cls, data: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Self:
        # names are checked on the raw data too, so that all problems come at once
        outline = Outline.of(data)
        if isinstance(info.context, dict):
            info.context["lengths"] = outline.lengths
        problems = list(outline.problems())
        try:
            robot: Self = handler(data)
        except ValidationError as error:
            refuse(problems, also=error)
            raise
        refuse(problems)
        robot._resolve_materials()
        robot._sort_links(outline)
        robot._split_crosses()
        robot._split_beams()
        robot._place_anchors()
        refuse(sensor_problems(robot))
        refuse(actuator_problems(robot))
        robot._place_actuators()
        return robot

    def _resolve_materials(self) -> None:
        """Put the materials in the place of their names; what a material lacks shows only now."""
        links: list[Link] = []
        problems: list[InitErrorDetails] = []
        for i, link in enumerate(self.links):
            if link.beam is not None:
                beam = link.beam.with_materials(self.materials)
                if beam is not link.beam:
                    problems.extend(within(("links", i, "beam"), beam.missing_constants()))
                    link = link.model_copy(update={"beam": beam})
            links.append(link)
        refuse(problems)
        self.__dict__["links"] = tuple(links)

    def _sort_links(self, outline: Outline) -> None:
        """Put parents before their children; a default parent is written out when its link moves."""
        order = outline.tree_order()
        if order == list(range(len(self.links))):
            return
        links = []
        for i in order:
            link, parent = self.links[i], ".".join(outline.parent(i))
            joint = link.joint.model_copy(update={"parent": BASE if parent.startswith(f"{BASE}.") else parent})
            links.append(link.model_copy(update={"joint": joint}))
        self.__dict__["links"] = tuple(links)

    def _split_crosses(self) -> None:
        """Links on universal joints become two, so that every joint turns about one axis."""
        from pliant.model.description.derived_links import split_cross

        if any(link.joint.type == Universal.name for link in self.links):
            self._now([part for link in self.links for part in split_cross(link)], "universal joints are taken apart")

    def _now(self, links: list[Link], why: str) -> None:
        """Take other links; their names and those of their joints must differ."""
        problems = []
        for what, taken in (("links", [x.name for x in links]), ("joints", [str(x.joint.name) for x in links])):
            twice = [name for name in dict.fromkeys(taken) if taken.count(name) > 1]
            problems += [
                at("links", message=f"there are two {what} '{name}' now that {why}; choose another name")
                for name in twice
            ]
        refuse(problems)
        self.__dict__["links"] = tuple(links)

    def _split_beams(self) -> None:
        """Beams in pieces become links of their own; their frames keep their names as aliases."""
        from pliant.model.description.derived_links import split_link

        if all(link.beam is None or len(link.beam.piece_ends) == 1 for link in self.links):
            return
        links, aliases = [], dict(self.aliases)
        for link in self.links:
            pieces, names = split_link(link)
            links.extend(pieces)
            aliases.update(names)
        self._now(links, "beams are in pieces")
        self.__dict__["aliases"] = FrozenDict(aliases)
        self.model_fields_set.add("aliases")

    def _place_anchors(self) -> None:
        """Places beside frames become frames, and loops that ask for it are aligned in the reference pose."""
        from pliant.model.description.derived_links import place_anchors

        if self.loops_are_aligned:
            try:
                self.__dict__["links"], self.__dict__["loops"] = place_anchors(self)
            except ModelError as error:
                refuse([at("loops", message=str(error))])

    def _place_actuators(self) -> None:
        """Ends of actuators beside frames become frames, and their lumps payloads there."""
        if self.actuators:
            self.__dict__["links"], self.__dict__["actuators"] = placed_actuators(self)

    @property
    def loops_are_aligned(self) -> bool:
        """Whether frames of loops depend on where they are in the reference pose."""
        return any(loop.align or not all(isinstance(end, str) for end in loop.frames) for loop in self.loops)

    # ------------------------------------------------------------ looking things up

    def link(self, name: str) -> Link:
        """The link of that name."""
        for link in self.links:
            if link.name == name:
                return link
        raise ModelError(f"the robot has no link '{name}'{did_you_mean(name, self.link_names)}")

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        for link in self.links:
            if link.joint.name == name:
                return link.joint
        names = [str(link.joint.name) for link in self.links]
        raise ModelError(f"the robot has no joint '{name}'{did_you_mean(name, names)}")

    def sensor(self, name: str) -> Sensor:
        """The sensor of that name."""
        for sensor in self.sensors:
            if sensor.name == name:
                return sensor
        names = [sensor.name for sensor in self.sensors]
        known = f"; sensors: {', '.join(names)}" if names else ": write it under `sensors:` of the robot"
        raise ModelError(f"the robot has no sensor '{name}'{did_you_mean(name, names) or known}")

    def actuator(self, name: str) -> Actuator:
        """The line actuator of that name."""
        for actuator in self.actuators:
            if actuator.name == name:
                return actuator
        names = [actuator.name for actuator in self.actuators]
        known = f"; actuators: {', '.join(names)}" if names else ": write it under `actuators:` of the robot"
        raise ModelError(f"the robot has no actuator '{name}'{did_you_mean(name, names) or known}")

    @property
    def link_names(self) -> tuple[str, ...]:
        """The names of the links, in tree order."""
        return tuple(link.name for link in self.links)

    @property
    def joint_coordinates(self) -> tuple[str, ...]:
        """The names of the joint coordinates, in tree order."""
        return tuple(name for link in self.links for name in link.joint.coordinates)

    @property
    def ties(self) -> dict[str, Tie]:
        """Joints that follow others: name of the coordinate -> leader, ratio and offset."""
        return resolve_ties(self.mimics)

    @property
    def mimics(self) -> dict[str, Mimic]:
        """Name of each joint that follows another -> how it does."""
        return {str(link.joint.name): link.joint.mimic for link in self.links if link.joint.mimic is not None}

    def parent_of(self, name: str) -> tuple[str, str]:
        """The link (or ``base``) and the frame that carry a link."""
        link = self.link(name)
        if link.joint.parent is not None:
            return self.resolve_frame(link.joint.parent)
        index = self.link_names.index(name)
        return (self.links[index - 1].name, "tip") if index else (BASE, "root")

    def children_of(self, name: str) -> tuple[str, ...]:
        """The links that a link (or ``base``) carries."""
        return tuple(link.name for link in self.links if self.parent_of(link.name)[0] == name)

    def resolve_frame(self, reference: str | Anchor) -> tuple[str, str]:
        """Link and frame of ``LINK.FRAME``, of ``LINK`` (its tip), of ``base`` (its root) or of an alias."""
        reference = reference.frame if isinstance(reference, Anchor) else reference
        reference = self.aliases.get(reference, reference)
        if reference in (BASE, f"{BASE}.root"):
            return BASE, "root"
        name, _, frame = reference.partition(".")
        link, frame = self.link(name), frame or "tip"
        if frame not in link.frame_names:
            raise ModelError(f"link '{name}' has no frame '{frame}'{did_you_mean(frame, link.frame_names)}")
        return name, frame

    def reference_coordinates(self) -> dict[str, float]:
        """All joint coordinates in the reference pose, those of joints that follow others included."""
        return self.with_followers({name: self.pose.get(name, 0.0) for name in self.joint_coordinates})

    def with_followers(self, values: Mapping[str, float]) -> dict[str, float]:
        """Joint coordinates by name, those of joints that follow others as their leaders say."""
        found = dict(values)
        for name, tie in self.ties.items():
            found[name] = tie.ratio * found.get(tie.leader, 0.0) + tie.offset
        return found

    def assembly_start(self, mode: str | None = None) -> dict[str, float]:
        """All joint coordinates from which the loops are closed, in an assembly mode; default: the chosen one."""
        return self.with_followers({**self.reference_coordinates(), **self.assembly.positions(mode)})

    @property
    def mass(self) -> float:
        """The mass of all links with their hubs and payloads."""
        return sum(link.mass for link in self.links)

    # ------------------------------------------------------------ places

    def get(self, path: str) -> Any:
        """The value at a place, ``robot.get("forearm.payloads[0].mass")``; see ``pliant.model.paths``."""
        return value_at(self, path)

    def set(self, path: str, value: Any) -> Robot:
        """The robot with another value at a place; this one stays as it is.

        path   ``forearm.payloads[0].mass``, ``elbow.spring.stiffness``, ``gravity``, ``pose.elbow``
        value  a number in SI units, text with a unit ("2 kg"), or a part of a robot
        """
        return with_value(self, path, value)

    def __repr__(self) -> str:
        flexible = sum(link.is_flexible for link in self.links)
        loops = f", {len(self.loops)} loops" if self.loops else ""
        return f"Robot({self.name!r}, {len(self.links)} links, {flexible} flexible{loops}, {self.mass:.4g} kg)"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = [
            (link.name, ".".join(self.parent_of(link.name)), link.joint.name, link.joint.type, _body(link), _kg(link))
            for link in self.links
        ]
        return html_page(repr(self), ("link", "on", "joint", "type", "body", "kg"), rows, [self.description])

    # ------------------------------------------------------------ writing

    def to_yaml(self) -> str:
        """The robot as the text of a YAML file; reading it gives an equal robot."""
        from pliant.model.readers.yaml_data import write_text

        return write_text(self)

    def save(self, path: str | Path) -> None:
        """Write the robot to a YAML file."""
        write_file(Path(path), self.to_yaml())


def _body(link: Link) -> str:
    kind = link.body_key or "none"
    return f"{kind}, {link.length:g} m" if link.length else kind


def _kg(link: Link) -> str:
    return f"{link.mass:.4g}"


# ---- rigid twin


@once_per_element
def rigid_twin(robot: Robot) -> Robot:
    """The robot with links that do not bend; mass, inertia, joints and loads stay."""
    # of a robot that was checked; nothing that refers to its links changes, but for gauges on them
    return robot.model_copy(update={"links": tuple(_stiff(link) for link in robot.links), "sensors": ()})


def _stiff(link: Link) -> Link:
    if link.modal is not None:
        return _without_modes(link)
    if link.body is not None and link.is_flexible:
        return link.with_body(link.body.stiffened())
    return link


def _without_modes(link: Link) -> Link:
    modal = link.modal
    assert modal is not None
    mass, first, about_root = modal.mass, modal.array("first"), modal.array("I_rr")
    com = first / mass if mass else np.zeros(3)
    inertia = about_root - mass * (com @ com * np.eye(3) - np.outer(com, com))
    body = Rigid(mass=mass, com=com.tolist(), inertia=inertia.tolist())
    frames = tuple(
        Frame(name=name, position=given.position, rotation=given.rotation)
        for name, given in modal.frames.items()
        if name != "root"
    )
    kept = {key: value for key, value in link.given().items() if key not in ("modal", "frames")}
    return Link(**kept, rigid=body, frames=frames)
