"""An arm moves 60 kg about a satellite that floats: how far the satellite turns away, and how long the load swings.

    python examples/08_space_arm.py [FOLDER]

writes space-arm.png: the motion from above, the turn of the satellite, and the swing of the load.
"""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pliant
from pliant.pictures.bent_links import BentLinks

TO = {"shoulder": np.radians(110), "elbow": np.radians(-20)}
MOVE, UNTIL = 6.0, 16.0
"""s: the motion of the joints, and the end of the run."""


def turn_by_hand(robot: pliant.Robot, angles: np.ndarray) -> float:
    """Final turn (rad) of the satellite with rigid links, from angular momentum zero about the common centre of mass.

    angles  of shoulder and elbow along the motion (N, 2)
    """
    tubes = [robot.link(name).beam for name in ("upper", "forearm")]
    base, load = robot.link("satellite").rigid, robot.link("forearm").payloads[0]
    mass = [float(base.mass), *(float(tube.at(0.0).mass_per_length) * tube.length for tube in tubes), float(load.mass)]
    spin = [float(np.max(base.inertia)), *(m * t.length**2 / 12 for m, t in zip(mass[1:], tubes)), float(load.inertia)]
    turn = 0.0
    for now, then in pairwise(angles):
        middle, step = (now + then) / 2, then - now
        # centres as complex numbers in axes of the satellite, and their steps while it stands
        way = [np.exp(1j * middle[0]) * tubes[0].length, np.exp(1j * middle.sum()) * tubes[1].length]
        turns = [0.0, step[0], step.sum(), step.sum()]
        root = float(robot.link("satellite").frames[0].position[0])
        centre = np.array([0, root + way[0] / 2, root + way[0] + way[1] / 2, root + way[0] + way[1]])
        moved = 1j * np.array([0, turns[1] * way[0] / 2, 0, 0])
        moved[2] = 1j * (turns[1] * way[0] + turns[2] * way[1] / 2)
        moved[3] = 1j * (turns[1] * way[0] + turns[2] * way[1])
        apart = centre - np.average(centre, weights=mass)
        inertia = np.sum(spin) + np.sum(mass * np.abs(apart) ** 2)
        momentum = np.dot(spin, turns) + np.sum(mass * np.imag(np.conj(apart) * moved))
        turn -= momentum / inertia
    return float(turn)


def main(folder: Path) -> dict[str, float]:
    """Figures by name and unit."""
    robot = pliant.load(Path(__file__).with_suffix(".yaml"))
    arm = pliant.Dynamics(robot)
    drive = pliant.PrescribedMotion(trajectory=pliant.Quintic(to=TO, duration=MOVE))
    run = pliant.simulate(arm, until=UNTIL, drive=drive, output_step=0.02)
    momentum = arm.momentum(run.q, run.v)
    angles = np.stack([run["shoulder"], run["elbow"]], axis=1)
    swing = np.linalg.norm(run["tip.deflection"], axis=1)
    draw(folder / "space-arm.png", arm, run, swing)
    return {
        "turn of the satellite, deg": float(np.degrees(run["base.rz"][-1])),
        "the same by hand, rigid arm, deg": float(np.degrees(turn_by_hand(robot, angles))),
        "way of the satellite, m": float(np.hypot(run["base.x"][-1], run["base.y"][-1])),
        "largest momentum, N s": float(np.abs(momentum.linear).max()),
        "largest angular momentum, N m s": float(np.abs(momentum.angular).max()),
        "swing of the load after the motion, mm": 1e3 * float(swing[run.time > MOVE].max()),
        "10 s later, mm": 1e3 * float(swing[run.time > UNTIL - 2.0].max()),
    }


def draw(path: Path, arm: pliant.Dynamics, run: pliant.Result, swing: np.ndarray) -> None:
    """The arm on its way, seen from above, and the curves."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    above, turned, swung = (
        figure.add_subplot(grid[:, 0]),
        figure.add_subplot(grid[0, 1]),
        figure.add_subplot(grid[1, 1]),
    )
    box = np.array([[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8], [-0.8, -0.8]])
    for t, colour in ((0.0, "#cbd5e1"), (2.4, "#93c5fd"), (3.6, "#3b82f6"), (MOVE, "#1e3a8a")):
        k = int(np.argmin(np.abs(run.time - t)))
        bent = BentLinks(arm, run.q[k])
        line = np.vstack([bent.axis(link, 20) for link in arm.robot.links[1:]])
        base = bent.own("satellite")
        corners = base.position[:2] + box @ base.rotation[:2, :2].T
        above.plot(corners[:, 0], corners[:, 1], color=colour)
        above.plot(line[:, 0], line[:, 1], color=colour, lw=2, label=f"{t:g} s")
        above.plot(*line[-1, :2], "o", color=colour)
    above.set(aspect="equal", xlabel="x, m", ylabel="y, m")
    above.legend(frameon=False)
    turned.plot(run.time, np.degrees(run["base.rz"]), color="#1d4ed8")
    turned.set(ylabel="turn of the satellite, deg")
    swung.plot(run.time, 1e3 * swing, color="#f59e0b")
    swung.set(xlabel="time, s", ylabel="bending at the load, mm")
    for axes in (above, turned, swung):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=160)


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{name:40s} {value:.4g}")
