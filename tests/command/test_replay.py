"""espalier replay: what is made of a profile, and of what was played. Real jobs: tests/mpi/test_replay.py."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from espalier.base.errors import UserError
from espalier.jobs.libraries import Abi
from espalier.jobs.mpis import Family, Mpi
from espalier.profile.reading import Recorded, read_profile
from espalier.replay import simulated
from espalier.replay.played import condense
from espalier.replay.script import Script, derive_script
from espalier.simulation.executor import Timing
from test_profile import a_row, write
from workshop import MPI_TEXT, Command, make_mpi

MPICH = Mpi(Family.MPICH, "5.0.2", Abi.MPICH, Path("libmpi.so.12"), None, "a test")


def recorded(path: Path, *ranks: list[dict[str, Any]]) -> Recorded:
    return read_profile(write(path / "p.json", *ranks))


def script_of(path: Path, *ranks: list[dict[str, Any]], most: int = 1000) -> Script:
    return derive_script(recorded(path, *ranks), most)


def both(**facts: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Two ranks with the same row."""
    return [a_row(**facts)], [a_row(**facts)]


def test_every_kind_of_call_is_played_with_its_size_ranks_and_number(tmp_path: Path) -> None:
    script = script_of(tmp_path, *both())
    (piece,) = script.pieces
    assert (piece.operation, piece.members, piece.blocks, piece.calls) == ("allreduce", (0, 1), (8, 8), 100)
    assert len(script.calls) == 100


def test_a_rank_comes_as_much_before_the_last_one_as_it_waited(tmp_path: Path) -> None:
    script = script_of(
        tmp_path, [a_row(waiting=0.2, waited_for={"1": 0.2})], [a_row(waiting=0.0, waited_for={"0": 0.0})]
    )
    (piece,) = script.pieces
    assert piece.early == pytest.approx((2000.0, 0.0)), "0.2 s of 100 calls"
    assert {call.last for call in script.calls} == {1}
    assert piece.gaps == pytest.approx(2000.0), "long enough to come so early"


def test_where_waiting_is_not_known_who_is_longer_in_calls_comes_earlier(tmp_path: Path) -> None:
    unknown = {"split": 0, "waiting": 0.0}
    script = script_of(tmp_path, [a_row(seconds=0.3, **unknown)], [a_row(seconds=0.1, **unknown)])
    (piece,) = script.pieces
    assert piece.early == pytest.approx((2000.0, 0.0))
    assert {call.last for call in script.calls} == {1}


def test_long_computation_is_cut_to_a_millisecond_and_none_is_left_out(tmp_path: Path) -> None:
    quiet = {"waiting": 0.0}
    assert script_of(tmp_path, *both(gap=50.0, **quiet)).pieces[0].gaps == 1000.0
    assert script_of(tmp_path, *both(gap=0.01, **quiet)).pieces[0].gaps == pytest.approx(100.0)
    assert derive_script(recorded(tmp_path, *both(gap=50.0, **quiet)), 10, computes=False).pieces[0].gaps == 0.0


def test_of_many_calls_a_share_is_played_and_of_each_kind_at_least_one(tmp_path: Path) -> None:
    rows = [a_row(calls=99_999), a_row(operation="MPI_Bcast", calls=1, first=0.0, last=0.0, roots={"1": 1})]
    script = script_of(tmp_path, rows, rows, most=100)
    names = [script.pieces[call.piece].operation for call in script.calls]
    assert names.count("bcast") == 1
    assert names.count("allreduce") == 100
    assert names[0] == "bcast", "the first of the program is the first to be played"
    assert script.calls[0].root == 1


def test_calls_of_unknown_sizes_are_named_and_not_taken_for_calls_without_bytes(tmp_path: Path) -> None:
    counted = {"operation": "MPI_Alltoall", "counts": True}
    rows = [a_row(size_class=4, **counted), a_row(size_class=-1, bytes=0, calls=7, **counted)]
    rows.append(a_row(size_class=4, types=True, calls=5, **counted))
    script = script_of(tmp_path, rows, rows)
    assert [(piece.operation, piece.calls) for piece in script.pieces] == [("alltoallv", 100), ("alltoallw", 5)]
    assert script.left_out == {"MPI_Alltoallv": 7}


def test_calls_that_took_turns_take_turns_again(tmp_path: Path) -> None:
    rows = [
        a_row(calls=3, first=0.0, last=3.0),
        a_row(operation="MPI_Barrier", size_class=0, calls=3, first=0.5, last=3.5),
    ]
    script = script_of(tmp_path, rows, rows)
    assert [script.pieces[call.piece].operation for call in script.calls] == ["allreduce", "barrier"] * 3


