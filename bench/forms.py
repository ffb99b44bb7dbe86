"""What calls cost that do not block, and those along the edges of a graph: native and Espalier side by side.

    python bench/forms.py --page docs/forms.md                   # 2, 8 and 16 ranks on this machine; half an hour
    python bench/forms.py --places 2 --mpi intel --rounds 5      # a part of it
    espalier lab up --nodes 4 --rate 1gbit; python bench/forms.py --places lab-4    # four ranks on each emulated node

What is measured is kept in docs/forms.csv: a place and MPI that are measured again take the place of what was there.
The page is written from all of it. The settings are the defaults, and nothing was tuned or learned before.
"""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from espalier.base import console, machine
from espalier.base.errors import UserError
from espalier.base.units import format_bytes
from espalier.jobs.mpis import Mpi, select_mpi
from espalier.lab import cluster
from espalier.measure.paired import NEIGHBORS, OPERATIONS, Plan, Row, measure
from espalier.tuning.verdict.summary import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = {"ESPALIER_STORE": "off", "ESPALIER_TABLE": "off"}
SIZES = (4, 1 << 10, 16 << 10, 256 << 10)
LAB_SIZES = (4, 1 << 10, 16 << 10)
EDGE_SIZES = (4, 1 << 10, 16 << 10, 64 << 10)
SHORT = ("bcast", "allreduce", "barrier")
OVERLAPPED = ("bcast", "allgather", "alltoall", "allreduce")
LEAST = 0.95  # of one's own native


@dataclass(frozen=True)
class Subject:
    """What is compared: calls of one form, or along the edges of one graph."""

    name: str
    title: str
    ops: Sequence[str]
    form: str = "blocking"
    graph: str = "grid"
    overlap: bool = False
    test_us: float = 0

    def sizes(self, is_lab: bool) -> tuple[int, ...]:
        if self.ops == NEIGHBORS and not is_lab:
            return EDGE_SIZES
        return LAB_SIZES if is_lab else SIZES


SUBJECTS = (
    Subject("blocking", "Blocking, for comparison", SHORT),
    Subject("nonblocking", "Nonblocking: start and wait", OPERATIONS, "nonblocking"),
    Subject("persistent", "Persistent: start and wait", OPERATIONS, "persistent"),
    Subject("overlap", "Nonblocking, with as much compute in between", OVERLAPPED, "nonblocking", overlap=True),
    Subject(
        "overlap-test",
        "The same with MPI_Test every 20 µs",
        OVERLAPPED,
        "nonblocking",
        overlap=True,
        test_us=20,
    ),
    Subject("grid", "Along edges: a grid (5 points)", NEIGHBORS),
    Subject("stencil", "Along edges: a grid with diagonals (27 points)", NEIGHBORS, graph="stencil"),
    Subject("random", "Along edges: 8 random ones from each rank", NEIGHBORS, graph="random:8"),
)


@dataclass(frozen=True)
class Point:
    """One line of the data. Times in µs, ratios native ÷ Espalier; overlaps in per cent, empty where there are none."""

    place: str
    mpi: str
    subject: str
    op: str
    bytes: int
    native_us: float
    espalier_us: float
    ratio: float
    low: float
    high: float
    native_overlap: str = ""
    espalier_overlap: str = ""
    native_all_us: str = ""
    espalier_all_us: str = ""

    @classmethod
    def of(cls, place: str, subject: str, row: Row) -> Point:
        times = (row.native_p50_us, row.espalier_p50_us, row.ratio_median, row.ratio_min, row.ratio_max)
        overlaps: tuple[str, ...] = ()
        if (it := row.overlap) is not None:
            overlaps = (
                f"{it.native_percent:.0f}",
                f"{it.espalier_percent:.0f}",
                f"{it.native_us}",
                f"{it.espalier_us}",
            )
        return cls(place, row.mpi, subject, row.op, row.bytes, *times, *overlaps)


# ---- measuring ----


