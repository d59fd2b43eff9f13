"""Files that a study names: they stand beside the study."""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from pliant.model.errors import show


def _beside(value: str, info: ValidationInfo) -> str:
    folder = info.context.get("folder", "") if isinstance(info.context, dict) else ""
    path = os.path.join(folder, value)
    if not os.path.isfile(path):
        raise PydanticCustomError("value", "is {given}; there is no such file", {"given": show(value)})
    return path


StudyFile = Annotated[str, AfterValidator(_beside)]
"""The path of a file, from the folder of the study."""
