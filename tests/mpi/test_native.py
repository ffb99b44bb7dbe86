"""The conformance program under the bare MPIs: it must pass there, or it would say nothing about Espalier.

Where an MPI itself gets something wrong, the theme is named here with the fault; with Espalier in front the theme is
run and has to pass (test_conformance.py).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from launch import ALL_MPIS, TestMpi

THEMES = (
    *("sizes", "datatypes", "typemaps", "bottom", "communicators", "barriers", "mixing", "nonblocking", "skew"),
    *("movements", "pieces", "neighbors", "reductions", "operators", "intercommunicators", "large_counts", "errors"),
)

# An MPI's own faults, found with this program.
FAULTS = {
    # An allgather whose send and receive types differ mixes up bytes (2021.18). In a periodic dimension of two ranks
    # its neighbourhood collectives exchange the two blocks, other than MPI 4 has it.
    "intel": {"typemaps", "bottom", "neighbors"},
    # Its standard-ABI library also aborts instead of calling an error handler made by the program.
    "intel-abi": {"typemaps", "bottom", "errors", "neighbors"},
    # An allgather of a structure that begins with a pair type and goes on below it puts data into the wrong places.
    "openmpi-4": {"datatypes"},
    # Some of its reductions crash (4.0.2); neighbourhoods as Intel's.
    "mpich-4": {"reductions", "neighbors"},
    "openmpi-5": {"datatypes"},
}

# Intel MPI's second gather, which it takes by itself on AMD's processors, writes beyond its memory when the root's type
# is derived, and crashes (2021.18). The others are sound.
WAYS_AROUND = {"intel": {"I_MPI_ADJUST_GATHER": "1"}, "intel-abi": {"I_MPI_ADJUST_GATHER": "1"}}


# Of each of the three libraries one; the others have changed less often than the program.
OFTEN = ("mpich-5", "openmpi-4", "intel")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OFTEN else pytest.mark.long) for name in ALL_MPIS]
)
def test_the_conformance_program_passes_on_the_bare_mpi(name: str, get_mpi: Callable[[str], TestMpi]) -> None:
    mpi = get_mpi(name)
    themes = [theme for theme in THEMES if theme not in FAULTS.get(name, set())]
    outcome = mpi.run([mpi.program("conformance"), *themes], 2, native=True, settings=WAYS_AROUND.get(name))
    assert outcome.code == 0, str(outcome)
    assert outcome.out.splitlines()[-1].endswith(" passed, 0 failed")
    for theme in themes:
        assert f"\n{theme}: " in "\n" + outcome.out, f"{theme} did not report"
