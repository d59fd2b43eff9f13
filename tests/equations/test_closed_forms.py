"""Modal integrals in closed form against quadrature."""

import pytest
import sympy

from pliant import Beam, Family, Joint, Link, ModelError, Modes, Properties, RigidPart, Robot
from pliant.formulations.lagrange.closed_forms import XI, L, integrate, is_integrable, link_shapes, parse
from pliant.formulations.lagrange.equations import equations

AGREES = 1e-9
"""Relative; quadrature and closed form of the same integral, high modes included."""

SHAPES = {
    "clamped-free": 6,
    "clamped-mass": 4,
    "pinned-pinned": 5,
    "pinned-free": 5,
    "free-free": 4,
    "polynomial": 4,
}


def robot(modes, **properties):
    known = {"mass_per_length": 0.7, "EIy": 5.0, "EIz": 3.0, "EA": 200.0, "GJ": 2.0, "rhoIy": 1e-4, "rhoIz": 1e-4}
    beam = Beam(length=1.3, properties=Properties(**{**known, **properties}), modes=modes, bending="linear")
    payload = RigidPart(mass=0.4, inertia=0.01)
    return Robot(
        name="arm",
        gravity=(0, -9.81, 0),
        links=[Link(name="arm", joint=Joint(name="j"), beam=beam, payloads=(payload,))],
    )


def check(arm):
    eq = equations(arm, integrals="closed")
    shapes = link_shapes(arm)["arm"]
    checked = set()
    for constant in eq.constants:
        if constant.origin is not None and (closed := shapes.closed(constant.origin)) is not None:
            assert closed.value(arm.links[0]) == pytest.approx(constant.value, rel=AGREES), constant.name
            assert constant.closed
            checked.add(constant.origin.quantity)
    return eq, checked


@pytest.mark.parametrize("normalise", ["mass", "none"])
@pytest.mark.parametrize(("shape", "count"), SHAPES.items())
def test_bending_shapes(shape, count, normalise):
    _, checked = check(robot(Modes(shape=shape, bend_y=count, normalise=normalise)))
    # free shapes have no first moments
    assert {"mass", "stiffness"} <= checked


@pytest.mark.parametrize("shape", ["clamped-free", "clamped-mass", "polynomial"])
def test_rod_shapes(shape):
    _, checked = check(robot(Modes(shape=shape, axial=3)))
    assert {"moment", "stiffness", "value"} <= checked


def test_two_planes_and_torsion():
    check(robot(Modes(shape="clamped-free", bend_y=2, bend_z=2, torsion=1)))


KINDS = (*SHAPES, "legendre", "user")
NORMS = ("mass", "tip", "unit", "none")
USERS = {"bend_y": "x^2*(3*L - x)", "bend_z": "1 - cos(pi*x/(2*L))", "axial": "x"}
"""One with a length in it, which all rules but none take out."""


def mixed(number, length, scale):
    """A beam of some length whose three families have shapes and norms of their own."""
    families = {}
    for place, family in enumerate(("bend_y", "bend_z", "axial")):
        kind = KINDS[(number * (place + 1) + 3 * place) % len(KINDS)]
        norm = NORMS[(number + place) % len(NORMS)]
        own = {"shape": kind, "normalise": norm}
        if kind == "user":
            own |= {"expressions": (USERS[family],)}
        else:
            own |= {"count": 2 if place == 0 else 1}
        if kind == "clamped-mass":
            own |= {"tip_mass": 0.3 * scale, "tip_inertia": 0.0}
        if norm == "tip" and kind in ("pinned-pinned", "legendre"):
            own |= {"normalise": "unit"}
        families[family] = Family(**own)
    arm = robot(Modes(**families))
    return arm.with_changes(links=[arm.links[0].with_changes(beam=arm.links[0].beam.with_changes(length=length))])


@pytest.mark.parametrize("number", range(8))
def test_products_of_all_shapes_and_norms(number):
    """The form of one beam is that of another length, too."""
    arms = [mixed(number, 1.3, 1.0), mixed(number, 2.6, 2.0)]
    shapes, missing = link_shapes(arms[0])["arm"], []
    values = [constants_of(arm) for arm in arms]
    assert len(values[0]) > 15
    for name, constant in values[0].items():
        closed = shapes.closed(constant.origin)
        if closed is None:
            missing.append(name)
            continue
        for arm, own in zip(arms, values, strict=True):
            assert closed.is_of(arm.links[0], own[name].value if name in own else 0.0), (name, closed.text(1))
    assert not missing


