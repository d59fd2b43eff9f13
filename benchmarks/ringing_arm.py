"""The arm of the simulation benchmark: two aluminium bars in a plane make a quick move and ring for ten seconds.

Stiff position control turns both joints along a cycloid; the links bend by about two millimetres and then vibrate with
little damping. Second-order effects of bending stay below 1e-5 m, so that modal models, absolute nodal coordinates and
chains of segments describe the same motion. Every peer builds the arm from the numbers here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.simulation.run import Run
from pliant.simulation.study import DEFAULT_TOLERANCE, IntegratorOptions, Outputs

Floats = NDArray[np.float64]

UNTIL = 10.0
SAMPLES = 500
"""Tip positions that every program has to give, at equal steps after the one at the start."""
MOVE = 0.3
"""Duration of the move, s."""
TO = (0.15, -0.2)
KP = (2e4, 5e3)
KD = (20.0, 5.0)
DAMPING = 2e-5
"""Kelvin-Voigt damping: bending moment per rate of curvature, in units of the bending stiffness, s."""
JOINTS = ("shoulder", "elbow")


@dataclass(frozen=True, slots=True)
class Bar:
    """A link: rectangular aluminium bar with a hub at its root and a load at its tip."""

    name: str
    length: float
    mass_per_length: float
    bending_stiffness: float
    axial_stiffness: float
    hub_inertia: float
    tip_mass: float
    tip_inertia: float


BARS = (
    Bar("upper", 0.6, 1.296, 403.2, 3.36e7, 0.05, 0.3, 0.005),
    Bar("forearm", 0.5, 0.648, 89.6, 1.68e7, 0.01, 0.1, 1e-4),
)
"""12 mm x 40 mm and 8 mm x 30 mm."""


def times() -> Floats:
    return np.linspace(0.0, UNTIL, SAMPLES + 1)


def desired(t: Floats) -> tuple[Floats, Floats]:
    """Joint angles and rates (times, 2) of the desired motion."""
    u = np.minimum(t / MOVE, 1.0)[:, None]
    to = np.array(TO)
    return (u - np.sin(2 * np.pi * u) / (2 * np.pi)) * to, (1 - np.cos(2 * np.pi * u)) / MOVE * to


def robot(modes: int = 2) -> pliant.Robot:
    """Clamped modes of each bar that carry what is beyond its tip."""
    links = [
        pliant.Link(
            name=bar.name,
            joint=pliant.Joint(name=joint),
            hub={"mass": 0.0, "inertia": bar.hub_inertia},
            beam=pliant.Beam(
                length=bar.length,
                properties=pliant.Properties(
                    mass_per_length=bar.mass_per_length, EIy=bar.bending_stiffness, EIz=bar.bending_stiffness
                ),
                modes=pliant.Modes(shape="clamped-mass", bend_y=modes),
                damping=pliant.Damping(rayleigh={"stiffness": DAMPING}),
            ),
            payloads=({"frame": "tip", "mass": bar.tip_mass, "inertia": bar.tip_inertia},),
        )
        for bar, joint in zip(BARS, JOINTS, strict=True)
    ]
    return pliant.Robot(name="ringing arm", links=tuple(links), gravity=(0, 0, 0))


Solve = Callable[[], Floats]
"""What is left to do once an arm is built; gives the positions of the tip in the plane (samples, 2)."""


def prepare(
    modes: int = 2, *, method: str = "dop853", tolerance: float = DEFAULT_TOLERANCE, until: float = UNTIL
) -> Solve:
    """Everything from the numbers to a run that can start."""
    move = pliant.Cycloidal(to=dict(zip(JOINTS, TO, strict=True)), duration=MOVE)
    study = pliant.Study(
        name="ringing arm",
        robot=robot(modes),
        until=until,
        drive=pliant.PID(trajectory=move, kp=KP, kd=KD),
        integrator=IntegratorOptions(method=method, tolerance=tolerance),
        outputs=Outputs(step=UNTIL / SAMPLES),
    )
    run = Run(study)
    # the integrator belongs to the set-up: it brings the machine code
    run._begin()

    def solve() -> Floats:
        run.go()
        return np.asarray(run.result()["tip.position"])[:, :2]

    return solve


def tip(modes: int = 2, **options: Any) -> Floats:
    """Positions of the tip in the plane (samples, 2)."""
    return prepare(modes, **options)()


def difference(a: Floats, b: Floats) -> float:
    """The largest distance between two motions of the tip, m."""
    return float(np.linalg.norm(a - b, axis=1).max())
