"""CasADi functions by replay of the tape: for optimal control, and as an independent autodiff."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pliant.engine.trace.program import Address
from pliant.engine.trace.tape import FUNCTIONS, STUMPFF, Node, live
from pliant.export.functions import GRAVITY, Exported, Model, model, target
from pliant.files import written
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_far, stumpff_near

if TYPE_CHECKING:
    from pathlib import Path

    from pliant.dynamics import Dynamics


def casadi_function(
    arm: Dynamics, function: str = "forward", *, frames: Sequence[str] = ("tip",), parameters: bool = False
) -> Any:
    """One function of an arm (forward, inverse, mass_matrix, ...; see generate_c) as a casadi.Function.

    Inputs and outputs are named as in generate_c: forward(q, v, f) -> a. A mass matrix is (n, n), poses are
    (12, frames), Jacobians (6 frames, n). With ``parameters=True`` a last input holds gravity and the
    constants of the links, for which ``parameters(arm)`` gives the robot's values.
    """
    what = model(arm, (function,), frames, unroll=True)
    return _replayed(what, what.functions[0], parameters)


def generate_casadi(
    arm: Dynamics,
    path: str | os.PathLike[str],
    function: str = "forward",
    *,
    frames: Sequence[str] = ("tip",),
) -> Path:
    """Save one function of an arm to a file that ``casadi.Function.load`` reads."""
    out = target(path, ".casadi")
    with written(out) as beside:
        casadi_function(arm, function, frames=frames).save(str(beside))
    return out


def _casadi() -> Any:
    try:
        import casadi
    except ImportError:
        raise ImportError("this export needs the package casadi: pip install casadi") from None
    return casadi


def _replayed(what: Model, each: Exported, with_parameters: bool) -> Any:
    ca = _casadi()
    (kernel,) = each.kernels
    tape, signature = kernel.tape, each.signature
    arrays = {name: ca.SX.sym(name, each.program.size) for name in signature.inputs}
    values = ca.SX.sym("parameters", len(what.parameters))
    # elements once: indexing a casadi vector is slow
    entries = {name: ca.vertsplit(x) for name, x in arrays.items()}
    held = ca.vertsplit(values) if with_parameters else list(what.parameters)
    entries |= {"gravity": held[:GRAVITY], "constants": held[GRAVITY:]}
    value: dict[int, Any] = {}
    for i in live(kernel.outputs):
        op, a = tape.op[i], tape.a[i]
        if op == "constant":
            value[i] = a
        elif op == "symbol":
            address: Address = a
            value[i] = entries[address.array][address.index]
        else:
            value[i] = _applied(ca, op, value[a], value.get(tape.b[i]))
    outputs = [value[x.index] if type(x) is Node else float(x) for x in kernel.outputs]
    out = _shaped(ca, ca.vertcat(*outputs), each)
    inputs, names = list(arrays.values()), list(arrays)
    if with_parameters:
        inputs, names = [*inputs, values], [*names, "parameters"]
    return ca.Function(signature.name, inputs, [out], names, [signature.output])


def _applied(ca: Any, op: str, a: Any, b: Any) -> Any:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b
        case "negate":
            return -a
        case _ if op in FUNCTIONS:
            return getattr(ca, op)(a) if b is None else getattr(ca, op)(a, b)
        case "ramp":
            return ca.fmax(a, 0.0)
        case "step":
            return ca.if_else(a > 0.0, 1.0, 0.0)
        case "frozen":
            return a
        case _:
            k = int(op.removeprefix(STUMPFF))
            # both are defined at every angle: CasADi evaluates the one that is not asked for as well
            beyond = stumpff_far(k, ca.fmax(a, STUMPFF_FAR))
            return ca.if_else(a > STUMPFF_FAR, beyond, stumpff_near(k, ca.fmin(a, STUMPFF_FAR)))


def _shaped(ca: Any, out: Any, each: Exported) -> Any:
    """CasADi stores by columns: rows of a matrix come first as columns."""
    match each.signature.output:
        case "M":
            return ca.reshape(out, *each.shape).T
        case "poses":
            return ca.reshape(out, 12, each.shape[0])
        case "J":
            frames, rows, n = each.shape
            return ca.reshape(out, n, frames * rows).T
        case _:
            return out
