"""From the description of a link to its modal body."""

from dataclasses import dataclass

import numpy as np
import pytest

from pliant.bodies.beam_modes import assemble, mode_set
from pliant.bodies.build import build_body, carried, frequencies, shape_sets
from pliant.bodies.modal_body import ModalBody
from pliant.bodies.profile import BeamProfile, SectionData
from pliant.dynamics import Dynamics
from pliant.errors import ModelError
from pliant.model.description.beams import Beam
from pliant.model.description.links import Link
from pliant.model.description.robot import Robot

STRIP = {"rectangle": {"width": 0.003, "height": 0.04}}
FAMILIES = ("bend_y", "bend_z", "torsion", "axial")


def link(name="arm", joint=None, **body):
    return Link.model_validate({"name": name, "joint": joint or {"name": f"joint_{name}"}, **body})


def beam(**changes):
    return {"length": 0.5, "material": "aluminium", "section": STRIP, **changes}


def beam_link(frames=(), **changes):
    return link(beam=beam(**changes), frames=frames)


def test_rigid_links_and_connectors():
    body = build_body(
        link(
            rigid={"mass": 1.5, "com": [0.27, 0.01, 0], "inertia": [0.01, 0.04, 0.045], "length": 0.6},
            frames=[{"name": "camera", "position": [0.3, 0.05, 0], "rotation": {"z": 0.5}}],
        )
    )
    assert isinstance(body, ModalBody)
    assert body.size == 0
    assert body.mass == 1.5
    assert body.first == pytest.approx([0.405, 0.015, 0])
    assert body.I_rr[2, 2] == pytest.approx(0.045 + 1.5 * (0.27**2 + 0.01**2))
    assert set(body.frames) == {"root", "tip", "camera"}
    assert body.frames["tip"].position == pytest.approx([0.6, 0, 0])
    assert body.frames["camera"].rotation[0, 1] == pytest.approx(-np.sin(0.5))
    assert body.frames["camera"].Phi_d.shape == (3, 0)
    connector = build_body(link())
    assert connector.mass == 0.0
    assert not connector.I_rr.any()
    assert connector.frames["tip"].position == pytest.approx([0, 0, 0])


def test_rigid_beam_has_inertia_only():
    body = build_body(beam_link(rigid=True))
    m = 2700 * 0.003 * 0.04 * 0.5
    assert body.size == 0
    assert body.mass == pytest.approx(m)
    assert np.diag(body.I_rr) == pytest.approx([0, m * 0.25 / 3, m * 0.25 / 3])
    rotary = build_body(beam_link(rigid=True, rotary_inertia=True))
    assert rotary.I_rr[0, 0] == pytest.approx(m * (0.003**2 + 0.04**2) / 12)


def test_modes_of_a_strip():
    modes = {"shape": "clamped-free", "bend_y": 2, "bend_z": 3, "torsion": 1, "axial": 1}
    body = build_body(beam_link(modes=modes))
    assert body.names == (
        "bend_y.1", "bend_y.2", "bend_z.1", "bend_z.2", "bend_z.3", "torsion.1", "axial.1",
    )  # fmt: skip
    rhoA, E = 2700 * 0.003 * 0.04, 70e9
    # bending in y is bending of the width
    omega = 1.8751040687**2 / 0.25 * np.sqrt(E * 0.04 * 0.003**3 / 12 / rhoA)
    # torsion brings the inertia of the sections along, which lowers bending a little
    assert frequencies(body)[0] == pytest.approx(omega, rel=1e-4)
    plain = build_body(beam_link(modes={"bend_y": 2}))
    assert frequencies(plain)[0] == pytest.approx(omega, rel=1e-9)
    assert plain.frames["tip"].Phi_d[1] == pytest.approx([2, -2])
    assert not body.D_ee.any()
    assert [s.family for s in shape_sets(beam_link(modes=modes))] == list(FAMILIES)


