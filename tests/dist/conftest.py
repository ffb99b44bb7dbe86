"""Fixtures of what is distributed: the wheels of `make dist`, unpacked, and environments that they are installed in."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from installed import WHEELS, make_environment


@pytest.fixture(params=WHEELS or [None], ids=lambda wheel: wheel.name.split("-")[2] if wheel else "none")
def wheel(request: pytest.FixtureRequest) -> Path:
    """Each wheel in turn."""
    if request.param is None:
        pytest.skip("dist/ holds no wheel: make dist")
    return Path(request.param)


@pytest.fixture
def unpacked(wheel: Path, tmp_path: Path) -> Path:
    """The folder `espalier` out of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "espalier"


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of this Python with the wheel for it, MPICH and mpi4py, and of Espalier nothing else."""
    return make_environment(tmp_path_factory.mktemp("environment") / "venv", "mpich", "mpi4py", "numpy")
