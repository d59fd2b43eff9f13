"""Structured control flow in LLVM assembly: variables, loops and branches for code that is not straight-line.

Variables live on the stack; LLVM turns them into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pliant.engine.compile.jit import is_x86
from pliant.engine.compile.jit import lanes as lane_count
from pliant.engine.compile.llvm_ir import Writer, splat, vector_type

FLUSH = 0x8040
"""The bits of the control register that make denormal results and operands zero."""


class Flow(Writer):
    """A function body with named blocks. Values are strings of LLVM registers or literals."""

    def __init__(self) -> None:
        super().__init__()
        self.head: list[str] = []
        self.blocks = 0
        self.width = 1

    def label(self, hint: str) -> str:
        self.blocks += 1
        return f"{hint}{self.blocks}"

    def place(self, label: str) -> None:
        """Fall through into a new block."""
        self.do(f"br label %{label}")
        self.lines.append(f"{label}:")

    # ---- variables and memory

    def variable(self, kind: str, value: str) -> str:
        """A stack variable with a first value; returns its address."""
        self.names += 1
        name = f"%v{self.names}"
        self.head.append(f"  {name} = alloca {kind}, align 8")
        self.do(f"store {kind} {value}, ptr {name}, align 8")
        return name

    def get(self, kind: str, address: str) -> str:
        return self.let(f"load {kind}, ptr {address}, align 8")

    def put(self, kind: str, value: str, address: str) -> None:
        self.do(f"store {kind} {value}, ptr {address}, align 8")

    @contextmanager
    def on_lanes(self, lanes: int) -> Iterator[None]:
        """Inside, arrays hold vectors of lanes, and arithmetic is on them."""
        before, self.width = self.width, lanes
        yield
        self.width = before

    def spread(self, value: str) -> str:
        """A double in all lanes, or as it is where there are none."""
        return value if self.width == 1 else self.in_lanes(value, self.width)

    def each(self, count: int, body: Callable[[str | int], None]) -> None:
        """``body(i)`` for a number of elements of arrays of doubles: whole vectors of them, then what is left."""
        lanes = lane_count()
        with self.on_lanes(lanes), self.repeat(count // lanes) as i:
            body(i)
        for k in range(count - count % lanes, count):
            body(k)

    @property
    def kind(self) -> str:
        """What arithmetic is on: one double, or one per lane."""
        return vector_type(self.width)

    def number(self, x: float) -> str:
        return splat(x, self.width)

    def at(self, base: str, index: str | int) -> str:
        """Address of an element of an array."""
        return self.let(f"getelementptr inbounds {self.kind}, ptr {base}, i64 {index}")

    def read(self, base: str, index: str | int) -> str:
        return self.get(self.kind, self.at(base, index))

    def write(self, value: str, base: str, index: str | int) -> None:
        self.put(self.kind, value, self.at(base, index))

    # ---- arithmetic

    def fadd(self, a: str, b: str) -> str:
        return self.let(f"fadd contract {self.kind} {a}, {b}")

    def fsub(self, a: str, b: str) -> str:
        return self.let(f"fsub contract {self.kind} {a}, {b}")

    def fmul(self, a: str, b: str) -> str:
        return self.let(f"fmul contract {self.kind} {a}, {b}")

    def fdiv(self, a: str, b: str) -> str:
        return self.let(f"fdiv {self.kind} {a}, {b}")

    def fabs(self, a: str) -> str:
        return self._intrinsic("fabs", a)

    def fmax(self, a: str, b: str) -> str:
        return self._intrinsic("maxnum", a, b)

    def fmin(self, a: str, b: str) -> str:
        return self._intrinsic("minnum", a, b)

    def sqrt(self, a: str) -> str:
        return self._intrinsic("sqrt", a)

    def ceil(self, a: str) -> str:
        return self._intrinsic("ceil", a)

    def power(self, a: str, exponent: float) -> str:
        return self._intrinsic("pow", a, self.number(exponent))

    def _intrinsic(self, name: str, *arguments: str) -> str:
        suffix = "f64" if self.width == 1 else f"v{self.width}f64"
        listed = ", ".join(f"{self.kind} {x}" for x in arguments)
        return self.let(f"call {self.kind} @llvm.{name}.{suffix}({listed})")

    def less(self, a: str, b: str) -> str:
        return self.let(f"fcmp olt double {a}, {b}")

    def negated(self, condition: str) -> str:
        return self.let(f"xor i1 {condition}, true")

    def select(self, condition: str, a: str, b: str) -> str:
        return self.let(f"select i1 {condition}, double {a}, double {b}")

    def iadd(self, a: str | int, b: str | int) -> str:
        return self.let(f"add i64 {a}, {b}")

    def imul(self, a: str | int, b: str | int) -> str:
        return self.let(f"mul i64 {a}, {b}")

    def iless(self, a: str | int, b: str | int) -> str:
        return self.let(f"icmp slt i64 {a}, {b}")

    # ---- structure

    @contextmanager
    def repeat(self, count: str | int) -> Iterator[str]:
        """``for i in range(count)``."""
        counter = self.variable("i64", "0")
        test, body, end = self.label("test"), self.label("body"), self.label("end")
        self.place(test)
        i = self.get("i64", counter)
        self.do(f"br i1 {self.iless(i, count)}, label %{body}, label %{end}")
        self.lines.append(f"{body}:")
        yield i
        self.put("i64", self.iadd(i, 1), counter)
        self.do(f"br label %{test}")
        self.lines.append(f"{end}:")

    @contextmanager
    def loop(self, condition: Callable[[], str]) -> Iterator[str]:
        """``while condition()``; yields the label to branch to for leaving early."""
        test, body, end = self.label("test"), self.label("body"), self.label("end")
        self.place(test)
        self.do(f"br i1 {condition()}, label %{body}, label %{end}")
        self.lines.append(f"{body}:")
        yield end
        self.do(f"br label %{test}")
        self.lines.append(f"{end}:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """``if condition``."""
        then, end = self.label("then"), self.label("end")
        self.do(f"br i1 {condition}, label %{then}, label %{end}")
        self.lines.append(f"{then}:")
        yield
        self.do(f"br label %{end}")
        self.lines.append(f"{end}:")

    @contextmanager
    def flushed(self) -> Iterator[None]:
        """Denormal numbers are zero inside; the caller's setting is restored.

        Elastic states decay into them, and arithmetic with them is tens of times slower.
        """
        with self._mode(lambda mode: self.let(f"or i32 {mode}, {FLUSH}")):
            yield

    @contextmanager
    def unflushed(self) -> Iterator[None]:
        """Denormal numbers are numbers inside, as others expect them who are called from here."""
        with self._mode(lambda mode: self.let(f"and i32 {mode}, {~FLUSH}")):
            yield

    @contextmanager
    def _mode(self, change: Callable[[str], str]) -> Iterator[None]:
        """Another floating-point mode inside; the caller's is restored."""
        if not is_x86():
            yield
            return
        before, inside = self.variable("i32", "0"), self.variable("i32", "0")
        self.do(f"call void @llvm.x86.sse.stmxcsr(ptr {before})")
        self.put("i32", change(self.get("i32", before)), inside)
        self.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {inside})")
        yield
        self.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {before})")

    def leave(self, label: str) -> None:
        """Jump out; what follows in this block is never reached."""
        self.do(f"br label %{label}")
        self.lines.append(f"{self.label('unreached')}:")

    def text(self, name: str, arguments: str, result: str = "void", attributes: str = "") -> str:
        body = "\n".join([*self.head, *self.lines])
        tail = "  ret void\n" if result == "void" else ""
        return f"define {attributes} {result} @{name}({arguments}) #0 {{\nentry:\n{body}\n{tail}}}\n"
