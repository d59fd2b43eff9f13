"""C of a sampled controller with its observer: NAME.c and NAME.h, one call per tick, beside the model's own C.

The tick is the text that runs in simulations, on readings instead of the state of a simulated robot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.drives.drive import DriveLaw, Tick
from pliant.drives.extended_filter import ExtendedFilterLaw
from pliant.drives.regulated import ObserverLaw
from pliant.drives.sampled import SampledLaw
from pliant.engine.compile.c_code import RESTRICT_DEFINED, c_function, comment, number, stumpff_function, table
from pliant.engine.compile.statements import functions_used, stumpff_used
from pliant.engine.trace.program import Address
from pliant.engine.trace.roller import one_kernel
from pliant.engine.trace.tape import Tape
from pliant.export.functions import c_identifier, target, version, write
from pliant.spatial.vectors import Vector
from pliant.trajectories.path import Surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from pliant.simulation.study import Study

HELPERS = {
    "ramp": "static double ramp(double x)\n{\n    return x > 0.0 ? x : 0.0;\n}\n",
    "step": "static double step(double x)\n{\n    return x > 0.0 ? 1.0 : 0.0;\n}\n",
    "frozen": "static double frozen(double x)\n{\n    return x;\n}\n",
}
"""Functions that C does not have."""


class _Tick:
    """What a tick takes and gives, with names, and its text."""

    def __init__(self, law: DriveLaw, names: Sequence[str]) -> None:
        self.law = law
        self.states = [state.name for state in law.sampled_states]
        if isinstance(law, ObserverLaw | ExtendedFilterLaw):
            self.readings: tuple[str, ...] = law.reading_names
            self.ignored = set(law.noise_channels)
        else:
            self.readings = (*names, *(f"{name}.rate" for name in names))
            self.ignored = set()
        known = getattr(law, "signal_names", None) or tuple(f"signal {k + 1}" for k in range(law.channels))
        self.kept = [k for k in range(law.channels) if k not in self.ignored]
        self.reference = tuple(known[k] for k in self.kept)

    def text(self, readings: Vector, reference: Vector, states: Vector, gains: Vector) -> Vector:
        """New states, then efforts; noise of sensors is in the readings already."""
        signals: Vector = [0.0] * self.law.channels
        for k, value in zip(self.kept, reference, strict=True):
            signals[k] = value
        own, period = list(gains[:-1]), list(gains[-1:])
        found: Tick
        if isinstance(self.law, ObserverLaw | ExtendedFilterLaw):
            found = self.law.from_readings(list(readings), list(states), signals, own, period)
        else:
            n = len(readings) // 2
            found = self.law.computed(list(readings[:n]), list(readings[n:]), list(states), signals, own, period)
        return [*found.discrete, *found.command]


def generate_controller(study: Study, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the sampled controller of a study as NAME.c and NAME.h, and what it follows as NAME_reference.csv.

    study  with a drive that is sampled (``sampling``): lqr, pid, computed_torque or feed_forward
    path   of NAME.c

    NAME_tick(readings, reference, states, efforts) is called once per period; the header tells what the arrays hold.
    Raises ValueError where a controller has no such form or a file cannot be written.
    """
    from pliant.simulation.run import dynamics_of

    source = target(path, ".c")
    name = c_identifier(source.stem)
    files = [source, target(source.with_suffix(".h")), target(source.with_name(f"{source.stem}_reference.csv"))]
    arm = dynamics_of(study)
    with study.placed("start"):
        q0, _ = study.start.state(arm)
    if study.drive is None:
        raise ValueError(f"study '{study.name}' has no drive; a controller is exported")
    with study.placed("drive"):
        law = study.drive.bind(Surroundings(arm, q0, study.until), q0 @ arm.B)
    if not isinstance(law, SampledLaw) or law.inner.in_python:
        raise ValueError(
            f"the drive '{study.drive.kind}' of study '{study.name}' is no sampled controller that has a text of its "
            "own; write sampling: {period: 1 ms} in an lqr, pid, computed_torque or feed_forward drive"
        )
    tick = _Tick(law.inner, arm.names)
    write(files[0], _source(name, law, tick, arm.robot.name))
    write(files[1], _header(name, law, tick, arm.robot.name, arm.inputs))
    count = int(np.floor(study.until / law.period * (1 + 1e-12))) + 1
    rows = law.inner.at_ticks(0, count, law.period)[:, tick.kept]
    head = ",".join(f'"{each}"' for each in ("t", *tick.reference))
    lines = [",".join(map(repr, (k * law.period, *row))) for k, row in enumerate(rows.tolist())]
    write(files[2], "\n".join([head, *lines, ""]))
    return tuple(files)


