"""Kinds of bodies: the key of a link in files, and the words of its body.

A kind of body of the package has its key in ``model.links.Link``, its words in a module of this folder and its line in
``KINDS``. ``register`` adds both at run time, for a kind that lives elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.bodies.beam_words import BeamWords
from pliant.bodies.plain_words import ConnectorWords, ModalWords, RigidWords
from pliant.bodies.words import BodyWords, LinkMode, words_of
from pliant.model.once import once_per_element

if TYPE_CHECKING:
    from pliant.model.description.robot import Robot
    from pliant.model.element import Element

KINDS: dict[str | None, type[BodyWords]] = {
    None: ConnectorWords,
    "rigid": RigidWords,
    "beam": BeamWords,
    "modal": ModalWords,
}
"""The words of every kind of body by the key of its description; links of ``fe`` files are ``modal`` once read."""


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
