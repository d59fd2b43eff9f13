"""Second-order bodies: integrals of the foreshortening by brute force, terms against Lagrange's equations, loads."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest
from scipy.linalg import eigh

import body_checks
from pliant import Dynamics, ModelError, Robot
from pliant.bodies.beam_modes import assemble, attachment, mode_set
from pliant.bodies.build import build_body
from pliant.bodies.elements import RigidPieces, element_set
from pliant.bodies.foreshortening import foreshortening
from pliant.bodies.modal_body import add_part, reframe
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.profile import BeamProfile, SectionData, beam_profile, gauss
from pliant.bodies.rod import rod
from pliant.model import Beam, Joint, Link, ModalData, Properties
from pliant.spatial.rounding import as_lists, listed

FAMILIES = ("bend_y", "bend_z", "torsion", "axial")
OFFSET = np.array([0.05, 0.1, -0.2])


def modes(profile):
    return [
        mode_set("bend_y", "clamped-mass", 2, profile, tip_mass=0.8, tip_inertia=0.02),
        mode_set("bend_z", "pinned-pinned", 2, profile),
        mode_set("torsion", "clamped-free", 1, profile),
        mode_set("axial", "clamped-free", 2, profile),
    ]


def elements(profile, timoshenko=False):
    return [element_set(family, profile, 3, timoshenko=timoshenko) for family in FAMILIES]


SETS = {
    "modes": modes,
    "cubic elements": elements,
    "shear-flexible elements": lambda profile: elements(profile, True),
    "lumped": elements,
}


def brute_force(sets, profile, pieces):
    """int rhoA G, int rhoA x G and int rhoA phi G of elongations phi by a double integral over a fine grid."""
    n = sum(s.size for s in sets)
    cuts = np.unique(np.concatenate([*(s.breaks for s in sets), profile.breaks]))
    nodes = np.asarray(pieces[0].nodes) if pieces else None
    edges = np.unique(np.concatenate([cuts, pieces[0].breaks])) if pieces else cuts
    x, weights = gauss(edges, 24)
    masses = weights * profile.at(x).rhoA

    def G(at):
        out = np.zeros((n, n))
        ends = np.append(cuts[cuts < at], at)
        if len(ends) < 2:
            return out
        xi, dx = gauss(ends, 24)
        start = 0
        for s in sets:
            if s.family.startswith("bend"):
                sample = s.sample(xi)
                slope = sample.rotation + sample.shear
                out[start : start + s.size, start : start + s.size] = -(slope * dx) @ slope.T
            start += s.size
        return out

    values, places = [], x.copy()
    for k, at in enumerate(x):
        if nodes is None:
            values.append(G(at))
            continue
        # a rigid piece: its node, and a lever that tilts
        node = nodes[np.argmin(np.abs(nodes - at))]
        turn = np.concatenate([s.sample(np.array([at])).rotation[:, 0] * s.family.startswith("bend") for s in pieces])
        block = np.concatenate([np.full(s.size, k) for k, s in enumerate(pieces)])
        tilt = np.outer(turn, turn) * (block[:, None] == block)
        values.append(G(node) - (at - node) * tilt)
        places[k] = node
    values, phi = np.array(values), sets[-1].sample(places).value
    whole = np.einsum("p,pik->ik", masses, values), np.einsum("p,p,pik->ik", masses, x, values)
    return *whole, np.einsum("p,ap,pik->aik", masses, phi, values)


@pytest.fixture(params=SETS, ids=list(SETS))
def shortened(request, tapered, uniform):
    profile = uniform if request.param == "shear-flexible elements" else tapered
    sets = SETS[request.param](profile)
    pieces = [RigidPieces(s.family, s.nodes) for s in sets] if request.param == "lumped" else []
    frames = {"tip": profile.length, "middle": 0.6, "root": 0.0}
    return sets, profile, pieces, foreshortening(sets, profile, frames, pieces=pieces)


def linear_terms(body):
    values = {name: listed(getattr(body, name)) for name in ModalTerms._fields if name != "rule"}
    return ModalTerms(**values, rule="exponential")


def section(body, name, large):
    at = body.frames[name]
    flat = ModalSection(listed(at.point), listed(at.slides), listed(at.Phi_r), np.eye(3).tolist(), "exponential")
    return large.section(name, flat)


def test_integrals(shortened):
    sets, profile, pieces, found = shortened
    g, h, along = brute_force(sets, profile, pieces)
    assert found.along == pytest.approx(along, rel=1e-10, abs=1e-11 * np.abs(along).max())
    assert found.first[0] == pytest.approx(g, rel=1e-10, abs=1e-11 * np.abs(g).max())
    assert found.second[0, 0] == pytest.approx(h, rel=1e-10, abs=1e-11 * np.abs(h).max())
    assert not found.first[1:].any()
    assert not found.second.reshape(9, -1)[1:].any()


def test_terms_are_lagranges_equations_of_their_energy(shortened):
    """Also with a point mass and in a frame that is not the root's."""
    sets, profile, pieces, large = shortened
    rng = np.random.default_rng(11)
    places = {"tip": (profile.length, None), "middle": (0.6, OFFSET)}
    frames = {name: attachment(sets, *at) for name, at in places.items()}
    body = assemble(pieces or sets, profile, frames, section_inertia=True, elastic_sets=sets)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    R, p = R * np.linalg.det(R), rng.normal(size=3)
    moved, moved_large = reframe(body, R, p), large.reframed(R, p)
    at = moved.frames["tip"]
    loaded = moved.with_mass_points(np.array([0.7]), at.position[None], at.Phi_d[None])
    for each, bent in ((body, large), (loaded, moved_large.with_point(0.7, "tip", at.position))):
        terms = as_lists(bent.terms(linear_terms(each)))
        q, v, V, w = body_checks.state(rng, each.size, 0.3)
        M = body_checks.mass_matrix(terms.inertia(list(q), list(v), list(w))[0])
        assert np.abs(M - M.T).max() < 1e-12
        found, wanted = body_checks.inertia_bias(terms, q, v, w), body_checks.inertia_forces(terms, q, v, V, w)
        assert found == pytest.approx(wanted, rel=1e-10, abs=1e-10 * np.abs(wanted).max())
        for name in ("tip", "middle"):
            errors = body_checks.frame_errors(terms, section(each, name, bent), q, v)
            assert max(errors.values()) < 1e-11, errors


