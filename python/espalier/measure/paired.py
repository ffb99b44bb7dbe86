"""Native against Espalier inside one job: runs the benchmark's worker and condenses what it prints.

Method: the worker takes both arms in turn within each round, so a ratio compares what ran next to each other; over the
rounds the median ratio counts, and the range says how far it can be trusted (bench/METHOD.md).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, Protocol, TypeVar

from espalier.base.errors import UserError
from espalier.jobs.launch import Job, Place, build_command, measuring_job
from espalier.jobs.libraries import find_bench_worker
from espalier.jobs.mpis import Mpi

# What the worker can measure. Sizes are one rank's block: the message for bcast, the whole vector for reductions
# (rounded up to whole elements), the block of one pair for alltoall. The v-forms and reduce_scatter deal the same sum
# unevenly.
OPERATIONS = (
    "bcast",
    "scatter",
    "scatterv",
    "gather",
    "gatherv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "barrier",
)
# Along the edges of a graph, a block for each; not part of `all`.
NEIGHBORS = ("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv")
GRAPHS = ("grid", "stencil", "random:N")  # bench/common/graph.h
TYPES = ("double", "int", "float")  # of reductions
FORMS = ("blocking", "nonblocking", "persistent")
# Round trips of a cache line that differ by more belong to different places of the processors.
FAR_APART = 1.6
DEFAULT_SIZES = (4, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20)


@dataclass(frozen=True)
class Overlap:
    """Start, compute and wait, the compute as long as start and wait alone."""

    native_percent: float  # of the call's own time that the compute hides, as the OSU benchmarks define it
    espalier_percent: float
    native_us: float  # all three; each library with compute as long as its own call
    espalier_us: float

    @classmethod
    def median_of(cls, overlaps: Iterable[Overlap | None]) -> Overlap | None:
        """None where one is missing."""
        columns = [astuple(overlap) for overlap in overlaps if overlap is not None]
        return cls(*(round(median(column), 3) for column in zip(*columns, strict=True))) if columns else None


@dataclass(frozen=True)
class Sample:
    """One line of the worker: both arms of one operation and size in one round. Times in microseconds."""

    op: str
    bytes: int
    round: int
    ranks: int
    nodes: int
    native_p50_us: float
    espalier_p50_us: float
    control: float  # p50 of every other batch of native ÷ that of the others
    choice: str
    line_ns: float = 0.0  # how far apart the first two ranks were: see `split_by_distance`
    others: float = 0.0  # how many processors other programs kept busy
    disturbed: bool = False  # whether that was so much that the times are doubtful (bench/common/others.h)
    overlap: Overlap | None = None


@dataclass(frozen=True)
class Row:
    """All rounds of one operation and size under one MPI, of those in which ranks were equally far apart.

    `ratio` is native ÷ Espalier: above 1, Espalier is faster. `control` is native ÷ native measured again: what lies
    within its range is noise.
    """

    op: str
    bytes: int
    ranks: int
    nodes: int
    mpi: str
    native_p50_us: float
    espalier_p50_us: float
    ratio_median: float
    ratio_min: float
    ratio_max: float
    control_min: float
    control_max: float
    choice: str
    line_ns: float = 0.0
    others: float = 0.0  # how many processors other programs kept busy, on average
    disturbed: bool = False  # whether that was too much in most rounds
    overlap: Overlap | None = None  # medians


class HasDistance(Protocol):
    """What was measured at some distance of the ranks."""

    @property
    def line_ns(self) -> float:
        """The round trip of a cache line between the first two, in nanoseconds; 0 if unknown."""


Measured = TypeVar("Measured", bound=HasDistance)


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    ops: Sequence[str]
    sizes: Sequence[int] = DEFAULT_SIZES
    ranks: int = 2
    rounds: int = 5
    budget_ms: int | None = None  # time for one size of one arm; None: the worker's own
    type: str = "double"  # of reductions, which are sums
    graph: str = "grid"  # one of GRAPHS, that neighbourhood collectives go along
    barrier: bool = False  # a native barrier before each call, in place of a moment at which all ranks begin
    form: str = "blocking"  # of FORMS; what does not block is timed from start to the end of wait
    overlap: bool = False  # a second half of each round, with compute between start and wait
    test_us: float = 0  # how often it calls MPI_Test; 0: never
    cold: bool = False  # a fresh buffer for every call, as applications with large working sets see it
    settings: dict[str, str] = field(default_factory=dict)
    hosts: Place | None = None  # None: this machine; else `ranks` are theirs
    library: Path | None = None  # Espalier's, of another build; None: the installed one


def measure(mpi: Mpi, plan: Plan, progress: Callable[[Sample], None] = lambda sample: None) -> list[Row]:
    """Runs the worker under `mpi` and condenses its rounds. Raises UserError if the job fails or says nothing."""
    return condense(run_worker(mpi, plan, progress), str(mpi))


def run_worker(mpi: Mpi, plan: Plan, progress: Callable[[Sample], None] = lambda sample: None) -> list[Sample]:
    """What the worker measured under `mpi`. Raises UserError if the job fails or says nothing."""
    job = measuring_job(mpi, worker_command(mpi, plan), plan.ranks, plan.settings, plan.hosts)
    samples = []
    for sample in _run(replace(job, library=plan.library)):
        progress(sample)
        samples.append(sample)
    if not samples:
        raise UserError(f"the benchmark under {mpi} printed no result", "see its messages above; try: espalier doctor")
    return samples


def worker_command(mpi: Mpi, plan: Plan) -> list[str]:
    """What each rank runs. Raises UserError where the worker is missing."""
    worker = [str(find_bench_worker(mpi.abi)), "--ops", ",".join(plan.ops)]
    worker += ["--sizes", ",".join(str(size) for size in plan.sizes), "--rounds", str(plan.rounds)]
    worker += ["--budget-ms", str(plan.budget_ms)] if plan.budget_ms is not None else []
    worker += ["--graph", plan.graph] if set(plan.ops) & set(NEIGHBORS) else []
    worker += ["--type", plan.type, "--form", plan.form]
    worker += ["--overlap", "--test-us", str(plan.test_us)] if plan.overlap else []
    worker += [f"--{name}" for name, is_on in (("cold", plan.cold), ("barrier", plan.barrier)) if is_on]
    return worker


def split_by_distance(items: Iterable[Measured]) -> list[list[Measured]]:
    """What was measured at one distance of the ranks, nearest first: only such times can be compared.

    `line_ns` is the round trip of a cache line between the first two ranks, in nanoseconds; 0 if unknown. The host of a
    virtual machine moves its processors, now to cores that share a cache, now to cores that do not; the round trip then
    jumps, on an EPYC from 100 to 500 ns and back.
    """
    parts: list[list[Measured]] = []
    for item in sorted(items, key=lambda it: it.line_ns):
        if not parts or item.line_ns > FAR_APART * parts[-1][-1].line_ns:
            parts.append([])
        parts[-1].append(item)
    return parts


def condense(samples: Iterable[Sample], mpi: str) -> list[Row]:
    """One row per operation, size and distance of the ranks; operations and sizes in the order of first appearance."""
    samples = list(samples)
    order = {key: place for place, key in enumerate(dict.fromkeys((it.op, it.bytes) for it in samples))}
    groups: dict[tuple[int, int], list[Sample]] = {}
    for distance, part in enumerate(split_by_distance(samples)):
        for sample in part:
            groups.setdefault((order[sample.op, sample.bytes], distance), []).append(sample)
    return [_condense_group(sorted(groups[key], key=lambda it: it.round), mpi) for key in sorted(groups)]


def _condense_group(group: Sequence[Sample], mpi: str) -> Row:
    controls = [sample.control for sample in group]
    ratios = [sample.native_p50_us / sample.espalier_p50_us for sample in group]
    return Row(
        group[0].op,
        group[0].bytes,
        group[0].ranks,
        group[0].nodes,
        mpi,
        native_p50_us=round(median(sample.native_p50_us for sample in group), 3),
        espalier_p50_us=round(median(sample.espalier_p50_us for sample in group), 3),
        ratio_median=round(median(ratios), 3),
        ratio_min=round(min(ratios), 3),
        ratio_max=round(max(ratios), 3),
        control_min=round(min(controls), 3),
        control_max=round(max(controls), 3),
        choice=group[-1].choice,
        line_ns=round(median(sample.line_ns for sample in group)),
        others=round(fmean(sample.others for sample in group), 2),
        overlap=Overlap.median_of(sample.overlap for sample in group),
        disturbed=2 * sum(sample.disturbed for sample in group) > len(group),
    )


def best_peer(row: Row, rows: Iterable[Row], count: int) -> dict[str, Any]:
    """For one row among those of several MPIs: the fastest native of them all, and how Espalier compares with it."""
    if count < 2:
        return {}
    alike = (other for other in rows if (other.op, other.bytes) == (row.op, row.bytes))
    peers = next(part for part in split_by_distance(alike) if row in part)
    best = min(peers, key=lambda other: other.native_p50_us)
    return {
        "best_peer": best.mpi,
        "best_peer_p50_us": best.native_p50_us,
        "ratio_best_peer": round(best.native_p50_us / row.espalier_p50_us, 3),
    }


def parse_sample(line: str) -> Sample | None:
    """One line of the worker's output; None for lines that are not JSON objects (an MPI's own chatter)."""
    if not line.startswith("{"):
        return None
    try:
        fields = json.loads(line)
        return Sample(
            op=fields["op"],
            bytes=int(fields["bytes"]),
            round=int(fields["round"]),
            ranks=int(fields["ranks"]),
            nodes=int(fields["nodes"]),
            native_p50_us=float(fields["native_p50_us"]),
            espalier_p50_us=float(fields["espalier_p50_us"]),
            control=float(fields["control"]),
            choice=str(fields.get("choice", "")),
            line_ns=float(fields.get("line_ns", 0)),
            others=float(fields.get("others", 0)),
            disturbed=bool(fields.get("disturbed", 0)),
            overlap=Overlap(**fields["overlap"]) if fields.get("overlap") else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"the benchmark printed a line that cannot be read: {line.strip()} ({error})") from error


def _run(job: Job) -> Iterator[Sample]:
    argv, environment = build_command(job)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                sample = parse_sample(line)
                if sample is not None:
                    yield sample
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise UserError(
            f"the benchmark under {job.target.mpi} ended with exit code {process.returncode}",
            f"run it by hand: {' '.join(argv)}",
        )
