"""A study: everything that a run needs, in one file that can be repeated and shared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    PlainSerializer,
    PrivateAttr,
    StrictBool,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from pliant.drives.drive import Drive
from pliant.drives.drive_kinds import AnyDrive
from pliant.drives.given import GivenTorque
from pliant.engine.stepping.steppers import STEPPERS
from pliant.errors import ModelError, Problem, did_you_mean, show
from pliant.formulations.method import FOR_STUDY, NO_METHODS
from pliant.formulations.method import METHODS as DYNAMICS
from pliant.loads.commands import AnyCommand, LengthControl, command_signal
from pliant.loads.disturbance import Disturbance
from pliant.loads.load_kinds import AnyLoad
from pliant.loads.stops import Stops
from pliant.mechanism import assemble
from pliant.model.description.robot import Robot
from pliant.model.element import Element, Frozen, FrozenDict, Text, Title, at, of_value, path_text, refuse
from pliant.model.readers.library import Document, load, read_document, robots
from pliant.model.readers.robot_schema import DIALECT, json_schema, without_titles
from pliant.model.readers.yaml_data import Content, line_at
from pliant.model.units import NON_NEGATIVE, POSITIVE, Quantity
from pliant.simulation.integrators.integrator import SMALLEST_STEP
from pliant.simulation.monitoring.events import Event, read_quantity
from pliant.simulation.outputs import NAMES_SCHEMA, Outputs, as_channels, strain_problems
from pliant.simulation.start import Start
from pliant.trajectories.cartesian import Circle, Line
from pliant.trajectories.joint_moves import Duration
from pliant.trajectories.per_joint import (
    JointMap,
    entries_of,
    frame_problem,
    joint_problems,
    parts_of,
    undriven,
    unknown_joint,
)
from pliant.trajectories.signals import parse_signal

METHODS = ("auto", *STEPPERS, "sundials")
SCIPY_METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
Tolerances = Annotated[float, Quantity("", POSITIVE)]
DEFAULT_TOLERANCE = 1e-8
DEFAULT_SAMPLES = 1000
MOST_SAMPLES = 10_000_000
FINEST, COARSEST = 1e-13, 1e-1
"""Relative errors that a step can be held to: above the rounding of some hundred operations, and still an error."""
GROUPS = ("joints", "elastic")
OF_LAWS = ("drive.", "load.")
"""Beginnings of the names of states of drives and loads."""
SHOWN_NAMES = 8


class IntegratorOptions(Element):
    """How the equations of motion are integrated."""

    method: str = Field(
        default="auto",
        description=f"{', '.join(METHODS)}, or scipy:NAME",
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
        known = [*dict.fromkeys((*METHODS, *STEPPERS)), *(f"scipy:{name}" for name in SCIPY_METHODS)]
        if self.method not in known:
            hint = did_you_mean(self.method, known) or f"; known methods: {', '.join(known)}"
            refuse([of_value("method", message=f"is {show(self.method)}, which is not known{hint}")])
        if not FINEST <= self.tolerance <= COARSEST:
            refuse([of_value("tolerance", message=f"is {self.tolerance:g}; it must be {FINEST:g} to {COARSEST:g}")])
        if self.radius > 1:
            refuse([of_value("radius", message=f"is {self.radius:g}; it must not exceed 1")])
        return self


def _loaded(name: str | os.PathLike[str]) -> Robot:
    try:
        return load(name)
    except ModelError as error:
        refuse(of_value("robot", message=f"is {show(str(name))}; {problem}") for problem in error.problems)
        raise


def _read_robot(value: Any) -> Any:
    """A robot as it is, or written out as a mapping."""
    if isinstance(value, Mapping):
        return Robot.model_validate(dict(value), context={"units": True})
    if not isinstance(value, Robot):
        hint = "pliant.load reads one" if isinstance(value, str) else "pliant.load and pliant.Robot make one"
        words = "is {given}; it must be a robot, or a mapping of its keys: {hint}"
        raise PydanticCustomError("value", words, {"given": show(value), "hint": hint})
    return value


def _robot_name(robot: Robot) -> str:
    return robot.name


@dataclass(frozen=True, slots=True)
class _Origin:
    """The file of a study; studies are equal wherever they were read."""

    document: Document | None = field(default=None, compare=False)


class Study(Element):
    """A robot, its start, what moves it, how it is integrated and what is kept."""

    name: Title = Field(default="run", description="name of the study")
    description: Text = Field(default="", description="what it shows")
    robot: Annotated[InstanceOf[Robot], BeforeValidator(_read_robot), PlainSerializer(_robot_name)] = Field(
        description="name of a bundled robot, path of a robot file, or a robot written out"
    )
    until: Duration = Field(description="end of the simulated time")
    start: Start = Field(default_factory=lambda: Start(), description="the first state")
    drive: AnyDrive | None = Field(default=None, description="what moves the joints; default: motors off")
    disturbances: tuple[Disturbance, ...] = Field(default=(), description="forces from elsewhere")
    loads: tuple[AnyLoad, ...] = Field(default=(), description="contacts, and further kinds of forces")
    commands: Annotated[dict[str, AnyCommand], Frozen] = Field(
        default_factory=FrozenDict,
        description="what commands the actuators of the robot, by name: signals of time, or controllers of lengths",
    )
    limits: Literal["ignore", "warn", "stop"] = Field(
        default="warn", description="what happens when a joint passes its limits"
    )
    stops: Stops | None = Field(default=None, description="elastic stops at the position limits")
    events: tuple[Event, ...] = Field(default=(), description="thresholds that stop the run or are recorded")
    integrator: IntegratorOptions = Field(
        default_factory=lambda: IntegratorOptions(), description="method, tolerances and steps"
    )
    outputs: Annotated[Outputs, BeforeValidator(as_channels)] = Field(
        default_factory=lambda: Outputs(), description="what the result holds; names alone: its channels"
    )
    dynamics: str = Field(
        default="recursive",
        description="what computes the equations of motion: recursive, or another method such as dual_screw",
    )
    compile: StrictBool = Field(default=True, description="machine code; false: plain NumPy, slower")
    _origin: _Origin = PrivateAttr(default=_Origin())

    @model_validator(mode="wrap")
    @classmethod
    def _with_robot(cls, data: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Self:
        if isinstance(data, dict) and isinstance(data.get("robot"), str | os.PathLike):
            data = {**data, "robot": _loaded(data["robot"])}
        robot = data.get("robot") if isinstance(data, dict) else None
        # numbers of a sliding joint are lengths and forces
        if isinstance(info.context, dict) and isinstance(robot, Robot):
            info.context["lengths"] = [str(link.joint.name) for link in robot.links if link.joint.mechanics.slides()]
        study: Self = handler(data)
        refuse([*study._problems()])
        return study

    def _problems(self) -> Iterator[InitErrorDetails]:
        """What does not fit the robot or the time."""
        robot = self.robot
        known = (*DYNAMICS, *FOR_STUDY)
        if self.dynamics in NO_METHODS:
            yield of_value("dynamics", message=f": {NO_METHODS[self.dynamics]}")
        elif self.dynamics not in known:
            hint = did_you_mean(self.dynamics, known) or f"; known methods: {', '.join(DYNAMICS)}"
            yield of_value("dynamics", message=f"is {show(self.dynamics)}, which is not known{hint}")
        inputs = [str(link.joint.name) for link in robot.links if link.joint.actuated]
        if self.drive is not None:
            yield from joint_problems(self.drive, ("drive",), inputs, undriven=undriven(robot))
            yield from _drive_problems(robot, self.drive, inputs, self.until)
        yield from joint_problems(self.start, ("start",), inputs, robot.joint_coordinates, "joint coordinate")
        for i, name in enumerate(self.outputs.frames):
            yield from _frame_problems(robot, name, ("outputs", "frames", i))
        for i, force in enumerate(self.disturbances):
            if force.frame is not None:
                yield from _frame_problems(robot, force.frame, ("disturbances", i, "frame"))
            window = (force.start, self.until if force.end is None else min(force.end, self.until))
            for place, value in entries_of(force, ("disturbances", i)):
                yield from _signal_problems(value, place, window)
        for i, point in enumerate(self.outputs.strains):
            yield from strain_problems(robot, point, ("outputs", "strains", i))
        yield from self._command_problems()
        yield from self._coordinate_problems()
        yield from self._time_problems()

    def _command_problems(self) -> Iterator[InitErrorDetails]:
        """Commands of what is not there, takes none, or has no such unit."""
        known = {each.name: each.pushes.command for each in self.robot.actuators}
        for name, given in self.commands.items():
            place = ("commands", name)
            if name not in known:
                hint = did_you_mean(name, known) or (f"; it has {', '.join(known)}" if known else ": it has none")
                yield at(*place, message=f"the robot has no actuator '{name}'{hint}")
            elif (word := known[name]) is None:
                yield at(*place, message=f"nothing commands actuator '{name}'; leave it out")
            elif isinstance(given, LengthControl):
                for key in ("length", "ahead"):
                    yield from _signal_problems(getattr(given, key), (*place, key), (0.0, self.until))
            else:
                try:
                    read = command_signal(given, word.unit)
                except PydanticCustomError as error:
                    yield of_value(*place, message=f"{error.message()} ({word.meaning})")
                    continue
                yield from _signal_problems(read, place, (0.0, self.until))

    def _coordinate_problems(self) -> Iterator[InitErrorDetails]:
        """Names and numbers of all coordinates, those of the links included, which are known when the links are."""
        joints = [(i, force.joint) for i, force in enumerate(self.disturbances) if force.joint is not None]
        whole = [(key, values) for key in ("q", "v") if (values := getattr(self.start, key)) is not None]
        # states of drives and loads are known when these meet the robot
        named = (*(x.name for x in self.robot.actuators), *(x.name for x in self.robot.supplies))
        own = tuple(f"{name}." for name in named)
        groups = (group for group in self.integrator.groups if group not in GROUPS)
        patterns = [group for group in groups if not _may_name_states(group, (*OF_LAWS, *own))]
        if not (joints or whole or patterns or self.events):
            return
        try:
            names = assemble(self.robot).coordinates
        except ModelError as error:
            yield at("robot", message=str(error))
            return
        for i, name in joints:
            if name not in names:
                yield at("disturbances", i, "joint", message=unknown_joint(name, names, "coordinate"))
        for key, values in whole:
            if len(values) != len(names):
                message = f"is a list of {len(values)}; the robot has {len(names)} coordinates: {', '.join(names)}"
                yield of_value("start", key, message=message)
        for group in patterns:
            if not any(fnmatchcase(name, group) for name in names):
                yield at("integrator", "groups", group, message=f"no coordinate has such a name; {_some(names)}")
        for i, event in enumerate(self.events):
            try:
                read_quantity(event.quantity, self.robot, names)
            except ModelError as error:
                yield of_value("events", i, "quantity", message=str(error))

    def _time_problems(self) -> Iterator[InitErrorDetails]:
        """Steps that would vanish in the rounding of the time, samples that would fill the memory."""
        smallest = SMALLEST_STEP * float(np.spacing(self.until))
        for key in ("step", "max_step"):
            value = getattr(self.integrator, key)
            if value is not None and value < smallest:
                why = (
                    f"is {value:g} s; steps below {smallest:.1g} s vanish in the rounding of a time of {self.until:g} s"
                )
                yield of_value("integrator", key, message=why)
        samples = self.until / self.sample_step
        if samples > MOST_SAMPLES:
            why = f"is {self.sample_step:g} s, which makes {samples:.2g} samples; at most {MOST_SAMPLES:.0e} are kept"
            yield of_value("outputs", "step", message=why)

    @contextmanager
    def placed(self, *path: int | str) -> Iterator[None]:
        """Problems that show only when a part meets the robot name the line where the part stands."""
        try:
            yield
        except ModelError as error:
            raise ModelError(self._located(problem, path) for problem in error.problems) from None

    def _located(self, problem: Problem, path: tuple[int | str, ...]) -> Problem:
        if problem.file is not None:
            return problem
        document = self._origin.document
        # a drive has its own key below `drive`
        kind = (self.drive.kind,) if path == ("drive",) and self.drive is not None else ()
        whole = (*path, *kind, *problem.path)
        line = line_at(document.data, whole) if document is not None and whole else None
        message = ": ".join(part for part in (path_text(whole), problem.element, problem.message) if part)
        return Problem(f"Study '{self.name}'", message, document.file if document is not None else None, line)

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


def _drive_problems(robot: Robot, drive: Drive, inputs: Sequence[str], until: float) -> Iterator[InitErrorDetails]:
    """Frames that trajectories move, expressions, and the width of tables."""
    for part, place in parts_of(drive, ("drive",)):
        if isinstance(part, Line | Circle):
            yield from _frame_problems(robot, part.frame, (*place, "frame"))
        if isinstance(part, GivenTorque) and isinstance(part.joints, JointMap):
            for name, value in part.joints.items():
                yield from _signal_problems(value, (*place, "joints", name), (0.0, until))
        if isinstance(part, GivenTorque) and part.torque and len(part.torque[0]) != len(inputs):
            message = f"has {len(part.torque[0])} columns; it must have one for each input: {', '.join(inputs)}"
            yield of_value(*place, "torque", message=message)


def _frame_problems(robot: Robot, name: str, place: tuple[Any, ...]) -> Iterator[InitErrorDetails]:
    wrong = frame_problem(robot, name)
    if wrong:
        yield of_value(*place, message=f"is {show(name)}; {wrong}")


def _signal_problems(value: Any, place: tuple[Any, ...], window: tuple[float, float]) -> Iterator[InitErrorDetails]:
    """An expression must have a value where its time begins and ends."""
    if not isinstance(value, str) or place[-1] in ("frame", "joint"):
        return
    try:
        for t in window:
            parse_signal(value)(t)
    except ModelError as error:
        yield at(*place, message=str(error))


def _may_name_states(pattern: str, begins: Sequence[str]) -> bool:
    """Whether a pattern of names may mean states of the drive, of loads or of actuators."""
    plain = re.split(r"[*?\[]", pattern)[0]
    return any(plain.startswith(begin) or (plain != pattern and begin.startswith(plain)) for begin in begins)


def _some(names: Sequence[str]) -> str:
    return f"it has {', '.join(names[:SHOWN_NAMES])}{', ...' if len(names) > SHOWN_NAMES else ''}"


def round_step(largest: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is not longer."""
    from math import floor, log10

    decade: float = 10.0 ** floor(log10(largest) + 1e-9)
    return max(k * decade for k in (1, 2, 5) if k * decade <= largest * (1 + 1e-9))


