"""What is kept of each run: ``max(tip.deflection)``, ``final(elbow)``, or the whole history of a channel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.dynamics import Dynamics
from pliant.errors import ModelError, did_you_mean, show
from pliant.results.channels import effort_names, parts
from pliant.results.result import Result

Floats = NDArray[np.float64]

_CALL = re.compile(r"(\w+)\((.*)\)")
_POSITION = re.compile(r"(.+)\.position(?:\.[xyz])?")


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


REDUCTIONS: dict[str, tuple[str, Callable[[Floats], float]]] = {
    "max": ("largest value", lambda x: float(x.max())),
    "min": ("least value", lambda x: float(x.min())),
    "peak": ("largest size, whatever its sign", lambda x: float(np.abs(x).max())),
    "range": ("largest minus least value", lambda x: float(np.ptp(x))),
    "mean": ("mean over the samples", lambda x: float(x.mean())),
    "rms": ("root of the mean square over the samples", _rms),
    "final": ("value at the end", lambda x: float(x[-1])),
    "first": ("value at the start", lambda x: float(x[0])),
}
"""Name -> what it is, and how it is computed from the samples."""
FOLLOWED = ("max", "min", "peak", "range")
"""Of these the run knows the value between its samples too, where it follows the channel."""


class Kept(NamedTuple):
    """One thing that is kept of a run.

    text       as the user wrote it
    reduction  one of REDUCTIONS, or none: the whole history
    channel    of the run
    """

    text: str
    reduction: str
    channel: str


def read_outputs(texts: str | Iterable[str]) -> tuple[Kept, ...]:
    """The outputs that a user asks for; whether the channels exist is seen at the first run."""
    found = []
    for text in [texts] if isinstance(texts, str) else texts:
        call = _CALL.fullmatch(text.strip())
        reduction, channel = (call[1], call[2].strip()) if call else ("", text.strip())
        if call and reduction not in REDUCTIONS:
            hint = did_you_mean(reduction, REDUCTIONS) or f"; there are {', '.join(REDUCTIONS)}"
            raise ModelError(f"output {show(text)}: there is no '{reduction}'{hint}")
        if not channel:
            raise ModelError(f"output {show(text)} names no channel; write it like max(tip.deflection) or elbow")
        found.append(Kept(text.strip(), reduction, channel))
    return tuple(found)


def followed(kept: Iterable[Kept]) -> set[str]:
    """The channels whose values between the samples matter."""
    return {one.channel for one in kept if one.reduction in FOLLOWED}


def placed_frames(kept: Iterable[Kept], arm: Dynamics) -> tuple[str, ...]:
    """The frames whose positions are kept, as ``FRAME.position`` or an entry of it."""
    found = (_POSITION.fullmatch(one.channel) for one in kept)
    known = (*arm.frames, "tip")
    return tuple(dict.fromkeys(match[1] for match in found if match and match[1] in known))


def default_outputs(arm: Dynamics, *, still: bool = False) -> tuple[Kept, ...]:
    """What is kept without being asked: the largest deflections and efforts, and where the tip ends."""
    efforts = effort_names(arm)
    if still:
        return read_outputs(["tip.position", "tip.deflection", *efforts])
    bent = [f"{link.name}.deflection" for link in arm.robot.links if link.is_flexible]
    texts = [*(f"max({name})" for name in bent), "max(tip.deflection)", *(f"peak({name})" for name in efforts)]
    return read_outputs([*texts, "final(tip.position.x)", "final(tip.position.y)", "final(tip.position.z)"])


def keep(run: Result, kept: Iterable[Kept], *, still: bool = False) -> dict[str, float | Floats]:
    """Name -> a number, or a history (N,) over the samples; of a state of rest everything is a number."""
    found: dict[str, float | Floats] = {}
    for one in kept:
        if one.reduction:
            found[one.text] = _reduced(run, one)
            continue
        columns = run[_known(run, one.channel)].reshape(len(run), -1)
        for k, part in enumerate(parts(columns.shape[1])):
            name = f"{one.text}{part}"
            found[name] = float(columns[-1, k]) if still else np.array(columns[:, k])
    return found


def unit_of(run: Result, one: Kept) -> str:
    """The unit of an output."""
    return run.unit(_known(run, one.channel))


def _known(run: Result, name: str) -> str:
    """The name of a channel, or of an entry of one; raises ModelError."""
    if name not in run:
        hint = did_you_mean(name, run.channels) or "; `pliant view RUN --channels` lists them"
        raise ModelError(f"the run has no channel '{name}'{hint}")
    return name


def _reduced(run: Result, one: Kept) -> float:
    name = one.channel if one.channel in run.info.extremes else _known(run, one.channel)
    if one.reduction in FOLLOWED:
        found = run.extreme(name)
        return {
            "max": found.most,
            "min": found.least,
            "peak": max(found.most, -found.least),
            "range": found.most - found.least,
        }[one.reduction]
    values = run[name]
    # of a vector its length
    size = values if values.ndim == 1 else np.linalg.norm(values.reshape(len(run), -1), axis=1)
    return REDUCTIONS[one.reduction][1](size)
