"""Robots with links that bend far, in motion: spin-up of an arm, a rod in free flight, conservation laws."""

import numpy as np
import pytest

from pliant import Beam, Dynamics, Joint, Link, Modes, PrescribedMotion, Properties, RigidPart, Robot, simulate
from pliant.simulation.run import SimulationWarning

# ---------------------------------------------------------------- spin-up of Simo & Vu-Quoc

SPEED, RAMP, UNTIL = 6.0, 15.0, 20.0
# along and across the arm (m) and turn (rad) of the tip of an inextensible rod; estimated errors 1e-9, 4e-8 and 4e-9
TIP = {
    0.5: (-1.88e-07, -0.001815185, -0.000241046),
    1.0: (-2.4364e-05, -0.020543219, -0.002792913),
    2.0: (-0.000605945, -0.102374593, -0.013958468),
    3.0: (-0.002729231, -0.217257458, -0.02962451),
    4.0: (-0.006771261, -0.342258974, -0.046635777),
    5.0: (-0.012672641, -0.468444294, -0.063715799),
    6.0: (-0.017016837, -0.543549023, -0.073596962),
    6.5: (-0.01866973, -0.569886325, -0.076914758),
    7.0: (-0.018710497, -0.571230968, -0.076774343),
    8.0: (-0.016789772, -0.54273856, -0.072226714),
    9.0: (-0.011987934, -0.460149024, -0.060548823),
    10.0: (-0.007401742, -0.362680529, -0.047224039),
}
LARGEST, LARGEST_AT = 0.573761980, 6.76165
ALONG = 0.0188
"""How far the tip has come back along the arm about that time, m."""
WITHIN = {"exact": 6e-5, "second-order": 5.7e-3}
"""m; one per cent of the largest deflection for second order."""
STEP = 0.5


def spun_up(bending, strains=4, until=UNTIL):
    """The hub is brought to speed; Legendre strains, samples at every STEP."""
    properties = Properties(mass_per_length=1.2, EIz=1.4e4, rhoIy=6e-4, rhoIz=6e-4)
    modes = Modes(shape="legendre", bend_y=strains)
    beam = Beam(length=10.0, properties=properties, rotary_inertia=True, bending=bending, modes=modes)
    arm = Robot(name="arm", gravity=(0, 0, 0), links=[Link(name="arm", joint=Joint(name="hub"), beam=beam)])
    motion = f"{SPEED / RAMP} * (t^2/2 + ({RAMP}/(2*pi))^2 * (cos(2*pi*t/{RAMP}) - 1))"
    parts = [
        {"expression": {"joints": {"hub": motion}, "duration": RAMP}},
        {"rate": {"rate": {"hub": SPEED}, "duration": UNTIL - RAMP}},
    ]
    drive = PrescribedMotion(trajectory={"sequence": {"parts": parts}})
    return simulate(arm, until=until, drive=drive, method="dop853", tolerance=1e-7, output_step=STEP)


@pytest.fixture(scope="module")
def fine():
    """A rod with two strains more, for the time after the published one."""
    return spun_up("exact", 6)


def across(run):
    return run.quantities.tip_deflection("arm")[:, 1]


@pytest.mark.parametrize("bending", WITHIN)
def test_spin_up(bending, fine):
    run = spun_up(bending)
    places = [round(t / STEP) for t in TIP]
    moved, turned = run.quantities.tip_motion("arm")
    known = np.array(list(TIP.values()))
    assert moved[places, 1] == pytest.approx(known[:, 1], abs=WITHIN[bending])
    assert moved[places, 0] == pytest.approx(known[:, 0], abs=WITHIN[bending])
    assert turned[places, 2] == pytest.approx(known[:, 2], abs=WITHIN[bending])
    peak = run.extreme("arm.deflection")
    assert peak.most == pytest.approx(np.hypot(LARGEST, ALONG), abs=WITHIN[bending])
    # twice the time for which numbers are known, and speed that stays
    assert across(run) == pytest.approx(across(fine), abs=WITHIN[bending])


def test_the_finer_rod_is_the_published_one(fine):
    """To the digits that were printed; its largest deflection between two samples as well."""
    places = [round(t / STEP) for t in TIP]
    assert across(fine)[places] == pytest.approx([y for _, y, _ in TIP.values()], abs=1e-7)
    assert fine.extreme("arm.deflection").most_at == pytest.approx(LARGEST_AT, abs=1e-3)


def test_a_linear_arm_diverges():
    """So that nobody measures the wrong thing."""
    with pytest.warns(SimulationWarning):
        assert np.abs(across(spun_up("linear", until=11.0))).max() > 10.0


# ---------------------------------------------------------------- free flight


@pytest.fixture(scope="module")
def rod():
    """A soft rod in free flight with two modes in each plane, twist and a tip mass; no gravity, no damping."""
    properties = Properties(mass_per_length=1.0, EIy=2.0, EIz=3.0, GJ=2.0, rhoIy=5e-3, rhoIz=5e-3)
    modes = Modes(shape="legendre", normalise="tip", bend_y=2, bend_z=2, torsion=1)
    beam = Beam(length=1.0, properties=properties, bending="exact", modes=modes)
    link = Link(name="rod", joint=Joint(name="free", type="free"), beam=beam, payloads=[RigidPart(mass=0.2)])
    return Dynamics(Robot(name="flight", gravity=(0, 0, 0), links=[link]))


@pytest.mark.filterwarnings("ignore::pliant.simulation.run.SimulationWarning")  # few stations, on purpose
def test_conservation_laws(rod):
    """Momentum, angular momentum and energy of a tumbling rod that bends by more than its length, at few stations."""
    rng = np.random.default_rng(3)
    n = rod.size
    elastic = np.array(["rod." in name for name in rod.names])
    q = np.where(elastic, 0.25, 0.1) * rng.normal(size=n)
    v = np.where(elastic, 1.0, 2.0) * rng.normal(size=n)

    run = simulate(rod, until=5.0, start=(q, v), method="dop853", tolerance=1e-11, output_step=0.05)
    first, last = (
        np.concatenate([*rod.momentum(*s), [rod.energy(*s).total]]) for s in ((run.q[k], run.v[k]) for k in (0, -1))
    )
    # the links have bent far on the way
    assert np.abs(run.q[:, elastic]).max() > 0.3
    assert last[:6] == pytest.approx(first[:6], abs=1e-7 * np.abs(first[:6]).max())
    assert last[6] == pytest.approx(first[6], rel=1e-9)
