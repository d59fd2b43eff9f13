"""The equations in blocks of rigid and elastic coordinates, in the order of Lin & Lewis: q = {q_R, q_F}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pliant.bodies.families import family_of

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations


@dataclass(frozen=True)
class Partition:
    """M, D, U, F, G and B of rigid (R) and elastic (F) coordinates, as SymPy matrices.

    order  places of the coordinates in q: the rigid ones from the base on, then the elastic ones link by link, within a
           link by direction (u in the paper's x, then v in its z) and mode
    """

    order: tuple[int, ...]
    rigid: tuple[str, ...]
    elastic: tuple[str, ...]
    M_RR: Any
    M_RF: Any
    M_FF: Any
    D_RR: Any
    D_RF: Any
    D_FR: Any
    D_FF: Any
    U_RR: Any
    U_RF: Any
    U_FF: Any
    F_RR: Any
    F_RF: Any
    F_FF: Any
    G_R: Any
    G_F: Any
    B_R: Any
    B_F: Any

    @property
    def M(self) -> Any:
        """The whole inertia matrix in this order."""
        import sympy

        return sympy.Matrix.vstack(self.M_RR.row_join(self.M_RF), self.M_RF.T.row_join(self.M_FF)).as_immutable()


def partition(eq: Equations) -> Partition:
    """The blocks of some equations."""
    import sympy

    rigid = [i for i, c in enumerate(eq.coordinates) if not c.elastic]
    elastic = [i for i, c in enumerate(eq.coordinates) if c.elastic]
    first = {_link(eq, i): i for i in reversed(elastic)}
    elastic.sort(key=lambda i: (first[_link(eq, i)], _direction(eq.coordinates[i].robot_name), i))
    groups = {"R": rigid, "F": elastic}

    def block(matrix: Any, rows: list[int], columns: list[int]) -> Any:
        return sympy.ImmutableMatrix(len(rows), len(columns), [matrix[i, k] for i in rows for k in columns])

    blocks = {
        f"{letter}_{a}{b}": block(getattr(eq, letter), rows, columns)
        for letter in "MDUF"
        for a, rows in groups.items()
        for b, columns in groups.items()
        if letter == "D" or a + b != "FR"
    }
    columns = {"G": [0], "B": list(range(len(eq.inputs)))}
    blocks |= {f"{x}_{a}": block(getattr(eq, x), rows, columns[x]) for x in "GB" for a, rows in groups.items()}
    named = {name: tuple(eq.coordinates[i].robot_name for i in own) for name, own in groups.items()}
    return Partition((*rigid, *elastic), named["R"], named["F"], **blocks)


def _link(eq: Equations, i: int) -> str:
    """The link of an elastic coordinate LINK.FAMILY.k."""
    return eq.coordinates[i].robot_name.rsplit(".", 2)[0]


def _direction(robot_name: str) -> int:
    """The paper's x, z, y are our z, y, x; twist comes last."""
    family = family_of(robot_name.rsplit(".", 2)[-2])
    return 1 if family is None or family.value is None else -family.value
