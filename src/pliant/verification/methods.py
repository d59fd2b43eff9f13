"""Every method against the recursion, over the bundled robots: to rounding, or by the order of its error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import numpy as np

from pliant.analysis.lumped.frequencies import natural_frequencies
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.dynamics import Dynamics
from pliant.formulations.loops.loops import DenseForm
from pliant.formulations.method import METHODS, MethodError
from pliant.model.readers.library import robots
from pliant.reproduce.claim import Claim
from pliant.verification.claims import Floats, beam_robot, state

ROUNDING = 1e-10
"""Of the largest entry: double precision, some thousand operations, condition numbers of M about 1e5."""
AMPLITUDES = (1e-3, 5e-4)
"""Of the elastic states, at which the order of an approximate method is seen."""
ORDER = 0.2
"""How far an order that is seen may be from the one of the method."""
OTHERS = tuple(name for name in METHODS if name != "recursive")
QUANTITIES = ("forces", "accelerations")


def claims() -> Iterator[Claim]:
    """Method by method, robot by robot."""
    for name, _ in robots():
        recursive = Dynamics(name, compile="never")
        if recursive.loops.rows:
            yield from _forms(name)
            yield from _dense_loops(name)
            continue
        for method in OTHERS:
            yield from _method(name, method, recursive)
    yield from _lumped()


def refusals() -> dict[tuple[str, str], str]:
    """(method, robot) -> why the method does not serve it."""
    found = {}
    for name, _ in robots():
        for method in OTHERS:
            try:
                Dynamics(name, method=method, compile="never").traced("forward")
            except MethodError as error:
                found[method, name] = str(error)
    return found


def _method(name: str, method: str, recursive: Dynamics) -> Iterator[Claim]:
    try:
        arm = Dynamics(name, method=method, compile="never")
        arm.traced("forward")
    except MethodError:
        return
    q, v, a = state(recursive)
    elastic = np.setdiff1d(np.arange(arm.size), list(arm.mechanism.joints))
    f = arm.B @ np.linspace(-1.0, 2.0, len(arm.inputs))
    source = "method recursive"
    if arm.method.order is None or not len(elastic):
        pairs = zip(QUANTITIES, _both(arm, q, v, a, f), _both(recursive, q, v, a, f), strict=True)
        for quantity, ours, theirs in pairs:
            yield Claim(
                f"methods.{method}.{name}.{quantity}",
                f"{quantity} by {method}",
                _apart(ours, theirs),
                0.0,
                ROUNDING,
                source,
            )
        return
    errors = []
    for amplitude in AMPLITUDES:
        small = [x.copy() for x in (q, v)]
        for x in small:
            x[elastic] *= amplitude / np.abs(q[elastic]).max()
        errors.append(np.abs(plain(arm, "inverse", *small, a) - plain(recursive, "inverse", *small, a)).max())
    order = float(np.log(errors[0] / errors[1]) / np.log(AMPLITUDES[0] / AMPLITUDES[1]))
    # robots whose M depends on its elastic states of second order only are better served
    least = arm.method.order + 1.0
    what = f"order of the error of {method} in the elastic states, at least"
    yield Claim(f"methods.{method}.{name}.order", what, min(order, least), least, ORDER, source, absolute=True)


def plain(arm: Dynamics, what: Any, *given: Floats) -> Floats:
    """A function of the method on plain numbers: nothing is compiled."""
    traced = arm.traced(what)
    values = {name: list(x) for name, x in zip(traced.algorithm.inputs, given, strict=True)}
    return np.array(traced.algorithm.evaluate(traced.carrier, values), dtype=float)


def _both(arm: Dynamics, q: Floats, v: Floats, a: Floats, f: Floats) -> tuple[Floats, Floats]:
    return plain(arm, "inverse", q, v, a), plain(arm, "forward", q, v, f)


def _apart(ours: Floats, theirs: Floats) -> float:
    return float(np.abs(ours - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), 1e-300))


def _forms(name: str) -> Iterator[Claim]:
    """Closed loops: the articulated way beside the dense forms."""
    arm = Dynamics(name)
    q, v, _ = state(arm)
    f = arm.B @ np.linspace(-1.0, 2.0, len(arm.inputs))
    found = arm.loops.forward(q, v, f)
    for form in get_args(DenseForm):
        try:
            dense = arm.loops.forward_dense(form, q, v, f)
        except ValueError:
            # only robots with elastic legs have a platform form
            continue
        yield Claim(
            f"methods.loops-{form}.{name}.accelerations",
            f"accelerations of closed loops by the form '{form}'",
            _apart(found, dense),
            0.0,
            ROUNDING,
            "eliminated loops",
        )


def _dense_loops(name: str) -> Iterator[Claim]:
    """Closed loops by method dense: the whole mass matrix and all multipliers beside the elimination."""
    recursive, dense = Dynamics(name), Dynamics(name, method="dense")
    q, v, _ = state(recursive)
    f = recursive.B @ np.linspace(-1.0, 2.0, len(recursive.inputs))
    found = dense.loops.forward(q, v, f)
    yield Claim(
        f"methods.dense.{name}.accelerations",
        "accelerations of closed loops by dense",
        _apart(found, recursive.loops.forward(q, v, f)),
        0.0,
        ROUNDING,
        "method recursive",
    )


def _lumped() -> Iterator[Claim]:
    """Lumped nodes: frequencies of a cantilever, of second order in the length of an element."""
    exact = 1.8751040687119611**2
    errors = []
    for number in (8, 16):
        model = LumpedModel(beam_robot(elements={"number": number, "bend_z": False}))
        errors.append(float(natural_frequencies(model, model.at_rest(), 1)[0]) / exact - 1)
    yield Claim(
        "methods.lumped_fe.cantilever.order",
        "order of the error of lumped nodes in the length of an element",
        float(np.log2(errors[0] / errors[1])),
        2.0,
        ORDER,
        "Euler-Bernoulli beam",
        absolute=True,
    )
