"""The words of a body: everything that other rooms want to know of a link beyond the terms of its dynamics.

Drawings, tables, warnings, closed forms and node models take their numbers and texts from here, whatever the kind of
body is. The defaults are those of a body that is known by its frames alone, as a rigid one or modal data. A kind of
body is a subclass in a module of this folder, and its line in ``kinds.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, ClassVar, NamedTuple, NoReturn, Protocol

import numpy as np

from pliant.bodies.families import BeamFamily, family_of
from pliant.bodies.modal_body import Array, Attachment, ModalBody
from pliant.errors import ModelError, Problem

if TYPE_CHECKING:
    from pliant.bodies.carried import CarriedMass
    from pliant.bodies.profile import BeamProfile
    from pliant.bodies.section_forces import SectionForces
    from pliant.bodies.sections_along import AxialShapes, Station
    from pliant.bodies.shapes import Shape
    from pliant.bodies.stress_data import StressData
    from pliant.model.description.discretisation import Damping
    from pliant.model.description.links import BodyDescription, Link
    from pliant.model.description.robot import Robot
    from pliant.model.sections.section_shapes import Rings

Pose = tuple[Array, Array]
"""Position (3,) and axes (3, 3)."""

TIP = 1e-9
"""Part of the length within which a frame at the end of an axis sits on the section of the tip."""
FORCES = {"m": "N", "rad": "N m", "1/m": "N m^2", "rad/m": "N m^2", "": "N m"}
"""Unit of the force that works on a coordinate, by the unit of the coordinate."""


# ---------------------------------------------------------------- what words are made of


class CoordinateWord(NamedTuple):
    """What a coordinate is.

    unit
    word    for a reader
    strain  whether it is a strain of its link
    """

    unit: str
    word: str
    strain: bool = False

    @property
    def force(self) -> str:
        """Unit of the force that works on it."""
        return FORCES[self.unit]


@dataclass(frozen=True, slots=True)
class LinkMode:
    """One natural vibration of a single link.

    name       the coordinate of the same number, such as bend_y.1
    family     bend_y, bend_z, torsion, axial, shear_y, shear_z, or mode for modal data
    number     1 for the lowest of its family
    frequency  Hz
    x          stations along the link, m; empty where the body has no axis
    shape      displacement or angle at the stations, of any size
    support    how root and tip are held
    aside      axis of the link along which a bent axis moves; None where the axis does not bend
    """

    name: str
    family: str
    number: int
    frequency: float
    x: Array
    shape: Array
    support: str
    aside: int | None = None

    @property
    def rate(self) -> float:
        """The frequency in rad/s."""
        return 2 * pi * self.frequency


class BentAxis(Protocol):
    """The sections of a body at stations along its axis, for any elastic coordinates q_e (..., n), in its frame B."""

    def line(self, q_e: Array) -> Array:
        """Points (..., stations, 3) of the axis."""
        ...

    def axes(self, q_e: Array) -> Array:
        """Axes (..., stations, 3, 3) of the sections, as columns."""
        ...

    def strains(self, q_e: Array) -> Array:
        """u', u_y'' and u_z'' (..., stations, 3): a fibre at (y, z) is stretched by u' - y u_y'' - z u_z''."""
        ...


class OutlinePiece(Protocol):
    """A piece of a body along its axis, with its outline.

    length   m
    modulus  E, Pa; None where it is not known
    strength  at which the material yields, Pa; None where it is not known
    tapers   whether the outline changes along it
    """

    @property
    def length(self) -> float: ...
    @property
    def modulus(self) -> float | None: ...
    @property
    def strength(self) -> float | None: ...
    @property
    def tapers(self) -> bool: ...
    def rings(self, fraction: float) -> Rings:
        """The outline at a fraction of the length."""
        ...

    def has_outline(self) -> bool:
        """Whether the outline is known, not only constants of the section."""
        ...

    def outermost_strain(self, fraction: float, strains: Array) -> Array:
        """The largest |u' - y u_y'' - z u_z''| (...) of a section with an outline, from u', u_y'', u_z'' (..., 3)."""
        ...


class TableRow(NamedTuple):
    """A row of a table of ``pliant show``, which has a row for every link of the kind.

    title, columns  of the table: what the links are called, then two words and any numbers
    text            first cell: parts of text, and numbers that are written as all tables do
    numbers         further cells; None: not known
    note            a line below the table, once
    """

    title: str
    columns: tuple[str, ...]
    text: tuple[str | float, ...]
    numbers: tuple[float | None, ...]
    note: str = ""


class AxisElements(NamedTuple):
    """What a model with nodes along an axis needs.

    profile         sections along the axis
    families        names of the families that move the nodes
    number          of elements; None where the description says none
    timoshenko      whether elements are shear-flexible
    sections_turn   whether the inertia of the sections counts
    bending         linear, second-order or exact
    """

    profile: BeamProfile
    families: tuple[str, ...]
    number: int | None
    timoshenko: bool
    sections_turn: bool
    bending: str


class ClosedShape(NamedTuple):
    """A shape along a uniform body: the name of its family, its function, the user's text or function, and its norm.

    loaded  the shape belongs to a load on the tip
    """

    family: str
    shape: Shape
    given: object
    normalise: str | None
    loaded: bool = False


# ---------------------------------------------------------------- the contract


class BodyWords(ABC):
    """A link's body in words; ``robot`` is needed where the link refers to it, as to materials by name."""

    has_bending_key: ClassVar[bool] = False
    """Whether the description chooses between linear, second-order and exact bending."""
    cures: ClassVar[Mapping[str, str]] = {
        "linear": "describe the link as a beam",
        "second-order": "describe the link as a beam with bending: exact",
    }
    """What to do where linear or second-order bending is left."""
    cure_prefix: ClassVar[str] = "a beam with "
    """Before `bending: exact` in a remedy."""
    knows_sections: ClassVar[bool] = False
    """Whether it knows what loads do in its sections: ``section_forces``."""

    def __init__(self, link: Link, robot: Robot | None = None) -> None:
        self.link, self.robot = link, robot

    @property
    def has_axis(self) -> bool:
        """Whether it is drawn along its axis: sections at places x, which carry its frames."""
        return self.link.has_axis

    @property
    def description(self) -> BodyDescription:
        """The body as described."""
        assert self.link.body is not None
        return self.link.body

    def refuse(self, message: str) -> NoReturn:
        """Raise ModelError about the link."""
        names = self.robot.link_names if self.robot is not None else ()
        place = f"links[{names.index(self.link.name)}] '" if self.link.name in names else "link '"
        raise ModelError(Problem(f"{place}{self.link.name}'", message))

    def _without_axis(self, what: str) -> NoReturn:
        """Refuse what only a body with an axis has."""
        self.refuse(
            f"its body ({self.link.body_key}) has no axis, and so no {what}; ask a beam, or a frame of this link"
        )

    # ---- constants of the dynamics

    @abstractmethod
    def constants(self) -> ModalBody:
        """The body by itself, without hub and payloads."""

    def rest(self) -> CarriedMass:
        """The undeformed body as a rigid mass in the link frame; asked for before shapes that depend on loads."""
        from pliant.bodies.carried import CarriedMass

        body = self.constants()
        return CarriedMass.from_inertia(body.mass, body.first, body.I_rr)

    def frame_pose(self, name: str) -> Pose:
        """A frame in the undeformed link: on the section at its x, where the body has an axis."""
        frame = self.link.frame(name)
        if frame.x is None:
            return frame.vector(), frame.matrix()
        p, R = self.link.section_pose(frame.x)
        if not self.is_curved:
            return p + frame.vector(), frame.matrix()
        return p + R @ frame.vector(), R @ frame.matrix()

    def is_on_tip(self, frame: str) -> bool:
        """Whether a frame sits on the section of the tip."""
        if not self.has_axis:
            return frame == "tip"
        x = self.link.frame(frame).x
        return x is not None and abs(x - self.link.length) <= TIP * self.link.length

    def rigid_frames(self) -> dict[str, Attachment]:
        """All frames of the link, moved by no elastic coordinate."""
        from pliant.bodies.carried import frame_pose

        none = np.zeros((3, 0)), np.zeros((3, 0))
        return {name: Attachment(*frame_pose(self.link, name), *none) for name in self.link.frame_names}

    # ---- tables

    @abstractmethod
    def summary(self) -> str:
        """What kind of body it is, for a table of links."""

    def table_row(self) -> TableRow | None:
        """Its row in a table of its kind; None where there is no such table."""
        return None

    def centre(self) -> tuple[float, Array]:
        """Mass and first moment (3,) of the undeformed body."""
        body = self.constants()
        return body.mass, body.first

    # ---- coordinates

    @property
    def families(self) -> tuple[BeamFamily, ...]:
        """The families of its elastic coordinates, where it bends as a beam."""
        return ()

    def coordinate(self, name: str) -> CoordinateWord:
        """Unit and word of an elastic coordinate by its name in the body."""
        family = family_of(name)
        return CoordinateWord("m" if family is None else family.unit, "elastic coordinate")

    def vibrations(self) -> tuple[LinkMode, ...]:
        """All natural vibrations that its coordinates can describe, family by family, lowest first."""
        from scipy.linalg import eigh

        body, none = self.constants(), np.zeros(0)
        squares = np.maximum(eigh(body.K_ee, body.straight_mass)[0], 0.0) if body.size else none
        return tuple(
            LinkMode(body.names[k], "mode", k + 1, float(np.sqrt(square)) / (2 * pi), none, none, "as given")
            for k, square in enumerate(squares)
        )

    def largest_motions(self, length: float) -> Array | None:
        """Largest displacement over a length, or turn, inside it per unit of its elastic coordinates (n,).

        None: that of its ends is all that is known.
        """
        return None

    def is_damped(self, body: ModalBody) -> bool:
        """Whether it has damping of its own, so that a ratio of the whole robot does not count."""
        return bool(body.D_ee.any())

    @property
    def damping(self) -> Damping | None:
        """The damping that its description gives."""
        return None

    # ---- outline

    @property
    def is_curved(self) -> bool:
        """Whether its axis is curved or twisted before any load acts."""
        return False

    def pieces(self) -> Sequence[OutlinePiece]:
        """The pieces along its axis with their outlines; none: bars lead from its root to its frames."""
        return ()

    def frames_drawn(self) -> Sequence[str]:
        """Frames to which bars lead even if nothing hangs on them."""
        return ()

    def bent(self, x: Array) -> BentAxis:
        """Its sections at stations x (stations,), where it has an axis."""
        self._without_axis("sections along it")

    def section_forces(self, x: Array) -> SectionForces:
        """What loads do in its sections at stations x (stations,), where it has an axis."""
        self._without_axis("sections along it")

    def stations(self) -> list[Station] | None:
        """Places along it with mass and motion, for procedures that go section by section; None: it has none."""
        from pliant.bodies.sections_along import rigid_station

        body = self.constants()
        return None if body.size else [rigid_station(body)] if body.mass else []

    def station(self, x: float) -> Station:
        """The section at x, without mass, where it has an axis."""
        self._without_axis(f"section at x = {x:g} m")

    # ---- limits of the model

    @property
    def bending(self) -> str:
        """How far it may bend: linear, second-order or exact."""
        return "linear"

    @property
    def bends_linearly_by_choice(self) -> bool:
        """Whether its description chooses linear bending, which knows no buckling."""
        return self.has_bending_key and self.bending == "linear"

    def overlooks_lateral_buckling(self, bent: Collection[str]) -> bool:
        """Whether it may leave sideways, which its model does not know, under loads that bend it in these families."""
        return False

    @property
    def stress_data(self) -> StressData | None:
        """Stresses at the nodes of a body of any shape; None where they are not known."""
        return None

    @property
    def shortens_by_data(self) -> bool | None:
        """Whether its data know that a bent axis becomes shorter; None where no data tell it."""
        return None

    @property
    def has_axial_limits(self) -> bool:
        """Whether its bending knows forces along its axis not at all, or not to the end."""
        return False

    def axial_shapes(self, body: ModalBody) -> AxialShapes:
        """What the force along its axis acts on; ``body`` stands in a mechanism, with hub and payloads."""
        from pliant.bodies.sections_along import shapes_of_frames

        return shapes_of_frames(body)

    def limits(self, body: ModalBody, q_e: Array, when: Callable[[int], str]) -> Iterator[str]:
        """What else is beyond its model at that of some states (states, n) where it is worst, in words."""
        yield from ()

    # ---- other models of the same body

    def missing_families(self, *, all_of_them: bool = False) -> tuple[str, ...]:
        """Families without coordinates although what the robot does needs them, or all that the body could have."""
        return ()

    def with_families(self, names: Sequence[str]) -> Link:
        """The link with some families added."""
        return self.link

    def family_remedy(self, name: str) -> str:
        """How a description gets a family."""
        return f"add {name}"

    def shape_remedy(self) -> str:
        """What makes its shapes bend as far as they should."""
        return "take more modes"

    def refined(self, level: int) -> Link:
        """The link with finer shapes; the same where there are none."""
        return self.link

    def with_bending(self, bending: str) -> Link:
        """The link with another kind of bending, where its description chooses it."""
        return self.link

    def elements(self) -> AxisElements | None:
        """Nodes along its axis; None where it cannot be made of nodes."""
        return None

    # ---- closed forms

    @property
    def is_uniform(self) -> bool:
        """Whether its sections are the same all along."""
        return False

    def no_closed_form(self) -> tuple[str, str] | None:
        """What has no closed form in the equations of motion, and what to write instead."""
        return None

    def closed_shapes(self) -> list[ClosedShape] | str:
        """Its shapes, where the integrals over a uniform body have closed forms; or what it is instead."""
        return "modal data"

    def assumed_shapes(self) -> list[tuple[str, Shape]]:
        """Family and function of each assumed shape, in the order of its coordinates."""
        return []

    def section_constant(self, name: str) -> float:
        """A constant of the sections of a uniform body."""
        self._without_axis(f"constant {name} of its sections")

    @property
    def sections_turn(self) -> bool:
        """Whether the inertia of its sections counts beside that of its axis."""
        return False


