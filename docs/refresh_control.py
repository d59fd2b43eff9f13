"""The pictures of the pages about best moves and about slow and fast; run by hand, or by ``docs/refresh.py``."""

import re
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pliant
from pliant.model.readers.library import read_text

DOCS = Path(__file__).resolve().parent
ROBOT = re.search(r"```yaml\n(.*?)```", (DOCS / "optimal-moves.md").read_text("utf-8"), re.DOTALL)[1]


def fastest_move(path: Path) -> None:
    """The move of the page."""
    arm = pliant.Dynamics(read_text(ROBOT))
    pliant.optimal_move(arm, {"shoulder": 0}, {"shoulder": 1.0}, "time", {"effort": 2.0}).plot(path)


def errors_of_poles(path: Path) -> None:
    """Errors of slow and fast poles over the ratio of time scales, of links that get stiffer."""
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    axes = figure.subplots()
    text = ROBOT.replace("damping: {ratio: 0.01}", "")
    for order, style in ((0, "o-"), (1, "s--")):
        found = []
        for factor in 4.0 ** np.arange(6):
            stiff = re.sub(r"EI(y|z): ([0-9.]+)", lambda m: f"EI{m[1]}: {float(m[2]) * factor}", text)  # noqa: B023
            split = pliant.two_time_scales(pliant.Dynamics(read_text(stiff), compile="never"), order=order, kp=3, kd=1)
            worst = [
                max(np.abs(split.model.poles - p).min() / abs(p) for p in x.poles) for x in (split.slow, split.fast)
            ]
            found.append((split.epsilon, *worst))
        table = np.array(found)
        axes.loglog(table[:, 0], table[:, 1], style, color="#2563eb", label=f"slow, order {order}")
        axes.loglog(table[:, 0], table[:, 2], style, color="#dc2626", label=f"fast, order {order}")
    axes.set_xlabel("epsilon: largest slow over lowest fast pole")
    axes.set_title("relative error of poles", loc="left", fontsize=10)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    fastest_move(DOCS / "pictures" / "optimal-move.png")
    errors_of_poles(DOCS / "pictures" / "slow-and-fast.png")
    sys.stdout.write("drawn: optimal-move.png, slow-and-fast.png\n")
