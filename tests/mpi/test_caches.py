"""Collectives from cache to cache (levels=3), by jobs that pretend to sit in a machine with many caches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cases import Case
from launch import CHECKOUT, TestMpi
from stats import assert_handled, read_stats
from test_conformance import assert_passed, themes_for

MACHINE = CHECKOUT / "tests" / "snapshots" / "machines" / "epyc-2s-nps4.xml"
SETTINGS = {
    "ESPALIER_MACHINE": str(MACHINE),
    "ESPALIER_VERIFY": "1",
    "ESPALIER_CHOICE_BARRIER": "dissemination,levels=3",
    "ESPALIER_CHOICE_BROADCAST": "knomial,levels=3,cell=4K,cells=4",
    "ESPALIER_CHOICE_REDUCE": "knomial,levels=3,cell=4K,cells=4",
    "ESPALIER_CHOICE_ALLREDUCE": "recursive_doubling,levels=3,cell=4K,cells=4",
}
# Each MPI with another mapping, and another part of what themes go through: what is asked is the mapping's, the MPI's
# and the theme's affair, not that of the three together.
CASES = (
    (Case("mpich-5", 6, None, 0), "packed"),  # four in one cache, two in the next
    (Case("openmpi-5", 5, None, 1), "half"),
    (Case("mpich-5", 4, None, 2), "packed"),
    pytest.param(Case("mpich-5", 6, None), "packed", marks=pytest.mark.long),
    pytest.param(Case("openmpi-5", 5, None), "half", marks=pytest.mark.long),
    pytest.param(Case("mpich-5", 8, None), "packed", marks=pytest.mark.long),
    pytest.param(Case("openmpi-5", 7, None), "half", marks=pytest.mark.long),
)
MOVING = ("communicators", "barriers", "movements", "reductions", "operators")


@pytest.mark.parametrize(("case", "mapping"), CASES, ids=str)
def test_every_call_moves_the_right_bytes_from_cache_to_cache(
    case: Case, mapping: str, get_mpi: Callable[[str], TestMpi], tmp_path: Path
) -> None:
    mpi, file = get_mpi(case.mpi), tmp_path / "stats.json"
    settings = {**case.settings, **SETTINGS, "ESPALIER_MACHINE_MAPPING": mapping, "ESPALIER_STATS": str(file)}
    themes = [theme for theme in themes_for(mpi) if theme in MOVING]
    outcome = mpi.run([mpi.program("conformance"), *case.words, *themes], case.ranks, settings=settings, timeout=300)
    assert_passed(outcome)
    assert_handled(read_stats(file), 0.8)
