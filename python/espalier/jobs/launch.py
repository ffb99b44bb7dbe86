"""How a job is started under each MPI, so that our library reaches the ranks and nothing else.

A preloaded library in the environment of `mpiexec` itself would also be loaded by every helper process that it starts;
so LD_PRELOAD travels by the launcher's own flag for the ranks' environment (hydra: -genv, Open MPI: -x).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.machine import count_cores, count_cpus, has_fabric
from espalier.base.preload import asked
from espalier.base.settings import check_files, check_split
from espalier.jobs.allocation import is_in_batch
from espalier.jobs.launchers import OPEN_MPI, is_old_open_mpi, pick_launcher, write_line
from espalier.jobs.layout import Layout
from espalier.jobs.libraries import find_preload_library, is_own
from espalier.jobs.mpis import Family, Mpi, find_default_mpi, is_named, mpi_of_abi, mpi_of_library, select_mpi
from espalier.jobs.placement import Placement
from espalier.jobs.programs import Kind, Program, inspect_runnable
from espalier.jobs.tools import find_tools

# What helps where a program has rights beyond its user's.
UNPRIVILEGED = "cp makes a copy without them"
# What takes turns on one processor in greater numbers says nothing of collectives, and may take the machine down.
_MOST_PER_PROCESSOR = 64


@dataclass(frozen=True)
class Target:
    """The MPI a job runs under, and whether its library has to be preloaded, too."""

    mpi: Mpi
    preload_mpi: bool
    note: str  # how the MPI was chosen, one clause
    tools: tuple[Path, ...] = ()  # that the program is linked with: they stand in front of an MPI that is preloaded
    doubt: str = ""  # what the program is, one clause, where only a run tells whether it uses an MPI at all
    unreached: str = ""  # why nothing that is preloaded reaches the program, one clause; empty: it does


@dataclass(frozen=True)
class Hosts:
    """Several hosts reached through an agent instead of ssh, `ppn` ranks on each, in blocks."""

    addresses: tuple[str, ...]
    ppn: int
    agent: Path  # AGENT ADDRESS COMMAND…
    front: str  # the address at which the launcher's own host is reached
    interface: str  # of every host, for MPIs that would try others
    enter: tuple[str, ...] = ()  # words before the launcher's command line
    rails: int = 1  # interfaces of every host; with several UCX may take any

    @property
    def ranks(self) -> int:
        return len(self.addresses) * self.ppn


# Where ranks may go: the emulated cluster, or what a launcher and a batch system offer.
Place = Hosts | Placement


@dataclass(frozen=True)
class Job:
    """One job: `command` on `ranks` ranks under `target`."""

    target: Target
    ranks: int
    command: Sequence[str]
    native: bool = False  # True: without Espalier
    settings: Mapping[str, str] = field(default_factory=dict)  # variables to set for the ranks, most of them ours
    launcher_flags: Sequence[str] = ()
    hosts: Place | None = None  # None: this machine
    library: Path | None = None  # Espalier's, of another build; None: the installed one


def split_flags(text: str) -> list[str]:
    """The words of `--launcher-flags "-ppn 2"`, as a shell would split them. Raises UserError for an open quote."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"--launcher-flags {text}: {str(error).lower()}", "close the quotation") from error


def measuring_job(
    mpi: Mpi, command: Sequence[str], ranks: int, settings: Mapping[str, str], hosts: Place | None = None
) -> Job:
    """A job of one of our own measuring programs, which are linked with no MPI: they run under every one of their ABI,
    which therefore has to be preloaded. Raises UserError where they would be more than this machine can start."""
    most = _MOST_PER_PROCESSOR * count_cpus()
    if is_here(hosts) and ranks > most:
        raise UserError(
            f"-n {ranks}: this machine's processors are measured with up to {_MOST_PER_PROCESSOR} ranks on each",
            f"give at most -n {most}",
        )
    wishes = {}
    if mpi.family is Family.OPENMPI:
        # Their ranks share memory by a window. Open MPI asks UCX for it first, which prints an error on every rank
        # where it has no network.
        wishes["OMPI_MCA_osc"] = "^ucx"
        # Where there is no network for it this part of Open MPI is closed again, in a second's sleep of MPI_Init.
        if is_here(hosts) and not has_fabric():
            wishes["OMPI_MCA_btl"] = "^ofi"
    wishes = {name: value for name, value in wishes.items() if name not in os.environ}
    return Job(Target(mpi, True, "measuring"), ranks, command, settings={**wishes, **settings}, hosts=hosts)


def is_here(place: Place | None) -> bool:
    """Whether all ranks share this machine. Other machines', and what a batch system grants, its processors say nothing
    about."""
    is_here = place.is_here if isinstance(place, Placement) else place is None
    return is_here and not is_in_batch(os.environ)


