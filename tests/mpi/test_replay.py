"""espalier replay: a recorded program's calls are played again, under every MPI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.jobs.mpis import parse_version
from espalier.profile.reading import read_profile
from espalier.replay.played import Replay, play_script
from espalier.replay.script import derive_script
from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
RANKS = 4
MPIS = ("mpich-5", "openmpi-5", "intel")


def replay_of(mpi: TestMpi, folder: Path, calls: int, *words: str, **settings: str) -> Replay:
    recording = {"ESPALIER_PROFILE": str(folder / "p.json")}
    outcome = mpi.run([mpi.program("rhythm"), *words], RANKS, settings=recording, timeout=60)
    assert outcome.code == 0, str(outcome)
    recorded = read_profile(folder / "p.json")
    assert parse_version(recorded.mpi) == (mpi.mpi.family, mpi.mpi.version)
    script = derive_script(recorded, calls)
    return play_script(script, mpi.mpi, 2, settings, folder, timeout=120)


@pytest.mark.parametrize("nodes", [None, "3,1"])
@pytest.mark.parametrize("name", MPIS)
def test_every_kind_of_call_is_played_natively_and_by_espalier(
    get_mpi: GetMpi, name: str, nodes: str | None, tmp_path: Path
) -> None:
    settings = {"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}
    result = replay_of(get_mpi(name), tmp_path, 1000, **settings)
    calls = {(row.piece.key.name, row.piece.members): row.piece.calls for row in result.rows}
    everybody = (0, 1, 2, 3)
    assert calls == {
        ("MPI_Allreduce", everybody): 20,
        ("MPI_Bcast", everybody): 20,
        ("MPI_Allgather", (0, 2)): 20,
        ("MPI_Allgather", (1, 3)): 20,
        ("MPI_Iallreduce", everybody): 20,
        ("MPI_Bcast_init", everybody): 20,
    }
    assert not result.script.left_out
    assert all(row.native_us > 0 and row.own_us > 0 for row in result.rows)
    assert all(row.choice for row in result.rows)
    assert result.one_clock
    assert len(result.played.first) == 2
    assert "natively and" in result.verdict


@pytest.mark.parametrize("nodes", [None, "3,1"])
@pytest.mark.parametrize("name", MPIS)
def test_neighbours_hand_on_again_what_they_handed_on(
    get_mpi: GetMpi, name: str, nodes: str | None, tmp_path: Path
) -> None:
    settings = {"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}
    result = replay_of(get_mpi(name), tmp_path, 1000, "neighbours", **settings)
    assert not result.script.left_out
    pieces = {row.piece.key.name: row.piece for row in result.rows}
    line = tuple((beside, beside) for beside in [(1,), (0, 2), (1, 3), (2,)])
    graph = (((), (1, 2, 3)), ((0,), (2, 3)), ((0, 1), (3,)), ((0, 1, 2), ()))
    facts = {kind: (piece.calls, piece.neighbors, piece.blocks) for kind, piece in pieces.items()}
    assert facts == {
        "MPI_Neighbor_alltoall": (20, line, (32,) * 4),
        "MPI_Neighbor_alltoallv": (20, line, (48, 32, 32, 16)),
        "MPI_Neighbor_alltoallw": (20, line, (32,) * 4),
        "MPI_Alltoallw": (20, (), (40,) * 4),
        "MPI_Ineighbor_allgather": (20, graph, (24,) * 4),
    }
    assert all(row.native_us > 0 and row.own_us > 0 for row in result.rows)


@pytest.mark.alone
def test_what_was_late_is_late_again(get_mpi: GetMpi, tmp_path: Path) -> None:
    result = replay_of(get_mpi("mpich-5"), tmp_path, 1000)
    (row,) = [row for row in result.rows if row.piece.key.name == "MPI_Allreduce"]
    assert max(row.piece.lasts, key=lambda member: row.piece.lasts[member]) == 3
    assert all(early > 500 for early in row.piece.early[:3])
    assert min(result.played.first) > 20 * 0.0005, "the others wait for it"
