"""Tracing of a rolled program: links and stations in classes, what they store, what later kernels read of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from pliant.algorithm import Algorithm, Carrier, LinkView, Pass, StationStep, StationView
from pliant.engine.trace.program import Address, Kernel, LoopPass, RolledProgram, Still, Stored
from pliant.engine.trace.structure import (
    Alike,
    ConstantsPattern,
    Slot,
    freeze,
    from_slots,
    pack,
    shifted,
    slots,
    split_tree,
    structure_key,
)
from pliant.engine.trace.tape import Node, Operations, Tape, tangents
from pliant.spatial.scalars import Scalar


def rolled(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """Trace every pass of an algorithm once per class of link.

    With seeds (names of inputs, or "constants") the program gives the tangents of the outputs along the directions
    in the arrays ``d`+ seed``; tangents that are structurally zero cost nothing.
    """
    return Roller(algorithm, tree, seeds).program()


def whole(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> RolledProgram:
    """A program as a single kernel, traced over the whole tree at once: shorter for small robots."""
    tape = Tape()
    split = split_tree(tree)
    starts, _ = running([len(s.values) for s in split])

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


MOST_COUNTED = 256
"""Counts that are kept; the oldest go first."""
_COUNTED: dict[tuple[str, str, tuple[str, ...]], Operations] = {}


def counted(algorithm: Algorithm, tree: Carrier, seeds: tuple[str, ...] = ()) -> Operations:
    """Operations of one evaluation of the whole tree; robots of one structure have as many, and share the count."""
    key = (structure_key(tree), algorithm.name, seeds)
    if key not in _COUNTED:
        _COUNTED[key] = whole(algorithm, tree, seeds).operations
        while len(_COUNTED) > MOST_COUNTED:
            _COUNTED.pop(next(iter(_COUNTED)), None)
    return _COUNTED[key]


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
        owners=[0],
    )


class Row(NamedTuple):
    """A row of a program: a link, or one of the stations of its body."""

    link: int
    station: int | None = None


class Roller:
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
        self.keys = [s.key.frozen for s in self.split]
        self.structure = self._numbered([(key, link.kind) for key, link in zip(self.keys, self.links, strict=True)])
        self.bodies = self._numbered([self._body_key(k) for k in range(len(self.links))])
        self.patterns: list[dict[str, Any]] = [{} for _ in self.links]
        self.frozen: dict[int, tuple[Any, Any, frozenset[int]]] = {}
        self.records = [0] * len(self.links)
        # stations stand before their link
        looped = [_looped(s.pattern) for s in self.split]
        self.stations = [len(each) for each in looped]
        self.chained = [bool(each) and s.pattern.chained for s, each in zip(self.split, looped, strict=True)]
        """Whether what a station is given depends on the one before it."""
        self.strides = [each.stride if isinstance(each, Alike) else 0 for each in looped]
        """How far the constants of a station are from those of the one before it."""
        self.rows = [Row(i, k) for i, n in enumerate(self.stations) for k in (*range(n), None)]
        self.row_of = {row: number for number, row in enumerate(self.rows)}
        self.held: list[list[dict[str, Any]]] = [[{} for _ in range(n)] for n in self.stations]
        """What each station has stored, as it sees it itself."""

    def _body_key(self, i: int) -> Any:
        """What links share whose stations have the same code: the part of their constants that stations know."""
        pattern, kind = self.split[i].pattern, self.links[i].kind
        if not hasattr(pattern, "looped_part"):
            return kind
        return self.keys[i][pattern._fields.index(pattern.looped_part)], kind.size, kind.coordinates

    @staticmethod
    def _numbered(keys: list[Any]) -> list[int]:
        seen: dict[Any, int] = {}
        return [seen.setdefault(key, len(seen)) for key in keys]

    def program(self) -> RolledProgram:
        passes = []
        for number, each in enumerate(self.algorithm.passes):
            passes.append(self._trace_pass(number, each))
            if any(self.stations):
                passes += [
                    self._trace_stations(f"{number}_{each.name}{k}", step) for k, step in enumerate(each.stations)
                ]
        self._mark_needed(passes)
        passes = [each for each in passes if any(kernel.results for kernel in each.kernels)]
        starts, total = running(self.records)
        saved = self._number_saved(passes) if self.seeds else [0] * len(self.rows)
        saved_start, saved_total = running(saved)
        constants, _ = running([len(s.values) for s in self.split])
        outputs = self._output_sizes(passes)
        output_start, output_total = running(outputs)
        shifts = [row.station or 0 for row in self.rows]
        return RolledProgram(
            name=self.algorithm.name,
            inputs=self.algorithm.inputs,
            seeds=self.seeds,
            passes=passes,
            parents=[self._parent(row) for row in self.rows],
            children=[self._children(row) for row in self.rows],
            coordinate_start=[self.links[row.link].start for row in self.rows],
            output_start=output_start,
            constant_start=[
                constants[row.link] + k * self.strides[row.link] for row, k in zip(self.rows, shifts, strict=True)
            ],
            record_start=[starts[row.link] + k for row, k in zip(self.rows, shifts, strict=True)],
            record_size=total,
            saved_start=saved_start,
            saved_size=saved_total,
            constants=list(chain.from_iterable(s.values for s in self.split)),
            outputs=output_total,
            size=self.tree.size,
            patterns=self.split,
            owners=[row.link for row in self.rows],
        )

    def _parent(self, row: Row) -> int:
        if row.station is None:
            parent = self.links[row.link].parent
            return self.row_of[Row(parent)] if parent >= 0 else -1
        return self.row_of[row] - 1 if row.station else -1

    def _children(self, row: Row) -> tuple[int, ...]:
        if row.station is None:
            return tuple(self.row_of[Row(c)] for c in self.children[row.link])
        return (self.row_of[Row(row.link)],)

    def _output_sizes(self, passes: list[LoopPass]) -> list[int]:
        sizes = [0] * len(self.rows)
        for each in passes:
            for i, k in enumerate(each.kernel_of):
                sizes[i] += len(each.kernels[k].outputs)
        return sizes

    def _trace_pass(self, number: int, each: Pass) -> LoopPass:
        """A pass over the links; what is found in a loop over the stations of a link is left to that."""
        kernels: list[Kernel] = []
        known: dict[Any, int] = {}
        kernel_of: dict[Row, int] = {}
        order = range(len(self.links))
        for i in order if each.direction == "outward" else reversed(order):
            if each.stations and self.stations[i]:
                continue
            key = self._class_key(i, each)
            if key not in known:
                known[key] = len(kernels)
                kernels.append(self._trace(i, each, f"{each.name}{len(kernels)}"))
            k = kernel_of[Row(i)] = known[key]
            self.patterns[i] = {**self.patterns[i], **kernels[k].patterns}
            self.records[i] = kernels[k].record
            self.active[i] = self.active[i] | kernels[k].active
            self.active_still[i] = self.active_still[i] | self._carried(kernels[k], each)
        return self._over_all(f"{number}_{each.name}", each.direction, kernel_of, kernels)

    def _over_all(self, name: str, direction: str, kernel_of: dict[Row, int], kernels: list[Kernel]) -> LoopPass:
        """A pass with nothing to do for rows that it does not concern."""
        if len(kernel_of) < len(self.rows):
            kernels = [*kernels, Kernel("idle", Tape(), {}, [], "dout" if self.seeds else "out", {}, 0)]
        return LoopPass(name, direction, [kernel_of.get(row, len(kernels) - 1) for row in self.rows], kernels)

    def _trace_stations(self, name: str, step: StationStep) -> LoopPass:
        """A pass over the stations of all links that have them, one after the other."""
        kernels: list[Kernel] = []
        known: dict[Any, int] = {}
        kernel_of: dict[Row, int] = {}
        for i, n in enumerate(self.stations):
            start = self.records[i]
            for k in range(n):
                offers = (self._station_offer(i, j) for j in ((k, k - 1) if self.chained[i] else (k,)) if j >= 0)
                key = (self.bodies[i], start, *offers)
                if key not in known:
                    known[key] = len(kernels)
                    kernels.append(self._trace_station(Row(i, k), step, f"{name}_{len(kernels)}", start))
                kernel = kernels[known[key]]
                kernel_of[Row(i, k)] = known[key]
                self.held[i][k] = {**self.held[i][k], **kernel.patterns}
                self.records[i] = max(self.records[i], start + n * kernel.record)
                self.active[i] = self.active[i] | {slot + k for slot in kernel.active}
                if kernel.still is not None:
                    self.active_still[i] = self.active_still[i] | {slot + k for slot in kernel.still.stores}
            if n:
                # the link sees what all of them have stored
                for what in self.held[i][0]:
                    every = [
                        shifted(held[what], k, constants=k * self.strides[i]) for k, held in enumerate(self.held[i])
                    ]
                    self.patterns[i] = {**self.patterns[i], what: every}
        return self._over_all(name, "outward", kernel_of, kernels)

    def _station_offer(self, i: int, k: int) -> Any:
        """What a station has stored, and which of it has tangents."""
        pattern = freeze(self.held[i][k])
        own = slots(pattern) if self.seeds else frozenset()
        moved, carried = (
            frozenset(slot for slot in own if slot + k in active[i]) for active in (self.active, self.active_still)
        )
        return pattern, moved, carried

    def _trace_station(self, row: Row, step: StationStep, name: str, start: int) -> Kernel:
        """The kernel of a station; its slots are a number of stations apart, so that those of the next follow them."""
        (i, k), tape = row, Tape()
        assert k is not None
        link = self._view(tape, i, "child0", tuple(self.held[i][k]))

        def read(pattern: Any, role: str) -> Any:
            return from_slots(
                pattern,
                lambda index: tape.symbol(Address("store", role, index)),
                lambda index: tape.symbol(Address("constants", role, index)),
            )

        constants = from_slots(
            _looped(self.split[i].pattern)[0], lambda index: tape.symbol(Address("constants", "own", index))
        )
        before = read(self.held[i][k - 1], "parent") if k and self.chained[i] else None
        values = step(StationView(link, [constants], 0, read(self.held[i][k], "own"), before))
        n, record = self.stations[i], 0
        patterns: dict[str, Any] = {}
        stores: dict[Stored, Scalar] = {}
        for key, value in values.items():
            pattern, nodes = pack(value, record, _own_constant)
            patterns[key] = shifted(pattern, start, stride=n)
            stores.update({("store", start + n * (record + s)): node for s, node in enumerate(nodes)})
            record += len(nodes)
        return self._with_tangents(Kernel(name, tape, stores, [], "out", patterns, record), row, None)

    def _class_key(self, i: int, each: Pass) -> Any:
        """Structure, and the patterns of the values that the step reads from the link itself and its neighbours."""
        if each.stations:
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
        return self._with_tangents(Kernel(name, tape, stores, outputs, "out", patterns, record), Row(i), each)

    def _with_tangents(self, kernel: Kernel, row: Row, each: Pass | None) -> Kernel:
        """The kernel, with tangents where the program has seeds; ``each`` is a pass over links."""
        if not self.seeds:
            return kernel
        slots_ = [k for _, k in kernel.stores]
        values = [*kernel.stores.values(), *kernel.outputs]
        kernel.still = Still(*_derivatives(slots_, values, self._seed_still(kernel.tape, row, each)))
        moved, kernel.outputs = _derivatives(slots_, values, self._seed(kernel.tape, row))
        kernel.output_array = "dout"
        kernel.stores.update({("dstore", k): d for k, d in moved.items()})
        return kernel

    def _seed(self, tape: Tape, row: Row) -> dict[int, Scalar]:
        """Tangents of everything that a kernel reads."""
        seeds: dict[int, Scalar] = {}
        for index, address in _symbols(tape):
            if address.array in self.seeds:
                seeds[index] = tape.symbol(address._replace(array=f"d{address.array}"))
            elif address.array == "store":
                link, slot = self._slot(row, address)
                if slot in self.active[link]:
                    seeds[index] = tape.symbol(address._replace(array="dstore"))
        return seeds

    def _seed_still(self, tape: Tape, row: Row, each: Pass | None) -> dict[int, Scalar]:
        """Seeds where neither the link nor its neighbours move by themselves; rates of all links may.

        On the way out the parent is carried by whatever moves further in.
        """
        seeds: dict[int, Scalar] = {}
        for index, address in _symbols(tape):
            if address.array in self.seeds and not address.role:
                seeds[index] = tape.symbol(address._replace(array=f"d{address.array}"))
            if address.array != "store":
                continue
            link, slot = self._slot(row, address)
            outer = each is not None and each.direction == "outward" and address.role == "parent"
            if slot in (self.active[link] if outer else self.active_still[link]):
                seeds[index] = tape.symbol(address._replace(array="dstore"))
        return seeds

    def _view(self, tape: Tape, i: int, role: str, names: tuple[str, ...]) -> LinkView:
        def reader(array: str) -> Any:
            return lambda index: tape.record("symbol", Address(array, role, index))

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

        def whole(name: str) -> list[Scalar]:
            return [tape.symbol(Address(name, "", k)) for k in range(self.tree.size)]

        return self.tree.view(
            link.name, link.kind, constants, inputs, gravity, None, [], store, self.split[i].pattern, whole
        )

    def _mark_needed(self, passes: list[LoopPass]) -> None:
        """Find the record slots that some kernel reads, until nothing changes."""
        needed: list[set[Stored]] = [set() for _ in self.links]
        rows_of = [
            [
                [row for row, c in zip(self.rows, each.kernel_of, strict=True) if c == k]
                for k in range(len(each.kernels))
            ]
            for each in passes
        ]
        changed = True
        while changed:
            changed = False
            for each, concerned in zip(reversed(passes), reversed(rows_of), strict=True):
                for kernel, rows in zip(each.kernels, concerned, strict=True):
                    reads = [address for address in kernel.reads() if address.array in ("store", "dstore")]
                    for row in rows:
                        for address in reads:
                            link, slot = self._slot(row, address)
                            needed[link].add((address.array, slot))
                for kernel, rows in zip(each.kernels, concerned, strict=True):
                    wanted: set[Stored] = set()
                    for link, station in rows:
                        wanted |= {
                            (array, slot)
                            for array, slot in kernel.stores
                            if (array, slot + (station or 0)) in needed[link]
                        }
                    if wanted - kernel.needed:
                        kernel.needed |= wanted
                        changed = True

    def _number_saved(self, passes: list[LoopPass]) -> list[int]:
        """Give every pass its part of the links' saved values; the size for each link."""
        start = 0
        sizes = [0] * len(self.rows)
        for each in passes:
            counts = [kernel.save(start) for kernel in each.kernels]
            for i, k in enumerate(each.kernel_of):
                sizes[i] = start + counts[k]
            start += max(counts)
        return sizes

    def _slot(self, row: Row, address: Address) -> tuple[int, int]:
        """A stored value as its link sees it: the link, and the slot of its record."""
        link, station = row
        _, role, index = address
        if station is not None:
            return link, index + {"own": station, "parent": station - 1}.get(role, 0)
        if role == "own":
            return link, index
        return (self.links[link].parent if role == "parent" else self.children[link][int(role[5:])]), index


def _looped(pattern: Any) -> Sequence[Any]:
    """The stations of a link where code is a loop over them; their patterns."""
    found: Sequence[Any] = getattr(pattern, "looped", ())
    return found


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


def running(sizes: list[int]) -> tuple[list[int], int]:
    """Start of each part and the total."""
    starts, total = [], 0
    for size in sizes:
        starts.append(total)
        total += size
    return starts, total
