"""Links that bend far: rotating beams, buckling, elastica, a bent rod, the spin-up of an arm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh

from pliant.analysis.equilibrium import settle
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.reproduce.claim import Claim
from pliant.simulation.run import simulate
from pliant.trajectories.ongoing import ExpressionMotion
from pliant.verification.claims import Floats, beam_robot

BOTH = ("second-order", "exact")
HEAVY = 1e4
"""Of the load on a column, in beam masses: the beam's own weight is negligible beside it."""
PLANE = {"mass_per_length": 1.0, "EIz": 1.0}


def claims() -> Iterator[Claim]:
    """Case by case."""
    for part in (_rotating, _tapered, _columns, _elastica, _spin_up):
        yield from part()


def _rotating() -> Iterator[Claim]:
    """EI = rhoA = L = 1, hub radius 0, about z: flapping out of the plane, lag in it."""
    published = {6.0: (7.36037301931, 4.26322542019), 12.0: (13.1701504875, 5.42704927779)}
    joint = {"name": "hub", "axis": "z"}
    modes = {"shape": "legendre", "bend_y": 6, "bend_z": 6}
    for bending in BOTH:
        arm = Dynamics(beam_robot(bending=bending, joint=joint, modes=modes), compile="never")
        for speed, values in published.items():
            for family, word, value in zip(("bend_z", "bend_y"), ("flapping", "lag"), values, strict=True):
                yield Claim(
                    f"bending.rotating.{bending}.{word}.{speed:g}",
                    f"{bending}: first {word} frequency of a beam that turns with {speed:g} sqrt(EI/rhoA)/L^2",
                    _turning_frequency(arm, speed, family),
                    value,
                    5e-4,
                    "power series in 40 digits",
                    robot=arm.robot,
                    given={"rates": {"hub": speed}},
                )


def _tapered() -> Iterator[Claim]:
    """A beam half as high at its tip as at its root, of constant width: EI = rhoA = L = 1 at its root."""
    published = {0.0: 3.8238, 3.0: 5.0927, 12.0: 13.4711}
    width = height = 0.01
    root, tip = ({"rectangle": {"width": width, "height": high}} for high in (height, height / 2))
    # the shear modulus plays no part
    material = {"E": 12 / (width * height**3), "G": 1.0, "density": 1 / (width * height)}
    taper: dict[str, Any] = {"segments": [{"length": 1.0, "section": root, "taper_to": tip}], "material": material}
    joint = {"name": "hub", "axis": "z"}
    for bending in BOTH:
        modes = {"shape": "legendre", "bend_z": 6}
        robot = beam_robot(bending=bending, joint=joint, modes=modes, length=None, properties={}, **taper)
        arm = Dynamics(robot, compile="never")
        for speed, value in published.items():
            yield Claim(
                f"bending.tapered.{bending}.{speed:g}",
                f"{bending}: first flapping frequency of a tapered beam that turns with {speed:g} sqrt(EI/rhoA)/L^2",
                _turning_frequency(arm, speed, "bend_z"),
                value,
                2e-5,
                "Hodges & Rutkowski 1981",
                robot=arm.robot,
                given={"rates": {"hub": speed}},
            )


def _turning_frequency(arm: Dynamics, speed: float, family: str) -> float:
    own = [k for k, name in enumerate(arm.names) if family in name]
    q, v = np.zeros(arm.size), np.zeros(arm.size)
    v[arm.names.index("hub")] = speed
    K = arm.force_derivative("q", q, v, 0 * q)[np.ix_(own, own)]
    M = arm.mass_matrix(q)[np.ix_(own, own)]
    return float(np.sqrt(eigh((K + K.T) / 2, M, eigvals_only=True)[0]))


def _columns() -> Iterator[Claim]:
    for part in (0.5, 0.95):
        arm = _column("second-order", part * np.pi**2, shape="pinned-pinned", bend_y=2)
        K, M = _tangent(arm)
        yield Claim(
            f"bending.column.frequency.{part:g}",
            f"pinned column under {part:g} of its buckling load, omega L^2 sqrt(rhoA/EI)",
            float(np.sqrt(eigh(K, M, eigvals_only=True)[0])),
            float(np.pi**2 * np.sqrt(1 - part)),
            5e-3,
            "omega_0 sqrt(1 - N/N_cr)",
            robot=arm.robot,
        )
    for bending in BOTH:
        yield Claim(
            f"bending.column.buckling.{bending}",
            f"{bending}: buckling load of a standing cantilever, N L^2/EI",
            _critical(bending),
            np.pi**2 / 4,
            1e-3,
            "Euler",
        )


