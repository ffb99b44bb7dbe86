"""Nonblocking and persistent collectives: all that conformance proves of the blocking ones, and what only they can get
wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from cases import PARTS, Case, in_parts_by_day
from espalier.measure.paired import OPERATIONS as BENCHED
from espalier.measure.paired import parse_sample
from launch import Outcome, TestMpi
from stats import NEIGHBORHOOD, OPERATIONS, assert_handled, read_stats
from test_conformance import INCURABLE, assert_passed

GetMpi = Callable[[str], TestMpi]

THEMES = (
    *("sizes", "datatypes", "bottom", "communicators", "barriers", "mixing", "nonblocking", "skew", "movements"),
    *("pieces", "neighbors", "reductions", "operators", "errors"),
)

CASES = (
    *in_parts_by_day(
        (
            *(Case("mpich-5", ranks, nodes) for ranks, nodes in ((3, None), (4, "3,1"), (3, "cyclic:2"))),
            *(Case("openmpi-5", ranks, nodes) for ranks, nodes in ((3, None), (4, "2"))),
            *(Case("intel", ranks, nodes) for ranks, nodes in ((3, None), (4, "cyclic:2"))),
            *(Case("mpich-4", 2, None), Case("openmpi-4", 3, "2"), Case("mpich-5-abi", 3, None)),
        )
    ),
    *(
        pytest.param(case, marks=pytest.mark.long)
        for case in (Case("mpich-5", 8, None), Case("mpich-5", 5, "cyclic:2"), Case("openmpi-5", 5, None))
    ),
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nonblocking_calls_move_the_right_bytes(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(case.mpi), tmp_path / "stats.json"
    settings = {**case.settings, "ESPALIER_STATS": str(file)}
    themes = [theme for theme in THEMES if theme not in INCURABLE.get(mpi.name, set())]
    outcome = mpi.run(
        [mpi.program("conformance_nonblocking"), *case.words, *themes], case.ranks, settings=settings, timeout=120
    )
    assert_passed(outcome)
    if themes == list(THEMES):
        assert_handled(read_stats(file), 0.8, (*OPERATIONS, *NEIGHBORHOOD))


@pytest.mark.parametrize("case", [Case("mpich-5", 3, None), Case("openmpi-5", 4, "2")], ids=str)
def test_threads_may_begin_calls_on_different_communicators_at_once(case: Case, get_mpi: GetMpi) -> None:
    mpi = get_mpi(case.mpi)
    assert_passed(mpi.run([mpi.program("conformance_nonblocking"), "threads"], case.ranks, settings=case.settings))


# MPICH's own persistent reductions, which those that we leave to it are, corrupt memory.
PERSISTENT_INCURABLE = {name: {"operators"} for name in ("mpich-5", "mpich-5-abi", "intel")}

# Their plans are those of calls that are started once, which every MPI goes through on one node. So by day each job has
# a part of what themes go through, on one node as well.
OFTEN = (
    *(Case("mpich-5", 3, None, 0), Case("mpich-5", 4, "3,1", 1)),
    *(Case("openmpi-5", 3, None, 2), Case("openmpi-5", 4, "2", 0)),
    *(Case("intel", 3, None, 1), Case("mpich-5-abi", 3, "2", 2)),
)
PERSISTENT = (
    *OFTEN,
    *(pytest.param(replace(case, part=None), marks=pytest.mark.long) for case in OFTEN),
    pytest.param(Case("openmpi-5", 5, None), marks=pytest.mark.long),
)


@pytest.mark.parametrize("case", PERSISTENT, ids=str)
def test_persistent_calls_move_the_right_bytes(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(case.mpi), tmp_path / "stats.json"
    settings = {**case.settings, "ESPALIER_STATS": str(file)}
    themes = [theme for theme in THEMES if theme not in PERSISTENT_INCURABLE.get(mpi.name, set())]
    outcome = mpi.run(
        [mpi.program("conformance_persistent"), *case.words, *themes], case.ranks, settings=settings, timeout=120
    )
    assert_passed(outcome)
    assert_handled(read_stats(file), 0.8, (*OPERATIONS, *NEIGHBORHOOD))


PENDING = (
    *(Case("mpich-5", ranks, nodes) for ranks, nodes in ((2, None), (4, None), (3, "2"), (4, "cyclic:2"))),
    *(Case("openmpi-5", ranks, nodes) for ranks, nodes in ((2, None), (4, "2,1,1"))),
    *(Case("intel", 3, "2"), Case("openmpi-4", 3, None), Case("mpich-4", 2, "2"), Case("mpich-5-abi", 3, "2")),
)


@pytest.mark.parametrize("case", PENDING, ids=str)
def test_pending_calls_hold_nobody_up(case: Case, get_mpi: GetMpi) -> None:
    mpi = get_mpi(case.mpi)
    outcome = mpi.run([mpi.program("pending")], case.ranks, settings=case.settings, timeout=60)
    assert (outcome.code, outcome.out.strip()) == (0, "pending: right"), str(outcome)


STARTED = (
    *(Case("mpich-5", ranks, nodes) for ranks, nodes in ((2, None), (4, "3,1"))),
    *(Case("intel", 4, "2"), Case("openmpi-5", 5, "2"), Case("mpich-5-abi", 3, None)),
)


@pytest.mark.parametrize("case", STARTED, ids=str)
def test_persistent_calls_are_started_in_any_order_again_and_again(case: Case, get_mpi: GetMpi) -> None:
    mpi = get_mpi(case.mpi)
    outcome = mpi.run([mpi.program("persistent")], case.ranks, settings=case.settings, timeout=60)
    assert (outcome.code, outcome.out.strip()) == (0, "persistent: right"), str(outcome)


@pytest.mark.parametrize("case", [Case("mpich-5", 3, None), Case("intel", 4, "2")], ids=str)
def test_the_first_calls_of_a_communicator_are_native_and_then_calls_that_do_not_wait_set_it_up(
    case: Case, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi(case.mpi), tmp_path / "stats.json"
    settings = {**case.settings, "ESPALIER_SETUP_CALLS": "3", "ESPALIER_STATS": str(file)}
    program = mpi.program("conformance_nonblocking")
    assert_passed(mpi.run([program, "communicators"], case.ranks, settings=settings, timeout=60))
    counts = read_stats(file)["MPI_Bcast"]
    assert counts.handled > 0
    assert any("first calls" in reason for reason in counts.reasons), str(counts)


def test_nonblocking_calls_are_native_where_another_library_stands_in_front_of_what_completes_them(
    get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, file = get_mpi("mpich-5"), tmp_path / "stats.json"
    source, tool = tmp_path / "tool.c", tmp_path / "tool.so"
    source.write_text("int PMPI_Wait(void*, void*);\nint MPI_Wait(void* a, void* b) { return PMPI_Wait(a, b); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tool), str(source)], check=True)
    preload = f"LD_PRELOAD={tool}:{mpi.espalier}:{mpi.mpi.library}"
    command = ["env", preload, mpi.program("pending"), "many"]
    outcome = mpi.run(command, 2, native=True, bare=True, settings={"ESPALIER_STATS": str(file)}, timeout=60)
    assert (outcome.code, outcome.out.strip()) == (0, "pending: right"), str(outcome)
    counts = read_stats(file)["MPI_Scan"]
    assert counts.handled == 0
    assert "MPI_Wait" in next(iter(counts.reasons))


ASIDE = (
    *((Case(mpi, 2, None), means) for mpi in ("mpich-5", "openmpi-5", "intel") for means in ("memory", "thread")),
    *((Case("openmpi-5", 3, None), "memory"), (Case("mpich-5", 4, "2"), "thread")),
    (Case("mpich-5-abi", 3, "2,1"), "thread"),
)


def assert_nobody_waited(outcome: Outcome, *forms: str) -> None:
    assert outcome.code == 0, str(outcome)
    said = [f"{operation} {form}: free" for form in forms for operation in ("ialltoall", "iallreduce", "ibcast")]
    assert outcome.out.splitlines() == said, str(outcome)


@pytest.mark.parametrize(("case", "means"), ASIDE, ids=str)
def test_nobody_waits_for_a_rank_that_computes_where_a_thread_makes_progress(
    case: Case, means: str, get_mpi: GetMpi
) -> None:
    mpi = get_mpi(case.mpi)
    settings = {**case.settings, "ESPALIER_PROGRESS": means}
    assert_nobody_waited(mpi.run([mpi.program("aside")], case.ranks, settings=settings), "started", "persistent")


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
def test_nor_where_its_call_is_behind_a_short_one(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("aside"), "behind"], 3, settings={"ESPALIER_PROGRESS": "memory"})
    assert_nobody_waited(outcome, "started")


def threaded() -> Iterator[object]:
    """Each MPI with each form and each thread, by parts of what themes go through; the rest is for the night."""
    places = (
        *((Case("mpich-5", 4, None), means) for means in ("memory", "thread")),
        *((Case("openmpi-5", 4, None), "memory"), (Case("openmpi-5", 4, "2"), "thread")),
    )
    for number, (case, means) in enumerate(places):
        for form in ("nonblocking", "persistent"):
            if (form == "nonblocking") == (number in (0, 3)):
                yield pytest.param(replace(case, part=number % PARTS), means, form)
            yield pytest.param(case, means, form, marks=pytest.mark.long)


@pytest.mark.parametrize(("case", "means", "form"), list(threaded()), ids=str)
def test_bytes_are_right_where_a_thread_makes_progress(case: Case, means: str, form: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(case.mpi)
    settings = {**case.settings, "ESPALIER_PROGRESS": means}
    themes = ("sizes", "datatypes", "communicators", "mixing", "nonblocking", "skew", "movements", "neighbors")
    command = [mpi.program(f"conformance_{form}"), *case.words, *themes]
    assert_passed(mpi.run(command, case.ranks, settings=settings, timeout=120))


# Intel MPI's own persistent collectives end the job (MPIDU_Sched_progress_state: Invalid communicator), as without us.
@pytest.mark.parametrize(
    ("name", "form"),
    [*product(("mpich-5", "openmpi-5"), ("nonblocking", "persistent")), ("intel", "nonblocking")],
)
def test_the_benchmark_measures_each_form_of_each_operation_and_its_overlap(
    name: str, form: str, get_mpi: GetMpi
) -> None:
    mpi = get_mpi(name)
    worker = str(Path(mpi.program("aside")).parents[2] / "bench" / f"espalier_bench_{mpi.abi}")
    wanted = ("--ops", "all", "--sizes", "64,65536", "--rounds", "1", "--budget-ms", "4", "--form", form, "--overlap")
    outcome = mpi.run([worker, *wanted], 3, timeout=120)
    assert outcome.code == 0, str(outcome)
    samples = [sample for line in outcome.out.splitlines() if (sample := parse_sample(line)) is not None]
    assert len(samples) == 2 * len(BENCHED) - 1  # a barrier has no size
    assert all(sample.overlap is not None and 0 <= sample.overlap.espalier_percent <= 100 for sample in samples)
