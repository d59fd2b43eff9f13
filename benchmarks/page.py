"""The figures of a run as Markdown, between two marks of a page: ``run.py --page docs/performance.md``."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from report import Row, Section, Sheet, digits, machine

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
HEADING = "\n### "
# what the page shows of a long section
SHOWN: dict[str, Callable[[Row], bool]] = {
    "rigid": lambda row: "workspace" not in row.what,
    "flexible": lambda row: row.case.startswith("all lengths"),
    "counts": lambda row: row.case.startswith("n = 8,"),
}
PICTURES = {
    "counts": ("Operations over the number of links", "operation-counts.png"),
    "simulation": ("Error over processor time", "work-precision.png"),
}


def parts(page: Path) -> tuple[str, str, str]:
    """What stands before, between and behind the marks; a page that does not exist yet is a title.

    ValueError where figures cannot be put.
    """
    if not page.parent.is_dir():
        raise ValueError(f"the page {page} cannot be written: there is no folder {page.parent}")
    if not page.exists():
        return "# Figures\n\n", "", "\n"
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the page {page} cannot be read: {error}") from None
    before, begin, rest = text.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page {page} has no place for figures: two lines {BEGIN} and {END}")
    return before, old, after


def update(page: Path, sections: list[Section], out: Path) -> None:
    """Replace the sections between the marks that were measured, each with the machine, and the pictures beside."""
    before, old, after = parts(page)
    head, *older = old.split(HEADING)
    blocks: dict[str, str] = {}
    for part in older:
        title, _, body = part.strip().partition("\n")
        # a machine that stood once above all sections
        blocks[title] = f"{head.strip()}\n\n{body.strip()}" if head.strip() else body.strip()
    for section in sections:
        blocks[section.title] = block(section)
    # the overview, if there is one, comes first
    overviews = {section.title: blocks.pop(section.title) for section in sections if not section.rows}
    blocks = overviews | blocks
    whole = "\n\n".join(f"### {title}\n\n{body.strip()}" for title, body in blocks.items())
    page.write_text(f"{before}{BEGIN}\n\n{whole}\n\n{END}{after}", encoding="utf-8")
    for section in sections:
        _, picture = PICTURES.get(section.name, ("", ""))
        if picture and (out / picture).exists():
            (page.parent / "pictures").mkdir(exist_ok=True)
            shutil.copy(out / picture, page.parent / "pictures" / picture)


def measured_on() -> str:
    """The processor and the versions."""
    known = machine()
    names = [
        name for name in ("python", "numpy", "llvm", "pin", "scipy", "exudyn", "mujoco", "casadi") if name in known
    ]
    versions = ", ".join(f"{name} {known[name]}" for name in names)
    return f"Processor type {known['processor']}, vectors of {known['lanes']} numbers; {versions}."


def block(section: Section) -> str:
    """One section below its title."""
    wanted = SHOWN.get(section.name, lambda row: True)
    parts = [f"{measured_on()}\n"]
    if section.name == "flexible":
        parts.append(_lengths(section))
    if section.rows:
        parts.append(_table(filter(wanted, section.rows)))
    parts += [_sheet(sheet) for sheet in section.sheets]
    if section.name in PICTURES:
        parts.append("![{}](pictures/{})\n".format(*PICTURES[section.name]))
    if section.notes:
        parts.append("\n".join(f"- {note}" for note in section.notes) + "\n")
    return "\n".join(parts)


def _table(rows: Iterable[Row]) -> str:
    lines = ["| case | what | ours | compared with | theirs | ratio | goal |"]
    lines.append("|---|---|---:|---|---:|---:|---|")
    for row in rows:
        theirs = "" if row.reference_value is None else f"{digits(row.reference_value)} {row.unit}".strip()
        goal = f"{row.goal} {'met' if row.met else '**missed**'}" if row.goal else ""
        ours = f"{digits(row.value)} {row.unit}".strip()
        columns = (row.case, row.what, ours, row.reference, theirs, row.ratio_text, goal)
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def _sheet(sheet: Sheet) -> str:
    lines = [f"**{sheet.title}**\n", f"| {' | '.join(sheet.columns)} |", "|---" * len(sheet.columns) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(line)} |" for line in sheet.lines)]) + "\n"


def _lengths(section: Section) -> str:
    """Evaluation per link and compilation, over the number of links."""
    found = {(row.case, row.what): row.value for row in section.rows}
    cases = [case.split(" links x ") for case, what in found if what == "evaluate"]
    lengths, elastic = (list(dict.fromkeys(int(x) for x in column)) for column in zip(*cases, strict=True))
    columns = [f"x {m}: ns per link | compile s | KB" for m in elastic]
    lines = ["| links | " + " | ".join(columns) + " |", "|---:" * (1 + 3 * len(elastic)) + "|"]
    for n in lengths:
        entries = []
        for m in elastic:
            case = f"{n} links x {m}"
            entries.append(digits(found[case, "evaluate"] / n))
            entries += [digits(found[case, what]) for what in ("compile", "machine code")]
        lines.append(f"| {n} | " + " | ".join(entries) + " |")
    return "\n".join(lines) + "\n"
