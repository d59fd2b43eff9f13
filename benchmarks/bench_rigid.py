"""(a) Rigid robots against Pinocchio: chains and a tree, full inertia tensors, general rotations.

Each algorithm is called the same way on both sides: in a compiled loop (no Python at all), and from Python.
Of Pinocchio's two variants of aba the faster one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from compiled import program_of, single, steps
from peers import CompiledPeer, NoPeerError, compiled_library, python_model
from report import Goal, Options, Row, Section, alone
from robots import FAMILIES, flexible_chain, rigid_chain, rigid_tree, state
from timing import Looped, calls, race

from pliant import Dynamics
from pliant.engine.call.calls import QuickCall
from pliant.formulations.recursive.recursions import FORWARD, INVERSE

LENGTHS = (2, 7, 20, 30, 50)
SLOPES = "computeRNEADerivatives"
AGREE = 1e-9
"""Relative difference that two programs may have, after n links of rounding."""

FASTER = Goal(">=", 4.0)
NOT_SLOWER = Goal(">=", 1.0)
DERIVATIVES = Goal(">=", 1 / 0.7)
CALLED = Goal(">=", 0.5)
"""A call with all that Python adds takes at most twice as long as one that only fills a structure."""
EXTRA = Goal("<=", 2.4)
"""A microsecond where the plain call takes 0.42."""


def measure(options: Options) -> Section:
    section = Section("rigid", "Rigid robots against Pinocchio")
    robots = [(f"chain of {n}", rigid_chain(n)) for n in LENGTHS] + [("tree of 30", rigid_tree(30))]
    for name, robot in robots:
        arm = Dynamics(robot)
        goal = FASTER if name == "chain of 7" else None
        for how, compare in (("compiled", _compiled), ("Python", _python)):
            try:
                section.add(*compare(arm, name, goal, options))
            except NoPeerError as missing:
                note = f"{how} comparison left out: {missing}"
                if note not in section.notes:
                    section.notes.append(note)
    return section


def _compiled(arm: Dynamics, name: str, goal: Goal | None, options: Options) -> list[Row]:
    """Both sides in compiled loops."""
    peer = CompiledPeer(compiled_library(options.out), arm.robot)
    inputs = state(arm.size, scale=1.0)
    peer.set(*inputs)
    forward, forward_work = single(program_of(FORWARD, arm.tree), inputs)
    inverse, inverse_work = single(program_of(INVERSE, arm.tree), inputs)
    candidates: dict[str, Looped] = {"forward": forward, "inverse": inverse}
    mass, slopes = QuickCall(), QuickCall()
    M = arm._slopes.mass(mass, inputs[0])
    arm._slopes.all(slopes, *inputs)
    candidates |= {"mass": steps(mass), "slopes": steps(slopes)}
    names = ("aba_local", "aba_world", "rnea", "crba", "rnea_derivatives")
    candidates |= {each: peer.loop(each) for each in names}
    if name == "chain of 7":
        flexible = Dynamics(flexible_chain(3, FAMILIES[4]))
        candidates["flexible"], _ = single(program_of(FORWARD, flexible.tree), state(flexible.size))
    times = race(candidates, options.seconds)
    for each in ("aba_local", "rnea"):
        peer.loop(each)(1)
    _must_agree(name, "forward", forward_work.run(), peer.results()[0])
    _must_agree(name, "inverse", inverse_work.run(), peer.results()[1])

    _must_agree(name, "inertia in the inverse", M @ inputs[2] + arm.bias(*inputs[:2]), peer.results()[1])

    aba = min(times["aba_local"], times["aba_world"])
    rows = [
        Row(name, "forward, compiled loop", times["forward"], "ns", "Pinocchio aba", aba, goal=goal),
        Row(name, "inverse, compiled loop", times["inverse"], "ns", "Pinocchio rnea", times["rnea"]),
        Row(name, "mass matrix, compiled loop", times["mass"], "ns", "Pinocchio crba", times["crba"], goal=NOT_SLOWER),
        Row(
            name,
            "inverse d/d(q, v, a), compiled loop",
            times["slopes"],
            "ns",
            f"Pinocchio {SLOPES}",
            times["rnea_derivatives"],
            goal=NOT_SLOWER,
        ),
    ]
    if "flexible" in times:
        what, peer_aba = "forward, 3 flexible links x 4", "Pinocchio aba, 7 rigid links"
        rows.append(Row(name, what, times["flexible"], "ns", peer_aba, aba, goal=NOT_SLOWER))
    return rows


def _python(arm: Dynamics, name: str, goal: Goal | None, options: Options) -> list[Row]:
    """Both sides called from Python with arrays."""
    pin, model, data = python_model(arm.robot)
    q, v, x = state(arm.size, scale=1.0)
    _must_agree(name, "forward", arm.forward(q, v, x), pin.aba(model, data, q, v, x))
    _must_agree(name, "inverse", arm.forces(q, v, x), pin.rnea(model, data, q, v, x))
    # that of calls is for the chain of 7, as that of forward is
    called = CALLED if goal else None
    pairs: list[tuple[str, Callable[..., Any], str, Callable[..., Any], tuple[Any, ...], Goal | None]] = [
        ("arm.forward", arm.forward, "aba", pin.aba, (q, v, x), goal),
        ("arm.forces", arm.forces, "rnea", pin.rnea, (q, v, x), None),
        ("arm.mass_matrix", arm.mass_matrix, "crba", pin.crba, (q,), NOT_SLOWER),
        (
            "arm.inverse_derivatives",
            arm.inverse_derivatives,
            *_peer(pin, "computeRNEADerivatives"),
            (q, v, x),
            NOT_SLOWER,
        ),
        ("arm.derivatives", arm.derivatives, *_peer(pin, "computeABADerivatives"), (q, v, x), DERIVATIVES),
        ("arm.energy", arm.energy, *_peer(pin, "computeMechanicalEnergy"), (q, v), called),
        ("arm.inverse", arm.inverse, "rnea, again", pin.rnea, (q, v, x), called),
    ]
    candidates = {}
    for ours, function, theirs, peer, arguments, _ in pairs:
        candidates[ours] = calls(function, *arguments)
        candidates[theirs] = calls(peer, model, data, *arguments)
    _, work = single(program_of(FORWARD, arm.tree), (q, v, x))
    candidates["workspace"] = calls(work.run)
    times = race(candidates, options.seconds)
    rows = [
        Row(name, f"{ours}, from Python", times[ours], "ns", f"pinocchio.{theirs}", times[theirs], goal=wanted)
        for ours, _, theirs, _, _, wanted in pairs
    ]
    bound = Row(name, "workspace.run, from Python", times["workspace"], "ns", "pinocchio.aba", times["aba"])
    rows.insert(1, bound)
    return rows + (_calls(arm, name, options) if name == "chain of 7" else [])


def _peer(pin: Any, name: str) -> tuple[str, Callable[..., Any]]:
    return name, getattr(pin, name)


def _calls(arm: Dynamics, name: str, options: Options) -> list[Row]:
    """Frames against Pinocchio's kinematics, which only fill its data, and other ways to call ``forward``."""
    pin, model, data = python_model(arm.robot)
    q, v, x = state(arm.size, scale=1.0)
    last, tip, wrench = model.njoints - 1, arm.frames[-1], np.arange(6.0)
    wrenches = {tip: wrench}
    pairs = {
        "arm.jacobian": (calls(arm.jacobian, tip, q), "computeJointJacobian", (q, last)),
        "arm.pose": (calls(arm.pose, tip, q), "forwardKinematics", (q,)),
        "arm.velocity": (calls(arm.velocity, tip, q, v), "forwardKinematics, rates", (q, v)),
    }
    ways = {
        "without tau": calls(arm.forward, q, v),
        "with lists": calls(arm.forward, q.tolist(), v.tolist(), x.tolist()),
        "with force=": calls(partial(arm.forward, force=x), q, v, x),
        "with wrenches=": calls(partial(arm.forward, wrenches=wrenches), q, v, x),
    }
    theirs = {
        peer: calls(getattr(pin, peer.split(",")[0]), model, data, *arguments) for _, peer, arguments in pairs.values()
    }
    ours = {what: work for what, (work, _, _) in pairs.items()}
    times = race({**ours, **theirs, **ways, "plain": calls(arm.forward, q, v, x)}, options.seconds)
    rows = [
        Row(name, f"{what}, from Python", times[what], "ns", f"pinocchio.{peer}", times[peer], goal=CALLED)
        for what, (_, peer, _) in pairs.items()
    ]
    plain = ("arm.forward(q, v, tau)", times["plain"])
    return rows + [Row(name, f"arm.forward {way}", times[way], "ns", *plain, faster=False, goal=EXTRA) for way in ways]


def _must_agree(name: str, what: str, ours: Any, theirs: Any) -> None:
    error = np.abs(ours - theirs).max() / np.abs(theirs).max()
    if not error < AGREE:
        raise SystemExit(f"{name}: {what} dynamics differ from Pinocchio's, {error:.1e} of the largest entry")


if __name__ == "__main__":
    alone(measure)
