"""Critical loads against Euler, Prandtl, the elastica and von Mises' truss, and what is said about them."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ellipe, ellipk

import pliant
from pliant import Beam, Dynamics, Joint, Link, Loop, Modes, NoEquilibriumError, Properties, Rigid, Robot
from pliant.analysis import load_path
from pliant.analysis.buckling import critical_load
from pliant.analysis.limits import ModelLimitWarning
from pliant.analysis.load_path import BALANCED, balanced
from pliant.analysis.modes import vibration_modes
from pliant.analysis.statics import wrench_force, wrench_stiffness, wrenches

CLASSICAL = 1e-3
"""Asked of the classical loads; six Legendre shapes of a beam are within this."""
ELASTICA = 1e-6
"""Six Legendre strains on the branch of the elastica, relative."""
ON_THE_PATH = 1e-8
"""Relative to the limit load: what Newton's method leaves of an exact solution."""
DIFFERENCED = 1e-7
"""Central differences of forces, relative."""

KINDS = ("second-order", "exact")
FIXED = Joint(type="fixed", parent="base")
UNIT = Properties(mass_per_length=1.0, EIz=1.0)


@cache
def column(bending, root=FIXED, end=None, count=6, **robot):
    """A column of EI = L = 1 along x; its upper end is free, or slides on a rail with a hinge or a weld."""
    beam = Beam(length=1.0, properties=UNIT, bending=bending, modes=Modes(shape="legendre", bend_y=count))
    links, loops = [Link(name="column", joint=root, beam=beam)], []
    if end is not None:
        rail = Joint(name="rail", type="prismatic", axis="x", actuated=False, parent="base")
        links.append(Link(name="head", joint=rail, rigid=Rigid(mass=1e-3, inertia=1e-4)))
        frames = ("column.tip", {"frame": "head.root", "position": [1.0, 0.0, 0.0]})
        loops.append(Loop(name="end", type=end, frames=frames, planar="xy"))
    made = Robot(name="column", links=links, loops=loops, **{"gravity": (0, 0, 0), **robot})
    return Dynamics(made, compile="never")


# ---------------------------------------------------------------- Euler

HINGE = Joint(name="hinge", actuated=False)
EULER = {
    "clamped-free": (FIXED, None, np.pi**2 / 4),
    "pinned-pinned": (HINGE, "revolute", np.pi**2),
    "clamped-pinned": (FIXED, "revolute", 4.493409457909064**2),
    "clamped-clamped": (FIXED, "weld", 4 * np.pi**2),
}


@pytest.mark.parametrize("bending", KINDS)
@pytest.mark.parametrize("case", EULER)
def test_euler(case, bending):
    root, end, load = EULER[case]
    arm = column(bending, root, end)
    found = pliant.buckling(arm, {"column.tip" if end is None else "head.root": [-1.0, 0.0, 0.0]})
    assert found.kind == "bifurcation"
    assert found.factor == pytest.approx(load, rel=CLASSICAL)
    # the column stays straight before: the linear problem is exact
    assert found.factors[0] == pytest.approx(found.factor, rel=1e-6)
    assert found.leading().startswith("column.bend_y")
    # upside down nothing buckles: only positive factors count
    assert (found.factors > 0).all()


def test_greenhill():
    """A mast under its own weight, 7.8373 EI / L^2: without other loads gravity grows."""
    arm = column("second-order", gravity=(-1.0, 0, 0))
    found = pliant.buckling(arm)
    assert found.factor == pytest.approx(7.837347, rel=1e-5)


def test_gravity_that_grows_is_a_part_of_gravity():
    """A beam that hangs sideways: at every factor it rests as under so much less gravity."""
    arm = column("second-order", gravity=(-1.0, 0.8, 0), count=2)
    path = pliant.load_path(arm)
    assert path.factors[-1] == pytest.approx(1.0)
    for s, q in zip(path.factors[1:], path.q[1:], strict=True):
        less = column("second-order", gravity=(-s, 0.8 * s, 0), count=2)
        assert q == pytest.approx(pliant.equilibrium(less).q, rel=0, abs=1e-8)


def test_what_acts_from_the_beginning():
    """Half of Euler's load is there: half of it may be added."""
    arm = column("second-order")
    half = np.pi**2 / 8
    assert pliant.buckling(arm, {"tip": [-half, 0, 0]}, dead={"tip": [-half, 0, 0]}).factor == pytest.approx(
        1.0, rel=CLASSICAL
    )


