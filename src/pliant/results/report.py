"""One HTML page about a run: key figures, a film, plots, tables. All is inside the file; no network is used.

Of a film of solids a page keeps what stays (solids, places) and what moves (links, and what bending does to places).
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.files import write_file
from pliant.pictures.canvas import best_view
from pliant.pictures.picture_words import engineering
from pliant.pictures.robot_solids import RobotSolids, joined
from pliant.pictures.solids import Kind
from pliant.pictures.vibration_plots import joint_axes
from pliant.results.plots import Panel, noise, panels, plot_run
from pliant.results.samples import Extreme
from pliant.results.spectrum import Spectrum, residual_spectrum
from pliant.results.storage import GENERATOR

if TYPE_CHECKING:
    from pliant.results.result import Result

Floats = NDArray[np.float64]

LARGEST = 1e38
"""A run that diverged is still drawn."""
STEPS = 32767


def packed(values: ArrayLike) -> str:
    """Numbers of single precision as text."""
    finite = np.clip(np.nan_to_num(values), -LARGEST, LARGEST)
    return base64.b64encode(finite.astype("<f4").tobytes()).decode()


def packed_whole(values: ArrayLike) -> str:
    """Whole numbers from zero to 2^32."""
    return base64.b64encode(np.asarray(values).astype("<u4").tobytes()).decode()


def packed_steps(values: ArrayLike) -> dict[str, Any]:
    """Numbers (..., k) in steps of a 32767th of the largest of each of the k columns."""
    finite = np.clip(np.nan_to_num(np.asarray(values, dtype=float)), -LARGEST, LARGEST)
    most = np.abs(finite).max(axis=tuple(range(finite.ndim - 1)), initial=0.0)
    steps = np.rint(finite * (STEPS / np.where(most > 0, most, 1.0)))
    return {"unit": (most / STEPS).tolist(), "steps": base64.b64encode(steps.astype("<i2").tobytes()).decode()}


STATIONS = 13
"""Sections along a flexible beam."""
MOST_PICTURES = 600
LEAST_PICTURES = 60
MOST_NUMBERS = 500_000
"""Numbers of two bytes in all films of a page, which keeps it below three megabytes."""
MOST_TRIANGLES = 1500
"""Of the meshes of a link; a page is no place for more."""
BESIDE = 0.28
"""rad: beside the plane of a plane motion."""
DIRECTIONS = 200
SEEN = 40
"""Pictures of which every corner is looked at for what the window has to hold."""
STILL = 1e-12
"""Of the size of the robot: places that move by less do not move."""


def film_data(run: Result, films: int = 1) -> dict[str, Any]:
    """The film of a run on a page with so many films."""
    drawn = RobotSolids(run.arm, STATIONS, MOST_TRIANGLES)
    arm, skeleton = run.arm, drawn.skeleton
    # a place takes nine steps per picture, a link seven numbers of twice the size
    each = 9 * len(skeleton) + 14 * len(run.robot.links)
    pictures = int(np.clip(MOST_NUMBERS / films / each, LEAST_PICTURES, MOST_PICTURES))
    rows = np.unique(np.linspace(0, len(run) - 1, min(pictures, len(run))).round().astype(int))
    q = run.q[rows]
    at = skeleton.at(q)
    moving = np.abs(at.shifts).max(axis=(0, 2)) + drawn.size * np.abs(at.turns).max(axis=(0, 2)) > STILL * drawn.size
    strained = np.abs(at.strains).max(axis=(0, 2)) > 0
    moved = np.flatnonzero(moving | strained)
    positions, axes = at.moved()
    some = slice(None, None, max(1, len(rows) // SEEN))
    corners = np.concatenate([s.vertices(positions[some], axes[some]).reshape(-1, 3) for s in drawn.solids])
    turn, tilt = _first_view(np.concatenate([positions.reshape(-1, 3), np.zeros((1, 3))]), joint_axes(arm, q[0]))
    return {
        "name": run.info.name,
        "time": packed(run.time[rows]),
        "links": packed(np.concatenate([at.links[0], _quaternions(at.links[1])], axis=-1)),
        "places": {
            "link": packed_whole(skeleton.link_of),
            "at": packed(np.array(skeleton.local_p)),
            "axes": packed(_quaternions(np.array(skeleton.local_R))),
        },
        "moved": packed_whole(moved),
        "shifts": packed_steps(at.shifts[:, moved]),
        "turns": packed_steps(_continuous(at.turns[:, moved])),
        "strains": packed_steps(at.strains[:, moved]),
        "solids": _solids(drawn),
        "lines": [places.tolist() for each in skeleton.beams.values() for places in each.pieces],
        "tip": packed(arm.pose("tip", q).position),
        "cloud": packed(_outermost(corners)),
        "gravity": list(run.robot.gravity),
        "turn": turn,
        "tilt": tilt,
    }


def _outermost(points: Floats) -> Floats:
    """The points that lie farthest in many directions: what a window has to hold from wherever one looks."""
    k = np.arange(DIRECTIONS) + 0.5
    height, angle = 1 - 2 * k / DIRECTIONS, np.pi * (1 + 5**0.5) * k
    around = np.sqrt(1 - height**2)
    directions = np.stack([around * np.cos(angle), around * np.sin(angle), height])
    return np.asarray(points[np.unique((points @ directions).argmax(axis=0))])


def _first_view(points: Floats, axes: Floats) -> tuple[float, float]:
    """Angles of the eye about z and above the plane; beside the plane of a plane motion, so that depth is seen."""
    view = best_view(points, axes)
    turn, tilt = float(np.arctan2(-view.right[0], view.right[1])), float(np.arcsin(np.clip(view.towards[2], -1.0, 1.0)))
    if not view.is_flat:
        return turn, tilt
    return turn + BESIDE, tilt - 2 * BESIDE if tilt > 1 else tilt + BESIDE


def _solids(drawn: RobotSolids) -> list[dict[str, Any]]:
    """One of every kind, and beams apart by their materials."""
    out = []
    for kind in get_args(Kind):
        own = [solid for solid in drawn.solids if solid.kind == kind]
        for modulus in dict.fromkeys(solid.modulus for solid in own):
            one = joined([solid for solid in own if solid.modulus == modulus], (kind,))
            out.append(
                {
                    "kind": kind,
                    "modulus": modulus,
                    "places": packed_whole(one.places),
                    "offsets": packed(one.offsets),
                    "faces": packed_whole(one.faces),
                }
            )
    return out


def _quaternions(matrices: Floats) -> Floats:
    """x, y, z, w (..., 4), along the first axis without jumps."""
    from scipy.spatial.transform import Rotation

    q = np.asarray(Rotation.from_matrix(matrices.reshape(-1, 3, 3)).as_quat()).reshape(*matrices.shape[:-2], 4)
    if q.ndim == 3:
        # q and -q are the same rotation
        flips = np.sign(np.einsum("tki,tki->tk", q[1:], q[:-1]))
        q[1:] *= np.cumprod(np.where(flips < 0, -1.0, 1.0), axis=0)[..., None]
    return q


def _continuous(turns: Floats) -> Floats:
    """Rotation vectors (pictures, places, 3) without jumps of a whole turn."""
    out = turns.copy()
    for k in range(1, len(out)):
        angle = np.linalg.norm(turns[k], axis=-1, keepdims=True)
        unit = turns[k] / np.where(angle > 0, angle, 1.0)
        before = np.einsum("pi,pi->p", out[k - 1], unit)[:, None]
        out[k] = turns[k] + 2 * np.pi * np.round((before - angle) / (2 * np.pi)) * unit
    return out


ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("page.js", "charts.js", "solids.js", "film.js", "start.js")
MOST_POINTS = 2000
"""Points of a curve; more cannot be seen."""
SHOWN_FREQUENCIES = 10
HELP = "Drag to zoom, double-click for everything, click to move the film; names switch curves."


def write_report(run: Result, path: Path) -> None:
    """Write the page."""
    spectrum = residual_spectrum(run)
    data = {
        "films": [film_data(run)],
        "times": [packed(run.time[shown_rows(len(run))])],
        "charts": [*(_chart(panel, len(run)) for panel in panels(run)), *_spectrum_chart(spectrum)],
        "events": [{"time": t, "name": name} for t, name, _ in run.info.events],
    }
    body = [
        f"<header><h1>{escape(run.info.name)}</h1>",
        f'<p class="lead">{escape(_lead(run))}</p></header>',
        _warnings(run),
        _figures(_key_figures(run, spectrum)),
        '<section aria-label="film"><div id="film"></div></section>',
        f'<section><h2>Plots</h2><p class="lead screen">{HELP}</p><div id="charts" class="charts"></div>',
        f'<noscript><img alt="{escape(_alternative(run))}" src="data:image/png;base64,{_picture(run)}"></noscript>',
        '</section><div class="tables">',
        f"<section><h2>Largest values</h2>{html_table(_extremes(run))}{_followed(run)}</section>",
        f"<div><section><h2>How the run went</h2>{html_table(facts(run), head=False)}</section>",
        f"<section><h2>Natural frequencies at the end</h2>{html_table(_frequencies(spectrum))}</section></div>",
        '</div><section class="screen"><h2>What was simulated</h2>',
        f"<details><summary>the study</summary><pre>{escape(run.info.study)}</pre></details>",
        f"<details><summary>the robot</summary><pre>{escape(run.robot.to_yaml())}</pre></details></section>",
        f"<footer>Made by Pliant {escape(run.info.version)}</footer>",
    ]
    write_file(path, page(run.info.name, body, data))


def write_film_page(run: Result, path: Path) -> None:
    """Write a page with nothing but the film."""
    write_file(path, film_page(run))


def film_page(run: Result) -> str:
    """A page with nothing but the film."""
    body = [f"<h1>{escape(run.info.name)}</h1>", '<div id="film"></div>']
    return page(run.info.name, body, {"films": [film_data(run)]})


def page(title: str, body: Iterable[str], data: dict[str, Any]) -> str:
    """A whole page that needs nothing else."""
    css = (ASSETS / "report.css").read_text(encoding="utf-8")
    script = "".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)
    # a text of the user must not end the script element, nor begin a comment or another one in it
    inside = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            GENERATOR,
            # no icon is looked for
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>",
            *body,
            f'<script id="data" type="application/json">{inside}</script>',
            f"<script>\n{script}</script>\n</body>\n</html>\n",
        ]
    )


# ---------------------------------------------------------------- texts and key figures


def _lead(run: Result) -> str:
    """What was simulated, in a sentence."""
    from pliant.model.readers.library import parse_document

    study = parse_document(run.info.study, "study").data if run.info.study else {}
    about = study.get("description") or run.robot.description
    parts = [f"Robot {run.robot.name}", f"{run.time[-1]:.4g} s", run.info.ended]
    return f"{f'{about}. ' if about else ''}{', '.join(filter(None, parts))}."


def _warnings(run: Result) -> str:
    if not run.warnings:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in run.warnings)
    return f'<div class="warning" role="alert"><strong>Warnings</strong><ul>{items}</ul></div>'


class _Peak(NamedTuple):
    """The largest length of a vector channel, and when."""

    name: str
    size: float
    time: float


def _peak(run: Result, channels: Iterable[str]) -> _Peak | None:
    """The largest of some channels; None if there are none, or all are zero."""
    found = []
    for name in channels:
        extreme = run.extreme(name)
        at = extreme.most if extreme.most >= -extreme.least else -extreme.least
        when = extreme.most_at if extreme.most >= -extreme.least else extreme.least_at
        found.append(_Peak(name.rpartition(".")[0], at, when))
    largest = max(found, key=lambda peak: peak.size, default=None)
    return largest if largest is not None and largest.size > 0 else None


def _key_figures(run: Result, spectrum: Spectrum) -> Iterator[tuple[str, str, str]]:
    """Name, value and remark of what a reader asks first."""
    yield "simulated", f"{run.time[-1]:.4g} s", f"computed in {run.info.seconds:.2g} s"
    links = [link.name for link in run.robot.links if link.is_flexible]
    if away := _peak(run, [f"{frame}.deflection" for frame in run.info.frames]):
        yield "deviation from the rigid robot", engineering(away.size, "m"), f"{away.name} at {away.time:.3g} s"
    if bent := _peak(run, [f"{name}.deflection" for name in links]):
        part = bent.size / run.robot.link(bent.name).length
        yield "bending of a link", engineering(bent.size, "m"), f"{bent.name}, {100 * part:.2g} % of its length"
    if turned := _peak(run, [f"{name}.slope" for name in links]):
        yield "turning of a link's tip", engineering(turned.size, "rad"), f"{turned.name} at {turned.time:.3g} s"
    peaks = run.stress_peaks()
    for name in sorted(peaks, key=lambda link: (peaks[link].utilisation or 0.0, peaks[link].value))[-1:]:
        peak = peaks[name]
        share = "" if peak.utilisation is None else f", {100 * peak.utilisation:.3g} % of yield"
        at = ", ".join(f"{1e3 * x:.4g}" for x in peak.place)
        where = f"{name} at ({at}) mm, {run.time[peak.state]:.3g} s{share}"
        yield "stress", engineering(peak.value, "Pa"), where
    for word, unit in (("torque", "N m"), ("force", "N")):
        if effort := _peak(run, [name for name in run.efforts if run.unit(name) == unit]):
            yield f"{word} of a motor", engineering(effort.size, unit, 4), f"{effort.name} at {effort.time:.3g} s"
    if len(spectrum.locked):
        yield "lowest natural frequency", f"{spectrum.locked[0]:.3g} Hz", "at the end, joints held"
    off = float(np.abs(run["energy.balance"]).max())
    turned_over = max(float(np.ptp(run[name])) for name in ("energy.total", "energy.kinetic", "work", "dissipated"))
    share = f"{off / turned_over:.0e} of what was turned over" if turned_over > 0 else "nothing was turned over"
    if off <= noise(run, "J"):
        yield "energy error", "0 J", "but for rounding"
    else:
        yield "energy error", engineering(off, "J", 2), share


def _figures(figures: Iterable[tuple[str, str, str]]) -> str:
    cards = (
        f"<div><dt>{escape(name)}</dt><dd><strong>{escape(value)}</strong> {escape(remark)}</dd></div>"
        for name, value, remark in figures
    )
    return f'<dl class="figures">{"".join(cards)}</dl>'


def _alternative(run: Result) -> str:
    return f"plots of the run {run.info.name}: {', '.join(panel.title for panel in panels(run))}"


def _picture(run: Result) -> str:
    """The static plots, for readers without scripts."""
    buffer = io.BytesIO()
    plot_run(run).savefig(buffer, format="png", dpi=80)
    return base64.b64encode(buffer.getvalue()).decode()


# ---------------------------------------------------------------- film and charts


def shown_rows(n: int) -> Any:
    """Samples that a curve shows."""
    return np.unique(np.linspace(0, n - 1, min(MOST_POINTS, n)).round().astype(int))


def _chart(panel: Panel, n: int) -> dict[str, Any]:
    rows = shown_rows(n)
    series = [
        {"name": name, "y": packed(y[rows])}
        | ({"dashed": packed(panel.dashed[name][rows])} if name in panel.dashed else {})
        for name, y in panel.curves.items()
    ]
    return {"title": panel.heading, "unit": panel.unit, "series": series}


def _spectrum_chart(spectrum: Spectrum) -> Iterator[dict[str, Any]]:
    if not len(spectrum.frequency):
        return
    rows = shown_rows(len(spectrum.frequency))
    yield {
        "title": f"vibration of the tip after {spectrum.start:.3g} s, m",
        "unit": "m",
        "spectrum": True,
        "series": [{"name": "amplitude", "x": packed(spectrum.frequency[rows]), "y": packed(spectrum.amplitude[rows])}],
        "marks": [
            {"name": f"natural, joints {word}", "at": natural[natural < spectrum.frequency[-1]].tolist()}
            for word, natural in (("held", spectrum.locked), ("free", spectrum.free))
        ],
    }


# ---------------------------------------------------------------- tables


def html_table(rows: Iterable[Sequence[str]], head: bool = True, words: bool = False) -> str:
    """A table whose first row is its head; without one, and if asked for, its columns hold words."""
    lines = []
    for k, (first, *others) in enumerate(rows):
        if head and k == 0:
            cells = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in (first, *others))
        else:
            cells = f'<th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in others)
        lines.append(f"<tr>{cells}</tr>")
    kind = "numbers" if head and not words else "words"
    return f'<div class="wide"><table class="{kind}">{"".join(lines)}</table></div>'


def facts(run: Result) -> Iterator[tuple[str, str]]:
    """How a run went."""
    info, s = run.info, run.info.statistics
    yield "ended", info.ended
    yield "integrator", f"{info.method}: {info.reason}"
    yield "relative tolerance", f"{info.tolerance:g}"
    if s:
        yield "steps", f"{s['steps']:.0f}, of {s['smallest_step']:.2g} to {s['largest_step']:.2g} s"
        yield "rejected steps", f"{s['rejected']:.0f}"
        yield "evaluations", f"{s['evaluations']:.0f}"
    yield "computing time", f"{info.seconds:.3g} s, preparation included"
    yield "samples", f"{len(run)}"
    for t, name, value in info.events:
        yield "event", f"{name} at {t:.6g} s (value {value:.6g})"
    yield "warnings", f"{len(run.warnings) or 'none'}"


def _followed(run: Result) -> str:
    """Which of them are those of the whole motion."""
    if run.info.extremes:
        text = "They are those of the motion between the samples too"
        sampled = any(f"{frame}.deflection" not in run.info.extremes for frame in run.info.frames)
        text += ", but for deviations of frames." if sampled else "."
    else:
        text = "These are the values at the samples; between them there may be larger ones."
    return f'<p class="lead">{text}</p>'


def _extremes(run: Result) -> Iterator[tuple[str, ...]]:
    yield "channel", "least", "at s", "most", "at s"
    strains = [f"strain.{strain.name}" for strain in run.info.strains]
    for name in (*run.robot.joint_coordinates, *run.efforts, *strains):
        yield _extreme(name, run.extreme(name), run.unit(name), noise(run, run.unit(name)))
    links = [link.name for link in run.robot.links if link.is_flexible]
    for name in (*(f"{link}.deflection" for link in links), *(f"{frame}.deflection" for frame in run.info.frames)):
        yield _extreme(f"|{name}|", run.extreme(name), "m", noise(run, "m"))


def _extreme(name: str, found: Extreme, unit: str, level: float) -> tuple[str, ...]:
    """What is below rounding is zero."""
    least, most = (engineering(0.0 if abs(x) <= level else x, unit, 4) for x in (found.least, found.most))
    return name, least, f"{found.least_at:.4g}", most, f"{found.most_at:.4g}"


def _frequencies(spectrum: Spectrum) -> Iterator[tuple[str, ...]]:
    if not len(spectrum.locked):
        yield ("no link of this robot bends",)
        return
    yield "mode", "joints held, Hz", "joints free, Hz"
    for k in range(min(max(len(spectrum.locked), len(spectrum.free)), SHOWN_FREQUENCIES)):
        yield str(k + 1), *(f"{f[k]:.4g}" if k < len(f) else "" for f in (spectrum.locked, spectrum.free))
