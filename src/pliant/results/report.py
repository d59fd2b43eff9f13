"""One HTML page about a run: plots, a film, tables. Everything is inside the file; no network is used."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.results.animation import view_of
from pliant.results.channels import ENERGIES, WORKS
from pliant.results.film import Film, make_film
from pliant.results.plots import moving_components, plot_run
from pliant.results.spectrum import residual_spectrum

if TYPE_CHECKING:
    from pliant.results.result import Result

ASSETS = Path(__file__).parent / "assets"
MOST_POINTS = 1000
"""Points of a curve; more cannot be seen."""
DIGITS = 6
"""Significant digits of a number in the page."""
FILM_DIGITS = 5
SHOWN_FREQUENCIES = 8


def write_report(run: Result, path: Path) -> None:
    """Write the page."""
    data = {"film": _film_data(run), "charts": _charts(run)}
    body = [
        f"<h1>{escape(run.info.name)}</h1>",
        f'<p class="lead">{escape(_lead(run))}</p>',
        *(f'<p class="warning">{escape(text)}</p>' for text in run.warnings),
        '<div id="film"></div>',
        "<h2>Plots</h2>",
        '<p class="lead">Drag to zoom, double-click for everything, click to move the film; names switch curves.</p>',
        '<div id="charts" class="charts"></div>',
        f'<noscript><img alt="plots of the run" src="data:image/png;base64,{_picture(run)}"></noscript>',
        "<h2>How the run went</h2>",
        _table(_facts(run)),
        "<h2>Largest values</h2>",
        _table(_extremes(run), numbers=True),
        "<h2>Natural frequencies at the end, joints locked</h2>",
        _table(_frequencies(run), numbers=True),
        "<h2>What was simulated</h2>",
        f"<details><summary>the study</summary><pre>{escape(run.info.study)}</pre></details>",
        f"<details><summary>the robot</summary><pre>{escape(run.robot.to_yaml())}</pre></details>",
    ]
    path.write_text(_page(run.info.name, body, data), encoding="utf-8")


def write_film_page(run: Result, path: Path) -> None:
    """Write a page with nothing but the film."""
    body = [f"<h1>{escape(run.info.name)}</h1>", '<div id="film"></div>']
    path.write_text(_page(run.info.name, body, {"film": _film_data(run)}), encoding="utf-8")


def _page(title: str, body: Iterable[str], data: dict[str, Any]) -> str:
    css = (ASSETS / "report.css").read_text(encoding="utf-8")
    script = (ASSETS / "report.js").read_text(encoding="utf-8")
    # a text of the user must not end the script element
    inside = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # no icon is looked for
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>",
            *body,
            f'<script id="data" type="application/json">{inside}</script>',
            f"<script>\n{script}</script>\n</body>\n</html>\n",
        ]
    )


def _lead(run: Result) -> str:
    parts = [f"robot {run.robot.name}", f"{run.time[-1]:g} s", run.info.ended, f"Pliant {run.info.version}"]
    return ", ".join(part for part in parts if part)


def _picture(run: Result) -> str:
    """The static plots, for readers without scripts."""
    buffer = io.BytesIO()
    plot_run(run).savefig(buffer, format="png", dpi=80)
    return base64.b64encode(buffer.getvalue()).decode()


def _rounded(values: Any, digits: int = DIGITS) -> Any:
    """Nested lists of numbers with few digits."""
    array = np.asarray(values, dtype=float)
    return np.array([float(f"{x:.{digits}g}") for x in array.ravel()]).reshape(array.shape).tolist()


# ---------------------------------------------------------------- film and charts


def _film_data(run: Result) -> dict[str, Any]:
    film = make_film(run)
    view = view_of(run, film)
    low, high = _bounds(film)
    return {
        "time": _rounded(film.time),
        "lines": [
            {
                "link": line.link,
                "flexible": line.flexible,
                "bent": _rounded(line.bent, FILM_DIGITS),
                "rigid": _rounded(line.rigid, FILM_DIGITS),
            }
            for line in film.lines
        ],
        "tip": _rounded(film.tip, FILM_DIGITS),
        "bounds": {"centre": _rounded((low + high) / 2), "radius": float(np.linalg.norm(high - low) / 2) or 1.0},
        "view": {
            "turn": float(np.arctan2(-view.right[0], view.right[1])),
            "tilt": float(np.arcsin(np.clip(view.towards[2], -1.0, 1.0))),
        },
    }


def _bounds(film: Film) -> tuple[Any, Any]:
    points = np.concatenate([line.bent.reshape(-1, 3) for line in film.lines])
    return points.min(axis=0), points.max(axis=0)


def _charts(run: Result) -> list[dict[str, Any]]:
    rows = np.unique(np.linspace(0, len(run) - 1, min(MOST_POINTS, len(run))).round().astype(int))
    joints = run.robot.joint_coordinates
    desired = {name: run[f"{name}.desired"] for name in joints if f"{name}.desired" in run.channels}
    efforts = {n.rpartition(".")[0]: run[n] for n in run.channels if n.endswith((".torque", ".force"))}
    links = [link.name for link in run.robot.links if link.is_flexible]
    groups: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("joints, rad or m (dashed: desired)", {name: run[name] for name in joints}, desired),
        ("motor efforts, N m or N", efforts, {}),
        ("deflection of the link tips, mm (link axes)", _parts(run, links), {}),
        ("deviation from the rigid robot, mm (base axes)", _parts(run, run.info.frames), {}),
        ("strain, 1e-6", {s.name: 1e6 * run[f"strain.{s.name}"] for s in run.info.strains}, {}),
        ("energy and work, J", {n: run[n] for n in (*(f"energy.{part}" for part in ENERGIES), *WORKS)}, {}),
        ("energy balance, J", {"energy - work + losses": run["energy.balance"]}, {}),
    ]
    charts = [_chart(title, run.time, curves, dashed, rows) for title, curves, dashed in groups if curves]
    spectrum = residual_spectrum(run)
    if len(spectrum.frequency):
        shown = np.unique(np.linspace(0, len(spectrum.frequency) - 1, MOST_POINTS).round().astype(int))
        chart = _chart(
            f"vibration of the tip after {spectrum.start:.3g} s, m (dotted: natural frequencies)",
            spectrum.frequency,
            {"amplitude": spectrum.amplitude},
            {},
            shown,
        )
        marks = _rounded(spectrum.natural[spectrum.natural < spectrum.frequency[-1]])
        charts.append({**chart, "xlabel": "frequency, Hz", "timed": False, "log": True, "marks": marks})
    return charts


def _parts(run: Result, names: Iterable[str]) -> dict[str, Any]:
    """The deflections of links or frames that are not negligible, in mm."""
    return {
        f"{name} {axis}": 1e3 * y for name in names for axis, y in moving_components(run, f"{name}.deflection").items()
    }


def _chart(title: str, x: Any, curves: dict[str, Any], dashed: dict[str, Any], rows: Any) -> dict[str, Any]:
    series = []
    for name, y in curves.items():
        one = {"name": name, "y": _rounded(y[rows])}
        if name in dashed:
            one["dashed"] = _rounded(dashed[name][rows])
        series.append(one)
    return {"title": title, "xlabel": "time, s", "timed": True, "x": _rounded(x[rows]), "series": series}


# ---------------------------------------------------------------- tables


def _table(rows: Iterable[tuple[str, ...]], numbers: bool = False) -> str:
    """Rows of cells; with ``numbers`` all but the first cell stand to the right."""
    kinds = ("<td>", '<td class="number">' if numbers else "<td>")
    lines = ("".join(f"{kinds[min(k, 1)]}{escape(cell)}</td>" for k, cell in enumerate(row)) for row in rows)
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _facts(run: Result) -> Iterable[tuple[str, ...]]:
    info, s = run.info, run.info.statistics
    yield "integrator", f"{info.method}: {info.reason}"
    yield "tolerance", f"{info.tolerance:g}"
    if s:
        yield "steps", f"{s['steps']:.0f} of {s['smallest_step']:.2g} to {s['largest_step']:.2g} s"
        yield "rejected steps, evaluations", f"{s['rejected']:.0f}, {s['evaluations']:.0f}"
    yield "computing time", f"{info.seconds:.3g} s for {run.time[-1]:g} s"
    yield "energy balance", f"within {np.abs(run['energy.balance']).max():.2e} J"
    for t, name, value in info.events:
        yield "event", f"at {t:.6g} s: {name} (value {value:.6g})"


def _extremes(run: Result) -> Iterable[tuple[str, ...]]:
    yield "channel", "least", "most", "unit"
    efforts = [name for name in run.channels if name.endswith((".torque", ".force"))]
    for name in (*run.robot.joint_coordinates, *efforts):
        yield name, f"{run[name].min():.5g}", f"{run[name].max():.5g}", run.unit(name)
    for link in run.robot.links:
        if link.is_flexible:
            size = np.linalg.norm(run[f"{link.name}.deflection"], axis=1)
            yield f"{link.name}: deflection of the tip", f"{size.min():.5g}", f"{size.max():.5g}", "m"


def _frequencies(run: Result) -> Iterable[tuple[str, ...]]:
    natural = residual_spectrum(run).natural
    if not len(natural):
        yield ("no link of this robot bends",)
        return
    yield "mode", "Hz", "rad/s"
    for k, f in enumerate(natural[:SHOWN_FREQUENCIES], start=1):
        yield str(k), f"{f:.5g}", f"{2 * np.pi * f:.5g}"