def tell_unserved(job: Job) -> str:
    """Of a job that has ended well, and of whose ranks none has told of an MPI."""
    seen = "made no MPI call that Espalier saw, from MPI_Init to MPI_Finalize"
    return f"{job.command[0]} {seen}: it {job.target.doubt}; is it the right program?"


def tell_unreached(job: Job) -> str:
    """Of a job into whose program nothing can be preloaded; empty: it can, or nobody wants to."""
    if job.native or not job.target.unreached:
        return ""
    return f"{job.command[0]} {job.target.unreached}: every call is left to the MPI ({UNPRIVILEGED})"


def choose_target(command: str, wanted: str | None) -> Target:
    """The MPI for `command`: the one that `--mpi` names, else the program's own, else the default one.

    Where several fit the name, the program's own is meant: "openmpi" says which family, not which of its versions the
    program was built with. Raises UserError if there is none, if the wanted one has another ABI than the program, or if
    that is for another kind of machine.
    """
    program = inspect_runnable(command)
    target = replace(_choose_mpi(program, wanted), unreached=program.privileges)
    if program.kind is not Kind.LINKED:
        return replace(target, doubt=program.explanation)
    linked = find_tools(program.path) if target.preload_mpi else ()
    return replace(target, tools=tuple(tool.path for tool in linked if not tool.is_preloaded))


def _choose_mpi(program: Program, wanted: str | None) -> Target:
    if wanted is not None and program.library is not None and is_named(wanted, program.library):
        mpi = mpi_of_library(program.library)
        return Target(mpi, False, f"{program.path} {program.explanation}, which --mpi {wanted} fits")
    if wanted is not None:
        mpi = select_mpi(wanted, program.abi)
        _check_abi(program, mpi, wanted)
        same = program.library is not None and program.library.resolve() == mpi.library.resolve()
        return Target(mpi, not same, f"chosen with --mpi {wanted}")
    if program.library is not None:
        return Target(mpi_of_library(program.library), False, f"{program.path} {program.explanation}")
    if program.abi is not None:
        return Target(mpi_of_abi(program.abi), True, f"{program.path} {program.explanation}")
    # A Python that finds no MPI gets one; what a script starts is expected to find its own.
    mpi = find_default_mpi()
    preload = program.kind is Kind.PYTHON
    return Target(mpi, preload, f"{program.path} {program.explanation}, so the default ({mpi.origin}) is used")


def build_command(job: Job) -> tuple[list[str], dict[str, str]]:
    """The launcher's command line, and what its own environment needs on top of this process's.

    Raises UserError if the MPI has no launcher here, our library for its ABI has not been built, the ranks do not fill
    the virtual nodes that are asked for, or what is to be written here has no place.
    """
    check_split(job.settings, job.ranks)
    if not job.native and (is_here(job.hosts) or isinstance(job.hosts, Hosts)):
        check_files({**os.environ, **job.settings})
    place = job.hosts if isinstance(job.hosts, Placement) else _this_machine(job)
    variables = {**_rank_environment(job), **_fit_environment(job), **_host_environment(job)}
    own = _intel_environment(job)
    if not place.launcher.is_mpiexec:
        variables, own = {**own, **variables}, {}
    # An mpiexec that counts slots counts cores, not hardware threads.
    crowded = not isinstance(job.hosts, Hosts) and _is_crowded(job, count_cores())
    flags = [*_own_flags(job, place), *job.launcher_flags]
    line = write_line(place.launcher, place.allocation, place.layout, variables, crowded, flags)
    enter = job.hosts.enter if isinstance(job.hosts, Hosts) else ()
    return [*enter, *line, *job.command], own


def _this_machine(job: Job) -> Placement:
    """Under the MPI's own mpiexec, which is told the emulated cluster's hosts by `_own_flags`."""
    return Placement(pick_launcher("mpiexec", job.target.mpi, None, False), Layout(job.ranks))


