"""The stage: everything that is shown at one time, how it is looked at, and when it is painted anew."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.pictures.canvas import best_view
from pliant.pictures.skeleton import Posed
from pliant.pictures.vibration_plots import joint_axes
from pliant.viewer.scene import RUNS, RobotNodes
from pliant.viewer.shown import MovingRun, PosedRobot, largest

Floats = NDArray[np.float64]

SEEN = 25
"""Instants of a run that are looked at for the size of the picture and the ends of the scales."""
BESIDE = 0.45
"""How far beside the plane of a plane robot the eye is, and how far above."""
DISTANCE = 1.2
"""Of the eye, in radii of what is shown."""
FIELD_OF_VIEW = 0.75


class Showcase:
    """Robots with their nodes in a scene, and the wishes of the reader.

    bending   factor on displacements, 0 for the rigid robot
    sections  factor on the sections of flexible beams
    field     parts, deflection or stress
    rigid     whether the axes of the rigid robot are drawn too
    """

    def __init__(self, scene: Any, shown: Sequence[PosedRobot | MovingRun]) -> None:
        self.shown, self.lock = list(shown), RLock()
        several = len(shown) > 1
        self.nodes = [
            RobotNodes(scene, f"/robot{k}", each.drawn, RUNS[k % len(RUNS)] if several else None)
            for k, each in enumerate(shown)
        ]
        self.bending, self.sections, self.field, self.rigid = 1.0, 1.0, "parts", True
        # a mode swings about how the robot is; it takes the place of what is shown
        self.swing: tuple[Posed, float] | None = None
        self._samples = [self._instants(each) for each in shown]
        self._fit(scene)
        for each, nodes in zip(shown, self.nodes, strict=True):
            if isinstance(each, MovingRun):
                nodes.show_path(each.tip)
        self.refresh()

    @staticmethod
    def _instants(each: PosedRobot | MovingRun) -> list[Posed]:
        if isinstance(each, PosedRobot):
            return [each.posed]
        times = each.run.time
        return [each.at(float(t)) for t in np.linspace(times[0], times[-1], SEEN)]

    @property
    def most(self) -> float:
        """The end of the scale of colours."""
        if self.field == "parts":
            return 0.0
        if self.swing is not None:
            return largest(self.shown[0].drawn, [self.swing[0]])[self.field]
        seen = zip(self.shown, self._samples, strict=True)
        runs = (largest(each.drawn, at if isinstance(each, MovingRun) else [each.posed]) for each, at in seen)
        return max(found[self.field] for found in runs)

    def refresh(self) -> None:
        """Paint everything as it is now."""
        with self.lock:
            most = self.most
            for each, nodes in zip(self.shown, self.nodes, strict=True):
                posed, by = self.swing if self.swing is not None else (each.posed, self.bending)
                nodes.show(posed, by, self.sections, self.field, most)
                nodes.show_rigid(posed, self.rigid)

    # ---- looking

    def _fit(self, scene: Any) -> None:
        """The middle and the size of all that is ever seen, and a floor below it."""
        corners = []
        for each, instants in zip(self.shown, self._samples, strict=True):
            for posed in instants:
                corners += [solid.vertices(*posed.moved()) for solid in each.drawn.solids if len(solid.places)]
        points = np.concatenate(corners)
        self.low, self.high = points.min(axis=0), points.max(axis=0)
        self.radius = float(np.linalg.norm(self.high - self.low)) / 2 or 1.0
        self.middle = (self.low + self.high) / 2
        first = self.shown[0]
        q = first.q if isinstance(first, PosedRobot) else first.run.q[0]
        places = np.concatenate([posed.moved()[0] for at in self._samples for posed in at])
        self.view = best_view(np.concatenate([places, np.zeros((1, 3))]), joint_axes(first.arm, q))
        gravity = np.array(first.arm.robot.gravity)
        weight = float(np.linalg.norm(gravity))
        self.up = -gravity / weight if weight else self.view.up if self.view.is_flat else np.array([0.0, 0.0, 1.0])
        self._floor(scene)

    def _floor(self, scene: Any) -> None:
        axis = int(np.argmax(np.abs(self.up)))
        cell = 10.0 ** np.floor(np.log10(self.radius))
        self.cell = float(cell / 5 if cell > 0.6 * self.radius else cell / 2)
        place = self.middle.copy()
        # at whole cells, below everything
        place = self.cell * np.round(place / self.cell)
        lowest = (self.low if self.up[axis] > 0 else self.high)[axis]
        place[axis] = lowest
        size = 2 * self.cell * np.ceil(1.6 * self.radius / self.cell)
        scene.add_grid(
            "/floor",
            width=size,
            height=size,
            plane=("yz", "xz", "xy")[axis],
            cell_size=self.cell,
            section_size=5 * self.cell,
            cell_color=(222, 227, 234),
            section_color=(190, 199, 212),
            position=place,
        )
        # light from everywhere instead of a picture of a room: faces that no lamp reaches are seen, and it starts fast
        scene.configure_environment_map(None)
        scene.add_light_ambient("/light", intensity=2.0)
        scene.add_frame("/base", axes_length=0.18 * self.radius, axes_radius=0.004 * self.radius)

    def eye(self) -> Floats:
        """Where the camera stands first."""
        towards = self.view.towards
        if self.view.is_flat:
            towards = towards + BESIDE * self.view.right * 0.6 + BESIDE * self.up * (abs(towards @ self.up) < 0.9)
            if abs(self.view.towards @ self.up) >= 0.9:
                towards = towards - 1.2 * self.view.up
        towards = towards / np.linalg.norm(towards)
        return np.asarray(self.middle + DISTANCE * self.radius / np.tan(FIELD_OF_VIEW / 2) * towards)
