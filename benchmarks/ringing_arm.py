"""The arms of the simulation benchmarks: two bars in a plane make a move under position control, and vibrate.

The ringing arm is of aluminium: its links bend by about two millimetres. Second-order effects of bending stay below
1e-5 m, so that modal models, absolute nodal coordinates and chains of segments describe the same motion. The soft arm
sags and swings in a vertical plane with slopes of more than half a radian. Every peer builds the arms from the numbers
here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.simulation.outputs import Outputs
from pliant.simulation.run import Run
from pliant.simulation.study import DEFAULT_TOLERANCE, IntegratorOptions

Floats = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class PlanarArm:
    """Two bars, their control and their motion.

    samples  tip positions that every program has to give, at equal steps after the one at the start
    move     duration of the move, s
    damping  Kelvin-Voigt: bending moment per rate of curvature, in units of the bending stiffness, s
    gravity  along -y, m/s^2
    """

    name: str
    bars: tuple[Bar, Bar]
    until: float
    samples: int
    move: float
    to: tuple[float, float]
    kp: tuple[float, float]
    kd: tuple[float, float]
    damping: float
    gravity: float = 0.0

    def desired(self, t: Floats) -> tuple[Floats, Floats]:
        """Joint angles and rates (times, 2) of the desired motion."""
        u = np.minimum(t / self.move, 1.0)[:, None]
        to = np.array(self.to)
        return (u - np.sin(2 * np.pi * u) / (2 * np.pi)) * to, (1 - np.cos(2 * np.pi * u)) / self.move * to


RINGING = PlanarArm(
    "ringing arm",
    (
        # 12 mm x 40 mm and 8 mm x 30 mm
        Bar("upper", 0.6, 1.296, 403.2, 3.36e7, 0.05, 0.3, 0.005),
        Bar("forearm", 0.5, 0.648, 89.6, 1.68e7, 0.01, 0.1, 1e-4),
    ),
    until=10.0,
    samples=500,
    move=0.3,
    to=(0.15, -0.2),
    kp=(2e4, 5e3),
    kd=(20.0, 5.0),
    damping=2e-5,
)
SOFT = PlanarArm(
    "soft arm",
    (
        Bar("upper", 1.0, 0.4, 20.0, 2.4e6, 0.02, 0.05, 1e-3),
        Bar("forearm", 1.0, 0.4, 4.0, 1.3e6, 0.02, 0.1, 1e-3),
    ),
    until=10.0,
    samples=500,
    move=1.0,
    to=(0.6, -0.8),
    kp=(400.0, 100.0),
    kd=(10.0, 2.0),
    damping=1e-4,
    gravity=9.81,
)
UNTIL, SAMPLES = RINGING.until, RINGING.samples


def times(arm: PlanarArm = RINGING) -> Floats:
    return np.linspace(0.0, arm.until, arm.samples + 1)


def robot(
    modes: int | tuple[int, int] = 2,
    *,
    bending: str = "linear",
    shape: str = "clamped-mass",
    arm: PlanarArm = RINGING,
    stretch: int = 0,
    spare: int | None = None,
) -> pliant.Robot:
    """Clamped modes of each bar that carry what is beyond its tip, or other shapes.

    modes    of every bar, or of each
    stretch  modes of stretch, which bars of exact bending may have
    spare    stations of an exact bar beyond its modes; default: those of the program
    """
    counts = (modes, modes) if isinstance(modes, int) else modes
    links = [
        pliant.Link(
            name=bar.name,
            joint=pliant.Joint(name=joint),
            hub={"mass": 0.0, "inertia": bar.hub_inertia},
            beam=pliant.Beam(
                length=bar.length,
                properties=pliant.Properties(
                    mass_per_length=bar.mass_per_length,
                    EIy=bar.bending_stiffness,
                    EIz=bar.bending_stiffness,
                    EA=bar.axial_stiffness,
                ),
                bending=bending,
                modes=pliant.Modes(shape=shape, bend_y=count, **({"axial": stretch} if stretch else {})),
                **({} if spare is None else {"stations": count + spare}),
                damping=pliant.Damping(rayleigh={"stiffness": arm.damping}),
            ),
            payloads=({"frame": "tip", "mass": bar.tip_mass, "inertia": bar.tip_inertia},),
        )
        for bar, joint, count in zip(arm.bars, JOINTS, counts, strict=True)
    ]
    return pliant.Robot(name=arm.name, links=tuple(links), gravity=(0, -arm.gravity, 0))


Solve = Callable[[], Floats]
"""What is left to do once an arm is built; gives the positions of the tip in the plane (samples, 2)."""


def started(
    modes: int | tuple[int, int] = 2,
    *,
    method: str = "dop853",
    tolerance: float = DEFAULT_TOLERANCE,
    until: float | None = None,
    arm: PlanarArm = RINGING,
    **kind: Any,
) -> Run:
    """Everything from the numbers to a run that can start; ``kind`` is how the bars bend (``robot``)."""
    move = pliant.Cycloidal(to=dict(zip(JOINTS, arm.to, strict=True)), duration=arm.move)
    study = pliant.Study(
        name=arm.name,
        robot=robot(modes, arm=arm, **kind),
        until=arm.until if until is None else until,
        drive=pliant.PID(trajectory=move, kp=arm.kp, kd=arm.kd),
        integrator=IntegratorOptions(method=method, tolerance=tolerance),
        outputs=Outputs(step=arm.until / arm.samples),
    )
    run = Run(study)
    # the integrator belongs to the set-up: it brings the machine code
    run._begin()
    return run


def prepare(modes: int | tuple[int, int] = 2, **options: Any) -> Solve:
    """The same, as what is left to do."""
    run = started(modes, **options)

    def solve() -> Floats:
        run.go()
        return np.asarray(run.result()["tip.position"])[:, :2]

    return solve


def slopes(modes: int | tuple[int, int] = 2, **options: Any) -> dict[str, float]:
    """The largest turn of each bar's tip against its root, rad, by bar."""
    run = started(modes, **options)
    run.go()
    result = run.result()
    return {link.name: result.extreme(f"{link.name}.slope").most for link in result.robot.links}


def tip(modes: int | tuple[int, int] = 2, **options: Any) -> Floats:
    """Positions of the tip in the plane (samples, 2)."""
    return prepare(modes, **options)()


def difference(a: Floats, b: Floats) -> float:
    """The largest distance between two motions of the tip, m."""
    return float(np.linalg.norm(a - b, axis=1).max())
