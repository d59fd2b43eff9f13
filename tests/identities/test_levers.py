"""Whatever sits beside a section turns with it, however that is written down.

A tool on a lever at the end of a link: the lever may be that of a frame, the place of a joint, the centre of mass of a
payload or the frame of a loop. All are the same robot, so that all numbers are the same to rounding, at turns of the
section of some tenths of a radian. What these numbers must be, material points tell (test_identities.py).
"""

from itertools import pairwise

import numpy as np
import pytest

import pliant
from pliant import Beam, Dynamics, Frame, Joint, Link, Placement, Properties, Rigid, RigidPart, Robot, Rotation
from pliant.bodies.build import build_body
from zoo.parts import inertia, seed

ROUNDING = 1e-11
"""Of the largest entry ..."""
SOLVED = 1e-8
"""... and of accelerations, which light coordinates of elements amplify."""
LENGTH = 0.9
LEVER, HALF = np.array([0.1, -0.2, 0.15]), np.array([0.02, 0.05, -0.08])
TURN = Rotation(quaternion=(0.8, 0.2, -0.4, 0.4))
R = Placement(rotation=TURN).matrix()
MASS, COM, INERTIA = 0.8, np.array([0.05, -0.03, 0.12]), np.array(inertia(seed(90)))

PROPERTIES = {"mass_per_length": 1.3, "EIy": 40.0, "EIz": 60.0, "GJ": 30.0, "EA": 4e3, "rhoIy": 2e-3, "rhoIz": 3e-3}
MODES = {"modes": {"shape": "clamped-free", "bend_y": 2, "bend_z": 1, "torsion": 1}}
ELEMENTS = {"elements": {"number": 2, "torsion": True, "axial": True}}
KINDS = {
    "linear modes": {"bending": "linear", **MODES},
    "second-order modes": {"bending": "second-order", **MODES},
    "exact modes": {"bending": "exact", "modes": {"shape": "legendre", "bend_y": 2, "bend_z": 1, "torsion": 1}},
    "pinned modes": {"bending": "linear", "modes": {"shape": "pinned-pinned", "bend_y": 2}},
    "elements": {"bending": "linear", **ELEMENTS},
    "second-order elements": {"bending": "second-order", **ELEMENTS},
    # more than twelve coordinates have a matrix with borders
    "many elements": {"bending": "second-order", "elements": {"number": 4}},
    "reduced elements": {"bending": "linear", "elements": {"number": 4, "reduce": {"craig_bampton": 1}}},
    "lumps": {"bending": "linear", "lumped": {"nodes": 2}},
    "turning sections": {"bending": "linear", **MODES, "rotary_inertia": "exact"},
}
"""Kind of a link -> keys of its beam."""
DATA = ["linear data", "second-order data"]


def arm_link(kind, **more):
    """The link that bends, on a hinge."""
    joint = Joint(name="hinge", axis="y", placement=Placement(position=(0.1, 0.0, 0.2)))
    if kind in DATA:
        beam = KINDS["linear modes" if kind == "linear data" else "second-order modes"]
        return as_data(
            Link(name="arm", joint=joint, beam=Beam(length=LENGTH, properties=Properties(**PROPERTIES), **beam)), **more
        )
    beam = Beam(length=LENGTH, properties=Properties(**PROPERTIES), **KINDS[kind])
    return Link(name="arm", joint=joint, beam=beam, **more)


def as_data(link, **more):
    """The same link by its modal data, as finite-element programs give them."""
    body = build_body(link)
    keys = ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee")
    at = body.frames["tip"]
    tip = {"position": at.position.tolist(), "Phi_d": at.Phi_d, "Phi_r": at.Phi_r}
    data = {"mass": body.mass, "length": LENGTH, **{key: getattr(body, key) for key in keys}}
    if body.large is not None:
        tip["Gamma"] = body.large.frames["tip"]
        data |= {"Gamma_first": body.large.first, "Gamma_second": body.large.second}
    return link.with_changes(beam=None, modal={**data, "frames": {"tip": tip}}, **more)


def side(lever=LEVER, rotation=TURN, name="side"):
    """A frame on a lever at the end of the link."""
    return Frame(name=name, x=LENGTH, position=lever.tolist(), rotation=rotation)


def tool(parent, position=(0, 0, 0), rotation=(), child=None, **joint):
    """The tool as a link."""
    child = {} if child is None else {"child_placement": child}
    given = {"type": "fixed", **joint}
    held = Joint(
        name="held", parent=parent, placement=Placement(position=position, rotation=rotation), **child, **given
    )
    return Link(name="tool", joint=held, rigid=Rigid(mass=MASS, com=COM.tolist(), inertia=INERTIA.tolist()))


