"""The matrices of the paper to look at, with labels: of a node, (4), of a link, (7) and (9), of the robot, (18)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.mesh import COMPONENTS, LinkMesh, NodedLink
from pliant.analysis.lumped.node_equations import Floats, Matrices, Variant, node_terms, printed_matrices
from pliant.analysis.lumped.nominal_motion import JointMotion, LinkMotion
from pliant.errors import ModelError, did_you_mean

MOST_ROWS = 60
"""Rows of a matrix that is printed."""
FORCES = ("fx", "fy", "fz", "mx", "my", "mz")
SMALL = 1e-12
"""Part of the largest entry below which an entry is rounding."""


@dataclass(frozen=True, eq=False, slots=True)
class LabelledMatrix:
    """A matrix of the method.

    symbol   as in the paper, such as ``C_N(w)``
    words    what it is, with the number of its equation
    values   (rows, columns); a vector is a column
    rows     names of the rows: forces and moments, or the displacements that they act on
    columns  names of the displacements, or none of a vector
    """

    symbol: str
    words: str
    values: Floats
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The matrix as a table; what is rounding is left empty."""
        yield f"{self.symbol}  {self.words}"
        if len(self.rows) > MOST_ROWS:
            yield f"  {len(self.rows)} rows, {np.count_nonzero(self.values)} entries: too many to print"
            return
        values = self.values.reshape(len(self.rows), -1)
        floor = SMALL * np.abs(values).max(initial=0.0)
        cells = [[f"{x:.4g}" if abs(x) > floor else "." for x in row] for row in values]
        heads = self.columns or ("",) * values.shape[1]
        widths = [max(len(head), *(len(row[k]) for row in cells)) for k, head in enumerate(heads)]
        first = max(len(name) for name in self.rows)
        if self.columns:
            yield "  ".join([" " * first, *(head.rjust(w) for head, w in zip(heads, widths, strict=True))])
        for name, row in zip(self.rows, cells, strict=True):
            yield "  ".join([name.ljust(first), *(cell.rjust(w) for cell, w in zip(row, widths, strict=True))])


def labelled_matrices(
    model: LumpedModel, of: str, motion: JointMotion | None = None, *, variant: Variant | None = None
) -> tuple[LabelledMatrix, ...]:
    """The matrices of a node (``LINK.NUMBER``), of a link (``LINK``) or of the robot (``robot``) at one instant.

    model    of the robot
    of       what they belong to
    motion   nominal motion of all joints, of which the first instant counts; default: at rest in the reference pose
    variant  of the node equations; default: that of the model. "printed" are (4.2) and (4.3) letter by letter
    """
    motion = model.at_rest() if motion is None else motion
    first = JointMotion(*(x[:1] for x in motion))
    if of == "robot":
        return _of_robot(model, first)
    links = model.skeleton.motion(first)
    name, _, number = of.rpartition(".")
    if name in model.robot.link_names and number.isdecimal():
        i = model.robot.link_names.index(name)
        return _of_node(model.meshes[i], int(number), links[i], variant or model.variant)
    if of not in model.robot.link_names:
        known = ("robot", *model.robot.link_names)
        raise ModelError(
            f"there are no matrices of '{of}'{did_you_mean(of, known)}; there are those of {', '.join(known)}"
        )
    return _of_link(model, model.robot.link_names.index(of), links)


def _of_node(mesh: NodedLink, node: int, motion: LinkMotion, variant: Variant) -> tuple[LabelledMatrix, ...]:
    if not isinstance(mesh, LinkMesh):
        raise ModelError(f"link '{mesh.name}' is known by its own coordinates and has no nodes; ask for '{mesh.name}'")
    if node >= mesh.nodes:
        raise ModelError(f"link '{mesh.name}' has no node {node}; its nodes are 0 (the root) to {mesh.nodes - 1}")
    C, K, F = node_terms(mesh.bodies, motion.w[0], motion.w_dot[0], motion.a[0], variant)
    if variant == "printed":
        C, K = printed_matrices(mesh.bodies, motion.w[0], motion.w_dot[0])
    M = mesh.bodies.mass_matrices()
    parts = (
        ("M_N", "nodal mass matrix (4.1)", M[node]),
        ("C_N(w)", "nodal dynamic damping matrix (4.2)", C[node]),
        ("K_N(w)", "nodal dynamic stiffness matrix (4.3)", K[node]),
    )
    told = {"complete": "", "absolute": ", bodies that do not turn", "printed": ", as printed: gamma is absolute"}[
        variant
    ]
    out = [LabelledMatrix(symbol, f"{words}{told}", values, FORCES, COMPONENTS) for symbol, words, values in parts]
    wrench = LabelledMatrix("F_N", "M mu_ddot + F_C(w): wrench of the nominal motion", F[node], FORCES, ())
    return (*out, wrench)


def _of_link(model: LumpedModel, i: int, links: list[LinkMotion]) -> tuple[LabelledMatrix, ...]:
    mesh, constants = model.meshes[i], model.links[i]
    names = (*(f"root.{word}" for word in COMPONENTS), *mesh.words)
    moving = constants.sparse_at(links[i], 0)
    parts = (
        ("M_j", "mass matrix (7.1)", constants.M),
        ("K_0", "stiffness of the first partition (9)", constants.K),
        ("C_0", "damping (9)", constants.D),
        ("C_j(w)", "dynamic damping matrix (7.2)", moving.C - constants.D),
        ("K_j(w)", "dynamic stiffness matrix (7.3)", moving.K - constants.K),
    )
    out = [LabelledMatrix(symbol, words, values.toarray(), names, names) for symbol, words, values in parts]
    return (*out, LabelledMatrix("f_j", "forces that the nominal motion needs", moving.f, names, ()))


def _of_robot(model: LumpedModel, motion: JointMotion) -> tuple[LabelledMatrix, ...]:
    found = model.equations_at(model.assemble(motion), 0)
    M, C, K, f = Matrices(*(x if isinstance(x, np.ndarray) else x.toarray() for x in found))
    parts = (("M_c", "mass matrix (18)", M), ("C_c(w)", "damping matrix", C), ("K_c(w)", "stiffness matrix", K))
    out = [LabelledMatrix(symbol, words, values, model.names, model.names) for symbol, words, values in parts]
    return (*out, LabelledMatrix("f_c", "M_c mu_ddot + F_C(w): what the nominal motion needs", f, model.names, ()))
