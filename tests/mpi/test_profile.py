"""ESPALIER_PROFILE: what ranks record of their collectives, under every MPI, and that recording changes nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.profile.reading import read_profile
from espalier.profile.summary import Profile, Row, sum_up
from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
RANKS = 4
MPIS = ("mpich-5", "openmpi-5", "intel")
NODES = [None, "3,1"]


def profile_of(mpi: TestMpi, words: list[str], file: Path, nodes: str | None = None, **more: str) -> Profile:
    settings = {"ESPALIER_PROFILE": str(file), **({"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}), **more}
    outcome = mpi.run([mpi.program(words[0]), *words[1:]], RANKS, settings=settings, timeout=120)
    assert outcome.code == 0, str(outcome)
    assert "espalier:" not in outcome.err, str(outcome)
    return sum_up(read_profile(file))


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
def test_a_rank_that_comes_late_is_what_others_wait_for(
    get_mpi: GetMpi, name: str, nodes: str | None, tmp_path: Path
) -> None:
    profile = profile_of(get_mpi(name), ["standstill", "sleep", "2", "1"], tmp_path / "p.json", nodes)
    assert profile.ranks == RANKS
    waited = profile.waited_for
    assert max(waited, key=lambda rank: waited[rank]) == 2
    assert 2 < waited[2] < 4, "three others for a second; the root of a broadcast waits in what comes next"
    assert profile.waiting is not None
    assert profile.waiting > 0.6 * profile.seconds
    calls = {row.key.operation: row.calls for row in profile.rows}
    assert calls == {"MPI_Allreduce": 21, "MPI_Barrier": 20, "MPI_Bcast": 1}
    where = "4 ranks on 2 nodes" if nodes else "4 ranks on 1 node"
    assert {row.key.communicator for row in profile.rows} == {where}
    assert all(row.choice for row in profile.rows)


@pytest.mark.parametrize("name", MPIS)
def test_some_calls_are_left_to_native_where_that_is_asked_for(get_mpi: GetMpi, name: str, tmp_path: Path) -> None:
    words = ["standstill", "sleep", "2", "0"]
    none = profile_of(get_mpi(name), words, tmp_path / "none.json")
    some = profile_of(get_mpi(name), words, tmp_path / "some.json", ESPALIER_PROFILE_SAMPLE="4")
    assert sum(row.sample.calls for row in none.rows) == 0
    samples = [row.sample.calls for row in some.rows]
    assert 0 < sum(samples) < RANKS * 42 / 2
    assert all(row.sample.calls == RANKS * row.native for row in some.rows), "the same calls on all ranks"


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
def test_results_stay_right_while_every_third_call_is_natives(
    get_mpi: GetMpi, name: str, nodes: str | None, tmp_path: Path
) -> None:
    themes = ["sizes", "mixing", "communicators", "neighbors", "nonblocking"]
    profile = profile_of(
        get_mpi(name), ["conformance", *themes], tmp_path / "p.json", nodes, ESPALIER_PROFILE_SAMPLE="3"
    )
    assert profile.verdict


def test_a_file_that_cannot_be_written_is_said_when_the_job_begins_and_harms_nothing(
    get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, late = get_mpi("mpich-5"), tmp_path / "late"
    names = ("ESPALIER_PROFILE", "ESPALIER_PROFILE_TRACE", "ESPALIER_STATS")
    settings = {name: f"{late}/{name}.json" for name in names}
    words = [mpi.program("standstill"), "sleep", "2", "0"]
    outcome = mpi.run(words, RANKS, settings=settings)
    assert outcome.code == 0
    for name in names:
        trouble = f"{name}: cannot write '{late}/{name}.json': No such file or directory"
        assert f"{trouble}; tried again when the job ends" in outcome.err
        assert outcome.err.count(trouble) == 2, "at the beginning, and at the end"
    # Whoever reads that has the job's time to put it right: this one makes the folder itself.
    python = f"import mpi4py, os; from mpi4py import MPI; os.makedirs({str(late)!r}, exist_ok=True)"
    outcome = mpi.run([sys.executable, "-c", python], RANKS, settings=settings)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("cannot write") == 3
    assert all(Path(file).exists() for file in settings.values())


def test_who_does_calls_is_told_as_it_is_in_the_end(get_mpi: GetMpi, tmp_path: Path) -> None:
    """Early calls are trials, and of these it is not known yet."""
    settings = {"ESPALIER_LEARN": "on", "ESPALIER_STORE": "off", "ESPALIER_TABLE": "off"}
    profile = profile_of(get_mpi("mpich-5"), ["learning", "1000"], tmp_path / "p.json", **settings)
    assert any("(learned by this job)" in row.choice for row in profile.rows), [row.choice for row in profile.rows]
    assert any(row.measured for row in profile.rows), "and how native compares, as the trials have found"
    assert "as measured when the choices were made" in profile.verdict


def test_native_calls_are_profiled_too(get_mpi: GetMpi, tmp_path: Path) -> None:
    profile = profile_of(
        get_mpi("mpich-5"), ["standstill", "sleep", "2", "1"], tmp_path / "p.json", ESPALIER_DISABLE="1"
    )
    assert all(row.native == row.calls for row in profile.rows)
    assert profile.waiting is not None
    assert profile.waiting > 1


@pytest.mark.parametrize("learn", ["on", "off"])
@pytest.mark.parametrize("name", MPIS)
def test_of_very_many_calls_each_is_counted_and_few_are_timed(
    get_mpi: GetMpi, name: str, learn: str, tmp_path: Path
) -> None:
    """With a core for each rank: else all are timed."""
    mpi = get_mpi(name)
    settings = {"ESPALIER_PROFILE": str(tmp_path / "p.json"), "ESPALIER_LEARN": learn, "ESPALIER_STORE": "off"}
    outcome = mpi.run([mpi.program("multitude")], 2, settings=settings)
    assert outcome.code == 0, str(outcome)
    recorded = read_profile(tmp_path / "p.json")
    for rank in range(2):
        parts = {kind.key.name: part for kind, rows in recorded.kinds.items() for part in rows if part.rank == rank}
        counted = {
            "MPI_Allgather": (19_000, 8),
            "MPI_Allgatherv": (1_000, 16),
            "MPI_Allreduce": (800, 8),
            "MPI_Alltoall": (64, 1 << 17),
            "MPI_Bcast": (2_000, 4),
        }
        assert {kind: (part.calls, part.bytes) for kind, part in parts.items()} == {
            kind: (calls, calls * size) for kind, (calls, size) in counted.items()
        }
        assert parts["MPI_Bcast"].roots.keys() == {0, 1}
        timed = parts["MPI_Allgather"].timed
        assert timed.calls < 4_000, "while something is learned all are"
        assert 15_000 < timed.weight <= 19_000
        assert parts["MPI_Alltoall"].timed.calls == 0, "all are, and nothing is scaled up"


@pytest.mark.alone
@pytest.mark.parametrize("name", MPIS)
def test_rare_long_waits_among_many_short_calls_are_known_and_not_guessed(
    get_mpi: GetMpi, name: str, tmp_path: Path
) -> None:
    outcome = get_mpi(name).run(
        [get_mpi(name).program("multitude"), "20"], 2, settings={"ESPALIER_PROFILE": str(tmp_path / "p.json")}
    )
    assert outcome.code == 0, str(outcome)
    (row,) = (row for row in sum_up(read_profile(tmp_path / "p.json")).rows if row.key.name == "MPI_Allgather")
    assert row.timed.calls < 2 * 1_000, "of 19 000"
    assert row.waited_for[1] == pytest.approx(20 * 0.02, rel=0.3)
    assert row.waiting is not None
    assert row.waiting <= row.seconds


def rows_of(profile: Profile) -> dict[str, Row]:
    """By name, of calls of all ranks, which the program makes of one size each."""
    rows = [row for row in profile.rows if row.key.communicator.startswith(f"{RANKS} ranks")]
    assert len({row.key.name for row in rows}) == len(rows)
    return {row.key.name: row for row in rows}


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
def test_what_does_not_block_is_timed_when_it_starts_and_when_it_is_completed(
    get_mpi: GetMpi, name: str, nodes: str | None, tmp_path: Path
) -> None:
    rows = rows_of(profile_of(get_mpi(name), ["rhythm"], tmp_path / "p.json", nodes))
    for kind, between in (("MPI_Iallreduce", 0.003), ("MPI_Bcast_init", 0.001)):
        row = rows[kind]
        assert row.calls == 20
        assert all(part.between >= 20 * between for part in row.parts), "what the program computes meanwhile"
        assert row.start > 0
        assert row.completion > 0
        assert row.waiting is None
        assert row.native in (0, 20)
        assert row.choice


@pytest.mark.parametrize("name", MPIS)
def test_what_native_does_of_it_is_timed_too(get_mpi: GetMpi, name: str, tmp_path: Path) -> None:
    rows = rows_of(profile_of(get_mpi(name), ["rhythm"], tmp_path / "p.json", ESPALIER_DISABLE="1"))
    for kind in ("MPI_Iallreduce", "MPI_Bcast_init"):
        assert rows[kind].native == rows[kind].calls == 20
        assert all(part.between > 0.02 for part in rows[kind].parts)


def test_ranks_roots_and_times_of_calls_are_recorded(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi("mpich-5")
    profile_of(mpi, ["rhythm"], tmp_path / "p.json", "2,2")
    recorded = read_profile(tmp_path / "p.json")
    assert recorded.nodes == (0, 0, 1, 1)
    kinds = {(kind.key.name, kind.members): parts for kind, parts in recorded.kinds.items()}
    assert {members for name, members in kinds if name == "MPI_Allgather"} == {"0,2", "1,3"}
    broadcasts = kinds["MPI_Bcast", "0-3"]
    assert all(part.roots == {0: 5, 1: 5, 2: 5, 3: 5} for part in broadcasts)
    reductions = {part.rank: part for part in kinds["MPI_Allreduce", "0-3"]}
    assert all(part.last > part.first > 0 for part in reductions.values())
    # Of 20 calls; before the first there is no collective that a gap would begin at.
    assert reductions[3].gap > 19 * 0.005 > reductions[3].waiting, "it computes, and the others wait for it"


@pytest.mark.parametrize("name", MPIS)
def test_calls_are_told_apart_by_where_they_are_made(get_mpi: GetMpi, name: str, tmp_path: Path) -> None:
    profile_of(get_mpi(name), ["rhythm"], tmp_path / "p.json", ESPALIER_PROFILE_SITES="1")
    sites = {kind.key.name: kind.key.site for kind in read_profile(tmp_path / "p.json").kinds}
    assert all("/rhythm" in site and "+0x" in site for site in sites.values()), sites
    assert len(set(sites.values())) == 5
    profile_of(get_mpi(name), ["rhythm"], tmp_path / "p.json")
    assert all(not kind.key.site for kind in read_profile(tmp_path / "p.json").kinds)


@pytest.mark.parametrize("name", MPIS)
def test_a_trace_has_every_call_of_every_rank_in_its_time(get_mpi: GetMpi, name: str, tmp_path: Path) -> None:
    mpi, file = get_mpi(name), tmp_path / "trace.json"
    outcome = mpi.run([mpi.program("rhythm")], RANKS, settings={"ESPALIER_PROFILE_TRACE": str(file)}, timeout=60)
    assert outcome.code == 0, str(outcome)
    trace = json.loads(file.read_text())
    assert trace["otherData"]["dropped"] == 0
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {event["tid"] for event in events} == set(range(RANKS))
    mine = [event for event in events if event["tid"] == 1]
    names = [event["name"] for event in mine]
    assert [names.count(it) for it in ("MPI_Allreduce", "MPI_Iallreduce", "MPI_Iallreduce: completion")] == [20, 20, 20]
    ends = [event["ts"] + event["dur"] for event in mine]
    assert all(begin["ts"] >= end for begin, end in zip(mine[1:], ends[:-1], strict=True)), "one after the other"
    assert any(event["args"].get("waiting_us", 0) > 1000 for event in mine if event["name"] == "MPI_Allreduce")