def on_frame(kind, **joint):
    return [arm_link(kind, frames=(side(),)), tool("arm.side", **joint)]


def on_placement(kind, **joint):
    return [arm_link(kind), tool("arm.tip", LEVER.tolist(), TURN, **joint)]


def on_both(kind, **joint):
    rest = (LEVER - HALF).tolist()
    return [arm_link(kind, frames=(side(HALF, ()),)), tool("arm.side", rest, TURN, **joint)]


def on_child_placement(kind):
    return [arm_link(kind), tool("arm.tip", child=Placement(position=LEVER.tolist(), rotation=TURN))]


def on_bracket(kind, **joint):
    """Behind a link that has no mass."""
    bracket = Joint(name="bracket", type="fixed", parent="arm.tip", placement=Placement(position=HALF.tolist()))
    rest = (LEVER - HALF).tolist()
    return [arm_link(kind), Link(name="bracket", joint=bracket), tool("bracket.root", rest, TURN, **joint)]


def as_payload_of_the_frame(kind):
    load = RigidPart(mass=MASS, com=COM.tolist(), inertia=INERTIA.tolist(), frame="side")
    return [arm_link(kind, frames=(side(),), payloads=(load,))]


def as_payload_of_the_tip(kind):
    load = RigidPart(mass=MASS, com=(LEVER + R @ COM).tolist(), inertia=(R @ INERTIA @ R.T).tolist())
    return [arm_link(kind, payloads=(load,))]


FIXED = [on_placement, on_child_placement, on_bracket, as_payload_of_the_tip]
FRAMES = [on_frame, on_both, as_payload_of_the_frame]
JOINTS = {"revolute": {"axis": (0.6, 0.0, 0.8)}, "prismatic": {"axis": "x"}, "spherical": {}}


def made(links, **more):
    return Dynamics(Robot(name="lever", links=links, gravity=(1.0, -2.0, -9.0), **more), compile="never")


def bent_state(arm):
    """A state at which sections turn by some tenths of a radian, with rates and accelerations."""
    rng = seed(91)
    q, v, a = (rng.normal(size=arm.size) for _ in range(3))
    member = arm.mechanism.members[0]
    q[member.elastic] *= 0.3 / np.linalg.norm(member.body.frames["tip"].Phi_r @ q[member.elastic])
    return q, v, a


def numbers(arm):
    """Mass matrix, forces and energies at a state; the accelerations are those that were put in."""
    q, v, a = bent_state(arm)
    f = arm.forces(q, v, a)
    assert arm.forward(q, v, force=f) == pytest.approx(a, rel=0, abs=SOLVED * np.abs(a).max())
    return arm.mass_matrix(q), f, np.array(arm.energy(q, v))


def assert_same(found, wanted):
    for x, y in zip(found, wanted, strict=True):
        assert x == pytest.approx(y, rel=0, abs=ROUNDING * np.abs(y).max())


@pytest.mark.parametrize("kind", [*KINDS, *DATA])
def test_a_tool_on_a_lever(kind):
    """Every way to fix it gives the same equations of motion."""
    ways = FIXED if kind in DATA else FIXED + FRAMES
    arms = [made(way(kind)) for way in ways]
    known = numbers(arms[0])
    for arm in arms[1:]:
        assert_same(numbers(arm), known)


@pytest.mark.parametrize("kind", KINDS)
def test_a_point_mass_on_a_lever(kind):
    """It moves as the point of a larger part would."""
    beside = RigidPart(mass=MASS, frame="side")
    on_tip = RigidPart(mass=MASS, com=LEVER.tolist())
    arms = [
        made([arm_link(kind, frames=frames, payloads=(load,))]) for frames, load in (((side(),), beside), ((), on_tip))
    ]
    assert_same(numbers(arms[0]), numbers(arms[1]))


