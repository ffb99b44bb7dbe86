"""The library itself on simulated ranks: right data, and the times that playing the same plans gives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs.libraries import find_executor
from espalier.simulation.executor import OURS, Case, Job, execute, last_words
from espalier.simulation.simulator import Request, simulate

_STAR = "star:hosts=8,rate=10000,latency=0.75"
_OPERATIONS = (
    "broadcast", "scatter", "gather", "allgather", "alltoall", "reduce", "allreduce", "reduce_scatter", "scan",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _executor() -> None:
    try:
        find_executor()
    except UserError as error:
        pytest.skip(str(error))


def _nodes(count: int, ppn: int) -> list[int]:
    return [node for node in range(count) for _ in range(ppn)]


@pytest.mark.parametrize("node_of", [_nodes(8, 1), _nodes(4, 4), [0, 0, 0, 1, 2, 2, 3], [0, 1, 2, 0, 1, 2, 0]])
def test_every_collective_delivers_the_right_data(node_of: list[int]) -> None:
    cases = [Case(operation, size) for operation in _OPERATIONS for size in (4, 4096, 200_000)]
    for timing in execute(Job(_STAR, node_of), OURS, cases, timeout=120):
        assert timing.wrong == 0, timing
        assert not timing.choice.startswith("native"), timing


# Without contention both see the same: one rank per node or several, messages that wait for their receiver and others.
@pytest.mark.parametrize(
    ("operation", "size", "ppn", "choice"),
    [
        ("broadcast", 32 << 10, 1, "knomial"),
        ("broadcast", 1 << 20, 1, "chain,segment=64K"),
        ("broadcast", 1 << 20, 4, "chain,segment=64K,within=cells"),
        ("broadcast", 1 << 20, 4, "chain,segment=64K,within=single_copy"),
        ("allgather", 32 << 10, 2, "ring"),
        ("allreduce", 256 << 10, 2, "ring"),
        ("allreduce", 64 << 10, 1, "recursive_doubling"),
        ("reduce", 32 << 10, 4, "knomial"),
        ("alltoall", 4 << 10, 1, "pairwise"),
    ],
)
def test_a_plan_executed_takes_as_long_as_the_same_plan_played_through(
    operation: str, size: int, ppn: int, choice: str
) -> None:
    _check_times(operation, size, _nodes(8, ppn), choice)


@pytest.mark.parametrize("within", ["cells,cell=16K", "single_copy"])
def test_so_does_one_of_two_ranks_that_have_a_node_to_themselves(within: str) -> None:
    _check_times("broadcast", 64 << 10, [0, 0], f"knomial,within={within}")


def _check_times(operation: str, size: int, node_of: list[int], choice: str) -> None:
    played = simulate(Request(_STAR, operation, size, node_of, choice, parameters={"gap": 0}))
    executed = execute(Job(_STAR, node_of, {operation: choice}), OURS, [Case(operation, size)], timeout=60)[0]
    assert executed.choice.split(" (")[0] == played.choice
    assert executed.microseconds == pytest.approx(played.microseconds, rel=0.005)


def test_a_short_and_a_long_message_between_the_same_ranks_may_be_under_way_at_once() -> None:
    choice = {"broadcast": "scatter_allgather,exchange=bruck"}  # 96K and 32K, around the end of the message
    timing = execute(Job(_STAR, _nodes(8, 2), choice), OURS, [Case("broadcast", 256 << 10)], timeout=60)[0]
    assert timing.wrong == 0


# What a topology service would tell the job decides who sends to whom, executed as played.
@pytest.mark.parametrize("metric", ["none", "latency", "combined"])
def test_a_job_that_knows_its_network_lays_the_tree_onto_it(metric: str) -> None:
    network = "fat_tree:leaves=4,down=4,spines=1,oversubscription=4"
    node_of, case, choice = _nodes(16, 1), Case("broadcast", 32 << 10), "knomial,radix=2,segment=0"
    played, unaware = (
        simulate(
            Request(
                network, case.operation, case.bytes, node_of, choice, placement="random:1", metric=it,
                parameters={"gap": 0},
            )
        )
        for it in (metric, "none")
    )  # fmt: skip
    job = Job(network, node_of, {case.operation: choice}, placement="random:1", metric=metric)
    executed = execute(job, OURS, [case], timeout=60)[0]
    assert executed.wrong == 0
    assert executed.microseconds == pytest.approx(played.microseconds, rel=0.02)
    # Latencies alone do not say how full a trunk gets: such an order is hedged, and gains less (docs/adr/0037).
    assert executed.microseconds <= {"none": 1.01, "latency": 0.95, "combined": 0.9}[metric] * unaware.microseconds


def test_a_simulation_that_takes_too_long_ends_with_all_it_started(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"SIMULATION_OF={os.getpid()}"
    monkeypatch.setenv(*mark.split("="))
    with pytest.raises(UserError, match="did not end within"):
        execute(_LONG, "mpich", [Case("alltoall", 64 << 10)], timeout=2)
    assert _wait_for_end_of(mark), _command_lines(mark)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_simulation_ends_with_the_process_that_asked_for_it(how: signal.Signals) -> None:
    mark = f"SIMULATION_OF={os.getpid()}.{how}"
    command = ["simulate", "alltoall", "--bytes", "64K", "--nodes", "64", "--ppn", "8", "--execute"]
    asking = subprocess.Popen(
        [sys.executable, "-m", "espalier", *command, "--platform", _LONG.network],
        env={**os.environ, **dict([mark.split("=")])},
        start_new_session=True,
    )
    assert _wait(lambda: any(b"smpimain" in line for line in _command_lines(mark)))
    time.sleep(0.5)  # it has read what it is to run
    asking.send_signal(how)
    asking.wait()
    assert _wait_for_end_of(mark), _command_lines(mark)


_LONG = Job("star:hosts=64", _nodes(64, 8))


def _wait(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def _wait_for_end_of(mark: str) -> bool:
    return _wait(lambda: not _command_lines(mark))


def _command_lines(mark: str) -> list[bytes]:
    """Of all processes that have this in their environment."""
    found: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(path.with_name("cmdline").read_bytes())
    return found


def test_what_a_killed_command_left_behind_the_next_simulation_removes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    left, others = tmp_path / f"espalier-simulation-{gone.stdout.strip()}-abc", tmp_path / "espalier-elsewhere"
    for folder in (left, others):
        folder.mkdir()
        (folder / "espalier-executor.so_0").touch()
    execute(Job("star:hosts=2", [0, 1]), OURS, [Case("broadcast", 64)])
    assert list(tmp_path.iterdir()) == [others], "nor does a simulation that ends leave anything"


def test_other_libraries_algorithms_run_in_the_same_simulation() -> None:
    job, cases = Job("fat_tree:leaves=2,down=4,spines=2", _nodes(8, 4)), [Case("allreduce", 64 << 10)]
    ours = execute(job, OURS, cases, timeout=60)[0]
    theirs = [execute(job, name, cases, timeout=120)[0] for name in ("ompi", "mpich")]
    assert all(timing.wrong == 0 and timing.choice == "" for timing in theirs)
    assert len({timing.microseconds for timing in (ours, *theirs)}) > 1


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(UserError, match="the network has 8 hosts"):
        execute(Job(_STAR, _nodes(9, 1)), OURS, [Case("broadcast", 4)], timeout=60)


def test_a_simulation_that_gives_up_says_why_and_not_that_it_was_aborted() -> None:
    stopped = "[host0:0:(1) 0.0] [root/CRITICAL] Error while copying x.so\nBacktrace:\n\nAborted\n"
    assert last_words(stopped) == "Error while copying x.so"
    assert last_words("host8 is missing\nthe network has 8 hosts\n") == "the network has 8 hosts"
    assert last_words("") == "the simulation stopped"
