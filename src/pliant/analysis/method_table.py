"""Which methods take a robot, and why others do not: one table for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.errors import ModelError
from pliant.formulations.method import FOR_STUDY, METHODS, method_class
from pliant.formulations.robot_damping import damped
from pliant.mechanism import assemble

if TYPE_CHECKING:
    from pliant.model import Robot


class MethodAnswer(NamedTuple):
    """What a method says to a robot.

    name    of the method
    about   what it is, in a line
    takes   whether it computes this robot
    error   "exact" for the model, or its order in the elastic coordinates
    reason  why it does not, and what does; empty where it does
    """

    name: str
    about: str
    takes: bool
    error: str
    reason: str


LUMPED = "nodes along links about a nominal motion, for motions and paths (pliant elastic, pliant inverse)"


def method_table(robot: Robot | str) -> list[MethodAnswer]:
    """Every method with what it says to a robot: takes it, how exactly, or why not.

    robot  a Robot, or the name or path of one
    """
    from pliant.model.readers.library import load

    loaded = load(robot) if isinstance(robot, str) else robot
    # the methods look at the mechanism; damping that needs a method of its own is no reason for any of them
    try:
        mechanism = damped(loaded)
    except ModelError:
        mechanism = assemble(loaded)
    out = []
    for name in (*METHODS, *FOR_STUDY):
        made = method_class(name)
        refused = made.takes(mechanism)
        error = "exact" if made.order is None else f"order {made.order + 1} in the bending"
        if not any(member.body.size for member in mechanism.members):
            error = "exact"
        about = (made.__doc__ or "").strip().splitlines()[0].rstrip(".")
        out.append(MethodAnswer(name, about, refused is None, error, "" if refused is None else refused.reason))
    try:
        LumpedModel(loaded)
        reason = ""
    except ModelError as problem:
        reason = str(problem)
    except ValueError as problem:
        reason = str(problem)
    out.append(MethodAnswer("lumped_fe", LUMPED, not reason, "order 2 in the elements", reason))
    return out
