"""A crane slews a load of 2 t on a rope: when the slewing speeds up for one period of the load, it ends without swing.

    python examples/07_crane.py [FOLDER]

writes crane.png: the way of the load seen from above, and how far it hangs beside the tip of the jib.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pliant

ANGLE, WATCHED = np.radians(60), 8.0
"""Turn of the tower, and how long the load is watched afterwards, s."""
HASTY = 4.5
"""s: a ramp of the slewing speed that does not know of the load."""
GRAVITY = 9.81


def by_hand(robot: pliant.Robot) -> dict[str, float]:
    """Deflection of the jib's tip under the load, and the periods of the load, sideways and in the plane of the jib.

    A soft support lengthens a pendulum by what the load would bend it in the direction of the swing.
    """
    beam, load, luff = robot.link("jib").beam, robot.link("rope").rigid, robot.pose["luff"]
    per_newton = beam.length**3 / (3 * float(beam.at(0.0).EIz))
    weight = GRAVITY * float(load.mass)
    own = GRAVITY * float(beam.at(0.0).mass_per_length) * beam.length
    # the part of the weight along the jib presses it, which softens it: 1 / (1 - N/N_cr), N_cr of a cantilever
    pressed = (weight + 0.3 * own) * np.sin(luff) / (np.pi**2 / 4 / (3 * per_newton) * beam.length)
    bent = (weight + 3 / 8 * own) * per_newton * np.cos(luff) / (1 - pressed)
    rope = load.length + float(np.max(load.inertia)) / (float(load.mass) * load.length)
    soft = {"sideways": weight * per_newton, "in the plane": weight * per_newton * np.sin(luff) ** 2}
    periods = {f"period {word}, s": 2 * np.pi * np.sqrt((rope + more) / GRAVITY) for word, more in soft.items()}
    return {"deflection of the jib, m": bent, **periods}


def slew(crane: pliant.Dynamics, ramp: float) -> tuple[pliant.Result, float]:
    """The run in which the tower speeds up and slows down for ``ramp`` seconds each, and when it stands."""
    end = 2 * ramp + 1.0
    drive = pliant.PrescribedMotion(trajectory=pliant.Trapezoidal(to={"slew": ANGLE}, duration=end, ramp=ramp / end))
    start = pliant.Start(links="equilibrium")
    return pliant.simulate(crane, until=end + WATCHED, drive=drive, start=start, tolerance=1e-7, output_step=0.05), end


def main(folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Figures of the program, and those by hand, by name and unit."""
    robot = pliant.load(Path(__file__).with_suffix(".yaml"))
    crane = pliant.Dynamics(robot)
    rest = pliant.equilibrium(crane)
    hand = by_hand(robot)
    periods = 1 / pliant.modes(crane, rest.q).hertz[:2]
    found = dict(zip(hand, (float(np.linalg.norm(crane.pose("jib.tip", rest.q).position - tip(crane))), *periods)))
    figure = Figure(figsize=(9, 4), layout="constrained")
    above, beside = figure.subplots(1, 2)
    ramps = {"hasty ramp": (HASTY, "#dc2626"), "ramp of one period": (hand["period sideways, s"], "#1d4ed8")}
    for word, (ramp, colour) in ramps.items():
        run, end = slew(crane, ramp)
        load, jib = run["tip.position"], run["jib.tip.position"]
        aside = np.linalg.norm((load - jib)[:, :2], axis=1)
        found[f"swing after a {word}, m"] = float(aside[run.time >= end].max())
        above.plot(load[:, 0], load[:, 1], color=colour, label=word)
        beside.plot(run.time - end, aside, color=colour)
    above.set(aspect="equal", xlabel="x, m", ylabel="y, m", title="way of the load, from above")
    above.legend(frameon=False)
    beside.set(xlabel="time after the tower stands, s", ylabel="load beside the tip of the jib, m")
    beside.axvline(0, color="#94a3b8", lw=1)
    for axes in (above, beside):
        axes.grid(alpha=0.3)
    figure.savefig(folder / "crane.png", dpi=160)
    return found, hand


def tip(crane: pliant.Dynamics) -> np.ndarray:
    """Where the tip of the jib is while nothing bends, m."""
    return crane.pose("jib.tip", crane.reference_pose()).position


if __name__ == "__main__":
    computed, known = main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for name, value in computed.items():
        print(f"{name:36s} {value:8.4g}" + (f"   by hand {known[name]:.4g}" if name in known else ""))
