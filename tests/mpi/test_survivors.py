"""Programs that outlive their ranks (User-Level Failure Mitigation): Open MPI 5 under `mpiexec --with-ft ulfm`.

Other MPIs at hand end the job with a rank, so there is nothing to outlive; that they still do is test_lifetime.py's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from launch import Outcome, TestMpi, run_command
from pairs import in_pairs

GetMpi = Callable[[str], TestMpi]
RANKS = 4
SLOWEST = 2000  # ms from the last call that went well to the error
OPERATIONS = ("allreduce", "allreduce:200000", "bcast", "bcast:200000", "barrier", "alltoallv:64", "alltoallv:100000")
_MET = re.compile(r"rank (\d): (\w+) in round (\d+), again: (\w+), after (\d+) ms, (\d+) calls of the handler")


@dataclass(frozen=True)
class Met:
    """What a survivor met: `first`, what the call returned that did not go well; `again`, the next one."""

    rank: int
    first: str
    again: str
    ms: int
    handled: int


def run(mpi: TestMpi, words: list[str], nodes: str | None, *, native: bool = False) -> Outcome:
    settings = {"ESPALIER_SETUP_CALLS": "0", **({"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {})}
    line, environment = mpi.command([mpi.program("survivors"), *words], RANKS, native=native, settings=settings)
    return run_command([line[0], "--with-ft", "ulfm", *line[1:]], environment, 90)


def read_survivors(outcome: Outcome) -> list[Met]:
    found = [_MET.match(line) for line in outcome.out.splitlines()]
    return [Met(int(it[1]), it[2], it[4], int(it[5]), int(it[6])) for it in found if it is not None]


def assert_told(outcome: Outcome, survivors: set[int], last: str) -> None:
    """Each was told once per call, in time; who hears late hears that another has revoked the communicator."""
    met = read_survivors(outcome)
    assert {it.rank for it in met} == survivors, str(outcome)
    assert all({it.first, it.again} <= {"failed", "revoked"} for it in met), str(outcome)
    assert last in {it.first for it in met}, str(outcome)
    assert all(it.ms <= SLOWEST and it.handled == 2 for it in met), str(outcome)


def assert_went_on(outcome: Outcome, ranks: int, how: str) -> None:
    found = re.search(r"went on: (\d) of 4 ranks, (\d+) wrong, (.*)", outcome.out)
    assert found is not None, str(outcome)
    assert (int(found[1]), int(found[2])) == (ranks, 0), str(outcome)
    assert re.match(how, found[3]), str(outcome)


@pytest.fixture
def mpi(get_mpi: GetMpi) -> TestMpi:
    return get_mpi("openmpi-5")


# Where the new communicator's allreduce of 8 bytes is ours.
_OURS = {None: "tiny", "2": r"\w+,"}


@in_pairs(("nodes", [None, "2"]), ("victim", [0, 2]), ("operation", OPERATIONS))
def test_survivors_of_a_killed_rank_are_told_and_go_on_with_us(
    operation: str, victim: int, nodes: str | None, mpi: TestMpi
) -> None:
    outcome = run(mpi, [operation, "die", str(victim), "500"], nodes)
    assert_told(outcome, set(range(RANKS)) - {victim}, "failed")
    assert_went_on(outcome, RANKS - 1, _OURS[nodes])


@pytest.mark.parametrize("nodes", [None, "2"])
def test_a_rank_killed_before_the_first_collective_is_told_once_and_not_hidden(nodes: str | None, mpi: TestMpi) -> None:
    outcome = run(mpi, ["allreduce", "die", "1", "0"], nodes)
    assert_told(outcome, {0, 2, 3}, "failed")
    assert_went_on(outcome, RANKS - 1, _OURS[nodes])


@pytest.mark.parametrize("nodes", [None, "2"])
@pytest.mark.parametrize("operation", ["allreduce", "bcast", "scatterv:64"])
def test_a_revoked_communicator_is_revoked_for_all_ranks(operation: str, nodes: str | None, mpi: TestMpi) -> None:
    outcome = run(mpi, [operation, "leave", "1", "500"], nodes)
    assert_told(outcome, set(range(RANKS)), "revoked")
    assert_went_on(outcome, RANKS, _OURS[nodes])


@pytest.mark.parametrize("nodes", [None, "2"])
def test_a_rank_that_is_stopped_for_a_second_is_not_taken_for_dead(nodes: str | None, mpi: TestMpi) -> None:
    outcome = run(mpi, ["allreduce", "stop", "2", "500"], nodes)
    assert outcome.code == 0, str(outcome)
    assert sorted(outcome.out.split("\n"))[1:] == [f"rank {rank}: fine" for rank in range(RANKS)]


def test_native_does_the_same(mpi: TestMpi) -> None:
    outcome = run(mpi, ["allreduce", "die", "2", "500"], None, native=True)
    assert_told(outcome, {0, 1, 3}, "failed")
    assert_went_on(outcome, RANKS - 1, "without Espalier")
