"""``pliant reproduce``: the published results of a paper, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import FAILED, PAGE_WIDTH, ForceOption, emit, plain, refuse, table, tell

if TYPE_CHECKING:
    from pliant.reproduce.claim import Claim


def reproduce(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help="Such as lin-lewis; none: list them.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All papers, one after the other.")] = False,
    numbers: Annotated[bool, typer.Option("--numbers", help="Check the numbers only; no tables and figures.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the files that are written.")] = Path("out"),
    force: ForceOption = False,
) -> None:
    """Compute the results of a paper again, beside the published ones; exit code 1 if a number has moved."""
    papers = _papers()
    if paper is not None and every:
        refuse(f"'{paper}' and --all are both given; name one paper, or ask for all")
    if paper is not None and paper not in papers:
        from pliant.errors import did_you_mean

        hint = did_you_mean(paper, papers) or f"; papers: {', '.join(papers)}"
        refuse(f"there is no paper '{paper}'{hint}")
    if paper is None and not every:
        if numbers:
            refuse("--numbers checks those of a paper; name it, or give --all")
        for name, summary in papers.items():
            typer.echo(f"{name:14} {summary}")
        return
    moved = [claim for name in (papers if every else [str(paper)]) for claim in _run(name, out, numbers=numbers)]
    for claim in moved:
        allowed = "must differ" if claim.wrong else f"allowed {claim.tolerance:.1e}"
        tell(
            f"moved: {claim.case}: {claim.what}: {claim.ours:.9g} {claim.unit}".rstrip()
            + f", expected {claim.theirs:.9g}; apart by {claim.deviation:.1e}, {allowed}"
        )
    if moved:
        raise typer.Exit(FAILED)


def _run(paper: str, out: Path, *, numbers: bool) -> list[Claim]:
    """Reproduce one paper and print its checked numbers; those that are not as they should be."""
    import sys
    from importlib import import_module

    module = import_module(f"pliant.reproduce.{paper.replace('-', '_')}")
    if not numbers:
        from rich.console import Console

        out.mkdir(parents=True, exist_ok=True)
        width = None if sys.stdout.isatty() else PAGE_WIDTH
        module.main(out, Console(width=width, highlight=False, emoji=False))
    found = list(module.claims())
    rows = table("number", "ours", "expected", "apart by", "allowed", "", words=1)
    for claim in found:
        name = claim.case.removeprefix("published.")
        apart = (f"{claim.deviation:.0e}", "" if claim.wrong else f"{claim.tolerance:.0e}")
        rows.add_row(plain(name), f"{claim.ours:.9g}", f"{claim.theirs:.9g}", *apart, claim.verdict)
    differing = [claim for claim in found if claim.verdict == "differs"]
    emit(rows, f"{paper}: {len(found)} numbers checked, {len(differing)} moved")
    return differing


def _papers() -> dict[str, str]:
    """Names of the papers with the first line of what their modules say; a module without ``main`` is no paper."""
    import ast
    from importlib.resources import files

    found = {}
    for file in sorted(files("pliant.reproduce").iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".py") or file.name.startswith("_"):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            summary = (ast.get_docstring(tree) or "").splitlines()[0].rstrip(".")
            found[file.name.removesuffix(".py").replace("_", "-")] = summary
    return found
