"""Lagrange's equations of a chain of bodies in symbols: bodies and steps between them, their energies, the matrices.

Everything beyond a joint moves, for a rate of that joint, like one rigid body; its mass, first moment and inertia are
collected on the way in, so every rotation enters a product as rarely as possible. What a unit rate of a coordinate
needs as force and moment is then handed down to the base; its scalar products with the motions of the coordinates on
the way are the entries of M, and its force on the base times gravity is G. This is Lin & Lewis (11)-(14), (18), (21)
with the sums over bodies done in another order. D are the Christoffel symbols of M times the velocities, (26), so that
M_dot - 2 D is skew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pliant.formulations.lagrange.algebra.link_inertia import FlexibleInertia, Matrix, RigidInertia, ShortenedInertia
from pliant.formulations.lagrange.algebra.series import (
    Algebra,
    Series,
    Vector,
    add,
    cross,
    inner,
    scaled,
    times,
)
from pliant.formulations.lagrange.algebra.symbols import Names
from pliant.formulations.lagrange.algebra.turning_sections import Map, TurningSection


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
class ChainBody:
    """A body, its place on its parent (an index, or -1 for the base), and the steps from there to its own frame."""

    label: str
    parent: int
    seat: SymbolicSeat | None
    steps: tuple[Step, ...]
    inertia: RigidInertia | FlexibleInertia | ShortenedInertia | None
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


@dataclass(frozen=True, slots=True)
class FollowingJoint:
    """A joint that follows another: the coordinate of its leader, and its rate over the leader's."""

    leader: int
    ratio: Series


def _no_frame(link: str, frame: str) -> ChainBody:
    raise KeyError(f"{link}.{frame}")


@dataclass(slots=True)
class BodyChain:
    """The bodies of a robot, parents first, and all that acts between them."""

    names: Names
    gravity: list[Series]
    bodies: list[ChainBody] = field(default_factory=list)
    drives: list[SymbolicDrive] = field(default_factory=list)
    stiffness: list[tuple[tuple[int, ...], Matrix]] = field(default_factory=list)
    damping: list[tuple[tuple[int, ...], Matrix]] = field(default_factory=list)
    followers: dict[int, FollowingJoint] = field(default_factory=dict)
    frame: Callable[[str, str], ChainBody] = field(default=_no_frame, repr=False)
    """A frame of a link as a body without mass: its place on the link and the steps to it."""
    frame_names: tuple[str, ...] = ()

    def along_leader(self, motion: int, x: Series) -> tuple[int, Series]:
        """The coordinate that moves along a motion, and what it feels of a force or momentum x along the motion."""
        found = self.followers.get(motion)
        return (found.leader, x * found.ratio) if found else (motion, x)


# ---- the kinetic energy as a quadratic form, from the tips inwards


@dataclass(frozen=True, slots=True)
class Composite:
    """A body with all that hangs on it, as if rigid: mass, first moment and inertia about the origin of a frame."""

    m: Series
    s: list[Series]
    I: Matrix  # noqa: E741


@dataclass(frozen=True, slots=True)
class Column:
    """Force and moment about a frame's origin that a unit rate of a coordinate carries as momentum."""

    coordinate: int
    f: list[Series]
    n: list[Series]


@dataclass(frozen=True, slots=True)
class Momenta:
    """What the kinetic energy of a chain leaves.

    M        by pairs of coordinates, both orders the same, one of them present
    columns  of all coordinates, at the base
    first    moment of all masses about the base's origin, in its axes
    """

    M: dict[tuple[int, int], Series]
    columns: list[Column]
    first: list[Series]


def kinetic_energy(chain: BodyChain, report: Callable[[float, str], None]) -> Momenta:
    """The quadratic form of the kinetic energy of a chain."""
    return _Collector(chain).collect(report)


