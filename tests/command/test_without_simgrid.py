"""A machine without SimGrid builds everything else, tests included, and plays plans as one with it does."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError
from espalier.jobs import libraries
from espalier.jobs.libraries import find_executor
from espalier.simulation import simulator
from workshop import Command

ROOT = find_checkout()
BUILD = ROOT / "build" / "release" if ROOT else Path("nowhere")
SIMGRIDS = ("#include <simgrid/", "#include <smpi/")


ALONE = BUILD / "src" / "simulate" / "espalier_simulator_alone"
JOB = ("simulate", "allreduce", "--nodes", "8", "--ppn", "2", "--platform", "fat_tree:leaves=2,down=4")


@pytest.fixture
def _without_simgrid(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that has none: the simulator is built a second time for this, the executor is not there."""
    missing = UserError("espalier-executor.so is missing", "")
    if ALONE.exists():
        monkeypatch.setattr(simulator, "find_simulator", lambda: ALONE)
        monkeypatch.setattr(libraries, "_find", Mock(side_effect=missing))
    elif _has_simgrid():
        pytest.skip("built without tests: scripts/install.sh builds them")


def _has_simgrid() -> bool:
    try:
        return find_executor().exists()
    except UserError:
        return False


@pytest.mark.usefixtures("_without_simgrid")
def test_without_simgrid_plans_are_played_by_our_own_solver(command: Command) -> None:
    outcome = command(*JOB, "--all", "--json")
    assert outcome.code == 0, outcome.err
    arms = json.loads(outcome.out)["arms"]
    assert len([arm for arm in arms if "microseconds" in arm]) > 5
    assert {arm["solver"] for arm in arms if "solver" in arm} == {"fluid"}


@pytest.mark.usefixtures("_without_simgrid")
@pytest.mark.parametrize("options", [["--solver", "simgrid"], ["--solver", "simgrid_full"], ["--against", "mpich"]])
def test_what_needs_simgrid_names_the_package_and_what_to_do_with_it(command: Command, options: list[str]) -> None:
    outcome = command(*JOB, *options)
    assert outcome.code == 2
    assert "SimGrid (Debian: apt-get install libsimgrid-dev)" in outcome.err
    assert re.search(r"build\s+Espalier\s+again", outcome.err)


def test_where_simgrid_is_missing_nothing_that_is_compiled_includes_it(tmp_path: Path) -> None:
    if not (BUILD / "CMakeInit.txt").exists():
        pytest.skip("not built here by scripts/install.sh")
    without = ["-DCMAKE_DISABLE_FIND_PACKAGE_SimGrid=ON", "-DESPALIER_TESTS=ON", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    command = ["cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", "-C", str(BUILD / "CMakeInit.txt")]
    subprocess.run([*command, *without], check=True, capture_output=True, timeout=120)
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    compiled = [path for it in commands for path in _list_compiled(Path(it["file"]))]
    assert any(path.name == "simulate_without_simgrid.cpp" for path in compiled)
    assert any(path.name.startswith("mpi_simulated_") for path in compiled)
    for path in compiled:
        assert not _includes_simgrid(path), path


def test_an_installation_without_any_library_is_refused_and_says_what_is_missing(tmp_path: Path) -> None:
    """`pip install` of a clone where `make mpi` has not been."""
    nowhere = ["-DESPALIER_MPICH_INCLUDE=/nowhere/mpich", "-DESPALIER_OPENMPI_INCLUDE=/nowhere/openmpi", "-DSKBUILD=2"]
    command = ["cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", *nowhere]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "there is no mpi.h in /nowhere/mpich or /nowhere/openmpi" in " ".join(done.stderr.split())
    assert "make mpi" in done.stderr


def _list_compiled(path: Path) -> list[Path]:
    """What one compilation is of: the file, or those that CMake has it go through in one."""
    if path.parent.name != "Unity":
        return [path]
    return [Path(name) for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)]


def _includes_simgrid(path: Path) -> bool:
    """The file itself, or the header that it was generated to compile alone."""
    text = path.read_text(encoding="utf-8")
    headers = [ROOT / "src" / line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')]
    texts = [text, *(it.read_text(encoding="utf-8") for it in headers if it.is_file())]
    return any(mark in it for it in texts for mark in SIMGRIDS)
