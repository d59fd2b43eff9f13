"""(c) Operation counts of forward dynamics against the formulas printed by Mohan & Saha (their Table 1).

Chains of n spatial links with m modes in each bending direction, linear as theirs. Counted is what one evaluation
executes.
"""

from __future__ import annotations

from pathlib import Path

from report import Goal, Options, Row, Section, alone
from robots import flexible_chain

from pliant import Dynamics
from pliant.engine.trace.tape import Operations
from pliant.reproduce.operation_counts import cyril, jain_rodriguez, mohan_saha

LENGTHS = tuple(range(1, 21))
MODES = (1, 2, 3, 4)
GOAL_AT = (8, 2)
GOALS = (Goal("<=", 5600 / 9874), Goal("<=", 4900 / 7699))
"""At most 5600 multiplications and 4900 additions for 8 links with 2 + 2 modes."""

PICTURE = "operation-counts.png"

PUBLISHED = {"Mohan & Saha": mohan_saha, "Jain & Rodriguez": jain_rodriguez, "Cyril": cyril}


def ours(n: int, m: int, twists: str = "general") -> Operations:
    """What one evaluation of a chain with gravity executes."""
    return Dynamics(
        flexible_chain(n, {"shape": "clamped-free", "bend_y": m, "bend_z": m}, twists, "linear")
    ).operations("forward")


def measure(options: Options) -> Section:
    section = Section("counts", "Operations of forward dynamics, n spatial links with m + m bending modes")
    counted = {(n, m): ours(n, m) for m in MODES for n in LENGTHS}
    for (n, m), count in counted.items():
        case = f"n = {n}, m = {m}"
        theirs = [round(x) for x in mohan_saha(n, m)]
        goals = GOALS if (n, m) == GOAL_AT else (None, None)
        published = "Mohan & Saha"
        values = {"multiplications": count.multiplications, "additions": count.additions}
        section.add(
            *(
                Row(case, what, value, "", published, their, faster=False, goal=goal)
                for (what, value), their, goal in zip(values.items(), theirs, goals, strict=True)
            )
        )
        if n == GOAL_AT[0]:
            for name in ("Jain & Rodriguez", "Cyril"):
                total = round(sum(PUBLISHED[name](n, m)))
                both = count.multiplications + count.additions
                section.add(Row(case, "both", both, "", name, total, faster=False))
    here = counted[GOAL_AT]
    section.notes += [
        f"8 links, 2 + 2 modes, general twists: {here}.",
        f"The same with twists of 90 degrees: {ours(*GOAL_AT, 'right')}.",
        f"The curves are in {PICTURE}, beside these figures.",
    ]
    totals = {key: count.multiplications + count.additions for key, count in counted.items()}
    draw(totals, options.out / PICTURE)
    return section


def draw(counts: dict[tuple[int, int], int], path: Path) -> None:
    """All operations over the number of links, for each number of modes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    styles = {"Mohan & Saha": "--", "Jain & Rodriguez": ":", "Cyril": "-."}
    figure, panels = plt.subplots(2, 2, figsize=(9, 6.4), sharex=True, layout="constrained")
    for m, panel in zip(MODES, panels.flat, strict=True):
        total = [counts[n, m] for n in LENGTHS]
        panel.plot(LENGTHS, total, color="tab:blue", lw=2, label="Pliant, general twists")
        for name, style in styles.items():
            panel.plot(
                LENGTHS,
                [sum(PUBLISHED[name](n, m)) for n in LENGTHS],
                style,
                color="0.35",
                lw=1.2,
                label=name,
            )
        panel.set_title(f"{m} + {m} bending modes per link", fontsize=10)
        panel.set_ylim(0, 1.15 * max(sum(mohan_saha(LENGTHS[-1], m)), sum(jain_rodriguez(LENGTHS[-1], m))))
        panel.grid(alpha=0.3)
        panel.set_xticks(range(0, 21, 5))
    for panel in panels[1]:
        panel.set_xlabel("links")
    for panel in panels[:, 0]:
        panel.set_ylabel("operations")
    panels[0, 0].legend(fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    alone(measure)