def test_properties_and_section_agree():
    modes = {"bend_y": 2, "bend_z": 2, "torsion": 2, "axial": 1}
    described = Beam.model_validate(beam(modes=modes))
    at = described.at(0.0)
    names = ("mass_per_length", "EIy", "EIz", "EA", "GJ", "rhoIy", "rhoIz")
    properties = {name: float(getattr(at, name)) for name in names}
    a = build_body(link(beam=described))
    b = build_body(link(beam={"length": 0.5, "properties": properties, "modes": modes}))
    for name in ("M_ee", "K_ee", "I_ee", "beta", "lam", "I_rr"):
        scale = np.abs(getattr(a, name)).max()
        assert getattr(b, name) == pytest.approx(getattr(a, name), abs=1e-13 * scale), name


def test_polar_inertia_alone_is_enough_for_torsion():
    properties = {"mass_per_length": 1.0, "GJ": 3.0, "rhoJ": 0.02}
    body = build_body(link(beam={"length": 0.8, "properties": properties, "modes": {"torsion": 2}}))
    assert frequencies(body) == pytest.approx((np.arange(2) + 0.5) * np.pi / 0.8 * np.sqrt(3.0 / 0.02))
    assert body.I_rr[0, 0] == pytest.approx(0.02 * 0.8)
    # with one moment given the other is the rest
    one = {**properties, "rhoIy": 0.005}
    body = build_body(link(beam={"length": 0.8, "properties": one, "modes": {"torsion": 1}}))
    assert body.I_rr[0, 0] == pytest.approx(0.02 * 0.8)
    assert body.I_rr[2, 2] - body.I_rr[1, 1] == pytest.approx((0.015 - 0.005) * 0.8)


def test_each_family_may_have_its_own_shape():
    modes = {
        "shape": "clamped-free",
        "bend_y": {"count": 2, "shape": "pinned-pinned", "normalise": "none"},
        "bend_z": {"shape": "user", "expressions": ["x^2/L^2", "x^3/L^3"], "normalise": "none"},
        "axial": 1,
    }
    body = build_body(beam_link(modes=modes))
    assert not body.frames["tip"].Phi_d[1, :2].any()
    assert body.frames["root"].Phi_r[2, :2] == pytest.approx([np.pi / 0.5, 2 * np.pi / 0.5])
    assert body.frames["tip"].Phi_d[2, 2:4] == pytest.approx([1, 1])
    assert -body.frames["tip"].Phi_r[1, 2:4] == pytest.approx([2 / 0.5, 3 / 0.5])


def test_python_functions_are_shapes_too():
    def bend(x, L):
        return (x / L) ** 2, 2 * x / L**2, 2 / L**2 + 0 * x

    as_function = build_body(beam_link(modes={"shape": "user", "bend_y": 1, "expressions": [bend]}))
    as_text = build_body(beam_link(modes={"shape": "user", "bend_y": 1, "expressions": ["x^2/L^2"]}))
    assert as_function.K_ee == pytest.approx(as_text.K_ee)


def test_frames_along_the_beam():
    frames = [
        {"name": "mid", "x": 0.25, "position": [0, 0.02, 0.03], "rotation": {"z": 0.3}},
        {"name": "end", "x": 0.5},
    ]
    body = build_body(beam_link(frames, modes={"bend_y": 2, "bend_z": 2, "torsion": 1}))
    mid, end, tip = (body.frames[name] for name in ("mid", "end", "tip"))
    assert mid.position == pytest.approx([0.25, 0.02, 0.03])
    assert mid.rotation[0, 0] == pytest.approx(np.cos(0.3))
    assert np.array_equal(end.Phi_d, tip.Phi_d)
    # torsion carries the offset point along: theta x s
    a = mid.Phi_r[0, 4]
    assert mid.Phi_d[:, 4] == pytest.approx([0, -a * 0.03, a * 0.02])
    root = body.frames["root"]
    assert not root.Phi_d.any()
    assert not root.Phi_r.any()


