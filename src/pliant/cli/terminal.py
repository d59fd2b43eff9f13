"""What the commands share: where text goes, how numbers look, how loads and rates are given, how a command ends."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Self

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import ProgressColumn
    from rich.table import Table

    from pliant.dynamics import Dynamics

# exit codes: 0 all well, 1 the surroundings failed (disk, permissions), 2 wrong input
FAILED, WRONG_INPUT = 1, 2
# columns of output that goes into a file or another program
PAGE_WIDTH = 110


def robot_names(beginning: str) -> list[str]:
    """Bundled robots that begin so, for the completion of a shell."""
    from pliant.model.readers.library import robots

    return [name for name, _ in robots() if name.startswith(beginning)]


def study_names(beginning: str) -> list[str]:
    """Bundled studies that begin so."""
    from pliant.simulation.study import bundled_studies

    return [name for name, _ in bundled_studies() if name.startswith(beginning)]


RobotArgument = Annotated[
    str,
    typer.Argument(metavar="ROBOT", help="A robot file or the name of a bundled robot.", autocompletion=robot_names),
]


def emit(*parts: RenderableType) -> None:
    """Print texts and tables; in a file or a pipe without colours, and with lines of a fixed width."""
    from rich.console import Console

    to_terminal = sys.stdout.isatty()
    console = Console(width=None if to_terminal else PAGE_WIDTH, highlight=False, emoji=False)
    for i, part in enumerate(parts):
        with console.capture() as page:
            console.print(part)
        text = page.get() if to_terminal else "\n".join(line.rstrip() for line in page.get().splitlines())
        typer.echo(("\n" if i else "") + text.rstrip("\n"), color=to_terminal)


def plain(text: str) -> str:
    """A text of the user inside our own, which may have markup for bold words."""
    from rich.markup import escape

    from pliant.errors import printable

    return escape(printable(text))


def tell(message: str, colour: str = "red", *, err: bool = True) -> None:
    """A line for people, mostly beside the output; what a file put into it does not steer the terminal."""
    from pliant.errors import printable

    typer.secho(printable(message), fg=colour, err=err)


def table(*columns: str, words: int = 1) -> Table:
    """A table without vertical rules; the first columns hold words, the others numbers."""
    from rich import box
    from rich.table import Table

    rows = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        rows.add_column(column, justify="left" if i < words else "right", no_wrap=i == 0)
    return rows


def number(value: float | None, digits: int = 4) -> str:
    """A number for a table; nothing for None."""
    if value is None:
        return ""
    # adding zero turns -0 into 0; five and six digits read better than an exponent
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e6 else f"{value + 0.0:.{digits}g}"


def refuse(message: str) -> NoReturn:
    """End because of what the user asked for."""
    tell(message)
    raise typer.Exit(WRONG_INPUT)


def said(error: Exception) -> str:
    """What an error says: of a KeyError without the quotes that Python puts around it."""
    return str(error.args[0]) if isinstance(error, KeyError) else str(error)


def warn(texts: Iterable[str]) -> None:
    """Say what needs care, beside the output."""
    for text in texts:
        tell(f"warning: {text}", "yellow")


def replacing(given: bool) -> bool:
    """Let files be replaced that Pliant did not write, if the user has said so."""
    from pliant.files import allow_replacing

    allow_replacing(allowed=given)
    return given


ForceOption = Annotated[
    bool, typer.Option("--force", callback=replacing, help="Replace files that Pliant did not write.")
]


def check_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be written before anything is computed."""
    if path is None:
        return
    from pliant.pictures.canvas import PICTURES

    check_folder(path, PICTURES, "a picture")


def check_film(path: Path | None) -> None:
    """Refuse a film that cannot be made before anything is computed."""
    if path is None:
        return
    from pliant.pictures.animation import FILMS, check_film

    check_folder(path, FILMS, "a film")
    try:
        check_film(path)
    except RuntimeError as error:
        refuse(str(error))


def check_folder(path: Path, endings: tuple[str, ...], what: str = "the file", *, beginning: str = "") -> None:
    """Refuse a file with another ending, in a folder that does not exist, or that would replace another's.

    beginning  how a file of ours begins, where that is known and tells more than its mark
    """
    if endings and path.suffix.lower() not in endings:
        refuse(f"{path}: {what} must end in {', '.join(endings)}")
    if path.is_dir():
        refuse(f"{path}: this is a folder")
    if not path.parent.is_dir():
        refuse(f"{path}: the folder {path.parent} does not exist")
    check_replaced(path, beginning)


def check_replaced(path: Path, beginning: str = "") -> None:
    """Refuse to replace a file that Pliant did not write, unless the user has said so."""
    from pliant.errors import ModelError
    from pliant.files import MARKLESS, refuse_foreign

    if beginning or path.suffix.lower() not in MARKLESS:
        try:
            refuse_foreign(path, beginning.encode())
        except ModelError as error:
            refuse(str(error))


BAR = 30
"""Characters of a bar."""


class ProgressBar:
    """A bar on a terminal; ``interrupted`` tells that the user wants an end, a second interrupt does not wait.

    total    what a whole bar is; None: not known yet
    columns  templates of what stands beside the bar, with the fields of the task
    """

    def __init__(self, quiet: bool, total: float | None, *columns: str, **fields: Any) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True, highlight=False)
        shown: list[ProgressColumn] = [BarColumn(bar_width=BAR), *(TextColumn(text) for text in columns)]
        self.bar = Progress(*shown, console=console, transient=True, disable=quiet or not console.is_terminal)
        self.task = self.bar.add_task("", total=total, **fields)
        self.interrupted = False

    def __enter__(self) -> Self:
        self._before = [(s, signal.signal(s, self._interrupt)) for s in (signal.SIGINT, signal.SIGTERM)]
        self.bar.start()
        return self

    def __exit__(self, *what: object) -> None:
        self.bar.stop()
        for s, handler in self._before:
            signal.signal(s, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            # the second one does not wait
            raise KeyboardInterrupt
        self.interrupted = True


# ---- wrenches


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
