"""Wheels in clean Debian systems: what runs there runs anywhere of that age."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from installed import ALLREDUCE, WHEELS
from roots import in_root, make_root

pytestmark = pytest.mark.long

# Suite, Python, and the wheel that fits.
SYSTEMS = {"bookworm": ("3.11", "-cp311-"), "trixie": ("3.13", "-abi3-")}


def fitting(tag: str) -> Path:
    found = [wheel for wheel in WHEELS if tag in wheel.name]
    if not found:
        pytest.skip(f"dist/ holds no wheel with {tag}: make dist")
    return found[0]


def fetch(folder: Path, version: str, *packages: str | Path) -> None:
    """The wheels of packages and of what they need, for another Python: the root has no network settings."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", folder]
    target = ["--only-binary=:all:", "--python-version", version, *(f"--platform={it}" for it in PLATFORMS)]
    subprocess.run([*command, *target, *packages], check=True, timeout=600)


PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


@pytest.mark.parametrize("suite", SYSTEMS)
def test_a_wheel_serves_a_program_on_a_system_without_compilers(suite: str, tmp_path: Path) -> None:
    version, tag = SYSTEMS[suite]
    wheel = fitting(tag)
    root = make_root(suite, tmp_path)
    fetch(root / "wheels", version, wheel, "mpich", "mpi4py")
    assert in_root(root, "sh", "-c", "! command -v cc gcc c++ ld").returncode == 0
    install = "python3 -m venv /opt/env && /opt/env/bin/pip install --no-index /wheels/*.whl"
    done = in_root(root, "sh", "-c", install)
    assert done.returncode == 0, done.stderr
    run = ("/opt/env/bin/espalier", "run", "-n", "2", "--stats", "/stats.json", "--")
    done = in_root(root, *run, "/opt/env/bin/python", "-c", ALLREDUCE, PATH="/opt/env/bin:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    counts = json.loads((root / "stats.json").read_text())["MPI_Allreduce"]
    assert (counts["handled"], counts["native"]) == (3, 0)


def test_libraries_run_on_a_system_older_than_the_command(tmp_path: Path) -> None:
    """Debian 11 has glibc 2.31 and no Python for the command: a library in LD_PRELOAD, and MPICH's wheel unpacked."""
    wheel = fitting("-cp311-")
    root = make_root("bullseye", tmp_path)
    fetch(tmp_path / "wheels", "3.11", "mpich")
    for archive in (wheel, *(tmp_path / "wheels").glob("mpich*.whl")):
        subprocess.run([sys.executable, "-m", "zipfile", "-e", archive, root / "opt"], check=True)
    (mpiexec,) = (root / "opt").rglob("bin/mpiexec.hydra")
    for program in (*mpiexec.parent.iterdir(), root / "opt" / "espalier" / "espalier_bench_mpich"):
        program.chmod(0o755)
    data = "/" + str(mpiexec.parents[1].relative_to(root))
    library = "/opt/espalier/libespalier-mpich.so"
    assert in_root(root, "ls", "/", LD_PRELOAD=library).stderr == ""
    job = (f"{data}/bin/mpiexec.hydra", "-genv", "LD_PRELOAD", f"{library}:{data}/lib/libmpi.so.12", "-n", "2")
    worker = ("/opt/espalier/espalier_bench_mpich", "--ops", "bcast,allreduce", "--sizes", "8,65536", "--rounds", "1")
    done = in_root(root, *job, "-genv", "ESPALIER_VERBOSE", "1", *worker, "--budget-ms", "5")
    assert done.returncode == 0, done.stderr
    assert "MPI_Allreduce: handled" in done.stderr
