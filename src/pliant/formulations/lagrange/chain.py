"""From the description of a robot to its bodies and the steps between them, in symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from pliant.bodies.modal_body import Array, ModalBody
from pliant.formulations.lagrange import sections
from pliant.formulations.lagrange.bodies import (
    LATEX_LETTERS,
    LETTERS,
    FlexibleInertia,
    LinkNames,
    Matrix,
    RigidInertia,
    coordinate_marks,
    elastic_matrix,
    flexible_inertia,
    rigid_inertia,
)
from pliant.formulations.lagrange.names import AXES, Constant, Coordinate, Kind, Names, Origin
from pliant.formulations.lagrange.sections import Map, Place, TurningSection, escaped, turn_out, variables_of
from pliant.formulations.lagrange.series import Series, Vector

if TYPE_CHECKING:
    from pliant.model.inertia import RigidPart
    from pliant.model.joints import Joint
    from pliant.model.links import Link
    from pliant.model.robot import Robot

TipRotation = Literal["slope", "chord"]

# entries of fixed rotations this close to a whole number are meant to be it
WHOLE = 1e-12
# sine of the angle below which two axes are parallel
PARALLEL = 1e-9


@dataclass(frozen=True, slots=True)
class Shift:
    """The next frame is displaced."""

    offset: list[Series]


@dataclass(frozen=True, slots=True)
class SymbolicTurn:
    """The next frame is turned: ``out`` takes components in it to components in this one."""

    out: Map


@dataclass(frozen=True, slots=True)
class Hinge:
    """A revolute joint: the next frame is turned about the axis by the coordinate."""

    coordinate: int
    axis: list[Series]
    out: Map


@dataclass(frozen=True, slots=True)
class Slide:
    """A prismatic joint: the next frame is displaced along the axis by the coordinate."""

    coordinate: int
    axis: list[Series]


Step = Shift | SymbolicTurn | Hinge | Slide


@dataclass(frozen=True, slots=True)
class SymbolicSeat:
    """Where a body sits on its parent: ``r`` from the parent's origin, moved by the parent's elastic coordinates.

    shapes   displacement per unit of each elastic coordinate of the parent
    section  how it turns with them, or None
    """

    r: list[Series]
    shapes: list[list[Series]]
    section: TurningSection | None


@dataclass(frozen=True, slots=True)
class Body:
    """A body, its place on its parent (an index, or -1 for the base), and the steps from there to its own frame."""

    label: str
    parent: int
    seat: SymbolicSeat | None
    steps: tuple[Step, ...]
    inertia: RigidInertia | FlexibleInertia | None
    elastic: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolicDrive:
    """A joint's motor, spring and friction on its motor angle: sum of (weight, coordinate)."""

    name: str
    row: tuple[tuple[Series, int], ...]
    is_actuated: bool
    inertia: Series
    stiffness: Series
    rest: Series
    damping: Series
    coulomb: Series
    smoothing: Series


