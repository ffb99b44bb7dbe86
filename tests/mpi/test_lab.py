"""Every MPI on the emulated cluster (as root, `make lab`): all collectives are right there, and what ranks of different
nodes tell each other really crosses the links, whose counters show it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from espalier.jobs.launch import Hosts
from espalier.lab import cluster
from espalier.lab.network import parse_spec
from espalier.measure.worker import ArmTimes, Worker
from espalier.tuning.problems.problem import OPERATIONS
from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
NODES, PPN = 2, 2
BLOCK = 128 << 10


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """Two nodes at a rate at which the tests take seconds."""
    if cluster.STATE.exists():
        pytest.skip("a cluster is up already, and others may be using it")
    spec = parse_spec(NODES, "500mbit", None)
    cluster.up(spec)
    try:
        yield cluster.hosts(spec, PPN)
    finally:
        cluster.down()


def measure(worker: Worker, operation: str, size: int, arm: str) -> tuple[ArmTimes, int]:
    """The arm's times, and what all links together took in meanwhile."""
    before = [counter.received for counter in cluster.counters(cluster.load())]
    (times,) = worker.measure(operation, size, [arm], 1, 100.0)
    after = [counter.received for counter in cluster.counters(cluster.load())]
    return times, sum(after) - sum(before)


# Bytes per call that no algorithm can keep from crossing the links of two nodes, in blocks.
LEAST = {"broadcast": 1, "scatter": PPN, "gather": PPN, "allgather": 2 * PPN, "alltoall": 2 * PPN * PPN, "allreduce": 2}


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_nothing_crosses_nodes_through_memory(name: str, get_mpi: GetMpi, hosts: Hosts) -> None:
    with Worker(get_mpi(name).mpi, hosts.ranks, {}, hosts) as worker:
        assert worker.hello.node_of == (0, 0, 1, 1)
        for operation, blocks in LEAST.items():
            for arm in ("native", "auto"):
                times, received = measure(worker, operation, BLOCK, arm)
                assert not times.refused, (operation, arm, times.refused)
                assert received >= times.calls * blocks * BLOCK, (operation, arm)


@pytest.mark.parametrize("transport", ["mpi", "ucx"])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_all_operations_are_right_between_emulated_nodes(
    name: str, transport: str, get_mpi: GetMpi, hosts: Hosts
) -> None:
    with Worker(get_mpi(name).mpi, hosts.ranks, {"ESPALIER_TRANSPORT": transport}, hosts) as worker:
        for operation in OPERATIONS:
            for size in (0,) if operation == "barrier" else (8, 4096):
                (times,) = worker.measure(operation, size, ["auto"], 1, 100.0)
                assert not times.refused, (operation, size, times.refused)
