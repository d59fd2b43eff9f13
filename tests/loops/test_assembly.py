"""Closing the loops from a guess, and saying why that cannot be."""

import numpy as np
import pytest

from closed_robots import five_bar, four_bar, pendulum_ring, state
from pliant import Dynamics, ModelError, Robot, equilibrium, load
from pliant.formulations.loops.loops import AssemblyError, LoopError

BUNDLED = ("four-bar", "four-bar-rigid", "five-bar", "three-prs", "closed-frame", "dualemps")


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_poses_are_closed(name):
    arm = Dynamics(name, compile="never")
    assert np.abs(arm.closure(arm.reference_pose())).max() < 1e-12
    np.testing.assert_allclose(arm.assemble(), arm.reference_pose(), atol=1e-12)


@pytest.mark.parametrize("name", BUNDLED)
def test_from_a_bad_guess_with_the_drives_held(name):
    arm = Dynamics(name, compile="never")
    guess = arm.reference_pose()
    joints = arm.tree.joints.tolist()
    driven = [arm.names.index(name) for name in arm.inputs]
    passive = [k for k in joints if k not in driven]
    rng = np.random.default_rng(2)
    guess[passive] += 0.15 * rng.standard_normal(len(passive))
    guess[driven] += 0.03 * rng.standard_normal(len(driven))
    q = arm.assemble(guess)
    assert np.abs(arm.closure(q)).max() < 1e-13
    held = [*driven, *(k for k in range(arm.size) if k not in joints)]
    np.testing.assert_array_equal(q[held], guess[held])


def test_hold_and_bend():
    arm = Dynamics("five-bar", compile="never")
    guess = arm.reference_pose() + 0.02
    q = arm.assemble(guess, hold=["left_elbow", "right_elbow"])
    assert np.abs(arm.closure(q)).max() < 1e-13
    assert q[arm.names.index("left_elbow")] == guess[arm.names.index("left_elbow")]
    assert q[arm.names.index("left_motor")] != guess[arm.names.index("left_motor")]
    bent = arm.assemble(guess, hold=[name for name in arm.names if "elbow" in name or "motor" in name], bend=True)
    assert np.abs(arm.closure(bent)).max() < 1e-13


def test_unknown_name_is_suggested():
    with pytest.raises(ValueError, match="no coordinate 'left_moter'; did you mean 'left_motor'"):
        Dynamics("five-bar", compile="never").assemble(hold=["left_moter"])


def test_batch():
    arm = Dynamics("four-bar-rigid", compile="never")
    guesses = arm.reference_pose() + 0.1 * np.random.default_rng(0).standard_normal((5, arm.size))
    q = arm.assemble(guesses)
    assert q.shape == guesses.shape
    assert np.abs(arm.closure(q)).max() < 1e-13


def test_an_impossible_loop_names_itself_and_its_gap():
    """Bars of 0.12 + 0.36 + 0.28 m on a ground of 1 m: 0.24 m are missing."""
    arm = Dynamics(four_bar(lengths=(1.0, 0.12, 0.36, 0.28)), compile="never")
    with pytest.raises(AssemblyError, match=r"'closure' stays open by 0\.24 m") as error:
        arm.assemble(hold=[])
    assert error.value.gaps["closure"][0] == pytest.approx(0.24, rel=1e-6)
    assert isinstance(error.value, LoopError)
    with pytest.raises(AssemblyError, match=r"with motor held; free them with hold=\[\]") as error:
        arm.assemble()
    assert error.value.gaps["closure"][0] > 0.24


def test_only_the_loop_that_cannot_close_is_named():
    robot = load("three-prs")
    links = []
    for link in robot.links:
        if link.name == "rod_2":
            link = link.model_copy(update={"beam": link.beam.model_copy(update={"length": 0.2})})
        links.append(link)
    arm = Dynamics(robot.model_copy(update={"links": tuple(links)}), compile="never")
    held = [name for name in arm.names if name.startswith(("rail", "platform", "hinge_1", "hinge_3"))]
    with pytest.raises(AssemblyError, match="'ball_2' stays open by") as error:
        arm.assemble(hold=held)
    assert list(error.value.gaps) == ["ball_2"]


def test_projection_restores_both_levels():
    arm = Dynamics(pendulum_ring(), compile="never")
    q, v = state(arm)
    rng = np.random.default_rng(3)
    q2, v2 = arm.project(q + 1e-3 * rng.standard_normal(arm.size), v + 1e-2 * rng.standard_normal(arm.size))
    assert np.abs(arm.closure(q2)).max() < 1e-15
    assert np.abs(arm.closure_rate(q2, v2)).max() < 1e-14
    # a state on the constraints stays where it is
    q3, v3 = arm.project(q2, v2)
    np.testing.assert_allclose(q3, q2, atol=1e-15)
    np.testing.assert_allclose(v3, v2, atol=1e-13)


def test_projection_of_velocities_is_a_blow_of_the_closures():
    """It changes the momentum only along the constraints, and never adds energy."""
    arm = Dynamics(five_bar(), compile="never")
    q, _ = state(arm)
    v = np.random.default_rng(4).standard_normal(arm.size)
    _, after = arm.project(q, v)
    M, N = arm.mass_matrix(q), arm.reduced(q, np.zeros(arm.size)).N
    np.testing.assert_allclose(N.T @ M @ (after - v), 0, atol=1e-14)
    assert after @ M @ after <= v @ M @ v


# ---------------------------------------------------------------- far guesses, other assembly modes, bending


