"""What we set out to reach, measured: tunes and measures on every MPI, then one table with a verdict per operation.

    python bench/measures.py                          # 2, 8 and 16 ranks on this machine; about an hour and a half
    python bench/measures.py --ranks 2                # a part of it
    espalier lab up --nodes 4 --rate 200mbit; python bench/measures.py --lab    # the emulated cluster, 1 and 4 per node

Every step leaves a file in the output folder and is skipped when that is there: an interrupted run goes on, and
removing a file measures that part again. MPIs take their rounds in turn, since what they are compared by changes with
the minute on a virtual machine; where its processors are moved about, times are compared and judged for each distance
between them (espalier.measure.paired.split_by_distance). Nothing else should run on the machine meanwhile: rounds
beside other programs are run again, and the tuner waits for them, but only so often. Where native's times while tuning
and while measuring show that the machine has become another one in between, both are done again; once also where a
table was not made at all distances that were measured.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import typer
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import format_bytes, parse_counts
from espalier.jobs.mpis import Mpi, select_mpi
from espalier.lab import cluster
from espalier.measure.paired import OPERATIONS, Plan, Row, Sample, condense, run_worker, split_by_distance
from espalier.tuning.environment.distances import is_same
from espalier.tuning.table.file import distances_in
from espalier.tuning.verdict.summary import geometric_mean

NOWHERE_BELOW = 0.95
# Where native is kept, ours is native: a mean of that of one and this is noise.
AS_NATIVE = 0.98
SIZES = tuple(4 << 2 * step for step in range(10))  # 4 B … 1 MiB
LAB_SIZES = (64 << 10, 256 << 10, 1 << 20)
# Native's times while measuring over those while tuning, in the middle: beyond this it was not the same machine.
MOST_DRIFT = 1.25
ATTEMPTS = 4
# A larger share of its problems that other programs have disturbed spoils a round. Of 40 ms, two milliseconds do.
MOST_DISTURBED = 0.5
# Times the usual rounds, at most, until every problem was met at every distance of the processors and native agrees
# with itself.
MOST_ROUNDS = 3
# A distance at which a smaller share of all was measured is an accident.
LEAST_SHARE = 0.1
# What a table's rows are about, as the benchmark calls it.
_BENCHED = {"broadcast": "bcast", "reduce_scatter": "reduce_scatter_block"}
# Times the wire's floor that a broadcast of 1 MiB may take, by ranks per node.
FLOORS = {1: 1.25, 4: 1.4}


@dataclass(frozen=True)
class Goal:
    """The geometric mean of best native ÷ ours, from one size to another."""

    first: int
    last: int
    mean: float
    is_of_all: bool = False  # over all operations together, not of each

    def __str__(self) -> str:
        whose = "over all operations" if self.is_of_all else "of each operation"
        sizes = f"from {format_bytes(self.first)} to {format_bytes(self.last)}"
        return f"a mean of {self.mean:g} {whose} {sizes}, nowhere below {NOWHERE_BELOW}"


@dataclass(frozen=True)
class Place:
    """Where: so many ranks on this machine, or per node of the emulated cluster."""

    ranks: int
    is_lab: bool = False

    @property
    def goal(self) -> Goal:
        if self.is_lab:
            return Goal(64 << 10, 1 << 20, 1.0)
        return Goal(4, 64 << 10, 1.3) if self.ranks == 2 else Goal(4, 1 << 20, 1.5, is_of_all=True)

    def __str__(self) -> str:
        return f"lab-{self.ranks}-per-node" if self.is_lab else f"{self.ranks}-ranks"


@dataclass(frozen=True)
class Effort:
    """How long to tune and to measure."""

    budget: str
    rounds: int
    budget_ms: int


@dataclass(frozen=True)
class Files:
    """What is kept of one MPI at one place; `stem` is the path that all of them begin with."""

    stem: Path

    @property
    def table(self) -> Path:
        return self.stem.with_name(self.stem.name + ".table.json")

    @property
    def journal(self) -> Path:
        return self.stem.with_name(self.stem.name + ".table.json.journal")

    @property
    def result(self) -> Path:
        return self.stem.with_name(self.stem.name + ".rows.json")

    def round(self, number: int) -> Path:
        return self.stem.with_name(f"{self.stem.name}.round-{number}.json")


# Between slow links a call takes up to seconds, and varies little.
LAB_EFFORT = Effort("5m", 3, 20)


@dataclass(frozen=True)
class Verdict:
    """One operation: ours on the MPI where it does best, against the fastest native of all MPIs for each size."""

    operation: str
    mpi: str
    mean: float
    lowest: float  # of all sizes, against the best native
    lowest_at: int
    harm: float  # the lowest ratio to the same MPI's native, of all sizes and MPIs
    harm_at: str
    least_mean: float  # 0 where the mean counts over all operations only
    is_native: bool  # wherever ours took longer than the same MPI's native, it was that native

    @property
    def is_reached(self) -> bool:
        return self.mean >= self._least and min(self.lowest, self.harm) >= NOWHERE_BELOW

    @property
    def _least(self) -> float:
        return AS_NATIVE if self.least_mean == 1 and self.is_native else self.least_mean

    def __str__(self) -> str:
        if not self.is_reached:
            return "missed"
        return "reached" if self.mean >= self.least_mean else "as native"


def comparable(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows of one place by the distance of the ranks, nearest first: the problems that every MPI has there which
    has them at all."""
    rows = list(rows)
    parts = []
    for part in split_by_distance(rows):
        here = {(row.op, row.bytes, row.mpi) for row in part}
        elsewhere = {(row.op, row.bytes) for row in rows if (row.op, row.bytes, row.mpi) not in here}
        kept = [row for row in rows if row in part and (row.op, row.bytes) not in elsewhere]
        parts += [kept] if kept else []
    return parts