@pytest.mark.parametrize("bending", KINDS)
def test_frequency_of_a_pinned_column(bending):
    """omega = omega_0 sqrt(1 - N / N_cr), to 0.95 of the buckling load."""
    arm = column(bending, HINGE, "revolute")
    for part in (0.5, 0.95):
        found = pliant.modes(arm, loads={"head.root": [-part * np.pi**2, 0, 0]})
        # the sliding head has next to no mass
        assert found.frequencies[0] == pytest.approx(np.pi**2 * np.sqrt(1 - part), rel=5e-3)
    assert pliant.modes(arm, loads={"head.root": [-1.05 * np.pi**2, 0, 0]}).squares[0] < 0


def test_the_branch_of_the_elastica():
    """P/P_cr = (2 K / pi)^2 and x/L = 2 E/K - 1 with k = sin(tip angle / 2), as far as the load doubles."""
    arm = column("exact")
    found = pliant.buckling(arm, {"tip": [-1.0, 0.0, 0.0]})
    branch = found.branch(until=2.0 * found.factor)
    assert branch.factors[-1] == pytest.approx(2.0 * found.factor)
    assert branch.stable[1:].all()
    for factor, q in zip(branch.factors[1:], branch.q[1:], strict=True):
        tip = arm.pose("tip", q)
        m = np.sin(np.arctan2(tip.rotation[1, 0], tip.rotation[0, 0]) / 2) ** 2
        assert factor / (np.pi**2 / 4) == pytest.approx((2 * ellipk(m) / np.pi) ** 2, rel=ELASTICA)
        assert tip.position[0] == pytest.approx(2 * ellipe(m) / ellipk(m) - 1, abs=ELASTICA)
    # to the other side it is the mirror image
    other = found.branch(until=1.01 * found.factor, side=-1.0)
    assert branch.positions()[1, 1] * other.positions()[1, 1] < 0


def test_lateral_buckling():
    """Prandtl: a thin strip on edge leaves its plane at 4.0126 sqrt(EI GJ) / L^2, bending and twisting at once."""
    strip = Properties(mass_per_length=1.0, EIz=1.0, EIy=1e5, GJ=1.0, rhoJ=1e-3)
    modes = Modes(shape="legendre", bend_y=5, bend_z=1, torsion=5)
    beam = Beam(length=1.0, properties=strip, bending="exact", modes=modes, stations=7)
    arm = Dynamics(
        Robot(name="strip", gravity=(0, 0, 0), links=[Link(name="arm", joint=FIXED, beam=beam)]), compile="never"
    )
    found = pliant.buckling(arm, {"tip": [0, 0, -1.0]}, count=1)
    assert found.kind == "bifurcation"
    assert found.factor == pytest.approx(4.0126, rel=CLASSICAL)
    # it bends across and twists; in its own plane nothing happens
    shape = dict(zip(found.names, np.abs(found.shape), strict=True))
    assert shape["arm.bend_z.1"] < 1e-6 * max(shape["arm.bend_y.1"], shape["arm.torsion.1"])


def test_a_strip_of_second_order_is_told_that_it_may_leave_sideways():
    """Nothing in it softens; its exact twin buckles at 82 times the load."""
    modes = Modes(shape="clamped-free", bend_y=2, bend_z=2, torsion=1)
    strip = Beam(length=0.5, section={"rectangle": {"width": 0.002, "height": 0.03}}, material="steel", modes=modes)
    arm = Dynamics(
        Robot(name="strip", gravity=(0, 0, 0), links=[Link(name="arm", joint=FIXED, beam=strip)]), compile="never"
    )
    found = critical_load(arm, {"tip": [0, 0, -1.0]})
    assert found.kind == "none"
    assert "links of second-order bending do not know lateral buckling" in found.warnings[0]
    # a push along it, or across its soft plane, is none of this
    for load in ([-1, 0, 0], [0, 1, 0]):
        assert not any("lateral" in text for text in critical_load(arm, {"tip": load}).warnings)


def test_the_linear_answer_stays_where_the_path_is_lost(monkeypatch):
    """Newton's method that fails at half the critical load: the factor is that of the linear problem, and told so."""
    arm, advance = column("second-order"), load_path.Follower.advance
    monkeypatch.setattr(
        load_path.Follower, "advance", lambda self, a, step: advance(self, a, step) if a.s < 1.2 else None
    )
    found = critical_load(arm, {"tip": [-1.0, 0.0, 0.0]})
    assert (found.kind, found.factor) == ("linear", pytest.approx(np.pi**2 / 4, rel=1e-3))
    assert 1.2 <= found.path.factors[-1] < found.factor
    assert any("path of equilibria was lost at" in text for text in found.warnings)
    with pytest.raises(ValueError, match="does not bifurcate: no critical state was found on its path"):
        found.branch(until=2.0)


# ---------------------------------------------------------------- snap-through

RISE, EA = 0.4, 100.0


