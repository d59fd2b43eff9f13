"""Rods with strain modes: terms against Lagrange's equations, the linear limit, published large deflections."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import body_checks
from pliant.bodies.beam_modes import assemble, attachment, mode_set, stiffness
from pliant.bodies.profile import BeamProfile, SectionData, gauss
from pliant.bodies.rod import rod, rod_deflection, rooted

ROUNDING = 1e-12
# of random coordinates: links turn by some radians, and less than pi from station to station
SIZE = 0.2
# three curvatures and the stretch are all at work
SPATIAL = {"bend_y": 2, "bend_z": 2, "torsion": 2, "axial": 1}


def shapes(profile, families, shape="legendre", **options):
    return [rooted(mode_set(family, shape, n, profile, **options)) for family, n in families.items()]


def made(profile, families, shape="legendre", *, offset=(0.0, 0.0, 0.0), stations=None, curvature=None, **options):
    """A rod with its terms and its stiffness."""
    sets = shapes(profile, families, shape, **options)
    L = profile.length
    frames = {"tip": (L, np.zeros(3)), "middle": (0.4 * L, np.array(offset)), "root": (0.0, np.zeros(3))}
    curve = None if curvature is None else lambda x: np.tile(curvature, (len(x), 1))
    body = rod(sets, profile, frames, section_inertia=True, stations=stations, curvature=curve)
    return body, stiffness(sets, profile)


def terms_of(body, K):
    return body.inertial_terms(K.tolist(), (0.01 * K).tolist())


def turned(rng):
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return R * np.linalg.det(R)


CASES = {
    "plane y": ({"bend_y": 3}, "legendre", None),
    "plane z": ({"bend_z": 2}, "clamped-free", None),
    "modes read as strains": ({"bend_y": 2, "bend_z": 2, "torsion": 1}, "clamped-free", None),
    "pinned shapes": ({"bend_y": 2, "torsion": 1}, "pinned-pinned", None),
    "all strains": (SPATIAL, "legendre", None),
    "curved and twisted": (SPATIAL, "legendre", (0.3, 0.5, -0.4)),
    "curved in its plane": ({"bend_y": 2}, "legendre", (0.0, 0.0, 0.8)),
}


@pytest.fixture(params=CASES, ids=list(CASES))
def bent(request, tapered):
    families, shape, curvature = CASES[request.param]
    return made(tapered, families, shape, offset=(0.0, 0.1, -0.2), curvature=curvature)


def test_terms_are_lagranges_equations_of_their_energy(bent):
    """With a hub, a point mass, and in a frame that is not the root's."""
    body, K = bent
    rng = np.random.default_rng(7)
    moved = body.with_rigid(0.4, np.array([0.1, 0.2, -0.1]), np.diag([0.02, 0.03, 0.04])).with_point(0.6, "tip", None)
    for each in (body, moved.reframed(turned(rng), rng.normal(size=3))):
        terms = terms_of(each, K)
        q, v, V, w = body_checks.state(rng, len(K), SIZE)
        M = body_checks.mass_matrix(terms.inertia(list(q), list(v), list(w))[0])
        assert np.abs(M - M.T).max() < ROUNDING
        assert np.linalg.eigvalsh(M)[0] > 0
        found, wanted = body_checks.inertia_bias(terms, q, v, w), body_checks.inertia_forces(terms, q, v, V, w)
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max())


def test_frames_move_as_their_positions_do(bent):
    body, K = bent
    rng = np.random.default_rng(8)
    terms = terms_of(body.reframed(turned(rng), rng.normal(size=3)), K)
    q, v, _, _ = body_checks.state(rng, len(K), SIZE)
    for name in ("tip", "middle"):
        errors = body_checks.frame_errors(terms, body.section(name, None), q, v)
        assert max(errors.values()) < 1e-11, errors


