"""The limits of the model: known loads reach them where theory says, and every analysis tells."""

import re
import warnings
from html import unescape

import numpy as np
import pytest

from pliant import Beam, Elements, Joint, Link, Modes, Properties, RigidPart, Robot, simulate
from pliant.analysis.equilibrium import equilibrium
from pliant.analysis.limits import ModelLimitWarning, axial_changes, axial_links, root_loads, slope_words, state_limits
from pliant.analysis.modes import modes
from pliant.analysis.statics import wrenches
from pliant.bodies.build import build_body
from pliant.control.linear_model import linearise
from pliant.dynamics import Dynamics

L, EI = 1.2, 25.0
CONVERGED = 1e-4
"""Eight cubic elements against the exact buckling load, relative."""


def column(gravity, mass_per_length=0.7, load=0.0, **more):
    beam = Beam(
        length=L,
        properties=Properties(mass_per_length=mass_per_length, EIz=EI),
        bending="linear",
        elements=Elements(number=8, bend_z=False),
    )
    payloads = [RigidPart(mass=load)] if load else []
    link = Link(name="mast", joint=Joint(name="foot"), beam=beam, payloads=payloads, **more)
    return Dynamics(Robot(name="column", gravity=gravity, links=[link]), compile="never")


def changes(arm, rate=0.0):
    still = np.zeros(arm.size)
    v = still.copy()
    v[0] = rate
    return axial_changes(arm, still[None], v[None], still[None])[0]["mast"][:2]


@pytest.mark.parametrize("name", ["cibicik-4dof", "seven-joint-arm", "six-dof", "canadarm", "offset"])
def test_roots_are_pulled_as_their_frames_move(name):
    """What joints hand on tells how roots move: frames, followed by themselves, move in the same way."""
    if name == "offset":
        # the beam begins far from the axis of its joint
        root = Joint(
            name="foot", axis="y", child_placement={"position": [0.3, -0.2, 0.1], "rotation": {"rpy": [0.3, 0.2, -0.4]}}
        )
        beam = Beam(
            length=L, properties=Properties(mass_per_length=0.7, EIy=EI, EIz=EI), modes=Modes(bend_y=1, bend_z=1)
        )
        post = Link(name="post", joint=Joint(name="turn", axis="x"), rigid={"mass": 1.0, "com": [0.1, 0.0, 0.0]})
        arm = Dynamics(Robot(name="offset", links=[post, Link(name="mast", joint=root, beam=beam)]), compile="never")
    else:
        arm = Dynamics(name)
    q, v, a = np.random.default_rng(3).normal(0.0, [[0.5], [1.0], [5.0]], (3, arm.size))
    elastic = np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)
    q[elastic], v[elastic] = 1e-3 * q[elastic], 1e-2 * v[elastic]
    found = root_loads(arm, arm.handed(q, v, a)[None])
    for i, link in enumerate(axial_links(arm)):
        R = arm.pose(f"{link}.root", q).rotation
        pull = arm.mechanism.gravity - arm.acceleration(f"{link}.root", q, v, a).linear
        turning = R[:, 1:].T @ arm.velocity(f"{link}.root", q, v).angular
        assert found.pulls[0, i] == pytest.approx(R[:, 0] @ pull, rel=1e-9)
        assert found.spins[0, i] == pytest.approx(turning @ turning, rel=1e-9)


def test_a_beam_that_turns_about_its_own_axis_turns_no_axis():
    """Squares of rates are none below zero by rounding, whatever the axes in which they are found."""
    for k in range(12):
        axis = np.random.default_rng(k).normal(size=3).tolist()
        table = Link(name="table", joint=Joint(name="turn", axis="x"), rigid={"mass": 1.0, "com": [0.1, 0.0, 0.0]})
        beam = Beam(length=L, properties=Properties(mass_per_length=0.7, EIz=EI), modes=Modes(bend_y=1, bend_z=0))
        mast = Link(name="mast", joint=Joint(name="hinge", axis=axis), beam=beam)
        arm = Dynamics(Robot(name="turntable", links=[table, mast]), compile="never")
        v = np.zeros(arm.size)
        v[0] = 3.7
        found = root_loads(arm, arm.handed(np.zeros(arm.size), v, np.zeros(arm.size))[None])
        assert 0.0 <= found.spins[0, 0] < 1e-12


