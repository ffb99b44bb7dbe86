"""Jobs that know their network: trees and rings follow it, and nothing is lost when nobody knows."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from launch import CHECKOUT, TestMpi
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]

S16 = CHECKOUT / "tests" / "data" / "fabric" / "s16" / "00-baseline"
# Four hosts of s16: two on one leaf, two on others.
HOSTS = "node[000,001,005,010]"


def settings(fabric: object, hosts: str = HOSTS) -> dict[str, str]:
    return {
        "ESPALIER_FABRIC": str(fabric),
        "ESPALIER_FABRIC_HOSTS": hosts,
        "ESPALIER_VIRTUAL_NODES": "cyclic:4",
        "ESPALIER_VERIFY": "1",
        "ESPALIER_VERBOSE": "2",
    }


@pytest.mark.parametrize("name", ["mpich-5", pytest.param("openmpi-5", marks=pytest.mark.long)])
def test_every_rank_lays_its_trees_onto_the_same_network(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    outcome = mpi.run([mpi.program("conformance"), "sizes", "communicators", "skew"], 7, settings=settings(S16))
    assert_passed(outcome)
    assert "the network between 4 nodes: 3 classes of nodes" in outcome.err, outcome


def test_an_order_that_is_asked_for_is_taken(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    forced = {"ESPALIER_CHOICE_BROADCAST": "knomial,order=depth,cell=4K,cells=2"}
    outcome = mpi.run([mpi.program("conformance"), "sizes"], 5, settings=settings(S16) | forced)
    assert_passed(outcome)
    assert "knomial,radix=2,order=depth" in outcome.err, outcome


def test_hosts_that_nobody_knows_are_told_apart_by_their_nics(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run([mpi.program("conformance"), "sizes", "communicators"], 6, settings=settings(S16, "nobody[0-3]"))
    assert_passed(outcome)
    said = [line for line in outcome.err.splitlines() if "ESPALIER_FABRIC" in line]
    assert said, outcome
    assert all("told apart by their NICs alone" in line for line in said), outcome
    assert "unknown-host" in outcome.err, outcome
    assert len(set(said)) == len(said), "each line once"


@contextmanager
def silent_service() -> Iterator[int]:
    """Accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    kept.append(server.accept()[0])
            except OSError:
                return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        for connection in kept:
            connection.close()


def test_a_silent_service_costs_a_job_its_time_limit_once(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    with silent_service() as port:
        chosen = settings(f"127.0.0.1:{port}") | {"ESPALIER_FABRIC_TIMEOUT": "300", "ESPALIER_VERIFY": "0"}
        begin = time.monotonic()
        outcome = mpi.run([mpi.program("conformance"), "communicators"], 6, settings=chosen)
        took = time.monotonic() - begin
    assert_passed(outcome)
    assert "no answer within 300 ms" in outcome.err, outcome
    assert took < 60


def test_a_service_that_is_not_there_is_said_and_done_without(get_mpi: GetMpi) -> None:
    mpi = get_mpi("mpich-5")
    outcome = mpi.run([mpi.program("conformance"), "sizes"], 4, settings=settings("/nowhere/espalier.socket"))
    assert_passed(outcome)
    assert "told apart by their NICs alone" in outcome.err, outcome
