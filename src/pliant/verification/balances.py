"""Energy of the bundled studies: what the motors and loads do is stored or lost, to the error of the integration."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from pliant.reproduce.claim import Claim
from pliant.simulation.run import run_study
from pliant.simulation.study import bundled_studies, load_study

LONGEST = 5.0
"""Of a long study so many seconds are enough to see a balance that does not hold."""


def claims() -> Iterator[Claim]:
    """Study by study."""
    for name, _ in bundled_studies():
        study = load_study(name)
        until = min(study.until, LONGEST)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = run_study(study.with_changes(until=until))
        energy = run["energy.total"]
        size = max(float(np.ptp(energy)), float(np.abs(run["work"]).max()), float(np.abs(run["dissipated"]).max()))
        yield Claim(
            f"balances.{name}",
            f"{run.info.method}, {until:g} s: energy gained - work + losses, of the energy that moves",
            float(np.abs(run["energy.balance"]).max()) / max(size, 1e-12),
            0.0,
            study.integrator.tolerance,
        )
