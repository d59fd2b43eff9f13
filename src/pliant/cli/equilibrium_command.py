"""``pliant equilibrium``: how far a robot sags, and what holds it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.modes_command import configuration_of
from pliant.cli.terminal import (
    FollowerOption,
    ForceOption,
    LoadOption,
    RateOption,
    check_folder,
    emit,
    loads_of,
    number,
    plain,
    rates_of,
    refuse,
    said,
    table,
    warn,
)

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.analysis.equilibrium import Equilibrium
    from pliant.dynamics import Dynamics


def equilibrium(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A robot file or the name of a bundled robot.")],
    at: Annotated[
        list[str] | None,
        typer.Option(help="Joint values of the configuration, such as elbow=-60deg; may be repeated."),
    ] = None,
    load: LoadOption = None,
    follower: FollowerOption = None,
    rate: RateOption = None,
    off: Annotated[
        bool, typer.Option("--off", help="The motors are off and all joints settle; default: the drives hold them.")
    ] = False,
    csv: Annotated[Path | None, typer.Option(help="Write all coordinates and efforts as a CSV file.")] = None,
    force: ForceOption = False,
) -> None:
    """The state of rest of a robot: how its links sag, and the efforts that hold it."""
    import numpy as np

    import pliant
    from pliant.analysis.equilibrium import state_of_rest
    from pliant.analysis.left_out import left_out, too_stiff
    from pliant.dynamics import Dynamics
    from pliant.model.description.plausible import description_limits

    if csv is not None:
        check_folder(csv, (".csv",), beginning="coordinate,value")
    loaded = pliant.load(robot)
    arm = Dynamics(loaded, compile="never")
    q = configuration_of(arm, at or [])
    loads, followers = loads_of("--load", load or []), loads_of("--follower", follower or [])
    rates = rates_of(arm, "--rate", rate or [])
    try:
        efforts = np.zeros(len(arm.inputs)) if off else None
        found = state_of_rest(arm, q, tau=efforts, loads=loads, followers=followers, rates=rates)
    except (ValueError, KeyError) as error:
        refuse(said(error))
    how = "motors off" if off else "drives hold the joints"
    how += "".join(f", {name} turns at {number(value)} rad/s" for name, value in rates.items())
    straight = np.where(np.isin(arm.names, loaded.joint_coordinates), found.q, 0.0)
    sag = 1e3 * (arm.pose("tip", found.q).position - arm.pose("tip", straight).position)
    bends = any(link.is_flexible for link in loaded.links)
    moved = f"bending moves the tip by ({_listed(sag)}) mm, base axes" if bends else "no link bends"
    tables = [_joints(arm, found)] if loaded.joint_coordinates else []
    tables += [_lines(found)] if found.pushes else []
    tables += [_links(arm, found)] if bends else []
    emit(f"[bold]{plain(loaded.name)}[/]: equilibrium, {how}; {moved}", *tables)
    joints = {name: float(q[arm.names.index(name)]) for name in loaded.joint_coordinates}
    richer = [] if rates or off else left_out(loaded, joints, loads=loads, followers=followers)
    warn([*description_limits(loaded), *found.warnings, *richer, *too_stiff(loaded)])
    if csv is not None:
        from pliant.results.tables import write_rows

        write_rows(csv, ("coordinate", "value", "unit", "effort", "effort unit"), found.rows())
        typer.echo(f"written to {csv}")


ROUNDING = 1e-12
"""Deflection over length, and turn in rad, below which there is none."""
LEAST_STRESS = 1e-3
"""Stress that is rounding, Pa."""


def _listed(values: Iterable[float]) -> str:
    return ", ".join(number(x) for x in _clean(values))


def _clean(values: Iterable[float]) -> list[float]:
    """Numbers, with what rounding leaves of zero as zero."""
    kept = [float(x) for x in values]
    largest = max((abs(x) for x in kept), default=0.0)
    return [0.0 if abs(x) < 1e-9 * largest else x for x in kept]


def _joints(arm: Dynamics, found: Equilibrium) -> Table:
    from math import degrees

    from pliant.joints.kind import EFFORTS

    rows = table("joint", "position", "effort that holds it", words=1)
    efforts = dict(zip(arm.inputs, _clean(found.tau), strict=True))
    units = {name: unit for link in arm.robot.links for name, unit in link.joint.units.items()}
    for name, own in units.items():
        value = float(found.q[arm.names.index(name)])
        value = 0.0 if abs(value) < 1e-12 else value
        where = f"{number(value)} m" if own == "m" else f"{number(degrees(value))} deg"
        _, unit = EFFORTS[own]
        effort = f"{number(efforts[name])} {unit}" if name in efforts else "passive"
        rows.add_row(name, where, effort)
    return rows


def _lines(found: Equilibrium) -> Table:
    rows = table("actuator", "push that holds its length", words=1)
    for name, push in found.pushes.items():
        rows.add_row(name, f"{number(push)} N")
    return rows


def _links(arm: Dynamics, found: Equilibrium) -> Table:
    import numpy as np

    from pliant.analysis.along import moving_links
    from pliant.analysis.link_stress import has_stress, peak_of, stresses_of
    from pliant.bodies.constants import deflection
    from pliant.pictures.picture_words import engineering

    acting = moving_links(arm, found)
    stressed = {name: stresses_of(arm, name, own) for name, own in acting.items() if has_stress(arm, name)}
    peaks = {name: peak_of(arm, name, acting[name], each) for name, each in stressed.items()}
    used = any(peak.strength is not None for peak in peaks.values())
    columns = ("link", "tip deflection mm", "tip turn deg", "deflection along its axes mm")
    further = [*(["largest stress", "at mm"] if stressed else []), *(["of yield %"] if used else [])]
    rows = table(*columns, *further, words=1)
    for member in arm.mechanism.members:
        if member.body.size:
            bent, turned = deflection(member.body, "tip", found.q[member.elastic])
            # what rounding leaves of nothing is nothing
            bent = bent * (np.linalg.norm(bent) > ROUNDING * arm.robot.link(member.name).length)
            turned = turned * (np.linalg.norm(turned) > ROUNDING)
            size, angle = 1e3 * float(np.linalg.norm(bent)), float(np.degrees(np.linalg.norm(turned)))
            most = [""] * len(further)
            if (peak := peaks.get(member.name)) is not None:
                value = peak.value if peak.value > LEAST_STRESS else 0.0
                place = peak.place if peak.principal is not None else peak.place[:1]
                most[:2] = engineering(value, "Pa"), _listed(1e3 * place) if value else ""
                if used and peak.utilisation is not None:
                    most[2] = number(100 * peak.utilisation if value else 0.0)
            rows.add_row(member.name, number(size), number(angle), _listed(1e3 * bent), *most)
    hidden = {name: each.left_out for name, each in stressed.items() if each.left_out}
    if hidden:
        counts = ", ".join(f"{name} {count}" for name, count in hidden.items())
        rows.caption = f"nodes next to rigid faces, where stress is singular, do not count: {counts}"
    return rows
