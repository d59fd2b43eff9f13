"""Numbers that no real robot has are told, and those of real robots are not."""

from math import sqrt

import pytest

from pliant import Dynamics, Joint, Link, Motor, Rigid, Robot, Spring, load, modes, robots
from pliant.model.description.plausible import description_limits
from pliant.model.readers.library import read_text

ARM = """
name: arm
gravity: [0, 0, {gravity}]
links:
  - name: upper
    joint: {{name: shoulder}}
    beam:
      length: {length}
      material: {{E: {E}, nu: 0.33, density: {density}}}
      section: {{rectangle: {{width: {width}, height: 40 mm}}}}
      {how}
pose: {{shoulder: {pose}}}
"""
USUAL = {
    "gravity": "-9.81",
    "length": "0.5 m",
    "E": "70 GPa",
    "density": "2700 kg/m^3",
    "width": "4 mm",
    "pose": "170 deg",
    "how": "modes: {bend_y: 2}",
}


@pytest.mark.parametrize("name", [robot.name for robot in robots()])
def test_bundled_robots_are_plausible(name):
    assert description_limits(load(name)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"E": "70"}, "E is 70 Pa; solids have 1e+04 to 1.3e+12 Pa: write '70 GPa' if that is meant"),
        ({"density": "2.7"}, None),
        ({"density": "0.27"}, "its density is 0.27 kg/m³"),
        ({"width": "0.8 m"}, "its section is 0.8 m high for bend_y, more than its length of 0.5 m; that is no beam"),
        ({"width": "200 mm"}, "is only 2.5 times its height for bend_y; shear counts there"),
        ({"width": "200 mm", "how": "elements: {number: 2, timoshenko: true, bend_z: false}"}, None),
        ({"width": "0.8 m", "how": "rigid: true"}, None),
        ({"length": "500"}, "its length of 500 m is 1.2e+05 times its height for bend_y; check the units"),
        ({"pose": "170"}, "its reference pose is 170 rad, which is 27.1 turns; write '170 deg' if degrees are meant"),
        ({"gravity": "-9810"}, "gravity is 9810 m/s²"),
    ],
)
def test_wrong_units_are_told(changes, words):
    told = description_limits(read_text(ARM.format(**{**USUAL, **changes}), "arm.yaml"))
    assert (words is None and not told) or (len(told) == 1 and words in told[0])


def test_a_spring_beside_a_motor_is_told():
    """They act between the same two links; a gear that twists is a joint of its own, and swings as two bodies do."""
    arm = Rigid(mass=10.0, com=(0.5, 0.0, 0.0), inertia=(0.01, 0.8, 0.8), length=1.0)
    motor, spring = Motor(rotor_inertia=1e-4, gear_ratio=100.0), Spring(stiffness=5000.0)
    beside = Robot(name="r", links=[Link(name="arm", joint=Joint(name="elbow", motor=motor, spring=spring), rigid=arm)])
    (text,) = description_limits(beside)
    assert text.startswith("joint 'elbow': its spring acts beside its motor")
    passive = Joint(name="twist", actuated=False, spring=spring)
    gear = Link(name="gear", joint=Joint(name="elbow", motor=motor))
    behind = Robot(name="r", gravity=(0, 0, 0), links=[gear, Link(name="arm", joint=passive, rigid=arm)])
    assert description_limits(behind) == []
    dynamics = Dynamics(behind, compile="never")
    held, free = (modes(dynamics, locked=locked).frequencies[-1] for locked in (True, False))
    assert [held, free] == pytest.approx([sqrt(5000 / 3.3), sqrt(5000 / 3.3 + 5000)])
