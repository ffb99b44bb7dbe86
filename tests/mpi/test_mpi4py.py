"""mpi4py's own tests, unmodified, with Espalier preloaded.

mpi4py loads libmpi late and for itself alone, calls the large-count functions where there are any, and covers corners
of the interface that no application does. The tests come with its source package, which the first run fetches.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from launch import CHECKOUT, Outcome, TestMpi
from stats import OPERATIONS, read_stats

GetMpi = Callable[[str], TestMpi]
MPIS = ("mpich-5", "openmpi-5", "intel")
MODULES = ("test_cco_buf", "test_cco_obj", "test_cco_vec", "test_comm")
# Its tests repeat every call for whatever holds numbers in Python: to an MPI all of it is memory. Python's own arrays
# take a third of the time; the rest meets one MPI, and the others at night.
ARRAYS = ("--no-numpy",)


@pytest.fixture(scope="session")
def suite() -> Path:
    """The main program of mpi4py's tests, of the same version as the installed mpi4py."""
    wanted = version("mpi4py")
    folder = CHECKOUT / "build" / "mpi4py-src"
    main = folder / f"mpi4py-{wanted}" / "test" / "main.py"
    if not main.exists():
        draft = folder.with_name("mpi4py-src.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        fetch(wanted, draft)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    return main


def fetch(wanted: str, folder: Path) -> None:
    source = ["--no-deps", "--no-binary", "mpi4py", f"mpi4py=={wanted}"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", *source, "-d", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"mpi4py's source package cannot be fetched: {done.stderr.strip()[-200:]}")
    # Not TarFile.extractall with a filter: Debian 12's Python 3.11.2 does not know filters yet.
    shutil.unpack_archive(next(folder.glob("*.tar.gz")), folder)


def run_suite(
    mpi: TestMpi, main: Path, modules: list[str], ranks: int, stats: Path, options: Sequence[str] = ()
) -> Outcome:
    abi = "openmpi" if mpi.abi == "openmpi" else "mpich"
    settings = {
        "ESPALIER_STATS": str(stats),
        "MPI4PY_MPIABI": abi,
        "LD_LIBRARY_PATH": str(mpi.mpi.library.parent),  # how mpi4py finds libmpi when it is imported
    }
    command = [sys.executable, str(main), "--quiet", "--failfast", "--no-builddir", *options, *modules]
    return mpi.run(command, ranks, bare=True, settings=settings, timeout=400)


WITH_ARRAYS = pytest.mark.parametrize(
    ("name", "options"),
    [*((name, ARRAYS) for name in MPIS), *(pytest.param(name, (), marks=pytest.mark.long) for name in MPIS)],
)
WITH_ALL_UNDER_ONE = pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("mpich-5", ARRAYS), ("openmpi-5", ()), ("intel", ARRAYS)),
        *(pytest.param(name, (), marks=pytest.mark.long) for name in ("mpich-5", "intel")),
    ],
)


@WITH_ALL_UNDER_ONE
def test_collectives_of_mpi4py_are_served(
    name: str, options: Sequence[str], get_mpi: GetMpi, suite: Path, tmp_path: Path
) -> None:
    file = tmp_path / "stats.json"
    outcome = run_suite(get_mpi(name), suite, list(MODULES), 3, file, options)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("OK") == 3, str(outcome)
    stats = read_stats(file)
    for operation in OPERATIONS:
        # Half of the suite runs on communicators of one rank, where there is nothing to do.
        elsewhere = {reason: n for reason, n in stats[operation].reasons.items() if reason != "one rank"}
        assert stats[operation].handled > 0, f"{operation}: {stats[operation]}"
        assert stats[operation].handled >= sum(elsewhere.values()), f"{operation}: {stats[operation]}"


@WITH_ARRAYS
def test_nonblocking_collectives_of_mpi4py_are_served(
    name: str, options: Sequence[str], get_mpi: GetMpi, suite: Path, tmp_path: Path
) -> None:
    file = tmp_path / "stats.json"
    outcome = run_suite(get_mpi(name), suite, ["test_cco_nb_buf", "test_cco_nb_vec"], 3, file, options)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("OK") == 3, str(outcome)
    stats = read_stats(file)
    for operation in OPERATIONS:
        assert stats[operation].handled > 0, f"{operation}: {stats[operation]}"


@WITH_ARRAYS
def test_persistent_collectives_of_mpi4py_are_served(
    name: str, options: Sequence[str], get_mpi: GetMpi, suite: Path, tmp_path: Path
) -> None:
    file = tmp_path / "stats.json"
    outcome = run_suite(get_mpi(name), suite, ["test_cco_pr_buf"], 3, file, options)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("OK") == 3, str(outcome)
    stats = read_stats(file)
    for operation in ("MPI_Bcast", "MPI_Allgather", "MPI_Allreduce", "MPI_Alltoall"):
        assert stats[operation].handled > 0, f"{operation}: {stats[operation]}"


@WITH_ARRAYS
def test_neighbourhood_collectives_of_mpi4py_are_served(
    name: str, options: Sequence[str], get_mpi: GetMpi, suite: Path, tmp_path: Path
) -> None:
    file = tmp_path / "stats.json"
    outcome = run_suite(get_mpi(name), suite, ["test_cco_ngh_buf", "test_cco_ngh_obj"], 4, file, options)
    assert outcome.code == 0, str(outcome)
    assert outcome.err.count("OK") == 4, str(outcome)
    stats = read_stats(file)
    for operation in ("MPI_Neighbor_allgather", "MPI_Neighbor_alltoall"):
        assert stats[operation].handled > 0, f"{operation}: {stats[operation]}"


@pytest.mark.long
@pytest.mark.parametrize("name", MPIS)
def test_the_rest_of_mpi4py_works_as_ever(name: str, get_mpi: GetMpi, suite: Path, tmp_path: Path) -> None:
    modules = ["test_cco_buf_inter", "test_cco_obj_inter", "test_comm_inter"]
    modules += ["test_p2p_buf", "test_attributes", "test_errhandler", "test_threads", "test_session", "test_environ"]
    outcome = run_suite(get_mpi(name), suite, modules, 4, tmp_path / "stats.json")
    assert outcome.code == 0, str(outcome)


LATE = """
import sys
assert "mpi4py.MPI" not in sys.modules
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
data = np.arange(5000.0) if comm.rank == 1 else np.zeros(5000)
comm.Bcast(data, root=1)
assert (data == np.arange(5000.0)).all()
word = comm.bcast({"a": [1, 2, 3]} if comm.rank == 0 else None, root=0)
assert word == {"a": [1, 2, 3]}
assert comm.allgather(comm.rank ** 2) == [r * r for r in range(comm.size)]
comm.Barrier()
"""


@pytest.mark.parametrize("name", MPIS)
def test_a_python_that_loads_mpi_late_is_served(name: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(name), tmp_path / "stats.json"
    settings = {
        "ESPALIER_STATS": str(file),
        "MPI4PY_MPIABI": "openmpi" if mpi.abi == "openmpi" else "mpich",
        "LD_LIBRARY_PATH": str(mpi.mpi.library.parent),
    }
    outcome = mpi.run([sys.executable, "-c", LATE], 3, bare=True, settings=settings)
    assert outcome.code == 0, str(outcome)
    stats = read_stats(file)
    assert stats["MPI_Bcast"].handled >= 2
    assert all(counts.native == 0 for counts in stats.values()), str(stats)
