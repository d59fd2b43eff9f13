"""LLVM assembly from tapes: scalar code, and code on vectors of lanes (states of a batch, or tangent directions).

A value is either one double (the same in all lanes) or one double per lane; arrays say which they hold. Sine and
cosine, and the entire functions of the exponential map, are branch-free polynomials emitted here, so that scalar
and vector code agree and no library call breaks the pipeline.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from math import factorial, log

from pliant.engine.backends.jit import is_x86
from pliant.engine.trace.tape import BINARY, STUMPFF, Node, Tape, live
from pliant.spatial.scalars import Scalar, stumpff_coefficients

OPCODES = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}

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


def number(x: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def vector_type(lanes: int) -> str:
    return "double" if lanes == 1 else f"<{lanes} x double>"


def splat(x: float, lanes: int) -> str:
    return number(x) if lanes == 1 else "<" + ", ".join([f"double {number(x)}"] * lanes) + ">"


class Writer:
    """Lines of one function body, with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names = 0

    def let(self, expression: str) -> str:
        self.names += 1
        self.lines.append(f"  %t{self.names} = {expression}")
        return f"%t{self.names}"

    def do(self, statement: str) -> None:
        self.lines.append(f"  {statement}")


def library(lanes: int, stumpff_orders: Iterable[int]) -> str:
    """The elementary functions for one lane count."""
    return _sincos(lanes) + _tanh(lanes) + "".join(_stumpff(k, lanes) for k in sorted(set(stumpff_orders)))


def declarations(lane_counts: Iterable[int]) -> str:
    """Intrinsics for several lane counts."""
    out = [f"declare void @llvm.x86.sse.{name}(ptr)\n" for name in ("stmxcsr", "ldmxcsr") if is_x86()]
    for lanes in sorted(set(lane_counts)):
        t, suffix = vector_type(lanes), "f64" if lanes == 1 else f"v{lanes}f64"
        out.append(f"declare {t} @llvm.fma.{suffix}({t}, {t}, {t})\n")
        out += [f"declare {t} @llvm.{name}.{suffix}({t})\n" for name in ("sqrt", "fabs")]
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


def _stumpff(k: int, lanes: int) -> str:
    """c_k as a polynomial, by Estrin's scheme (a short chain of dependent operations)."""
    t = vector_type(lanes)
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
    body = "\n".join(w.lines)
    return f"define internal {t} @{STUMPFF}{k}_{lanes}({t} %x) alwaysinline {{\n{body}\n  ret {t} {terms[0]}\n}}\n"


def emit(
    w: Writer,
    tape: Tape,
    results: list[tuple[str, int, Scalar]],
    load: Callable[[object], tuple[str, int]],
    lanes: int,
    given: Mapping[int, object] | None = None,
) -> None:
    """Write a tape: ``results`` are (pointer, lanes of the target, value), ``load`` gives (pointer, lanes).

    ``given`` maps entries of the tape to symbols under which their values can be loaded instead of computed.
    """
    given = given or {}
    value: dict[int, str] = {}
    wide: dict[int, bool] = {}
    splats: dict[int, str] = {}
    sincos: dict[int, tuple[str, str]] = {}

    def as_vector(i: int) -> str:
        if wide[i]:
            return value[i]
        if i not in splats:
            if tape.op[i] == "constant":
                splats[i] = splat(tape.a[i], lanes)
            else:
                t = vector_type(lanes)
                one = w.let(f"insertelement {t} undef, double {value[i]}, i32 0")
                splats[i] = w.let(f"shufflevector {t} {one}, {t} undef, <{lanes} x i32> zeroinitializer")
        return splats[i]

    def fetch(i: int) -> None:
        # inputs are loaded where they are first used: registers are scarce
        if i not in value and (tape.op[i] == "symbol" or i in given):
            pointer, held = load(given[i] if i in given else tape.a[i])
            value[i], wide[i] = w.let(f"load {vector_type(held)}, ptr {pointer}, align 8"), held > 1

    for i in live((x for _, _, x in results), given):
        op = tape.op[i]
        if op == "constant":
            value[i], wide[i] = number(tape.a[i]), False
            continue
        if op == "symbol" or i in given:
            continue
        a = tape.a[i]
        operands = [a, tape.b[i]] if op in BINARY else [a]
        for k in operands:
            fetch(k)
        wide[i] = any(wide[k] for k in operands)
        n = lanes if wide[i] else 1
        t = vector_type(n)
        args = [as_vector(k) if wide[i] else value[k] for k in operands]
        if op in BINARY:
            value[i] = w.let(f"{OPCODES[op]} contract {t} {args[0]}, {args[1]}")
        elif op == "negate":
            value[i] = w.let(f"fneg {t} {args[0]}")
        elif op in ("sin", "cos"):
            if a not in sincos:
                pair = w.let(f"call {{ {t}, {t} }} @sincos{n}({t} {args[0]})")
                s, c = (w.let(f"extractvalue {{ {t}, {t} }} {pair}, {k}") for k in (0, 1))
                sincos[a] = (s, c)
            value[i] = sincos[a][op == "cos"]
        elif op == "tanh":
            value[i] = w.let(f"call {t} @tanh{n}({t} {args[0]})")
        elif op == "sqrt":
            suffix = "f64" if n == 1 else f"v{n}f64"
            value[i] = w.let(f"call {t} @llvm.sqrt.{suffix}({t} {args[0]})")
        else:
            value[i] = w.let(f"call {t} @{op}_{n}({t} {args[0]})")
    for pointer, held, x in results:
        t = vector_type(held)
        if type(x) is not Node:
            stored = splat(float(x), held)
        else:
            fetch(x.index)
            stored = as_vector(x.index) if held > 1 else value[x.index]
        w.do(f"store {t} {stored}, ptr {pointer}, align 8")


def stumpff_orders(tapes: Iterable[Tape]) -> set[int]:
    """Which entire functions the tapes use."""
    return {int(op.removeprefix(STUMPFF)) for tape in tapes for op in tape.op if op.startswith(STUMPFF)}


def element(w: Writer, base: str, index: int | str, lanes: int) -> str:
    """Pointer to an element of an array of doubles or of lanes."""
    if index == 0:
        return base
    return w.let(f"getelementptr inbounds {vector_type(lanes)}, ptr {base}, i64 {index}")


def function(name: str, arguments: Mapping[str, str], w: Writer, attributes: str = "") -> str:
    """A function that returns nothing.

    Vector code keeps its own frame: spilled registers lie on cache lines only in an aligned stack.
    """
    signature = ", ".join(f"{kind} %{argument}" for argument, kind in arguments.items())
    body = "\n".join(w.lines)
    frame = " noinline alignstack(64)" if "x double>" in body else ""
    return f"define {attributes} void @{name}({signature}) #0{frame} {{\nentry:\n{body}\n  ret void\n}}\n"
