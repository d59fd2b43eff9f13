"""Programs that only exports need: frames as links, parts of results, matrices as one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.algorithm import Algorithm, Carrier, Pass, PassAlgorithm, Step
from pliant.bodies.modal_body import ModalBody
from pliant.engine.call.evaluator import fitting_program
from pliant.engine.trace.program import Address, RolledProgram, marking
from pliant.engine.trace.roller import rolled, whole
from pliant.engine.trace.tape import Tape, tangents
from pliant.formulations.recursive.recursions import INVERSE
from pliant.joints.fixed import Fixed
from pliant.spatial.scalars import Scalar
from pliant.spatial.vectors import Vector
from pliant.tree.kinematics import ENERGY, MOTION
from pliant.tree.link import LinkKind
from pliant.tree.lowering import fixed_seat, rigid_link
from pliant.tree.tree import Tree, TreeView

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics


@dataclass(frozen=True, slots=True)
class FrameKind(LinkKind):
    """A link without inertia and coordinates that marks a frame."""


def with_frames(arm: Dynamics, frames: Sequence[str], tree: Tree | None = None) -> Tree:
    """The tree with a massless link at each frame; their constants come after those of the real links.

    tree  the robot's own, or the merged one of its loops
    """
    mechanism, tree = arm.mechanism, arm.tree if tree is None else tree
    links = list(tree.links)
    nothing = ModalBody.rigid(0.0, np.zeros(3), np.zeros((3, 3)))
    for name in frames:
        try:
            member, frame = mechanism.frame(name)
        except KeyError:
            known = ", ".join(mechanism.frames)
            raise ValueError(f"robot '{mechanism.name}' has no frame '{name}'; choose from {known}") from None
        parent, seat = tree.frames[f"{mechanism.members[member].name}.{frame}"]
        marked = rigid_link(f"frame {name}", parent, seat, nothing, mechanism.rule, mechanism.size)
        links.append(replace(marked, kind=FrameKind(Fixed(), 0, False)))
    return replace(tree, links=tuple(links))


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
            marking(view.inputs)(f"{each.name}: {view.name}")
            return each.step(view)

        return replace(each, step=step)

    return replace(algorithm, passes=tuple(marked(each) for each in algorithm.passes))


def pairs(tree: Tree) -> int:
    """Pairs of a coordinate and a link between it and the base: entries of the mass matrix, by blocks."""
    depth: list[int] = []
    for link in tree.links:
        depth.append(1 + (depth[link.parent] if link.parent >= 0 else 0))
    return sum(link.kind.coordinates * d for link, d in zip(tree.links, depth, strict=True))


def program_of(algorithm: Algorithm, tree: Tree, unroll: bool | None, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """A program as asked for; with ``seeds`` its derivative, one direction at a time."""
    if unroll is None and algorithm.passes:
        return fitting_program(algorithm, tree, seeds)
    return rolled(algorithm, tree, seeds) if unroll is False and algorithm.passes else whole(algorithm, tree, seeds)


def replaced(program: RolledProgram, tape: Tape, outputs: list[Scalar], name: str) -> RolledProgram:
    """A whole program with other outputs."""
    (each,) = program.passes
    kernel = replace(each.kernels[0], tape=tape, outputs=outputs)
    return replace(program, name=name, passes=[replace(each, kernels=[kernel])], outputs=len(outputs))


def unit_tangents(algorithm: Algorithm, tree: Carrier, seeds: Sequence[Address], name: str) -> RolledProgram:
    """All derivatives by some inputs, traced at once: what is zero or one in them costs nothing."""
    program = whole(algorithm, tree)
    (kernel,) = program.passes[0].kernels
    tape = kernel.tape
    columns = [tangents(kernel.outputs, {tape.symbol(seed).index: 1.0}) for seed in seeds]
    return replaced(program, tape, [x for row in zip(*columns, strict=True) for x in row], name)


def entries(array: str, size: int) -> list[Address]:
    """All entries of an input of a whole program."""
    return [Address(array, "own", k) for k in range(size)]
