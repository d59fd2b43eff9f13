"""CasADi functions by replay of the tape: for optimal control, and as an independent autodiff."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pliant.algorithm import Traced
from pliant.bodies.words import words_of
from pliant.engine.trace.program import Address, RolledProgram
from pliant.engine.trace.roller import whole
from pliant.engine.trace.tape import FUNCTIONS as ON_TAPE
from pliant.engine.trace.tape import STUMPFF, Node, live
from pliant.errors import did_you_mean
from pliant.export.functions import GRAVITY, Exported, constants_of, model, target
from pliant.export.programs import POSE, with_own_frames
from pliant.export.signatures import FUNCTIONS, Signature, signature
from pliant.files import written
from pliant.model.description.derived_links import pieces_of, place_along
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_far, stumpff_near

if TYPE_CHECKING:
    from pathlib import Path

    from pliant.dynamics import Dynamics


class StrainPlace(NamedTuple):
    """A place on a beam, such as that of a strain gauge: m along its axis, and beside it in y and z."""

    link: str
    x: float
    y: float = 0.0
    z: float = 0.0


FURTHER = ("strain", "deflection")
"""Functions that only CasADi has, beside those of generate_c."""
ITERATED = 20
"""Newton steps of assemble and project: they are a fixed number, so that the result can be differentiated."""


def casadi_function(
    arm: Dynamics,
    function: str = "forward",
    *,
    frames: Sequence[str] = ("tip",),
    strains: Sequence[StrainPlace | tuple[Any, ...]] = (),
    parameters: bool = False,
) -> Any:
    """One function of an arm as a casadi.Function.

    function    forward, inverse, efforts, reactions, forward_by_q, ...: see generate_c. Of trees closure, closure_rate,
                closure_acceleration and closure_jacobian have no rows.
                strain(q): u' - y u_y'' - z u_z'' at places of beams
                deflection(q): how far bending moves frames on their own links, link axes (3, frames)
    frames      of pose, jacobian and deflection
    strains     places of strain: (link, x, y, z), m along the beam and beside its axis
    parameters  whether a last input holds gravity and the constants of the links, for which ``parameters(arm)`` gives
                the robot's values; of the functions of generate_c

    Inputs and outputs are named as in generate_c: forward(q, v, f) -> a. A mass matrix is (n, n), poses are (12,
    frames), Jacobians (6 frames, n), wrenches (6, joints), derivatives (numbers of the function, columns). With closed
    loops forward obeys them; inverse, bias, mass_matrix and energy are of the open tree, as the methods of Dynamics:
    M a + h = B tau + J^T lambda with J of closure_jacobian. assemble and project take a fixed number of Newton steps.
    """
    if function not in FURTHER:
        wanted = signature(function, FURTHER)
        if wanted.needs == "loops" and wanted.name.startswith("closure") and not arm.loops.rows:
            return _without_rows(arm, wanted)
        what = model(arm, (function,), frames, flat=True)
        return _function(what.functions[0], what.parameters, parameters)
    if parameters:
        raise ValueError(f"parameters=True: the constants of '{function}' are numbers in it; {_offered(FUNCTIONS)}")
    if function == "strain":
        return _strain(arm, [StrainPlace(*place) for place in strains])
    return _deflection(arm, (frames,) if isinstance(frames, str) else tuple(frames))


def generate_casadi(
    arm: Dynamics,
    path: str | os.PathLike[str],
    function: str = "forward",
    *,
    frames: Sequence[str] = ("tip",),
    strains: Sequence[StrainPlace | tuple[Any, ...]] = (),
) -> Path:
    """Save one function of an arm to a file that ``casadi.Function.load`` reads."""
    out = target(path, ".casadi")
    with written(out) as beside:
        casadi_function(arm, function, frames=frames, strains=strains).save(str(beside))
    return out


def casadi_package() -> Any:
    """The package casadi, which is no part of a plain installation."""
    try:
        import casadi
    except ImportError:
        raise ModuleNotFoundError("this needs the package casadi: pip install casadi") from None
    return casadi


def _offered(names: Sequence[str]) -> str:
    return f"those of {', '.join(names)} can be an input"


# ---- replay of tapes


def _function(each: Exported, held: Sequence[float], with_parameters: bool) -> Any:
    """An exported function as a casadi.Function; its constants as numbers, or as a last input."""
    ca = casadi_package()
    own = each.signature
    arrays = {name: ca.SX.sym(name, each.program.size) for name in own.inputs}
    values = ca.SX.sym("parameters", len(held))
    constants = ca.vertsplit(values) if with_parameters else list(held)
    found = _replayed(ca, each.program, arrays, constants)
    inputs, names = list(arrays.values()), list(arrays)
    if with_parameters:
        inputs, names = [*inputs, values], [*names, "parameters"]
    if not own.newton:
        return ca.Function(own.name, inputs, [_shaped(ca, found, each)], names, [own.output])
    return _iterated(ca, each, ca.Function("step", inputs, [found]), inputs, names)


def _iterated(ca: Any, each: Exported, step: Any, inputs: list[Any], names: list[str]) -> Any:
    """Newton steps one after the other; rates are put along the loops by the last of them."""
    n, rates = each.program.size, each.signature.inputs[1:]
    given = [ca.MX.sym(name, each_input.numel()) for name, each_input in zip(names, inputs, strict=True)]
    q, *others = given
    for _ in range(ITERATED):
        q = step(q, *others)[:n]
    out = ca.vertcat(q, step(q, *others)[n : 2 * n]) if rates else q
    return ca.Function(each.name, given, [out], names, [each.signature.output])


def _without_rows(arm: Dynamics, wanted: Signature) -> Any:
    """A function of the closures of a robot that has none."""
    ca = casadi_package()
    inputs = [ca.SX.sym(name, arm.size) for name in wanted.inputs]
    out = ca.SX.zeros(0, arm.size if len(wanted.shape) > 1 else 1)
    return ca.Function(wanted.name, inputs, [out], list(wanted.inputs), [wanted.output])


def _replayed(ca: Any, program: RolledProgram, arrays: dict[str, Any], constants: Sequence[Any]) -> Any:
    """Outputs of a whole program on symbols of CasADi; constants begin with gravity."""
    (kernel,) = (kernel for each in program.passes for kernel in each.kernels)
    tape = kernel.tape
    # elements once: indexing a casadi vector is slow
    entries = {name: ca.vertsplit(x) for name, x in arrays.items()}
    entries |= {"gravity": constants[:GRAVITY], "constants": constants[GRAVITY:]}
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
    return ca.vertcat(*(value[x.index] if type(x) is Node else float(x) for x in kernel.outputs))


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
        case _ if op in ON_TAPE:
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
    *rows, columns = each.shape
    if each.signature.output in ("poses", "wrenches"):
        return ca.reshape(out, columns, rows[0])
    return ca.reshape(out, columns, prod(rows)).T if rows else out


# ---- functions that only CasADi has


def _traced(ca: Any, traced: Traced, **arrays: Any) -> Any:
    """A traced function of the engine on symbols of CasADi."""
    return _replayed(ca, whole(*traced), arrays, constants_of(traced.carrier))


def _strain(arm: Dynamics, places: Sequence[StrainPlace]) -> Any:
    ca = casadi_package()
    if not places:
        raise ValueError(
            "strains is empty; give places on beams: (link, x, y, z), m along the beam and beside its axis"
        )
    rows = np.array([strain_row(arm, place) for place in places])
    q = ca.SX.sym("q", arm.size)
    return ca.Function("strain", [q], [ca.mtimes(ca.SX(ca.sparsify(ca.DM(rows))), q)], ["q"], ["strains"])


def strain_row(arm: Dynamics, place: StrainPlace) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Strain at a place per unit of each coordinate (n,): strains of all kinds of bending are linear in them."""
    robot = arm.robot
    pieces = pieces_of(robot, place.link)
    length = sum(piece.length for piece in pieces)
    if not pieces:
        hint = did_you_mean(place.link, robot.link_names)
        raise ValueError(f"strain: robot '{robot.name}' has no link '{place.link}'{hint}")
    if not all(piece.is_flexible and piece.has_axis for piece in pieces):
        raise ValueError(f"strain: link '{place.link}' does not bend along an axis, so it has no strain")
    if not 0 <= place.x <= length:
        raise ValueError(f"strain: x is {place.x:g} m; link '{place.link}' is {length:g} m long")
    link, x = place_along(pieces, place.x)
    own = arm.mechanism.member(link.name).elastic
    row = np.zeros(arm.size)
    each = np.eye(own.stop - own.start)
    row[own] = words_of(link, robot).bent(np.array([x])).strains(each)[:, 0] @ (1.0, -place.y, -place.z)
    return row


