"""Jobs that stand still: `espalier hang` and ESPALIER_WATCHDOG name who is waited for.

Four ranks have made the same calls, and then one does something else (lifetime/standstill.c)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from launch import LAUNCHER_FAILED, TestMpi
from pairs import in_pairs

GetMpi = Callable[[str], TestMpi]
RANKS = 4
MPIS = ("mpich-5", "openmpi-5", "intel")
NODES = [None, "3,1"]
# What is seen of them is our own word in memory, whatever the MPI does.
OF_THE_WORD = (
    "mpich-5",
    pytest.param("openmpi-5", marks=pytest.mark.long),
    pytest.param("intel", marks=pytest.mark.long),
)
# Of a machine with twenty busy processes for two cores: a rank needs two times 64 looks to show where it waits, each
# after giving its core away, and asking takes seconds, too. Ranks live for two minutes: a job that takes more than half
# of them to begin is no good for this, and another one is started.
PATIENCE = 45.0
BEGINNING = 60.0


@contextlib.contextmanager
def standing(mpi: TestMpi, *words: str, nodes: str | None = None, **settings: str) -> Iterator[subprocess.Popen[str]]:
    """A job of standstill.c that has begun to stand still, and is killed in the end, ranks that are stopped too."""
    settings = {"ESPALIER_SETUP_CALLS": "0", **settings, **({"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {})}
    line, environment = mpi.command([mpi.program("standstill"), *words], RANKS, settings=settings)
    with begin(line, environment) as job:
        try:
            yield job
        finally:
            end(job)


def begin(line: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """The job, once it says that it is standing; started again where its launcher has not started it, or took long."""
    said = ""
    for _ in range(3):
        begun = time.monotonic()
        job = subprocess.Popen(
            line,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert job.stdout is not None
        stands = any(text.strip() == "standing" for text in job.stdout)
        if stands and time.monotonic() - begun < BEGINNING:
            return job
        end(job)
        said = job.communicate()[1]
        if not stands and LAUNCHER_FAILED not in said:
            break
    pytest.fail(f"the job has not begun to stand still: {said}")


def end(job: subprocess.Popen[str]) -> None:
    """Kills it, and removes what its MPI leaves in shared memory that way."""
    doomed = [*ranks_of(job.pid), job.pid]
    left = {file for pid in doomed for file in shared_files_of(pid)}
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for file in left:
        file.unlink(missing_ok=True)


def ranks_of(launcher: int) -> list[int]:
    """The processes that this launcher, or one that it has started, has started from standstill.c."""
    return [pid for pid, is_rank in started_by(launcher) if is_rank]


def started_by(launcher: int) -> list[tuple[int, bool]]:
    """All that it has started, or that those have, and which of them are ranks."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (folder / "stat").read_text()
            parents[int(folder.name)] = (int(text.rsplit(")", 1)[1].split()[1]), "(standstill" in text)
    found = []
    for pid, (parent, is_rank) in parents.items():
        while parent in parents and parent != launcher:
            parent = parents[parent][0]
        if parent == launcher:
            found.append((pid, is_rank))
    return found


