"""How robots are taken apart: any number of loops on one beam end, members without mass, and the trial of each plan."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant.formulations.loops.closed_loops as closed_loops
import pliant.formulations.loops.closed_loops as trials
from pliant import Dynamics, Robot, equilibrium, simulate
from pliant.analysis.statics import NoEquilibriumError
from pliant.formulations.loops.closed_loops import PlanTrial
from pliant.formulations.loops.cuts import Plan, Solved
from pliant.formulations.loops.dense_forms import rank_of
from pliant.formulations.loops.loops import LoopError
from pliant.formulations.recursive.recursions import NoInertiaError
from random_loops import point_accelerations, random_robot

ROUNDING = 1e-9
"""Of the largest scaled acceleration: recursion and dense algebra, stiff beams."""
DIFFERENCES = 1e-6
"""The same beside material points, whose drifts are differences."""
RANDOM = [0, 3, 6, 9, 12, 33, 39, 2, 5, 14, 23, 64]
"""Stars, and trees of all kinds; of the last ones several have links that turn without inertia."""

BAR = {
    "length": 0.5,
    "material": "steel",
    "section": {"rectangle": {"width": 0.01, "height": 0.02}},
    "bending": "linear",
    "elements": {"number": 1, "bend_y": True, "bend_z": False, "axial": True},
}


def star():
    """Three bars, hinged to the base, whose ends are welded together: both loops end on the first bar."""
    height = float(0.25 * np.sqrt(3))
    places = {"a": ([-0.5, 0, 0], 0.0), "b": ([0.25, -height, 0], 120.0), "c": ([0.25, height, 0], -120.0)}
    links = []
    for name, (position, degrees) in places.items():
        placement = {"position": position, "rotation": {"z": float(np.radians(degrees))}}
        joint = {"name": f"f{name}", "parent": "base", "actuated": False, "placement": placement}
        links.append({"name": name, "joint": joint, "beam": BAR})
    loops = [
        {"name": f"a{x}", "type": "weld", "frames": ["a.tip", f"{x}.tip"], "planar": "xy", "align": True} for x in "bc"
    ]
    return Robot.model_validate({"name": "star", "gravity": [0, -9.81, 0], "links": links, "loops": loops})


def near_reference(arm, seed, part):
    """A closed state whose coordinates differ from the reference by a part of the robot's size, and forces."""
    loops, rng = arm.loops, np.random.default_rng(seed)
    scale, reference = loops.column_scale, loops.constraints.reference
    q = loops.constraints.approach((reference + part * scale * rng.standard_normal(arm.size))[None], []).q[0]
    J, rates = loops.constraints.scaled(q), 0.1 * rng.standard_normal(arm.size)
    return q, scale * (rates - np.linalg.pinv(J) @ (J @ rates)), rng.standard_normal(arm.size)


def evaluated(loops, driven, q, v, given):
    """What the chosen plan computes, in plain numbers."""
    algorithm = loops._algorithm(loops.plan(driven), driven, loops.coordinates.selection.kept, pivots=False)
    inputs = {"q": q.tolist(), "v": v.tolist(), algorithm.takes[2]: given.tolist()}
    return np.array(algorithm.evaluate(loops.constraints.tree, inputs))


def test_two_loops_on_one_beam_end_are_at_rest_in_equilibrium():
    arm = Dynamics(star(), compile="never")
    q = equilibrium(arm).q
    a = arm.forward(q, np.zeros(arm.size))
    # 294 before: both loops were solved by the same coordinates
    assert np.abs(a).max() < 1e-9
    cuts = arm.loops.plan().cuts
    assert cuts
    assert len({arm.loops.constraints.tree.links[k].parent for k in cuts}) == len(cuts)


@pytest.mark.parametrize("seed", RANDOM)
def test_random_loops(seed):
    """Recursive, dense and from material points: the same accelerations, and the efforts that give them."""
    arm = Dynamics(random_robot(seed), compile="never")
    loops, scale = arm.loops, arm.loops.column_scale
    q, v, f = near_reference(arm, seed, 1e-3)
    dense = loops.forward_dense("dense", q, v, f)
    found, size = evaluated(loops, (), q, v, f), np.abs(dense / scale).max()
    np.testing.assert_allclose(found / scale, dense / scale, rtol=0, atol=ROUNDING * size)
    if not loops.redundant:
        points = point_accelerations(arm, q, v, f)
        np.testing.assert_allclose(points / scale, dense / scale, rtol=0, atol=DIFFERENCES * size)
    driven = list(loops.driven)
    kept = list(loops.coordinates.selection.kept)
    excess = len(kept) - rank_of(np.delete(loops.constraints.scaled(q)[kept], driven, axis=1))
    assert loops.excess_drives == excess
    if excess:
        with pytest.raises(LoopError, match=r"the motions of .* cannot all be given"):
            loops.plan(loops.driven)
        others = f.copy()
        others[driven] = 0.0
        tau, every = loops.inverse(q, v, dense[driven], others)
        again, size = loops.forward_dense("dense", q, v, others + arm.B @ tau), np.abs(dense / scale).max()
        np.testing.assert_allclose(every / scale, again / scale, rtol=0, atol=1e3 * ROUNDING * size)
        np.testing.assert_allclose(again[driven], dense[driven], rtol=0, atol=1e3 * ROUNDING * np.abs(dense).max())
        return
    if not driven or not loops.inverse_is_traced:
        return
    out = evaluated(loops, loops.driven, q, v, f)
    a, given = out[len(driven) :], f.copy()
    given[driven] = out[: len(driven)]
    np.testing.assert_allclose(a[driven], f[driven], rtol=1e-12)
    again, size = loops.forward_dense("dense", q, v, given), np.abs(a / scale).max()
    np.testing.assert_allclose(again / scale, a / scale, rtol=0, atol=1e2 * ROUNDING * size)


