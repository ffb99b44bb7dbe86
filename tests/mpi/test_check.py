"""ESPALIER_CHECK=1: ranks whose calls do not fit together are named, in place of a hang or wrong data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from launch import Outcome, TestMpi
from pairs import in_pairs

GetMpi = Callable[[str], TestMpi]
RANKS = 4
MPIS = ("mpich-5", "openmpi-5", "intel")
NODES = [None, "3,1"]


FORMS = ("nonblocking", "persistent")
# Of what misfit.c does wrong, in its order; {Bcast} is MPI_Ibcast, or MPI_Bcast_init.
SAID_OF_EACH = (
    "rank 0 calls {Bcast} of 16 bytes of type MPI_INT, root 0, and rank 2 MPI_Bcast of 16 bytes of type MPI_INT",
    "of 16 bytes of type MPI_INT, root 0, and rank 2 {Bcast} of 16 bytes of type MPI_INT, root 1",
    "root 0, and rank 2 {Bcast} of 20 bytes of type MPI_INT, root 0",
    "rank 0 calls {Bcast} of 16 bytes of type MPI_INT, root 0, and rank 2 {Barrier}",
    "by MPI_SUM, and rank 2 {Allreduce} of 8 bytes of type MPI_INT by MPI_MAX",
    "and rank 2 {Bcast} of 16 bytes of type MPI_FLOAT, root 0",
    "rank 2 sends 16 bytes to rank 0, which expects 12, in {Gatherv}",
    "and rank 2 {Gatherv} of type MPI_FLOAT, root 0",
    "rank 0 sends 12 bytes to rank 2, which expects 16, in {Scatterv}",
    "rank 2 sends 16 bytes to rank 0, which expects 12, in {Allgatherv}",
    "rank 0 sends 4 bytes to rank 2, which expects 8, in {Alltoallv}",
    "rank 0 sends 4 bytes to rank 2, which expects 8, in {Alltoallw}",
    "rank 2 sends 8 bytes to rank 0, which expects 4, in {Reduce_scatter}",
    "rank 2 sends 12 bytes to rank 1, which expects 8, in {Neighbor_allgather}",
    "rank 2 sends 12 bytes to rank 1, which expects 8, in {Neighbor_alltoall}",
    "rank 2 sends 12 bytes to rank 1, which expects 8, in {Neighbor_alltoallv}",
    "rank 2 has an edge to rank 0, which has none from it, in {Neighbor_alltoall}",
)


# How MPI calls each of these errors.
CLASSES_OF_EACH = ("other", "root", "count", "other", "op", "type", "truncate", "type", *["truncate"] * 9)


def name_calls(said: str, form: str) -> str:
    """As that form of the calls is named."""
    by_form = {"nonblocking": lambda call: f"MPI_I{call.lower()}", "persistent": lambda call: f"MPI_{call}_init"}
    return re.sub(r"{(\w+)}", lambda match: by_form[form](match[1]), said)


def run_misfit(mpi: TestMpi, how: str, *words: str, nodes: str | None = None, **more: str) -> Outcome:
    return mpi.run([mpi.program("misfit"), how, "2", *words], RANKS, settings=settings(nodes, **more), timeout=60)


def settings(nodes: str | None = None, **more: str) -> dict[str, str]:
    return {"ESPALIER_CHECK": "1", **({"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}), **more}


@in_pairs(
    ("nodes", NODES),
    ("name", MPIS),
    (
        "how,said",
        [
            ("barrier", "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Barrier"),
            ("root", "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Bcast of 64 bytes, root 1"),
            ("size", "rank 0 calls MPI_Bcast of 64 bytes, root 0, and rank 2 MPI_Bcast of 32 bytes, root 0"),
            (
                "type",
                "rank 0 calls MPI_Allreduce of 4 bytes of type MPI_INT by MPI_SUM, and rank 2 MPI_Allreduce of 4 bytes "
                "of type MPI_FLOAT by MPI_SUM",
            ),
        ],
    ),
)
def test_a_call_that_does_not_fit_ends_the_job_with_both_ranks_named(
    get_mpi: GetMpi, name: str, nodes: str | None, how: str, said: str
) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("standstill"), how, "2"], RANKS, settings=settings(nodes), timeout=60)
    assert outcome.code != 0
    assert outcome.err.count(f"ESPALIER_CHECK: {said}") == 1, str(outcome)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("gatherv", "rank 2 sends 16 bytes to rank 0, which expects 12, in MPI_Gatherv"),
        ("scatterv", "rank 0 sends 12 bytes to rank 2, which expects 16, in MPI_Scatterv"),
        ("allgatherv", "rank 2 sends 16 bytes to rank 0, which expects 12, in MPI_Allgatherv"),
        ("alltoallv", "rank 0 sends 4 bytes to rank 2, which expects 8, in MPI_Alltoallv"),
        ("alltoallw", "rank 0 sends 4 bytes to rank 2, which expects 8, in MPI_Alltoallw"),
        ("reduce_scatter", "rank 2 sends 8 bytes to rank 0, which expects 4, in MPI_Reduce_scatter"),
        (
            "counted",
            "rank 0 calls MPI_Gatherv of type MPI_INT, root 0, and rank 2 MPI_Gatherv of type MPI_FLOAT, root 0",
        ),
        (
            "op",
            "rank 0 calls MPI_Allreduce of 8 bytes of type MPI_INT by MPI_SUM, and rank 2 MPI_Allreduce of 8 bytes of "
            "type MPI_INT by MPI_MAX",
        ),
        (
            "slice",
            "rank 0 calls MPI_Bcast of 16 bytes of type MPI_INT, root 0, and rank 2 MPI_Bcast of 16 bytes of type "
            "MPI_FLOAT, root 0",
        ),
    ],
)
def test_sizes_between_pairs_of_ranks_operations_and_what_types_are_made_of_have_to_fit(
    get_mpi: GetMpi, name: str, how: str, said: str
) -> None:
    outcome = run_misfit(get_mpi(name), how)
    assert outcome.code != 0, str(outcome)
    assert outcome.err.count(f"ESPALIER_CHECK: {said}") == 1, str(outcome)


@in_pairs(("nodes", NODES), ("form", FORMS), ("name", MPIS))
def test_calls_that_do_not_block_are_compared_before_they_move_anything(
    get_mpi: GetMpi, name: str, form: str, nodes: str | None
) -> None:
    outcome = run_misfit(get_mpi(name), "each", form, "kept", nodes=nodes)
    assert outcome.code == 0, str(outcome)
    assert outcome.out.splitlines() == [f"told 4 {it}" for it in CLASSES_OF_EACH] + ["through"], (
        "and no data have moved"
    )
    told = outcome.err.split("ESPALIER_CHECK: ")[1:]
    assert len(told) == len(SAID_OF_EACH), str(outcome)
    for said in SAID_OF_EACH:  # ranks' lines come in any order
        line = next((it for it in told if name_calls(said, form) in it), None)
        assert line is not None, f"{said} is not among {told}"
        told.remove(line)


@pytest.mark.parametrize("nodes", NODES)
@pytest.mark.parametrize("name", MPIS)
def test_no_data_have_moved_where_calls_that_block_do_not_fit(get_mpi: GetMpi, name: str, nodes: str | None) -> None:
    outcome = run_misfit(get_mpi(name), "each", "blocking", "kept", nodes=nodes)
    first, *others = outcome.out.splitlines()
    assert first.startswith("told 0 none"), "all of them block"
    assert others == [f"told 4 {it}" for it in CLASSES_OF_EACH[1:]] + ["through"], str(outcome)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MPIS)
def test_they_end_the_job_as_others_do(get_mpi: GetMpi, name: str, form: str) -> None:
    outcome = run_misfit(get_mpi(name), "op", form)
    assert outcome.code != 0
    assert outcome.err.count("ESPALIER_CHECK: ") == 1, str(outcome)


@pytest.mark.parametrize("name", MPIS)
@pytest.mark.parametrize("how", ["ring_allgather", "ring_alltoall", "ring_alltoallv"])
def test_what_neighbours_send_each_other_has_to_fit(get_mpi: GetMpi, name: str, how: str) -> None:
    outcome = run_misfit(get_mpi(name), how)
    assert outcome.code != 0
    kind = {"ring_allgather": "allgather", "ring_alltoall": "alltoall", "ring_alltoallv": "alltoallv"}[how]
    said = f"rank 2 sends 12 bytes to rank 1, which expects 8, in MPI_Neighbor_{kind} ("
    assert outcome.err.count(f"ESPALIER_CHECK: {said}") == 1, str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_edges_that_only_one_end_has_are_named(get_mpi: GetMpi, name: str) -> None:
    outcome = run_misfit(get_mpi(name), "graph")
    assert outcome.code != 0
    said = "rank 2 has an edge to rank 0, which has none from it, in MPI_Neighbor_alltoall: their graphs do not fit ("
    assert outcome.err.count(f"ESPALIER_CHECK: {said}") == 1, str(outcome)


@pytest.mark.parametrize("form", FORMS)
def test_they_are_compared_where_native_makes_them(get_mpi: GetMpi, form: str) -> None:
    outcome = run_misfit(get_mpi("mpich-5"), "root", form, "kept", ESPALIER_DISABLE="1")
    assert name_calls("ESPALIER_CHECK: rank 0 calls {Bcast} of", form) in outcome.err, str(outcome)
    assert (outcome.code, "told 4" in outcome.out) == (0, True), str(outcome)


@in_pairs(("nodes", NODES), ("form", ["blocking", *FORMS]), ("name", MPIS))
def test_data_that_are_the_same_may_be_told_by_types_that_are_not(
    get_mpi: GetMpi, name: str, form: str, nodes: str | None
) -> None:
    outcome = run_misfit(get_mpi(name), "fine", form, nodes=nodes)
    assert (outcome.code, "through" in outcome.out, "ESPALIER_CHECK" in outcome.err) == (0, True, False), str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_where_errors_are_returned_all_ranks_get_one_and_the_communicator_goes_on(get_mpi: GetMpi, name: str) -> None:
    mpi = get_mpi(name)
    for how in ("barrier", "root"):
        outcome = mpi.run([mpi.program("standstill"), how, "2", "kept"], RANKS, settings=settings(), timeout=60)
        assert (outcome.code, "told 4" in outcome.out) == (0, True), str(outcome)


def fitting() -> Iterator[object]:
    """Every MPI with every form; half of them on one node and half on two, and each form and each MPI with every third
    of what themes go through. The others, and all of it, for the night."""
    programs = ("conformance", "conformance_nonblocking", "conformance_persistent")
    for number, (name, program) in enumerate(product(MPIS, programs)):
        yield pytest.param(name, program, NODES[number % 2], f"{(number + number // 3) % 3}/3")
        for nodes in NODES:
            yield pytest.param(name, program, nodes, "0/1", marks=pytest.mark.long)


@pytest.mark.parametrize(("name", "program", "nodes", "part"), list(fitting()))
def test_calls_that_fit_are_left_alone(get_mpi: GetMpi, name: str, program: str, nodes: str | None, part: str) -> None:
    mpi = get_mpi(name)
    themes = ["sizes", "mixing", "pieces", "communicators", "neighbors"]
    outcome = mpi.run([mpi.program(program), "--part", part, *themes], RANKS, settings=settings(nodes), timeout=180)
    assert (outcome.code, "ESPALIER_CHECK" in outcome.err) == (0, False), str(outcome)


def test_a_line_says_that_intercommunicators_are_left_out(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run([mpi.program("conformance"), "intercommunicators"], 3, settings=settings())
    assert outcome.code == 0, str(outcome)
    lines = [line for line in outcome.err.splitlines() if "leaves out calls on intercommunicators" in line]
    assert len(lines) == 1, "of one of the two sides"


def test_calls_of_communicators_that_are_left_to_native_are_compared_too(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run(
        [mpi.program("standstill"), "barrier", "2"], RANKS, settings=settings(ESPALIER_DISABLE="1"), timeout=60
    )
    assert "ESPALIER_CHECK: rank 0 calls MPI_Bcast" in outcome.err, str(outcome)


def test_ranks_that_were_not_all_asked_to_check_do_not(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    words = [
        "sh",
        "-c",
        '[ "$PMI_RANK" = 1 ] || export ESPALIER_CHECK=1; exec "$0" sleep 2 1',
        mpi.program("standstill"),
    ]
    outcome = mpi.run(words, RANKS, timeout=60)
    assert (outcome.code, "sum 6" in outcome.out) == (0, True), str(outcome)
    assert "need the same settings on all ranks" in outcome.err