def test_elements_and_their_reductions():
    full = build_body(beam_link(elements={"number": 6, "torsion": True, "axial": True}))
    assert full.size == 36
    assert full.names[11:13] == ("bend_y.12", "bend_z.1")
    static = build_body(beam_link(elements={"number": 6, "reduce": "static"}))
    one = build_body(beam_link(elements={"number": 1}))
    assert static.names == ("bend_y.1", "bend_y.2", "bend_z.1", "bend_z.2")
    assert static.K_ee == pytest.approx(one.K_ee, rel=1e-9)
    reduced = build_body(beam_link(elements={"number": 6, "torsion": True, "reduce": {"craig_bampton": 3}}))
    assert reduced.names[-4:] == ("torsion.1", "torsion.2", "torsion.3", "torsion.4")
    # tip nodal coordinates last in each family
    tip = reduced.frames["tip"]
    assert np.flatnonzero(tip.Phi_d[1]).tolist() == [3]
    assert np.flatnonzero(tip.Phi_r[2]).tolist() == [4]
    assert np.flatnonzero(tip.Phi_r[0]).tolist() == [13]
    assert tip.Phi_d[1, 3] == tip.Phi_r[2, 4] == tip.Phi_r[0, 13] == 1.0
    # interior modes carry the mass of the link and start upwards
    inner = reduced.M_ee[:3, :3]
    assert inner == pytest.approx(reduced.mass * np.eye(3), abs=1e-10 * reduced.mass)
    assert np.all(shape_sets(beam_link(elements={"number": 6, "reduce": {"craig_bampton": 3}}))[0].sample(
        np.array([0.01])
    ).value[:3] > 0)  # fmt: skip
    family = np.array([name.split(".")[0] for name in reduced.names])
    assert not reduced.M_ee[family[:, None] != family].any()
    assert frequencies(reduced)[:3] == pytest.approx(frequencies(full)[:3], rel=1e-3)


def test_a_thousand_elements_need_a_reduction():
    with pytest.raises(ModelError, match="2400 elastic coordinates; 1000 are the most"):
        build_body(beam_link(elements={"number": 600}))
    fine = build_body(beam_link(elements={"number": 300, "bend_z": False, "reduce": {"craig_bampton": 3}}))
    assert fine.size == 5
    exact = build_body(beam_link(modes={"bend_y": 1}))
    assert frequencies(fine)[0] == pytest.approx(frequencies(exact)[0], rel=1e-4)


def test_timoshenko_and_rotary_inertia_are_separate():
    plain, shear, both = (
        frequencies(build_body(beam_link(elements={"number": 8, "bend_y": False, "timoshenko": t}, rotary_inertia=r)))
        for t, r in ((False, False), (True, False), (True, True))
    )
    assert np.all(shear[:6] < plain[:6])
    assert np.all(both[:6] < shear[:6])


@pytest.mark.parametrize("rotary", [True, "exact"])
@pytest.mark.parametrize("shapes", [{"modes": {"torsion": 2}}, {"elements": {"number": 2, "torsion": True}}])
def test_the_mass_of_the_straight_body_is_that_of_the_dynamics(shapes, rotary):
    """Sections that turn are counted once, in both planes of bending and in torsion."""
    arm = beam_link(**shapes, rotary_inertia=rotary, section={"rectangle": {"width": 0.1, "height": 0.2}})
    robot = Robot(name="bar", links=[arm])
    M = Dynamics(robot, compile="never").mass_matrix(np.zeros(1 + build_body(arm, robot).size))[1:, 1:]
    found = build_body(arm, robot).straight_mass
    assert found == pytest.approx(M, rel=0, abs=1e-12 * np.abs(M).max())


def test_lumped_beam():
    body = build_body(beam_link(lumped={"nodes": 20, "bend_z": False}))
    modes = build_body(beam_link(modes={"bend_y": 1}))
    assert body.size == 40
    assert frequencies(body)[0] == pytest.approx(frequencies(modes)[0], rel=1e-3)
    assert body.mass == pytest.approx(modes.mass)
    assert body.frames["tip"].Phi_d[1, 38] == 1.0


