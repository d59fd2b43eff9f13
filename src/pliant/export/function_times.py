"""How long exported C takes here: every function compiled, called many times, each call timed on its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.engine.compile.c_code import number, table
from pliant.export.c_steps import STEPPERS
from pliant.export.functions import sized
from pliant.export.signatures import ALL, Signature

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

CALLS, SECONDS = 20_000, 0.5
"""Calls of a function that are timed at the most, and how long they go on."""
STEP = 1e-4
"""Step in time of rk4 and esdirk, s."""
AWAY = 1e-3
"""Scaled distance of guesses from closed loops."""
FLAGS = ("-std=c99", "-O2", "-march=native", "-ffp-contract=fast", "-fno-tree-vectorize")
COMPILERS = ("cc", "gcc", "clang")

HEAD = """#define _POSIX_C_SOURCE 199309L
#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {{ CALLS = {calls} }};
static double times[CALLS];

static double now(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}

static int order(const void *x, const void *y)
{{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}}

static void told(const char *name, int count)
{{
    qsort(times, (size_t)count, sizeof times[0], order);
    printf("%s %.9g ", name, times[count / 2]);
    printf("%.9g %.9g %d\\n", times[(int)(0.999 * (count - 1))], times[count - 1], count);
}}
"""

TIMED = """    count = 0;
    end = now() + {seconds};
    for (int k = 0; k < CALLS + 100 && (k < 200 || now() < end); ++k) {{
        {before}
        const double start = now();
        {call}
        const double taken = now() - start;
        if (k >= 100) times[count++] = taken;
    }}
    told("{name}", count);
"""


def timed(arm: Dynamics, source: Path, functions: Sequence[str], frames: Sequence[str] = ("tip",)) -> str:
    """Compile NAME.c with the system's compiler and time its functions; a table as text.

    Raises ValueError where there is no compiler or it fails.
    """
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    if found is None:
        raise ValueError(f"--bench needs a C compiler ({', '.join(COMPILERS)}) on the path, and there is none")
    asked = [x for x in functions if x not in STEPPERS]
    steppers = STEPPERS if ALL in asked else tuple(x for x in STEPPERS if x in functions)
    with tempfile.TemporaryDirectory() as folder:
        main, program = Path(folder) / "bench.c", Path(folder) / "bench"
        main.write_text(
            _program(arm, source.stem, sized(arm, asked or ["forward"], frames), steppers), encoding="utf-8"
        )
        flags = list(FLAGS)
        while True:
            command = [found, *flags, f"-I{source.parent}", str(main), str(source), "-lm", "-o", str(program)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode == 0 or "-march=native" not in flags:
                break
            # not every compiler knows it
            flags.remove("-march=native")
        if run.returncode:
            raise ValueError(f"{found} could not compile {source.name}: {run.stderr[:500]}")
        output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return _table([line.split() for line in output.splitlines()], f"{Path(found).name} {' '.join(flags)}")


def _program(
    arm: Dynamics, name: str, functions: Sequence[tuple[Signature, tuple[int, ...]]], steppers: Sequence[str]
) -> str:
    """A main program that times the functions at a state near the reference pose."""
    values = _state(arm)
    parts = [HEAD.format(name=name, calls=CALLS)]
    parts += [table(f"static const double {key}[{len(x)}]", map(number, x)) for key, x in values.items()]
    largest = max([1, *(prod(shape) for _, shape in functions)])
    parts.append(f"static double out[{largest}], at_q[{arm.size}], at_v[{arm.size}];\nstatic {name}_instance robot;\n")
    lines = [
        "int main(void)",
        "{",
        "    double end;",
        "    int count;",
        f"    {name}_start(&robot);",
        TIMED.format(before="", call="", name="clock", seconds=0.05).rstrip(),
    ]
    for each, _ in functions:
        inputs = ", ".join(f"near_{x}" if each.newton else x for x in each.inputs)
        call = f"{name}_{each.name}({inputs}, out, robot.workspace, robot.parameters);"
        lines.append(TIMED.format(before="", call=call, name=each.name, seconds=SECONDS).rstrip())
    copied = f"for (int i = 0; i < {arm.size}; ++i) {{ at_q[i] = q[i]; at_v[i] = v[i]; }}"
    for stepper in steppers:
        call = f"{name}_{stepper}(&robot, 0.0, {STEP!r}, at_q, at_v);"
        lines.append(TIMED.format(before=copied, call=call, name=stepper, seconds=SECONDS).rstrip())
    return "\n".join([*parts, *lines, "    (void)at_q;\n    (void)at_v;\n    (void)out;", "    return 0;", "}", ""])


def _state(arm: Dynamics) -> dict[str, list[float]]:
    """Inputs of the functions, and guesses of states with closed loops."""
    n = arm.size
    rng = np.random.default_rng(0)
    q, v = arm.reference_pose(), 0.1 * rng.standard_normal(n)
    if arm.loops.rows:
        q, v = arm.project(arm.assemble(), v)
    near = q + AWAY * (arm.loops.column_scale if arm.loops.rows else np.ones(n)) * rng.standard_normal(n)
    found = {"q": q, "v": v, "a": 0.1 * rng.standard_normal(n), "f": 0.1 * rng.standard_normal(n)}
    if arm.loops.rows:
        found |= {"near_q": near, "near_v": v}
    return {key: x.tolist() for key, x in found.items()}


def _table(rows: Sequence[Sequence[str]], compiled: str) -> str:
    """Times in microseconds, less what the clock itself takes."""
    (_, clock, *_), *timed_rows = rows
    lines = [
        f"{'function':<22} {'median':>10} {'99.9 %':>10} {'longest':>10}  us, {CALLS} calls or {SECONDS:g} s of each"
    ]
    for name, *times, _ in timed_rows:
        median, most, longest = (1e6 * max(float(x) - float(clock), 0.0) for x in times)
        lines.append(f"{name:<22} {median:>10.2f} {most:>10.2f} {longest:>10.2f}")
    lines.append(
        f"{compiled}; the longest times hold what else this computer did, which a real-time system must bound."
    )
    return "\n".join(lines)
