"""Files of stress data: arrays in an .npz file with Pliant's mark; `bodies/stress_data.py` says what they mean."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.files import mark, written
from pliant.solid_mechanics.solid_mesh import Array


class NodalStress(NamedTuple):
    """Stress of a link at N nodes of its surface, of n unit coordinates and of unit loads, with what it is drawn on."""

    points: Array
    modes: Array
    loads: Array
    near_rigid: Any
    frames: tuple[str, ...]
    triangles: Any
    yield_strength: float


def write_stress(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by their names, whole or not at all."""
    with written(path) as place, place.open("w+b") as file:
        plain: dict[str, Any] = {key: np.asarray(value) for key, value in arrays.items()}
        np.savez_compressed(file, **plain)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = mark().encode()
