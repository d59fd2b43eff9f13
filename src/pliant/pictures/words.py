"""Words that tables and pictures share."""

FAMILY_WORDS = {
    "bend_y": "bending in y",
    "bend_z": "bending in z",
    "torsion": "torsion",
    "axial": "elongation",
}


def counted(n: int, word: str) -> str:
    """``1 link``, ``2 links``."""
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
