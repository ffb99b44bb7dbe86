"""espalier run and espalier lib, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workshop import MPI_TEXT, Command, compile_c, make_mpi

MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"


@pytest.fixture
def app(tmp_path: Path, only_mpis) -> str:
    """A program linked with a made-up MPICH that is also this machine's default."""
    library = make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "mpich")
    return str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}"))


def test_run_shows_its_command_line_without_running_it(command: Command, libraries, app: str) -> None:
    outcome = command("run", "-n", "3", "--dry-run", "--json", "--", app, "--json", "-n", "9")
    line = json.loads(outcome.out)["command"]
    assert (outcome.code, line[-6:]) == (0, ["-n", "3", app, "--json", "-n", "9"])


def test_the_programs_own_flags_need_no_dashes_in_front(command: Command, libraries, app: str) -> None:
    outcome = command("run", "-n", "2", "--dry-run", app, "-n", "9", "--help")
    assert outcome.code == 0
    assert outcome.out.rstrip().endswith(f"-n 2 {app} -n 9 --help")


def test_the_number_of_ranks_may_be_given_as_mpiexec_takes_it(command: Command, libraries, app: str) -> None:
    outcome = command("run", "-np", "2", "--dry-run", app)
    assert outcome.out.rstrip().endswith(f"-n 2 {app}")


def test_run_turns_its_options_into_settings(command: Command, libraries, core, app: str, tmp_path: Path) -> None:
    options = ("--virtual-nodes", "3,1,4", "--stats", str(tmp_path / "s.json"), "--set", "SHM_LIMIT=64M", "-vv")
    line = command("run", "-n", "8", *options, "--dry-run", "--", app).out
    for text in ("ESPALIER_VIRTUAL_NODES 3,1,4", f"ESPALIER_STATS {tmp_path}/s.json", "ESPALIER_SHM_LIMIT 64M"):
        assert text in line
    assert "ESPALIER_VERBOSE 2" in line


def test_sizes_of_virtual_nodes_repeat_while_ranks_remain(command: Command, libraries, core, app: str) -> None:
    assert command("run", "-n", "8", "--virtual-nodes", "3,1", "--dry-run", "--", app).code == 0


def test_run_takes_the_place_of_the_launcher_and_passes_its_exit_code_on(app: str, libraries: Path, tmp_path) -> None:
    launcher = tmp_path / "mpich" / "bin" / "mpiexec"
    launcher.write_text("#!/bin/sh\nexit 42\n")
    done = subprocess.run(
        [sys.executable, "-m", "espalier", "run", "--native", "--mpi", str(tmp_path / "mpich"), "--", app], check=False
    )
    assert done.returncode == 42


# What a rank that calls MPI leaves at its end, made by the launcher.
COUNTS = 'file=$(echo "$*" | sed -n "s/.*ESPALIER_STATS \\([^ ]*\\).*/\\1/p"); [ -z "$file" ] || echo "{}" > "$file"'


@pytest.mark.parametrize(
    ("script", "words", "is_told"),
    [
        ("exit 0", ["PLAIN"], True),
        ("exit 0", ["SCRIPT"], True),
        ("exit 3", ["PLAIN"], False),  # it has failed before it came to that
        (COUNTS, ["SCRIPT"], False),
        ("exit 0", ["APP"], False),  # linked with an MPI: that is seen before
        ("exit 0", ["--native", "--", "PLAIN"], False),
        ("exit 0", ["--set", "STATS=counts", "--", "PLAIN"], False),
    ],
)
def test_a_program_that_turns_out_to_use_no_mpi_is_told_in_a_line(
    command: Command, libraries, core, app: str, tmp_path: Path, script: str, words: list[str], is_told: bool
) -> None:
    (tmp_path / "mpich" / "bin" / "mpiexec").write_text(f"#!/bin/sh\n{script}\n")
    job = tmp_path / "job.sh"
    job.write_text("#!/bin/sh\n")
    job.chmod(0o755)
    names = {"PLAIN": "/bin/true", "SCRIPT": str(job), "APP": app}
    outcome = command("run", "-n", "2", *(names.get(word, word) for word in words))
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == is_told
    assert ("made no MPI call that Espalier saw" in outcome.err) == is_told


