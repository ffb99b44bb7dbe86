"""Starts and ends of all kinds: sessions, callbacks inside MPI_Finalize, MPI_Abort, kill -9."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from launch import TestMpi, run_command
from pairs import in_pairs
from places import Places, make_places

GetMpi = Callable[[str], TestMpi]
MPIS = ("mpich-5", "openmpi-5", "intel", "mpich-4", "openmpi-4")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Where the job of a test may leave files behind."""
    return make_places(tmp_path)


def is_alive(process: int) -> bool:
    """Whether a process still runs; one that only waits to be collected by its parent does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def assert_nothing_left(processes: list[int], places: Places, before: set[str]) -> None:
    deadline = time.monotonic() + 15
    while any(map(is_alive, processes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = [process for process in processes if is_alive(process)]
    end_processes(alive)
    assert not alive, f"processes {alive} outlived their job"
    assert places.named() <= before, "something with a name is left behind"


def end_processes(processes: Iterable[int]) -> None:
    """Kills those that are still there."""
    for process in processes:
        if is_alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def read_processes(lines: Iterator[str]) -> list[int]:
    """The process numbers that `endless` prints before it says that it is running."""
    processes: list[int] = []
    for line in lines:
        if line.strip() == "running":
            return processes
        processes.append(int(line))
    raise AssertionError("the job ended before it was running")


@pytest.mark.parametrize("nodes", [None, "2"])
@pytest.mark.parametrize("name", MPIS)
def test_killing_all_ranks_leaves_nothing_behind(name: str, nodes: str | None, get_mpi: GetMpi, places: Places) -> None:
    mpi, before = get_mpi(name), places.named()
    settings = {"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}
    line, environment = mpi.command([mpi.program("endless")], 4, settings=settings)
    with places.start(line, environment) as job:
        assert job.stdout is not None
        watchdog = subprocess.Popen(["sh", "-c", f"sleep 60; kill -9 -{job.pid}"])
        try:
            processes = read_processes(job.stdout)
            assert len(processes) == 4
            time.sleep(0.2)  # into the middle of the collectives
            for process in processes:
                # The launcher may have seen the first one die, and killed the others before us.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            job.communicate(timeout=30)
        finally:
            watchdog.kill()
            watchdog.wait()
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
    assert_nothing_left(processes, places, before)


@pytest.mark.parametrize("name", MPIS)
def test_an_abort_ends_the_job_and_leaves_nothing_behind(name: str, get_mpi: GetMpi, places: Places) -> None:
    mpi, before = get_mpi(name), places.named()
    line, environment = mpi.command([mpi.program("endless"), "abort-after", "50"], 4)
    outcome = run_command(places.inside(line), environment, 60)
    assert outcome.code != 0
    assert_nothing_left(read_processes(iter(outcome.out.splitlines())), places, before)


def test_what_a_job_leaves_in_either_place_is_seen_and_what_others_leave_is_not(places: Places) -> None:
    before = places.named()
    files = [Path(folder) / f"espalier-{kind}-{os.getpid()}" for folder in ("/dev/shm", "/tmp") for kind in ("a", "b")]
    mine, others = files[::2], files[1::2]
    try:
        for path in others:
            path.touch()
        subprocess.run(places.inside(["touch", *map(str, mine)]), check=True)
        left = {Path(it).name for it in places.named() - before}
    finally:
        for path in files:
            path.unlink(missing_ok=True)
    assert {path.name for path in mine} <= left
    assert not places.are_private or left == {path.name for path in mine}


@pytest.mark.parametrize("use", [[], ["earlier"]], ids=["first-use", "used-before"])
@pytest.mark.parametrize("name", MPIS)
def test_collectives_work_in_the_callbacks_of_finalize(name: str, use: list[str], get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("farewell"), *use], 3, timeout=60)
    assert outcome.code == 0, str(outcome)
    assert outcome.out.strip() == "farewell: ok"


@pytest.mark.parametrize("name", MPIS)
def test_sessions_need_no_init_and_no_world(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("session")], 3, timeout=60)
    if "not offered" in outcome.out:
        pytest.skip(f"{mpi.mpi} has no sessions")
    assert outcome.code == 0, str(outcome)
    assert outcome.out.strip() == "session: ok"


def test_mpi_may_end_and_start_again_with_another_session(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")  # the others cannot do it themselves
    # Nor can MPICH 5.0.2 each time: up to one run in ten hangs in MPI_Comm_create_from_group, without Espalier, too.
    for _ in range(4):
        outcome = mpi.run([mpi.program("session"), "again"], 3, timeout=60)
        if "MPI hangs" not in outcome.out:
            break
    assert outcome.code == 0, str(outcome)
    assert outcome.out.strip() == "session: ok"


@pytest.mark.parametrize("nodes", ["1", "2"])
@pytest.mark.parametrize("name", ["mpich-5", "intel", "mpich-4"])
def test_the_handle_of_a_freed_communicator_is_as_invalid_as_ever(name: str, nodes: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)  # in Open MPI such a handle points to memory that was freed
    native = mpi.run([mpi.program("stale")], 4, native=True)
    assert "allreduce: error" in native.out
    outcome = mpi.run([mpi.program("stale")], 4, settings={"ESPALIER_VIRTUAL_NODES": nodes})
    assert outcome.out == native.out


@in_pairs(
    ("calls", ["0", "10"]),
    ("how", [["free"], ["free", "disconnect"]]),
    ("nodes", ["1", "2"]),
    ("name", ["mpich-5", "openmpi-5", "intel"]),
)
def test_collectives_work_in_attribute_functions_whose_order_differs_between_ranks(
    name: str, nodes: str, how: list[str], calls: str, get_mpi: GetMpi
) -> None:
    mpi = get_mpi(name)
    settings = {"ESPALIER_VIRTUAL_NODES": nodes, "ESPALIER_SETUP_CALLS": calls}
    outcome = mpi.run([mpi.program("parting"), *how[1:]], 3, settings=settings)
    assert outcome.code == 0, str(outcome)
    assert outcome.out.strip() == "parting: ok"


@in_pairs(("calls", ["0", "2"]), ("nodes", ["1", "2"]), ("name", ["mpich-5", "openmpi-5", "intel"]))
def test_threads_use_new_communicators_while_others_make_some(
    name: str, nodes: str, calls: str, get_mpi: GetMpi
) -> None:
    mpi = get_mpi(name)
    settings = {"ESPALIER_VIRTUAL_NODES": nodes, "ESPALIER_SETUP_CALLS": calls}
    outcome = mpi.run([mpi.program("newcomers")], 4, settings=settings)
    assert outcome.code == 0, str(outcome)
    assert outcome.out.strip() in ("newcomers: ok", "newcomers: no threads")
