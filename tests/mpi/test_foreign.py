"""A build in front of an MPI that it is not for: one line, and everything is that MPI's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launch import BUILD, TestMpi
from pairs import in_pairs
from stats import read_stats

GetMpi = Callable[[str], TestMpi]
RANKS = 4
# Whose handles are shorter than the MPI's, and whose are longer.
PAIRS = [("openmpi-5", "mpich"), ("mpich-5", "openmpi"), ("intel", "openmpi")]
# With up to nine arguments, half of which are handles: the first six travel in registers, the rest on the stack.
THEMES = ["sizes", "communicators", "mixing"]


@pytest.mark.parametrize(("name", "build"), PAIRS)
@pytest.mark.parametrize("program", ["conformance", "conformance_nonblocking"])
def test_a_build_for_another_mpi_says_so_once_and_leaves_all_alone(
    get_mpi: GetMpi, name: str, build: str, program: str
) -> None:
    mpi = get_mpi(name)
    wrong = BUILD / "src" / "mpi" / f"libespalier-{build}.so"
    settings = {"LD_PRELOAD": f"{wrong}:{mpi.mpi.library}"}
    outcome = mpi.run([mpi.program(program), *THEMES], RANKS, settings=settings, native=True, bare=True, timeout=120)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("has another binary interface than this build, and is left alone") == 1, str(outcome)


@pytest.mark.parametrize("builds", ["mpich:openmpi", "openmpi:mpich", "abi:mpich:openmpi"])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_of_several_builds_of_ours_the_one_that_fits_does_the_work(
    get_mpi: GetMpi, name: str, builds: str, tmp_path: Path
) -> None:
    mpi, stats = get_mpi(name), tmp_path / "stats.json"
    files = [BUILD / "src" / "mpi" / f"libespalier-{build}.so" for build in builds.split(":")]
    settings = {
        "LD_PRELOAD": ":".join(map(str, [*files, mpi.mpi.library])),
        "ESPALIER_STATS": str(stats),
        "ESPALIER_SETUP_CALLS": "0",
    }
    outcome = mpi.run([mpi.program("conformance"), *THEMES], RANKS, settings=settings, native=True, bare=True)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("of several builds of Espalier that are preloaded") == len(files) - 1, str(outcome)
    assert "left alone" not in outcome.err, str(outcome)
    assert read_stats(stats)["MPI_Bcast"].handled > 0


def test_an_mpi_that_is_opened_later_is_left_alone_too(get_mpi: GetMpi) -> None:
    mpi = get_mpi("openmpi-5")
    wrong = BUILD / "src" / "mpi" / "libespalier-mpich.so"
    code = (
        "import ctypes; flag = ctypes.c_int(); "
        f"m = ctypes.CDLL({str(mpi.mpi.library)!r}, mode=ctypes.RTLD_GLOBAL); e = ctypes.CDLL(None); "
        "print('init %d %d %d' % (e.MPI_Init(None, None), e.MPI_Barrier(ctypes.c_void_p(ctypes.addressof("
        "ctypes.c_char.in_dll(m, 'ompi_mpi_comm_world')))), e.MPI_Finalize()))"
    )
    outcome = mpi.run(
        ["python3", "-c", code], 2, settings={"LD_PRELOAD": str(wrong)}, native=True, bare=True, timeout=60
    )
    assert outcome.code == 0, str(outcome)
    assert outcome.out.count("init 0 0 0") == 2, str(outcome)
    assert outcome.err.count("is left alone") == 1, str(outcome)


def test_of_two_mpis_in_a_process_the_one_that_the_build_is_for_is_served(get_mpi: GetMpi, tmp_path: Path) -> None:
    """A plug-in has brought an Open MPI of its own; the program runs under MPICH."""
    mpi, other, stats = get_mpi("mpich-5"), get_mpi("openmpi-5"), tmp_path / "stats.json"
    code = (
        "import ctypes; flag = ctypes.c_int(7); "
        f"other = ctypes.CDLL({str(other.mpi.library)!r}, mode=ctypes.RTLD_LOCAL); own = ctypes.CDLL(None); "
        "own.MPI_Init(None, None); other.MPI_Initialized(ctypes.byref(flag)); "
        "codes = [own.MPI_Barrier(0x44000000) for _ in range(20)]; "
        "print('barriers %d other %d' % (sum(codes), flag.value)); own.MPI_Finalize()"
    )
    settings = {"LD_PRELOAD": f"{mpi.espalier}:{mpi.mpi.library}", "ESPALIER_STATS": str(stats)}
    outcome = mpi.run(["python3", "-c", code], 2, settings=settings, native=True, bare=True, timeout=60)
    assert outcome.code == 0, str(outcome)
    assert outcome.out.count("barriers 0 other 0") == 2, str(outcome)
    assert "left alone" not in outcome.err
    assert read_stats(stats)["MPI_Barrier"].handled == 20


def test_of_two_builds_the_one_that_serves_speaks_for_the_other(get_mpi: GetMpi, tmp_path: Path) -> None:
    """Both are preloaded, and the program opens its MPI: of the other build no call came by."""
    mpi, other, stats = get_mpi("mpich-5"), get_mpi("openmpi-5"), tmp_path / "stats.json"
    code = (
        f"import ctypes; ctypes.CDLL({str(mpi.mpi.library)!r}, mode=ctypes.RTLD_GLOBAL); own = ctypes.CDLL(None); "
        "own.MPI_Init(None, None); codes = [own.MPI_Barrier(0x44000000) for _ in range(20)]; "
        "print('barriers %d' % sum(codes)); own.MPI_Finalize()"
    )
    settings = {"LD_PRELOAD": f"{mpi.espalier}:{other.espalier}", "ESPALIER_STATS": str(stats)}
    outcome = mpi.run(["python3", "-c", code], 2, settings=settings, native=True, bare=True, timeout=60)
    assert (outcome.code, outcome.out.count("barriers 0")) == (0, 2), str(outcome)
    assert "no call of it came by here" not in outcome.err
    assert read_stats(stats)["MPI_Barrier"].handled == 20


@in_pairs(("beside", [False, True]), ("name", ["mpich-5", "openmpi-5", "intel"]), ("disabled", ["", "1"]))
def test_an_mpi_whose_functions_are_looked_up_in_its_file_is_said_to_be_out_of_reach(
    get_mpi: GetMpi, name: str, disabled: str, beside: bool
) -> None:
    """As MPI.jl does. The MPI is preloaded, too, by `espalier run --mpi`; nothing may begin anew when all ends."""
    mpi = get_mpi(name)
    code = (
        f"import ctypes; own = ctypes.CDLL({str(mpi.mpi.library)!r}, mode=ctypes.RTLD_LOCAL); "
        "print('codes %d %d' % (own.MPI_Init(None, None), own.MPI_Finalize()))"
    )
    preload = f"{mpi.espalier}:{mpi.mpi.library}" if beside else str(mpi.espalier)
    settings = {"LD_PRELOAD": preload, "ESPALIER_DISABLE": disabled}
    outcome = mpi.run(["python3", "-c", code], 2, settings=settings, native=True, bare=True, timeout=60)
    assert outcome.code == 0, str(outcome)
    assert outcome.out.count("codes 0 0") == 2, str(outcome)
    assert outcome.err.count("espalier: MPI has run, and no call of it came by here") == (0 if disabled else 1), str(
        outcome
    )
