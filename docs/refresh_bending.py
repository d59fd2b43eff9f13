"""Measure the table "which bending do I need" of docs/theory/large-deflection.md anew and put it into the page.

Two bars fall from the horizontal, in a vertical plane; their stiffness is scaled so that slopes shrink. Run by hand
after a change of bodies that bend: ``python docs/refresh_bending.py``.
"""

import re
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

PAGE = ROOT / "docs" / "theory" / "large-deflection.md"
STIFFNESS = (0.4, 0.8, 1.5, 6.0, 24.0)
"""N m^2: EI of both bars, of 1 m and 0.4 kg each, 0.2 kg at the tip."""
UNTIL = 1.5
MODES = 5
EXACT_MODES = 5
FINE = 7
"""Modes of the exact rods that are compared with."""


def arm(EI, bending, modes):
    """Two bars in a vertical plane."""
    from pliant import Beam, Joint, Link, Modes, Properties, RigidPart, Robot

    properties = Properties(mass_per_length=0.4, EIz=EI)
    beam = Beam(length=1.0, properties=properties, bending=bending, modes=Modes(shape="clamped-mass", bend_y=modes))
    links = [Link(name="upper", joint=Joint(name="a"), beam=beam)]
    links.append(Link(name="lower", joint=Joint(name="b"), beam=beam, payloads=(RigidPart(mass=0.2),)))
    return Robot(name="bars", gravity=(0, -9.81, 0), links=links)


def motion(EI, bending, modes, tolerance=1e-8):
    """Places of the tip and of its rigid arm at the same joint angles (samples, 2), and the largest slope."""
    from pliant import Dynamics, simulate

    bars = Dynamics(arm(EI, bending, modes))
    run = simulate(bars, until=UNTIL, tolerance=tolerance, output_step=0.01, limits="ignore")
    rigid = run.q.copy()
    rigid[:, [k for k, name in enumerate(bars.names) if name not in ("a", "b")]] = 0.0
    tip, straight = (np.array([bars.pose("lower.tip", q).position[:2] for q in x]) for x in (run.q, rigid))
    return tip, straight, max(slope(bars, link, run.q) for link in ("upper", "lower"))


def slope(bars, link, states):
    """Largest turn of a tip against its root, rad."""
    R = [[bars.pose(f"{link}.{frame}", q).rotation for q in states] for frame in ("root", "tip")]
    turn = np.einsum("tba,tbc->tac", *np.array(R))
    return float(np.abs(np.arctan2(turn[:, 1, 0], turn[:, 0, 0])).max())


def measured():
    """Columns of the table: slope, and the errors of linear, second-order and exact bending of the deviation."""
    for EI in STIFFNESS:
        true, straight, largest = motion(EI, "exact", FINE)
        deviation = np.linalg.norm(true - straight, axis=1).max()
        kinds = (("linear", MODES), ("second-order", MODES), ("exact", EXACT_MODES))
        errors = [np.linalg.norm(motion(EI, *kind)[0] - true, axis=1).max() / deviation for kind in kinds]
        yield largest, errors


def percent(x):
    """Two digits; what is not even near is said so."""
    if x > 1.0:
        return "> 100 %"
    return f"{100 * x:.2g} %" if x >= 1e-4 else f"{x:.0e}"


def table():
    """The table as the page shows it."""
    columns = list(measured())
    rows = ["| largest slope of a link (rad) | " + " | ".join(f"{x:.2g}" for x, _ in columns) + " |"]
    rows.append("|---|" + "---|" * len(columns))
    for k, name in enumerate(("`linear`", "`second-order` (default)", f"`exact`, {EXACT_MODES} modes")):
        rows.append(f"| {name} | " + " | ".join(percent(errors[k]) for _, errors in columns) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = table()
    text = PAGE.read_text(encoding="utf-8")
    marked = re.compile(r"(<!-- measured -->\n).*?(\n<!-- end -->)", re.DOTALL)
    PAGE.write_text(marked.sub(lambda m: m[1] + found + m[2], text), encoding="utf-8")