def test_eulers_column():
    """A load on a mast without weight against pi^2 EI / (4 L^2); a hub below it presses nothing."""
    critical = np.pi**2 * EI / (4 * L**2)
    arm = column((-10.0, 0.0, 0.0), mass_per_length=1e-9, load=0.3 * critical / 10, hub=RigidPart(mass=50.0))
    least, most = changes(arm)
    assert least == pytest.approx(-0.3, rel=CONVERGED)
    assert most == pytest.approx(0.0, abs=1e-12)


def test_a_mast_under_its_own_weight():
    """Greenhill: it buckles at a weight of 7.8373 EI / L^2."""
    critical = 7.837347 * EI / L**2
    least, _ = changes(column((-10.0, 0.0, 0.0), mass_per_length=0.4 * critical / L / 10))
    assert least == pytest.approx(-0.4, rel=CONVERGED)
    # hanging, the same weight stiffens
    assert changes(column((10.0, 0.0, 0.0), mass_per_length=0.4 * critical / L / 10))[0] == pytest.approx(
        0.0, abs=1e-12
    )


def test_a_rotating_beam():
    """Southwell: rotation adds 1.193 times the square of its speed to that of the first frequency, by Rayleigh."""
    arm = column((0.0, 0.0, 0.0))
    first = 1.8751040687**2 * np.sqrt(EI / 0.7 / L**4)
    _, most = changes(arm, rate=0.5 * first)
    assert 1.193 < most / 0.5**2 < 1.03 * 1.193
    # with the one clamped-free shape of which that number is, it is met
    shape = Modes(shape="clamped-free", bend_y=1)
    beam = Beam(length=L, properties=Properties(mass_per_length=0.7, EIz=EI), bending="linear", modes=shape)
    one = Dynamics(
        Robot(name="blade", gravity=(0, 0, 0), links=[Link(name="mast", joint=Joint(name="foot"), beam=beam)]),
        compile="never",
    )
    assert changes(one, rate=0.5 * first)[1] / 0.5**2 == pytest.approx(1.193, abs=5e-4)


def test_a_held_acceleration_along_the_beam_counts_as_weight():
    elements = Elements(number=8, bend_z=False)
    beam = Beam(length=L, properties=Properties(mass_per_length=0.7, EIz=EI), bending="linear", elements=elements)
    rail = Joint(name="rail", type="prismatic", axis="x")
    arm = Dynamics(
        Robot(name="cart", gravity=(0, 0, 0), links=[Link(name="mast", joint=rail, beam=beam)]), compile="never"
    )
    still = np.zeros(arm.size)
    a = still.copy()
    a[0] = 10.0
    # beside a state at rest
    states = np.zeros((2, arm.size))
    assert axial_changes(arm, states, states, np.array([still, a]))[1]["mast"][:2] == pytest.approx(
        changes(column((-10.0, 0.0, 0.0))), abs=1e-9
    )


@pytest.mark.parametrize(
    ("part", "words"), [(0.1, None), (0.5, "with 50 % of its buckling load"), (1.4, "with 1.4 times its buckling")]
)
def test_what_is_said_of_a_column(part, words):
    critical = np.pi**2 * EI / (4 * L**2)
    arm = column((-10.0, 0.0, 0.0), mass_per_length=1e-9, load=part * critical / 10)
    told = state_limits(arm, np.zeros(arm.size))
    assert (words is None and not told) or (len(told) == 1 and words in told[0])


def test_what_is_said_of_slopes():
    assert not list(slope_words("arm", 0.19))
    (rough,) = slope_words("arm", 0.3, " (at 1 s)")
    assert "turns by 0.3 rad (at 1 s); beyond 0.2 rad linear bending is only a rough model" in rough
    (senseless,) = slope_words("arm", 45.0)
    assert "the result means nothing" in senseless
    assert "rough" not in senseless
    assert "write bending: exact" in next(iter(slope_words("arm", 0.5, bending="second-order")))
    assert not list(slope_words("arm", 3.0, bending="exact"))


