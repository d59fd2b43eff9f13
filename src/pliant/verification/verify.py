"""The whole verification: its parts, what it ran on, what other programs say; as a page without network, or JSON."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pliant.errors import ModelError, did_you_mean
from pliant.files import mark, write_file, write_generated
from pliant.formulations.lagrange.equations import require_sympy
from pliant.reproduce.claim import Claim
from pliant.verification import balances, bending, identities, measured, methods, published
from pliant.verification.benchmark import peers as other_programs
from pliant.verification.claims import VerificationPart

PARTS = (
    VerificationPart("methods", "Every method against every other", methods.claims),
    VerificationPart("published", "Published and analytic numbers", published.claims),
    VerificationPart("identities", "Identities at states away from all symmetries", identities.claims),
    VerificationPart("balances", "Energy of the bundled studies", balances.claims),
    VerificationPart("bending", "Geometric stiffening and large deflections", bending.claims),
    VerificationPart("measured", "Beside measured machines", measured.claims),
)
PACKAGES = ("numpy", "scipy", "llvmlite", "pydantic", "h5py", "matplotlib")

Report = Callable[[str, Claim], None]


@dataclass
class Verification:
    """What was found.

    claims   part -> its claims
    seconds  part -> how long it took
    machine  what it ran on
    beside   program -> case -> its number
    """

    claims: dict[str, list[Claim]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    beside: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def all_claims(self) -> list[Claim]:
        """Claims of all parts."""
        return [claim for part in self.claims.values() for claim in part]

    @property
    def differing(self) -> list[Claim]:
        """Claims that are not as they should be."""
        return [claim for claim in self.all_claims if claim.verdict == "differs"]

    @property
    def passed(self) -> bool:
        """Whether everything is as it should be, and something was looked at."""
        return bool(self.all_claims) and not self.differing

    def matrix(self) -> tuple[list[str], list[str], dict[tuple[str, str], Claim]]:
        """Methods, robots, and for each pair the claim that is furthest off."""
        worst: dict[tuple[str, str], Claim] = {}
        for claim in self.claims.get("methods", ()):
            _, method, robot, _ = claim.case.split(".", 3)
            old = worst.get((method, robot))
            if old is None or claim.deviation / claim.tolerance > old.deviation / old.tolerance:
                worst[method, robot] = claim
        return list(dict.fromkeys(m for m, _ in worst)), list(dict.fromkeys(r for _, r in worst)), worst

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file; other programs' results can be put beside it by the names of the cases."""
        return {
            "machine": self.machine,
            "passed": self.passed,
            "seconds": self.seconds,
            "claims": {part: [claim.as_data() for claim in claims] for part, claims in self.claims.items()},
            "beside": self.beside,
        }


def verify(
    only: Iterable[str] | None = None,
    *,
    beside: Mapping[str, Mapping[str, float]] | None = None,
    peers: bool = True,
    data: Path | None = None,
    report: Report | None = None,
) -> Verification:
    """Compute everything that proves the program, or some parts of it.

    only    parts: methods, published, identities, balances, bending, measured
    beside  program -> case -> number: results of other programs for the table
    peers   whether Exudyn and MuJoCo compute their cases too, where they are installed
    data    folder with recordings of measured machines, which are replayed
    report  called with the part and the claim when it is there
    """
    known = [part.name for part in PARTS]
    wanted = list(known if only is None else only)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) or f"; parts: {', '.join(known)}"
            raise ModelError(f"there is no part '{name}'{hint}")
    if "published" in wanted:
        # Lin & Lewis' numbers are those of equations in symbols
        require_sympy()
    found = Verification(machine=machine(), beside={k: dict(x) for k, x in (beside or {}).items()})
    for part in PARTS:
        if part.name not in wanted:
            continue
        began = time.perf_counter()
        found.claims[part.name] = []
        computed = measured.claims(data) if part.name == "measured" else part.claims()
        for claim in computed:
            found.claims[part.name].append(claim)
            if report is not None:
                report(part.title, claim)
        found.seconds[part.name] = time.perf_counter() - began
    if peers:
        found.beside = {**other_programs(claim.case for claim in found.all_claims), **found.beside}
    return found


def read_beside(path: Path) -> dict[str, dict[str, float]]:
    """Results of other programs: JSON, program -> case -> number, or a file that `pliant verify` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if "claims" in data:
            claims = [claim for part in data["claims"].values() for claim in part]
            label = f"pliant {data['machine'].get('pliant', '')} on {data['machine'].get('processor', '')}"
            return {label.strip(): {str(claim["case"]): float(claim["ours"]) for claim in claims}}
        return {str(k): {str(case): float(x) for case, x in cases.items()} for k, cases in data.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(
            f'{path} holds no results: {error}; it must be JSON, {{"program": {{"case": number}}}}'
        ) from None


def machine() -> dict[str, str]:
    """What the verification runs on."""
    facts = {"pliant": str(sys.modules["pliant"].__version__), "python": platform.python_version()}
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    facts["system"] = f"{platform.system()} {platform.release()}"
    facts["processor"] = _processor()
    try:
        from llvmlite import binding

        facts["compiler"] = f"LLVM {'.'.join(map(str, binding.llvm_version_info))} for {binding.get_host_cpu_name()}"
    except ImportError:
        facts["compiler"] = "none: plain NumPy"
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()


# ---- page


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
