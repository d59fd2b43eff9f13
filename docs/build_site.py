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
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
STAGE, SITE = ROOT / "out" / "site-pages", ROOT / "out" / "site"
TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "RELEASING.md": "releasing.md",
}
"""Pages of the project's root -> what they are called on the site."""
SEARCH = {"gallery.md": "exclude: true", "changes.md": "boost: 0.2", "releasing.md": "boost: 0.2"}
"""How the search ranks pages: the gallery repeats captions of all others, and changes have every word once."""
PROJECT_FILE = r"\[([^\]]+)\]\((?:\.\./)*(?:(?:examples|src|tests|benchmarks)/[^)]*|LICENSE|CITATION\.cff)\)"
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
        if file.suffix in (".png", ".svg", ".gif", ".json", ".css"):
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
    for page, rank in SEARCH.items():
        text = (folder / page).read_text("utf-8")
        (folder / page).write_text(f"---\nsearch:\n  {rank}\n---\n{text}", encoding="utf-8")


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


def methods() -> Iterator[tuple[str, str, Any]]:
    """Class, name and function of every public method and property of the public classes that are no files' parts."""
    from pydantic import BaseModel

    for owner, thing in public():
        if inspect.isclass(thing) and not issubclass(thing, BaseModel):
            for name, method in _own_members(thing):
                yield owner, name, method


def _own_members(thing: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties, also those of its bases in this package, the class's own first."""
    seen: set[str] = set()
    for base in thing.__mro__:
        if not base.__module__.startswith("pliant"):
            continue
        for name, member in vars(base).items():
            shown = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            function = inspect.isfunction(shown) or isinstance(shown, property | cached_property)
            if function and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, shown


def python() -> str:
    """Every public function and class with its signature, what it says of itself, and its methods."""
    rooms: dict[str, list[str]] = {}
    for name, thing in public():
        module = str(getattr(thing, "__module__", "pliant.formulations"))
        room = module.removeprefix("pliant.").partition(".")[0]
        rooms.setdefault(room, []).append(_entry(name, thing))
    lines = ["# Python", "", "Everything of `import pliant`, room by room ([the house](../architecture.md)).", ""]
    lines += [
        "Numbers are in SI units, shapes of arrays stand in parentheses: `(N, n)` are N samples of n coordinates.",
        "",
    ]
    for room, entries in rooms.items():
        lines += [f"## {room}", "", *entries]
    from pliant import screws

    own = [(name, getattr(screws, name)) for name in screws.__all__]
    lines += ["## screws", "", "With `from pliant import screws` ([how they are used](../theory/screws.md)).", ""]
    lines += [_entry(name, thing) for name, thing in own if callable(thing)]
    return "\n".join(lines)


def _entry(name: str, thing: Any) -> str:
    if not callable(thing):
        return f"### {name}\n\n{', '.join(f'`{word}`' for word in thing)}\n"
    from pydantic import BaseModel

    if inspect.isclass(thing) and issubclass(thing, BaseModel):
        return f"### {name}\n\n{_said(thing)}\n\nIts keys: [{name}](keys.md#{name.lower()}).\n"
    error = inspect.isclass(thing) and issubclass(thing, Exception)
    call = [] if error else ["```python", f"{name}{_signature(thing)}", "```", ""]
    lines = [f"### {name}", "", *call, _said(thing), ""]
    if inspect.isclass(thing) and not error:
        for inner, method in _own_members(thing):
            given = isinstance(method, property | cached_property)
            shown = f"{name}.{inner}" if given else f"{name}.{inner}{_signature(method)}"
            lines += ["```python", shown, "```", "", _said(method), ""]
    return "\n".join(lines)


def _signature(thing: Any) -> str:
    """Without the module names that annotations of strings do not have; several lines where it is long."""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"
    text = re.sub(r"(?:pliant|numpy|collections|pathlib|typing)(?:\.\w+)*\.(?=\w)", "", text).replace("(self, ", "(")
    # annotations are texts; defaults keep their quotes
    text = re.sub(r"""(: |-> )(?:'([^']*)'|"([^"]*)")""", lambda m: m[1] + (m[2] or m[3]), text.replace("(self)", "()"))
    if len(text) <= SHORT:
        return text
    # one argument per line; commas inside brackets stay
    inner, _, gives = text[1:].rpartition(")")
    arguments = re.split(r", (?![^\[(]*[\])])", inner)
    return "(\n    " + ",\n    ".join(arguments) + f",\n){gives}"


SHORT = 76
"""Characters of a signature on one line."""
LISTED = re.compile(r"^(?P<name>[\w.*/]+(?:, [\w.*/]+)*) {2,}(?P<meaning>\S.*)$")


def _said(thing: Any) -> str:
    """A docstring; its aligned lists become tables."""
    text = inspect.getdoc(thing.func if isinstance(thing, cached_property) else thing) or ""
    return "\n\n".join(_paragraph(part) for part in text.split("\n\n"))


def _paragraph(text: str) -> str:
    rows: list[list[str]] = []
    for line in text.splitlines():
        if found := LISTED.match(line):
            rows.append([found["name"], found["meaning"]])
        elif rows and line.startswith("  "):
            rows[-1][1] += f" {line.strip()}"
        else:
            return _plain(text)
    table = [f"| `{name}` | {_plain(meaning)} |" for name, meaning in rows]
    return "\n".join(["| name | what it is |", "|---|---|", *table])


def _plain(text: str) -> str:
    """Words of a docstring as Markdown; what stands in code stays."""
    parts = re.split(r"(``?[^`]+``?)", text)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"([<|*_$])", lambda m: {"<": "&lt;", "$": "&#36;"}.get(m[1], "\\" + m[1]), parts[k])
    return "".join(part.replace("``", "`") if k % 2 else part for k, part in enumerate(parts))


