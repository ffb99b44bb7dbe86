"""MPI's performance guidelines: no operation should be slower than what a program could put together from others.

Source: Träff, Gropp, Thakur, "Self-consistent MPI performance guidelines" (IEEE TPDS 21(5), 2010), for operations and
sizes as Espalier counts them. A guideline that fails points at a choice that was measured badly or could be better.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from espalier.tuning.problems import Problem
from espalier.units import format_bytes

# Below this, two measurements of the same thing differ as much.
TOLERANCE = 1.10

Times = Mapping[Problem, float]
# A time in microseconds for an operation and a size; None where it is not known.
_Lookup = Callable[[str, float], float | None]


@dataclass(frozen=True)
class Violation:
    """One guideline that does not hold."""

    problem: Problem
    rule: str  # as people read it
    us: float
    limit_us: float

    def __str__(self) -> str:
        size = "" if self.problem.operation == "barrier" else f" at {format_bytes(self.problem.bytes)}"
        return f"{self.rule}{size}: {self.us:.2f} µs > {self.limit_us:.2f} µs"


@dataclass(frozen=True)
class _Rule:
    """`operation` of n bytes takes no longer than the sum of these, each with its size for n bytes on p ranks."""

    operation: str
    parts: tuple[tuple[str, Callable[[int, int], float]], ...]

    def __str__(self) -> str:
        return f"{self.operation} ≤ {' + '.join(name for name, _ in self.parts)}"


def _same(n: int, _: int) -> float:
    return n


def _all(n: int, p: int) -> float:
    return n * p


def _share(n: int, p: int) -> float:
    return n / p


_RULES = (
    _Rule("allreduce", (("reduce", _same), ("broadcast", _same))),
    _Rule("allreduce", (("reduce_scatter", _share), ("allgather", _share))),
    _Rule("allgather", (("gather", _same), ("broadcast", _all))),
    _Rule("allgather", (("alltoall", _same),)),
    _Rule("gather", (("allgather", _same),)),
    _Rule("scatter", (("broadcast", _all),)),
    _Rule("broadcast", (("scatter", _share), ("allgather", _share))),
    _Rule("reduce", (("allreduce", _same),)),
    _Rule("reduce", (("reduce_scatter", _share), ("gather", _share))),
    _Rule("reduce_scatter", (("reduce", _all), ("scatter", _same))),
    _Rule("reduce_scatter", (("allreduce", _all),)),
    _Rule("barrier", (("allreduce", lambda n, p: 4),)),
)


def check_guidelines(times: Times, ranks: int) -> list[Violation]:
    """All guidelines that fail by more than the tolerance. `times`: of what the table chooses, in microseconds."""
    return [*_check_monotone(times), *_check_rules(times, ranks)]


def _check_monotone(times: Times) -> Iterator[Violation]:
    """A smaller message is not slower than a larger one: it could be padded."""
    for problem, us in times.items():
        larger = [
            t for other, t in times.items() if other.operation == problem.operation and other.bytes > problem.bytes
        ]
        if larger and us > min(larger) * TOLERANCE:
            yield Violation(problem, f"{problem.operation} is monotone in size", us, min(larger))


def _check_rules(times: Times, ranks: int) -> Iterator[Violation]:
    lookup = _interpolator(times)
    for rule in _RULES:
        for problem, us in times.items():
            if problem.operation != rule.operation:
                continue
            parts = [lookup(name, size(problem.bytes, ranks)) for name, size in rule.parts]
            limit = sum(part for part in parts if part is not None)
            if None not in parts and us > limit * TOLERANCE:
                yield Violation(problem, str(rule), us, limit)


def _interpolator(times: Times) -> _Lookup:
    """Between measured sizes on a straight line through their logarithms; beyond them nothing is known."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for problem, us in sorted(times.items(), key=lambda item: item[0].bytes):
        curves.setdefault(problem.operation, []).append((problem.bytes, us))

    def lookup(operation: str, size: float) -> float | None:
        points = curves.get(operation, [])
        at = bisect_left([point[0] for point in points], size)
        if at < len(points) and points[at][0] == size:
            return points[at][1]
        if at == 0 or at == len(points):
            return None
        (left, low), (right, high) = points[at - 1], points[at]
        share = math.log(size / left) / math.log(right / left)
        return math.exp(math.log(low) * (1 - share) + math.log(high) * share)

    return lookup
