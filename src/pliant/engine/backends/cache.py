"""Compiled modules on disk, in the user's cache folder.

An entry is written to a temporary file and moved into place, so that processes cannot see each other's halves; a
checksum guards against damage. A cache that cannot be read or written is no error, only slower.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

MAGIC = b"pliant-1"
LARGEST = 256 * 2**20
"""Bytes kept; the oldest entries go first."""


def folder() -> Path:
    """Where compiled modules are kept; the environment variable PLIANT_CACHE overrides the platform's place."""
    given = os.environ.get("PLIANT_CACHE")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pliant"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "pliant" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pliant"


def fetch(key: str) -> tuple[dict[str, Any], bytes] | None:
    """Description and machine code of an entry, or None if it is not there or damaged."""
    try:
        path = folder() / f"{key}.bin"
        content = path.read_bytes()
    except (OSError, RuntimeError):
        return None
    head = len(MAGIC) + 32
    magic, checksum, payload = content[: len(MAGIC)], content[len(MAGIC) : head], content[head:]
    if magic != MAGIC or hashlib.sha256(payload).digest() != checksum:
        return None
    with suppress(OSError):
        os.utime(path)
    size = int.from_bytes(payload[:4], "little")
    description: dict[str, Any] = json.loads(payload[4 : 4 + size])
    return description, payload[4 + size :]


def keep(key: str, description: dict[str, Any], code: bytes) -> None:
    """Store an entry; silently does nothing where the folder cannot be written."""
    text = json.dumps(description).encode()
    payload = len(text).to_bytes(4, "little") + text + code
    temporary = ""
    try:
        place = folder()
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
        os.replace(temporary, place / f"{key}.bin")
        _prune(place)
    except (OSError, RuntimeError):
        with suppress(OSError):
            os.unlink(temporary)


def _prune(place: Path) -> None:
    total = 0
    for path in sorted(place.glob("*.bin"), key=lambda file: file.stat().st_mtime, reverse=True):
        total += path.stat().st_size
        if total > LARGEST:
            path.unlink(missing_ok=True)
