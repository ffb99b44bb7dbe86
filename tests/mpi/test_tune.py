"""The tuner under real MPIs: its worker answers, and a short run writes a table that the library then follows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.commands.tune import tune
from espalier.mpis import Mpi
from espalier.tuning.worker import Worker
from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
MPIS = ("mpich-5", "openmpi-5")
OPERATIONS = (
    "broadcast",
    "scatter",
    "gather",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "scan",
)
SHORT_US = 200.0


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest, get_mpi: GetMpi) -> Mpi:
    return get_mpi(request.param).mpi


def test_the_worker_checks_and_times_every_operation(mpi: Mpi) -> None:
    with Worker(mpi, 3, {}) as worker:
        assert (worker.hello.ranks, set(worker.hello.node_of)) == (3, {0})
        for operation in (*OPERATIONS, "exscan", "barrier"):
            for size in (0,) if operation == "barrier" else (8, 4096, 65536):
                native, auto = worker.measure(operation, size, ["native", "auto"], 2, SHORT_US)
                assert (native.refused, auto.refused) == ("", ""), (operation, size)
                assert all(time > 0 for time in (*native.p50, *auto.p50))
                assert (len(native.p50), len(auto.p50)) == (2, 2)


def test_the_worker_forces_choices_and_refuses_what_makes_no_sense(mpi: Mpi) -> None:
    with Worker(mpi, 2, {}) as worker:
        arms = ["knomial,within=cells,cell=4K,cells=2", "teleport", "knomial,within=cells,cell=64M,cells=64"]
        forced, nonsense, too_large = worker.measure("broadcast", 65536, arms, 1, SHORT_US)
        assert "cell=4K" in forced.said
        assert nonsense.refused == "not a selection of this operation"
        assert too_large.refused.startswith("native")


def test_the_worker_draws_the_machines_curves(mpi: Mpi) -> None:
    with Worker(mpi, 2, {}) as worker:
        for name in ("waiting", "latency", "connections"):
            points = worker.curve(name)
            assert points
            assert all(point["us"] > 0 for point in points)


def test_a_table_is_made_and_obeyed(mpi: Mpi, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.json"
    tune(ops="allgather,barrier", sizes="64,64K", output=path, mpi=str(mpi.library), samples=0, curves=False, json=True)
    decisions = json.loads(capfd.readouterr().out)["decisions"]
    assert {(it["operation"], it["bytes"]) for it in decisions} >= {
        ("barrier", 0),
        ("allgather", 64),
        ("allgather", 65536),
    }
    # An edited table shows whether it is followed, whatever is fastest here.
    table = json.loads(path.read_text())
    for row in table["rows"]:
        row["selection"] = "native" if row["operation"] == "barrier" else "ring,within=cells,cell=4K,cells=2"
    path.write_text(json.dumps(table))
    with Worker(mpi, 2, {"ESPALIER_TABLE": str(path)}) as worker:
        (gather,) = worker.measure("allgather", 65536, ["auto"], 1, SHORT_US)
        (barrier,) = worker.measure("barrier", 0, ["auto"], 1, SHORT_US)
    assert "ring" in gather.said
    assert "cell=4K,cells=2" in gather.said
    assert barrier.said.startswith("native")
