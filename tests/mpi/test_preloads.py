"""Other libraries that are preloaded, too, in front of us and behind: allocators, another clock, a sanitizer."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launch import TestMpi
from stats import read_stats

GetMpi = Callable[[str], TestMpi]
RANKS = 4
# Where the other library stands matters to us, not to the MPI.
PLACES = [("mpich-5", "before"), ("mpich-5", "after"), ("openmpi-5", "before"), ("intel", "before")]
THEMES = ["sizes", "mixing", "nonblocking"]
SYSTEM = Path("/usr/lib/x86_64-linux-gnu")
# Times run twice as fast from each process's start, so that the test's own comparison of ranks' clocks, in the
# later themes, makes no sense; a sanitizer looks at what is freed and copied, and not for leaks of MPI's.
FAKED = {"FAKETIME": "-10d x2", "FAKETIME_DONT_FAKE_MONOTONIC": "0"}
WATCHED = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}


def sanitizer() -> Path:
    """GCC's, which cannot be loaded behind others."""
    words = ["gcc", "-print-file-name=libasan.so.8"]
    return Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip())


OTHERS: dict[str, tuple[Callable[[], Path], dict[str, str]]] = {
    "jemalloc": (lambda: SYSTEM / "libjemalloc.so.2", {}),
    "tcmalloc": (lambda: SYSTEM / "libtcmalloc_minimal.so.4", {}),
    "faketime": (lambda: SYSTEM / "faketime/libfaketime.so.1", FAKED),
    "asan": (sanitizer, WATCHED),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(("name", "place"), PLACES)
def test_results_are_right_beside_another_library(
    get_mpi: GetMpi, name: str, place: str, other: str, tmp_path: Path
) -> None:
    mpi, stats = get_mpi(name), tmp_path / "stats.json"
    find, more = OTHERS[other]
    library = find()
    if not library.exists():
        pytest.skip(f"{library} is not installed (scripts/system-packages.sh)")
    preload = [library, mpi.espalier] if place == "before" else [mpi.espalier, library]
    settings = {**more, "LD_PRELOAD": ":".join(map(str, [*preload, mpi.mpi.library])), "ESPALIER_STATS": str(stats)}
    themes = THEMES[:1] if other == "faketime" else THEMES
    outcome = mpi.run([mpi.program("conformance"), *themes], RANKS, settings=settings, native=True, bare=True)
    assert (outcome.code, "0 failed" in outcome.out) == (0, True), str(outcome)
    assert "espalier" not in outcome.err, str(outcome)
    assert read_stats(stats)["MPI_Bcast"].handled > 0
