"""The closed forms as a method: on floats, complex numbers, batches and compiled, against the recursion."""

import sys
from functools import cache

import numpy as np
import pytest

from pliant import Beam, Joint, Link, ModelError, Modes, Properties, Rigid, Robot, load
from pliant.dynamics import Dynamics
from pliant.engine.call.evaluator import Evaluator, Program
from pliant.engine.call.replay import ReplayEvaluator
from pliant.engine.trace.roller import whole
from pliant.engine.trace.structure import structure_key
from pliant.formulations.lagrange import traced
from pliant.formulations.lagrange.carrier import BIAS, ENERGY, FORWARD, INVERSE, MASS, FormCarrier
from pliant.formulations.method import MethodError
from pliant.formulations.recursive import recursions
from pliant.formulations.robot_damping import damped
from small_arms import ARMS, VERTICAL, beam, hinge, linear, rigid

TOLERANCE = 1e-12
"""Of the largest term: two derivations of the same numbers, some hundred operations each."""

SMALL = 1e-3
"""Arrays that are zero at a state are rounding of numbers of this size."""

STEP = 1e-30
"""Of a complex step, whose square vanishes beside one."""

COMPILED = ("rigid-driven", "two-flexible-two-modes", "two-planes-exponential", "two-planes-cayley", "twisted")
"""Among them friction, abbreviated deflections, functions of the squared angle, the Cayley factor, fixed angles."""


def forms_of(robot, **options):
    return traced.forms_of(damped(robot), **options)


def carrier_of(robot):
    return FormCarrier(forms_of(robot))


@cache
def formed(name):
    """A robot's closed forms and its recursive dynamics."""
    robot = ARMS[name]()
    return forms_of(robot), Dynamics(robot, compile="never")


@pytest.fixture(params=ARMS)
def pair(request):
    return formed(request.param)


def states(n, count=3):
    """From the straight pose on; sections turn by up to 2.5 rad, where the functions of the angle are exact."""
    rng = np.random.default_rng(n)
    for size in np.linspace(0.0, 0.4, count):
        yield size * rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)


def agrees(ours, theirs, size=None):
    largest = np.abs(theirs).max(initial=0.0) if size is None else size
    return np.abs(np.array(ours) - theirs).max(initial=0.0) <= TOLERANCE * max(largest, SMALL)


# ---------------------------------------------------------------- against the recursion


def test_coordinates_and_constants(pair):
    forms, arm = pair
    assert forms.coordinates == arm.names
    assert len(set(forms.names)) == len(forms.names) == len(forms.values)
    assert all(forms.values)


def test_inertia(pair):
    forms, arm = pair
    for q, _, _ in states(arm.size):
        assert agrees(forms.mass_matrix(q.tolist()), arm.mass_matrix(q))


def test_forces(pair):
    forms, arm = pair
    for q, v, a in states(arm.size):
        assert agrees(forms.bias(q.tolist(), v.tolist()), arm.bias(q, v))
        assert agrees(forms.inverse(q.tolist(), v.tolist(), a.tolist()), arm.forces(q, v, a))


def test_accelerations_need_the_forces_that_were_given(pair):
    """The recursion's inverse dynamics of our accelerations: what remains is rounding of the terms of one row."""
    forms, arm = pair
    for q, v, f in states(arm.size):
        a = np.array(forms.forward(q.tolist(), v.tolist(), f.tolist()))
        terms = np.abs(arm.mass_matrix(q)) @ np.abs(a) + np.abs(arm.bias(q, v)) + np.abs(f)
        assert agrees(arm.forces(q, v, a), f, terms.max())


def test_energies(pair):
    forms, arm = pair
    for q, v, _ in states(arm.size):
        assert agrees(forms.energies(q.tolist(), v.tolist()), np.array(arm.energy(q, v)))


# ---------------------------------------------------------------- identities


def test_power_of_forces_and_losses_is_the_rate_of_energy(pair):
    """A complex step along the motion, with and without damping and dry friction."""
    forms, _ = pair
    for q, v, f in states(forms.size, 2):
        kept = forms.constants()
        for constants in (kept, kept._replace(losses=[0.0] * len(kept.losses))):
            carrier = FormCarrier(forms)
            a = np.array(FORWARD.evaluate(carrier, {"q": q, "v": v, "f": f}, [constants]))
            ahead = {"q": (q + 1j * STEP * v).tolist(), "v": (v + 1j * STEP * a).tolist()}
            rates = np.imag(ENERGY.evaluate(carrier, ahead, [constants])) / STEP
            still = kept._replace(losses=[0.0] * len(kept.losses))
            lost = np.subtract(
                BIAS.evaluate(carrier, {"q": q, "v": v}, [constants]), BIAS.evaluate(carrier, {"q": q, "v": v}, [still])
            )
            # condition of M times rounding
            assert rates.sum() == pytest.approx(v @ (f - lost), rel=1e-8, abs=1e-9 * np.abs(rates).max())


