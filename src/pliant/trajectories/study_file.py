"""Files that a study names: they stand beside the study."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from pliant.errors import show
from pliant.files import no_file


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
