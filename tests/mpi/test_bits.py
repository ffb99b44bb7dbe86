"""Reductions of NaNs, zeros of both signs, infinities, denormals and ties: all ranks find the same bits.

The theme is not among those that the bare MPIs run: they fail it themselves, rank by rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cases import Case
from launch import TestMpi
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]

CASES = (
    *(Case("mpich-5", ranks, nodes) for ranks, nodes in ((2, None), (5, None), (4, "2"), (7, "3,1,3"))),
    Case("mpich-5", 8, "cyclic:4"),
    *(Case("openmpi-5", ranks, nodes) for ranks, nodes in ((3, None), (32, None), (4, "2"), (5, "1,4"))),
    *(Case("intel", ranks, nodes) for ranks, nodes in ((4, None), (4, "2"), (3, "2,1"))),
    *(Case("openmpi-4", ranks, nodes) for ranks, nodes in ((4, None), (5, "2"))),
    *(Case("mpich-4", ranks, nodes) for ranks, nodes in ((2, None), (4, "3,1"))),
    Case("mpich-5-abi", 4, "2"),
)

# One for each way of exchanging: those that fold the same operands on several ranks, and a ring that does not.
FORCED = (
    "gather_reduce",
    "recursive_doubling,segment=4K",
    "rabenseifner",
    "ring",
    "multi_group,groups=2,exchange=recursive_doubling",
    "multi_group,groups=2,exchange=direct,radix=4",
)


def run_bits(case: Case, mpi: TestMpi, settings: dict[str, str]) -> None:
    assert_passed(mpi.run([mpi.program("conformance"), "bits"], case.ranks, settings={**case.settings, **settings}))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_ranks_find_the_same_bits(case: Case, get_mpi: GetMpi) -> None:
    run_bits(case, get_mpi(case.mpi), {})


def exchanges() -> Iterator[object]:
    """Every other one under another MPI in another place, and the rest for the night."""
    for number, choice in enumerate(FORCED):
        for other, case in enumerate((Case("mpich-5", 7, "3,1,3"), Case("openmpi-5", 4, "2"))):
            yield pytest.param(choice, case, marks=() if number % 2 == other else pytest.mark.long)


@pytest.mark.parametrize(("choice", "case"), list(exchanges()), ids=str)
def test_all_ranks_find_the_same_bits_by_every_exchange(choice: str, case: Case, get_mpi: GetMpi) -> None:
    run_bits(case, get_mpi(case.mpi), {"ESPALIER_CHOICE_ALLREDUCE": choice})


@pytest.mark.parametrize("choice", ["gather_reduce", "gather_reduce,within=single_copy", "recursive_doubling,levels=2"])
def test_all_ranks_find_the_same_bits_by_every_way_on_one_node(choice: str, get_mpi: GetMpi) -> None:
    run_bits(Case("mpich-5", 4, None), get_mpi("mpich-5"), {"ESPALIER_CHOICE_ALLREDUCE": choice})
