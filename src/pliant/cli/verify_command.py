"""``pliant verify``: everything that proves the program, computed here and now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pliant.cli.terminal import FAILED, ForceOption, check_folder, emit, number, table, tell

if TYPE_CHECKING:
    from rich.table import Table

    from pliant.reproduce.claim import Claim
    from pliant.verification.verify import Verification

DATA, PAGE = "verification.json", "verification.html"


def verify(
    only: Annotated[
        list[str] | None,
        typer.Option(help="Some parts only: methods, published, identities, balances, bending, measured."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for verification.html and verification.json.")] = Path("out"),
    beside: Annotated[
        Path | None,
        typer.Option(help='Results of other programs to show beside ours: JSON {"program": {"case": 1.5}}.'),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Folder to which the cases are written for other programs: robots, loads, references."),
    ] = None,
    peers: Annotated[bool, typer.Option(help="Let Exudyn and MuJoCo compute their cases too, if installed.")] = True,
    data: Annotated[
        Path | None, typer.Option(help="Folder with recordings of measured machines, which are replayed.")
    ] = None,
    force: ForceOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print what differs only.")] = False,
) -> None:
    """Check every method, published number, identity and balance; exit code 1 if something is not as it should be."""
    from pliant.verification.benchmark import CASES, write_cases
    from pliant.verification.verify import read_beside, write_data, write_page
    from pliant.verification.verify import verify as run

    others = read_beside(beside) if beside is not None else None
    out.mkdir(parents=True, exist_ok=True)
    for file in (DATA, PAGE):
        check_folder(out / file, ())
    if cases is not None and cases.is_dir():
        check_folder(cases / CASES, ())
    try:
        with _Status(quiet) as status:
            found = run(only, beside=others, peers=peers, data=data, report=status.update)
    except ImportError as error:
        tell(f"{error}, or leave them out: --only methods --only identities --only balances --only bending")
        raise typer.Exit(FAILED) from None
    write_data(found, out / DATA)
    write_page(found, out / PAGE)
    written = None if cases is None else write_cases(found.all_claims, cases)
    if not quiet:
        _summary(found)
        if written is not None:
            typer.echo(f"{written[0]} cases and {written[1]} robots for other programs are in {cases}")
        typer.echo(f"written to {out / PAGE} and {out / DATA}")
    for claim in found.differing:
        theirs = f", theirs {claim.theirs:.8g}" if claim.theirs else ""
        typer.secho(
            f"differs: {claim.case}: {claim.what}: ours {claim.ours:.8g}{theirs} {claim.unit}".rstrip()
            + f"; apart by {claim.deviation:.1e}, allowed {claim.tolerance:.1e}",
            fg="red",
            err=True,
        )
    if not found.passed:
        raise typer.Exit(FAILED)


def _summary(found: Verification) -> None:
    from pliant.verification.verify import PARTS

    titles = {part.name: part.title for part in PARTS}
    rows = table("part", "claims", "differ", "known errors", "nearest to its limit", "seconds", words=1)
    for part, claims in found.claims.items():
        held = [claim for claim in claims if not claim.wrong]
        worst = max((claim.deviation / claim.tolerance for claim in held), default=0.0)
        bad = sum(claim.verdict == "differs" for claim in claims)
        errors = sum(claim.verdict == "known error" for claim in claims)
        counts = (str(len(claims)), str(bad), str(errors))
        rows.add_row(titles[part], *counts, f"{number(100 * worst, 2)} %", number(found.seconds[part], 3))
    if found.claims.get("methods"):
        emit(_matrix(found))
        typer.echo("")
    words = "all as they should be" if found.passed else f"{len(found.differing)} differ"
    emit(rows, f"{len(found.all_claims)} claims: {words}")
    for program, numbers in found.beside.items():
        shared = [claim for claim in found.all_claims if claim.case in numbers and claim.theirs]
        apart = [abs(numbers[claim.case] / claim.theirs - 1) for claim in shared]
        if apart:
            typer.echo(f"{program}: {len(apart)} cases, at most {number(100 * max(apart), 2)} % from the references")


def _matrix(found: Verification) -> Table:
    """Robots by methods: how near to its limit each pair is, and nothing where a method does not take a robot."""
    methods, robots, worst = found.matrix()
    heads = [name.replace("loops-", "loops, ") for name in methods]
    rows = table("% of the limit", *heads, words=1)
    for robot in robots:
        pairs = [worst.get((method, robot)) for method in methods]
        cells = ["" if claim is None else number(100 * claim.deviation / claim.tolerance, 2) for claim in pairs]
        rows.add_row(robot, *cells)
    return rows


class _Status:
    """What is being computed, on a terminal."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console

        self.console = Console(stderr=True, highlight=False)
        self.shown = self.console.is_terminal and not quiet
        self.status = self.console.status("starting") if self.shown else None
        self.count = 0

    def __enter__(self) -> _Status:
        if self.status is not None:
            self.status.start()
        return self

    def __exit__(self, *what: object) -> None:
        if self.status is not None:
            self.status.stop()
        sys.stderr.flush()

    def update(self, part: str, claim: Claim) -> None:
        self.count += 1
        if self.status is not None:
            self.status.update(f"{self.count}: {part}: {claim.case}")
