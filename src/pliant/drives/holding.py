"""How a drive that holds a pose answers small changes of the robot: what closes its loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pliant.control.path_vibrations import Feedback, FeedbackAt
from pliant.drives.drive import Drive, DriveLaw
from pliant.errors import ModelError
from pliant.laws import Floats
from pliant.trajectories.joint_moves import Hold
from pliant.trajectories.path import Surroundings

STEP = 1e-6
"""Central differences of a law."""
CONTINUOUS: dict[str, Any] = {"sampling": None, "saturate": False, "seed": None}
"""Keys of drives that act at instants, or within limits, and what they are without."""


def holding(drive: Drive | None, around: Surroundings) -> Surroundings:
    """Surroundings that know how a drive holds the joints, which shaped motions ask for."""
    if drive is None or "trajectory" not in type(drive).model_fields:
        return around
    return replace(around, feedback=_feedback(drive, around))


def _feedback(drive: Drive, around: Surroundings) -> FeedbackAt:
    def at(q: Floats) -> Feedback | None:
        pose = q @ around.arm.B
        changes: dict[str, Any] = {"trajectory": Hold(to=pose.tolist())}
        # as if it acted continuously, within its limits
        changes |= {key: value for key, value in CONTINUOUS.items() if key in drive.model_fields_set}
        try:
            law = drive.with_changes(**changes).bind(replace(around, start=q), pose)
        except ModelError as error:
            why = f"the loop of drive '{drive.kind}' is not known as one that acts continuously ({error})"
            raise ModelError(f"{why}; write joints: held, or frequencies") from None
        return None if law.driven else differences(law, q)

    return at


def differences(law: DriveLaw, q: Floats) -> Feedback:
    """Changes of the efforts and of the states' rates of a law with a state of rest, by central differences."""
    z = law.initial()
    rest = (q, np.zeros_like(q), z)
    columns: list[Floats] = []
    for which, values in enumerate(rest):
        for k in range(len(values)):
            sides = []
            for sign in (1.0, -1.0):
                state = [x.copy() for x in rest]
                state[which][k] += sign * STEP
                found = law.at(0.0, *state)
                sides.append(np.array([*found.efforts, *found.rates], dtype=float))
            columns.append((sides[0] - sides[1]) / (2 * STEP))
    table = np.array(columns).T
    inputs, n = len(table) - len(z), len(q)
    by_q, by_v, by_z = table[:, :n], table[:, n : 2 * n], table[:, 2 * n :]
    return Feedback(by_q[:inputs], by_v[:inputs], by_z[:inputs], by_q[inputs:], by_v[inputs:], by_z[inputs:])
