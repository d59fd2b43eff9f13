"""How far a frame of a robot gives way under small forces and moments on it while the drives hold their motor angles.

At rest, with drives and loops held (A dq = 0), a small wrench dw on the frame moves the robot by

    K dq - A^T dmu = J^T dw,   A dq = 0   ->   dq = Z (Z^T K Z)^-1 Z^T J^T dw,   A Z = 0

K is the tangent of all static forces: strain, springs, gravity, loads that are there already and the closing forces of
the loops. The twist J dq of the frame per wrench is the compliance of the platform, its inverse the stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import settle
from pliant.analysis.statics import Loads, Statics, stiffness_scale, wrenches
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

AXES = ("x", "y", "z", "rx", "ry", "rz")
"""Shifts along base axes and turns about them."""
FORCES = ("fx", "fy", "fz", "mx", "my", "mz")

RIGID = 1e-11
"""Part of the largest compliance, of shifts in lengths of the robot, below which a frame does not give way."""
LOOSE = 1e-12
"""Stiffness, of coordinates scaled to one, below which nothing holds a motion."""
MOVES = 1e-9
"""Part of the largest motion of a frame below which a loose motion leaves it where it is."""


class LooseError(ValueError):
    """A motion that neither drives nor stiffness hold: a frame has no stiffness along it."""


@dataclass(frozen=True, eq=False)
class PlatformStiffness:
    """What a small force and moment on a frame do while the drives hold; base axes, forces first.

    frame       name of the frame
    q           coordinates at rest (n,)
    tau         efforts that hold it (inputs,)
    compliance  shift (m) and turn (rad) per N and N m (6, 6)
    motion      change of all coordinates per N and N m (n, 6)
    length      m: what a radian is worth where shifts and turns are compared
    """

    frame: str
    q: Floats
    tau: Floats
    compliance: Floats
    motion: Floats
    length: float

    @property
    def _scale(self) -> Floats:
        return np.array([1.0 / self.length] * 3 + [1.0] * 3)

    @property
    def rigid(self) -> Floats:
        """Directions (6, k), shifts in lengths, in which the frame does not give way: no link bends so."""
        C = self.compliance * np.outer(self._scale, self._scale)
        U, sizes, _ = np.linalg.svd((C + C.T) / 2)
        return np.asarray(U[:, sizes <= RIGID * max(float(sizes[0]), np.finfo(float).tiny)])

    @property
    def stiffness(self) -> Floats:
        """Force and moment per shift and turn (6, 6), N/m, N, N m/rad; infinite along axes that do not give way.

        Raises ValueError where the frame is held along directions that are no axes of the base: no matrix says that.
        """
        held = self.rigid
        out = np.zeros((6, 6))
        if not held.shape[1]:
            return np.asarray(np.linalg.inv(self.compliance))
        fixed = np.linalg.norm(held, axis=1) > 0.5
        aligned = np.allclose(held @ held.T, np.diag(fixed.astype(float)), atol=1e-6)
        if not aligned:
            raise ValueError(
                f"frame '{self.frame}' does not give way along {held.shape[1]} directions that are no axes of the "
                "base, and no matrix of stiffness says that; use `compliance`, let more of the links bend (axial, "
                "torsion), or ask for a frame that they all move"
            )
        out[fixed, fixed] = np.inf
        out[np.ix_(~fixed, ~fixed)] = np.linalg.inv(self.compliance[np.ix_(~fixed, ~fixed)])
        return out

    def principal(self) -> list[tuple[float, Floats]]:
        """Stiffness (N/m) and direction (3,) of pure forces under which the frame moves along them, softest first."""
        values, vectors = np.linalg.eigh((self.compliance[:3, :3] + self.compliance[:3, :3].T) / 2)
        least = RIGID * self.length**2 * max(float(np.abs(self.compliance).max()), np.finfo(float).tiny)
        # signs of eigenvectors are left to the library: the largest part is positive
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(3)])
        order = np.argsort(-values)
        return [(1.0 / values[k] if values[k] > least else np.inf, vectors[:, k]) for k in order]

    def rows(self) -> list[tuple[str, float, float, float]]:
        """Axis, compliance along it, stiffness with all other axes free, and with them held (nan: see ``rigid``)."""
        try:
            held = np.diag(self.stiffness)
        except ValueError:
            held = np.full(6, np.nan)
        largest = float(np.abs(self.compliance * np.outer(self._scale, self._scale)).max())
        out = []
        for k, axis in enumerate(AXES):
            own = float(self.compliance[k, k])
            gives = abs(own) * self._scale[k] ** 2 > RIGID * largest
            out.append((axis, own if gives else 0.0, 1.0 / own if gives else np.inf, float(held[k])))
        return out

    def _repr_html_(self) -> str:
        rows = [(axis, f"{c:.4g}", f"{free:.4g}", f"{held:.4g}") for axis, c, free, held in self.rows()]
        head = ("axis", "compliance m/N, rad/(N m)", "stiffness, others free", "others held")
        return html_page(f"Stiffness of {self.frame}", head, rows)


def platform_stiffness(
    arm: Dynamics,
    q: States | None = None,
    *,
    frame: str = "tip",
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> PlatformStiffness:
    """Stiffness and compliance of a frame at rest, with the drives held: bending links, springs, loops, gravity.

    q          joint positions, an array or by name; the robot rests at the motor angles that they give, its links bent
               as gravity and loads bend them. Default: the reference pose
    frame      name of a frame; default: the robot's tip
    loads      frame -> force (3,) N, or force and moment (6,), along base axes, that act already
    followers  the same along the axes of the frame, with which they turn

    Exact tangents of the same equations as ``equilibrium``. A small wrench keeps its direction in base axes. Where
    something can move freely while the drives hold (a passive joint, a parallel singularity), LooseError says what.
    """
    arm.mechanism.frame(frame)
    found = settle(arm, q, loads=loads, followers=followers)
    problem = Statics(arm, found.q, loads=[*wrenches(loads), *wrenches(followers, follows=True)])
    # cylinders give way as their oil does
    problem.oil_gives_way = True
    x = np.concatenate([found.q, found.tau, [*found.pushes.values()], np.zeros(len(arm.loops.rows))])
    sizes = stiffness_scale(problem.stiffness(x))
    K, Z = problem.reduced(x, 1.0, sizes)
    J = arm.jacobian(frame, found.q)
    motion = sizes[:, None] * Z @ _solved(arm, frame, K, sizes[:, None] * Z, J, found.q)
    return PlatformStiffness(frame, found.q, found.tau, J @ motion, motion, arm.reach)


def _solved(arm: Dynamics, frame: str, K: Floats, motions: Floats, J: Floats, q: Floats) -> Floats:
    """Motions (m, 6) under unit wrenches; what nothing holds must leave the frame where it is."""
    moved = J @ motions
    if not len(K):
        return np.zeros((0, 6))
    U, values, Vt = np.linalg.svd(K)
    held = values > LOOSE * values[0]
    weight = np.array([1.0 / arm.reach] * 3 + [1.0] * 3)[:, None]
    free = np.linalg.norm(weight * (moved @ Vt[~held].T), axis=0)
    if (free > MOVES * max(float(np.abs(weight * moved).max(initial=0.0)), np.finfo(float).tiny)).any():
        loose = np.abs(motions @ Vt[~held].T / arm.loops.column_scale[:, None]).max(axis=1)
        names = [name for name, size in zip(arm.names, loose, strict=True) if size > 0.1 * loose.max()]
        raise LooseError(
            f"frame '{frame}' of robot '{arm.robot.name}' has no stiffness: {', '.join(names)} move"
            f"{'s' if len(names) == 1 else ''} freely while the drives hold; actuate or spring what is passive, or "
            "leave a parallel singularity (arm.singularity tells)"
        )
    out: Floats = (Vt[held].T / values[held]) @ (U[:, held].T @ moved.T)
    return out