def test_places_without_derivatives(bent):
    body, K = bent
    rng = np.random.default_rng(10)
    body = body.reframed(turned(rng), rng.normal(size=3))
    q = SIZE * rng.normal(size=(2, len(K)))
    for name in ("tip", "middle"):
        moved, turns = rod_deflection(body, name, q)
        undeformed, *states = (
            terms_of(body, K).frame(body.section(name, None), list(each), [0.0] * len(K))
            for each in (np.zeros(len(K)), *q)
        )
        for frame, r, turn in zip(states, moved, turns, strict=True):
            R, R_0 = np.array(frame.R), np.array(undeformed.R, dtype=float)
            offset = (R - R_0) @ np.array(body.offset(name))
            assert r == pytest.approx(np.array(frame.r) - undeformed.r + offset, abs=ROUNDING)
            assert Rotation.from_rotvec(turn).as_matrix() == pytest.approx(R @ R_0.T, abs=ROUNDING)


def test_mass_sums_are_those_of_the_points(bent):
    """The mass integrals stand for all points: first moment and inertia by brute force."""
    body, K = bent
    terms = terms_of(body, K)
    q = np.random.default_rng(9).normal(size=len(K))
    none = [0.0] * len(q)
    tangents = np.array([station.tangent.t for station in terms.bent(list(q), none)])
    r = body.rows @ tangents
    without = [station._replace(disc=[]) for station in terms.stations]
    blocks, _ = terms._replace(stations=without).inertia(list(q), none, [0.0] * 3)
    inertia = np.einsum("p,pab->ab", body.masses, [x @ x * np.eye(3) - np.outer(x, x) for x in r])
    assert np.array(blocks.C) == pytest.approx(inertia, rel=1e-11, abs=ROUNDING)
    assert terms.first_moment(list(q)) == pytest.approx(body.masses @ r, rel=1e-11, abs=ROUNDING)


@pytest.mark.parametrize(("family", "along"), [("axial", 0), ("shear_y", 1), ("shear_z", 2)])
def test_stretch_and_shear_move_the_tip_their_own_way(tapered, family, along):
    """A positive coordinate lengthens the axis, or shifts its end towards +y or +z, by the integral of its strain."""
    sets = shapes(tapered, {family: 2}, "legendre")
    body = rod(sets, tapered, {"tip": (tapered.length, np.zeros(3))}, section_inertia=False)
    frame = terms_of(body, np.eye(2)).frame(body.section("tip", None), [0.0] * 2, [0.0] * 2)
    x, weights = gauss(tapered.breaks, 4)
    expected = np.zeros((3, 2))
    expected[along] = sets[0].sample(x).strain @ weights
    assert expected[along, 0] > 0.1
    assert np.array(frame.J_v, dtype=float) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("shape", ["clamped-free", "clamped-mass", "pinned-pinned", "polynomial", "legendre"])
@pytest.mark.parametrize("spare", [1, 2])
def test_linear_limit(tapered, shape, spare):
    """A rod that is hardly bent is the linear beam of the same shapes, however few stations it has."""
    families = {"bend_y": 3, "bend_z": 3, "torsion": 2}
    sets = shapes(tapered, families, shape, tip_mass=0.5)
    frames = {"tip": (tapered.length, np.zeros(3))}
    body = rod(sets, tapered, frames, section_inertia=False, stations=3 + spare)
    linear = assemble(sets, tapered, {}, section_inertia=False)
    at = attachment(sets, tapered.length)
    terms = terms_of(body, linear.K_ee)
    none = [0.0] * linear.size
    blocks, _ = terms.inertia(none, none, [0.0] * 3)
    frame = terms.frame(body.section("tip", None), none, none)
    pairs = [
        (blocks.M_e, linear.M_ee),
        (blocks.E_v, linear.first_modal),
        (blocks.E_w, linear.beta),
        (blocks.C, linear.I_rr),
        (frame.J_v, at.Phi_d),
        (frame.spin.J_w, at.Phi_r),
    ]
    for found, wanted in pairs:
        assert np.array(found) == pytest.approx(wanted, rel=1e-9, abs=1e-9 * np.abs(wanted).max())


