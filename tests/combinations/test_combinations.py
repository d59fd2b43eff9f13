"""Every cell of docs/combinations.md is what the capability does with the feature."""

from pathlib import Path

import pytest

from combinations.capabilities import CAPABILITIES
from combinations.features import FEATURES
from combinations.page import MARKS, cell, lines_of

PAGE = Path(__file__).parents[2] / "docs" / "combinations.md"


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda each: each.name.strip("`"))
def test_a_row_of_the_page(capability):
    pytest.importorskip("control")
    told = lines_of(PAGE.read_text(encoding="utf-8"), capability)
    found = [cell(capability, feature) for feature in FEATURES]
    for feature, each in zip(FEATURES, found, strict=True):
        assert each.error <= capability.limit, f"{capability.name} with {feature.name}"
    assert told == [f"{MARKS[each.outcome]}: {each.words}" for each in found]


def test_the_page_has_all_rows_and_columns():
    text = PAGE.read_text(encoding="utf-8")
    assert f"| | {' | '.join(feature.name for feature in FEATURES)} |" in text
    for capability in CAPABILITIES:
        assert f"| {capability.name} | {capability.proof} | {capability.limit:g} |" in text
