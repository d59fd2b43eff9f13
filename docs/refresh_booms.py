"""The picture of the page about booms and cranes; run by hand, or by ``docs/refresh.py``."""

import sys
from pathlib import Path

import pliant

DOCS = Path(__file__).resolve().parent

if __name__ == "__main__":
    pliant.Dynamics("luffing-boom").draw(DOCS / "pictures" / "luffing-boom.png")
    sys.stdout.write("drawn: luffing-boom.png\n")