def sagging():
    """Five kilograms on three metres of aluminium strip: no state of rest of any sense."""
    beam = Beam(length=3.0, properties=Properties(mass_per_length=0.054, EIz=0.117), modes=Modes(bend_y=2))
    link = Link(name="strip", joint=Joint(name="hub"), beam=beam, payloads=[RigidPart(mass=5.0)])
    return Dynamics(Robot(name="sag", gravity=(0, -9.81, 0), links=[link]), compile="never")


@pytest.mark.parametrize("analysis", [equilibrium, modes, linearise])
def test_every_analysis_tells(analysis):
    with pytest.warns(ModelLimitWarning, match="link 'strip' would have to bend until its tip turns by"):
        found = analysis(sagging())
    if analysis is not linearise:
        assert "the result means nothing" in found.warnings[0]


def test_loops_and_modal_data_are_looked_at_too():
    arm = Dynamics("dualemps", compile="never")
    assert state_limits(arm, arm.assemble()) == []


def test_slopes_are_judged_by_the_kind_of_bending():
    """Second order holds twice as far as linear bending, exact bending everywhere; each says what cures it."""
    assert not list(slope_words("arm", 0.3, bending="second-order"))
    (rough,) = slope_words("arm", 0.5, bending="second-order")
    assert "beyond 0.4 rad second-order bending is only a rough model: write bending: exact" in rough
    assert not list(slope_words("arm", 3.0, bending="exact"))
    (linear,) = slope_words("arm", 0.3)
    assert "write bending: second-order or exact" in linear


# ---------------------------------------------------------------- one place, told everywhere

SAG = "bends until its tip turns by"
PRESSED = "of its buckling load"
BUCKLES = "times its buckling load"
TURNS = "of its first bending frequency"


def soft(bending, case):
    """A beam that sags, stands under a load, stands under more than it carries, or turns fast."""
    gravity, payload = {
        "sags": ((0, -2.0, 0), 0.5),
        "stands": ((-2.0, 0, 0), 0.5),
        "buckles": ((-2.0, 0, 0), 1.6),
        "turns": ((0, 0, -1e-9), 0.0),
    }[case]
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=0.01, EIz=1.0),
        bending=bending,
        modes=Modes(shape="legendre", bend_y=2),
    )
    parts = [RigidPart(mass=payload)] if payload else []
    link = Link(name="beam", joint=Joint(name="hub"), beam=beam, payloads=parts)
    return Robot(name="soft", gravity=gravity, links=[link])


def told_by_all(robot, rate, folder):
    """What each of the analyses and a short run with its report say of a robot."""
    arm = Dynamics(robot, compile="never")
    v = {"hub": rate} if rate else None
    yield "equilibrium", equilibrium(arm, rates=v).warnings
    yield "modes", modes(arm, v=v).warnings
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        linearise(arm, v=v)
    yield "linearise", tuple(str(w.message) for w in seen)
    found = equilibrium(arm, rates=v)
    run = simulate(arm, until=1e-4, start=(found.q, found.v), method="rk4", step=1e-5)
    yield "simulate", run.warnings
    run.report(folder / "report.html")
    yield "report", tuple(unescape((folder / "report.html").read_text(encoding="utf-8")).split("<li>"))


@pytest.mark.filterwarnings("ignore::UserWarning")  # they are what is looked at
@pytest.mark.parametrize(
    ("case", "bending", "words"),
    [
        ("sags", "linear", (SAG, "write bending: second-order or exact")),
        ("sags", "second-order", (SAG, "write bending: exact")),
        ("sags", "exact", None),
        ("stands", "linear", (PRESSED, "write bending: second-order or exact")),
        ("stands", "second-order", None),
        ("stands", "exact", None),
        ("buckles", "linear", (BUCKLES, "write bending: second-order or exact")),
        ("buckles", "second-order", (BUCKLES, "write bending: exact")),
        ("turns", "linear", (TURNS, "write bending: second-order or exact")),
        ("turns", "second-order", None),
        ("turns", "exact", None),
    ],
)
def test_every_limit_is_told_everywhere(case, bending, words, tmp_path):
    for where, told in told_by_all(soft(bending, case), 20.0 if case == "turns" else 0.0, tmp_path):
        of_bending = [text for text in told if "link 'beam'" in text]
        if words is None:
            assert of_bending == [], where
        else:
            assert any(all(word in text for word in words) for text in of_bending), (where, told)


