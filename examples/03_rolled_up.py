"""A cantilever that a moment at its tip rolls up into a full circle, and springs open again.

    python examples/03_rolled_up.py [FOLDER]

writes rolled-up.png, the way into the circle, and the film rolled-up.gif of the strip when it is let go.
"""

import sys
from pathlib import Path

import numpy as np

import pliant


def main(folder: Path, *, film: bool = True) -> float:
    """How far the tip is from the root when the circle should be closed, m."""
    arm = pliant.Dynamics(pliant.load(Path(__file__).with_suffix(".yaml")), compile="never")
    beam = arm.robot.links[0].beam
    # M L / EI = 2 pi
    closing = 2 * np.pi * float(beam.at(0.0).EIz) / beam.length
    path = pliant.load_path(arm, {"tip": [0, 0, 0, 0, 0, closing]})
    path.draw(folder / "rolled-up.png")
    gap = float(np.linalg.norm(path.positions()[-1]))
    loose = pliant.Dynamics(arm.robot.set("strip.beam.damping", {"rayleigh": {"stiffness": "4 ms"}}))
    run = pliant.simulate(loose, until=1.2, start=(path.q[-1], np.zeros(arm.size)), name="a rolled-up strip, let go")
    if film:
        run.animate(folder / "rolled-up.gif", seconds=6.0)
    return gap


if __name__ == "__main__":
    left = main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print(f"tip and root of the rolled-up strip are {left:.1e} m apart")
