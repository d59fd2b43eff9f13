"""Where exported files go: checked before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from pliant.files import write_generated


def target(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """A path that can be written and ends as it must."""
    out = Path(path)
    if suffixes and out.suffix not in suffixes:
        raise ValueError(f"{out}: the file must end in {' or '.join(suffixes)}")
    if out.is_dir():
        raise ValueError(f"{out}: this is a folder; give the name of a file")
    if not out.parent.is_dir():
        raise ValueError(f"{out}: the folder {out.parent} does not exist")
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise ValueError(f"{out}: it cannot be written (no permission)")
    return out


def write(path: Path, text: str) -> None:
    """Write a text file, the same on every platform."""
    write_generated(path, text, newline="\n")
