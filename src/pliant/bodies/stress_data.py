"""Stress at the nodes of a link of any shape, from its elastic coordinates and the loads that act on it.

    sigma = modes q_e + loads f

``modes`` are the stresses of the link's shapes. What shapes that are not kept would add follows their loads without
delay: ``loads`` are the stresses of the whole link under a unit load, less those of the kept shapes under that load.
The loads f are, in the axes of the link's root frame:

    0-2          nodal forces M e_a: every point of the link is pushed with its own mass along axis a
    3 + 3a + b   nodal forces M (r_a e_b): along axis b with its mass times its place r_a
    then         force and moment about its origin of each frame, 6 numbers each

so that a field of accelerations a + B r, with gravity taken off, is f = (-a, -B^T row by row): inertia forces.
Stresses stand in the order xx, yy, zz, xy, yz, zx.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.bodies.modal_body import Array
from pliant.errors import ModelError, Problem
from pliant.solid_mechanics.stress_file import write_stress

INERTIA_LOADS = 12
COMPONENTS = ("xx", "yy", "zz", "xy", "yz", "zx")
ARRAYS = ("points", "modes", "loads", "near_rigid", "frames", "triangles", "yield_strength")


@dataclass(frozen=True)
class StressData:
    """Stresses of a link at N nodes, for its n elastic coordinates and the loads on its F frames.

    points      places in the link frame              m                    (N, 3)
    modes       of the shapes                         Pa per unit q_e      (N, 6, n)
    loads       residual of the loads, see above      Pa per unit load     (N, 6, 12 + 6 F)
    near_rigid  nodes next to a rigid or clamped face, where stress is singular  (N,)
    frames      names of the frames, in the order of their loads           (F,)
    triangles   faces of the outline, three nodes each; empty: not known   (T, 3)
    yield_strength  of the material, Pa; 0: not known
    """

    points: Array
    modes: Array
    loads: Array
    near_rigid: NDArray[np.bool_]
    frames: tuple[str, ...] = ()
    triangles: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    yield_strength: float = 0.0

    def __post_init__(self) -> None:
        N, n, f = len(self.points), self.modes.shape[-1], INERTIA_LOADS + 6 * len(self.frames)
        wanted = {"points": (N, 3), "modes": (N, 6, n), "loads": (N, 6, f), "near_rigid": (N,)}
        for name, shape in wanted.items():
            found = np.shape(getattr(self, name))
            if found != shape:
                raise ModelError(f"stress data: {name} is {_by(found)}; it must be {_by(shape)}")
            if not np.isfinite(getattr(self, name)).all():
                raise ModelError(f"stress data: {name} has a number that is not finite")
        if self.triangles.size and not 0 <= self.triangles.min() <= self.triangles.max() < N:
            raise ModelError(f"stress data: triangles have node {self.triangles.max()}; there are nodes 0 to {N - 1}")

    @property
    def size(self) -> int:
        """Number of elastic coordinates."""
        return int(self.modes.shape[-1])

    def at(self, q_e: Array, f: Array) -> Array:
        """Stresses (..., N, 6) at elastic coordinates q_e (..., n) and loads f (..., 12 + 6 F)."""
        N = len(self.points)
        both = np.concatenate([self.modes, self.loads], axis=2).reshape(6 * N, -1)
        x = np.concatenate([q_e, f], axis=-1)
        return np.asarray((x @ both.T).reshape(*x.shape[:-1], N, 6))

    def save(self, path: str | Path) -> None:
        """Write the data as an .npz file."""
        write_stress(Path(path), {name: getattr(self, name) for name in ARRAYS})

    @classmethod
    def load(cls, path: str | Path) -> StressData:
        """Read the data of an .npz file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                given: dict[str, Any] = {name: file[name] for name in ARRAYS if name in file.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ModelError(Problem(str(path), f"cannot be read as stress data: {error}")) from None
        missing = [name for name in ("points", "modes", "loads", "near_rigid") if name not in given]
        if missing:
            raise ModelError(Problem(str(path), f"has no array {missing[0]}; stress data have {', '.join(ARRAYS)}"))
        given["frames"] = tuple(str(name) for name in given.get("frames", ()))
        given["near_rigid"] = given["near_rigid"].astype(bool)
        given["yield_strength"] = float(given.get("yield_strength", 0.0))
        try:
            return cls(**given)
        except ModelError as error:
            raise ModelError(Problem(str(path), error.problems[0].message)) from None


def von_mises(stress: Array) -> Array:
    """Equivalent stress (...) of stresses (..., 6) in the order xx, yy, zz, xy, yz, zx."""
    x, y, z, xy, yz, zx = np.moveaxis(stress, -1, 0)
    squares = 0.5 * ((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) + 3.0 * (xy**2 + yz**2 + zx**2)
    return np.asarray(np.sqrt(squares))


def principal(stress: Array) -> Array:
    """Principal stresses (..., 3), largest first, of stresses (..., 6)."""
    x, y, z, xy, yz, zx = np.moveaxis(np.asarray(stress, dtype=float), -1, 0)
    S = np.stack([x, xy, zx, xy, y, yz, zx, yz, z], axis=-1).reshape(*x.shape, 3, 3)
    return np.asarray(np.linalg.eigvalsh(S)[..., ::-1])


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else "one number"
