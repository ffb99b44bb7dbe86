"""Trees of life by neighbour joining, bootstrapped: an ordinary mpi4py program that knows nothing of Espalier.

Saitou and Nei 1987, in the form of Studier and Keppler 1988. The distance matrix is distributed by rows. Joining one
pair costs two allgathers (row sums; each rank's best pair) and two broadcasts (the rows joined), each from the rank
that owns it; each replicate begins with a broadcast of the alignment. Standard output depends on the arguments alone,
so that runs can be compared byte for byte; times go to the file given with --times.

    mpiexec -n 4 python -m espalier.examples.neighbour_joining --taxa 256
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Letters = NDArray[np.uint8]
Result = TypeVar("Result")


class Collectives:
    """The collective calls of this program on one communicator, with the time spent in them."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.comm = comm
        self.seconds = 0.0
        self.calls = 0

    def broadcast(self, values: Floats | Letters, root: int) -> None:
        """`values` of rank `root` into `values` of every rank."""
        self._timed(lambda: self.comm.Bcast(values, root))

    def gather_everywhere(self, mine: Floats) -> Floats:
        """Every rank's `mine` (all of one shape), stacked by rank."""
        everybody = np.empty((self.comm.size, *mine.shape))
        self._timed(lambda: self.comm.Allgather(mine, everybody))
        return everybody

    def _timed(self, call: Callable[[], Result]) -> Result:
        start = MPI.Wtime()
        result = call()
        self.seconds += MPI.Wtime() - start
        self.calls += 1
        return result


class DistanceRows:
    """This rank's block of rows of the distance matrix; the last block may be padded with rows that are never alive."""

    def __init__(self, alignment: Letters, collectives: Collectives) -> None:
        self.collectives = collectives
        self.taxa = len(alignment)
        rank, size = collectives.comm.rank, collectives.comm.size
        self.share = -(-self.taxa // size)
        self.own = np.arange(rank * self.share, (rank + 1) * self.share)
        present = np.minimum(self.own, self.taxa - 1)
        # The share of sites that differ, for each own taxon against all.
        self.distance: Floats = np.array([(alignment != alignment[row]).mean(axis=1) for row in present])
        self.alive = np.ones(self.taxa, dtype=bool)

    def joined_pair(self) -> tuple[int, int, Floats]:
        """The pair to join next (Studier and Keppler's criterion, ties to the lowest indices), and all row sums."""
        live = (self.own < self.taxa) & self.alive[np.minimum(self.own, self.taxa - 1)]
        own_sums = np.where(live, self.distance @ self.alive, 0.0)
        sums = self.collectives.gather_everywhere(own_sums).reshape(-1)[: self.taxa]
        score = (self.alive.sum() - 2) * self.distance - own_sums[:, None] - sums[None, :]
        score[~live, :] = np.inf
        score[:, ~self.alive] = np.inf
        score[np.arange(self.taxa)[None, :] <= self.own[:, None]] = np.inf  # each pair once
        row, column = divmod(int(score.argmin()), self.taxa)
        best = np.array([score[row, column], self.own[row], column])
        candidates = self.collectives.gather_everywhere(best)
        _, first, second = candidates[np.lexsort(candidates.T[::-1])[0]]
        return int(first), int(second), sums

    def row(self, index: int) -> Floats:
        """One row of the matrix, from the rank that owns it, on every rank."""
        owner = index // self.share
        row: Floats = np.empty(self.taxa)
        if owner == self.collectives.comm.rank:
            row[:] = self.distance[index - self.own[0]]
        self.collectives.broadcast(row, owner)
        return row

    def replace(self, first: int, second: int, row: Floats) -> None:
        """The new vertex takes the place of `first`; `second` is no more."""
        self.alive[second] = False
        self.distance[:, first] = row[np.minimum(self.own, self.taxa - 1)]
        if first // self.share == self.collectives.comm.rank:
            self.distance[first - self.own[0]] = row


def join_neighbours(alignment: Letters, collectives: Collectives) -> str:
    """The tree of `alignment` (one row per taxon) in Newick form, the same on every rank."""
    rows = DistanceRows(alignment, collectives)
    label = [f"t{index}" for index in range(rows.taxa)]
    for remaining in range(rows.taxa, 2, -1):
        first, second, sums = rows.joined_pair()
        to_first, to_second = rows.row(first), rows.row(second)
        between = to_first[second]
        length = between / 2 + (sums[first] - sums[second]) / (2 * (remaining - 2))
        label[first] = f"({label[first]}:{length:.5f},{label[second]}:{between - length:.5f})"
        merged = (to_first + to_second - between) / 2
        merged[first] = 0.0
        rows.replace(first, second, merged)
    one, other = (int(index) for index in np.flatnonzero(rows.alive))
    return f"({label[one]},{label[other]}:{rows.row(one)[other]:.5f});"


def evolve(taxa: int, sites: int) -> Letters:
    """An alignment of related sequences: each taxon is an earlier one with some letters changed. Always the same."""
    random = np.random.Generator(np.random.PCG64(7))
    alignment = np.empty((taxa, sites), dtype=np.uint8)
    alignment[0] = random.integers(0, 4, sites)
    for taxon in range(1, taxa):
        alignment[taxon] = alignment[random.integers(0, taxon)]
        changed = random.random(sites) < 0.1
        alignment[taxon, changed] = random.integers(0, 4, int(changed.sum()))
    return alignment


def main() -> None:
    """Builds one tree per bootstrap replicate and prints a digest of each."""
    parser = argparse.ArgumentParser(description="bootstrapped neighbour joining on distributed rows")
    parser.add_argument("--taxa", type=int, default=128)
    parser.add_argument("--sites", type=int, default=4096)
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--times", type=Path, help="where rank 0 writes its times, as JSON")
    options = parser.parse_args()

    collectives = Collectives(MPI.COMM_WORLD)
    root = MPI.COMM_WORLD.rank == 0
    original = evolve(options.taxa, options.sites) if root else None
    random = np.random.Generator(np.random.PCG64(11))
    MPI.COMM_WORLD.Barrier()
    start = MPI.Wtime()
    for replicate in range(options.replicates):
        alignment = np.empty((options.taxa, options.sites), dtype=np.uint8)
        if original is not None:
            alignment[:] = original[:, random.integers(0, options.sites, options.sites)]
        collectives.broadcast(alignment, 0)
        tree = join_neighbours(alignment, collectives)
        if root:
            print(f"replicate {replicate}: {tree[:40]}… {hashlib.sha256(tree.encode()).hexdigest()}")
    MPI.COMM_WORLD.Barrier()
    if root and options.times is not None:
        times = {"seconds": MPI.Wtime() - start, "collective_seconds": collectives.seconds, "calls": collectives.calls}
        options.times.write_text(json.dumps(times))


if __name__ == "__main__":
    main()
