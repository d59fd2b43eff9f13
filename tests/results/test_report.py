"""Pictures, films and the HTML report: whole, without network, and as a browser shows them."""

import re
import shutil
import subprocess
import time
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageChops

from browser import PROGRAM, Browser
from pliant.pictures.animation import make_film
from pliant.results.comparison import difference
from pliant.results.result import Result
from pliant.simulation.run import run_study, simulate
from pliant.simulation.start import Start
from pliant.simulation.study import load_study

# bytes that a mail or a chat still takes
LARGEST_PAGE = 3_000_000
CHARTS = ("joint", "motor", "deflection", "deviation", "strain", "energy and work", "vibration")
PATIENCE = 200.0
"""Seconds after which a page that does not move is held for one that does not."""


@pytest.fixture(scope="module")
def run():
    return run_study(load_study("two-link", changes={"until": 0.4}))


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    run.report(path)
    return path


def test_the_film_ends_where_the_tip_is(run):
    film = make_film(run.arm, run.time, run.q, 20)
    assert len(film.time) == 20
    last = film.lines[-1]
    assert last.bent[:, -1] == pytest.approx(film.tip, abs=1e-12)
    # rigid lines are straight and as long as the links
    lengths = [np.linalg.norm(line.rigid[:, -1] - line.rigid[:, 0], axis=1) for line in film.lines]
    assert lengths[0] == pytest.approx(0.6)
    assert lengths[1] == pytest.approx(0.5)


