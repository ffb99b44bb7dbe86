"""Execution: the library itself on simulated ranks (SimGrid's SMPI), beside SimGrid's copies of other MPIs' algorithms.

A plan is not played through here but run: src/mpi is compiled against SimGrid's mpi.h, every rank sets up its
communicator, builds its program and moves real bytes, and what arrives is checked. Time is simulated, in microseconds.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from espalier.base.errors import UserError
from espalier.base.names import refuse
from espalier.jobs.libraries import find_executor
from espalier.simulation.process import run_simulation

OURS = "espalier"
SELECTORS = ("mvapich2", "ompi", "mpich", "impi")  # as SimGrid names them

_FOLDER = "espalier-simulation-"  # of temporary files, and whose: the process's number

_EAGER = 65537  # below this a message leaves at once: cost::Parameters::eager and what SimGrid compares it with
_OVERHEAD = 0.4  # of a message on its sender's and its receiver's processor, µs: cost::Parameters::overhead
# The fluid model without what was calibrated for Ethernet and TCP; nothing is timed but what the model says.
_MODEL = {
    "network/model": "CM02",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/weight-S": "0",
    "smpi/simulate-computation": "no",
    "smpi/wtime": "0",
    "smpi/test": "0",
    "smpi/async-small-thresh": str(_EAGER),
    "smpi/send-is-detached-thresh": str(_EAGER),
    "smpi/os": f"0:{_OVERHEAD}:0",
    "smpi/ois": f"0:{_OVERHEAD}:0",
    "smpi/or": f"0:{_OVERHEAD}:0",
}
# Ours calls the native library's collectives only to set up: those of the fewest messages.
_SETTING_UP = {"smpi/allgather": "GB", "smpi/allreduce": "rdb"}


@dataclass(frozen=True)
class Case:
    """One collective: bytes of the message or vector, or of a block; whole 4-byte numbers."""

    operation: str
    bytes: int
    root: int = 0
    early: tuple[float, ...] = ()  # µs before the common start, by rank; empty: all come together

    def __str__(self) -> str:
        """As the executor takes it."""
        text = f"{self.operation}:{self.bytes}:{self.root}"
        return f"{text}:{','.join(f'{early:.3f}' for early in self.early)}" if self.early else text


@dataclass(frozen=True)
class Job:
    """Ranks on hosts of a network; `placement` and `metric` as in simulator.Request."""

    network: str  # as in simulator.Request
    node_of: Sequence[int]  # the node of every rank
    choices: Mapping[str, str] = field(default_factory=dict)  # by operation; else the built-in choice
    placement: str = "block"
    metric: str = "none"

    @property
    def hosts(self) -> int:
        return max(self.node_of) + 1


@dataclass(frozen=True)
class Timing:
    """The second call of a case: from the common start, when the last rank comes, to the last rank's end."""

    case: Case
    microseconds: float
    wrong: int  # ranks whose result was not what MPI says
    choice: str  # ours; empty for others


def execute(job: Job, arm: str, cases: Sequence[Case], timeout: float | None = None) -> list[Timing]:
    """Runs the cases one after the other in one simulation; `arm` is OURS or one of SELECTORS.

    Raises UserError where SimGrid is missing, the job does not fit the network, or it takes too long (seconds).
    """
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-") as folder:
        hosts = Path(folder) / "hosts"
        hosts.write_text("".join(f"host{node}\n" for node in job.node_of), encoding="utf-8")
        command, environment = _command(job, arm, cases, Path(folder)), _environment(job)
        done = run_simulation(command, environment=environment, folder=folder, timeout=timeout)
    timings = _read(cases, done.stdout)
    if len(timings) < len(cases):
        raise refuse(last_words(done.stderr), "see espalier simulate --help")
    return timings


def _sweep() -> None:
    """Removes what is left of simulations whose command was killed: SimGrid copies the program once for each rank."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        owner = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def last_words(complaints: str) -> str:
    """Why a simulation gave up: SimGrid's reason where it gives one, not what the shell says of its end ("Aborted")."""
    lines = complaints.strip().splitlines()
    reasons = [line.partition("CRITICAL] ")[2] for line in lines if "CRITICAL] " in line]
    return next(reversed(reasons or lines), "the simulation stopped")


def _command(job: Job, arm: str, cases: Sequence[Case], folder: Path) -> list[str]:
    program = str(find_executor())
    smpirun = shutil.which("smpirun")
    if smpirun is None:
        raise UserError("smpirun is missing", "install SimGrid (Debian: apt-get install libsimgrid-dev)")
    config = _MODEL | (_SETTING_UP if arm == OURS else {"smpi/coll-selector": arm})
    return [
        smpirun,
        "-np",
        str(len(job.node_of)),
        "-platform",
        program,
        "-hostfile",
        str(folder / "hosts"),
        f"--cfg=smpi/tmpdir:{folder}",
        *(f"--cfg={name}:{value}" for name, value in config.items()),
        "--log=root.thres:error",
        program,
        "ours" if arm == OURS else "native",
        *(str(case) for case in cases),
    ]


def _environment(job: Job) -> dict[str, str]:
    """Without the user's own settings: those are for real machines."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ESPALIER_")}
    choices = {f"ESPALIER_CHOICE_{operation.upper()}": choice for operation, choice in job.choices.items()}
    return {
        **clean,
        **choices,
        "SIMULATED_NETWORK": job.network,
        "SIMULATED_HOSTS": str(job.hosts),
        "SIMULATED_PLACEMENT": job.placement,
        "SIMULATED_METRIC": job.metric,
        "ESPALIER_FABRIC": "" if job.metric == "none" else "simulated",
        "ESPALIER_SHM_LIMIT": "128M",
        "ESPALIER_TABLE": "off",
        "ESPALIER_LEARN": "off",
    }


def _read(cases: Sequence[Case], output: str) -> list[Timing]:
    lines = [line.split("\t") for line in output.splitlines() if line.count("\t") == 4]
    return [
        Timing(case, float(microseconds), int(wrong), choice)
        for case, (_, _, microseconds, wrong, choice) in zip(cases, lines, strict=False)
    ]
