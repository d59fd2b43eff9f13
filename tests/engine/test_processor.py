"""Code for simpler processors than this one: the same results to rounding, in vectors of their length."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from pliant import Dynamics, load
from pliant.engine.compile import jit

ROUNDING = 1e-9
"""Relative to the largest acceleration: sums in another order, with and without fused operations."""
LANES = {"generic": 2, "x86-64-v2": 2, "x86-64-v3": 4, "x86-64-v4": 8}

PROGRAM = """
import numpy as np
from pliant import Dynamics, load
from pliant.engine.compile import jit
arm = Dynamics(load("canadarm"))
q, v = np.random.default_rng(1).normal(scale=1e-2, size=(2, 12, len(arm.names)))
print(jit.lanes(), *arm.forward(q, v).ravel())
"""


def answer(processor: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PLIANT_PROCESSOR": processor}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("processor", LANES)
def test_code_of_a_simpler_processor_computes_the_same(processor):
    told = answer(processor)
    if f"is '{processor}'; this machine can be" in told.stderr:
        pytest.skip(f"this machine is no {processor}")
    lanes, *found = map(float, told.stdout.split())
    assert lanes == LANES[processor]
    arm = Dynamics(load("canadarm"), compile="never")
    q, v = np.random.default_rng(1).normal(scale=1e-2, size=(2, 12, len(arm.names)))
    right = arm.forward(q, v).ravel()
    np.testing.assert_allclose(found, right, rtol=0, atol=ROUNDING * np.abs(right).max())


def test_an_unknown_processor_is_refused():
    told = answer("abacus")
    assert told.returncode
    assert "PLIANT_PROCESSOR is 'abacus'; this machine can be generic" in told.stderr
    assert jit.lanes() in (2, 4, 8)
