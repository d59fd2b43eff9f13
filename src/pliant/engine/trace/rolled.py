"""Rolled programs: one kernel per class of link, called in a loop over the links.

A link's class in a pass is its structure together with the patterns of the values that reach it, so that zeros
travel along a chain (a planar arm stays planar) and the number of kernels does not grow with the number of links.
Values between kernels live in one record per link; only those that some later kernel reads are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pliant.engine.trace.program import Address, Kernel, LoopPass, RolledProgram, Still, Stored
from pliant.engine.trace.structure import (
    ConstantsPattern,
    Slot,
    freeze,
    from_slots,
    frozen_pattern,
    pack,
    slots,
    split_tree,
)
from pliant.engine.trace.tape import Node, Tape, tangents
from pliant.formulations.recursive.passes import Algorithm, Carrier, LinkView, Pass
from pliant.spatial.scalars import Scalar


def rolled(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """Trace every pass of an algorithm once per class of link.

    With seeds (names of inputs, or "constants") the program gives the tangents of the outputs along the directions
    in the arrays ``d`+ seed``; tangents that are structurally zero cost nothing.
    """
    if getattr(tree, "drag", None) is not None:
        # damping that couples links: a link is no longer known by its neighbours alone
        return whole(algorithm, tree, seeds)
    return _Roller(algorithm, tree, seeds).program()


class _Roller:
    def __init__(self, algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...]) -> None:
        self.algorithm = algorithm
        self.seeds = seeds
        self.active: list[frozenset[int]] = [frozenset() for _ in tree.links]
        self.active_still: list[frozenset[int]] = [frozenset() for _ in tree.links]
        self.tree = tree
        self.links = tree.links
        self.children = tree.children
        self.gravity = [g if g == 0 else Slot(k) for k, g in enumerate(tree.gravity.tolist())]
        self.split = split_tree(tree)
        self.keys = [frozen_pattern(link, s.pattern) for s, link in zip(self.split, self.links, strict=True)]
        self.structure = self._numbered([(key, link.kind) for key, link in zip(self.keys, self.links, strict=True)])
        self.bodies = self._numbered([self._body_key(k) for k in range(len(self.links))])
        self.patterns: list[dict[str, Any]] = [{} for _ in self.links]
        self.frozen: dict[int, tuple[Any, Any, frozenset[int]]] = {}
        self.records = [0] * len(self.links)

    def _body_key(self, i: int) -> Any:
        """What links with equal bodies share; parts of other carriers than trees have none."""
        pattern, kind = self.split[i].pattern, self.links[i].kind
        if not hasattr(pattern, "body"):
            return kind
        return self.keys[i][pattern._fields.index("body")], kind.size, kind.coordinates

    @staticmethod
    def _numbered(keys: list[Any]) -> list[int]:
        seen: dict[Any, int] = {}
        return [seen.setdefault(key, len(seen)) for key in keys]

    def program(self) -> RolledProgram:
        passes = [self._trace_pass(number, each) for number, each in enumerate(self.algorithm.passes)]
        self._mark_needed(passes)
        passes = [each for each in passes if any(kernel.results for kernel in each.kernels)]
        starts, total = _running(self.records)
        saved = self._number_saved(passes) if self.seeds else [0] * len(self.links)
        saved_start, saved_total = _running(saved)
        constants, _ = _running([len(s.values) for s in self.split])
        outputs = self._output_sizes(passes)
        output_start, output_total = _running(outputs)
        return RolledProgram(
            name=self.algorithm.name,
            inputs=self.algorithm.inputs,
            seeds=self.seeds,
            passes=passes,
            parents=[link.parent for link in self.links],
            children=list(self.children),
            coordinate_start=[link.start for link in self.links],
            output_start=output_start,
            constant_start=constants,
            record_start=starts,
            record_size=total,
            saved_start=saved_start,
            saved_size=saved_total,
            constants=[x for s in self.split for x in s.values],
            outputs=output_total,
            size=self.tree.size,
            patterns=self.split,
        )

    def _output_sizes(self, passes: list[LoopPass]) -> list[int]:
        sizes = [0] * len(self.links)
        for each in passes:
            for i, k in enumerate(each.kernel_of):
                sizes[i] += len(each.kernels[k].outputs)
        return sizes

    def _trace_pass(self, number: int, each: Pass) -> LoopPass:
        kernels: list[Kernel] = []
        known: dict[Any, int] = {}
        kernel_of = [0] * len(self.links)
        order = range(len(self.links))
        for i in order if each.direction == "outward" else reversed(order):
            key = self._class_key(i, each)
            if key not in known:
                known[key] = len(kernels)
                kernels.append(self._trace(i, each, f"{each.name}{len(kernels)}"))
            k = kernel_of[i] = known[key]
            self.patterns[i] = {**self.patterns[i], **kernels[k].patterns}
            self.records[i] = kernels[k].record
            self.active[i] = self.active[i] | kernels[k].active
            self.active_still[i] = self.active_still[i] | self._carried(kernels[k], each)
        return LoopPass(f"{number}_{each.name}", each.direction, kernel_of, kernels)

    def _class_key(self, i: int, each: Pass) -> Any:
        """Structure, and the patterns of the values that the step reads from the link itself and its neighbours."""
        if each.of_body:
            return (self.bodies[i], self.records[i])
        neighbours: list[int] = []
        if each.direction == "outward":
            neighbours = [self.links[i].parent] if self.links[i].parent >= 0 else []
        else:
            neighbours = list(self.children[i])
        offered = [(self.structure[j], tuple(self._offer(j, name) for name in each.reads)) for j in neighbours]
        own = tuple(self._offer(i, name) for name in each.own)
        return (self.structure[i], self.records[i], own, tuple(offered))

    def _offer(self, j: int, name: str) -> Any:
        """The pattern of a stored value, and which of its slots have tangents."""
        held = self.patterns[j].get(name)
        # links of one class share the pattern itself
        if id(held) not in self.frozen:
            pattern = freeze(held)
            self.frozen[id(held)] = (held, pattern, slots(pattern))
        _, pattern, own = self.frozen[id(held)]
        return (name, pattern, self.active[j] & own, self.active_still[j] & own) if self.seeds else (name, pattern)

    @staticmethod
    def _carried(kernel: Kernel, each: Pass) -> frozenset[int]:
        """Slots whose tangents may differ from zero for a link at rest.

        What is handed inward is as ever: links further out may move.
        """
        if kernel.still is None:
            return frozenset()
        return kernel.active if each.direction == "inward" else frozenset(kernel.still.stores)

    def _trace(self, i: int, each: Pass, name: str) -> Kernel:
        tape = Tape()
        # a step sees only what it declares, because that decides the class
        outward, parent = each.direction == "outward", self.links[i].parent
        view = self._view(tape, i, "own", each.own)
        if parent >= 0:
            view.parent = self._view(tape, parent, "parent", each.reads if outward else ())
        for k, c in enumerate(self.children[i]):
            view.children.append(self._view(tape, c, f"child{k}", () if outward else each.reads))
        values = each.step(view)
        outputs = list(values.pop(self.algorithm.output, []))
        stores: dict[Stored, Scalar] = {}
        patterns: dict[str, Any] = {}
        record = self.records[i]
        for key, value in values.items():
            patterns[key], nodes = pack(value, record, _own_constant)
            stores.update({("store", record + k): node for k, node in enumerate(nodes)})
            record += len(nodes)
        if not self.seeds:
            return Kernel(name, tape, stores, outputs, "out", patterns, record)
        slots_ = [k for _, k in stores]
        values_ = [*stores.values(), *outputs]
        moved, moved_outputs = _derivatives(slots_, values_, self._seed(tape, i))
        kernel = Kernel(name, tape, stores, moved_outputs, "dout", patterns, record)
        kernel.still = Still(*_derivatives(slots_, values_, self._seed_still(tape, i, each)))
        stores.update({("dstore", k): d for k, d in moved.items()})
        return kernel

    def _seed(self, tape: Tape, i: int) -> dict[int, Scalar]:
        """Tangents of everything that a kernel reads."""
        seeds: dict[int, Scalar] = {}
        for index, address in _symbols(tape):
            if address.array in self.seeds:
                seeds[index] = tape.symbol(address._replace(array=f"d{address.array}"))
            elif address.array == "store" and address.index in self.active[self._neighbour(i, address.role)]:
                seeds[index] = tape.symbol(address._replace(array="dstore"))
        return seeds

    def _seed_still(self, tape: Tape, i: int, each: Pass) -> dict[int, Scalar]:
        """The same where neither the link nor its neighbours move by themselves.

        On the way out the parent is carried by whatever moves further in.
        """
        seeds: dict[int, Scalar] = {}
        for index, address in _symbols(tape):
            if address.array != "store":
                continue
            j = self._neighbour(i, address.role)
            outer = each.direction == "outward" and address.role == "parent"
            if address.index in (self.active[j] if outer else self.active_still[j]):
                seeds[index] = tape.symbol(address._replace(array="dstore"))
        return seeds

    def _view(self, tape: Tape, i: int, role: str, names: tuple[str, ...]) -> LinkView:
        def reader(array: str) -> Any:
            return lambda index: tape.symbol(Address(array, role, index))

        link = self.links[i]
        inputs = {
            name: [tape.symbol(Address(name, role, k)) for k in range(link.kind.coordinates)]
            for name in self.algorithm.inputs
        }
        gravity = [tape.symbol(Address("gravity", "", g.index)) if isinstance(g, Slot) else g for g in self.gravity]
        known = {name: self.patterns[i][name] for name in names if name in self.patterns[i]}
        store = from_slots(known, reader("store"), reader("constants"))
        # most of what a neighbour is remains unread
        constants = partial(from_slots, self.split[i].pattern, reader("constants"))
        return LinkView(link.name, link.kind, constants, inputs, gravity, None, [], store)

    def _mark_needed(self, passes: list[LoopPass]) -> None:
        """Find the record slots that some kernel reads, until nothing changes."""
        needed: list[set[Stored]] = [set() for _ in self.links]
        changed = True
        while changed:
            changed = False
            for each in reversed(passes):
                reads = [kernel.reads() for kernel in each.kernels]
                for i, k in enumerate(each.kernel_of):
                    for array, role, index in reads[k]:
                        if array in ("store", "dstore"):
                            needed[self._neighbour(i, role)].add((array, index))
                for k, kernel in enumerate(each.kernels):
                    wanted: set[Stored] = set().union(*(needed[i] for i, c in enumerate(each.kernel_of) if c == k))
                    wanted &= set(kernel.stores)
                    if wanted - kernel.needed:
                        kernel.needed |= wanted
                        changed = True

    def _number_saved(self, passes: list[LoopPass]) -> list[int]:
        """Give every pass its part of the links' saved values; the size for each link."""
        start = 0
        sizes = [0] * len(self.links)
        for each in passes:
            counts = [kernel.save(start) for kernel in each.kernels]
            for i, k in enumerate(each.kernel_of):
                sizes[i] = start + counts[k]
            start += max(counts)
        return sizes

    def _neighbour(self, i: int, role: str) -> int:
        if role == "own":
            return i
        return self.links[i].parent if role == "parent" else self.children[i][int(role.removeprefix("child"))]


def _own_constant(node: Node) -> int | None:
    """The place among its link's constants of a value that is one of them."""
    if node.tape.op[node.index] != "symbol":
        return None
    array, role, index = node.tape.a[node.index]
    return int(index) if array == "constants" and role == "own" else None


def _symbols(tape: Tape) -> list[tuple[int, Address]]:
    return [(index, tape.a[index]) for index in range(len(tape.op)) if tape.op[index] == "symbol"]


def _derivatives(
    slots_: list[int], values: list[Scalar], seeds: dict[int, Scalar]
) -> tuple[dict[int, Scalar], list[Scalar]]:
    """Tangents of the stored values that are not structurally zero, by slot, and those of the outputs."""
    found = tangents(values, seeds)
    stored = dict(zip(slots_, found, strict=False))
    return {k: d for k, d in stored.items() if type(d) is Node or d != 0}, found[len(slots_) :]


def _running(sizes: list[int]) -> tuple[list[int], int]:
    """Start of each part and the total."""
    starts, total = [], 0
    for size in sizes:
        starts.append(total)
        total += size
    return starts, total


def whole(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """The same program as a single kernel, traced over the whole tree at once: shorter for small robots."""
    tape = Tape()
    split = split_tree(tree)
    starts, _ = _running([len(s.values) for s in split])

    def reader(start: int) -> Callable[[int], Node]:
        return lambda k: tape.symbol(Address("constants", "own", start + k))

    constants = [from_slots(s.pattern, reader(start)) for s, start in zip(split, starts, strict=True)]
    inputs = {name: [tape.symbol(Address(name, "own", k)) for k in range(tree.size)] for name in algorithm.inputs}
    gravity = [g and tape.symbol(Address("gravity", "", k)) for k, g in enumerate(tree.gravity.tolist())]
    outputs = algorithm.evaluate(tree, inputs, constants, gravity)
    if seeds:
        given = {
            i: tape.symbol(tape.a[i]._replace(array=f"d{tape.a[i].array}"))
            for i in range(len(tape.op))
            if tape.op[i] == "symbol" and tape.a[i].array in seeds
        }
        outputs = tangents(outputs, given)
    values = [x for s in split for x in s.values]
    return one_kernel(algorithm.name, algorithm.inputs, tape, outputs, values, tree.size, seeds, split)


def one_kernel(
    name: str,
    inputs: tuple[str, ...],
    tape: Tape,
    outputs: list[Scalar],
    constants: list[float],
    size: int,
    seeds: tuple[str, ...] = (),
    patterns: Sequence[ConstantsPattern] = (),
) -> RolledProgram:
    """A program of a single kernel: everything is its own, and nothing has to be stored in between."""
    kernel = Kernel("whole", tape, {}, outputs, "dout" if seeds else "out", {}, 0)
    saved = kernel.save() if seeds else 0
    return RolledProgram(
        name=name,
        inputs=inputs,
        seeds=seeds,
        passes=[LoopPass("whole", "outward", [0], [kernel])],
        parents=[-1],
        children=[()],
        coordinate_start=[0],
        output_start=[0],
        constant_start=[0],
        record_start=[0],
        record_size=0,
        saved_start=[0],
        saved_size=saved,
        constants=constants,
        outputs=len(outputs),
        size=size,
        patterns=list(patterns),
    )
