"""Positions, rotations, Jacobians and energies in symbols against material points and a Lagrangian written by hand."""

import numpy as np
import pytest
import sympy

from material_points import MaterialPoints
from pliant import Beam, Dynamics, Family, Joint, Link, ModelError, Modes, Properties, RigidPart, Robot
from pliant.formulations.lagrange.equations import equations
from pliant.spatial.scalars import stumpff
from small_arms import ARMS, linear

ROUNDING = 1e-10
NAMES = ("rigid-spatial", "two-flexible-two-modes", "two-planes-exponential", "pinned-turned", "gantry", "branching")


def numbers(expression, eq, q, values, v=()):
    """A matrix of SymPy at a state."""
    functions = {f"c{k}": lambda s, k=k: stumpff(k, s) for k in range(1, 8)} | {"cayley": lambda s: 4 / (4 + s)}
    free = sorted(expression.free_symbols - set(eq.q) - set(eq.v), key=str)
    call = sympy.lambdify([*eq.q, *eq.v, *free], expression, modules=["numpy", functions])
    return np.array(call(*q, *(v if len(v) else q), *(values[str(s)] for s in free)), dtype=float)


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_where_the_points_are(name):
    """Positions by material points, Jacobians by their complex steps."""
    robot = linear(ARMS[name]())
    eq, arm = equations(robot), Dynamics(robot, compile="never")
    points = MaterialPoints(robot, arm.names)
    q = 0.3 * np.random.default_rng(6).normal(size=arm.size)
    for frame in [f"{link.name}.tip" for link in robot.links if f"{link.name}.tip" in arm.frames]:
        found = eq.kinematics.frame(frame)
        R, p = points.frame(frame, q)
        assert np.abs(numbers(found.p, eq, q, found.values).ravel() - np.real(p)).max() < ROUNDING
        assert np.abs(numbers(found.R, eq, q, found.values) - np.real(R)).max() < ROUNDING
        J = numbers(sympy.Matrix.vstack(found.J_v, found.J_w), eq, q, found.values)
        assert np.abs(J - points.frame_jacobian(frame, q)).max() < ROUNDING


