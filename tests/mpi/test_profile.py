"""ESPALIER_PROFILE: what ranks record of their collectives, under every MPI, and that recording changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.profile.reading import read_profile
from espalier.profile.summary import Profile, sum_up
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


def test_a_file_that_cannot_be_written_is_said_and_harms_nothing(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    settings = {"ESPALIER_PROFILE": "/nowhere/p.json"}
    outcome = mpi.run([mpi.program("standstill"), "sleep", "2", "0"], RANKS, settings=settings)
    assert outcome.code == 0
    assert "ESPALIER_PROFILE: cannot write '/nowhere/p.json'" in outcome.err


def test_native_calls_are_profiled_too(get_mpi: GetMpi, tmp_path: Path) -> None:
    profile = profile_of(
        get_mpi("mpich-5"), ["standstill", "sleep", "2", "1"], tmp_path / "p.json", ESPALIER_DISABLE="1"
    )
    assert all(row.native == row.calls for row in profile.rows)
    assert profile.waiting is not None
    assert profile.waiting > 1
