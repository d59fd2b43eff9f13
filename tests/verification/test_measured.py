"""Numbers beside measured machines, and replays where the recordings are."""

from pathlib import Path

import pytest

import pliant
from pliant.verification import measured
from pliant.verification.verify import verify

# recordings are not part of the project: a folder beside it may have them
DATA = Path(__file__).parents[3] / "shared" / "measured"


def test_machines_are_met_without_recordings():
    found = {claim.case: claim for claim in measured.claims()}
    assert len(found) == 11
    assert all(claim.verdict == "agrees" for claim in found.values())
    # a strip that bends far is beyond linear bending: it must be further off where gravity bends or stretches it
    for held in ("standing", "hanging"):
        exact, linear = (found[f"measured.panda-strip.{kind}.{held}"].deviation for kind in ("exact", "linear"))
        assert linear > 3 * exact


@pytest.mark.skipif(not DATA.is_dir(), reason="the recordings of measured machines are not here")
def test_recordings_are_replayed():
    found = verify(["measured"], peers=False, data=DATA)
    assert len(found.all_claims) == 19
    assert found.passed, [(claim.case, claim.ours) for claim in found.differing]


def test_a_folder_without_recordings_is_told(tmp_path):
    with pytest.raises(pliant.ModelError, match="there is none of the recordings"):
        list(measured.claims(tmp_path))
