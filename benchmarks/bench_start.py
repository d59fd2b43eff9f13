"""How long a user waits: starting the program, loading robots, computing the constants of their links.

    python benchmarks/bench_start.py [FOLDER]

prints a table and writes start.json into the folder. Each time is the best of several.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pliant
from pliant.cli.terminal import emit, table

REPEATS = 5


def best(action: Callable[[], object]) -> float:
    """Seconds of the quickest of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def process(*arguments: str) -> float:
    """Seconds of a Python process."""
    return best(lambda: subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True))


def measure() -> dict[str, float]:
    """All times by name, in seconds."""
    times = {
        "python": process("-c", "pass"),
        "import pliant": process("-c", "import pliant"),
        "pliant --help": process("-m", "pliant", "--help"),
        "pliant robots": process("-m", "pliant", "robots"),
        "pliant show canadarm": process("-m", "pliant", "show", "canadarm"),
    }
    for name, _ in pliant.robots():
        robot = pliant.load(name)
        times[f"load {name}"] = best(lambda name=name: pliant.load(name))
        times[f"constants {name}"] = best(lambda robot=robot: [pliant.build_body(k, robot) for k in robot.links])
    return times


def main() -> None:
    """Measure, print and write."""
    times = measure()
    rows = table("what", "ms", words=1)
    for name, seconds in times.items():
        rows.add_row(name, f"{1e3 * seconds:.1f}")
    emit(rows)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    (folder / "start.json").write_text(json.dumps(times, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
