"""Names of a robot as identifiers of a programming language."""

from __future__ import annotations

import re
from collections.abc import Iterable

# of C99, and of C++, which reads the header, too
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
asm bool catch class delete explicit export false friend mutable namespace new operator private protected
public template this throw true try typename using virtual
"""
C_KEYWORDS = frozenset(_KEYWORDS.split())


def word(name: str) -> str:
    """Letters, digits and underscores of a name: ``upper.bend_y.1`` -> ``upper_bend_y_1``."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def words(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Words for several names, all different (also from those already taken)."""
    used = set(taken)
    out = []
    for name in names:
        plain = candidate = word(name)
        k = 2
        while candidate in used:
            candidate, k = f"{plain}_{k}", k + 1
        used.add(candidate)
        out.append(candidate)
    return out


def c_identifier(name: str) -> str:
    """A name that may begin the names of C functions, refused if it cannot."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and name not in C_KEYWORDS:
        return name
    better = word(name).strip("_") or "arm"
    better = f"arm_{better}" if better[0].isdigit() or better in C_KEYWORDS else better
    raise ValueError(
        f"'{name}' is not a C identifier (letters, digits and '_', a letter first, no keyword), but the "
        f"names of the functions begin with it; '{better}' would do"
    )