def test_roots_are_drawn_as_often_as_they_were(tmp_path: Path) -> None:
    script = script_of(tmp_path, *both(operation="MPI_Bcast", calls=1000, roots={"0": 900, "1": 100}))
    roots = [call.root for call in script.calls]
    assert 50 < roots.count(1) < 150
    assert script.pieces[0].root == 0
    assert (
        script.calls == script_of(tmp_path, *both(operation="MPI_Bcast", calls=1000, roots={"0": 900, "1": 100})).calls
    )


def test_blocks_with_counts_have_each_ranks_mean_whatever_class_they_are_in(tmp_path: Path) -> None:
    gatherv = {"operation": "MPI_Gather", "counts": True, "roots": {"0": 100}}
    root = [a_row(size_class=10, bytes=100_000, **gatherv)]
    other = [
        a_row(size_class=8, bytes=10_000, calls=50, **gatherv),
        a_row(size_class=9, bytes=20_000, calls=50, **gatherv),
    ]
    script = script_of(tmp_path, root, other)
    (piece,) = script.pieces
    assert piece.operation == "gatherv"
    assert piece.blocks == (300, 300), "the root's is not told: as the others'"
    assert piece.calls == 100


def test_what_cannot_be_played_is_named_with_its_number(tmp_path: Path) -> None:
    rows = [
        a_row(operation="MPI_Neighbor_alltoall", calls=7),  # several graphs
        a_row(operation="MPI_Neighbor_allgather", calls=3, **{"from": [1], "to": []}),  # to nobody who knows of it
        a_row(members="", operation="MPI_Bcast", calls=5),
    ]
    script = script_of(tmp_path, rows, rows)
    assert not script.pieces
    assert script.left_out == {"MPI_Neighbor_alltoall": 7, "MPI_Neighbor_allgather": 3, "MPI_Bcast": 5}


def test_what_was_never_started_is_not_played(tmp_path: Path) -> None:
    never = a_row(operation="MPI_Bcast", form="persistent", calls=0, bytes=0, seconds=0.0)
    script = script_of(tmp_path, *[[a_row(), never]] * 2)
    assert [piece.operation for piece in script.pieces] == ["allreduce"]
    assert not script.left_out
    assert script_of(tmp_path, [never], [{**never, "calls": 2}]).left_out == {"MPI_Bcast_init": 2}


def test_neighbours_are_the_programs(tmp_path: Path) -> None:
    facts = {"operation": "MPI_Neighbor_alltoall", "counts": True, "calls": 10, "waiting": 0.0, "gap": 0.0}
    script = script_of(
        tmp_path,
        [a_row(bytes=800, **facts, **{"from": [1, 1], "to": [1]})],
        [a_row(bytes=400, size_class=3, **facts, **{"from": [0], "to": [0, 0]})],
    )
    (piece,) = script.pieces
    assert piece.operation == "neighbor_alltoallv"
    assert piece.blocks == (80, 20), "a rank's bytes are those of all its blocks"
    assert piece.neighbors == (((1, 1), (1,)), ((0,), (0, 0)))
    assert "\n0 80 0.000 2 1 1 1 1\n1 20 0.000 1 0 2 0 0\n" in script.write()


def test_the_script_is_written_as_the_worker_reads_it(tmp_path: Path) -> None:
    script = script_of(tmp_path, *both(calls=1, form="nonblocking", waiting=0.0, between=0.0001, gap=0.0002))
    assert script.write() == (
        "replay 2 2 1 1\npiece allreduce nonblocking 2 0 200.000 100.000\n0 800 0.000 0 0\n1 800 0.000 0 0\n0 0 0\n"
    )


@pytest.fixture
def replay_under(tmp_path: Path, command: Command, only_mpis, libraries: Path, core):
    """Replays a profile that says this of its MPI, where there are these MPIs, the first of them the default one; their
    launchers only tell what the worker would."""

    def replay(recorded: str | None, mpis: dict[str, str], *options: str) -> tuple[str, dict[str, Any]]:
        for abi in Abi:
            (libraries / f"espalier_replay_{abi}").touch()
        for name, text in mpis.items():
            make_mpi(tmp_path / name, text, "libmpi.so.40" if text.startswith("Open MPI") else "libmpi.so.12")
            lines = "".join(f"echo '{json.dumps(line)}'\n" for line in said((30.0, 10.0)))
            (tmp_path / name / "bin" / "mpiexec").write_text(f"#!/bin/sh\n{lines}")
        only_mpis(*(tmp_path / name for name in mpis))
        path = write(tmp_path / "p.json", *both())
        if recorded is not None:
            path.write_text(json.dumps({**json.loads(path.read_text()), "mpi": recorded}))
        told = command("replay", *options, str(path))
        assert told.code == 0, told.err
        return told.out.splitlines()[0], json.loads(command("replay", *options, "--json", str(path)).out)

    return replay


