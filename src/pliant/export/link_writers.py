"""Links for other programs: Simscape's matrices, SID text, Newton's arrays; of beams, solids and modal data alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from pliant.bodies.modal_form import link_modal
from pliant.errors import ModelError, did_you_mean
from pliant.files import write_generated, written
from pliant.model.description.robot import Robot
from pliant.model.readers.interface_form import interface_form
from pliant.model.readers.sid_text import write_sid

LinkFormat = Literal["simscape", "sid", "newton"]
ENDINGS: dict[str, str] = {"simscape": ".mat", "sid": ".sid", "newton": ".npz"}


def export_link(robot: Robot, link: str, path: str | Path, format: LinkFormat) -> None:
    """Write a flexible link for another program.

    robot, link  the robot and the name of its link
    path         the file
    format       one of these:

    simscape  .mat with P, K, M, D: Reduced Order Flexible Solid
    sid       text of standard input data, with second order: Simpack and others
    newton    .npz with the arguments of ModalGeneratorCraigBampton
    """
    if format not in get_args(LinkFormat):
        hint = did_you_mean(format, ENDINGS)
        raise ModelError(f"format is '{format}'; it must be one of {', '.join(ENDINGS)}{hint or ''}")
    modal, file = link_modal(robot, link), Path(path)
    if format == "sid":
        write_generated(file, write_sid(modal, link), ".txt")
        return
    form = interface_form(modal)
    if format == "simscape":
        from scipy.io import savemat

        with written(file) as place, place.open("wb") as stream:
            savemat(stream, {"P": form.P, "K": form.K, "M": form.M, "D": form.D})
        return
    count = len(form.names)
    recovery = np.zeros((3 * count, len(form.K)))
    for k in range(count):
        recovery[3 * k : 3 * k + 3, 6 * k : 6 * k + 3] = np.eye(3)
    arrays: dict[str, Any] = {
        "interface_positions": form.P[:, :3], "mass_matrix": form.M, "stiffness_matrix": form.K,
        "damping_matrix": form.D, "sample_points": form.P[:, :3], "recovery_matrix": recovery,
        "interface_names": np.array(form.names),
    }  # fmt: skip
    with written(file) as place, place.open("wb") as stream:
        np.savez_compressed(stream, **arrays)
