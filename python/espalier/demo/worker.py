"""The worker of `espalier bench` as the demo's program: there where Espalier is, whatever else is not.

It calls its MPI and Espalier in turns within one job, and ends with an error where either delivers wrong data.
"""

from __future__ import annotations

from pathlib import Path

from espalier.demo.imb import SIZES
from espalier.demo.jobs import run_to_its_end
from espalier.jobs.launch import measuring_job
from espalier.jobs.mpis import Mpi
from espalier.measure.paired import Plan, Sample, parse_sample, worker_command
from espalier.measure.programs import Finished

OPERATIONS = ("bcast", "allgather", "allreduce", "barrier")


def run_worker(mpi: Mpi, ranks: int, scratch: Path) -> tuple[Finished, list[Sample]]:
    """One job, which measures each operation and size once. Raises UserError if it fails."""
    plan = Plan(OPERATIONS, SIZES, ranks=ranks, rounds=1)
    job = measuring_job(mpi, worker_command(mpi, plan), ranks, {})
    done = run_to_its_end(job, scratch, "beside Espalier")
    samples = (parse_sample(line) for line in done.output.splitlines())
    return done, [sample for sample in samples if sample is not None]