class _Collector:
    def __init__(self, chain: BodyChain) -> None:
        self.chain = chain
        self.algebra: Algebra = chain.names.algebra
        self.M: dict[tuple[int, int], Series] = {}
        self.zero = self.algebra.number(0.0)

    def collect(self, report: Callable[[float, str], None]) -> Momenta:
        bodies = self.chain.bodies
        waiting: list[list[tuple[SymbolicSeat, Composite, list[Column]]]] = [[] for _ in bodies]
        at_base: list[Column] = []
        first = [self.zero] * 3
        for i in reversed(range(len(bodies))):
            body = bodies[i]
            report((len(bodies) - i - 1) / len(bodies), f"kinetic energy of {body.label}")
            composite, columns = self._whole(body, waiting[i])
            composite, columns = self._inwards(body, composite, columns)
            if body.parent < 0 or body.seat is None:
                at_base += columns
                first = add(first, composite.s)
            else:
                waiting[body.parent].append((body.seat, composite, columns))
        return Momenta(self.M, at_base, first)

    def _set(self, a: int, b: int, value: Series) -> None:
        key = (a, b) if a <= b else (b, a)
        known = self.M.get(key)
        self.M[key] = value if known is None else known + value

    # ---- a body with its children

    def _whole(
        self, body: ChainBody, children: Sequence[tuple[SymbolicSeat, Composite, list[Column]]]
    ) -> tuple[Composite, list[Column]]:
        composite, own = self._alone(body)
        columns: list[Column] = []
        for seat, carried, handed in children:
            carried, own = self._carried(body, seat, carried, own)
            composite = _sum(composite, carried)
            columns += [self._handed(body, seat, column) for column in handed]
        return composite, [*columns, *own]

    def _alone(self, body: ChainBody) -> tuple[Composite, list[Column]]:
        """The body itself in its own frame, with the columns of its elastic coordinates."""
        inertia = body.inertia
        if inertia is None:
            none = [self.zero] * 3
            return Composite(self.zero, none, [none] * 3), [Column(q, none, none) for q in body.elastic]
        if isinstance(inertia, RigidInertia):
            at_centre = Composite(inertia.mass, [self.zero] * 3, inertia.inertia)
            return _shifted(at_centre, inertia.centre), []
        q = [self.algebra.monomial(i) for i in body.elastic]
        if isinstance(inertia, FlexibleInertia):
            return self._flexible(body, inertia, q, [])
        back = [times(form, q) for form in inertia.forms]
        return self._flexible(body, inertia.linear, [*q, *(inner(row, q) * 0.5 for row in back)], back)

    def _flexible(
        self, body: ChainBody, b: FlexibleInertia, q: Vector, back: Sequence[Vector]
    ) -> tuple[Composite, list[Column]]:
        """Deformed: s = first + first_modal q, E_w = beta + lam q, I = I_rr + 2 I_re q + I_ee q q.

        ``back``: the derivatives by the first n of the further modes, which depend on them.
        """
        algebra, one = self.algebra, self.algebra.number(1.0)
        size = len(q)
        s = [algebra.dot([(b.first[d], one), *zip(b.first_modal[d], q, strict=True)]) for d in range(3)]
        pairs = [(i, k, q[i] * q[k]) for i in range(size) for k in range(size)]
        I = [  # noqa: E741
            [
                algebra.dot(
                    [(b.I_rr[x][y], one)]
                    + [(b.I_re[k][x][y] * 2.0, q[k]) for k in range(size) if b.I_re[k][x][y]]
                    + [(b.I_ee[i][k][x][y], qq) for i, k, qq in pairs if b.I_ee[i][k][x][y]]
                )
                for y in range(3)
            ]
            for x in range(3)
        ]
        E_w = [
            [algebra.dot([(b.beta[d][k], one), *((b.lam[i][k][d], q[i]) for i in range(size))]) for k in range(size)]
            for d in range(3)
        ]
        f, moment, half = (_pulled(rows, back) for rows in (b.first_modal, E_w, b.M_ee))
        M = _pulled([list(column) for column in zip(*half, strict=True)], back)
        columns = []
        for k, coordinate in enumerate(body.elastic):
            columns.append(Column(coordinate, [row[k] for row in f], [row[k] for row in moment]))
            for i in range(k + 1):
                self._set(body.elastic[i], coordinate, M[i][k])
        return Composite(b.mass, s, I), columns

    def _carried(
        self, body: ChainBody, seat: SymbolicSeat, c: Composite, own: list[Column]
    ) -> tuple[Composite, list[Column]]:
        """A child's inertia at its seat: what the elastic coordinates of the body do to it; then about its origin."""
        before, after = _rates(seat)
        out = seat.section.out if seat.section is not None else None
        turned = c if out is None else self._reduced(_turned(c, out))
        new = []
        for k, column in enumerate(own):
            d, w = seat.shapes[k], before[k]
            # momentum of the child for a unit rate: moved by d, turned by w about the seat
            spin = times(c.I, after[k])
            f = add(scaled(d, c.m), cross(w, turned.s))
            lever = cross(turned.s, d)
            for i in range(k + 1):
                value = inner(seat.shapes[i], f) + inner(before[i], lever) + inner(after[i], spin)
                self._set(own[i].coordinate, column.coordinate, value)
            n = add(lever, spin if out is None else out(spin))
            new.append(Column(column.coordinate, add(column.f, f), add(column.n, n, cross(seat.r, f))))
        return _shifted(turned, seat.r), new

    def _handed(self, body: ChainBody, seat: SymbolicSeat, column: Column) -> Column:
        """A column of a child, felt by the elastic coordinates of the body, then about the body's origin."""
        _, after = _rates(seat)
        out = seat.section.out if seat.section is not None else None
        f = column.f if out is None else out(column.f)
        for k, q in enumerate(body.elastic):
            self._set(q, column.coordinate, inner(seat.shapes[k], f) + inner(after[k], column.n))
        n = column.n if out is None else out(column.n)
        return Column(column.coordinate, f, add(n, cross(seat.r, f)))

    # ---- through the joint

    def _inwards(self, body: ChainBody, c: Composite, columns: list[Column]) -> tuple[Composite, list[Column]]:
        """From the body's frame back to its seat; a joint adds its own column on the way."""
        for step in reversed(body.steps):
            match step:
                case Shift(offset):
                    c, columns = _shifted(c, offset), [_shifted_column(x, offset) for x in columns]
                case SymbolicTurn(out):
                    c, columns = _turned(c, out), [_turned_column(x, out) for x in columns]
                case Hinge(coordinate, axis, out):
                    columns = self._with(Column(coordinate, cross(axis, c.s), times(c.I, axis)), columns, axis, "n")
                    c, columns = _turned(c, out), [_turned_column(x, out) for x in columns]
                case Slide(coordinate, axis):
                    columns = self._with(Column(coordinate, scaled(axis, c.m), cross(c.s, axis)), columns, axis, "f")
                    offset = scaled(axis, self.algebra.monomial(coordinate))
                    c, columns = _shifted(c, offset), [_shifted_column(x, offset) for x in columns]
        return self._reduced(c), columns

    def _with(self, own: Column, columns: list[Column], axis: Vector, part: str) -> list[Column]:
        everything = [*columns, own]
        for column in everything:
            self._set(own.coordinate, column.coordinate, inner(axis, getattr(column, part)))
        return everything

    def _reduced(self, c: Composite) -> Composite:
        if not self.algebra.rules:
            return c
        return Composite(c.m, [x.reduced() for x in c.s], [[x.reduced() for x in row] for row in c.I])


