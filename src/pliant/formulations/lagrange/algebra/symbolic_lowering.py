"""From the neutral mechanism to its bodies and the steps between them, in symbols.

All numbers are the mechanism's. The description of the links is looked up for words: where a beam is uniform its
constants are mass per length and length, and a rigid link has the centre of mass that was written down.

A joint that follows another, q = ratio q_leader + offset, is an abbreviation, and only the leader moves: the
derivative of a follower by its leader is the ratio, so that everything that is differentiated follows; momenta and
forces along the follower count for the leader, times the ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from pliant.bodies.families import family_of
from pliant.bodies.foreshortening import Foreshortening
from pliant.bodies.modal_body import Array, ModalBody
from pliant.errors import ModelError
from pliant.formulations.lagrange.algebra import turning_sections as sections
from pliant.formulations.lagrange.algebra.chain import (
    BodyChain,
    ChainBody,
    FollowingJoint,
    Hinge,
    Shift,
    Slide,
    Step,
    SymbolicDrive,
    SymbolicSeat,
    SymbolicTurn,
)
from pliant.formulations.lagrange.algebra.link_inertia import (
    LATEX_LETTERS,
    LETTERS,
    FlexibleInertia,
    LinkNames,
    RigidInertia,
    ShortenedInertia,
    coordinate_marks,
    coupled_damping,
    elastic_matrix,
    flexible_inertia,
    rigid_inertia,
    shortened_frame,
    shortened_inertia,
    with_points,
)
from pliant.formulations.lagrange.algebra.series import Series, Vector
from pliant.formulations.lagrange.algebra.symbols import (
    AXES,
    Abbreviation,
    Constant,
    Coordinate,
    Kind,
    Names,
    Origin,
    latex_index,
)
from pliant.formulations.lagrange.algebra.turning_sections import (
    WHOLE,
    Map,
    Place,
    TurningSection,
    matrix_map,
    single_axis,
    turn_out,
    variables_of,
    whole,
)
from pliant.mechanism import Mechanism, Member, MemberJoint, Part

if TYPE_CHECKING:
    from pliant.mechanism import JointTie
    from pliant.model.description.links import Link


def attitude_coordinates(member: Member, own: LinkNames) -> list[Coordinate]:
    """Coordinates of a joint that turns any way: the shifts of a free joint, then the rotation vector."""
    out = []
    for robot_name in member.coordinates[: len(member.coordinates) - member.body.size]:
        letter = robot_name.rpartition(".")[2]
        slides = len(letter) == 1
        unit, word = ("m", "position") if slides else ("rad", "rotation vector")
        name, latex = (f"p{letter}", f"p_{{{letter}") if slides else (letter, f"r_{{{letter[1:]}")
        meaning = f"{word} of joint '{member.joint.name}' along {letter[-1]}"
        out.append(Coordinate(robot_name, f"{name}_{own.number}", f"{latex}{own.number}}}", unit, meaning))
    return out


def elastic_coordinates(member: Member, own: LinkNames) -> list[Coordinate]:
    """Elastic coordinates of a member's body, with their symbols and units."""
    out = []
    names = member.coordinates[len(member.coordinates) - member.body.size :]
    for name, robot_name in zip(member.body.names, names, strict=True):
        family, _, number = name.rpartition(".")
        letter, label = LETTERS.get(family, "e"), number
        if not number.isdigit() or family not in (*LETTERS, "mode"):
            label = name.replace(".", "_")
        latex = f"{LATEX_LETTERS.get(letter, letter)}_{{{own.number},{label.replace('_', '.')}}}"
        known = family_of(family)
        unit = "m" if known is None else known.unit
        meaning = f"elastic coordinate {name} of {own.link}"
        out.append(Coordinate(robot_name, f"{letter}_{own.number}_{label}", latex, unit, meaning, elastic=True))
    return out


