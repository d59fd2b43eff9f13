"""Loads and rates as options of commands: FRAME=FX,FY,FZ and JOINT=VALUE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import refuse

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics

LoadOption = Annotated[
    list[str] | None,
    typer.Option(help="A load FRAME=FX,FY,FZ[,MX,MY,MZ] along base axes, in N and N m; may be repeated."),
]
FollowerOption = Annotated[
    list[str] | None, typer.Option(help="The same along the axes of the frame, with which it turns.")
]
RateOption = Annotated[
    list[str] | None,
    typer.Option(help="A joint that turns steadily, JOINT=VALUE in rad/s or with a unit (60rpm); may be repeated."),
]


def loads_of(option: str, given: list[str]) -> dict[str, list[float]]:
    """Frame -> force, or force and moment."""
    read = {}
    for text in given:
        frame, _, values = text.partition("=")
        try:
            read[frame.strip()] = [float(x) for x in values.split(",")]
        except ValueError:
            refuse(f"{option} {text!r}: write it as FRAME=FX,FY,FZ with numbers in N")
    return read


def rates_of(arm: Dynamics, option: str, given: list[str]) -> dict[str, float]:
    """Joint -> rate; a number in rad/s or m/s, or text with a unit."""
    read = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            read[name.strip()] = float(arm.v({name.strip(): value.strip()})[arm.names.index(name.strip())])
        except ValueError as error:
            refuse(f"{option} {text!r}: {error.args[0]}")
    return read
