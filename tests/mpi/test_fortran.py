"""Fortran programs through each of the three bindings, built with the distribution's wrappers and run with Espalier."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.profile.reading import read_profile
from espalier.profile.summary import sum_up
from launch import TestMpi
from pairs import in_pairs
from stats import NEIGHBORHOOD, OPERATIONS, assert_handled, read_stats

SOURCES = Path(__file__).parent / "fortran"
WRAPPERS = {"mpich-4": "mpifort.mpich", "openmpi-4": "mpifort.openmpi"}
STANDARD = {"mpich-4": "mpi4", "openmpi-4": "mpi3"}  # what its Fortran knows


def build(name: str, binding: str, folder: Path) -> Path:
    wrapper, compiler = shutil.which(WRAPPERS[name]), shutil.which("gfortran")
    if wrapper is None or compiler is None:
        missing = WRAPPERS[name] if wrapper is None else "gfortran"
        pytest.skip(f"{missing} is missing (Debian: apt-get install gfortran libmpich-dev libopenmpi-dev)")
    program = folder / binding
    # mpif.h declares nothing about buffers, so calls with different types look like mistakes to the compiler.
    flags = ["-fallow-argument-mismatch", "-w", "-I", str(SOURCES), "-I", str(SOURCES / STANDARD[name])]
    done = subprocess.run(
        [wrapper, *flags, "-o", str(program), str(SOURCES / f"{binding}.f90")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


@in_pairs(("nodes", ["1", "cyclic:2"]), ("binding", ["mpif_h", "use_mpi", "use_mpi_f08"]), ("name", tuple(WRAPPERS)))
def test_fortran_programs_are_served(
    name: str, binding: str, nodes: str, get_mpi: Callable[[str], TestMpi], tmp_path: Path
) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    program = str(build(name, binding, tmp_path))
    native = mpi.run([program], 3, native=True, bare=True, timeout=60)
    assert native.out.split() == ["fortran:", "0", "wrong"], f"natively: {native}"
    settings = {"ESPALIER_STATS": str(file), "ESPALIER_VIRTUAL_NODES": nodes}
    outcome = mpi.run([program], 3, bare=True, settings=settings, timeout=60)
    assert (outcome.code, outcome.out) == (0, native.out), str(outcome)
    assert_handled(read_stats(file), 0.7, (*OPERATIONS, *NEIGHBORHOOD))  # one call has a wrong root


@pytest.mark.parametrize("binding", ["mpif_h", "use_mpi_f08"])
@pytest.mark.parametrize(("name", "wrong"), [("openmpi-4", "mpich"), ("mpich-4", "openmpi")])
def test_a_build_for_another_mpi_leaves_fortran_programs_alone(
    name: str, wrong: str, binding: str, get_mpi: Callable[[str], TestMpi], tmp_path: Path
) -> None:
    """Open MPI's Fortran calls PMPI's functions with handles that are longer than MPICH's; and what its entries in
    Fortran are called, MPICH's are, too."""
    mpi = get_mpi(name)
    program = str(build(name, binding, tmp_path))
    settings = {"LD_PRELOAD": str(mpi.espalier.with_name(f"libespalier-{wrong}.so"))}
    outcome = mpi.run([program], 3, native=True, bare=True, settings=settings, timeout=60)
    assert outcome.out.split() == ["fortran:", "0", "wrong"], str(outcome)
    assert outcome.err.count("is left alone") == 1, str(outcome)


@pytest.mark.parametrize("binding", ["use_mpi", "use_mpi_f08"])
@pytest.mark.parametrize("name", WRAPPERS)
def test_where_fortran_begins_and_ends_is_seen(
    name: str, binding: str, get_mpi: Callable[[str], TestMpi], tmp_path: Path
) -> None:
    """A profile needs both: ranks meet when MPI begins, and bring their parts together when it ends."""
    mpi, file = get_mpi(name), tmp_path / "profile.json"
    program = str(build(name, binding, tmp_path))
    outcome = mpi.run([program], 3, bare=True, settings={"ESPALIER_PROFILE": str(file)}, timeout=60)
    assert outcome.code == 0, str(outcome)
    rows = sum_up(read_profile(file)).rows
    assert {row.key.operation for row in rows} >= {"MPI_Bcast", "MPI_Allreduce", "MPI_Barrier"}, str(outcome)
    started = [row for row in rows if row.key.form == "nonblocking"]
    assert started, "the program makes calls that do not block"
    assert all(row.between > 0 for row in started), "where they are completed is seen, too"
