"""One page about several runs: their films and curves over each other, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.files import write_file
from pliant.pictures.picture_words import counted, engineering
from pliant.results.plots import noise, panels
from pliant.results.report import HELP, facts, film_data, html_table, packed, page, shown_rows
from pliant.results.samples import Floats

if TYPE_CHECKING:
    from pliant.results.result import Result

MOST_RUNS = 6
"""More films and curves over each other cannot be told apart."""


def named(runs: list[Result], names: list[str] | None = None) -> dict[str, Result]:
    """Runs by names that differ: their own, or those given."""
    if not 2 <= len(runs) <= MOST_RUNS:
        raise ValueError(f"{counted(len(runs), 'run')} to compare; there must be 2 to {MOST_RUNS}")
    out: dict[str, Result] = {}
    for name, run in zip(names or [run.info.name for run in runs], runs, strict=True):
        tries = (name if k == 1 else f"{name} ({k})" for k in range(1, len(runs) + 1))
        out[next(each for each in tries if each not in out)] = run
    return out


def write_comparison(runs: Mapping[str, Result], path: Path) -> None:
    """Write the page; the first run is what the others are compared with."""
    films = [{**film_data(run, len(runs)), "name": name} for name, run in runs.items()]
    data = {
        "films": films,
        "times": [packed(run.time[shown_rows(len(run))]) for run in runs.values()],
        "charts": list(_charts(runs)),
    }
    first, *others = runs
    title = " and ".join(runs) if len(runs) == 2 else ", ".join(runs)
    robots = dict.fromkeys(run.robot.name for run in runs.values())
    body = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="lead">{counted(len(runs), "run")} of {escape(", ".join(robots))}, compared.</p></header>',
        '<section aria-label="film"><div id="film"></div></section>',
        f'<section><h2>Plots</h2><p class="lead screen">{HELP} Later runs are dashed.</p>',
        '<div id="charts" class="charts"></div></section>',
    ]
    for other in others:
        body.append(f"<section><h2>{escape(other)} against {escape(first)}</h2>")
        body.append(html_table(_differences(first, runs[first], other, runs[other])))
        body.append(f'<p class="lead">{escape(_common(runs[first], runs[other]))}</p></section>')
    body += [f"<section><h2>How the runs went</h2>{html_table(_facts(runs), words=True)}</section>"]
    body += [_changes(first, runs[first], other, runs[other]) for other in others]
    body.append(f"<footer>Made by Pliant {escape(runs[first].info.version)}</footer>")
    write_file(path, page(title, body, data))


def _charts(runs: Mapping[str, Result]) -> Iterator[dict[str, Any]]:
    """Panels of the same title and unit over each other; a curve has the same colour in every run."""
    found = {name: {(panel.title, panel.unit): panel for panel in panels(run)} for name, run in runs.items()}
    for title, unit in dict.fromkeys(key for each in found.values() for key in each):
        own = {name: each[title, unit] for name, each in found.items() if (title, unit) in each}
        curves = list(dict.fromkeys(curve for panel in own.values() for curve in panel.curves))
        series = []
        for number, (name, run) in enumerate(runs.items()):
            rows = shown_rows(len(run))
            for curve, y in own[name].curves.items() if name in own else ():
                # a single curve takes the colours of the films
                colour = number if len(curves) == 1 else curves.index(curve)
                label = name if len(curves) == 1 else f"{curve} · {name}"
                series.append({"name": label, "run": number, "colour": colour, "y": packed(y[rows])})
        yield {"title": f"{title}, {unit}", "unit": unit, "series": series}


# ---------------------------------------------------------------- tables


def _common(a: Result, b: Result) -> str:
    low, high = max(a.time[0], b.time[0]), min(a.time[-1], b.time[-1])
    return f"Between {low:.4g} and {high:.4g} s; of vectors, the length of the difference."


def difference(a: Result, b: Result, name: str) -> tuple[Floats, Floats]:
    """Times (k,) of the first run that both have, and how far a channel of the second is from that of the first there.

    Between its samples the second one is joined by straight lines.
    """
    here = (a.time >= b.time[0]) & (a.time <= b.time[-1])
    time, mine, other = a.time[here], a[name][here], b[name]
    columns = other.reshape(len(other), -1)
    joined = np.stack([np.interp(time, b.time, column) for column in columns.T], axis=-1).reshape(mine.shape)
    off = joined - mine
    return time, np.abs(off) if off.ndim == 1 else np.linalg.norm(off.reshape(len(off), -1), axis=1)


def _differences(first: str, a: Result, second: str, b: Result) -> Iterator[tuple[str, ...]]:
    yield "channel", f"largest, {first}", f"largest, {second}", "largest difference", "at s", "root mean square"
    links = [link.name for link in a.robot.links if link.is_flexible]
    names = [*a.robot.joint_coordinates, *a.efforts, *(f"{link}.deflection" for link in links)]
    names += [f"{frame}.{part}" for frame in a.info.frames for part in ("position", "deflection")]
    for name in [*names, "energy.total"]:
        if name not in b or a.unit(name) != b.unit(name) or a[name].shape[1:] != b[name].shape[1:]:
            continue
        unit = a.unit(name)
        time, off = difference(a, b, name)
        if not len(time):
            continue
        level = max(noise(a, unit), noise(b, unit))
        largest = [float(np.max(np.abs([each.extreme(name).least, each.extreme(name).most]))) for each in (a, b)]
        values = [*largest, float(off.max()), float(np.sqrt(np.mean(off**2)))]
        sizes = [engineering(0.0 if value <= level else value, unit, 4) for value in values]
        yield name, *sizes[:3], f"{time[off.argmax()]:.4g}", sizes[3]


def _facts(runs: Mapping[str, Result]) -> Iterator[tuple[str, ...]]:
    yield "", *runs
    columns = [dict(facts(run)) for run in runs.values()]
    for key in dict.fromkeys(key for column in columns for key in column):
        yield key, *(column.get(key, "") for column in columns)


def _changes(first: str, a: Result, second: str, b: Result) -> str:
    """The lines of study and robot in which two runs differ."""
    parts = []
    for what, old, new in (("study", a.info.study, b.info.study), ("robot", a.robot.to_yaml(), b.robot.to_yaml())):
        lines = list(unified_diff(old.splitlines(), new.splitlines(), first, second, lineterm="", n=2))
        tags = {"+": "ins", "-": "del"}
        shown = [f"<{tags[s[0]]}>{escape(s)}</{tags[s[0]]}>" if s[:1] in tags else escape(s) + "\n" for s in lines]
        same = f"<p>The {what} is the same.</p>"
        text = f"<details open><summary>the {what}</summary><pre>{''.join(shown)}</pre></details>" if lines else same
        parts.append(text)
    heading = f"<h2>What {escape(second)} does otherwise than {escape(first)}</h2>"
    return f'<section class="screen">{heading}{"".join(parts)}</section>'