def rigid_part(body: ModalBody, link: Link) -> Part:
    """Mass, centre of mass and inertia about it of a rigid link: as written down where that is this body."""
    com = body.first / body.mass if body.mass else np.zeros(3)
    at_com = body.I_rr - body.mass * (com @ com * np.eye(3) - np.outer(com, com))
    given = link.rigid
    if given is not None and given.mass == body.mass:
        # going to the origin and back leaves rounding beside round numbers
        written, size = given.inertia_matrix(), np.abs(body.I_rr).max(initial=0.0)
        same_com = np.abs(given.com_vector() - com).max() <= WHOLE * max(np.abs(com).max(), WHOLE)
        if same_com and np.abs(written - at_com).max() <= WHOLE * size:
            return Part("", "", body.mass, given.com_vector(), written)
    return Part("", "", body.mass, com, at_com)


# ---- joints that follow others, in symbols


def tie_followers(chain: BodyChain, ties: Sequence[JointTie], links: Mapping[str, LinkNames]) -> None:
    """Take the coordinates of followers away; ``links`` names the link behind each joint."""
    names = chain.names
    variables = {coordinate.robot_name: q for q, coordinate in names.coordinates.items()}
    places = list(names.coordinates.values())
    for tie in ties:
        joint, led = tie.name, places[tie.leader].robot_name
        own, follower, leader = links[joint], variables[joint], variables[led]
        coordinate, leading = names.coordinates.pop(follower), names.coordinates[leader]
        per = "" if coordinate.unit == leading.unit else f"{coordinate.unit}/{leading.unit}"
        words = f"joint '{joint}' to joint '{led}'"
        ratio = own.constant("ratio", r"\nu", "", tie.ratio, per, f"ratio of {words}", "geometry")
        if abs(tie.ratio) == 1.0 and not per:
            ratio = names.algebra.number(tie.ratio)
        text = f"position of joint '{joint}' where joint '{led}' is at zero"
        latex = rf"{coordinate.latex.partition('_')[0]}_{{f}}"
        offset = own.constant("offset", latex, "", tie.offset, coordinate.unit, text, "geometry")
        moved = ratio * names.algebra.monomial(leader) + offset
        parts = tuple((factor, variables_of(m)[::-1]) for m, factor in moved.terms[0].items())
        meaning = f"{coordinate.meaning}, which follows joint '{led}'"
        names.abbreviations[follower] = Abbreviation(coordinate.name, coordinate.latex, meaning, parts)
        names.algebra.slopes[follower] = {leader: ratio}
        for angle in names.algebra.angles:
            if follower in angle.slopes:
                slope = Series(names.algebra, {0: angle.slopes.pop(follower)}) * ratio
                angle.slopes[leader] = slope.terms[0]
        chain.followers[follower] = FollowingJoint(leader, ratio)
        chain.drives = [_followed(drive, follower, leader, ratio, offset) for drive in chain.drives]


def _followed(drive: SymbolicDrive, follower: int, leader: int, ratio: Series, offset: Series) -> SymbolicDrive:
    """A drive on the coordinate of a follower as one on that of its leader; the offset moves the rest of its spring."""
    if all(q != follower for _, q in drive.row):
        return drive
    row = tuple((weight * ratio, leader) if q == follower else (weight, q) for weight, q in drive.row)
    return replace(drive, row=row, rest=drive.rest - offset)


# ---- from the neutral mechanism to its bodies and the steps between them, in symbols

TipRotation = Literal["slope", "chord"]

# sine of the angle below which two axes are parallel
PARALLEL = 1e-9
# names of the parts of a member: its hub, and payload1, payload2, ...
HUB, PAYLOAD = "hub", "payload"


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
    """A member that is done: what its children need."""

    member: Member
    link: Link
    own: LinkNames
    index: int
    direction: _Direction
    elastic: tuple[int, ...]

    @property
    def body(self) -> ModalBody:
        return self.member.body


def build_chain(
    mechanism: Mechanism, names: Names, tip_rotation: TipRotation = "slope", *, tied: bool = False
) -> BodyChain:
    """Write down the bodies of a mechanism from the base to the tips, in the words of the robot's description.

    tied  joints that follow others move by the coordinates of their leaders; else they have their own
    """
    builder = _Builder(mechanism, names, tip_rotation)
    for number, member in enumerate(mechanism.members, start=1):
        builder.add(number, member, member.link)
    if mechanism.drag is not None:
        builder.chain.damping.append((tuple(names.coordinates), coupled_damping(mechanism, mechanism.drag, names)))
    if tied:
        tie_followers(builder.chain, mechanism.ties, {p.member.joint.name: p.own for p in builder.placed})
    return builder.chain


