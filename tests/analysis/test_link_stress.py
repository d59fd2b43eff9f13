"""Stresses at nodes of links with stress data, against the same beam told by its sections and against closed forms."""

import numpy as np
import pytest

import pliant
from pliant import Beam, Dynamics, GivenTorque, Joint, Link, Material, ModelError, Modes, RigidPart, Robot, StressData
from pliant.analysis.along import moving_links
from pliant.analysis.equilibrium import settle
from pliant.analysis.link_stress import nodal_stress
from pliant.bodies.build import build_body, shape_sets

STEEL = Material(E=200e9, density=7800, nu=0.3, yield_strength=300e6)
SECTION, WIDTH, HEIGHT, L = {"rectangle": {"width": 0.02, "height": 0.03}}, 0.02, 0.03, 0.8
AREA, Iy, Iz = WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12, HEIGHT * WIDTH**3 / 12
X, WEIGHTS = (np.polynomial.legendre.leggauss(40)[0] + 1) * L / 2, np.polynomial.legendre.leggauss(40)[1] * L / 2


def beam_link(**more):
    modes = Modes(shape="clamped-free", bend_y=2, bend_z=2)
    beam = Beam(length=L, section=SECTION, material=STEEL, bending="linear", modes=modes)
    return Link(name="arm", joint=Joint(name="j", axis="y", parent="post.tip"), beam=beam, **more)


def robot_of(link):
    post = Link(name="post", joint=Joint(name="i", axis="z"), rigid={"mass": 1.0, "inertia": 0.1, "length": 0.2})
    return Robot(name="crane", links=[post, link])


def data_of(beam):
    """Stress data of a beam, from the formulas of bending and quadrature over its shapes alone."""
    body, sets = build_body(beam), shape_sets(beam)
    stations = np.linspace(0.0, L, 9)
    points = np.array([(x, y, z) for x in stations for y in (-WIDTH / 2, WIDTH / 2) for z in (-HEIGHT / 2, HEIGHT / 2)])
    # displacements along y and z, and curvatures, per coordinate
    y_shapes, z_shapes = (s.sample(X).value for s in sets)
    curvatures = [s.sample(points[:, 0]).strain for s in sets]
    modes = np.zeros((len(points), 6, 4))
    modes[:, 0] = np.concatenate([-points[:, 1] * curvatures[0], -points[:, 2] * curvatures[1]]).T * STEEL.E
    dm = WEIGHTS * STEEL.density * AREA
    loads, pulled = np.zeros((len(points), 6, 18)), np.zeros((18, 4))
    at = points[:, 0]

    def line(density, axis, column):
        """A force per length along an axis, given at the quadrature points."""
        beyond = X[:, None] > at
        force, turn = density @ beyond, density @ (beyond * (X[:, None] - at))
        # quadrature across a step is rough: the same integrals in closed form for densities c0 + c1 x
        c1, c0 = np.polyfit(X, density / WEIGHTS, 1)
        s = L - at
        force = c0 * s + c1 * (L**2 - at**2) / 2
        turn = c0 * s**2 / 2 + c1 * ((L**3 - at**3) / 3 - at * (L**2 - at**2) / 2)
        if axis == 0:
            loads[:, 0, column] = force / AREA
        elif axis == 1:
            loads[:, 0, column] = -points[:, 1] * turn / Iz
            pulled[column, :2] = y_shapes @ density
        else:
            loads[:, 0, column] = -points[:, 2] * turn / Iy
            pulled[column, 2:] = z_shapes @ density

    for axis in range(3):
        line(dm, axis, axis)
        # along the axis alone has the beam its mass
        line(dm * X, axis, 3 + axis)
    tip = body.frames["tip"]
    s = L - at
    unit = [1 / AREA, -points[:, 1] * s / Iz, -points[:, 2] * s / Iy, 0.0, points[:, 2] / Iy, -points[:, 1] / Iz]
    for k, stress in enumerate(unit):
        loads[:, 0, 12 + k] = stress
        pulled[12 + k] = (tip.Phi_d if k < 3 else tip.Phi_r)[k % 3]
    # less what the kept shapes show of the same load at rest
    loads -= np.einsum("psk,lk->psl", modes, pulled @ np.linalg.inv(body.K_ee))
    return StressData(points, modes, loads, at < 0.01, ("tip",), yield_strength=300e6)


def solid_link(beam, path, **more):
    """The same link as modal data with stresses at nodes."""
    body = build_body(beam)
    data_of(beam).save(path)
    keys = ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee", "D_ee")
    tip = body.frames["tip"]
    frames = {"tip": {"position": tip.position.tolist(), "Phi_d": tip.Phi_d, "Phi_r": tip.Phi_r}}
    modal = {"mass": body.mass, "length": L, "frames": frames, "stress": str(path)}
    modal |= {key: getattr(body, key) for key in keys}
    return Link(name="arm", joint=beam.joint, modal=modal, **more)


