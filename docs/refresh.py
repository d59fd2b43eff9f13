"""Make the pictures of the documentation anew, and the output that the README shows.

Run by ``make docs``; tests compare the README with what the program prints.
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
README = ROOT / "README.md"
PICTURES = ROOT / "docs" / "pictures"
EXAMPLE = ROOT / "examples" / "01_two_link.yaml"
# the mistakes of the README: a misspelt key, a negative width, a misspelt joint
MISTAKES = {"length: 0.5 m": "lenght: 0.5 m", "width: 4 mm": "width: -4 mm", "elbow: -80": "elbo: -80"}
POSE = "shoulder = 40 deg, elbow = -75 deg, wrist = 20 deg"
DRAWN = {
    "canadarm.png": ("show", "canadarm", "--pose", POSE),
    "canadarm-shapes.png": ("shapes", "canadarm"),
    "seven-joint-arm.png": ("show", "seven-joint-arm"),
    "dualemps.png": ("show", "dualemps"),
    "two-link.png": ("show", EXAMPLE),
    "canadarm-run.png": ("simulate", "canadarm", "--force", "--output", "run.h5", "--report", "report.html"),
}
# the report of that run at an instant, as a browser shows it
REPORT, INSTANT, WINDOW = "canadarm-report.png", 4.0, "1220,1150"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def output(*command: object, folder: Path = ROOT) -> str:
    """What a Python process prints; exit code 2 is the answer to wrong input and may be shown."""
    arguments = [sys.executable, *map(str, command)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"}
    done = subprocess.run(arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode not in (0, 2) or not done.stdout:
        sys.exit(f"{shlex.join(arguments)} failed")
    return done.stdout


def screenshot(page: Path, picture: Path, profile: Path) -> None:
    """A page as Chromium shows it; without Chromium the picture stays as it is."""
    if BROWSER is None:
        sys.stderr.write(f"{picture.name} is left as it is: there is no Chromium\n")
        return
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}")
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
    shot = (f"--window-size={WINDOW}", f"--screenshot={picture}", f"{page.as_uri()}#t={INSTANT:g}")
    subprocess.run([BROWSER, *options, *quiet, *shot], check=True, stderr=subprocess.DEVNULL)


def refreshed(text: str, folder: Path) -> str:
    """The README with new output below every command and below its Python code."""

    def console(match: re.Match[str]) -> str:
        command = shlex.split(match[1])[2:]
        return f"```console\n{match[1]}\n{output('-m', 'pliant', *command, folder=folder)}```"

    def python(match: re.Match[str]) -> str:
        return f"```python\n{match[1]}```\n```\n{output('-c', match[1], folder=folder)}```"

    flags = re.MULTILINE | re.DOTALL
    text = re.sub(r"^```console\n(\$ pliant [^\n]*)\n.*?^```$", console, text, flags=flags)
    text = re.sub(r"^```python\n(.*?)^```\n```\n.*?^```$", python, text, flags=flags)
    return re.sub(
        r"^```yaml\n.*?^```$", lambda _: f"```yaml\n{EXAMPLE.read_text('utf-8')}```", text, count=1, flags=flags
    )


def main() -> None:
    """Renew everything in place."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, command in DRAWN.items():
            output("-m", "pliant", *command, "--plot", PICTURES / name, folder=Path(folder))
        # programs that draw pictures and films of their own
        for script in sorted((ROOT / "examples").glob("[0-9]*.py")):
            output(script, PICTURES, folder=Path(folder))
        screenshot(Path(folder) / "report.html", PICTURES / REPORT, Path(folder) / "profile")
        shutil.copy(EXAMPLE, Path(folder) / "two-link.yaml")
        text = EXAMPLE.read_text("utf-8")
        for right, wrong in MISTAKES.items():
            text = text.replace(right, wrong)
        (Path(folder) / "mistakes.yaml").write_text(text, encoding="utf-8")
        README.write_text(refreshed(README.read_text("utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
