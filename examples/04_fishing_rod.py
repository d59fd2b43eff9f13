"""A cast with a fishing rod: the wrist swings it back and forward, and the rod bends far under its lure.

    python examples/04_fishing_rod.py [FOLDER]

writes fishing-rod.png, the rod on its way, and the film fishing-rod.gif.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

import pliant
from pliant.pictures.bent_links import BentLinks

CAST = pliant.Sequence(
    parts=(
        pliant.Quintic(to={"wrist": np.radians(115)}, duration=0.4),
        pliant.Quintic(to={"wrist": np.radians(35)}, duration=0.3),
    )
)
SHADES = LinearSegmentedColormap.from_list("way", ["#cbd5e1", "#1d4ed8"])


def main(folder: Path, *, film: bool = True) -> float:
    """The largest turn of the tip against the root of the rod, rad."""
    arm = pliant.Dynamics(pliant.load(Path(__file__).with_suffix(".yaml")))
    drive = pliant.PrescribedMotion(trajectory=CAST)
    start = pliant.Start(links="equilibrium")
    run = pliant.simulate(arm, until=1.4, drive=drive, start=start, output_step=0.01, name="a cast")
    if film:
        run.animate(folder / "fishing-rod.gif", seconds=7.0)
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.subplots()
    shown = np.flatnonzero((run.time >= 0.3) & (run.time <= 0.8))[::3]
    for place, k in enumerate(shown):
        at = BentLinks(arm, run.q[k])
        colour = SHADES(place / (len(shown) - 1))
        rod = np.vstack([at.position("handle.root"), at.axis(arm.robot.links[1], 40)])
        axes.plot(rod[:, 0], rod[:, 1], color=colour, lw=1.6)
        axes.plot(*rod[-1, :2], "o", ms=5, color=colour)
    tip = run["tip.position"][shown[0] : shown[-1] + 1]
    axes.plot(tip[:, 0], tip[:, 1], color="#f59e0b", lw=1, ls=":", label="way of the lure")
    axes.set(aspect="equal", xlabel="x, m", ylabel="y, m", title="A cast, 0.3 to 0.8 s, from pale to dark")
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    figure.savefig(folder / "fishing-rod.png", dpi=160)
    return float(run.extreme("rod.slope").most)


if __name__ == "__main__":
    turn = main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print(f"the tip of the rod turns by up to {np.degrees(turn):.0f} deg against its root")