@dataclass(slots=True)
class BodyChain:
    """The bodies of a robot, parents first, and all that acts between them."""

    names: Names
    gravity: list[Series]
    bodies: list[Body] = field(default_factory=list)
    drives: list[SymbolicDrive] = field(default_factory=list)
    stiffness: list[tuple[tuple[int, ...], Matrix]] = field(default_factory=list)
    damping: list[tuple[tuple[int, ...], Matrix]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Direction:
    """How a frame is turned where all coordinates are zero, and the last angle on the way: its group and axis.

    Angles about parallel axes with nothing else between them get one group, so that they add up.
    """

    R: Array
    group: int
    axis: Array


@dataclass(frozen=True, slots=True)
class _Placed:
    """A link that is done: what its children need."""

    link: Link
    body: ModalBody
    own: LinkNames
    index: int
    direction: _Direction
    elastic: tuple[int, ...]


def build_chain(robot: Robot, names: Names, tip_rotation: TipRotation = "slope") -> BodyChain:
    """Write down the bodies of a robot from the base to the tips."""
    builder = _Builder(robot, names, tip_rotation)
    for number, link in enumerate(robot.links, start=1):
        builder.add(number, link)
    return builder.chain


class _Builder:
    def __init__(self, robot: Robot, names: Names, tip_rotation: TipRotation) -> None:
        self.robot, self.names, self.algebra = robot, names, names.algebra
        self.tip_rotation = tip_rotation
        self.zero = self.algebra.number(0.0)
        self.chain = BodyChain(names, self._gravity())
        self.placed: dict[str, _Placed] = {}
        self.groups = 0

    def _gravity(self) -> list[Series]:
        g = np.array(self.robot.gravity, dtype=float)
        alone = np.count_nonzero(g) == 1
        out = []
        for d in range(3):
            name, latex = ("g", "g") if alone else (f"g_{AXES[d]}", f"g_{{{AXES[d]}}}")
            # a gravity along one axis is a positive number with the sign in the equations
            value, sign = (abs(float(g[d])), float(np.sign(g[d]))) if alone else (float(g[d]), 1.0)
            meaning = "acceleration of gravity" + ("" if alone else f" along {AXES[d]}")
            out.append(self.names.constant(Constant(name, latex, value, "m/s^2", meaning, "gravity")) * sign)
        return out

    # ---- one link

    def add(self, number: int, link: Link) -> None:
        """Add a link with its joint, hub and payloads."""
        from pliant.bodies.build import build_body

        body = build_body(link, self.robot)
        own = LinkNames(self.names, number, link.name, coordinate_marks(body.names))
        parent, frame = self.robot.parent_of(link.name)
        steps: list[Step] = []
        if parent in self.placed:
            holder = self.placed[parent]
            seat, direction = self._seat(holder, frame, steps)
            index = holder.index
        else:
            seat, index = None, -1
            direction = _Direction(np.eye(3), self._new_group(), np.zeros(3))
        direction, joints = self._through_joint(direction, link.joint, own, steps)
        elastic = tuple(self.names.coordinate(c) for c in _elastic_coordinates(body, own))
        inertia: RigidInertia | FlexibleInertia | None = None
        if link.rigid is not None:
            inertia = rigid_inertia(link.rigid, own, "", "")
        elif body.mass:
            inertia = flexible_inertia(body, link, own)
        self.chain.bodies.append(Body(link.name, index, seat, tuple(steps), inertia, elastic))
        placed = _Placed(link, body, own, len(self.chain.bodies) - 1, direction, elastic)
        self.placed[link.name] = placed
        if elastic:
            K, D = body.K_ee, body.D_ee
            self.chain.stiffness.append((elastic, elastic_matrix(own, "k", K, "N/m", "stiffness", "stiffness", body)))
            self.chain.damping.append((elastic, elastic_matrix(own, "d", D, "N s/m", "damping", "damping", body)))
        if joints and link.joint.type != "free":
            self.chain.drives.append(self._drive(placed, joints[0]))
        if link.hub is not None:
            self._add_part(placed, link.hub, "root", "h", "of the hub")
        for k, part in enumerate(link.payloads):
            mark = "p" if len(link.payloads) == 1 else f"p{k + 1}"
            self._add_part(placed, part, part.frame or "tip", mark, "of the payload")

    def _add_part(self, placed: _Placed, part: RigidPart, frame: str, mark: str, meaning: str) -> None:
        """A rigid part on a frame of a link; a point mass needs no rotation."""
        inertia = rigid_inertia(part, placed.own, mark, meaning)
        is_point = not any(part.com) and not part.inertia_matrix().any()
        steps: list[Step] = []
        seat, _ = self._seat(placed, frame, steps, turning=not is_point)
        label = f"{placed.link.name} {meaning.split()[-1]}"
        self.chain.bodies.append(Body(label, placed.index, seat, tuple(steps), inertia))

    def _drive(self, placed: _Placed, coordinate: int) -> SymbolicDrive:
        joint, own = placed.link.joint, placed.own
        row = [(self.algebra.number(1.0), coordinate)]
        root = placed.body.frames.get("root")
        if root is not None and joint.type == "revolute":
            axis = joint.child_placement.matrix().T @ joint.axis_vector()
            for k, variable in enumerate(placed.elastic):
                parts = self._shape_vector(placed, "root", root.Phi_r, k, slope=True)
                weight = self.algebra.total((float(a), x) for a, x in zip(axis, parts, strict=True) if a and x)
                if weight:
                    row.append((weight, variable))
        motor, spring, friction = joint.motor, joint.spring, joint.friction
        angular = joint.type == "revolute"

        def constant(letter: str, latex: str, value: float, units: tuple[str, str], text: str, kind: Kind) -> Series:
            unit = units[0] if angular else units[1]
            meaning = f"{text} at joint '{joint.name}'"
            return own.constant(letter, latex, "", value, unit, meaning, kind, scales=kind == "inertia")

        viscous = (spring.damping if spring else 0.0) + (friction.viscous if friction else 0.0)
        inertia = motor.rotor_inertia * motor.gear_ratio**2 if motor else 0.0
        stiffness, rest = (spring.stiffness, spring.rest) if spring else (0.0, 0.0)
        coulomb = friction.coulomb if friction else 0.0
        smoothing = friction.smoothing if friction and coulomb else 0.0
        angle = r"\theta_{0}" if angular else "d_{0}"
        return SymbolicDrive(
            name=joint.name or "",
            row=tuple(row),
            is_actuated=joint.actuated,
            inertia=constant("Jm", "J_{m}", inertia, ("kg m^2", "kg"), "reflected motor inertia", "inertia"),
            stiffness=constant("ks", "k_{s}", stiffness, ("N m/rad", "N/m"), "spring stiffness", "stiffness"),
            rest=constant("rest", angle, rest, ("rad", "m"), "rest position of the spring", "stiffness"),
            damping=constant("dv", "d_{v}", viscous, ("N m s/rad", "N s/m"), "viscous friction", "damping"),
            coulomb=constant("fc", "f_{c}", coulomb, ("N m", "N"), "dry friction", "damping"),
            smoothing=constant("eps", r"\varepsilon", smoothing, ("rad/s", "m/s"), "smoothing of friction", "damping"),
        )

    # ---- through the joint

    def _through_joint(
        self, direction: _Direction, joint: Joint, own: LinkNames, steps: list[Step]
    ) -> tuple[_Direction, list[int]]:
        self._shift(own, "o", joint.placement.vector(), "the place of the joint", steps)
        direction = self._fixed_turn(direction, joint.placement.matrix(), own, "gamma", r"\gamma", "placement", steps)
        coordinates: list[int] = []
        for kind, axis, robot_name, letter in _motions(joint):
            latex, mark = (r"\theta", "") if letter == "theta" else (letter[0], letter[1:])
            unit, word = ("rad", "angle") if kind == "revolute" else ("m", "position")
            number, meaning = own.number, f"{word} of joint '{joint.name}'"
            symbol = Coordinate(robot_name, f"{letter}_{number}", f"{latex}_{{{mark}{number}}}", unit, meaning)
            coordinate = self.names.coordinate(symbol)
            coordinates.append(coordinate)
            vector = [self.algebra.number(float(x)) for x in axis]
            if kind == "prismatic":
                steps.append(Slide(coordinate, vector))
                continue
            group, normal = self._group(direction, axis)
            angle = self.names.joint_angle(coordinate, group)
            steps.append(Hinge(coordinate, vector, self._turn_map(axis, angle)))
            direction = _Direction(direction.R, group, normal)
        self._shift(own, "e", joint.child_placement.vector(), "the link frame behind the joint", steps)
        R = joint.child_placement.matrix()
        return self._fixed_turn(direction, R, own, "zeta", r"\zeta", "child placement", steps), coordinates

    def _shift(self, own: LinkNames, letter: str, values: Array, meaning: str, steps: list[Step]) -> None:
        offset = own.vector(letter, letter, values, meaning, short=False)
        if any(offset):
            steps.append(Shift(offset))

    def _fixed_turn(
        self, direction: _Direction, R: Array, own: LinkNames, letter: str, latex: str, text: str, steps: list[Step]
    ) -> _Direction:
        """A fixed rotation; a turn about one axis keeps its angle as a symbol unless it is a right angle."""
        R = _whole(R)
        if np.array_equal(R, np.eye(3)):
            return direction
        single = _single_axis(R)
        if single is None:
            steps.append(SymbolicTurn(_matrix_map(R)))
            return _Direction(direction.R @ R, direction.group, direction.axis)
        axis, value = single
        group, normal = self._group(direction, axis)
        constant = own.described(letter, latex, "", value, "rad", f"angle of the {text}", "geometry")
        steps.append(SymbolicTurn(self._turn_map(axis, self.names.fixed_angle(constant, group))))
        return _Direction(direction.R @ R, group, normal)

    def _turn_map(self, axis: Array, angle: int) -> Map:
        c, s = self.algebra.cosine(angle), self.algebra.sine(angle)
        return lambda x: turn_out(x, axis, c, s)

    def _new_group(self) -> int:
        self.groups += 1
        return self.groups - 1

    def _group(self, direction: _Direction, axis: Array) -> tuple[int, Array]:
        """The group of an angle about an axis: that of the last angle if their axes are parallel."""
        normal = direction.R @ axis
        if not direction.axis.any() or np.linalg.norm(np.cross(normal, direction.axis)) < PARALLEL:
            return direction.group, normal
        return self._new_group(), normal

    # ---- frames on a link

    def _seat(
        self, placed: _Placed, frame: str, steps: list[Step], *, turning: bool = True
    ) -> tuple[SymbolicSeat, _Direction]:
        """A frame of a deformed link; its own fixed rotation becomes the first step behind it."""
        at, own, direction = placed.body.frames[frame], placed.own, placed.direction
        n = len(placed.elastic)
        shapes = [self._shape_vector(placed, frame, at.Phi_d, k, slope=False) for k in range(n)]
        place, deflection = self._place(placed, frame), self._deflection(placed, frame, shapes)
        r = [x + y for x, y in zip(place, deflection, strict=True)]
        section = None
        if turning and at.Phi_r.any():
            section, direction = self._section(placed, frame, direction)
        if turning:
            direction = self._fixed_turn(
                direction, at.rotation, own, f"eta_{frame}", r"\eta", f"frame {frame}", steps
            )  # fmt: skip
        return SymbolicSeat(r, shapes, section), direction

    def _place(self, placed: _Placed, frame: str) -> list[Series]:
        """Where a frame is on the undeformed link."""
        own, position, length = placed.own, placed.body.frames[frame].position, placed.link.length
        out: list[Series] = []
        for d in range(3):
            if d == 0 and length and abs(position[0] - length) <= WHOLE * length:
                out.append(own.constant("l", "l", "", length, "m", "length", "geometry"))
            else:
                text = f"{AXES[d]} of frame '{frame}'"
                out.append(own.constant("p", "p", f"{frame} {AXES[d]}", position[d], "m", text, "geometry"))
        return out

    def _deflection(self, placed: _Placed, frame: str, shapes: Sequence[Vector]) -> list[Series]:
        """Phi_d q_e of a frame, abbreviated in directions in which several coordinates move it."""
        number = placed.own.number
        mark, label = ("", f"{number}") if frame == "tip" else (f"_{frame}", f"{number},{escaped(frame)}")
        out = []
        for d, letter in enumerate(AXES):
            parts = [
                (factor, variables_of(monomial), q)
                for q, shape in zip(placed.elastic, shapes, strict=True)
                for monomial, factor in shape[d].terms.get(0, {}).items()
            ]
            meaning = f"deflection of {placed.link.name}.{frame} along {letter}"
            out.append(self.names.sum_of(f"{letter}_{number}{mark}", f"{letter}_{{{label}}}", meaning, parts))
        return out

    def _shape_vector(self, placed: _Placed, frame: str, Phi: Array, k: int, *, slope: bool) -> list[Series]:
        """Column k of a frame's displacement or rotation shapes."""
        own, body, name = placed.own, placed.body, placed.body.names[k]
        at_tip = body.frames["tip"].Phi_r if slope else body.frames["tip"].Phi_d
        # a frame on the tip section moves like the tip
        mark = "" if np.array_equal(Phi, at_tip) else frame
        letter, latex = ("dphi", r"\phi'") if slope else ("phi", r"\phi")
        column = Phi[:, k]
        several = int(np.count_nonzero(column)) > 1
        angular = name.startswith("torsion")
        unit = "" if slope == angular else "1/m" if slope else "m/rad"
        # bending in z turns about -y: the constant is the slope itself
        sign = -1.0 if slope and not several and name.startswith("bend_z") else 1.0
        text = f"{'slope' if slope and not angular else 'value'} of shape {name} at the {frame}"
        out = []
        for d in range(3):
            index = " ".join(word for word in (own.marks[k], mark, AXES[d] if several else "") if word)
            origin = None if several else Origin("slope" if slope else "value", own.link, (k,), frame)
            out.append(own.constant(letter, latex, index, sign * column[d], unit, text, "modal", origin=origin) * sign)
        return out

    def _section(self, placed: _Placed, frame: str, direction: _Direction) -> tuple[TurningSection, _Direction]:
        n = len(placed.elastic)
        slopes = [self._slope_vector(placed, frame, k) for k in range(n)]
        active = [d for d in range(3) if any(slope[d] for slope in slopes)]
        place = Place(placed.own.number, placed.link.name, frame, placed.elastic)
        rule = self.robot.attachment_rotation
        if rule == "cayley" or (rule == "exponential" and len(active) > 1):
            make = sections.cayley if rule == "cayley" else sections.exponential
            # angles behind this rotation have axes that it moves
            return make(self.names, place, slopes, active), _Direction(direction.R, self._new_group(), np.zeros(3))
        groups = []
        for d in active:
            group, normal = self._group(direction, np.eye(3)[d])
            groups.append(group)
            direction = _Direction(direction.R, group, normal)
        if len(active) == 1:
            return sections.elementary(self.names, place, slopes, active[0], groups[0]), direction
        return sections.xyz(self.names, place, slopes, active, groups), direction

    def _slope_vector(self, placed: _Placed, frame: str, k: int) -> list[Series]:
        """Column k of the rotation shapes; with the chord rule the deflection over the length."""
        at = placed.body.frames[frame]
        slope = self._shape_vector(placed, frame, at.Phi_r, k, slope=True)
        if self.tip_rotation == "slope" or placed.link.beam is None or frame == "root":
            return slope
        _, y, z = self._shape_vector(placed, frame, at.Phi_d, k, slope=False)
        length = placed.own.described("l", "l", "", placed.link.length, "m", "length", "geometry")
        over = self.algebra.monomial(self.names.inverse(self.names.variable(length)))
        return [slope[0], z * over * -1.0, y * over]


def _motions(joint: Joint) -> list[tuple[str, Array, str, str]]:
    """The elementary motions of a joint: kind, axis, coordinate name and letter."""
    if joint.type == "fixed":
        return []
    if joint.type != "free":
        letter = "theta" if joint.type == "revolute" else "d"
        return [(joint.type, _whole(joint.axis_vector()), joint.coordinates[0], letter)]
    kinds = ["prismatic"] * 3 + ["revolute"] * 3
    letters = ["px", "py", "pz", "rx", "ry", "rz"]
    return [
        (kind, np.eye(3)[i % 3], name, letter)
        for i, (kind, name, letter) in enumerate(zip(kinds, joint.coordinates, letters, strict=True))
    ]


def _elastic_coordinates(body: ModalBody, own: LinkNames) -> list[Coordinate]:
    out = []
    for name in body.names:
        family, _, number = name.rpartition(".")
        letter, label = LETTERS.get(family, "e"), number
        if not number.isdigit() or family not in (*LETTERS, "mode"):
            label = name.replace(".", "_")
        latex = f"{LATEX_LETTERS.get(letter, letter)}_{{{own.number},{label.replace('_', '.')}}}"
        unit = "rad" if family == "torsion" else "m"
        meaning = f"elastic coordinate {name} of {own.link}"
        out.append(Coordinate(f"{own.link}.{name}", f"{letter}_{own.number}_{label}", latex, unit, meaning))
    return out


def _matrix_map(R: Array) -> Map:
    def out(x: Vector) -> list[Series]:
        total = x[0].algebra.total
        return [total((float(R[d, i]), x[i]) for i in range(3) if R[d, i] and x[i]) for d in range(3)]

    return out


def _single_axis(R: Array) -> tuple[Array, float] | None:
    """(axis, angle) of a turn about a coordinate axis that is no multiple of a right angle."""
    for k in range(3):
        if R[k, k] == 1.0:
            i, j = (k + 1) % 3, (k + 2) % 3
            angle = float(np.arctan2(R[j, i], R[i, i]))
            return None if abs(np.sin(2 * angle)) < WHOLE else (np.eye(3)[k], angle)
    return None


def _whole(a: Array) -> Array:
    return np.where(np.abs(a - np.round(a)) < WHOLE, np.round(a), a) + 0.0
