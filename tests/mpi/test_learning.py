"""What jobs learn from their own calls: it is right, kept, read by the next job, and never in a program's way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from launch import Outcome, TestMpi
from stats import read_stats
from test_conformance import assert_passed

pytestmark = pytest.mark.alone

GetMpi = Callable[[str], TestMpi]
MPIS = ("mpich-5", "openmpi-5", "intel")
PLACES = {"one node": {}, "two nodes": {"ESPALIER_VIRTUAL_NODES": "cyclic:2"}}


def learn(mpi: TestMpi, store: Path, ranks: int = 4, calls: int = 1000, **settings: str) -> Outcome:
    wanted = {"ESPALIER_LEARN": "on", "ESPALIER_STORE": str(store), "ESPALIER_TABLE": "off", **settings}
    outcome = mpi.run([mpi.program("learning"), str(calls)], ranks, settings=wanted, timeout=300)
    assert outcome.code == 0, str(outcome)
    assert "passed" in outcome.out, str(outcome)
    return outcome


def rows_in(store: Path) -> list[Mapping[str, Any]]:
    (file,) = store.glob("learned-*.json")
    rows: list[Mapping[str, Any]] = json.loads(file.read_text())["rows"]
    return rows


def as_found_by(jobs: int, store: Path) -> None:
    """Says of all that was learned that so many jobs in a row have found the same."""
    (file,) = store.glob("learned-*.json")
    table = json.loads(file.read_text())
    for row in table["rows"]:
        row["learned"]["jobs"] = jobs
    file.write_text(json.dumps(table))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MPIS)
def test_results_are_right_whoever_is_tried_and_sums_keep_their_bits(
    name: str, place: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    learn(get_mpi(name), tmp_path, **PLACES[place])
    rows = rows_in(tmp_path)
    assert {"broadcast", "allreduce", "allgather", "gather", "barrier"} <= {row["operation"] for row in rows}
    assert {"allgather", "reduce_scatter"} <= {row["operation"] for row in rows if row.get("form") == "uneven"}
    assert all(row["measured"]["native_us"] > 0 and row["measured"]["chosen_us"] > 0 for row in rows)
    # Each shape has its own: all ranks, and the even ones.
    assert len({(tuple(row["nodes"]), tuple(row["ppn"])) for row in rows}) == 2


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
def test_the_next_job_begins_with_what_was_learned(name: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    learn(mpi, tmp_path / "store")
    as_found_by(3, tmp_path / "store")
    barriers = {row["ppn"][0]: row["selection"] for row in rows_in(tmp_path / "store") if row["operation"] == "barrier"}
    learn(mpi, tmp_path / "store", calls=40, ESPALIER_STATS=str(file))
    counts = read_stats(file)["MPI_Barrier"]
    said = {"native": counts.native, **counts.choices}
    for ranks in (4, 2):  # rank 0 makes as many calls on the even ones
        assert said.get(barriers[ranks], 0) >= 40, (barriers, said)


@pytest.mark.parametrize("place", PLACES)
def test_neighbourhoods_try_their_mpi_and_keep_nothing_for_other_graphs(
    place: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    file = tmp_path / "stats.json"
    settings = {**PLACES[place], "ESPALIER_SETUP_CALLS": "0", "ESPALIER_STATS": str(file)}
    learn(get_mpi("openmpi-5"), tmp_path / "store", **settings)
    for name in ("MPI_Neighbor_alltoall", "MPI_Neighbor_allgather"):
        counts = read_stats(file)[name]
        assert min(counts.native, counts.handled) > 0, counts
    assert not [row for row in rows_in(tmp_path / "store") if row["operation"].startswith("neighbor")]


def test_what_one_job_has_found_is_found_out_again(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi("mpich-5")
    learn(mpi, tmp_path)
    first = {(row["operation"], *row["ppn"], *row["bytes"]): row for row in rows_in(tmp_path)}
    learn(mpi, tmp_path, ESPALIER_LEARN_BUDGET="100")  # some hundred calls are enough to ask again
    again = {(row["operation"], *row["ppn"], *row["bytes"]): row for row in rows_in(tmp_path)}
    common = first.keys() & again.keys()
    assert len(common) >= 0.8 * len(first)
    for kind in common:
        is_same = first[kind]["selection"] == again[kind]["selection"]
        assert again[kind]["learned"]["jobs"] == (2 if is_same else 1), kind
    # Some are so clear that any job finds them.
    assert any(again[kind]["learned"]["jobs"] == 2 for kind in common)


def test_a_job_may_read_without_learning(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi("mpich-5")
    learn(mpi, tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.glob("*.json")}
    learn(mpi, tmp_path, calls=100, ESPALIER_LEARN="read")
    assert before == {file: file.read_bytes() for file in tmp_path.glob("*.json")}


def test_nothing_is_kept_where_nobody_learns(get_mpi: GetMpi, tmp_path: Path) -> None:
    learn(get_mpi("mpich-5"), tmp_path / "store", calls=100, ESPALIER_LEARN="off")
    learn(get_mpi("mpich-5"), tmp_path / "store", calls=100, ESPALIER_LEARN="read")
    assert not (tmp_path / "store").exists()


def test_sums_of_floating_point_numbers_are_learned_about_only_when_asked_for(get_mpi: GetMpi, tmp_path: Path) -> None:
    # On three ranks every order has its own digits. The program's sums are of 33 doubles.
    mpi = get_mpi("mpich-5")
    learn(mpi, tmp_path / "without", ranks=3)
    assert not [row for row in rows_in(tmp_path / "without") if row["bytes"] == [257, 512]]
    settings = {"ESPALIER_LEARN": "on", "ESPALIER_LEARN_SUMS": "1", "ESPALIER_STORE": str(tmp_path / "with")}
    mpi.run([mpi.program("learning"), "1000"], 3, settings=settings)
    assert [row for row in rows_in(tmp_path / "with") if row["bytes"] == [257, 512]]


def test_jobs_that_end_at_once_lose_nothing_of_each_other(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi("mpich-5")
    with ThreadPoolExecutor(3) as jobs:
        list(jobs.map(lambda ranks: learn(mpi, tmp_path, ranks=ranks, calls=300), (2, 3, 4)))
    assert {2, 3, 4} <= {row["ppn"][1] for row in rows_in(tmp_path)}


def test_a_store_that_cannot_be_used_is_no_harm(get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi = get_mpi("mpich-5")
    quiet = learn(mpi, Path("/proc/nowhere"), calls=100)
    assert "espalier" not in quiet.err
    assert "/proc/nowhere" in learn(mpi, Path("/proc/nowhere"), calls=100, ESPALIER_VERBOSE="1").err
    learn(mpi, tmp_path, calls=100)
    (file,) = tmp_path.glob("learned-*.json")
    file.write_text("{ torn")
    told = learn(mpi, tmp_path, calls=100, ESPALIER_VERBOSE="1").err
    assert "truncated" in told or "corrupt" in told
    assert file.read_text() == "{ torn"


@pytest.mark.parametrize("nodes", ["", "2"])
def test_what_was_sent_arrives_where_there_is_more_room(nodes: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    # Ranks that take a call to be of different sizes must not disagree on whose turn it is. Open MPI's own collectives,
    # which are tried, do not get through this.
    mpi = get_mpi("mpich-5")
    settings = {"ESPALIER_LEARN": "on", "ESPALIER_STORE": str(tmp_path), "ESPALIER_VIRTUAL_NODES": nodes}
    for ranks in (2, 5):
        assert_passed(mpi.run([mpi.program("conformance"), "lengths"], ranks, settings=settings))


@pytest.mark.parametrize("name", MPIS)
def test_all_collectives_pass_while_a_job_learns(name: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    # Without those themes that find faults of native libraries.
    mpi = get_mpi(name)
    themes = ("sizes", "communicators", "mixing", "skew", "movements", "reductions", "operators", "threads")
    settings = {"ESPALIER_LEARN": "on", "ESPALIER_LEARN_SUMS": "1", "ESPALIER_STORE": str(tmp_path)}
    assert_passed(mpi.run([mpi.program("conformance"), *themes], 4, settings=settings, timeout=300))
