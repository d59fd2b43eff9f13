"""Gear pairs: ratio by teeth or radii, inertia of both wheels, the force between the teeth."""

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant import Dynamics, Joint, Mimic, ModelError, Robot

MODULE, PINION, WHEEL = 0.002, 17, 51
ROUNDING = 1e-12
HUNG = {"mass": 0.8, "com": [0.1, 0.02, 0.03], "inertia": [0.02, 0.03, 0.04]}
BEAM = {
    "length": 0.5,
    "properties": {"mass_per_length": 1.0, "EIy": 20.0, "EIz": 30.0},
    "modes": {"shape": "clamped-free", "bend_y": 1, "bend_z": 1},
}


def train(*followed):
    """A bending arm that carries a pinion, a wheel in mesh with it and, if asked, a third wheel; (joint, mimic)."""
    follows = dict(followed)
    links = [{"name": "arm", "joint": {"name": "slew", "axis": "y"}, "beam": BEAM}]
    for k, name in enumerate(("pinion", "wheel", *(["last"] if "last" in follows else []))):
        joint = {"name": name, "parent": "arm.tip", "placement": {"position": [0, 0.068 * k, 0]}}
        joint |= {"mimic": follows[name]} if name in follows else {}
        links.append({"name": f"{name}_body", "joint": joint, "rigid": HUNG})
    return Robot.model_validate({"name": "train", "links": links})


def meshed(teeth, **others):
    return {"gear": {"teeth": teeth, "module": MODULE, **others}}


WRITTEN = {
    "on the wheel": ("wheel", {"joint": "pinion", **meshed([WHEEL, PINION])}),
    "on the pinion": ("pinion", {"joint": "wheel", **meshed([PINION, WHEEL])}),
    "by radii": ("wheel", {"joint": "pinion", "gear": {"radii": [0.051, 0.017]}}),
    "by a ratio": ("wheel", {"joint": "pinion", "ratio": -PINION / WHEEL}),
}


def test_a_ratio_is_that_of_the_teeth():
    assert Mimic(joint="a", gear={"teeth": [51, 17]}).ratio == pytest.approx(-1 / 3, rel=1e-15)
    assert Mimic(joint="a", gear={"teeth": [17, 51], "internal": True}).ratio == pytest.approx(3.0, rel=1e-15)
    assert Mimic(joint="a", gear={"radii": [0.02, 0.05]}).ratio == pytest.approx(-2.5, rel=1e-15)


@pytest.mark.parametrize("written", WRITTEN)
def test_it_is_the_same_pair_on_whichever_side_it_is_written(written):
    """Accelerations of all bodies under a torque on the pinion's body, and of a model with the wheel eliminated."""
    arm = Dynamics(train(WRITTEN[written]))
    free = Dynamics(train(), compile="never")
    ratio = -PINION / WHEEL
    T = np.vstack([np.eye(4), ratio * np.eye(4)[3]])
    rng = np.random.default_rng(0)
    u, du, f = 0.3 * rng.standard_normal(4), rng.standard_normal(4), rng.standard_normal(5)
    q, v = T @ u, T @ du
    assert free.names == ("slew", "arm.bend_y.1", "arm.bend_z.1", "pinion", "wheel")
    expected = T @ np.linalg.solve(T.T @ free.mass_matrix(q) @ T, T.T @ (f - free.bias(q, v)))
    for solver in ("recursive", "dense"):
        found = arm.forward(q, v, force=f, solver=solver)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert arm.energy(q, v).total == pytest.approx(free.energy(q, v).total, rel=ROUNDING)


def run_of(*followed, joint="pinion", torque=3.0):
    drive = {"given": {"joints": {joint: torque}}}
    return pliant.run_study(pliant.Study(robot=train(*followed), until=0.2, drive=drive))


