"""The recipe "Adding a joint" followed: a gantry that slides in a plane without turning, as one class and one line.

Run by ``test_recipes.py`` in a process of its own, because descriptions are made for the kinds that are there when they
are first loaded. It writes a line for each room that knows the new kind.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from pliant import joints
from pliant.joints.kind import (
    NOT_MOVED,
    Elementary,
    JointCoordinate,
    JointKind,
    JointPlace,
    JointSymbol,
    SeatMotion,
    unit,
)
from pliant.joints.rows import TILTS, TURNS, ClosureKind, SlideRow

# ---- one module with its words and its motion


@dataclass(frozen=True, slots=True)
class Gantry(JointKind):
    """Two slides along axes of the joint frame."""

    name = "gantry"
    meaning = "two slides, along x and y of the joint frame"
    closes = "gantry"
    holds = "all but slides along x and y of the first frame"
    coordinates = (JointCoordinate(".x", "m", "position along x"), JointCoordinate(".y", "m", "position along y"))
    undriven = "use two prismatic joints"
    symbol = JointSymbol(plate=True)

    @classmethod
    def elementary(cls, parameters):
        return [Elementary(0, False, 0), Elementary(1, False, 1)]

    @classmethod
    def rows(cls, parameters, axes):
        return (SlideRow(2), *TURNS)

    def place(self, q, angle, parameters):
        return JointPlace(None, None, [q[0], q[1], 0.0])

    def motion(self, q, v, angle, parameters):
        still = list(NOT_MOVED)
        return SeatMotion(self.place(q, angle, parameters), still, [v[0], v[1], 0.0], still, still, still, None)

    def columns(self, parameters):
        return [unit(k) for k in self.axes]

    @property
    def axes(self):
        return (0, 1)


class Parallel(ClosureKind):
    """The recipe for what only closes loops: two axes that stay parallel."""

    closes = "parallel"
    holds = "the axes z of both frames parallel"

    @classmethod
    def rows(cls, parameters, axes):
        return TILTS


# ---- and a line for each in pliant.joints

joints.KINDS[Gantry.name] = Gantry
joints.CLOSURES |= {kind.closes: kind for kind in (Gantry, Parallel)}

# ---- all else is as for every other kind

import pliant  # noqa: E402
from pliant.pictures.drawing import draw_robot  # noqa: E402

ROUNDING = 1e-10
BODY = {"mass": 1.3, "com": [0.1, -0.2, 0.05], "inertia": [0.02, 0.03, 0.025], "length": 0.4}
BEAM = {
    "length": 0.8,
    "material": "aluminium",
    "section": {"rectangle": {"width": 0.004, "height": 0.03}},
    "modes": {"shape": "clamped-free", "bend_y": 1, "bend_z": 1},
}
SEAT = {"position": [0.1, 0.2, -0.1], "rotation": {"x": 0.4, "y": -0.3}}
BOOM = {"name": "boom", "joint": {"name": "slew", "axis": [1, 2, 0.5]}, "beam": BEAM}


def robot(*links, **keys):
    return pliant.Robot.model_validate({"name": "toy", "links": [BOOM, *links], **keys})


def on_gantry():
    return robot({"name": "hand", "joint": {"name": "g", "type": "gantry", "placement": SEAT}, "rigid": BODY})


def near(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.abs(found - expected).max() <= ROUNDING * np.abs(expected).max(), (found, expected)


def dynamics():
    """As two slides, one on the other."""
    toy = pliant.Dynamics(on_gantry())
    slides = robot(
        {"name": "way", "joint": {"name": "x", "type": "prismatic", "axis": "x", "placement": SEAT}},
        {"name": "hand", "joint": {"name": "y", "type": "prismatic", "axis": "y", "parent": "way.root"}, "rigid": BODY},
    )
    chain = pliant.Dynamics(slides)
    assert toy.names[-2:] == ("g.x", "g.y")
    rng = np.random.default_rng(0)
    q, v, a = (rng.uniform(-0.4, 0.4, toy.size) for _ in range(3))
    near(toy.forces(q, v, a), chain.forces(q, v, a))
    near(toy.forward(q, v, [0.3], force=a), chain.forward(q, v, [0.3, 0.0, 0.0], force=a))
    near(toy.jacobian("hand.tip", q), chain.jacobian("hand.tip", q))
    near(pliant.Dynamics(on_gantry(), method="dense").forward(q, v, [0.3]), toy.forward(q, v, [0.3]))


def loops(kind, held):
    """A floating hand that the closure holds moves as that on the joint does; of ``parallel``: as its rows demand."""
    hand = {"name": "hand", "joint": {"name": "f", "type": "free", "parent": "base"}, "rigid": BODY}
    frames = [{"frame": "boom.tip", **SEAT}, "hand.root"]
    closed = pliant.Dynamics(robot(hand, loops=[{"name": "k", "type": kind, "frames": frames}]))
    assert [row.partition(".")[2] for row in closed.loops.rows] == held
    q, v = closed.project(closed.assemble(hold=[]), np.random.default_rng(1).standard_normal(closed.size))
    assert np.abs(closed.closure(q)).max() < 1e-12
    near(closed.forward(q, v, [0.3]), closed.forward(q, v, [0.3], solver="dense"))
    if kind == "gantry":
        tree = pliant.Dynamics(on_gantry())
        first, second = (closed.pose(frame, q) for frame in ("boom.k_first", "hand.root"))
        way = first.rotation.T @ (second.position - first.position)
        q_t = np.array([*q[:-6], *way[:2]])
        J, twist = tree.jacobian("hand.root", q_t), np.hstack(closed.velocity("hand.root", q, v))
        u = np.linalg.lstsq(J[:, -2:], twist - J[:, :-2] @ v[:-6], rcond=None)[0]
        v_t = np.array([*v[:-6], *u])
        near(closed.forward(q, v, [0.3])[:-6], tree.forward(q_t, v_t, [0.3])[:-2])


def c_export(folder: Path):
    arm = pliant.Dynamics(on_gantry())
    source, header = pliant.generate_c(arm, folder / "toy.c", ("forward",))
    library = folder / "toy.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    q, v, f, out = (0.1 * np.random.default_rng(2).standard_normal(arm.size) for _ in range(4))
    size = int(re.search(r"#define TOY_WORKSPACE (\d+)", header.read_text())[1])
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (q, v, f, out, np.zeros(size))]
    ctypes.CDLL(str(library)).toy_forward(*pointers, None)
    near(out, arm.forward(q, v, [0.0], force=f))


def drawing(folder: Path):
    draw_robot(on_gantry(), folder / "toy.svg")
    assert (folder / "toy.svg").stat().st_size > 1000


def files(folder: Path):
    given = on_gantry()
    given.save(folder / "toy.yaml")
    assert pliant.load(folder / "toy.yaml") == given
    with pytest.raises(pliant.ModelError, match="a gantry joint has no motor; use two prismatic joints"):
        pliant.Joint(type="gantry", motor={"rotor_inertia": 1.0})


def simulation():
    run = pliant.run_study(pliant.Study(robot=on_gantry(), until=0.1))
    assert np.abs(run["energy.balance"]).max() <= 1e-5 * np.abs(run["energy.kinetic"]).max()


def main(folder: Path) -> None:
    def done(word: str) -> None:
        sys.stdout.write(f"{word}\n")

    dynamics()
    done("dynamics")
    loops("gantry", ["z", "rx", "ry", "rz"])
    loops("parallel", ["rx", "ry"])
    done("loops")
    c_export(folder)
    done("C")
    drawing(folder)
    done("drawing")
    files(folder)
    done("files")
    simulation()
    done("simulation")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
