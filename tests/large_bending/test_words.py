"""What a user says and reads of rods: initial shapes, damping ratios, strains along them, units of coordinates."""

import numpy as np
import pytest

import pliant
from pliant import Beam, Dynamics, Joint, Link, Modes, Properties, Robot, Start, StrainPoint, simulate
from pliant.simulation.run import Run
from pliant.simulation.study import load_study

EI, LOAD = 3.0, 2.0
RATIO = 0.03
PLAIN = {"shape": "legendre", "normalise": "none"}


def arm(count=2, **keys):
    """A rod of 1 m on a held hub, without weight; its coordinates are curvatures."""
    properties = Properties(mass_per_length=1.0, EIz=EI)
    beam = Beam(length=1.0, properties=properties, bending="exact", modes=Modes(**PLAIN, bend_y=count), **keys)
    joint = Joint(name="foot", type="fixed")
    return Dynamics(Robot(name="arm", gravity=(0, 0, 0), links=[Link(name="rod", joint=joint, beam=beam)]))


@pytest.fixture(scope="module")
def rod():
    return arm()


def test_a_shape_by_name(rod):
    """A constant curvature is an arc; a gauge on its skin sees y times it, everywhere."""
    gauges = [StrainPoint(name=name, link="rod", x=x, y=0.01) for name, x in (("root", 0.0), ("tip", 1.0))]
    start = Start(shape={"rod.bend_y.1": 0.8})
    run = simulate(rod, until=0.01, start=start, strains=gauges, output_step=0.005)
    assert run["rod.bend_y.1"][0] == pytest.approx(0.8)
    assert run["tip.position"][0, :2] == pytest.approx([np.sin(0.8) / 0.8, (1 - np.cos(0.8)) / 0.8], rel=1e-9)
    assert [run[f"strain.{name}"][0] for name in ("root", "tip")] == pytest.approx([-0.008, -0.008], rel=1e-12)
    assert run["energy.strain"][0] == pytest.approx(EI * 0.8**2 / 2)


def test_let_go_from_a_load(rod):
    """Bent by a force at its tip, as the equilibrium has it; the work of the load is in the strain."""
    run = simulate(rod, until=0.01, start=Start(links="equilibrium", loads={"rod.tip": (0, LOAD, 0)}))
    assert run.q[0] == pytest.approx(pliant.equilibrium(rod, loads={"rod.tip": [0, LOAD, 0]}).q)
    assert run["energy.total"][-1] == pytest.approx(run["energy.strain"][0], rel=1e-6)
    assert run["energy.kinetic"][-1] > 0


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("{shape: {rod.bend_x.1: 1}}", r"start.shape.rod.bend_x.1.*no elastic coordinate.*did you mean 'rod.bend_y.1'"),
        ("{shape: 3}", "start.shape is 3; it must be a mapping of elastic coordinates"),
        ("{loads: {tip: [0, 0, 1 N]}}", "write links: equilibrium"),
        ("{links: equilibrium, loads: {nose: [0, 0, 1 N]}}", "start.loads.nose.*no frame 'nose'"),
        ("{links: equilibrium, shape: {rod.bend_y.1: 1}}", "give one of shape, links: equilibrium and q"),
    ],
)
def test_what_cannot_be_meant(rod, tmp_path, start, message):
    (tmp_path / "rod.yaml").write_text(rod.robot.to_yaml())
    path = tmp_path / "study.yaml"
    path.write_text(f"name: s\nrobot: rod.yaml\nuntil: 0.01 s\nstart: {start}\n")
    with pytest.raises(pliant.ModelError, match=message):
        Run(load_study(path))


@pytest.mark.parametrize("mass", [0.0, 0.5])
def test_a_loaded_rod_has_the_ratio_that_was_asked_for(mass):
    """In all its modes, with what it carries."""
    made = arm(3, damping={"ratio": RATIO}).robot
    made = made.with_changes(links=[made.links[0].with_changes(payloads=[{"mass": mass}] if mass else [])])
    assert pliant.modes(Dynamics(made, compile="never")).damping_ratios == pytest.approx([RATIO] * 3, rel=1e-9)


def test_units_in_every_output(rod, tmp_path):
    """Curvatures are in 1/m in the channels, in the file and in the report."""
    run = simulate(rod, until=0.01, start=Start(shape={"rod.bend_y.1": 0.8}), output_step=0.002)
    channel = run.channel("rod.bend_y.1")
    assert (channel.unit, channel.meaning) == ("1/m", "curvature in y, factor of a Legendre polynomial")
    assert run.channel("rod.bend_y.1.rate").unit == "1/(m s)"
    path = tmp_path / "run.h5"
    run.save(path)
    assert pliant.Result.load(path).channel("rod.bend_y.1").unit == "1/m"
