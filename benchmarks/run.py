"""All benchmarks, or some: ``python benchmarks/run.py [SECTION ...] [--out FOLDER] [--page FILE]``.

Prints a table per section and the list of goals, and writes everything to FOLDER/bench.json.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from page import update
from report import OUT, SECONDS, Options, Section, show, write

SECTIONS = {
    "rigid": "rigid robots against Pinocchio",
    "flexible": "growth with the number of flexible links",
    "counts": "operation counts against the published ones",
    "derivatives": "derivatives against evaluations",
    "batch": "batches against single calls",
    "latency": "imports and first calls",
    "simulation": "motion in time against Exudyn, MuJoCo and scipy",
    "drives": "drives and loads against a PD law",
    "lumped": "links of many elements, sparse",
    "large": "links that bend far, against Exudyn",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure Pliant; figures are comparisons within one run.")
    names = ", ".join(f"{name} ({what})" for name, what in SECTIONS.items())
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"default all: {names}")
    parser.add_argument("--out", type=Path, default=Path(OUT), help="folder for the results (default: out)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of one race (default: 1)")
    parser.add_argument("--page", type=Path, help="Markdown page whose figures are replaced by this run's")
    given = parser.parse_args()
    unknown = set(given.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}; sections: {', '.join(SECTIONS)}")
    options = Options(given.out, given.seconds)
    sections: list[Section] = []
    for name in given.sections or SECTIONS:
        section = import_module(f"bench_{name}").measure(options)
        show(section)
        sections.append(section)
    show(goals(sections))
    write(sections, options.out / "bench.json")
    if given.page:
        update(given.page, sections, options.out)
    print(f"all figures are in {options.out / 'bench.json'}")


def goals(sections: list[Section]) -> Section:
    """The comparisons that have a goal."""
    return Section("goals", "Goals", [row for section in sections for row in section.rows if row.goal])


if __name__ == "__main__":
    main()
