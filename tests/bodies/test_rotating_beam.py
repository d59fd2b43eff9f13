"""Frequencies of a beam that rotates steadily about its root: second-order and exact bending stiffen, linear fails.

Power series in 40 digits (EI = rhoA = L = 1, inextensible, no rotary inertia, hub radius 0); lag^2 = flap^2 - speed^2.
"""

import numpy as np
import pytest
from scipy.linalg import eigvals

import body_checks
from pliant.bodies.beam_modes import assemble, mode_set
from pliant.bodies.constants import terms_of
from pliant.bodies.foreshortening import foreshortening
from pliant.bodies.profile import BeamProfile, SectionData
from pliant.bodies.rod import rod
from pliant.spatial.rounding import as_lists

# speed -> first two flapping frequencies, first two of lag
PUBLISHED = {
    3.0: ((4.79727853236, 23.3202636743), (3.74351189621, 23.1264934186)),
    6.0: ((7.36037301931, 26.8090816785), (4.26322542019, 26.1290424709)),
    12.0: ((13.1701504875, 37.6031123312), (5.42704927779, 35.6369759799)),
}
# of six modes; those of the beam at rest converge more slowly where a fast one stiffens at its root
WITHIN = {"legendre": 5e-4, "clamped-free": 1.5e-3}
PROFILE = BeamProfile.uniform(1.0, SectionData(rhoA=1.0, EIy=1.0, EIz=1.0))


def bodies(shape, count):
    sets = [mode_set(family, shape, count, PROFILE) for family in ("bend_y", "bend_z")]
    body = assemble(sets, PROFILE, {}, section_inertia=False)
    linear = terms_of(body, "exponential")
    return {
        "linear": linear,
        "second-order": as_lists(foreshortening(sets, PROFILE, {}).terms(linear)),
        "exact": rod(sets, PROFILE, {}, section_inertia=False).terms(linear),
    }


@pytest.fixture(scope="module", params=["clamped-free", "legendre"])
def kinds(request):
    return {**bodies(request.param, 6), "within": WITHIN[request.param]}


def squares(terms, speed, family):
    """Squared frequencies of the straight beam in steady rotation about z, lowest first."""
    n = 12
    own = range(6) if family == "bend_y" else range(6, 12)
    w = [0.0, 0.0, speed]
    at_rest = np.zeros(n)

    def elastic(q, v):
        return terms.inertia(list(q), list(v), w)[1].elastic

    directions = np.eye(n)[own]
    K = np.stack([body_checks.derivative(lambda q: elastic(q, at_rest), at_rest, e) for e in directions], axis=1)
    G = np.stack([body_checks.derivative(lambda v: elastic(at_rest, v), at_rest, e) for e in directions], axis=1)
    # a beam without stretch has no Coriolis forces within one plane
    assert np.abs(G[own]).max() < 1e-12
    M = np.array(terms.inertia(list(at_rest), list(at_rest), w)[0].M_e)[np.ix_(own, own)]
    return np.sort(eigvals(K[own], M).real)


@pytest.mark.parametrize("speed", PUBLISHED)
@pytest.mark.parametrize("kind", ["second-order", "exact"])
def test_frequencies(kinds, kind, speed):
    flap, lag = PUBLISHED[speed]
    assert np.sqrt(squares(kinds[kind], speed, "bend_z")[:2]) == pytest.approx(flap, rel=kinds["within"])
    assert np.sqrt(squares(kinds[kind], speed, "bend_y")[:2]) == pytest.approx(lag, rel=kinds["within"])


def test_identity_of_the_two_planes(kinds):
    for kind in ("second-order", "exact"):
        flap, lag = (squares(kinds[kind], 6.0, family) for family in ("bend_z", "bend_y"))
        assert lag == pytest.approx(flap - 36.0, rel=1e-9)


def test_linear_bending_fails():
    """So that nobody measures the wrong thing: without stiffening the lag mode becomes unstable."""
    assert squares(bodies("clamped-free", 6)["linear"], 12.0, "bend_y")[0] == pytest.approx(12.36 - 144.0, rel=1e-3)


def test_both_kinds_are_the_same_when_hardly_bent():
    """Forces and moments on the root differ by terms of third order in the coordinates, elastic forces of second.

    (The kinetic energy of the second-order beam is right to second order, so its derivatives are right to first.)
    """
    # stations integrate products of these slopes exactly
    kinds = bodies("legendre", 6)
    rng = np.random.default_rng(5)
    q, v = 0.02 * rng.normal(size=12), 0.02 * rng.normal(size=12)
    w = [0.3, -0.5, 2.0]

    def gap(size):
        forces = [kinds[kind].inertia(list(size * q), list(size * v), w)[1] for kind in ("second-order", "exact")]
        return [np.linalg.norm(np.array(a) - np.array(b)) for a, b in zip(*forces, strict=True)]

    coarse, fine = gap(0.02), gap(0.01)
    assert np.divide(coarse, fine) == pytest.approx([8.0, 8.0, 4.0], rel=0.1)