def test_stepped_and_tapered_beams():
    segments = [
        {"length": 0.2, "section": {"rectangle": {"width": 0.006, "height": 0.04}}},
        {"length": 0.3, "section": STRIP, "taper_to": {"rectangle": {"width": 0.001, "height": 0.02}}},
    ]
    stepped = link(beam={"material": "steel", "segments": segments, "elements": {"number": 20}})
    body = build_body(stepped)
    taper = 0.3 * (0.003 * 0.04 + (0.003 * 0.02 + 0.001 * 0.04) / 2 + 0.001 * 0.02) / 3
    assert body.mass == pytest.approx(7850 * (0.2 * 0.006 * 0.04 + taper), rel=1e-13)
    assert body.mass == pytest.approx(stepped.mass, rel=1e-13)
    # assumed modes of the uniform beam remain admissible: frequencies from above
    modes = build_body(
        link(beam={"material": "steel", "segments": segments, "modes": {"shape": "polynomial", "bend_y": 8}})
    )
    assert frequencies(modes)[0] > frequencies(body)[0]
    assert frequencies(modes)[0] == pytest.approx(frequencies(body)[0], rel=0.05)


@pytest.mark.parametrize(
    "discretisation",
    [
        {"modes": {"bend_y": 2, "bend_z": 2, "torsion": 1}},
        {"elements": {"number": 3}},
        {"lumped": {"nodes": 3}},
    ],
)
def test_damping(discretisation):
    body = build_body(beam_link(damping={"ratio": 0.02}, **discretisation))
    # D M^-1 D = (2 zeta)^2 K for a ratio that is the same in all modes
    assert body.D_ee @ np.linalg.solve(body.M_ee, body.D_ee) == pytest.approx(
        0.04**2 * body.K_ee, abs=1e-6 * 0.04**2 * np.abs(body.K_ee).max()
    )
    rayleigh = build_body(beam_link(damping={"rayleigh": {"mass": 0.3, "stiffness": 1e-4}}, **discretisation))
    assert rayleigh.D_ee == pytest.approx(0.3 * body.M_ee + 1e-4 * body.K_ee)


def test_modal_data_passes_through():
    source = build_body(beam_link(modes={"bend_y": 2, "torsion": 1}, damping={"ratio": 0.1}))
    arrays = {
        name: getattr(source, name).tolist()
        for name in ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee", "D_ee")
    }
    tip = source.frames["tip"]
    frames = {"tip": {"position": tip.position.tolist(), "Phi_d": tip.Phi_d.tolist(), "Phi_r": tip.Phi_r.tolist()}}
    body = build_body(link(modal={"mass": source.mass, "length": 0.5, "frames": frames, **arrays}))
    for name in arrays:
        assert np.array_equal(getattr(body, name), getattr(source, name)), name
    assert np.array_equal(body.frames["tip"].Phi_r, tip.Phi_r)
    assert not body.frames["root"].Phi_d.any()
    assert body.size == 3


def de_luca_siciliano(pose=0.0, **modes):
    """The two-link arm; its modes take what they carry from the robot."""
    properties = {"mass_per_length": 0.2, "EIz": 1.0}
    shape = {"shape": "clamped-mass", "bend_y": 2, **modes}
    return Robot.model_validate(
        {
            "name": "two-link",
            "links": [
                {"name": "upper", "joint": {"name": "shoulder"}, "hub": {"mass": 1.0, "inertia": 0.1},
                 "beam": {"length": 0.5, "properties": properties, "modes": shape}},
                {"name": "forearm", "joint": {"name": "elbow"}, "hub": {"mass": 1.0, "inertia": 0.1},
                 "beam": {"length": 0.5, "properties": properties, "modes": shape},
                 "payloads": [{"mass": 0.1, "inertia": 0.0005}]},
            ],
            "pose": {"elbow": pose},
        }
    )  # fmt: skip


