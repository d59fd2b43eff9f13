"""Closed loops of a controller with other plants than it was designed for: more modes, other poses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.convergence import refined
from pliant.control.linear_model import LinearModel, linearise
from pliant.control.regulator import Observer, Regulator, observed_model
from pliant.control.state_space import NamedMatrices, ReductionWarning

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.model.description.links import Link

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


ROUNDING = 1e-8
"""Growth of a motion, of its own rate, that is rounding: modes without damping neither grow nor decay."""


class Spillover(NamedTuple):
    """A closed loop with the modes that the design left out.

    poles   1/s, of the robot with finer links and its controller, slowest decay first
    worst   largest real part of them, 1/s: positive where the controller drives a mode that it does not know
    hertz   frequency of that motion
    """

    poles: Complexes
    worst: float
    hertz: float

    @property
    def is_stable(self) -> bool:
        """Whether all motions decay."""
        return self.worst < 0

    def __str__(self) -> str:
        if self.is_stable:
            return (
                f"stable with finer links: the slowest motion decays with {-self.worst:.4g} 1/s ({self.hertz:.4g} Hz)"
            )
        return (
            f"unstable with finer links: with modes that the design leaves out, a motion at {self.hertz:.4g} Hz grows "
            f"with {self.worst:.4g} 1/s; give the links more modes, weigh efforts more, or sample faster"
        )


def closed_loop(plant: NamedMatrices, regulator: Regulator, observer: Observer | None = None) -> Floats:
    """State matrix of a plant with a controller that was designed for another one.

    plant  with the measured outputs of the observer, and with the names of the regulator's states where there is none
    """
    if observer is None:
        K = _spread(regulator.K, regulator.names, plant.names)
        return np.asarray(plant.A - plant.B @ K)
    own = observer.model
    K = _spread(regulator.K, regulator.names, own.names)
    A, B, C, D, L = own.A, own.B, own.C, own.D, observer.L
    if regulator.period is None:
        known = A - B @ K - L @ C + L @ (D - plant.D) @ K
        return np.block([[plant.A, -plant.B @ K], [L @ plant.C, known]])
    # the estimate is corrected, the command follows from it, and both go on by one period
    keep = np.eye(len(A)) - L @ C
    seen = L @ plant.C
    return np.block([[plant.A - plant.B @ K @ seen, -plant.B @ K @ keep], [(A - B @ K) @ seen, (A - B @ K) @ keep]])


def _spread(K: Floats, names: tuple[str, ...], among: tuple[str, ...]) -> Floats:
    """Gains of states by name, among those of a larger model; others have none."""
    out = np.zeros((len(K), len(among)))
    missing = [name for name in names if name not in among]
    if missing:
        raise ValueError(f"the plant has no state '{missing[0]}', which the controller feeds back")
    out[:, [among.index(name) for name in names]] = K
    return out


def loop_rates(matrix: Floats, period: float | None) -> Complexes:
    """Poles in 1/s of a state matrix, continuous or per period, slowest decay first."""
    found = np.linalg.eigvals(matrix).astype(complex)
    if period is not None:
        found = np.log(found[np.abs(found) > 1e-9]) / period
    return np.asarray(found[np.argsort(-found.real)], dtype=np.complex128)


def spillover(
    model: LinearModel, regulator: Regulator, observer: Observer | None = None, *, finer: Dynamics | None = None
) -> Spillover | None:
    """The closed loop of a robot whose links have two more modes (or twice the elements) than the design knows.

    model  what the regulator was designed for
    finer  that robot, ``finer_robot(model.arm)``, where several poses are looked at
    None where states of a finer robot do not mean the same, so that feedback of states has no meaning there: links of
    elements or polynomials, without an observer.
    """
    arm = model.arm
    names = arm.inputs if arm.loops.rows else arm.robot.joint_coordinates
    joints = {name: float(model.q[arm.names.index(name)]) for name in names}
    if observer is None and not all(_keeps_meaning(link) for link in arm.robot.links):
        return None
    richer = linearise(finer or finer_robot(arm), joints, outputs=() if observer is None else observer.outputs)
    plant: NamedMatrices = richer.state_space
    if regulator.period is not None:
        with warnings.catch_warnings():
            # modes beyond what samples can tell are what is asked for
            warnings.simplefilter("ignore", ReductionWarning)
            plant = observed_model(richer, regulator.period, regulator.delay)
    poles = loop_rates(closed_loop(plant, regulator, observer), regulator.period)
    return Spillover(poles, float(poles[0].real), float(abs(poles[0].imag) / (2 * np.pi)))


def finer_robot(arm: Dynamics) -> Dynamics:
    """The robot with two more modes of each link, or twice the elements."""
    from pliant.dynamics import Dynamics

    return Dynamics(refined(arm.robot, 1), compile="never")


def spillover_warnings(
    models: Sequence[LinearModel], regulators: Sequence[Regulator], observers: Sequence[Observer]
) -> Iterator[str]:
    """What to say of controllers at several poses that drive modes which their design leaves out; the worst alone.

    observers  of the poses; empty where states are fed back themselves
    """
    arm = models[0].arm
    finer = finer_robot(arm)
    if finer.size == arm.size:
        return
    known: Sequence[Observer | None] = observers or [None] * len(models)
    worst: Spillover | None = None
    for model, regulator, observer in zip(models, regulators, known, strict=True):
        found = spillover(model, regulator, observer, finer=finer)
        if found is not None and (worst is None or found.worst > worst.worst):
            worst = found
    if worst is not None and worst.worst > ROUNDING * abs(worst.poles[0]):
        yield f"the regulator is {worst}"


def _keeps_meaning(link: Link) -> bool:
    """Whether coordinates of a link stay what they are where it gets more of them."""
    if link.beam is None or not link.is_flexible:
        return True
    modes = link.beam.modes
    return modes is not None and all(family.shape not in ("polynomial", "user") for family in modes.families().values())
