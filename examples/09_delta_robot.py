"""A delta robot picks and places: six rods and three arms that bend, closed by five ball joints.

    python examples/09_delta_robot.py [FOLDER]

writes delta-robot.png: the robot, and how far its platform is from where rigid arms would have it.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import pliant
from pliant.pictures.bent_links import BentLinks

BASE, ARM, ROD, PLATFORM, GAUGE = 0.2, 0.25, 0.6, 0.06, 0.05
"""m: motors from the axis, upper arms, rods, corners of the platform from its centre, half the distance of two rods."""
PAYLOAD = 0.5
"""kg in the gripper."""
HEIGHT = -0.55
"""m: the platform below the motors in the middle of its work."""
WAY, LIFT, MOVE, UNTIL = 0.3, 0.05, 0.3, 0.5
"""m across and up, s for it, and s until the run ends."""
GRAVITY = 9.81


def motor_angles(x: float, y: float, z: float) -> np.ndarray:
    """Angles of the three arms below the horizontal (rad) that put the rigid platform there, by geometry (3,)."""
    angles = []
    for k in range(3):
        turn = 2 * np.pi * k / 3
        # in the plane of this arm: r outwards, s aside
        r, s = np.cos(turn) * x + np.sin(turn) * y, -np.sin(turn) * x + np.cos(turn) * y
        along, down = r + PLATFORM - BASE, -z
        reach = ROD**2 - s**2
        d = np.hypot(along, down)
        corner = np.arccos((ARM**2 + d**2 - reach) / (2 * ARM * d))
        angles.append(np.arctan2(down, along) - corner)
    return np.array(angles)


def delta(payload: float = PAYLOAD, *, rods: bool = True) -> pliant.Robot:
    """The robot: arms and ``rods`` that bend, a platform that floats and is held by six ball joints."""
    arm = pliant.Beam(
        length=ARM,
        material="aluminium",
        section=pliant.Tube(outer=0.025, thickness=0.0015),
        # tenths of a millimetre: nothing that a second order would see
        bending="linear",
        # ball joints pass on a force and no moment: a tip that carries mass and turns freely; two rods side by side
        # twist it
        modes=pliant.Modes(shape="clamped-mass", tip_mass=0.3, tip_inertia=0.0, bend_y=1, bend_z=1, torsion=1),
        damping=pliant.Damping(ratio=0.01),
    )
    rod = pliant.Beam(
        length=ROD,
        material="cfrp",
        section=pliant.Tube(outer=0.012, thickness=0.001),
        bending="linear",
        modes=pliant.Modes(shape="pinned-pinned", bend_y=1, bend_z=1) if rods else None,
        rigid=not rods,
        damping=pliant.Damping(ratio=0.01),
    )
    links, loops, pose, corners = [], [], {}, []
    angle = motor_angles(0.0, 0.0, HEIGHT)[0]
    lean = np.arctan2(-HEIGHT - ARM * np.sin(angle), PLATFORM - BASE - ARM * np.cos(angle))
    for k in range(3):
        turn = 2 * np.pi * k / 3
        out, aside = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([-np.sin(turn), np.cos(turn), 0.0])
        # z of the motor along the side, so that positive angles lower the arm
        seat = pliant.Placement(position=tuple(BASE * out), rotation=[{"z": turn}, {"x": -np.pi / 2}])
        ends = tuple(pliant.Frame(name=f"ball_{s}", x=ARM, position=(0, 0, y)) for s, y in zip("ab", (-GAUGE, GAUGE)))
        motor = pliant.Joint(name=f"motor_{k}", parent="base", placement=seat)
        links.append(pliant.Link(name=f"arm_{k}", joint=motor, beam=arm, frames=ends))
        pose[f"motor_{k}"] = angle
        for side, y in zip("ab", (-GAUGE, GAUGE)):
            name = f"{k}{side}"
            ball = pliant.Joint(name=f"ball_{name}", type="universal", axes=("z", "y"), parent=f"arm_{k}.ball_{side}")
            links.append(pliant.Link(name=f"rod_{name}", joint=ball, beam=rod))
            pose[f"ball_{name}_1"] = lean - angle
            corners.append(pliant.Frame(name=f"corner_{name}", position=tuple(PLATFORM * out + y * aside)))
            loops.append(
                pliant.Loop(name=name, type="spherical", frames=(f"platform.corner_{name}", f"rod_{name}.tip"))
            )
    plate = pliant.Rigid(mass=0.25 + payload, inertia=4e-4)
    held = pliant.Joint(name="platform", type="free", parent="base")
    links.append(pliant.Link(name="platform", joint=held, rigid=plate, frames=tuple(corners)))
    pose["platform.z"] = HEIGHT
    return pliant.Robot(name="delta", links=tuple(links), loops=tuple(loops), pose=pose, tip="platform.root")


def path(part: np.ndarray) -> np.ndarray:
    """Places of the rigid platform (N, 3), m, for parts of the motion from 0 to 1: across in a flat arch."""
    return np.stack([WAY * (part - 0.5), 0 * part, HEIGHT + 4 * LIFT * part * (1 - part)], axis=1)


def pick_and_place() -> pliant.TableMotion:
    """Motor angles along the path, from rest to rest."""
    time = np.linspace(0.0, MOVE, 151)
    s = time / MOVE
    angles = np.array([motor_angles(*place) for place in path(s**3 * (10 - 15 * s + 6 * s**2))])
    return pliant.TableMotion(time=time, positions=angles, ends="rest")


def sag_by_hand(robot: pliant.Robot) -> float:
    """How far the payload lowers the platform in the middle (m): rods only pull, arms bend (Castigliano)."""
    angle = motor_angles(0.0, 0.0, HEIGHT)[0]
    lean = np.arctan2(-HEIGHT - ARM * np.sin(angle), PLATFORM - BASE - ARM * np.cos(angle))
    across = np.sin(lean - angle) / (3 * np.sin(lean))
    EI = float(robot.link("arm_0").beam.at(0.0).EIz)
    return 3 * across**2 * PAYLOAD * GRAVITY * ARM**3 / (3 * EI)


def main(folder: Path, *, rods: bool = True) -> dict[str, float]:
    """Figures by name and unit."""
    # elongation would lower the first frequency by 1.5 % and make the run several times as long
    warnings.filterwarnings("ignore", "elongation of")
    robot = delta(rods=rods)
    arm, empty = pliant.Dynamics(robot), pliant.Dynamics(delta(0.0, rods=rods))
    heights = [each.pose("tip", pliant.equilibrium(each).q).position[2] for each in (arm, empty)]
    drive = pliant.PrescribedMotion(trajectory=pick_and_place())
    first = dict(zip(("motor_0", "motor_1", "motor_2"), motor_angles(*path(np.zeros(1))[0])))
    start = pliant.Start(position=first, links="equilibrium")
    run = pliant.simulate(arm, until=UNTIL, drive=drive, start=start, tolerance=1e-6, output_step=1e-3)
    away = run["tip.deflection"]
    bent = 1e3 * np.linalg.norm(away, axis=1)
    rigid = run["tip.position"] - away
    draw(folder / "delta-robot.png", arm, run, bent)
    return {
        "sag under the payload, um": 1e6 * (heights[1] - heights[0]),
        "sag by hand, um": 1e6 * sag_by_hand(robot),
        "largest deviation on the way, mm": float(bent.max()),
        "after the arrival, mm": float(bent[run.time > MOVE].max()),
        "rigid arrival beside the goal, mm": 1e3 * float(np.linalg.norm(rigid[-1] - path(np.ones(1))[0])),
        "largest gap of a ball joint, m": float(run["loops.gap"].max()),
        "largest motor torque, N m": max(abs(x) for k in range(3) for x in run.extreme(f"motor_{k}.torque")[::2]),
    }


def draw(picture: Path, arm: pliant.Dynamics, run: pliant.Result, bent: np.ndarray) -> None:
    """The robot at the ends of its way, and the deviation of its platform."""
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    scene, curve = figure.add_subplot(1, 2, 1, projection="3d"), figure.add_subplot(1, 2, 2)
    for k, colour in ((0, "#94a3b8"), (int(np.argmax(run.time >= MOVE)), "#1d4ed8")):
        at = BentLinks(arm, run.q[k])
        for link in arm.robot.links:
            if link.beam is not None:
                scene.plot(*at.axis(link, 12).T, color=colour, lw=3 if link.name.startswith("arm") else 1.2)
        corners = [at.position(f"platform.{frame.name}") for frame in arm.robot.link("platform").frames]
        scene.plot(*np.array([*corners, corners[0]]).T, color=colour, lw=2)
    scene.plot(*run["tip.position"].T, color="#f59e0b")
    scene.set(xlabel="x, m", ylabel="y, m", zlabel="z, m", xlim=(-0.4, 0.4), ylim=(-0.4, 0.4), zlim=(-0.7, 0.1))
    scene.set(xticks=(-0.3, 0, 0.3), yticks=(-0.3, 0, 0.3), zticks=(-0.6, -0.2))
    scene.set_box_aspect((1, 1, 1), zoom=0.85)
    curve.plot(1e3 * run.time, bent, color="#1d4ed8")
    curve.axvspan(0, 1e3 * MOVE, color="#f1f5f9")
    curve.set(xlabel="time, ms", ylabel="platform beside the rigid one, mm")
    curve.grid(alpha=0.3)
    figure.savefig(picture, dpi=160)


if __name__ == "__main__":
    for name, value in main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")).items():
        print(f"{name:36s} {value:.4g}")