# ---------------------------------------------------------------- structure apart from values


def two_link(mass, mass_per_length=1.3, modes=1):
    properties = Properties(mass_per_length=mass_per_length, EIz=60.0)
    flexible = Beam(length=0.8, properties=properties, modes=Modes(shape="clamped-free", bend_y=modes))
    links = [Link(name="a", joint=hinge("j1"), beam=flexible), Link(name="b", joint=hinge("j2"), rigid=rigid(mass))]
    return Robot(name="two", gravity=VERTICAL, links=links)


def test_values_are_inputs():
    forms, heavier = forms_of(two_link(1.2)), forms_of(two_link(2.9))
    values = [2.9 if name == "m_2" else x for name, x in zip(forms.names, forms.values, strict=True)]
    assert forms.names == heavier.names
    assert values == pytest.approx(heavier.values)
    (_, (q, v, a)) = states(forms.size, 2)
    q, v, a = q.tolist(), v.tolist(), a.tolist()
    assert agrees(forms.inverse(q, v, a, values), np.array(heavier.inverse(q, v, a)))
    assert not agrees(forms.inverse(q, v, a), np.array(heavier.inverse(q, v, a)))


def test_robots_of_one_structure_share_their_code():
    first, other = carrier_of(two_link(1.2)), carrier_of(two_link(2.9, 1.7))
    assert structure_key(first) == structure_key(other)
    assert structure_key(first) != structure_key(carrier_of(two_link(1.2, modes=2)))


def test_gravity_is_an_input():
    forms, _ = formed("rigid-spatial")
    robot = ARMS["rigid-spatial"]().model_copy(update={"gravity": (2.0, 3.0, -5.0)})
    (_, (q, v, a)) = states(forms.size, 2)
    found = INVERSE.evaluate(FormCarrier(forms), {"q": q, "v": v, "a": a}, gravity=[2.0, 3.0, -5.0])
    assert agrees(found, np.array(forms_of(robot).inverse(q, v, a)))


# ---------------------------------------------------------------- scalars of all kinds


@pytest.mark.parametrize("name", COMPILED)
def test_a_batch_is_its_states(name):
    forms, _ = formed(name)
    batch = np.array(list(states(forms.size, 4)))
    q, v, f = (list(batch[:, k].T) for k in range(3))
    found = np.array([np.broadcast_to(x, 4) for x in forms.forward(q, v, f)])
    for k, (q_k, v_k, f_k) in enumerate(batch.tolist()):
        assert agrees(found[:, k], np.array(forms.forward(q_k, v_k, f_k)))


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_and_replayed(name):
    forms, _ = formed(name)
    carrier = FormCarrier(forms)
    for algorithm in (FORWARD, INVERSE):
        compiled = Evaluator(Program(algorithm, carrier))
        replayed = ReplayEvaluator(algorithm, carrier)
        for given in states(forms.size):
            exact = np.array(algorithm.evaluate(carrier, dict(zip(algorithm.inputs, given, strict=True))))
            size = np.abs(exact).max() * (1e3 if algorithm is FORWARD else 1.0)
            assert agrees(compiled(*given), exact, size)
            assert agrees(replayed(*given), exact, size)


def test_compiled_inertia():
    forms, _ = formed("two-flexible-two-modes")
    compiled = Evaluator(Program(MASS, FormCarrier(forms)))
    q = 0.1 * np.arange(forms.size)
    assert agrees(compiled(q).reshape(forms.size, forms.size), np.array(forms.mass_matrix(q)))


@pytest.mark.parametrize("seed", ["q", "v"])
def test_compiled_derivatives_are_complex_steps(seed):
    forms, _ = formed("two-planes-exponential")
    carrier = FormCarrier(forms)
    *_, given = states(forms.size)
    found = np.array(Evaluator(Program(INVERSE, carrier, (seed,)))(*given))
    inputs = dict(zip(INVERSE.inputs, given, strict=True))
    for k in range(forms.size):
        moved = {**inputs, seed: inputs[seed] + 1j * STEP * np.eye(forms.size)[k]}
        column = np.imag(INVERSE.evaluate(carrier, moved)) / STEP
        assert agrees(found[:, k], column, np.abs(found).max())


