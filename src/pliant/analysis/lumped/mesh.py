"""Links as nodes: the first partition gives stiffness and damping, the second a rigid body at every node.

A node has displacements (x, y, z) and turns (x, y, z) in link axes. Families of a beam that are switched off are rigid:
their components follow the root node. A rigid link is one node at its root.

A frame between two nodes moves as the shapes of its element do, and what it carries acts on both: it is a place without
displacements of its own. Were it a node, frames would decide about the elements, down to slivers that have no digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pliant.analysis.lumped.node_equations import NodeBodies, block_diagonal, tilde
from pliant.bodies.build import build_body
from pliant.bodies.carried import frame_pose
from pliant.bodies.elements import BendingElements, RodElements, element_nodes, elements_between, too_short
from pliant.bodies.families import FAMILIES
from pliant.bodies.profile import BeamProfile, SectionData
from pliant.bodies.words import words_of
from pliant.errors import ModelError

if TYPE_CHECKING:
    from pliant.bodies.modal_body import ModalBody
    from pliant.model.description.links import Link
    from pliant.model.description.robot import Robot

Floats = NDArray[np.float64]

DEFAULT_ELEMENTS = 8
"""Elements of a beam whose description says modes."""
SAME_PLACE = 1e-9
"""Part of the length within which a frame sits on a node."""
MOST_RATIO_NODES = 400
"""Damping by a ratio of every mode is a full matrix: only for links with no more nodes."""

COMPONENTS = ("dx", "dy", "dz", "rx", "ry", "rz")
"""Displacements and turns of a node."""

_GAUSS = np.polynomial.legendre.leggauss(5)


@dataclass(frozen=True, slots=True)
class FramePlace:
    """A frame that is fixed to a node or place: its position (3,) and rotation (3, 3) in the undeformed link."""

    node: int
    p: Floats
    R: Floats


class NodedLink(Protocol):
    """What the robot needs to know of a link: places that move with its root and with displacements of its own.

    bodies   places and rigid bodies there
    frames   where joints, payloads and closures sit
    bending  linear; or second-order: internal forces stiffen it
    """

    @property
    def name(self) -> str: ...
    @property
    def bodies(self) -> NodeBodies: ...
    @property
    def frames(self) -> Mapping[str, FramePlace]: ...
    @property
    def bending(self) -> str: ...
    @property
    def nodes(self) -> int:
        """Number of nodes, the root included."""
        ...

    @property
    def places(self) -> int:
        """Number of nodes and of places between them, or of frames."""
        ...

    @property
    def own(self) -> int:
        """Number of displacements that are the link's own."""
        ...

    @property
    def words(self) -> Sequence[str]:
        """Names of the own displacements, without that of the link."""
        ...

    def from_root(self, place: int) -> Floats:
        """Displacement of a place by that of the root, own displacements held (6, 6)."""
        ...

    def by_own(self, place: int) -> tuple[list[int], Floats]:
        """Which own displacements move a place, and its displacement by them (6, k)."""
        ...

    def carried(self) -> csr_array:
        """Displacements (6 places) of the rigid link by that of its root (6)."""
        ...

    def spread(self) -> csr_array:
        """All displacements (6 places) by those of the root and the own ones (6 + own)."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class ElementPlace:
    """A place between two nodes.

    element  the node at its left
    shapes   (6, 12) active components of its displacement by those of the nodes at its left and right
    """

    element: int
    shapes: Floats


@dataclass(frozen=True, eq=False, slots=True)
class LinkMesh:
    """A link of n nodes, counted from its root; behind them come the places of frames between the nodes.

    bodies   second partition, with hub and payloads, at nodes and places
    pieces   second partition of the beam alone
    K0, D0   stiffness and damping (6 places, 6 places), link axes, sparse
    active   (6,) components of a node that bend or stretch; the others follow the root
    frames   where joints, payloads and closures sit
    between  places behind the nodes
    bending  linear; or second-order: a bent beam becomes shorter
    """

    name: str
    bodies: NodeBodies
    pieces: NodeBodies
    K0: csr_array
    D0: csr_array
    active: NDArray[np.bool_]
    frames: Mapping[str, FramePlace]
    between: tuple[ElementPlace, ...] = ()
    bending: str = "linear"

    @property
    def places(self) -> int:
        """Number of nodes, the root included, and of places between them."""
        return len(self.bodies.m)

    @property
    def nodes(self) -> int:
        """Number of nodes, the root included."""
        return self.places - len(self.between)

    @property
    def own(self) -> int:
        """Number of displacements that are the link's own: active components of all nodes but the root."""
        return (self.nodes - 1) * int(self.active.sum())

    @property
    def words(self) -> list[str]:
        """Names of the own displacements: NODE.dx to NODE.rz."""
        components = [COMPONENTS[c] for c in np.flatnonzero(self.active)]
        return [f"{node}.{word}" for node in range(1, self.nodes) for word in components]

    def from_root(self, place: int) -> Floats:
        """Displacement of a node or place by that of the root, own components held (6, 6)."""
        out = np.eye(6)
        if not place:
            return out
        out[:3, 3:] = -tilde(self.bodies.x[place])
        out[self.active] = 0.0
        if place >= self.nodes and not self.between[place - self.nodes].element:
            out += self.between[place - self.nodes].shapes[:, :6]
        return out

    def own_at(self, node: int) -> dict[int, int]:
        """Component -> place among the own displacements, at a node."""
        components = np.flatnonzero(self.active)
        return {int(c): (node - 1) * len(components) + k for k, c in enumerate(components)} if node else {}

    def by_own(self, place: int) -> tuple[list[int], Floats]:
        """Which own displacements move a node or place, and its displacement by them (6, k)."""
        if place < self.nodes:
            own = self.own_at(place)
            return list(own.values()), np.eye(6)[:, list(own)]
        which: list[int] = []
        columns: list[Floats] = []
        held = self.between[place - self.nodes]
        for shift, node in ((0, held.element), (6, held.element + 1)):
            own = self.own_at(node)
            which += own.values()
            columns += [held.shapes[:, shift + component] for component in own]
        return which, np.column_stack(columns)

    def carried(self) -> csr_array:
        """Displacements (6 places) of the rigid link by that of its root (6)."""
        whole = np.tile(np.eye(6), (self.places, 1, 1))
        whole[:, :3, 3:] = -tilde(self.bodies.x)
        return csr_array(whole.reshape(-1, 6))

    def spread(self) -> csr_array:
        """All displacements (6 places) by those of the root and the own ones (6 + own)."""
        rows, columns, values = [], [], []
        for place in range(self.places):
            which, own = self.by_own(place)
            P = np.hstack([self.from_root(place), own])
            r, c = np.nonzero(P)
            at = np.append(np.arange(6), 6 + np.array(which, dtype=int))
            rows.append(6 * place + r)
            columns.append(at[c])
            values.append(P[r, c])
        entries = (np.concatenate(rows), np.concatenate(columns))
        return csr_array((np.concatenate(values), entries), shape=(6 * self.places, 6 + self.own))


