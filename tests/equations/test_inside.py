"""Modal integrals inside the equations: lengths, masses and stiffnesses that change after the derivation."""

import numpy as np
import pytest
import sympy

from pliant import Beam, Dynamics, Family, Joint, Link, ModelError, Modes, Properties, Rigid, RigidPart, Robot, load
from pliant.formulations.lagrange.equations import equations

TOLERANCE = 1e-12
"""Of the largest entry, between equations that were changed and the compiled model of the changed robot."""
CHANGED = {"l_1": 1.7, "rho_1": 0.8, "EIz_1": 5.0, "mp_1": 0.35, "l_2": 0.55, "rho_2": 0.45, "EIz_2": 1.4}
PLAIN = {"l_1": 1.0, "rho_1": 0.5, "EIz_1": 3.0, "mp_1": 0.2, "l_2": 0.7, "rho_2": 0.3, "EIz_2": 2.0}


def beam(p, k, modes, bending, **further):
    known = {"mass_per_length": p[f"rho_{k}"], "EIz": p[f"EIz_{k}"], **further}
    return Beam(length=p[f"l_{k}"], bending=bending, properties=Properties(**known), modes=modes)


def arm(p, shape="clamped-free", bending="second-order", **options):
    """Two links that bend, the first with a point on its tip and the second with a rigid one behind it."""
    modes = Modes(bend_y=Family(shape=shape, count=2, **options))
    links = [
        Link(name="a", joint=Joint(name="p"), beam=beam(p, 1, modes, bending), payloads=(RigidPart(mass=p["mp_1"]),)),
        Link(name="b", joint=Joint(name="q"), beam=beam(p, 2, Modes(shape="clamped-free", bend_y=1), bending)),
        Link(name="c", joint=Joint(name="r"), rigid=Rigid(mass=0.4, com=(0.1, 0, 0), inertia=0.01, length=0.2)),
    ]
    return Robot(name="arm", gravity=(1.0, -9.81, 0.0), links=links)


def worst(f, robot):
    """The largest difference of M and of all else on the left-hand side, relative to the largest entry."""
    d = Dynamics(robot, compile="never")
    rng = np.random.default_rng(3)
    q, v = 0.1 * rng.normal(size=d.size), rng.normal(size=d.size)
    M, h = d.mass_matrix(q), d.bias(q, v)
    return max(np.abs(f.mass_matrix(q) - M).max() / np.abs(M).max(), np.abs(f.bias(q, v) - h).max() / np.abs(h).max())


@pytest.mark.parametrize("bending", ["linear", "second-order"])
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ("clamped-free", {}),
        ("pinned-pinned", {"normalise": "none"}),
        ("polynomial", {"normalise": "tip"}),
        ("legendre", {"normalise": "none"}),
    ],
)
def test_parameters_change_after_the_derivation(shape, options, bending):
    eq = equations(arm(PLAIN, shape, bending, **options), integrals="inside")
    assert {c.name for c in eq.parameters} >= set(CHANGED)
    assert not any(c.kind == "modal" or c.bound for c in eq.constants)
    other = arm(CHANGED, shape, bending, **options)
    assert worst(eq.with_values(CHANGED).functions(), other) < TOLERANCE
    # it would not be so by itself
    assert worst(eq.functions(), other) > 0.01


def test_generated_parameters_and_matrices_are_true():
    """Python code with other parameters, and SymPy matrices with numbers put in, are those of the changed robot."""
    eq = equations(arm(PLAIN), integrals="inside", bending="linear")
    module = {}
    exec(eq.to("python"), module)
    d = Dynamics(arm(CHANGED, bending="linear"), compile="never")
    q = 0.1 * np.random.default_rng(3).normal(size=d.size)
    assert (
        np.abs(module["mass_matrix"](q.tolist(), {**module["PARAMETERS"], **CHANGED}) - d.mass_matrix(q)).max() < 1e-12
    )
    values = {**eq.with_values(CHANGED).values, **dict(zip(map(str, eq.q), q, strict=True))}
    M = np.array(eq.M.subs({sympy.Symbol(name): x for name, x in values.items()}), dtype=float)
    assert np.abs(M - d.mass_matrix(q)).max() < 1e-12
    ratio = eq.U[1, 1] * eq.symbol("l_1") ** 3 / eq.symbol("EIz_1")
    # of a clamped-free beam whose shape has the modal mass rho l: the fourth power of its root
    assert float(ratio) == pytest.approx(1.875104068711961**4, rel=1e-12)


def test_some_symbols_are_kept():
    eq = equations(arm(PLAIN), integrals="inside", parameters=("l_1",), bending="linear")
    assert [c.name for c in eq.constants] == ["l_1"]
    longer = {**PLAIN, "l_1": 1.7}
    assert worst(eq.with_values({"l_1": 1.7}).functions(), arm(longer, bending="linear")) < TOLERANCE


def test_loads_on_the_tip_keep_their_shapes():
    """Shapes of a loaded beam depend on the ratio of its masses.

    Where that stays the result is the changed robot; else it has the shapes of before, which is told, and whose
    frequency is that of the changed robot but for a small part: its shapes are only a little different.
    """

    def loaded(p):
        load = {"tip_mass": 0.6 * p["rho_1"] * p["l_1"], "tip_inertia": 0.0}
        return arm(p, "clamped-mass", "linear", **load)

    eq = equations(loaded(PLAIN), integrals="inside")
    assert eq.loaded == ("a",)
    assert any("belong to the ratio of the load" in line for line in eq.scope)
    assert worst(eq.with_values(CHANGED).functions(), loaded(CHANGED)) < TOLERANCE
    rfr = load("lin-lewis-rfr")
    links = [x if x.beam is None else x.with_changes(beam=x.beam.with_changes(length=1.2)) for x in rfr.links]
    ours = equations(rfr, integrals="inside").with_values({"l_2": 1.2}).functions()
    theirs = Dynamics(rfr.with_changes(links=links), compile="never")
    q = np.zeros(4)
    squares = [
        K[2, 2] / M[2, 2] for K, M in ((ours.stiffness, ours.mass_matrix(q)), (theirs.stiffness, theirs.mass_matrix(q)))
    ]
    assert squares[0] == pytest.approx(squares[1], rel=2e-3)


def test_what_has_no_closed_form_stays_bound():
    """Sections with inertia: their integrals have another power of the length."""
    link = arm(PLAIN).links[0]
    turning = beam(PLAIN, 1, Modes(shape="clamped-free", bend_y=1), "linear", rhoIz=1e-3, rhoIy=1e-3)
    robot = Robot(name="one", links=[link.with_changes(beam=turning.with_changes(rotary_inertia=True))])
    eq = equations(robot, integrals="inside")
    assert "l_1" not in {c.name for c in eq.parameters}
    assert "EIz_1" in {c.name for c in eq.parameters}
    with pytest.raises(ModelError, match="integrals over the shapes of that link were taken with it"):
        eq.with_values({"l_1": 2.0})


def test_defined_constants_are_not_given_values():
    eq = equations(arm(PLAIN), integrals="inside")
    with pytest.raises(ModelError, match="m_1_1_1 follows from l_1, mp_1, rho_1"):
        eq.with_values({"m_1_1_1": 1.0})


def test_pages_write_them():
    text = equations(arm(PLAIN), integrals="inside").to("text")
    assert "S_1 = rho_1*l_1**2/2 + mp_1*l_1" in text
    for form in ("latex", "markdown", "html", "c"):
        assert equations(arm(PLAIN), integrals="inside", bending="linear").to(form)