def shared_files_of(pid: int) -> set[Path]:
    """What it has mapped that has a name in shared memory."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    return {Path(path) for path in re.findall(r" (/dev/shm/\S+)$", maps, re.MULTILINE)}


def ask(job: subprocess.Popen[str], wanted: str, *options: str) -> list[Any]:
    """What `espalier hang` says of the job, once it says `wanted`, or after PATIENCE."""
    said: list[Any] = []
    took: list[float] = []
    pid = str(ranks_of(job.pid)[0])
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not re.search(wanted, culprits(said)):
        time.sleep(0.3)
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "espalier", "hang", pid, "--json", "--seconds", "0.2", *options],
            capture_output=True,
            text=True,
            check=False,
        )
        took.append(round(time.monotonic() - begun, 1))
        assert done.returncode in (0, 1), f"{done.stderr}\nlaunched: {job.poll()}; asking took {took} s; before: {said}"
        said = json.loads(done.stdout)["standstills"]
        assert (done.returncode == 1) == bool(said)
    return said


def culprits(said: list[Any]) -> str:
    return "\n".join(it["culprit"] for it in said)


@in_pairs(
    ("nodes", NODES),
    ("name", MPIS),
    (
        "how,culprit",
        [
            ("sleep", r"Rank 2 \(process \d+\) has not come; it is asleep"),
            ("spin", r"Rank 2 \(process \d+\) has not come; it is running"),
            (
                "elsewhere",
                r"Rank 2 \(process \d+\) has not come: it waits in MPI_Barrier, call 21, "
                r"of communicator \w+ \(4 ranks\)",
            ),
            ("stop", r"Rank 2 \(process \d+\) is stopped: .*kill -CONT"),
        ],
    ),
)
def test_who_is_waited_for_is_named(get_mpi: GetMpi, name: str, nodes: str | None, how: str, culprit: str) -> None:
    with standing(get_mpi(name), how, "2", nodes=nodes) as job:
        said = ask(job, culprit)
    assert re.search(culprit, culprits(said)), said
    world = next(it for it in said if it["communicator"] == "MPI_COMM_WORLD (4 ranks)")
    waiting = [rank for rank in world["ranks"] if rank["stand"] == "waits"]
    assert {rank["rank"] for rank in waiting} <= {0, 1, 3}
    numbered = r"MPI_(Bcast of 64 bytes, root 0, call 21|Allreduce of 4 bytes, call 22)$"
    assert all(re.match(numbered, it["call"]) for it in waiting), "after 20 calls of the program's"
    assert world["call"] in (21, 22)


@pytest.mark.parametrize("name", MPIS)
def test_a_dead_rank_is_named(get_mpi: GetMpi, name: str) -> None:
    """Its launcher, which would end the others, is kept from seeing it."""
    with standing(get_mpi(name), "sleep", "2") as job:
        (world,) = (it for it in ask(job, "Rank 2") if it["communicator"] == "MPI_COMM_WORLD (4 ranks)")
        launchers = [job.pid, *(pid for pid, is_rank in started_by(job.pid) if not is_rank)]
        try:
            for pid in launchers:
                os.kill(pid, signal.SIGSTOP)
            os.kill(world["ranks"][2]["pid"], signal.SIGKILL)
            said = ask(job, "dead")
        finally:
            for pid in launchers[1:]:
                os.kill(pid, signal.SIGKILL)
            for pid in ranks_of(job.pid):
                os.kill(pid, signal.SIGKILL)
    assert re.search(r"Rank 2 \(process \d+\) is dead\.", culprits(said)), said


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize(
    ("how", "culprit"),
    [
        ("barrier", r"(waits in|came with) MPI_Barrier, call \d+"),
        ("roots", "came with MPI_Reduce of 8K bytes, root 2, call 21, where .* root 0, call 21"),
    ],
)
def test_a_rank_that_makes_another_call_or_gives_another_root_is_named(
    get_mpi: GetMpi, name: str, how: str, culprit: str
) -> None:
    culprit = rf"Rank 2 \(process \d+\) {culprit}"
    with standing(get_mpi(name), how, "2") as job:
        said = ask(job, culprit)
    assert re.search(culprit, culprits(said)), said


@pytest.mark.parametrize("name", MPIS)
def test_a_launcher_stands_for_its_ranks(get_mpi: GetMpi, name: str) -> None:
    with standing(get_mpi(name), "sleep", "2") as job:
        said = ask(job, "Rank 2")
        words = [sys.executable, "-m", "espalier", "hang", str(job.pid), "--json", "--seconds", "0.2"]
        of_launcher = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)[
            "standstills"
        ]
        assert subprocess.run([*words[:4], str(os.getpid())], capture_output=True, check=False).returncode == 1, (
            "and so does who has started that"
        )
    assert [it["communicator"] for it in of_launcher] == [it["communicator"] for it in said]
    assert {rank["pid"] for rank in of_launcher[0]["ranks"]} == {rank["pid"] for rank in said[0]["ranks"]}


@pytest.mark.parametrize("name", MPIS)
def test_calls_that_do_not_block_are_seen_where_they_are_waited_for(get_mpi: GetMpi, name: str) -> None:
    with standing(get_mpi(name), "nonblocking", "2") as job:
        said = ask(job, "Rank 2")
    world = next(it for it in said if it["communicator"] == "MPI_COMM_WORLD (4 ranks)")
    assert re.match(r"MPI_Iallreduce of 4 bytes, call 22$", world["ranks"][0]["call"]), said
    assert "Rank 2" in world["culprit"]


@pytest.mark.parametrize("name", MPIS)
def test_ranks_that_wait_for_memory_of_their_first_call_with_counts_are_seen(get_mpi: GetMpi, name: str) -> None:
    with standing(get_mpi(name), "counts", "2") as job:
        said = ask(job, "Rank 2")
    world = next(it for it in said if it["communicator"] == "MPI_COMM_WORLD (4 ranks)")
    assert world["ranks"][0]["call"] == "MPI_Alltoallv, call 21, for which the ranks get memory first", said
    assert "Rank 2" in world["culprit"]


@pytest.mark.parametrize("name", OF_THE_WORD)
@pytest.mark.parametrize(
    ("how", "call"),
    [
        ("types", r"MPI_Alltoallw, call 21, for which the ranks get memory first$"),
        ("nonblocking-types", r"MPI_Ialltoallw, call 22$"),
    ],
)
def test_calls_with_a_type_for_each_block_are_called_so(get_mpi: GetMpi, how: str, call: str, name: str) -> None:
    with standing(get_mpi(name), how, "2") as job:
        said = ask(job, "Rank 2")
    world = next(it for it in said if it["communicator"] == "MPI_COMM_WORLD (4 ranks)")
    assert re.match(call, world["ranks"][0]["call"]), said


LEFT = {"ESPALIER_CHOICE_BROADCAST": "native", "ESPALIER_CHOICE_ALLREDUCE": "native"}


@pytest.mark.parametrize("name", OF_THE_WORD)
@pytest.mark.parametrize(
    ("how", "culprit"),
    [
        ("sleep", r"Rank 2 \(process \d+\) has not come; it is asleep"),
        (
            "elsewhere",
            r"Rank 2 \(process \d+\) has not come: it waits in MPI_Barrier, call \d+, of communicator \w+ \(4 ranks\)",
        ),
        ("stop", r"Rank 2 \(process \d+\) is stopped: .*kill -CONT"),
    ],
)
def test_calls_that_are_left_to_the_mpi_are_seen(get_mpi: GetMpi, name: str, how: str, culprit: str) -> None:
    with standing(get_mpi(name), how, "2", **LEFT) as job:
        said = ask(job, culprit)
    (world,) = (it for it in said if it["communicator"] == "MPI_COMM_WORLD (4 ranks)")
    assert re.search(culprit, world["culprit"]), said
    assert world["left_to_mpi"]
    waiting = {rank["call"] for rank in world["ranks"] if rank["stand"] == "waits"}
    calls = ("MPI_Bcast of 64 bytes, root 0, call 21", "MPI_Allreduce of 4 bytes, call 22")
    assert waiting <= {f"{it}, which is left to the MPI" for it in calls}


@pytest.mark.parametrize("name", OF_THE_WORD)
def test_the_call_of_the_mpi_that_others_wait_for_is_named(get_mpi: GetMpi, name: str) -> None:
    culprit = r"Rank 2 \(process \d+\) has not come: it waits in MPI_Barrier, call 21, which is left to the MPI"
    with standing(get_mpi(name), "elsewhere", "2", ESPALIER_CHOICE_BARRIER="native") as job:
        said = ask(job, culprit)
    assert re.search(culprit, culprits(said)), said


@pytest.mark.parametrize("name", MPIS)
def test_who_has_ended_mpi_is_named(get_mpi: GetMpi, name: str) -> None:
    culprit = r"Rank 2 \(process \d+\) has not come: it has called MPI_Finalize\."
    with standing(get_mpi(name), "finalize", "2") as job:
        said = ask(job, culprit)
    assert re.search(culprit, culprits(said)), said


@pytest.mark.parametrize("name", MPIS)
def test_the_first_calls_of_a_communicator_are_seen(get_mpi: GetMpi, name: str) -> None:
    culprit = r"Rank 2 \(process \d+\) has not come; it is asleep"
    with standing(get_mpi(name), "early", "2", ESPALIER_SETUP_CALLS="10") as job:
        said = ask(job, culprit)
    (found,) = (it for it in said if re.search(culprit, it["culprit"]))
    assert found["communicator"] == "a communicator of ranks 0 to 3 of MPI_COMM_WORLD"
    early = "MPI_Allreduce of 4 bytes, call 1, which is left to the MPI"
    assert [rank["call"] for rank in found["ranks"]] == [early, early, None, early]


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", OF_THE_WORD)
def test_only_members_of_a_communicator_are_waited_for(get_mpi: GetMpi, name: str, nodes: str | None) -> None:
    culprit = r"Rank 1 \(process \d+; in MPI_COMM_WORLD 0\) has not come; it is asleep"
    with standing(get_mpi(name), "part", "0", nodes=nodes, ESPALIER_SETUP_CALLS="10") as job:
        said = ask(job, culprit)
    (found,) = said
    assert re.match(culprit, found["culprit"]), said
    assert found["communicator"] == "a communicator of ranks 2, 0 of MPI_COMM_WORLD"
    there = "MPI_Allreduce of 4 bytes, call 2, which is left to the MPI"
    assert [rank["call"] for rank in found["ranks"]] == [there, None]


@pytest.mark.parametrize("name", OF_THE_WORD)
def test_threads_in_several_communicators_are_all_seen(get_mpi: GetMpi, name: str) -> None:
    with standing(get_mpi(name), "threads", "1", ESPALIER_SETUP_CALLS="10") as job:
        said = ask(job, r"(?s)(?=.*Rank 0 \(process)(?=.*Rank 1 \(process \d+; in MPI_COMM_WORLD 3\))")
    found = {it["communicator"]: it["culprit"] for it in said}
    assert sorted(found) == [f"a communicator of ranks {it} of MPI_COMM_WORLD" for it in ("0, 1", "1, 3")]
    assert re.match(r"Rank 0 \(process \d+\) has not come; it is asleep", found[min(found)]), said
    assert re.match(r"Rank 1 \(process \d+; in MPI_COMM_WORLD 3\) has not come; it is asleep", found[max(found)]), said


@pytest.mark.parametrize("name", OF_THE_WORD)
def test_what_one_rank_was_refused_is_no_call_that_others_make(get_mpi: GetMpi, name: str) -> None:
    culprit = r"Rank 2 \(process \d+\) has not come; it is asleep[^.]*\."
    with standing(get_mpi(name), "refused", "2", **LEFT) as job:
        said = ask(job, culprit)
    assert [it["culprit"] for it in said if re.fullmatch(culprit, it["culprit"])], said
    culprit = r"Rank 1 \(process \d+; in MPI_COMM_WORLD 0\) has not come; it is asleep[^.]*\."
    with standing(get_mpi(name), "part-refused", "0", ESPALIER_SETUP_CALLS="10") as job:
        said = ask(job, culprit)
    assert [it["culprit"] for it in said if re.fullmatch(culprit, it["culprit"])], said


@pytest.mark.parametrize("name", OF_THE_WORD)
def test_ranks_that_wait_for_arguments_to_compare_are_seen(get_mpi: GetMpi, name: str) -> None:
    culprit = r"Rank 2 \(process \d+\) has not come; it is asleep"
    with standing(get_mpi(name), "sleep", "2", ESPALIER_CHECK="1") as job:
        said = ask(job, culprit)
    (world,) = (it for it in said if re.search(culprit, it["culprit"]))
    call = "MPI_Bcast of 64 bytes, root 0, call 21, whose arguments ESPALIER_CHECK compares"
    assert world["ranks"][0]["call"] == call


@pytest.mark.parametrize("culprit", [0, 2])
@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", OF_THE_WORD)
def test_a_rank_that_has_made_no_call_yet_is_named(get_mpi: GetMpi, name: str, nodes: str | None, culprit: int) -> None:
    named = rf"Rank {culprit} \(process \d+\) has not come; it is asleep"
    with standing(get_mpi(name), "first", str(culprit), nodes=nodes) as job:
        said = ask(job, named)
    (world,) = said
    assert re.search(named, world["culprit"]), said
    assert (world["communicator"], world["call"]) == ("MPI_COMM_WORLD (4 ranks)", 1)


@pytest.mark.parametrize("name", OF_THE_WORD)
@pytest.mark.parametrize("culprit", [0, 2])
def test_a_rank_that_a_new_communicator_waits_for_is_named(get_mpi: GetMpi, name: str, culprit: int) -> None:
    """Who makes its memory shows there who is to come; where that is who does not, their processes show the others."""
    on_their_way = "MPI_Allreduce of 4 bytes, call 1, for which the ranks get memory first"
    named = rf"Rank {culprit} \(process \d+\) has not come; it is asleep"
    with standing(get_mpi(name), "early", str(culprit)) as job:
        said = ask(job, named)
    (found,) = said
    assert re.fullmatch(named + r".*", found["culprit"]), "and nobody else is"
    calls = {rank["call"] for rank in found["ranks"] if rank["rank"] != culprit}
    assert calls <= ({on_their_way} if culprit == 0 else {on_their_way, "MPI_Allreduce of 4 bytes, call 1"})


def test_hosts_that_are_asked_show_what_this_one_shows(get_mpi: GetMpi, tmp_path: Path) -> None:
    """Half of the ranks are said to be on another host, which numbers its processes anew."""
    with standing(get_mpi("mpich-5"), "sleep", "2") as job:
        ask(job, "Rank 2")
        pid = str(ranks_of(job.pid)[0])
        words = [sys.executable, "-m", "espalier", "hang", "--record", pid]
        whole = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    for host, mine in (("a", (0, 1)), ("b", (2, 3))):
        ranks = [rank for rank in whole["ranks"] if rank["world_rank"] in mine]
        (tmp_path / host).write_text(json.dumps({**whole, "host": host, "ranks": ranks}))
    via = ["--hosts", "a,b", "--via", f"sh -c 'cat {tmp_path}/{{host}}' ssh", "--seconds", "0"]
    words = [sys.executable, "-m", "espalier", "hang", *via]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert re.search(r"Rank 2 \(process \d+ on b\) has not come; it is asleep", done.stdout), done.stdout


def test_the_stack_of_who_is_waited_for_says_which_call_of_mpi_it_is_in(get_mpi: GetMpi) -> None:
    with standing(get_mpi("mpich-5"), "receive", "2") as job:
        said = ask(job, "Rank 2", "--stacks")
    rank = said[0]["ranks"][2]
    assert re.match(r"P?MPI_Recv\b.* < .*main", rank["stack"]), rank


@in_pairs(("left", [{}, LEFT]), ("nodes", NODES), ("name", MPIS))
def test_the_watchdog_says_so_by_itself_and_once(
    get_mpi: GetMpi, name: str, nodes: str | None, left: dict[str, str]
) -> None:
    with standing(get_mpi(name), "sleep", "2", "3", nodes=nodes, ESPALIER_WATCHDOG="1", **left) as job:
        out, err = job.communicate(timeout=60)
    assert "sum 6" in out, "a rank that comes late is no harm"
    # It sleeps a tenth of a second at a time, and may be seen between two.
    lines = [line for line in err.splitlines() if re.search("has not come; it is (asleep|running)", line)]
    assert len(lines) == 1, err
    assert re.search(r"espalier:   Rank 2 \(process \d+\)", lines[0])
    assert err.count("MPI_COMM_WORLD (4 ranks) has stood still for 1.") == 1, err


def test_without_the_watchdog_nobody_says_anything(get_mpi: GetMpi) -> None:
    with standing(get_mpi("mpich-5"), "sleep", "2", "2") as job:
        out, err = job.communicate(timeout=60)
    assert ("sum 6" in out, err) == (True, "")
