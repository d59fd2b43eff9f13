"""Kinds of bodies: the key of a link in files, and the words of its body.

A kind of body of the package has its key in ``model.links.Link``, its words in a module of this folder and its line in
``KINDS``. ``register`` adds both at run time, for a kind that lives elsewhere. Bodies that are known by their frames
alone are here: massless connectors, rigid bodies, modal data from elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pliant.bodies.beam_words import BeamWords
from pliant.bodies.build import kept
from pliant.bodies.carried import CarriedMass, frame_pose, rigid_mass
from pliant.bodies.foreshortening import Foreshortening, modal_shortening
from pliant.bodies.modal_body import Attachment, ModalBody
from pliant.bodies.stress_data import StressData
from pliant.bodies.words import BodyWords, LinkMode, words_of
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pliant.model.description.inertia import Rigid
    from pliant.model.description.links import Link
    from pliant.model.description.modal import ModalData
    from pliant.model.description.robot import Robot
    from pliant.model.element import Element


class ConnectorWords(BodyWords):
    """A link without a body."""

    def constants(self) -> ModalBody:
        return ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)), self.rigid_frames())

    def rest(self) -> CarriedMass:
        return CarriedMass(np.zeros((4, 4)))

    def summary(self) -> str:
        return "connector"


class RigidWords(BodyWords):
    """A rigid body."""

    @property
    def rigid(self) -> Rigid:
        assert self.link.rigid is not None
        return self.link.rigid

    def constants(self) -> ModalBody:
        def made() -> ModalBody:
            given = self.rigid
            return ModalBody.rigid(given.mass, given.com_vector(), given.inertia_matrix(), self.rigid_frames())

        return kept(self.rigid, "plain", self.link.frames, make=made)

    def rest(self) -> CarriedMass:
        return rigid_mass(self.rigid)

    def summary(self) -> str:
        return "rigid"


class ModalWords(BodyWords):
    """A body given by modal data, which bends linearly unless it brings its geometric constants."""

    has_bending_key: ClassVar[bool] = True
    cures: ClassVar[Mapping[str, str]] = {
        "linear": "give Gamma_first and Gamma_second with the modal data, or describe the link as a beam",
        "second-order": "describe the link as a beam with bending: exact",
    }

    @property
    def modal(self) -> ModalData:
        assert self.link.modal is not None
        return self.link.modal

    def constants(self) -> ModalBody:
        return kept(self.modal, "plain", self.link.frames, make=self._made)

    def _made(self) -> ModalBody:
        link, modal = self.link, self.modal
        frames = {
            name: Attachment(*frame_pose(link, name), *modal.frame_shapes(name)) for name in link.frame_names
        }  # fmt: skip
        arrays = {key: modal.array(key) for key in modal.shapes()}
        body = ModalBody.from_integrals(names=modal.names, mass=modal.mass, frames=frames, **arrays)
        return replace(body, large=modal_shortening(body, modal)) if modal.shortens else body

    def rest(self) -> CarriedMass:
        return CarriedMass.from_inertia(self.modal.mass, self.modal.array("first"), self.modal.array("I_rr"))

    def summary(self) -> str:
        words = f"modal data, {self.modal.size} modes"
        if not self.modal.shortens:
            return f"{words}, linear bending"
        large = self.constants().large
        if not isinstance(large, Foreshortening) or not large.left_out:
            return words
        return f"{words}, without {large.left_out} weak of {len(large.fields.forms) + large.left_out} shortening fields"

    def frames_drawn(self) -> Sequence[str]:
        """Frames to which bars lead even if nothing hangs on them: the data say how they move."""
        return [*self.modal.frames]

    @property
    def bending(self) -> str:
        """How far it may bend: linear, or second-order where the data know it."""
        return "second-order" if self.modal.shortens else "linear"

    @property
    def shortens_by_data(self) -> bool | None:
        """Whether its data know that a bent axis becomes shorter."""
        return bool(self.modal.Gamma_first)

    @property
    def bends_linearly_by_choice(self) -> bool:
        """Whether its data know more than it shall do."""
        return bool(self.modal.Gamma_first) and self.modal.bending == "linear"

    def with_bending(self, bending: str) -> Link:
        return self.link.with_changes(modal=self.modal.with_changes(bending=bending))

    @property
    def stress_data(self) -> StressData | None:
        """Stresses at its nodes, where they are beside its data."""
        file = self.modal.stress
        return None if file is None else kept(self.modal, "stress", make=lambda: self._stresses(file))

    def _stresses(self, file: str) -> StressData:
        data = StressData.load(file)
        if data.size != self.modal.size:
            self.refuse(
                f"stress data '{file}' are of {data.size} elastic coordinates; its modal data have {self.modal.size}"
            )
        for name in data.frames:
            if name not in self.modal.frames:
                self.refuse(f"stress data '{file}' have loads on frame '{name}', which its modal data do not have")
        return data

    @property
    def has_axial_limits(self) -> bool:
        """Forces along its axis change its stiffness more than the data know."""
        return True


KINDS: dict[str | None, type[BodyWords]] = {
    None: ConnectorWords,
    "rigid": RigidWords,
    "beam": BeamWords,
    "modal": ModalWords,
}
"""The words of every kind of body by the key of its description; ``fe`` and ``cad`` links are ``modal`` once read."""


def register(key: str, description: type[Element], words: type[BodyWords], meaning: str) -> None:
    """Add a kind of body: links may have it under a key, in files and in Python, and all rooms ask its words."""
    from pliant.model.description.links import add_body_key

    add_body_key(key, description, meaning)
    KINDS[key] = words


def unregister(key: str) -> None:
    """Undo ``register``."""
    from pliant.model.description.links import remove_body_key

    remove_body_key(key)
    del KINDS[key]


# a table and a picture of the same robot ask for the same links
@once_per_element
def vibrations_of(robot: Robot, name: str) -> tuple[LinkMode, ...]:
    """The natural vibrations of a link of a robot, held as its shapes hold it."""
    return words_of(robot.link(name), robot).vibrations()
