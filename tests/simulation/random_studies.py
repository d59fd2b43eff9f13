"""Random studies of small arms, and how far their runs are from tight ones, in units of their tolerances.

    python tests/simulation/random_studies.py --count 200 --seed 0                 what `auto` takes
    python tests/simulation/random_studies.py --count 200 --method esdirk          a method by its name

An arm has one to three links that bend, some of them twist or stretch; a study has any drive, loads that come and go,
a start at rest or with bent links, and any tolerance. The error of a run is the largest difference of a coordinate from
that of the reference over all samples, over what the tolerance allows of it: absolute + relative times its largest
value. A run that is off by more than BEYOND of these units, and does not say so, is a finding.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from pliant.dynamics import Dynamics
from pliant.simulation.integrators.integrator import IntegrationError, Tolerance
from pliant.simulation.run import Run
from pliant.simulation.study import Study

BEYOND = 100.0
"""Units of the tolerance from which a run must say how far off it is."""
TIGHT = 1e-12
"""Tolerance of reference runs."""
NO_REFERENCE = float("nan")
"""Error of a run whose reference cannot be had: the motion diverges."""
MOST_RADIANS = 6e4
"""Fastest rate times duration up to which a reference run is soon done."""
SAMPLES = 100
DRIVES = ("none", "given", "steps", "quintic", "trapezoidal", "computed", "prescribed")


class Outcome(NamedTuple):
    """How a run did: error and estimate in units of the tolerance, and whether it spoke of its accuracy."""

    method: str
    error: float
    where: str
    told: bool
    steps: int
    seconds: float
    estimate: float


def _beam(rng: np.random.Generator, kind: int) -> dict[str, Any]:
    height = float(rng.uniform(0.01, 0.04))
    modes: dict[str, Any] = {"shape": "clamped-mass", "tip_mass": "auto", "tip_inertia": "auto"}
    modes["bend_y"] = 1 + kind % 3
    if kind % 4 == 3:
        modes = {"bend_y": 1 + kind % 2, "axial": {"count": 1, "shape": "clamped-free"}}
    if kind % 4 == 2:
        modes["torsion"] = {"count": 1, "shape": "clamped-free"}
    return {
        "length": float(rng.uniform(0.3, 1.0)),
        "material": ("aluminium", "steel")[int(rng.integers(2))],
        "section": {"rectangle": {"width": float(rng.uniform(0.003, 0.01)), "height": height}},
        "modes": modes,
        "damping": {"ratio": float(rng.choice([0.0005, 0.005, 0.05]))},
    }


def random_robot(rng: np.random.Generator) -> dict[str, Any]:
    """An arm in the vertical plane, with flexible links and motors."""
    count, kind, links = int(rng.choice([1, 2, 2, 3])), int(rng.integers(8)), list[dict[str, Any]]()
    for k in range(count):
        friction = {"viscous": float(rng.uniform(0.02, 0.5))}
        if kind == 1:
            friction |= {"coulomb": float(rng.uniform(0.05, 0.5)), "smoothing": 0.01}
        joint: dict[str, Any] = {"name": f"j{k}", "axis": "z", "friction": friction}
        if not k:
            joint["placement"] = {"rotation": {"x": 1.5707963267948966}}
        else:
            joint["parent"] = f"l{k - 1}.tip"
        link = {"name": f"l{k}", "joint": joint, "beam": _beam(rng, kind)}
        link["hub"] = {"mass": float(rng.uniform(0.3, 2.0)), "inertia": float(rng.uniform(1e-3, 1e-2))}
        if k == count - 1:
            link["payloads"] = [{"frame": "tip", "mass": float(rng.uniform(0.1, 1.0)), "inertia": 2e-4}]
        links.append(link)
    pose = {f"j{k}": float(rng.uniform(-1.5, 1.5)) for k in range(count)}
    return {"name": "arm", "gravity": [0, 0, -9.81], "links": links, "pose": pose}


def _drive(rng: np.random.Generator, names: list[str], pose: dict[str, float], until: float) -> dict[str, Any] | None:
    kind = DRIVES[int(rng.integers(len(DRIVES)))]
    to = {name: pose[name] + float(rng.uniform(-0.6, 0.6)) for name in names}
    duration = float(rng.uniform(0.3, 0.9)) * until
    if kind == "none":
        return None
    if kind == "given":
        at, size = float(rng.uniform(0.1, 0.6)) * until, float(rng.uniform(0.5, 5.0))
        return {"given": {"joints": dict.fromkeys(names, f"{size} * step(t - {at}) - {size / 2}")}}
    paths: dict[str, Any] = {
        "steps": {"steps": {"points": [{"time": float(rng.uniform(0, 0.5)) * until, "to": to}]}},
        "trapezoidal": {"trapezoidal": {"to": to, "duration": duration, "ramp": 0.3}},
    }
    path = paths.get(kind, {"quintic": {"to": to, "duration": duration}})
    if kind == "prescribed":
        return {"prescribed": {"trajectory": path}}
    if kind == "computed":
        rate = float(rng.uniform(5, 30))
        return {"computed_torque": {"trajectory": path, "kp": rate * rate, "kd": 1.4 * rate}}
    kp, kd = float(rng.uniform(50, 500)), float(rng.uniform(5, 50))
    pid = {"trajectory": path, "kp": kp, "kd": kd, "gravity": "desired"}
    if rng.random() < 0.15:
        # gains that a computer of this pace can hold the lightest joint with
        pid |= {"sampling": {"period": 0.001}, "kp": 0.02 * kp, "kd": 0.01 * kd}
    return {"pid": pid}


def random_study(seed: int, number: int, **integrator: Any) -> Study:
    """A study by its number, its duration such that a reference run ends soon."""
    rng = np.random.default_rng([seed, number])
    robot = random_robot(rng)
    names, until = list(robot["pose"]), float(rng.choice([0.2, 0.5, 1.0, 3.0, 8.0]))
    given: dict[str, Any] = {"name": f"study {number}", "robot": robot, "until": until, "limits": "ignore"}
    given["drive"] = _drive(rng, names, robot["pose"], until)
    if rng.random() < 0.5:
        given["start"] = {"links": "equilibrium"}
    if rng.random() < 0.4:
        start = float(rng.uniform(0.1, 0.5)) * until
        force = [0.0, 0.0, float(rng.uniform(-10, 10))]
        given["disturbances"] = [
            {"frame": "tip", "force": force, "start": start, "end": start + float(rng.uniform(0.02, 0.3)) * until}
        ]
    given["integrator"] = {"tolerance": float(10.0 ** rng.uniform(-9, -4)), **integrator}
    given["outputs"] = {"step": until / SAMPLES}
    given = {key: value for key, value in given.items() if value is not None}
    study = Study.model_validate(given)
    rate = _fastest(study)
    if rate * until > MOST_RADIANS:
        until = float(f"{MOST_RADIANS / rate:.2g}")
        scale = until / given["until"]
        study = Study.model_validate(_shortened(given, scale, until))
    return study


def _shortened(given: dict[str, Any], scale: float, until: float) -> dict[str, Any]:
    """The same study in a shorter time: what is timed comes sooner."""

    def scaled(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: scaled(x, k) for k, x in value.items()}
        if isinstance(value, list):
            return [scaled(x, key) for x in value]
        return value * scale if key in ("start", "end", "duration", "time") and isinstance(value, float) else value

    timed = {key: scaled(given[key]) for key in ("drive", "disturbances") if key in given}
    return {**given, **timed, "until": until, "outputs": {"step": until / SAMPLES}}


def _fastest(study: Study) -> float:
    from pliant.simulation.choice import fastest_rate

    run = Run(study.with_changes(integrator={"method": "dop853"}))
    return fastest_rate(run.equations, run.q0, run.v0)


def _ran(study: Study, arm: Dynamics | None = None) -> tuple[Run, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Run(study, arm)
        try:
            run.go()
        except IntegrationError as error:
            run.give_up(error)
        return run, run.result()


def outcome(study: Study) -> Outcome:
    """A run of a study beside a tight one."""
    options = study.integrator
    reference = study.with_changes(integrator={"method": "dop853", "tolerance": TIGHT, "absolute": 1e-15})
    began = time.process_time()
    run, found = _ran(study)
    seconds = time.process_time() - began
    tight, exact = _ran(reference, run.arm)
    allowed = Tolerance.of(run.equations, options.tolerance, options.absolute, options.groups)
    moving = run.equations.moving
    n = min(len(found.q), len(exact.q))
    scale = allowed.absolute[run.equations.layout.q] + allowed.relative * np.abs(exact.q[:, moving]).max(axis=0)
    apart = np.abs(found.q[:n, moving] - exact.q[:n, moving]).max(axis=0) / scale
    k = int(np.argmax(apart))
    told = bool(run.trouble) or any("times the tolerance" in text for text in found.warnings)
    return Outcome(
        run.method,
        NO_REFERENCE if tight.trouble else float(apart[k]),
        run.arm.names[moving[k]],
        told,
        int(found.info.statistics["steps"]),
        seconds,
        run.accuracy.reached(run.integrator)[0],
    )


def main() -> None:
    """A line for each study, and how many were off."""
    parser = argparse.ArgumentParser(description="Random studies against tight runs.")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="auto")
    options = parser.parse_args()
    found = []
    for number in range(options.first, options.first + options.count):
        study = random_study(options.seed, number, method=options.method)
        it = outcome(study)
        found.append(it)
        drive = "none" if study.drive is None else type(study.drive).__name__
        sys.stdout.write(
            f"{number:4d} {it.method:17s} {drive:16s} tol {study.integrator.tolerance:.1e} until {study.until:5.3g} s "
            f"steps {it.steps:6d} {it.seconds:5.2f} s  off {it.error:9.3g} estimated {it.estimate:9.3g} "
            f"{'told' if it.told else ('UNTOLD' if it.error > BEYOND else '')} {it.where}\n"
        )
        sys.stdout.flush()
    for method in sorted({it.method for it in found}):
        own = [it for it in found if it.method == method]
        off = [it for it in own if it.error > BEYOND]
        spoke = sum(it.told and it.error <= BEYOND for it in own)
        sys.stdout.write(
            f"{method}: {len(own)} runs, {len(off)} off by more than {BEYOND:g} times the tolerance, "
            f"{sum(not it.told for it in off)} of them untold; {spoke} others spoke of their error; largest untold "
            f"{np.nanmax([0.0, *(it.error for it in own if not it.told)]):.3g}\n"
        )


if __name__ == "__main__":
    main()
