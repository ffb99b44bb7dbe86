"""The library that a site preloads for all programs: each gets the build for its own MPI, and nobody else notices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workshop import Command, compile_c, compile_library

SOURCE = Path(__file__).resolve().parents[2] / "src" / "preload" / "any.c"
FLAGS = ("-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-z,initfirst")
SONAMES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40", "abi": "libmpi_abi.so.1"}
# Says that it is loaded, as no build of ours does.
BUILD = '#include <stdio.h>\n__attribute__((constructor)) static void say(void) { puts("NAME"); fflush(stdout); }'
MAIN = """
#include <stdio.h>
#include <stdlib.h>
void MPI_Barrier(void);
int main(int count, char** words) {
  MPI_Barrier();
  printf("%d %s\\n%s\\n", count, words[count - 1], getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
  fflush(stdout);
  if (count > 2) return system(words[1]) != 0;
  return 7;
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library, stand-ins for the builds, and a program for each MPI's interface."""
    folder = tmp_path_factory.mktemp("site")
    compile_c(SOURCE.read_text(), folder / "libespalier-any.so.0", *FLAGS)
    for abi, soname in SONAMES.items():
        compile_library(f"libespalier-{abi}.so.0", folder, BUILD.replace("NAME", f"this is {abi}"))
        mpi = compile_library(soname, folder / abi, "void MPI_Barrier(void) {}")
        compile_c(MAIN, folder / f"app_{abi}", str(mpi), f"-Wl,-rpath,{mpi.parent}")
    return folder


def run(site: Path, *words: str, preload: tuple[str, ...] = ("any",), **variables: str) -> tuple[int, list[str]]:
    names = (word if "/" in word else str(site / f"libespalier-{word}.so.0") for word in preload)
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": ":".join(names), **variables}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("abi", list(SONAMES))
def test_each_program_gets_the_build_for_its_own_mpi_and_keeps_its_words(site: Path, abi: str) -> None:
    code, lines = run(site, str(site / f"app_{abi}"), "a b")
    both = f"{site}/libespalier-any.so.0:{site}/libespalier-{abi}.so.0"
    assert (code, lines) == (7, [f"this is {abi}", "2 a b", both])


def test_a_build_for_another_mpi_is_taken_out_and_other_tools_stay(site: Path) -> None:
    tool = compile_library("libtool.so", site)
    code, lines = run(site, str(site / "app_openmpi"), preload=("any", "mpich", str(tool)))
    both = f"{site}/libespalier-any.so.0:{site}/libespalier-openmpi.so.0"
    assert (code, lines[-3:]) == (7, ["this is openmpi", f"1 {site}/app_openmpi", f"{both}:{tool}"])


def test_a_build_that_fits_stays_even_if_it_is_somebodys_own(site: Path) -> None:
    own = compile_library("libespalier-openmpi.so", site / "own", BUILD.replace("NAME", "my own"))
    _, lines = run(site, str(site / "app_openmpi"), preload=("any", str(own)))
    assert lines[0] == "my own"
    assert "this is openmpi" not in lines


def test_what_a_program_starts_gets_the_build_for_its_mpi(site: Path) -> None:
    _, lines = run(site, str(site / "app_openmpi"), f"{site}/app_mpich ; true", "x")
    assert lines[0] == "this is openmpi"
    both = f"{site}/libespalier-any.so.0:{site}/libespalier-mpich.so.0"
    assert lines[-3:] == ["this is mpich", f"1 {site}/app_mpich", both]


def test_programs_without_mpi_are_left_alone(site: Path) -> None:
    assert run(site, "sh", "-c", "echo $LD_PRELOAD") == (0, [f"{site}/libespalier-any.so.0"])
    assert run(site, sys.executable, "-S", "-c", "print(6 * 7)") == (0, ["42"])


@pytest.mark.parametrize(
    ("variables", "lines"),
    [
        ({}, 0),
        ({"ESPALIER_STATS": "stats.json"}, 1),
        ({"ESPALIER_STATS": "stats.json", "PMI_RANK": "1"}, 0),
        ({"ESPALIER_DISABLE": "1"}, 0),
    ],
)
def test_who_wants_something_of_a_program_that_opens_its_mpi_by_itself_is_told_why_nothing_comes(
    site: Path, variables: dict[str, str], lines: int
) -> None:
    code = f"import ctypes; ctypes.CDLL('{site}/mpich/libmpi.so.12', mode=ctypes.RTLD_GLOBAL)"
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": f"{site}/libespalier-any.so.0", **variables}
    words = [sys.executable, "-S", "-c", code]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=60)
    said = done.stderr.splitlines()
    assert len(said) == lines, said
    assert all(it.endswith(f"name the build: LD_PRELOAD={site}/libespalier-mpich.so.0") for it in said), said


@pytest.mark.parametrize("variables", [{"ESPALIER_DISABLE": "1"}, {"LD_PRELOAD": "vgpreload"}])
def test_who_wants_none_and_what_runs_under_valgrind_gets_none(site: Path, variables: dict[str, str]) -> None:
    if "LD_PRELOAD" in variables:
        valgrind = compile_library("vgpreload_core.so", site)
        variables = {"LD_PRELOAD": f"{site}/libespalier-any.so.0:{valgrind}"}
    code, lines = run(site, str(site / "app_mpich"), **variables)
    assert code == 7
    assert lines[0] == f"1 {site}/app_mpich"


def test_a_build_that_is_not_there_is_done_without(site: Path, tmp_path: Path) -> None:
    alone = tmp_path / "libespalier-any.so.0"
    alone.write_bytes((site / "libespalier-any.so.0").read_bytes())
    code, lines = run(site, str(site / "app_mpich"), preload=(str(alone),))
    assert (code, lines) == (7, [f"1 {site}/app_mpich", str(alone)])


def test_an_open_file_and_the_process_number_survive(site: Path) -> None:
    """Launchers know their tasks by both: Slurm's PMI is an open socket."""
    script = f"echo $$; exec 5>&1; exec {site}/app_mpich x"
    reader = subprocess.Popen(
        ["sh", "-c", script],
        env={"PATH": os.environ["PATH"], "LD_PRELOAD": f"{site}/libespalier-any.so.0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    output, _ = reader.communicate(timeout=60)
    assert output.splitlines()[0] == str(reader.pid)
    assert (reader.returncode, output.splitlines()[1]) == (7, "this is mpich")


def test_the_command_tells_where_it_lies(command: Command, libraries: Path) -> None:
    (libraries / "libespalier-any.so").touch()
    outcome = command("lib", "--any")
    assert (outcome.code, outcome.out.strip()) == (0, str(libraries / "libespalier-any.so"))
    assert "--for and --abi" in command("lib", "--any", "--abi", "mpich").err
