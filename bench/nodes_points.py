"""What our present choice and modelled peers take inside simulated nodes: the points that docs/nodes.md is made of.

python bench/nodes_points.py FILE [NAME …]     # all platforms, or these; a CSV file
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from espalier.base.errors import UserError
from espalier.simulation.inside import (
    PEERS,
    InsideRequest,
    platform_names,
    read_platform,
    read_ranks,
    simulate_all_inside,
)

# Blocks of an allgather and an alltoall are for each rank, so that all of them together are long soon.
SIZES = {
    "barrier": (0,),
    "broadcast": (4, 1 << 10, 16 << 10, 128 << 10, 1 << 20),
    "reduce": (4, 1 << 10, 16 << 10, 128 << 10, 1 << 20),
    "allreduce": (4, 1 << 10, 16 << 10, 128 << 10, 1 << 20),
    "allgather": (4, 1 << 10, 16 << 10),
    "alltoall": (4, 1 << 10, 8 << 10),
}
OURS = "ours"


@dataclass(frozen=True)
class Point:
    platform: str
    ranks: int
    operation: str
    bytes: int
    way: str  # OURS, or a peer
    microseconds: float
    choice: str


def requests_of(platform: str) -> Iterator[tuple[tuple[int, str, int, str], InsideRequest]]:
    text = read_platform(platform)
    everywhere = read_ranks(InsideRequest(text, "barrier", 0))
    for ranks in sorted({16, 64, everywhere}):
        if ranks > everywhere:
            continue
        for operation, sizes in SIZES.items():
            for size in sizes:
                for way in ("", *PEERS):
                    element = 4 if "reduce" in operation else 1
                    request = InsideRequest(text, operation, size, ranks=ranks, way=way, element=element)
                    yield (ranks, operation, size, way or OURS), request


def play(platform: str) -> list[Point]:
    asked = list(requests_of(platform))
    points = []
    for (ranks, operation, size, way), answer in zip(
        (key for key, _ in asked), simulate_all_inside(request for _, request in asked), strict=True
    ):
        if isinstance(answer, UserError):
            if way == OURS:
                raise answer
            continue  # a peer without this operation
        points.append(Point(platform, ranks, operation, size, way, round(answer.microseconds, 3), answer.choice))
    return points


def write_points(path: Path, points: list[Point]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Point))
        writer.writerows(astuple(point) for point in points)


def read_points(path: Path) -> list[Point]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(
                row["platform"],
                int(row["ranks"]),
                row["operation"],
                int(row["bytes"]),
                row["way"],
                float(row["microseconds"]),
                row["choice"],
            )
            for row in csv.DictReader(file)
        ]


def main(path: Path, names: list[str]) -> None:
    points: list[Point] = []
    for name in names or platform_names():
        points += play(name)
        print(f"{name}: {len(points)} points", file=sys.stderr, flush=True)
        write_points(path, points)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
