"""Put what a verification found into docs/verification.md: the parts, and other programs beside ours.

Run by hand after ``pliant verify``: ``python docs/refresh_verification.py out/verification.json``.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("verification.md")


def parts(data: dict[str, Any]) -> Iterator[str]:
    """Each part with its numbers of claims and of known misprints."""
    yield "| part | claims | differ | known errors in print | nearest to its limit |"
    yield "|---|---|---|---|---|"
    for name, claims in data["claims"].items():
        count = {verdict: sum(x["verdict"] == verdict for x in claims) for verdict in ("differs", "known error")}
        near = max(x["deviation"] / x["tolerance"] for x in claims if not x["wrong"])
        yield f"| `{name}` | {len(claims)} | {count['differs']} | {count['known error']} | {100 * near:.2g} % |"


def programs(data: dict[str, Any]) -> Iterator[str]:
    """Every case that another program computed too."""
    names = list(data["beside"])
    yield "| case | reference | Pliant | " + " | ".join(names) + " |"
    yield "|---|---|---|" + "---|" * len(names)
    for claim in (claim for claims in data["claims"].values() for claim in claims):
        others = [data["beside"][name].get(claim["case"]) for name in names]
        if any(x is not None for x in others):
            shown = " | ".join("" if x is None else f"{x:.7g}" for x in others)
            yield f"| `{claim['case']}` | {claim['theirs']:.7g} | {claim['ours']:.7g} | {shown} |"


def filled(text: str, data: dict[str, Any]) -> str:
    """The page with both tables."""
    for name, rows in (("parts", parts(data)), ("programs", programs(data))):
        table = "\n".join(rows)
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marked.sub(lambda m, table=table: f"{m[1]}{table}\n{m[2]}", text)
    return text


if __name__ == "__main__":
    found = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    PAGE.write_text(filled(PAGE.read_text("utf-8"), found), encoding="utf-8")