def test_mass_matrix_stays_positive_definite(tapered):
    """Many light coordinates, whose foreshortening must not outweigh them, and a payload; a static and a wavy shape."""
    sets = [element_set("bend_y", tapered, 12)]
    body = assemble(sets, tapered, {"tip": attachment(sets, tapered.length)}, section_inertia=False)
    large = foreshortening(sets, tapered, {"tip": tapered.length})
    at = body.frames["tip"]
    large = large.with_point(1.0, "tip", at.position)
    body = body.with_mass_points(np.array([1.0]), at.position[None], at.Phi_d[None])
    terms = as_lists(large.terms(linear_terms(body)))
    static = np.linalg.solve(body.K_ee, body.frames["tip"].Phi_d[1])
    wavy = eigh(body.K_ee, body.M_ee)[1][:, 2]
    for q in (static, wavy):
        q = q * 0.6 / np.abs(q[1::2]).max()
        blocks, _ = terms.inertia(list(q), [0.0] * body.size, [0.0] * 3)
        # nothing holds the root
        M = body_checks.mass_matrix(blocks)
        moved = np.diag(M) > 0
        M = M[np.ix_(moved, moved)]
        assert np.linalg.eigvalsh(M / np.sqrt(np.outer(np.diag(M), np.diag(M))))[0] > 0


@pytest.mark.parametrize(("count", "slope"), [(2, 0.2), (3, 0.1), (4, 0.07)])
def test_terms_of_second_order_alone_are_not_enough(count, slope):
    """Cut after second order in (q, v) the mass matrix of a free beam in a plane is indefinite at small slopes."""
    profile = beam_profile(Beam(length=1.0, properties=Properties(mass_per_length=1.0, EIz=1.0), modes={"bend_y": 1}))
    sets = [mode_set("bend_y", "clamped-free", count, profile)]
    x, w = gauss((0.0, 1.0), 60)
    phi, slopes = sets[0].sample(x).value, sets[0].sample(x).rotation
    q = np.eye(count)[0] * slope / abs(sets[0].sample(np.ones(1)).rotation[0, 0])
    # G = -int_0^x slopes slopes^T dx, integrated over the mass and over x times the mass
    g, h = (-np.einsum("s,is,ks->ik", w * lever, slopes, slopes) for lever in (1 - x, (1 - x**2) / 2))
    y = phi.T @ q
    rigid = np.array([[1, 0, -w @ y], [0, 1, 0.5 + q @ g @ q / 2], [-w @ y, 0.5 + q @ g @ q / 2, 0.0]])
    rigid[2, 2] = 1 / 3 + w @ y**2 + q @ h @ q
    across = np.array([g @ q, phi @ w, phi @ (w * x)])
    cut = np.block([[rigid, across], [across.T, (phi * w) @ phi.T]])
    assert np.linalg.eigvalsh(cut)[0] < 0
    body = assemble(sets, profile, {"tip": attachment(sets, 1.0)}, section_inertia=False)
    terms = as_lists(foreshortening(sets, profile, {"tip": 1.0}).terms(linear_terms(body)))
    M = body_checks.mass_matrix(terms.inertia(list(q), [0.0] * count, [0.0] * 3)[0])
    own = [0, 1, 5, *range(6, 6 + count)]
    M = M[np.ix_(own, own)]
    assert np.linalg.eigvalsh(M)[0] > 0
    # what was cut off is of third order
    assert np.abs(M - cut).max() < slope**2


