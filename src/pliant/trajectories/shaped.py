"""Motions that are shaped so that they leave a robot at rest which vibrates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, pi
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import PydanticCustomError, core_schema

from pliant.control.path_vibrations import FeedbackAt, PathVibrations, largest_left, path_vibrations
from pliant.control.shapers import SHAPERS, TOLERANCE, Shaper, shaper
from pliant.errors import ModelError, Problem, listing, show
from pliant.model.element import of_value, refuse, rule
from pliant.model.tagged import OneOf
from pliant.model.units import POSITIVE, Quantity, Ratio
from pliant.trajectories.cartesian import CartesianMove, InverseKinematics, UnreachableError
from pliant.trajectories.joint_moves import Hold, MohanSaha, Steps
from pliant.trajectories.path import Chain, Floats, Path, Rest, Surroundings, Trajectory, within
from pliant.trajectories.per_joint import PerJoint, PerJointValue, numbers
from pliant.trajectories.sequence import PARTS, Sequence
from pliant.trajectories.shaped_path import ShapedPath, joints_along

MOTIONS = (*PARTS, Steps, MohanSaha, Sequence)
"""Kinds of motions that may be shaped."""
POSES = 9
"""Poses at which the vibrations along a motion are found."""
STIFF = 0.01
"""A drive is stiff where it changes no frequency that is shaped by more, as a part of it, and no damping ratio."""
WORDS = ("start", "end", "middle")
LEAVES = "the frame leaves its curve"
CURVE_POINTS, SHAPED_POINTS = 1001, 301
"""At which a curve and a shaped motion are compared ..."""
ON_CURVE = 1e-5
"""... and how far, as a part of the robot's reach, a frame may be off: chords of the curve are, too."""
STEADY = "driven asks for the closed loops of a drive; this one has none, its joints do not give way: write held"


class PoseForm(PerJoint):
    """The reading of a pose: a word for one along a motion, or joint positions by name."""

    def __init__(self) -> None:
        super().__init__(Quantity("rad", sliding="m"), single=False)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        forms = super().__get_pydantic_json_schema__(schema, handler)
        return {"anyOf": [{"enum": list(WORDS)}, *forms["anyOf"]]}

    def read(self, value: Any, given: Any) -> Any:
        if isinstance(value, str):
            if value in WORDS:
                return value
            words = "is {given}; it must be {words}, or joint positions such as {{elbow: 40 deg}}"
            raise PydanticCustomError("value", words, {"given": show(value), "words": ", ".join(WORDS)})
        return super().read(value, given)


Frequency = Annotated[float, Quantity("Hz", POSITIVE)]
ModeNumber = Annotated[int, Field(strict=True, ge=1)]
Part = Annotated[float, Quantity("", POSITIVE, below=1.0)]


@dataclass(frozen=True, eq=False)
class ShaperDesign:
    """A shaper for a motion of a robot.

    kind        zv, zvd, ...
    shaper      its impulses
    omega       natural frequencies that it is made for, rad/s (modes,)
    damping     their damping ratios (modes,)
    modes       their numbers; none where frequencies were given
    vibrations  of the robot along the motion; None where frequencies were given
    words       what it is made for
    """

    kind: str
    shaper: Shaper
    omega: Floats
    damping: Floats
    modes: tuple[int, ...]
    vibrations: PathVibrations | None
    words: str


