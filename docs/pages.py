"""Pages whose code runs: Python, commands and files in Markdown, with the output that the program gives.

A page is executed from top to bottom in a folder of its own.

``python``   blocks share their names; what they print stands in the ``text`` block below
``console``  commands begin with ``$ pliant``; what they print stands below each
``yaml``     a robot, a study or a part of one (``docs/yaml_parts.py``); below a line that ends in a file name and a
             colon (``File `boom.yaml`:``) it is written to that file
``text``     output, or a drawing in letters; nothing to run

A comment right above a block changes that: ``<!-- silent -->`` runs it and does not show what it prints,
``<!-- not run: REASON -->`` leaves it alone. Every other fence is an error, so that no block goes untried.
``<!-- b.yaml is a.yaml with "x" -> "y", "z" -> "w" -->`` makes a file from another, ``<!-- arm.urdf is the package's
robots/six-dof.urdf -->`` copies one.
"""

import importlib.util
import io
import os
import re
import shlex
import sys
import traceback
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(
    r"(?P<head>^(?!```)[^\n]+\n\n?)?^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```\n(?P<output>```text\n.*?^```\n)?",
    flags=re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"`([\w./-]+\.ya?ml)`[^`\n]*:\s*$")
NOT_RUN = re.compile(r"<!-- not run: \S[^\n]* -->\s*$")
SILENT = re.compile(r"<!-- silent -->\s*$")
MADE = re.compile(r"<!-- (?P<new>[\w.-]+) is (?P<old>[\w.-]+) with (?P<changes>.+?) -->", re.DOTALL)
COPIED = re.compile(r"<!-- (?P<new>[\w.-]+) is the package's (?P<bundled>[\w./-]+) -->")
COMMAND = re.compile(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", re.MULTILINE)


class PageError(Exception):
    """A block of a page does not run."""


def executed(text: str, folder: Path) -> str:
    """The page with the output that its blocks give when they run in a folder."""
    names: dict[str, Any] = {"__name__": "page"}
    found = sorted((*MADE.finditer(text), *COPIED.finditer(text)), key=re.Match.start)
    made = {each.start(): each for each in found}
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return BLOCK.sub(lambda match: _block(match, names, made), text)
    finally:
        os.chdir(before)


def kinds(text: str) -> list[str]:
    """The language of every block of a page, in order."""
    return [match["kind"] for match in BLOCK.finditer(text)]


def _block(match: re.Match[str], names: dict[str, Any], made: dict[int, re.Match[str]]) -> str:
    head, kind, body = match["head"] or "", match["kind"], match["body"]
    for place in [place for place in made if place < match.start("body")]:
        _make(made.pop(place))
    if NOT_RUN.search(head):
        return match[0]
    silent = SILENT.search(head) is not None
    if kind == "yaml":
        named = FILE.search(head.strip())
        if named:
            Path(named[1]).write_text(body, encoding="utf-8")
        _part(body, Path(named[1]) if named else None)
        return match[0]
    if kind == "console":
        ran = _commands(body)
        return match[0] if silent else f"{head}```console\n{ran}```\n{match['output'] or ''}"
    if kind == "python":
        printed = _python(body, names)
        shown = f"```text\n{printed}```\n" if printed else ""
        return match[0] if silent else f"{head}```python\n{body}```\n{shown}"
    if kind == "text":
        return match[0]
    raise PageError(f"a block of kind '{kind}' is neither run nor marked <!-- not run: why -->:\n{body}")


def _make(found: re.Match[str]) -> None:
    """A file from another one by replacements, or one of the package."""
    if "bundled" in found.groupdict():
        import pliant

        Path(found["new"]).write_bytes((Path(pliant.__file__).parent / found["bundled"]).read_bytes())
        return
    text = Path(found["old"]).read_text("utf-8")
    for old, new in re.findall(r'"([^"]+)" -> "([^"]*)"', found["changes"]):
        if old not in text:
            raise PageError(f"{found['old']} has no {old!r}")
        text = text.replace(old, new)
    Path(found["new"]).write_text(text, encoding="utf-8")


def _python(body: str, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(body, "page", "exec"), names)
    except Exception:
        raise PageError(f"this block does not run:\n{body}\n{traceback.format_exc()}") from None
    return printed.getvalue()


def _commands(body: str) -> str:
    """The block with the output of each command."""
    if not body.startswith("$ pliant "):
        raise PageError(f"commands begin with '$ pliant':\n{body}")
    return COMMAND.sub(lambda match: f"$ {match[1]}\n{_command(match[1])}", body)


def _command(line: str) -> str:
    from typer.testing import CliRunner

    from pliant.cli.app import app

    words = shlex.split(line.replace("\\\n", " "), comments=True)
    if words[0] != "pliant":
        raise PageError(f"`{line}` is no command of pliant")
    done = CliRunner().invoke(app, words[1:])
    if done.exit_code not in (0, 2) or (done.exception and not isinstance(done.exception, SystemExit)):
        raise PageError(f"`{line}` failed:\n{done.output}{done.exception!r}")
    # 2 is the answer to wrong input, which a page may show
    if done.exit_code == 2 and not done.stdout:
        raise PageError(f"`{line}` is refused:\n{done.output}")
    return str(done.stdout)


def _part(body: str, path: Path | None) -> None:
    spec = importlib.util.spec_from_file_location("yaml_parts", HERE / "yaml_parts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    try:
        module.check(body, path)
    except Exception as error:
        raise PageError(f"this file is not taken:\n{body}\n{error}") from None


def main() -> None:
    """Renew the pages that are named, in place, and the pictures that they make."""
    import shutil
    import tempfile

    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            text = page.read_text("utf-8")
            page.write_text(executed(text, Path(folder)), encoding="utf-8")
            for picture in Path(folder).glob("*.png"):
                if f"]({picture.name})" in text:
                    shutil.copy(picture, page.parent / picture.name)


if __name__ == "__main__":
    main()
