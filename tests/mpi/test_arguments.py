"""A rank whose arguments MPI forbids is refused at once, as it is natively: it waits for nobody, and nobody for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from launch import TestMpi
from pairs import in_pairs

GetMpi = Callable[[str], TestMpi]


def assert_all_refused(mpi: TestMpi, ranks: int, calls: int, ints: int, settings: dict[str, str] | None = None) -> None:
    """`settings` None: without Espalier."""
    command = [mpi.program("arguments"), str(calls), str(ints)]
    outcome = mpi.run(command, ranks, native=settings is None, settings=settings, timeout=60)
    said = [line for line in outcome.out.splitlines() if line.strip()]
    assert outcome.code == 0, outcome
    assert len(said) == 1, outcome
    assert said[0].startswith("arguments: "), outcome


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_native_refuses_such_calls_alone(name: str, get_mpi: GetMpi) -> None:
    assert_all_refused(get_mpi(name), 2, 0, 1)


@pytest.mark.parametrize("calls", [0, 3, 9])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_a_refused_call_is_none_of_the_first_ones_that_are_native(name: str, calls: int, get_mpi: GetMpi) -> None:
    assert_all_refused(get_mpi(name), 2, calls, 1, {"ESPALIER_SETUP_CALLS": "10"})


@pytest.mark.parametrize("settings", [{}, {"ESPALIER_VIRTUAL_NODES": "2"}, {"ESPALIER_SETUP_CALLS": "3"}], ids=str)
@pytest.mark.parametrize("name", ["mpich-5", "intel"])
def test_a_call_that_begins_with_the_same_buffer_twice_is_refused_where_it_is_made(
    name: str, settings: dict[str, str], get_mpi: GetMpi
) -> None:
    """As MPICH's errors/coll/noalias3 has it; Open MPI refuses hardly any."""
    mpi = get_mpi(name)
    native = mpi.run([mpi.program("twice")], 3, native=True)
    ours = mpi.run([mpi.program("twice")], 3, settings=settings, timeout=60)
    assert native.code == ours.code == 0, ours
    assert sorted(ours.out.splitlines()) == sorted(native.out.splitlines())
    assert "accepted" not in ours.out


@in_pairs(
    ("ints", [1, 3000]),
    ("calls", [0, 3]),
    ("name,ranks,nodes", [("mpich-5", 3, ""), ("openmpi-5", 2, ""), ("mpich-5", 2, "2")]),
)
def test_nobody_waits_for_a_rank_that_is_refused(
    name: str, ranks: int, nodes: str, calls: int, ints: int, get_mpi: GetMpi
) -> None:
    assert_all_refused(get_mpi(name), ranks, calls, ints, {"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {})
