"""Write docs/combinations.md from the cells that the tests of combinations compute."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from combinations.capabilities import CAPABILITIES  # noqa: E402  the path comes first
from combinations.features import FEATURES  # noqa: E402
from combinations.page import cell, page  # noqa: E402


def main() -> None:
    """Compute all cells, refuse wrong ones, write the page."""
    cells = {each.name: [cell(each, feature) for feature in FEATURES] for each in CAPABILITIES}
    for capability in CAPABILITIES:
        for feature, found in zip(FEATURES, cells[capability.name], strict=True):
            if found.error > capability.limit:
                sys.exit(f"{capability.name} with {feature.name}: both ways differ by {found.error:.3g}")
    (ROOT / "docs" / "combinations.md").write_text(page(cells), encoding="utf-8")


if __name__ == "__main__":
    main()
