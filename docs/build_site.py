"""The documentation as a site: pages, a reference made from the program itself, a gallery; built without network.

Run by ``make docs``. Pages are staged first, since those at the root of the project belong to the site too;
formulas become MathML, which browsers show without help.
"""

import inspect
import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
STAGE, SITE = ROOT / "out" / "site-pages", ROOT / "out" / "site"
TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Pages of the project's root -> what they are called on the site."""
PROJECT_FILE = r"\[([^\]]+)\]\((?:\.\./)*(?:(?:examples|src|tests|benchmarks)/[^)]*|LICENSE)\)"
"""A link to a file that is no page: it is named only."""


def main() -> None:
    """Stage all pages and build the site."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stage(STAGE)
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml")))
    sys.stdout.write(
        f"the site is in {SITE.relative_to(ROOT)}; to search it: python -m http.server -d {SITE.relative_to(ROOT)}\n"
    )


def stage(folder: Path) -> None:
    """All pages and pictures in one folder, ready for mkdocs."""
    shutil.rmtree(folder, ignore_errors=True)
    for file in sorted(DOCS.rglob("*")):
        place = folder / file.relative_to(DOCS)
        if file.suffix in (".png", ".svg", ".gif", ".json"):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        elif file.suffix == ".md":
            _write(
                place if file != DOCS / "index.md" else folder / "overview.md", _inner(file.read_text("utf-8"), file)
            )
    for name, page in TOP.items():
        _write(folder / page, _outer((ROOT / name).read_text("utf-8")))
    for name, text in (("commands", commands()), ("python", python()), ("keys", keys())):
        _write(folder / "reference" / f"{name}.md", text)
    _write(folder / "gallery.md", gallery(folder))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(mathematics(text), encoding="utf-8")


def _inner(text: str, file: Path) -> str:
    """Links of a page in docs/ to those at the root."""
    up = "../" * (len(file.relative_to(DOCS).parts) - 1)
    for name, page in TOP.items():
        text = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}", f"]({up}{page}", text)
    text = re.sub(PROJECT_FILE, r"\1", text)
    return text.replace("](index.md", "](overview.md") if file.parent == DOCS else text


def _outer(text: str) -> str:
    """Links of a page at the root: into docs/ they go straight, files of the project are named only."""
    text = text.replace("](docs/index.md", "](overview.md").replace("](docs/", "](")
    for name, page in TOP.items():
        text = text.replace(f"]({name}", f"]({page}")
    return re.sub(PROJECT_FILE, r"\1", text)


def mathematics(text: str) -> str:
    """Formulas between dollars as MathML; code is left alone."""
    from latex2mathml.converter import convert

    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"\$\$(.+?)\$\$", lambda m: convert(m[1].strip(), display="block"), parts[k], flags=re.DOTALL)
        parts[k] = re.sub(r"(?<!\\)\$([^$\n]+)\$", lambda m: convert(m[1]), parts[k])
    return "".join(parts)


# ---------------------------------------------------------------- the reference


def commands() -> str:
    """Every command with its arguments and options, as the program itself knows them."""
    from typer.main import get_command

    from pliant.cli.app import app

    codes = "Exit codes: 0 all well, 1 the surroundings or a check failed, 2 wrong input."
    lines = ["# Commands", "", f"All commands answer `--help`. {codes}", ""]
    group: Any = get_command(app)
    for name, command in group.commands.items():
        lines += [f"## pliant {name}", "", str(command.help or "").strip(), "", "| | |", "|---|---|"]
        for parameter in command.params:
            option = parameter.opts[0].startswith("-")
            words = ", ".join(
                f"`{word}`" for word in (parameter.opts if option else [parameter.metavar or parameter.name])
            )
            told = str(getattr(parameter, "help", "") or "").replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| {words} | {told} |")
        lines.append("")
    return "\n".join(lines)


def public() -> Iterator[tuple[str, Any]]:
    """The public names in their order, by the module that is their home."""
    import pliant

    for name in pliant.__all__:
        if name != "__version__":
            yield name, getattr(pliant, name)


def python() -> str:
    """Every public function and class with its signature, what it says of itself, and its methods."""
    rooms: dict[str, list[str]] = {}
    for name, thing in public():
        module = str(getattr(thing, "__module__", "pliant.formulations"))
        room = module.removeprefix("pliant.").partition(".")[0]
        rooms.setdefault(room, []).append(_entry(name, thing))
    lines = ["# Python", "", "Everything of `import pliant`, room by room.", ""]
    for room, entries in rooms.items():
        lines += [f"## {room}", "", *entries]
    return "\n".join(lines)


def _entry(name: str, thing: Any) -> str:
    if not callable(thing):
        return f"### {name}\n\n{_said(thing)}\n"
    lines = [f"### {name}", "", "```text", f"{name}{_signature(thing)}", "```", "", _said(thing), ""]
    from pydantic import BaseModel

    if inspect.isclass(thing) and not issubclass(thing, BaseModel):
        for inner, method in vars(thing).items():
            if not inner.startswith("_") and (callable(method) or isinstance(method, property | classmethod)):
                shown = method.__func__ if isinstance(method, classmethod) else method
                call = "" if isinstance(shown, property) else _signature(shown)
                lines += [f"**{name}.{inner}**{_escaped(call)}", "", _said(shown), ""]
    return "\n".join(lines)


def _signature(thing: Any) -> str:
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"


def _escaped(text: str) -> str:
    return f" `{text}`" if text else ""


def _said(thing: Any) -> str:
    """A docstring; its aligned lists keep their shape."""
    text = inspect.getdoc(thing) or ""
    head, _, rest = text.partition("\n")
    return f"{head}\n\n```text\n{rest.strip()}\n```" if rest.strip() else head


def keys() -> str:
    """The keys of every part of a robot or study file, with units and defaults."""
    from pydantic import BaseModel

    from pliant.model.key_list import key_list

    lines = ["# Keys", "", "The keys of every part of a robot or a study, as `help()` lists them.", ""]
    for name, thing in public():
        if inspect.isclass(thing) and issubclass(thing, BaseModel):
            lines += [f"## {name}", "", "```text", key_list(thing), "```", ""]
    return "\n".join(lines)


def gallery(folder: Path) -> str:
    """All pictures; each was made by the program."""
    lines = ["# Gallery", "", "Every picture was made by the program; `make docs` makes them anew.", ""]
    for picture in sorted(folder.rglob("*.png")):
        place = picture.relative_to(folder).as_posix()
        lines += [f"![{picture.stem.replace('-', ' ')}]({place})", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
