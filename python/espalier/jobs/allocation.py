"""What a batch system has given to this process: how many hosts, and how many ranks on each.

Pure but for what is handed in: the environment, a way to read a file and a way to ask a command. Sources: sbatch(1),
"OUTPUT ENVIRONMENT VARIABLES"; qsub's PBS_NODEFILE; bsub's LSB_MCPU_HOSTS; flux-resource(1).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.units import counted


class System(StrEnum):
    """Who gave the hosts; the values are what people call them."""

    SLURM = "Slurm"
    PBS = "PBS"
    LSF = "LSF"
    FLUX = "Flux"
    HOSTFILE = "a host file"


@dataclass(frozen=True)
class Host:
    """One host of an allocation."""

    slots: int  # ranks that it was asked for
    cpus: int  # ranks that it has processors for: at least as many
    name: str = ""  # empty: launchers ask the batch system themselves


@dataclass(frozen=True)
class Allocation:
    """The hosts of one job, in the batch system's order."""

    system: System
    job: str  # its number, or the host file's name
    hosts: tuple[Host, ...]
    in_step: bool = False  # this process is itself a launched task, and holds what further launches would ask for

    @property
    def nodes(self) -> int:
        return len(self.hosts)

    @property
    def ranks(self) -> int:
        return sum(host.slots for host in self.hosts)

    def __str__(self) -> str:
        return f"{self.system} ({self.job}): {counted(self.nodes, 'host')}, {counted(self.ranks, 'rank')}"


@dataclass(frozen=True)
class Outside:
    """How to look beyond the environment; tests hand in what was recorded elsewhere."""

    read: Callable[[Path], str]  # raises OSError
    ask: Callable[[Sequence[str]], str]  # a command's output; empty where it fails


def find_allocation(hostfile: Path | None = None) -> Allocation | None:
    """The allocation that this process runs in; None outside of any. Raises UserError for one that makes no sense."""
    return read_allocation(os.environ, Outside(_read, _ask), hostfile)


def read_allocation(
    environment: Mapping[str, str], outside: Outside, hostfile: Path | None = None
) -> Allocation | None:
    """The same, of any environment. A host file that is named counts before all else."""
    if hostfile is not None:
        return Allocation(System.HOSTFILE, str(hostfile), _parse_hostfile(_open(outside, hostfile, "--hostfile")))
    if job := environment.get("SLURM_JOB_ID"):
        return _read_slurm(job, environment)
    if (job := environment.get("PBS_JOBID")) and (nodes := environment.get("PBS_NODEFILE")):
        return Allocation(System.PBS, job, _parse_hostfile(_open(outside, Path(nodes), "PBS_NODEFILE")))
    if job := environment.get("LSB_JOBID"):
        return Allocation(System.LSF, job, _parse_lsf(environment))
    if "FLUX_URI" in environment:
        job = environment.get("FLUX_JOB_ID", environment["FLUX_URI"])
        return Allocation(System.FLUX, job, _parse_flux(outside.ask(("flux", "resource", "list", *_FLUX_FORMAT))))
    return None


def is_in_batch(environment: Mapping[str, str]) -> bool:
    """Whether a batch system decides where ranks go: then this machine's processors say nothing about a job."""
    return any(mark in environment for mark in (*_MARKS, "COBALT_JOBID"))


_MARKS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI", "FLUX_JOB_ID")
_FLUX_FORMAT = ("-s", "free,allocated", "-n", "-o", "{nnodes} {ncores}")


def parse_counts(text: str) -> list[int]:
    """Slurm's "2(x3),1": 2, 2, 2, 1. Raises UserError for anything else."""
    counts: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if found is None:
            raise UserError(f"'{text}' is no list of counts as Slurm writes them", "they look like 2(x3),1")
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def _read_slurm(job: str, environment: Mapping[str, str]) -> Allocation:
    tasks, cpus = environment.get("SLURM_TASKS_PER_NODE"), environment.get("SLURM_JOB_CPUS_PER_NODE")
    if tasks is None and cpus is None:
        raise UserError(
            f"SLURM_JOB_ID is {job}, but nothing says how many ranks its nodes take",
            "run this inside salloc or sbatch, or unset SLURM_JOB_ID",
        )
    slots = parse_counts(tasks or cpus or "")
    room = parse_counts(cpus) if cpus else slots
    if len(room) != len(slots):  # a step on some of the job's nodes
        room = slots
    hosts = tuple(Host(own, max(own, most)) for own, most in zip(slots, room, strict=True))
    return Allocation(System.SLURM, job, hosts, _is_task_of_slurm(job, environment))


def _is_task_of_slurm(job: str, environment: Mapping[str, str]) -> bool:
    """Whether srun has started this process. Raises UserError where it has started others beside it: each would start
    the whole job."""
    step = int(environment.get("SLURM_STEP_ID", _FIRST_SPECIAL_STEP))
    if step >= _FIRST_SPECIAL_STEP:  # a batch script, or the shell of an interactive allocation
        return False
    beside = int(environment.get("SLURM_STEP_NUM_TASKS", "1"))
    if beside > 1:
        raise UserError(
            f"srun has started espalier {beside} times: each would start a job of its own",
            "leave srun out; or write: srun --export=ALL,LD_PRELOAD=$(espalier lib --for PROGRAM) PROGRAM",
        )
    return True


# SLURM_EXTERN_CONT and what follows, in slurm.h: steps that are no srun's.
_FIRST_SPECIAL_STEP = 0xFFFFFFF0


def _open(outside: Outside, path: Path, what: str) -> str:
    try:
        return outside.read(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"{what} {path} cannot be read: {reason}", "name a file with a host on each line") from error


def _parse_hostfile(text: str) -> tuple[Host, ...]:
    """Lines as "node0", "node0:4", "node0 slots=4"; a host that comes again has more. Comments begin with #."""
    slots: dict[str, int] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        name, _, count = words[0].partition(":")
        told = [word.partition("=")[2] for word in words[1:] if word.startswith(("slots=", "ppn="))]
        number = (told or [count or "1"])[0]
        if not number.isdecimal() or number == "0" or not name:
            raise UserError(f"'{line.strip()}' names no host and its ranks", "write node0, node0:4 or node0 slots=4")
        slots[name] = slots.get(name, 0) + int(number)
    if not slots:
        raise UserError("the list of hosts is empty", "write one host on each line: node0, node0:4 or node0 slots=4")
    return tuple(Host(count, count, name) for name, count in slots.items())


def _parse_lsf(environment: Mapping[str, str]) -> tuple[Host, ...]:
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if not words or len(words) % 2 or not all(word.isdecimal() for word in words[1::2]):
        raise UserError(
            f"LSB_MCPU_HOSTS is '{' '.join(words)}': no hosts with their slots", "name them with --hostfile FILE"
        )
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple(Host(int(count), int(count), name) for name, count in pairs)


def _parse_flux(text: str) -> tuple[Host, ...]:
    """Of "2 32": nodes, and cores on all of them."""
    found = [
        [int(word) for word in line.split()] for line in text.splitlines() if re.fullmatch(r"\s*\d+ +\d+\s*", line)
    ]
    nodes, cores = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0)
    if nodes == 0:
        raise UserError("FLUX_URI is set, but `flux resource list` tells no nodes", "is flux on PATH? unset FLUX_URI")
    return tuple(Host(share, share) for share in (cores // nodes + (node < cores % nodes) for node in range(nodes)))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _ask(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