HERE = {
    "mpich": MPI_TEXT["mpich"],
    "openmpi": MPI_TEXT["openmpi"].replace("5.0.11", "4.1.4"),
    "later": MPI_TEXT["openmpi"],
}


def test_a_profile_is_played_under_the_mpi_that_it_was_recorded_under(replay_under) -> None:
    heading, result = replay_under("Open MPI v5.0.11", HERE)
    assert heading == "2 ranks under openmpi 5.0.11, as recorded"
    assert (result["mpi"], result["recorded_mpi"]) == ("openmpi 5.0.11", "Open MPI v5.0.11")


@pytest.mark.parametrize(
    ("recorded", "heading"),
    [
        ("Open MPI v5.0.1", "under openmpi 5.0.11, but recorded under openmpi 5.0.1: times are not that one's"),
        ("Intel(R) MPI Library 2021.18.1 for Linux* OS", "under mpich 5.0.2, but recorded under intel 2021.18.1"),
        ("Something new", "under mpich 5.0.2, but recorded under Something new"),
        (None, "under mpich 5.0.2; the profile does not say which MPI"),
    ],
    ids=["another version", "another family", "an unknown one", "an older profile"],
)
def test_where_that_mpi_is_not_here_the_heading_says_so(replay_under, recorded: str | None, heading: str) -> None:
    assert heading in replay_under(recorded, HERE)[0]


def test_who_names_an_mpi_gets_it_and_is_told_that_it_is_another(replay_under) -> None:
    heading, result = replay_under("Open MPI v5.0.11", HERE, "--mpi", "mpich")
    assert heading == "2 ranks under mpich 5.0.2, but recorded under openmpi 5.0.11: times are not that one's"
    assert result["mpi"] == "mpich 5.0.2"


def said(*rounds: tuple[float, float]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"round": number, "native_us": 1e6, "native": [native], "espalier_us": 5e5, "espalier": [own]}
        for number, (native, own) in enumerate(rounds)
    ]
    return [*lines, {"machines": 1, "cores": 2, "choices": ["tiny"]}]


def test_the_whole_is_all_calls_of_the_program_at_the_time_of_one(tmp_path: Path) -> None:
    times = said((30.0, 10.0), (20.0, 10.0), (40.0, 10.0), (40.0, 10.0), (30.0, 10.0))
    result = condense(script_of(tmp_path, *both()), MPICH, times)
    assert result.collectives.first == pytest.approx((0.003, 0.002, 0.004, 0.004, 0.003))
    assert result.collectives.ratio == pytest.approx(3.0)
    assert result.rows[0].rounds.range == (2.0, 4.0)
    assert result.played.ratio == 2.0
    assert (
        "the calls take 1 s natively and 0.5 s with Espalier (native ÷ Espalier 2.00, 2.00 to 2.00)" in result.verdict
    )
    assert "0.003 s natively and 0.001 s with Espalier (native ÷ Espalier 3.00, 2.00 to 4.00)" in result.verdict


def test_rounds_that_disagree_are_no_difference(tmp_path: Path) -> None:
    result = condense(script_of(tmp_path, *both()), MPICH, said(*[(30.0, 10.0), (10.0, 20.0)] * 3))
    assert "(no difference beyond noise, native ÷ Espalier 1.75, 0.50 to 3.00)" in result.verdict


def test_few_rounds_decide_nothing(tmp_path: Path) -> None:
    result = condense(script_of(tmp_path, *both()), MPICH, said(*[(30.0, 10.0)] * 3))
    assert "(3 rounds are too few to decide (from 5 on), native ÷ Espalier 3.00, 3.00 to 3.00)" in result.verdict
    assert not result.as_json()["collective_seconds"]["decided"]


def test_a_worker_that_ends_too_early_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="printed no result"):
        condense(script_of(tmp_path, *both()), MPICH, said((30.0, 10.0))[:-1])


