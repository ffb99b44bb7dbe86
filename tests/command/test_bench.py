"""espalier bench: reading the worker, condensing rounds, comparing MPIs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.base.errors import UserError
from espalier.measure.paired import NEIGHBORS, OPERATIONS, Overlap, Sample, best_peer, condense, parse_sample
from workshop import MPI_TEXT, Command, make_mpi

CHECKOUT = Path(__file__).resolve().parents[2]


def a_sample(
    op: str = "bcast", size: int = 4, number: int = 0, native: float = 2.0, own: float = 1.0, line_ns: float = 0
) -> Sample:
    return Sample(op, size, number, 2, 1, native, own, 1.0, "tiny", line_ns)


def as_line(sample: Sample) -> str:
    return json.dumps(vars(sample))


@pytest.fixture
def worker(tmp_path: Path, only_mpis, libraries):
    """An MPI whose launcher prints these lines in place of running the benchmark's worker."""

    def prepare(family: str, lines: list[str], code: int = 0) -> None:
        soname = "libmpi.so.40" if family == "openmpi" else "libmpi.so.12"
        make_mpi(tmp_path / family, MPI_TEXT[family], soname)
        (tmp_path / family / "lines").write_text("".join(f"{line}\n" for line in lines))
        launcher = tmp_path / family / "bin" / "mpiexec"
        launcher.write_text(
            f'#!/bin/sh\ncat {tmp_path}/{family}/lines\necho "$@" > {tmp_path}/{family}/called\nexit {code}\n'
        )
        only_mpis(*(tmp_path / name for name in MPI_TEXT if (tmp_path / name).exists()))

    return prepare


def test_a_line_of_the_worker_is_read_and_chatter_is_passed_over() -> None:
    assert parse_sample(as_line(a_sample())) == a_sample()
    assert parse_sample("[mpiexec] some remark") is None


