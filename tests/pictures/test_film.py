"""Drawn links end where the dynamics say that they do, however their frames turn."""

import numpy as np
import pytest

import zoo
from pliant import Elements, Family, Link, Modes, Robot
from pliant.dynamics import Dynamics
from pliant.pictures.animation import LINE_STATIONS, make_film
from pliant.pictures.bent_links import BentLinks
from pliant.spatial.attitude import MAPS

ROUNDING = 1e-12
"""m: of positions of about one metre."""
PINNED = Family(count=1, shape="pinned-free")
SHAPES = {
    "clamped": {"modes": Modes(bend_y=2, bend_z=1, torsion=1)},
    "pinned": {"modes": Modes(shape="pinned-pinned", bend_y=2, bend_z=1, torsion=PINNED)},
    "elements": {"elements": Elements(number=2)},
}
OBLIQUE = 1e-3
"""m: how far a picture misses that turns by another rule."""


@pytest.fixture(scope="module", params=[(rule, name) for rule in MAPS for name in SHAPES], ids="-".join)
def bent(request):
    """Two beams on general joints, the second on a turned section, and bent configurations."""
    rule, name = request.param
    rng = np.random.default_rng(7)
    links = [
        Link(name=f"bar{i}", joint=zoo.general_joint(rng, f"j{i}"), beam=zoo.beam(0.8, **SHAPES[name]))
        for i in range(2)
    ]
    arm = Dynamics(Robot(name=f"{rule}-{name}", links=links, attachment_rotation=rule), compile="never")
    q = rng.uniform(-0.15, 0.15, (4, arm.size))
    return arm, np.arange(4.0), q


def test_the_axis_ends_at_the_frames(bent):
    arm, time, q = bent
    film = make_film(arm, time, q)
    axes = {line.link: line for line in film.lines if line.flexible}
    assert set(axes) == {"bar0", "bar1"}
    for name, line in axes.items():
        assert line.bent.shape == (4, LINE_STATIONS, 3)
        for end, frame in ((0, "root"), (-1, "tip")):
            assert line.bent[:, end] == pytest.approx(arm.pose(f"{name}.{frame}", q).position, abs=ROUNDING)
        # a rigid link is straight and as long as it is
        assert np.linalg.norm(line.rigid[:, -1] - line.rigid[:, 0], axis=1) == pytest.approx(np.full(4, 0.8))
    assert film.tip == pytest.approx(axes["bar1"].bent[:, -1], abs=ROUNDING)


def test_one_configuration_is_drawn_like_many(bent):
    arm, _, q = bent
    link = arm.robot.links[1]
    assert BentLinks(arm, q[2]).axis(link, 5) == pytest.approx(BentLinks(arm, q).axis(link, 5)[2], abs=ROUNDING)


def test_the_rule_of_rotation_is_seen_in_a_picture():
    """What follows a pinned root in one rule is elsewhere in another: the picture must know the rule."""
    tips = []
    for rule in MAPS:
        rng = np.random.default_rng(7)
        joints = zoo.general_joint(rng, "a"), zoo.general_joint(rng, "b", parent="one.root")
        beams = [zoo.beam(0.8, **SHAPES["pinned"]) for _ in joints]
        links = [Link(name=n, joint=j, beam=b) for n, j, b in zip(("one", "two"), joints, beams, strict=True)]
        arm = Dynamics(Robot(name=rule, links=links, attachment_rotation=rule), compile="never")
        q = np.full((1, arm.size), 0.1)
        axes = [line.bent for line in make_film(arm, np.zeros(1), q).lines if line.flexible]
        for name, axis in zip(("one", "two"), axes, strict=True):
            assert axis[:, -1] == pytest.approx(arm.pose(f"{name}.tip", q).position, abs=ROUNDING)
        tips.append(axes[1][0, -1])
    distances = [np.linalg.norm(a - b) for i, a in enumerate(tips) for b in tips[:i]]
    assert min(distances) > OBLIQUE
