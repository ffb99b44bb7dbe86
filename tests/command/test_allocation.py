"""What a batch system has given, read from environments that were recorded inside its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs.allocation import Allocation, Host, Outside, System, is_in_batch, parse_counts, read_allocation

# Slurm 22.05: in `salloc -N2 --ntasks-per-node=2`.
SALLOC = {
    "SLURM_JOB_ID": "3",
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_TASKS_PER_NODE": "2(x2)",
    "SLURM_JOB_CPUS_PER_NODE": "2(x2)",
    "SLURM_JOB_NODELIST": "node[0-1]",
    "SLURM_NTASKS": "4",
}
# The same in a script that sbatch runs: it is a process of the job's, but no srun's.
SBATCH = {**SALLOC, "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURMD_NODENAME": "node0"}
# `salloc -N2 --exclusive --ntasks-per-node=2 --cpus-per-task=2` on nodes of four processors.
EXCLUSIVE = {
    "SLURM_JOB_ID": "7",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_TASKS_PER_NODE": "2(x2)",
    "SLURM_JOB_CPUS_PER_NODE": "4(x2)",
    "SLURM_CPUS_PER_TASK": "2",
    "SLURM_NTASKS": "4",
}
# `srun -n2` in the first of these.
STEP = {
    **SALLOC,
    "SLURM_NTASKS": "2",
    "SLURM_TASKS_PER_NODE": "1(x2)",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_PROCID": "1",
}
# OpenPBS, as its manual has it: qsub -l select=2:ncpus=2:mpiprocs=2.
PBS = {"PBS_JOBID": "11.server", "PBS_NODEFILE": "/var/spool/pbs/aux/11.server"}
PBS_NODES = "node0\nnode0\nnode1\nnode1\n"
LSF = {"LSB_JOBID": "12", "LSB_MCPU_HOSTS": "hostA 16 hostB 8", "LSB_DJOB_NUMPROC": "24"}
FLUX = {"FLUX_URI": "local:///tmp/flux-x/local-0", "FLUX_JOB_ID": "f2WxJ"}


def read(environment: Mapping[str, str], file: str = "", told: str = "", hostfile: Path | None = None):
    return read_allocation(environment, Outside(lambda path: file, lambda command: told), hostfile)


def slots(allocation: Allocation | None) -> list[int]:
    assert allocation is not None
    return [host.slots for host in allocation.hosts]


def test_outside_of_any_batch_system_there_is_no_allocation() -> None:
    assert read({"HOME": "/root"}) is None
    assert not is_in_batch({"HOME": "/root"})


@pytest.mark.parametrize("environment", [SALLOC, SBATCH])
def test_slurm_tells_ranks_by_node(environment: Mapping[str, str]) -> None:
    allocation = read(environment)
    assert slots(allocation) == [2, 2]
    assert allocation is not None
    assert (allocation.system, allocation.job, allocation.in_step) == (System.SLURM, "3", False)
    assert str(allocation) == "Slurm (3): 2 hosts, 4 ranks"
    assert is_in_batch(environment)


def test_a_node_may_have_more_processors_than_it_was_asked_for_ranks() -> None:
    assert read(EXCLUSIVE) == Allocation(System.SLURM, "7", (Host(2, 4), Host(2, 4)))


def test_where_slurm_was_asked_for_no_ranks_its_processors_count() -> None:
    assert slots(read({"SLURM_JOB_ID": "1", "SLURM_JOB_CPUS_PER_NODE": "64(x2),32"})) == [64, 64, 32]


def test_slurms_counts_are_read_whatever_their_form() -> None:
    assert parse_counts("2(x3),1") == [2, 2, 2, 1]
    assert parse_counts("16") == [16]
    for nonsense in ("", "2(x)", "many", "2,,1", "-1"):
        with pytest.raises(UserError, match="counts"):
            parse_counts(nonsense)


def test_several_espaliers_started_by_srun_are_refused_and_told_what_to_write() -> None:
    with pytest.raises(UserError, match="srun has started espalier 2 times") as caught:
        read(STEP)
    assert "leave srun out" in caught.value.remedy


def test_one_task_of_srun_may_start_a_job_inside_its_own_step() -> None:
    alone = {**SALLOC, "SLURM_STEP_ID": "4", "SLURM_STEP_NUM_TASKS": "1", "SLURM_TASKS_PER_NODE": "1"}
    allocation = read(alone)
    assert allocation is not None
    assert allocation.in_step
    assert slots(allocation) == [1]
    interactive = read({**SALLOC, "SLURM_STEP_ID": str(0xFFFFFFFA), "SLURM_STEP_NUM_TASKS": "1"})
    assert interactive is not None
    assert not interactive.in_step, "salloc's own shell holds nothing"


def test_a_job_id_alone_says_nothing() -> None:
    with pytest.raises(UserError, match="SLURM_JOB_ID is 9") as caught:
        read({"SLURM_JOB_ID": "9"})
    assert "salloc" in caught.value.remedy


def test_pbs_lists_a_host_once_for_each_rank() -> None:
    assert read(PBS, PBS_NODES) == Allocation(System.PBS, "11.server", (Host(2, 2, "node0"), Host(2, 2, "node1")))
    assert read({"PBS_JOBID": "11.server"}) is None, "without the list nothing is known"


def test_lsf_names_hosts_with_their_slots() -> None:
    assert read(LSF) == Allocation(System.LSF, "12", (Host(16, 16, "hostA"), Host(8, 8, "hostB")))
    with pytest.raises(UserError, match="LSB_MCPU_HOSTS") as caught:
        read({"LSB_JOBID": "12", "LSB_MCPU_HOSTS": "hostA hostB"})
    assert "--hostfile" in caught.value.remedy


def test_flux_is_asked_since_its_environment_does_not_say() -> None:
    assert slots(read(FLUX, told="3 8\n")) == [3, 3, 2]
    with pytest.raises(UserError, match="flux resource list"):
        read(FLUX, told="")


def test_a_host_file_may_have_any_launchers_form_and_counts_before_the_batch_system() -> None:
    text = "# ours\nnode0:4\nnode1 slots=2 max_slots=8\nnode2\n\nnode2   # twice\n"
    allocation = read(SALLOC, text, hostfile=Path("hosts"))
    assert allocation is not None
    assert [(host.name, host.slots) for host in allocation.hosts] == [("node0", 4), ("node1", 2), ("node2", 2)]
    assert allocation.system is System.HOSTFILE


@pytest.mark.parametrize("text", ["", "# nothing\n", "node0:none\n", "node0:0\n", ":4\n", "node0 slots=\n"])
def test_a_host_file_that_names_no_hosts_says_what_to_write(text: str) -> None:
    with pytest.raises(UserError) as caught:
        read({}, text, hostfile=Path("hosts"))
    assert "node0:4" in caught.value.remedy


def test_a_host_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    outside = Outside(Path.read_text, lambda command: "")
    with pytest.raises(UserError, match="No such file"):
        read_allocation({}, outside, tmp_path / "nowhere")
