"""The verification as a public benchmark: case files for other programs, and other programs that are installed here."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pliant.files import mark, write_file, write_generated
from pliant.reproduce.claim import Claim
from pliant.verification import exudyn_cases, mujoco_cases

PEERS: dict[str, tuple[str, Callable[[], dict[str, float]]]] = {
    "Exudyn": ("exudyn", exudyn_cases.results),
    "MuJoCo": ("mujoco", mujoco_cases.results),
}
"""What a program is called -> its package, and what computes its cases."""

CASES = "cases.json"


def peers(cases: Iterable[str]) -> dict[str, dict[str, float]]:
    """Program and version -> case -> number, of those that are installed and of the cases that are asked for."""
    wanted = set(cases)
    found = {}
    for name, (package, results) in PEERS.items():
        try:
            label = f"{name} {version(package)}"
            # they greet on import
            with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                numbers = {case: x for case, x in results().items() if case in wanted}
        except (PackageNotFoundError, ImportError):
            continue
        if numbers:
            found[label] = numbers
    return found


def write_cases(claims: Iterable[Claim], folder: Path) -> tuple[int, int]:
    """Write cases.json and a robot file for every robot; gives the numbers of cases and of robots.

    Each case has its name, what is asked for, the robot's file, what acts on it (``given``), the reference with its
    source, and the tolerance. Cases that compare our own methods with each other, and misprints, are left out.
    """
    kept: list[dict[str, Any]] = []
    robots: dict[str, str] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for claim in claims:
        if claim.robot is None or claim.wrong:
            continue
        text = claim.robot.to_yaml()
        if text not in robots:
            words = re.sub(r"[^\w-]+", "-", ".".join(claim.case.split(".")[:3]))
            robots[text] = f"{words}.yaml" if f"{words}.yaml" not in robots.values() else f"{words}-{len(robots)}.yaml"
        data = claim.as_data()
        kept.append(
            {
                **{key: data[key] for key in ("case", "what", "unit", "tolerance", "absolute", "source")},
                "reference": claim.theirs,
                "robot": robots[text],
                "given": claim.given,
            }
        )
    for text, name in robots.items():
        write_generated(folder / name, text)
    write_file(folder / CASES, json.dumps({"generator": mark(), "cases": kept}, indent=1) + "\n")
    return len(kept), len(robots)
