"""The examples under every kind of MPI: the output of one rank alone, whoever runs the collectives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launch import BUILD, TestMpi, find_test_mpis

# One MPI goes everywhere, the others where it is most irregular.
PLACES = (
    ("mpich-5", 2, None),
    ("mpich-5", 5, None),
    ("mpich-5", 6, "3,1,2"),
    ("openmpi-5", 6, "3,1,2"),
    ("intel", 5, "cyclic:2"),
)
# How each is called, and the operations it lives on; v-forms are counted with the operation they are a form of.
PROGRAMS = (("fft", "128", ("MPI_Alltoall",)), ("matmul", "150", ("MPI_Bcast",)))


@pytest.fixture
def get_program() -> Callable[[str, str], tuple[TestMpi, str]]:
    """An MPI and an example built for it; skips where the machine does not have the MPI."""

    def get(mpi_name: str, program: str) -> tuple[TestMpi, str]:
        mpi = find_test_mpis().get(mpi_name)
        if mpi is None:
            pytest.skip(f"{mpi_name} is not installed: run `make mpi`")
        return mpi, str(BUILD / "examples" / f"{program}_{mpi.abi}")

    return get


@pytest.mark.parametrize(("mpi_name", "ranks", "nodes"), PLACES)
@pytest.mark.parametrize(("name", "size", "operations"), PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
def test_an_example_prints_what_one_rank_alone_prints(
    name: str,
    size: str,
    operations: tuple[str, ...],
    mpi_name: str,
    ranks: int,
    nodes: str | None,
    get_program: Callable[[str, str], tuple[TestMpi, str]],
    tmp_path: Path,
) -> None:
    mpi, program = get_program(mpi_name, name)
    file = tmp_path / "stats.json"
    settings = {"ESPALIER_STATS": str(file), **({"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {})}
    alone = mpi.run([program, size], 1, native=True)
    assert alone.code == 0, str(alone)
    own = mpi.run([program, size], ranks, settings=settings)
    assert own.code == 0, str(own)
    assert own.out == alone.out
    assert_ran(operations, json.loads(file.read_text()))


def assert_ran(operations: tuple[str, ...], stats: dict[str, Any]) -> None:
    """Checks that Espalier ran all calls of these operations. A row of a grid may be one rank, with nothing to run."""
    reasons = [reason for operation in operations for reason in stats[operation]["reasons"] if reason != "one rank"]
    assert not reasons
    assert sum(stats[operation]["handled"] for operation in operations) > 0


def test_a_program_may_choose_by_hand(get_program: Callable[[str, str], tuple[TestMpi, str]]) -> None:
    mpi, program = get_program("mpich-5", "choose")
    arms = ["native", "", "ring,within=cells,cell=4K,cells=2", "by carrier pigeon"]
    outcome = mpi.run([program, "4096", *arms], 3)
    native, automatic, ring, pigeon = outcome.out.splitlines()
    assert "native" in native.split("us", 1)[1]
    assert automatic.startswith("(automatic)")
    assert ring.split("us", 1)[1].strip().startswith("ring,within=cells,cell=4K,cells=2"), ring
    assert pigeon.endswith("is no selection of an allgather")
    assert outcome.code != 0
