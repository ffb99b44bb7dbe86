"""The tuner under real MPIs: its worker answers, and a short run writes a table that the library then follows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import typer

from espalier.base.core import load_core
from espalier.commands.tune.command import tune
from espalier.jobs.mpis import Mpi, read_library_version
from espalier.measure.worker import Worker
from espalier.tuning.problems.problem import FORMS, OPERATIONS
from launch import TestMpi
from stats import read_stats

pytestmark = pytest.mark.alone

GetMpi = Callable[[str], TestMpi]
MPIS = ("mpich-5", "openmpi-5")
SHORT_US = 200.0


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest, get_mpi: GetMpi) -> Mpi:
    return get_mpi(request.param).mpi


def test_the_worker_checks_and_times_every_operation(mpi: Mpi) -> None:
    with Worker(mpi, 3, {}) as worker:
        assert (worker.hello.ranks, set(worker.hello.node_of)) == (3, {0})
        for operation in OPERATIONS:
            for size in (0,) if operation == "barrier" else (8, 4096, 65536):
                native, auto = worker.measure(operation, size, ["native", "auto"], 2, SHORT_US)
                assert (native.refused, auto.refused) == ("", ""), (operation, size)
                assert all(time > 0 for time in (*native.p50, *auto.p50))
                assert (len(native.p50), len(auto.p50)) == (2, 2)


@pytest.fixture
def busy_program() -> Iterator[None]:
    """Keeps a processor busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield
    process.kill()
    process.wait()


def test_the_worker_sees_other_programs(mpi: Mpi, busy_program: None) -> None:
    with Worker(mpi, 2, {}) as worker:
        worker.look()
        assert worker.others >= 0.25


def test_the_worker_forces_choices_and_refuses_what_makes_no_sense(mpi: Mpi) -> None:
    with Worker(mpi, 2, {}) as worker:
        arms = ["knomial,within=cells,cell=4K,cells=2", "teleport", "knomial,within=cells,cell=64M,cells=64"]
        forced, nonsense, too_large = worker.measure("broadcast", 65536, arms, 1, SHORT_US)
        assert "cell=4K" in forced.said
        assert nonsense.refused == "not a selection of this operation"
        assert too_large.refused.startswith("native")


def test_the_worker_times_uneven_blocks_and_a_table_may_leave_them_to_native(mpi: Mpi, tmp_path: Path) -> None:
    measured = {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1, "calls": 8}
    where = {"nodes": [1, 1], "ppn": [2, 2], "bytes": [0, 1 << 40], "measured": measured, "selection": "native"}
    uneven = [{"operation": FORMS[form], "form": "uneven", **where} for form in FORMS]
    signature = load_core().probe_signature(read_library_version(mpi.library))
    table = {"espalier_table": 1, "machine": signature.machine, "mpi": signature.mpi, "rows": uneven}
    path, stats = tmp_path / "table.json", tmp_path / "stats.json"
    path.write_text(json.dumps(table))
    for settings, handled in (({}, True), ({"ESPALIER_TABLE": str(path)}, False)):
        with Worker(mpi, 2, {**settings, "ESPALIER_STATS": str(stats)}) as worker:
            for form in FORMS:
                (times,) = worker.measure(form, 4096, ["auto"], 1, SHORT_US)
                assert not times.refused, form
        for form, operation in FORMS.items():
            counted = read_stats(stats)[f"MPI_{operation.capitalize()}"]
            assert (counted.handled > 0, counted.native > 0) == (handled, not handled), (form, counted)


def test_the_worker_draws_the_machines_curves(mpi: Mpi) -> None:
    with Worker(mpi, 2, {}) as worker:
        for name in ("waiting", "latency", "connections"):
            points = worker.curve(name)
            assert points
            assert all(point["us"] > 0 for point in points)


def test_a_table_is_made_and_obeyed(mpi: Mpi, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.json"
    # A budget: beside other tests, and on a virtual machine, the tuner would wait for minutes.
    what = {"ops": "allgather,barrier", "sizes": "64,64K", "budget": "60s"}
    context = cast(typer.Context, SimpleNamespace())  # which only batch scripts are made of
    tune(context, **what, output=path, mpi=str(mpi.library), samples=0, curves=False, json=True)
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
