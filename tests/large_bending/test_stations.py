"""Exact beams beside their material points where they bend far: what their stations cost, and how many are enough.

Points are placed by fine steps along the axis and moved by complex steps, alone, in chains and in loops.
"""

import numpy as np
import pytest

import bent_points
import pliant
from oracle import Oracle
from pliant import Beam, Dynamics, Joint, Link, Modes, Placement, Properties, Rigid, Robot, Start, simulate
from pliant.analysis.limits import ModelLimitWarning, state_limits
from pliant.bodies.shortfall import turns_along
from pliant.simulation.run import SimulationWarning
from random_loops import point_accelerations

PROPERTIES = Properties(mass_per_length=1.0, EIy=1.0, EIz=1.5, GJ=1.0, EA=1e4, rhoIy=5e-4, rhoIz=5e-4)
PLANE, SPACE = {"bend_y": 3}, {"bend_y": 2, "bend_z": 2, "torsion": 1}
TURN = 1.5
"""How far the sections of every beam turn along it, rad."""
DEFAULT = 2e-2
"""Of the mass matrix, scaled to a unit diagonal: the stations that a beam has by itself, at any strains."""
POINTS = 1e-7
"""The same of many stations in a plane, where convergence is geometric."""
DIFFERENCES, SPATIAL = 1e-6, 1e-3
"""Of accelerations in a loop, of rods in a plane and in space with sixteen stations."""


@pytest.fixture(autouse=True)
def _fewer_steps(monkeypatch):
    """Material points to 1e-8, in less time."""
    monkeypatch.setattr(bent_points, "STEPS", 120)


def rod(name, families, stations=None, parent=None, **joint):
    given = {} if parent is None else {"parent": parent}
    modes = Modes(shape="legendre", **families)
    beam = Beam(length=1.0, properties=PROPERTIES, bending="exact", modes=modes, stations=stations)
    return Link(name=name, joint=Joint(name=f"j_{name}", **given, **joint), beam=beam)


