"""A study: everything that a run needs, in one file that can be repeated and shared."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    InstanceOf,
    PlainSerializer,
    StrictBool,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic_core import InitErrorDetails

from pliant.model.element import Element, Frozen, FrozenDict, Text, at, of_value, refuse
from pliant.model.errors import ModelError, Problem, did_you_mean, show
from pliant.model.library import load
from pliant.model.robot import Robot
from pliant.model.units import NON_NEGATIVE, POSITIVE, Length, Quantity
from pliant.model.yaml_data import line_at
from pliant.model.yaml_file import Document, read_document
from pliant.simulation.drives.kinds import AnyDrive
from pliant.simulation.events import Event
from pliant.simulation.loads import Disturbance, Stops
from pliant.simulation.per_joint import name_problems
from pliant.simulation.start import Start
from pliant.simulation.trajectories.joint_moves import Duration

METHODS = ("auto", "dop853", "rk4", "semi-implicit", "generalised-alpha", "sundials")
SCIPY_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
Tolerances = Annotated[float, Quantity("", POSITIVE)]
DEFAULT_TOLERANCE = 1e-8
DEFAULT_SAMPLES = 1000


class IntegratorOptions(Element):
    """How the equations of motion are integrated."""

    method: str = Field(
        default="auto",
        description="auto, dop853, generalised-alpha, rk4, semi-implicit, sundials, or scipy:NAME",
    )
    tolerance: Tolerances = Field(default=DEFAULT_TOLERANCE, description="relative error of a step")
    absolute: Tolerances | None = Field(
        default=None, description="absolute error of a step; default: a hundredth of tolerance"
    )
    groups: Annotated[dict[str, Tolerances], Frozen] = Field(
        default_factory=FrozenDict,
        description="absolute errors of joints, elastic, or patterns of coordinate names such as 'upper.*'",
    )
    max_step: Duration | None = Field(default=None, description="largest step")
    step: Duration | None = Field(default=None, description="size of fixed steps; first step of other methods")
    radius: Annotated[float, Quantity("", NON_NEGATIVE)] = Field(
        default=0.8,
        description="generalised-alpha: what is left of infinitely fast vibrations after a step, 0 to 1; "
        "1 is without numerical damping",
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = [*METHODS, *(f"scipy:{name}" for name in SCIPY_METHODS)]
        if self.method not in known:
            hint = did_you_mean(self.method, known) or f"; known methods: {', '.join(known)}"
            refuse([of_value("method", message=f"is {show(self.method)}, which is not known{hint}")])
        if self.radius > 1:
            refuse([of_value("radius", message=f"is {self.radius:g}; it must not exceed 1")])
        return self


class StrainPoint(Element):
    """A place on a beam where the strain along the beam is wanted, such as a strain gauge."""

    name: str = Field(description="what its channel is called: strain.NAME")
    link: str = Field(description="name of the link")
    x: Length = Field(description="place along the beam")
    y: Length = Field(default=0.0, description="distance from the axis in y")
    z: Length = Field(default=0.0, description="distance from the axis in z")


class Outputs(Element):
    """What the result holds."""

    step: Duration | None = Field(default=None, description="time between samples; default: a thousand in the run")
    frames: tuple[str, ...] = Field(default=(), description="frames beside the tip that plots and tables show")
    strains: tuple[StrainPoint, ...] = Field(default=(), description="places where strains are wanted")


def _robot_name(robot: Robot) -> str:
    return robot.name


class Study(Element):
    """A robot, its start, what moves it, how it is integrated and what is kept."""

    name: Text = Field(default="run", description="name of the study")
    description: Text = Field(default="", description="what it shows")
    robot: Annotated[InstanceOf[Robot], PlainSerializer(_robot_name)] = Field(
        description="name of a bundled robot, path of a robot file, or a robot written out"
    )
    until: Duration = Field(description="end of the simulated time")
    start: Start = Field(default_factory=lambda: Start(), description="the first state")
    drive: AnyDrive | None = Field(default=None, description="what moves the joints; default: motors off")
    disturbances: tuple[Disturbance, ...] = Field(default=(), description="forces from elsewhere")
    limits: Literal["ignore", "warn", "stop"] = Field(
        default="warn", description="what happens when a joint passes its limits"
    )
    stops: Stops | None = Field(default=None, description="elastic stops at the position limits")
    events: tuple[Event, ...] = Field(default=(), description="thresholds that stop the run or are recorded")
    integrator: IntegratorOptions = Field(
        default_factory=lambda: IntegratorOptions(), description="method, tolerances and steps"
    )
    outputs: Outputs = Field(default_factory=lambda: Outputs(), description="what the result holds")
    compile: StrictBool = Field(default=True, description="machine code; false: plain NumPy, slower")

    @model_validator(mode="wrap")
    @classmethod
    def _with_robot(cls, data: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Self:
        robot = data.get("robot") if isinstance(data, dict) else None
        # numbers of a sliding joint are lengths and forces
        if isinstance(info.context, dict) and isinstance(robot, Robot):
            info.context["lengths"] = [str(link.joint.name) for link in robot.links if link.joint.type == "prismatic"]
        study: Self = handler(data)
        refuse(study._problems())
        return study

    def _problems(self) -> Iterator[InitErrorDetails]:
        """What does not fit the robot."""
        robot = self.robot
        inputs = [str(link.joint.name) for link in robot.links if link.joint.actuated]
        if self.drive is not None:
            yield from name_problems(self.drive, inputs, ("drive",))
        yield from name_problems(self.start, robot.joint_coordinates, ("start",))
        for i, name in enumerate(self.outputs.frames):
            yield from _frame_problems(robot, name, ("outputs", "frames", i))
        for i, disturbance in enumerate(self.disturbances):
            if disturbance.frame is not None:
                yield from _frame_problems(robot, disturbance.frame, ("disturbances", i, "frame"))
        for i, point in enumerate(self.outputs.strains):
            yield from _strain_problems(robot, point, ("outputs", "strains", i))

    @property
    def sample_step(self) -> float:
        """Time between samples."""
        return self.outputs.step if self.outputs.step is not None else round_step(self.until / DEFAULT_SAMPLES)

    def to_data(self) -> dict[str, Any]:
        """Plain data of the keys that were given; the robot is its name."""
        return dict(self.model_dump(mode="json", exclude_unset=True))

    def to_yaml(self) -> str:
        """The study as YAML; the robot is stored apart."""
        import io

        from ruamel.yaml import YAML

        stream = io.StringIO()
        yaml = YAML()
        yaml.width = 110
        yaml.dump(self.to_data(), stream)
        return stream.getvalue()


def _frame_problems(robot: Robot, name: str, place: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    if name == "tip":
        return
    try:
        robot.resolve_frame(name)
    except ModelError as error:
        yield at(*place, message=str(error))


def _strain_problems(robot: Robot, point: StrainPoint, place: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    if point.link not in robot.link_names:
        hint = did_you_mean(point.link, robot.link_names)
        yield at(*place, "link", message=f"the robot has no link '{point.link}'{hint}")
        return
    beam = robot.link(point.link).beam
    if beam is None or not beam.is_flexible:
        yield at(*place, "link", message=f"link '{point.link}' does not bend, so it has no strain")
    elif not 0 <= point.x <= beam.length:
        yield of_value(*place, "x", message=f"is {point.x:g} m; the beam is {beam.length:g} m long")


def round_step(largest: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is not longer."""
    from math import floor, log10

    decade: float = 10.0 ** floor(log10(largest) + 1e-9)
    return max(k * decade for k in (1, 2, 5) if k * decade <= largest * (1 + 1e-9))