def _own_flags(job: Job, place: Placement) -> list[str]:
    """What mpiexec of this family wants here besides."""
    mpi = job.target.mpi
    if place.launcher.variable != OPEN_MPI.variable:
        return _hydra_hosts(job.hosts, mpi.family) if isinstance(job.hosts, Hosts) else []
    flags = _open_mpi_mapping(job.hosts, is_old_open_mpi(mpi)) if isinstance(job.hosts, Hosts) else []
    return [*flags, *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


def _check_abi(program: Program, mpi: Mpi, wanted: str) -> None:
    if program.kind is Kind.LINKED and program.abi is not mpi.abi:
        raise UserError(
            f"--mpi {wanted} has the {mpi.abi} ABI, but {program.path} {program.explanation}",
            f"build the program with {mpi.family}, or choose an MPI with the {program.abi} ABI",
        )


def _rank_environment(job: Job) -> dict[str, str]:
    """The variables that make Espalier part of the ranks."""
    inherited = asked()
    # What a module or a site preloads of ours would serve the native arm, too.
    preload = [word for word in inherited if not is_own(Path(word))]
    if not job.native:
        preload.append(str(job.library or find_preload_library(job.target.mpi.abi)))
    if job.target.preload_mpi:
        preload.extend(map(str, job.target.tools))
        preload.append(str(job.target.mpi.library))
    variables = {name: value for name, value in os.environ.items() if name.startswith("ESPALIER_")}
    variables.update(job.settings)
    if preload or inherited:
        variables["LD_PRELOAD"] = ":".join(preload)
    return variables


def _fit_environment(job: Job) -> dict[str, str]:
    """What an MPI, and Espalier, need to run well with more ranks than processors; never against the user's setting."""
    if not _is_crowded(job, count_cpus()):
        return {}
    if job.target.mpi.family is Family.INTEL:
        wishes = {"I_MPI_THREAD_YIELD": "3"}  # sched_yield while waiting
    elif job.target.mpi.family is Family.MPICH:
        # MPICH polls without yielding by default, which costs it milliseconds per call here.
        wishes = {
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "16",
        }
    else:
        # It sees for itself that ranks outnumber cores, but not that hosts of an emulated cluster share theirs.
        wishes = {"OMPI_MCA_mpi_yield_when_idle": "1"} if isinstance(job.hosts, Hosts) else {}
    if isinstance(job.hosts, Hosts) and not job.native and "ESPALIER_WAIT_SPIN" not in job.settings:
        # Each host of an emulated cluster believes that this machine's processors are its own.
        wishes["ESPALIER_WAIT_SPIN"] = "0"
    return {name: value for name, value in wishes.items() if name not in os.environ}


def _is_crowded(job: Job, processors: int) -> bool:
    """Whether ranks outnumber processors: those of this machine, which the emulated cluster's nodes share."""
    if isinstance(job.hosts, Placement) and job.hosts.overcommit:
        return True
    return (is_here(job.hosts) or isinstance(job.hosts, Hosts)) and job.ranks > processors


def _host_environment(job: Job) -> dict[str, str]:
    """Keeps messages between hosts on their interface: some transports would find a way through shared memory."""
    if not isinstance(job.hosts, Hosts):
        return {}
    wishes = {
        "UCX_TLS": "tcp,self",
        "UCX_NET_DEVICES": job.hosts.interface if job.hosts.rails == 1 else "all",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": job.hosts.interface,
    }
    return {name: value for name, value in wishes.items() if name not in os.environ}


def _hydra_hosts(hosts: Hosts, family: Family) -> list[str]:
    placed = (
        ",".join(hosts.addresses) if family is Family.INTEL else ",".join(f"{a}:{hosts.ppn}" for a in hosts.addresses)
    )
    agent = ["-launcher", "ssh", "-launcher-exec", str(hosts.agent)]
    return [*agent, "-localhost", hosts.front, "-hosts", placed, "-ppn", str(hosts.ppn)]


def _open_mpi_hosts(hosts: Hosts, is_old: bool) -> list[str]:
    placed = ",".join(f"{address}:{hosts.ppn}" for address in hosts.addresses)
    run_time, launch = ("--mca", "plm_rsh") if is_old else ("--prtemca", "plm_ssh")
    return [
        "--host", placed, run_time, f"{launch}_agent", str(hosts.agent), run_time, f"{launch}_no_tree_spawn", "1",
        run_time, "oob_tcp_if_include", hosts.interface,
        "--mca", "pml", "ob1", "--mca", "btl", f"self,{'vader' if is_old else 'sm'},tcp",
        "--mca", "btl_tcp_if_include", hosts.interface,
    ]  # fmt: skip


def _open_mpi_mapping(hosts: Hosts, is_old: bool) -> list[str]:
    # Told to oversubscribe, version 5 would put all ranks on the first host.
    mapping = f"ppr:{hosts.ppn}:node"
    flags = ["--map-by", mapping, "--oversubscribe"] if is_old else ["--map-by", f"{mapping}:OVERSUBSCRIBE"]
    return flags + _open_mpi_hosts(hosts, is_old)


def _intel_environment(job: Job) -> dict[str, str]:
    """Intel MPI outside its usual place (as the wheel is) must be told where its parts are; under a batch system, that
    the number of ranks per node is ours to say."""
    mpi = job.target.mpi
    if mpi.family is not Family.INTEL:
        return {}
    wishes = {"I_MPI_ROOT": str(mpi.prefix)}
    if next(Path(mpi.library.parent).glob("lib*-fi.so"), None) is not None:
        wishes["FI_PROVIDER_PATH"] = str(mpi.library.parent)
    if not has_fabric():
        wishes["FI_PROVIDER"] = "tcp"
    if isinstance(job.hosts, Placement) and job.hosts.allocation and job.hosts.layout.ppn:
        wishes["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] = "0"
    return {name: value for name, value in wishes.items() if name not in os.environ}
