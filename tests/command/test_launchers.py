"""Launchers as data: from (launcher, allocation, layout) to a command line, and which launcher is picked where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs.allocation import Allocation, Host, System
from espalier.jobs.launchers import FLUX, HYDRA, INTEL_HYDRA, OPEN_MPI, OPEN_MPI_5, SRUN, pick_launcher, write_line
from espalier.jobs.layout import Layout
from espalier.jobs.libraries import Abi
from espalier.jobs.mpis import Family, Mpi

SLURM = Allocation(System.SLURM, "7", (Host(2, 2),) * 2)
PBS = Allocation(System.PBS, "8", (Host(2, 2, "a"), Host(2, 2, "b")))
FOUR = Layout(4, 2, 2)
VARIABLES = {"ESPALIER_CHOICE_BARRIER": "x,y=1", "LD_PRELOAD": "/l.so"}


def an_mpi(family: Family, version: str = "5.0.2", launcher: str | None = "/opt/bin/mpiexec") -> Mpi:
    path = Path(launcher) if launcher else None
    return Mpi(family, version, Abi.MPICH, Path("/opt/lib/libmpi.so.12"), path, "test")


def line(launcher, allocation=None, layout=FOUR, variables=None, **more) -> str:
    return " ".join(write_line(launcher, allocation, layout, variables or {}, **more))


def test_srun_gets_the_shape_and_the_ranks_their_environment_by_env() -> None:
    told = line(SRUN, SLURM, variables=VARIABLES)
    assert told == (
        "srun --input=0 --nodes=2 --ntasks-per-node=2 --ntasks=4 env ESPALIER_CHOICE_BARRIER=x,y=1 LD_PRELOAD=/l.so"
    )
    assert line(SRUN, SLURM, Layout(3)) == "srun --input=0 --ntasks=3"
    assert line(SRUN, SLURM, Layout(8, 3)) == "srun --input=0 --nodes=3 --ntasks=8"


def test_a_step_inside_a_step_shares_what_the_outer_one_holds() -> None:
    assert "--overlap" in line(SRUN, replace(SLURM, in_step=True))
    assert "--overlap" not in line(SRUN, SLURM)


def test_mpiexec_asks_slurm_for_hosts_itself_and_is_told_those_of_others() -> None:
    assert line(HYDRA, SLURM) == "mpiexec -ppn 2 -n 4"
    assert line(HYDRA, PBS) == "mpiexec -hosts a:2,b:2 -ppn 2 -n 4"
    assert line(HYDRA, PBS, Layout(1, 1, 1)) == "mpiexec -hosts a:1 -ppn 1 -n 1"
    assert line(INTEL_HYDRA, PBS) == "mpiexec -hosts a,b -ppn 2 -n 4"
    assert line(OPEN_MPI, PBS) == "mpiexec --host a:2,b:2 --map-by ppr:2:node -n 4"
    assert line(SRUN, PBS).startswith("srun --input=0 --nodelist=a,b ")


def test_mpiexec_hands_variables_on_by_its_own_flag() -> None:
    assert line(HYDRA, variables={"A": "1"}, layout=Layout(2)) == "mpiexec -genv A 1 -n 2"
    assert line(OPEN_MPI, variables={"A": "1"}, layout=Layout(2)) == "mpiexec -x A=1 -n 2"


def test_ranks_that_may_share_processors_are_announced_in_each_launchers_words() -> None:
    assert line(SRUN, SLURM, crowded=True).endswith("--overcommit --ntasks=4")
    assert line(OPEN_MPI, crowded=True) == "mpiexec --map-by ppr:2:node --oversubscribe -n 4"
    assert line(OPEN_MPI_5, crowded=True) == "mpiexec --map-by ppr:2:node:OVERSUBSCRIBE -n 4"
    assert line(OPEN_MPI_5, layout=Layout(4), crowded=True) == "mpiexec --map-by :OVERSUBSCRIBE -n 4"


def test_flux_takes_numbers_in_one_word() -> None:
    assert line(FLUX, variables={"A": "1"}) == "flux run -N2 -n4 env A=1"


def test_flux_cannot_be_told_hosts_by_name() -> None:
    with pytest.raises(UserError, match="takes no hosts by name"):
        line(FLUX, PBS)


def test_a_template_says_everything_itself() -> None:
    launcher = pick_launcher("aprun -n {n} -N {ppn} --", an_mpi(Family.CRAY), None, False)
    assert line(launcher, flags=["-q"], variables={"A": "1"}) == "aprun -n 4 -N 2 -q -- env A=1"
    with pytest.raises(UserError, match="nothing says what") as caught:
        line(launcher, layout=Layout(4))
    assert "--nodes and --ppn" in caught.value.remedy


@pytest.mark.parametrize(
    ("asked", "message", "remedy"),
    [
        ("jsrun", "how jsrun is told", "'jsrun -n {n} --'"),
        ("jsrun -a {tasks}", "'{tasks}' stands for nothing", "{n}, {nodes}, {ppn}"),
        ("jsrun -r {ppn}", "the number of ranks is missing", "{n}, or {nodes} and {ppn}"),
        ("jsrun -n {n", "--launcher jsrun -n {n", "{n}"),
        ("jsrun '-n", "no closing quotation", "close"),
        (" ", "--launcher is empty", "srun"),
    ],
)
def test_a_launcher_that_makes_no_sense_is_refused(asked: str, message: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        pick_launcher(asked, an_mpi(Family.MPICH), None, False)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("family", "begin"),
    [
        (Family.MPICH, "srun --input=0 --mpi=pmi2"),
        (Family.INTEL, "srun --input=0 --mpi=pmi2"),
        (Family.MVAPICH, "srun --input=0 --mpi=pmi2"),
        (Family.CRAY, "srun --input=0"),
        (Family.OPENMPI, "/opt/bin/mpiexec"),
    ],
)
def test_in_a_job_of_slurm_the_family_decides(family: Family, begin: str) -> None:
    assert str(pick_launcher(None, an_mpi(family), SLURM, True)) == begin


def test_open_mpi_without_a_launcher_is_started_by_srun_with_pmix() -> None:
    bare = an_mpi(Family.OPENMPI, launcher=None)
    assert str(pick_launcher(None, bare, SLURM, True)) == "srun --input=0 --mpi=pmix"


def test_elsewhere_the_mpis_own_launcher_is_taken() -> None:
    mpich = an_mpi(Family.MPICH)
    for allocation, has_srun in ((None, True), (PBS, True), (SLURM, False)):
        assert str(pick_launcher(None, mpich, allocation, has_srun)) == "/opt/bin/mpiexec"
    flux = Allocation(System.FLUX, "f1", (Host(2, 2),))
    assert pick_launcher(None, mpich, flux, True) is FLUX


def test_who_names_a_launcher_gets_it_with_their_flags() -> None:
    mpich = an_mpi(Family.MPICH)
    assert str(pick_launcher("srun --mpi=none -v", mpich, None, False)) == "srun --input=0 --mpi=none -v"
    assert str(pick_launcher("/usr/bin/srun", mpich, None, False)) == "/usr/bin/srun --input=0 --mpi=pmi2"
    assert str(pick_launcher("mpiexec -l", mpich, SLURM, True)) == "/opt/bin/mpiexec -l"
    assert str(pick_launcher("/site/mpirun", mpich, SLURM, True)) == "/site/mpirun"
    assert str(pick_launcher("flux run -o mpi=none", mpich, None, False)) == "flux run -o mpi=none"
    old = pick_launcher(None, an_mpi(Family.OPENMPI, "4.1.4"), None, False)
    new = pick_launcher(None, an_mpi(Family.OPENMPI, "5.0.11"), None, False)
    assert (old.crowded, new.crowded) == (OPEN_MPI.crowded, OPEN_MPI_5.crowded)


def test_an_mpi_without_a_launcher_says_what_else_there_is() -> None:
    with pytest.raises(UserError, match="found no launcher") as caught:
        pick_launcher(None, an_mpi(Family.MPICH, launcher=None), None, False)
    assert "--launcher" in caught.value.remedy
