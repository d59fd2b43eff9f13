"""Joint positions from a CSV file, such as those that an inverse dynamics wrote."""

from __future__ import annotations

import os

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from pliant.model.errors import show
from pliant.simulation.tables import read_table
from pliant.simulation.trajectories.joint_moves import SmoothPath, spline_path
from pliant.simulation.trajectories.path import Floats, Path, Surroundings, Trajectory


class Tabulated(Trajectory):
    """Positions over time, joined by quintic splines that begin and end at rest."""

    kind = "table"
    file: str = Field(description="CSV file with a column 't' and one per joint; joints without one stay")

    @field_validator("file")
    @classmethod
    def _beside_the_study(cls, value: str, info: ValidationInfo) -> str:
        folder = info.context.get("folder", "") if isinstance(info.context, dict) else ""
        path = os.path.join(folder, value)
        if not os.path.isfile(path):
            raise PydanticCustomError("value", "is {given}; there is no such file", {"given": show(value)})
        return path

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        times, rows, known = read_table(self.file, around.inputs, "motions")
        q = np.where(known, rows, q0)
        return SmoothPath(*spline_path(times + t0, q, "quintic"))
