"""Files that a study names: they stand beside the study."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from pliant.errors import show
from pliant.files import no_file
from pliant.model.element import Element
from pliant.trajectories.per_joint import parts_of


def _beside(value: str, info: ValidationInfo) -> str:
    folder = info.context.get("folder", "") if isinstance(info.context, dict) else ""
    path = os.path.join(folder, value)
    require_file(path, value)
    return path


def require_file(path: str, given: str) -> None:
    """Refuse what cannot be read as a file."""
    wrong = no_file(path)
    if wrong:
        raise PydanticCustomError("value", "is {given}; {wrong}", {"given": show(given), "wrong": wrong})


StudyFile = Annotated[str, AfterValidator(_beside)]
"""The path of a file, from the folder of the study."""


def file_digests(drive: Element | None) -> dict[str, str]:
    """Names of the files of a study's drive and its parts (their ``files``), and digests of what is in them."""
    found: dict[str, str] = {}
    for part, _ in () if drive is None else parts_of(drive, ()):
        for file in getattr(part, "files", ()):
            content = hashlib.sha256(Path(file).read_bytes()).hexdigest()
            found[Path(file).name] = found.get(Path(file).name, "") + content
    return found