def test_point_masses_are_those_of_the_frame(shortened):
    """int Gamma dm with a payload, against the sum over material points."""
    sets, profile, _, large = shortened
    places = {"tip": attachment(sets, profile.length), "middle": attachment(sets, 0.6, OFFSET)}
    body = assemble(sets, profile, places, section_inertia=False)
    at = body.frames["tip"]
    loaded = large.with_point(0.7, "tip", at.position)
    terms, bare = (as_lists(each.terms(linear_terms(body))) for each in (loaded, large))
    q = 0.2 * np.random.default_rng(12).normal(size=body.size)
    frame = bare.frame(section(body, "tip", large), list(q), [0.0] * body.size)
    linear = at.position + at.Phi_d @ q
    gained = np.array(terms.first_moment(list(q))) - bare.first_moment(list(q))
    assert gained == pytest.approx(0.7 * (np.array(frame.r) - linear), abs=1e-13)
    # on a lever it turns with its section, and becomes a link of its own
    nothing = np.zeros(3), np.zeros((3, 3))
    assert add_part(replace(body, large=large), "tip", 0.7, *nothing) is not None
    assert add_part(replace(body, large=large), "middle", 0.7, *nothing) is None


def beam(**stiff):
    return BeamProfile.uniform(1.0, SectionData(rhoA=1.0, EIz=1.0, **stiff))


def buckling_load(shape, count, moves):
    """Smallest axial tip load that makes a column soft; ``moves`` is whether the tip may move sideways."""
    profile = beam()
    sets = [mode_set("bend_y", shape, count, profile)]
    linear = assemble(sets, profile, {}, section_inertia=False)
    Gamma = foreshortening(sets, profile, {"tip": 1.0}).frames["tip"][0]
    K, G = linear.K_ee, -Gamma
    if not moves:
        # hold the tip: coordinates in the null space of its deflection
        tip = attachment(sets, 1.0).Phi_d[1]
        N = np.linalg.svd(tip[None])[2][1:].T
        K, G = N.T @ K @ N, N.T @ G @ N
    return 1.0 / eigh(G, K, eigvals_only=True)[-1]


def test_euler_columns():
    """Free, pinned and held tips; the fourth case is symmetric halves of the first."""
    assert buckling_load("legendre", 5, True) == pytest.approx(pi**2 / 4, rel=1e-8)
    assert buckling_load("pinned-pinned", 2, True) == pytest.approx(pi**2, rel=1e-12)
    # clamped and pinned: tan z = z
    assert buckling_load("legendre", 8, False) == pytest.approx(4.493409457909064**2, rel=1e-8)


def test_rods_are_foreshortened_likewise(tapered):
    """To second order in the deflection the axis of a rod moves back as G says; the order is seen."""
    sets = [mode_set("bend_y", "clamped-free", 2, tapered), mode_set("bend_z", "clamped-free", 2, tapered)]
    Gamma = foreshortening(sets, tapered, {"tip": tapered.length}).frames["tip"][0]
    body = rod(sets, tapered, {"tip": (tapered.length, np.zeros(3))}, section_inertia=False, stations=6)
    terms = body.inertial_terms(np.eye(4).tolist(), np.zeros((4, 4)).tolist())
    q, none = 0.05 * np.array([1.0, -0.2, 0.6, 0.1]), [0.0] * 4

    def gap(size):
        x = terms.frame(body.section("tip", None), list(size * q), none).r[0]
        return abs(x - tapered.length - 0.5 * size**2 * q @ Gamma @ q)

    assert gap(0.5) < 1e-5
    # what is left is of fourth order
    assert gap(1.0) / gap(0.5) == pytest.approx(16.0, rel=0.05)


def link(**keys):
    properties = Properties(mass_per_length=1.0, EIy=1.0, EIz=1.0, rhoIy=1e-3, rhoIz=1e-3, GJ=1.0, kGAy=50.0, kGAz=50.0)
    return Link(name="arm", joint=Joint(name="j"), beam=Beam(length=1.0, properties=properties, **keys))


