"""Generated C of loops that any kind of joint closes: the engine's accelerations."""

import numpy as np
import pytest

from closure_rings import ring
from pliant import Dynamics


@pytest.mark.parametrize("kind", ["prismatic", "helical", "cylindrical", "universal", "planar", "distance"])
def test_a_closure_in_c(build, kind):
    arm = Dynamics(ring(kind, cut="kind"), compile="never")
    q, v = arm.project(arm.assemble(), np.random.default_rng(0).standard_normal(arm.size))
    f = np.random.default_rng(1).standard_normal(arm.size)
    expected = arm.forward(q, v, force=f)
    found = build(arm, "forward")("forward", expected.shape, q, v, f)
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()
