"""What preloading costs and changes for programs that have nothing to do with MPI: nothing that one would notice."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs.elf import read_elf
from espalier.jobs.libraries import Abi, find_any_library, find_preload_library

# What the loader does for a library, beside mapping it: so many values to be added to, so many names to be looked up. A
# third of a millisecond in all (bench/micro/loading.c), which no test can hold a busy machine to.
MOST_RELATIVE, MOST_NAMES = 6000, 400

PROGRAMS = {
    "ls": ["ls", "-l", str(Path(__file__).parent.parent)],
    "bash": ["bash", "-c", "echo $((6 * 7)); (exit 3)"],
    "a pipe": ["sh", "-c", "seq 1000 | sort -n | tail -1"],
    "env": ["sh", "-c", "env | grep -v -e LD_PRELOAD -e ^_= | sort"],
}


@pytest.fixture(params=[*Abi, "any"])
def library(request: pytest.FixtureRequest) -> Path:
    try:
        return find_any_library() if request.param == "any" else find_preload_library(request.param)
    except UserError as error:
        pytest.skip(error.message)


@pytest.mark.parametrize("command", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_without_mpi_do_and_say_what_they_did(command: list[str], library: Path) -> None:
    plain = dict(os.environ)
    expected = subprocess.run(command, capture_output=True, env=plain, check=False)
    loaded = {**plain, "LD_PRELOAD": str(library)}
    got = subprocess.run(command, capture_output=True, env=loaded, check=False)
    assert (got.returncode, got.stdout, got.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_the_loader_has_little_to_do(library: Path) -> None:
    shown = subprocess.run(
        ["readelf", "--wide", "--relocs", library], capture_output=True, text=True, check=True
    ).stdout
    relative = shown.count("_RELATIVE")
    names = sum("_GLOB_DAT" in line or "_JUMP_SLO" in line or "R_X86_64_64 " in line for line in shown.splitlines())
    assert relative <= MOST_RELATIVE
    assert 0 < names <= MOST_NAMES
    assert {name.split(".so")[0] for name in read_elf(library).needed} <= {"libc", "libm", "ld-linux-x86-64"}


def test_the_libraries_streams_and_locales_are_not_in_it(library: Path) -> None:
    """They would be a quarter of it, and are initialized in each process."""
    shown = subprocess.run(["nm", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert "_ZNSt6locale5_ImplC" not in shown


def test_it_starts_no_threads_opens_no_files_and_says_nothing(library: Path) -> None:
    ask = "ls /proc/self/fd | wc -l; grep Threads /proc/self/status"
    plain = subprocess.run(["sh", "-c", ask], capture_output=True, text=True, check=True)
    loaded = {**os.environ, "LD_PRELOAD": str(library), "ESPALIER_VERBOSE": "2", "ESPALIER_STATS": "/nowhere/stats"}
    got = subprocess.run(["sh", "-c", ask], capture_output=True, text=True, check=True, env=loaded)
    assert (got.stdout, got.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="makes a setuid program, as root")
def test_a_setuid_program_runs_without_it(library: Path, tmp_path: Path) -> None:
    """The loader takes no library with a path into such a program, and does not complain."""
    program = Path("/tmp") / f"espalier-setuid-{os.getpid()}"
    shutil.copy("/bin/cat", program)
    try:
        os.chown(program, 0, 0)
        program.chmod(0o4755)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        loaded = {**os.environ, "LD_PRELOAD": str(library)}
        done = subprocess.run(
            [*as_nobody, program, "/proc/self/maps"], capture_output=True, text=True, check=True, env=loaded
        )
        assert "libc.so" in done.stdout
        assert "espalier" not in done.stdout.replace(program.name, "")
        assert "cannot be preloaded" not in done.stderr.replace("setpriv", "")
    finally:
        program.unlink()
