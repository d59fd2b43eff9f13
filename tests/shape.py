"""Numbers about the shape of the package: how large it is, and where kinds are named outside the rooms that own them.

python tests/shape.py              a table
python tests/shape.py --hops       also the modules that a run enters, and the calls that go both ways between them
python tests/shape.py --hops -v    these modules and calls by name
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "pliant"
JOINTS = r'"(revolute|prismatic|spherical|universal|fixed|free|helical|planar)"'
FAMILIES = r'"(bend_y|bend_z|torsion|axial|shear_y|shear_z)"'
NEIGHBOURS = ("The same", "Of ", "Those", "That of")
"""Beginnings of docstrings that only their neighbour explains."""

HOPS = """
import sys, pathlib, pliant
source = str(pathlib.Path(pliant.__file__).parent)
# a decorator that keeps results, as functools has them
transparent = {"model/once.py"}
entered, edges = set(), set()
def name(frame):
    file = frame.f_code.co_filename
    found = file[len(source) + 1:] if file.startswith(source) else None
    return None if found in transparent else found
def importing(frame):
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None
def look(frame, event, argument):
    if event == "call" and (here := name(frame)) is not None and not importing(frame):
        entered.add(here)
        back = frame.f_back
        while back is not None and name(back) is None:
            back = back.f_back
        if back is not None and name(back) != here:
            edges.add((name(back), here))
sys.setprofile(look)
pliant.run_study(pliant.load_study("two-link")).save(sys.argv[1])
sys.setprofile(None)
both = {tuple(sorted(e)) for e in edges if e[::-1] in edges}
print(len(entered), len(both))
if len(sys.argv) > 2:
    print(*sorted(entered), *(" <-> ".join(pair) for pair in sorted(both)), sep="\\n", file=sys.stderr)
"""


def modules() -> dict[str, str]:
    """Text of every module, by its path in the package."""
    return {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}


def named(texts: dict[str, str], pattern: str, owners: tuple[str, ...]) -> str:
    """How often a pattern stands outside the rooms of its owners, and in how many modules."""
    found = {name: len(re.findall(pattern, text)) for name, text in texts.items() if not name.startswith(owners)}
    return f"{sum(found.values())} in {sum(bool(count) for count in found.values())} modules"


def asks_for_beam(text: str) -> bool:
    """Whether a module reads the attribute ``beam`` of something; names in texts for users do not count."""
    return any(isinstance(node, ast.Attribute) and node.attr == "beam" for node in ast.walk(ast.parse(text)))


def naming(texts: dict[str, str], *words: str) -> str:
    """Modules in which a kind is written or named: what a new one of it would touch."""
    pattern = re.compile("|".join(re.escape(word) for word in words))
    found = sorted(name for name, text in texts.items() if pattern.search(text))
    return f"{len(found)}: {', '.join(found)}"


def docstrings(texts: dict[str, str]) -> list[str]:
    """The first lines of all docstrings."""
    out = []
    for text in texts.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node)):
                out.append(doc.partition("\n")[0])
    return out


def rows() -> list[tuple[str, str]]:
    """What is counted, and the numbers."""
    texts = modules()
    imports = sum(len(re.findall(r"^\s*(?:from|import) ", text, re.MULTILINE)) for text in texts.values())
    engine = [text for name, text in texts.items() if name.startswith("engine/")]
    foreign = r"^\s*from pliant\.(?!engine|spatial|algorithm|files)"
    beams = [name for name, text in texts.items() if not name.startswith(("model/", "bodies/")) and asks_for_beam(text)]
    twice = [name for name, count in Counter(Path(name).name for name in texts).items() if count > 1]
    return [
        ("modules", str(len(texts))),
        ("lines", str(sum(len(text.splitlines()) for text in texts.values()))),
        ("import lines", str(imports)),
        (
            "kinds of joints outside model/ and joints/",
            named(texts, JOINTS, ("model/", "joints/")),
        ),
        (
            "families of shapes outside model/ and bodies/",
            named(texts, FAMILIES, ("model/", "bodies/")),
        ),
        ("modules outside model/ and bodies/ that ask for .beam", str(len(beams))),
        (
            "imports of other rooms in engine/",
            str(sum(len(re.findall(foreign, text, re.MULTILINE)) for text in engine)),
        ),
        ("modules that know a joint, cylindrical", naming(texts, '"cylindrical"', "import Cylindrical")),
        ("modules that know a closure, distance", naming(texts, '"distance"', "import Distance")),
        ("modules that know an importer, dh", naming(texts, "expand_dh")),
        ("names of modules that stand twice", str(len([name for name in twice if name != "__init__.py"]))),
        ("docstrings that need their neighbour", str(sum(line.startswith(NEIGHBOURS) for line in docstrings(texts)))),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hops", action="store_true", help="run a study and count the modules that it enters")
    parser.add_argument("-v", "--verbose", action="store_true", help="name the modules and the calls")
    options = parser.parse_args()
    found = rows()
    if options.hops:
        output = Path("out") / "hops.h5"
        output.parent.mkdir(exist_ok=True)
        names = ["names"] if options.verbose else []
        command = [sys.executable, "-c", HOPS, output, *names]
        # once before: machine code is then there, as it is for every run but the first
        subprocess.run(command[:4], capture_output=True, check=True)
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        entered, both = result.stdout.split()
        found += [("modules that a run to HDF5 enters", entered), ("calls that go both ways", both)]
    width = max(len(name) for name, _ in found)
    sys.stdout.write("".join(f"{name:{width}}  {number}\n" for name, number in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