def mesh_link(link: Link, robot: Robot, elements: int | None = None) -> LinkMesh:
    """The nodes of a link; ``elements`` replaces the number in its description."""
    if not link.is_flexible:
        return _rigid(link, build_body(link, robot))
    given = words_of(link, robot).elements()
    assert given is not None, "links without nodes are reduced links"
    profile, families = given.profile, given.families
    nodes = np.array(element_nodes(profile, elements or given.number or DEFAULT_ELEMENTS))
    if any(FAMILIES[name].bends for name in families) and (problem := too_short(tuple(nodes))):
        raise ModelError(f"link '{link.name}': {problem}")
    extra = _beside(link, nodes, profile.length)
    x = np.concatenate([nodes, extra])
    timoshenko = given.timoshenko
    pieces = _with_places(second_partition(profile, nodes, sections=given.sections_turn), extra)
    bodies = _with_parts(pieces, link, x)
    frames = {name: _place(link, name, x) for name in link.frame_names}
    active = np.zeros(6, dtype=bool)
    for family in families:
        active[list(FAMILIES[family].components)] = True
    K0 = first_partition(profile, nodes, families, timoshenko=timoshenko)
    K0.resize((6 * len(x), 6 * len(x)))
    between = _between(profile, nodes, extra, families, timoshenko=timoshenko)
    bare = LinkMesh(link.name, bodies, pieces, K0, csr_array(K0.shape), active, frames, between, given.bending)
    return replace(bare, D0=_damping(link, robot, bare))


def _beside(link: Link, nodes: Floats, length: float) -> Floats:
    """Where frames sit that are on no node, in order."""
    places: list[float] = []
    for at in sorted(float(frame.x or 0.0) for frame in link.frames):
        if min(abs(at - other) for other in (*nodes, *places)) > SAME_PLACE * length:
            places.append(at)
    return np.array(places)


def _with_places(bodies: NodeBodies, extra: Floats) -> NodeBodies:
    """The bodies of the nodes, and none at places behind them."""
    k = len(extra)
    places = np.zeros((k, 3))
    places[:, 0] = extra
    none = np.zeros((k, 3, 3))
    return NodeBodies(
        np.vstack([bodies.x, places]), np.append(bodies.m, np.zeros(k)), np.vstack([bodies.G, 0 * places]),
        np.concatenate([bodies.I, none]),
    )  # fmt: skip


