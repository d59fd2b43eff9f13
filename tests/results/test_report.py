"""Pictures, films and the HTML report: whole, without network, and with scripts that run."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pliant.results.film import make_film
from pliant.results.result import Result
from pliant.simulation.run import run_study
from pliant.simulation.study import load_study

PAGE = Path(__file__).parent / "page.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def run():
    return run_study(load_study("two-link", changes={"until": 0.4}))


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    run.report(path)
    return path


def test_the_film_ends_where_the_tip_is(run):
    film = make_film(run, 20)
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
    for part in ("How the run went", "energy balance", "Natural frequencies", "the study", "<noscript><img"):
        assert part in text


def test_texts_of_the_user_stay_texts(run, tmp_path):
    info = run.info.from_data({**run.info.as_data(), "name": "</script><b>x</b>"})
    Result(run.robot, run.samples, info, run.arm).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "</script><b>" not in text
    assert "&lt;/script&gt;" in text


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_of_the_report_runs(page):
    """Against a stand-in for a browser that refuses numbers that are not finite."""
    done = subprocess.run(["node", PAGE, page], capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["film"] == 1
    assert seen["charts"] == 8
    assert seen["outside"] == []


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="needs Chromium")
def test_a_browser_shows_the_report(page, tmp_path):
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    picture = tmp_path / "page.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,2400", "--enable-logging=stderr"]
    done = subprocess.run(
        [browser, *options, f"--screenshot={picture}", page.as_uri()],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert "CONSOLE" not in done.stderr or "Error" not in done.stderr
    with Image.open(picture) as shown:
        colours = shown.convert("RGB").getcolors(1 << 24)
    assert (0x1D, 0x4E, 0xD8) in {colour for _, colour in colours}


def test_plots(run, tmp_path):
    figure = run.plot(tmp_path / "run.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert len(titles) == 8
    with Image.open(tmp_path / "run.png") as picture:
        assert picture.width > 1000


def test_films(run, tmp_path):
    run.animate(tmp_path / "film.gif", seconds=0.3)
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 6
    run.animate(tmp_path / "film.html")
    assert 'id="film"' in (tmp_path / "film.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="a film must end in"):
        run.animate(tmp_path / "film.avi")
    if shutil.which("ffmpeg") is None:
        with pytest.raises(RuntimeError, match="needs the program ffmpeg"):
            run.animate(tmp_path / "film.mp4")