def describe_distance(part: Sequence[Row]) -> str:
    """Where the ranks of a part were; nothing where that is not known."""
    trip = median(row.line_ns for row in part)
    return f"cores {trip:.0f} ns apart" if trip else ""


def judge(rows: Sequence[Row], goal: Goal) -> list[Verdict]:
    """One verdict per operation, in the order of the rows. Rows are of one place, one distance and several MPIs."""
    natives: dict[tuple[str, int], float] = {}
    for row in rows:
        key = row.op, row.bytes
        natives[key] = min(natives.get(key, math.inf), row.native_p50_us)
    verdicts = []
    least = 0.0 if goal.is_of_all else goal.mean
    for op in dict.fromkeys(row.op for row in rows):
        own = [row for row in rows if row.op == op]
        counted = [row for row in own if op == "barrier" or goal.first <= row.bytes <= goal.last] or own
        means = {
            mpi: geometric_mean(natives[op, row.bytes] / row.espalier_p50_us for row in counted if row.mpi == mpi)
            for mpi in dict.fromkeys(row.mpi for row in counted)
        }
        best = max(means, key=lambda mpi: means[mpi])
        lowest, at = min(
            (natives[op, row.bytes] / row.espalier_p50_us, row.bytes) for row in counted if row.mpi == best
        )
        worst = min(own, key=lambda row: row.ratio_median)
        harm_at = f"{format_bytes(worst.bytes)} on {worst.mpi}"
        is_native = all(row.choice.startswith("native") for row in own if row.ratio_median < 1)
        verdicts.append(Verdict(op, best, means[best], lowest, at, worst.ratio_median, harm_at, least, is_native))
    return verdicts


def mean_of_all(verdicts: Iterable[Verdict]) -> float:
    """Of ours, for each operation on the MPI where it does best, against the best native: all operations alike."""
    return geometric_mean(it.mean for it in verdicts)


def floor_us(size: int, rates: Iterable[str]) -> float:
    """The least time in which `size` bytes pass the slowest of these links (200mbit)."""
    units = {"k": 1e3, "m": 1e6, "g": 1e9}
    slowest = min(float(rate[:-4]) * units[rate[-4]] for rate in rates)
    return size * 8 / slowest * 1e6


