"""What a scene shows: a robot posed by hand, swinging in a mode, or moving as in a run; no browser is known here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.formulations.loops.loops import LoopError
from pliant.pictures.robot_solids import RobotSolids
from pliant.pictures.solids import Posed, rotation_vectors

if TYPE_CHECKING:
    from pliant.analysis.modes import ModeSet
    from pliant.dynamics import Dynamics
    from pliant.results.result import Result

Floats = NDArray[np.float64]

SWING = 0.1
"""Largest displacement of a mode at amplitude one, as a part of the size of the robot."""
STEP = 1e-5
"""Of differences, in units of shapes of unit modal mass."""
MOST_MODES = 12
CORNERS = 24
"""Points around a section: a field has one colour between two of them."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A coordinate that is set by hand: its name, unit and range."""

    name: str
    unit: str
    low: float
    high: float


class PosedRobot:
    """A robot at joint positions that are set by hand; loops are closed around them."""

    def __init__(self, arm: Dynamics, name: str = "") -> None:
        self.arm, self.name = arm, name or arm.robot.name
        self.drawn = RobotSolids(arm, corners=CORNERS)
        self.sags = False
        self._wanted = self._start()
        self.q = self._wanted.copy()
        self.posed = self.drawn.skeleton.at(self.q)
        self.most: dict[str, float] = {}
        self._found: ModeSet | None = None

    def _start(self) -> Floats:
        q = self.arm.reference_pose()
        return self.arm.assemble(q) if self.arm.loops.rows else q

    def handles(self) -> list[Handle]:
        """The coordinates to set: of loops those with a drive, otherwise all of joints that follow no other."""
        arm, robot = self.arm, self.arm.robot
        links = {link.joint.name: link.joint for link in robot.links}
        followers = {joint.name for joint in links.values() if joint.mimic is not None}
        names = arm.inputs if robot.loops and arm.inputs else robot.joint_coordinates
        out = []
        for name in names:
            if name in followers:
                continue
            unit = arm.mechanism.units[arm.names.index(name)]
            low, high = (-np.pi, np.pi) if unit == "rad" else (-self.drawn.size, self.drawn.size)
            joint = links.get(name)
            if joint is not None and joint.limits is not None and joint.limits.position is not None:
                low, high = joint.limits.position
            at = float(self._wanted[arm.names.index(name)])
            out.append(Handle(name, unit, min(low, at), max(high, at)))
        return out

    def value(self, name: str) -> float:
        """Value of a coordinate as it is now."""
        return float(self.q[self.arm.names.index(name)])

    def move(self, values: dict[str, float]) -> str:
        """Set coordinates by name; returns why it cannot be so, and then nothing has moved."""
        q = self.q.copy()
        for name, value in values.items():
            q[self.arm.names.index(name)] = value
        # links are straight until their weight bends them
        q = np.where(np.isin(self.arm.names, self.arm.robot.joint_coordinates), q, 0.0)
        try:
            if self.arm.loops.rows:
                q = self.arm.assemble(q, hold=[*self.arm.inputs] or None)
            if self.sags:
                from pliant.analysis.equilibrium import state_of_rest

                q = state_of_rest(self.arm, q).q
        except (LoopError, ValueError, FloatingPointError) as error:
            return str(error)
        self.q, self._found = q, None
        self.posed = self.drawn.skeleton.at(q)
        return ""

    def reset(self) -> None:
        """The reference pose again."""
        self.move(dict(zip(self.arm.names, self._wanted.tolist(), strict=True)))

    # ---- modes

    def modes(self, held: bool = True) -> tuple[list[str], str]:
        """Names of the vibrations at this configuration, with their frequencies; or why there are none."""
        from pliant.analysis.modes import vibration_modes

        try:
            self._found = vibration_modes(self.arm, self.q, locked=held, count=MOST_MODES)
        except (LoopError, ValueError, FloatingPointError) as error:
            self._found = None
            return [], str(error)
        swinging = np.flatnonzero(self._found.squares > 0)
        return [f"{k + 1}: {self._found.hertz[k]:.4g} Hz" for k in swinging], "" if len(swinging) else "nothing swings"

    def damping(self, mode: int) -> float:
        """Ratio of a mode."""
        assert self._found is not None
        return float(self._found.damping_ratios[mode])

    def swing(self, mode: int) -> Posed:
        """The robot at the end of a vibration, against how it is now; displacements are linear."""
        assert self._found is not None
        shape = self._found.shapes[:, mode].real
        skeleton, q = self.drawn.skeleton, self._found.q
        (ahead, turned), (behind, back) = (skeleton.places(q + sign * STEP * shape) for sign in (1.0, -1.0))
        shifts = (ahead - behind) / (2 * STEP)
        turns = rotation_vectors(turned @ np.swapaxes(back, -1, -2)) / (2 * STEP)
        scale = SWING * self.drawn.size / max(float(np.linalg.norm(shifts, axis=-1).max()), 1e-300)
        strains = (skeleton.strains(q + STEP * shape) - skeleton.strains(q - STEP * shape)) / (2 * STEP)
        return self.posed.swinging(scale * shifts, scale * turns, scale * strains)


class MovingRun:
    """A run that is played: its robot at any time between its samples."""

    def __init__(self, run: Result, name: str = "") -> None:
        self.run, self.arm, self.name = run, run.arm, name or run.info.name
        self.drawn = RobotSolids(run.arm, corners=CORNERS)
        self.tip = run.arm.pose("tip", run.q).position
        self.posed = self.at(float(run.time[0]))

    def at(self, time: float) -> Posed:
        """Between two samples the coordinates are joined by straight lines."""
        t, q = self.run.time, self.run.q
        k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, max(len(t) - 2, 0)))
        if len(t) == 1:
            return self.drawn.skeleton.at(q[0])
        part = float(np.clip((time - t[k]) / (t[k + 1] - t[k]), 0.0, 1.0))
        return self.drawn.skeleton.at((1 - part) * q[k] + part * q[k + 1])

    def set(self, time: float) -> None:
        """Move there."""
        self.posed = self.at(time)


def largest(solids: RobotSolids, posed: Sequence[Posed]) -> dict[str, float]:
    """The largest deflection and stress of some configurations: the ends of the scales of colours."""
    deflection = max(float(np.linalg.norm(each.shifts, axis=-1).max()) for each in posed)
    beams = [solid for solid in solids.solids if solid.modulus is not None]
    stress = (
        float(np.abs((solid.modulus or 0.0) * solid.fibres(each.strains)).max()) for each in posed for solid in beams
    )
    return {"deflection": deflection, "stress": max(stress, default=0.0)}