# ---------------------------------------------------------------- dispatched


@pytest.fixture(scope="module", params=["auto", "never"])
def methods(request):
    """One arm by both methods, compiled and in plain Python."""
    robot = ARMS["two-flexible-two-modes"]()
    return tuple(Dynamics(robot, method=name, compile=request.param) for name in ("lagrange", "recursive"))


def test_dynamics_by_the_method(methods):
    ours, theirs = methods
    for q, v, x in states(ours.size):
        assert agrees(ours.mass_matrix(q), theirs.mass_matrix(q))
        assert agrees(ours.forces(q, v, x), theirs.forces(q, v, x))
        a = ours.forward(q, v, x[: len(ours.inputs)])
        assert agrees(theirs.forces(q, v, a), ours.B @ x[: len(ours.inputs)], np.abs(theirs.bias(q, v)).max())
        assert ours.energy(q, v).total == pytest.approx(theirs.energy(q, v).total)


def test_derivatives_by_the_method(methods):
    ours, theirs = methods
    *_, (q, v, a) = states(ours.size)
    for mine, other in zip(ours.inverse_derivatives(q, v, a), theirs.inverse_derivatives(q, v, a), strict=True):
        assert agrees(mine, other)


def test_a_batch_by_the_method(methods):
    ours, _ = methods
    q, v = np.array(list(states(ours.size)))[:, :2].transpose(1, 0, 2)
    for k, a in enumerate(ours.forward(q, v)):
        alone = ours.forward(q[k], v[k])
        assert agrees(a, alone, 1e3 * np.abs(alone).max())


def test_the_method_says_why_it_has_no_equations():
    with pytest.raises(MethodError, match="'lagrange' does not close; method 'recursive' does"):
        Dynamics("five-bar", method="lagrange")
    with pytest.raises(MethodError, match=r"far more than [\d,]+ terms.*method 'recursive'"):
        Dynamics("seven-joint-arm", method="lagrange")


# ---------------------------------------------------------------- operations


@pytest.mark.parametrize(
    ("name", "most"),
    [("rigid-two-link", 42), ("twisted", 60), ("lin-lewis-one-link", 290), ("two-link-flexible", 1000)],
)
def test_operations_of_the_forward_dynamics(name, most):
    """Counted when the terms were first collected like this."""
    robot = linear(ARMS[name]() if name in ARMS else load(name))
    assert whole(FORWARD, carrier_of(robot)).operations.total <= most


@pytest.mark.parametrize("axes", ["zy", "zyy", "zyyx"])
def test_short_rigid_arms_are_shorter_than_by_recursion(axes):
    links = [Link(name=f"l{i}", joint=hinge(f"j{i}", axis), rigid=rigid()) for i, axis in enumerate(axes)]
    robot = Robot(name="arm", gravity=(0.0, 0.0, -9.81), links=links)
    ours = whole(FORWARD, carrier_of(robot)).operations
    recursive = whole(recursions.FORWARD, Dynamics(robot, compile="never").tree).operations
    assert ours.total < recursive.total


# ---------------------------------------------------------------- refusals


def test_a_robot_with_loops_is_refused():
    with pytest.raises(ModelError, match=r"'five-bar' has closed loops .*method 'recursive'"):
        forms_of(load("five-bar"))


def test_a_robot_that_is_too_large_is_refused():
    with pytest.raises(ModelError, match=r"2,000 are the most.*method 'recursive'"):
        forms_of(load("seven-joint-arm"), most_terms=2000)


def test_sections_that_turn_exactly_are_refused():
    properties = Properties(mass_per_length=1.0, EIz=1.0, rhoIy=0.1, rhoIz=0.1)
    exact = Beam(length=1.0, properties=properties, modes=Modes(bend_y=1), rotary_inertia="exact")
    robot = Robot(name="arm", links=[Link(name="arm", joint=Joint(name="j"), beam=exact)])
    with pytest.raises(ModelError, match=r"rotary_inertia: true, or use method 'recursive'"):
        forms_of(robot)


def test_a_coordinate_without_inertia():
    links = [
        Link(name="a", joint=hinge("j1"), beam=beam(modes=Modes(bend_y=1))),
        Link(name="wheel", joint=hinge("spin"), rigid=Rigid(mass=1.0)),
    ]
    forms = forms_of(Robot(name="arm", links=links))
    with pytest.raises(recursions.NoInertiaError, match="'spin' moves no inertia"):
        forms.forward(*np.ones((3, 3)).tolist())


def test_no_sympy_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    assert forms_of(two_link(1.0)).size == 3
