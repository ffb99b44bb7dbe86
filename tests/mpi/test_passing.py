"""Calls that native was selected for are passed on before anything of them is looked at: none is wrong or lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from espalier.base.core import load_core
from espalier.jobs.mpis import Mpi, read_library_version
from launch import TestMpi
from stats import NEIGHBORHOOD, OPERATIONS, read_stats
from test_conformance import assert_passed

GetMpi = Callable[[str], TestMpi]
NAMES = [it.removeprefix("MPI_").lower().replace("bcast", "broadcast") for it in (*OPERATIONS, *NEIGHBORHOOD)]
# Without those that find faults of native libraries (test_native.py), and without calls that fail: nobody counts these.
# Operations of which no rank knows all blocks of the form with counts.
HIDDEN = ("scatter", "gather", "alltoall")
THEMES = ("sizes", "communicators", "mixing", "skew", "movements", "neighbors", "reductions", "operators")


def write_table(path: Path, mpi: Mpi, ranks: int) -> None:
    """Native has short blocks and long ones of all operations; those between are the built-in choice's."""
    spans = ([0, 99], [3000, 1 << 40])
    rows = [{"operation": it, "bytes": span, "selection": "native"} for it in NAMES for span in spans]
    write_rows(path, mpi, rows, ranks)


def write_rows(path: Path, mpi: Mpi, rows: Sequence[Mapping[str, object]], ranks: int = 2, nodes: int = 1) -> None:
    """A table with these rows, about so many ranks on each of some nodes."""
    measured = {"bytes": 64, "native_us": 1, "chosen_us": 1, "lowest_ratio": 1, "highest_ratio": 1, "calls": 8}
    where = {"nodes": [nodes, nodes], "ppn": [ranks, ranks], "measured": measured}
    signature = load_core().probe_signature(read_library_version(mpi.library))
    head = {"espalier_table": 1, "machine": signature.machine, "mpi": signature.mpi}
    path.write_text(json.dumps({**head, "rows": [{**row, **where} for row in rows]}))


# Half of what themes go through under one MPI, half under the other.
@pytest.mark.parametrize(
    ("name", "ranks", "part"),
    [
        *(("mpich-5", 3, "0/2"), ("openmpi-5", 2, "1/2")),
        *(pytest.param(*it, "0/1", marks=pytest.mark.long) for it in (("mpich-5", 3), ("openmpi-5", 2))),
    ],
)
def test_calls_are_right_and_counted_whoever_does_them(
    name: str, ranks: int, part: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, path, file = get_mpi(name), tmp_path / "table.json", tmp_path / "stats.json"
    write_table(path, mpi.mpi, ranks)
    all_native = {f"ESPALIER_CHOICE_{it.upper()}": "native" for it in NAMES}
    totals = []
    for settings in ({"ESPALIER_TABLE": "off"}, {"ESPALIER_TABLE": str(path)}, all_native):
        command = [mpi.program("conformance"), "--part", part, *THEMES]
        assert_passed(mpi.run(command, ranks, settings={**settings, "ESPALIER_STATS": str(file)}))
        stats = read_stats(file)
        totals.append({it: counts.handled + counts.native for it, counts in stats.items()})
        if "ESPALIER_TABLE" not in settings:
            assert not any(counts.handled for counts in stats.values()), stats
        elif settings["ESPALIER_TABLE"] != "off":
            assert all(counts.reasons.get("native was selected") for counts in stats.values()), stats
    assert totals[0] == totals[1] == totals[2]


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_no_rank_takes_a_call_for_one_like_the_last_that_others_see_is_another(
    name: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    """Equal blocks of an alltoallv are native's: that says nothing about calls whose sizes no rank knows all of."""
    mpi, path = get_mpi(name), tmp_path / "table.json"
    row = {"operation": "alltoall", "bytes": [0, 1 << 40], "selection": "native", "transport": "mpi"}
    write_rows(path, mpi.mpi, [row], ranks=2, nodes=2)
    settings = {"ESPALIER_TABLE": str(path), "ESPALIER_VIRTUAL_NODES": "2,2"}
    outcome = mpi.run([mpi.program("likeness")], 4, settings=settings, timeout=60)
    assert "likeness: passed" in outcome.out, str(outcome)


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_two_ranks_choose_by_the_size_of_what_goes_from_one_to_the_other(
    name: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    mpi, path, file = get_mpi(name), tmp_path / "table.json", tmp_path / "stats.json"
    odd = {(0, 99): "tiny", (100, 2999): "native", (3000, 1 << 40): "tiny,window=32K"}
    rows = [{"form": "uneven", "operation": it, "bytes": span, "selection": odd[span]} for it in HIDDEN for span in odd]
    write_rows(path, mpi.mpi, rows)
    settings = {"ESPALIER_TABLE": str(path), "ESPALIER_STATS": str(file)}
    themes = (*THEMES, "large_counts", "bottom", "datatypes", "nonblocking")
    assert_passed(mpi.run([mpi.program("conformance"), *themes], 2, settings=settings))
    stats = read_stats(file)
    for it in HIDDEN:
        counts = stats[f"MPI_{it.capitalize()}"]
        assert counts.reasons.get("native was selected", 0) > 20, counts
        assert counts.choices.get("tiny", 0) > 20, counts
    other = {it: stats[it].reasons.get("native was selected", 0) for it in ("MPI_Bcast", "MPI_Allgather")}
    assert not any(other.values()), "there is no row about these"
