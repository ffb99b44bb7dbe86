"""What communicators cost: shared memory, set-up, and what happens where memory is limited."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launch import TestMpi
from stats import read_stats
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]
SAMPLE = ("mpich-5", "openmpi-5", "intel")
RANKS = 4


def kilobytes(outcome_text: str) -> int:
    """The shared memory that `light` says the communicators took."""
    found = re.search(r"light: (-?\d+) KB shared", outcome_text)
    assert found is not None, outcome_text
    return int(found[1])


@pytest.mark.parametrize("name", SAMPLE)
def test_a_communicator_with_short_messages_takes_two_kilobytes_for_each_rank(name: str, get_mpi: GetMpi) -> None:
    mpi, count = get_mpi(name), 300
    outcome = mpi.run([mpi.program("light"), str(count)], RANKS)
    assert outcome.code == 0, str(outcome)
    assert kilobytes(outcome.out) <= count * RANKS * 2 + 1024, "desks, and the rest of a slab and of its table"


@pytest.mark.parametrize("name", SAMPLE)
def test_a_process_keeps_four_kilobytes_of_a_communicator_with_two_operations(name: str, get_mpi: GetMpi) -> None:
    """3.0 to 3.3 were measured, of 7.7 at first; the rest is what other programs' pages make of it."""
    mpi, count = get_mpi(name), 400
    outcome = mpi.run([mpi.program("light"), str(count)], RANKS)
    found = re.search(r"(-?\d+) KB private", outcome.out)
    assert found is not None, str(outcome)
    assert int(found[1]) <= count * 4


@pytest.mark.parametrize("nodes", ["1", "2"])
def test_windows_are_as_many_however_many_communicators_send_long_messages(nodes: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi("openmpi-5")
    settings = {"ESPALIER_VIRTUAL_NODES": nodes, "ESPALIER_SINGLE_COPY": "off"}
    shared = {
        count: kilobytes(mpi.run([mpi.program("light"), str(count), "long"], RANKS, settings=settings).out)
        for count in (10, 200)
    }
    window, most = 256, 4
    assert shared[10] <= RANKS * most * window + 1024
    assert shared[200] - shared[10] <= 190 * RANKS * 2 + 512, shared


LIMITS = {
    "files of 1 MB": "ulimit -f 1024",
    "4 GB of address space": "ulimit -v 4000000",
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
def test_limits_of_the_process_leave_calls_to_the_mpi_and_kill_nobody(name: str, limit: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    command = ["sh", "-c", f'{limit}; exec "$@"', "sh", mpi.program("conformance"), "sizes", "skew"]
    native = mpi.run(command, 3, native=True)
    if native.code != 0:
        pytest.skip("the MPI itself does not run within this limit")
    assert_passed(mpi.run(command, 3))


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A control group with 300 MB for all its processes."""
    for top, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(top) / "espalier-test-light"
        try:
            group.mkdir(exist_ok=True)
            (group / limit).write_text(str(300 << 20))
        except OSError:
            continue
        yield group
        group.rmdir()
        return
    pytest.skip("no control groups to make here")


def test_a_control_group_of_300_mb_is_not_exceeded(small_group: Path, get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    enter = f'echo $$ > {small_group}/cgroup.procs; exec "$@"'
    command = ["sh", "-c", enter, "sh", mpi.program("light"), "400", "long"]
    native = mpi.run(command, RANKS, native=True)
    assert native.code == 0, str(native)
    outcome = mpi.run(command, RANKS, settings={"ESPALIER_SINGLE_COPY": "off"})
    assert outcome.code == 0, str(outcome)
    assert "KB shared" in outcome.out


def test_a_communicator_begins_with_native_calls(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    count, calls = 5, 3
    settings = {"ESPALIER_SETUP_CALLS": "4", "ESPALIER_STATS": str(file)}
    outcome = mpi.run([mpi.program("light"), str(count)], RANKS, settings=settings)
    assert outcome.code == 0, str(outcome)
    stats = read_stats(file)
    broadcasts, sums = stats["MPI_Bcast"], stats["MPI_Allreduce"]
    assert (broadcasts.native, broadcasts.handled) == (2 * count, (calls - 2) * count)
    assert (sums.native, sums.handled) == (2 * count, (calls - 2) * count + 1), "that of the world is set up at once"
    assert all("ESPALIER_SETUP_CALLS" in reason for reason in broadcasts.reasons)
