"""The conformance program with Espalier in front: right data everywhere, and calls handled rather than passed on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cases import CASES, Case, long_cases
from launch import Outcome, TestMpi
from stats import NEIGHBORHOOD, OPERATIONS, assert_handled, read_stats
from test_native import THEMES

GetMpi = Callable[[str], TestMpi]

# What no library in front of an MPI can cure, or what cannot be compared with a native collective that crashes.
INCURABLE = {"intel-abi": {"errors"}, "mpich-4": {"reductions"}}


def themes_for(mpi: TestMpi) -> list[str]:
    return [theme for theme in THEMES if theme not in INCURABLE.get(mpi.name, set())]


@cache
def native_errors(mpi: TestMpi) -> list[str]:
    """What the bare MPI says about wrong arguments. A launcher that fails by itself, as under load, is asked again."""
    for _ in range(3):
        outcome = mpi.run([mpi.program("conformance"), "errors"], 2, native=True)
        if outcome.code == 0 and (lines := error_lines(outcome)):
            return lines
    raise AssertionError(f"the MPI itself does not tell errors: {outcome}")


def error_lines(outcome: Outcome) -> list[str]:
    return [line for line in outcome.out.splitlines() if line.startswith("errors: ") and "passed" not in line]


def assert_passed(outcome: Outcome) -> None:
    assert outcome.code == 0, str(outcome)
    # The program's last word; UCX writes what it has to say on stdout, too, and another rank's may come after it.
    counts = [line for line in outcome.out.splitlines() if line.endswith(" failed")]
    assert counts, str(outcome)
    assert counts[-1].endswith(" passed, 0 failed"), str(outcome)


def check_case(case: Case, mpi: TestMpi, folder: Path, timeout: float = 150) -> None:
    file = folder / "stats.json"
    themes = themes_for(mpi)
    settings = {**case.settings, "ESPALIER_STATS": str(file)}
    command = [mpi.program("conformance"), *case.words, *themes]
    outcome = mpi.run(command, case.ranks, settings=settings, timeout=timeout)
    assert_passed(outcome)
    if "errors" in themes:
        assert error_lines(outcome) == native_errors(mpi), "wrong arguments give other errors than the MPI itself"
    # Wrong calls, intercommunicators and communicators of one rank are left to the MPI.
    assert_handled(read_stats(file), 0.8, (*OPERATIONS, *NEIGHBORHOOD))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_call_moves_the_right_bytes(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    check_case(case, get_mpi(case.mpi), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("case", long_cases(), ids=str)
def test_every_call_moves_the_right_bytes_long(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    check_case(case, get_mpi(case.mpi), tmp_path, timeout=900)  # 16 ranks that take turns on few cores


THREADS = (
    Case("mpich-5", 4, "2"),
    Case("mpich-5", 3, None),
    Case("openmpi-5", 4, "cyclic:2"),
    Case("openmpi-4", 3, None),
    Case("intel", 4, None),  # which hangs here without Espalier (2021.18)
    Case("mpich-4", 2, None),
)


@pytest.mark.parametrize("case", THREADS, ids=str)
def test_threads_may_use_different_communicators_at_once(case: Case, get_mpi: GetMpi) -> None:
    mpi = get_mpi(case.mpi)
    assert_passed(mpi.run([mpi.program("conformance"), "threads"], case.ranks, settings=case.settings))


MANY = (
    Case("mpich-5", 2, None),
    Case("mpich-5", 3, "2"),
    Case("openmpi-5", 4, "2"),
    Case("openmpi-4", 2, None),
    Case("intel", 2, None),
    Case("mpich-4", 2, None),
)


@pytest.mark.parametrize("case", MANY, ids=str)
def test_two_thousand_communicators_leak_neither_descriptors_nor_mappings(case: Case, get_mpi: GetMpi) -> None:
    mpi = get_mpi(case.mpi)
    assert_passed(mpi.run([mpi.program("conformance"), "--many", "2000", "many"], case.ranks, settings=case.settings))