@pytest.mark.parametrize("name", [*NAMES, "rigid-driven"])
def test_energies_add_up(name):
    robot = linear(ARMS[name]())
    eq, arm = equations(robot), Dynamics(robot, compile="never")
    rng = np.random.default_rng(8)
    q, v = 0.3 * rng.normal(size=arm.size), rng.normal(size=arm.size)
    parts = eq.kinematics.energies
    H = sum(numbers(part.H, eq, q, part.values) for part in parts)
    motors = arm.mass_matrix(q) - H
    # what is left is the inertia of motors, which does not depend on the pose
    straight = sum(numbers(part.H, eq, 0 * q, part.values) for part in parts)
    assert np.abs(motors - (arm.mass_matrix(0 * q) - straight)).max() < ROUNDING
    assert np.linalg.eigvalsh(motors).min() > -ROUNDING
    energy, rest = arm.energy(q, v), arm.energy(0 * q, 0 * v)
    T = sympy.Matrix([eq.kinetic_energy])
    assert float(numbers(T, eq, q, eq.values, v)[0, 0]) == pytest.approx(energy.kinetic, rel=1e-10)
    V = sympy.Matrix([eq.potential_energy])
    wide = eq.kinematics.complete.values
    change = float(numbers(V, eq, q, wide)[0, 0] - numbers(V, eq, 0 * q, wide)[0, 0])
    # of gravity body by body
    lifted = [
        sum(float(numbers(sympy.Matrix([x.potential]), eq, at, x.values)[0, 0]) for x in parts) for at in (q, 0 * q)
    ]
    assert lifted[0] - lifted[1] == pytest.approx(energy.gravity - rest.gravity, rel=1e-9, abs=1e-9)
    theirs = energy.strain + energy.gravity - rest.strain - rest.gravity
    assert change == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def test_by_hand():
    """One link with the shape (x/l)^2 and a payload: its Lagrangian by hand, with all parameters as symbols.

    Our equations have them as symbols, too, so that the difference vanishes identically.
    """
    modes = Modes(bend_y=Family(shape="polynomial", count=1, normalise="none"))
    beam = Beam(length=1.3, bending="linear", properties=Properties(mass_per_length=0.7, EIz=3.0), modes=modes)
    link = Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=(RigidPart(mass=0.4),))
    eq = equations(Robot(name="arm", gravity=(0, -9.81, 0), links=[link]), integrals="inside")
    l, rho, EI, mp, g = (eq.symbol(name) for name in ("l_1", "rho_1", "EIz_1", "mp_1", "g"))  # noqa: E741
    t, x = sympy.symbols("t x", positive=True)
    theta, w = sympy.Function("theta")(t), sympy.Function("w")(t)
    shape = x**2 / l**2

    def place(at):
        y = shape.subs(x, at) * w
        return sympy.Matrix(
            [at * sympy.cos(theta) - y * sympy.sin(theta), at * sympy.sin(theta) + y * sympy.cos(theta)]
        )

    square = lambda r: sympy.expand(r.diff(t).dot(r.diff(t)))  # noqa: E731
    T = sympy.integrate(sympy.expand(rho * square(place(x)) / 2), (x, 0, l)) + mp * square(place(l)) / 2
    V = sympy.integrate(sympy.expand(rho * g * place(x)[1]), (x, 0, l)) + mp * g * place(l)[1]
    V += sympy.integrate(EI * shape.diff(x, 2) ** 2, (x, 0, l)) * w**2 / 2
    wanted = [(T - V).diff(q.diff(t)).diff(t) - (T - V).diff(q) for q in (theta, w)]
    a = sympy.symbols("a_1 a_2")
    ours = eq.M * sympy.Matrix(a) + eq.bias
    names = [(q.diff(t, 2), second) for q, second in zip((theta, w), a, strict=True)]
    names += [(q.diff(t), rate) for q, rate in zip((theta, w), eq.v, strict=True)]
    names += list(zip((theta, w), eq.q, strict=True))
    for row, theirs in zip(ours, wanted, strict=True):
        difference = sympy.simplify(sympy.expand(row - theirs.subs(names)))
        assert sympy.nsimplify(difference, rational=True, tolerance=1e-12) == 0


def test_pages_have_the_steps():
    eq = equations("lin-lewis-rfr", bending="linear")
    text = eq.to("text", steps=True)
    order = [
        text.index(f"[{title}") for title in ("Step 1.1", "Step 2.1", "Step 3.1", "Step 4", "Inertia", "Step 5", "Cor")
    ]
    assert order == sorted(order)
    assert "J_hand[x4] = -lc_3*sin(theta_1 + theta_2 + alpha_2 + theta_3)" in text
    assert "M[1,1;2]" in text
    for form in ("latex", "markdown", "html"):
        assert "Step 3.2: energies of forearm" in eq.to(form, steps=True)
    with pytest.raises(ValueError, match="steps of a derivation are for pages"):
        eq.to("c", steps=True)
    with pytest.raises(ModelError, match="all terms"):
        equations("lin-lewis-rfr", order=1).to("text", steps=True)


def test_constants_of_the_steps_alone_are_listed():
    """A base that stands somewhere else is in no equation, but in positions."""
    joint = Joint(name="hub", placement={"position": (0.0, 0.3, 0.0)})
    eq = equations(
        Robot(name="arm", gravity=(0, -9.81, 0), links=[ARMS["rigid-two-link"]().links[0].with_changes(joint=joint)])
    )
    assert "o_1_y" not in eq.to("text")
    assert "o_1_y = 0.3" in eq.to("text", steps=True)


def test_unknown_frames():
    with pytest.raises(ModelError, match=r"no frame 'hand\.tpi'; did you mean 'hand\.tip'"):
        equations("lin-lewis-rfr").kinematics.frame("hand.tpi")
