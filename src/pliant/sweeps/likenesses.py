"""One structure for all robots of a sweep: numbers that happen to be equal, or one, need no code of their own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

from pliant.dynamics import Dynamics
from pliant.engine.trace.known_patterns import KnownPattern, ZerosKey, one_structure
from pliant.errors import ModelError
from pliant.model.description.rigid_twin import rigid_twin
from pliant.model.description.robot import Robot
from pliant.sweeps.flock import likeness, likeness_of_frames

if TYPE_CHECKING:
    from pliant.sweeps.work import SweepJob

ODD = 1.01371
"""What round numbers are multiplied with, to be equal to no others."""

_last: tuple[ReferenceType[SweepJob], dict[ZerosKey, KnownPattern]] | None = None


def general_structures(job: SweepJob, case: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Inside, robots of a job have the most general structures that its robots had before.

    The first is that of a case with odd numbers: a sweep may begin with round ones.
    """
    global _last
    if _last is None or _last[0]() is not job:
        patterns: dict[ZerosKey, KnownPattern] = {}
        # odd numbers may be beyond some bound; then the structures are those of the cases as they come
        with one_structure(patterns), suppress(ModelError, ValueError, ArithmeticError):
            subject = job.changed({place: _odd(value) for place, value in case.items()})
            robot = subject if isinstance(subject, Robot) else subject.robot
            for each in (robot, rigid_twin(robot)):
                arm = Dynamics(each)
                likeness(arm), likeness_of_frames(arm)
        _last = ref(job), patterns
    return one_structure(_last[1])


def _odd(value: Any) -> Any:
    return value * ODD if isinstance(value, float) else value
