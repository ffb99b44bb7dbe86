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
    assert "a communicator of 2 ranks on 2 nodes" in run(get_mpi("intel"), "--pid", "--fork")


def test_ranks_with_file_systems_of_their_own_share_memory_that_has_no_name(get_mpi: GetMpi) -> None:
    said = run(get_mpi("intel"), "--mount", "sh", "-c", 'mount -t tmpfs none /tmp && exec "$0" "$@"')
    assert "a communicator of 2 ranks on 1 nodes" in said


@pytest.mark.parametrize("who", ["all ranks", "one rank"])
@pytest.mark.parametrize("name", ["openmpi-5", "intel"])  # MPICH itself fails there
def test_ranks_that_may_not_read_each_others_memory_agree_on_cells(
    get_mpi: GetMpi, name: str, who: str, tmp_path: Path
) -> None:
    mpi, forbidden = get_mpi(name), tmp_path / "forbidden"
    subprocess.run(["cc", "-o", str(forbidden), str(SOURCES / "forbidden.c")], check=True)
    if subprocess.run([forbidden, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("there is no seccomp here")
    is_second = '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ]'
    condition = is_second if who == "one rank" else "true"
    said = run_in(mpi, "sh", "-c", f'if {condition}; then exec {forbidden} "$0" "$@"; else exec "$0" "$@"; fi')
    assert "a communicator of 2 ranks on 1 nodes" in said
    assert "single copy off" in said, said
    assert "single copy off" not in run_in(mpi), "where it is allowed"
