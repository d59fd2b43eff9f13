"""A concrete pump slews its boom of 30 m: how far it hangs, and how its hose swings when the slewing ends.

    python examples/06_concrete_boom.py [FOLDER]

writes concrete-boom.png: the boom at rest, and the sideways motion of its tip.
"""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pliant
from pliant.pictures.bent_links import BentLinks

ANGLE, SLEW, UNTIL = np.radians(30), 5.0, 13.0
"""Turn of the column, how long it takes, and how long the boom is watched, s."""
GRAVITY, STATIONS = 9.81, 400
PIVOT = 3.5
"""m: height of the first joint."""


def sag_by_hand(robot: pliant.Robot) -> float:
    """Sag of the tip of the level boom (m): moment of all weight outboard times lever over EI, summed (Mohr)."""
    beams = [link.beam for link in robot.links if link.beam is not None]
    ends = np.cumsum([0.0, *(beam.length for beam in beams)])
    x = np.concatenate([np.linspace(a, b, STATIONS) for a, b in pairwise(ends)])
    EI = np.repeat([float(beam.at(0.0).EIz) for beam in beams], STATIONS)
    weight = GRAVITY * np.repeat([float(beam.at(0.0).mass_per_length) for beam in beams], STATIONS)
    lever = ends[-1] - x
    moment = _outboard(_outboard(weight, x), x) + GRAVITY * float(robot.links[-1].payloads[0].mass) * lever
    return float(_outboard(moment * lever / EI, x)[0])


def _outboard(f: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Integral of f from each x to the end."""
    parts = np.diff(x) * (f[1:] + f[:-1]) / 2
    return np.append(np.cumsum(parts[::-1])[::-1], 0.0)


def swing(time: np.ndarray, aside: np.ndarray) -> tuple[float, float, float]:
    """Frequency (Hz), amplitude (m) and damping ratio of what is left, from the peaks of the curve."""
    k = np.flatnonzero((np.abs(aside[1:-1]) > np.abs(aside[:-2])) & (np.abs(aside[1:-1]) >= np.abs(aside[2:]))) + 1
    peaks = np.abs(aside[k])
    decrement = np.log(peaks[0] / peaks[-1]) / (len(k) - 1)
    # peaks are half a period apart
    return (len(k) - 1) / 2 / (time[k[-1]] - time[k[0]]), float(peaks[0]), decrement / np.hypot(np.pi, decrement)


def main(folder: Path) -> dict[str, float]:
    """Figures by name and unit."""
    robot = pliant.load(Path(__file__).with_suffix(".yaml"))
    boom = pliant.Dynamics(robot)
    rest = pliant.equilibrium(boom, {"lift": 0.0})
    modes = pliant.modes(boom, rest.q)
    sideways = sum(modes.shares[k] for k, name in enumerate(boom.names) if "bend_z" in name)
    drive = pliant.PrescribedMotion(trajectory=pliant.Quintic(to={"slew": ANGLE}, duration=SLEW))
    start = pliant.Start(position={"lift": 0.0}, links="equilibrium")
    run = pliant.simulate(boom, until=UNTIL, drive=drive, start=start, tolerance=1e-6, output_step=0.02)
    turn = run["slew"]
    x, y, _ = run["tip.position"].T
    aside = y * np.cos(turn) - x * np.sin(turn)
    hertz, amplitude, ratio = swing(run.time[run.time > SLEW], aside[run.time > SLEW])
    draw(folder / "concrete-boom.png", boom, rest.q, run.time, aside)
    return {
        "sag of the tip, m": PIVOT - boom.pose("tip", rest.q).position[2],
        "sag by hand, m": sag_by_hand(robot),
        "swing after the slew, m": amplitude,
        "its frequency in the run, Hz": hertz,
        "lowest sideways frequency, Hz": float(modes.hertz[sideways > 0.5][0]),
        "its damping ratio": ratio,
        "moment at the lift cylinder, kN m": float(run.extreme("lift.torque").most) / 1e3,
    }


def draw(path: Path, boom: pliant.Dynamics, q: np.ndarray, time: np.ndarray, aside: np.ndarray) -> None:
    """The boom from the side, unbent and at rest, and the swing."""
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    side, above = figure.subplots(2, 1)
    for state, style, word in (
        (0 * q, {"color": "#94a3b8", "ls": "--"}, "unbent"),
        (q, {"color": "#1d4ed8"}, "at rest"),
    ):
        bent = BentLinks(boom, state)
        line = np.vstack([bent.axis(link, 20) for link in boom.robot.links if link.beam is not None])
        side.plot(line[:, 0], line[:, 2], label=word, **style)
    side.plot([0, 0], [0, PIVOT], color="#334155", lw=4)
    side.set(aspect="equal", xlabel="reach, m", ylabel="height, m", ylim=(0, 5), title="A concrete boom of 30 m")
    above.plot(time, aside, color="#1d4ed8")
    above.axvspan(0, SLEW, color="#f1f5f9", label="slewing by 30 deg")
    above.set(xlabel="time, s", ylabel="tip beside the boom's plane, m")
    for axes in (side, above):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.savefig(path, dpi=160)


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{name:34s} {value:.4g}")
