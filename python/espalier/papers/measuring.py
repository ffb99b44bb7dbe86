"""Measuring, as figures need it: curves over sizes, many choices side by side, the same under several MPIs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from espalier.base import console
from espalier.base.errors import UserError
from espalier.jobs.launch import Hosts
from espalier.jobs.mpis import Mpi
from espalier.lab import cluster
from espalier.measure import paired as measure
from espalier.measure.paired import Row
from espalier.measure.worker import Worker, WorkerLostError
from espalier.papers.figure import Data, Point, Task, Where

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
    """One choice's times for one operation and size, one per round; none where it could not run, and why."""

    rounds: tuple[float, ...]  # microseconds
    refused: str = ""

    @property
    def us(self) -> float | None:
        """The median round."""
        return median(self.rounds) if self.rounds else None

    def point(self, panel: str, curve: str, x: float) -> Point:
        """Of an arm that ran."""
        return Point(panel, curve, x, median(self.rounds), min(self.rounds), max(self.rounds))


def compare(
    mpi: Mpi, place: Place, effort: Effort, ops: Sequence[str], sizes: Sequence[int], choice: str = ""
) -> dict[tuple[str, int], Row]:
    """Native against Espalier in one job, by operation and size. `choice` is forced on broadcasts unless empty."""
    forced = {"ESPALIER_CHOICE_BROADCAST": choice} if choice else {}
    settings = {**place.settings, **forced}
    plan = measure.Plan(ops, sizes, place.ranks, effort.rounds, effort.budget_ms, settings=settings, hosts=place.hosts)
    by_distance = sorted(measure.split_by_distance(measure.measure(mpi, plan)), key=len)  # the usual one comes last
    return {(row.op, row.bytes): row for part in by_distance for row in part}


def native_point(row: Row, panel: str, curve: str, x: float) -> Point:
    """Of the MPI's own call."""
    return Point.exact(panel, curve, x, row.native_p50_us)


def own_point(row: Row, panel: str, curve: str, x: float) -> Point:
    """Of Espalier's; its spread is that of the ratios, which were formed within rounds."""
    low, high = row.native_p50_us / row.ratio_max, row.native_p50_us / row.ratio_min
    return Point(panel, curve, x, row.espalier_p50_us, min(low, row.espalier_p50_us), max(high, row.espalier_p50_us))


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
    return {arm.arm: Arm(arm.p50, arm.refused) for arm in arms}


@dataclass(frozen=True)
class Part:
    """What one MPI contributes to a figure."""

    points: Sequence[Point]
    notes: Sequence[str] = ()


def under_each_mpi(task: Task, where: Where, notes: Sequence[str], produce: Callable[[Mpi], Part]) -> Data:
    """The parts of all MPIs together. One that fails is told in a note; when all fail, the last one's UserError."""
    parts: list[Part] = []
    failed: list[UserError] = []
    for mpi in task.mpis:
        console.note(f"under {mpi}")
        try:
            parts.append(produce(mpi))
        except UserError as error:
            console.print_error(error)
            failed.append(error)
            parts.append(Part([], [f"{mpi}: {error.message}"]))
    if failed and len(failed) == len(task.mpis):
        raise failed[-1]
    points = [point for part in parts for point in part.points]
    return Data(where, points, [*notes, *(note for part in parts for note in part.notes)])
