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


WIDE = 3
"""Cases of one test function in the wide part, unless --cases says another number."""


def pytest_addoption(parser):
    parser.addoption("--wide", action="store_true", help=f"of every test at most {WIDE} cases: first, last and between")
    parser.addoption("--cases", type=int, metavar="N", help="of every test at most N cases")
    parser.addoption("--code-cache", metavar="DIR", help="a folder for compiled code that other runs share")
    parser.addoption("--most-skipped", type=int, metavar="N", help="fail where more tests than this are skipped")


def pytest_collection_modifyitems(config, items):
    """The wide part: every test function, with cases from all over its list."""
    most = config.getoption("cases") or (WIDE if config.getoption("wide") else None)
    if most is None:
        return
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {id(each[round(k * (len(each) - 1) / max(most - 1, 1))]) for each in cases.values() for k in range(most)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


def pytest_collection_finish(session):
    """Tests and modules stay until the end: the collector need not look through them."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session, exitstatus):
    """Too many skipped tests are a failure: something that they compare with has gone."""
    most = session.config.getoption("most_skipped")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if most is None or reporter is None or hasattr(session.config, "workerinput"):
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped > most:
        reporter.write_line(f"\n{skipped} tests are skipped, more than {most}: the reasons stand below", red=True)
        session.exitstatus = max(exitstatus, pytest.ExitCode.TESTS_FAILED)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory, pytestconfig):
    """Compiled modules go to a temporary folder that the workers of one run share, or to the one that is given."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    given = pytestconfig.getoption("code_cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", os.path.abspath(given) if given else str(place / "pliant-cache"))
        yield