def constants_of(arm):
    """The constants that are integrals over shapes or their values, by name."""
    from pliant.formulations.lagrange.lowering import build_chain
    from pliant.formulations.lagrange.names import Names
    from pliant.formulations.lagrange.series import Algebra
    from pliant.formulations.robot_damping import damped

    names = Names(Algebra())
    build_chain(damped(arm), names)
    return {c.name: c for c in names.constants.values() if c.origin is not None}


def test_a_curve_that_changes_with_the_length_has_no_closed_form():
    """exp(x) normalised is another number at each length; as it is written it has one with the length in it."""
    for norm, found in (("mass", False), ("none", True)):
        arm = robot(Modes(bend_y=Family(shape="user", expressions=("exp(x) - 1 - x",), normalise=norm)))
        closed = link_shapes(arm)["arm"].closed(constants_of(arm)["m_1_1_1"].origin)
        assert (closed is not None) is found


def test_integrals_with_point_masses_have_no_closed_form_of_the_beam():
    """Second-order bending counts the payload's mass among the integrals of the beam."""
    arm = robot(Modes(shape="clamped-free", bend_y=1))
    beam, point = arm.links[0].beam.with_changes(bending="second-order"), (RigidPart(mass=0.4),)
    far = arm.with_changes(links=[arm.links[0].with_changes(beam=beam, payloads=point)])
    closed = {c.name: c.closed_text for c in equations(far, integrals="closed").constants}
    assert closed["m_1_1_1"] == ""


def test_pinned_integrals_are_exact():
    eq, _ = check(robot(Modes(shape="pinned-pinned", bend_y=3, normalise="none")))
    closed = {c.name: c.closed for c in eq.constants}
    assert closed["b_1_1"] == r"\frac{1}{\pi} \, \rho_{1} \, l_{1}^{2}"
    assert closed["b_1_2"] == r"- \frac{1}{2 \pi} \, \rho_{1} \, l_{1}^{2}"
    assert closed["m_1_1_1"] == r"\frac{1}{2} \, \rho_{1} \, l_{1}"
    assert closed["k_1_2_2"] == r"8 \pi^{4} \, EI_{z1} / l_{1}^{3}"
    assert closed["dphi_1_3_root"] == r"3 \pi / l_{1}"


def test_user_shapes():
    shapes = ("1 - cos(pi*x/(2*L))", "x^2*exp(-x/L)/L^2")
    _, checked = check(robot(Modes(bend_y=Family(shape="user", expressions=shapes, normalise="none"))))
    assert {"first", "moment", "mass", "stiffness", "value", "slope"} <= checked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x/L", sympy.Rational(1, 2)),
        ("sin(pi*x/L)", 2 / sympy.pi),
        ("exp(x/L)", sympy.E - 1),
        ("cosh(2*x/L)", sympy.sinh(2) / 2),
    ],
)
def test_integrals(text, value):
    assert float(integrate(parse(text)) - value) == pytest.approx(0.0, abs=1e-14)


def test_what_is_integrable():
    assert is_integrable(sympy.sin(3 * XI) ** 2 * XI**3 * sympy.exp(-XI / L))
    for formula in (sympy.tan(XI), sympy.exp(XI**2), sympy.log(1 + XI), sympy.sqrt(XI), 1 / (1 + XI)):
        assert not is_integrable(formula)


@pytest.mark.parametrize("text", ["x^2*exp(x^2/L^2)", "log(1 + x/L) - x/L + x^2/L^2", "x^2/(L + x)"])
def test_a_shape_without_closed_integrals_is_named(text):
    arm = robot(Modes(bend_y=Family(shape="user", expressions=(text,))))
    with pytest.raises(ModelError, match="cannot be integrated in closed form") as caught:
        equations(arm, integrals="closed")
    assert text in str(caught.value)
    assert "links[0] 'arm'" in str(caught.value)
    # the way that works
    assert "quadrature" in str(caught.value)
    assert equations(arm).functions().mass_matrix([0.0, 0.0]).shape == (2, 2)


def test_a_python_function_has_no_closed_form():
    def shape(x, length):
        return x**2, 2 * x, 2.0 + 0 * x

    with pytest.raises(ModelError, match="Python function"):
        equations(robot(Modes(bend_y=Family(shape="user", expressions=(shape,)))), integrals="closed")


def test_other_discretisations_have_no_closed_form(request):
    from pliant import Elements

    beam = Beam(
        length=1.0, properties=Properties(mass_per_length=1.0, EIz=1.0), elements=Elements(number=1, bend_z=False)
    )
    arm = Robot(name="arm", links=[Link(name="arm", joint=Joint(name="j"), beam=beam)])
    with pytest.raises(ModelError, match="a beam of elements have no closed form"):
        equations(arm, integrals="closed")
