"""How far a run is from what was measured: channel by channel, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError, did_you_mean, listing, require_word
from pliant.identification.log import Log
from pliant.identification.rings import Ring, find_ring
from pliant.model.notebook import html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.results.result import Result

Floats = NDArray[np.float64]
Removed = Literal["nothing", "mean", "median", "trend"]

REMOVED: tuple[Removed, ...] = ("nothing", "mean", "median", "trend")
LEAST_SAMPLES = 4


class ChannelComparison(NamedTuple):
    """A channel beside a measurement in a window of time.

    channel   of the run; measured: that of the log
    start, end  of the window, s
    samples   that were compared
    nrmse     |measured - run| / |measured|, of what is left when the offset is removed
    rms       root mean square of the difference, in the unit of the channel
    lag       time by which the run would have to be later to fit best, s
    run, log  the strongest vibration of both in the window; None where there is none
    """

    channel: str
    measured: str
    start: float
    end: float
    samples: int
    nrmse: float
    rms: float
    lag: float
    run: Ring | None
    log: Ring | None

    @property
    def frequency_error(self) -> float:
        """Frequency of the run over the measured one, less one; NaN where one of them does not ring."""
        return self.run.hertz / self.log.hertz - 1.0 if self.run and self.log else np.nan

    @property
    def amplitude_ratio(self) -> float:
        """Amplitude of the run over the measured one at the start of the window."""
        return self.run.size / self.log.size if self.run and self.log else np.nan

    @property
    def phase_error(self) -> float:
        """Phase of the run before the measured one at the start of the window, rad, -pi to pi."""
        if not (self.run and self.log):
            return np.nan
        return float((self.run.phase - self.log.phase + np.pi) % (2 * np.pi) - np.pi)


@dataclass(frozen=True, eq=False)
class LogComparison:
    """A run beside a log; rows are channels and windows."""

    run: Result
    log: Log
    rows: tuple[ChannelComparison, ...]
    removed: Removed
    delay: float

    def __iter__(self) -> Iterator[ChannelComparison]:
        return iter(self.rows)

    def __getitem__(self, channel: str) -> ChannelComparison:
        """The first row of a channel, by its name in the run or in the log."""
        for row in self.rows:
            if channel in (row.channel, row.measured):
                return row
        known = dict.fromkeys(name for row in self.rows for name in (row.channel, row.measured))
        raise KeyError(f"'{channel}' was not compared{did_you_mean(channel, known)}")

    HEAD = ("channel", "window s", "NRMSE", "rms", "Hz", "measured", "size", "phase", "damping", "measured")

    def table(self) -> list[tuple[str, ...]]:
        """Rows of text under ``HEAD``."""
        return [_words(row) for row in self.rows]

    def _repr_html_(self) -> str:
        return html_page(f"{self.run.info.name} beside {self.log.name}", self.HEAD, self.table(), self.log.remarks())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Both over time, a panel for each channel; path: PNG, SVG or PDF file to write."""
        from pliant.pictures.canvas import new_figure, save

        names = list(dict.fromkeys((row.channel, row.measured) for row in self.rows))
        figure = new_figure(9.0, 2.2 * len(names) + 0.6)
        for k, (channel, measured) in enumerate(names, 1):
            axes = figure.add_subplot(len(names), 1, k)
            rows = [row for row in self.rows if row.channel == channel]
            t, y, d = compared(self.run, self.log, channel, measured, rows[0].start, rows[-1].end, self.delay)
            axes.plot(t, without(d, t, self.removed), color="0.55", linewidth=1.6, label=f"{measured}, measured")
            axes.plot(t, without(y, t, self.removed), color="C0", linewidth=0.9, label=channel)
            unit = self.run.unit(channel)
            axes.set_ylabel(f"{channel}{f', {unit}' if unit else ''}")
            axes.legend(loc="upper right", fontsize="small", title=f"NRMSE {rows[0].nrmse:.3g}")
        figure.axes[-1].set_xlabel("time, s")
        if path is not None:
            save(figure, Path(path))
        return figure


def compare_with_log(
    run: Result,
    log: Log,
    channels: Mapping[str, str] | None = None,
    *,
    windows: Sequence[tuple[float, float]] = (),
    removed: Removed = "nothing",
    delay: float = 0.0,
) -> LogComparison:
    """A run beside measurements.

    channels  channel of the run -> channel of the log; default: those that both have
    windows   times from and to, s; default: the time that both have
    removed   what is taken away from both before they are compared: nothing, mean, median or a straight line (trend)
    delay     time by which the log is behind the run, s
    """
    require_word("removed", removed, REMOVED)
    pairs = dict(channels) if channels is not None else {name: name for name in log.channels if name in run}
    if not pairs:
        raise ModelError(f"the run and log '{log.name}' have no channel in common; the log has {listing(log.channels)}")
    for own, theirs in pairs.items():
        if own not in run:
            raise ModelError(f"the run has no channel '{own}'{did_you_mean(own, run.channels)}")
        if theirs not in log:
            raise ModelError(f"log '{log.name}' has no channel '{theirs}'{did_you_mean(theirs, log.channels)}")
    common = max(float(log.time[0]) - delay, float(run.time[0])), min(float(log.time[-1]) - delay, float(run.time[-1]))
    spans = list(windows) or [common]
    rows = [_row(run, log, pair, span, removed, delay) for pair in pairs.items() for span in spans]
    return LogComparison(run, log, tuple(rows), removed, delay)