def drift(table: Path, rows: Iterable[Row]) -> float:
    """By which factor native became slower (above 1) or faster from tuning to measuring, in the median of all problems
    that both have measured; 1 where there is none."""
    measured: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        measured.setdefault((row.op, row.bytes), []).append(row.native_p50_us)
    ratios = []
    for entry in json.loads(table.read_text())["rows"]:
        problem = _BENCHED.get(entry["operation"], entry["operation"]), entry["measured"]["bytes"]
        if "form" not in entry and problem in measured and entry["measured"]["native_us"] > 0:
            found = (native / entry["measured"]["native_us"] for native in measured[problem])
            ratios.append(min(found, key=lambda ratio: abs(math.log(ratio))))  # of several distances the likeliest
    return median(ratios) if ratios else 1.0


def tune_and_measure(mpis: Sequence[Mpi], place: Place, effort: Effort, output: Path) -> list[Row]:
    """The rows of all MPIs at one place: from the files that an earlier run left, else measured now."""
    files = {mpi: Files(output / f"{mpi.family}-{mpi.version}-{place}") for mpi in mpis}
    narrow: list[Mpi] = []
    for attempt in range(ATTEMPTS):
        rows = _load_or_measure(files, place, effort, narrow)
        drifts = {mpi: drift(files[mpi].table, rows[mpi]) for mpi in mpis}
        unsteady = [mpi for mpi in mpis if max(drifts[mpi], 1 / drifts[mpi]) > MOST_DRIFT]
        distances = usual_distances(row for its in rows.values() for row in its)
        # Once: a tuner that does not see the other distance either has done what it can.
        narrow = [it for it in mpis if it not in unsteady and attempt == 0 and lacks_some(files[it].table, distances)]
        if not (unsteady or narrow) or attempt == ATTEMPTS - 1:
            break
        for mpi in narrow:
            console.note(f"{mpi}, {place}: the table was not made at all distances of the cores: tuned once more")
        for mpi in unsteady:
            console.note(f"{mpi}, {place}: native takes {drifts[mpi]:.2f} times what it took while tuning: once more")
            files[mpi].table.unlink()
            files[mpi].journal.unlink(missing_ok=True)  # its decisions are those of the other machine
    return [row for mpi in mpis for row in rows[mpi]]


def usual_distances(rows: Iterable[Row]) -> list[float]:
    """At which distances of the cores a good share of the rows was measured; none where that is not known."""
    rows = list(rows)
    parts = [part for part in split_by_distance(rows) if len(part) >= LEAST_SHARE * len(rows)]
    return [trip for part in parts if (trip := median(row.line_ns for row in part)) > 0]


def lacks_some(table: Path, distances: Iterable[float]) -> bool:
    """Whether a table was made at other distances of the cores only (it says at which); false where it says nothing."""
    made = distances_in(json.loads(table.read_text()))
    return bool(made) and not all(any(is_same(one, other) for other in made) for one in distances)


def _load_or_measure(
    files: Mapping[Mpi, Files], place: Place, effort: Effort, again: Collection[Mpi]
) -> dict[Mpi, list[Row]]:
    """Rounds are run by all MPIs in turn, so that what is compared between them was measured within minutes: where one
    is tuned, all are measured. `again`: which to tune although there is a table, whose distances the tuner then waits
    for, too."""
    missing = {mpi: its for mpi, its in files.items() if again or is_outdated(its.result, files.values())}
    for mpi, its in missing.items():
        if mpi in again or is_unfinished(its):
            _tune(mpi, place, effort, its.table)
    samples: dict[Mpi, list[Sample]] = {mpi: [] for mpi in missing}
    number = 0
    while number < effort.rounds or (number < MOST_ROUNDS * effort.rounds and needs_more(samples)):
        for mpi, its in missing.items():
            if not its.round(number).exists():
                _measure_round(mpi, place, effort, its, number)
            samples[mpi] += [Sample(**fields) for fields in json.loads(its.round(number).read_text())]
        number += 1
    for mpi, its in missing.items():
        _save(its.result, condense(samples[mpi], str(mpi)))
        for file in its.stem.parent.glob(f"{its.stem.name}.round-*.json"):
            file.unlink()
    return {mpi: [Row(**fields) for fields in json.loads(its.result.read_text())] for mpi, its in files.items()}


