"""A first arm: a strip that bends and a rigid forearm, moved and brought to rest.

    python examples/01_two_link.py [FOLDER]

writes two-link-run.png: the angles of the joints, the bending of the strip, torques and energies.
"""

import sys
from pathlib import Path

import numpy as np

import pliant

MOVE = pliant.Quintic(to={"shoulder": np.radians(90), "elbow": np.radians(-40)}, duration=0.8)


def by_hand(robot: pliant.Robot) -> float:
    """Static deflection (m) of the level strip under its own weight, the forearm and its tool."""
    strip, forearm = robot.link("upper").beam, robot.link("forearm")
    EI, per_metre, L = float(strip.at(0.0).EIz), float(strip.at(0.0).mass_per_length), strip.length
    load = float(forearm.rigid.mass) + float(forearm.payloads[0].mass)
    arm = float(forearm.rigid.mass) * float(forearm.rigid.com[0]) + float(forearm.payloads[0].mass) * forearm.length
    # own weight, weight at the tip, moment at the tip
    return 9.81 * (per_metre * L**4 / 8 + load * L**3 / 3 + arm * L**2 / 2) / EI


def main(folder: Path) -> dict[str, float]:
    """Figures by name and unit."""
    robot = pliant.load(Path(__file__).with_suffix(".yaml"))
    arm = pliant.Dynamics(robot)
    level = pliant.equilibrium(arm, {"shoulder": 0.0, "elbow": 0.0})
    drive = pliant.PID(trajectory=MOVE, kp=[60, 15], kd=[6, 1], gravity="desired")
    run = pliant.simulate(arm, until=2.0, drive=drive, start=pliant.Start(links="equilibrium"))
    run.plot(folder / "two-link-run.png")
    return {
        "static deflection, m": -float(arm.pose("upper.tip", level.q).position[2]),
        "by hand, m": by_hand(robot),
        "largest deflection on the way, m": run.extreme("upper.deflection").most,
        "error of the energy balance, J": float(np.abs(run["energy.balance"]).max()),
    }


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{name:34s} {value:.4g}")