def test_a_wrong_plan_is_not_taken(monkeypatch):
    """Two cuts on one beam end: the trial refuses them, and what is left is right."""
    arm = Dynamics(star(), compile="never")
    solved = (Solved(0, 4, 4, 3), Solved(1, 6, 6, 5))
    wrong = Plan((4, 6, 3, 5), solved, 1)
    loops, kept = arm.loops, arm.loops.coordinates.selection.kept
    assert PlanTrial(loops, kept).error(loops._algorithm(wrong, (), kept)) > 1e-3
    monkeypatch.setattr(closed_loops, "plans", lambda *_: [wrong, Plan(late=1)])
    assert arm.loops.plan() == Plan(late=1)
    monkeypatch.setattr(closed_loops, "plans", lambda *_: [wrong])
    other = Dynamics(star(), compile="never")
    with pytest.raises(LoopError, match=r"robot 'star': its elimination leaves .* unbalanced"):
        other.loops.plan()


def star_of(**factors):
    """The star with other numbers: factors of Young's modulus and of the density of some bars."""
    given = star()
    links = []
    for link in given.links:
        E, density = factors.get(link.name, (1.0, 1.0))
        steel = {"E": 210e9 * E, "nu": 0.3, "density": 7850.0 * density}
        links.append(link.with_changes(beam=link.beam.with_changes(material=steel)))
    return given.with_changes(links=links)


def trial_of(robot):
    """The trial of a robot and the algorithms of all its plans."""
    loops = Dynamics(robot, compile="never").loops
    kept = loops.coordinates.selection.kept
    every = closed_loops.plans(loops.constraints.in_motion, loops.closures(kept), [])
    return PlanTrial(loops, kept), [loops._algorithm(plan, (), kept, faint=0.0) for plan in every]


def test_a_verdict_holds_for_similar_numbers_only(monkeypatch):
    """Bars of next to no mass in the structure of the steel star: two of its plans leave 1e-6 of the forces there."""
    monkeypatch.setattr(trials, "_FIT", {})
    steel, algorithms = trial_of(star_of())
    assert all(map(steel.fits, algorithms))
    light, same = trial_of(star_of(a=(1.0, 1e-12), b=(1.0, 1e-12)))
    errors = [light.error(algorithm) for algorithm in same]
    assert max(errors) > trials.FITS
    assert not light.has_inertia
    assert not any(map(light.fits, same))
    # and back
    assert all(map(steel.fits, algorithms))


def test_trials_are_shared_by_similar_robots(monkeypatch):
    """A stiffness 1e6 times as large is tried anew, once; twice as large is not."""
    monkeypatch.setattr(trials, "_FIT", {})
    monkeypatch.setattr(trials, "MOST_ALIKE", 2)
    tried = []
    error = PlanTrial.error
    monkeypatch.setattr(PlanTrial, "error", lambda self, algorithm: tried.append(algorithm) or error(self, algorithm))
    counts = []
    for factor in (1.0, 2.0, 1e6, 2e6, 1.5, 1e-6):
        trial, (first, *_) = trial_of(star_of(b=(factor, 1.0)))
        assert trial.fits(first)
        counts.append(len(tried))
    assert counts == [1, 1, 2, 2, 2, 3]
    # many numbers of one structure are not all kept
    assert [len(known) for known in trials._FIT.values()] == [trials.MOST_ALIKE]


# ---- members without mass


def boom(mass=0.0):
    """A boom of 120 kg that a spring in a cylinder holds up; cylinder and rod have no mass unless it is given."""
    spring = {"stiffness": 1e4, "rest": 0.5}
    rod = {"name": "rod", "joint": {"name": "rod", "type": "prismatic", "axis": "x", "parent": "cylinder"}}
    rod["joint"]["spring"] = spring
    foot = {"position": [0, -0.25, 0]}
    cylinder = {"name": "cylinder", "joint": {"name": "foot", "parent": "base", "actuated": False, "placement": foot}}
    if mass:
        rod["rigid"] = cylinder["rigid"] = {"mass": mass, "inertia": 1e-3 * mass}
    bar = {"mass": 120.0, "com": [0.5, 0, 0], "inertia": 10.0, "length": 1.0}
    lug = {"name": "lug", "position": [0.25, 0, 0]}
    arm = {"name": "boom", "joint": {"name": "hinge", "parent": "base", "actuated": False}, "rigid": bar}
    loop = {"name": "pin", "type": "revolute", "frames": ["rod", "boom.lug"], "planar": "xy"}
    return Robot.model_validate(
        {
            "name": "boom",
            "gravity": [0, -9.81, 0],
            "links": [{**arm, "frames": [lug]}, cylinder, rod],
            "loops": [loop],
            "pose": {"foot": float(np.pi / 4), "rod": float(0.25 * 2**0.5)},
        }
    )


