"""What a run leaves behind: numbers at sampled times, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Samples:
    """The sampled motion; rows are times.

    time       s                            (N,)
    q, v       coordinates and rates        (N, n)
    tau        efforts of the inputs        (N, inputs)
    force      forces of loads              (N, n), or (N, 0) without any
    work       work of the motors, work of the loads, energy lost by friction and damping, J   (N, 3)
    reference  desired positions            (N, inputs), or (N, 0) without any
    wrenches   forces and moments of loads on ``RunInfo.loaded``, base axes (N, 6 frames); default: none
    states     of the drive and of loads, ``RunInfo.states``  (N, states); default: none
    stored     energy that the drive and loads hold, J        (N, 1); default: none
    """

    time: Floats
    q: Floats
    v: Floats
    tau: Floats
    force: Floats
    work: Floats
    reference: Floats
    wrenches: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    states: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    stored: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        for name, width in (("wrenches", 0), ("states", 0), ("stored", 1)):
            if not getattr(self, name).size:
                object.__setattr__(self, name, np.zeros((len(self.time), width)))

    def __len__(self) -> int:
        return len(self.time)

    def arrays(self) -> dict[str, Floats]:
        """All arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        theirs = other.arrays()
        return all(np.array_equal(a, theirs[name]) for name, a in self.arrays().items())

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def join(cls, parts: list[Samples]) -> Samples:
        """Parts one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = [f.name for f in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Strain:
    """A place on a beam where the strain is wanted."""

    name: str
    link: str
    x: float
    y: float
    z: float


class Extreme(NamedTuple):
    """Least and largest value of a quantity, and when."""

    least: float
    least_at: float
    most: float
    most_at: float


@dataclass(frozen=True)
class RunInfo:
    """How a run went.

    name        of the study
    source      gives its text (YAML), which is ``study``: most runs are never written down
    method      the integrator, and why it was taken (reason)
    tolerance   relative error of a step
    statistics  steps, rejected steps, evaluations, matrices, smallest and largest step
    finished    whether the end of the study was reached
    ended       how it ended, in words
    events      what happened: time, name, value
    warnings    what the user should know
    frames      frames that plots and tables show
    loaded      frames on which loads act
    states      names and units of the states of the drive and of loads
    strains     places where strains are wanted
    channels    what tables show; empty: the usual
    seconds     processing time of the run, set-up included
    version     of Pliant
    extremes    name -> least and largest value between the samples too; vectors by their length
    dynamics    the method that computed the motion
    """

    name: str
    source: Callable[[], str] = field(repr=False, compare=False)
    method: str
    reason: str
    tolerance: float
    until: float
    statistics: dict[str, float] = field(default_factory=dict)
    finished: bool = True
    ended: str = ""
    events: tuple[tuple[float, str, float], ...] = ()
    warnings: tuple[str, ...] = ()
    frames: tuple[str, ...] = ("tip",)
    loaded: tuple[str, ...] = ()
    states: tuple[tuple[str, str], ...] = ()
    strains: tuple[Strain, ...] = ()
    channels: tuple[str, ...] = ()
    seconds: float = 0.0
    version: str = ""
    extremes: Mapping[str, Extreme] = field(default_factory=dict)
    dynamics: str = "recursive"

    @cached_property
    def study(self) -> str:
        """The text of the study (YAML)."""
        return self.source()

    def settled(self) -> RunInfo:
        """With extremes that were not looked for yet, and the text of the study, as data from here on."""
        text = self.study
        return replace(self, extremes=dict(self.extremes), source=lambda: text)

    def __reduce__(self) -> tuple[Any, ...]:
        # the study is kept as text
        return RunInfo.from_data, (self.as_data(),)

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file."""
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "source"}
        plain = {"strains": [asdict(strain) for strain in self.strains], "extremes": dict(self.extremes)}
        return {**data, **plain, "study": self.study}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> RunInfo:
        """How a run went, from plain data; keys of later versions are left out."""
        known = {f.name for f in fields(cls)}
        kept = {key: value for key, value in data.items() if key in known}
        text = str(data.get("study", ""))
        kept["source"] = lambda: text
        for key in ("name", "method", "reason", "ended", "version"):
            kept[key] = str(kept.get(key, ""))
        for key in ("tolerance", "until", "seconds"):
            kept[key] = float(kept.get(key, 0.0))
        kept["statistics"] = {str(name): float(x) for name, x in kept.get("statistics", {}).items()}
        kept["events"] = tuple((float(t), str(name), float(x)) for t, name, x in kept.get("events", ()))
        kept["strains"] = tuple(
            Strain(str(s["name"]), str(s["link"]), *(float(s[axis]) for axis in "xyz")) for s in kept.get("strains", ())
        )
        kept["extremes"] = {
            str(name): Extreme(*(float(x) for x in row)) for name, row in kept.get("extremes", {}).items()
        }
        kept["states"] = tuple((str(name), str(unit)) for name, unit in kept.get("states", ()))
        for key in ("warnings", "frames", "loaded", "channels"):
            kept[key] = tuple(str(text) for text in kept.get(key, ()))
        return cls(**kept)
