"""``pliant reproduce``: the published results of a paper, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import PAGE_WIDTH, ForceOption, refuse


def reproduce(
    paper: Annotated[str | None, typer.Argument(metavar="PAPER", help="Such as lin-lewis; none: list them.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the files that are written.")] = Path("out"),
    force: ForceOption = False,
) -> None:
    """Compute the results of a paper again, print them beside the published ones and write the files."""
    import sys
    from importlib import import_module

    papers = _papers()
    if paper is None:
        for name, summary in papers.items():
            typer.echo(f"{name:14} {summary}")
        return
    if paper not in papers:
        from pliant.errors import did_you_mean

        hint = did_you_mean(paper, papers) or f"; papers: {', '.join(papers)}"
        refuse(f"there is no paper '{paper}'{hint}")
    out.mkdir(parents=True, exist_ok=True)
    from rich.console import Console

    width = None if sys.stdout.isatty() else PAGE_WIDTH
    module = import_module(f"pliant.reproduce.{paper.replace('-', '_')}")
    module.main(out, Console(width=width, highlight=False, emoji=False))


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
