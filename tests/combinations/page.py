"""The page of all combinations, from what the cells give."""

import warnings
from dataclasses import dataclass

from combinations.capabilities import CAPABILITIES, Apart, Capability
from combinations.features import FEATURES, Feature

HEAD = """# What works with what

Each cell of this table is computed by a test: the capability on a small robot, or a run, that has the feature, beside
an independent way to the same numbers. **yes**: both agree. **no**: it is refused, in the words of the note. A dash:
the two do not meet, as the note says. `python docs/refresh_combinations.py` writes this page from the tests.

"""
MARKS = {"works": "yes", "refused": "no", "apart": "–"}


@dataclass(frozen=True)
class Cell:
    """What came of a capability and a feature.

    outcome  works, refused or apart
    words    of the refusal, or why they do not meet
    error    difference of both ways, where it works
    """

    outcome: str
    words: str = ""
    error: float = 0.0


def cell(capability: Capability, feature: Feature) -> Cell:
    """Compute a cell; only refusals of our own count as such."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = capability.cell(feature)
        except ValueError as error:
            if not type(error).__module__.startswith("pliant."):
                raise
            return Cell("refused", str(error))
    return Cell("apart", found.why) if isinstance(found, Apart) else Cell("works", error=found)


def row(capability: Capability, cells: list[Cell], notes: list[str]) -> str:
    """A line of the table; words are added to the notes, equal ones once."""
    texts = []
    for each in cells:
        mark = MARKS[each.outcome]
        if each.words:
            if each.words not in notes:
                notes.append(each.words)
            mark += f" ({notes.index(each.words) + 1})"
        texts.append(mark)
    return f"| {capability.name} | {' | '.join(texts)} |\n"


def page(cells: dict[str, list[Cell]]) -> str:
    """The whole page; cells by the names of the capabilities."""
    text = HEAD + f"| | {' | '.join(feature.name for feature in FEATURES)} |\n|---|{'---|' * len(FEATURES)}\n"
    notes: list[str] = []
    for capability in CAPABILITIES:
        text += row(capability, cells[capability.name], notes)
    text += "\n" + "".join(f"{k}. {words}\n" for k, words in enumerate(notes, start=1))
    text += "\nHow each is compared:\n\n| capability | beside | differences up to |\n|---|---|---|\n"
    for capability in CAPABILITIES:
        text += f"| {capability.name} | {capability.proof} | {capability.limit:g} |\n"
    return text


def lines_of(text: str, capability: Capability) -> list[str]:
    """Marks of a capability's row on a page, with the words of their notes."""
    notes = {}
    for line in text.splitlines():
        number, dot, words = line.partition(". ")
        if dot and number.isdigit():
            notes[number] = words
    # the first of its lines is that of the table
    found = next(line for line in text.splitlines() if line.startswith(f"| {capability.name} | "))
    marks = [part.strip() for part in found.strip("|").split("|")[1:]]
    return [f"{mark.partition(' (')[0]}: {notes.get(mark.partition(' (')[2].rstrip(')'), '')}" for mark in marks]