def boom_acceleration(angle, effort=0.0):
    """Of the hinge: weight, and the force of spring and drive along the line from the foot to the lug."""
    lug = 0.25 * np.array([np.cos(angle), np.sin(angle)])
    line = lug - [0.0, -0.25]
    length = np.hypot(*line)
    pull = (effort - 1e4 * (length - 0.5)) * line / length
    moment = lug[0] * pull[1] - lug[1] * pull[0] - 120 * 9.81 * 0.5 * np.cos(angle)
    return moment / (10.0 + 120 * 0.25)


@pytest.mark.parametrize("angle", [0.0, 0.4, 1.5, 2.0])
def test_a_cylinder_without_mass(angle):
    """Also nearly upright, where the rod moves along one axis of the base only."""
    arm = Dynamics(boom(), compile="never")
    lug = 0.25 * np.array([np.cos(angle), 1 + np.sin(angle)])
    q = np.array([angle, np.arctan2(lug[1], lug[0]), np.hypot(*lug)])
    a = arm.forward(q, np.zeros(3), [300.0])
    np.testing.assert_allclose(a[0], boom_acceleration(angle, 300.0), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(arm.forward(q, np.zeros(3), [300.0], solver="dense"), a, rtol=1e-10, atol=1e-10)
    tau, others = arm.inverse(q, np.zeros(3), [a[2]])
    np.testing.assert_allclose(tau, [300.0], rtol=1e-9)
    np.testing.assert_allclose(others, a[:2], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", ["dop853", "esdirk"])
def test_a_run_with_a_cylinder_without_mass(method):
    run = simulate(Dynamics(boom()), until=0.5, method=method, tolerance=1e-9)
    exact = solve_ivp(
        lambda _, y: [y[1], boom_acceleration(y[0])], (0, 0.5), [0.0, 0.0], rtol=1e-11, atol=1e-12, t_eval=run.time
    )
    np.testing.assert_allclose(run["hinge"], exact.y[0], atol=1e-6)


def test_a_beam_on_a_roller_without_mass():
    """Shapes of a hinged beam whose far end slides: the roller has no inertia of its own, only the loop moves it."""
    beam = {
        "length": 1.0,
        "properties": {"mass_per_length": 1.0, "EIz": 1.0, "EIy": 1.0},
        "bending": "second-order",
        "modes": {"shape": "pinned-pinned", "bend_y": 3},
    }
    slide = {"name": "s", "type": "prismatic", "axis": "x", "parent": "base", "actuated": False}
    slide["placement"] = {"position": [1.0, 0, 0]}
    links = [
        {"name": "b", "joint": {"name": "j", "parent": "base", "actuated": False}, "beam": beam},
        {"name": "roller", "joint": slide},
    ]
    loop = {"name": "l", "type": "revolute", "frames": ["b.tip", "roller.tip"], "planar": "xy"}
    robot = {"name": "roller", "gravity": [0, 0, 0], "links": links, "loops": [loop]}
    arm = Dynamics(Robot.model_validate(robot), compile="never")
    q, v, f = near_reference(arm, 1, 1e-2)
    dense = arm.forward(q, v, force=f, solver="dense")
    np.testing.assert_allclose(arm.forward(q, v, force=f), dense, rtol=0, atol=ROUNDING * np.abs(dense).max())


def test_what_no_loop_holds_is_refused():
    robot = boom().model_dump(exclude_unset=True)
    robot["links"] = [*robot["links"], {"name": "needle", "joint": {"name": "needle", "parent": "boom.tip"}}]
    with pytest.raises(NoInertiaError, match="link 'needle': a coordinate of it moves no inertia and no loop holds it"):
        Dynamics(Robot.model_validate(robot), compile="never").forward(np.zeros(4), np.zeros(4))


def test_over_constrained_loops_that_open_are_told_as_such():
    """Bars that do not stretch cannot bend between three hinges; the forces that are left are rounding."""
    beam = BAR | {"bending": "second-order", "elements": BAR["elements"] | {"axial": False}}
    robot = star().with_changes(links=[link.with_changes(beam=beam) for link in star().links])
    with pytest.raises(NoEquilibriumError, match=r"forces balance only with loop 'a.' open by .* over-constrained"):
        equilibrium(Dynamics(robot, compile="never"))
