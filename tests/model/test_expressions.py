"""User mode shapes: the values and derivatives are right, and nothing else can be said in the language."""

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.model.expressions import DEEPEST_NESTING, LONGEST_TEXT, ExpressionError, parse_expression

L = 0.7
X = np.linspace(0.05, 0.65, 7)
# a dozen operations in double precision, against a symbolic derivative
ROUNDING = 1e-10

EXPRESSIONS = [
    "x",
    "L",
    "pi",
    "3",
    "1.5e-3*x",
    "x^2/L^2",
    "x**2/L**2",
    "(x/L)^3 - 2*(x/L)^2",
    "-x^2",
    "(-x)^2",
    "2^-3*x",
    "x^-2",
    "x^0.5",
    "x^(1/3)",
    "x^2.5",
    "1/(1 + x)",
    "x/L/2*3",
    "1 - 2 - 3 + x - -x",
    "sin(pi*x/L)",
    "cos(3*x)^2",
    "tan(x)",
    "sinh(2*x) - cosh(x)",
    "tanh(x^2)",
    "exp(-x/L)",
    "log(1 + x)",
    "sqrt(1 + x^2)",
    "exp(sin(x)*cos(x))/(2 + tanh(x))",
    "cosh(1.875*x/L) - cos(1.875*x/L) - 0.734*(sinh(1.875*x/L) - sin(1.875*x/L))",
    "sin(sin(sin(x)))",
]


def symbolic(text):
    x, length = sympy.symbols("x L", positive=True)
    f = sympy.sympify(text.replace("^", "**"), locals={"x": x, "L": length})
    return [sympy.lambdify((x, length), sympy.diff(f, x, k), "numpy") for k in range(4)]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_value_and_derivatives(text):
    for found, exact in zip(parse_expression(text)(X, L), symbolic(text), strict=True):
        wanted = np.broadcast_to(exact(X, L), X.shape)
        assert found.shape == X.shape
        assert found == pytest.approx(wanted, rel=ROUNDING, abs=ROUNDING)


def test_whole_powers_are_exact_at_the_root():
    value, d1, d2, d3 = parse_expression("x^2/L^2")(0.0, L)
    assert (value, d1, d2, d3) == (0.0, 0.0, pytest.approx(2 / L**2, rel=1e-15), 0.0)


def test_shapes_follow_the_argument():
    f = parse_expression("x*L")
    assert all(part.shape == () for part in f(0.3, L))
    assert all(part.shape == (2, 3) for part in f(np.ones((2, 3)), L))


@pytest.mark.parametrize(
    ("text", "why", "place"),
    [
        ("", "the expression is empty", 1),
        ("   ", "the expression is empty", 4),
        ("x +", "the expression ends too early", 4),
        ("2x", "an operator is missing before 'x'", 2),
        ("x (2)", r"an operator is missing before '\('", 3),
        ("(x", r"a '\)' is missing", 3),
        ("x)", r"'\)' stands in the wrong place", 2),
        ("sin x", r"'sin' needs an argument", 5),
        ("sin()", r"'\)' stands in the wrong place", 5),
        ("sin(x, 2)", r"a '\)' is missing", 6),
        ("y", "'y' is not known", 1),
        ("sinn(x)", "did you mean 'sin'", 1),
        ("x.real", r"'\.' stands in the wrong place", 2),
        ("x.__class__.__mro__", r"'\.' stands in the wrong place", 2),
        ("__import__('os').system('true')", "'__import__' is not known", 1),
        ("open('/etc/passwd')", "'open' is not known", 1),
        ("eval(x)", "'eval' is not known", 1),
        ("lambda: 1", "'lambda' is not known", 1),
        ("[x for x in 3]", r"'\[' stands in the wrong place", 1),
        ("x if x else x", "an operator is missing before 'if'", 3),
        ("x == 2", "'=' stands in the wrong place", 3),
        ("x; x", "';' stands in the wrong place", 2),
        ("x := 3", "':' stands in the wrong place", 3),
        ("f'{x}'", "'f' is not known", 1),
        ("x % 2", "'%' stands in the wrong place", 3),
        ("x // 2", "'/' stands in the wrong place", 4),
        ("1j", "an operator is missing before 'j'", 2),
        ("x^x", "an exponent must be a plain number", 3),
        ("x^L", "an exponent must be a plain number", 3),
        ("2^x", "an exponent must be a plain number", 3),
        ("x^99", "an exponent must lie between -60 and 60", 3),
        ("x^9^9^9", "an exponent must lie between", 5),
        ("x^(1/0)", "an exponent must lie between", 3),
        ("x^log(-1)", "an exponent must lie between", 3),
        ("é", "'é' stands in the wrong place", 1),
        ("(" * (DEEPEST_NESTING + 1) + "x", "nested more than", DEEPEST_NESTING + 1),
        ("x^" * (DEEPEST_NESTING + 1) + "2", "nested more than", 2 * DEEPEST_NESTING + 1),
        ("x+" * LONGEST_TEXT + "x", "longer than", LONGEST_TEXT + 1),
    ],
)
def test_what_is_refused_and_where(text, why, place):
    with pytest.raises(ExpressionError, match=why) as caught:
        parse_expression(text)
    assert caught.value.place + 1 == place
    assert f"character {place} of" in str(caught.value)


@pytest.mark.parametrize("text", ["1/x", "log(x)", "sqrt(x)", "exp(1000*exp(1000))", "1/(x-x)"])
def test_what_is_not_finite_stays_quiet(text):
    values = np.array(parse_expression(text)(np.array([0.0, 0.5]), L))
    assert not np.isfinite(values).all()


@settings(max_examples=100)
@given(st.text(alphabet="xLpi0123456789.+-*/^() sincoeqrtah", max_size=60) | st.text(max_size=60))
def test_any_text_gives_a_shape_or_an_expression_error(text):
    try:
        f = parse_expression(text)
    except ExpressionError:
        return
    assert all(part.shape == X.shape for part in f(X, L))


leaves = st.sampled_from(["x", "L", "2", "0.5", "pi"])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["sin", "cos", "tanh"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"({t[0]})^{t[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(trees)
def test_derivatives_agree_with_complex_steps(text):
    """f(x + ih) gives the first derivative to full precision, by Python's own arithmetic."""
    h = 1e-20
    value, d1, *_ = parse_expression(text)(0.3, L)
    names = {name: getattr(np, name) for name in ("sin", "cos", "tanh")}
    step = eval(text.replace("^", "**"), {"__builtins__": {}}, {"x": 0.3 + h * 1j, "L": L, "pi": math.pi, **names})
    assert value == pytest.approx(np.real(step), rel=ROUNDING, abs=ROUNDING)
    assert d1 == pytest.approx(np.imag(step) / h, rel=ROUNDING, abs=ROUNDING)
