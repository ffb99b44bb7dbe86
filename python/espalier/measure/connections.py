"""What concurrent allgathers of groups of one rank per node reach (Qian, Rashti, Afsahi, section 4, figure 1), and what
follows for the number of groups and of connections worth trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from espalier.base.units import approximate_bytes, counted

# Below this, two measurements of the same thing differ as much.
NOISE = 1.1


@dataclass(frozen=True)
class Groups:
    """So many groups at once, each round a ring (one connection per rank) or directly (one to every other node)."""

    groups: int
    way: str

    def __str__(self) -> str:
        return f"{self.groups} {self.way}"


@dataclass(frozen=True)
class Point:
    """One measurement: microseconds for an allgather of `bytes` per rank, MB/s that leave one node."""

    groups: int
    way: str
    bytes: int
    us: float
    mb_per_s: float

    @property
    def kind(self) -> Groups:
        return Groups(self.groups, self.way)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def parse_points(points: Iterable[Mapping[str, Any]]) -> list[Point]:
    """From the worker's curve "groups", or from a tuned table's."""
    return [
        Point(int(it["groups"]), str(it["way"]), int(it["bytes"]), float(it["us"]), float(it["mb_per_s"]))
        for it in points
    ]


class Scaling:
    """All points of one machine. The baseline is the single group's ring, as in the paper."""

    BASELINE = Groups(1, "ring")

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = list(points)
        self._rate = {(point.kind, point.bytes): point.mb_per_s for point in points}

    def kinds(self) -> list[Groups]:
        """The baseline first, then direct exchanges by the number of groups, then other rings."""
        found = dict.fromkeys(point.kind for point in self.points)
        return sorted(found, key=lambda it: (it != self.BASELINE, it.way != "direct", it.groups))

    def sizes(self) -> list[int]:
        return sorted({point.bytes for point in self.points})

    def rate(self, kind: Groups, size: int) -> float:
        return self._rate[kind, size]

    def ratio(self, kind: Groups, size: int) -> float:
        """Against the baseline at the same size."""
        return self._rate[kind, size] / max(self._rate[self.BASELINE, size], 1e-9)

    def best(self, size: int) -> Groups:
        """The kind of least effort that nothing beats by more than noise."""
        return self._thriftiest(size, lambda kind: kind.groups)

    def _thriftiest(self, size: int, cost: Callable[[Groups], int]) -> Groups:
        kinds = sorted(self.kinds(), key=lambda it: (cost(it), it.way != "ring"))
        most = max(self.rate(kind, size) for kind in kinds)
        return next(kind for kind in kinds if self.rate(kind, size) * NOISE >= most)

    def most(self) -> float:
        """MB/s that any of them reached at any size: what a node's link carries at least. 0 without points."""
        return max(self._rate.values(), default=0.0)

    def useful_groups(self) -> int:
        """More groups than this gain nothing at any size. 1 without points."""
        return max((self.best(size).groups for size in self.sizes()), default=1)

    def useful_connections(self, nodes: int) -> int:
        """More messages of one node under way at once than this gain nothing at any size. 0 without points."""

        def under_way(kind: Groups) -> int:
            return kind.groups * (nodes - 1 if kind.way == "direct" else 1)

        return max((under_way(self._thriftiest(size, under_way)) for size in self.sizes()), default=0)

    def findings(self) -> list[str]:
        """In sentences: which kind from which size on."""
        if not self.points:
            return []
        lines, last = [], None
        for size in self.sizes():
            best = self.best(size)
            if best != last:
                lines.append(f"from {approximate_bytes(size)} on: {counted(best.groups, 'group')}, {best.way}")
            last = best
        return lines