@pytest.mark.parametrize("line", ['{"op": "bcast"}', "{broken", '{"op": "bcast", "bytes": "many"}'])
def test_a_broken_line_is_an_error_that_shows_it(line: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_sample(line)
    assert line in caught.value.message


def test_rounds_at_different_distances_of_the_ranks_are_not_mixed() -> None:
    trips = {0: 100, 1: 520, 2: 110, 3: 540}
    samples = [a_sample(number=n, native=trip / 50, own=1, line_ns=trip) for n, trip in trips.items()]
    near, far = condense([*samples, a_sample(op="scan", line_ns=105)], "mpich 5.0.2")[:2]
    assert (near.op, near.line_ns, near.ratio_median) == ("bcast", 105, pytest.approx(2.1))
    assert (far.op, far.line_ns, far.ratio_median) == ("bcast", 530, pytest.approx(10.6))


def test_natives_are_compared_at_one_distance_only() -> None:
    one, near, far = (
        condense([a_sample(native=native, line_ns=trip)], mpi)[0]
        for mpi, native, trip in (("mpich 5", 4.0, 500), ("openmpi 5", 1.0, 100), ("openmpi 5", 3.0, 510))
    )
    assert best_peer(one, [one, near, far], 2)["best_peer_p50_us"] == 3.0


def test_the_ratio_is_taken_within_each_round() -> None:
    # Both arms were ten times slower in the second round: the ratio does not notice.
    samples = [a_sample(number=0), a_sample(number=1, native=20, own=10), a_sample(number=2, native=3, own=1)]
    (row,) = condense(samples, "mpich 5.0.2")
    assert (row.ratio_median, row.ratio_min, row.ratio_max) == (2.0, 2.0, 3.0)
    assert (row.native_p50_us, row.espalier_p50_us) == (3.0, 1.0)


@given(st.lists(st.tuples(st.floats(0.01, 1e6), st.floats(0.01, 1e6)), min_size=1, max_size=9))
def test_the_median_lies_within_the_range(times: list[tuple[float, float]]) -> None:
    samples = [a_sample(number=index, native=native, own=own) for index, (native, own) in enumerate(times)]
    (row,) = condense(samples, "mpich")
    assert row.ratio_min <= row.ratio_median <= row.ratio_max


def test_rows_keep_the_order_of_the_worker() -> None:
    samples = [a_sample("bcast", 64), a_sample("bcast", 4), a_sample("barrier", 0), a_sample("bcast", 64, 1)]
    assert [(row.op, row.bytes) for row in condense(samples, "mpich")] == [("bcast", 64), ("bcast", 4), ("barrier", 0)]


def test_bench_prints_rows_with_every_promised_field(command: Command, worker, tmp_path: Path) -> None:
    worker("mpich", ["chatter", as_line(a_sample())])
    outcome = command("bench", "--ops", "bcast", "-n", "2", "--sizes", "4,1K", "--rounds", "3", "--cold", "--json")
    assert outcome.code == 0
    (row,) = json.loads(outcome.out)["rows"]
    promised = "op bytes ranks nodes mpi native_p50_us espalier_p50_us ratio_median ratio_min ratio_max choice"
    assert set(row) == {*promised.split(), "control_min", "control_max", "line_ns", "others", "disturbed", "overlap"}
    called = (tmp_path / "mpich" / "called").read_text()
    assert "--ops bcast --sizes 4,1024 --rounds 3 --type double --form blocking --cold" in called
    assert "libmpi.so.12" in called


def test_bench_prints_a_table_for_people(command: Command, worker) -> None:
    worker("mpich", [as_line(a_sample())])
    out = command("bench").out
    assert "mpich 5.0.2, 2 ranks on 1 node" in out
    assert "2.00×" in out


def test_overlap_is_shown_beside_the_times_and_in_json(command: Command, worker, tmp_path: Path) -> None:
    overlaps = (Overlap(10.0, 80.0, 5.0, 3.0), Overlap(30.0, 90.0, 7.0, 4.0), Overlap(20.0, 100.0, 6.0, 2.0))
    samples = (vars(a_sample(number=number)) | {"overlap": vars(it)} for number, it in enumerate(overlaps))
    lines = [json.dumps(sample) for sample in samples]
    worker("mpich", lines)
    arguments = ("bench", "--ops", "bcast", "--form", "persistent", "--overlap", "--test-us", "20")
    outcome = command(*arguments)
    assert re.search(r"6\.00 +3\.00 +20 % +90 %", outcome.out), outcome.out
    assert "persistent call, start and wait" in outcome.out
    assert "--form persistent --overlap --test-us 20.0" in (tmp_path / "mpich" / "called").read_text()
    row = json.loads(command(*arguments, "--json").out)["rows"][0]
    assert row["overlap"] == vars(Overlap(20.0, 90.0, 6.0, 3.0))


def test_bench_says_when_other_programs_were_busy(command: Command, worker) -> None:
    rounds = [replace(a_sample(number=it), others=0.5, disturbed=it > 0) for it in range(3)]
    worker("mpich", [as_line(it) for it in [*rounds, a_sample(size=64)]])
    said = command("bench").err
    assert "other programs kept up to 0.50 processors busy while 1 of 2 rows were measured" in " ".join(said.split())


def test_bench_says_nothing_of_other_programs_that_hardly_run(command: Command, worker) -> None:
    worker("mpich", [as_line(replace(a_sample(number=it), others=0.05, disturbed=it == 0)) for it in range(3)])
    assert "other programs" not in command("bench").err


def test_against_several_mpis_the_best_native_is_the_bar(command: Command, worker) -> None:
    worker("mpich", [as_line(a_sample(native=2.0, own=1.0))])
    worker("openmpi", [as_line(a_sample(native=1.5, own=1.0))])
    rows = json.loads(command("bench", "--against", "mpich,openmpi", "--json").out)["rows"]
    assert [row["best_peer"] for row in rows] == ["openmpi 5.0.11"] * 2
    assert [row["ratio_best_peer"] for row in rows] == [1.5, 1.5]
    assert "best native" in command("bench", "--against", "mpich,openmpi").out


@pytest.mark.parametrize(
    ("wanted", "passed"),
    [
        ("all", ",".join(OPERATIONS)),
        ("Broadcast, MPI_Alltoallv,reduce_scatter_block", "bcast,alltoallv,reduce_scatter_block"),
        ("neighbors,barrier,neighbor_alltoall", ",".join((*NEIGHBORS, "barrier"))),
    ],
)
def test_operations_are_named_as_people_name_them(
    command: Command, worker, tmp_path: Path, wanted: str, passed: str
) -> None:
    worker("mpich", [as_line(a_sample())])
    assert command("bench", "--ops", wanted, "--type", "int").code == 0
    called = (tmp_path / "mpich" / "called").read_text()
    assert f"--ops {passed} --sizes" in called
    assert "--type int" in called


def test_the_worker_has_every_operation_that_the_command_names() -> None:
    table = (CHECKOUT / "bench" / "common" / "operations.c").read_text()
    entries = re.findall(r"^ *(?:ENTRY\(|\{\")(\w+)[,\"]", table, re.MULTILINE)
    assert entries == [*OPERATIONS, *NEIGHBORS]


@pytest.mark.parametrize("graph", ["grid", "stencil", "random:8"])
def test_neighbours_go_along_a_graph(command: Command, worker, tmp_path: Path, graph: str) -> None:
    worker("mpich", [as_line(replace(a_sample(), op="neighbor_alltoall"))])
    outcome = command("bench", "--ops", "neighbor_alltoall", "--graph", graph)
    assert f"neighbours: {graph}" in outcome.out
    assert f"--graph {graph}" in (tmp_path / "mpich" / "called").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ops", "scatters"], "'scatters' is no operation"),
        (["--ops", "all,scatter"], "'all' is no operation"),
        (["--type", "quad"], "'quad' is no type"),
        (["--ops", ","], "names no operation"),
        (["--sizes", "4,big"], "'big' is no number of bytes"),
        (["--mpi", "mpich", "--against", "mpich"], "exclude each other"),
        (["--form", "lazy"], "'lazy' is no form of calls"),
        (["--graph", "random:0"], "'random:0' is no graph"),
        (["--overlap"], "add --form nonblocking"),
        (["--form", "nonblocking", "--test-us", "5"], "add --overlap"),
    ],
)
def test_bench_refuses_what_it_does_not_know(command: Command, worker, arguments: list[str], message: str) -> None:
    worker("mpich", [])
    outcome = command("bench", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_a_failed_or_silent_worker_is_an_error(command: Command, worker) -> None:
    worker("mpich", [])
    assert "printed no result" in command("bench").err
    worker("mpich", [as_line(a_sample())], code=3)
    outcome = command("bench")
    assert outcome.code == 2
    assert "exit code 3" in outcome.err
