"""Runs one program natively and with Espalier and keeps what it printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from espalier.base.errors import UserError
from espalier.jobs.launch import Job, Target
from espalier.jobs.mpis import Mpi
from espalier.measure.programs import Finished, run_program

# One demo job takes seconds; a hang must not hide behind patience.
_TIMEOUT_SECONDS = 300
# What Open MPI 5 says now and then before anything of a job has begun; the next time it starts.
_LAUNCHER_FAILED = "listener thread failed to start"
# The ranks share the processors already; a threaded BLAS in each would only measure itself.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def run_arm(mpi: Mpi, ranks: int, command: Sequence[str], scratch: Path, native: bool) -> Finished:
    """Runs `command` under `mpi`. Raises UserError with the job's last words if it fails or does not end.

    Jobs with the same scratch begin with what earlier ones have learned, and with nothing of the user's.
    """
    job = Job(Target(mpi, True, "demo"), ranks, command, native)
    return run_to_its_end(job, scratch, "natively" if native else "with Espalier")


def run_to_its_end(job: Job, scratch: Path, how: str) -> Finished:
    """The same of a job that is there already; `how` its program runs is told of one that fails."""
    learned = {"ESPALIER_STORE": str(scratch / "learned"), "ESPALIER_TABLE": "off"}
    settings = {**_ONE_THREAD, **learned}
    done = run_program(job, scratch, _TIMEOUT_SECONDS, settings)
    if done.code != 0 and _LAUNCHER_FAILED in done.last_words:
        done = run_program(job, scratch, _TIMEOUT_SECONDS, settings)
    what = f"{job.command[0]} under {job.target.mpi} {how}"
    if done.code is None:
        raise UserError(f"{what} did not end within {_TIMEOUT_SECONDS} s")
    if done.code != 0:
        raise UserError(f"{what} ended with {done.code}: {done.last_words}")
    return done