@pytest.mark.parametrize(
    ("keys", "shear", "tolerance"),
    [
        ({"modes": {"bend_y": 2, "bend_z": 1, "torsion": 1}}, 0.0, 1e-2),
        ({"elements": {"number": 4}}, 0.0, 1e-10),
        ({"elements": {"number": 4, "timoshenko": True, "reduce": {"craig_bampton": 2}}}, 1 / 50, 1e-10),
        ({"elements": {"number": 4, "reduce": "static"}}, 0.0, 1e-10),
        ({"lumped": {"nodes": 4}}, 0.0, 1e-10),
    ],
    ids=["modes", "elements", "Craig-Bampton", "static", "lumped"],
)
def test_every_discretisation_has_it(keys, shear, tolerance):
    """The same small static shape is foreshortened alike, whatever the coordinates are."""
    body = build_body(link(bending="second-order", **keys))
    P = 1e-2
    q = np.linalg.solve(body.K_ee, body.frames["tip"].Phi_d[1] * P)
    back = 0.5 * q @ body.large.frames["tip"][0] @ q
    # w' = P (x - x^2/2 + 1/GA)
    square = 2 / 15 + 2 * shear / 3 + shear**2
    assert back == pytest.approx(-0.5 * P**2 * square, rel=tolerance)
    assert build_body(link(bending="linear", **keys)).large is None


def test_modal_data_with_its_constants_is_the_beam():
    """The constants of a second-order beam, given as modal data, make the same link to rounding."""
    own = link(modes={"bend_y": 2, "bend_z": 1}).with_changes(payloads=[{"mass": 0.4}])
    body = build_body(own)
    keys = ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee")
    at = body.frames["tip"]
    tip = {"position": at.position.tolist(), "Phi_d": at.Phi_d, "Phi_r": at.Phi_r, "Gamma": body.large.frames["tip"]}
    data = {"mass": body.mass, "length": 1.0, "frames": {"tip": tip}, **{key: getattr(body, key) for key in keys}}
    bent = {"Gamma_first": body.large.first, "Gamma_second": body.large.second}
    given = own.with_changes(beam=None, modal={**data, **bent})
    beam, modal = (Dynamics(Robot(name="arm", links=[x]), compile="never") for x in (own, given))
    q, v, a = 0.1 * np.random.default_rng(3).normal(size=(3, beam.size))
    assert modal.forces(q, v, a) == pytest.approx(beam.forces(q, v, a), rel=1e-11, abs=1e-11)
    # one without the other is refused, and a form that is none
    for wrong, words in (
        ({"Gamma_first": body.large.first}, r"Gamma_second.*second-order bending needs both"),
        ({}, r"frames.tip.Gamma.*without Gamma_first"),
        ({**bent, "Gamma_first": body.large.first + np.triu(np.ones((3, 3)), 1)}, "not symmetric in its last two"),
        ({**bent, "Gamma_second": body.large.second[:2]}, "must be 3 x 3 x 3 x 3 numbers"),
        ({**bent, "frames": {"tip": tip, "root": {"Gamma_r": np.ones((3, 3, 3))}}}, "turns the root to second order"),
        ({**bent, "frames": {"tip": {**tip, "Gamma_r": np.ones((3, 3))}}}, "Gamma_r is 3 x 3; it must be 3 x 3 x 3"),
        ({"bending": "second-order", "frames": {"tip": {"position": [1, 0, 0]}}}, "is second-order, which these data"),
    ):
        with pytest.raises(ModelError, match=words):
            ModalData(**{**data, **wrong})
    # bending: linear leaves all of second order out
    flat = given.with_changes(modal={**data, **bent, "bending": "linear"})
    rest = own.with_changes(beam=None, modal={**data, "frames": {"tip": {**tip, "Gamma": ()}}})
    chosen, none = (Dynamics(Robot(name="arm", links=[x]), compile="never") for x in (flat, rest))
    assert chosen.forces(q, v, a) == pytest.approx(none.forces(q, v, a), rel=1e-14, abs=1e-14)
    assert np.abs(chosen.forces(q, v, a) - modal.forces(q, v, a)).max() > 1e-3


@pytest.mark.parametrize(
    ("modes", "twist", "counted"),
    [({"bend_y": 2}, 0.0, 430), ({"bend_y": 4}, 0.0, 886), ({"bend_y": 2, "bend_z": 2, "torsion": 1}, 0.7, 2424)],
    ids=["plane, 2", "plane, 4", "space, 2 + 2 + 1"],
)
def test_operations_of_an_inner_link(modes, twist, counted):
    """Those of the theory page."""
    turned = {"axis": "z", "placement": {"rotation": {"x": twist}}}

    def operations(number):
        given = link(modes={"shape": "clamped-free", **modes}).given() | {"joint": turned}
        links = [{**given, "name": f"l{i}"} for i in range(number)]
        return Dynamics(Robot(name="chain", gravity=(0, -9.81, 0), links=links)).operations().total

    # equal numbers share a slot: a few operations depend on the values
    assert operations(4) - operations(3) <= 1.01 * counted
