"""Lagrange's equations in closed form as a method, for robots for which they are short enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pliant.algorithm import Traced
from pliant.errors import ModelError
from pliant.formulations.lagrange.carrier import FORWARD, INVERSE, FormCarrier
from pliant.formulations.lagrange.traced import forms_of
from pliant.formulations.method import Method, Refusal

if TYPE_CHECKING:
    from pliant.mechanism import Mechanism


class LagrangeMethod(Method):
    """Both dynamics from M(q), its derivatives and G(q), term by term; exact for the model."""

    name = "lagrange"

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.carrier = FormCarrier(forms_of(mechanism))

    @classmethod
    def limits(cls, mechanism: Mechanism) -> Refusal | None:
        """Robots without closed forms, and those whose closed forms are too long."""
        try:
            forms_of(mechanism)
        except ModelError as error:
            return Refusal(str(error))
        return None

    def dynamics(self, what: Literal["forward", "inverse"]) -> Traced:
        """(q, v, f) -> accelerations, or (q, v, a) -> generalised forces."""
        return Traced(FORWARD if what == "forward" else INVERSE, self.carrier)
