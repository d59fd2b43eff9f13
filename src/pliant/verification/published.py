"""Numbers that were published, or that a formula gives, beside ours; those that are wrong in print, and why."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.analysis.modes import vibration_modes
from pliant.control.linear_model import linearise
from pliant.control.zeros import zeros
from pliant.dynamics import Dynamics
from pliant.model.description.robot import Robot
from pliant.model.readers.library import load
from pliant.reproduce import dualemps, lin_lewis
from pliant.simulation.run import run_study
from pliant.simulation.study import load_study
from pliant.verification.claims import Claim, beam_robot

ANALYTIC = 1e-8
"""Roots of transcendental equations, met by shapes that contain them."""
RITZ = 1e-5
"""Shapes that approach them."""


def claims() -> Iterator[Claim]:
    """Paper by paper, formula by formula."""
    for part in (
        _beams,
        _tip_masses,
        _slewing,
        _de_luca,
        _mohan_saha,
        _lin_lewis,
        _briot_khalil,
        _cibicik,
        _di_gregorio,
    ):
        yield from part()


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


def mohan_saha(n: int, m: int) -> tuple[float, float]:
    """Multiplications and additions of forward dynamics by Mohan & Saha's Table 1, "Proposed".

    n spatial links with m modes in each bending direction: M_1p n + M_2p and A_1p n + A_2p, with m^ = 1 + 2m.
    """
    h = 1 + 2 * m
    m3 = h**3 / 6 + (2 * m + 15 / 2) * h**2 + (2 * m**2 + 15 * m + 100 / 3) * h
    a3 = h**3 / 6 + h**2 / 2 + (6 * m**2 + 27 * m + 82 / 3) * h
    m4 = a4 = (2 * m**2 + 13 * m + 27) * h
    multiplications = (2 * m**2 + 180 * m + 299 + m3) * n - (124 * m + 229 + m4)
    additions = (6 * m**2 + 122 * m + 220 + a3) * n - (94 * m + 192 + a4)
    return multiplications, additions


def _mohan_saha() -> Iterator[Claim]:
    angles = {
        1: (0.011651676, 0.021037007, 0.008950981),
        3: (0.052976260, 0.109112627, 0.152664693),
        5: (0.148186416, 0.265256829, 0.507950395),
    }
    run = run_study(load_study("canadarm", changes={"until": 5.0, "outputs": {"step": 0.01}}))
    for second, values in angles.items():
        k = int(np.argmin(np.abs(run.time - second)))
        for joint, value in zip(("shoulder", "elbow", "wrist"), values, strict=True):
            yield Claim(
                f"published.canadarm.{joint}.{second}",
                f"angle of the {joint} after {second} s of the forced run",
                float(run[joint][k]),
                value,
                1e-6,
                "brute-force integration of Mohan & Saha's Canadarm",
                "rad",
                absolute=True,
                robot=run.robot,
                given={"study": "canadarm", "time": second},
            )
    counted = Dynamics("canadarm", compile="never").operations("forward").total
    printed = sum(mohan_saha(3, 2))
    yield Claim(
        "published.mohan-saha.operations",
        f"operations of the forward dynamics of the Canadarm, {counted}, above the paper's count, {printed:.0f}",
        max(counted - printed, 0.0),
        0.0,
        0.5,
        "Mohan & Saha, table 1, three links with two modes per plane",
    )


def _lin_lewis() -> Iterator[Claim]:
    matrices = lin_lewis.one_link_matrices(15)
    for k, (value, printed) in enumerate(zip(lin_lewis.CORRECTED, lin_lewis.PRINTED, strict=True)):
        ours = float(matrices.eigenvalues[k])
        # the paper cuts off after three digits
        digit = 10.0 ** (np.floor(np.log10(value)) - 2)
        yield Claim(
            f"published.lin-lewis.eigenvalue.{k + 1}",
            f"eigenvalue {k + 1} of [M^-1]_FF U_FF, one flexible link",
            ours,
            value,
            digit,
            "Lin & Lewis, section 4.2, three digits",
            "1/s^2",
            absolute=True,
        )
        if printed != value and k == 1:
            yield Claim(
                "published.lin-lewis.misprint.eigenvalue.2",
                "eigenvalue 2 as it is printed, in a list that should rise",
                ours,
                3.70e5,
                1e-2,
                "Lin & Lewis, section 4.2",
                "1/s^2",
                wrong="3.70e5 stands for 3.70e4: the exponent is wrong",
            )
    found = np.sort(np.abs(lin_lewis.one_link_zeros("clamped-free").imag))[::2]
    for k, (value, within) in enumerate(((1.0914, 1e-4), (76.98, 5e-4))):
        yield Claim(
            f"published.lin-lewis.zero.clamped-free.{k + 1}",
            "zero of the motor angle, clamped-free shapes",
            float(found[k]),
            value,
            within,
            "Lin & Lewis, section 4.2, M rounded to five decimals",
            "1/s",
        )
    pinned = lin_lewis.one_link_zeros("pinned-pinned")
    yield Claim(
        "published.lin-lewis.misprint.zero.pinned-pinned",
        "largest imaginary part of the zeros with pinned-pinned shapes",
        float(np.abs(pinned.imag).max()),
        76.06,
        1e-3,
        "Lin & Lewis, section 4.2",
        "1/s",
        wrong="the zeros are real (56.42 and 163.96 1/s), not a complex quadruple",
    )
    ratio = lin_lewis.chord_ratios()[0]
    yield Claim(
        "published.lin-lewis.misprint.chord",
        "angle of the chord over that of the tip, first clamped-free mode",
        float(ratio),
        1.0,
        1e-2,
        "Lin & Lewis turn the next link by the chord",
        wrong="the next link turns by the slope at the tip; the chord turns by 72.6 % of it",
    )


def _briot_khalil() -> Iterator[Claim]:
    corrected = (14.207, 25.042, 48.156, 91.907, 110.326, 436.197)
    for row, value in zip(dualemps.frequencies(), corrected, strict=True):
        yield Claim(
            f"published.dualemps.model.{row.mode}",
            f"frequency {row.mode} with one element per beam and the printed digits of table 2",
            row.one_element,
            value,
            5e-5,
            "independent assembly of the DualEMPS",
            "Hz",
        )
        # table 2 is rounded: the printed frequencies rest on more digits
        yield Claim(
            f"published.dualemps.paper.{row.mode}",
            f"frequency {row.mode} as the paper's model has it",
            row.one_element,
            row.paper_model,
            4e-2,
            "Briot & Khalil, table 3; table 2 is rounded",
            "Hz",
        )
    arm = Dynamics("dualemps", compile="never")
    total = arm.operations("forward").total + arm.operations("inverse").total
    yield Claim(
        "published.dualemps.operations",
        "operations of the forward and inverse models above those of the paper's model",
        max(float(total - dualemps.PAPER_OPERATIONS), 0.0),
        0.0,
        0.5,
        "Briot & Khalil, section 5: 1555 + 1287",
    )


def _cibicik() -> Iterator[Claim]:
    """The literal model of the paper is not symmetric; the completed one is."""
    robot = load("cibicik-4dof")
    for method, wrong in (
        ("dual_screw", ""),
        ("dual_screw_literal", "elastic columns of M to order zero, all others to order one: the model is unstable"),
    ):
        arm = Dynamics(robot, method=method, compile="never")
        q = arm.reference_pose()
        elastic = np.setdiff1d(np.arange(arm.size), list(arm.mechanism.joints))
        q[elastic] = 1e-3 * np.linspace(-1.0, 1.0, len(elastic))
        M = arm.mass_matrix(q)
        size = np.sqrt(np.abs(np.outer(np.diag(M), np.diag(M))))
        yield Claim(
            f"published.cibicik.symmetry.{method}",
            f"how far M of the linearised 4-DOF arm is from symmetric, {method}",
            float(np.abs((M - M.T) / size).max()),
            0.0,
            1e-9,
            "Cibicik & Egeland",
            wrong=wrong,
        )


def _di_gregorio() -> Iterator[Claim]:
    from pliant.analysis.lumped.frequencies import natural_frequencies
    from pliant.analysis.lumped.lumped_model import LumpedModel
    from pliant.reproduce.di_gregorio import open_chain

    fine = LumpedModel(open_chain(32))
    arm = Dynamics(fine.robot, compile="never")
    nodes = natural_frequencies(fine, fine.at_rest(), 2)
    joints = tuple(arm.robot.joint_coordinates)
    whole = vibration_modes(arm, arm.reference_pose(), locked=joints).frequencies
    for k in range(2):
        yield Claim(
            f"published.di-gregorio.frequency.{k + 1}",
            f"frequency {k + 1} of the open chain, drives locked, 32 nodes per link, beside the recursion",
            float(nodes[k]),
            float(whole[k]),
            1e-6,
            "method recursive with the same lumped nodes",
            "rad/s",
        )