def test_the_force_between_the_teeth_turns_the_wheel():
    """F r is what the wheel's bodies need; the pinion feels F r of its own radius."""
    run = run_of(WRITTEN["on the wheel"])
    arm, free = run.arm, Dynamics(train(), compile="never")
    for k in (0, len(run.q) // 2, -1):
        a = arm.forward(run.q[k], run.v[k], run.tau[k])
        needed = free.forces(run.q[k], run.v[k], a)
        F = run["wheel.tooth.force"][k]
        assert pytest.approx(needed[4], rel=1e-8) == F * WHEEL * MODULE / 2
        # outside meshing wheels: the force that turns the wheel backwards turns the pinion forwards
        assert pytest.approx(needed[3], rel=1e-8) == 3.0 + F * PINION * MODULE / 2
    assert np.abs(run["energy.balance"]).max() <= 1e-6 * np.abs(run["energy.kinetic"]).max()


def test_written_on_the_other_side_the_force_is_the_same():
    first = run_of(WRITTEN["on the wheel"])
    second = run_of(WRITTEN["on the pinion"], joint="wheel", torque=0.0)
    assert "pinion.tooth.force" in second.channels
    arm, other = first.arm, Dynamics(train(WRITTEN["on the pinion"]))
    q, v = first.q[-1], first.v[-1]
    # the same torque on the pinion: as a drive, and as a force on a joint without one
    force = np.array([0.0, 0.0, 0.0, 3.0, 0.0])
    held, turned = arm.multipliers(q, v, np.zeros(2), force=force), other.multipliers(q, v, np.zeros(2), force=force)
    assert held[0] / WHEEL == pytest.approx(turned[0] / PINION, rel=1e-8)


def test_teeth_carry_what_drives_further_wheels():
    """An idler between two wheels passes on what the last one needs."""
    idler = ("wheel", {"joint": "pinion", **meshed([WHEEL, PINION])})
    last = ("last", {"joint": "wheel", **meshed([34, WHEEL])})
    run = run_of(idler, last)
    free = Dynamics(run.robot.with_changes(links=_without_ties(run.robot)), compile="never")
    a = run.arm.forward(run.q[-1], run.v[-1], run.tau[-1])
    needed = dict(zip(free.names, free.forces(run.q[-1], run.v[-1], a), strict=True))
    on_last, on_idler = (run[f"{name}.tooth.force"][-1] for name in ("last", "wheel"))
    assert on_last * 34 * MODULE / 2 == pytest.approx(needed["last"], rel=1e-8)
    assert (on_idler + on_last) * WHEEL * MODULE / 2 == pytest.approx(needed["wheel"], rel=1e-8)
    assert 3.0 + on_idler * PINION * MODULE / 2 == pytest.approx(needed["pinion"], rel=1e-8)


def _without_ties(robot):
    return [link.with_changes(joint=link.joint.with_changes(mimic=None)) for link in robot.links]


def test_a_file_comes_back_and_is_shown_and_drawn(tmp_path):
    from pliant.cli.app import app

    robot = train(WRITTEN["on the wheel"])
    robot.save(tmp_path / "train.yaml")
    assert pliant.load(tmp_path / "train.yaml") == robot
    assert "ratio" not in (tmp_path / "train.yaml").read_text()
    plot = tmp_path / "train.svg"
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "train.yaml"), "--plot", str(plot)])
    assert shown.exit_code == 0, shown.output
    assert "follows pinion by a gear 51:17" in " ".join(shown.output.split())
    assert plot.stat().st_size > 1000
    assert robot.set("wheel.mimic.gear.teeth[0]", 34).joint("wheel").mimic.ratio == pytest.approx(-0.5)


def test_its_equations_in_c_are_those_of_the_tie(tmp_path):
    from pliant.export.c import generate_c

    written = []
    for way in ("on the wheel", "by a ratio"):
        source, _ = generate_c(Dynamics(train(WRITTEN[way])), tmp_path / "train.c", ("forward",))
        written.append(source.read_text())
        source.unlink()
        source.with_suffix(".h").unlink()
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mimic(joint="a", gear={}), "either teeth or radii"),
        (lambda: Mimic(joint="a", gear={"teeth": [1, 2], "radii": [1, 2]}), "either teeth or radii"),
        (lambda: Mimic(joint="a", gear={"radii": [1, 2], "module": 0.1}), "leave module out"),
        (lambda: Mimic(joint="a", gear={"teeth": [9, 9], "internal": True}), "a ring is larger"),
        (lambda: Mimic(joint="a", ratio=2.0, gear={"teeth": [1, 2]}), "the gear 1:2 makes it -2: leave it out"),
        (
            lambda: Joint(type="prismatic", mimic={"joint": "a", "gear": {"teeth": [1, 2]}}),
            "a prismatic joint has no wheel; a rack follows its pinion by a ratio, the pitch radius",
        ),
        (lambda: train(("wheel", {"joint": "nobody", "gear": {"teeth": [1, 2]}})), "there is no joint of that name"),
    ],
)
def test_impossible_gears(make, words):
    with pytest.raises(ModelError, match=words):
        make()