@pytest.fixture
def both(tmp_path):
    """The crane with a payload, its arm told as a beam and as a body with nodes."""
    payload = {"payloads": [RigidPart(mass=2.0, com=(0.05, 0.02, -0.03), inertia=0.01)]}
    beam = beam_link(**payload)
    return [
        Dynamics(robot_of(link), compile="never")
        for link in (beam, solid_link(beam_link(), tmp_path / "arm.npz", **payload))
    ]


def test_nodes_show_what_sections_do(both):
    """A state with all kinds of inertia, a load and a follower at the tip."""
    told, nodes = both
    rng = np.random.default_rng(8)
    joints = np.isin(told.names, told.robot.joint_coordinates)
    q, v, a = (np.where(joints, 1.5, size) * rng.normal(size=(3, told.size)) for size in (0.0, 0.0, 0.0))
    q[0, 2:] = 1e-3, -2e-4, 5e-4, 1e-4
    acting = {"v": v, "a": a, "loads": {"arm.tip": [30, -20, 50, 3, -4, 5]}, "followers": {"arm.tip": [0, 9, 7]}}
    found = pliant.along(told, "arm", q, **acting)
    data = data_of(beam_link())
    corners = nodal_stress("arm", data, moving_links(nodes, q, **acting)["arm"])
    for k, near in enumerate((4e-3, 1e-6, 1e-6)):
        at_sections = np.abs(corners.tensor(k)[:, 0]).reshape(9, 4).max(axis=1)
        # the first is bent by a millimetre
        np.testing.assert_allclose(at_sections, found.stress[k, ::5], atol=near * found.stress[k].max())
        assert corners.von_mises(k) == pytest.approx(np.abs(corners.tensor(k)[:, 0]))


def test_largest_value_and_place_leave_out_nodes_at_the_clamp(both):
    _, nodes = both
    rest = settle(nodes, loads={"arm.tip": [0, 0, -100]})
    inner, all_of_them = (pliant.stress_peak(nodes, "arm", rest, near_rigid=near) for near in (False, True))
    assert inner.place[0] == pytest.approx(L / 8)
    assert all_of_them.place[0] == 0.0
    weight = (100 + 2 * 9.81) * L + STEEL.density * AREA * 9.81 * L**2 / 2 + 2 * 9.81 * 0.05
    wanted = weight * HEIGHT / 2 / Iy + 2 * 9.81 * 0.0
    assert all_of_them.value == pytest.approx(wanted, rel=0.01)
    assert all_of_them.utilisation == pytest.approx(all_of_them.value / 300e6)
    assert inner.principal[0] - inner.principal[2] == pytest.approx(inner.value)


def test_channels_of_a_run_with_nodes(both):
    told, nodes = both
    drive = GivenTorque(joints={"i": 2.0, "j": "-20 - 5*sin(8*t)"})
    runs = [
        pliant.run_study(
            pliant.Study(
                robot=arm.robot, until=0.1, drive=drive, start={"links": "equilibrium"}, outputs={"step": 0.02}
            )
        )
        for arm in (told, nodes)
    ]
    peak = runs[1].stress_peaks()["arm"]
    assert peak.value == runs[1]["arm.stress"].max()
    np.testing.assert_allclose(runs[1]["arm.utilisation"], runs[1]["arm.stress"] / 300e6)
    # from the second row of nodes on, which is the first that counts
    at = runs[0].along("arm").stress[:, 5::5].max(axis=1)
    np.testing.assert_allclose(runs[1]["arm.stress"], at, rtol=2e-3)


def test_what_is_not_known_is_refused(both, tmp_path):
    told, nodes = both
    with pytest.raises(ModelError, match="no link 'post' whose stress is known; known: arm"):
        pliant.stress_peak(told, "post", told.q())
    data = data_of(beam_link())
    StressData(data.points, data.modes, data.loads[:, :, :12], data.near_rigid).save(tmp_path / "bare.npz")
    link = nodes.robot.link("arm")
    other = link.with_changes(modal=link.modal.with_changes(stress=str(tmp_path / "bare.npz")))
    arm = Dynamics(robot_of(other), compile="never")
    with pytest.raises(ModelError, match="hangs on its frame 'tip', but its stress data know loads on no frame only"):
        pliant.stress_peak(arm, "arm", arm.q())
    StressData(data.points, data.modes[:, :, :2], data.loads, data.near_rigid, ("tip",)).save(tmp_path / "few.npz")
    other = link.with_changes(modal=link.modal.with_changes(stress=str(tmp_path / "few.npz")))
    with pytest.raises(ModelError, match="are of 2 elastic coordinates; its modal data have 4"):
        pliant.stress_peak(Dynamics(robot_of(other), compile="never"), "arm", arm.q())
