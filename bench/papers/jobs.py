"""The two measuring programs, as the figures need them: curves over sizes, and many choices side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from espalier import measure
from espalier.errors import UserError
from espalier.lab import cluster
from espalier.launch import Hosts
from espalier.measure import Row
from espalier.mpis import Mpi
from espalier.tuning.worker import Worker, WorkerLostError

_BATCH_US = 4000.0  # one arm's turn within a round


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    budget_ms: int  # for one size in one round of compare()


@dataclass(frozen=True)
class Place:
    """Where a job runs: ranks on the one real node, on virtual nodes of equal size, or on the emulated cluster's."""

    nodes: int
    per_node: int
    is_lab: bool = False

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    @property
    def settings(self) -> dict[str, str]:
        return {"ESPALIER_VIRTUAL_NODES": str(self.nodes)} if self.nodes > 1 and not self.is_lab else {}

    @property
    def hosts(self) -> Hosts | None:
        """The emulated nodes; None: this machine. Raises UserError when the cluster is not up."""
        return cluster.hosts(cluster.load(), self.per_node) if self.is_lab else None

    def __str__(self) -> str:
        return f"{self.nodes} × {self.per_node}"  # as the paper writes it


@dataclass(frozen=True)
class Arm:
    """One choice's time for one operation and size; None where it could not run, and why."""

    us: float | None
    refused: str


def compare(
    mpi: Mpi, place: Place, effort: Effort, ops: Sequence[str], sizes: Sequence[int], choice: str = ""
) -> dict[tuple[str, int], Row]:
    """Native against Espalier in one job, by operation and size. `choice` is forced on broadcasts unless empty."""
    forced = {"ESPALIER_CHOICE_BROADCAST": choice} if choice else {}
    settings = {**place.settings, **forced}
    plan = measure.Plan(ops, sizes, place.ranks, effort.rounds, effort.budget_ms, settings=settings, hosts=place.hosts)
    return {(row.op, row.bytes): row for row in measure.measure(mpi, plan)}


@contextmanager
def choice_job(mpi: Mpi, place: Place, settings: Mapping[str, str]) -> Iterator[Worker]:
    """A job that measures the choices it is told side by side. Raises UserError when it dies or hangs."""
    # Tuning switches the user's table off; "auto" in a figure is what a program of the user would get.
    table = {"ESPALIER_TABLE": os.environ.get("ESPALIER_TABLE", "")}
    try:
        with Worker(mpi, place.ranks, {**table, **place.settings, **settings}, place.hosts) as worker:
            yield worker
    except WorkerLostError as error:
        raise UserError(str(error), "see the job's messages above; try: espalier doctor") from error


def time_choices(worker: Worker, op: str, size: int, choices: Sequence[str], effort: Effort) -> dict[str, Arm]:
    """Times choices of `op` side by side; "native" and "auto" are choices, too."""
    arms = worker.measure(op, size, choices, effort.rounds, _BATCH_US)
    return {arm.arm: Arm(median(arm.p50) if arm.p50 else None, arm.refused) for arm in arms}