def keys() -> str:
    """The keys of every part of a robot or study file, with units and defaults."""
    from pydantic import BaseModel

    from pliant.model.element import key_list

    lines = ["# Keys", "", "The keys of every part of a robot or a study, as `help()` lists them.", ""]
    for name, thing in public():
        if inspect.isclass(thing) and issubclass(thing, BaseModel):
            lines += [f"## {name}", "", "```text", key_list(thing), "```", ""]
    return "\n".join(lines)


PICTURE = re.compile(r"!\[(?P<words>[^\]]*)\]\((?P<place>[^)]+\.(?:png|gif|svg))\)")


def gallery(folder: Path) -> str:
    """All pictures, each with the page that tells of it; films last."""
    lines = [
        "# Gallery",
        "",
        "Every picture was made by the program; the page below it says how.",
        "",
        '<div class="gallery">',
    ]
    shown: dict[Path, tuple[str, str, str]] = {}
    # the examples first; a page tells more of a picture than the start page does
    pages = sorted(folder.rglob("*.md"), key=lambda page: (page.name != "examples.md", page.name == "index.md", page))
    for page in pages:
        text = page.read_text("utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        for found in PICTURE.finditer(text):
            picture = (page.parent / found["place"]).resolve()
            where = page.relative_to(folder).with_suffix(".html").as_posix()
            shown.setdefault(picture, (found["words"], where, title))
    for picture, (words, where, title) in sorted(shown.items(), key=lambda each: each[0].suffix != ".png"):
        place = picture.relative_to(folder.resolve()).as_posix()
        caption = f'{escape(words)}<br><a href="{where}">{escape(title)}</a>'
        lines.append(
            f'<figure><a href="{place}"><img src="{place}" alt="{escape(words)}" loading="lazy"></a>'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return "\n".join([*lines, "</div>", ""])


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page, as Markdown makes them."""
    found = re.findall(
        r"^#{1,6} (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    words = [re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower() for heading in found]
    return {re.sub(r"[-\s]+", "-", word) for word in words}


if __name__ == "__main__":
    main()
