"""Finding MPI libraries: by name, in fake installations, and the choice among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs import mpis
from espalier.jobs.libraries import Abi
from espalier.jobs.mpis import (
    Family,
    abi_of_name,
    find_default_mpi,
    find_mpis,
    mpi_of_library,
    parse_version,
    select_mpi,
)
from workshop import MPI_TEXT, compile_library, make_mpi


@pytest.mark.parametrize(
    ("name", "abi"),
    [
        ("libmpi.so.12", Abi.MPICH),
        ("libmpi.so.12.0.0", Abi.MPICH),
        ("libmpich.so.12", Abi.MPICH),
        ("libmpi_cray.so.12", Abi.MPICH),
        ("libmpi_gnu_112.so.12", Abi.MPICH),
        ("libmpi.so.40", Abi.OPENMPI),
        ("libmpi.so.40.30.4", Abi.OPENMPI),
        ("libmpi.so.20", Abi.OPENMPI),
        ("libmpi_abi.so.1", Abi.STANDARD),
        ("libmpi_mpifh.so.40", None),
        ("libmpifort.so.12", None),
        ("libmpi.so.99", None),
        ("libc.so.6", None),
    ],
)
def test_the_name_of_a_library_tells_its_abi(name: str, abi: Abi | None) -> None:
    assert abi_of_name(name) is abi


@pytest.mark.parametrize(
    ("text", "family", "version"),
    [
        (MPI_TEXT["mpich"], Family.MPICH, "5.0.2"),
        (MPI_TEXT["openmpi"], Family.OPENMPI, "5.0.11"),
        (MPI_TEXT["intel"], Family.INTEL, "2021.18.1"),
        (MPI_TEXT["mvapich"], Family.MVAPICH, "4.0"),
        ("MVAPICH2 Version      :     2.3.7\n", Family.MVAPICH, "2.3.7"),
        (MPI_TEXT["cray"], Family.CRAY, "8.1.28.29"),
        ("Something new", Family.UNKNOWN, ""),
    ],
)
def test_the_version_text_tells_family_and_version(text: str, family: Family, version: str) -> None:
    assert parse_version(text) == (family, version)


def test_an_installation_is_described_by_its_own_library(tmp_path: Path, only_mpis) -> None:
    library = make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "five")
    (mpi,) = find_mpis()
    assert (mpi.family, mpi.version, mpi.abi, mpi.library) == (Family.MPICH, "5.0.2", Abi.MPICH, library)
    assert mpi.launcher == tmp_path / "five" / "bin" / "mpiexec"


def test_a_library_reached_in_two_ways_counts_once(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi.so.12")
    (tmp_path / "alias").symlink_to(tmp_path / "five")
    only_mpis(tmp_path / "five", tmp_path / "alias")
    assert len(list(find_mpis())) == 1


def test_a_library_that_does_not_answer_has_no_version(tmp_path: Path, only_mpis) -> None:
    compile_library("libmpi.so.12", tmp_path / "dumb" / "lib", "int nothing;")
    only_mpis(tmp_path / "dumb")
    (mpi,) = find_mpis()
    assert (mpi.family, mpi.version, mpi.launcher) == (Family.UNKNOWN, "", None)


def test_the_launcher_on_path_decides_before_everything_else(tmp_path: Path, only_mpis, monkeypatch) -> None:
    make_mpi(tmp_path / "wheel", MPI_TEXT["mpich"], "libmpi.so.12")
    make_mpi(tmp_path / "site", MPI_TEXT["openmpi"], "libmpi.so.40")
    only_mpis(tmp_path / "wheel")
    assert find_default_mpi().family is Family.MPICH
    launcher = str(tmp_path / "site" / "bin" / "mpiexec")
    monkeypatch.setattr(mpis.shutil, "which", lambda name: launcher if name == "mpiexec" else None)
    assert find_default_mpi().family is Family.OPENMPI


def test_without_any_mpi_the_message_says_how_to_get_one(only_mpis) -> None:
    only_mpis()
    with pytest.raises(UserError, match="no MPI") as caught:
        find_default_mpi()
    assert caught.value.remedy


def test_an_mpi_is_selected_by_family_by_version_or_by_path(tmp_path: Path, only_mpis) -> None:
    five = make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi.so.12")
    four = make_mpi(tmp_path / "four", MPI_TEXT["mpich"].replace("5.0.2", "4.0.2"), "libmpich.so.12")
    only_mpis(tmp_path / "five", tmp_path / "four")
    assert select_mpi("mpich").library == five
    assert select_mpi("mpich-4").library == four
    assert select_mpi("MPICH-5.0").library == five
    for path in (tmp_path / "four", tmp_path / "four" / "bin" / "mpiexec", four):
        assert select_mpi(str(path)).library == four


@pytest.mark.parametrize(
    ("usual", "aliases"),
    [
        ("intel", ["impi", "IntelMPI", "intel-mpi", "intel_mpi", "impi-2021", "intel-mpi-2021.18"]),
        ("openmpi", ["ompi", "open-mpi", "Open_MPI", "ompi-5", "open-mpi-5.0"]),
        ("mvapich", ["mvapich2", "mvapich2-4"]),
        ("cray", ["cray-mpich", "cray-mpich-8.1"]),
    ],
)
def test_an_mpi_answers_to_all_its_usual_names(tmp_path: Path, only_mpis, usual: str, aliases: list[str]) -> None:
    sonames = {"openmpi": "libmpi.so.40"}
    libraries = {
        name: make_mpi(tmp_path / name, text, sonames.get(name, "libmpi.so.12")) for name, text in MPI_TEXT.items()
    }
    only_mpis(*(tmp_path / name for name in MPI_TEXT))
    for alias in (usual, *aliases):
        assert select_mpi(alias).library == libraries[usual], alias
        assert mpis.is_named(alias, libraries[usual])
    with pytest.raises(UserError, match="no such MPI"):
        select_mpi(f"{aliases[0]}-1.2")


def test_an_unknown_selection_lists_what_there_is(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "five")
    with pytest.raises(UserError, match="openmpi") as caught:
        select_mpi("openmpi")
    assert "mpich-5.0.2" in caught.value.remedy


@pytest.mark.parametrize("exists", [True, False])
def test_a_path_without_an_mpi_is_refused(tmp_path: Path, only_mpis, exists: bool) -> None:
    only_mpis()
    with pytest.raises(UserError, match="found no libmpi" if exists else "no such file"):
        select_mpi(str(tmp_path if exists else tmp_path / "nowhere"))


def test_a_library_of_an_unknown_abi_is_refused(tmp_path: Path, only_mpis) -> None:
    only_mpis()
    strange = compile_library("libmpi.so.99", tmp_path / "lib")
    with pytest.raises(UserError, match="unknown ABI"):
        mpi_of_library(strange)


def test_a_library_without_a_launcher_borrows_its_familys(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi.so.12")
    other = make_mpi(tmp_path / "other", MPI_TEXT["mpich"], "libmpi.so.12")
    (tmp_path / "other" / "bin" / "mpiexec").unlink()
    only_mpis(tmp_path / "five")
    assert mpi_of_library(other).launcher == tmp_path / "five" / "bin" / "mpiexec"


def test_of_several_abis_in_one_installation_the_programs_own_is_taken(tmp_path: Path, only_mpis) -> None:
    plain = make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi.so.12")
    standard = make_mpi(tmp_path / "five", MPI_TEXT["mpich"], "libmpi_abi.so.1")
    only_mpis(tmp_path / "five")
    for wanted in ("mpich", str(tmp_path / "five")):
        assert select_mpi(wanted).library == plain
        assert select_mpi(wanted, Abi.STANDARD).library == standard
        assert select_mpi(wanted, Abi.OPENMPI).library == plain
