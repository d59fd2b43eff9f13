"""Kinematic calibration: geometric numbers of a robot and zeros of its encoders from measured positions of a frame.

Gauss and Newton on the differences between measured and computed positions, in parameters that are scaled to act alike.
What measurements cannot tell apart is found from the singular values of the scaled sensitivities, and told, not fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.dynamics import Dynamics
from pliant.errors import did_you_mean
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.model import Robot

Floats = NDArray[np.float64]

OFFSET = "offset."
"""Begins the name of a parameter that is the zero of an encoder."""
STEP = 1e-5
"""m or rad: change of a parameter for the differences of its sensitivity."""
TOLD_APART = 1e-7
"""Part of the largest singular value below which measurements do not tell parameters apart."""
ENDS = 1e-12
"""m or rad: change of all parameters at which it ends."""
ROUNDS = 30
CONFIDENCE = 0.95


class UnidentifiableError(ValueError):
    """Parameters that the measured poses cannot tell apart; the message names them."""


class Calibration(NamedTuple):
    """Parameters from measured positions.

    names      of the parameters
    nominal    their values in the description
    values     that fit best
    intervals  half-widths of their 95 % intervals, for errors of the measurements that are independent and alike
    residual   m: rms of what is left in each coordinate of the positions, and before the calibration
    before     m
    condition  of the scaled sensitivities: how many times errors grow in the worst combination
    robot      the robot with its calibrated numbers; offsets of encoders are no part of it
    """

    names: tuple[str, ...]
    nominal: Floats
    values: Floats
    intervals: Floats
    residual: float
    before: float
    condition: float
    robot: Robot

    def _repr_html_(self) -> str:
        rows = [
            (name, f"{old:.6g}", f"{new:.6g} ± {half:.1g}")
            for name, old, new, half in zip(self.names, self.nominal, self.values, self.intervals, strict=True)
        ]
        return html_page("Calibration", ("parameter", "described", "fitted"), rows)


def calibrate(
    robot: Robot,
    parameters: Sequence[str],
    drives: ArrayLike,
    positions: ArrayLike,
    *,
    frame: str = "tip",
) -> Calibration:
    """Fit geometric numbers and zeros of encoders to measured positions of a frame, with 95 % intervals.

    robot       as described; links are straight, loops are closed with the drives held
    parameters  places of lengths and angles, as ``robot.get`` takes them (``forearm.rigid.length``,
                ``base_2.joint.placement.position[0]``), and ``offset.JOINT``: added to what an encoder reads
    drives      positions of the actuated joints as read (count, inputs), rad or m
    positions   of the frame as measured (count, 3), m, base axes
    frame       default: the robot's tip

    Raises UnidentifiableError where measurements do not tell parameters apart, and names them.
    """
    names = tuple(parameters)
    first = Dynamics(robot, compile="never")
    read, measured = np.atleast_2d(np.asarray(drives, dtype=float)), np.atleast_2d(np.asarray(positions, dtype=float))
    if read.shape[1:] != (len(first.inputs),) or measured.shape != (len(read), 3):
        raise ValueError(
            f"drives have shape {read.shape} and positions {measured.shape}; robot '{robot.name}' needs "
            f"(count, {len(first.inputs)}) and (count, 3)"
        )
    if measured.size <= len(names):
        raise ValueError(f"{len(read)} positions are too few for {len(names)} parameters")
    nominal = np.array([_nominal(first, name) for name in names])

    def computed(values: Floats) -> Floats:
        changed, shifted = robot, read.copy()
        for name, value in zip(names, values, strict=True):
            if name.startswith(OFFSET):
                shifted[:, first.inputs.index(name.removeprefix(OFFSET))] += value
            else:
                changed = changed.set(name, float(value))
        arm = Dynamics(changed, compile="never")
        q = np.tile(arm.reference_pose(), (len(read), 1))
        q[:, [arm.names.index(name) for name in arm.inputs]] = shifted
        return np.asarray(arm.pose(frame, arm.assemble(q)).position)

    values = nominal.copy()
    before = float(np.sqrt(np.mean((computed(values) - measured) ** 2)))
    for _ in range(ROUNDS):
        J = np.column_stack([_sensitivity(computed, values, k) for k in range(len(names))])
        size, condition = _told_apart(names, J)
        change = np.linalg.lstsq(J / size, (measured - computed(values)).ravel(), rcond=None)[0] / size
        values = values + change
        if np.abs(change).max(initial=0.0) < ENDS:
            break
    left = (measured - computed(values)).ravel()
    from scipy.stats import t as student

    freedom = left.size - len(names)
    spread = float(left @ left) / freedom
    errors = np.sqrt(spread * np.diag(np.linalg.inv((J / size).T @ (J / size)))) / size
    half = float(student.ppf(0.5 + CONFIDENCE / 2, freedom)) * errors
    fitted = robot
    for name, value in zip(names, values, strict=True):
        fitted = fitted if name.startswith(OFFSET) else fitted.set(name, float(value))
    residual = float(np.sqrt(np.mean(left**2)))
    return Calibration(names, nominal, values, half, residual, before, condition, fitted)


def _nominal(arm: Dynamics, name: str) -> float:
    """The described value of a parameter; an encoder has no offset."""
    if name.startswith(OFFSET):
        joint = name.removeprefix(OFFSET)
        if joint not in arm.inputs:
            raise ValueError(
                f"parameter '{name}': the actuated joints of robot '{arm.robot.name}' are {', '.join(arm.inputs)}"
                f"{did_you_mean(joint, arm.inputs)}"
            )
        return 0.0
    value = arm.robot.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"parameter '{name}' is {value!r}; it must be a number")
    return float(value)


def _sensitivity(computed: Callable[[Floats], Floats], values: Floats, k: int) -> Floats:
    """Change of all positions per unit of a parameter (3 count,), by central differences."""
    step = np.zeros_like(values)
    step[k] = STEP
    return np.asarray((computed(values + step) - computed(values - step)).ravel() / (2 * STEP))


def _told_apart(names: tuple[str, ...], J: Floats) -> tuple[Floats, float]:
    """Sizes of the columns and the condition of the scaled ones; raise where some follow from others."""
    size = np.linalg.norm(J, axis=0)
    idle = [name for name, x in zip(names, size, strict=True) if x <= TOLD_APART * size.max(initial=1.0)]
    if idle:
        raise UnidentifiableError(f"{', '.join(idle)} does not move the frame in these poses; leave it out")
    _, sizes, Vt = np.linalg.svd(J / size)
    if sizes[-1] <= TOLD_APART * sizes[0]:
        part = np.abs(Vt[-1])
        mixed = [name for name, x in zip(names, part, strict=True) if x > 0.05 * part.max()]
        raise UnidentifiableError(
            f"these poses do not tell {', '.join(mixed)} apart: a change of one is undone by the others; leave one "
            "out, or measure more different poses"
        )
    return size, float(sizes[0] / sizes[-1])