def three_rrr(**changes):
    """Three rigid cranks and couplers around a triangular platform, in its reference pose closed."""
    corner = {1: [0, 0, 0], 2: [0.15, 0.0866025403784, 0], 3: [0.15, -0.0866025403784, 0]}
    base = {1: [0, 0.5, 0], 2: [-0.4330127018922, -0.25, 0], 3: [0.4330127018922, -0.25, 0]}
    links, loops = [], []
    for k in (1, 2, 3):
        motor = {"name": f"m{k}", "parent": "base", "placement": {"position": base[k]}}
        links.append({"name": f"crank_{k}", "joint": motor, "rigid": {"mass": 0.3, "inertia": 1e-3, "length": 0.25}})
        elbow = {"name": f"e{k}", "parent": f"crank_{k}.tip", "actuated": False}
        links.append({"name": f"coupler_{k}", "joint": elbow, "rigid": {"mass": 0.3, "inertia": 1e-3, "length": 0.3}})
        if k == 1:
            links.append(
                {
                    "name": "platform",
                    "joint": {"name": "p", "parent": "coupler_1.tip", "actuated": False},
                    "rigid": {"mass": 0.6, "com": [0.1, 0, 0], "inertia": 2e-3},
                    "frames": [{"name": f"corner_{j}", "position": corner[j]} for j in (2, 3)],
                }
            )
        else:
            ends = [f"coupler_{k}.tip", f"platform.corner_{k}"]
            loops.append({"name": f"l{k}", "type": "revolute", "frames": ends, "planar": "xy"})
    pose = {
        "m1": -2.059002,
        "e1": 0.953491,
        "p": -0.534678,
        "m2": -0.043012,
        "e2": 0.440764,
        "m3": 2.588920,
        "e3": 0.598613,
    }
    return Robot.model_validate({"name": "3-RRR", "links": links, "loops": loops, "pose": pose, **changes})


@pytest.mark.parametrize(("m1", "m2"), [(-2.4, 0.4), (-1.9, -0.2), (-1.65, -0.4), (-1.4, -0.4), (-1.4, 0.4)])
def test_loops_close_from_far_away(m1, m2):
    """Where couplers must fold over, the nearest guess ends in a gap that is smallest only nearby."""
    arm = Dynamics(three_rrr(), compile="never")
    q = arm.assemble(arm.q(m1=m1, m2=m2))
    assert np.abs(arm.closure(q)).max() < 1e-9
    assert q[arm.names.index("m1")] == m1
    np.testing.assert_array_equal(q, arm.assemble(arm.q(m1=m1, m2=m2)))


def test_what_cannot_close_is_still_told():
    arm = Dynamics(three_rrr(), compile="never")
    with pytest.raises(AssemblyError, match=r"the loops cannot close: .* with m1, m2, m3 held"):
        arm.assemble(arm.q(m1=-2.4, m2=-0.4))


def test_assembly_modes_by_name():
    """The platform turned further, with the same drives."""
    closed = Dynamics(three_rrr(), compile="never").assemble()
    names = Dynamics(three_rrr(), compile="never").names
    modes = {"folded": {"p": -1.2, "e3": 0.3}, "as drawn": {}}
    arm = Dynamics(three_rrr(assembly={"modes": modes}), compile="never")
    np.testing.assert_allclose(arm.assemble(mode="as drawn"), closed, atol=1e-6)
    other = arm.assemble(mode="folded")
    assert np.abs(arm.closure(other)).max() < 1e-9
    assert other[names.index("p")] < closed[names.index("p")] - 0.5
    np.testing.assert_array_equal(
        other[[names.index(f"m{k}") for k in "123"]], arm.q()[[names.index(f"m{k}") for k in "123"]]
    )
    chosen = Dynamics(arm.robot.set("assembly.mode", "folded"), compile="never")
    np.testing.assert_allclose(chosen.assemble(), other, atol=1e-9)
    with pytest.raises(
        ModelError, match="no assembly mode 'fold'; the assembly modes are 'folded', 'as drawn'; did you"
    ):
        arm.assemble(mode="fold")
    with pytest.raises(ModelError, match=r"assembly\.mode is 'up'; the assembly modes are"):
        arm.robot.set("assembly.mode", "up")
    with pytest.raises(ModelError, match=r"assembly\.modes.*there is no joint coordinate 'e4'"):
        three_rrr(assembly={"modes": {"up": {"e4": 1.0}}})


def misfit(**assembly):
    """Two cantilevers, one from each side, whose tips are 4 mm beside each other, and a pin that joins them."""
    properties = {"mass_per_length": 0.1, "EIz": 2.0, "EIy": 2.0}
    beam = {"length": 0.5, "properties": properties, "bending": "linear", "modes": {"shape": "polynomial", "bend_y": 3}}
    other = {"position": [1.0, 0.004, 0], "rotation": {"z": np.pi}}
    links = [
        {"name": "left", "joint": {"type": "fixed", "parent": "base"}, "beam": beam},
        {"name": "right", "joint": {"type": "fixed", "parent": "base", "placement": other}, "beam": beam},
    ]
    loops = [{"name": "pin", "type": "revolute", "frames": ["left.tip", "right.tip"], "planar": "xy"}]
    return Robot.model_validate(
        {"name": "misfit", "gravity": [0, 0, 0], "links": links, "loops": loops, "assembly": assembly}
    )


def test_loops_that_close_only_by_bending():
    """Each tip gives 2 mm to the pin: F = 3 EI / L^3 times that. Along the bars both stay as long as they are."""
    with pytest.raises(AssemblyError, match=r"'pin' stays open by 0\.004 m; .*assembly: {bend: true}"):
        Dynamics(misfit(), compile="never").assemble()
    arm = Dynamics(misfit(bend=True), compile="never")
    assert np.abs(arm.closure(arm.assemble())).max() < 1e-9
    found = equilibrium(arm)
    assert arm.multipliers(found.q, 0 * found.q)[1] == pytest.approx(3 * 2.0 / 0.5**3 * 0.002, rel=1e-6)