def is_unfinished(files: Files) -> bool:
    """Whether there is no table, or a run that was to make it anew was cut: its journal has gone on."""
    if not files.table.exists():
        return True
    return files.journal.exists() and files.journal.stat().st_mtime_ns > files.table.stat().st_mtime_ns


def is_outdated(result: Path, place: Collection[Files]) -> bool:
    """Whether a result is not of the tables that are at its place now. An outdated one is kept until it is replaced."""
    if not result.exists() or not all(its.table.exists() for its in place):
        return True
    return result.stat().st_mtime_ns < max(its.table.stat().st_mtime_ns for its in place)


def needs_more(samples: Mapping[Mpi, Sequence[Sample]]) -> bool:
    """Whether another round may change what these say."""
    if has_gaps(samples.values()):
        return True
    return any(is_in_doubt(row) for mpi, its in samples.items() for row in condense(its, str(mpi)))


def is_in_doubt(row: Row) -> bool:
    """Whether native was kept and all the same seems to be faster or slower than native, as native itself has seemed in
    some round: then a longer median says which."""

    def differs(ratio: float) -> bool:
        return not NOWHERE_BELOW <= ratio <= 1 / NOWHERE_BELOW

    is_noisy = differs(row.control_min) or differs(row.control_max)
    return row.choice.startswith("native") and differs(row.ratio_median) and is_noisy


def has_gaps(samples: Iterable[Sequence[Sample]]) -> bool:
    """Whether some MPI has not met all its problems at each distance. `samples` are those of each MPI."""
    by_mpi = list(samples)
    parts = split_by_distance(sample for its in by_mpi for sample in its)
    total = sum(len(part) for part in parts)
    usual = [{id(sample) for sample in part} for part in parts if len(part) >= LEAST_SHARE * total]
    for its in by_mpi:
        problems = {(sample.op, sample.bytes) for sample in its}
        if any(problems != {(sample.op, sample.bytes) for sample in its if id(sample) in part} for part in usual):
            return True
    return False


def _measure_round(mpi: Mpi, place: Place, effort: Effort, files: Files, number: int) -> None:
    hosts = cluster.hosts(cluster.load(), place.ranks) if place.is_lab else None
    plan = Plan(
        OPERATIONS,
        LAB_SIZES if place.is_lab else SIZES,
        hosts.ranks if hosts else place.ranks,
        rounds=1,
        budget_ms=effort.budget_ms,
        settings={"ESPALIER_TABLE": str(files.table.resolve())},
        hosts=hosts,
    )
    total = len(plan.sizes) * (len(OPERATIONS) - 1) + 1
    for attempt in range(ATTEMPTS):
        with console.progress(f"{mpi}, {place}: round {number + 1} of {effort.rounds}", total) as tell:
            samples = run_worker(mpi, plan, lambda sample: tell(f"{sample.op} {format_bytes(sample.bytes)}", 1))
        disturbed = fmean(sample.disturbed for sample in samples)
        if disturbed <= MOST_DISTURBED or attempt == ATTEMPTS - 1:
            break
        console.note(f"{mpi}, {place}: other programs disturbed {disturbed:.0%} of the round: it is run again")
    _save(files.round(number), samples)


def _save(file: Path, items: Iterable[Sample | Row]) -> None:
    part = file.with_suffix(".part")
    part.write_text(json.dumps([asdict(item) for item in items], indent=1))
    part.replace(file)


def _tune(mpi: Mpi, place: Place, effort: Effort, table: Path) -> None:
    where = ["--lab", "--ppn", str(place.ranks)] if place.is_lab else ["-n", str(place.ranks)]
    if place.is_lab:
        where += ["--sizes", ",".join(str(size) for size in LAB_SIZES), "--samples", "0", "--no-curves"]
    command = [sys.executable, "-m", "espalier", "tune", *where, "--mpi", str(mpi.library), "-o", str(table)]
    log = table.with_suffix(".log")
    console.note(f"tuning {mpi}, {place}: {log}")
    with log.open("a") as file:
        done = subprocess.run([*command, "--budget", effort.budget], stdout=file, check=False)
    if done.returncode != 0 or not table.exists():
        raise UserError(f"tuning {mpi} for {place} failed", f"see {log}; again by hand: {' '.join(command)}")


