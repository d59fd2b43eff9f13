"""Programs that only exports need: frames as links, parts of results, matrices as one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.algorithm import Algorithm, Carrier, Pass, PassAlgorithm, Step
from pliant.bodies.modal_body import ModalBody
from pliant.engine.call.evaluator import fitting_program
from pliant.engine.trace.program import Address, RolledProgram
from pliant.engine.trace.roller import rolled, whole
from pliant.engine.trace.structure import from_slots
from pliant.engine.trace.tape import Tape, tangents
from pliant.formulations.recursive.recursions import INVERSE
from pliant.joints.fixed import Fixed
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector
from pliant.tree.composite import mass_matrix
from pliant.tree.kinematics import ENERGY, MOTION
from pliant.tree.link import LinkKind
from pliant.tree.lowering import fixed_seat, rigid_link
from pliant.tree.tree import Tree, TreeView

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

MARK = "mark"
"""The array of symbols that nothing reads: their role says which step begins there."""


@dataclass(frozen=True, slots=True)
class FrameKind(LinkKind):
    """A link without inertia and coordinates that marks a frame."""


def with_frames(arm: Dynamics, frames: Sequence[str]) -> Tree:
    """The tree with a massless link at each frame; their constants come after those of the real links."""
    mechanism, links = arm.mechanism, list(arm.tree.links)
    nothing = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
    for name in frames:
        try:
            member, frame = mechanism.frame(name)
        except KeyError:
            known = ", ".join(mechanism.frames)
            raise ValueError(f"robot '{mechanism.name}' has no frame '{name}'; choose from {known}") from None
        parent, seat = arm.tree.frames[f"{mechanism.members[member].name}.{frame}"]
        marked = rigid_link(f"frame {name}", parent, seat, nothing, mechanism.rule, mechanism.size)
        links.append(replace(marked, kind=FrameKind(Fixed(), 0, False)))
    return replace(arm.tree, links=tuple(links))


def with_own_frames(arm: Dynamics, frames: Sequence[str]) -> Tree:
    """The tree with a massless link at each frame, and behind each of them one at the frame B of the link it is on."""
    tree = with_frames(arm, [name for name in frames for _ in range(2)])
    count, links = len(arm.tree.links), list(tree.links)
    for k, name in enumerate(frames):
        member = arm.mechanism.members[arm.mechanism.frame(name)[0]].name
        i, own = next((i, each) for i, each in enumerate(arm.tree.links) if each.name == member)
        seat = fixed_seat(own.p_DB, own.R_DB, own.kind.size, own.rule)
        at = count + 2 * k + 1
        links[at] = replace(links[at], name=f"own frame of {name}", parent=i, seat=seat)
    return replace(tree, links=tuple(links))


# ---- algorithms that only exports need


def _at_rest(each: Pass) -> Pass:
    """A pass of the inverse dynamics with all accelerations zero: they cost nothing."""

    def step(view: TreeView) -> dict[str, Any]:
        return each.step(replace(view, inputs={**view.inputs, "a": [0.0] * view.kind.coordinates}))

    return replace(each, step=step)


def _first(each: Pass, count: int) -> Pass:
    """A pass that gives out only the first results of a link."""

    def step(view: TreeView) -> dict[str, Any]:
        values = each.step(view)
        return {**values, "result": values["result"][:count]}

    return replace(each, step=step)


def _of_frames(start: int, stop: int) -> Step:
    """The part of a frame's (R, p, v, w), nothing for a real link."""
    give = MOTION.passes[-1].step

    def step(view: TreeView) -> dict[str, Any]:
        if not isinstance(view.kind, FrameKind):
            return {"result": []}
        m = give(view)["result"]
        return {"result": (m[9:12] + m[:9] + m[12:])[start:stop]}

    return step


