"""What a job reads from disks when it starts: a cluster's are everybody's, and thousands of ranks start at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from espalier.jobs.mpis import read_library_version
from launch import TestMpi
from spy import compile_spy, format_table

GetMpi = Callable[[str], TestMpi]
RANKS = 8

# Each node's own, in memory.
_LOCAL = ("/proc/", "/sys/", "/dev/", "/run/")


@pytest.fixture(scope="module")
def spy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_spy(tmp_path_factory.mktemp("spy"))


def write_table(mpi: TestMpi, path: Path) -> None:
    """A table that is in force here."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(format_table(read_library_version(mpi.mpi.library)))


def reads_of(mpi: TestMpi, spy: Path, folder: Path, native: bool, **variables: str) -> Counter[str]:
    """How many of the job's processes looked at each file that may lie on a disk."""
    log = folder / f"log-{native}"
    settings = {"SPY_LOG": str(log), **variables}
    # The spy stands behind our library, which is first in its own LD_PRELOAD.
    words = ["sh", "-c", f'export LD_PRELOAD="$LD_PRELOAD:{spy}"; exec "$@"', "sh", mpi.program("conformance"), "sizes"]
    outcome = mpi.run(words, RANKS, native=native, settings=settings)
    assert outcome.code == 0, str(outcome)
    seen = {tuple(line.split(" ", 1)) for line in log.read_text().splitlines()}
    return Counter(path for _, path in seen if not path.startswith(_LOCAL))


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_the_table_is_all_that_starting_reads(name: str, get_mpi: GetMpi, spy: Path, tmp_path: Path) -> None:
    mpi = get_mpi(name)
    home = tmp_path / "config"
    write_table(mpi, home / "espalier" / "table.json")
    ours, native = (reads_of(mpi, spy, tmp_path, which, XDG_CONFIG_HOME=str(home)) for which in (False, True))
    places = ("/etc/espalier", str(home))
    passing = (*places, "/tmp/")  # launchers' own files have a new name in every job
    more = {path for path in set(ours) - set(native) if not path.startswith(passing) and ".so" not in path}
    assert more == set()
    assert any(path.startswith(places) for path in ours), "or the spy sees nothing"


@pytest.mark.parametrize("nodes", ["1", "3,1,4"])
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_one_rank_of_a_job_reads_the_tables_and_hands_them_on(
    name: str, nodes: str, get_mpi: GetMpi, spy: Path, tmp_path: Path
) -> None:
    mpi = get_mpi(name)
    home = tmp_path / "config"
    for name_of_file in ("table.json", "tables/one.json", "tables/two.json"):
        write_table(mpi, home / "espalier" / name_of_file)
    settings = {"XDG_CONFIG_HOME": str(home), "ESPALIER_VIRTUAL_NODES": nodes, "ESPALIER_LEARN": "read"}
    reads = reads_of(mpi, spy, tmp_path, False, **settings)
    ours = {path: count for path, count in reads.items() if path.startswith(str(home))}
    assert [path for path in ours if path.endswith(".json")]
    assert set(ours.values()) == {1}, ours
