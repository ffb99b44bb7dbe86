"""What it costs to sit far from the network card, measured on real nodes: Goglin and Moreaud's figures 4 to 6.

Run as a program (`python -m espalier.measure.nuioa WORKER…`) it starts the worker on one host with that host's
processors near to and far from its card, because hosts may differ.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.own_module import own_module
from espalier.jobs.launch import Job, Target, build_command
from espalier.jobs.libraries import find_nuioa_worker
from espalier.jobs.mpis import Family, Mpi

# The paper's effect begins at 32 KB; one size below it shows that.
DEFAULT_SIZES = (4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20)
OPERATIONS = ("pingpong", "bcast", "gather")


@dataclass(frozen=True)
class Seats:
    """Where a host's ranks are bound in turn: processors, as the kernel writes lists of them."""

    near: str
    far: str
    why: str  # which card, and how far is far


@dataclass(frozen=True)
class Sample:
    """One line of the worker."""

    op: str
    bytes: int
    round: int
    root: str  # near or far
    others: str
    us: float


@dataclass(frozen=True)
class Row:
    """One operation and size. Microseconds by placement, "root/others"; medians over the rounds.

    The gains are what nearness brings, in per cent of throughput, median and range over the rounds.
    """

    op: str
    bytes: int
    us: dict[str, float]
    root_gain: tuple[float, float, float]  # the root near rather than far, others near: median, least, most
    others_gain: tuple[float, float, float]  # the others near rather than far, the root near


@dataclass(frozen=True)
class Plan:
    """What to measure: one rank on each of `ranks` hosts."""

    ranks: int
    sizes: Sequence[int] = DEFAULT_SIZES
    rounds: int = 5
    budget_ms: int = 100  # for one size, operation and placement in one round
    seats: Seats | None = None  # for all hosts alike; None: each finds out
    launcher_flags: Sequence[str] = field(default_factory=tuple)


def find_seats(core: Any, node: Any, nic: str = "") -> Seats | str:
    """The NUMA nodes nearest to and farthest from the card in use; or why there is nothing to choose."""
    nics, why = core.nics_in_use(node, nic)
    if not nics:
        return str(why)
    if len(node.numa_nodes) < 2:
        return (
            f"{node.source} has one NUMA node: every processor is as near to {node.nics[nics[0]].names[0]} as any other"
        )
    facts = [core.rank_facts(node, nics[:1], numa.cpus) for numa in node.numa_nodes]
    known = [(it.distances[0], index) for index, it in enumerate(facts) if it.distances[0] >= 0]
    if len(known) < 2 or min(known)[0] == max(known)[0]:
        return f"{why}; where it sits is not known, or all NUMA nodes are equally far"
    near, far = min(known), max(known)
    cpus = [node.numa_nodes[index].cpus for _, index in (near, far)]
    return Seats(
        cpus[0], cpus[1], f"{why}; near: processors {cpus[0]}, far: {cpus[1]}, {far[0] / near[0]:g} times as far"
    )


def measure(mpi: Mpi, plan: Plan, progress: Callable[[Sample], None] = lambda sample: None) -> list[Row]:
    """Runs the worker on `plan.ranks` hosts and condenses its rounds. Raises UserError if the job fails."""
    samples = []
    for sample in _run(build_command(_job(mpi, plan))):
        progress(sample)
        samples.append(sample)
    if not samples:
        raise UserError(f"the worker under {mpi} printed no result", "see its messages above; try: espalier doctor")
    return condense(samples)


def _job(mpi: Mpi, plan: Plan) -> Job:
    worker = [str(find_nuioa_worker(mpi.abi)), "--sizes", ",".join(map(str, sorted(plan.sizes)))]
    worker += ["--rounds", str(plan.rounds), "--budget-ms", str(plan.budget_ms)]
    if plan.seats is not None:
        command = [*worker, "--may-share", "1", "--near", plan.seats.near, "--far", plan.seats.far]
    else:
        command = [*own_module("espalier.measure.nuioa"), *worker]
    spread = ["--map-by", "ppr:1:node"] if mpi.family is Family.OPENMPI else ["-ppn", "1"]
    flags = [*([] if plan.seats is not None else spread), *plan.launcher_flags]
    return Job(Target(mpi, True, "benchmark"), plan.ranks, command, native=True, launcher_flags=flags)


def _run(command: tuple[list[str], dict[str, str]]) -> Iterator[Sample]:
    argv, environment = command
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("{"):
                    yield _parse(line)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise UserError(
            f"the worker ended with exit code {process.returncode}, see above",
            f"start it where mpiexec reaches all nodes, as in a batch job; by hand: {' '.join(argv)}",
        )


def _parse(line: str) -> Sample:
    try:
        it = json.loads(line)
        return Sample(it["op"], int(it["bytes"]), int(it["round"]), it["root"], it["others"], float(it["us"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"the worker printed a line that cannot be read: {line.strip()} ({error})") from error


def condense(samples: Sequence[Sample]) -> list[Row]:
    """One row per operation and size; ratios are taken within a round, where placements ran next to each other."""
    rows = []
    for op, size in dict.fromkeys((sample.op, sample.bytes) for sample in samples):
        group = [sample for sample in samples if (sample.op, sample.bytes) == (op, size)]
        us: dict[str, float] = {}
        by_round: dict[int, dict[str, float]] = {}
        for sample in group:
            by_round.setdefault(sample.round, {})[f"{sample.root}/{sample.others}"] = sample.us
        for place in dict.fromkeys(f"{sample.root}/{sample.others}" for sample in group):
            us[place] = round(median(times[place] for times in by_round.values() if place in times), 3)
        whole = [times for times in by_round.values() if len(times) == 4]
        rows.append(Row(op, size, us, _gain(whole, "far/near"), _gain(whole, "near/far")))
    return rows


def _gain(rounds: Sequence[dict[str, float]], slower: str) -> tuple[float, float, float]:
    gains = [100 * (times[slower] / times["near/near"] - 1) for times in rounds] or [0.0]
    return round(median(gains), 1), round(min(gains), 1), round(max(gains), 1)


def _start_worker(command: Sequence[str]) -> None:
    """Becomes the worker, with this host's seats. Where there are none every processor is near and far."""
    core = load_core()
    with user_errors("name the card with ESPALIER_NIC"):
        node = core.probe_node()
    seats = find_seats(core, node, os.environ.get("ESPALIER_NIC", ""))
    near, far = (node.cpus, node.cpus) if isinstance(seats, str) else (seats.near, seats.far)
    os.execv(command[0], [*command, "--near", near, "--far", far])


if __name__ == "__main__":
    _start_worker(sys.argv[1:])
