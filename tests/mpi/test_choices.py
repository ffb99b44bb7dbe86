"""Every algorithm, forced, with real bytes: whatever the built-in choice would rather take on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from launch import BUILD, TestMpi
from stats import BASIC, assert_handled, read_stats
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]


@dataclass(frozen=True)
class Forced:
    """One choice for each of the two operations that have several."""

    broadcast: str
    allgather: str

    def __str__(self) -> str:
        return f"{self.broadcast}+{self.allgather}".translate({ord(","): "-", ord("="): None})


# Small cells and segments bring all edges within reach of the sizes that the theme goes through.
FORCED = (
    Forced("knomial,radix=2,segment=0,within=cells,cell=4K,cells=2", "ring,within=cells,cell=4K,cells=2"),
    Forced("knomial,radix=5,segment=8K,within=single_copy", "recursive_doubling,within=single_copy"),
    Forced("chain,segment=16K,within=cells,cell=1K,cells=3", "bruck,within=cells,cell=1K,cells=3"),
    Forced("chain,segment=0,within=single_copy", "ring,within=single_copy"),
    Forced("knomial,radix=3,segment=64K,within=cells,cell=64K,cells=1", "recursive_doubling,within=cells"),
)
PLACES = (("mpich-5", 6, "cyclic:3"), ("mpich-5", 7, "1,4,2"), ("openmpi-5", 5, "2,2,1"), ("mpich-5", 3, "1"))


def forced_somewhere() -> Iterator[object]:
    """Each choice in two places, with half of the sizes in each; each place with two choices or three. The others, and
    all sizes everywhere, for the night."""
    for (number, forced), (other, place) in product(enumerate(FORCED), enumerate(PLACES)):
        if (number + other) % 2 == 0:
            yield pytest.param(forced, *place, f"{other // 2}/2")
        yield pytest.param(forced, *place, "0/1", marks=pytest.mark.long)


@pytest.mark.parametrize(("forced", "name", "ranks", "nodes", "part"), list(forced_somewhere()), ids=str)
def test_a_forced_choice_is_taken_and_right(
    forced: Forced, name: str, ranks: int, nodes: str, part: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    settings = {
        "ESPALIER_CHOICE_BROADCAST": forced.broadcast,
        "ESPALIER_CHOICE_ALLGATHER": forced.allgather,
        "ESPALIER_VIRTUAL_NODES": nodes,
        "ESPALIER_STATS": str(file),
    }
    outcome = mpi.run([mpi.program("conformance"), "--part", part, "sizes", "skew"], ranks, settings=settings)
    assert_passed(outcome)
    assert "ESPALIER_CHOICE" not in outcome.err, outcome.err
    stats = read_stats(file)
    assert_handled(stats, 0.9, BASIC)
    for operation, text in (("MPI_Bcast", forced.broadcast), ("MPI_Allgather", forced.allgather)):
        algorithm = text.split(",")[0]
        taken = [choice for choice in stats[operation].choices if algorithm in choice]
        assert taken, f"{operation}: {algorithm} was asked for, taken was {stats[operation].choices}"


def test_single_copy_can_be_switched_off(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    settings = {"ESPALIER_SINGLE_COPY": "off", "ESPALIER_STATS": str(file)}
    assert_passed(mpi.run([mpi.program("conformance"), "sizes"], 3, settings=settings))
    choices = {choice for counts in read_stats(file).values() for choice in counts.choices}
    assert not any("single_copy" in choice for choice in choices), choices


# Two ranks have cores of their own wherever these tests run: there both ends copy the longest.
@pytest.mark.parametrize(("name", "ranks"), [("mpich-5", 2), ("openmpi-5", 2), ("mpich-5", 5)])
@pytest.mark.parametrize("window", ["0", "64K"])
def test_blocks_of_unknown_sizes_go_through_windows_as_far_as_selected(
    window: str, name: str, ranks: int, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    settings = {f"ESPALIER_CHOICE_{it}": f"tiny,window={window}" for it in ("SCATTER", "GATHER", "ALLTOALL")}
    outcome = mpi.run(
        [mpi.program("conformance"), "movements"], ranks, settings={**settings, "ESPALIER_STATS": str(file)}
    )
    assert_passed(outcome)
    stats = read_stats(file)
    assert all(stats[f"MPI_{it}"].choices.get("tiny") for it in ("Scatter", "Gather", "Alltoall")), stats


@pytest.mark.parametrize("waiting", ["spin", "futex"])
def test_ranks_wait_as_told(waiting: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    settings = {"ESPALIER_WAIT": waiting, "ESPALIER_STATS": str(file)}
    ranks = 2 if waiting == "spin" else 6  # who spins on a core that others need takes for ever
    if ranks > 2:
        settings["ESPALIER_VIRTUAL_NODES"] = "4,2"  # messages and flags are waited for in turn
    assert_passed(mpi.run([mpi.program("conformance"), "sizes", "skew"], ranks, settings=settings))
    assert_handled(read_stats(file), 0.9, BASIC)


# A stand-in for the library of a kernel module that test machines lack: it lets itself be asked, and attaches nothing.
@pytest.mark.parametrize(("refused", "means"), [("chunks", "by XPMEM and CMA"), ("make", "by CMA")])
def test_xpmem_is_used_where_all_ranks_have_it(refused: str, means: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    settings = {
        "LD_LIBRARY_PATH": str(BUILD / "tests" / "unit" / "transports" / "xpmem"),
        "FAKE_XPMEM_REFUSE": refused,
        "ESPALIER_SINGLE_COPY": "xpmem",
        "ESPALIER_VERBOSE": "2",
        "ESPALIER_STATS": str(file),
    }
    outcome = mpi.run([mpi.program("conformance"), "sizes"], 2, settings=settings)
    assert_passed(outcome)
    assert f"single copy {means}" in outcome.err, outcome.err
    choices = {choice for counts in read_stats(file).values() for choice in counts.choices}
    assert any("single_copy" in choice for choice in choices), choices


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_calls_that_native_was_selected_for_allocate_nothing_on_their_way(name: str, get_mpi: GetMpi) -> None:
    operations = ("ALLGATHER", "REDUCE_SCATTER", "SCATTER", "GATHER", "ALLTOALL")
    mpi = get_mpi(name)
    settings = {f"ESPALIER_CHOICE_{operation}": "native" for operation in operations}
    outcome = mpi.run([mpi.program("passing")], 2, settings=settings)
    assert outcome.out.endswith("passing: done\n"), str(outcome)
    more = [int(line.split()[1]) for line in outcome.out.splitlines() if line.endswith(" more")]
    assert len(more) == len(operations)
    assert max(more) < 100, outcome.out  # of 500 calls each: an MPI may allocate now and then
