"""The tests that compute, with the arithmetic of other processors on this one.

    python tests/processors.py                      all that this processor can be, a case of every test
    python tests/processors.py --only generic -- --wide tests/model

Libraries sum in another order and fuse other operations on every kind of processor: OpenBLAS is told by
OPENBLAS_CORETYPE, NumPy by NPY_DISABLE_CPU_FEATURES, and compiled code by PLIANT_PROCESSOR, which sets its lanes, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from versions import run, say, table

TESTS = Path(__file__).parent
LEFT_OUT = ("cli", "documentation", "pictures", "viewer")
"""Folders of tests that look at words and pictures."""
PARTS = tuple(sorted({path.parent.name for path in TESTS.glob("*/test_*.py")} - {*LEFT_OUT}))
"""Folders of the tests whose results are computed."""


@dataclass(frozen=True)
class Processor:
    """What the libraries are told to take this one for.

    name   of the compiled code's processor
    blas   kernels of OpenBLAS
    needs  features of NumPy's list that it must have
    lacks  beginnings of the names of features that NumPy does without; they differ between its versions
    """

    name: str
    blas: str
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    def environment(self, dispatched: Sequence[str]) -> dict[str, str]:
        """Variables that say so; ``dispatched`` are the features of which NumPy may be deprived."""
        without = [feature for feature in dispatched if feature.startswith(self.lacks)] if self.lacks else []
        told = {"PLIANT_PROCESSOR": self.name, "OPENBLAS_CORETYPE": self.blas}
        return {**told, **({"NPY_DISABLE_CPU_FEATURES": " ".join(without)} if without else {})}


X86 = (
    Processor("generic", "Prescott", lacks=("",)),
    Processor("x86-64-v2", "Nehalem", ("SSE42",), ("AVX", "F16C", "FMA", "X86_V3", "X86_V4")),
    Processor("x86-64-v3", "Haswell", ("AVX2", "FMA3"), ("AVX512", "X86_V4")),
    Processor("x86-64-v4", "SkylakeX", ("AVX512F", "AVX512BW", "AVX512VL")),
)
ARM = (Processor("generic", "ARMV8", lacks=("",)),)


def abilities() -> tuple[dict[str, bool], list[str]]:
    """What NumPy finds in this processor, and those features that it can do without."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    except ImportError:  # NumPy 1
        from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__
    return __cpu_features__, [feature for feature in __cpu_dispatch__ if __cpu_features__.get(feature)]


def processors() -> list[Processor]:
    """Those that this machine can be."""
    features, _ = abilities()
    return [each for each in (X86 if features.get("SSE2") else ARM) if all(features.get(need) for need in each.needs)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", metavar="NAME", help="some of the processors")
    parser.add_argument("arguments", nargs="*", help="for pytest, after --; a case of every test where none are given")
    options = parser.parse_args()
    arguments = options.arguments or ["--cases", "1", *(str(TESTS / part) for part in PARTS)]
    rows, good = [("processor", "OpenBLAS", "NumPy without", "tests")], True
    for processor in processors():
        if options.only and processor.name not in options.only:
            continue
        told = processor.environment(abilities()[1])
        say(f"\n{' '.join(f'{key}={value!r}' for key, value in told.items())}")
        start = time.monotonic()
        passed, last = run(Path(sys.executable), arguments, {**os.environ, **told})
        good = good and passed
        rows.append((processor.name, processor.blas, told.get("NPY_DISABLE_CPU_FEATURES", "-"), last))
        say(f"{time.monotonic() - start:.0f} s")
    say("\n" + table(rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
