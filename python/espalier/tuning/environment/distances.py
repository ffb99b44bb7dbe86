"""Where the processors lie: a virtual machine's are moved while nobody looks, now into one cache, now apart.

A distance is a cache line's round trip in nanoseconds (espalier.measure.paired.split_by_distance); 0 where it is not
known or does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from espalier.measure.paired import FAR_APART

# What was seen less often in a row is an accident.
STEADY = 5


def is_same(one: float, other: float) -> bool:
    """Whether two round trips belong to one distance."""
    return max(one, other) <= FAR_APART * min(one, other)


class Distances:
    """At which distances the processors were seen to lie for a while, nearest first."""

    def __init__(self, known: Iterable[float] = (), *, may_change: bool = False) -> None:
        """`known`: from an earlier tuning. `may_change`: whether somebody could move the processors (is_virtual)."""
        self.usual: list[float] = []
        self.may_change = may_change
        self._in_a_row: list[float] = []
        for distance in known:
            self._keep(distance)

    def note(self, line_ns: float) -> None:
        """What was just measured."""
        if line_ns <= 0:
            return
        if self._in_a_row and not is_same(line_ns, self._in_a_row[-1]):
            self._in_a_row = []
        self._in_a_row.append(line_ns)
        if len(self._in_a_row) >= STEADY:
            self._keep(round(median(self._in_a_row)))

    @property
    def here(self) -> float:
        """The usual distance that was seen last; 0 while it is not known."""
        last = self._in_a_row[-1] if self._in_a_row else 0.0
        return next((usual for usual in self.usual if is_same(usual, last)), 0.0)

    def _keep(self, distance: float) -> None:
        if not any(is_same(distance, usual) for usual in self.usual):
            self.usual = sorted([*self.usual, distance])


def describe(distances: Iterable[float]) -> str:
    """In words; nothing where nothing is known."""
    words = [f"{it:.0f}" for it in distances]
    return f"processors {' and '.join(words)} ns apart" if words else ""


def is_virtual(cpuinfo: Path = Path("/proc/cpuinfo"), hypervisor: Path = Path("/sys/hypervisor/type")) -> bool:
    """Whether this is a virtual machine: only a host moves processors; those of a real one lie where they lie."""
    try:
        flags = [line for line in cpuinfo.read_text(encoding="utf-8").splitlines() if line.startswith("flags")]
    except OSError:
        flags = []
    return hypervisor.exists() or any("hypervisor" in line.split() for line in flags[:1])