def truss_load(angle):
    """Of von Mises' truss at an angle of its bars: 2 N sin, with the force N of bars that are shortened."""
    return -2 * EA * (np.cos(RISE) / np.cos(angle) - 1) * np.sin(angle)


@cache
def truss(bending="second-order"):
    """Two bars of unit length that stretch, between hinges on the ground and one at the top."""

    def bar(name, x):
        beam = Beam(
            length=1.0,
            properties=Properties(mass_per_length=1.0, EA=EA),
            bending=bending,
            modes=Modes(shape="legendre", axial=1),
        )
        joint = Joint(name=f"{name}_foot", parent="base", placement={"position": (x, 0, 0)}, actuated=False)
        return Link(name=name, joint=joint, beam=beam)

    robot = Robot(
        name="truss",
        gravity=(0, 0, 0),
        links=[bar("left", -np.cos(RISE)), bar("right", np.cos(RISE))],
        pose={"left_foot": RISE, "right_foot": np.pi - RISE},
        loops=[Loop(name="top", type="revolute", frames=("left.tip", "right.tip"), planar="xy")],
    )
    return Dynamics(robot, compile="never")


def test_snap_through():
    """The limit point lies at cos^3 = cos(rise), and the whole path on the closed formula."""
    limit = truss_load(np.arccos(np.cos(RISE) ** (1 / 3)))
    push = {"left.tip": [0, -1.0, 0]}
    path = pliant.load_path(truss(), push, until=2 * limit)
    assert [c.kind for c in path.critical] == ["limit point"] * 2
    assert [c.factor for c in path.critical] == pytest.approx([limit, -limit], rel=1e-9)
    heights = path.positions("left.tip")[:, 1]
    assert path.factors == pytest.approx(truss_load(np.arctan2(heights, np.cos(RISE))), abs=ON_THE_PATH * limit)
    # through the ground and to the other side, unstable in between
    assert heights[0] > 0 > heights[-1]
    assert path.stable[0]
    assert path.stable[-1]
    assert not path.stable.all()
    found = pliant.buckling(truss(), push)
    assert (found.kind, found.factor) == ("limit point", pytest.approx(limit, rel=1e-9))
    with pytest.raises(ValueError, match="does not bifurcate: it has a limit point"):
        found.branch(until=3.0)


def test_large_loads_are_reached_step_by_step():
    """PL^2/EI = 50 from a straight start: the slope at the tip by shooting of theta'' = -P cos(theta)."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import brentq

    def bend(slope, dense=False):
        return solve_ivp(
            lambda _, y: [y[1], -50.0 * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])],
            (0, 1),
            [0, slope, 0, 0],
            method="DOP853",
            rtol=1e-11,
            atol=1e-13,
        ).y[:, -1]

    tip = bend(brentq(lambda slope: bend(slope)[1], 9.5, 10.0, xtol=1e-13))
    arm = column("exact", count=8)
    found = pliant.equilibrium(arm, loads={"tip": [0, 50.0, 0]})
    assert arm.pose("tip", found.q).position[:2] == pytest.approx(tip[2:], abs=2e-4)


def test_a_pressed_and_pushed_column_stays_on_its_stable_path():
    """Newton's method alone leaps onto an unstable state at four times Euler's load."""
    arm = column("exact", count=4)
    found = pliant.equilibrium(arm, loads={"tip": [-4.0, 0.4, 0]})
    assert found.warnings == ()
    assert arm.pose("tip", found.q).position[1] > 0.5


def test_an_equilibrium_below_it():
    angle = 0.3
    found = pliant.equilibrium(truss(), loads={"left.tip": [0, -truss_load(angle), 0]})
    assert found.q[0] == pytest.approx(angle, rel=1e-8)


# ---------------------------------------------------------------- tangents of loads


def test_the_stiffness_of_loads():
    """Forces and moments, fixed and following, on links of two kinds in space: against differences."""
    section = Properties(mass_per_length=1.0, EIz=1.0, EIy=2.0, GJ=1.0, rhoJ=1e-3)
    links = [
        Link(
            name=name,
            joint=Joint(name=f"{name}_joint", axis=axis),
            beam=Beam(
                length=1.0,
                properties=section,
                bending=kind,
                modes=Modes(shape="legendre", bend_y=1, bend_z=1, torsion=1),
            ),
        )
        for name, axis, kind in (("a", "z", "second-order"), ("b", "y", "exact"))
    ]
    arm = Dynamics(Robot(name="arm", gravity=(0, 0, 0), links=links), compile="never")
    rng = np.random.default_rng(3)
    q = rng.uniform(-0.3, 0.3, arm.size)
    loads = [*wrenches({"tip": rng.normal(size=6), "a.tip": rng.normal(size=6)})]
    loads += wrenches({"tip": rng.normal(size=6)}, follows=True)
    h = 1e-5
    ahead, behind = (
        np.array([wrench_force(arm, q + sign * h * e, loads) for e in np.eye(arm.size)]) for sign in (1, -1)
    )
    found = wrench_stiffness(arm, q, loads)
    assert found == pytest.approx((ahead - behind).T / (2 * h), abs=DIFFERENCED * np.abs(found).max())


# ---------------------------------------------------------------- words


def test_linear_links_do_not_buckle():
    arm = column("linear", count=2)
    with pytest.warns(ModelLimitWarning):
        found = pliant.buckling(arm, {"tip": [-1.0, 0, 0]})
    assert "do not buckle" in found.warnings[0]
    assert "write bending: second-order or exact" in found.warnings[0]
    assert found.kind == "none"
    assert not np.isfinite(found.factor)
    assert repr(found).startswith("Buckling(none")


def test_followers_may_flutter():
    """Beck's column: no static path leaves it, and at 20.05 EI / L^2 it flutters."""
    arm = column("second-order")
    with pytest.warns(ModelLimitWarning, match="flutter"):
        assert pliant.buckling(arm, followers={"tip": [-1.0, 0, 0]}, most=30.0).kind == "none"
    for load, flutters in ((19.9, False), (20.2, True)):
        found = pliant.modes(arm, followers={"tip": [-load, 0, 0]})
        assert (found.growth[:2].max() > 1e-3) == flutters


