"""Reading what ESPALIER_STATS wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OPERATIONS = (
    *("MPI_Bcast", "MPI_Scatter", "MPI_Gather", "MPI_Allgather", "MPI_Alltoall", "MPI_Reduce", "MPI_Allreduce"),
    *("MPI_Reduce_scatter", "MPI_Scan", "MPI_Exscan", "MPI_Barrier"),
)

# Those of communicators with a process topology.
NEIGHBORHOOD = ("MPI_Neighbor_allgather", "MPI_Neighbor_alltoall")

# What the older themes call.
BASIC = ("MPI_Bcast", "MPI_Allgather", "MPI_Barrier")


@dataclass(frozen=True)
class Counts:
    """One operation's calls on rank 0."""

    handled: int
    native: int
    forms: dict[str, int]
    reasons: dict[str, int]
    choices: dict[str, int]


def read_stats(path: Path) -> dict[str, Counts]:
    """Reads a statistics file and checks that it is consistent in itself."""
    raw = json.loads(path.read_text())
    raw.pop("learning", None)  # what it cost to find out who does calls best, where a job does that
    assert set(raw) == {*OPERATIONS, *NEIGHBORHOOD}, f"operations in {path}: {sorted(raw)}"
    stats = {name: Counts(**entry) for name, entry in raw.items()}
    for name, counts in stats.items():
        assert sum(counts.reasons.values()) == counts.native, f"{name}: a call went native without a reason"
        assert sum(counts.forms.values()) == counts.handled, f"{name}: a call was handled in no form"
        assert sum(counts.choices.values()) == counts.handled, f"{name}: a call was handled without a choice"
    return stats


def assert_handled(stats: dict[str, Counts], share: float, operations: Sequence[str] = OPERATIONS) -> None:
    """Checks that of each operation at least this share of the calls did not go to the native library.

    Calls on communicators of one rank do not count: there is nothing to gain.
    """
    for name in operations:
        counts = stats[name]
        total = counts.handled + counts.native - counts.reasons.get("one rank", 0)
        assert total > 0, f"{name} was never called"
        assert counts.handled >= share * total, f"{name}: {counts.handled} of {total} handled; native: {counts.reasons}"
