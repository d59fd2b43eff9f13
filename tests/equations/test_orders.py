"""Taylor polynomials in the elastic coordinates, terms that are left out, and blocks of the equations."""

import numpy as np
import pytest

from pliant import Beam, Dynamics, Joint, Link, ModelError, Modes, Properties, RigidPart, Robot
from pliant.formulations.lagrange.algebra.bounds import largest_wave
from pliant.formulations.lagrange.equations import equations
from small_arms import ARMS


def spatial(rule="exponential"):
    """A link that bends in two planes, with a payload that its tip turns."""
    properties = Properties(mass_per_length=1.0, EIy=40.0, EIz=60.0)
    beam = Beam(length=0.8, properties=properties, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1))
    payload = RigidPart(mass=0.5, com=(0.1, 0.02, 0.0), inertia=0.01)
    links = [
        Link(name="turret", joint=Joint(name="azimuth", axis="z")),
        Link(name="barrel", joint=Joint(name="elevation", axis="y"), beam=beam, payloads=(payload,)),
    ]
    return Robot(name="turret", gravity=(0, 0, -9.81), links=links, attachment_rotation=rule)


ROBOTS = {"plane": "two-link-flexible", "exponential": spatial(), "cayley": spatial("cayley"), "xyz": spatial("xyz")}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_errors_are_of_the_next_order(robot, order):
    """Against the compiled model, whose entries know no truncation."""
    eq = equations(robot, order=order, bending="linear")
    f, arm = eq.functions(), equations(robot, bending="linear").functions()
    n = len(eq.coordinates)
    rng = np.random.default_rng(5)
    q, v = rng.normal(size=n), rng.normal(size=n)
    elastic = np.array([c.elastic for c in eq.coordinates])

    def errors(part):
        x = np.where(elastic, part * q, q)
        pairs = (
            (f.mass_matrix(x), arm.mass_matrix(x)),
            (f.coriolis(x, v), arm.coriolis(x, v)),
            (f.gravity(x), arm.gravity(x)),
        )
        return np.array([np.abs(a - b).max() for a, b in pairs])

    coarse, fine = errors(1e-2), errors(1e-3)
    assert (fine < 1.5 * coarse * 10.0 ** -(order + 1) + 1e-13).all()
    assert (coarse[:2] > 1e-9).all()


def test_first_order_by_differences():
    """Values and slopes of the entries of M at the straight robot, against the recursion by differences."""
    eq = equations("two-link-flexible", order=1)
    arm, f = Dynamics("two-link-flexible", compile="never"), eq.functions()
    rng = np.random.default_rng(2)
    q, way = rng.normal(size=6), rng.normal(size=6)
    elastic = np.array([c.elastic for c in eq.coordinates])
    straight, way = np.where(elastic, 0.0, q), np.where(elastic, way, 0.0)
    assert np.abs(f.mass_matrix(straight) - arm.mass_matrix(straight)).max() < 1e-12
    step = 1e-4
    slope = (arm.mass_matrix(straight + step * way) - arm.mass_matrix(straight - step * way)) / (2 * step)
    assert np.abs((f.mass_matrix(straight + way) - f.mass_matrix(straight)) - slope).max() < 1e-5 * np.abs(slope).max()


def test_sizes_are_told():
    eq = equations("two-link-flexible", order=1)
    whole = equations("two-link-flexible")
    assert eq.all_terms == whole.system.sizes
    assert eq.system.terms < whole.system.terms / 2
    assert f"M {eq.system.sizes['M']} of" in eq.scope[0].replace(",", "")
    assert "linear in the elastic coordinates" in eq.to("markdown")


@pytest.mark.parametrize("order", [-1, 1.0, True])
def test_odd_orders(order):
    with pytest.raises(ValueError, match="order is"):
        equations("lin-lewis-rfr", order=order)


# ---------------------------------------------------------------- small terms


