"""Compiled modules on disk, in a private folder of the user's cache.

Machine code is run as it is found, so it must be our own: the folder belongs to the user and no one else can write to
it, and an entry carries its key and a digest under a secret of that folder, which only its owner can read. An entry is
written to a temporary file and moved into place, so that processes cannot see each other's halves. Whatever is odd, of
another owner, under another name or damaged, is made anew; a cache that cannot be used is no error, only slower.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pliant.files import open_own, write_bytes

PACKAGE = Path(__file__).parents[2]
_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)*", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*from (pliant[\w.]*) import (?:\(([^)]*)\)|(.*))", re.MULTILINE)


def source_digest(modules: Iterable[str]) -> str:
    """A digest of the text of modules and of everything of the package that they import, of the engine always."""
    return _source_digest(tuple(sorted({*modules, *_engine()})))


@cache
def _source_digest(modules: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for path in sorted(closure(modules)):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def _engine() -> tuple[str, ...]:
    """All modules that trace and compile."""
    return tuple(
        ".".join(("pliant", *path.relative_to(PACKAGE).with_suffix("").parts))
        for path in sorted((PACKAGE / "engine").rglob("*.py"))
    )


def closure(modules: Iterable[str]) -> set[Path]:
    """Files of modules and of all that they import, wherever the imports stand."""
    found: set[Path] = set()
    left = [path for path in map(_file, modules) if path is not None]
    while left:
        path = left.pop()
        if path not in found:
            found.add(path)
            left += _imported(path)
    return found


@cache
def _imported(path: Path) -> tuple[Path, ...]:
    return tuple(file for name in _names(path.read_text(encoding="utf-8")) if (file := _file(name)) is not None)


def _names(text: str) -> Iterator[str]:
    """Modules that a text imports when it runs; what is taken from a module may be a module itself."""
    for home, several, one in _IMPORT.findall(_TYPES.sub("", text)):
        yield home
        for part in (several or one).split(","):
            yield f"{home}.{part.partition(' as ')[0].strip()}"


@cache
def _file(module: str) -> Path | None:
    """The file of a module of this package; None for names that are none, and for the package itself."""
    parts = module.split(".")[1:]
    place = PACKAGE.joinpath(*parts)
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if parts and path.is_file():
            return path
    return None


MAGIC = b"pliant-2"
LARGEST = 256 * 2**20
"""Bytes kept; the oldest entries go first."""
SECRET, SECRET_SIZE = "secret", 32
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OWNERS: Any = {"follow": False, "mode": 0o600, "flush": False}
"""How entries are written: for their owner only; one that is lost with the power is made anew."""
_HEAD = len(MAGIC) + 32


def folder() -> Path:
    """Where compiled modules are kept; the environment variable PLIANT_CACHE overrides the platform's place."""
    given = os.environ.get("PLIANT_CACHE")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return _home() / "Library" / "Caches" / "pliant"
    if sys.platform == "win32":
        return (_absolute("LOCALAPPDATA") or _home()) / "pliant" / "cache"
    return (_absolute("XDG_CACHE_HOME") or _home() / ".cache") / "pliant"


def _absolute(variable: str) -> Path | None:
    """A folder that the system names; what is empty or relative does not count."""
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else None


def _home() -> Path:
    """The user's folder; raises RuntimeError where the system names none, or one that would lie in any other folder."""
    home = Path.home()
    if not home.is_absolute():
        raise RuntimeError(f"the home folder '{home}' is relative")
    return home


def fetch(key: str) -> tuple[dict[str, Any], bytes] | None:
    """Description and machine code of an entry, or None if there is none that is certainly our own."""
    try:
        place = private_folder()
        path = place / f"{key}.bin"
        content, digest_key = _own_bytes(path), _secret(place)
    except (OSError, RuntimeError):
        return None
    magic, digest, payload = content[: len(MAGIC)], content[len(MAGIC) : _HEAD], content[_HEAD:]
    if magic != MAGIC or not hmac.compare_digest(digest, _digest(digest_key, key, payload)):
        return None
    with suppress(OSError):
        os.utime(path)
    size = int.from_bytes(payload[:4], "little")
    description: dict[str, Any] = json.loads(payload[4 : 4 + size])
    return description, payload[4 + size :]


def keep(key: str, description: dict[str, Any], code: bytes) -> None:
    """Store an entry; silently does nothing where the folder cannot be written or is not private."""
    text = json.dumps(description).encode()
    payload = len(text).to_bytes(4, "little") + text + code
    try:
        place = private_folder(create=True)
        content = MAGIC + _digest(_secret(place, create=True), key, payload) + payload
        write_bytes(place / f"{key}.bin", content, **_OWNERS)
        _prune(place)
    except (OSError, RuntimeError):
        return


def _digest(secret: bytes, key: str, payload: bytes) -> bytes:
    # the key stands for structure, versions, source and processor: an entry under another name is another entry
    return hmac.digest(secret, key.encode() + b"\n" + payload, hashlib.sha256)


def private_folder(*, create: bool = False) -> Path:
    """The user's own folder in a cache that several may share; raises PermissionError if others can write to it."""
    place = folder() / (f"user-{os.geteuid()}" if sys.platform != "win32" else "user")
    if create:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    # a link would lead to a folder that someone else chose, though it be the user's own
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode) or not _is_own(found):
        raise PermissionError(f"{place} is not a private folder")
    return place


def _is_own(found: os.stat_result) -> bool:
    """Whether something is the user's and others cannot write to it; Windows has other means."""
    return sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS)


def _own_bytes(path: Path) -> bytes:
    """The content of a regular file of the user's own, which is no link to another place."""
    with open_own(path) as file:
        found = os.fstat(file.fileno())
        if not _is_own(found) or found.st_size > LARGEST:
            raise PermissionError(f"{path} is not a file of our own")
        return file.read()


def _secret(place: Path, *, create: bool = False) -> bytes:
    """What the digests of a folder are made with; one that others could have read is replaced."""
    path = place / SECRET
    try:
        secret = _own_bytes(path)
        hidden = sys.platform == "win32" or not os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        if len(secret) == SECRET_SIZE and hidden:
            return secret
    except OSError:
        if not create:
            raise
    if not create:
        raise PermissionError(f"{path} is not a secret")
    write_bytes(path, secrets.token_bytes(SECRET_SIZE), **_OWNERS)
    # of several processes that made one, the last counts
    return _own_bytes(path)


def _prune(place: Path) -> None:
    total = 0
    for path in sorted(place.glob("*.bin"), key=lambda file: file.stat().st_mtime, reverse=True):
        total += path.stat().st_size
        if total > LARGEST:
            path.unlink(missing_ok=True)
