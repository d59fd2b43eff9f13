"""Gear pairs: the ratio of two meshing wheels by teeth or radii, and the force between their teeth.

A gear is a way to write how a joint follows another (``mimic``); the wheel of the joint that follows comes first. Both
joints turn on the same link. Wheels that mesh outside turn in opposite senses, a ring and what runs in it in the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from pydantic import BeforeValidator, Field, StrictBool, model_validator

from pliant.model.element import Array, Element, at, refuse, sequence
from pliant.model.units import POSITIVE, PositiveLength, Quantity

if TYPE_CHECKING:
    from pliant.model.description.joints import Mimic

Teeth = Annotated[float, Quantity("", POSITIVE)]


class Gear(Element):
    """A pair of gear wheels, that of the joint which follows first.

    Pitch radii, or numbers of teeth with their module, also tell the force between the teeth.
    """

    teeth: Annotated[tuple[Teeth, Teeth], BeforeValidator(sequence(2))] | None = Field(
        default=None, description="numbers of teeth: of this joint's wheel, and of the other"
    )
    radii: Annotated[tuple[PositiveLength, PositiveLength], BeforeValidator(sequence(2))] | None = Field(
        default=None, description="pitch radii: of this joint's wheel, and of the other"
    )
    module: PositiveLength | None = Field(default=None, description="pitch diameter of a wheel over its teeth")
    internal: StrictBool = Field(default=False, description="whether one wheel is a ring around the other")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        problems = []
        if (self.teeth is None) == (self.radii is None):
            problems.append(at(message="a gear has either teeth or radii, those of this joint's wheel first"))
        if self.radii is not None and self.module is not None:
            problems.append(at("module", message="radii are given; leave module out"))
        for pair in (self.teeth, self.radii):
            if pair is not None and self.internal and pair[0] == pair[1]:
                problems.append(at("internal", message="a ring is larger than the wheel that runs in it"))
        refuse(problems)
        return self

    @property
    def sizes(self) -> tuple[float, float]:
        """Teeth or radii of this joint's wheel and of the other."""
        pair = self.radii if self.teeth is None else self.teeth
        assert pair is not None
        return pair

    @property
    def ratio(self) -> float:
        """Turn of this joint over that of the other."""
        own, other = self.sizes
        return (1.0 if self.internal else -1.0) * other / own

    @property
    def pitch_radii(self) -> tuple[float, float] | None:
        """Radii at which the wheels roll on each other, m; None where they are not known."""
        if self.radii is not None or self.module is None:
            return self.radii
        own, other = self.sizes
        return 0.5 * self.module * own, 0.5 * self.module * other

    def __str__(self) -> str:
        own, other = self.sizes
        return f"{own:g}:{other:g}{' internal' if self.internal else ''}"


def tooth_force(joint: str, mimics: Mapping[str, Mimic], effort: Callable[[str], Array]) -> Array:
    """Force between the teeth along the pitch circle, N: positive where it turns the joint that follows forward.

    effort  of the tie on a joint that follows. What drives further wheels goes through the same teeth.
    """

    def through(name: str) -> Array:
        behind = (mimic.ratio * through(k) for k, mimic in mimics.items() if mimic.joint == name)
        return np.asarray(sum(behind, start=effort(name)))

    gear = mimics[joint].gear
    assert gear is not None
    assert gear.pitch_radii is not None
    return through(joint) / gear.pitch_radii[0]
