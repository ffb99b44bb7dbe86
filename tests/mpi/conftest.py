"""Fixtures of the MPI tests: the MPI a test runs under, asked for by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from launch import WHEELS, TestMpi, find_test_mpis


@pytest.fixture(scope="session")
def get_mpi() -> Callable[[str], TestMpi]:
    """Looks an MPI up by the tests' name for it; skips the test where the machine does not have it."""

    def get(name: str) -> TestMpi:
        found = find_test_mpis().get(name)
        if found is None and name in WHEELS:
            pytest.fail(f"{name} is missing although the set-up installs it: run `make mpi`")
        if found is None:
            pytest.skip(f"{name} is not installed on this machine (Debian: apt-get install mpich openmpi-bin)")
        if found.mpi.launcher is None:
            pytest.skip(f"{name} has no launcher")
        return found

    return get
