"""``pliant compare``: how far a run is from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.terminal import ForceOption, check_folder, check_picture, emit, plain, refuse, table, tell

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="HDF5 file of a run.")]
LogArgument = Annotated[Path, typer.Argument(metavar="LOG", help="Measurements: CSV, MAT, HDF5 or NPZ.")]


def compare(
    run: RunArgument,
    log: LogArgument,
    channel: Annotated[
        list[str] | None,
        typer.Option(help="Channel of the run and of the log: sensor.gauge=d1; several. Default: equal names."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Channel of the log and its column, name or number: d1='Strain 1'; several. Default: all."),
    ] = None,
    unit: Annotated[
        list[str] | None, typer.Option(help="Channel of the log and the unit in the file: d1=deg; several.")
    ] = None,
    time: Annotated[
        str, typer.Option(help="Column of the time, or the time between two samples: 2ms. Default: t or time.")
    ] = "",
    window: Annotated[
        list[str] | None, typer.Option(help="Times from and to, s: 1.5:4; several. Default: all of it.")
    ] = None,
    remove: Annotated[
        str, typer.Option(help="Taken away from both before: nothing, mean, median or trend.")
    ] = "nothing",
    delay: Annotated[str, typer.Option(help="Time by which the log is behind the run: 20ms.")] = "0",
    plot: Annotated[Path | None, typer.Option(help="Both over time: PNG, SVG or PDF.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table as a CSV file.")] = None,
    force: ForceOption = False,
) -> None:
    """A run beside a measurement: differences, frequencies, amplitudes, phases and damping of each channel."""
    from pliant.identification.log import Log
    from pliant.identification.log_comparison import LogComparison, compare_with_log
    from pliant.results.result import Result

    check_picture(plot)
    if csv is not None:
        check_folder(csv, (".csv",), beginning=LogComparison.HEAD[0] + ",")
    columns = {name: int(given) if given.isdigit() else given for name, given in _pairs("--column", column).items()}
    read = Log.read(log, columns=columns or None, units=_pairs("--unit", unit), time=_clock(time))
    for remark in read.remarks():
        tell(f"warning: log '{read.name}': {remark}", "yellow")
    found = compare_with_log(
        Result.load(run),
        read,
        _pairs("--channel", channel) or None,
        windows=[_window(each) for each in window or []],
        removed=remove,  # type: ignore[arg-type]  # it is checked there
        delay=_seconds("--delay", delay),
    )
    rows = table(*(plain(each) for each in found.HEAD))
    for row in found.table():
        rows.add_row(*(plain(each) for each in row))
    emit(f"[bold]{plain(found.run.info.name)}[/] beside {plain(read.name)}", rows)
    for each in found:
        if abs(each.lag) > 2 * read.step and each.nrmse > 0.1:
            tell(f"'{each.measured}' fits best where the run is later by {each.lag:.3g} s", "yellow", err=False)
    if csv is not None:
        from pliant.results.tables import write_rows

        write_rows(csv, found.HEAD, found.table())
        typer.echo(f"written to {csv}")
    if plot is not None:
        found.plot(plot)
        typer.echo(f"written to {plot}")


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    out = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not (name.strip() and sign and value.strip()):
            refuse(f"{option} is '{text}'; it must be NAME=VALUE")
        out[name.strip()] = value.strip()
    return out


def _window(text: str) -> tuple[float, float]:
    start, sign, end = text.partition(":")
    try:
        span = float(start), float(end)
    except ValueError:
        span = (0.0, 0.0)
    if not sign or not span[0] < span[1]:
        refuse(f"--window is '{text}'; it must be two times in s that increase, such as 1.5:4")
    return span


def _clock(text: str) -> str | int | float | None:
    """A time between samples where the text is one, else a column."""
    if not text:
        return None
    try:
        return _in_seconds(text)
    except ValueError:
        return text


def _seconds(option: str, text: str) -> float:
    try:
        return _in_seconds(text)
    except ValueError as error:
        refuse(f"{option} is '{text}': {error}")


def _in_seconds(text: str) -> float:
    """A time from a number in s or with a unit; raises ValueError."""
    from pliant.model.units import parse

    try:
        return float(text)
    except ValueError:
        value, dimension = parse(text)
    if dimension != parse("1 s")[1]:
        raise ValueError("it is no time")
    return float(value)