@pytest.mark.parametrize("pose", [0.0, 1.1, -2.5])
def test_carried_mass_of_the_two_link_arm(pose, published):
    robot = de_luca_siciliano(pose)
    upper, forearm = carried(robot, "upper"), carried(robot, "forearm")
    assert upper.mass == pytest.approx(1.2)
    assert upper.inertia[2, 2] == pytest.approx(0.1338333333333)
    assert forearm.mass == pytest.approx(0.1)
    assert forearm.inertia[2, 2] == pytest.approx(0.0005)
    # in the plane the turn of the elbow moves the centre of mass only
    assert upper.first == pytest.approx(0.075 * np.array([np.cos(pose), np.sin(pose), 0]))
    for name, expected in zip(("upper", "forearm"), published["de_luca_siciliano"]["links"], strict=True):
        body = build_body(robot.link(name), robot)
        tip = body.frames["tip"]
        assert np.round(tip.Phi_d[1], 3) == pytest.approx(expected["value"], abs=1e-9)
        assert np.round(tip.Phi_r[2], 3) == pytest.approx(expected["slope"], abs=1e-9)


def test_given_tip_data_override_what_is_carried():
    robot = de_luca_siciliano(tip_mass=0.5, tip_inertia=0.0)
    body = build_body(robot.link("upper"), robot)
    profile = BeamProfile.uniform(0.5, SectionData(rhoA=0.2, EIz=1.0))
    modes = mode_set("bend_y", "clamped-mass", 2, profile, tip_mass=0.5)
    assert body.M_ee == pytest.approx(assemble([modes], profile, {}, section_inertia=False).M_ee)


def test_without_a_robot_only_own_payloads_count():
    robot = de_luca_siciliano()
    forearm = robot.link("forearm")
    alone, within = build_body(forearm), build_body(forearm, robot)
    assert np.array_equal(alone.K_ee, within.K_ee)
    upper = build_body(robot.link("upper"))
    assert upper.frames["tip"].Phi_d[1] == pytest.approx([2, -2], rel=1e-12)


