"""Elementary functions in LLVM assembly, for one double and for vectors of lanes.

Sine and cosine, and the entire functions of the exponential map, are branch-free polynomials, so that scalar and
vector code agree and no library call breaks the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import factorial, log

from pliant.engine.compile.jit import is_x86
from pliant.engine.compile.llvm_ir import PACK, Writer, splat, vector_type
from pliant.engine.trace.program import RolledProgram
from pliant.engine.trace.tape import STUMPFF
from pliant.spatial.scalars import STUMPFF_FAR, stumpff_coefficients

# minimax polynomials of sine and cosine on [-pi/4, pi/4] (Cephes), highest power first
SINE = (
    1.58962301576546568060e-10,
    -2.50507477628578072866e-8,
    2.75573136213857245213e-6,
    -1.98412698295895385996e-4,
    8.33333333332211858878e-3,
    -1.66666666666666307295e-1,
)
COSINE = (
    -1.13585365213876817300e-11,
    2.08757008419747316778e-9,
    -2.75573141792967388112e-7,
    2.48015872888517045348e-5,
    -1.38888888888730564116e-3,
    4.16666666666665929218e-2,
)
HALF_PI_PARTS = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
LN_2_PARTS = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
ROUND_TO_INTEGER = 6755399441055744.0
"""1.5 * 2^52: adding it puts the nearest integer into the low bits of a double."""


def prelude(programs: Iterable[RolledProgram], lanes: int) -> str:
    """The beginning of a module: intrinsics and elementary functions of scalar code and of code on lanes."""
    used = {op for p in programs for each in p.passes for kernel in each.kernels for op in kernel.tape.op}
    orders = {int(op.removeprefix(STUMPFF)) for op in used if op.startswith(STUMPFF)}
    packs = {2, PACK} if "sin" in used or "cos" in used else set()
    out = [f"declare void @llvm.x86.sse.{name}(ptr)\n" for name in ("stmxcsr", "ldmxcsr") if is_x86()]
    out += [_declarations(n) for n in sorted({1, lanes} | packs)]
    out += [_sincos(n) for n in sorted({1, lanes} | packs)]
    for n in sorted({1, lanes}):
        out += [_tanh(n), *(_stumpff(k, n) for k in sorted(orders))]
        out += [_from_library(name, n) for name in LIBRARY if name in used]
    out += [f"declare double @{name}({', '.join(['double'] * LIBRARY[name])})\n" for name in LIBRARY if name in used]
    return "".join(out)


def _declarations(lanes: int) -> str:
    """Intrinsics for one lane count."""
    t, suffix = vector_type(lanes), "f64" if lanes == 1 else f"v{lanes}f64"
    out = [f"declare {t} @llvm.fma.{suffix}({t}, {t}, {t})\n"]
    out += [f"declare {t} @llvm.{name}.{suffix}({t})\n" for name in ("sqrt", "fabs", "floor", "ceil")]
    out += [f"declare {t} @llvm.{name}.{suffix}({t}, {t})\n" for name in ("minnum", "maxnum", "copysign", "pow")]
    return "".join(out)


def _fma(w: Writer, lanes: int, a: str, b: str, c: str) -> str:
    t, suffix = vector_type(lanes), "f64" if lanes == 1 else f"v{lanes}f64"
    return w.let(f"call {t} @llvm.fma.{suffix}({t} {a}, {t} {b}, {t} {c})")


def _sincos(lanes: int) -> str:
    t = vector_type(lanes)
    integers = "i64" if lanes == 1 else f"<{lanes} x i64>"
    bits = "i1" if lanes == 1 else f"<{lanes} x i1>"

    def whole(k: int) -> str:
        return str(k) if lanes == 1 else "<" + ", ".join([f"i64 {k}"] * lanes) + ">"

    w = Writer()
    magic = splat(ROUND_TO_INTEGER, lanes)
    shifted = _fma(w, lanes, "%x", splat(0.63661977236758134308, lanes), magic)
    quadrant = w.let(f"bitcast {t} {shifted} to {integers}")
    turns = w.let(f"fsub {t} {shifted}, {magic}")
    y = "%x"
    for part in HALF_PI_PARTS:
        y = _fma(w, lanes, turns, splat(-part, lanes), y)
    z = w.let(f"fmul {t} {y}, {y}")

    def polynomial(coefficients: tuple[float, ...]) -> str:
        value = splat(coefficients[0], lanes)
        for c in coefficients[1:]:
            value = _fma(w, lanes, value, z, splat(c, lanes))
        return value

    sine = _fma(w, lanes, w.let(f"fmul {t} {y}, {z}"), polynomial(SINE), y)
    cosine = _fma(w, lanes, z, splat(-0.5, lanes), splat(1.0, lanes))
    cosine = _fma(w, lanes, w.let(f"fmul {t} {z}, {z}"), polynomial(COSINE), cosine)
    odd = w.let(f"icmp ne {integers} {w.let(f'and {integers} {quadrant}, {whole(1)}')}, {whole(0)}")
    s = w.let(f"select {bits} {odd}, {t} {cosine}, {t} {sine}")
    c = w.let(f"select {bits} {odd}, {t} {sine}, {t} {cosine}")
    after = w.let(f"add {integers} {quadrant}, {whole(1)}")
    pair = "undef"
    for k, (value, steps) in enumerate(((s, quadrant), (c, after))):
        flip = w.let(f"shl {integers} {w.let(f'and {integers} {steps}, {whole(2)}')}, {whole(62)}")
        signed = w.let(f"xor {integers} {w.let(f'bitcast {t} {value} to {integers}')}, {flip}")
        pair = w.let(f"insertvalue {{ {t}, {t} }} {pair}, {t} {w.let(f'bitcast {integers} {signed} to {t}')}, {k}")
    body = "\n".join(w.lines)
    kind = f"{{ {t}, {t} }}"
    return f"define internal {kind} @sincos{lanes}({t} %x) alwaysinline {{\n{body}\n  ret {kind} {pair}\n}}\n"


def _tanh(lanes: int) -> str:
    """tanh x = sign(x) (1 - e)/(1 + e) with e = exp(-2 |x|): powers of two and a Taylor polynomial."""
    t = vector_type(lanes)
    integers, suffix = ("i64", "f64") if lanes == 1 else (f"<{lanes} x i64>", f"v{lanes}f64")
    w = Writer()
    size = w.let(f"call {t} @llvm.fabs.{suffix}({t} %x)")
    # beyond 20 the result is 1 to rounding, and the power of two stays a normal number
    capped = w.let(f"call {t} @llvm.minnum.{suffix}({t} {size}, {t} {splat(20.0, lanes)})")
    y = w.let(f"fmul {t} {capped}, {splat(-2.0, lanes)}")
    magic = splat(ROUND_TO_INTEGER, lanes)
    shifted = _fma(w, lanes, y, splat(1.0 / log(2.0), lanes), magic)
    whole = w.let(f"fsub {t} {shifted}, {magic}")
    r = y
    for part in LN_2_PARTS:
        r = _fma(w, lanes, whole, splat(-part, lanes), r)
    value = splat(1.0 / factorial(13), lanes)
    for k in reversed(range(13)):
        value = _fma(w, lanes, value, r, splat(1.0 / factorial(k), lanes))
    bits = w.let(f"bitcast {t} {shifted} to {integers}")
    shift = "52" if lanes == 1 else "<" + ", ".join(["i64 52"] * lanes) + ">"
    exponent = w.let(f"shl {integers} {bits}, {shift}")
    scaled = w.let(f"add {integers} {w.let(f'bitcast {t} {value} to {integers}')}, {exponent}")
    e = w.let(f"bitcast {integers} {scaled} to {t}")
    one = splat(1.0, lanes)
    ratio = w.let(f"fdiv {t} {w.let(f'fsub {t} {one}, {e}')}, {w.let(f'fadd {t} {one}, {e}')}")
    signed = w.let(f"call {t} @llvm.copysign.{suffix}({t} {ratio}, {t} %x)")
    body = "\n".join(w.lines)
    return f"define internal {t} @tanh{lanes}({t} %x) alwaysinline {{\n{body}\n  ret {t} {signed}\n}}\n"


LIBRARY = {"atan2": 2, "exp": 1, "log": 1}
"""Functions of the C library, and how many numbers they take."""


def _from_library(name: str, lanes: int) -> str:
    """A function of the C library, lane by lane: it stands in no inner loop."""
    t, w = vector_type(lanes), Writer()
    given = "yx"[2 - LIBRARY[name] :]
    whole = ", ".join(f"double %{x}" for x in given)
    found = w.let(f"call double @{name}({whole})") if lanes == 1 else "undef"
    for k in range(lanes if lanes > 1 else 0):
        each = [w.let(f"extractelement {t} %{x}, i32 {k}") for x in given]
        value = w.let(f"call double @{name}({', '.join(f'double {x}' for x in each)})")
        found = w.let(f"insertelement {t} {found}, double {value}, i32 {k}")
    body, takes = "\n".join(w.lines), ", ".join(f"{t} %{x}" for x in given)
    return f"define internal {t} @{name}_{lanes}({takes}) {{\n{body}\n  ret {t} {found}\n}}\n"


def _stumpff(k: int, lanes: int) -> str:
    """c_k as a polynomial, by Estrin's scheme (a short chain of dependent operations); far lanes are found apart."""
    t = vector_type(lanes)
    bits = "i1" if lanes == 1 else f"<{lanes} x i1>"
    w = Writer()
    terms = [splat(c, lanes) for c in stumpff_coefficients(k)]
    power = "%x"
    while len(terms) > 1:
        paired = []
        for i in range(0, len(terms) - 1, 2):
            paired.append(_fma(w, lanes, terms[i + 1], power, terms[i]))
        if len(terms) % 2:
            paired.append(terms[-1])
        terms = paired
        if len(terms) > 1:
            power = w.let(f"fmul {t} {power}, {power}")
    near = terms[0]
    far = w.let(f"fcmp ogt {t} %x, {splat(STUMPFF_FAR, lanes)}")
    if lanes > 1:
        far = w.let(f"icmp ne i{lanes} {w.let(f'bitcast {bits} {far} to i{lanes}')}, 0")
    name = f"@{STUMPFF}{k}_{lanes}"
    beyond = f"@{STUMPFF}{k}_beyond_{lanes}"
    body = "\n".join(w.lines)
    return _stumpff_beyond(beyond, k, lanes) + (
        f"define internal {t} {name}({t} %x) alwaysinline {{\n{body}\n"
        f'  br i1 {far}, label %away, label %done, !prof !{{!"branch_weights", i32 1, i32 100000}}\n'
        f"away:\n  %other = call {t} {beyond}({t} %x, {t} {near})\n  br label %done\n"
        f"done:\n  %value = phi {t} [ {near}, %0 ], [ %other, %away ]\n  ret {t} %value\n}}\n"
    )