# ---------------------------------------------------------------- static deflections


def equilibrium(body, K, force=(0.0, 0.0, 0.0), moment=(0.0, 0.0, 0.0), steps=4):
    """Tip position and rotation under a dead tip load: Newton's method with load steps."""
    terms, section = terms_of(body, K), body.section("tip", None)
    n = len(K)
    none, q = [0.0] * n, np.zeros(n)
    load = np.concatenate([force, moment])

    def generalised(q):
        """Generalised forces of the whole load (n,) or, for a batch of states, (n, states)."""
        frame = terms.frame(section, list(q), none)
        rows = [*frame.J_v, *frame.spin.J_w]
        return np.array([sum(load[d] * (rows[d][k] + 0.0 * q[0]) for d in range(6)) for k in range(n)])

    for part in np.arange(1, steps + 1) / steps:
        for _ in range(20):
            # all columns of the tangent at once, by complex steps
            softening = generalised(q[:, None] + 1j * body_checks.STEP * np.eye(n)).imag / body_checks.STEP
            change = np.linalg.solve(K - part * softening, K @ q - part * generalised(q))
            q = q - change
            if np.abs(change).max() < 1e-12 * max(1.0, np.abs(q).max()):
                break
    frame = terms.frame(section, list(q), none)
    return np.array(frame.r), np.array(frame.R)


def beam(length=1.0, **stiff):
    return BeamProfile.uniform(length, SectionData(rhoA=1.0, rhoIy=1e-3, rhoIz=1e-3, **stiff))


# elliptic integrals: P L^2/EI -> tip
ELASTICA = {1: (0.9435667637166231, 0.3017207737998135), 10: (0.4450044022462487, 0.8106090248802965)}


@pytest.mark.parametrize(
    ("count", "load", "tolerance"), [(4, 1, 2e-7), (4, 10, 2e-5), (8, 10, 1e-8)], ids=lambda x: str(x)
)
def test_elastica(count, load, tolerance):
    r, _ = equilibrium(*made(beam(EIz=1.0), {"bend_y": count}, normalise="none"), force=(0.0, load, 0.0))
    assert r[:2] == pytest.approx(ELASTICA[load], abs=tolerance)


def test_elastica_converges_with_the_modes_of_a_beam():
    errors = []
    for count in (2, 3, 6):
        r, _ = equilibrium(*made(beam(EIz=1.0), {"bend_y": count}, "clamped-free"), force=(0.0, 10.0, 0.0))
        errors.append(np.linalg.norm(r[:2] - ELASTICA[10]))
    assert errors[0] < 2e-3
    assert errors[1] < 1e-4
    assert errors[2] < 1e-5


@pytest.mark.parametrize(("stations", "tolerance"), [(8, 1e-10), (12, 1e-14)])
def test_an_end_moment_bends_it_to_a_circle(stations, tolerance):
    body, K = made(beam(EIz=1.0), {"bend_y": 1}, normalise="none", stations=stations)
    r, R = equilibrium(body, K, moment=(0.0, 0.0, 2 * np.pi))
    assert r == pytest.approx(np.zeros(3), abs=tolerance)
    assert pytest.approx(np.eye(3), abs=1e-12) == R


def test_forty_five_degree_bend():
    """Bathe & Bolourchi: radius 100, 45 degrees, load 600 out of the plane; tip by shooting, Kirchhoff rod."""
    EI = 1e7 / 12
    profile = beam(100 * np.pi / 4, EIy=EI, EIz=EI, GJ=5e6 / 6)
    families = {"bend_y": 5, "bend_z": 5, "torsion": 5}
    curvature = (0.0, 0.0, 0.01)
    body, K = made(profile, families, normalise="none", curvature=curvature)
    straight, _ = equilibrium(body, K, steps=1)
    assert straight == pytest.approx([70.71067811865476, 29.28932188134524, 0.0], rel=1e-6)
    r, _ = equilibrium(body, K, force=(0.0, 0.0, 600.0))
    assert r == pytest.approx([47.15129440030706, 15.685078162158682, 53.468598442325934], abs=2e-4)