def test_carried_in_three_dimensions():
    robot = Robot.model_validate(
        {
            "name": "branches",
            "links": [
                {"name": "a", "joint": {}, "beam": beam(), "frames": [{"name": "mid", "x": 0.25}],
                 "payloads": [{"mass": 0.2}, {"mass": 5.0, "frame": "mid"}]},
                {"name": "slider", "joint": {"type": "prismatic", "axis": "y",
                 "placement": {"position": [0, 0, 0.1], "rotation": {"x": 0.4}}}},
                {"name": "tool", "joint": {"type": "revolute", "axis": [0, 1, 0], "parent": "slider",
                 "child_placement": {"position": [0.02, 0, 0], "rotation": {"z": 0.2}}},
                 "rigid": {"mass": 2.0, "com": [0.3, 0.1, 0], "inertia": [0.1, 0.2, 0.25]}},
                {"name": "aside", "joint": {"type": "fixed", "parent": "a.mid"}, "rigid": {"mass": 9.0}},
            ],
            "pose": {"slider": 0.3, "tool": 0.7},
        }
    )  # fmt: skip

    def turn(axis, angle):
        c, s = np.cos(angle), np.sin(angle)
        return {
            "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
            "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
            "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        }[axis]

    R = turn("x", 0.4) @ turn("y", 0.7)
    com = np.array([0, 0, 0.1]) + turn("x", 0.4) @ [0, 0.3, 0] + R @ ([0.02, 0, 0] + turn("z", 0.2) @ [0.3, 0.1, 0])
    R = R @ turn("z", 0.2)
    expected = R @ np.diag([0.1, 0.2, 0.25]) @ R.T + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    load = carried(robot, "a")
    # the payload at the middle and what hangs there do not load the tip
    assert load.mass == pytest.approx(2.2)
    assert load.first == pytest.approx(2.0 * com)
    assert load.inertia == pytest.approx(expected)
    assert carried(robot, "tool").mass == 0.0
    with pytest.raises(ModelError, match="no link 'arm'"):
        carried(robot, "arm")


def test_torsion_and_axial_modes_take_their_own_load():
    robot = Robot.model_validate(
        {
            "name": "shaft",
            "links": [
                {"name": "shaft", "joint": {}, "payloads": [{"mass": 0.3, "inertia": [0.002, 0.002, 0.003]}],
                 "beam": beam(modes={"shape": "clamped-mass", "torsion": 2, "axial": 2})},
            ],
        }
    )  # fmt: skip
    torsion, axial = shape_sets(robot.links[0], robot)
    polar = 2700 * (0.003 * 0.04**3 + 0.04 * 0.003**3) / 12 * 0.5
    for shape in torsion.shapes:
        assert 1 / np.tan(shape.beta) == pytest.approx(0.002 / polar * shape.beta)
    for shape in axial.shapes:
        assert 1 / np.tan(shape.beta) == pytest.approx(0.3 / (2700 * 0.003 * 0.04 * 0.5) * shape.beta)


def test_a_chain_of_many_links_is_quick():
    chain = [
        {"name": f"l{i}", "joint": {}, "beam": beam(modes={"shape": "clamped-mass", "bend_y": 1})} for i in range(60)
    ]
    robot = Robot.model_validate({"name": "chain", "links": chain})
    bodies = [build_body(item, robot) for item in robot.links]
    assert len(bodies) == 60
    assert carried(robot, "l0").mass == pytest.approx(59 * bodies[0].mass)


@pytest.mark.parametrize(
    ("modes", "message"),
    [
        ({"bend_y": 2, "shape": "pinned-pinned", "normalise": "tip"}, "zero at the tip"),
        ({"bend_y": 2, "shape": "user", "expressions": ["x^2", "3*x^2"]}, "not independent"),
        ({"bend_y": 1, "shape": "user", "expressions": ["0*x"], "normalise": "none"}, "moves no mass"),
        ({"bend_y": 1, "shape": "user", "expressions": ["0*x"]}, "zero all along"),
        ({"bend_y": 1, "shape": "user", "expressions": ["0*x"], "normalise": "unit"}, "zero all along"),
        ({"bend_y": 1, "shape": "user", "expressions": ["0*x"], "normalise": "tip"}, "zero at the tip"),
        ({"bend_y": 30, "shape": "polynomial"}, "use fewer"),
        ({"bend_y": 1, "shape": "user", "expressions": [lambda x, L: (x / 0, x, x)]}, "not finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_unusable_modes_are_reported(modes, message):
    with pytest.raises(ModelError, match=f"link 'arm': .*{message}"):
        build_body(beam_link(modes=modes))


def test_errors_name_the_place_in_the_robot():
    bad = {"number": 2, "reduce": {"craig_bampton": 9}}
    robot = Robot.model_validate(
        {
            "name": "r",
            "links": [{"name": "a", "joint": {}}, {"name": "b", "joint": {}, "beam": beam(elements=bad)}],
        }
    )
    with pytest.raises(ModelError, match=r"links\[1\] 'b': bend_y: 9 interior modes .* fewer modes"):
        build_body(robot.links[1], robot)
    with pytest.raises(ModelError, match=r"links\[0\] 'a': it is not a beam"):
        shape_sets(robot.links[0], robot)


def test_materials_of_the_robot():
    own = {"materials": {"stuff": {"E": 1e9, "nu": 0.3, "density": 1000.0}}}
    described = {"name": "a", "joint": {}, "beam": beam(material="stuff", modes={"bend_y": 1})}
    robot = Robot.model_validate({"name": "r", "links": [described], **own})
    body = build_body(robot.links[0], robot)
    assert body.mass == pytest.approx(1000 * 0.003 * 0.04 * 0.5)
    assert build_body(robot.links[0]).mass == body.mass


def test_frequencies_of_odd_bodies():
    assert frequencies(build_body(beam_link(rigid=True))).shape == (0,)
    free = ModalBody.from_integrals(
        names=("a", "b"), mass=1.0, first=np.zeros(3), I_rr=np.eye(3), frames={}, M_ee=np.eye(2),
        K_ee=np.diag([0.0, 4.0]),
    )  # fmt: skip
    assert frequencies(free) == pytest.approx([0.0, 2.0])


def test_units_scale_through_the_description():
    metre, kilogram = 1000.0, 0.001

    def build(m, kg):
        properties = {
            "mass_per_length": 1.3 * kg / m, "EIy": 4.0 * kg * m**3, "EIz": 6.0 * kg * m**3,
            "GJ": 2.0 * kg * m**3, "EA": 5e4 * kg * m, "rhoIy": 0.01 * kg * m, "rhoIz": 0.02 * kg * m,
        }  # fmt: skip
        modes = {"shape": "clamped-mass", **dict.fromkeys(FAMILIES, 2)}
        described = {"length": 0.7 * m, "properties": properties, "modes": modes, "rotary_inertia": True}
        payload = {"mass": 0.4 * kg, "inertia": 0.03 * kg * m**2}
        return build_body(link(beam=described, payloads=[payload]))

    si, other = build(1.0, 1.0), build(metre, kilogram)
    # frequencies do not know the units, tip shapes of bending are pure numbers
    assert frequencies(other) == pytest.approx(frequencies(si), rel=1e-11)
    assert other.frames["tip"].Phi_d[1] == pytest.approx(si.frames["tip"].Phi_d[1], rel=1e-12)
    assert np.diag(other.M_ee)[:4] == pytest.approx(np.diag(si.M_ee)[:4] * kilogram, rel=1e-12)
    assert other.I_rr == pytest.approx(si.I_rr * kilogram * metre**2, rel=1e-12)


@pytest.mark.parametrize("shape", ["clamped-mass", "clamped-free", "pinned-free", "polynomial", "legendre"])
@pytest.mark.parametrize("counts", [(3, 1), (9, 5)])
def test_what_is_equal_in_two_families_is_equal_to_the_last_digit(shape, counts):
    """Whatever their numbers of shapes: equal constants are one constant of compiled code."""
    a, b = counts
    beam = Beam(
        length=0.83,
        properties={"mass_per_length": 0.4, "EIy": 20.0, "EIz": 20.0},
        modes={"shape": shape, "bend_y": a, "bend_z": b},
    )
    body = build_body(Link(name="arm", joint={}, beam=beam, payloads=[{"mass": 0.2, "inertia": 1e-3}]))
    for matrix in (body.M_ee, body.K_ee, body.large.first[0]):
        np.testing.assert_array_equal(matrix[:b, :b], matrix[a:, a:])
    tip = body.frames["tip"]
    np.testing.assert_array_equal(tip.Phi_d[1, :b], tip.Phi_d[2, a:])


def test_beams_of_equal_numbers_are_built_once():
    """A robot that is described again finds its bodies; one with other numbers, loads or frames has its own."""

    def body(height=0.03, load=0.5, elements=None, frames=()):
        section = {"rectangle": {"width": 0.02, "height": height}}
        shapes = {"elements": elements} if elements else {"modes": {"shape": "clamped-mass", "bend_y": 2}}
        beam = {"length": 1.0, "material": "aluminium", "section": section, **shapes}
        link = Link(name="arm", joint={"name": "j"}, beam=beam, payloads=[{"mass": load}], frames=frames)
        return build_body(link, Robot(name="arm", links=[link]))

    first = body()
    assert body() is first
    assert body(height=0.031) is not first
    assert body(load=0.51) is not first
    assert body(frames=[{"name": "middle", "x": 0.5}]) is not first
    assert body() is first
    # those of elements may be large: they go with their robot
    elements = {"number": 4}
    assert body(elements=elements) is not body(elements=elements)


def test_shapes_of_functions_are_not_found_by_their_numbers():
    """A function may know what is not compared, or not be one of the things that can be."""

    @dataclass
    class Shape:
        power: float

        def __call__(self, x, L):
            p, u = self.power, x / L
            return u**p, p * u ** (p - 1) / L, p * (p - 1) * u ** (p - 2) / L**2

    def stiffness(shape):
        beam = {"length": 1.0, "material": "aluminium", "section": STRIP}
        modes = {"shape": "user", "bend_y": 1, "expressions": [shape]}
        return build_body(link(beam={**beam, "modes": modes})).K_ee[0, 0]

    shape = Shape(2.0)
    first = stiffness(shape)
    shape.power = 3.0
    assert stiffness(shape) > 1.5 * first
