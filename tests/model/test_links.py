"""Links: one body at most, frames and payloads that exist, and modal data that fit together."""

import numpy as np
import pytest

from pliant.model import Beam, Frame, Joint, Link, ModalData, ModalFrame, ModelError, Modes, Rectangle, Rigid, RigidPart

BEAM = Beam(length=0.5, material="steel", section=Rectangle(width=0.003, height=0.04), modes=Modes(bend_y=1))


def modal(**keys):
    data = {
        "mass": 2.0,
        "first": (1.0, 0, 0),
        "first_modal": [[0, 0], [0.8, 0.1], [0, 0]],
        "beta": [[0, 0], [0, 0], [0.5, 0.1]],
        "I_rr": np.diag([0.01, 0.7, 0.7]),
        "M_ee": np.diag([0.5, 0.4]),
        "K_ee": np.diag([100.0, 900.0]),
        "frames": {"tip": {"position": (1, 0, 0), "Phi_d": [[0, 0], [1, -1], [0, 0]]}},
    }
    return ModalData(**{**data, **keys})


def link(**keys):
    return Link(**{"name": "arm", "joint": Joint(), **keys})


def test_a_joint_takes_the_name_of_its_link():
    assert link().joint.name == "arm"
    assert link(joint=Joint(name="shoulder")).joint.name == "shoulder"
    assert Joint().name is None


def test_kinds_of_links():
    assert link().mass == 0.0
    assert link(rigid=Rigid(mass=2, length=0.4)).length == 0.4
    assert not link(rigid=Rigid(mass=2)).is_flexible
    loaded = link(beam=BEAM, hub=RigidPart(mass=1), payloads=[RigidPart(mass=0.5), RigidPart(mass=0.25, frame="root")])
    assert loaded.mass == pytest.approx(BEAM.mass + 1.75)
    assert loaded.is_flexible
    assert link(modal=modal()).is_flexible
    assert link(modal=modal()).mass == 2.0


def test_frames():
    arm = link(beam=BEAM, frames=[Frame(name="middle", x=0.25, position=(0, 0.01, 0))])
    assert arm.frame_names == ("root", "tip", "middle")
    assert arm.frame("tip").x == 0.5
    assert arm.frame("root").x == 0.0
    assert arm.frame("middle").position == (0, 0.01, 0)
    assert link(rigid=Rigid(mass=1, length=0.4)).frame("tip").position == (0.4, 0, 0)
    assert link(modal=modal()).frame("tip").position == (1, 0, 0)
    with pytest.raises(ModelError, match="did you mean 'middle'"):
        arm.frame("midle")


def test_a_bent_rigid_link_may_say_where_its_tip_is():
    elbow = link(rigid=Rigid(mass=1), frames=[Frame(name="tip", position=(0.1, 0.2, 0))])
    assert elbow.frame("tip").position == (0.1, 0.2, 0)
    assert elbow.frame_names == ("root", "tip")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"beam": BEAM, "rigid": Rigid(mass=1)}, "rigid and beam are given"),
        ({"name": "base"}, "means the fixed base"),
        ({"name": "two words"}, "must be a word"),
        ({"frames": [Frame(name="root")]}, "has a frame of that name"),
        ({"beam": BEAM, "frames": [Frame(name="tip", x=0.1)]}, "has a frame of that name"),
        ({"rigid": Rigid(mass=1, length=1), "frames": [Frame(name="tip")]}, "has a frame of that name"),
        ({"frames": [Frame(name="a"), Frame(name="a")]}, "has a frame of that name"),
        ({"beam": BEAM, "frames": [Frame(name="a")]}, "key 'x' is missing"),
        ({"beam": BEAM, "frames": [Frame(name="a", x=0.6)]}, "must lie between 0 and the length 0.5 m"),
        ({"beam": BEAM, "frames": [Frame(name="a", x=-0.1)]}, "must lie between"),
        ({"rigid": Rigid(mass=1), "frames": [Frame(name="a", x=0)]}, "give position instead"),
        ({"modal": modal(), "frames": [Frame(name="a")]}, "put them in modal.frames"),
        ({"hub": RigidPart(mass=1, frame="tip")}, "a hub sits at the root"),
        ({"payloads": [RigidPart(mass=1, frame="middle")]}, "the link has no frame 'middle'"),
        ({"mass": 3}, "unknown key 'mass'"),
    ],
)
def test_impossible_links(keys, words):
    with pytest.raises(ModelError, match=words):
        link(**keys)


def test_modal_data():
    data = modal()
    assert data.size == 2
    assert data.names == ("mode.1", "mode.2")
    assert data.array("lam").shape == (2, 2, 3)
    assert data.array("I_ee").shape == (2, 2, 3, 3)
    assert np.array_equal(data.array("K_ee"), np.diag([100, 900]))
    Phi_d, Phi_r = data.frame_shapes("tip")
    assert np.array_equal(Phi_d, [[0, 0], [1, -1], [0, 0]])
    assert np.array_equal(Phi_r, np.zeros((3, 2)))
    assert np.array_equal(data.frame_shapes("root")[0], np.zeros((3, 2)))
    assert isinstance(hash(data), int)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"mass": 0}, "must be positive"),
        ({"M_ee": []}, "M_ee has 0 rows"),
        ({"M_ee": np.diag([1.0, 0.0])}, "M_ee is singular"),
        ({"M_ee": np.diag([1.0, -1.0])}, "M_ee has a negative eigenvalue"),
        ({"K_ee": [[1.0, 2.0], [0.0, 1.0]]}, "K_ee is not symmetric"),
        ({"K_ee": []}, "K_ee is empty"),
        ({"K_ee": [[1.0]]}, "K_ee is 1 x 1; it must be 2 x 2 numbers"),
        ({"K_ee": [[1.0, 2.0], [1.0]]}, "rows of different lengths"),
        ({"K_ee": "stiff"}, "must be a list of numbers"),
        ({"K_ee": [["a", 0], [0, 1]]}, "must be a number"),
        ({"K_ee": [[float("nan"), 0], [0, 1]]}, "must be finite"),
        ({"beta": np.zeros((2, 3))}, "beta is 2 x 3; it must be 3 x 2"),
        ({"first_modal": np.full((3, 2), 5.0)}, "does not fit mass, first, first_modal"),
        ({"names": ("a", "a")}, "must be 2 different names"),
        ({"names": ("a", "b c")}, "must be words joined by dots"),
        ({"frames": {}}, "has no frame 'tip'"),
        ({"frames": {"tip": ModalFrame(Phi_d=np.ones((3, 3)))}}, "frames.tip.Phi_d is 3 x 3; it must be 3 x 2"),
    ],
)
def test_impossible_modal_data(keys, words):
    with pytest.raises(ModelError, match=words):
        modal(**keys)