def _between(
    profile: BeamProfile, nodes: Floats, extra: Floats, families: tuple[str, ...], *, timoshenko: bool
) -> tuple[ElementPlace, ...]:
    """How places between the nodes move with them, by the shapes of the elements."""
    shapes = np.zeros((len(extra), 6, 12))
    element = np.zeros(len(extra), dtype=int)
    for family in families if len(extra) else ():
        components, signs = FAMILIES[family].components, _signs(family)
        element, local = elements_between(family, profile, tuple(nodes), timoshenko=timoshenko).local(extra)
        ends = [shift + c for shift in (0, 6) for c in components]
        for component, sign in zip(components, signs, strict=False):
            rows = local.rotation if component > 2 else local.value
            shapes[:, component, ends] = sign * rows.T * signs
    return tuple(ElementPlace(int(e), T) for e, T in zip(element, shapes, strict=True))


def _place(link: Link, name: str, x: Floats) -> FramePlace:
    station = link.frame(name).x
    return FramePlace(int(np.argmin(np.abs(x - float(station or 0.0)))), *frame_pose(link, name))


def _rigid(link: Link, body: ModalBody) -> LinkMesh:
    G = body.first / body.mass if body.mass else np.zeros(3)
    one = NodeBodies(np.zeros((1, 3)), np.array([body.mass]), G[None], body.I_rr[None])
    frames = {name: FramePlace(0, *frame_pose(link, name)) for name in link.frame_names}
    empty = csr_array((6, 6))
    return LinkMesh(
        link.name, _with_parts(one, link, np.zeros(1)), one, empty, empty, np.zeros(6, dtype=bool), frames
    )  # fmt: skip


def _with_parts(bodies: NodeBodies, link: Link, x: Floats) -> NodeBodies:
    """The bodies of the nodes with hub and payloads."""
    m, first, I = bodies.m.copy(), bodies.m[:, None] * bodies.G, bodies.I.copy()  # noqa: E741
    hub = [("root", link.hub)] if link.hub is not None else []
    for name, part in (*hub, *((p.frame or "tip", p) for p in link.payloads)):
        p, R = frame_pose(link, name)
        node = _place(link, name, x).node if len(x) > 1 else 0
        c = p + R @ part.com_vector() - bodies.x[node]
        m[node] += part.mass
        first[node] += part.mass * c
        I[node] += R @ part.inertia_matrix() @ R.T - part.mass * tilde(c) @ tilde(c)
    G = np.divide(first, m[:, None], out=np.zeros_like(first), where=m[:, None] > 0)
    return NodeBodies(bodies.x, m, G, I)


# ---------------------------------------------------------------- partitions


def _pieces(profile: BeamProfile, ends: Floats) -> tuple[NDArray[np.intp], Floats, Floats, SectionData]:
    """Interval, place, weight and section of Gauss points that integrate over intervals between ``ends``."""
    breaks = np.unique(np.concatenate([ends, profile.breaks]))
    # rounding must not leave slivers
    breaks = breaks[np.concatenate([[True], np.diff(breaks) > SAME_PLACE * profile.length])]
    breaks[-1] = profile.length
    half = np.diff(breaks) / 2
    middle = breaks[:-1] + half
    x = (middle[:, None] + half[:, None] * _GAUSS[0]).ravel()
    weights = (half[:, None] * _GAUSS[1]).ravel()
    interval = np.clip(np.searchsorted(ends, x, side="right") - 1, 0, len(ends) - 2)
    return interval, x, weights, profile.at(x)


def second_partition(profile: BeamProfile, x: Floats, *, sections: bool) -> NodeBodies:
    """Rigid bodies cut half-way between the nodes; ``sections`` counts the inertia of the cross-sections."""
    cuts = np.concatenate([[0.0], (x[:-1] + x[1:]) / 2, [profile.length]])
    node, at, weights, data = _pieces(profile, cuts)
    arm, mass = at - x[node], weights * data.rhoA

    def collect(values: Floats) -> Floats:
        return np.asarray(np.bincount(node, values, minlength=len(x)), dtype=float)

    m, first, second = collect(mass), collect(mass * arm), collect(mass * arm**2)
    I = np.zeros((len(x), 3, 3))  # noqa: E741
    I[:, 1, 1] = I[:, 2, 2] = second
    if sections:
        for axis, density in enumerate((data.polar, data.rhoIy, data.rhoIz)):
            I[:, axis, axis] += collect(weights * density)
    G = np.zeros((len(x), 3))
    G[:, 0] = np.divide(first, m, out=np.zeros_like(first), where=m > 0)
    places = np.zeros((len(x), 3))
    places[:, 0] = x
    return NodeBodies(places, m, G, I)


