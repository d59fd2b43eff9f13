"""The closed forms as the engine takes them: what carries their constants, and algorithms that evaluate them.

The engine knows a carrier, a thing with constants, and algorithms that evaluate it on any scalars. For the recursion
the carrier is a tree of links; here it is one single part that stands for the whole robot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from pliant.algorithm import Algorithm, LinkView
from pliant.formulations.lagrange.traced import ClosedForms, FormConstants, FormPose
from pliant.spatial.vectors import Vector

if TYPE_CHECKING:
    from pliant.bodies.modal_body import Array


class FormKind(NamedTuple):
    """What decides the code besides the pattern of the constants."""

    coordinates: int
    digest: str


@dataclass(frozen=True, eq=False)
class FormPart:
    """The only part of a carrier: all coordinates and all constants."""

    name: str
    kind: FormKind
    constants: FormConstants
    parent: int = -1
    start: int = 0

    @property
    def numbers(self) -> FormConstants:
        """The constants, which hold no nested lists."""
        return self.constants


@dataclass(frozen=True, eq=False)
class FormCarrier:
    """The closed forms of a robot with the numbers of one robot."""

    forms: ClosedForms

    view: ClassVar[type[LinkView]] = LinkView

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.forms.size

    @cached_property
    def gravity(self) -> Array:
        """m/s^2 (3,)"""
        return np.array(self.forms.gravity)

    @cached_property
    def links(self) -> tuple[FormPart, ...]:
        """The whole robot as one part."""
        forms = self.forms
        return (FormPart(forms.robot, FormKind(forms.size, forms.layout.digest()), forms.constants()),)

    @property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The part has none."""
        return ((),)


Evaluation = Callable[[FormPose, Mapping[str, Sequence[Any]]], Vector]
"""A result at a pose, from inputs by name."""


@dataclass(frozen=True, slots=True)
class FormAlgorithm(Algorithm):
    """An algorithm over closed forms, traced as a whole."""

    step: Evaluation = lambda pose, inputs: []

    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        """The result on whatever scalars inputs, constants and gravity hold."""
        forms: ClosedForms = tree.forms
        (own,) = [part.constants for part in tree.links] if constants is None else constants
        acting = forms.gravity if gravity is None else gravity
        return self.step(FormPose(forms.layout, inputs["q"], own, acting, forms.coordinates), inputs)


def _algorithm(
    name: str, inputs: str, step: Callable[[FormPose, Mapping[str, Sequence[Any]]], Vector]
) -> FormAlgorithm:
    return FormAlgorithm(f"lagrange_{name}", tuple(inputs), (), "", step)


FORWARD = _algorithm("forward", "qvf", lambda pose, x: pose.forward(x["v"], x["f"]))
"""(q, v, generalised forces) -> accelerations"""

INVERSE = _algorithm("inverse", "qva", lambda pose, x: pose.inverse(x["v"], x["a"]))
"""(q, v, a) -> generalised forces"""

MASS = _algorithm("mass", "q", lambda pose, x: [entry for row in pose.mass_matrix() for entry in row])
"""q -> M, row by row"""

BIAS = _algorithm("bias", "qv", lambda pose, x: pose.bias(x["v"]))
"""(q, v) -> all forces but M a"""

ENERGY = _algorithm("energy", "qv", lambda pose, x: list(pose.energies(x["v"])))
"""(q, v) -> kinetic, elastic and gravity's energy"""
