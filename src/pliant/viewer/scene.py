"""The scene: meshes that follow the places of a robot, all that is shown at one time, and when it is painted anew.

What is fixed to one place moves by its pose alone; beams are sent anew. A field is shown in bands of one colour each.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.pictures.canvas import best_view
from pliant.pictures.robot_solids import RobotSolids, joined
from pliant.pictures.solids import Kind, Posed, Solid
from pliant.pictures.vibration_plots import joint_axes
from pliant.viewer.shown import MovingRun, PosedRobot, largest

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


Floats = NDArray[np.float64]
Colour = tuple[int, int, int]

PARTS: dict[Kind, Colour] = {
    "flexible": (75, 141, 248),
    "rigid": (163, 177, 198),
    "joint": (88, 101, 122),
    "load": (245, 165, 36),
    "looks": (200, 209, 222),
    "ground": (110, 122, 142),
}
RUNS: tuple[Colour, ...] = ((37, 99, 235), (220, 38, 38), (22, 163, 74), (217, 119, 6), (124, 58, 237), (8, 145, 178))
SHADES = {
    "deflection": ((44, 74, 158), (42, 143, 184), (70, 192, 143), (197, 220, 75), (253, 231, 37)),
    "stress": ((36, 96, 216), (134, 182, 242), (232, 235, 239), (242, 156, 124), (200, 30, 30)),
}
BANDS = 13
GREY: Colour = (158, 163, 172)
GHOST: Colour = (120, 130, 145)
PATH: Colour = (245, 158, 11)


def band_colour(field: str, band: int) -> Colour:
    """The colour of one of the bands of a field."""
    stops = np.array(SHADES[field], dtype=float)
    at = band / (BANDS - 1) * (len(stops) - 1)
    mixed = [np.interp(at, np.arange(len(stops)), stops[:, k]) for k in range(3)]
    return (round(mixed[0]), round(mixed[1]), round(mixed[2]))


def bands(field: str, values: Floats, most: float) -> NDArray[np.int_]:
    """Which band each value is in; stress has a middle, deflection begins at zero."""
    part = values / (most or 1.0)
    part = (part + 1) / 2 if field == "stress" else part
    return np.asarray(np.clip((BANDS * part).astype(int), 0, BANDS - 1))


def diagonals(vertices: Floats, faces: NDArray[np.int_]) -> NDArray[np.int_]:
    """The ends (F, 2) of the longest side of every triangle: the two halves of a square then are of one colour."""
    sides = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2)
    lengths = np.linalg.norm(vertices[sides[:, :, 0]] - vertices[sides[:, :, 1]], axis=-1)
    return np.asarray(np.take_along_axis(sides, lengths.argmax(axis=1)[:, None, None], axis=1)[:, 0])


class RobotNodes:
    """Meshes of a robot below a name in the scene; ``own`` is the colour of its run where there are several."""

    def __init__(self, scene: Any, name: str, drawn: RobotSolids, own: Colour | None = None) -> None:
        self.scene, self.name, self.drawn, self.own = scene, name, drawn, own
        beams = [solid for solid in drawn.solids if not solid.is_stiff]
        self.beams = [(solid, self._mesh(f"beam{k}", solid, solid.offsets)) for k, solid in enumerate(beams)]
        rest = drawn.skeleton.places(drawn.arm.reference_pose())
        self.diagonals = [diagonals(solid.vertices(*rest), solid.faces) for solid in beams]
        groups: dict[tuple[Kind, int], list[Solid]] = {}
        for solid in drawn.solids:
            if solid.is_stiff and len(solid.places):
                groups.setdefault((solid.kind, int(solid.places[0])), []).append(solid)
        self.stiff = []
        for k, ((kind, place), solids) in enumerate(groups.items()):
            one = joined(solids, (kind,))
            self.stiff.append((place, kind, self._mesh(f"part{k}", one, one.offsets)))
        self.bands: list[Any] = []
        pieces = [places for each in drawn.skeleton.beams.values() for places in each.pieces]
        self.lines = np.concatenate([np.zeros((0, 2), dtype=int), *(np.stack([p[:-1], p[1:]], axis=1) for p in pieces)])
        self.ghost: Any = None

    def _colour(self, kind: Kind) -> Colour:
        plain = PARTS[kind]
        if self.own is None:
            return plain
        part = 1.0 if kind == "flexible" else 0.35
        mixed = [round((1 - part) * a + part * b) for a, b in zip(plain, self.own, strict=True)]
        return (mixed[0], mixed[1], mixed[2])

    def _mesh(self, name: str, solid: Solid, vertices: Floats) -> Any:
        look = {"color": self._colour(solid.kind), "flat_shading": True, "side": "double", "receive_shadow": False}
        return self.scene.add_mesh_simple(f"{self.name}/{name}", vertices, solid.faces, **look)

    def show(self, posed: Posed, by: float, thick: float, field: str, most: float) -> None:
        """Move everything: bending and sections multiplied, colours by a field up to a largest value."""
        from scipy.spatial.transform import Rotation

        positions, axes = posed.moved(by)
        quaternions = Rotation.from_matrix(axes).as_quat()
        ways = np.linalg.norm(posed.shifts, axis=-1)
        for place, kind, mesh in self.stiff:
            mesh.position, mesh.wxyz = positions[place], np.roll(quaternions[place], 1)
            mesh.color = self._stiff_colour(kind, float(ways[place]), field, most)
        triangles, found = [np.zeros((0, 3, 3))], [np.zeros(0, dtype=int)]
        for (solid, mesh), ends in zip(self.beams, self.diagonals, strict=True):
            thicker = thick if solid.kind == "flexible" else 1.0
            drawn = Solid(solid.link, solid.kind, solid.places, thicker * solid.offsets, solid.faces)
            vertices = drawn.vertices(positions, axes)
            values = self._values(solid, posed, field, ways)
            mesh.visible = values is None
            if values is None:
                mesh.vertices = vertices
                mesh.color = GREY if field == "stress" else self._colour(solid.kind)
            else:
                triangles.append(vertices[solid.faces])
                found.append(bands(field, values[ends].mean(axis=1), most))
        self._show_bands(field, np.concatenate(triangles), np.concatenate(found))

    def _stiff_colour(self, kind: Kind, way: float, field: str, most: float) -> Colour:
        if field == "deflection" and kind != "ground":
            return band_colour(field, int(bands(field, np.array([way]), most)[0]))
        return GREY if field == "stress" else self._colour(kind)

    def _values(self, solid: Solid, posed: Posed, field: str, ways: Floats) -> Floats | None:
        if field == "deflection":
            return np.asarray(ways[solid.places])
        if field == "stress" and solid.modulus is not None:
            return solid.modulus * solid.fibres(posed.strains)
        return None

    def _show_bands(self, field: str, triangles: Floats, found: NDArray[np.int_]) -> None:
        """One mesh per band, with all triangles that are in it."""
        if field in SHADES and not self.bands:
            none = Solid("", "flexible", np.zeros(3, dtype=int), np.zeros((3, 3)), np.array([[0, 1, 2]]))
            self.bands = [self._mesh(f"band{k}", none, none.offsets) for k in range(BANDS)]
        for k, mesh in enumerate(self.bands):
            own = triangles[found == k].reshape(-1, 3)
            mesh.visible = field in SHADES and len(own) > 0
            if mesh.visible:
                mesh.color = band_colour(field, k)
                mesh.vertices, mesh.faces = own, np.arange(len(own)).reshape(-1, 3)

    def show_rigid(self, posed: Posed, wanted: bool) -> None:
        """The axes of the beams without bending, as lines."""
        if not len(self.lines):
            return
        points = posed.moved(0.0)[0][self.lines]
        if self.ghost is None:
            look = {"thickness": 1.5, "thickness_units": "screen"}
            self.ghost = self.scene.add_line_segments(f"{self.name}/rigid", points, GHOST, **look)
        self.ghost.visible, self.ghost.points = wanted, points.astype(np.float32)

    def show_path(self, points: Floats) -> None:
        """Where the tip goes (N, 3)."""
        if len(points) > 1:
            pairs = np.stack([points[:-1], points[1:]], axis=1)
            look = {"thickness": 1.5, "thickness_units": "screen"}
            self.scene.add_line_segments(f"{self.name}/path", pairs, self.own or PATH, **look)

    @property
    def names(self) -> list[str]:
        """Names of the meshes in the scene."""
        return [mesh.name for _, mesh in self.beams] + [mesh.name for *_, mesh in self.stiff]