@pytest.mark.parametrize("tolerance", [1e-4, 1e-2])
def test_bounds_hold_everywhere_in_the_box(tolerance):
    eq = equations("two-link-flexible", bending="linear")
    names = [c.robot_name for c in eq.coordinates]
    elastic = np.array([c.elastic for c in eq.coordinates])
    limits = {name: 0.02 if e else (0.3, 0.9) for name, e in zip(names, elastic, strict=True) if e or name == "elbow"}
    short, bound = eq.neglecting(tolerance, limits, dict.fromkeys(names, 2.0))
    assert bound.terms[0] > bound.terms[1] == short.system.terms
    low = np.array(
        [-np.pi if name not in limits else -0.02 if e else 0.3 for name, e in zip(names, elastic, strict=True)]
    )
    high = np.array(
        [np.pi if name not in limits else 0.02 if e else 0.9 for name, e in zip(names, elastic, strict=True)]
    )
    a, b = eq.functions(), short.functions()
    rng, reached = np.random.default_rng(1), np.zeros(3)
    for corner in range(200):
        # corners are where bounds are reached
        part = rng.uniform(size=6) if corner % 2 else rng.integers(0, 2, size=6)
        q, v = low + part * (high - low), 2.0 * rng.choice([-1.0, 1.0], size=6)
        M = np.abs(a.mass_matrix(q) - b.mass_matrix(q))
        h = np.abs((a.coriolis(q, v) - b.coriolis(q, v)) @ v)
        G = np.abs(a.gravity(q) - b.gravity(q))
        for k, (found, most) in enumerate(((M, bound.M), (h, bound.h), (G, bound.G))):
            assert (found <= most * (1 + 1e-9) + 1e-12).all()
            reached[k] = max(reached[k], (found / np.maximum(most, 1e-300)).max() if most.any() else 0.0)
    # bounds that are far from what happens would be no use
    assert reached[0] > 0.3
    middle = np.sqrt(np.diag(a.mass_matrix((low + high) / 2)))
    assert (tolerance * np.outer(middle, middle) * 1.000001 >= bound.M).all()


def test_largest_waves():
    rng = np.random.default_rng(4)
    for _ in range(200):
        low = rng.uniform(-8, 8)
        high = low + rng.uniform(0, 4)
        x = np.linspace(low, high, 4001)
        for is_sine, wave in ((True, np.sin), (False, np.cos)):
            most = np.abs(wave(x)).max()
            assert most <= largest_wave(low, high, is_sine=is_sine) + 1e-12
            assert largest_wave(low, high, is_sine=is_sine) <= most + 1e-5


def test_boxes_are_checked():
    eq = equations("lin-lewis-rfr")
    rates = dict.fromkeys((c.robot_name for c in eq.coordinates), 1.0)
    with pytest.raises(ModelError, match=r"'forearm\.bend_y\.1' has no limits"):
        eq.neglecting(1e-3, {}, rates)
    with pytest.raises(ModelError, match="has no largest rate"):
        eq.neglecting(1e-3, {"forearm.bend_y.1": 0.1}, {})
    with pytest.raises(ModelError, match="no coordinate 'forearm'"):
        eq.neglecting(1e-3, {"forearm": 0.1}, rates)
    with pytest.raises(ModelError, match="tolerance"):
        eq.neglecting(0.0, {"forearm.bend_y.1": 0.1}, rates)


# ---------------------------------------------------------------- blocks


def test_blocks_in_the_order_of_the_paper():
    """Example 4.3: q = {theta_1, theta_2, u[2,1], u[2,2], v[2,1], v[2,2]}, u along the paper's x, our z."""
    eq = equations("lin-lewis-tank-turret", bending="linear")
    blocks = eq.partition()
    assert [name.rpartition(".")[0].rpartition(".")[2] + name[-1] for name in blocks.elastic] == [
        "bend_z1", "bend_z2", "bend_y1", "bend_y2",
    ]  # fmt: skip
    assert blocks.M_RF.shape == (2, 4)
    order = list(blocks.order)
    assert eq.M.extract(order, order) == blocks.M
    assert eq.D.extract(order[2:], order[:2]) == blocks.D_FR
    assert blocks.U_FF.shape == (4, 4)


@pytest.mark.parametrize("name", ["rigid-two-link"])
def test_rigid_robots_have_empty_blocks(name):
    blocks = equations(ARMS[name]()).partition()
    assert blocks.M_FF.shape == (0, 0)
    assert blocks.M_RR.shape == (2, 2)
