"""How things show themselves in a notebook: small tables here, pictures by the rooms that draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import import_module
from typing import Any

MOST_ROWS = 40


def html_page(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str] = ()) -> str:
    """A heading, notes and a table; a long table is cut and says by how much."""
    listed = list(rows)
    cut = len(listed) - MOST_ROWS
    lines = [f"<strong>{escape(title)}</strong>", *(f"<br>{escape(note)}" for note in notes), "<table>"]
    lines.append(f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>")
    lines += [f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in listed[:MOST_ROWS]]
    if cut > 0:
        lines.append(f'<tr><td colspan="{len(head)}">and {cut} more</td></tr>')
    return "\n".join([*lines, "</table>"])


def made_by(module: str, function: str) -> Callable[..., Any]:
    """A function of a later room, looked up when it is needed: a robot may be drawn, but knows no pictures."""
    found: Callable[..., Any] = getattr(import_module(f"pliant.{module}"), function)
    return found