@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid's SMPI is not installed")
def test_on_a_simulated_cluster_what_early_ranks_have_done_before_the_last_one_comes_is_no_time(
    command: Command, tmp_path: Path
) -> None:
    usual = {"members": "0-3", "operation": "MPI_Bcast", "bytes": 100 * 65536, "size_class": 17, "roots": {"0": 100}}
    path = tmp_path / "p.json"

    def time(root_waits: float, others_wait: float, last: str) -> dict[str, float]:
        root, other = ([a_row(**usual, waiting=100 * it, waited_for={last: it})] for it in (root_waits, others_wait))
        write(path, root, other, other, other)
        options = ("--platform", "star:hosts=4", "--ppn", "1", "--json", str(path))
        (row,) = json.loads(command("replay", *options).out)["rows"]
        assert set(row["us"]) == {"espalier", "mpich"}
        return row["us"]

    together, late_root, late_leaf = time(0, 0, "0"), time(0, 0.0005, "0"), time(0.0005, 0.0005, "3")
    for arm in ("espalier", "mpich"):
        assert late_root[arm] == pytest.approx(together[arm], rel=0.1), "nothing moves before the root comes"
        assert late_leaf[arm] < 0.7 * together[arm], "the message is half way already"


def test_what_was_simulated_is_told_and_not_the_recorded_shape(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "execute", lambda job, arm, cases: [Timing(it, 5.0, 0, "tiny") for it in cases])
    row = a_row(communicator="3 ranks on 1 node")
    pair = a_row(communicator="2 ranks on 1 node", operation="MPI_Bcast", members="0-1")
    path = str(write(tmp_path / "p.json", [row, pair], [row, pair], [row]))
    heading, *lines = command("replay", path, "--platform", "star:hosts=4", "--ppn", "1").out.splitlines()
    assert heading == (
        "3 ranks on 3 nodes of star:hosts=4, 1 on each, simulated; against mpich, as SimGrid knows their algorithms"
    )
    assert any("3 ranks on 3 nodes" in line for line in lines)
    assert any("2 ranks on 2 nodes" in line for line in lines)
    assert not any("on 1 node" in line for line in lines)
    uneven = command("replay", path, "--platform", "star:hosts=4", "--ppn", "2", "--against", "ompi,impi").out
    assert uneven.startswith("3 ranks on 2 nodes of star:hosts=4, 1 to 2 on each, simulated; against ompi, impi")
    found = json.loads(command("replay", path, "--platform", "star:hosts=4", "--ppn", "2", "--json").out)
    assert (found["nodes"], {it["communicator"] for it in found["rows"]}) == (
        2,
        {"3 ranks on 2 nodes", "2 ranks on 1 node"},
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--platform", "star:hosts=4", "--against", "nobody"], "--against nobody: SimGrid has no such MPI"),
        ([], "nothing that was recorded can be played"),
    ],
)
def test_mistakes_are_explained(command: Command, tmp_path: Path, options: list[str], message: str) -> None:
    rows = [a_row(operation="MPI_Neighbor_alltoall")]
    outcome = command("replay", *options, str(write(tmp_path / "p.json", rows, rows)))
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (["--against", "foo"], "--against without --platform", "give --platform, or leave it out"),
        (["--against", "mpich"], "--against without --platform", "give --platform"),
        (["--ppn", "2"], "--ppn without --platform", "give --platform"),
        *(
            (
                ["--platform", "star:hosts=4", *words],
                f"{words[0]} with --platform star:hosts=4",
                f"leave out {words[0]}",
            )
            for words in (
                ["--rounds", "3"],
                ["--calls", "7"],
                ["--no-compute"],
                ["--mpi", "mpich"],
                ["--virtual-nodes", "2"],
                ["--set", "VERBOSE=1"],
                ["--timeout", "5"],
            )
        ),
    ],
)
def test_options_that_would_change_nothing_are_refused(
    command: Command, tmp_path: Path, options: list[str], message: str, remedy: str
) -> None:
    outcome = command("replay", *options, str(write(tmp_path / "p.json", *both())))
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert remedy in outcome.err


def test_communicators_of_one_shape_are_told_apart_by_their_ranks(tmp_path: Path) -> None:
    low, high = (a_row(communicator="2 ranks on 1 node", members=members) for members in ("0-1", "2-3"))
    world = a_row(communicator="4 ranks on 1 node")
    script = script_of(tmp_path, [low, world], [low, world], [high, world], [high, world])
    names = {script.name_communicator(piece) for piece in script.pieces}
    assert names == {"2 ranks on 1 node (0-1)", "2 ranks on 1 node (2-3)", "4 ranks on 1 node"}


def test_a_script_of_the_same_profile_is_the_same(tmp_path: Path) -> None:
    one = script_of(tmp_path, *both())
    assert replace(one) == script_of(tmp_path, *both())
