"""Where a job cannot learn where its ranks and cards are: no hwloc, a wrong one, hidden files, confined processors.
Every such job elects its first ranks, says why in one line to who asks, and goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from launch import TestMpi
from stats import assert_handled, read_stats
from test_leaders import MACHINES, OPTERON, run_movements, said, speakers

GetMpi = Callable[[str], TestMpi]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="hiding files of the system needs root")
NEAR = "1 speaks for the first node: near their NIC"
UNKNOWN = "0 speaks for the first node: nothing is known about the node"


@pytest.fixture
def broken_hwloc(tmp_path: Path) -> dict[str, str]:
    """hwloc is found, but cannot be loaded; our MPICH has one of its own inside."""
    (tmp_path / "libhwloc.so.15").write_text("not a library\n")
    return {"LD_LIBRARY_PATH": f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


def test_jobs_do_not_need_hwloc(get_mpi: GetMpi, broken_hwloc: dict[str, str]) -> None:
    outcome = run_movements(get_mpi("mpich-5"), broken_hwloc)
    assert said(outcome, "hwloc") == []
    assert len(speakers(outcome)) >= 1


def test_a_pretended_machine_without_hwloc_is_one_line(get_mpi: GetMpi, broken_hwloc: dict[str, str]) -> None:
    outcome = run_movements(get_mpi("mpich-5"), {**OPTERON, **broken_hwloc, "ESPALIER_VERBOSE": "0"})
    assert len(said(outcome, "hwloc cannot be loaded")) == 1, str(outcome)
    assert said(outcome, "hwloc cannot be loaded")[0].endswith("leaders are elected by rank")


HWLOC = {"HWLOC_XMLFILE": "machine.xml", "HWLOC_COMPONENTS": "-linux,stop", "HWLOC_SYNTHETIC": "nonsense"}


@cache
def usual_speakers(mpi: TestMpi) -> list[str]:
    return speakers(run_movements(mpi, {}))


def lies() -> Iterator[object]:
    """All of them to one MPI, and one to each of the others; the rest for the night."""
    for name, told in (("mpich-5", set(HWLOC)), ("openmpi-5", {"HWLOC_XMLFILE"}), ("intel", {"HWLOC_SYNTHETIC"})):
        for variable in HWLOC:
            yield pytest.param(name, variable, marks=() if variable in told else (pytest.mark.long,))


@pytest.mark.parametrize(("name", "variable"), list(lies()))
def test_hwlocs_own_settings_for_this_machine_are_not_looked_at(
    name: str, variable: str, get_mpi: GetMpi, tmp_path: Path
) -> None:
    garbage = tmp_path / HWLOC["HWLOC_XMLFILE"]
    garbage.write_text("<topology version='2.0'><object type='Machine'>\n")
    value = str(garbage) if variable == "HWLOC_XMLFILE" else HWLOC[variable]
    # For the ranks only: launchers read them, too.
    wrong = run_movements(get_mpi(name), {}, ["env", f"{variable}={value}"])
    assert speakers(wrong) == usual_speakers(get_mpi(name))


def hide(*folders: str) -> list[str]:
    """Starts a program that finds these folders empty, as some containers leave them."""
    script = " && ".join(f"mount -t tmpfs none {folder}" for folder in folders)
    return ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh"]


@as_root
@pytest.mark.parametrize("name", ["mpich-5", pytest.param("openmpi-5", marks=pytest.mark.long), "intel"])
def test_a_hidden_sysfs_leaves_first_ranks_leading(name: str, get_mpi: GetMpi, tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    outcome = run_movements(get_mpi(name), {"ESPALIER_STATS": str(file)}, hide("/sys"))
    assert speakers(outcome)[0] == UNKNOWN
    assert len(said(outcome, "no processors are known of this machine")) == len(speakers(outcome))
    assert_handled(read_stats(file), 0.8, ("MPI_Bcast",))


@as_root
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", pytest.param("intel", marks=pytest.mark.long)])
def test_hidden_devices_leave_first_ranks_leading(name: str, get_mpi: GetMpi) -> None:
    outcome = run_movements(get_mpi(name), {}, hide(*map(str, Path("/sys/devices").glob("pci*"))))
    assert speakers(outcome)[0] == "0 speaks for the first node: no NIC is known", str(outcome)
    assert said(outcome, "NIC: no network device is up")


@as_root
def test_hidden_devices_of_some_ranks_of_a_node_leave_first_ranks_leading(get_mpi: GetMpi) -> None:
    script = 'case "$PMI_RANK" in 2|3) mount -t tmpfs none /sys;; esac; exec "$@"'
    outcome = run_movements(get_mpi("mpich-5"), {}, ["unshare", "-m", "sh", "-c", script, "sh"])
    assert speakers(outcome)[0].startswith("0 speaks for the first node: "), str(outcome)


@pytest.fixture
def one_processor() -> Iterator[list[str]]:
    """Starts a program in a control group that may use one processor; version 1 and 2 of control groups."""
    for root, processors, more in (
        (Path("/sys/fs/cgroup/cpuset"), "cpuset.cpus", {"cpuset.mems": "0"}),
        (Path("/sys/fs/cgroup"), "cpuset.cpus", {}),
    ):
        group = root / f"espalier-test-{os.getpid()}"
        try:
            group.mkdir()
            for file, text in {processors: "0", **more}.items():
                (group / file).write_text(text)
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
        group.rmdir()
        return
    pytest.skip("no control group for processors can be made here")


@as_root
@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_a_control_group_that_leaves_one_processor_costs_no_failure(
    name: str, get_mpi: GetMpi, one_processor: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "stats.json"
    outcome = run_movements(get_mpi(name), {"ESPALIER_STATS": str(file)}, one_processor)
    assert speakers(outcome)[0].startswith("0 speaks for the first node: "), str(outcome)
    assert_handled(read_stats(file), 0.8, ("MPI_Bcast",))


def test_processors_that_the_machine_does_not_have_are_an_unknown_place(get_mpi: GetMpi) -> None:
    """A control group, a hot-plugged processor or a wrong snapshot: the binding is one of another machine."""
    settings = {"ESPALIER_MACHINE": str(MACHINES / "vm-no-pci.xml"), "ESPALIER_MACHINE_MAPPING": "unbound"}
    assert speakers(run_movements(get_mpi("mpich-5"), settings))[0].startswith("0 speaks for the first node: ")
