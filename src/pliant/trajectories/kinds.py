"""All trajectories, and how files write them."""

from __future__ import annotations

from typing import Annotated

from pliant.model.tagged import OneOf
from pliant.trajectories.path import Trajectory
from pliant.trajectories.shaped import MOTIONS, Shaped

AnyTrajectory = Annotated[Trajectory, OneOf("trajectory", *MOTIONS, Shaped)]
