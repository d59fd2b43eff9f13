"""The verification as one HTML page that needs no network, and as JSON."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from pliant.files import mark, write_file, write_generated
from pliant.verification.claims import Claim
from pliant.verification.verify import PARTS, Verification

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #e5e7eb; text-align: left; vertical-align: top }
td.n, th.n { text-align: right } .agrees { color: #15803d } .differs { color: #b91c1c; font-weight: 600 }
.known { color: #b45309 } h2 { margin-top: 2.5rem } small { color: #6b7280 }
"""


def write_page(found: Verification, path: Path) -> None:
    """Write the page."""
    body = [_head(found), _matrix(found)]
    for part in PARTS:
        if part.name in found.claims:
            body.append(_part(part.title, found.claims[part.name], found))
    text = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Verification of Pliant</title><style>{STYLE}</style>"
    )
    write_generated(path, f"{text}<h1>Verification of Pliant</h1>{''.join(body)}</html>\n")


def write_data(found: Verification, path: Path) -> None:
    """Write the numbers as JSON."""
    write_file(path, json.dumps({"generator": mark(), **found.as_data()}, indent=1) + "\n")


def _head(found: Verification) -> str:
    claims, bad = found.all_claims, len(found.differing)
    errors = sum(claim.verdict == "known error" for claim in claims)
    verdict = (
        f'<span class="differs">{bad} differ</span>' if bad else '<span class="agrees">all as they should be</span>'
    )
    facts = "".join(f"<tr><td>{escape(k)}<td>{escape(x)}" for k, x in found.machine.items())
    counted = (
        f"{len(claims)} claims, {verdict}; {errors} published numbers are known to be wrong, and we differ from them."
    )
    return f"<p>{counted}</p><table>{facts}</table>"


def _matrix(found: Verification) -> str:
    """Methods across, robots down: the largest disagreement."""
    methods, robots, worst = found.matrix()
    if not worst:
        return ""
    head = "".join(f"<th class=n>{escape(method)}" for method in methods)
    rows = []
    for robot in robots:
        cells = []
        for method in methods:
            claim = worst.get((method, robot))
            order = claim is not None and claim.theirs != 0
            text = "" if claim is None else f"order {claim.ours:.2f}" if order else f"{claim.deviation:.0e}"
            kind = "" if claim is None else claim.verdict.split()[0]
            cells.append(f'<td class="n {kind}">{text}')
        rows.append(f"<tr><td>{escape(robot)}{''.join(cells)}")
    note = "Largest disagreement with the recursion; of approximate methods the order of their error."
    return f"<h2>Methods and robots</h2><p>{note}</p><table><tr><th>robot{head}{''.join(rows)}</table>"


def _part(title: str, claims: list[Claim], found: Verification) -> str:
    programs = [name for name, cases in found.beside.items() if any(claim.case in cases for claim in claims)]
    head = "<tr><th>case<th class=n>ours<th class=n>theirs<th class=n>apart<th class=n>allowed<th>verdict<th>source"
    head += "".join(f"<th class=n>{escape(name)}" for name in programs)
    return f"<h2>{escape(title)}</h2><table>{head}{''.join(_row(claim, programs, found) for claim in claims)}</table>"


def _row(claim: Claim, programs: list[str], found: Verification) -> str:
    unit = f" {escape(claim.unit)}" if claim.unit else ""
    theirs = f"{claim.theirs:.8g}{unit}" if claim.theirs or claim.absolute else ""
    why = f"<br><small>{escape(claim.wrong)}</small>" if claim.wrong else ""
    others = "".join(
        f"<td class=n>{found.beside[name][claim.case]:.8g}" if claim.case in found.beside[name] else "<td>"
        for name in programs
    )
    return (
        f"<tr><td>{escape(claim.what)}<br><small>{escape(claim.case)}</small><td class=n>{claim.ours:.8g}{unit}"
        f"<td class=n>{theirs}<td class=n>{claim.deviation:.1e}<td class=n>{claim.tolerance:.1e}"
        f'<td class="{claim.verdict.split()[0]}">{claim.verdict}<td>{escape(claim.source)}{why}{others}'
    )
