"""Ranks whose sizes do not fit together: erroneous, and found in programs. Nobody hangs, and no data are wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from launch import TestMpi
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", pytest.param("intel", marks=pytest.mark.long)])
def test_what_was_sent_arrives_where_there_is_more_room(name: str, ranks: int, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    assert_passed(mpi.run([mpi.program("conformance"), "lengths"], ranks, timeout=100))


PLACEMENTS = ((2, "2"), (5, "2"), (3, "3"), (7, "cyclic:3"), (5, "2,1"), (5, "1,2"))


def between_nodes() -> Iterator[object]:
    """Half of them under the second MPI; the others for the night."""
    for number, (ranks, nodes) in enumerate(PLACEMENTS):
        yield pytest.param("mpich-5", ranks, nodes)
        yield pytest.param("openmpi-5", ranks, nodes, marks=() if number % 2 == 0 else pytest.mark.long)


@pytest.mark.parametrize(("name", "ranks", "nodes"), list(between_nodes()))
def test_both_are_so_between_nodes(name: str, ranks: int, nodes: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    settings = {"ESPALIER_VIRTUAL_NODES": nodes}
    themes = ("lengths", "truncations")
    assert_passed(mpi.run([mpi.program("conformance"), *themes], ranks, settings=settings, timeout=200))


@pytest.mark.parametrize("nodes", [None, "2"])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
def test_the_call_whose_room_was_too_small_is_named(name: str, nodes: str | None, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    settings = {"ESPALIER_VIRTUAL_NODES": nodes} if nodes else {}
    outcome = mpi.run([mpi.program("standstill"), "size", "2"], 4, settings=settings)
    assert outcome.code != 0
    # Open MPI's own last words may end without a line's end.
    (line,) = set(re.findall("espalier:.*", outcome.err))
    assert line == (
        "espalier: MPI_Bcast of 32 bytes, root 0, made by rank 2 of its communicator, does not fit what other ranks "
        "send (MPI_ERR_TRUNCATE); ESPALIER_CHECK=1 names two ranks that differ"
    )


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", pytest.param("intel", marks=pytest.mark.long)])
def test_less_room_than_was_sent_is_an_error_and_nobody_hangs(name: str, ranks: int, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    assert_passed(mpi.run([mpi.program("conformance"), "truncations"], ranks, timeout=100))