def compared(
    run: Result, log: Log, channel: str, measured: str, start: float, end: float, delay: float
) -> tuple[Floats, Floats, Floats]:
    """Times within a window at which the log has samples, and both channels there; samples that are missing are not."""
    values = run[channel]
    if values.ndim != 1:
        raise ModelError(f"channel '{channel}' has {values.shape[1]} parts; name one of them, such as '{channel}.x'")
    t = log.time - delay
    inside = (t >= max(start, run.time[0])) & (t <= min(end, run.time[-1])) & np.isfinite(log[measured])
    return t[inside], np.interp(t[inside], run.time, values), log[measured][inside]


def without(y: Floats, t: Floats, removed: Removed) -> Floats:
    """Samples without their mean, median or straight line."""
    if removed == "mean":
        return np.asarray(y - y.mean())
    if removed == "median":
        return np.asarray(y - np.median(y))
    if removed == "trend":
        return np.asarray(y - np.polyval(np.polyfit(t, y, 1), t))
    return y


def _row(
    run: Result, log: Log, pair: tuple[str, str], span: tuple[float, float], removed: Removed, delay: float
) -> ChannelComparison:
    channel, measured = pair
    start, end = span
    t, y, d = compared(run, log, channel, measured, start, end, delay)
    if len(t) < LEAST_SAMPLES:
        raise ModelError(
            f"'{measured}' of log '{log.name}' has {len(t)} samples from {start:g} to {end:g} s that the run covers; "
            f"at least {LEAST_SAMPLES} are compared"
        )
    y, d = without(y, t, removed), without(d, t, removed)
    apart, size = float(np.linalg.norm(d - y)), float(np.linalg.norm(d))
    nrmse = apart / size if size > 0 else np.inf
    rms = apart / np.sqrt(len(t))
    lag = _lag(t, y, d)
    return ChannelComparison(
        channel, measured, start, end, len(t), nrmse, float(rms), lag, find_ring(t, y), find_ring(t, d)
    )


def _lag(t: Floats, y: Floats, d: Floats) -> float:
    """By how much y would have to be later to be nearest to d where both are, s.

    Shifts are whole samples, at most a twentieth of the window, and between them a parabola decides.
    """
    step = float(np.median(np.diff(t)))
    even = np.arange(t[0], t[-1] + step / 2, step)
    a, b = np.interp(even, t, y - y.mean()), np.interp(even, t, d - d.mean())
    n, most = len(even), max(len(even) // 20, 1)
    products = np.fft.irfft(np.fft.rfft(b, 2 * n) * np.conj(np.fft.rfft(a, 2 * n)), 2 * n)
    # sums of squares of the first k samples
    own, theirs = (np.concatenate([[0.0], np.cumsum(x * x)]) for x in (a, b))
    shifts = np.arange(-most, most + 1)
    first, last = np.maximum(-shifts, 0), np.minimum(n - shifts, n)
    squares = own[last] - own[first] + theirs[last + shifts] - theirs[first + shifts] - 2 * products[shifts]
    apart = squares / (last - first)
    k = int(np.argmin(apart))
    if not 0 < k < len(shifts) - 1:
        return float(shifts[k]) * step
    before, here, after = apart[k - 1 : k + 2]
    bend = before - 2 * here + after
    return float(shifts[k] + (0.5 * (before - after) / bend if bend > 0 else 0.0)) * step


def _words(row: ChannelComparison) -> tuple[str, ...]:
    run, log = row.run, row.log
    both = run is not None and log is not None
    return (
        row.channel if row.channel == row.measured else f"{row.channel} ({row.measured})",
        f"{row.start:g}–{row.end:g}",
        f"{row.nrmse:.3f}",
        f"{row.rms:.3g}",
        f"{run.hertz:.4g}" if run else "",
        f"{log.hertz:.4g}" if log else "",
        f"{row.amplitude_ratio:.3f}" if both else "",
        f"{np.degrees(row.phase_error):.1f}°" if both else "",
        f"{100 * run.zeta:.2f} %" if run else "",
        f"{100 * log.zeta:.2f} %" if log else "",
    )
