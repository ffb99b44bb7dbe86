"""What there is to decide: operations, sizes, and where the ranks sit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

OPERATIONS = (
    "broadcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "scan",
    "exscan",
    "barrier",
)
# MPI's calls with blocks of different sizes, and the operation each is a form of. Where not every rank knows all sizes,
# ranks tell each other first, so that no choice can depend on the size before that is paid for.
FORMS = {
    "scatterv": "scatter",
    "gatherv": "gather",
    "allgatherv": "allgather",
    "alltoallv": "alltoall",
    "reduce_scatterv": "reduce_scatter",
}
EXCHANGED = frozenset(("scatterv", "gatherv", "alltoallv"))
REDUCTIONS = frozenset(("reduce", "allreduce", "reduce_scatter", "scan", "exscan"))

# Between two neighbours the faster selection may change once or twice; a factor of four finds where to within one step.
DEFAULT_SIZES = tuple(4**power for power in range(1, 12))  # 4 B … 4 MiB

# What one rank's buffers may take together; alltoall's result is `ranks` times its block.
_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class Problem:
    """One line of the table to be: an operation and what Espalier calls its size (one rank's vector or block)."""

    operation: str
    bytes: int

    @property
    def is_uneven(self) -> bool:
        """Whether blocks differ in size; `bytes` is their mean then."""
        return self.operation in FORMS

    @property
    def even(self) -> Problem:
        """The same with equal blocks."""
        return Problem(FORMS.get(self.operation, self.operation), self.bytes)

    def __str__(self) -> str:
        return self.operation if self.operation == "barrier" else f"{self.operation} {self.bytes} B"


@dataclass(frozen=True)
class Shape:
    """Where the ranks of a job sit: the node of each rank."""

    node_of: tuple[int, ...]

    @property
    def ranks(self) -> int:
        return len(self.node_of)

    @cached_property
    def sizes(self) -> list[int]:
        """Ranks per node, in the order of the nodes' first ranks."""
        return list(Counter(self.node_of).values())

    @property
    def nodes(self) -> int:
        return len(self.sizes)

    @property
    def ppn(self) -> int:
        """Ranks on the largest node."""
        return max(self.sizes)

    def __str__(self) -> str:
        same = len(set(self.sizes)) == 1
        return f"{self.nodes}x{self.ppn}" if same else "+".join(str(size) for size in self.sizes)


def element_of(problem: Problem) -> int:
    """Size of one element as the worker sums them; 1 where nothing is reduced."""
    if problem.operation not in REDUCTIONS:
        return 1
    return next(size for size in (8, 4, 1) if problem.bytes % size == 0)


def list_problems(operations: Sequence[str], sizes: Sequence[int], ranks: int) -> list[Problem]:
    """All of them, coarse before fine: every operation at a few sizes first, then at those between.

    So that whoever stops early has a table of everything in outline, not of half the operations.
    """
    problems = [Problem("barrier", 0)] if "barrier" in operations else []
    for size in _coarse_to_fine(sorted(set(sizes))):
        sized = (Problem(op, whole_elements(op, size)) for op in operations if op != "barrier")
        problems += [problem for problem in sized if _fits(problem, ranks)]
    return list(dict.fromkeys(problems))


def whole_elements(operation: str, size: int) -> int:
    """Reductions are tuned with doubles, as most programs reduce them, so in multiples of eight bytes."""
    return -(-size // 8) * 8 if operation in REDUCTIONS else size


def _coarse_to_fine(sizes: Sequence[int]) -> Iterator[int]:
    seen: set[int] = set()
    for step in (4, 2, 1):
        for size in sizes[::step]:
            if size not in seen:
                seen.add(size)
                yield size


def _fits(problem: Problem, ranks: int) -> bool:
    blocks = ranks if problem.operation in ("scatter", "gather", "allgather", "reduce_scatter") else 1
    blocks = 2 * ranks if problem.operation == "alltoall" else blocks
    return problem.bytes * (blocks + 1) <= _MOST_BYTES


def list_forms(problems: Sequence[Problem]) -> list[Problem]:
    """The uneven forms of all sizes."""
    forms = []
    for form, operation in FORMS.items():
        sizes = sorted(problem.bytes for problem in problems if problem.operation == operation)
        forms += [Problem(form, size) for size in sizes]
    return forms


def list_crossovers(selections: Mapping[Problem, str]) -> list[Problem]:
    """The sizes half-way between neighbours that are done in different ways, by what was selected for each problem.

    Knobs may differ a little without a change between; where the way changes, either may be wrong half-way.
    """
    crossovers = []
    for operation in dict.fromkeys(problem.operation for problem in selections):
        group = sorted((it for it in selections if it.operation == operation), key=lambda it: it.bytes)
        for low, high in pairwise(group):
            middle = math.isqrt(low.bytes * high.bytes) // 8 * 8
            if low.bytes < middle < high.bytes and way_of(selections[low]) != way_of(selections[high]):
                crossovers.append(Problem(operation, middle))
    return crossovers


def way_of(selection: str) -> list[str]:
    """The algorithm and how data travel on the node: what is left of a selection without sizes and counts."""
    return [word for word in selection.split(",") if "=" not in word or word.startswith("within=")]
