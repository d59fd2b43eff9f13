"""The flexible robot about its nominal motion: Di Gregorio (13) to (18), for open and closed chains.

The nominal motion of all joints is given. What links and passive joints do beside it are the independent displacements
z, small; actuated joints move exactly as they shall, and their efforts follow with all other reactions.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from pliant.analysis.lumped.displacements import (
    NO_LOADS,
    AppliedLoads,
    Jet,
    Numbering,
    RootMap,
    frame_map,
    generalised,
    product,
    root_maps,
)
from pliant.analysis.lumped.geometric_stiffness import (
    BesideRecursion,
    NominalForces,
    beside_recursion,
    geometry_of,
    lever_stiffness,
    nominal_forces,
)
from pliant.analysis.lumped.mesh import LinkMesh, NodedLink, mesh_link
from pliant.analysis.lumped.node_equations import (
    Floats,
    LinkEquations,
    Matrices,
    MatrixSum,
    Variant,
    congruence,
    local_map,
    tilde,
)
from pliant.analysis.lumped.nominal_motion import JointMotion, LinkMotion, LoopRows, Skeleton, close_motion, loop_rows
from pliant.analysis.lumped.reduced_link import ReducedLink, is_reduced, reduced_link
from pliant.errors import ModelError, did_you_mean, require_count, require_word, show
from pliant.mechanism import assemble
from pliant.model.description.actuators import refuse_lines
from pliant.model.description.robot import Robot, rigid_twin
from pliant.model.readers.library import load

FULL_SIZE = 250
"""Robots of more displacements are assembled in sparse matrices."""
SINGULAR = 1e-9
"""Rows of loops that are this small beside the largest determine nothing."""
UNTURNED = 1e-9
"""rad: turn of a ball joint at which its spring pulls nowhere."""
PREFERRED = 10.0
"""How much less a passive joint may move the ends of loops than another displacement, and be taken as dependent."""


@dataclass(frozen=True, eq=False, slots=True)
class DependentChoice:
    """Loops closed by dependent displacements: y = Z z.

    dependent, independent  places in y
    rows                    those of the loops that are kept
    """

    dependent: NDArray[np.int_]
    independent: NDArray[np.int_]
    rows: NDArray[np.int_]


@dataclass(frozen=True, eq=False, slots=True)
class AssembledMotion:
    """The robot along a nominal motion.

    motion, links  of the joints and links
    roots          X of every link
    J              rows of the loops on y, with derivatives (times, rows, y)
    Z              y = Z z with derivatives (times, y, z); None without loops
    forces         of the nominal motion; None where they stiffen nothing
    equations      on z, full matrices; None where they are asked instant by instant
    loads          from outside
    """

    motion: JointMotion
    links: list[LinkMotion]
    roots: list[RootMap]
    J: Jet | None
    Z: Jet | None
    forces: NominalForces | None
    equations: Matrices | None
    loads: AppliedLoads = NO_LOADS


def _require_known(robot: Robot, variant: Variant, stiffening: bool | None, elements: Mapping[str, int]) -> None:
    """Refuse what the method does not know, and what links by their own coordinates cannot be."""
    if robot.actuators:
        raise ModelError(
            f"robot '{robot.name}': the method lumped_fe knows no actuators between places, such as "
            f"'{robot.actuators[0].name}'; use the method recursive"
        )
    for link in robot.links:
        if not is_reduced(link, robot):
            continue
        what = f"link '{link.name}': it is known by its own coordinates, not by nodes along a straight axis"
        if link.name in elements:
            raise ModelError(f"{what}; it has no elements whose number could be given")
        if variant != "complete":
            raise ModelError(f"{what}; its equations are complete, and there are no others (variant: complete)")
        if stiffening is False:
            raise ModelError(f"{what}; what internal forces do to it is part of its equations: leave stiffening out")


class LumpedModel:
    """A robot of meshed links. Modal data, finite elements, exact and curved rods keep their own coordinates.

    robot       or its name, or the path of its file
    elements    elements of every bending link, or link -> elements; default: as described (8 where modes are described)
    variant     complete; absolute or printed for study: wrong to first order, see ``node_terms``
    stiffening  geometric stiffness of the nominal internal forces, which the paper leaves out; default: where the
                bending of a beam is second-order
    """

    def __init__(
        self,
        robot: Robot | str | os.PathLike[str],
        *,
        elements: int | Mapping[str, int] | None = None,
        variant: Variant = "complete",
        stiffening: bool | None = None,
    ) -> None:
        robot = robot if isinstance(robot, Robot) else load(robot)
        refuse_lines(robot, "lumped models do not know: simulate it, or ask for its modes")
        require_word("variant", variant, get_args(Variant))
        if stiffening not in (None, True, False):
            raise ModelError(f"stiffening is {show(stiffening)}; it must be true, false, or left out")
        known = elements if isinstance(elements, Mapping) else dict.fromkeys(robot.link_names, elements)
        for name, number in known.items():
            robot.link(name)
            if number is not None:
                require_count(f"elements of link '{name}'" if known is elements else "elements", number)
        self.robot, self.variant = robot, variant
        _require_known(robot, variant, stiffening, elements if isinstance(elements, Mapping) else {})
        meshes: list[NodedLink] = []
        for link in robot.links:
            if is_reduced(link, robot):
                meshes.append(reduced_link(link, robot))
                continue
            mesh = mesh_link(link, robot, known.get(link.name))
            kinds = {None: mesh.bending, True: "second-order", False: "linear"}
            meshes.append(replace(mesh, bending=kinds[stiffening]))
        self.meshes = tuple(meshes)
        self.skeleton = Skeleton(assemble(rigid_twin(robot)), self.meshes)
        self.loops: list[LoopRows] = [loop_rows(self.skeleton, loop) for loop in self.skeleton.mechanism.loops]
        self.links = tuple(
            LinkEquations.reduced(mesh)
            if isinstance(mesh, ReducedLink)
            else LinkEquations.of(cast("LinkMesh", mesh), variant)
            for mesh in self.meshes
        )
        stiffens = any(mesh.bending == "second-order" for mesh in self.meshes)
        self.geometry = [geometry_of(mesh) for mesh in self.meshes] if stiffens else []
        self.numbering = Numbering(self.skeleton)
        self.elimination: DependentChoice | None = None
        # full matrices are faster than sparse ones
        self.is_small = self.numbering.size <= FULL_SIZE
        self._dense = [link.dense() for link in self.links] if self.is_small else []

    def beside_recursion(self, assembled: AssembledMotion) -> BesideRecursion:
        """Stiffness by which these equations differ from those of ``Dynamics``, linearised about the same motion.

        K of the recursive method = K of these equations + frames + shortening - bodies; see ``BesideRecursion``.
        """
        return beside_recursion(self, assembled)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joint coordinates, in the order of nominal motions."""
        return self.skeleton.joints

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the actuated joints."""
        return tuple(seat.name for seat in self.skeleton.seats if seat.is_actuated)

    # ---- nominal motion

    def reference_pose(self) -> Floats:
        """Joint coordinates of the reference pose (joints,)."""
        return self.skeleton.mechanism.pose.copy()

    def at_rest(self, q: Sequence[float] | Floats | Mapping[str, float] | None = None) -> JointMotion:
        """One instant of rest: positions of the actuated joints, or by name; default: the reference pose."""
        pose = self.reference_pose()
        start = pose[self.skeleton.driven]
        if isinstance(q, Mapping):
            for name, value in q.items():
                if name not in self.inputs:
                    raise ModelError(
                        f"robot '{self.robot.name}' has no actuated joint '{name}'{did_you_mean(name, self.inputs)}"
                    )
                start[self.inputs.index(name)] = value
        elif q is not None:
            start = np.asarray(q, dtype=float)
            if start.shape != (len(self.inputs),):
                raise ModelError(
                    f"q has shape {start.shape}; robot '{self.robot.name}' has {len(self.inputs)} actuated joints: "
                    f"{', '.join(self.inputs)}"
                )
        return self.nominal(JointMotion(start[None], 0 * start[None], 0 * start[None]))

    def nominal(self, driven: JointMotion, start: Floats | None = None) -> JointMotion:
        """Motion of all joints for one of the actuated joints (times, inputs); loops determine the passive ones.

        start  all joints near the first instant (joints,) or near every one (times, joints); default: reference pose
        """
        return close_motion(self.skeleton, self.loops, driven, self.reference_pose() if start is None else start)

    # ---- equations

    def assemble(self, motion: JointMotion, loads: AppliedLoads = NO_LOADS) -> AssembledMotion:
        """Everything that belongs to the instants of a nominal motion of all joints, under loads from outside."""
        links = self.skeleton.motion(motion)
        roots = root_maps(self.skeleton, self.numbering, links)
        J, Z = self._loops(roots, links)
        forces = nominal_forces(self, motion, links, roots, J, loads) if self.geometry else None
        assembled = AssembledMotion(motion, links, roots, J, Z, forces, None, loads)
        return replace(assembled, equations=self._full(assembled)) if self.is_small else assembled

    def _full(self, assembled: AssembledMotion) -> Matrices:
        motion, links, forces = assembled.motion, assembled.links, assembled.forces
        total = MatrixSum(self.numbering.size, len(motion.q))
        for i, root in enumerate(assembled.roots):
            own = self.numbering.own[i]
            part = self._dense[i].at(links[i])
            if forces is not None:
                part = part._replace(K=part.K + self.geometry[i].stiffness(forces.nodes[i]))
            total.add(np.append(root.columns, own), congruence(part, local_map(root.X, len(own))))
        self._add_joints(total, motion)
        total.f -= generalised(self, links, assembled.roots, assembled.loads)
        if forces is not None:
            for places, K in lever_stiffness(self, links, assembled.roots, forces, assembled.loads):
                total.add_stiffness(places, K)
        whole = total.result()
        return whole if assembled.Z is None else congruence(whole, assembled.Z)

    def sparse_equations(self, assembled: AssembledMotion, t: int) -> Matrices:
        """Sparse matrices on z at one instant."""
        total = MatrixSum(self.numbering.size, None)
        forces = None if assembled.forces is None else assembled.forces.at(t)
        for i, root in enumerate(assembled.roots):
            own = self.numbering.own[i]
            part = self.links[i].sparse_at(assembled.links[i], t)
            if forces is not None:
                part = part._replace(K=part.K + self.geometry[i].stiffness(forces.nodes[i], sparse=True))
            total.add(np.append(root.columns, own), congruence(part, local_map(root.X, len(own), t)))
        self._add_joints(total, JointMotion(*(x[t : t + 1] for x in assembled.motion)))
        links, roots = [m.at(t) for m in assembled.links], [root.at(t) for root in assembled.roots]
        loads = assembled.loads.at(t)
        total.f -= generalised(self, links, roots, loads)[0]
        if forces is not None:
            for places, K in lever_stiffness(self, links, roots, forces, loads):
                total.add_stiffness(places, K[0])
        whole = total.result()
        if assembled.Z is None:
            return whole
        return congruence(whole, tuple(csr_array(z[t]) for z in assembled.Z))

    def equations_at(self, assembled: AssembledMotion, t: int) -> Matrices:
        """At one instant: full matrices of small robots, sparse ones of large."""
        if assembled.equations is None:
            return self.sparse_equations(assembled, t)
        return Matrices(*(x[t] for x in assembled.equations))

    def _add_joints(self, total: MatrixSum, motion: JointMotion) -> None:
        """Spring, damper, rotor and dry friction of the nominal rate, at passive joints."""
        for i, places in enumerate(self.numbering.joint):
            if not len(places):
                continue
            one, force = np.eye(len(places)), self.joint_force(i, motion)
            parts = [x * one for x in self.joint_constants(i)]
            if total.times is None:
                M, D, K = (coo_array(x) for x in (parts[0], parts[2], parts[1]))
                total.add(places, Matrices(M, D, K, force[0]))
            else:
                M, D, K = (np.tile(x, (total.times, 1, 1)) for x in (parts[0], parts[2], parts[1]))
                total.add(places, Matrices(M, D, K, force))

    def joint_constants(self, i: int) -> tuple[float, float, float]:
        """Inertia of the rotor at the joint, stiffness of its spring, viscous damping."""
        drive = self.skeleton.seats[i].drive
        return drive.inertia, drive.stiffness, drive.damping

    def joint_force(self, i: int, motion: JointMotion) -> Floats:
        """What rotor, spring and friction of a joint take along the nominal motion (times, displacements)."""
        seat = self.skeleton.seats[i]
        q, v, a = (x[:, list(seat.coordinates)] for x in motion)
        if seat.is_single:
            return np.asarray(seat.drive.inertia * a + seat.drive.force(q, v))
        if seat.drive.stiffness and np.abs(q).max(initial=0.0) > UNTURNED:
            raise ModelError(
                f"joint '{seat.name}': it is {seat.kind.name} with a spring, and turned by "
                f"{np.linalg.norm(q, axis=1).max():.3g} rad in the nominal motion; the method lumped_fe takes such a "
                "spring about its rest only (use three revolute joints, or the method recursive)"
            )
        return np.asarray(seat.drive.damping * seat.speeds(motion))

    # ---- loops

    def _loops(self, roots: list[RootMap], links: list[LinkMotion]) -> tuple[Jet | None, Jet | None]:
        if not self.loops:
            return None, None
        times, size = len(links[0].p), self.numbering.size
        parts: list[Jet] = []
        for loop in self.loops:
            D = [np.zeros((times, 6, size)) for _ in range(3)]
            for sign, end in zip((1.0, -1.0), loop.ends, strict=True):
                columns, U = frame_map(self.skeleton, self.numbering, roots, links, end)
                for whole, part in zip(D, U, strict=True):
                    whole[:, :, columns] += sign * part
            parts.append(product(self._directions(loop, links), (D[0], D[1], D[2])))
        J: Jet = tuple(np.concatenate([part[k] for part in parts], axis=1) for k in range(3))  # type: ignore[assignment]
        if self.elimination is None:
            self.elimination = self._choose(J[0][0])
        return J, self._closed(J)

    def _directions(self, loop: LoopRows, links: list[LinkMotion]) -> Jet:
        """Rows of a loop; tilts turn with the first frame."""
        link, place = loop.ends[0]
        times = len(links[0].p)
        if link < 0:
            N = loop.directions(np.broadcast_to(np.eye(3), (times, 3, 3)))
            return N, 0 * N, 0 * N
        body = links[link]
        w_, wd_ = tilde(body.w), tilde(body.w_dot)
        N = loop.directions(body.R @ place.R)
        k = loop.size - len(loop.tilts)
        out = [N]
        for turn in (body.R @ w_, body.R @ (w_ @ w_ + wd_)):
            rate = np.zeros_like(N)
            rate[:, k:, 3:] = loop.tilts @ np.swapaxes(turn @ place.R, 1, 2)
            out.append(rate)
        return out[0], out[1], out[2]

    def _choose(self, J: Floats) -> DependentChoice:
        """Passive joints become dependent sooner than own displacements of the nodes, but not at any price."""
        from scipy.linalg import qr

        weights = np.ones(self.numbering.size)
        weights[np.concatenate(self.numbering.joint)] = PREFERRED
        _, R, order = qr(J * weights, pivoting=True, mode="economic")
        dependent = order[: int((np.abs(np.diag(R)) > SINGULAR * np.abs(J).max()).sum())]
        # rows that say nothing new, as of a plane that all links keep anyway
        rows = qr(J[:, dependent].T, pivoting=True, mode="r")[1][: len(dependent)]
        return DependentChoice(dependent, np.setdiff1d(np.arange(self.numbering.size), dependent), np.sort(rows))

    def _closed(self, J: Jet) -> Jet:
        """Z with derivatives: J y = 0 at all times."""
        e = self.elimination
        assert e is not None
        J0, J1, J2 = (x[:, e.rows] for x in J)
        condition = np.linalg.cond(J0[:, :, e.dependent])
        if not condition.max() < 1 / SINGULAR:
            raise ModelError(
                f"robot '{self.robot.name}': the chosen dependent displacements do not close its loops along the "
                "motion (a singular pose, or one far from the first); keep the path away from it, or begin anew there"
            )
        inverse = np.linalg.inv(J0[:, :, e.dependent])

        def parts(x: Floats) -> tuple[Floats, Floats]:
            return x[:, :, e.dependent], x[:, :, e.independent]

        (_, I0), (D1, I1), (D2, I2) = parts(J0), parts(J1), parts(J2)
        Q0 = -inverse @ I0
        Q1 = -inverse @ (D1 @ Q0 + I1)
        Q2 = -inverse @ (D2 @ Q0 + 2 * D1 @ Q1 + I2)
        out = []
        for order, Q in enumerate((Q0, Q1, Q2)):
            Z = np.zeros((len(Q), self.numbering.size, len(e.independent)))
            Z[:, e.dependent] = Q
            if not order:
                Z[:, e.independent, np.arange(len(e.independent))] = 1.0
            out.append(Z)
        return out[0], out[1], out[2]

    def multipliers(self, J: Jet | None, lacking: Floats) -> list[Floats]:
        """Forces of every loop (times, rows) that give the open tree what it lacks (times, y): J^T lambda."""
        if J is None or self.elimination is None:
            return []
        e = self.elimination
        whole = np.zeros((len(lacking), sum(loop.size for loop in self.loops)))
        rows = np.swapaxes(J[0][:, e.rows][:, :, e.dependent], 1, 2)
        whole[:, e.rows] = np.linalg.solve(rows, lacking[:, e.dependent][..., None])[..., 0]
        return np.split(whole, np.cumsum([loop.size for loop in self.loops])[:-1], axis=1)

    # ---- sizes and names

    @property
    def size(self) -> int:
        """Number of independent displacements z (known after the first assembly of a robot with loops)."""
        return self.numbering.size if self.elimination is None else len(self.elimination.independent)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of z: passive joints by their coordinates, displacements and turns of nodes as LINK.NODE.dx, ..., .rz.

        What a joint of several coordinates does beside its nominal motion is along and about axes of its link.
        """
        names = self.numbering.names
        return tuple(names if self.elimination is None else [names[k] for k in self.elimination.independent])
