"""Spin-up of a flexible arm: exact and second-order links agree, a linear link diverges.

    python examples/02_spin_up.py [FOLDER]

writes spin-up.png, with the lag of the tip, and the film spin-up.gif.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pliant

SPEED, RISE = 6.0, 15.0
"""rad/s that the hub reaches, and seconds that it takes."""
MOTION = f"{SPEED / RISE} * (t^2/2 + ({RISE}/(2*pi))^2 * (cos(2*pi*t/{RISE}) - 1))"
KINDS = {"exact": "#1d4ed8", "second-order": "#16a34a", "linear": "#dc2626"}
SHOWN = 1.0
"""m: lag beyond which the picture ends; that of a linear arm grows without end."""


def spin(robot: pliant.Robot, bending: str, until: float) -> pliant.Result:
    """The arm with links of one kind, its hub driven along the motion."""
    arm = pliant.Dynamics(robot.set("arm.beam.bending", bending))
    drive = pliant.PrescribedMotion(trajectory={"expression": {"joints": {"hub": MOTION}}})
    with warnings.catch_warnings():
        # the linear arm tells that it turns too fast; that is what is shown here
        warnings.simplefilter("ignore")
        return pliant.simulate(arm, until=until, drive=drive, output_step=0.05, name=f"spin-up, {bending}")


def lag(run: pliant.Result) -> np.ndarray:
    """Deflection of the tip across the straight arm, m."""
    angle = run["hub"]
    x, y, _ = run["tip.position"].T
    return y * np.cos(angle) - x * np.sin(angle)


def main(folder: Path, *, film: bool = True) -> dict[str, float]:
    """The largest lag of each kind."""
    robot = pliant.load(Path(__file__).with_suffix(".yaml"))
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    found = {}
    for bending, colour in KINDS.items():
        # a linear arm diverges soon after its speed has passed its first frequency
        run = spin(robot, bending, 9.0 if bending == "linear" else RISE)
        tip = lag(run)
        found[bending] = float(np.abs(tip).max())
        seen = np.abs(tip) < SHOWN
        end = len(tip) if seen.all() else int(np.argmin(seen))
        style = "--" if bending == "second-order" else "-"
        axes.plot(run.time[:end], tip[:end], style, color=colour, label=f"bending: {bending}")
        if bending == "exact" and film:
            run.animate(folder / "spin-up.gif", seconds=7.5)
    axes.set(xlabel="time, s", ylabel="lag of the tip, m", title="Spin-up of a 10 m arm to 6 rad/s")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(folder / "spin-up.png", dpi=160)
    return found


if __name__ == "__main__":
    for kind, largest in main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{kind:13s} largest lag {largest:.4g} m")
