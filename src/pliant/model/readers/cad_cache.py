"""Links of CAD files are made once: kept in the user's private cache by the content of the file and all that was asked.

A cache that cannot be used is no error: the link is made again, and its stress is then not kept.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.engine.compile.cache import closure, private_folder
from pliant.files import content_of, write_bytes
from pliant.model.description.modal import ModalData
from pliant.solid_mechanics.stress_file import NodalStress, write_stress

if TYPE_CHECKING:
    from pliant.model.description.cad import CadFiles

LARGEST_FILE = 2**31
_PRIVATE: Any = {"follow": False, "mode": 0o600}


def cached_modal(path: Path, given: CadFiles) -> ModalData:
    """The modal data of a CAD file, from the cache or made now; its stress is in a file of the cache."""
    key = _key(path, given)
    place: Path | None = None
    with suppress(OSError, RuntimeError):
        place = private_folder(create=True)
    if place is not None:
        with suppress(OSError, ValueError):
            stress = place / f"link-{key}.npz"
            data = json.loads((place / f"link-{key}.json").read_bytes())
            if stress.is_file():
                return ModalData.model_validate({**data, "stress": str(stress)})
    from pliant.model.readers.cad_links import body

    frames = {name: face for name, face in given.frames.items() if name != "tip"}
    made = body(
        path, root=given.root, tip=given.frames["tip"], frames=frames, material=given.material, maxh=given.mesh,
        modes=given.modes, below=given.below, interface=given.interface, origin=given.origin, unit=given.unit,
    )  # fmt: skip
    if place is None:
        return made.modal
    kept = kept_stress(key, made.stress)
    with suppress(OSError):
        plain = made.modal.model_dump(mode="json", exclude_unset=True)
        write_bytes(place / f"link-{key}.json", json.dumps(plain).encode(), **_PRIVATE)
    return made.modal if kept is None else made.modal.with_changes(stress=kept)


def kept_stress(key: str, stress: NodalStress) -> str | None:
    """Keep stress in a file of the cache and give its place; None where the cache cannot be used."""
    with suppress(OSError, RuntimeError):
        path = private_folder(create=True) / f"link-{key}.npz"
        if not path.is_file():
            write_stress(path, stress._asdict())
        return str(path)
    return None


def _key(path: Path, given: CadFiles) -> str:
    """A digest of the CAD file, of what was asked, and of the code that meshes and reduces."""
    digest = hashlib.sha256(content_of(str(path), LARGEST_FILE))
    asked = given.model_dump(mode="json", exclude={"file", "damping", "bending"})
    digest.update(json.dumps({**asked, "frames": list(given.frames.items())}, sort_keys=True).encode())
    digest.update(_code().encode())
    return digest.hexdigest()[:32]


@cache
def _code() -> str:
    """A digest of the modules that make a link of a file."""
    digest = hashlib.sha256()
    for file in sorted(closure(["pliant.model.readers.cad_links"])):
        if "solid_mechanics" in file.parts or file.name in ("cad_links.py", "solid_links.py", "face_choice.py"):
            digest.update(file.read_bytes())
    return digest.hexdigest()
