"""Messages between nodes over UCX: right bytes on irregular placements, the way back to MPI's messages, dead peers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cases import Case
from espalier.base.core import load_core
from espalier.jobs.mpis import read_library_version
from espalier.measure.worker import Worker
from launch import TestMpi
from places import make_places
from stats import assert_handled, read_stats
from test_conformance import assert_passed, error_lines, native_errors, themes_for
from test_lifetime import assert_nothing_left, end_processes, read_processes

GetMpi = Callable[[str], TestMpi]

# MPICH and Open MPI come with a UCX of their own (1.20 in 2026), under Intel's we load the system's (Debian: 1.13).
# On virtual nodes "sm" is shared memory between "nodes".
# Each goes through a part of what themes go through: together all of it, over networks as over memory (cases.py).
OFTEN = (
    (Case("mpich-5", 5, "3,1,1", 0), "tcp,self"),
    (Case("openmpi-5", 5, "2,2,1", 1), "all"),
    (Case("intel", 3, "cyclic:2", 2), "tcp,self"),
    (Case("mpich-5", 3, "cyclic:2", 1), "sm,self"),
    (Case("openmpi-5", 4, "2", 2), "sm,self"),
    (Case("intel", 3, "1", 0), "sm,self"),
)
PLACES = (
    *OFTEN,
    *(pytest.param(replace(case, part=None), networks, marks=pytest.mark.long) for case, networks in OFTEN),
    pytest.param(Case("mpich-5", 6, "cyclic:3"), "tcp,self", marks=pytest.mark.long),
    pytest.param(Case("mpich-5", 5, "cyclic:2"), "sm,self", marks=pytest.mark.long),
    pytest.param(Case("intel", 4, "cyclic:2"), "tcp,self", marks=pytest.mark.long),
)
INSTEAD = "messages between nodes go through MPI"


def settings_for(case: Case, networks: str, file: Path) -> dict[str, str]:
    return {"ESPALIER_TRANSPORT": "ucx", "UCX_TLS": networks, "ESPALIER_STATS": str(file), **case.settings}


@pytest.mark.parametrize(("case", "networks"), PLACES, ids=str)
def test_every_call_moves_the_right_bytes_over_ucx(case: Case, networks: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(case.mpi), tmp_path / "stats.json"
    themes = themes_for(mpi)
    command = [mpi.program("conformance"), *case.words, *themes]
    outcome = mpi.run(command, case.ranks, settings=settings_for(case, networks, file), timeout=300)
    assert_passed(outcome)
    assert INSTEAD not in outcome.err
    assert error_lines(outcome) == native_errors(mpi)
    assert_handled(read_stats(file), 0.8)


@pytest.mark.parametrize("case", [Case("mpich-5", 4, "2"), Case("openmpi-5", 4, "cyclic:2")], ids=str)
def test_threads_may_use_different_communicators_at_once_over_ucx(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi(case.mpi)
    settings = settings_for(case, "tcp,self", tmp_path / "stats.json")
    assert_passed(mpi.run([mpi.program("conformance"), "threads"], case.ranks, settings=settings))


@pytest.mark.parametrize("case", [Case("mpich-5", 3, "2"), Case("openmpi-5", 4, "2")], ids=str)
def test_many_communicators_share_what_a_process_has_of_ucx(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi(case.mpi)
    settings = settings_for(case, "tcp,self", tmp_path / "stats.json")
    command = [mpi.program("conformance"), "--many", "1000", "many"]
    assert_passed(mpi.run(command, case.ranks, settings=settings, timeout=240))


# Not under MPICH, whose own messages go through UCX.
@pytest.mark.parametrize("name", ["openmpi-5", "intel"])
def test_all_ranks_use_mpi_where_ucx_finds_no_network(name: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    settings = settings_for(Case(name, 4, "2"), "no_such_network", file)
    outcome = mpi.run([mpi.program("conformance"), "skew"], 4, settings=settings)
    assert_passed(outcome)
    assert outcome.err.count(INSTEAD) == 1, outcome.err
    assert_handled(read_stats(file), 0.9, ("MPI_Bcast",))


@pytest.mark.parametrize(("name", "variable"), [("intel", "PMI_RANK"), ("openmpi-5", "OMPI_COMM_WORLD_RANK")])
def test_all_ranks_use_mpi_where_one_rank_cannot_use_ucx(
    name: str, variable: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi = get_mpi(name)
    settings = settings_for(Case(name, 4, "2"), "tcp,self", tmp_path / "stats.json")
    script = f'[ "${variable}" != 2 ] || export UCX_TLS=no_such_network; exec "$@"'
    outcome = mpi.run(["sh", "-c", script, "sh", mpi.program("conformance"), "skew"], 4, settings=settings)
    assert_passed(outcome)
    assert outcome.err.count(f"{INSTEAD}: rank 2 cannot use UCX") == 1, outcome.err


# A table says what carries messages, and only its rows for that are followed.
@pytest.mark.parametrize(("asked", "carried"), [({}, "ucx"), ({"ESPALIER_TRANSPORT": "mpi"}, "mpi")])
def test_a_table_may_choose_the_transport(asked: dict[str, str], carried: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, path = get_mpi("openmpi-5").mpi, tmp_path / "table.json"
    core = load_core()
    measured = {"bytes": 64, "native_us": 2, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 2, "calls": 8}
    where = {"operation": "broadcast", "nodes": [2, 2], "ppn": [1, 1], "bytes": [0, 1 << 20], "measured": measured}
    rows = [{**where, "selection": "chain"}, {**where, "selection": "flat", "transport": "ucx"}]
    signature = core.probe_signature(read_library_version(mpi.library))
    head = {"espalier_table": 1, "machine": signature.machine, "mpi": signature.mpi, "transport": "ucx"}
    path.write_text(json.dumps({**head, "rows": rows}))
    settings = {"ESPALIER_TABLE": str(path), "ESPALIER_VIRTUAL_NODES": "2", "UCX_TLS": "tcp,self", **asked}
    with Worker(mpi, 2, settings) as worker:
        (auto,) = worker.measure("broadcast", 4096, ["auto"], 1, 200.0)
        assert worker.hello.transport == carried
    assert auto.said.startswith("flat" if carried == "ucx" else "chain")


# The launcher would end the job itself. Intel's, told not to, leaves that to the ranks, to which only UCX (tcp) or the
# watch over processes (sm) reports the death.
@pytest.mark.parametrize("networks", ["tcp,self", "sm,self"])
def test_a_killed_rank_ends_the_job_through_the_error_handler(networks: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, places = get_mpi("intel"), make_places(tmp_path)
    before = places.named()
    # UCX announces what it refuses and what fails on stdout.
    settings = {
        "ESPALIER_VIRTUAL_NODES": "2",
        "ESPALIER_TRANSPORT": "ucx",
        "UCX_TLS": networks,
        "UCX_LOG_LEVEL": "fatal",
    }
    line, environment = mpi.command([mpi.program("endless")], 2, settings=settings)
    line.insert(1, "-disable-auto-cleanup")
    with places.start(line, environment) as job:
        assert job.stdout is not None
        processes: list[int] = []
        try:
            processes += read_processes(job.stdout)
            os.kill(processes[1], signal.SIGKILL)
            _, err = job.communicate(timeout=60)
        finally:
            if job.poll() is None:  # the launcher was told to leave its ranks alone
                os.killpg(job.pid, signal.SIGKILL)
                end_processes(processes)
    assert job.returncode != 0
    # UCX 1.13 aborts by itself when it has to acknowledge a write of a peer that is gone.
    assert "a transport broke in the middle of a collective" in err or "Endpoint timeout" in err, err
    assert_nothing_left(processes, places, before)
