"""The wheels of `make dist`, looked at without installing them."""

from __future__ import annotations

import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from espalier.jobs.elf import NotElf, read_elf
from installed import ROOT

ABIS = ("mpich", "openmpi", "abi")
# Three libraries of 1.2 MB, the core of 1.5 and the simulator of 0.5, compressed.
LARGEST = 6_000_000
# All of them parts of glibc. Before 2.34 threads and dlopen had libraries of their own.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}
FLOOR = (2, 28)


def binaries(folder: Path) -> Iterator[Path]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            try:
                read_elf(file)
            except NotElf:
                continue
            yield file


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_wheel_holds_all_builds_and_what_the_commands_run(unpacked: Path) -> None:
    names = {file.name for file in unpacked.iterdir()}
    assert {f"libespalier-{abi}.so" for abi in ABIS} <= names
    assert {f"espalier_{worker}_{abi}" for worker in ("bench", "tune", "nuioa") for abi in ABIS} <= names
    assert {"espalier-simulator", "_core.pyi", "py.typed", "_commit.txt"} <= names
    assert any(re.fullmatch(r"_core\..*so", name) for name in names)


def test_a_wheel_says_which_commit_it_is(unpacked: Path) -> None:
    assert re.fullmatch(r"[0-9a-f]{12}(-dirty)?\n", (unpacked / "_commit.txt").read_text())


def test_a_wheel_is_small_and_its_files_are_stripped(wheel: Path, unpacked: Path) -> None:
    assert wheel.stat().st_size <= LARGEST
    for file in binaries(unpacked):
        sections = output_of("readelf", "--wide", "--sections", file)
        assert ".debug_info" not in sections, file.name
        assert ".symtab" not in sections, file.name


def oldest_glibc(wheel: Path, machine: str) -> int:
    """The minor version of the oldest glibc that auditwheel holds a wheel to run with."""
    python = next(iter(sorted((ROOT / "build" / "dist").glob("env-*/bin/python"))), None)
    if python is None:
        pytest.skip("the environment with auditwheel is gone: make dist")
    said = " ".join(output_of(python, "-m", "auditwheel", "show", wheel).split())
    promised = re.search(rf'consistent with the following platform tag: "manylinux_2_(\d+)_{machine}"', said)
    assert promised, said
    return int(promised[1])


def test_auditwheel_finds_nothing_that_an_old_system_lacks(wheel: Path) -> None:
    assert oldest_glibc(wheel, "x86_64") <= FLOOR[1]


def test_no_symbol_is_younger_than_glibc_2_28(unpacked: Path) -> None:
    for file in binaries(unpacked):
        wanted = re.findall(r"GLIBC_(\d+)\.(\d+)", output_of("readelf", "--wide", "--version-info", file))
        newest = max(((int(major), int(minor)) for major, minor in wanted), default=(0, 0))
        assert newest <= FLOOR, f"{file.name} wants glibc {newest}"


def test_binaries_need_glibc_and_nothing_else(unpacked: Path) -> None:
    for file in binaries(unpacked):
        elf = read_elf(file)
        assert set(elf.needed) <= GLIBC, file.name
        assert not elf.rpath, file.name
        assert not elf.runpath, file.name


def exported_patterns() -> list[re.Pattern[str]]:
    text = (ROOT / "src" / "mpi" / "boundary" / "exports.map").read_text()
    inner = text.split("global:")[1].split("local:")[0]
    return [re.compile(pattern.strip().replace("*", ".*")) for pattern in inner.split(";") if pattern.strip()]


@pytest.mark.parametrize("abi", ABIS)
def test_a_preload_library_shows_the_names_of_mpi_and_its_own_only(abi: str, unpacked: Path) -> None:
    listed = output_of("nm", "--dynamic", "--defined-only", unpacked / f"libespalier-{abi}.so")
    names = [line.split()[-1] for line in listed.splitlines()]
    assert {"MPI_Allreduce", "MPI_Init", "Espalier_Allreduce"} <= set(names)
    strange = [name for name in names if not any(pattern.fullmatch(name) for pattern in exported_patterns())]
    assert not strange


def test_the_module_shows_python_its_beginning_and_nobody_the_libraries_inside(unpacked: Path) -> None:
    (module,) = unpacked.glob("_core.*so")
    listed = output_of("nm", "--dynamic", "--defined-only", module)
    assert [line.split()[-1] for line in listed.splitlines()] == ["PyInit__core"]


@pytest.mark.parametrize("abi", ABIS)
def test_the_soname_has_the_interfaces_version(abi: str, unpacked: Path) -> None:
    assert read_elf(unpacked / f"libespalier-{abi}.so").soname == f"libespalier-{abi}.so.0"


def test_there_is_a_debug_file_for_every_binary(wheel: Path, unpacked: Path) -> None:
    archive = wheel.with_suffix(".debug.tar")
    with tarfile.open(archive) as debug:
        names = set(debug.getnames())
    for file in binaries(unpacked):
        found = re.search(r"Build ID: ([0-9a-f]+)", output_of("readelf", "--notes", file))
        assert found, f"{file.name} has no build ID"
        assert f".build-id/{found[1][:2]}/{found[1][2:]}.debug" in names, file.name
