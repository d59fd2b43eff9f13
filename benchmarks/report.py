"""Rows of results: each compares two things of the same run; a table for people, JSON for programs."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

OUT = "out"
SECONDS = 1.0
"""Default length of one race."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a ratio is wanted to be."""

    sense: Literal[">=", "<="]
    value: float

    def met(self, ratio: float) -> bool:
        return ratio >= self.value if self.sense == ">=" else ratio <= self.value

    def __str__(self) -> str:
        return f"{'≥' if self.sense == '>=' else '≤'} {self.value:.3g}"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; its ratio is reference/value where ``faster`` (a gain), else value/reference."""

    case: str
    what: str
    value: float
    unit: str
    reference: str = ""
    reference_value: float | None = None
    faster: bool = True
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        if not self.reference_value or not self.value:
            return None
        return self.reference_value / self.value if self.faster else self.value / self.reference_value

    @property
    def ratio_text(self) -> str:
        """The ratio in words; less than once faster is slower."""
        if self.ratio is None:
            return ""
        if not self.faster:
            return f"{self.ratio:.2f} x cost"
        return f"{self.ratio:.2f} x faster" if self.ratio >= 1 else f"{1 / self.ratio:.2f} x slower"

    @property
    def met(self) -> bool | None:
        return None if self.goal is None or self.ratio is None else self.goal.met(self.ratio)

    def to_dict(self) -> dict[str, Any]:
        out = {name: value for name, value in asdict(self).items() if name != "goal"}
        return {**out, "ratio": self.ratio, "goal": str(self.goal) if self.goal else None, "met": self.met}


@dataclass(frozen=True, slots=True)
class Sheet:
    """Results that do not fit into rows of two: a table of its own."""

    title: str
    columns: tuple[str, ...]
    lines: list[tuple[str, ...]]


@dataclass(slots=True)
class Section:
    """The results of one benchmark."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)

    def add(self, *rows: Row) -> None:
        self.rows.extend(rows)


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    out: Path
    seconds: float = SECONDS


Measure = Callable[[Options], Section]


def machine() -> dict[str, str]:
    """The kind of processor and the versions; nothing that names a machine or its user."""
    from importlib.metadata import PackageNotFoundError, version

    from pliant import __version__
    from pliant.engine.compile import jit

    llvm, processor, _ = jit.host()
    out = {
        "processor": processor,
        "lanes": str(jit.lanes()),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
        "pliant": __version__,
        "llvm": llvm,
    }
    for package in ("numpy", "pin", "scipy", "exudyn", "mujoco", "casadi"):
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            continue
    return out


def show(section: Section) -> None:
    """Print a section as a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    table = Table(title=section.title, title_justify="left", box=box.SIMPLE_HEAD)
    for name, side in (
        ("case", "left"),
        ("what", "left"),
        ("ours", "right"),
        ("", "left"),
        ("compared with", "left"),
        ("theirs", "right"),
        ("ratio", "right"),
        ("goal", "left"),
    ):
        table.add_column(name, justify=side)
    case = ""
    for row in section.rows:
        mark = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[row.met]
        goal = f"{row.goal} {mark}" if row.goal else ""
        table.add_row(
            "" if row.case == case else row.case,
            row.what,
            digits(row.value),
            row.unit,
            row.reference,
            "" if row.reference_value is None else digits(row.reference_value),
            row.ratio_text,
            goal,
        )
        case = row.case
    if section.rows:
        console.print(table)
    for sheet in section.sheets:
        table = Table(*sheet.columns, title=sheet.title, title_justify="left", box=box.SIMPLE_HEAD)
        for line in sheet.lines:
            table.add_row(*line)
        console.print(table)
    for note in section.notes:
        console.print(f"  {note}")
    console.print()


def digits(x: float) -> str:
    """Three figures, but whole numbers in full."""
    return f"{x:.0f}" if abs(x) >= 100 or x == int(x) else f"{x:.3g}"


def write(sections: Iterable[Section], path: Path) -> None:
    """All results as JSON."""
    listed = {
        section.name: {
            "title": section.title,
            "rows": [row.to_dict() for row in section.rows],
            "notes": section.notes,
            "sheets": [asdict(sheet) for sheet in section.sheets],
        }
        for section in sections
    }
    content = {"machine": machine(), "sections": listed}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def alone(measure: Measure) -> None:
    """Run one section as a script of its own: ``python bench_NAME.py [FOLDER]``."""
    options = Options(out=Path(sys.argv[1] if len(sys.argv) > 1 else OUT))
    section = measure(options)
    show(section)
    write([section], options.out / f"bench-{section.name}.json")