def _pulled(rows: Sequence[Vector], back: Sequence[Vector]) -> Matrix:
    """Rows over all modes as rows over those that the others depend on."""
    out = []
    for row in rows:
        own, further = row[: len(row) - len(back)], row[len(row) - len(back) :]
        out.append(
            [x + x.algebra.dot((y, g[k]) for y, g in zip(further, back, strict=True)) for k, x in enumerate(own)]
        )
    return out


def _rates(seat: SymbolicSeat) -> tuple[list[list[Series]], list[list[Series]]]:
    if seat.section is not None:
        return seat.section.before, seat.section.after
    none = [[x * 0.0 for x in shape] for shape in seat.shapes]
    return none, none


def _sum(a: Composite, b: Composite) -> Composite:
    return Composite(a.m + b.m, add(a.s, b.s), [add(x, y) for x, y in zip(a.I, b.I, strict=True)])


def _turned(c: Composite, out: Map) -> Composite:
    """R s and R I R^T."""
    half = [out(column) for column in zip(*c.I, strict=True)]
    rows = [out(row) for row in zip(*half, strict=True)]
    return Composite(c.m, out(c.s), rows)


def _shifted(c: Composite, r: Vector) -> Composite:
    """About the origin of a frame in which the old origin is at r."""
    if not any(r):
        return c
    algebra = c.m.algebra
    mr = scaled(r, c.m)
    double = add(c.s, c.s, mr)
    # 2 s . r + m r . r on the diagonal; minus (s r^T + r s^T + m r r^T)
    radial = inner(double, r)
    I = [  # noqa: E741
        [
            algebra.total(
                [c.I[x][y], *([radial] if x == y else [])]
                + [(-1.0, c.s[x] * r[y]), (-1.0, r[x] * c.s[y]), (-1.0, mr[x] * r[y])]
            )
            for y in range(3)
        ]
        for x in range(3)
    ]
    return Composite(c.m, add(c.s, mr), I)


def _turned_column(column: Column, out: Map) -> Column:
    return Column(column.coordinate, out(column.f), out(column.n))


def _shifted_column(column: Column, r: Vector) -> Column:
    return Column(column.coordinate, column.f, add(column.n, cross(r, column.f)))
