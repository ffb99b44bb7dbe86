"""Who holds which bytes while a plan runs, from its steps in the order in which they end.

Bytes are told apart by their place in the *data* of the operation: a message or vector from 0 on, or all ranks' blocks
one behind the other. What reductions combine has the ranks in it whose contributions it holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

# Operations whose data are a vector that all ranks contribute to.
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")
_BLOCKS = ("scatter", "gather", "allgather", "alltoall", "reduce_scatter")


class Extent(NamedTuple):
    """Bytes [first, last) of a buffer; they are the data's from `at` on, with these ranks' contributions."""

    first: int
    last: int
    at: int
    origins: frozenset[int]

    def part(self, first: int, last: int) -> Extent:
        """What lies between these two."""
        begin, end = max(first, self.first), min(last, self.last)
        return Extent(begin, end, self.at + begin - self.first, self.origins)

    def moved(self, by: int) -> Extent:
        return Extent(self.first + by, self.last + by, self.at, self.origins)


class Buffer:
    """What one buffer holds; bytes in no extent are undefined."""

    def __init__(self, extents: Iterable[Extent] = ()) -> None:
        self._extents = sorted(extents)

    def read(self, first: int, last: int) -> list[Extent]:
        """The extents between these two, from 0 on."""
        begin, end = self._between(first, last)
        return [it.part(first, last).moved(-first) for it in self._extents[begin:end]]

    def write(self, first: int, last: int, contents: Iterable[Extent]) -> None:
        """Replaces what was there by contents that begin at 0."""
        begin, end = self._between(first, last)
        old = self._extents[begin:end]
        kept = [it.part(it.first, first) for it in old if it.first < first]
        kept += [it.part(last, it.last) for it in old if it.last > last]
        self._extents[begin:end] = sorted([*kept, *(it.moved(first) for it in contents)])

    def _between(self, first: int, last: int) -> tuple[int, int]:
        begin = bisect_right(self._extents, first, key=lambda it: it.last)
        return begin, bisect_left(self._extents, last, key=lambda it: it.first)


def combine(left: Sequence[Extent], right: Sequence[Extent]) -> list[Extent]:
    """Where both hold the same bytes of the data, both's contributions."""
    return [
        Extent(part.first, part.last, part.at, one.origins | other.origins)
        for one in left
        for other in right
        if (part := one.part(other.first, other.last)).first < part.last
        and part.at - part.first == other.at - other.first
    ]


class Holding(NamedTuple):
    """From `us` on a rank has these bytes of the data, with the contributions of so many ranks."""

    us: float
    rank: int
    first: int
    last: int
    contributions: int


def data_of(operation: str, size: int, ranks: int) -> int:
    """How many bytes of data one rank's row shows: the message or vector, or one block of each rank."""
    return 0 if operation == "barrier" else size * ranks if operation in _BLOCKS else size


def first_byte(operation: str, size: int, rank: int, ranks: int) -> int:
    """Where a rank's row begins: in an all-to-all each has data of its own."""
    return rank * size * ranks if operation == "alltoall" else 0


def follow(plan: Any, node_of: Sequence[int], spans: Iterable[tuple[int, int, float, float]]) -> Iterator[Holding]:
    """Every gain of every rank, beginning with what it contributes. `spans` are those of `core.play`."""
    machine = _Machine(plan, node_of)
    ranks = range(len(node_of))
    for rank in ranks:
        for extent in machine.begin(rank):
            yield Holding(0.0, rank, extent.at, extent.at + extent.last - extent.first, 1)
    programs = [program.steps for program in plan.programs]
    for rank, step, _, end in spans:
        for owner, extent in machine.perform(rank, programs[rank][step]):
            length = extent.last - extent.first
            yield Holding(end, owner, extent.at, extent.at + length, len(extent.origins))


class _Machine:
    """All ranks' buffers, and the messages between them."""

    def __init__(self, plan: Any, node_of: Sequence[int]) -> None:
        self._operation, self._size, self._root = str(plan.operation), int(plan.bytes), int(plan.root)
        self._count = len(node_of)
        self._neighbours = [[it for it, node in enumerate(node_of) if node == own] for own in node_of]
        self._buffers: dict[tuple[int, str], Buffer] = {}
        self._sent: dict[tuple[int, int], deque[list[Extent]]] = {}
        self._expected: dict[tuple[int, int], Any] = {}  # by rank and slot: the step that receives
        for rank in range(self._count):
            name = "output" if self._operation == "broadcast" else "input"
            self._buffers[rank, name] = Buffer(self.begin(rank))

    def begin(self, rank: int) -> list[Extent]:
        """What the rank has when it comes, as parts of its input (a broadcast's root: of its output)."""
        size, own = self._size, frozenset([rank])
        if size == 0 or (self._operation in ("broadcast", "scatter") and rank != self._root):
            return []
        if self._operation in ("gather", "allgather"):
            return [Extent(0, size, rank * size, own)]
        if self._operation == "alltoall":
            return [Extent(to * size, (to + 1) * size, (to * self._count + rank) * size, own)
                    for to in range(self._count)]  # fmt: skip
        return [Extent(0, data_of(self._operation, size, self._count), 0, own)]

    def perform(self, rank: int, step: Any) -> list[tuple[int, Extent]]:
        """What somebody has now in memory of its own that the step moved."""
        op = step.op
        if op == "send":
            self._sent.setdefault((rank, step.peer), deque()).append(self._read(rank, step.buffer, step))
        if op in ("send", "recv"):
            self._expected[rank, step.slot] = step
        if op == "finish":
            return self._receive(rank, self._expected.pop((rank, step.slot)))
        if op == "put":
            return self._write(rank, "window", step.window_offset, step, self._read(rank, step.buffer, step))
        if op == "get":
            return self._write(rank, step.buffer, step.offset, step, self._far(rank, step, "window"))
        if op in ("pull", "copy"):
            return self._write(rank, step.buffer, step.offset, step, self._far(rank, step, step.far_buffer))
        if op == "push":
            owner = self._neighbours[rank][step.neighbour]
            return self._write(owner, step.far_buffer, step.far_offset, step, self._read(rank, step.buffer, step))
        if op == "reduce":
            both = combine(self._far(rank, step, step.far_buffer), self._read(rank, step.buffer, step))
            return self._write(rank, step.buffer, step.offset, step, both)
        return []

    def _receive(self, rank: int, step: Any) -> list[tuple[int, Extent]]:
        if step.op == "send":
            return []
        return self._write(rank, step.buffer, step.offset, step, self._sent[step.peer, rank].popleft())

    def _buffer(self, rank: int, name: str) -> Buffer:
        return self._buffers.setdefault((rank, name), Buffer())

    def _read(self, rank: int, name: str, step: Any) -> list[Extent]:
        return self._buffer(rank, name).read(step.offset, step.offset + step.bytes)

    def _far(self, rank: int, step: Any, name: str) -> list[Extent]:
        """A neighbour's memory, or the rank's own where the step copies or combines private buffers."""
        is_own = step.op == "copy" or (step.op == "reduce" and name != "window")
        owner = rank if is_own else self._neighbours[rank][step.neighbour]
        first = step.window_offset if step.op == "get" else step.far_offset
        return self._buffer(owner, name).read(first, first + step.bytes)

    def _write(self, rank: int, name: str, first: int, step: Any, contents: list[Extent]) -> list[tuple[int, Extent]]:
        self._buffer(rank, name).write(first, first + step.bytes, contents)
        return [] if name == "window" else [(rank, it) for it in contents]
