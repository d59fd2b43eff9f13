"""Make the table of real robots in docs/urdf.md anew, where pin and example-robot-data are installed."""

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
PAGE = ROOT / "docs" / "urdf.md"
START, END = "<!-- table -->", "<!-- end of table -->"


def comparison():
    """The module of the tests that knows the files and Pinocchio."""
    place = ROOT / "tests" / "model" / "test_example_robots.py"
    spec = importlib.util.spec_from_file_location("example_robots", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loads(real, file, **options):
    try:
        return real.quietly(file, **options)
    except real.ModelError:
        return None


def difference(real, file, robot):
    """Largest difference of accelerations to Pinocchio's, relative to the largest of them."""
    arm, peer, (q, v, tau) = real.meeting(file, robot)
    try:
        ours = arm.forward(q, v, force=tau)
    except ValueError:
        return "moving links without mass"
    theirs = real.expected(robot, peer, q, v, tau)
    return f"{max(np.abs(ours - theirs).max() / np.abs(theirs).max(), 1e-16):.0e}"


def row(real, name, file):
    plain = loads(real, file, strict=True)
    robot = loads(real, file)
    tied = re.search(r"<mimic\s", file.read_text(encoding="utf-8", errors="replace")) is not None
    before = "yes" if plain is not None and not tied else "–"
    if robot is None:
        return before, False, f"| {name} | {before} | – | | | | | there is no link in this file |"
    repairs = len(real.read_urdf(file).repairs)
    compared = difference(real, file, robot) if robot.joint_coordinates else "one body"
    cells = [
        name,
        before,
        "yes",
        repairs or "",
        len(robot.joint_coordinates),
        len(robot.ties) or "",
        f"{robot.mass:.3f}",
    ]
    return before, True, "| " + " | ".join(str(cell) for cell in (*cells, compared)) + " |"


def main():
    warnings.simplefilter("ignore")
    real = comparison()
    rows = [row(real, name, file) for name, file in real.ROBOTS.items()]
    before, after = sum(first == "yes" for first, _, _ in rows), sum(second for _, second, _ in rows)
    head = [
        f"{len(rows)} files: {before} load without repairs and ties, {after} with them.",
        "",
        "| file | as it is | with repairs and ties | repairs | joint coordinates | ties | mass, kg | accelerations |",
        "|---|---|---|---|---|---|---|---|",
    ]
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join([*head, *(line for _, _, line in rows)])
    PAGE.write_text(re.sub(f"{START}.*{END}", f"{START}\n{table}\n{END}", text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
