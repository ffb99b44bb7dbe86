"""Which MPI, how many ranks, which virtual nodes: the matrix of the conformance tests.

One MPI goes through every placement; the others through enough that each placement meets each kind of MPI, among two to
six ranks: eight on two cores take five times as long as four, and are for test_leaders.py. The full product is `long`.

What a theme goes through is a product of its own: forms, sizes, types. Every MPI goes through all of it on one node; on
several, where a call takes five times as long, through one of PARTS parts of it, each job of an MPI through another. So
every operation, form, size and type meets every MPI, and every placement; all three together meet at night.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pytest

from launch import ALL_MPIS

PARTS = 3

PLACEMENTS = (None, "2", "4", "3,1,4", "cyclic:4")  # None: one node, as the machine is


@dataclass(frozen=True)
class Case:
    """One point of the matrix."""

    mpi: str
    ranks: int
    nodes: str | None
    part: int | None = None  # of what themes go through; None: all of it

    def __str__(self) -> str:
        part = "" if self.part is None else f"-part{self.part + 1}of{PARTS}"
        return f"{self.mpi}-n{self.ranks}-{self.nodes or 'one'}{part}"

    @property
    def words(self) -> list[str]:
        """For the conformance program."""
        return [] if self.part is None else ["--part", f"{self.part}/{PARTS}"]

    @property
    def settings(self) -> dict[str, str]:
        return {"ESPALIER_VIRTUAL_NODES": self.nodes} if self.nodes else {}


def in_parts(cases: Iterable[Case]) -> list[Case]:
    """Those on several nodes go through a part each, where their MPI has others that go through more."""
    cases = list(cases)
    jobs, turn = Counter(case.mpi for case in cases), Counter[str]()
    chosen = []
    for case in cases:
        if case.nodes is not None and jobs[case.mpi] > 1:
            case = replace(case, part=turn[case.mpi] % PARTS)
            turn[case.mpi] += 1
        chosen.append(case)
    return chosen


def in_parts_by_day(cases: Iterable[Case]) -> list[object]:
    """The same, and at night what they leave out."""
    chosen = in_parts(cases)
    whole = (replace(case, part=None) for case in chosen if case.part is not None)
    return [*chosen, *(pytest.param(case, marks=pytest.mark.long) for case in whole)]


_EVERY_PLACEMENT = (
    Case("mpich-5", 6, "3,1,4"),
    *(Case("mpich-5", 5, nodes) for nodes in PLACEMENTS if nodes != "3,1,4"),
    *(Case("mpich-5", ranks, None) for ranks in (2, 3)),
)
_OTHERS = (
    Case("openmpi-5", 4, "3,1"),
    Case("openmpi-5", 3, None),
    Case("openmpi-5", 4, "cyclic:4"),
    Case("intel", 4, "cyclic:2"),
    Case("intel", 3, None),
    Case("intel", 2, "2"),
    # MPICH 4 cannot be told to yield, so what is left native takes milliseconds when ranks outnumber cores.
    Case("mpich-4", 2, None),
    Case("mpich-4", 3, "cyclic:2"),
    Case("openmpi-4", 4, "4"),
    Case("openmpi-4", 3, None),
    Case("mpich-5-abi", 3, "2"),
    Case("intel-abi", 3, "2,1"),
)
CASES = in_parts(_EVERY_PLACEMENT + _OTHERS)


_PLACEMENTS_AT_NIGHT = {
    2: (None,),
    3: (None,),
    4: ("3,1", "4", "cyclic:2"),
    5: PLACEMENTS,
    8: PLACEMENTS,
    16: ("5,1,7,3",),
}


def long_cases() -> list[Case]:
    """The rest of the full product, and all of what by day is gone through in parts."""
    product = (
        Case(name, ranks, nodes)
        for name in ALL_MPIS
        for ranks, placements in _PLACEMENTS_AT_NIGHT.items()
        for nodes in placements
    )
    whole = (replace(case, part=None) for case in CASES if case.part is not None)
    return [case for case in dict.fromkeys((*product, *whole)) if case not in CASES]
