"""Names and words of a user in LaTeX: in the text of a page, and as an index in a formula."""

from __future__ import annotations

import unicodedata

SPECIAL = {
    "\\": r"\textbackslash{}", "_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$", "^": r"\^{}",
    "{": r"\{", "}": r"\}", "~": r"\~{}",
}  # fmt: skip

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip
CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
"""Those that differ from Latin ones."""

LATIN = 0x250
"""First letter beyond those of the languages that pdflatex knows with utf8."""


def latex_text(text: str) -> str:
    """Words for the text of a page."""
    return "".join(SPECIAL.get(x) or (x if ord(x) < LATIN else f"${command(x)}$") for x in text)


def latex_index(name: str) -> str:
    """A name as an index in a formula, where letters have no accents."""
    plain = "".join(x for x in unicodedata.normalize("NFKD", name) if not unicodedata.combining(x))
    marks = {**SPECIAL, "\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}
    return "".join(marks.get(x) or (x if x.isascii() else f"{command(x)} ") for x in plain)


def command(letter: str) -> str:
    """The command of a Greek letter; other letters are told by their number."""
    words = unicodedata.name(letter, "").replace("LAMDA", "LAMBDA").split()
    last = words[-1] if words else ""
    if words[:2] == ["GREEK", "SMALL"] and last.lower() in GREEK:
        return f"\\{last.lower()}"
    if words[:2] == ["GREEK", "CAPITAL"]:
        return f"\\{last.title()}" if last.title() in CAPITALS else rf"\mathrm{{{last[:1]}}}"
    return rf"\mathrm{{U{ord(letter):X}}}"
