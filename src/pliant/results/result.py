"""The result of a run: named channels, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pliant.dynamics import Dynamics
from pliant.model.notebook import html_page, made_by
from pliant.results.channels import (
    FRAME_PARTS,
    Channel,
    Quantities,
    all_channels,
    default_channels,
    effort_names,
    frame_channel,
)
from pliant.results.samples import Extreme, Floats, RunInfo, Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import Dataset

    from pliant.analysis.along import AlongBeam
    from pliant.analysis.link_stress import StressPeak
    from pliant.identification.log import Log
    from pliant.identification.log_comparison import LogComparison
    from pliant.model.description.robot import Robot
    from pliant.pictures.canvas import View
    from pliant.results.storage import RunRecord
    from pliant.viewer.server import Viewer

LEAST_PIXELS, MOST_PIXELS = 160, 8000


class NotebookFilm:
    """A film in three dimensions that a notebook plays in a frame of its own."""

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def _repr_html_(self) -> str:
        from html import escape

        style = f"width: 100%; height: {int(self.height)}px; border: 0"
        return f'<iframe srcdoc="{escape(self.page)}" sandbox="allow-scripts" style="{style}"></iframe>'


class Result:
    """A run of a robot. ``run["elbow"]`` is a channel; ``run.channels`` lists them all.

    robot    the robot that moved
    samples  the sampled motion
    info     how the run went
    """

    def __init__(self, robot: Robot, samples: Samples, info: RunInfo, arm: Dynamics | None = None) -> None:
        self.robot, self.samples, self.info = robot, samples, info
        self._arm = arm
        self._computed: dict[str, Floats] = {}

    def __repr__(self) -> str:
        state = "" if self.info.finished else f", {self.info.ended}"
        return f"Result({self.info.name!r}, {self.robot.name!r}, {self.time[-1]:g} s, {len(self)} samples{state})"

    def _repr_html_(self) -> str:
        info = self.info
        facts = [f"{info.ended}; integrator {info.method}; {len(self.channels)} channels", *self.warnings]
        shown = [c for c in self.listed if c.name in default_channels(self)]
        rows = [(c.name, c.unit, c.meaning) for c in shown]
        return html_page(repr(self), ("channel", "unit", "what it is"), rows, facts)

    def __getstate__(self) -> dict[str, Any]:
        # machine code and what can be computed again stay here
        return {"robot": self.robot, "samples": self.samples, "info": self.info}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self.samples)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        same = self.robot == other.robot and self.info == other.info and self.samples == other.samples
        return same and self.info.study == other.info.study

    __hash__ = None  # type: ignore[assignment]

    @property
    def arm(self) -> Dynamics:
        """The dynamics of the robot, made when first needed."""
        if self._arm is None:
            self._arm = Dynamics(self.robot, method=self.info.dynamics)
            if self._arm.size != self.q.shape[1]:
                raise ValueError(
                    f"the run has {self.q.shape[1]} coordinates; its robot '{self.robot.name}' has {self._arm.size}"
                )
        return self._arm

    @property
    def time(self) -> Floats:
        """Times of the samples, s (N,)."""
        return self.samples.time

    @property
    def q(self) -> Floats:
        """Coordinates (N, n), in the order of ``arm.names``."""
        return self.samples.q

    @property
    def v(self) -> Floats:
        """Rates of the coordinates (N, n)."""
        return self.samples.v

    @property
    def tau(self) -> Floats:
        """Efforts of the inputs (N, inputs)."""
        return self.samples.tau

    @property
    def finished(self) -> bool:
        """Whether the run reached its end."""
        return self.info.finished

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know about the run."""
        return self.info.warnings

    # ---- channels

    def __getitem__(self, name: str) -> Floats:
        if name not in self._computed:
            self._computed[name] = self.channel(name).compute()
        return self._computed[name]

    def __contains__(self, name: str) -> bool:
        try:
            self.channel(name)
        except KeyError:
            return False
        return True

    def unit(self, name: str) -> str:
        """The unit of a channel."""
        return self.channel(name).unit

    @property
    def channels(self) -> dict[str, str]:
        """Names of the channels and what they are, with units; every frame has more (``LINK.FRAME.position``)."""
        return {c.name: f"{c.meaning}{f', {c.unit}' if c.unit else ''}" for c in self._listed.values()}

    @property
    def listed(self) -> list[Channel]:
        """The channels themselves, with units and meanings."""
        return list(self._listed.values())

    @property
    def efforts(self) -> list[str]:
        """Names of the channels with the torques and forces of the motors."""
        return effort_names(self.arm)

    def extreme(self, name: str) -> Extreme:
        """Least and largest value of a channel, of a vector its length, and when.

        Joint positions, efforts, deflections and slopes of links, deviations of the shown frames and strains are
        followed between the samples too; of all other channels the samples count.
        """
        if name in self.info.extremes:
            return self.info.extremes[name]
        values = self[name]
        size = values if values.ndim == 1 else np.linalg.norm(values.reshape(len(self), -1), axis=1)
        low, high = int(size.argmin()), int(size.argmax())
        return Extreme(float(size[low]), float(self.time[low]), float(size[high]), float(self.time[high]))

    @cached_property
    def quantities(self) -> Quantities:
        """What follows from the motion, as arrays."""
        return Quantities(self.robot, self.samples, self.arm, self.info.loaded, self.info.states)

    @cached_property
    def _listed(self) -> dict[str, Channel]:
        return all_channels(self.quantities, self.info)

    def channel(self, name: str) -> Channel:
        """A channel with its unit and meaning; raises KeyError if there is none.

        Beside the listed ones: those of every frame, an entry of a vector (``upper.deflection.z``), and ``FRAME.x``,
        ``.y``, ``.z`` for a position.
        """
        found = self._found(name)
        if found is None:
            from pliant.errors import did_you_mean

            raise KeyError(f"the run has no channel '{name}'{did_you_mean(name, self._listed)}")
        return found

    def _found(self, name: str) -> Channel | None:
        head, _, part = name.rpartition(".")
        if part in ("position", "rotation") and self._is_frame(head):
            # nothing else is called so: the list of all others is not needed
            return frame_channel(self.quantities, head, part)
        if part in ("x", "y", "z") and head.endswith(".position") and self._is_frame(head.removesuffix(".position")):
            return frame_channel(self.quantities, head.removesuffix(".position"), "position").entry(part, name)
        if name in self._listed:
            return self._listed[name]
        if part in FRAME_PARTS:
            return frame_channel(self.quantities, head, part)
        whole = self._found(head) if head else None
        if whole is None and part in ("x", "y", "z") and self._is_frame(head):
            whole = frame_channel(self.quantities, head, "position")
        return None if whole is None else whole.entry(part, name)

    def _is_frame(self, name: str) -> bool:
        try:
            self.arm.mechanism.frame(name)
        except KeyError:
            return False
        return True

    def along(self, link: str) -> AlongBeam:
        """Shape, strains, forces, moments and the largest stress of the sections along a beam at each sample."""
        return self.quantities.along(link)

    def stress_peaks(self) -> dict[str, StressPeak]:
        """Link -> its largest stress over all samples: value, sample, place, utilisation."""
        return self.quantities.stress_peaks()

    # ---- looking and keeping

    def plot(
        self,
        path: str | Path | None = None,
        *,
        channels: Sequence[str] | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Joint positions, deflections, torques, energies and the spectrum of the vibration left over.

        path      PNG, SVG or PDF file to write
        channels  these instead, one panel for each: "tip.z", "shoulder.torque"
        size      width and height, inches
        """
        from pliant.results.plots import plot_channels, plot_run

        file = None if path is None else Path(path)
        return plot_run(self, file, size) if channels is None else plot_channels(self, channels, file, size)

    def draw(
        self,
        path: str | Path | None = None,
        *,
        view: View | None = None,
        size: tuple[float, float] | None = None,
        exaggeration: float = 1.0,
    ) -> Figure:
        """A picture of the moving robot.

        path          PNG, SVG or PDF file to write
        view          xy, xz, yz, corner, or azimuth and elevation in degrees; default: what shows the motion best
        size          width and height, inches
        exaggeration  factor of what bending does
        """
        from pliant.results.plots import motion_figure

        file = None if path is None else Path(path)
        return motion_figure(self, file, view=view, size=size, exaggeration=exaggeration)

    def save(self, path: str | Path, *, channels: bool = True) -> None:
        """Write the run to an HDF5 file, with its robot and study; ``results/storage.py`` describes its layout.

        channels  whether every channel is written too, with unit and time axis, for other programs
        """
        from pliant.results.storage import save_run

        save_run(self.record(channels=channels), Path(path))

    def record(self, *, channels: bool = True) -> RunRecord:
        """The run as plain data, with all extremes between the samples; ``save`` writes it.

        channels  whether every channel is in it; of a motion that diverged some do not exist
        """
        from pliant.results.storage import RunRecord, StoredChannel

        found = []
        for channel in self.listed if channels else ():
            with suppress(ArithmeticError, ValueError):
                found.append(StoredChannel(channel.name, channel.unit, channel.meaning, self[channel.name]))
        self.info = self.info.settled()
        names, inputs = self.arm.names, self.arm.inputs
        data = self.info.as_data()
        return RunRecord(self.robot.to_yaml(), self.info.study, data, names, inputs, self.samples, tuple(found))

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a run from an HDF5 file."""
        from pliant.results.storage import load_run

        return load_run(Path(path))

    def to_csv(self, path: str | Path, channels: list[str] | None = None) -> None:
        """Write channels as columns of a CSV file; default: coordinates, rates, torques, tip, energies."""
        from pliant.results.storage import write_csv

        write_csv(self, Path(path), channels)

    def to_dataframe(self, channels: list[str] | None = None) -> DataFrame:
        """Channels as columns of a pandas table over time; ``attrs["units"]`` has their units."""
        from pliant.results.tables import dataframe

        return dataframe(self, channels)

    def to_xarray(self, channels: list[str] | None = None) -> Dataset:
        """Channels as arrays of an xarray Dataset over time, each with unit and meaning; default: all of them."""
        from pliant.results.tables import dataset

        return dataset(self, channels)

    def report(self, path: str | Path, beside: Sequence[Result] = ()) -> None:
        """Write one HTML page with plots, tables and a film in three dimensions; it needs no network.

        beside  further runs: the page then compares them with this one
        """
        if beside:
            from pliant.results.comparison import named, write_comparison

            write_comparison(named([self, *beside]), Path(path))
            return
        from pliant.results.report import write_report

        write_report(self, Path(path))

    def compare(
        self,
        log: Log,
        channels: Mapping[str, str] | None = None,
        *,
        windows: Sequence[tuple[float, float]] = (),
        removed: Literal["nothing", "mean", "median", "trend"] = "nothing",
        delay: float = 0.0,
    ) -> LogComparison:
        """How far the run is from what was measured, channel by channel and window by window.

        channels  channel of the run -> channel of the log; default: those that both have
        windows   times from and to, s; default: the time that both have
        removed   taken away from both before they are compared: nothing, mean, median or trend (a straight line)
        delay     time by which the log is behind the run, s
        """
        how: Any = {"windows": windows, "removed": removed, "delay": delay}
        found: LogComparison = made_by("identification.log_comparison", "compare_with_log")(self, log, channels, **how)
        return found

    def view(self, *others: Result, port: int = 8080, browser: bool = True) -> Viewer:
        """Play the run in three dimensions in the browser, on this computer only (needs viser: pip install viser).

        others   further runs, played over it in other colours
        port     where the scene is served; the next free one if it is taken
        browser  whether the browser is opened; otherwise ``url`` of what is returned has the address
        """
        shown: Viewer = made_by("viewer.server", "view_runs")([self, *others], port=port, browser=browser)
        return shown

    def film(self, height: int = 640) -> NotebookFilm:
        """The film in three dimensions for a notebook, which shows it so many pixels high."""
        from pliant.results.report import film_page

        return NotebookFilm(film_page(self), height)

    def animate(
        self,
        path: str | Path,
        *,
        seconds: float | None = None,
        view: View | None = None,
        size: tuple[int, int] | None = None,
        exaggeration: float = 1.0,
    ) -> None:
        """Write a film of the moving robot: GIF, MP4 (needs ffmpeg) or HTML.

        seconds       length of the film; default: the simulated time, at most 20 s
        view          xy, xz, yz, corner, or azimuth and elevation in degrees; default: what shows the motion best
        size          width and height, pixels
        exaggeration  factor of what bending does

        On a page (HTML) the reader plays, turns and exaggerates the film: these are then left out.
        """
        from pliant.pictures.animation import LONGEST, check_film, draw_film

        length, file = min(self.time[-1], LONGEST) if seconds is None else seconds, Path(path)
        check_film(file, length)
        if size is not None and not all(isinstance(x, int) and LEAST_PIXELS <= x <= MOST_PIXELS for x in size):
            raise ValueError(f"size is {size}; width and height must be {LEAST_PIXELS} to {MOST_PIXELS} pixels")
        if file.suffix.lower() != ".html":
            more: dict[str, Any] = {"view": view, "size": size, "exaggeration": exaggeration}
            draw_film(self.arm, self.time, self.q, file, length, self.info.name, **more)
            return
        if seconds is not None or view is not None or size is not None or exaggeration != 1:
            raise ValueError(f"{file}: on a page the reader plays, turns and exaggerates the film; leave these out")
        from pliant.results.report import write_film_page

        write_film_page(self, file)