def _stumpff_beyond(name: str, k: int, lanes: int) -> str:
    """c_k by sine and cosine in the lanes where x is beyond the reach of the polynomial, its value in the others."""
    t, suffix = vector_type(lanes), "f64" if lanes == 1 else f"v{lanes}f64"
    bits = "i1" if lanes == 1 else f"<{lanes} x i1>"
    pair = f"{{ {t}, {t} }}"
    w = Writer()
    far = w.let(f"fcmp ogt {t} %x, {splat(STUMPFF_FAR, lanes)}")
    # small ones would divide by zero
    s = w.let(f"select {bits} {far}, {t} %x, {t} {splat(STUMPFF_FAR, lanes)}")
    root = w.let(f"call {t} @llvm.sqrt.{suffix}({t} {s})")
    both = w.let(f"call {pair} @sincos{lanes}({t} {root})")
    value = w.let(f"extractvalue {pair} {both}, {1 - k % 2}")
    if k % 2:
        value = w.let(f"fdiv {t} {value}, {root}")
    for order in range(k % 2, k, 2):
        value = w.let(f"fdiv {t} {w.let(f'fsub {t} {splat(1.0 / factorial(order), lanes)}, {value}')}, {s}")
    found = w.let(f"select {bits} {far}, {t} {value}, {t} %near")
    body = "\n".join(w.lines)
    return f"define internal {t} {name}({t} %x, {t} %near) noinline cold {{\n{body}\n  ret {t} {found}\n}}\n"