*FOLLOWED, GIVE = MOTION.passes
BIAS = PassAlgorithm("bias", ("q", "v"), tuple(_at_rest(each) for each in INVERSE.passes), INVERSE.output)
ENERGIES = replace(ENERGY, passes=(*ENERGY.passes[:-1], _first(ENERGY.passes[-1], 3)))
POSE = replace(MOTION, name="pose", passes=(*FOLLOWED, replace(GIVE, step=_of_frames(0, 12))))
TWIST = replace(MOTION, name="twist", passes=(*FOLLOWED, replace(GIVE, step=_of_frames(12, 18))))


@dataclass(frozen=True, slots=True)
class Resting(Algorithm):
    """Inverse dynamics at zero accelerations: they cost nothing."""

    inverse: Algorithm = INVERSE

    def evaluate(
        self,
        tree: Any,
        inputs: Mapping[str, Sequence[Any]],
        constants: Sequence[Any] | None = None,
        gravity: Vector | None = None,
    ) -> Vector:
        return self.inverse.evaluate(tree, {**inputs, "a": [0.0] * tree.size}, constants, gravity)


def with_marks(algorithm: Algorithm) -> Algorithm:
    """The algorithm with a mark on the tape before every step."""

    def marked(each: Pass) -> Pass:
        def step(view: TreeView) -> dict[str, Any]:
            traced = [x for vector in view.inputs.values() for x in vector]
            if traced:
                traced[0].tape.symbol(Address(MARK, f"{each.name}: {view.name}", 0))
            return each.step(view)

        return replace(each, step=step)

    return replace(algorithm, passes=tuple(marked(each) for each in algorithm.passes))


def pairs(tree: Tree) -> int:
    """Pairs of a coordinate and a link between it and the base: entries of the mass matrix, by blocks."""
    depth: list[int] = []
    for link in tree.links:
        depth.append(1 + (depth[link.parent] if link.parent >= 0 else 0))
    return sum(link.kind.coordinates * d for link, d in zip(tree.links, depth, strict=True))


def program_of(algorithm: Algorithm, tree: Tree, unroll: bool | None) -> RolledProgram:
    if unroll is None:
        return fitting_program(algorithm, tree)
    return whole(algorithm, tree) if unroll else rolled(algorithm, tree)


def replaced(program: RolledProgram, tape: Tape, outputs: list[Scalar], name: str) -> RolledProgram:
    """A whole program with other outputs."""
    (each,) = program.passes
    kernel = replace(each.kernels[0], tape=tape, outputs=outputs)
    return replace(program, name=name, passes=[replace(each, kernels=[kernel])], outputs=len(outputs))


def summed(program: RolledProgram, parts: int) -> RolledProgram:
    """The sum over the links of a whole program's outputs."""
    (kernel,) = program.passes[0].kernels
    totals: list[Scalar] = [0.0] * parts
    for i, x in enumerate(kernel.outputs):
        totals[i % parts] = totals[i % parts] + x
    return replaced(program, kernel.tape, totals, program.name)


def unit_tangents(algorithm: Algorithm, tree: Carrier, seed: str, name: str) -> RolledProgram:
    """All derivatives by one input, traced at once: what is zero or one in them costs nothing."""
    program = whole(algorithm, tree)
    (kernel,) = program.passes[0].kernels
    tape, n = kernel.tape, tree.size
    columns = [tangents(kernel.outputs, {tape.symbol(Address(seed, "own", j)).index: 1.0}) for j in range(n)]
    return replaced(program, tape, [x for row in zip(*columns) for x in row], name)


def composite_mass(tree: Tree) -> RolledProgram:
    """The mass matrix by composite bodies: a third of the operations of seeded inverse dynamics or less."""
    program = whole(BIAS, tree)
    tape = Tape()
    constants, start = [], 0
    for s in program.patterns:
        symbols = [tape.symbol(Address("constants", "own", start + k)) for k in range(len(s.values))]
        constants.append(from_slots(s.pattern, symbols.__getitem__))
        start += len(symbols)
    q = [tape.symbol(Address("q", "own", k)) for k in range(tree.size)]
    M = mass_matrix(tree, q, constants)
    return replaced(program, tape, [x for row in M for x in row], "mass_matrix")
