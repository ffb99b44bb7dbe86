"""Ranks in namespaces of their own, as containers have them: what they can do with each other's memory is tried, agreed
on, and said; results are right.

Under Intel MPI, which itself gets along without shared memory there; MPICH's and Open MPI's wheels do not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from launch import CHECKOUT, TestMpi
from test_passing import write_table

GetMpi = Callable[[str], TestMpi]
RANKS = 2
SOURCES = CHECKOUT / "tests" / "mpi" / "tools"


def run(mpi: TestMpi, *namespaces: str) -> str:
    """What Espalier says of a job whose ranks each have namespaces of their own, and whose results are right."""
    words = ["unshare", *namespaces]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{' '.join(words)} is not allowed here")
    return run_in(mpi, *words)


def run_in(mpi: TestMpi, *words: str) -> str:
    """The same of one whose ranks are started by `words`."""
    command = [*words, mpi.program("conformance"), "sizes", "mixing"]
    outcome = mpi.run(command, RANKS, settings={"ESPALIER_VERBOSE": "2"}, timeout=60)
    assert (outcome.code, "0 failed" in outcome.out) == (0, True), str(outcome)
    return outcome.err


def test_ranks_with_system_v_ipc_of_their_own_share_memory(get_mpi: GetMpi) -> None:
    assert "a communicator of 2 ranks on 1 nodes" in run(get_mpi("intel"), "--ipc")


def test_ranks_with_users_of_their_own_that_may_not_share_memory_stay_native_and_say_why(get_mpi: GetMpi) -> None:
    said = run(get_mpi("intel"), "--user", "--map-root-user")
    assert "communicators stay native: a node's shared memory cannot be mapped by all its ranks" in said


def test_ranks_with_process_numbers_of_their_own_are_nodes_of_their_own(get_mpi: GetMpi) -> None:
    said = run(get_mpi("intel"), "--pid", "--fork")
    assert "a communicator of 2 ranks on 2 nodes" in said
    assert said.count("share no memory: they count as 2 nodes") == 1, said


def test_ranks_with_file_systems_of_their_own_share_memory_that_has_no_name(get_mpi: GetMpi) -> None:
    said = run(get_mpi("intel"), "--mount", "sh", "-c", 'mount -t tmpfs none /tmp && exec "$0" "$@"')
    assert "a communicator of 2 ranks on 1 nodes" in said


@pytest.mark.parametrize(
    "kinds", [("--ipc", "--mount"), ("--user", "--map-root-user", "--pid", "--fork", "--ipc", "--mount")]
)
def test_containers_have_several_of_these_at_once(get_mpi: GetMpi, kinds: tuple[str, ...]) -> None:
    said = run(get_mpi("intel"), *kinds, "sh", "-c", 'mount -t tmpfs none /tmp && exec "$0" "$@"')
    where = "2 ranks on 2 nodes" if "--pid" in kinds else "2 ranks on 1 nodes"
    assert f"a communicator of {where}" in said, said


def make_forbidden(folder: Path) -> Path:
    """What runs a program that may not read the memory of others."""
    forbidden = folder / "forbidden"
    subprocess.run(["cc", "-o", str(forbidden), str(SOURCES / "forbidden.c")], check=True)
    if subprocess.run([forbidden, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("there is no seccomp here")
    return forbidden


def test_a_program_of_short_messages_runs_under_mpich_there_as_it_does_natively(
    get_mpi: GetMpi, tmp_path: Path
) -> None:
    """MPICH fails at long ones, on one rank alone. Ours are short, whatever tables and profiles hold."""
    mpi, table = get_mpi("mpich-5"), tmp_path / "table.json"
    write_table(table, mpi.mpi, RANKS)
    table.write_text(table.read_text() + " " * 100_000)
    settings = {"ESPALIER_TABLE": str(table), "ESPALIER_PROFILE": str(tmp_path / "profile.json")}
    command = [str(make_forbidden(tmp_path)), mpi.program("standstill"), "sleep", "1", "0"]
    outcome = mpi.run(command, RANKS, settings=settings, timeout=20)
    assert (outcome.code, "sum 1" in outcome.out) == (0, True), str(outcome)
    assert (tmp_path / "profile.json").exists()


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"ESPALIER_VERBOSE": "1"}, "ranks of a node must not read each other's memory: "),
        ({"ESPALIER_SINGLE_COPY": "cma"}, "ESPALIER_SINGLE_COPY=cma is not followed: "),
        ({}, ""),
    ],
)
def test_a_slower_path_is_one_line(get_mpi: GetMpi, tmp_path: Path, settings: dict[str, str], line: str) -> None:
    mpi = get_mpi("intel")
    command = [str(make_forbidden(tmp_path)), mpi.program("conformance"), "sizes"]
    outcome = mpi.run(command, RANKS, settings=settings, timeout=60)
    assert (outcome.code, "0 failed" in outcome.out) == (0, True), str(outcome)
    said = [it for it in outcome.err.splitlines() if "memory" in it]
    assert [line in it for it in said] == ([True] if line else []), str(outcome)


@pytest.mark.parametrize("who", ["all ranks", "one rank"])
@pytest.mark.parametrize("name", ["openmpi-5", "intel"])  # MPICH itself fails there
def test_ranks_that_may_not_read_each_others_memory_agree_on_cells(
    get_mpi: GetMpi, name: str, who: str, tmp_path: Path
) -> None:
    mpi, forbidden = get_mpi(name), make_forbidden(tmp_path)
    is_second = '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]'
    condition = is_second if who == "one rank" else "true"
    said = run_in(mpi, "sh", "-c", f'if {condition}; then exec {forbidden} "$0" "$@"; else exec "$0" "$@"; fi')
    assert "a communicator of 2 ranks on 1 nodes" in said
    assert "single copy off" in said, said
    assert "single copy off" not in run_in(mpi), "where it is allowed"