@pytest.mark.parametrize(
    ("arguments", "message", "remedy"),
    [
        (["run", "--", "/nowhere/app"], "no such program: /nowhere/app", "path"),
        (["run", "--mpi", "lam", "--", "APP"], "--mpi lam: no such MPI here", "mpich-5.0.2"),
        (["run", "--set", "SHM_LIMIT", "--", "APP"], "no value", "NAME=VALUE"),
        (["run", "--set", "SHM_LIMT=1", "--", "APP"], "no setting ESPALIER_SHM_LIMT", "ESPALIER_SHM_LIMIT"),
        (["run", "--set", "FOO=1", "--", "APP"], "no setting ESPALIER_FOO", "known: ESPALIER_"),
        (["run", "--stats", "/nowhere/s.json", "--", "APP"], "no folder /nowhere", "create"),
        (["run", "--stats", "/", "--", "APP"], "that is a folder", "file"),
        (
            ["run", "--virtual-nodes", "3,1", "-n", "2", "--", "APP"],
            "3,1 are of 4 ranks together, and the job has 2",
            "-n 4",
        ),
        (["run", "--set", "VIRTUAL_NODES=3,1", "-n", "6", "--", "APP"], "and the job has 6", "sum up to 6, or -n 8"),
        (["compare", "--virtual-nodes", "3,1", "-n", "2", "--", "APP"], "and the job has 2", "sum up to 2"),
        (["profile", "--virtual-nodes", "3,1", "-n", "2", "--", "APP"], "and the job has 2", "sum up to 2"),
        (["run", "--json", "--", "APP"], "--json without --dry-run", "--stats"),
        (["lib", "--for", "/bin/ls"], "uses no MPI", "--abi"),
        (["lib", "--for", "SCRIPT"], "cannot tell which MPI", "--abi"),
    ],
)
def test_mistakes_are_explained(
    command: Command, libraries, core, app: str, tmp_path: Path, arguments: list[str], message: str, remedy: str
) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    outcome = command(*({"APP": app, "SCRIPT": str(script)}.get(word, word) for word in arguments))
    assert (outcome.code, outcome.out) == (2, "")
    first, second = outcome.err.splitlines()
    assert message in first
    assert remedy in second


def test_lib_prints_one_path_and_nothing_else(command: Command, libraries: Path, app: str) -> None:
    outcome = command("lib", "--for", app)
    assert (outcome.code, outcome.out, outcome.err) == (0, f"{libraries / 'libespalier-mpich.so'}\n", "")


@pytest.mark.parametrize("abi", ["mpich", "openmpi", "abi"])
def test_lib_believes_who_knows_better(command: Command, libraries: Path, abi: str) -> None:
    facts = json.loads(command("lib", "--abi", abi, "--json").out)
    assert facts == {"path": str(libraries / f"libespalier-{abi}.so"), "abi": abi, "reason": f"chosen with --abi {abi}"}


def test_lib_without_a_program_serves_the_default_mpi(command: Command, libraries: Path, app: str) -> None:
    assert command("lib").out == f"{libraries / 'libespalier-mpich.so'}\n"


def test_a_library_that_was_not_built_is_named_with_the_remedy(command: Command, monkeypatch, tmp_path: Path) -> None:
    import espalier
    from espalier.jobs import libraries

    monkeypatch.setattr(espalier, "__path__", [str(tmp_path)])
    monkeypatch.setattr(libraries, "find_checkout", lambda: None)
    outcome = command("lib", "--abi", "abi")
    assert outcome.code == 2
    assert "libespalier-abi.so is missing" in outcome.err
    assert "install the package again" in outcome.err


def test_no_argument_shows_help_and_the_version_is_one_line(command: Command) -> None:
    assert "doctor" in command().out
    assert command("--version").out.startswith("espalier ")
