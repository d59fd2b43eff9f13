"""What all tests share: the helpers beside this file, and a cache of compiled code of their own."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# threads that wait for small matrices take the time of the other workers; said before anything loads NumPy
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# traced code is many small objects that stay; looking through them all the time took a tenth of it
gc.set_threshold(50_000, 20, 50)

# a busy machine is no fault of an example
settings.register_profile("anywhere", deadline=None, max_examples=25)
settings.load_profile("anywhere")

# zoo, oracle and the other helpers are imported by their plain names
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Compiled modules go to a temporary folder; the parallel workers of one run share it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(place / "pliant-cache"))
        yield
