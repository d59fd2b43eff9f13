"""Appendix B of Cibicik & Egeland, symbolically: the linearised velocity (149) of a point of the second boom."""

import pytest

sympy = pytest.importorskip("sympy")


def turn(axis, angle):
    c, s = sympy.cos(angle), sympy.sin(angle)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R = sympy.eye(3)
    R[i, i], R[j, j], R[i, j], R[j, i] = c, c, -s, s
    return R


@pytest.fixture(scope="module")
def arm():
    """Symbols, frames and the position of the point in base axes from the origin of frame 2."""
    names = "q1 q2 q3 t1 t2 t3 k2 k3 r2 r3"
    x, L2, eps = sympy.symbols("x L2 eps")
    q = dict(zip(names.split(), sympy.symbols(names), strict=True))
    u = {name: sympy.Symbol("d" + name) for name in q}
    R02 = turn(2, q["q1"]) * turn(0, -sympy.pi / 2) * turn(2, -sympy.pi / 2) * turn(2, q["q2"])
    elastic = turn(0, q["t1"]) * turn(1, q["t2"]) * turn(2, q["t3"])
    R03 = R02 * elastic * turn(2, q["q3"])
    root = R02 * sympy.Matrix([L2, q["r2"], q["r3"]])
    point = R03 * sympy.Matrix([x, q["k2"], q["k3"]])

    def rate(p):
        return sum((p.diff(q[name]) * u[name] for name in q), sympy.zeros(3, 1))

    small = {s: eps * s for name in names.split()[3:] for s in (q[name], u[name])}
    return {"q": q, "u": u, "x": x, "L2": L2, "eps": eps, "small": small, "R02": R02, "R03": R03} | {
        "root": root,
        "point": point,
        "rate": rate,
        "R01": turn(2, q["q1"]),
    }


def first_order(expression, arm):
    """The terms of order zero and one in the elastic states; sines and cosines as polynomials with s^2 = 1 - c^2.

    Base axes are taken along those of frame 1, which is the same for every q1.
    """
    e = expression.subs(arm["q"]["q1"], 0).subs(arm["small"], simultaneous=True)
    terms = e.subs(arm["eps"], 0) + e.diff(arm["eps"]).subs(arm["eps"], 0)
    out = sympy.expand(terms)
    for name in ("q2", "q3"):
        c, s = sympy.cos(arm["q"][name]), sympy.sin(arm["q"][name])
        out = sympy.expand(out.subs(c**2, 1 - s**2).subs(c**3, c * (1 - s**2)))
    return out


def printed_root(arm):
    """(147)."""
    q, u = arm["q"], arm["u"]
    x1, y1 = arm["R01"][:, 0], arm["R01"][:, 1]
    x2, y2, z2 = (arm["R02"][:, k] for k in range(3))
    s2, c2 = sympy.sin(q["q2"]), sympy.cos(q["q2"])
    return (
        u["r2"] * y2
        + u["r3"] * z2
        - u["q1"] * q["r3"] * x1
        + u["q1"] * (arm["L2"] * s2 + q["r2"] * c2) * y1
        + u["q2"] * (arm["L2"] * y2 - q["r2"] * x2)
    )


def printed(arm):
    """(149) behind its first term."""
    q, u, x = arm["q"], arm["u"], arm["x"]
    x1, y1 = arm["R01"][:, 0], arm["R01"][:, 1]
    x2, y2, z2 = (arm["R02"][:, k] for k in range(3))
    x3, y3, z3 = (arm["R03"][:, k] for k in range(3))
    (s2, c2), (s3, c3) = ((sympy.sin(q[n]), sympy.cos(q[n])) for n in ("q2", "q3"))
    t1, t2, t3 = q["t1"], q["t2"], q["t3"]
    return (
        u["k2"] * y3
        + u["k3"] * z3
        + u["q1"] * x * (-s3 * t1 + c3 * t2) * x1
        + u["q1"] * x * (c3 * (c2 * t3 + s2) + s3 * (c2 - t3 * s2)) * y1
        + u["q1"] * q["k2"] * (c3 * c2 - s3 * s2) * y1
        - u["q1"] * q["k3"] * x1
        + u["q2"] * x * (-s3 - c3 * t3) * x2
        + u["q2"] * x * (c3 - t3 * s3) * y2
        - u["q2"] * q["k2"] * c3 * x2
        - u["q2"] * q["k2"] * s3 * y2
        + u["q3"] * x * y3
        - u["q3"] * q["k2"] * x3
        + u["t1"] * x * s3 * z2
        - u["t2"] * x * c3 * z2
        - u["t3"] * x * s3 * x2
        + u["t3"] * x * c3 * y2
    )


def test_the_root_is_linear_by_itself(arm):
    """(147) is exact: positions and velocities of the tip of the first elastic link are linear in its states."""
    difference = (arm["rate"](arm["root"]) - printed_root(arm)).applyfunc(sympy.expand)
    assert difference.applyfunc(sympy.simplify) == sympy.zeros(3, 1)


def test_linearised_velocity(arm):
    """(149) is the first-order part of the true velocity."""
    found, wanted = arm["rate"](arm["point"]), printed(arm)
    for k in range(3):
        assert sympy.expand(first_order(found[k], arm) - first_order(wanted[k], arm)) == 0


def test_a_wrong_sign_is_seen(arm):
    """The identity is no accident of the reduction: without one term it fails."""
    wrong = printed(arm) - 2 * arm["u"]["t1"] * arm["x"] * sympy.sin(arm["q"]["q3"]) * arm["R02"][:, 2]
    found = arm["rate"](arm["point"])
    assert any(sympy.expand(first_order(found[k], arm) - first_order(wrong[k], arm)) != 0 for k in range(3))