def bent(arm, seed=0, turn=TURN):
    """Strains of the same size in all shapes, such that sections turn so far along every beam; joints anywhere."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=arm.size)
    for member in arm.mechanism.members:
        if member.body.size:
            q[member.elastic] /= np.sqrt(np.diag(member.body.K_ee))
            q[member.elastic] *= turn / turns_along(member.body.large, q[None, member.elastic])[0]
    return q


def difference(arm, q, known):
    size = np.sqrt(np.diag(known))
    return np.abs((arm.mass_matrix(q) - known) / np.outer(size, size)).max()


def chain(families, stations=None):
    """Two rods, a tool on the second."""
    tool = Link(name="tool", joint=Joint(name="wrist", axis="y"), rigid=Rigid(mass=0.3, com=(0.1, 0, 0), inertia=0.01))
    links = [rod("one", families, stations, axis="z"), rod("two", families, stations, axis="z"), tool]
    return Dynamics(Robot(name="chain", links=links), compile="never")


def alone(families, stations=None):
    return Dynamics(Robot(name="alone", links=[rod("one", families, stations, axis="z")]), compile="never")


@pytest.mark.parametrize("made", [alone, chain])
@pytest.mark.parametrize("families", [PLANE, SPACE], ids=["plane", "space"])
def test_mass_matrix_of_material_points(made, families):
    """With the stations that a beam has by itself, and with more: geometric in a plane, of fourth order in space."""
    arm = made(families)
    q = bent(arm)
    known = Oracle(arm.robot, arm.names).mass_matrix(q)
    assert difference(arm, q, known) < DEFAULT
    coarse, fine = (difference(made(families, stations), q, known) for stations in (10, 15))
    if families is PLANE:
        assert fine < POINTS
    else:
        order = np.log(coarse / fine) / np.log(15 / 10)
        assert order == pytest.approx(4.0, abs=0.6)
        assert fine < 1e-4


def test_oracle_has_converged(monkeypatch):
    """Half the length of its steps changes nothing that is asserted here."""
    arm = alone(SPACE)
    q, found = bent(arm), []
    for steps in (120, 240):
        monkeypatch.setattr(bent_points, "STEPS", steps)
        found.append(Oracle(arm.robot, arm.names).mass_matrix(q))
    assert found[0] == pytest.approx(found[1], rel=0, abs=0.1 * POINTS * np.abs(found[1]).max())


@pytest.mark.parametrize("families", [PLANE, SPACE], ids=["plane", "space"])
def test_accelerations_in_a_loop(families):
    """A rod that is bent far leans on a strut: recursion, and material points with multipliers."""
    strut = Link(
        name="strut",
        joint=Joint(
            name="foot", type="spherical", parent="base", actuated=False, placement=Placement(position=(0.6, 0.8, 0))
        ),
        rigid=Rigid(mass=0.5, com=(0.0, -0.3, 0.1), inertia=0.02),
    )
    stations = 12 if families is PLANE else 16
    links = [rod("one", families, stations, axis="z", parent="base"), strut]
    loop = {
        "name": "pin",
        "type": "spherical",
        "frames": ["one.tip", {"frame": "strut.root", "position": [0.0, -0.7, 0.0]}],
    }
    arm = Dynamics(Robot(name="leaning", links=links, loops=[loop]), compile="never")
    q = arm.reference_pose()
    elastic = arm.mechanism.members[0].elastic
    q[elastic] = bent(arm, 1)[elastic]
    q = arm.loops.constraints.approach(q[None], []).q[0]
    assert turns_along(arm.mechanism.members[0].body.large, q[None, elastic])[0] > 1.0
    f = np.random.default_rng(2).normal(size=arm.size)
    still = np.zeros(arm.size)
    found, points = arm.forward(q, still, force=f), point_accelerations(arm, q, still, f)
    scale = arm.loops.column_scale
    within = DIFFERENCES if families is PLANE else SPATIAL
    np.testing.assert_allclose(found / scale, points / scale, rtol=0, atol=within * np.abs(points / scale).max())


def curled(turn, stations=None):
    """A strip that is rolled up: constant curvature, and the state of it."""
    modes = Modes(shape="legendre", normalise="none", bend_y=2)
    beam = Beam(length=1.0, properties=PROPERTIES, bending="exact", modes=modes, stations=stations)
    link = Link(name="strip", joint=Joint(name="foot", type="fixed"), beam=beam)
    arm = Dynamics(Robot(name="strip", gravity=(0, 0, 0), links=[link]), compile="never")
    return arm, np.array([turn, 0.0])


def test_too_few_stations_are_told():
    """With the number that is enough; with it nothing is said."""
    arm, q = curled(8.0)
    (text,) = state_limits(arm, q)
    assert "link 'strip' bends so far that its sections turn by 8 rad along it; followed at 4 stations" in text
    enough = int(text.rpartition("write stations: ")[2])
    assert state_limits(*curled(8.0, enough)) == []
    assert state_limits(*curled(2.0)) == []
    # what was told is so: the end of an arc
    for stations, near in ((None, 0.0), (enough, 1e-3)):
        strip, q = curled(8.0, stations)
        place = strip.pose("strip.tip", q).position[:2]
        off = np.linalg.norm(place - [np.sin(8.0) / 8.0, (1 - np.cos(8.0)) / 8.0])
        assert off < near if near else off > 1e-3


@pytest.mark.filterwarnings("ignore::pliant.analysis.limits.ModelLimitWarning")  # of families that are left out
def test_every_analysis_tells():
    arm, q = curled(8.0)
    moment = {"strip.tip": [0, 0, 0, 0, 0, 8.0 * PROPERTIES.EIz]}
    for analysis in (pliant.modes, pliant.linearise):
        with pytest.warns(ModelLimitWarning, match="followed at 4 stations"):
            analysis(arm, q=q)
    with pytest.warns(ModelLimitWarning, match="followed at 4 stations"):
        pliant.equilibrium(arm, loads=moment, q=q)
    with pytest.warns(SimulationWarning, match=r"8 rad along it \(at 0 s\); followed at 4 stations"):
        simulate(arm, until=0.01, start=Start(shape={"strip.bend_y.1": 8.0}))
