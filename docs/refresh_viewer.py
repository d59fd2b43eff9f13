"""Take the pictures of docs/viewer.md anew, as a browser shows the viewer and a comparison.

Called by ``docs/refresh.py``; without Chromium or viser the pictures stay as they are.
"""

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
PICTURES = ROOT / "docs" / "pictures"
SETTLED = 12.0
"""Seconds until a browser without graphics hardware has drawn a scene."""
ARM_MODE, RUNS_AT = 2, 0.6


def runs():
    """A run, and the same with another payload."""
    import pliant
    from pliant.simulation.study import load_study

    study = load_study("two-link", changes={"until": 1.0})
    heavier = pliant.load("two-link-flexible").set("forearm.payloads[0].mass", 1.2)
    other = study.model_copy(update={"robot": heavier, "name": "heavier"})
    return pliant.run_study(study), pliant.run_study(other)


def shot(browser, scene, name):
    """The scene in a window, after a while."""
    browser.visit(scene.url, width=1280, height=760)
    time.sleep(SETTLED)
    # what the viewer says about a computer without graphics hardware is of no interest
    browser.run("document.querySelectorAll('.mantine-Notification-root').forEach((note) => note.remove())")
    browser.window().quantize(256).save(PICTURES / name, optimize=True)


def main():
    """Renew all of them."""
    from browser import PROGRAM, Browser

    if PROGRAM is None or find_spec("viser") is None:
        sys.stdout.write("the pictures of the viewer are left as they are: there is no Chromium, or no viser\n")
        return
    import pliant

    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(Path(folder) / "profile")
        with pliant.Dynamics("six-dof").view(browser=False) as scene:
            modes, look = scene.modes, scene.look
            modes.moves.value, look.colour.value = False, "stress"
            modes.choice.value = modes.choice.options[ARM_MODE]
            look.apply()
            modes.choose()
            shot(browser, scene, "viewer-arm.png")
        first, second = runs()
        with first.view(second, browser=False) as scene:
            scene.play.choice.value = next(name for name in scene.play.choice.options if "torque" in name)
            scene.play.renew()
            scene.play.seek(RUNS_AT)
            shot(browser, scene, "viewer-runs.png")
        page = Path(folder) / "both.html"
        first.report(page, beside=[second])
        browser.open(page, width=1200, height=1150)
        browser.run(
            f"""(() => {{ const time = document.querySelector('.film input[name="time"]');
            time.value = {RUNS_AT}; time.dispatchEvent(new Event("input")); }})()"""
        )
        browser.picture().crop((0, 0, 1200, 1500)).quantize(256).save(PICTURES / "report-comparison.png", optimize=True)
        browser.close()
    sys.stdout.write("pictures of the viewer and of a comparison\n")


if __name__ == "__main__":
    main()
