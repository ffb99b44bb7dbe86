"""Fixtures of what is distributed: the wheels of `make dist`, unpacked, and environments that they are installed in."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from installed import WHEELS


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
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    fitting = [wheel for wheel in WHEELS if f"-{tag}-" in wheel.name or ("-abi3-" in wheel.name and tag > "cp311")]
    if not fitting:
        pytest.skip(f"dist/ holds no wheel for {tag}: make dist")
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, fitting[-1], "mpich", "mpi4py", "numpy"], check=True, timeout=600)
    return folder