def words_of(link: Link, robot: Robot | None = None) -> BodyWords:
    """The words of a link's body."""
    # kinds know the builders, which ask for the words of other links
    from pliant.bodies.body_kinds import KINDS

    return KINDS[link.body_key](link, robot)


def stiffens_by_load(link: Link) -> bool:
    """Whether the stiffness of a link depends on its load, by choice of its description."""
    words = words_of(link)
    return words.has_bending_key and link.is_flexible and words.bending != "linear"


def elastic_words(link: Link, names: tuple[str, ...]) -> tuple[CoordinateWord, ...]:
    """Units and words of the elastic coordinates of a link, by their names in its body."""
    words = words_of(link)
    return tuple(words.coordinate(name) for name in names)


def link_modes(link: Link, robot: Robot) -> tuple[LinkMode, ...]:
    """All natural vibrations that the coordinates of a robot's link can describe, family by family, lowest first."""
    from pliant.bodies.body_kinds import vibrations_of

    return vibrations_of(robot, link.name)


def number_word(count: int, word: str) -> str:
    """``1 element``, ``2 elements``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def centre_line(link: Link, robot: Robot, q_e: Array, x: Array) -> Array:
    """Points (..., stations, 3) of a body's axis at stations x (stations,) for elastic coordinates (..., n), in B."""
    return words_of(link, robot).bent(x).line(q_e)


def axial_strain(link: Link, robot: Robot, place: tuple[float, float, float], q_e: Array) -> Array:
    """u' - y u_y'' - z u_z'' (...) at a place (x, y, z) of a body with an axis."""
    x, y, z = place
    return strain_at(link, robot, x, (1.0, -y, -z), q_e)


def strain_at(link: Link, robot: Robot, x: float, weights: tuple[float, float, float], q_e: Array) -> Array:
    """A weighted sum (...) of u', u_y'' and u_z'' at a place x of a body with an axis: linear in q_e (..., n)."""
    return np.asarray(words_of(link, robot).bent(np.array([x])).strains(q_e)[..., 0, :] @ weights)
