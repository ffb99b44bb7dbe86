"""The two measuring programs, as the figures need them: curves over sizes, and many choices side by side."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import IO, Any

from espalier import measure
from espalier.errors import UserError
from espalier.launch import Job, Target, build_command
from espalier.libraries import find_bench_worker
from espalier.measure import Row
from espalier.mpis import Mpi

_BATCH_US = 4000  # one arm's turn within a round


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    budget_ms: int  # for one size in one round of compare()


@dataclass(frozen=True)
class Place:
    """Where a job runs: ranks on the one real node, or on virtual nodes of equal size."""

    nodes: int
    per_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    @property
    def settings(self) -> dict[str, str]:
        return {"ESPALIER_VIRTUAL_NODES": str(self.nodes)} if self.nodes > 1 else {}

    def __str__(self) -> str:
        return f"{self.nodes} × {self.per_node}"  # as the paper writes it


def compare(
    mpi: Mpi, place: Place, effort: Effort, ops: Sequence[str], sizes: Sequence[int], choice: str = ""
) -> dict[tuple[str, int], Row]:
    """Native against Espalier in one job, by operation and size. `choice` is forced on broadcasts unless empty."""
    forced = {"ESPALIER_CHOICE_BROADCAST": choice} if choice else {}
    plan = measure.Plan(ops, sizes, place.ranks, effort.rounds, effort.budget_ms, settings={**place.settings, **forced})
    return {(row.op, row.bytes): row for row in measure.measure(mpi, plan)}


@dataclass(frozen=True)
class Arm:
    """One choice's time for one operation and size; None where it could not run, and why."""

    us: float | None
    refused: str


class ChoiceJob:
    """A running job that measures the choices it is told, taking turns (bench/tune/worker.c)."""

    def __init__(self, asks: IO[str], answers: IO[str], effort: Effort) -> None:
        self._asks, self._answers, self._effort = asks, answers, effort

    def measure(self, op: str, size: int, choices: Sequence[str]) -> dict[str, Arm]:
        """Times choices of `op` side by side; "native" and "auto" are choices, too."""
        answer = self._ask(f"measure {op} {size} {self._effort.rounds} {_BATCH_US} 0 {';'.join(choices)}")
        return {
            arm["arm"]: Arm(median(arm["p50_us"]) if arm["p50_us"] else None, arm["refused"]) for arm in answer["arms"]
        }

    def copy_curve(self) -> list[dict[str, float]]:
        """Cost of copying `bytes` through a buffer of `cell` bytes, in `us`."""
        points: list[dict[str, float]] = self._ask("curve copy")["points"]
        return points

    def _ask(self, line: str) -> Any:
        self._asks.write(f"{line}\n")
        self._asks.flush()
        return read_answer(self._answers)


@contextmanager
def choice_job(mpi: Mpi, ranks: int, effort: Effort, settings: Mapping[str, str]) -> Iterator[ChoiceJob]:
    """Starts a ChoiceJob under `mpi` and ends it with the block."""
    worker = find_bench_worker(mpi.abi).with_name(f"espalier_tune_{mpi.abi}")
    argv, environment = build_command(Job(Target(mpi, True, "figures"), ranks, [str(worker)], settings=settings))
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            read_answer(process.stdout)  # its greeting
            yield ChoiceJob(process.stdin, process.stdout, effort)
            process.stdin.write("quit\n")
            process.stdin.flush()
        except BaseException:
            process.terminate()
            raise


def read_answer(lines: IO[str]) -> Any:
    """The next line that is JSON; launchers may have chattered before it."""
    for line in lines:
        if line.startswith("{"):
            return json.loads(line)
    raise UserError("the measuring job ended without an answer", "see its messages above; try: espalier doctor")
