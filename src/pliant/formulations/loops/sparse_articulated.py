"""Articulated elimination on a sparse form: links are taken in from the tips, coupled to whatever is left elsewhere.

The same steps as in ``articulated``, but the inertia of a link may stay coupled to unknowns outside it: multipliers of
closures, or the seat of a part of the robot that was cut off. A robot with loops is taken apart with these steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from pliant.bodies.terms import Blocks
from pliant.formulations.loops.cuts import parents_of, seat_rows, tip_coordinates
from pliant.formulations.loops.elimination import NoPivotError, QuadraticForm, Relation, Unknown, is_unit, vanishes
from pliant.formulations.recursive.articulated import hand_over
from pliant.formulations.recursive.recursions import NoInertiaError
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import ZERO3, FactoredRotation, Matrix, Vector, add, as_turn, cross, dot, zeros
from pliant.tree.link import Connection, Handed, absorb, carried_acceleration, gather_force, joint_efforts, motor_force
from pliant.tree.tree import TreeView


class SparseArticulated:
    """The state of one elimination.

    links  every link after ``move_frames``
    cuts   links whose seat on a bending parent is an unknown of its own
    held   links whose joint must stay an unknown until a closure has been used
    given  joint accelerations (about the positive axis) by link: their efforts are sought
    late   coordinates below a link up to which it is handed on before its own coordinates are eliminated
    """

    def __init__(
        self, links: Sequence[TreeView], cuts: Sequence[int], held: set[int], given: Mapping[int, Scalar], late: int
    ) -> None:
        self.links = links
        self.cuts = cuts
        self.held = held
        self.given = given
        self.late = late
        self.form = QuadraticForm()
        self.parents = parents_of(links)
        self.depth: list[int] = []
        for i in range(len(links)):
            self.depth.append(self._coordinates_below(i))
        self.multipliers: list[Unknown] = []
        self._pending: dict[int, list[Unknown]] = {}
        self._efforts: dict[int, list[tuple[dict[Unknown, Scalar], Scalar]]] = {}

    def _coordinates_below(self, i: int) -> int:
        """Coordinates of all links between a link and the base."""
        below = self.parents[i]
        return 0 if below < 0 else self.depth[below] + self.links[below].kind.coordinates

    # ---- names of the unknowns

    @staticmethod
    def body(i: int) -> list[Unknown]:
        """Acceleration of a link's frame: linear, angular, own axes."""
        return [("body", i, k) for k in range(6)]

    def carried(self, i: int) -> list[Unknown]:
        """Acceleration of the frame as its parent carries it: without what the joint adds along its axes."""
        names = self.body(i)
        for k in self.axes(i):
            names[k] = ("carried", i, k)
        return names

    def joints(self, i: int) -> list[Unknown]:
        """Accelerations that a link's joint adds along its axes, own axes."""
        held = self.links[i].kind.held
        return [("joint", i)] if held == 1 else [("joint", i, k) for k in range(held)]

    @staticmethod
    def seat(i: int) -> list[Unknown]:
        """Acceleration of the place where a link is attached, axes of its parent."""
        return [("seat", i, k) for k in range(6)]

    def bending(self, i: int) -> list[Unknown]:
        """Accelerations of a link's elastic coordinates."""
        return [("elastic", i, k) for k in range(self.links[i].kind.size)]

    def columns(self, i: int) -> list[Vector]:
        """Directions in which a link's joint lets it accelerate."""
        view = self.links[i]
        return view.kind.joint.columns(view.link.joint)

    def axes(self, i: int) -> list[int]:
        """The components of a link's acceleration that its joint adds to."""
        columns = self.columns(i)
        return [k for k in range(6) if not all(vanishes(column[k]) for column in columns)]

    # ---- bodies

    def add_bodies(self) -> None:
        """Every body's own form, with the motor, the drive's force and friction on its joint."""
        form = self.form
        for i, view in enumerate(self.links):
            kind, link = view.kind, view.link
            q_e, v_e, f_e = (kind.elastic(x) for x in (view.q, view.v, view.force))
            b, bias = link.body.inertia(q_e, v_e, view.connection.w)
            names, modes = self.body(i), self.bending(i)
            self._scatter(names, modes, b)
            self._push([*names, *modes], [*bias.force, *bias.moment, *bias.elastic])
            self._push(modes, [-x for x in f_e])
            if not kind.is_driven:
                f = joint_efforts(kind, link, view.connection, view.inputs["f"])
                self._push(self.joints(i), [-x for x in f])
                continue
            # motor, spring and friction act on the motor angle theta + b q_e
            drive = motor_force(kind, link, view.q, view.v)
            angle = [(("joint", i), kind.joint.sign), *zip(modes, link.drive.row, strict=True)]
            for a, (x, k) in enumerate(angle):
                form.push(x, k * drive)
                for y, m in angle[a:]:
                    form.add(x, y, link.drive.inertia * k * m)
            form.push(("joint", i), -(kind.joint.sign * view.force[0]))

    def _push(self, names: Sequence[Unknown], values: Sequence[Scalar]) -> None:
        for x, value in zip(names, values, strict=True):
            self.form.push(x, value)

    def _scatter(self, names: Sequence[Unknown], modes: Sequence[Unknown], b: Blocks) -> None:
        """Add the blocks of an inertia to the form."""
        put = self.form.add
        v, w = names[:3], names[3:]
        for a in range(3):
            for d in range(3):
                put(v[a], w[d], b.B[a][d])
                if a <= d:
                    put(v[a], v[d], b.A[a][d])
                    put(w[a], w[d], b.C[a][d])
            for k, mode in enumerate(modes):
                put(v[a], mode, b.E_v[a][k])
                put(w[a], mode, b.E_w[a][k])
        for k, mode in enumerate(modes):
            for g in range(k + 1):
                put(modes[g], mode, b.M_e[g][k])

    # ---- one link

    def take_in(self, i: int) -> None:
        """Eliminate a link's coordinates and hand the rest to what carries it."""
        for child in self.cuts:
            if self.parents[child] == i:
                self._cut(child)
        todo = [*self._pending.pop(i, []), *(x for x in self.bending(i) if self.form.holds(x))]
        if self.axes(i):
            self._joint(i)
            if i not in self.given and i not in self.held:
                todo += self.joints(i) if self.links[i].kind.joint.axes is None else self._totals(i)
        names = self.carried(i)
        if self.parents[i] < 0:
            self._stand_on_base(i, names)
            self.eliminate(todo)
        elif self._is_late(i, names):
            self._hand_over(i, names)
            self._pending.setdefault(self.parents[i], []).extend(todo)
        else:
            self.eliminate(todo)
            self._hand_over(i, names)

    def _is_late(self, i: int, names: Sequence[Unknown]) -> bool:
        """Whether the coordinates below are so few that they replace the frame's acceleration at a profit."""
        active = sum(bool(self.form.rows.get(x)) for x in names)
        return i not in self.cuts and self.depth[i] <= self.late and self.depth[i] < active

    def _totals(self, i: int) -> list[Unknown]:
        """Whole accelerations of a link along the axes of its joint."""
        return [self.body(i)[k] for k in self.links[i].kind.joint.axes or ()]

    def _joint(self, i: int) -> None:
        """The joint's acceleration is the difference along its axes, or given."""
        joints, axes = self.joints(i), self.links[i].kind.joint.axes
        if axes is not None and i not in self.given and i not in self.held:
            rows = zip(joints, self._totals(i), (self.carried(i)[k] for k in axes), strict=True)
            self.form.substitute({joint: Relation({total: 1.0, carried: -1.0}) for joint, total, carried in rows})
            return
        # along each component, what is carried and what the joints add
        parts = {
            (self.body(i)[k], self.carried(i)[k]): {
                joint: column[k]
                for joint, column in zip(joints, self.columns(i), strict=True)
                if not vanishes(column[k])
            }
            for k in self.axes(i)
        }
        if i in self.given:
            (joint,) = joints
            # the effort is what the equations of the joint still lack: its motor's and its link's
            weights = {joint: 1.0, **{total: added[joint] for (total, _), added in parts.items()}}
            self._efforts[i] = [
                ({y: by * x for y, x in self.form.rows.get(name, {}).items()}, by * self.form.linear.get(name, 0.0))
                for name, by in weights.items()
            ]
            known = self.given[i]
            follows = {
                total: Relation({carried: 1.0}, added[joint] * known) for (total, carried), added in parts.items()
            }
            self.form.substitute({joint: Relation({}, known), **follows})
        else:
            # what is sought is the joint's own: a closure decides which unknown it solves for
            self.form.substitute(
                {total: Relation({carried: 1.0, **added}) for (total, carried), added in parts.items()}
            )

    def _stand_on_base(self, i: int, names: Sequence[Unknown]) -> None:
        """A link on the base: only its joint moves it; gravity is an acceleration of the base."""
        view = self.links[i]
        a_v, a_w = carried_acceleration(view.connection, *view.parent_acceleration)
        self.form.substitute({x: Relation({}, value) for x, value in zip(names, [*a_v, *a_w], strict=True)})

    # ---- from a link to what carries it

    def _hand_over(self, i: int, names: Sequence[Unknown]) -> None:
        """Express a link's acceleration by its parent's, or by the seat's where the tree is cut."""
        form, c = self.form, with_turns(self.links[i].connection)
        v, w = names[:3], names[3:]
        A, B, C = form.block(v, v), form.block(v, w), form.block(w, w)
        p_v, p_w = form.forces(v), form.forces(w)
        outside = form.take(names)
        handed = hand_over(c, A, B, C, p_v, p_w)
        levers = {}
        for x, couplings in outside.items():
            c_v, c_w = ([couplings.get(y, 0.0) for y in part] for part in (v, w))
            form.push(x, dot(c_v, c.h_v) + dot(c_w, c.h_w))
            c_v, c_w = c.rotation.apply(c_v), c.rotation.apply(c_w)
            if not all(vanishes(s) for s in c.s):
                c_w = add(c_w, cross(c.s, c_v))
            levers[x] = (c_v, c_w)
        if i in self.cuts:
            self._hand_to_seat(i, names, c, handed, levers)
        else:
            self._hand_to_parent(i, names, c, handed, levers)

    def _hand_to_seat(
        self,
        i: int,
        names: Sequence[Unknown],
        c: Connection,
        handed: Handed,
        levers: Mapping[Unknown, tuple[Vector, Vector]],
    ) -> None:
        seat = self.seat(i)
        empty: Matrix = [[], [], []]
        self._scatter(seat, [], Blocks(handed.A, handed.B, handed.C, empty, empty, []))
        self._push(seat, [*handed.p_v, *handed.p_w])
        for y, (c_v, c_w) in levers.items():
            for x, value in zip(seat, [*c_v, *c_w], strict=True):
                self.form.add(x, y, value)

        def follow(values: Vector) -> Vector:
            s_v, s_w = values[:3], values[3:]
            own = c.rotation.back(add(s_v, cross(s_w, c.s)))
            return add([*own, *c.rotation.back(s_w)], [*c.h_v, *c.h_w])

        self.form.remember(names, seat, follow)

    def _hand_to_parent(
        self,
        i: int,
        names: Sequence[Unknown],
        c: Connection,
        handed: Handed,
        levers: Mapping[Unknown, tuple[Vector, Vector]],
    ) -> None:
        parent = self.parents[i]
        up, modes = self.body(parent), self.bending(parent)
        n = len(modes)
        nothing = Blocks(zeros(3, 3), zeros(3, 3), zeros(3, 3), zeros(3, n), zeros(3, n), zeros(n, n))
        self._scatter(up, modes, absorb(nothing, handed, c.frame))
        for y, (c_v, c_w) in {None: (handed.p_v, handed.p_w), **levers}.items():
            force, moment, generalised = gather_force(ZERO3, ZERO3, [0.0] * n, c_v, c_w, c.frame)
            for x, value in zip([*up, *modes], [*force, *moment, *generalised], strict=True):
                if y is None:
                    self.form.push(x, value)
                else:
                    self.form.couple(x, y, value)

        def follow(values: Vector) -> Vector:
            a_v, a_w = carried_acceleration(c, values[:3], values[3:6], values[6:])
            return [*a_v, *a_w]

        self.form.remember(names, [*up, *modes], follow)

    def _cut(self, i: int) -> None:
        """Replace tip coordinates of the parent by the acceleration of the seat of link i."""
        parent = self.parents[i]
        names = {"body": self.body(parent), "elastic": self.bending(parent)}
        tips = tip_coordinates(self.links[i])
        replaced: dict[Unknown, Relation] = {}
        known: dict[Unknown, Relation] = {}
        for k, row in enumerate(seat_rows(self.links[i])):
            terms = {names[part][index]: value for (part, index), value in row.items()}
            seat = self.seat(i)[k]
            if k in tips:
                tip = names["elastic"][tips[k]]
                sign = terms.pop(tip)
                replaced[tip] = Relation({seat: sign, **{x: -sign * value for x, value in terms.items()}})
            else:
                known[seat] = Relation(terms)
        self.form.substitute(replaced)
        self.form.substitute(known)

    # ---- unknowns

    def eliminate(self, unknowns: Sequence[Unknown]) -> None:
        """Minimise over unknowns in turn; one without inertia must follow from a closure."""
        for x in unknowns:
            if self.form.holds(x):
                try:
                    self.form.eliminate(x)
                except NoPivotError:
                    self._release(x)

    def _release(self, x: Unknown) -> None:
        rows = self.form.rows
        # a coefficient that a state decides may vanish
        free = [
            y for y in self.form.neighbours(x) if y in self.multipliers and y not in rows[y] and is_unit(rows[y][x])
        ]
        if not free:
            self._loose(x)
        self.form.release(x, free[0])
        self.multipliers.remove(free[0])

    def _loose(self, x: Unknown) -> NoReturn:
        """Name the link of an unknown that nothing determines."""
        link = self.links[int(x[1])].name if isinstance(x, tuple) else str(x)
        raise NoInertiaError(
            f"link '{link}': a coordinate of it moves no inertia and no loop holds it, so its acceleration is not "
            "determined; give the link, its payload or its motor some"
        ) from None

    def results(self) -> tuple[Vector, Vector]:
        """Accelerations of all coordinates, and efforts of the given joints."""
        wanted: list[Unknown] = []
        for i in range(len(self.links)):
            wanted += self.joints(i) + self.bending(i)
        needs = [x for equations in self._efforts.values() for row, _ in equations for x in row]
        try:
            values = self.form.solve([*wanted, *needs])
        except NoPivotError as error:
            self._loose(error.args[0])
        efforts: Vector = []
        for i in self.given:
            total: Scalar = 0.0
            for row, force in self._efforts[i]:
                total = total + force + dot(list(row.values()), [values[x] for x in row])
            efforts.append(self.links[i].kind.joint.sign * total)
        out: Vector = []
        for i, view in enumerate(self.links):
            along = [values[x] for x in self.joints(i)]
            out += view.kind.joint.coordinates_of(view.connection.joint, along) + [values[x] for x in self.bending(i)]
        return out, efforts


def with_turns(c: Connection) -> Connection:
    """A connection whose rotation, where it is a turn about one axis, is written as such."""
    if c.rotation.matrix is None or (turn := as_turn(c.rotation.matrix)) is None:
        return c
    return c._replace(rotation=FactoredRotation(None, [turn]))
