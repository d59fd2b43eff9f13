"""``pliant methods``: which methods take a robot, and why others do not."""

from __future__ import annotations

import typer

from pliant.cli.terminal import RobotArgument, emit, plain, table


def methods(robot: RobotArgument) -> None:
    """One table of all methods: what each is, whether it takes this robot, how exactly, and why not."""
    import pliant
    from pliant.analysis.method_table import method_table

    loaded = pliant.load(robot)
    rows = table("method", "takes it", "error", "what it is", words=4)
    listed = method_table(loaded)
    for each in listed:
        rows.add_row(each.name, "yes" if each.takes else "no", each.error if each.takes else "", plain(each.about))
    emit(f"[bold]{plain(loaded.name)}[/]: {sum(each.takes for each in listed)} of {len(listed)} methods take it", rows)
    for each in listed:
        if not each.takes:
            typer.echo(f"\n{each.name}: {each.reason}")
