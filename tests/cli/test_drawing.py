"""Pictures: every robot can be drawn, seen from the right side, with labels apart from one another."""

import numpy as np
import pytest

import pliant
from pliant import Beam, Joint, Link, Rectangle, RigidPart, Robot
from pliant.bodies.words import link_modes
from pliant.pictures.bent_links import place_links
from pliant.pictures.canvas import LOAD, Canvas, best_view, corner_view, straight_view
from pliant.pictures.drawing import draw_robot, robot_figure
from pliant.pictures.vibration_plots import draw_shapes

ROBOTS = [robot.name for robot in pliant.robots()]
Z = np.array([[0.0, 0.0, 1.0]])


@pytest.mark.parametrize("name", ROBOTS)
def test_every_robot_can_be_drawn(tmp_path, name):
    robot = pliant.load(name)
    for draw in (draw_robot, draw_shapes) if any(link.is_flexible for link in robot.links) else (draw_robot,):
        file = tmp_path / f"{draw.__name__}.svg"
        draw(robot, file)
        assert b"</svg>" in file.read_bytes()


@pytest.mark.parametrize("name", ["canadarm", "four-bar", "cibicik-4dof"])
@pytest.mark.parametrize("draw", [draw_robot, draw_shapes])
def test_the_same_robot_gives_the_same_file(tmp_path, name, draw):
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        draw(pliant.load(name), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_floating_robot_with_modal_data_can_be_drawn(tmp_path):
    modal = pliant.ModalData(
        mass=2.0,
        length=1.0,
        I_rr=np.diag([0.1, 0.7, 0.7]),
        M_ee=[[1.0]],
        K_ee=[[100.0]],
        frames={"tip": {"position": (1.0, 0.0, 0.0), "Phi_d": [[0], [1], [0]]}},
    )
    hull = pliant.Link(
        name="hull",
        joint=pliant.Joint(type="free"),
        rigid=pliant.Rigid(mass=10.0, inertia=1.0),
        frames=[pliant.Frame(name="port", position=(0.5, 0.5, 0.0))],
    )
    panel = pliant.Link(name="panel", joint=pliant.Joint(type="fixed", parent="hull.port"), modal=modal)
    robot = pliant.Robot(name="satellite", links=[hull, panel], pose={"hull.z": 1.0, "hull.rz": np.pi / 2})
    draw_robot(robot, tmp_path / "satellite.png")
    assert (tmp_path / "satellite.png").stat().st_size > 0
    # turned about z by a right angle and lifted
    assert np.allclose(place_links(robot)["panel"].own.p, [-0.5, 0.5, 1.0])
    (mode,) = link_modes(panel, robot)
    assert mode.rate == pytest.approx(10.0)


def test_the_pose_closes_the_loop_of_the_five_bar():
    """Independent of the drawing: the tips of both couplers meet in the reference pose."""
    placed = place_links(pliant.load("five-bar"))
    left, right = placed["left_coupler"].frame("tip"), placed["right_coupler"].frame("tip")
    assert np.allclose(left.p, right.p, atol=1e-12)
    assert np.allclose(left.p, [0, 0.41494, 0], atol=1e-5)


def test_planar_robots_are_seen_in_their_plane():
    line = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    assert best_view(line, Z).is_flat
    assert np.allclose(best_view(line, Z).towards, [0, 0, 1])
    assert np.allclose(best_view(line, np.array([[0.0, 1, 0]])).towards, [0, -1, 0])
    # joints about different axes, or points out of the plane
    assert not best_view(line, np.eye(3)).is_flat
    assert not best_view(np.eye(3), Z).is_flat


@pytest.mark.parametrize("view", [straight_view(0), straight_view(1), straight_view(2), corner_view()])
def test_a_view_keeps_lengths_in_its_plane(view):
    basis = np.array([view.right, view.up, view.towards])
    assert np.allclose(basis @ basis.T, np.eye(3))
    assert np.allclose(view.project(3 * view.right + 2 * view.up - view.towards), [3, 2])


def test_labels_at_one_point_do_not_cover_each_other():
    canvas = Canvas(straight_view(2), np.array([[0.0, 0, 0], [1.0, 0.3, 0]]))
    for text in ("shoulder", "elbow", "wrist", "a long name of a link"):
        canvas.label(np.zeros(3), text)
    canvas.place_labels()
    canvas.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in canvas.axes.texts]
    assert len(boxes) == 4
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_exact_shapes_come_out_as_they_are():
    """Single clamped-free links: cosh-cos shapes and their frequencies, root 1.8751040687 of PUBLISHED data."""
    robot = pliant.load("canadarm")
    first, second, *_ = link_modes(robot.link("upper"), robot)
    rate = (1.8751040687 / 6.0) ** 2 * np.sqrt(1e5 / (140 / 6.0))
    assert first.rate == pytest.approx(rate, rel=1e-9)
    assert first.shape[0] == 0
    assert first.shape[-1] > 0 > second.shape[-1]


def test_symbols_leave_short_beams_in_sight():
    """Five links of 0.2 m behind one of 4 m, each with a hub: its symbol takes less than half of a link on paper."""
    section = Rectangle(width=0.02, height=0.01)
    links = [
        Link(
            name=f"l{k}",
            joint=Joint(axis="y"),
            hub=RigidPart(mass=0.2),
            beam=Beam(length=0.2 if k else 4.0, material="steel", section=section),
        )
        for k in range(6)
    ]
    figure = robot_figure(Robot(name="chain", links=links))
    axes = figure.axes[0]
    metres_per_point = np.diff(axes.get_xlim())[0] / figure.get_size_inches()[0] / 72
    hubs = [line.get_markersize() for line in axes.lines if line.get_markerfacecolor() == LOAD]
    assert len(hubs) == 6
    assert max(hubs) == pytest.approx(17)
    assert sorted(hubs)[-2] * metres_per_point < 0.45 * 0.2