def test_an_unstable_equilibrium_is_told():
    arm = column("second-order", count=2)
    with pytest.warns(ModelLimitWarning):
        pressed, unstable = pliant.equilibrium(arm, loads={"tip": [-3.0, 0, 0]}).warnings
    assert "with 1.21 times its buckling load: it buckles" in pressed
    assert "this equilibrium is unstable" in unstable
    assert "mostly along 'column.bend_y.1'" in unstable


def test_a_robot_that_falls_without_a_load():
    arm = column("second-order", HINGE, None, count=2)
    with pytest.raises(NoEquilibriumError, match="has no stiffness along 'hinge' before any load acts; hold that"):
        pliant.buckling(arm, {"tip": [-1.0, 0, 0]})


def test_its_text_and_pictures(tmp_path):
    arm = column("second-order", count=2)
    found = pliant.buckling(arm, {"tip": [-1.0, 0, 0]})
    assert repr(found).startswith("Buckling(bifurcation at factor 2.4")
    assert "column.bend_y.1" in found._repr_html_()
    found.draw(tmp_path / "shapes.png")
    found.path.draw(tmp_path / "path.svg")
    assert (tmp_path / "shapes.png").stat().st_size > 5000
    assert "load factor" in (tmp_path / "path.svg").read_text(encoding="utf-8")
    assert repr(found.path).startswith("LoadPath(")
    assert "bifurcation" in found.path._repr_html_()


# ---------------------------------------------------------------- several shapes at once


@pytest.mark.parametrize("bending", KINDS)
def test_a_round_column_buckles_any_way(bending):
    """Both planes at once: no correction stays on the path where two stiffnesses vanish."""
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=1.0, EIz=1.0, EIy=1.0),
        bending=bending,
        modes=Modes(shape="legendre", bend_y=4, bend_z=4),
    )
    robot = Robot(name="column", links=[Link(name="column", joint=FIXED, beam=beam)], gravity=(0, 0, 0))
    found = pliant.buckling(Dynamics(robot, compile="never"), {"tip": [-1.0, 0.0, 0.0]})
    assert found.kind == "bifurcation"
    assert found.factor == pytest.approx(np.pi**2 / 4, rel=CLASSICAL)


def test_three_equal_legs_buckle_where_their_modes_come_to_rest():
    arm = Dynamics("three-prs", compile="never")
    found = pliant.buckling(arm, {"platform.root": [0.0, 0.0, -1.0]})
    assert found.kind == "bifurcation"
    for part, falls in ((0.9999, False), (1.0001, True)):
        squares = vibration_modes(arm, loads={"platform.root": [0.0, 0.0, -part * found.factor]}).squares
        assert bool(squares[0] < 0) is falls
        # two of the legs' motions at once
        assert squares[1] == pytest.approx(squares[0], rel=1e-3)


@pytest.mark.parametrize(("corrections", "found"), [(3, False), (4, True), (5, True)])
def test_a_state_counts_when_its_forces_are_in_balance(corrections, found):
    """Each correction leaves a thousandth of the error: four of them reach the balance from one."""
    problem = SimpleNamespace(error=lambda x, s: abs(x[0]), newton=lambda x, s: -0.999 * x)
    x = balanced(problem, np.ones(1), 1.0, corrections)
    assert (x is not None) == found
    assert x is None or abs(x[0]) <= BALANCED