def test_loads_press_too():
    """Half of Euler's load at the tip, and at the middle: there only the lower half is pressed."""
    arm = column((0.0, 0.0, 0.0))
    half = 0.5 * np.pi**2 * EI / (4 * L**2)
    still = np.zeros(arm.size)
    loads = wrenches({"tip": [-half, 0, 0]})
    rest = still[None]
    assert axial_changes(arm, rest, rest, rest, loads)[0]["mast"].least == pytest.approx(-0.5, rel=CONVERGED)
    assert "with 50 % of its buckling load" in state_limits(arm, still, loads=loads)[0]


# ---------------------------------------------------------------- modal data and matrices of finite elements


def as_data(bending, shapes):
    """A steel strip of 1 m as modal data, with its geometric constants where it is of second order."""
    beam = {"length": 1.0, "properties": {"mass_per_length": 1.0, "EIy": 1.0, "EIz": 1.0}, "modes": shapes}
    body = build_body(Link(name="strip", joint=Joint(name="hub"), beam={**beam, "bending": bending}))
    keys = ("first", "first_modal", "beta", "lam", "I_rr", "I_re", "I_ee", "M_ee", "K_ee")
    at, large = body.frames["tip"], body.large
    bent = {} if large is None else {"Gamma_first": large.first, "Gamma_second": large.second}
    tip = {"position": at.position.tolist(), "Phi_d": at.Phi_d, "Phi_r": at.Phi_r}
    if large is not None:
        tip["Gamma"] = large.frames["tip"]
    data = {"mass": body.mass, "length": 1.0, "frames": {"tip": tip}, **{key: getattr(body, key) for key in keys}}
    return Link(name="strip", joint=Joint(name="hub", axis="z"), modal={**data, **bent})


def said(bending, *, gravity=(0, 0, 0), rate=0.0, shapes=None):
    link = as_data(bending, shapes or {"bend_y": 1, "bend_z": 1})
    arm = Dynamics(Robot(name="arm", links=[link], gravity=gravity), compile="never")
    v = np.eye(1, arm.size)[0] * rate
    return state_limits(arm, np.zeros(arm.size), v)


def test_linear_data_tell_what_they_do_not_know():
    """A link of modal data turns and is pressed as a beam is; its cure is another, since it has no key."""
    (turning,) = said("linear", rate=2.0)
    assert "turns at 56.9 % of its first bending frequency" in turning
    assert "give Gamma_first and Gamma_second with the modal data, or describe the link as a beam" in turning
    # a mast under its own weight: 7.84 EI / L^2 is what buckles it
    (pressed,) = said("linear", gravity=(-4.0, 0, 0))
    share = float(re.search(r"with ([\d.]+) % of its buckling load", pressed)[1])
    assert share == pytest.approx(100 * 4.0 / 7.837, rel=0.03)
    assert not said("linear", gravity=(0, -0.1, 0))


def test_data_of_second_order_know_it():
    assert not said("second-order", rate=2.0)
    assert not said("second-order", gravity=(-4.0, 0, 0))
    (buckled,) = said("second-order", gravity=(-9.0, 0, 0))
    assert "describe the link as a beam with bending: exact" in buckled
    assert "bending: exact has no such limit" in next(iter(slope_words("arm", 2.0, bending="linear", data=True)))
    assert "Gamma_first" in next(iter(slope_words("arm", 0.3, bending="linear", data=True)))


@pytest.mark.parametrize(("rate", "told"), [(0.1, False), (0.27, True)])
def test_slow_rotation_of_a_linear_beam_is_told_from_a_quarter_of_its_frequency(rate, told):
    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=1.0, EIz=100.0),
        modes=Modes(shape="clamped-free", bend_y=2),
        bending="linear",
    )
    robot = Robot(name="rotor", gravity=(0, 0, 0), links=[Link(name="blade", joint=Joint(name="hub"), beam=beam)])
    arm = Dynamics(robot, compile="never")
    first = 1.8751040687**2 * 10.0
    texts = state_limits(arm, np.zeros(3), [rate * first, 0.0, 0.0])
    assert any("of its first bending frequency" in text for text in texts) == told
