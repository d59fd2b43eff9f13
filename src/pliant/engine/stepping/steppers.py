"""Integrators by name, one line each: what studies, the choice of a method and warnings need to know of them."""

from __future__ import annotations

from typing import NamedTuple


class Stepper(NamedTuple):
    """What is known of an integrator before it is made.

    order     with which its error falls
    words     what it is for
    implicit  solves equations in every step
    fixed     takes equal steps
    lanes     steps of several runs may be taken together
    erases    damps what is faster than its steps, also what grows
    finer     of methods that carry the errors of their steps along: exponent of the tolerance by which these errors
              fall; zero: it does not
    """

    name: str
    order: int
    words: str
    implicit: bool = False
    fixed: bool = False
    lanes: bool = False
    erases: bool = False
    finer: float = 0.0


STEPPERS = {
    each.name: each
    for each in (
        Stepper("dop853", 8, "explicit, for all that is not stiff", lanes=True),
        Stepper("gauss", 32, "collocation, for vibrations that last", implicit=True),
        Stepper("esdirk", 4, "implicit, for stiff models to many digits", implicit=True, erases=True, finer=1.0),
        Stepper("generalised-alpha", 2, "implicit, for stiff models", implicit=True, erases=True, finer=1.5),
        Stepper("rk4", 4, "explicit, equal steps", fixed=True),
        Stepper("semi-implicit", 1, "explicit, equal steps that keep the energy of vibrations", fixed=True),
    )
}
"""Name -> integrator."""