class Shaped(Trajectory):
    """A motion with which the robot does not swing: the sum of delayed copies of another one.

    The copies are such that vibrations of known frequencies cancel (input shaping); the motion becomes longer by the
    shaper's duration. Lines and circles are shaped in space, before the inverse kinematics.
    """

    kind = "shaped"
    motion: Annotated[Trajectory, OneOf("trajectory", *MOTIONS)] = Field(description="the motion that is shaped")
    shaper: Literal["auto", "zv", "mzv", "zvd", "ei", "zvdd", "ei2", "ei3"] = Field(
        default="auto",
        description="kind of the shaper; auto: the shortest that leaves no more than tolerance along the motion",
    )
    modes: Annotated[tuple[ModeNumber, ...], Field(min_length=1)] = Field(
        default=(1,), description="numbers of the vibrations, the lowest is 1"
    )
    frequencies: Annotated[tuple[Frequency, ...], Field(min_length=1)] | None = Field(
        default=None, description="natural frequencies in Hz, instead of modes of the robot"
    )
    damping: Annotated[tuple[Ratio, ...], Field(min_length=1)] | None = Field(
        default=None, description="damping ratios, one for each mode or frequency; default: the robot's, or zero"
    )
    at: Annotated[Literal["start", "end", "middle"] | PerJointValue, PoseForm()] = Field(
        default="end",
        description="pose whose frequencies are taken: start, end, middle (of the band along the motion), or positions",
    )
    joints: Literal["auto", "held", "driven"] = Field(
        default="auto",
        description="frequencies with held joints, or with the loops of the drive closed; auto: held if it is stiff",
    )
    tolerance: Part = Field(
        default=TOLERANCE, description="part of the vibration that may be left: by ei, ei2, ei3 and auto"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = self.model_fields_set
        if self.frequencies is not None:
            for key in ("modes", "at", "joints"):
                if key in given:
                    raise rule("frequencies stand instead of modes of the robot; leave {key} out", key=key)
            if self.shaper == "auto":
                raise rule("shaper: auto needs modes of the robot; with frequencies name {one}", one=listing(SHAPERS))
        if len(set(self.modes)) < len(self.modes):
            refuse([of_value("modes", message=f"is {list(self.modes)}; each mode is shaped once")])
        count = len(self.modes if self.frequencies is None else self.frequencies)
        if self.damping is not None and len(self.damping) != count:
            message = f"has {len(self.damping)} ratios; it must have one for each of {count} modes or frequencies"
            refuse([of_value("damping", message=message)])
        return self

    @cached_property
    def frame(self) -> str | None:
        """The frame that the motion leads along a curve; None: it moves joints."""
        own: str | None = getattr(self.motion, "frame", None)
        return own

    def bind(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        design = self.design(around, q0, t0)
        with within("shaped", "motion"):
            paths, starts = [], []
            for run in _runs(self.motion):
                path = _shaped(run, design, around, q0, t0)
                paths.append(path)
                starts.append(t0)
                t0, q0 = path.end, path.at(path.end).q
        return paths[0] if len(paths) == 1 else Chain(tuple(paths), tuple(starts))

    def unshaped(self, around: Surroundings, q0: Floats, t0: float) -> Path:
        """The motion itself, which must come to rest."""
        with within("shaped", "motion"):
            path = self.motion.bind(around, q0, t0)
        if path.end == inf:
            raise self._refusal(
                "motion", f"'{self.motion.kind}' goes on for ever; give it a duration, or end it at rest"
            )
        return path

    def design(self, around: Surroundings, q0: Floats, t0: float) -> ShaperDesign:
        """The shaper for a robot and a start."""
        path = self.unshaped(around, q0, t0)
        if self.frequencies is not None:
            omega = 2 * pi * np.array(self.frequencies)
            damping = np.zeros(len(omega)) if self.damping is None else np.array(self.damping)
            made = self._impulses(self.shaper, omega, damping)
            words = f"{_words(self.shaper, omega, made)}, as given"
            return ShaperDesign(self.shaper, made, omega, damping, (), None, words)
        found = self.vibrations(around, path, q0, t0)
        count = found.hertz.shape[1]
        for i, mode in enumerate(self.modes):
            if mode > count:
                known = ", ".join(f"{f:.4g}" for f in found.hertz[-1][:8])
                raise self._refusal("modes", f"mode {mode}: there are {count} vibrations {found.words}: {known} Hz", i)
        omega, damping = self._chosen(around, found)
        kind, made = self._made(omega, damping, found)
        words = f"{_words(kind, omega, made)}: {self._place()} {found.words}"
        return ShaperDesign(kind, made, omega, damping, self.modes, found, words)

    def _place(self) -> str:
        """Which modes the shaper is made for, and where."""
        several = "s" if len(self.modes) > 1 else ""
        where = "the given pose" if not isinstance(self.at, str) else f"the {self.at} of the motion"
        where = "the middle of the band along the motion" if self.at == "middle" else where
        return f"mode{several} {' and '.join(map(str, self.modes))} at {where}"

    def vibrations(
        self, around: Surroundings, path: Path, q0: Floats, t0: float, *, frame: str | None = None, whole: bool = False
    ) -> PathVibrations:
        """Vibrations along the motion, or at the given pose alone.

        frame  whose deflection tells how much a mode matters; default: the one that the motion leads, else the tip
        whole  along the motion in any case
        """
        arm, place = around.arm, frame or self.frame or "tip"
        if whole or isinstance(self.at, str):
            times = np.linspace(t0, max(path.end, t0), POSES)
            poses = path.many(times).q
            poses[0] = q0
        else:
            times, poses = np.array([t0]), numbers(self.at, around.inputs, q0, "at")[None]
        first = 0 if self.at == "start" else len(times) - 1

        def along(feedback: FeedbackAt | None) -> PathVibrations:
            try:
                return path_vibrations(
                    arm, times.tolist(), poses, around.start, feedback=feedback, frame=place, first=first
                )
            except ModelError as error:
                raise self._refusal("modes", str(error)) from None

        feedback = None if self.joints == "held" else around.feedback
        driven = along(feedback)
        if self.joints == "driven" and not driven.driven:
            raise self._refusal("joints", STEADY)
        if self.joints == "driven" or not driven.driven:
            return driven
        held = along(None)
        return held if self._alike(held, driven, first) else driven

    def _alike(self, held: PathVibrations, driven: PathVibrations, pose: int) -> bool:
        """Whether the drive changes none of the modes that are shaped."""
        for mode in self.modes:
            if mode > held.hertz.shape[1]:
                return False
            f, z = held.hertz[pose, mode - 1], held.damping[pose, mode - 1]
            near = np.maximum(np.abs(driven.hertz[pose] / f - 1), np.abs(driven.damping[pose] - z))
            if near.min() > STIFF:
                return False
        return True

    def _chosen(self, around: Surroundings, found: PathVibrations) -> tuple[Floats, Floats]:
        """Natural frequencies and damping ratios that the shaper is made for."""
        columns = [mode - 1 for mode in self.modes]
        if self.at == "middle":
            omega = (found.omega.min(axis=0) + found.omega.max(axis=0))[columns] / 2
            damping = (found.damping.min(axis=0) + found.damping.max(axis=0))[columns] / 2
        else:
            pose = 0 if self.at == "start" else -1
            omega, damping = found.omega[pose, columns], found.damping[pose, columns]
        return omega, damping if self.damping is None else np.array(self.damping)

    def _made(self, omega: Floats, damping: Floats, found: PathVibrations) -> tuple[str, Shaper]:
        if self.shaper != "auto":
            return self.shaper, self._impulses(self.shaper, omega, damping)
        best, least = "", inf
        for kind in SHAPERS:
            made = self._impulses(kind, omega, damping)
            left = float(largest_left(made.remaining, found, self.modes).max())
            if left <= self.tolerance:
                return kind, made
            best, least = (kind, left) if left < least else (best, least)
        raise self._refusal(
            "shaper",
            f"no shaper leaves {100 * self.tolerance:.3g} % or less of the vibrations along the motion; {best} leaves "
            f"the least, {100 * least:.3g} %: raise the tolerance, name a shaper, or move slower",
        )

    def _impulses(self, kind: str, omega: Floats, damping: Floats) -> Shaper:
        try:
            return shaper(kind, omega.tolist(), damping.tolist(), tolerance=self.tolerance)
        except ModelError as error:
            raise self._refusal("shaper", str(error)) from None

    def _refusal(self, key: str, message: str, *place: int) -> ModelError:
        return ModelError(Problem("", message, path=("trajectory", self.kind, key, *place)))


def _words(kind: str, omega: Floats, made: Shaper) -> str:
    hertz = " and ".join(f"{w / (2 * pi):.4g}" for w in omega)
    return f"shaped by {kind} for {hertz} Hz, {made.duration:.4g} s longer"


@dataclass(frozen=True)
class _Run:
    """Motions that are shaped as one: in space, where they lead the same frame in the same way, or of the joints."""

    motion: Trajectory
    parts: tuple[Trajectory, ...]
    lead: CartesianMove | None


def _runs(motion: Trajectory) -> list[_Run]:
    """A motion in pieces that can be added to their own copies."""
    if not isinstance(motion, Sequence):
        return [_Run(motion, (motion,), motion if isinstance(motion, CartesianMove) else None)]
    groups: list[list[Trajectory]] = []
    leads: list[CartesianMove | None] = []
    for part in motion.parts:
        waits = isinstance(part, Hold) and part.to is None
        lead = part if isinstance(part, CartesianMove) else None
        if groups and (waits or _same(leads[-1], lead)):
            groups[-1].append(part)
        else:
            groups.append([part])
            leads.append(lead)
    return [_Run(Sequence(parts=tuple(group)), tuple(group), lead) for group, lead in zip(groups, leads, strict=True)]


def _distance_off(space: ShapedPath, reach: float) -> float:
    """m: how far a frame leaves the curves of its motion where copies of it are averaged; 0 but for rounding."""
    curve = space.motion.many(np.linspace(space.start, max(space.motion.end, space.start), CURVE_POINTS)).q
    points = space.many(np.linspace(space.start, space.end, SHAPED_POINTS)).q
    ends, sides = curve[:-1], np.diff(curve, axis=0)
    squares = np.maximum(np.einsum("ij,ij->i", sides, sides), np.finfo(float).tiny)
    from_ends = points[:, None] - ends
    along = np.clip(np.einsum("kij,ij->ki", from_ends, sides) / squares, 0.0, 1.0)
    away = np.linalg.norm(from_ends - along[:, :, None] * sides, axis=2).min(axis=1)
    largest = float(away.max())
    return largest if largest > ON_CURVE * reach else 0.0


def _same(one: CartesianMove | None, other: CartesianMove | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.frame, one.orientation) == (other.frame, other.orientation)


def _shaped(run: _Run, design: ShaperDesign, around: Surroundings, q0: Floats, t0: float) -> Path:
    if run.lead is None:
        return ShapedPath(run.motion.bind(around, q0, t0), design.shaper, q0, t0, design.words)
    kinematics: InverseKinematics = run.lead.kinematics(around)
    p0 = p = kinematics.start(q0)
    paths: list[Path] = []
    starts: list[float] = []
    t = t0
    for part in run.parts:
        # what waits stays where the frame has come to
        path = part.in_space(p, t) if isinstance(part, CartesianMove) else Rest(p, end=part.bind(around, q0, t).end)
        paths.append(path)
        starts.append(t)
        t, p = max(path.end, t), path.at(max(path.end, t)).q
    space = ShapedPath(Chain(tuple(paths), tuple(starts)), design.shaper, p0, t0, design.words)
    off = _distance_off(space, kinematics.reach)
    space = replace(space, words=f"{design.words}; {LEAVES} by up to {1e3 * off:.3g} mm" if off else design.words)
    try:
        return joints_along(kinematics, space, q0)
    except UnreachableError as error:
        raise run.lead.fault(str(error)) from None
