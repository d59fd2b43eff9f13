"""Draw the formulas of docs/equations.md anew, and put the derived LaTeX and text into the page.

Run by hand after a change of the derivation: ``python docs/refresh_equations.py``; a test compares the page with it.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

PAGE = ROOT / "docs" / "equations.md"
PICTURES = ROOT / "docs" / "pictures"


def one_flexible_link():
    """A clamped beam with one mode and a tip mass, in the horizontal plane."""
    from pliant.model import Beam, Joint, Link, Modes, Properties, RigidPart, Robot

    beam = Beam(
        length=1.0,
        properties=Properties(mass_per_length=0.5, EIz=3.0),
        modes=Modes(shape="clamped-free", bend_y=1),
    )
    link = Link(name="arm", joint=Joint(name="hub"), beam=beam, payloads=(RigidPart(mass=0.2),))
    return Robot(name="one-flexible-link", links=(link,))


def derived():
    """Name -> equations of the two arms of the page."""
    from pliant.formulations.lagrange.equations import equations
    from pliant.reproduce.lin_lewis import two_link_arm

    return {
        "rigid-two-link": equations(two_link_arm()),
        "one-flexible-link": equations(one_flexible_link(), integrals="closed", bending="linear"),
    }


def formulas(eq):
    """The lines of the align environments of M, D, U and G."""
    document = eq.to("latex").partition(r"\subsection*{Inputs B}")[0]
    bodies = re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", document, flags=re.DOTALL)
    return [line.strip() for body in bodies for line in body.split(r"\\")]


def block(eq):
    """The formulas as one display of a Markdown page."""
    return "\n".join(["$$", r"\begin{aligned}", " \\\\\n".join(formulas(eq)), r"\end{aligned}", "$$"])


def table(eq):
    """The constants of an arm as the page shows them."""
    return eq.to("markdown").partition("## Constants\n\n")[2].strip()


def filled(text, found):
    """The page with everything between its markers renewed."""
    for name, eq in found.items():
        for part, make in (("formulas", block), ("constants", table)):
            marker = rf"(<!-- {name} {part} -->\n).*?(<!-- end -->)"
            text = re.sub(marker, lambda m, eq=eq, make=make: f"{m[1]}{make(eq)}\n{m[2]}", text, flags=re.DOTALL)
    return text


def draw(lines, path):
    """Formulas below one another, by matplotlib's mathtext."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a font in which I and l are different letters
    with rc_context({"mathtext.fontset": "cm"}):
        figure = Figure(figsize=(6.4, 0.42 * len(lines) + 0.2), facecolor="white")
        for k, line in enumerate(lines):
            text, height = line.replace("&=", "=").replace("&", ""), 1 - (k + 0.7) / (len(lines) + 0.4)
            figure.text(0.02, height, f"${text}$", fontsize=15, va="center", color="#1f2937")
        figure.savefig(path, dpi=130, metadata={"Software": None})


def main():
    """Renew the page and its pictures."""
    found = derived()
    for name, eq in found.items():
        draw(formulas(eq), PICTURES / f"equations-{name}.png")
    PAGE.write_text(filled(PAGE.read_text("utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
