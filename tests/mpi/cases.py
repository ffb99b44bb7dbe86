"""Which MPI, how many ranks, which virtual nodes: the matrix of the conformance tests.

One MPI goes through every placement; the others through enough that each placement meets each kind of MPI, among two to
five ranks: eight on two cores take five times as long as four, and are among them once. The full product is `long`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from launch import ALL_MPIS

PLACEMENTS = (None, "2", "4", "3,1,4", "cyclic:4")  # None: one node, as the machine is


@dataclass(frozen=True)
class Case:
    """One point of the matrix."""

    mpi: str
    ranks: int
    nodes: str | None

    def __str__(self) -> str:
        return f"{self.mpi}-n{self.ranks}-{self.nodes or 'one'}"

    @property
    def settings(self) -> dict[str, str]:
        return {"ESPALIER_VIRTUAL_NODES": self.nodes} if self.nodes else {}


_EVERY_PLACEMENT = (
    Case("mpich-5", 8, "3,1,4"),
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
CASES = _EVERY_PLACEMENT + _OTHERS


_PLACEMENTS_AT_NIGHT = {
    2: (None,),
    3: (None,),
    4: ("3,1", "4", "cyclic:2"),
    5: PLACEMENTS,
    8: PLACEMENTS,
    16: ("5,1,7,3",),
}


def long_cases() -> Iterator[Case]:
    """The rest of the full product."""
    for name in ALL_MPIS:
        for ranks, placements in _PLACEMENTS_AT_NIGHT.items():
            yield from (case for nodes in placements if (case := Case(name, ranks, nodes)) not in CASES)
