"""Measured core-to-core latencies, and the platform of a node that they make.

The format is that of core-to-core-latency (MIT licence, Nicolas Viennot and contributors): CSV, nanoseconds one way of
a cache line's hand-over between logical processors i (row) and j (column); the diagonal and what lies above are empty.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from espalier.base.errors import UserError

_LEAST_GAP = 1.5  # between the slowest pair below one cache and the fastest across caches


@dataclass(frozen=True)
class Latencies:
    """Of every pair of physical cores, in nanoseconds; the diagonal is 0."""

    between: list[list[float]]

    @property
    def cores(self) -> int:
        return len(self.between)


def read_latencies(path: Path, threads: int = 1) -> Latencies:
    """The first thread of each core, where thread t of core c is processor c + t * cores, as Linux numbers them.

    Raises UserError for what is not in the format, and where another core is nearer than a core's own threads.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    count = len(rows)
    if count == 0 or count % threads or any(len(row) != count for row in rows):
        raise UserError(f"{path} is no square matrix of {threads} threads per core", "see docs/ideas/nodes.md")
    try:
        full = [[float(rows[max(i, j)][min(i, j)]) if i != j else 0.0 for j in range(count)] for i in range(count)]
    except ValueError as error:
        raise UserError(f"{path}: {error}", "below the diagonal every entry is a number of nanoseconds") from error
    cores = count // threads
    for core in range(cores):
        nearest = min((full[core][other], other) for other in range(count) if other != core)[1]
        if threads > 1 and nearest % cores != core:
            raise UserError(f"{path}: processor {core} is nearest to {nearest}", "say how many threads a core has")
    return Latencies([row[:cores] for row in full[:cores]])


def find_caches(latencies: Latencies) -> list[list[int]]:
    """Cores that share a cache: those nearer to each other than the widest gap among all pairs' latencies.

    All of them where there is no such gap. Raises UserError where their cores do not follow each other.
    """
    between = latencies.between
    pairs = sorted(between[i][j] for i in range(latencies.cores) for j in range(i))
    gap, below = max(((above / below, below) for below, above in pairwise(pairs)), default=(1.0, 0.0))
    if gap < _LEAST_GAP:
        return [list(range(latencies.cores))]
    caches: list[list[int]] = []
    for core in range(latencies.cores):
        if caches and between[core][caches[-1][0]] <= below:
            caches[-1].append(core)
        else:
            caches.append([core])
    for i, cache in enumerate(caches):
        for other in caches[:i]:
            if between[cache[0]][other[0]] <= below:
                raise UserError("cores of a cache are not numbered in a row", "renumber the matrix")
    return caches


def hand_over(latencies: Latencies, caches: Sequence[Sequence[int]]) -> list[list[float]]:
    """By pair of caches the median of their cores' latencies; of a cache with one core its own is taken as 1 ns."""

    def of(some: Sequence[int], others: Sequence[int]) -> float:
        times = [latencies.between[i][j] for i in some for j in others if i != j]
        return round(median(times), 1) if times else 1.0

    return [[of(some, others) for others in caches] for some in caches]
