"""Planar arms of rigid and flexible links against independent numbers: every term of their equations."""

import json
from pathlib import Path

import numpy as np
import pytest

from pliant import Beam, Joint, Link, Modes, Properties, Rigid, RigidPart, Robot
from pliant.dynamics import Dynamics

REFERENCE = json.loads((Path(__file__).parent / "data" / "planar_arms.json").read_text())
CASES = {case["name"]: case for case in REFERENCE["cases"]}

TOLERANCE = 1e-9
"""Of the largest entry of each array, as the reference states."""


def build(case):
    links = []
    for i, given in enumerate(case["links"]):
        joint = Joint(name=f"theta{i + 1}", axis="z")
        last = i == len(case["links"]) - 1
        payloads = (RigidPart(mass=case["payload"]["m"], frame="tip"),) if last else ()
        if given["type"] == "R":
            slender = [0.0, given["Ic"], given["Ic"]]
            body = {"rigid": Rigid(mass=given["m"], com=[given["lc"], 0, 0], inertia=slender, length=given["L"])}
        else:
            modes = Modes(shape=given["modes"].replace("_", "-"), bend_y=given["n_modes"], normalise="none")
            properties = Properties(mass_per_length=given["rhoA"], EIz=given["EI"])
            body = {"beam": Beam(length=given["L"], properties=properties, modes=modes, bending="linear")}
        links.append(Link(name=f"link{i + 1}", joint=joint, payloads=payloads, **body))
    return Robot(name=case["name"], links=links, gravity=[*case["gravity"], 0.0])


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def arm(case):
    return Dynamics(build(case))


@pytest.fixture(scope="module")
def order(case, arm):
    """Our index of each coordinate of the reference (joints first, then modes: v2_1 is link2.bend_y.1)."""
    names = []
    for name in case["q_order"]:
        link, _, mode = name.removeprefix("v").partition("_")
        names.append(name if name.startswith("theta") else f"link{link}.bend_y.{mode}")
    return [arm.names.index(name) for name in names]


def agrees(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    return np.abs(ours - theirs).max() <= TOLERANCE * max(np.abs(theirs).max(), TOLERANCE)


def test_constant_matrices(case, arm, order):
    assert agrees(arm.stiffness[np.ix_(order, order)], case["K"])
    assert agrees(arm.B[order], case["B"])


@pytest.mark.parametrize("number", range(3))
def test_every_term(case, arm, order, number):
    state = case["states"][number]
    q, v = np.zeros(arm.size), np.zeros(arm.size)
    q[order], v[order] = state["q"], state["qd"]
    C = arm.coriolis(q, v)
    assert agrees(arm.mass_matrix(q)[np.ix_(order, order)], state["M"])
    assert agrees(C[np.ix_(order, order)], state["C"])
    assert agrees((C @ v)[order], state["h"])
    assert agrees(arm.gravity(q)[order], state["G"])
    assert agrees(arm.pose("tip", q).position[:2], state["tip"])
    energy = arm.energy(q, v)
    assert agrees([energy.kinetic, energy.gravity, energy.strain], [state["T"], state["Vg"], state["Vs"]])

    # accelerations from the reference's own terms
    tau = np.arange(1.0, 1.0 + len(arm.inputs))
    right = np.array(case["B"]) @ tau - state["h"] - np.array(case["K"]) @ state["q"] - state["G"]
    assert agrees(arm.forward(q, v, tau)[order], np.linalg.solve(state["M"], right))