def test_the_report_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?(https?:|//)|fetch\(|XMLHttpRequest|@import|url\(""", text)
    for part in ("How the run went", "energy error", "Natural frequencies", "the study", "<noscript><img"):
        assert part in text
    assert page.stat().st_size < LARGEST_PAGE


def test_texts_of_the_user_stay_texts(run, tmp_path):
    info = run.info.from_data({**run.info.as_data(), "name": "</script><b>x</b>", "warnings": ["<i>"]})
    Result(run.robot, run.samples, info, run.arm).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "</script><b>" not in text
    assert "&lt;/script&gt;" in text
    assert "<li>&lt;i&gt;</li>" in text


@pytest.mark.parametrize("rows", [1, 2])
def test_a_run_that_ended_at_once_is_shown(run, tmp_path, rows):
    samples = type(run.samples)(*(array[:rows] for array in run.samples.arrays().values()))
    short = Result(run.robot, samples, run.info, run.arm)
    short.report(tmp_path / "page.html")
    short.plot(tmp_path / "run.png")
    short.animate(tmp_path / "film.gif", seconds=0.2)


def test_loops_are_drawn_closed():
    """The rods of the parallel robot meet the platform."""
    run = simulate("three-prs", until=0.01)
    film = make_film(run.arm, run.time, run.q, 2)
    ends = np.concatenate([line.bent[0, [0, -1]] for line in film.lines])
    platform = run.arm.pose("platform.root", run.q[0]).position
    spokes = [line for line in film.lines if np.allclose(line.bent[0, 0], platform)]
    assert len(spokes) == 3
    for spoke in spokes:
        assert np.count_nonzero(np.linalg.norm(ends - spoke.bent[0, -1], axis=1) < 1e-6) > 1


def test_rails_stay_and_only_beams_are_flexible():
    """The carriages of the parallel robot slide along their rails; its tip is the point of the tool."""
    run = simulate("dualemps", until=0.01, start=Start(position={"q11": 0.1, "q21": 0.1}))
    film = make_film(run.arm, run.time, run.q, 2)
    rails = [line for line in film.lines if line.link.startswith("carriage") and not line.bent[0, 0].any()]
    assert [line.bent.shape[1] for line in rails] == [3, 3]
    assert np.allclose([line.bent[:, 1] for line in rails], [[[0, 0, 0]] * 2, [[0.4, 0, 0]] * 2])
    assert {line.link for line in film.lines if line.flexible} == {"beam_13", "beam_16", "beam_23"}
    assert sum(line.flexible for line in film.lines) == 3
    assert np.array_equal(run["tip.position"], run["tool_17.root.position"])


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if PROGRAM is None:
        pytest.skip("needs Chromium")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def change(first, second):
    """The part of two pictures of equal size that differs."""
    assert first.size == second.size
    difference = np.asarray(ImageChops.difference(first, second)).max(axis=2)
    return np.count_nonzero(difference > 20) / difference.size


def settled(browser):
    """Wait until everything has been laid out and drawn."""
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def slide(browser, name, value):
    browser.run(
        f"""(() => {{ const input = document.querySelector('.film input[name="{name}"]');
        input.value = {value}; input.dispatchEvent(new Event("input")); }})()"""
    )


def choose(browser, name, value):
    browser.run(
        f"""(() => {{ const input = document.querySelector('.film select[name="{name}"]');
        input.value = "{value}"; input.dispatchEvent(new Event("change")); }})()"""
    )


@pytest.mark.parametrize("look", ["light", "dark", "narrow"])
def test_a_browser_shows_the_report(browser, page, look):
    width = 390 if look == "narrow" else 1200
    browser.open(page, width=width, dark=look == "dark", touch=look == "narrow")
    settled(browser)
    assert browser.errors == []
    assert browser.run("document.documentElement.scrollWidth") == width
    background = browser.picture().getpixel((2, 2))
    assert (max(background) < 60) == (look == "dark")
    titles = browser.run("[...document.querySelectorAll('.chart figcaption')].map((node) => node.textContent)")
    assert all(word in title for word, title in zip(CHARTS, titles, strict=True))
    for k, drawn in enumerate(
        browser.run("[...document.querySelectorAll('.chart svg[role]')].map((s) => s.innerHTML)")
    ):
        assert "NaN" not in drawn
        assert "Infinity" not in drawn
        assert drawn.count("<polyline") > 0, titles[k]
    # the first curve of the first chart is seen in its colour
    colour = browser.run("getComputedStyle(document.querySelector('.chart polyline.curve')).stroke")
    seen = {shade for _, shade in browser.picture(".chart").getcolors(1 << 24)}
    assert tuple(map(int, re.findall(r"\d+", colour))) in seen


def test_every_picture_has_words(browser, page):
    browser.open(page)
    labels = browser.run(
        "[...document.querySelectorAll('svg[role=img], img')].map((s) => s.getAttribute('aria-label'))"
    )
    assert len(labels) == 1 + len(CHARTS)
    assert "shoulder from" in labels[1]
    assert browser.run("[...document.querySelectorAll('input, select')].every((i) => i.labels.length === 1)")


def sometime(condition):
    """Whether something becomes true while one waits as patiently as the slowest machine needs."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def test_the_film_plays(browser, page):
    browser.open(page)
    first = browser.picture(".film svg")
    assert sometime(lambda: change(first, browser.picture(".film svg")) > 1e-4)
    button = "document.querySelector('.film .play')"
    assert "pause" in browser.run(f"{button}.textContent")
    browser.run(f"{button}.click()")
    assert "play" in browser.run(f"{button}.textContent")
    settled(browser)
    still = browser.picture(".film")
    time.sleep(0.15)
    assert change(still, browser.picture(".film")) == 0
    browser.run(f"{button}.click()")
    assert sometime(lambda: change(still, browser.picture(".film")) > 0)
    assert browser.errors == []


def test_the_film_obeys(browser, page):
    """Slider, magnified bending, turning by the mouse, and a click into a chart."""
    browser.open(page)
    slide(browser, "time", 0.2)
    clock = "document.querySelector('.film output').textContent"
    assert browser.run(clock) == "0.20 s"
    at_rest = browser.picture(".film svg")
    slide(browser, "bending", 20)
    assert change(at_rest, browser.picture(".film svg")) > 1e-3
    slide(browser, "bending", 1)
    assert change(at_rest, browser.picture(".film svg")) == 0
    browser.drag(".film svg", 0.4, 0.6)
    turned = browser.picture(".film svg")
    assert change(at_rest, turned) > 1e-3
    # the frame of what has been clicked is no part of the film
    browser.run("document.activeElement.blur(); [...document.querySelectorAll('.film button')].at(-1).click()")
    assert change(at_rest, browser.picture(".film svg")) == 0
    browser.drag(".chart svg", 0.5, 0.5)
    assert browser.run(clock) != "0.20 s"
    assert browser.errors == []


def test_solids_are_painted_and_coloured(browser, page):
    """Sections, hubs and payloads in colours; thicker, closer, by deflection and by stress they look otherwise."""
    browser.open(page)
    slide(browser, "time", 0.2)
    plain = browser.picture(".film svg")
    # the canvas beneath the lines is not empty where the robot is, and empty elsewhere
    dots = browser.run(
        """(() => { const c = document.querySelector('.film canvas'), copy = document.createElement('canvas');
        [copy.width, copy.height] = [c.width, c.height];
        const pen = copy.getContext('2d'); pen.drawImage(c, 0, 0);
        const d = pen.getImageData(0, 0, c.width, c.height).data;
        let seen = 0; for (let i = 3; i < d.length; i += 4) seen += d[i] > 0;
        return seen / (c.width * c.height); })()"""
    )
    assert 1e-3 < dots < 0.5
    seen = [plain]
    slide(browser, "sections", 6)
    seen.append(browser.picture(".film svg"))
    for way in ("deflection", "stress"):
        choose(browser, "colour", way)
        seen.append(browser.picture(".film svg"))
        ends = browser.run("document.querySelector('.film .scale').innerText")
        assert ("MPa" if way == "stress" else "mm") in ends
    browser.run(
        """document.querySelector('.film svg').dispatchEvent(new WheelEvent("wheel",
        { deltaY: -400, ctrlKey: true, clientX: 500, clientY: 200, cancelable: true }))"""
    )
    seen.append(browser.picture(".film svg"))
    for first, second in pairwise(seen):
        assert change(first, second) > 1e-3
    assert browser.errors == []


def test_runs_are_compared(browser, run, tmp_path):
    """Another run of the same robot beside it: both films, both curves, and what differs."""
    later = run_study(load_study("two-link", changes={"until": 0.3, "start": {"position": {"shoulder": 1.0}}}))
    run.report(tmp_path / "both.html", beside=[later])
    time, off = difference(run, later, "shoulder")
    assert off[0] == pytest.approx(abs(later["shoulder"][0] - run["shoulder"][0]), rel=1e-9)
    assert time[-1] == pytest.approx(0.3, abs=0.01)
    text = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert len(text) < LARGEST_PAGE
    browser.open(tmp_path / "both.html")
    settled(browser)
    assert browser.errors == []
    for part in ("header", ".film .legend", ".chart .legend"):
        words = browser.run(f"document.querySelector('{part}').innerText")
        assert "two-link" in words
        assert "two-link (2)" in words
    assert browser.run("document.querySelectorAll('.chart')[0].querySelectorAll('.curve').length") == 4
    rows = browser.run("[...document.querySelectorAll('table.numbers tr')].map((row) => row.innerText)")
    assert any("tip.deflection" in row for row in rows)
    assert "until" in browser.run("document.querySelector('pre ins').parentNode.innerText")


def test_what_cannot_be_compared_is_refused(run, tmp_path):
    with pytest.raises(ValueError, match="8 runs to compare; there must be 2 to 6"):
        run.report(tmp_path / "both.html", beside=[run] * 7)


def test_charts_can_be_read_and_zoomed(browser, page):
    browser.open(page)
    slide(browser, "time", 0.0)
    whole = browser.picture(".chart")
    browser.drag(".chart svg", 0.3, 0.6)
    # the mouse is still there: it reads the values of both joints
    readings = browser.run("[...document.querySelectorAll('.chart .box ~ text')].map((text) => text.textContent)")
    assert [line.split()[0] for line in readings[1:]] == ["shoulder", "elbow"]
    assert change(whole, browser.picture(".chart")) > 1e-3
    browser.run("document.querySelector('.chart .legend button').click()")
    assert browser.run("document.querySelectorAll('.chart')[0].querySelectorAll('.curve').length") == 1
    assert browser.errors == []


def test_the_page_prints_and_keeps_still_if_asked(browser, page, tmp_path):
    browser.open(page, dark=True)
    paper = tmp_path / "page.pdf"
    paper.write_bytes(browser.paper())
    assert paper.read_bytes().startswith(b"%PDF")
    browser.media(kind="print", dark=True)
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.media(still=True)
    browser.run("window.before = true")
    browser.reload()
    label = "document.querySelector('.film .play')?.textContent ?? ''"
    assert sometime(lambda: "play" in browser.run(f"window.before ? '' : {label}"))
    browser.media()


# ---------------------------------------------------------------- plots and films


def test_plots(run, tmp_path):
    figure = run.plot(tmp_path / "run.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert all(word in title for word, title in zip(("motion", *CHARTS), titles, strict=True))
    with Image.open(tmp_path / "run.png") as picture:
        assert picture.width > 1000


def test_films(run, tmp_path):
    run.animate(tmp_path / "film.gif", seconds=0.3)
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 6
        film.seek(5)
        assert film.info["duration"] == 50
        shades = np.array([colour for _, colour in film.convert("RGB").getcolors(1 << 24)])
        # the paper is white, the flexible links are nearly of their blue
        assert np.abs(shades - 255).max(axis=1).min() == 0
        assert np.abs(shades - (29, 78, 216)).max(axis=1).min() < 10
    run.animate(tmp_path / "film.html")
    assert 'id="film"' in (tmp_path / "film.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="a film must end in"):
        run.animate(tmp_path / "film.avi")
    for seconds in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="the length must be positive"):
            run.animate(tmp_path / "film.gif", seconds=seconds)


def test_a_film_lasts_as_long_as_asked(run, tmp_path):
    """Also when there are fewer samples than pictures: then each is shown for longer."""
    samples = type(run.samples)(*(array[:11] for array in run.samples.arrays().values()))
    Result(run.robot, samples, run.info, run.arm).animate(tmp_path / "film.gif", seconds=2.2)
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 11
        assert film.info["duration"] == 200


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_an_mp4_film(run, tmp_path):
    run.animate(tmp_path / "film.mp4", seconds=1.0)
    # ffmpeg reads it back: its pictures, of one size, all different from white
    pictures = tmp_path / "%02d.png"
    subprocess.run(["ffmpeg", "-v", "error", "-i", tmp_path / "film.mp4", pictures], check=True, timeout=240)
    found = sorted(tmp_path.glob("*.png"))
    assert len(found) == 30
    with Image.open(found[0]) as first, Image.open(found[-1]) as last:
        assert first.size == (960, 720)
        assert change(first.convert("RGB"), last.convert("RGB")) > 1e-3


def test_without_ffmpeg_mp4_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs the program ffmpeg, which is not installed; take \.gif"):
        run.animate(tmp_path / "film.mp4")
    assert not list(tmp_path.iterdir())
