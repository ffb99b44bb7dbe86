"""MPI's performance guidelines: no operation should be slower than what a program could put together from others.

Source: Träff, Gropp, Thakur, "Self-consistent MPI performance guidelines" (IEEE TPDS 21(5), 2010), for operations and
sizes as Espalier counts them. A guideline that fails points at a choice that was measured badly or could be better.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from espalier.base.units import format_bytes
from espalier.tuning.problems.problem import Problem, whole_elements

# Below this, two measurements of the same thing differ as much.
TOLERANCE = 1.10

# Side by side all but one of so many rounds must agree, by chance 8 in 128, and what the tolerance is exceeded by must
# stand out from its own spread: by two standard errors of a median of normally distributed values (π/2 for the median
# of so many, 1.4826 from a median deviation to a standard deviation).
CONFIRM_ROUNDS = 7
_DISSENTERS = 1
_STANDARD_ERRORS = 2 * 1.4826 * math.sqrt(math.pi / 2 / CONFIRM_ROUNDS)

# Times are multiples of this, in microseconds; each may be that far off.
_TICK_US = 0.01

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
    parts: tuple[Problem, ...]  # what should take no less together

    @property
    def name(self) -> str:
        """Which guideline, and at which size."""
        size = "" if self.problem.operation == "barrier" else f" at {format_bytes(self.problem.bytes)}"
        return f"{self.rule}{size}"

    def __str__(self) -> str:
        return f"{self.name}: {self.us:.2f} µs > {self.limit_us:.2f} µs"


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


def is_real(violation: Violation, time_of: Callable[[Problem], float | None]) -> bool:
    """Whether it fails side by side, too, and by more than such times differ by themselves.

    The table's were measured minutes apart.

    `time_of` measures now what the table chooses for a problem; None where that cannot be, which leaves the violation
    as it is.
    """
    differences, excesses = [], []
    for _ in range(CONFIRM_ROUNDS):
        own, *others = (time_of(problem) for problem in (violation.problem, *violation.parts))
        if own is None or None in others:
            return True
        limit = sum(us for us in others if us is not None)
        differences.append(own - limit)
        excesses.append(own - limit * TOLERANCE)
    spread = median(abs(it - median(excesses)) for it in excesses)
    noise = _STANDARD_ERRORS * spread + _TICK_US * (1 + len(violation.parts))
    return median(excesses) > noise and sum(it <= 0 for it in differences) <= _DISSENTERS


def _check_monotone(times: Times) -> Iterator[Violation]:
    """A smaller message is not slower than a larger one: it could be padded."""
    for problem, us in times.items():
        larger = [it for it in times if it.operation == problem.operation and it.bytes > problem.bytes]
        least = min(larger, key=lambda it: times[it], default=problem)
        if us > times[least] * TOLERANCE:
            yield Violation(problem, f"{problem.operation} is monotone in size", us, times[least], (least,))


def _check_rules(times: Times, ranks: int) -> Iterator[Violation]:
    lookup = _interpolator(times)
    for rule in _RULES:
        for problem, us in times.items():
            if problem.operation != rule.operation:
                continue
            sizes = [(name, size(problem.bytes, ranks)) for name, size in rule.parts]
            known = [lookup(name, size) for name, size in sizes]
            limit = sum(part for part in known if part is not None)
            if None not in known and us > limit * TOLERANCE:
                parts = tuple(Problem(name, whole_elements(name, math.ceil(size))) for name, size in sizes)
                yield Violation(problem, str(rule), us, limit, parts)


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
