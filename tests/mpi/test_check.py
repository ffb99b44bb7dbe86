"""ESPALIER_CHECK=1: ranks whose calls do not fit together are named, in place of a hang or wrong data."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
RANKS = 4
MPIS = ("mpich-5", "openmpi-5", "intel")
NODES = [None, "3,1"]


def settings(nodes: str | None = None, **more: str) -> dict[str, str]:
    return {"ESPALIER_CHECK": "1", **({"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}), **more}


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("barrier", "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Barrier"),
        ("root", "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Bcast of 64 bytes, root 1"),
        ("size", "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Bcast of 32 bytes, root 0"),
        (
            "type",
            "rank 0 calls MPI_Allreduce of 4 bytes of type MPI_INT by MPI_SUM, and rank 2 MPI_Allreduce of 4 bytes of "
            "type MPI_FLOAT by MPI_SUM",
        ),
    ],
)
def test_a_call_that_does_not_fit_ends_the_job_with_both_ranks_named(
    get_mpi: GetMpi, name: str, nodes: str | None, how: str, said: str
) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("standstill"), how, "2"], RANKS, settings=settings(nodes), timeout=60)
    assert outcome.code != 0
    assert outcome.err.count(f"ESPALIER_CHECK: {said}") == 1, str(outcome)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("gatherv", "rank 2 sends 16 bytes to rank 0, which expects 12 (MPI_Gather with counts)"),
        ("scatterv", "rank 0 sends 12 bytes to rank 2, which expects 16 (MPI_Scatter with counts)"),
        ("allgatherv", "rank 2 sends 16 bytes to rank 0, which expects 12 (MPI_Allgather with counts)"),
        ("alltoallv", "rank 0 sends 4 bytes to rank 2, which expects 8 (MPI_Alltoall with counts)"),
        ("alltoallw", "rank 0 sends 4 bytes to rank 2, which expects 8 (MPI_Alltoall with counts)"),
        ("reduce_scatter", "rank 2 sends 8 bytes to rank 0, which expects 4 (MPI_Reduce_scatter with counts)"),
        (
            "counted",
            "rank 0 calls MPI_Gather with counts of type MPI_INT, root 0, and rank 2 MPI_Gather with counts of "
            "type MPI_FLOAT, root 0",
        ),
        (
            "op",
            "rank 0 calls MPI_Allreduce of 8 bytes of type MPI_INT by MPI_SUM, and rank 2 MPI_Allreduce of 8 bytes of "
            "type MPI_INT by MPI_MAX",
        ),
        (
            "slice",
            "rank 0 calls MPI_Bcast of 16 bytes of type MPI_INT, root 0, and rank 2 MPI_Bcast of 16 bytes of type "
            "MPI_FLOAT, root 0",
        ),
    ],
)
def test_sizes_between_pairs_of_ranks_operations_and_what_types_are_made_of_have_to_fit(
    get_mpi: GetMpi, name: str, how: str, said: str
) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("misfit"), how, "2"], RANKS, settings=settings(), timeout=60)
    assert outcome.code != 0, str(outcome)
    assert outcome.err.count(f"ESPALIER_CHECK: {said}") == 1, str(outcome)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
def test_data_that_are_the_same_may_be_told_by_types_that_are_not(
    get_mpi: GetMpi, name: str, nodes: str | None
) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("misfit"), "fine", "2"], RANKS, settings=settings(nodes), timeout=60)
    assert (outcome.code, "through" in outcome.out, "ESPALIER_CHECK" in outcome.err) == (0, True, False), str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_where_errors_are_returned_all_ranks_get_one_and_the_communicator_goes_on(get_mpi: GetMpi, name: str) -> None:
    mpi = get_mpi(name)
    for how in ("barrier", "root"):
        outcome = mpi.run([mpi.program("standstill"), how, "2", "kept"], RANKS, settings=settings(), timeout=60)
        assert (outcome.code, "told 4" in outcome.out) == (0, True), str(outcome)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
def test_calls_that_fit_are_left_alone(get_mpi: GetMpi, name: str, nodes: str | None) -> None:
    mpi = get_mpi(name)
    words = [mpi.program("conformance"), "sizes", "mixing", "pieces", "communicators", "neighbors"]
    outcome = mpi.run(words, RANKS, settings=settings(nodes), timeout=120)
    assert (outcome.code, "ESPALIER_CHECK" in outcome.err) == (0, False), str(outcome)


def test_calls_of_communicators_that_are_left_to_native_are_compared_too(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run(
        [mpi.program("standstill"), "barrier", "2"], RANKS, settings=settings(ESPALIER_DISABLE="1"), timeout=60
    )
    assert "ESPALIER_CHECK: rank 0 calls MPI_Bcast" in outcome.err, str(outcome)


def test_ranks_that_were_not_all_asked_to_check_do_not(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    words = [
        "sh",
        "-c",
        '[ "$PMI_RANK" = 1 ] || export ESPALIER_CHECK=1; exec "$0" sleep 2 1',
        mpi.program("standstill"),
    ]
    outcome = mpi.run(words, RANKS, timeout=60)
    assert (outcome.code, "sum 6" in outcome.out) == (0, True), str(outcome)
    assert "need the same settings on all ranks" in outcome.err
