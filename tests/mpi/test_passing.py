"""Calls that native was selected for are passed on before anything of them is looked at: none is wrong or lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.core import load_core
from espalier.mpis import Mpi, read_library_version
from launch import TestMpi
from stats import OPERATIONS, read_stats
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]
NAMES = [it.removeprefix("MPI_").lower().replace("bcast", "broadcast") for it in OPERATIONS]
# Without those that find faults of native libraries (test_native.py), and without calls that fail: nobody counts these.
THEMES = ("sizes", "communicators", "mixing", "skew", "movements", "reductions", "operators")


def write_table(path: Path, mpi: Mpi, ranks: int) -> None:
    """Native has short blocks and long ones of all operations; those between are the built-in choice's."""
    measured = {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1, "calls": 8}
    where = {"nodes": [1, 1], "ppn": [ranks, ranks], "selection": "native", "measured": measured}
    rows = [{"operation": name, "bytes": span, **where} for name in NAMES for span in ([0, 99], [3000, 1 << 40])]
    signature = load_core().probe_signature(read_library_version(mpi.library))
    path.write_text(json.dumps({"espalier_table": 1, "machine": signature.machine, "mpi": signature.mpi, "rows": rows}))


@pytest.mark.parametrize(("name", "ranks"), [("mpich-5", 3), ("openmpi-5", 2)])
def test_calls_are_right_and_counted_whoever_does_them(name: str, ranks: int, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, path, file = get_mpi(name), tmp_path / "table.json", tmp_path / "stats.json"
    write_table(path, mpi.mpi, ranks)
    all_native = {f"ESPALIER_CHOICE_{it.upper()}": "native" for it in NAMES}
    totals = []
    for settings in ({"ESPALIER_TABLE": "off"}, {"ESPALIER_TABLE": str(path)}, all_native):
        assert_passed(
            mpi.run([mpi.program("conformance"), *THEMES], ranks, settings={**settings, "ESPALIER_STATS": str(file)})
        )
        stats = read_stats(file)
        totals.append({it: counts.handled + counts.native for it, counts in stats.items()})
        if "ESPALIER_TABLE" not in settings:
            assert not any(counts.handled for counts in stats.values()), stats
        elif settings["ESPALIER_TABLE"] != "off":
            assert all(counts.reasons.get("native was selected") for counts in stats.values()), stats
    assert totals[0] == totals[1] == totals[2]
