"""Pages whose code runs: Python, commands and files in Markdown, with the output that the program gives.

A page is executed from top to bottom in a folder of its own. A ``yaml`` block below a line that ends in a file name and
a colon (``File `boom.yaml`:``) is written to that file; ``python`` blocks share their names; ``console`` blocks begin
with ``$ pliant ...``. What they print stands in the ``text`` block below them, or in the console block itself.
"""

import io
import os
import re
import shlex
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^(?P<head>[^\n]*\n\n?)?^```(?P<kind>python|console|yaml)\n(?P<body>.*?)^```\n(?P<output>```text\n.*?^```\n)?",
    flags=re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"`([\w./-]+\.ya?ml)`[^`\n]*:\s*$")


class PageError(Exception):
    """A block of a page does not run."""


def executed(text: str, folder: Path) -> str:
    """The page with the output that its blocks give when they run in a folder."""
    names: dict[str, Any] = {"__name__": "page"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        return BLOCK.sub(lambda match: _block(match, names), text)
    finally:
        os.chdir(before)


def _block(match: re.Match[str], names: dict[str, Any]) -> str:
    head, kind, body = match["head"] or "", match["kind"], match["body"]
    if kind == "yaml":
        if named := FILE.search(head.strip()):
            Path(named[1]).write_text(body, encoding="utf-8")
        return match[0]
    if kind == "console":
        command = body.partition("\n")[0]
        if not command.startswith("$ pliant "):
            return match[0]
        return f"{head}```console\n{command}\n{_command(shlex.split(command)[2:])}```\n"
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(body, "page", "exec"), names)
    except Exception:
        raise PageError(f"this block does not run:\n{body}\n{traceback.format_exc()}") from None
    out = f"```text\n{printed.getvalue()}```\n" if printed.getvalue() else ""
    return f"{head}```python\n{body}```\n{out}"


def _command(words: list[str]) -> str:
    from typer.testing import CliRunner

    from pliant.cli.app import app

    done = CliRunner().invoke(app, words)
    if done.exit_code not in (0, 2) or (done.exception and not isinstance(done.exception, SystemExit)):
        raise PageError(f"`pliant {shlex.join(words)}` failed:\n{done.output}{done.exception!r}")
    return str(done.stdout)


def main() -> None:
    """Renew the pages that are named, in place, and the pictures that they make."""
    import shutil
    import tempfile

    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(executed(page.read_text("utf-8"), Path(folder)), encoding="utf-8")
            for picture in Path(folder).glob("*.png"):
                shutil.copy(picture, page.parent / picture.name)


if __name__ == "__main__":
    main()
