"""What a robot answers about a frame that works, and about its parameters: stiffness, singularities, ways to a pose.

Each answer is computed by a later room, which is asked when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.model.notebook import made_by
from pliant.states import States
from pliant.tree_dynamics import TreeDynamics

if TYPE_CHECKING:
    from pliant.analysis.inverse_kinematics import KinematicSolutions, Target
    from pliant.analysis.platform_stiffness import PlatformStiffness
    from pliant.analysis.regressor import Regressor
    from pliant.analysis.singularity import Singularity
    from pliant.formulations.loops.loops import Loops


Floats = NDArray[np.float64]


class PlatformAnswers(TreeDynamics):
    """Questions about a frame of a robot, for trees and closed loops alike."""

    loops: Loops

    def platform_stiffness(
        self,
        q: States | None = None,
        *,
        frame: str = "tip",
        loads: Mapping[str, ArrayLike] | None = None,
        followers: Mapping[str, ArrayLike] | None = None,
    ) -> PlatformStiffness:
        """Stiffness and compliance (6, 6) of a frame at rest while the drives hold; see ``pliant.platform_stiffness``.

        q          joint positions, an array or by name; default: the reference pose
        frame      name of a frame; default: the robot's tip
        loads      frame -> force (3,) N, or force and moment (6,), along base axes, that act already
        followers  the same along the axes of the frame, with which they turn
        """
        found: PlatformStiffness = made_by("analysis.platform_stiffness", "platform_stiffness")(
            self, q, frame=frame, loads=loads, followers=followers
        )
        return found

    def singularity(
        self,
        q: States | None = None,
        *,
        frame: str = "tip",
        axes: Sequence[str] | None = None,
        length: float | None = None,
    ) -> Singularity:
        """How near a configuration is to singular ones of type 1 and 2, and what is lost there.

        q       configuration, an array or by name; default: the reference pose. Loops are closed, the drives held
        frame   the frame that works; default: the robot's tip
        axes    its components that count, of x, y, z, rx, ry, rz; default: shifts alone where they determine the
                motion, else all that move
        length  m: characteristic length by which shifts are divided; default: the extent of the robot
        """
        found: Singularity = made_by("analysis.singularity", "singularity")(
            self, q, frame=frame, axes=axes, length=length
        )
        return found

    def inverse_kinematics(
        self,
        pose: Target,
        *,
        frame: str = "tip",
        start: States | None = None,
        axes: Sequence[str] | None = None,
        limits: bool = True,
        bent: bool = False,
    ) -> KinematicSolutions:
        """All joint positions that bring a frame to a pose, by assembly modes; see ``pliant.inverse_kinematics``.

        pose    ``Pose(position, rotation)``, a position (3,), or components by name: ``{"x": 0.1, "rz": "20 deg"}``
        frame   default: the robot's tip
        start   configuration that solutions shall be near; default: the reference pose
        axes    components that must agree; default: those given, or of a Pose all that the joints can bring there
        limits  leave out solutions beyond limits of joints
        bent    the robot rests there, bent as gravity bends it
        """
        found: KinematicSolutions = made_by("analysis.inverse_kinematics", "inverse_kinematics")(
            self, pose, frame=frame, start=start, axes=axes, limits=limits, bent=bent
        )
        return found

    def regressor(self, q: States, v: States, a: States) -> Regressor:
        """``forces = Y theta + known``: forces of a motion, linear in what can be identified; see ``pliant.regressor``.

        q, v, a  coordinates, rates and accelerations of all coordinates (n,), or of a batch (count, n)
        """
        found: Regressor = made_by("analysis.regressor", "regressor")(self, q, v, a)
        return found

    def internal_efforts(self, q: States) -> Floats:
        """Efforts (inputs, k) that redundant drives can exert against one another without moving the robot at q (n,).

        Their combinations are preloads for ``inverse``; a robot with no more drives than motions has none (k = 0).
        """
        found: Floats = made_by("formulations.loops.redundant_drives", "internal_efforts")(
            self.loops, self.labels.states("q", q)
        )
        return found
