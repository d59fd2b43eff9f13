"""Make the pictures of the documentation anew, and what the examples print.

Run by ``make figures``; the output of the pages' own blocks is renewed by ``docs/pages.py``.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples.md"
PICTURES = ROOT / "docs" / "pictures"
POSE = "shoulder = 40 deg, elbow = -75 deg, wrist = 20 deg"
DRAWN = {
    "canadarm.png": ("show", "canadarm", "--pose", POSE),
    "canadarm-shapes.png": ("shapes", "canadarm"),
    "follow-a-circle.png": ("inverse", ROOT / "examples" / "follow_a_circle.yaml", "--force"),
    "shape-a-move.png": ("shape", ROOT / "examples" / "shape_a_move.yaml", "--force"),
    "seven-joint-arm.png": ("show", "seven-joint-arm"),
    "dualemps.png": ("show", "dualemps"),
    "two-link.png": ("show", ROOT / "examples" / "01_two_link.yaml"),
    "canadarm-run.png": ("simulate", "canadarm", "--force", "--output", "run.h5", "--report", "report.html"),
}
# the report of that run at an instant, as a browser shows it
REPORT, INSTANT, WINDOW = "canadarm-report.png", 4.0, "1220,1150"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def output(*command: object, folder: Path = ROOT) -> str:
    """What a Python process prints."""
    arguments = [sys.executable, *map(str, command)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"}
    done = subprocess.run(arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode or not done.stdout:
        sys.exit(f"{shlex.join(arguments)} failed")
    return done.stdout


def screenshot(page: Path, picture: Path, profile: Path) -> None:
    """A page as Chromium shows it; without Chromium the picture stays as it is."""
    if BROWSER is None:
        sys.stderr.write(f"{picture.name} is left as it is: there is no Chromium\n")
        return
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-unsafe-swiftshader",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
    )
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
    shot = (f"--window-size={WINDOW}", f"--screenshot={picture}", f"{page.as_uri()}#t={INSTANT:g}")
    subprocess.run([BROWSER, *options, *quiet, *shot], check=True, stderr=subprocess.DEVNULL)


def filled(text: str, name: str, printed: str) -> str:
    """The page of the examples with what one of them prints."""
    return re.sub(
        rf"^<!-- {name} -->\n(?:```text\n.*?^```\n)?",
        lambda _: f"<!-- {name} -->\n```text\n{printed}```\n",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def main() -> None:
    """Renew everything in place."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, command in DRAWN.items():
            output("-m", "pliant", *command, "--plot", PICTURES / name, folder=Path(folder))
        screenshot(Path(folder) / "report.html", PICTURES / REPORT, Path(folder) / "profile")
        sys.stderr.write(output(ROOT / "docs" / "refresh_viewer.py", folder=Path(folder)))
        sys.stderr.write(output(ROOT / "docs" / "refresh_control.py", folder=Path(folder)))
        sys.stderr.write(output(ROOT / "docs" / "refresh_booms.py", folder=Path(folder)))
        page = EXAMPLES.read_text("utf-8")
        for script in sorted((ROOT / "examples").glob("[0-9]*.py")):
            page = filled(page, script.stem, output(script, PICTURES, folder=Path(folder)))
        EXAMPLES.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
