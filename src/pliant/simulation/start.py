"""Where a simulation begins: joint positions and rates, and the shape of the links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from pliant.analysis.equilibrium import NoEquilibriumError
from pliant.analysis.equilibrium import equilibrium as rest
from pliant.dynamics import Dynamics
from pliant.formulations.loops.errors import LoopError
from pliant.formulations.loops.selection import RANK
from pliant.model.element import Element
from pliant.model.errors import ModelError, Problem
from pliant.model.units import Number
from pliant.simulation.per_joint import Coordinates, Speeds

if TYPE_CHECKING:
    from pliant.formulations.loops.loops import Loops

Floats = NDArray[np.float64]

NEARLY = 1e-6
"""Scaled gap and rate up to which a given state counts as closed; it is then put onto the loops."""


class Start(Element):
    """The first state of a run."""

    position: Coordinates | None = Field(
        default=None, description="joint positions by name; the others are those of the robot's pose"
    )
    velocity: Speeds | None = Field(default=None, description="joint rates by name; the others are zero")
    links: Literal["straight", "equilibrium"] = Field(
        default="straight", description="shape of the links: straight, or bent as gravity and springs bend them at rest"
    )
    q: tuple[Number, ...] | None = Field(default=None, description="all coordinates, instead of position and links")
    v: tuple[Number, ...] | None = Field(default=None, description="all rates, instead of velocity")

    @field_validator("q", "v", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    def state(self, arm: Dynamics) -> tuple[Floats, Floats]:
        """q and v (n,) of a robot, with closed loops."""
        q = arm.reference_pose()
        v = np.zeros(arm.size)
        placed, moved = _fill(q, self.position, arm), _fill(v, self.velocity, arm)
        if self.q is not None:
            q = np.array(self.q)
        elif arm.loops is not None:
            q = _assembled(arm.loops, q, placed)
        if self.q is None and self.links == "equilibrium":
            q = equilibrium(arm, q)
        if self.v is not None:
            v = np.array(self.v)
        elif arm.loops is not None and moved:
            v = _following(arm.loops, q, v, moved)
        return (q, v) if arm.loops is None else _checked(arm.loops, q, v)


def _fill(target: Floats, given: Any, arm: Dynamics) -> list[str]:
    """Put values into a vector; the names of those that were given."""
    if isinstance(given, tuple):
        given = dict(zip(arm.inputs, given, strict=True))
    for name, value in (given or {}).items():
        target[arm.names.index(name)] = value
    return list(given or {})


# ---------------------------------------------------------------- closed loops


def _assembled(loops: Loops, q: Floats, placed: list[str]) -> Floats:
    """Close the loops from q: what is given stays, the drives stay if they can, links stay straight."""
    inputs = loops.arm.inputs
    # joints that were given may be those that the drives have to follow
    ways = [list(dict.fromkeys([*placed, *inputs])), *([placed] if set(placed) - set(inputs) else [])]
    for hold in ways:
        try:
            return loops.assemble(q, hold=hold)
        except LoopError as error:
            message = str(error).partition("; free them")[0]
    raise ModelError(f"{message}; give others, or fewer, and the rest is assembled")


def _following(loops: Loops, q: Floats, v: Floats, moved: list[str]) -> Floats:
    """Rates of the other joints that the given ones ask for; drives that were not given rest if they can."""
    c, names = loops.constraints, loops.arm.names
    J = c.scaled(q)
    joints = [k for k in loops.arm.tree.joints.tolist() if names[k] not in moved]
    passive = [k for k in joints if names[k] not in loops.arm.inputs]
    for free in (passive, joints):
        change = np.linalg.lstsq(J[:, free], -J @ (v / c.column_scale), rcond=RANK)[0]
        out = v.copy()
        out[free] += change * c.column_scale[free]
        if _slips(loops, q, out) is None:
            break
    return out


def _slips(loops: Loops, q: Floats, v: Floats) -> str | None:
    """The loop that rates would open, if there is one."""
    c = loops.constraints
    rate = np.abs(loops.rates(q, v)) / c.row_scale
    size = float(np.abs(v / c.column_scale).max(initial=0.0))
    worst = int(np.argmax(rate)) if len(rate) else 0
    return c.loop_of[worst] if len(rate) and rate[worst] > NEARLY * max(size, 1.0) else None


def _checked(loops: Loops, q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """The state put exactly onto the loops, unless it is too far from them."""
    c = loops.constraints
    for name, (distance, angle) in c.open_by(q).items():
        if max(distance / c.size, angle) > NEARLY:
            message = f"it leaves loop '{name}' open by {distance:.4g} m and {angle:.4g} rad; "
            remedy = "give positions of the drives instead, and the rest is assembled"
            raise ModelError(Problem("", message + remedy, path=("q",)))
    open_loop = _slips(loops, q, v)
    if open_loop is not None:
        raise ModelError(f"the given rates open loop '{open_loop}'; give those of the drives, and the rest follows")
    return loops.corrected(q, v)


def equilibrium(arm: Dynamics, q: Floats) -> Floats:
    """The coordinates with the links bent as they are at rest while the drives hold their angles."""
    try:
        return rest(arm, q).q
    except NoEquilibriumError as error:
        raise ModelError(str(error)) from None