class _Builder:
    def __init__(self, mechanism: Mechanism, names: Names, tip_rotation: TipRotation) -> None:
        self.mechanism, self.names, self.algebra = mechanism, names, names.algebra
        self.tip_rotation = tip_rotation
        self.zero = self.algebra.number(0.0)
        self.chain = BodyChain(names, self._gravity())
        self.placed: list[_Placed] = []
        self.groups = 0
        self.chain.frame, self.chain.frame_names = self.frame, tuple(mechanism.frames)

    def _gravity(self) -> list[Series]:
        g = self.mechanism.gravity
        alone = np.count_nonzero(g) == 1
        out = []
        for d in range(3):
            name, latex = ("g", "g") if alone else (f"g_{AXES[d]}", f"g_{{{AXES[d]}}}")
            # a gravity along one axis is a positive number with the sign in the equations
            value, sign = (abs(float(g[d])), float(np.sign(g[d]))) if alone else (float(g[d]), 1.0)
            meaning = "acceleration of gravity" + ("" if alone else f" along {AXES[d]}")
            out.append(self.names.constant(Constant(name, latex, value, "m/s^2", meaning, "gravity")) * sign)
        return out

    # ---- one member

    def add(self, number: int, member: Member, link: Link) -> None:
        """Add a member with its joint and the parts that it carries."""
        bent = self._shortening(member) is not None
        body, parts = with_points(member) if bent else (member.body, list(member.parts))
        own = LinkNames(self.names, number, member.name, coordinate_marks(body.names))
        steps: list[Step] = []
        seat, index = None, -1
        if member.parent >= 0:
            holder = self.placed[member.parent]
            seat, direction = self._seat(holder, member.frame, steps)
            index = holder.index
        else:
            direction = _Direction(np.eye(3), self._new_group(), np.zeros(3))
        if member.joint.kind.rotation_vector is not None:
            index, seat, direction, steps = self._mover(direction, member, own, index, seat, steps)
        direction, joints = self._through_joint(direction, member, own, steps)
        elastic = tuple(self.names.coordinate(c) for c in elastic_coordinates(member, own))
        inertia: RigidInertia | FlexibleInertia | ShortenedInertia | None = None
        if link.rigid is not None:
            inertia = rigid_inertia(rigid_part(body, link), own, "", "")
        elif body.mass:
            back = body.large if bent else None
            if isinstance(back, Foreshortening):
                inertia = shortened_inertia(body, back, link, own)
            else:
                inertia = flexible_inertia(body, link, own)
        self.chain.bodies.append(ChainBody(member.name, index, seat, tuple(steps), inertia, elastic))
        placed = _Placed(member, link, own, len(self.chain.bodies) - 1, direction, elastic)
        self.placed.append(placed)
        if elastic:
            K, D = body.K_ee, body.D_ee
            self.chain.stiffness.append((elastic, elastic_matrix(own, "k", K, "N/m", "stiffness", "stiffness", body)))
            self.chain.damping.append((elastic, elastic_matrix(own, "d", D, "N s/m", "damping", "damping", body)))
        if member.joint.kind.is_driven():
            self.chain.drives.append(self._drive(placed, joints[0]))
        payloads = sum(part.name != HUB for part in member.parts)
        for part in parts:
            if part.name == HUB:
                self._add_part(placed, part, "h", "of the hub")
            else:
                mark = "p" if payloads == 1 else f"p{part.name.removeprefix(PAYLOAD)}"
                self._add_part(placed, part, mark, "of the payload")

    def frame(self, link: str, frame: str) -> ChainBody:
        """A frame of a link as a body without mass."""
        placed = next(each for each in self.placed if each.member.name == link)
        steps: list[Step] = []
        seat, _ = self._seat(placed, frame, steps)
        return ChainBody(f"{link}.{frame}", placed.index, seat, tuple(steps), None)

    def _shortening(self, member: Member) -> Foreshortening | None:
        large = member.body.large
        return large if isinstance(large, Foreshortening) else None

    def _add_part(self, placed: _Placed, part: Part, mark: str, meaning: str) -> None:
        """A rigid part on a frame of a link; a point mass without a lever needs no rotation."""
        inertia = rigid_inertia(part, placed.own, mark, meaning)
        at = placed.body.frames[part.frame]
        is_point = not part.com.any() and not part.inertia.any() and not at.has_lever
        steps: list[Step] = []
        seat, _ = self._seat(placed, part.frame, steps, turning=not is_point)
        label = f"{placed.member.name} {meaning.split()[-1]}"
        self.chain.bodies.append(ChainBody(label, placed.index, seat, tuple(steps), inertia))

    def _drive(self, placed: _Placed, coordinate: int) -> SymbolicDrive:
        joint, own, drive = placed.member.joint, placed.own, placed.member.joint.drive
        row = [(self.algebra.number(1.0), coordinate)]
        for k, (variable, turned) in enumerate(zip(placed.elastic, drive.row, strict=True)):
            if not turned:
                continue
            parts = self._shape_vector(placed, "root", placed.body.frames["root"].Phi_r, k, slope=True)
            weight = self.algebra.total((float(a), x) for a, x in zip(joint.axis_B, parts, strict=True) if a and x)
            row.append((weight, variable))
        angular = not joint.kind.slides()

        def constant(letter: str, latex: str, value: float, units: tuple[str, str], text: str, kind: Kind) -> Series:
            unit = units[0] if angular else units[1]
            meaning = f"{text} at joint '{joint.name}'"
            return own.constant(letter, latex, "", value, unit, meaning, kind, scales=kind == "inertia")

        smoothing = drive.smoothing if drive.coulomb else 0.0
        angle = r"\theta_{0}" if angular else "d_{0}"
        return SymbolicDrive(
            name=joint.name,
            row=tuple(row),
            is_actuated=joint.is_actuated,
            inertia=constant("Jm", "J_{m}", drive.inertia, ("kg m^2", "kg"), "reflected motor inertia", "inertia"),
            stiffness=constant("ks", "k_{s}", drive.stiffness, ("N m/rad", "N/m"), "spring stiffness", "stiffness"),
            rest=constant("rest", angle, drive.rest, ("rad", "m"), "rest position of the spring", "stiffness"),
            damping=constant("dv", "d_{v}", drive.damping, ("N m s/rad", "N s/m"), "viscous friction", "damping"),
            coulomb=constant("fc", "f_{c}", drive.coulomb, ("N m", "N"), "dry friction", "damping"),
            smoothing=constant("eps", r"\varepsilon", smoothing, ("rad/s", "m/s"), "smoothing of friction", "damping"),
        )

    def _mover(
        self,
        direction: _Direction,
        member: Member,
        own: LinkNames,
        parent: int,
        seat: SymbolicSeat | None,
        steps: list[Step],
    ) -> tuple[int, SymbolicSeat, _Direction, list[Step]]:
        """A joint that turns any way: a body without mass whose frame turns by its rotation vector carries the link."""
        joint = member.joint
        if joint.drive.damping:
            raise ModelError(
                f"joint '{joint.name}' is spherical with a damper, whose closed form is long; leave it out, or use "
                "method 'recursive'"
            )
        self._shift(own, "o", joint.p_PJ, "the place of the joint", steps)
        self._fixed_turn(direction, joint.R_PJ, own, "gamma", r"\gamma", "placement", steps)
        variables = [self.names.coordinate(symbol) for symbol in attitude_coordinates(member, own)]
        axes = [[self.algebra.number(float(i == k)) for i in range(3)] for k in range(3)]
        steps += [Slide(variable, e) for variable, e in zip(variables[:-3], axes, strict=False)]
        theta = tuple(variables[-3:])
        place = Place(own.number, member.name, "joint", theta)
        section = sections.exponential(self.names, place, axes, [0, 1, 2])
        self.chain.bodies.append(ChainBody(f"{member.name} joint", parent, seat, tuple(steps), None, theta))
        if joint.drive.stiffness:
            text = f"spring stiffness at joint '{joint.name}'"
            k = own.constant("ks", "k_{s}", "", joint.drive.stiffness, "N m/rad", text, "stiffness")
            spring = [[k if i == j else self.zero for i in range(3)] for j in range(3)]
            self.chain.stiffness.append((theta, spring))
        nowhere = [self.zero] * 3
        turned = SymbolicSeat(nowhere, [nowhere] * 3, section)
        return len(self.chain.bodies) - 1, turned, _Direction(np.eye(3), self._new_group(), np.zeros(3)), []

    # ---- through the joint

    def _through_joint(
        self, direction: _Direction, member: Member, own: LinkNames, steps: list[Step]
    ) -> tuple[_Direction, list[int]]:
        joint = member.joint
        coordinates: list[int] = []
        if joint.kind.rotation_vector is None:
            self._shift(own, "o", joint.p_PJ, "the place of the joint", steps)
            direction = self._fixed_turn(direction, joint.R_PJ, own, "gamma", r"\gamma", "placement", steps)
        motions = joint.kind.elementary(joint.parameters) or []
        for robot_name, each in zip(member.coordinates, joint.kind.coordinates if motions else (), strict=False):
            letter = "theta" if each.unit == "rad" else f"d{each.suffix.removeprefix('.')}"
            latex, mark = (r"\theta", "") if letter == "theta" else (letter[0], letter[1:])
            number, meaning = own.number, f"{each.word} of joint '{joint.name}'"
            symbol = Coordinate(robot_name, f"{letter}_{number}", f"{latex}_{{{mark}{number}}}", each.unit, meaning)
            coordinates.append(self.names.coordinate(symbol))
        for motion in motions:
            axis = whole(joint.axis) if motion.axis is None else np.eye(3)[motion.axis]
            coordinate = coordinates[motion.coordinate]
            vector = [self.algebra.number(float(x)) for x in axis]
            if not motion.turns:
                steps.append(Slide(coordinate, self._along(own, joint, motion.factor, vector)))
                continue
            group, normal = self._group(direction, axis)
            angle = self.names.joint_angle(coordinate, group)
            steps.append(Hinge(coordinate, vector, self._turn_map(axis, angle)))
            direction = _Direction(direction.R, group, normal)
        self._shift(own, "e", joint.p_JB, "the link frame behind the joint", steps)
        direction = self._fixed_turn(direction, joint.R_JB, own, "zeta", r"\zeta", "child placement", steps)
        return direction, coordinates

    def _along(self, own: LinkNames, joint: MemberJoint, factor: float, vector: list[Series]) -> list[Series]:
        """The way along an axis per unit of a coordinate; a factor keeps its symbol."""
        if factor == 1.0:
            return vector
        text = f"way along the axis per radian of joint '{joint.name}'"
        way = own.constant("lambda", r"\lambda", "", factor, "m/rad", text, "geometry")
        return [way * x for x in vector]

    def _shift(self, own: LinkNames, letter: str, values: Array, meaning: str, steps: list[Step]) -> None:
        offset = own.vector(letter, letter, values, meaning, short=False)
        if any(offset):
            steps.append(Shift(offset))

    def _fixed_turn(
        self, direction: _Direction, R: Array, own: LinkNames, letter: str, latex: str, text: str, steps: list[Step]
    ) -> _Direction:
        """A fixed rotation; a turn about one axis keeps its angle as a symbol unless it is a right angle."""
        R = whole(R)
        if np.array_equal(R, np.eye(3)):
            return direction
        single = single_axis(R)
        if single is None:
            steps.append(SymbolicTurn(matrix_map(R)))
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
        shapes = [self._shape_vector(placed, frame, at.slides, k, slope=False) for k in range(n)]
        place, deflection = self._place(placed, frame), self._deflection(placed, frame, shapes)
        r = [x + y for x, y in zip(place, deflection, strict=True)]
        if (back := self._shortening(placed.member)) is not None:
            if turning and frame in back.turns:
                raise ModelError(
                    f"frame '{frame}' of link '{placed.member.name}' turns by Gamma_r, to second order; angles of "
                    "closed forms are linear in the coordinates: use method 'recursive', or write bending: linear"
                )
            q = [self.algebra.monomial(i) for i in placed.elastic]
            r, shapes = shortened_frame(own, frame, back.frames[frame], q, r, shapes)
        section = None
        if turning and at.Phi_r.any():
            section, direction = self._section(placed, frame, direction)
        if at.has_lever:
            # it turns with the section, before the frame's own rotation
            steps.append(Shift(self._lever(placed, frame)))
        if turning:
            direction = self._fixed_turn(
                direction, at.rotation, own, f"eta_{frame}", r"\eta", f"frame {frame}", steps
            )  # fmt: skip
        return SymbolicSeat(r, shapes, section), direction

    def _place(self, placed: _Placed, frame: str) -> list[Series]:
        """Where the section of a frame is on the undeformed link."""
        own, position, length = placed.own, placed.body.frames[frame].point, placed.link.length
        bends = placed.body.size > 0
        out: list[Series] = []
        for d in range(3):
            if d == 0 and length and abs(position[0] - length) <= WHOLE * length:
                out.append(own.constant("l", "l", "", length, "m", "length", "geometry", bound=bends))
            else:
                text = f"{AXES[d]} of frame '{frame}'"
                index = f"{frame} {AXES[d]}"
                out.append(own.constant("p", "p", index, position[d], "m", text, "geometry", bound=bends))
        return out

    def _lever(self, placed: _Placed, frame: str) -> list[Series]:
        """From the point of a frame's section to the frame."""
        own, offset = placed.own, placed.body.frames[frame].offset
        texts = (f"{axis} of the lever of frame '{frame}'" for axis in AXES)
        return [
            own.constant("b", "b", f"{frame} {axis}", x, "m", text, "geometry")
            for axis, x, text in zip(AXES, offset, texts, strict=True)
        ]

    def _deflection(self, placed: _Placed, frame: str, shapes: Sequence[Vector]) -> list[Series]:
        """Phi_d q_e of a frame, abbreviated in directions in which several coordinates move it."""
        number = placed.own.number
        mark, label = ("", f"{number}") if frame == "tip" else (f"_{frame}", f"{number},{latex_index(frame)}")
        out = []
        for d, letter in enumerate(AXES):
            parts = [
                (factor, variables_of(monomial), q)
                for q, shape in zip(placed.elastic, shapes, strict=True)
                for monomial, factor in shape[d].terms.get(0, {}).items()
            ]
            meaning = f"deflection of {placed.member.name}.{frame} along {letter}"
            out.append(self.names.sum_of(f"{letter}_{number}{mark}", f"{letter}_{{{label}}}", meaning, parts))
        return out

    def _shape_vector(self, placed: _Placed, frame: str, Phi: Array, k: int, *, slope: bool) -> list[Series]:
        """Column k of a frame's displacement or rotation shapes."""
        own, body, name = placed.own, placed.body, placed.body.names[k]
        at_tip = body.frames["tip"].Phi_r if slope else body.frames["tip"].slides
        # a frame on the tip section moves like the tip
        mark = "" if np.array_equal(Phi, at_tip) else frame
        letter, latex = ("dphi", r"\phi'") if slope else ("phi", r"\phi")
        column = Phi[:, k]
        several = int(np.count_nonzero(column)) > 1
        family = family_of(name)
        angular = family is not None and family.is_angle
        unit = "" if slope == angular else "1/m" if slope else "m/rad"
        # bending in z turns about -y: the constant is the slope itself
        turn = family.rotation if family is not None else None
        sign = turn[1] if slope and not several and turn is not None else 1.0
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
        place = Place(placed.own.number, placed.member.name, frame, placed.elastic)
        rule = self.mechanism.rule
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
        if self.tip_rotation == "slope" or not placed.link.has_axis or frame == "root":
            return slope
        _, y, z = self._shape_vector(placed, frame, at.slides, k, slope=False)
        length = placed.own.described("l", "l", "", placed.link.length, "m", "length", "geometry", bound=True)
        over = self.algebra.monomial(self.names.inverse(self.names.variable(length)))
        return [slope[0], z * over * -1.0, y * over]
