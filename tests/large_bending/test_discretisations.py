"""Stiffening by rotation and buckling, whatever the coordinates of a link are: modes, elements, lumps, data.

EI = rho A = L = 1 everywhere, so that the numbers are those of books.
"""

import numpy as np
import pytest
from scipy.linalg import eigh

import pliant
from pliant import Beam, Dynamics, Joint, Link, Loop, Properties, Rigid, Robot
from pliant.bodies.build import build_body

SPEED = 6.0
FLAP, LAG = 7.36037301931, 4.26322542019
"""First frequencies of a beam that turns about its root with SPEED; power series in 40 digits."""
PINNED = np.pi**2
"""First frequency of a column between hinges, and the load at which it buckles ..."""
PART = 0.5
"""... of which this is on it."""
HEAD = 1e-6
"""What the light head of the column changes, relative."""
STIFF_IN_SHEAR = 1e6
"""Shear stiffness over that of bending, at which a Timoshenko beam is the slender one to 1e-6."""

UNIT = {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0, "kGAy": STIFF_IN_SHEAR, "kGAz": STIFF_IN_SHEAR}


def halves():
    """The same beam, of two segments."""
    return {"segments": [{"length": 0.4, "properties": UNIT}, {"length": 0.6, "properties": UNIT}]}


STRAINS = {"shape": "legendre", "bend_y": 4, "bend_z": 4}
KINDS = {
    "modes": ({"modes": {"shape": "clamped-free", "bend_y": 6, "bend_z": 6}}, 1.5e-3),
    "polynomials": ({"modes": {"shape": "polynomial", "bend_y": 6, "bend_z": 6}}, 1e-3),
    "Legendre": ({"modes": {"shape": "legendre", "bend_y": 6, "bend_z": 6}}, 1e-3),
    "segments": ({"modes": {"shape": "legendre", "bend_y": 6, "bend_z": 6}, **halves()}, 1e-3),
    "elements": ({"elements": {"number": 4}}, 1e-3),
    "Timoshenko": ({"elements": {"number": 4, "timoshenko": True}}, 1e-3),
    "Craig-Bampton": ({"elements": {"number": 6, "reduce": {"craig_bampton": 4}}}, 1e-3),
    # one cubic: see ``ritz``
    "static": ({"elements": {"number": 4, "reduce": "static"}}, 1e-9),
    # rigid pieces: their error falls with the square of their number
    "lumps": ({"lumped": {"nodes": 10}}, 1e-2),
    "rods": ({"bending": "exact", "modes": STRAINS}, 1e-3),
    "rods of segments": (
        {"bending": "exact", "modes": {"shape": "legendre", "bend_y": 4, "bend_z": 4}, **halves()},
        1e-3,
    ),
}
"""Kind -> keys of its beam, and the relative accuracy that is asked of it."""


def beam(keys, planar):
    """The beam of some keys; in a plane it bends in y alone."""
    given = keys if "segments" in keys else {"length": 1.0, "properties": Properties(**UNIT), **keys}
    if planar:
        (how,) = {"modes", "elements", "lumped"} & set(keys)
        rest = {name: x for name, x in keys[how].items() if name != "bend_z"}
        given = {**given, how: rest if how == "modes" else {**rest, "bend_z": False}}
    return Beam(**given)


def as_data(link):
    """A second-order link as modal data with its geometric constants."""
    body = build_body(link)
    keys = ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee")
    at = body.frames["tip"]
    tip = {"position": at.position.tolist(), "Phi_d": at.Phi_d, "Phi_r": at.Phi_r, "Gamma": body.large.frames["tip"]}
    data = {"mass": body.mass, "length": 1.0, "frames": {"tip": tip}, **{key: getattr(body, key) for key in keys}}
    bent = {"Gamma_first": body.large.first, "Gamma_second": body.large.second}
    return link.with_changes(beam=None, modal={**data, **bent})


def link(kind, joint, *, planar=False):
    if kind == "modal data":
        return as_data(Link(name="bar", joint=joint, beam=beam(KINDS["modes"][0], planar)))
    return Link(name="bar", joint=joint, beam=beam(KINDS[kind][0], planar))


@pytest.fixture(scope="module", params=[*KINDS, "modal data"])
def kind(request):
    return request.param


def within(kind):
    return KINDS["modes" if kind == "modal data" else kind][1]


def ritz(tension, root):
    """Stiffness and mass of a beam with the shapes x^root ... x^3 under a tension N(x)."""
    shapes = [np.polynomial.Polynomial.basis(k) for k in range(root, 4)]

    def matrix(order, weight=1.0):
        slopes = [shape.deriv(order) if order else shape for shape in shapes]
        products = [[(a * b * weight).integ() for b in slopes] for a in slopes]
        return np.array([[p(1.0) - p(0.0) for p in row] for row in products])

    return matrix(2) + matrix(1, tension), matrix(0)


def test_a_rotating_beam(kind):
    """Centrifugal forces stiffen it: flapping out of its plane of rotation, lagging within."""
    robot = Robot(name="rotor", gravity=(0, 0, 0), links=[link(kind, Joint(name="hub", axis="z"))])
    arm = Dynamics(robot, compile="never")
    v = np.eye(arm.size)[0] * SPEED
    nothing = np.zeros(arm.size)
    M = arm.mass_matrix(nothing)[1:, 1:]
    K = arm.inverse_derivatives(nothing, v, nothing).q[1:, 1:]
    lowest = np.sqrt(eigh((K + K.T) / 2, M, eigvals_only=True)[:2])
    wanted = [LAG, FLAP]
    if kind == "static":
        x = np.polynomial.Polynomial([0.0, 1.0])
        flap = eigh(*ritz(SPEED**2 * (1 - x**2) / 2, 2), eigvals_only=True)[0]
        wanted = np.sqrt([flap - SPEED**2, flap])
    assert lowest == pytest.approx(wanted, rel=within(kind))


def test_a_pinned_column(kind):
    """Pressed along its axis between two hinges: omega = omega_0 sqrt(1 - N / N_cr) with Euler's load."""
    rail = Joint(name="rail", type="prismatic", axis="x", actuated=False, parent="base")
    head = Link(name="head", joint=rail, rigid=Rigid(mass=1e-3, inertia=1e-4))
    top = {"frame": "head.root", "position": [1.0, 0.0, 0.0]}
    end = Loop(name="end", type="revolute", frames=("bar.tip", top), planar="xy")
    bar = link(kind, Joint(name="hinge", actuated=False), planar=True)
    arm = Dynamics(Robot(name="column", gravity=(0, 0, 0), links=[bar, head], loops=[end]), compile="never")
    found = pliant.modes(arm, loads={"head.root": [-PART * PINNED, 0.0, 0.0]})
    # a cubic between hinges vibrates with sqrt(120) and buckles at 12
    wanted = np.sqrt(120.0 * (1 - PART * PINNED / 12.0)) if kind == "static" else PINNED * np.sqrt(1 - PART)
    assert found.frequencies[0] == pytest.approx(wanted, rel=HEAD if kind == "static" else within(kind))
