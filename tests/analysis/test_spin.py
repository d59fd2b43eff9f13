"""Frequencies over the speed of a joint by exact tangents, against published ones, for every kind of link."""

import numpy as np
import pytest

from pliant import Dynamics, ModelError, NoEquilibriumError, Robot, frequencies_in_rotation, frequencies_over_speed
from pliant.bodies.build import build_body

# Wright, Smith, Thresher, Wang, J. Appl. Mech. 49 (1982): out-of-plane frequencies of a turning uniform cantilever, at
# eta = speed sqrt(rho A L^4 / EI), in the same unit
WRIGHT = {0.0: (3.5160, 22.0345), 2.0: (4.1373, 22.6149), 6.0: (7.3604, 26.8091), 12.0: (13.1702, 37.6031)}
PRINTED = 2e-4
KEYS = ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee")


def bar(plane, link=None, gravity=(0, 0, 0), **beam):
    """A bar of unit constants that turns about z."""
    constants = {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0}
    shapes = {"bending": "second-order", "modes": {"shape": "clamped-free", plane: 5}, **beam}
    given = {"beam": {"length": 1.0, "properties": constants, **shapes}} if link is None else link
    return Robot(name="bar", gravity=gravity, links=[{"name": "bar", "joint": {"name": "hub", "axis": "z"}, **given}])


def as_data(robot):
    """The bar as modal data, from the constants of its beam."""
    body = build_body(robot.links[0], robot)
    tip = body.frames["tip"]
    frame = {"position": [1, 0, 0], "Phi_d": tip.Phi_d, "Phi_r": tip.Phi_r, "Gamma": body.large.frames["tip"]}
    data = {"mass": body.mass, "frames": {"tip": frame}, **{key: getattr(body, key) for key in KEYS}}
    return {"modal": {**data, "Gamma_first": body.large.first, "Gamma_second": body.large.second}}


@pytest.mark.parametrize("kind", ["second-order", "exact", "modal"])
@pytest.mark.parametrize("plane", ["bend_y", "bend_z"])
def test_frequencies_of_a_turning_bar(kind, plane):
    """Out of the plane the values are published, in it their squares are smaller by that of the speed."""
    robot = bar(plane)
    if kind == "exact":
        robot = bar(plane, bending="exact", modes={"shape": "legendre", plane: 6})
    elif kind == "modal":
        robot = bar(plane, as_data(robot))
    found = frequencies_in_rotation(robot, "hub", list(WRIGHT), count=2)
    flap, eta = np.array(list(WRIGHT.values())), np.array(list(WRIGHT))[:, None]
    inside = plane == "bend_y"
    # five shapes follow the fastest rotation to 2.5e-3
    close = np.array([PRINTED, PRINTED, PRINTED, 3e-3])[:, None] if kind != "exact" else 2e-3
    wanted = np.sqrt(flap**2 - inside * eta**2)
    assert (np.abs(found.stiffened / wanted - 1) < close).all()
    if kind != "exact":
        softened = np.sqrt(np.maximum(flap[0] ** 2 - inside * eta**2, 0.0))
        np.testing.assert_allclose(found.softened, softened, rtol=PRINTED, atol=1e-6)


def test_it_agrees_with_nodes():
    robot = bar("bend_y", elements={"number": 12, "bend_y": True}, modes=None)
    tangents, nodes = (f(robot, "hub", [0.0, 3.0], count=2) for f in (frequencies_in_rotation, frequencies_over_speed))
    np.testing.assert_allclose(tangents.stiffened, nodes.stiffened, rtol=1e-3)


def test_what_does_not_turn_steadily_is_refused():
    with pytest.raises(NoEquilibriumError, match="cannot turn steadily"):
        frequencies_in_rotation(bar("bend_z", gravity=(0, -9.81, 0)), "hub", [1.0])
    with pytest.raises(ModelError, match="no actuated joint 'hup'; did you mean 'hub'"):
        frequencies_in_rotation(bar("bend_z"), "hup", [1.0])
    assert Dynamics(bar("bend_z"), compile="never").inputs == ("hub",)
