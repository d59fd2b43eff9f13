"""``pliant show``, ``robots`` and ``schema``: a robot in tables, those of the package, schemas of files for editors."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby
from math import pi
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.terminal import ForceOption, RobotArgument, check_picture, emit, number, plain, refuse, table
from pliant.pictures.picture_words import counted

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.tree import Tree

    from pliant.bodies.words import BodyWords
    from pliant.model.description.joints import Joint, Loop, Mimic
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

SHOWN_FREQUENCIES = 4


def show(
    robot: RobotArgument,
    plot: Annotated[Path | None, typer.Option(help="Draw the robot into this PNG, SVG or PDF file.")] = None,
    force: ForceOption = False,
    pose: Annotated[
        str | None, typer.Option(help="Another reference pose, such as 'shoulder = 30 deg, elbow = -60 deg'.")
    ] = None,
) -> None:
    """Links and joints, coordinates, masses, sections and frequencies of a robot; a drawing with --plot."""
    import pliant

    check_picture(plot)
    loaded = pliant.load(robot)
    if pose is not None:
        loaded = _posed(loaded, pose)
    parts: list[RenderableType] = [_heading(loaded), _tree(loaded), _links(loaded)]
    parts.extend(_tables(loaded))
    parts.append(_coordinates(loaded))
    parts.extend(_loop(loop) for loop in loaded.loops)
    emit(*parts)
    if plot is not None:
        from pliant.pictures.drawing import draw_robot

        draw_robot(loaded, plot)
        typer.echo(f"\ndrawn in {plot}")


def _posed(robot: Robot, text: str) -> Robot:
    """The robot in another reference pose, read like the one in a file."""
    from pliant.model.description.robot import Robot
    from pliant.model.readers.library import Document

    pose = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            refuse(f"--pose {text!r}: write it as 'joint = value, joint = value'")
        pose[name.strip()] = value.strip()
    return Document("--pose", {**robot.given(), "pose": pose}).build(Robot)


def _heading(robot: Robot) -> str:
    g = robot.gravity
    gravity = f"gravity ({', '.join(number(x) for x in g)}) m/s²" if any(g) else "no gravity"
    lines = [f"[bold]{plain(robot.name)}[/]{plain(f': {robot.description}' if robot.description else '')}"]
    if robot.source:
        lines.append(f"source: {plain(robot.source)}")
    links, rotations = counted(len(robot.links), "link"), f"{robot.attachment_rotation} rotations"
    tip = f", tip {robot.tip}" if robot.tip is not None else ""
    lines.append(f"{links}, {number(robot.mass)} kg, {gravity}, {rotations}{tip}")
    if robot.damping is not None and robot.damping.ratio:
        lines.append(_whole_damping(robot))
    return "\n".join(lines)


def _whole_damping(robot: Robot) -> str:
    """What the modes of the whole robot have."""
    from pliant.formulations.robot_damping import obtained

    omega, ratios = obtained(robot)
    hertz = f"{number(float(omega[0]) / (2 * pi))} to {number(float(omega[-1]) / (2 * pi))} Hz"
    where = "straight, without gravity, its motors held"
    return f"damping: {_span(100 * ratios)} % in the {len(omega)} modes of the whole robot ({hertz}; {where})"


def _tree(robot: Robot) -> Tree:
    from rich.tree import Tree

    root = Tree("base")
    branches = {"base": root}
    for link in robot.links:
        parent, frame = robot.parent_of(link.name)
        at = "" if frame == "tip" or parent == "base" else f" at {frame}"
        text = f"[bold]{link.name}[/] on {_joint(link.joint)}{at}"
        branches[link.name] = branches[parent].add(text)
    return root


def _joint(joint: Joint) -> str:
    if not joint.coordinates:
        return "a fixed joint"
    if not joint.mechanics.has_axis():
        acting = [key for key in ("friction", "spring") if getattr(joint, key) is not None]
        return f"[bold]{joint.name}[/] ({', '.join([joint.type, *acting])})"
    axis = joint.axis if isinstance(joint.axis, str) else "(" + ", ".join(number(x, 3) for x in joint.axis) + ")"
    extras = [key for key in ("motor", "friction", "spring", "limits") if getattr(joint, key) is not None]
    drive = [] if joint.actuated else [_followed(joint.mimic) if joint.mimic is not None else "passive"]
    return f"[bold]{joint.name}[/] ({', '.join([f'{joint.type} {axis}', *drive, *extras])})"


def _followed(mimic: Mimic) -> str:
    return f"follows {mimic.joint}" + (f" by a gear {mimic.gear}" if mimic.gear is not None else "")


def _links(robot: Robot) -> Table:
    from pliant.bodies.words import words_of

    rows = table("link", "kind", "length m", "mass kg", "centre of mass m", "hub kg", "payload kg", words=2)
    for link in robot.links:
        words = words_of(link, robot)
        rows.add_row(
            link.name,
            words.summary(),
            number(link.length) if link.length else "",
            number(link.body.mass) if link.body is not None else "",
            _centre(words),
            number(link.hub.mass) if link.hub else "",
            " + ".join(number(payload.mass) for payload in link.payloads),
        )
    return rows


def _centre(words: BodyWords) -> str:
    mass, first = words.centre()
    return ", ".join(number(x / mass, 3) for x in first) if mass else ""


def _tables(robot: Robot) -> Iterator[RenderableType]:
    """A table for every kind of body that has one, with a row for each link, and notes below it."""
    from pliant.bodies.words import words_of

    found = [(link, row) for link in robot.links if (row := words_of(link, robot).table_row()) is not None]
    for title in dict.fromkeys(row.title for _, row in found):
        own = [(link, row) for link, row in found if row.title == title]
        rows = table(title, *own[0][1].columns, "damping %", words=2)
        for link, row in own:
            text = "".join(part if isinstance(part, str) else number(part) for part in row.text)
            rows.add_row(link.name, text, *map(number, row.numbers), _damping(link, robot))
        yield rows
        yield from dict.fromkeys(row.note for _, row in own if row.note)


def _damping(link: Link, robot: Robot) -> str:
    """What the modes of the loaded link have, from the least to the most."""
    from pliant.bodies.build import damping_ratios

    found = 100 * damping_ratios(link, robot)
    if not len(found) or not found.any():
        return ""
    return _span(found)


def _span(values: Any) -> str:
    least, most = (number(float(x), 3) for x in (values.min(), values.max()))
    return least if least == most else f"{least} to {most}"


def _coordinates(robot: Robot) -> Table:
    """Every coordinate with its place; a family of elastic ones in one row, with the frequencies."""
    from pliant.bodies.families import family_word
    from pliant.bodies.words import link_modes

    rows = table("#", "coordinate", "is", "reference pose, or frequencies of the single link", words=4)
    index = 0
    for link in robot.links:
        for name in link.joint.coordinates:
            rows.add_row(str(index), f"[bold]{name}[/]", link.joint.type, _reference(link.joint, name, robot))
            index += 1
        for family, group in groupby(link_modes(link, robot), key=lambda mode: mode.family):
            modes = list(group)
            place, text = str(index), f"{link.name}.{modes[0].name}"
            if len(modes) > 1:
                place += f"-{index + len(modes) - 1}"
                text += f" ... {modes[-1].name.removeprefix(family)}"
            found = ", ".join(number(mode.frequency) for mode in modes[:SHOWN_FREQUENCIES])
            more = ", ..." if len(modes) > SHOWN_FREQUENCIES else ""
            rows.add_row(place, text, family_word(family), f"{found}{more} Hz ({modes[0].support})")
            index += len(modes)
    return rows


def _reference(joint: Joint, name: str, robot: Robot) -> str:
    from math import degrees

    value = robot.reference_coordinates()[name]
    return f"{number(value)} m" if joint.units[name] == "m" else f"{number(degrees(value))} deg"


def _loop(loop: Loop) -> str:
    plane = f", in the plane {loop.planar}" if loop.planar else ""
    return f"loop [bold]{loop.name}[/]: {loop.type} of {loop.frames[0]} and {loop.frames[1]}{plane}"


# ---- robots


def robots() -> None:
    """List the bundled robots; their names work wherever a file does."""
    import pliant
    from pliant.cli.terminal import emit, plain, table

    rows = table("robot", "description", words=2)
    for name, description in pliant.robots():
        rows.add_row(f"[bold]{plain(name)}[/]", plain(description))
    emit(rows)


# ---- schema


class Kind(StrEnum):
    """What a file describes."""

    ROBOT = "robot"
    STUDY = "study"


def schema(
    kind: Annotated[Kind, typer.Argument(metavar="[robot|study]", help="Which files: robots or studies.")] = Kind.ROBOT,
) -> None:
    """Print the JSON schema of robot or study files, with which editors complete and check them."""
    import json

    if kind is Kind.STUDY:
        from pliant.simulation.study import study_schema

        found = study_schema()
    else:
        from pliant.model.readers.robot_schema import json_schema

        found = json_schema()
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
