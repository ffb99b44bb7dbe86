"""Intel's benchmark IMB-MPI1, a program we did not write and cannot rebuild, under Intel MPI and under MPICH.

It is built without data checks, so what is looked at is that it runs to its end and that its calls are handled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from launch import TestMpi
from stats import BASIC, assert_handled, read_stats

GetMpi = Callable[[str], TestMpi]
# As short as it gets: few repetitions, 1 B to 256 KB, 1 s at most per sample.
SHORT = ("-iter", "10", "-iter_policy", "off", "-msglog", "0:18", "-time", "1", "-npmin", "4")


def table_sizes(text: str, benchmark: str) -> list[int]:
    """The message sizes in a benchmark's table."""
    part = text.split(f"# Benchmarking {benchmark}", 1)[1].split("# Benchmarking", 1)[0]
    return [int(match) for match in re.findall(r"^\s+(\d+)\s+\d+\s+[\d.]+", part, re.MULTILINE)]


# The other collectives that it has, and what the statistics call them.
OTHERS = {
    "Reduce": "MPI_Reduce",
    "Reduce_scatter": "MPI_Reduce_scatter",
    "Reduce_scatter_block": "MPI_Reduce_scatter",
    "Allreduce": "MPI_Allreduce",
    "Allgatherv": "MPI_Allgather",
    "Gather": "MPI_Gather",
    "Gatherv": "MPI_Gather",
    "Scatter": "MPI_Scatter",
    "Scatterv": "MPI_Scatter",
    "Alltoall": "MPI_Alltoall",
    "Alltoallv": "MPI_Alltoall",
}


@pytest.mark.parametrize("nodes", ["1", "3,1"])
@pytest.mark.parametrize("name", ["intel", "mpich-5"])
def test_imb_runs_through_espalier(name: str, nodes: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    program = get_mpi("intel").mpi.prefix / "bin" / "IMB-MPI1"
    settings = {"ESPALIER_STATS": str(file), "ESPALIER_VIRTUAL_NODES": nodes}
    command = [str(program), *SHORT, "Bcast", "Allgather", "Barrier"]
    outcome = mpi.run(command, 4, settings=settings, timeout=240)
    assert outcome.code == 0, str(outcome)
    sizes = [0] + [1 << power for power in range(19)]
    assert table_sizes(outcome.out, "Bcast") == sizes, outcome.out[-3000:]
    assert table_sizes(outcome.out, "Allgather") == sizes
    assert "# Benchmarking Barrier" in outcome.out
    assert_handled(read_stats(file), 0.9, BASIC)


@pytest.mark.parametrize("nodes", ["1", "3,1"])
@pytest.mark.parametrize("name", ["intel", "mpich-5"])
def test_imb_runs_its_other_collectives_through_espalier(
    name: str, nodes: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    program = get_mpi("intel").mpi.prefix / "bin" / "IMB-MPI1"
    settings = {"ESPALIER_STATS": str(file), "ESPALIER_VIRTUAL_NODES": nodes}
    short = ("-iter", "4", "-iter_policy", "off", "-msglog", "3:16", "-time", "1", "-npmin", "4")
    outcome = mpi.run([str(program), *short, *OTHERS], 4, settings=settings, timeout=240)
    assert outcome.code == 0, str(outcome)
    for benchmark in OTHERS:
        sizes = table_sizes(outcome.out, benchmark)
        assert sizes[-1] == 1 << 16, (benchmark, sizes)
        assert {1 << power for power in range(3, 17)} <= set(sizes), (benchmark, sizes)
    assert_handled(read_stats(file), 0.9, sorted(set(OTHERS.values())))