# ---------------------------------------------------------------- files

FOLDER = Path(__file__).resolve().parent.parent / "studies"


def bundled_studies() -> list[tuple[str, str]]:
    """The studies that come with the package: name and description."""
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        lines = file.read_text(encoding="utf-8").splitlines()
        text = next((line.partition(":")[2].strip() for line in lines if line.startswith("description:")), "")
        found.append((file.stem, text))
    return found


def find_study(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a bundled study or of a path; raises ModelError."""
    text = os.fspath(name_or_path)
    names = [name for name, _ in bundled_studies()]
    if text in names:
        return FOLDER / f"{text}.yaml"
    path = Path(text)
    if path.is_file():
        return path
    hint = did_you_mean(text, names) or f"; bundled studies: {', '.join(names)}"
    if path.is_dir():
        raise ModelError(f"{text} is a folder; name one study file")
    raise ModelError(f"there is no study {show(text)}{hint}")


def load_study(
    name_or_path: str | os.PathLike[str], *, python: bool = True, changes: dict[str, Any] | None = None
) -> Study:
    """Read a study; all its problems come in one ModelError with their lines.

    python   whether the study may name Python code to run
    changes  keys of the study that are replaced, such as {"until": 5}
    """
    path = find_study(name_or_path)
    return study_from(read_document(path), str(path.parent), python=python, changes=changes)


def study_from(document: Document, folder: str, *, python: bool = True, changes: dict[str, Any] | None = None) -> Study:
    """The study in a document whose files stand in a folder."""

    def prepare(data: Any) -> Any:
        data = data.copy()
        for key, value in (changes or {}).items():
            data[key] = {**data.get(key, {}), **value} if isinstance(value, dict) else value
        if "name" not in data:
            data["name"] = Path(document.file).stem
        data["robot"] = _robot(data.get("robot"), folder, document)
        return data

    return document.build(Study, prepare, context={"folder": folder, "python": python})


def _robot(given: Any, folder: str, document: Document) -> Any:
    """The robot by name, by a path relative to the study, or written out in the study."""
    if isinstance(given, Robot):
        return given
    if isinstance(given, str):
        beside = os.path.join(folder, given)
        return load(beside if os.path.isfile(beside) else given)
    if isinstance(given, dict):
        from pliant.model.dh import expand_dh
        from pliant.model.urdf_overlay import expand_urdf

        inner = Document(document.file, given)
        return inner.build(Robot, lambda data: expand_dh(expand_urdf(data, folder)))
    line = line_at(document.data, ("robot",)) if given is not None else 1
    what = "key 'robot' is missing" if given is None else f"robot is {show(given)}"
    message = f"{what}; it must be the name of a bundled robot, the path of a robot file, or a robot written out"
    raise ModelError(Problem("Study", message, document.file, line))