def measure_place(mpi: Mpi, place: str, wanted: Sequence[Subject], rounds: int) -> Iterator[Point]:
    """Raises UserError for what is no place, or where a job fails."""
    is_lab = place.startswith("lab-")
    count = place.removeprefix("lab-")
    if not count.isdigit() or int(count) < 2 - is_lab:
        raise UserError(
            f"--places: '{place}' is no place", "a number of ranks, or lab-4 for four on each emulated node"
        )
    hosts = cluster.hosts(cluster.load(), int(count)) if is_lab else None
    for subject in wanted:
        plan = Plan(
            subject.ops,
            subject.sizes(is_lab),
            hosts.ranks if hosts is not None else int(count),
            rounds,
            20 if is_lab else 40,
            graph=subject.graph,
            form=subject.form,
            overlap=subject.overlap,
            test_us=subject.test_us,
            settings=SETTINGS,
            hosts=hosts,
        )
        for op in subject.ops:
            yield from (Point.of(place, subject.name, row) for row in measure_what_works(mpi, subject, op, plan))


def measure_what_works(mpi: Mpi, subject: Subject, op: str, plan: Plan) -> list[Row]:
    """One job for each operation: some of an MPI's own deliver wrong data, which ends the job (Intel MPI 2021.18's
    persistent gather). Those are left out, and named; a launcher that does not start may do so the second time."""
    for attempt in range(2):
        try:
            return measure(mpi, replace(plan, ops=(op,)))
        except UserError as error:
            if attempt == 1:
                console.note(f"left out: {mpi}, {subject.name} {op}: {error.message}")
    return []


def load(file: Path) -> list[Point]:
    if not file.exists():
        return []
    kinds = {field.name: {"int": int, "float": float}.get(str(field.type), str) for field in fields(Point)}
    with file.open(newline="") as lines:
        return [Point(**{name: kinds[name](value) for name, value in line.items()}) for line in csv.DictReader(lines)]


def save(file: Path, points: Sequence[Point]) -> None:
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, [field.name for field in fields(Point)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(point) for point in points)


# ---- the page ----

HEAD = """# Calls that do not block, and neighbourhoods

Written by `python bench/forms.py --page docs/forms.md` from [forms.csv](forms.csv), on {machine}.
Native and Espalier side by side in one job, as `espalier bench` has it ([method](../bench/METHOD.md)); the settings are
the defaults, nothing was tuned or learned before. Ratios are native ÷ Espalier, medians of the rounds, in the order
{mpis}. *Best* compares ours, on the MPI where it does best, with the fastest native of
all; *lowest* is the lowest ratio to one's own native, with its range over the rounds: where that reaches above 1 it may
be noise. What an MPI's own calls cannot do (–) ended in wrong data or an error of theirs.
"""


def write_page(points: Sequence[Point], file: Path, where: str) -> None:
    mpis = list(dict.fromkeys(point.mpi for point in points))
    lines = [HEAD.format(machine=where, mpis=", ".join(mpis))]
    for place in sorted(dict.fromkeys(point.place for point in points), key=_order):
        lines.append(f"## {_title(place)}\n")
        for subject in SUBJECTS:
            own = [it for it in points if (it.place, it.subject) == (place, subject.name)]
            if own:
                lines += [f"### {subject.title}\n", *_verdict(own)]
                lines += _overlap_table(own, mpis) if subject.overlap else _ratio_table(own, mpis)
        lines += _against_blocking([it for it in points if it.place == place])
    file.write_text("\n".join(lines) + "\n")


def _order(place: str) -> tuple[bool, int]:
    return place.startswith("lab-"), int(place.removeprefix("lab-"))


def _title(place: str) -> str:
    count = place.removeprefix("lab-")
    return f"Four emulated nodes, {count} ranks on each" if place.startswith("lab-") else f"{count} ranks"


def _groups(points: Iterable[Point]) -> dict[tuple[str, int], list[Point]]:
    groups: dict[tuple[str, int], list[Point]] = {}
    for point in points:
        groups.setdefault((point.op, point.bytes), []).append(point)
    return groups


def _verdict(points: Sequence[Point]) -> list[str]:
    best = [
        min(it.native_us for it in group) / min(it.espalier_us for it in group) for group in _groups(points).values()
    ]
    lowest = min(points, key=lambda it: it.ratio)
    below = sum(point.ratio < LEAST for point in points)
    return [
        f"Best: {geometric_mean(best):.2f} (geometric mean). Each against its own native: "
        f"{geometric_mean([it.ratio for it in points]):.2f}; below {LEAST} at {below} of {len(points)}; lowest "
        f"{lowest.ratio:.2f} ({lowest.low:.2f}–{lowest.high:.2f}), {lowest.op} {format_bytes(lowest.bytes)} on "
        f"{lowest.mpi}.\n"
    ]


