"""``pliant bench``: how fast are the dynamics of a robot on this machine?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.terminal import emit, number, plain, table

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

# seconds of one slice: short against the time for which a shared processor is taken away
SLICE = 2e-4
STATES = 1024
DEFAULT = ["canadarm", "seven-joint-arm", "dualemps"]
COLUMNS = ("multiplications", "additions", "divisions", "functions")
# operations of both models together, Briot & Khalil
PUBLISHED = {"dualemps": 2842}


def bench(
    robots: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ROBOT...]", help="Robot files or names of bundled robots."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=60.0, help="Time to spend on each robot.")] = 1.0,
) -> None:
    """Count the operations of a robot's dynamics and time them, called from Python."""
    import pliant
    from pliant.dynamics import Dynamics

    counts = table("robot", "n", "model", "mul", "add", "div", "functions", "total", "published, both")
    times = table("robot", "first call s", "forward us", "forces us", "derivatives", "batch us", "gain")
    for name in robots or DEFAULT:
        arm = Dynamics(pliant.load(name))
        counted = [arm.operations("forward"), arm.operations("inverse")]
        lead = (f"[bold]{plain(arm.robot.name)}[/]", str(arm.size), "forward")
        published = PUBLISHED.get(arm.robot.name)
        for words, one in zip((lead, ("", "", "inverse")), counted, strict=True):
            numbers = [*(getattr(one, column) for column in COLUMNS), one.total]
            last = str(published) if published and words is lead else ""
            counts.add_row(*words, *map(str, numbers), last)
        times.add_row(f"[bold]{plain(arm.robot.name)}[/]", *_times(arm, seconds))
    emit(
        "Operations of one evaluation; inverse: all forces of a tree, efforts and accelerations of a robot with loops",
        counts,
        "Calls from Python; derivatives in calls of forces, a batch per state and its gain over single calls",
        times,
    )


def _times(arm: Dynamics, seconds: float) -> list[str]:
    """The columns of one robot."""
    import numpy as np

    random = np.random.default_rng(0)
    q, v, a = random.normal(size=(3, arm.size)) * 0.1
    if arm.robot.loops:
        q, v = arm.assemble(), np.zeros(arm.size)
    tau = random.normal(size=len(arm.inputs))
    states = [np.tile(x, (STATES, 1)) for x in (q, v, tau)]
    start = time.perf_counter()
    arm.forward(q, v, tau)
    first = time.perf_counter() - start
    best = _fastest(
        {
            "forward": lambda: arm.forward(q, v, tau),
            "forces": lambda: arm.forces(q, v, a),
            "derivatives": lambda: arm.inverse_derivatives(q, v, a),
            "batch": lambda: arm.forward(*states),
        },
        seconds,
    )
    per_state = best["batch"] / STATES
    return [
        number(first, 2),
        number(1e6 * best["forward"], 3),
        number(1e6 * best["forces"], 3),
        f"{best['derivatives'] / best['forces']:.1f} x",
        number(1e6 * per_state, 3),
        f"{best['forward'] / per_state:.1f} x",
    ]


def _fastest(works: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The smallest time of each, in short slices taken in turn."""
    alone = {name: min(_elapsed(work, 1) for _ in range(5)) for name, work in works.items()}
    counts = {name: max(1, int(SLICE / elapsed)) for name, elapsed in alone.items()}
    best = dict.fromkeys(works, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, work in works.items():
            best[name] = min(best[name], _elapsed(work, counts[name]) / counts[name])
    return best


def _elapsed(work: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        work()
    return time.perf_counter() - start