def test_a_hub_on_a_root_that_turns():
    """The root of pinned shapes turns with them: a hub there does, and so does a link that is fixed to it."""
    com, moments = (LEVER + R @ COM).tolist(), (R @ INERTIA @ R.T).tolist()
    hub = RigidPart(mass=MASS, com=com, inertia=moments)
    arms = [made([arm_link("pinned modes", hub=hub)])]
    arms += [made([arm_link("pinned modes"), tool("arm.root", LEVER.tolist(), TURN)])]
    side_of_root = Frame(name="side", x=0.0, position=LEVER.tolist(), rotation=TURN)
    arms += [made([arm_link("pinned modes", frames=(side_of_root,)), tool("arm.side")])]
    known = numbers(arms[0])
    for arm in arms[1:]:
        assert_same(numbers(arm), known)


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize("kind", ["linear modes", "second-order elements", "exact modes"])
def test_a_joint_on_a_lever(kind, joint):
    ways = (on_placement, on_frame, on_both, on_bracket)
    arms = [made(way(kind, type=joint, **JOINTS[joint])) for way in ways]
    known = numbers(arms[0])
    for arm in arms[1:]:
        assert_same(numbers(arm), known)


@pytest.mark.parametrize("rule", ["exponential", "cayley", "xyz"])
def test_every_map_of_the_rotation(rule):
    arms = [made(way("linear modes"), attachment_rotation=rule) for way in (on_placement, on_frame, on_both)]
    known = numbers(arms[0])
    for arm in arms[1:]:
        assert_same(numbers(arm), known)


@pytest.mark.parametrize("kind", KINDS)
def test_places_and_velocities_of_the_frame(kind):
    """A frame on a lever is where a link without mass would be that is fixed there."""
    mount = Joint(
        name="mount", type="fixed", parent="arm.tip", placement=Placement(position=LEVER.tolist(), rotation=TURN)
    )
    arm = made([arm_link(kind, frames=(side(),)), Link(name="mount", joint=mount, rigid=Rigid(mass=0.1, inertia=0.01))])
    q, v, _ = bent_state(arm)
    here, there = (arm.pose(name, q) for name in ("arm.side", "mount.root"))
    assert_same((here.position, here.rotation), (there.position, there.rotation))
    assert_same(arm.velocity("arm.side", q, v), arm.velocity("mount.root", q, v))
    assert_same([arm.jacobian("arm.side", q)], [arm.jacobian("mount.root", q)])


@pytest.mark.parametrize("kind", ["linear modes", "second-order modes", "exact modes", "elements"])
def test_the_end_of_a_loop_on_a_lever(kind):
    """A strut from the base to the lever, welded, hinged or held: three ways to say where it ends."""
    lug = Link(
        name="lug",
        joint=Joint(name="lug", type="fixed", parent="arm.tip", placement=Placement(position=LEVER.tolist())),
    )
    ends = {
        "frame": ([arm_link(kind, frames=(side(rotation=()),))], "arm.side"),
        "anchor": ([arm_link(kind)], {"frame": "arm.tip", "position": LEVER.tolist()}),
        "link": ([arm_link(kind), lug], "lug.root"),
    }
    foot = Joint(name="foot", type="spherical", parent="base", placement=Placement(position=(1.1, -0.2, -0.65)))
    strut = Link(name="strut", joint=foot, rigid=Rigid(mass=0.5, com=(0.0, 0.0, 0.3), inertia=0.02))
    top = {"frame": "strut.root", "position": [0.0, 0.0, 1.0]}
    loop = {"name": "pin", "type": "spherical"}
    found = []
    for links, end in ends.values():
        arm = made([*links, strut], loops=[{**loop, "frames": [end, top]}])
        q = np.zeros(arm.size)
        q[arm.mechanism.member("arm").elastic] = bent_state(arm)[0][arm.mechanism.member("arm").elastic]
        closed = arm.loops.constraints.approach(q[None], []).q[0]
        a = arm.forward(closed, np.zeros(arm.size))
        found.append((closed, arm.loops.constraints.scaled(closed), arm.mass_matrix(closed), a))
    for one, other in pairwise(found):
        assert_same(one[:-1], other[:-1])
        assert one[-1] == pytest.approx(other[-1], rel=0, abs=SOLVED * np.abs(other[-1]).max())


@pytest.mark.filterwarnings("ignore:the shapes of")
def test_sag_and_frequency_of_a_bracket():
    """What a user sees: a camera on a bracket of 0.3 m, described in two ways."""
    seen = []
    for way in (on_frame, on_placement, as_payload_of_the_frame):
        arm = made(way("linear modes"))
        rest = pliant.equilibrium(arm)
        seen.append((rest.q, pliant.modes(arm, q=rest.q).frequencies))
    for one, other in pairwise(seen):
        for x, y in zip(one, other, strict=True):
            assert x == pytest.approx(y, rel=1e-8, abs=1e-10)