# load (N), angle (deg) -> y, z (m), twist (rad): shooting with the full section, shear and stretch included
PRINCETON = {
    (4.448, 45): (0.056056, 0.003965, 0.007609),
    (4.448, 90): (0.078083, 0.0, 0.0),
    (8.896, 30): (0.079457, 0.010147, 0.026380),
    (8.896, 60): (0.129925, 0.006654, 0.024101),
}


def test_princeton_beam():
    profile = beam(0.508, GJ=3.10338, EIy=36.2794, EIz=2.42873)
    body, K = made(profile, {"bend_y": 4, "bend_z": 4, "torsion": 4}, normalise="none")
    for (load, angle), (y, z, twist) in PRINCETON.items():
        along = np.radians(angle)
        r, R = equilibrium(body, K, force=(0.0, load * np.sin(along), load * np.cos(along)), steps=2)
        assert r[1:] == pytest.approx([y, z], abs=1e-4)
        assert np.arctan2(-R[1, 2], R[2, 2]) == pytest.approx(twist, abs=2e-6)


def test_rods_of_all_lengths_have_one_structure():
    """What vanishes for one length vanishes for all: rounding must not decide about the program."""
    section = SectionData(rhoA=0.4, EIz=20.0, EIy=20.0, GJ=10.0, rhoIy=1e-5, rhoIz=1e-5)
    patterns = set()
    for length in (0.3, 0.83, 1.0, 1.1, 1.37):
        profile = BeamProfile.uniform(length, section)
        body, K = made(profile, {"bend_y": 4, "torsion": 2})
        tip = attachment(shapes(profile, {"bend_y": 4}), length)
        arrays = (body.moments, *(at.moments for at in body.frames.values()), tip.Phi_d, tip.Phi_r, K)
        patterns.add(tuple((a != 0).tobytes() for a in arrays))
    assert len(patterns) == 1
    # P_n is orthogonal to all powers below n: the first strain alone turns the tip, the first two move it
    assert np.flatnonzero(tip.Phi_r[2]).tolist() == [0]
    assert np.flatnonzero(tip.Phi_d[1]).tolist() == [0, 1]


@pytest.mark.parametrize("lanes", [(), (4,), (2, 3)])
def test_the_root_stays_for_one_state_or_many(tapered, lanes):
    body, K = made(tapered, SPATIAL)
    q_e = SIZE * np.random.default_rng(8).normal(size=(*lanes, len(K)))
    p, R = body.place("root", q_e)
    assert (p.shape, R.shape) == ((*lanes, 3), (*lanes, 3, 3))
    assert p == pytest.approx(np.broadcast_to(body.root_p, p.shape))
    assert pytest.approx(np.broadcast_to(np.eye(3), R.shape)) == R
    # as the tip, which moves
    assert [x.shape for x in body.place("tip", q_e)] == [p.shape, R.shape]


def test_places_in_another_frame(tapered):
    """Sections are where R r + p says, and turned against the undeformed ones in the new axes."""
    body, K = made(tapered, SPATIAL, offset=(0.0, 0.1, -0.2))
    rng = np.random.default_rng(9)
    R, p, q_e = turned(rng), rng.normal(size=3), SIZE * rng.normal(size=len(K))
    again = body.reframed(turned(rng), rng.normal(size=3))
    for first in (body, again):
        second = first.reframed(R, p)
        for name in ("tip", "middle", "root"):
            (r, A), (s, B) = first.place(name, q_e), second.place(name, q_e)
            assert s == pytest.approx(R @ r + p, rel=0, abs=ROUNDING)
            assert pytest.approx(R @ A @ R.T, rel=0, abs=ROUNDING) == B
