"""`make install`: what it leaves below a prefix, and programs built against that."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import espalier
from espalier.jobs.elf import read_elf
from installed import ROOT

MPIS = ROOT / "build" / "mpi"
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(choosing C)
find_package(Espalier 0.1 REQUIRED COMPONENTS mpich openmpi abi)
foreach(mpi mpich openmpi)
  add_executable(choose_${mpi} ${EXAMPLES}/choose.c)
  target_include_directories(choose_${mpi} PRIVATE ${MPIS}/${mpi}/include)
  target_link_libraries(choose_${mpi} PRIVATE espalier::espalier-${mpi} ${MPIS}/${mpi}/lib/libmpi.so)
endforeach()
"""

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "prefix" / "CMakeCache.txt").exists(), reason="not built for a prefix yet: make install"
)


def prefix() -> str:
    """What was built for."""
    cache = (ROOT / "build" / "prefix" / "CMakeCache.txt").read_text()
    return next(line.partition("=")[2] for line in cache.splitlines() if line.startswith("CMAKE_INSTALL_PREFIX:"))


def make(goal: str, staged: Path) -> None:
    """`make install` or `make uninstall` of what is built already, below `staged`."""
    subprocess.run(
        ["make", "--directory", ROOT, goal, f"DESTDIR={staged}", f"PREFIX={prefix()}", "PACKAGES=skip"],
        check=True,
        timeout=600,
        capture_output=True,
    )


def files_below(folder: Path) -> set[Path]:
    return {file for file in folder.rglob("*") if not file.is_dir()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The prefix, moved to a place that nobody knew when it was built."""
    staged = tmp_path_factory.mktemp("staged")
    make("install", staged)
    place = next(staged.rglob("bin/espalier")).parents[1]
    moved = tmp_path_factory.mktemp("moved") / "prefix"
    shutil.copytree(place, moved, symlinks=True)
    yield moved
    make("uninstall", staged)
    assert not files_below(staged), "uninstall has left something"


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("ESPALIER_", "PYTHON"))}
    environment = {**plain, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def test_the_command_finds_its_package_and_its_libraries(installed: Path) -> None:
    said = run(installed / "bin" / "espalier", "--version").stdout.splitlines()
    assert said[0] == f"espalier {espalier.__version__}"
    assert said[2] == "libraries for the ABIs: mpich, openmpi, abi"
    library = Path(run(installed / "bin" / "espalier", "lib", "--abi", "mpich").stdout.strip())
    assert installed in library.parents
    assert read_elf(library).soname == "libespalier-mpich.so.0"


@pytest.fixture(scope="module")
def linked(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example that calls Espalier by name, built by a CMake project that knows the prefix only."""
    source = tmp_path_factory.mktemp("project")
    (source / "CMakeLists.txt").write_text(PROJECT)
    places = (f"-DCMAKE_PREFIX_PATH={installed}", f"-DEXAMPLES={ROOT / 'examples'}", f"-DMPIS={MPIS}")
    configured = run("cmake", "-S", source, "-B", source / "build", "-G", "Ninja", *places)
    assert configured.returncode == 0, configured.stderr
    built = run("cmake", "--build", source / "build")
    assert built.returncode == 0, built.stdout
    return source / "build"


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_an_example_is_built_with_the_cmake_package_and_runs(mpi: str, linked: Path, installed: Path) -> None:
    program = linked / f"choose_{mpi}"
    assert f"libespalier-{mpi}.so.0" in read_elf(program).needed
    options = ("--native", "--mpi", str(MPIS / mpi), "-n", "2")
    done = run(installed / "bin" / "espalier", "run", *options, "--", program, "4096", "native", "")
    assert done.returncode == 0, done.stderr
    assert "native" in done.stdout


def test_a_job_is_handled_by_the_installed_library(linked: Path, installed: Path, tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"
    options = ("--mpi", str(MPIS / "mpich"), "-n", "2", "--stats", str(stats))
    done = run(installed / "bin" / "espalier", "run", *options, "--", linked / "choose_mpich", "4096", "")
    assert done.returncode == 0, done.stderr
    assert json.loads(stats.read_text())["MPI_Allgather"]["handled"] > 0


def test_an_example_is_built_with_pkg_config(installed: Path, tmp_path: Path) -> None:
    folder = str(next(installed.rglob("espalier-mpich.pc")).parent)
    flags = run("pkg-config", "--cflags", "--libs", "espalier-mpich", PKG_CONFIG_PATH=folder).stdout.split()
    assert f"-L{folder}/.." in flags
    mpi = MPIS / "mpich"
    program = tmp_path / "choose"
    sources = (ROOT / "examples" / "choose.c", f"-I{mpi}/include")
    done = run("cc", *sources, "-o", program, *flags, mpi / "lib" / "libmpi.so")
    assert done.returncode == 0, done.stderr
    version = run("pkg-config", "--modversion", "espalier-abi", PKG_CONFIG_PATH=folder).stdout.strip()
    assert version == espalier.__version__


def test_a_component_that_there_is_not_is_named(installed: Path, tmp_path: Path) -> None:
    project = "cmake_minimum_required(VERSION 3.25)\nproject(x C)\nfind_package(Espalier REQUIRED COMPONENTS lam)\n"
    (tmp_path / "CMakeLists.txt").write_text(project)
    done = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    assert done.returncode != 0
    assert "no library for 'lam'" in done.stderr


def test_there_are_pages_and_completions(installed: Path) -> None:
    assert (installed / "share" / "man" / "man1" / "espalier-run.1").exists()
    assert (installed / "share" / "bash-completion" / "completions" / "espalier").exists()


@pytest.mark.parametrize("name", ["serve", "collect"])
def test_units_start_the_installed_command(name: str, installed: Path, tmp_path: Path) -> None:
    unit = installed / "lib" / "systemd" / "system" / f"espalier-{name}.service"
    (started,) = re.findall(r"^ExecStart=(\S+)", unit.read_text(), re.MULTILINE)
    assert started == f"{prefix()}/bin/espalier"
    if shutil.which("systemd-analyze") is None:
        return
    moved = tmp_path / unit.name
    moved.write_text(unit.read_text().replace(f"{prefix()}/bin", f"{installed}/bin"))
    said = run("systemd-analyze", "verify", "--man=no", moved).stderr
    assert not [line for line in said.splitlines() if unit.name in line]


def test_nothing_names_the_place_that_it_was_built_in(installed: Path) -> None:
    text = [file for file in files_below(installed) if file.suffix in (".cmake", ".pc", ".py", ".1")]
    assert text
    assert not [file for file in text if str(ROOT) in file.read_text(errors="replace")]
