"""LAMMPS, HPCC and ExaML from Debian, mpi4py-fft from PyPI: the same results with Espalier, and its part in them.

Left out of `make test`; `make apps` installs the programs and runs this.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from application import Application, Case
from examl_search import ExamlSearch
from fft_separation import FftSeparation
from hpcc_suite import HpccSuite
from lammps_melt import LammpsMelt

pytestmark = pytest.mark.long

APPLICATIONS = (LammpsMelt(), HpccSuite(), ExamlSearch(), FftSeparation("slab"), FftSeparation("pencil"))
CASES = (
    Case(2),
    Case(2, nodes="2"),
    Case(4),
    Case(4, strict=True),
    Case(4, nodes="3,1", verified=True),
    Case(4, nodes="3,1", strict=True),
)
_SUMS = ("MPI_Reduce", "MPI_Allreduce", "MPI_Scan")


@pytest.fixture(scope="session")
def native_result(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Application, int], str]:
    """What a program finds out without Espalier; each program runs once for each number of ranks."""
    results: dict[tuple[str, int], str] = {}

    def get(application: Application, ranks: int) -> str:
        key = application.name, ranks
        if key not in results:
            folder = tmp_path_factory.mktemp("native") / application.name
            results[key] = application.run(folder, ranks, "--native")
        return results[key]

    return get


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda it: it.name)
def test_the_result_is_the_same_and_espalier_ran_the_collectives(
    application: Application, case: Case, native_result: Callable[[Application, int], str], tmp_path: Path
) -> None:
    native = native_result(application, case.ranks)
    stats = tmp_path / "stats.json"
    # Which calls the MPI would win is not the question.
    own = application.run(tmp_path / "own", case.ranks, "--stats", str(stats), "--set", "LEARN=off", *case.settings)
    if case.is_exact:
        assert own == native
    else:
        application.assert_close(native, own)
    assert_ran(application, case, json.loads(stats.read_text()))


def assert_ran(application: Application, case: Case, stats: dict[str, Any]) -> None:
    """Checks that Espalier ran nine of ten calls of each operation that the program lives on.

    In strict mode the sums of more than two ranks are the exception, and must say so. Of a grid of two ranks, rows are
    one rank each, with nothing to run.
    """
    for operation in application.operations:
        counts = stats[operation]
        total = counts["handled"] + counts["native"]
        assert total > 0, f"{operation} was never called"
        left = {reason: count for reason, count in counts["reasons"].items() if reason != "one rank"}
        if case.strict and case.ranks > 2 and operation in _SUMS:
            left = {reason: count for reason, count in left.items() if "STRICT" not in reason.upper()}
        assert sum(left.values()) <= 0.1 * total, f"{operation}: left to the MPI: {counts['reasons']}"


@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda it: it.name)
def test_the_native_result_repeats(application: Application, native_result, tmp_path: Path) -> None:
    # Otherwise comparing with it would say nothing about Espalier.
    assert application.run(tmp_path / "again", 4, "--native") == native_result(application, 4)