def print_verdicts(place: Place, rows: Sequence[Row], effort: Effort) -> bool:
    """Prints the table of one place, one for each distance of its cores; whether everything is reached."""
    reached = [_print_part(place, part, effort) for part in comparable(rows)]
    return (not place.is_lab or _print_floor(place, rows)) and all(reached)


def _print_part(place: Place, rows: Sequence[Row], effort: Effort) -> bool:
    verdicts = judge(rows, place.goal)
    where = ", ".join(filter(None, (str(place), describe_distance(rows))))
    title = f"{where}: best native of all MPIs ÷ Espalier; goal: {place.goal}; at least {effort.rounds} rounds"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("operation", "on", "mean", "lowest", "at", "against own native, lowest", "at", ""):
        table.add_column(name, justify="left" if name in ("operation", "on", "at", "") else "right")
    for it in verdicts:
        mark = f"[{'green' if it.is_reached else 'red'}]{it}[/]"
        numbers = (f"{it.mean:.2f}", f"{it.lowest:.2f}", format_bytes(it.lowest_at), f"{it.harm:.2f}", it.harm_at)
        table.add_row(it.operation, it.mpi, *numbers, mark)
    console.out.print(table)
    console.out.print(f"over all operations: {mean_of_all(verdicts):.2f}")
    return all(it.is_reached for it in verdicts) and mean_of_all(verdicts) >= place.goal.mean


def _print_floor(place: Place, rows: Sequence[Row]) -> bool:
    largest = [row for row in rows if (row.op, row.bytes) == ("bcast", 1 << 20)]
    goal = FLOORS.get(place.ranks)
    if not largest or goal is None:
        return True
    floor = floor_us(1 << 20, cluster.load().rates)
    best = min(largest, key=lambda row: row.espalier_p50_us)
    times = best.espalier_p50_us / floor
    native = min(row.native_p50_us for row in largest) / floor
    mark = "[green]reached[/]" if times <= goal else "[red]missed[/]"
    console.out.print(
        f"broadcast of 1M: {times:.2f} times the wire's floor of {floor / 1e3:.1f} ms on {best.mpi}, natives "
        f"{native:.2f}; goal {goal}: {mark}"
    )
    return times <= goal


def main(
    output: Annotated[Path, typer.Option(help="Folder for tables and results.")] = Path("build/measures"),
    mpi: Annotated[str, typer.Option(help="MPIs, separated by commas.")] = "mpich-5,openmpi-5,intel",
    ranks: Annotated[str, typer.Option(help="Numbers of ranks on this machine.")] = "2,8,16",
    lab: Annotated[bool, typer.Option("--lab", help="On the emulated cluster instead (espalier lab up).")] = False,
    ppn: Annotated[str, typer.Option(help="With --lab: ranks per node.")] = "1,4",
    budget: Annotated[str, typer.Option(help="Most time to tune one MPI at one place. Default: 10m; --lab 5m.")] = "",
    rounds: Annotated[int, typer.Option(min=0, help="Default: 5; --lab 3.")] = 0,
    budget_ms: Annotated[int, typer.Option(min=0, help="Time for one size in one round. Default: 40; --lab 20.")] = 0,
) -> None:
    """Tune, measure, judge. Exit code 1 if a goal is missed."""
    output.mkdir(parents=True, exist_ok=True)
    usual = LAB_EFFORT if lab else Effort("10m", 5, 40)
    effort = Effort(budget or usual.budget, rounds or usual.rounds, budget_ms or usual.budget_ms)
    places = [Place(count, lab) for count in parse_counts(ppn if lab else ranks)]
    mpis = [select_mpi(name) for name in mpi.split(",")]
    reached = True
    for place in places:
        rows = tune_and_measure(mpis, place, effort, output)
        reached = print_verdicts(place, rows, effort) and reached
    raise typer.Exit(0 if reached else 1)


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        console.print_error(error)
        raise SystemExit(2) from error