def _title(name: str, suffix: str, robot: str) -> str:
    return f"{name}.{suffix}: a sampled controller of robot '{comment(robot)}', generated by Pliant {version()}."


def _source(name: str, law: SampledLaw, tick: _Tick, robot: str) -> str:
    sizes = {
        "readings": len(tick.readings),
        "reference": len(tick.reference),
        "states": len(tick.states),
        "gains": len(law.gains_in_code),
    }
    tape = Tape()
    given = [[tape.symbol(Address(key, "own", k)) for k in range(size)] for key, size in sizes.items()]
    program = one_kernel("tick", tuple(sizes), tape, list(tick.text(*given)), [], max(sizes.values()))
    written = c_function(program, f"{name}_computed", tuple(sizes), "result", defaults="", private=True)
    kernels = [kernel for each in program.passes for kernel in each.kernels]
    used = functions_used(kernels)
    count, efforts = len(tick.states), program.outputs - len(tick.states)
    upper = name.upper()
    parts = [
        f"/* {_title(name, 'c', robot)} See {name}.h. */\n",
        f'#include "{name}.h"\n\n#include <math.h>\n#include <stddef.h>\n\n{RESTRICT_DEFINED}',
        table(
            f"static const double {name}_gains[{sizes['gains']}]",
            [number(x) if np.isfinite(x) else "HUGE_VAL" for x in law.gains_in_code],
        ),
        _start(name, [state.initial for state in law.inner.sampled_states]),
        *(text for key, text in HELPERS.items() if key in used),
        *(stumpff_function(k) for k in stumpff_used(kernels)),
        written.text,
        f"void {name}_tick(const double *readings, const double *reference, double *states, double *efforts)\n{{\n"
        f"    double result[{program.outputs}];\n"
        f"    double workspace[{max(written.workspace, 1)}];\n"
        f"    {name}_computed(readings, reference, states, {name}_gains, result, workspace, NULL);\n"
        f"    for (int i = 0; i < {upper}_STATES; ++i)\n        states[i] = result[i];\n"
        f"    for (int i = 0; i < {upper}_INPUTS; ++i)\n        efforts[i] = result[{count} + i];\n}}\n",
    ]
    assert efforts == law.channels
    return "\n".join(parts)


def _start(name: str, values: Sequence[float]) -> str:
    # an array without entries is no C
    listed = [number(x) for x in values] or ["0.0"]
    return table(f"const double {name}_start[{len(listed)}]", listed)


def _header(name: str, law: SampledLaw, tick: _Tick, robot: str, inputs: Sequence[str]) -> str:
    upper = name.upper()
    sizes = {"READINGS": tick.readings, "REFERENCE": tick.reference, "STATES": tick.states, "INPUTS": inputs}
    listed: Callable[[Sequence[str]], str] = lambda names: "".join(  # noqa: E731
        f" *   {k:4d}  {comment(each)}\n" for k, each in enumerate(names)
    )
    guide = (
        f"/* {_title(name, 'h', robot)}\n *\n"
        f" * Call {name}_tick every {law.period:g} s, with what the sensors read at that instant; its efforts take\n"
        f" * effect {law.delay:g} s later and are held until the next ones do. SI units. Before the first call copy\n"
        f" * {name}_start to states, which nobody else changes. It allocates nothing and keeps nothing between calls.\n"
        " *\n"
        f" * readings:\n{listed(tick.readings)}"
        f" * reference, a row of {name}_reference.csv; after the last row, that row again:\n{listed(tick.reference)}"
        f" * states:\n{listed(tick.states)} * efforts:\n{listed(inputs)} */\n"
    )
    defines = "".join(f"#define {upper}_{key} {len(names)}\n" for key, names in sizes.items())
    arguments = "const double *readings, const double *reference, double *states, double *efforts"
    return (
        f'{guide}#ifndef {upper}_H\n#define {upper}_H\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n'
        f"#define {upper}_PERIOD {number(law.period)}\n#define {upper}_DELAY {number(law.delay)}\n{defines}\n"
        f"extern const double {name}_start[{max(len(tick.states), 1)}];\n\nvoid {name}_tick({arguments});\n\n"
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    )


def written_controller(study: Any, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The controller of a study by its name or file; see ``generate_controller``."""
    from pliant.simulation.study import load_study

    return generate_controller(load_study(study), path)