def _ratio_table(points: Sequence[Point], mpis: Sequence[str]) -> Iterator[str]:
    sizes = sorted({point.bytes for point in points})
    yield "| | " + " | ".join(format_bytes(size) for size in sizes) + " |"
    yield "|---" * (len(sizes) + 1) + "|"
    groups = _groups(points)
    for op in dict.fromkeys(point.op for point in points):
        yield f"| {op} | " + " | ".join(_cell(groups.get((op, size), []), mpis) for size in sizes) + " |"
    yield ""


def _cell(points: Sequence[Point], mpis: Sequence[str]) -> str:
    ratios = {mpi: median(found) for mpi in mpis if (found := [it.ratio for it in points if it.mpi == mpi])}
    texts = [f"{ratios[mpi]:.2f}" if mpi in ratios else "–" for mpi in mpis]
    return " / ".join(f"**{it}**" if it != "–" and float(it) < LEAST else it for it in texts) if ratios else ""


def _overlap_table(points: Sequence[Point], mpis: Sequence[str]) -> Iterator[str]:
    """How much of the call the compute hides, and both together, native ÷ Espalier."""
    yield (
        "How much of the call's own time the compute hides, in per cent, native → Espalier; in parentheses the time of "
        "start, compute and wait, native ÷ Espalier.\n"
    )
    sizes = sorted({point.bytes for point in points})
    yield "| | | " + " | ".join(format_bytes(size) for size in sizes) + " |"
    yield "|---" * (len(sizes) + 2) + "|"
    for op in dict.fromkeys(point.op for point in points):
        for mpi in mpis:
            own = {it.bytes: it for it in points if (it.op, it.mpi) == (op, mpi)}
            if own:
                yield f"| {op} | {mpi} | " + " | ".join(_overlap_cell(own.get(size)) for size in sizes) + " |"
    yield ""


def _overlap_cell(point: Point | None) -> str:
    if point is None or not point.native_overlap:
        return ""
    ratio = float(point.native_all_us) / float(point.espalier_all_us)
    return f"{point.native_overlap} → {point.espalier_overlap} ({ratio:.2f})"


def _against_blocking(points: Sequence[Point]) -> list[str]:
    """Persistent short calls against our own blocking ones."""
    ours = {(it.subject, it.mpi, it.op, it.bytes): it.espalier_us for it in points}
    ratios = [
        ours[key] / ours["blocking", *key[1:]]
        for key in ours
        if key[0] == "persistent" and key[3] <= 4096 and ("blocking", *key[1:]) in ours
    ]
    if not ratios:
        return []
    return [
        f"Persistent {', '.join(SHORT)} to 4K take {geometric_mean(ratios):.2f} of the time of our own blocking calls "
        f"({min(ratios):.2f} to {max(ratios):.2f}).\n"
    ]


# ---- the command ----


def main(
    mpi: Annotated[str, typer.Option(help="MPIs, separated by commas.")] = "intel,mpich-5,openmpi-5",
    places: Annotated[str, typer.Option(help="Numbers of ranks, or lab-N: N on each emulated node.")] = "2,8,16",
    subjects: Annotated[str, typer.Option(help="Of: " + ", ".join(it.name for it in SUBJECTS))] = "",
    rounds: Annotated[int, typer.Option(min=0, help="0: only the page, from what there is.")] = 3,
    data: Annotated[Path, typer.Option(help="Where the points are kept.")] = ROOT / "docs" / "forms.csv",
    page: Annotated[Path | None, typer.Option(help="Where the page is written.")] = None,
) -> None:
    """Measures, keeps what was measured, and writes the page."""
    wanted = [it for it in SUBJECTS if not subjects or it.name in subjects.split(",")]
    mpis = [select_mpi(name) for name in mpi.split(",")] if rounds > 0 else []
    for place in places.split(","):
        for one in mpis:
            points = list(measure_place(one, place, wanted, rounds))
            names = {it.name for it in wanted}
            kept = [it for it in load(data) if (it.place, it.mpi) != (place, str(one)) or it.subject not in names]
            save(data, [*kept, *points])
            console.note(f"{place}, {one}: {len(points)} points")
    if page is not None:
        where = f"{machine.processor_name()}, {machine.count_cores()} cores, {datetime.date.today().isoformat()}"
        write_page(load(data), page, where)


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        console.print_error(error)
        raise SystemExit(2) from error
