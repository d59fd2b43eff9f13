"""Numbers that were published, or that a formula gives, beside ours; those that are wrong in print, and why."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.analysis.modes import vibration_modes
from pliant.control.linear_model import linearise
from pliant.control.zeros import zeros
from pliant.dynamics import Dynamics
from pliant.model.description.robot import Robot
from pliant.reproduce import canadarm, cibicik, di_gregorio, dualemps, lin_lewis
from pliant.reproduce.claim import Claim
from pliant.verification.claims import beam_robot

ANALYTIC = 1e-8
"""Roots of transcendental equations, met by shapes that contain them."""
RITZ = 1e-5
"""Shapes that approach them."""


def claims() -> Iterator[Claim]:
    """Paper by paper, formula by formula."""
    for part in (_beams, _tip_masses, _slewing, _de_luca):
        yield from part()
    for paper in (canadarm, lin_lewis, dualemps, cibicik, di_gregorio):
        yield from paper.claims()


def _frequencies(robot: Robot) -> np.ndarray:
    arm = Dynamics(robot, compile="never")
    return np.asarray(vibration_modes(arm, np.zeros(arm.size)).frequencies)


def _beams() -> Iterator[Claim]:
    roots = {
        "clamped-free": (1.8751040687, 4.6940911330, 7.8547574382, 10.9955407349),
        "pinned-pinned": (np.pi, 2 * np.pi),
    }
    for shape, values in roots.items():
        robot = beam_robot(modes={"shape": shape, "bend_y": len(values)})
        found = _frequencies(robot)
        for k, value in enumerate(values):
            yield Claim(
                f"published.beam.{shape}.{k + 1}",
                f"frequency {k + 1} of a {shape} beam, omega L^2 sqrt(rhoA/EI)",
                float(found[k]),
                value**2,
                1e-7,
                "roots of Euler-Bernoulli beams",
                robot=robot,
            )


def _tip_masses() -> Iterator[Claim]:
    cases = {
        (1.0, 0.0): (1.557298, 16.250085, 50.895843, 105.198276),
        (1.0, 0.1): (1.429626, 6.275326, 24.751604, 63.743808),
        (0.0, 0.1): (2.487153, 7.013163, 30.565718),
    }
    for (mass, inertia), values in cases.items():
        payload = {"mass": max(mass, 1e-12), "inertia": [0.0, inertia, inertia]} if inertia else {"mass": mass}
        robot = beam_robot(payload=payload, modes={"shape": "clamped-mass", "bend_y": 4})
        found = _frequencies(robot)
        for k, value in enumerate(values):
            yield Claim(
                f"published.tip-mass.{mass:g}.{inertia:g}.{k + 1}",
                f"frequency {k + 1} of a cantilever with tip mass {mass:g} rhoA L and inertia {inertia:g} rhoA L^3",
                float(found[k]),
                value,
                2e-6,
                "roots of loaded beams, six decimals",
                robot=robot,
            )


def _slewing() -> Iterator[Claim]:
    """rhoA = EI = L = 1, torque at the hub: zeros of the hub angle and of the tip."""
    joint = {"name": "hub", "axis": "z"}
    arm = Dynamics(beam_robot(joint=joint, modes={"shape": "clamped-free", "bend_y": 8}), compile="never")
    model = linearise(arm, np.zeros(arm.size))
    hub = np.sort(np.abs(zeros(model, "hub", "hub").imag))[::2]
    for k, value in enumerate((3.5160152685, 22.0344915647)):
        yield Claim(
            f"published.slewing.hub.{k + 1}",
            "zero of the hub angle, 1/s",
            float(hub[k]),
            value,
            1e-6,
            "clamped-free beam",
        )
    tip = zeros(model, "tip.y", "hub")
    real = np.sort(tip[np.abs(tip.imag) < 1e-6].real)
    found = real[real > 0]
    for k, value in enumerate((11.18664, 60.45170)):
        yield Claim(
            f"published.slewing.tip.{k + 1}",
            "real zero of the tip, 1/s",
            float(found[k]),
            value,
            5e-3,
            "transcendental",
        )


def _de_luca() -> Iterator[Claim]:
    arm = Dynamics("de-luca-siciliano", compile="never")
    found = vibration_modes(arm, np.zeros(arm.size)).hertz
    for k, value in enumerate((0.4381, 1.9728, 2.6689, 16.1178)):
        yield Claim(
            f"published.de-luca-siciliano.{k + 1}",
            f"frequency {k + 1} of the arm, joints locked",
            float(found[k]),
            value,
            2e-4,
            "finite elements; arm of De Luca & Siciliano 1991",
            "Hz",
            robot=arm.robot,
            given={"held": list(arm.inputs)},
        )
