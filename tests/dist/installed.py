"""What the tests of distributions share: where wheels lie, and how a command of an environment is run."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from espalier.base.checkout import find_checkout

ROOT = find_checkout() or Path()
# For this kind of machine; those for others have tests of their own.
WHEELS = sorted((ROOT / "dist").glob(f"*_{platform.machine()}.whl"))
# Sums on two ranks, at three sizes.
ALLREDUCE = """
from mpi4py import MPI
import array
world = MPI.COMM_WORLD
for size in (1, 100, 100_000):
    mine, total = array.array("d", [world.rank + 1.0]) * size, array.array("d", [0.0]) * size
    world.Allreduce(mine, total)
    assert set(total) == {3.0}, set(total)
print("summed")
"""


def make_environment(folder: Path, *packages: str) -> Path:
    """An environment of this Python with the wheel for it and these packages; skips where there is no such wheel."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    fitting = [wheel for wheel in WHEELS if f"-{tag}-" in wheel.name or ("-abi3-" in wheel.name and tag > "cp311")]
    if not fitting:
        pytest.skip(f"dist/ holds no wheel for {tag}: make dist")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, fitting[-1], *packages], check=True, timeout=600)
    return folder


def run_in(environment: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of the environment as somebody without compilers, settings or a source tree would."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("ESPALIER_", "PYTHON"))}
    path = f"{environment / 'bin'}:/nowhere"
    return subprocess.run(
        [environment / "bin" / command[0], *command[1:]],
        env={**plain, "PATH": path, "COLUMNS": "200", **variables},
        cwd=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
