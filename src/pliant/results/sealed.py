"""HDF5 files with a digest of all that they hold, and what is read from them without trust in what they say.

The first 512 bytes, which HDF5 leaves to others, say what the file is and hold a digest of all that follows.
"""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

SEAL_SIZE = 512
"""Bytes in front of the file that HDF5 sees."""
HDF5 = b"\x89HDF\r\n\x1a\n"
MOST_NAMES, DEEPEST = 10_000, 8
"""Parts of a group that are looked at, and how deep they may be."""
MOST_PACKED = 1100
"""Bytes that one byte can stand for in packed data."""


def seal_words(kind: str) -> str:
    """How a sealed file of a kind ("run", "sweep") begins."""
    return f"pliant {kind}, HDF5 from byte {SEAL_SIZE} on, blake2b "


def _seal(kind: str, digest: str) -> bytes:
    return f"{seal_words(kind)}{digest}\n".encode().ljust(SEAL_SIZE)


def sealed(image: bytes, kind: str) -> bytes:
    """The image of an HDF5 file with its seal in front."""
    return _seal(kind, hashlib.blake2b(image).hexdigest()) + image


def seal_file(path: Path, kind: str) -> None:
    """Seal a file that was written with ``userblock_size=SEAL_SIZE``."""
    with open(path, "r+b") as stream:
        stream.seek(SEAL_SIZE)
        seal = _seal(kind, _digest(stream))
        stream.seek(0)
        stream.write(seal)


def seal_problem(path: Path, kind: str) -> str:
    """Why the content of a file is not what Pliant wrote; nothing if it is."""
    with open(path, "rb") as stream:
        seal = stream.read(SEAL_SIZE)
        if not seal.startswith(seal_words(kind).encode()):
            if HDF5 not in (seal[:8], stream.read(8)):
                return "this is not an HDF5 file"
            return f"this HDF5 file does not hold a {kind} of Pliant, or one of its first versions wrote it"
        whole = seal == _seal(kind, _digest(stream))
    changed = "the file is damaged, or another program changed it: its checksum is not that of its content"
    return "" if whole else changed


def _digest(stream: BinaryIO) -> str:
    digest = hashlib.blake2b()
    while part := stream.read(2**20):
        digest.update(part)
    return digest.hexdigest()


def stored_array(file: Any, name: str, kinds: str, axes: int | None = None) -> Any:
    """A dataset that lies in this very file, of a kind of numbers or texts, and no larger than what lies there."""
    import h5py

    data = stored(file, name)
    if not isinstance(data, h5py.Dataset) or data.is_virtual or data.external:
        raise ValueError(f"'{name}' does not lie in this file")
    if data.dtype.kind not in kinds or (axes is not None and data.ndim != axes):
        raise ValueError(f"'{name}' is {data.dtype} {data.shape}")
    packed = data.id.get_storage_size()
    if data.size * data.dtype.itemsize > (MOST_PACKED if data.chunks else 1) * packed:
        raise ValueError(f"'{name}' shall have {data.size} entries, but there are {packed} bytes")
    return data[()]


def stored(file: Any, name: str) -> Any:
    """A dataset or group that lies in this very file; nothing is opened by way of a link to elsewhere."""
    import h5py

    found = file
    for step in name.split("/"):
        # an external link would open its file, and for ever if that is a pipe
        link = found.get(step, getlink=True) if isinstance(found, h5py.Group) else None
        if not isinstance(link, h5py.HardLink):
            raise ValueError(f"'{name}' does not lie in this file")
        found = found[step]
    return found


def stored_names(file: Any, group: str) -> list[str]:
    """Names of all datasets below a group, seen from the file; empty where there is no such group."""
    import h5py

    names: list[str] = []
    todo = [group] if file.get(group, getlink=True, default=None) is not None else []
    count = 0
    while todo:
        name = todo.pop()
        count += 1
        if count > MOST_NAMES or name.count("/") > DEEPEST:
            raise ValueError(f"'{group}' has more than {MOST_NAMES} parts, or parts more than {DEEPEST} deep")
        found = stored(file, name)
        if isinstance(found, h5py.Group):
            todo += [f"{name}/{each}" for each in itertools.islice(found, MOST_NAMES + 1)]
        else:
            names.append(name)
    return sorted(names)


def fixed_text(text: str) -> np.bytes_:
    """A text as bytes of fixed length; an empty one needs at least one."""
    # texts of other lengths lie elsewhere in a file, and a damaged one may keep its reader busy for ever
    return np.bytes_(text.encode() or b"\n")
