"""``pliant body``: a STEP or STL file becomes a flexible link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pliant.cli.terminal import (
    FAILED,
    ForceOption,
    ProgressBar,
    check_folder,
    check_picture,
    emit,
    number,
    plain,
    refuse,
    table,
    tell,
    warn,
)

if TYPE_CHECKING:
    from pliant.model.readers.cad_links import SolidBody

STAGES = ("reading", "meshing", "matrices", "factor", "modes", "second order", "stress")
COARSE, ROUGH = 0.02, 0.05
"""Errors of the lowest frequencies that are told: of the mesh, and of coordinates left out."""
FIRST = 4


def body(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A STEP or STL file of one solid.")],
    root: Annotated[
        str | None, typer.Option(help="Face that is clamped to the joint: x=0, x=min, 'cylinder r=9mm', a name or #3.")
    ] = None,
    tip: Annotated[str | None, typer.Option(help="Face of the tip; x=0.6@0.6,0,0 with an origin.")] = None,
    frame: Annotated[list[str] | None, typer.Option(help="A further frame NAME:FACE; may be repeated.")] = None,
    material: Annotated[
        str, typer.Option(help="A name, or its keys, such as E=70GPa,nu=0.33,density=2700.")
    ] = "aluminium",
    maxh: Annotated[str, typer.Option(help="Largest size of elements, such as 10mm, or auto.")] = "auto",
    modes: Annotated[int | None, typer.Option(min=1, help="Coordinates to keep; default: as many as needed.")] = None,
    below: Annotated[str | None, typer.Option(help="Keep the modes below this frequency instead, as 2kHz.")] = None,
    interface: Annotated[
        str, typer.Option(help="rigid: faces of frames are rigid; average: frames follow their mean motion.")
    ] = "rigid",
    origin: Annotated[
        str, typer.Option(help="Origin of the link: that of the file, or the centre of the root.")
    ] = "file",
    unit: Annotated[str, typer.Option(help="Unit of lengths in an STL file.")] = "mm",
    converge: Annotated[bool, typer.Option(help="Mesh finer until the low frequencies stay within 0.5 %.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the link to this YAML file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw mesh and modes into this PNG, SVG or PDF file.")] = None,
    list_faces: Annotated[bool, typer.Option("--list-faces", help="List the faces of the part, and end.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress bar.")] = False,
    force: ForceOption = False,
) -> None:
    """Make a flexible link of a CAD file: it bends, stiffens under load and knows its stress."""
    from pliant.model.readers.cad_links import body as made_body

    check_picture(plot)
    if output is not None:
        check_folder(output, (".yaml", ".yml"), "the file of a link")
        check_folder(output.with_suffix(".npz"), (".npz",))
    if list_faces:
        _list(file, unit)
        return
    if root is None or tip is None:
        refuse("give the faces --root and --tip; --list-faces shows those of the part")
    size = None if maxh == "auto" else _quantity("--maxh", maxh, "m")
    highest = None if below is None else _quantity("--below", below, "Hz")
    with ProgressBar(quiet, len(STAGES), "{task.fields[stage]}", stage="") as bar:

        def progress(stage: str) -> None:
            if bar.interrupted:
                raise KeyboardInterrupt
            bar.bar.update(bar.task, completed=STAGES.index(stage), stage=stage)

        try:
            made = made_body(
                file, root=root, tip=tip, frames=_frames(frame or []), material=_material(material), maxh=size,
                modes=modes, below=highest, interface=interface, origin=origin, unit=unit, converge=converge,  # type: ignore[arg-type]
                progress=progress,
            )  # fmt: skip
            if output is not None:
                made.save(output)
        except KeyboardInterrupt:
            bar.bar.stop()
            tell("stopped; nothing was written", "yellow")
            raise typer.Exit(FAILED) from None
    _show(made)
    if output is not None:
        beside = output.with_suffix(".npz").name
        typer.echo(f"\nwritten to {output}, its stress to {beside}; robots name it: body: {output.name}")
    if plot is not None:
        from pliant.pictures.body_plot import draw_body

        draw_body(made, plot)
        typer.echo(f"drawn in {plot}")


def _list(file: Path, unit: str) -> None:
    from pliant.model.readers.cad_links import list_faces

    rows = table("#", "name", "surface", "area mm²", "centre mm", words=3)
    for face in list_faces(file, unit=unit):
        centre = ", ".join(f"{1e3 * x + 0.0:.4g}" for x in face.centroid.round(6))
        rows.add_row(str(face.number), plain(face.name), face.words, number(1e6 * face.area), centre)
    emit(f"[bold]{plain(file.name)}[/]: faces", rows)


def _show(made: SolidBody) -> None:
    from pliant.solid_mechanics.mode_words import told

    reduced = made.reduced
    mesh = reduced.solid.mesh
    refined = "" if not made.refined else f" (refined {made.refined} times: elements had folded)"
    lines = [
        f"[bold]{plain(made.name)}[/]: {len(reduced.names)} coordinates, clamped at its root",
        f"mass {made.mass:.6g} kg, of the file {made.cad_mass:.6g} kg ({made.mass / made.cad_mass - 1:+.2%})",
        f"mesh {len(mesh.tets)} tetrahedra up to {1e3 * made.maxh:.3g} mm, {3 * len(mesh.nodes)} unknowns{refined}",
    ]
    rows = table("coordinate", "mode", "Hz", "mesh", "left out", words=2)
    for name, hz, mesh_error, left in zip(
        reduced.names, reduced.basis.hz, reduced.mesh_error, reduced.truncation, strict=True
    ):
        rows.add_row(name, told(name), number(hz), f"{mesh_error:.2%}", f"{max(left, 0.0):.2%}")
    lost = table("frame", "force x", "y", "z", "moment x", "y", "z")
    for face, missing in zip(reduced.link.interfaces, reduced.compliance, strict=True):
        lost.add_row(face.name, *(f"{max(x, 0.0):.2%}" for x in missing))
    parts: list[Any] = ["\n".join(lines), rows, "static compliance of the frames that the coordinates leave out", lost]
    if len(made.meshes) > 1:
        history = table("elements mm", "unknowns", *(f"f{k + 1} Hz" for k in range(len(made.meshes[0][2]))), words=0)
        for maxh, unknowns, hz in made.meshes:
            history.add_row(number(1e3 * maxh), str(unknowns), *(number(x, 5) for x in hz))
        parts += ["finer meshes", history]
    emit(*parts)
    warn(_care(made))


def _care(made: SolidBody) -> list[str]:
    """What is rough about a link, with the option that cures it."""
    out = []
    coarse, rough = made.reduced.mesh_error[:FIRST].max(), made.reduced.truncation[:FIRST].max()
    if coarse > COARSE:
        out.append(
            f"the mesh may cost {coarse:.1%} of the first {FIRST} frequencies; --converge or a smaller --maxh helps"
        )
    if rough > ROUGH:
        out.append(f"coordinates left out cost {rough:.1%} of the first {FIRST} frequencies; ask for more --modes")
    return out


def _frames(given: list[str]) -> dict[str, str]:
    read = {}
    for text in given:
        name, colon, face = text.partition(":")
        if not colon or not name.strip() or not face.strip():
            refuse(f"--frame {text!r}: write it as NAME:FACE, such as sensor:x=300mm")
        read[name.strip()] = face.strip()
    return read


def _material(text: str) -> Any:
    """A name, or keys with values."""
    if "=" not in text:
        return text
    return {key.strip(): value.strip() for key, _, value in (part.partition("=") for part in text.split(","))}


def _quantity(option: str, text: str, unit: str) -> float:
    from pydantic_core import PydanticCustomError

    from pliant.model.units import Quantity

    try:
        return float(Quantity(unit).read(text, {"units": True}))
    except PydanticCustomError as error:
        refuse(f"{option} {text!r} {error.message()}")
