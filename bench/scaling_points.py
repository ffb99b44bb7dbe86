"""The points of bench/scaling.py: what is kept of each, as CSV, and what is compared at one of them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import NamedTuple, TypeVar

from espalier.simulation.executor import OURS, SELECTORS

OPERATIONS = ("broadcast", "allreduce", "allgather", "alltoall")
BEST, PLAYED = "registry", "played"
# Nodes of 64 ranks instead of 8: what the names of networks end in then.
CROWDED, CROWD = ", 64 ranks per node", 64


class Place(NamedTuple):
    """One point: a collective of one size, in a job of one size, on one network."""

    network: str
    ranks: int
    operation: str
    bytes: int

    @property
    def received(self) -> int:
        """Bytes that every rank has in the end; `bytes` is a block's where there is one from each."""
        return self.bytes * self.ranks if self.operation in {"allgather", "alltoall"} else self.bytes


@dataclass(frozen=True)
class Run:
    """One arm at one point."""

    network: str
    ranks: int
    operation: str
    bytes: int
    arm: str

    @property
    def place(self) -> Place:
        return Place(self.network, self.ranks, self.operation, self.bytes)


@dataclass(frozen=True)
class Row(Run):
    """Its time in µs; `wrong` counts ranks with wrong data."""

    microseconds: float
    wrong: int
    choice: str


@dataclass(frozen=True)
class Cost(Run):
    """What it took to simulate it: seconds of a processor, megabytes at most; `failure`: why no time came of it."""

    seconds: float
    megabytes: int
    failure: str


@dataclass(frozen=True)
class Compared:
    """One point with all arms that delivered the right data, in µs."""

    place: Place
    arms: dict[str, float]

    @property
    def ours(self) -> float | None:
        """Executed, or played where no more than that was possible."""
        return self.arms.get(OURS, self.arms.get(PLAYED))

    @property
    def other(self) -> tuple[float, str] | None:
        """The quickest of the other MPIs."""
        return min(((self.arms[arm], arm) for arm in SELECTORS if arm in self.arms), default=None)

    @property
    def ratio(self) -> float | None:
        """Above 1: ours is ahead."""
        return self.other[0] / self.arms[OURS] if self.other and OURS in self.arms else None


def compare(rows: list[Row]) -> list[Compared]:
    """By operation, then by size of the job."""
    arms: dict[Place, dict[str, float]] = {}
    for row in rows:
        if row.wrong == 0:
            arms.setdefault(row.place, {})[row.arm] = row.microseconds
    places = sorted(arms, key=lambda it: (OPERATIONS.index(it.operation), it.ranks, it.network, it.bytes))
    return [Compared(place, arms[place]) for place in places]


def mean(ratios: list[float]) -> float:
    """Their geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


Kept = TypeVar("Kept", Row, Cost)


def read(path: Path, kind: type[Kept]) -> list[Kept]:
    """What earlier runs have written; of lines that say something about the same arm and point, the last."""
    if not path.exists():
        return []
    types = {"int": int, "float": float, "str": str}
    with path.open(encoding="utf-8", newline="") as file:
        kept = [kind(*(types[str(it.type)](line[it.name]) for it in fields(kind))) for line in csv.DictReader(file)]
    return list({(it.place, it.arm): it for it in kept}.values())


def append(path: Path, items: Iterable[Row | Cost]) -> None:
    """More lines; the heading first where the file is new."""
    for item in items:
        is_new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(field.name for field in fields(item))
            writer.writerow(astuple(item))


def rewrite(path: Path, items: list[Row] | list[Cost]) -> None:
    """Each arm and point once, in order: what is compared by eye, and by a version control system."""
    path.unlink(missing_ok=True)
    append(path, sorted(items, key=lambda it: (OPERATIONS.index(it.operation), it.ranks, it.network, it.bytes, it.arm)))