def _deflection(arm: Dynamics, frames: Sequence[str]) -> Any:
    """Places of frames in the frames B of their own links, less where they are on the unbent link."""
    ca = casadi_package()
    if arm.traced("inverse").carrier is not arm.tree:
        raise ValueError(f"deflection: method '{arm.method.name}' has no frames to export; use method 'recursive'")
    if not frames:
        raise ValueError(f"frames is empty; a deflection needs one of {', '.join(arm.frames)}")
    q = ca.SX.sym("q", arm.size)
    poses = _traced(ca, Traced(POSE, with_own_frames(arm, frames)), q=q, v=ca.SX.zeros(arm.size))
    columns = []
    for k in range(len(frames)):
        at, own = poses[24 * k : 24 * k + 3], poses[24 * k + 12 : 24 * k + 24]
        # the rotation of B is given row by row: read by columns it is turned back
        columns.append(ca.mtimes(ca.reshape(own[3:], 3, 3), at - own[:3]))
    places = ca.horzcat(*columns)
    straight = arm.reference_pose()
    straight[np.setdiff1d(np.arange(arm.size), arm.mechanism.joints)] = 0.0
    unbent = ca.Function("places", [q], [places])(straight)
    return ca.Function("deflection", [q], [places - unbent], ["q"], ["deflections"])