# ---------------------------------------------------------------- files

CONTENT = Content("study", ("robot", "until"))
FOLDER = Path(__file__).resolve().parent.parent / "studies"


def bundled_studies() -> list[tuple[str, str]]:
    """The studies that come with the package: name and description."""
    found = []
    for file in _study_files():
        lines = file.read_text(encoding="utf-8").splitlines()
        text = next((line.partition(":")[2].strip() for line in lines if line.startswith("description:")), "")
        found.append((file.stem, text))
    return found


def _study_files() -> list[Path]:
    return sorted(FOLDER.glob("*.yaml"))


def find_study(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a bundled study or of a path; raises ModelError."""
    text = os.fspath(name_or_path)
    names = [file.stem for file in _study_files()]
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
    name_or_path: str | os.PathLike[str], *, python: bool = False, changes: dict[str, Any] | None = None
) -> Study:
    """Read a study; all its problems come in one ModelError with their lines.

    name_or_path  a bundled study, or a file
    python        whether Python code that the study names may run
    changes       keys of the study that are replaced, such as {"until": 5}
    """
    return _read(name_or_path, python=python, changes=changes)


def unrun_study(name_or_path: str | os.PathLike[str]) -> Study:
    """A study to look at: Python code that it names is never run, and a drive made of such code gives no effort."""
    return _read(name_or_path, python=None)


def _read(name_or_path: str | os.PathLike[str], *, python: bool | None, changes: dict[str, Any] | None = None) -> Study:
    path = find_study(name_or_path)
    document = _kept(path, path.stat().st_mtime_ns) if path.parent == FOLDER else read_document(path, CONTENT)
    return study_from(document, str(path.parent), python=python, changes=changes)


@lru_cache(maxsize=64)
def _kept(path: Path, changed: int) -> Document:
    """A study that comes with the package, read once until its file changes."""
    return read_document(path, CONTENT)


def study_from(
    document: Document, folder: str, *, python: bool | None = False, changes: dict[str, Any] | None = None
) -> Study:
    """The study in a document whose files stand in a folder.

    python  whether Python code that the study names may run; None: it is looked at, never run
    """

    def prepare(data: Any) -> Any:
        data = data.copy()
        for key, value in (changes or {}).items():
            before = data.get(key, {})
            if key == "outputs":
                before = as_channels(before)
            # what is no mapping is refused with its line
            if isinstance(value, dict):
                value = {**before, **value} if isinstance(before, dict) else before
            data[key] = value
        if "name" not in data:
            data["name"] = Path(document.file).stem
        data["robot"] = _robot(data.get("robot"), folder, document)
        return data

    study = document.build(Study, prepare, context={"folder": folder, "python": python})
    study._origin = _Origin(document)
    return study


def _robot(given: Any, folder: str, document: Document) -> Any:
    """The robot by name, by a path relative to the study, or written out in the study."""
    if isinstance(given, Robot):
        return given
    if isinstance(given, str):
        beside = os.path.join(folder, given)
        try:
            return load(beside if os.path.isfile(beside) else given)
        except ModelError as error:
            # what is wrong in the robot's own file has a line there
            line = line_at(document.data, ("robot",))
            raise ModelError(
                p if p.line else Problem("Study", f"robot is {show(given)}; {p.message}", document.file, line)
                for p in error.problems
            ) from None
    if isinstance(given, dict):
        from pliant.model.readers.library import imported

        inner = Document(document.file, given)
        return inner.build(Robot, lambda data: imported(data, folder))
    line = line_at(document.data, ("robot",)) if given is not None else 1
    what = "key 'robot' is missing" if given is None else f"robot is {show(given)}"
    message = f"{what}; it must be the name of a bundled robot, the path of a robot file, or a robot written out"
    if given is None and "links" in document.data:
        message = f"this is a robot; a study names it, like this: robot: {Path(document.file).name}, until: 5 s"
    raise ModelError(Problem("Study", message, document.file, line))


YAML_ENDINGS = (".yaml", ".yml")
FileKind = Literal["robot", "study", "overlay", "other"]


def file_kind(file: str) -> FileKind:
    """By the outermost keys of a file; bundled robots come before bundled studies."""
    if file in dict(robots()):
        return "robot"
    if file in dict(bundled_studies()):
        return "study"
    if Path(file).suffix.lower() not in YAML_ENDINGS:
        return "robot"
    try:
        data = read_document(file).data
    except ModelError:
        return "robot"  # its reader says what is wrong
    return _kind_of(data)


def _kind_of(data: Any) -> FileKind:
    if not isinstance(data, dict):
        return "robot"
    if "robot" in data or ("until" in data and "links" not in data):
        return "study"
    if isinstance(data.get("links"), dict) and not {"urdf", "dh"} & data.keys():
        return "overlay"
    known = {*Robot.model_fields, *Study.model_fields, "urdf", "dh"}
    return "robot" if known & data.keys() else "other"


def study_schema() -> dict[str, Any]:
    """The schema of a study file; its robot is a name, a path or a robot written out."""
    schema = Study.model_json_schema(mode="validation")
    without_titles(schema)
    robot = json_schema()
    definitions = {**schema["$defs"], **robot.pop("$defs")}
    definitions.pop("Robot", None)
    del robot["$schema"]
    given = schema["properties"]["robot"].get("description", "")
    schema["properties"]["robot"] = {"description": given, "anyOf": [{"type": "string"}, robot]}
    outputs = schema["properties"]["outputs"]
    forms = [*NAMES_SCHEMA, {"$ref": outputs.pop("$ref")}]
    schema["properties"]["outputs"] = {"anyOf": forms, **outputs}
    # the name is that of the file where it is not given
    return {"$schema": DIALECT, "title": "Pliant study", **schema, "$defs": definitions}
