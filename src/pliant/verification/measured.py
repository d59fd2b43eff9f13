"""Numbers beside measured machines: a Panda that swings a steel strip, and a laboratory arm of two strips.

Frequencies of the strip were derived from recordings of Mamedov et al. (github.com/shamilmamedov/beam_handling at
bcd397f0, arXiv 2210.00578): damped sines in the joint torques after moves, at the poses where these ended. Recordings
of the arm of two strips (github.com/basta/quanser-2-dof-serial-flexible-link at 48ab0ce6, MIT licence, (c) 2022 aa4cc /
Edu Ctrl Lab Models) are not part of the package; where a user has them, they are replayed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.modes import vibration_modes
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.identification.log import Log
from pliant.model.readers.library import load
from pliant.reproduce.claim import Claim
from pliant.simulation.run import simulate
from pliant.simulation.start import Start

STRIP = "recordings of Mamedov et al., arXiv 2210.00578"
ARM = "recordings of aa4cc, github.com/basta/quanser-2-dof-serial-flexible-link"


class PandaRing(NamedTuple):
    """The strip after a move: how it is held, the measured frequency in Hz, and the seven joint angles, rad."""

    held: str
    hertz: float
    pose: tuple[float, ...]


RINGS = (
    PandaRing("hanging", 3.038, (-1.7337, -0.4289, -0.217, -2.0055, -1.6644, 1.9289, 0.7977)),
    PandaRing("hanging", 3.0375, (-1.7338, -0.4289, -0.217, -2.0054, -1.6645, 1.9289, 0.7977)),
    PandaRing("hanging", 3.0374, (-1.7338, -0.4289, -0.217, -2.0054, -1.6645, 1.9289, 0.7977)),
    PandaRing("standing", 2.7701, (-1.408, -0.4289, 0.2165, -2.0055, 1.6638, 1.9289, 0.7731)),
    PandaRing("standing", 2.771, (-1.408, -0.4289, 0.2165, -2.0055, 1.6638, 1.9289, 0.7731)),
    PandaRing("standing", 2.7716, (-1.408, -0.4289, 0.2165, -2.0055, 1.6639, 1.9289, 0.7731)),
    PandaRing("standing", 2.7812, (-1.3191, -0.2678, 0.3617, -1.8451, 1.6783, 2.17, 0.7613)),
    PandaRing("standing", 2.7793, (-1.3191, -0.2678, 0.3617, -1.8452, 1.6782, 2.17, 0.7612)),
    PandaRing("standing", 2.7787, (-1.3191, -0.2678, 0.3616, -1.8452, 1.6782, 2.17, 0.7612)),
    PandaRing("level", 2.9439, (-1.5704, -0.5328, 0.0002, -2.4882, -0.0012, 1.9522, 0.7857)),
    PandaRing("level", 2.9435, (-1.5705, -0.5328, 0.0002, -2.4882, -0.0012, 1.9521, 0.7857)),
    PandaRing("level", 2.9436, (-1.5705, -0.5328, 0.0002, -2.4882, -0.0012, 1.9521, 0.7857)),
    PandaRing("level", 2.937, (-1.0031, -0.2283, -0.6093, -2.7612, -0.2377, 2.5572, 0.955)),
    PandaRing("level", 2.9382, (-1.0046, -0.2288, -0.6076, -2.7596, -0.237, 2.5551, 0.9545)),
    PandaRing("level", 2.9391, (-1.0017, -0.2278, -0.611, -2.7627, -0.2383, 2.5595, 0.9554)),
)
"""Rings of at least 1 N m that a damped sine explains by more than 95 %."""
STRIP_LIMITS = {"exact": 0.013, "second-order": 0.02, "linear": 0.07}
"""How far frequencies may be from the measured ones; nothing is fitted. Bending that far is beyond a linear model."""


class Recording(NamedTuple):
    """A recording, and what is left of both deflections when its joint angles are replayed: NRMSE."""

    file: str
    nominal: tuple[float, float]
    fitted: tuple[float, float]


REPLAYS = (
    Recording("quanser_hinf_steps.csv", (2.05, 2.07), (0.10, 0.08)),
    Recording("quanser_lqr_20s.csv", (0.66, 0.73), (0.22, 0.27)),
)
"""The model was fitted to the first one; the second one it has not seen."""
DEFLECTIONS = ("d1", "d2")
JOINTS = ("shoulder", "elbow")


def claims(data: Path | None = None) -> Iterator[Claim]:
    """Machine by machine; data: folder with recordings."""
    yield from _panda()
    yield from _locked()
    if data is not None:
        yield from _replays(data)


def _panda() -> Iterator[Claim]:
    strip = load("panda-strip")
    for bending, limit in STRIP_LIMITS.items():
        arm = Dynamics(strip.set("strip.beam.bending", bending))
        found: dict[str, list[float]] = {}
        for ring in RINGS:
            rest = equilibrium(arm, dict(zip(arm.inputs, ring.pose, strict=True)))
            hertz = float(vibration_modes(arm, rest.q).hertz[0])
            found.setdefault(ring.held, []).append(hertz / ring.hertz - 1.0)
        for held, errors in found.items():
            yield Claim(
                f"measured.panda-strip.{bending}.{held}",
                f"first frequency of the {held} strip over the measured one, {bending}, worst of {len(errors)} runs",
                1.0 + max(errors, key=abs),
                1.0,
                limit,
                STRIP,
            )


def _locked() -> Iterator[Claim]:
    """Why the arm rings at 1.8 Hz, not at the 2.69 Hz of its maker's model of hinges: beams, then their stiffness."""
    for robot, words, hertz, limit in (
        ("quanser", "beams with the maker's data, joints stuck", 2.31, 0.01),
        ("quanser-fitted", "stiffness fitted to steps; measured 1.79 to 1.85", 1.82, 0.03),
    ):
        arm = Dynamics(load(robot))
        found = float(vibration_modes(arm, np.zeros(arm.size), locked=True).hertz[0])
        yield Claim(f"measured.{robot}.locked", f"first frequency, {words}", found, hertz, limit, ARM, "Hz")


def replayed(robot: str, log: Log) -> tuple[float, ...]:
    """NRMSE of both deflections where the measured angles of the joints are prescribed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = simulate(
            robot,
            until=float(log.time[-1]),
            tolerance=1e-6,
            output_step=log.step,
            limits="ignore",
            drive=PrescribedMotion(trajectory=log.motion(JOINTS)),
            start=Start(position={name: float(log[name][0]) for name in JOINTS}),
        )
    found = run.compare(log, {f"sensor.{name}": name for name in DEFLECTIONS}, removed="median")
    return tuple(row.nrmse for row in found)


def _replays(data: Path) -> Iterator[Claim]:
    there = [replay for replay in REPLAYS if (data / replay.file).is_file()]
    if not there:
        names = ", ".join(replay.file for replay in REPLAYS)
        raise ModelError(f"{data}: there is none of the recordings {names}")
    for replay in there:
        log = Log.read(data / replay.file)
        log = log.window(float(log.time[0]), float(log.time[-1]), from_zero=True)
        for robot, published in (("quanser", replay.nominal), ("quanser-fitted", replay.fitted)):
            for name, ours, theirs in zip(DEFLECTIONS, replayed(robot, log), published, strict=True):
                what = f"what is left of {name} in {Path(replay.file).stem}, NRMSE"
                yield Claim(
                    f"measured.{robot}.{Path(replay.file).stem}.{name}", what, ours, theirs, 0.01, ARM, absolute=True
                )
