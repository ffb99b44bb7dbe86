"""What MPI libraries usually do: MPICH's algorithms by size, after Thakur, Rabenseifner and Gropp, *Optimization of
collective communication operations in MPICH*, 2005. By our names, between nodes; inside nodes as Espalier does."""

from __future__ import annotations

from typing import Any

# By operation: up to how many bytes, and which choice; the last one holds for all longer ones. Bytes are those of the
# message or vector, for blocks those of all ranks together, but of an all-to-all those of one block.
_USUAL: dict[str, tuple[tuple[float, str], ...]] = {
    "broadcast": ((12 << 10, "knomial,radix=2"), (float("inf"), "scatter_allgather,radix=2,exchange=ring")),
    "scatter": ((float("inf"), "knomial,radix=2"),),
    "gather": ((float("inf"), "knomial,radix=2"),),
    "allgather": ((80 << 10, "bruck"), (float("inf"), "ring")),
    "alltoall": ((256, "flat,exchange=bruck"), (float("inf"), "pairwise")),
    "reduce": ((2 << 10, "knomial,radix=2"), (float("inf"), "rabenseifner")),
    "allreduce": ((2 << 10, "recursive_doubling"), (float("inf"), "rabenseifner")),
    "reduce_scatter": ((512 << 10, "rabenseifner"), (float("inf"), "pairwise")),
    "scan": ((float("inf"), "recursive_doubling"),),
    "exscan": ((float("inf"), "recursive_doubling"),),
}


def usual_choice(core: Any, topology: Any, operation: str, size: int) -> Any | None:
    """The choice for `size` bytes as Espalier counts them; None where it is not known or does not apply here."""
    counted = size * topology.ranks if operation in ("scatter", "gather", "allgather", "reduce_scatter") else size
    text = next((text for most, text in _USUAL.get(operation, ()) if counted <= most), None)
    if text is None or topology.nodes == 1:
        return None
    choice = core.parse_choice(operation, text)
    return None if core.why_invalid(topology, operation, size, choice) else choice
