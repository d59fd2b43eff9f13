"""Is the model fine enough? Frequencies of refined robots."""

import numpy as np
import pytest

from pliant import Beam, Elements, Joint, Link, Lumped, Modes, Properties, RigidPart, Robot, load
from pliant.analysis.convergence import can_be_refined, coarse, convergence, refined


def arm(payload=1.0, **discretisation):
    beam = Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=10.0), **discretisation)
    link = Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=[RigidPart(mass=payload, inertia=0.3)])
    return Robot(name="loaded", gravity=(0, 0, 0), links=[link])


def test_refinements_fall_to_the_true_frequency():
    """More of the bare shapes come down to what one loaded shape has at once."""
    found = convergence(arm(modes=Modes(shape="clamped-free", bend_y=1)), count=1)
    hertz = np.array([level.hertz[0] for level in found])
    true = convergence(arm(modes=Modes(bend_y=1)), count=1, levels=0)[0].hertz[0]
    assert [level.size for level in found] == [2, 4, 6, 8]
    assert np.all(np.diff(hertz) < 0)
    assert np.all(hertz > true)
    assert "frequency 1 goes from" in coarse(found)


def test_a_fine_model_is_not_called_coarse():
    assert coarse(convergence(arm(modes=Modes(bend_y=4)), levels=1)) == ""
    assert coarse(convergence(arm(elements=Elements(number=6, bend_z=False)), levels=1)) == ""


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({"modes": Modes(bend_y=2)}, 4),
        ({"elements": Elements(number=3, bend_z=False)}, 12),
        ({"lumped": Lumped(nodes=3, bend_z=False)}, 12),
        ({"modes": Modes(shape="user", expressions=("x^2",), bend_y=1)}, 1),
    ],
)
def test_what_a_refinement_is(given, size):
    from pliant import build_body

    robot = refined(arm(**given), 1)
    assert build_body(robot.links[0], robot).size == size
    assert can_be_refined(arm(**given)) == ("user" not in str(given))


def test_rigid_robots_cannot_be_refined():
    assert not can_be_refined(load("four-bar-rigid"))


def test_a_ratio_of_the_whole_robot_is_no_matter_of_frequencies(monkeypatch):
    """It is refused for robots of many coordinates, which finer links have."""
    from pliant.formulations import robot_damping

    monkeypatch.setattr(robot_damping, "LARGEST", 4)
    given = arm(modes=Modes(bend_y=3)).with_changes(damping={"ratio": 0.01})
    assert [level.size for level in convergence(given, count=1, levels=1)] == [4, 6]


def test_reduced_elements_get_more_modes():
    given = arm(elements=Elements(number=4, bend_z=False, reduce="static"))
    finer = refined(given, 1).links[0].beam.elements
    assert (finer.number, finer.reduce.method, finer.reduce.modes) == (8, "craig_bampton", 2)
