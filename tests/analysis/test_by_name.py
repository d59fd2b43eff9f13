"""States by name everywhere, and what comes back by name."""

import pickle

import numpy as np
import pytest

import pliant
from pliant import Dynamics, equilibrium, linearise, modes

ROUNDING = 1e-12
"""Of the largest entry."""


@pytest.fixture(scope="module")
def arm():
    return Dynamics("two-link-flexible", compile="never")


@pytest.fixture(scope="module")
def compiled():
    return Dynamics("two-link-flexible")


def test_positions_start_from_the_pose_and_rates_from_zero(arm):
    q = arm.q(elbow=0.5)
    pose = arm.reference_pose()
    assert q[3] == 0.5
    assert np.array_equal(np.delete(q, 3), np.delete(pose, 3))
    assert np.array_equal(arm.v(elbow=0.5), [0, 0, 0, 0.5, 0, 0])
    assert np.array_equal(arm.tau(elbow=0.5), [0, 0.5])
    assert np.array_equal(arm.q(arm.v(elbow=1.0), elbow=0.5), [0, 0, 0, 0.5, 0, 0])
    assert arm.q(elbow="30 deg")[3] == pytest.approx(np.pi / 6)
    assert arm.v(elbow="1 rad/s")[3] == 1.0
    assert arm.by_name(q)["elbow"] == 0.5
    assert arm.by_name([1.0, 2.0]) == {"shoulder": 1.0, "elbow": 2.0}


def same(a, b):
    """Names go the general way, arrays the quick one: the same operations, but for their order."""
    return np.allclose(a, b, rtol=0, atol=ROUNDING * np.abs(b).max())


def test_every_function_takes_names(compiled):
    arm, named = compiled, {"elbow": 0.5, "upper.bend_y.1": 1e-3}
    q, v, a = arm.q(named), arm.v(elbow=0.3), arm.v(shoulder=2.0)
    by = (named, {"elbow": 0.3}, {"shoulder": 2.0})
    assert same(arm.forward(named, by[1], {"elbow": 2.0}), arm.forward(q, v, arm.tau(elbow=2.0)))
    assert same(arm.forces(*by), arm.forces(q, v, a))
    assert same(arm.mass_matrix(named), arm.mass_matrix(q))
    assert same(arm.pose("tip", named).position, arm.pose("tip", q).position)
    assert same(arm.jacobian("tip", named), arm.jacobian("tip", q))
    assert same(arm.energy(named, by[1]), arm.energy(q, v))
    assert same(arm.derivatives(named, by[1]).q, arm.derivatives(q, v).q)
    sensitivity = pliant.force_sensitivity
    path = "forearm.payloads[0].mass"
    assert same(sensitivity(arm, path, *by), sensitivity(arm, "forearm.payloads.0.mass", q, v, a))


def test_arrays_by_name_are_a_batch(arm):
    angles = np.linspace(0.0, 1.0, 3)
    tips = arm.pose("tip", {"elbow": angles}).position
    assert tips.shape == (3, 3)
    assert np.array_equal(tips[2], arm.pose("tip", {"elbow": 1.0}).position)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"elbw": 1}, "q: robot 'two-link-flexible' has no coordinate 'elbw'; did you mean 'elbow'?"),
        ({"wrist": 1}, "it has shoulder, upper.bend_y.1"),
        ({"elbow": "30 kg"}, "q of 'elbow' is '30 kg'; its unit is wrong"),
        ({"elbow": None}, "q of 'elbow'"),
        ({"elbow": np.zeros((2, 2))}, "they must be numbers or (count,)"),
    ],
)
def test_wrong_names_and_values_are_told(arm, given, told):
    with pytest.raises(ValueError, match="q") as error:
        arm.pose("tip", given)
    assert told in str(error.value)


def test_inverse_dynamics_say_what_they_found(arm):
    found = arm.inverse({}, {}, {"elbow": 1.0})
    tau, others = found
    assert tau is found.tau
    assert found.inputs == ("shoulder", "elbow")
    assert found.names == arm.others == ("upper.bend_y.1", "upper.bend_y.2", "forearm.bend_y.1", "forearm.bend_y.2")
    assert found.by_name["forearm.bend_y.2"] == others[3]
    again = pickle.loads(pickle.dumps(found))
    assert again.names == found.names
    # what was found is what happens
    a = arm.forward(arm.q(), arm.v(), tau)
    assert a[3] == pytest.approx(1.0)
    assert a[[1, 2, 4, 5]] == pytest.approx(others)


def test_analyses_take_joints_by_name(arm):
    """A pose of joints is bent as gravity bends it, as the reference pose is."""
    bent = equilibrium(arm, {"elbow": 0.5}).q
    assert modes(arm, {"elbow": 0.5}).q == pytest.approx(bent)
    assert modes(arm, {"elbow": 0.5}).hertz == pytest.approx(modes(arm, bent).hertz)
    assert linearise(arm, {"elbow": 0.5}).q == pytest.approx(bent)
    # an array, or elastic coordinates by name, are taken as they are
    assert np.array_equal(modes(arm, arm.q(elbow=0.5)).q, arm.q(elbow=0.5))
    assert np.array_equal(modes(arm, {"elbow": 0.5, "upper.bend_y.1": 0.0}).q, arm.q(elbow=0.5))


def test_one_output_is_one_name(arm):
    model = linearise(arm, outputs="tip.z")
    assert model.outputs == ("tip.z",)
    assert np.array_equal(model.C, linearise(arm, outputs=["tip.z"]).C)
    assert repr(model) == "LinearModel('two-link-flexible', 12 states, 2 inputs, 1 outputs)"
    assert "damping %" in model._repr_html_()
    swings = model.poles[model.poles.imag > 0]
    assert len(swings)
    assert all(f"<td>{p.imag / (2 * np.pi):.4g}</td>" in model._repr_html_() for p in swings)


def test_other_numbers_need_no_new_code(compiled, monkeypatch):
    """Machine code is that of the structure: a changed robot finds it ready."""
    from pliant.engine.compile import jit

    # half a metre is the length of the forearm too; numbers that are equal share a place
    light = compiled.set("forearm.payloads[0].mass", 0.7)
    q, v = light.q(elbow=0.5), light.v()
    before = light.forward(q, v)

    def refuse(*args, **kwargs):
        raise AssertionError("something is compiled anew")

    monkeypatch.setattr(jit, "machine_code", refuse)
    heavier = light.set("forearm.payloads[0].mass", 2.0)
    assert heavier.robot.get("forearm.payloads[0].mass") == 2.0
    assert not np.allclose(heavier.forward(q, v), before)


def test_dynamics_can_be_handed_on():
    arm = Dynamics("two-link-flexible", compile="never", stabilise=3.0)
    again = pickle.loads(pickle.dumps(arm))
    assert again.options == arm.options
    assert again.robot == arm.robot
    found = modes(arm, count=2)
    assert np.array_equal(pickle.loads(pickle.dumps(found)).shapes, found.shapes)


def test_pages_and_pictures_for_a_notebook(arm, tmp_path):
    assert "<td>upper.bend_y.1</td>" in arm._repr_html_()
    found = modes(arm)
    assert f"<td>{found.hertz[0]:.4g}</td>" in found._repr_html_()
    assert found.shape(0)["elbow"] == found.shapes[3, 0]
    for figure in (arm.draw(tmp_path / "arm.svg"), found.draw()):
        assert figure._repr_png_().startswith(b"\x89PNG")
    assert (tmp_path / "arm.svg").stat().st_size > 1000