def _column(bending: str, load: float, **modes: object) -> Dynamics:
    given = {"payload": {"mass": HEAVY}, "gravity": (-load / HEAVY, 0.0, 0.0), "properties": PLANE, "modes": modes}
    return Dynamics(beam_robot(bending=bending, **given), compile="never")  # type: ignore[arg-type]


def _tangent(arm: Dynamics) -> tuple[Floats, Floats]:
    q = np.zeros(arm.size)
    K = arm.force_derivative("q", q, q, q)
    return (K + K.T) / 2, arm.mass_matrix(q)


def _critical(bending: str) -> float:
    """Where the least stiffness vanishes; it falls in proportion to the load."""
    loads = (2.0, 2.6)
    softest = [np.linalg.eigvalsh(_tangent(_column(bending, load, shape="legendre", bend_y=4))[0])[0] for load in loads]
    scale = softest[0] / (softest[0] - softest[1])
    guess = loads[0] + scale * (loads[1] - loads[0])
    # once more close to it, where a straight line is as good as the curve
    near = (guess * 0.999, guess * 1.001)
    softest = [np.linalg.eigvalsh(_tangent(_column(bending, load, shape="legendre", bend_y=4))[0])[0] for load in near]
    return float(near[0] + softest[0] / (softest[0] - softest[1]) * (near[1] - near[0]))


def _elastica() -> Iterator[Claim]:
    published = {1.0: (0.9435667637166231, 0.3017207737998135), 10.0: (0.4450044022462487, 0.8106090248802965)}
    robot = beam_robot(bending="exact", properties=PLANE, modes={"shape": "legendre", "bend_y": 8})
    arm = Dynamics(robot, compile="never")
    q: Floats | None = None
    for load, values in published.items():
        q = _loaded(arm, np.array([0.0, 1.0, 0.0]), load, q)
        tip = arm.pose("tip", q).position
        for axis, value in zip("xy", values, strict=True):
            yield Claim(
                f"bending.elastica.{load:g}.{axis}",
                f"{axis} of the tip of a cantilever under P L^2/EI = {load:g}",
                float(tip["xyz".index(axis)]),
                value,
                1e-8,
                "elliptic integrals",
                absolute=True,
                robot=robot,
                given={"loads": {"tip": [0.0, load, 0.0]}},
            )


def _loaded(arm: Dynamics, direction: Floats, load: float, q: Floats | None, steps: int = 8) -> Floats:
    for part in np.linspace(0.0, 1.0, steps + 1)[1:]:
        q = settle(arm, q, loads={"tip": part * load * direction}).q
    assert q is not None
    return q


SPIN = "6/15*(t^2/2 + (15/(2*pi))^2*(cos(2*pi*t/15) - 1))"


def _spin_up() -> Iterator[Claim]:
    """Simo & Vu-Quoc: an arm is brought to 6 rad/s in 15 s; deflection of the tip across it."""
    published = {5.0: -0.468444294, 6.5: -0.569886325}
    properties = {"mass_per_length": 1.2, "EIz": 1.4e4, "rhoIy": 6e-4, "rhoIz": 6e-4}
    joint = {"name": "hub", "axis": "z"}
    for bending, within in (("exact", 6e-5), ("second-order", 5.7e-3)):
        robot = beam_robot(
            bending=bending,
            length=10.0,
            properties=properties,
            joint=joint,
            rotary_inertia=True,
            modes={"shape": "legendre", "bend_y": 4},
        )
        drive = PrescribedMotion(trajectory=ExpressionMotion(joints={"hub": SPIN}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = simulate(robot, until=6.5, drive=drive, output_step=0.5)
        for t, value in published.items():
            k = int(np.argmin(np.abs(run.time - t)))
            yield Claim(
                f"bending.spin-up.{bending}.{t:g}",
                f"{bending}: deflection of the tip after {t:g} s of the spin-up",
                float(run["beam.deflection"][k, 1]),
                value,
                within,
                "inextensible rod, error 4e-8 m",
                "m",
                absolute=True,
                robot=robot,
                given={"motion": {"hub": SPIN}, "time": t},
            )
