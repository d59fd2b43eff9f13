"""What a file describes: a robot, a study, or changes to a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pliant.errors import ModelError
from pliant.model.description.robot import Robot
from pliant.model.readers.library import robots
from pliant.model.readers.yaml_file import read_document
from pliant.simulation.study import Study, bundled_studies

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
