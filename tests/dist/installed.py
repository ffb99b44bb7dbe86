"""What the tests of distributions share: where wheels lie, and how a command of an environment is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from espalier.base.checkout import find_checkout

ROOT = find_checkout() or Path()
WHEELS = sorted((ROOT / "dist").glob("*.whl"))
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
