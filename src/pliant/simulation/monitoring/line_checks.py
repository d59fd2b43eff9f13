"""What to tell about actuators along lines after a run: pressures below zero, strokes that ended at their stops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pliant.results.result import Result

NEARLY = 1e-6
"""Part of its length by which an actuator may be beyond its bounds: rounding."""


def line_warnings(result: Result) -> Iterator[str]:
    """Sentences about actuators, each with its time."""
    time, states = result.time, dict(result.info.states)
    for actuator in result.robot.actuators:
        name = actuator.name
        for state in actuator.pushes.states():
            if state.unit != "Pa" or f"{name}.{state.name}" not in states:
                continue
            pressure = result[f"{name}.{state.name}"]
            if pressure.min() < 0.0:
                t = time[int(np.argmax(pressure < 0.0))]
                yield (
                    f"the pressure {state.name} of '{name}' is below that of the surroundings at {t:.4g} s (least "
                    f"{pressure.min() / 1e5:.3g} bar): oil does not pull, and there would be vapour; feed it, or "
                    "brake with a counterbalance valve"
                )
        bounds = actuator.pushes.range()
        if bounds is None:
            continue
        length = result[f"{name}.length"]
        beyond = np.maximum(bounds[0] - length, length - bounds[1])
        if beyond.max() > NEARLY * bounds[0]:
            t = time[int(np.argmax(beyond > NEARLY * bounds[0]))]
            yield (
                f"'{name}' is at the end of its stroke at {t:.4g} s, {1e3 * beyond.max():.3g} mm beyond its "
                f"{bounds[0]:.4g} to {bounds[1]:.4g} m at most"
            )
