"""The terms of a body whose many elastic coordinates all act on each other, as those of a reduced frame or a casting.

They are those of any linear body. What a coordinate k does with all others, N_k = I_re_k + sum_i q_i I_ee_ik and
sum_i lambda_ik q_i, has one structure for all of them: coordinates are stations of the body, and compiled code is a
loop over them instead of a line for each of n^2 numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pliant.algorithm import Role
from pliant.bodies.modal_terms import ModalSection, ModalTerms
from pliant.bodies.terms import Bias, Blocks, FrameTerms
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Matrix, Vector, dot, plus, scale, times, transpose


class DenseColumn(NamedTuple):
    """What a coordinate k has in common with all others i: I_ee_ik (3, 3, n) and lambda_ik (3, n).

    An entry of them for all i is a row of numbers side by side: what is summed over i runs along it.
    """

    I_ee: list[Matrix]
    lam: Matrix


class CoupledColumn(NamedTuple):
    """The same at a state: sum_i q_i I_ee_ik (3, 3), sum_i lambda_ik q_i and 2 sum_i lambda_ik v_i (3,)."""

    N: Matrix
    turned: Vector
    swung: Vector


class DenseTerms(NamedTuple):
    """A linear body without lambda and I_ee, and these column by column.

    known  the columns at the state of which terms are wanted, where they have been found before
    """

    linear: ModalTerms
    stations: Sequence[DenseColumn]
    known: Sequence[CoupledColumn] = ()

    @staticmethod
    def roles() -> dict[str, Role]:
        """Columns have one structure."""
        return {"stations": "alike"}

    @property
    def looped(self) -> bool:
        """That is what it is for."""
        return True

    @property
    def holds_frames(self) -> bool:
        """They move along their shapes, whatever the coordinates do with each other."""
        return False

    @property
    def chained(self) -> bool:
        """Each column is found for itself."""
        return False

    def bend(self, station: DenseColumn, before: None, q_e: Vector, v_e: Vector) -> None:
        """Frames need nothing of the columns."""

    def load(
        self,
        station: DenseColumn,
        here: None,
        every: Sequence[None],
        before: CoupledColumn | None,
        q_e: Vector,
        v_e: Vector,
    ) -> CoupledColumn:
        """A column; those before it do not matter."""
        N = [times(rows, q_e) for rows in station.I_ee]
        return CoupledColumn(N, times(station.lam, q_e), scale(2.0, times(station.lam, v_e)))

    def at(self, stations: list[None], loaded: list[CoupledColumn]) -> DenseTerms:
        """The same terms where everything is wanted at one state."""
        return self._replace(known=loaded)

    def inertia(self, q_e: Vector, v_e: Vector, w: Vector) -> tuple[Blocks, Bias]:
        """Mass blocks and bias."""
        columns = self.known or [self.load(station, None, (), None, q_e, v_e) for station in self.stations]
        body = self.linear
        gradients = [plus(I_re, column.N) for I_re, column in zip(body.I_re, columns, strict=True)]
        E_w = plus(body.beta, transpose([column.turned for column in columns]))
        gyroscopic = [dot(column.swung, w) for column in columns]
        return body.coupled_inertia(gradients, E_w, gyroscopic, q_e, v_e, w)

    def frame(self, section: ModalSection, q_e: Vector, v_e: Vector) -> FrameTerms:
        """Motion of a frame."""
        return self.linear.frame(section, q_e, v_e)

    def energy(self, q_e: Vector) -> Scalar:
        """Of strain."""
        return self.linear.energy(q_e)

    def first_moment(self, q_e: Vector) -> Vector:
        """int r dm of the deformed body."""
        return self.linear.first_moment(q_e)

    def loss(self, v_e: Vector) -> Scalar:
        """Power that structural damping takes."""
        return self.linear.loss(v_e)
