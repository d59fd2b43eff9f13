"""The progress bar of long commands, and the interrupt that ends them in order."""

from __future__ import annotations

import signal
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

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