def first_partition(profile: BeamProfile, x: Floats, families: tuple[str, ...], *, timoshenko: bool) -> csr_array:
    """Stiffness (6 n, 6 n) of the elements between the nodes, families that are switched off left out."""
    rows, columns, values = [], [], []
    for family in families:
        local = _element_stiffness(profile, x, elements_between(family, profile, tuple(x), timoshenko=timoshenko))
        components = FAMILIES[family].components
        first = 6 * np.arange(len(x) - 1)
        places = np.column_stack([first + shift + c for shift in (0, 6) for c in components])
        rows.append(np.repeat(places, places.shape[1], axis=1).ravel())
        columns.append(np.tile(places, (1, places.shape[1])).ravel())
        values.append(local.ravel())
    shape = (6 * len(x), 6 * len(x))
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def _element_stiffness(profile: BeamProfile, x: Floats, elements: BendingElements | RodElements) -> Floats:
    """Stiffness matrices (elements, k, k) of one family, by the strains of the exact static shapes."""
    _, at, weights, data = _pieces(profile, x)
    element, shapes = elements.local(at)
    family = FAMILIES[elements.family]
    K = _integrate(element, weights * getattr(data, family.stiffness), shapes.strain, len(x) - 1)
    if isinstance(elements, BendingElements) and any(elements.shear_parameters):
        K = K + _integrate(element, weights * getattr(data, str(family.shear)), shapes.shear, len(x) - 1)
    return K * np.outer(_signs(elements.family), _signs(elements.family))


def _signs(family: str) -> Floats:
    """Coordinates of an element's two ends, which are slopes, by components of nodes, which are turns."""
    turn = FAMILIES[family].rotation
    # a positive slope dz/dx is a negative turn about y
    return np.array([1.0, turn[1]] * 2 if FAMILIES[family].bends and turn is not None else [1.0, 1.0])


def _integrate(element: NDArray[np.intp], weights: Floats, strain: Floats, number: int) -> Floats:
    out = np.zeros((number, len(strain), len(strain)))
    np.add.at(out, element, np.einsum("p,ip,jp->pij", weights, strain, strain))
    return out


def _damping(link: Link, robot: Robot, mesh: LinkMesh) -> csr_array:
    """Damping of the deformation alone: what the link does as a whole meets no resistance.

    A ratio belongs to the vibrations of the link with all that it carries, its joints held.
    """
    own = words_of(link).damping
    given = own or robot.damping
    size = mesh.K0.shape[0]
    if given is None:
        return csr_array((size, size))
    b = given.rayleigh.stiffness if given.rayleigh is not None else 0.0
    D = csr_array(b * mesh.K0)
    a = given.rayleigh.mass if given.rayleigh is not None else 0.0
    if not a and not given.ratio:
        return D
    # own displacements relative to a held root
    spread = mesh.spread()[:, 6:]
    M = csr_array(spread.T @ block_diagonal(mesh.pieces.mass_matrices()) @ spread)
    if a:
        inner = a * M
    else:
        from pliant.bodies.build import modal_damping
        from pliant.bodies.carried import load_mass, mounted

        if own is None:
            raise ModelError(
                f"robot '{robot.name}': a damping ratio of the whole robot couples the nodes of all links, which the "
                "method lumped_fe keeps apart; give damping to the links, or use the method recursive"
            )
        if mesh.nodes > MOST_RATIO_NODES:
            raise ModelError(
                f"link '{mesh.name}': damping by a ratio couples all of its {mesh.nodes} nodes; beyond "
                f"{MOST_RATIO_NODES} nodes give damping: {{rayleigh: {{stiffness: seconds}}}}"
            )
        K = (spread.T @ mesh.K0 @ spread).toarray()
        loaded = M.toarray()
        for name, load in mounted(link, robot).items():
            node = mesh.frames[name].node
            J = spread[6 * node : 6 * node + 6].toarray()
            loaded += load_mass(load, mesh.bodies.x[node], J[:3], J[3:])
        inner = csr_array(modal_damping(loaded, K, given.ratio or 0.0))
    deformation = _deformation(mesh)
    return csr_array(D + deformation.T @ inner @ deformation)


def _deformation(mesh: LinkMesh) -> csr_array:
    """Own displacements relative to what the root carries along (own, 6 places)."""
    own = [6 * node + component for node in range(1, mesh.nodes) for component in mesh.own_at(node)]
    pick = csr_array((np.ones(len(own)), (np.arange(len(own)), own)), shape=(mesh.own, 6 * mesh.places))
    root = csr_array((np.ones(6), (np.arange(6), np.arange(6))), shape=(6, 6 * mesh.places))
    return csr_array(pick - (mesh.carried() @ root)[own])
