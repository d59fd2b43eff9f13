"""Frames on lumped links: wherever they sit, they move with the elements and change nothing."""

import numpy as np
import pytest

from lumped_arms import MATERIAL
from pliant import Dynamics, ModelError, Robot, frequencies_over_speed, modes
from pliant.analysis.lumped.elastic_motion import ElasticState, frame_displacement, static
from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.model.description.robot import rigid_twin

SAME = 1e-9
"""Relative: the same matrices up to rounding."""
FAMILIES = {"bend_y": True, "bend_z": True, "torsion": True, "axial": True}
PLACES = {
    "at a node": (1 / 3,),
    "near a node": (0.333333,),
    "nearer than digits": (1 / 3 + 1e-11,),
    "near the root": (1e-7,),
    "near the tip": (1 - 1e-6,),
    "close to each other": (0.4, 0.4 + 1e-7, 0.4 + 2e-7, 0.400001),
    "anywhere": (0.1, 0.25, 0.7, 0.95),
}


def bar(places=(), families=None, payloads=(), **changes):
    """A bar of 1 m with three lumped nodes."""
    beam = {
        "length": 1.0,
        "material": MATERIAL,
        "section": {"rectangle": {"width": 0.01, "height": 0.02}},
        "lumped": {"nodes": 3, **(families or {"bend_y": True, "bend_z": False})},
        **changes,
    }
    frames = [{"name": f"gauge{k}", "x": x} for k, x in enumerate(places)]
    link = {"name": "bar", "joint": {"name": "hub"}, "beam": beam, "frames": frames, "payloads": list(payloads)}
    return Robot(name="bar", gravity=(0.0, -9.81, 0.0), links=[link])


@pytest.mark.parametrize("families", [None, FAMILIES], ids=["one plane", "all families"])
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_a_frame_changes_no_frequency(places, families):
    bare, framed = (frequencies_over_speed(bar(at, families), "hub", [0.0, 1.0, 30.0], count=6) for at in ((), places))
    np.testing.assert_allclose(framed.softened, bare.softened, rtol=SAME, atol=1e-6)
    np.testing.assert_allclose(framed.stiffened, bare.stiffened, rtol=SAME, atol=1e-6)


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_what_a_frame_carries_is_that_of_the_recursion(places):
    """An excentric mass on each frame, all families: frequencies by both methods on the same lumped links."""
    payloads = [{"mass": 0.2, "com": [0.0, 0.02, 0.01], "frame": f"gauge{k}"} for k in range(len(places))]
    robot = bar(places, FAMILIES, payloads, bending="linear").with_changes(gravity=(0.0, 0.0, 0.0))
    model = LumpedModel(robot)
    wanted = modes(Dynamics(robot, compile="never"), locked=["hub"]).frequencies
    found = natural_frequencies(model, model.at_rest())
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_a_payload_between_nodes_converges_to_that_on_a_node():
    """The lowest frequency, with order two as that of a bare link."""

    def lowest(nodes):
        robot = bar((0.41,), payloads=[{"mass": 1.0, "frame": "gauge0"}], lumped={"nodes": nodes, "bend_z": False})
        model = LumpedModel(robot)
        return natural_frequencies(model, model.at_rest(), 1)[0]

    # at 100 elements the frame is a node
    errors = np.abs([lowest(n) / lowest(100) - 1 for n in (6, 12, 24)])
    assert (errors[1:] < errors[:-1] / 2.5).all()
    assert errors[-1] < 1e-3


def test_a_frame_moves_as_its_element_bends():
    """A cantilever under its weight: q x^2 (6 L^2 - 4 L x + x^2) / (24 EI), and its slope."""
    robot = bar((0.45,), lumped={"nodes": 40, "bend_z": False}, bending="linear")
    model = LumpedModel(robot)
    motion = model.at_rest()
    z = static(model, motion)[None]
    found = frame_displacement(model, model.assemble(motion), ElasticState(z, 0 * z, 0 * z), "bar.gauge0")[0]
    EI, q, x = 70e9 * 0.02 * 0.01**3 / 12, -9.81 * 2700 * 0.01 * 0.02, 0.45
    assert found[1] == pytest.approx(q * x**2 * (6 - 4 * x + x**2) / (24 * EI), rel=1e-3)
    assert found[5] == pytest.approx(q * x * (12 - 12 * x + 4 * x**2) / (24 * EI), rel=1e-3)


def test_damping_by_a_ratio_knows_what_frames_between_nodes_carry():
    """Every mode of the loaded link has the ratio."""
    robot = bar((0.41,), payloads=[{"mass": 1.0, "frame": "gauge0"}], damping={"ratio": 0.03})
    model = LumpedModel(robot)
    M, D, K, _ = model.equations_at(model.assemble(model.at_rest()), 0)
    # eigenvalues of the damped pencil: -ratio w +- i w sqrt(1 - ratio^2)
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    values = np.linalg.eigvals(A)
    np.testing.assert_allclose(-values.real / np.abs(values), 0.03, rtol=1e-6)


def test_a_rigid_curved_link_has_its_mass_where_it_is():
    beam = {
        "length": 1.0,
        "properties": {"mass_per_length": 2.0, "EIy": 1.0, "EIz": 1.0},
        "curvature": {"bend_y": 1.5},
        "bending": "exact",
        "modes": {"bend_y": 1, "bend_z": 0},
    }
    robot = Robot(name="arc", gravity=(0, -9.81, 0), links=[{"name": "arc", "joint": {"name": "hub"}, "beam": beam}])
    rigid = rigid_twin(robot)
    model, arm = LumpedModel(rigid), Dynamics(rigid, compile="never")
    mesh = model.meshes[0]
    first = (mesh.bodies.m[:, None] * (mesh.bodies.x + mesh.bodies.G)).sum(axis=0)
    # the weight's moment about the hub, and the centre of an arc
    assert 9.81 * first[0] == pytest.approx(arm.forces([0.0], [0.0], [0.0])[0], rel=1e-9)
    np.testing.assert_allclose(first, 2.0 * np.array([1 - np.cos(1.5), 1.5 - np.sin(1.5), 0.0]) / 1.5**2, rtol=1e-9)


@pytest.mark.parametrize("kind", ["lumped", "elements"])
def test_elements_without_digits_are_refused(kind):
    part = {"material": MATERIAL, "section": {"rectangle": {"width": 0.01, "height": 0.02}}}
    beam = {
        "segments": [{"length": length, **part} for length in (0.5, 1e-5, 0.5)],
        kind: {"nodes" if kind == "lumped" else "number": 4, "bend_z": False},
    }
    robot = Robot(name="bar", links=[{"name": "bar", "joint": {"name": "hub"}, "beam": beam}])
    with pytest.raises(ModelError, match=r"'bar': its shortest element is 1e-05 m long, 1\.0e-05 of its length"):
        LumpedModel(robot)
    with pytest.raises(ModelError, match=r"shortest element.*make that segment longer"):
        Dynamics(robot, compile="never")
