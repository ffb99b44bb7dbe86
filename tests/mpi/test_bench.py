"""The benchmark's worker in real jobs: it checks the data of both libraries before it measures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from espalier.measure.paired import NEIGHBORS, Plan, measure
from launch import TestMpi

# Each graph in one form, each form along one graph.
ALONG = {"grid": "blocking", "stencil": "nonblocking", "random:3": "persistent"}


@pytest.mark.parametrize("graph", ALONG)
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_neighbourhood_collectives_are_measured_along_graphs(
    name: str, graph: str, get_mpi: Callable[[str], TestMpi]
) -> None:
    form = ALONG[graph]
    settings = {"ESPALIER_VIRTUAL_NODES": "2", "ESPALIER_SETUP_CALLS": "0", "ESPALIER_LEARN": "off"}
    plan = Plan(NEIGHBORS, (4, 1024), ranks=6, rounds=1, budget_ms=1, graph=graph, form=form, settings=settings)
    rows = measure(get_mpi(name).mpi, plan)
    assert [(row.op, row.bytes) for row in rows] == [(op, size) for op in NEIGHBORS for size in (4, 1024)]
    assert all("pairwise" in row.choice or "by_node" in row.choice for row in rows), [row.choice for row in rows]
