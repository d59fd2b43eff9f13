"""``pliant robots``: the robots that come with the package."""

from __future__ import annotations


def robots() -> None:
    """List the bundled robots; their names work wherever a file does."""
    import pliant
    from pliant.cli.terminal import emit, plain, table

    rows = table("robot", "description", words=2)
    for name, description in pliant.robots():
        rows.add_row(f"[bold]{plain(name)}[/]", plain(description))
    emit(rows)
