"""Scaling curves: the library without a table against other MPIs' algorithms, on networks that one does not have.

    python bench/scaling.py --ranks 128 --output build/scaling            # what `make scaling` does
    python bench/scaling.py --ranks 512,4096 --arms espalier              # ours alone goes far beyond
    python bench/scaling.py --ranks 128 --arms registry                   # the best of our registry, by exhaustion
    python bench/scaling.py --ranks 65536 --arms played,binomial,bine     # plans played through
    python bench/scaling.py --ranks "" --output docs/scaling --page docs/scaling.md    # the page again, from its data

Every point of `espalier` executes the library itself (docs/guides/simulation.md), data checked, and every point of
another MPI SimGrid's copy of its algorithms on the same simulated job. `registry` is the quickest plan of our own
registry, found by playing every algorithm with a grid of knobs: where that is far below, the built-in choice is wrong.
`played` is our choice as a plan played through, for more ranks than can be executed; `binomial` and `bine` are one tree
with its nodes in two orders. Results go to scaling.csv, one line per point and arm as they come; what is there already
is not run again: a run can be cut short and resumed.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import resource
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from espalier.core import load_core
from espalier.errors import UserError
from espalier.simulation.executor import OURS, SELECTORS, Case, Job, execute
from espalier.simulation.simulator import Answer, Request, simulate_all
from espalier.units import format_bytes

PPN = 8
BEST, PLAYED = "registry", "played"
# De Sensi et al., Bine trees (SC'25): less traffic over far links, for jobs that are told nothing of their network.
TREES = {"binomial": "knomial,radix=2,order=natural", "bine": "knomial,radix=2,order=bine"}
_PATIENCE_S = 1200

# By number of nodes: a two-level fat tree, a three-level one whose up-links carry half, a dragonfly.
_THREE = {16: (2, 2, 4), 64: (4, 4, 4), 128: (4, 8, 4), 512: (8, 8, 8), 8192: (32, 16, 16)}
_FLY = {16: (4, 2, 2), 64: (8, 4, 2), 128: (8, 4, 4), 512: (16, 8, 4), 8192: (64, 16, 8)}

# Of the message or vector, or of a block. All messages of an all-to-all are under way at once, ranks squared of them;
# and what an allgather brings is ranks times as much at each of as many ranks: those end earlier.
_SIZES = {
    "broadcast": (1 << 10, 64 << 10, 1 << 20),
    "allreduce": (1 << 10, 64 << 10, 1 << 20),
    "allgather": (1 << 10, 16 << 10),
    "alltoall": (256, 4 << 10),
}
_MOST_RANKS = {"alltoall": 128, "allgather": 1024}

# What `registry` turns; an algorithm's other knobs keep their defaults. The built-in choice is one of the plans, too.
_GRID: Mapping[str, tuple[str, ...]] = {
    "radix": ("2", "4"),
    "segment": ("0", "16K", "64K"),
    "within": ("cells,cell=16K,cells=4", "single_copy"),
    "groups": ("2", "4"),
}


@dataclass(frozen=True)
class Row:
    """One arm at one point. Times in µs; `wrong` counts ranks with wrong data."""

    network: str
    ranks: int
    operation: str
    bytes: int
    arm: str
    microseconds: float
    wrong: int
    choice: str

    @property
    def point(self) -> tuple[str, int, str, int]:
        return self.network, self.ranks, self.operation, self.bytes


def networks(nodes: int) -> dict[str, str]:
    """Names for people, and what the simulator reads."""
    pods, leaves, below = _THREE[nodes]
    groups, routers, down = _FLY[nodes]
    return {
        "fat tree": f"fat_tree:leaves={nodes // 8},down=8,spines=8",
        "three levels, 2:1": f"three_level:pods={pods},leaves={leaves},down={below},spines=2,oversubscription=2",
        "dragonfly": f"dragonfly:groups={groups},routers={routers},down={down}",
    }


def cases(ranks: int) -> list[Case]:
    """What is run at this size."""
    return [
        Case(operation, size)
        for operation, sizes in _SIZES.items()
        for size in sizes
        if ranks <= _MOST_RANKS.get(operation, ranks)
    ]


def run(name: str, job: Job, arm: str, todo: list[Case]) -> Iterator[Row]:
    """All cases of an arm, in one simulation where they are executed; none where it fails, which is said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        if arm in (OURS, *SELECTORS):
            for it in execute(job, arm, todo, timeout=_PATIENCE_S):
                yield _row(name, job, it.case, arm, it.microseconds, it.choice, it.wrong)
        else:
            for case in todo:
                best = min(play(job, case, arm), key=lambda it: it.microseconds)
                yield _row(name, job, case, arm, best.microseconds, best.choice)
    except UserError as error:
        print(f"{name}, {len(job.node_of)} ranks, {arm}: {error.message}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{name}, {len(job.node_of)} ranks, {arm}, {todo[0].operation}: {after.ru_utime - before.ru_utime:.0f} s of a "
        f"processor, {after.ru_maxrss >> 10} MB at most so far",
        flush=True,
    )


def _row(name: str, job: Job, case: Case, arm: str, microseconds: float, choice: str, wrong: int = 0) -> Row:
    return Row(name, len(job.node_of), case.operation, case.bytes, arm, microseconds, wrong, choice)


def play(job: Job, case: Case, arm: str) -> list[Answer]:
    """The plans of an arm, played; those of the registry that make no sense here are left out."""
    texts = _variants(case.operation) if arm == BEST else [TREES.get(arm, "")]
    requests = [Request(job.network, case.operation, case.bytes, list(job.node_of), text) for text in texts]
    answers = list(simulate_all(requests, timeout=_PATIENCE_S))
    found = [it for it in answers if not isinstance(it, UserError)]
    if not found:
        raise next(it for it in answers if isinstance(it, UserError))
    return found


def _variants(operation: str) -> list[str]:
    entries = [entry for entry in load_core().algorithms() if entry.operation == operation]
    return ["", *(text for entry in entries for text in _turn_knobs(entry))]


def _turn_knobs(entry: Any) -> Iterator[str]:
    turned = [[f",{knob}={value}" for value in values] for knob, values in _GRID.items() if f"{knob}=" in entry.knobs]
    for combination in itertools.product(*turned):
        yield entry.name + "".join(combination)


@dataclass(frozen=True)
class Compared:
    """One point with all arms that delivered the right data, in µs."""

    point: tuple[str, int, str, int]
    arms: dict[str, float]

    @property
    def other(self) -> tuple[float, str] | None:
        """The quickest of the other MPIs."""
        return min(((self.arms[arm], arm) for arm in SELECTORS if arm in self.arms), default=None)

    @property
    def ratio(self) -> float | None:
        """Above 1: ours is ahead."""
        return self.other[0] / self.arms[OURS] if self.other and OURS in self.arms else None


def compare(rows: list[Row]) -> list[Compared]:
    """By operation, then by size of the job."""
    right = [row for row in rows if row.wrong == 0]
    points = sorted({row.point for row in right}, key=lambda it: (list(_SIZES).index(it[2]), it[1], it[0], it[3]))
    return [Compared(point, {row.arm: row.microseconds for row in right if row.point == point}) for point in points]


def summarise(rows: list[Row]) -> str:
    """Markdown: every point against the best other arm, verdicts, the two orders of a tree, and what was played."""
    points = compare(rows)
    return "\n\n".join(filter(None, (_executed(points), _verdict(points), _trees(points), _played(rows)))) + "\n"


def _name(point: tuple[str, int, str, int]) -> str:
    network, ranks, operation, size = point
    return f"{operation} | {ranks} | {network} | {format_bytes(size)}"


def _executed(points: list[Compared]) -> str:
    lines = [
        "| operation | ranks | network | bytes | ours, µs | best other, µs | ratio | registry's best, µs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for it in points:
        if OURS in it.arms:
            other = f"{it.other[0]:.1f} ({it.other[1]})" if it.other else ""
            ratio = f"{it.ratio:.2f}" if it.ratio else ""
            best = f"{it.arms[BEST]:.1f}" if BEST in it.arms else ""
            lines.append(f"| {_name(it.point)} | {it.arms[OURS]:.1f} | {other} | {ratio} | {best} |")
    return "\n".join(lines)


def _verdict(points: list[Compared]) -> str:
    parts = []
    large = [it for it in points if it.point[3] >= 64 << 10]
    for what, some in (
        ("Against the best other arm of each point", points),
        ("From 64 KB up", large),
        *((operation, [it for it in points if it.point[2] == operation]) for operation in _SIZES),
    ):
        ratios = [it.ratio for it in some if it.ratio]
        if ratios:
            parts.append(
                f"- {what}: ahead at {sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} points, geometric mean "
                f"{_mean(ratios):.2f}, worst {min(ratios):.2f}, best {max(ratios):.2f}."
            )
    missed = [it.arms[OURS] / it.arms[BEST] for it in points if OURS in it.arms and BEST in it.arms]
    if missed:
        parts.append(
            f"- The built-in choice takes {_mean(missed):.2f} times as long as the registry's best in the geometric "
            f"mean of {len(missed)} points, {max(missed):.2f} times at worst."
        )
    return "\n".join(parts)


def _mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _trees(points: list[Compared]) -> str:
    lines = [
        "| operation | ranks | network | bytes | binomial, µs | bine, µs | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for it in points:
        if all(tree in it.arms for tree in TREES):
            natural, bine = (it.arms[tree] for tree in TREES)
            ratios.append(natural / bine)
            lines.append(f"| {_name(it.point)} | {natural:.1f} | {bine:.1f} | {ratios[-1]:.2f} |")
    if not ratios:
        return ""
    better, worse = (sum(sign * ratio > sign * (1 + sign * 0.005) for ratio in ratios) for sign in (1, -1))
    lines.append(
        f"\nBine order is the quicker one at {better} of {len(ratios)} points and the slower one at {worse} (by more "
        f"than 0.5 %), geometric mean {_mean(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}."
    )
    return "\n".join(lines)


def _played(rows: list[Row]) -> str:
    played = [row for row in rows if row.arm == PLAYED]
    if not played:
        return ""
    lines = ["| operation | ranks | network | bytes | µs, played | choice |", "|---|---|---|---|---|---|"]
    lines += [f"| {_name(row.point)} | {row.microseconds:.1f} | {row.choice} |" for row in played]
    return "\n".join(lines)


def write_page(path: Path, text: str) -> None:
    """Replaces what stands between the page's two marks."""
    begin, end = "<!-- points: written by bench/scaling.py -->\n", "<!-- end of points -->"
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(before + begin + text + end + rest.partition(end)[2], encoding="utf-8")


def draw(rows: list[Row]) -> str:
    """An SVG: for each point a dot per other arm, by its time over ours on a logarithmic axis; right of 1 we lead."""
    points = [it.point for it in compare(rows) if it.ratio]
    colours = dict(zip(SELECTORS, ("#3b6fb6", "#c2702a", "#7b52ab", "#1f9aa8"), strict=True))
    left, width, step, top = 300, 900, 16, 44
    height = top + step * len(points) + 20

    def x(ratio: float) -> float:
        return left + (width - left - 20) * (math.log2(max(0.25, min(16, ratio))) + 2) / 6

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for i, (arm, colour) in enumerate(colours.items()):
        parts.append(f'<text x="{left + 90 * i}" y="14" fill="{colour}">● {arm}</text>')
    for power in range(-2, 5):
        at = x(2.0**power)
        stroke = "#555" if power == 0 else "#ddd"
        parts.append(f'<line x1="{at}" x2="{at}" y1="{top - 10}" y2="{height - 16}" stroke="{stroke}"/>')
        parts.append(f'<text x="{at}" y="{top - 14}" text-anchor="middle">{2.0**power:g}×</text>')
    for i, point in enumerate(points):
        y = top + step * i + 4
        arms = {row.arm: row for row in rows if row.point == point and row.wrong == 0}
        network, ranks, operation, size = point
        label = f"{network}, {ranks} ranks: {operation} {format_bytes(size)}"
        parts.append(f'<text x="{left - 24}" y="{y + 4}" text-anchor="end">{label}</text>')
        for arm, colour in colours.items():
            if arm in arms and OURS in arms:
                at = x(arms[arm].microseconds / arms[OURS].microseconds)
                parts.append(f'<circle cx="{at:.1f}" cy="{y}" r="4" fill="{colour}" fill-opacity="0.8"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def read(path: Path) -> list[Row]:
    """What earlier runs have written."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(it["network"], int(it["ranks"]), it["operation"], int(it["bytes"]), it["arm"],
                float(it["microseconds"]), int(it["wrong"]), it["choice"])
            for it in csv.DictReader(file)
        ]  # fmt: skip


def append(path: Path, row: Row) -> None:
    """One more line; the heading first where the file is new."""
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(field.name for field in fields(Row))
        writer.writerow(astuple(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="128", help="numbers of ranks: 128, 512, 1024, 4096, 65536")
    parser.add_argument("--arms", default=",".join((OURS, *SELECTORS)), help="also: registry, played, binomial, bine")
    parser.add_argument("--operations", default=",".join(_SIZES))
    parser.add_argument("--networks", default="", help="by name; default: all three")
    parser.add_argument("--output", type=Path, default=Path("build/scaling"))
    parser.add_argument("--page", type=Path, help="also put the summary into this page, between its marks")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    table = args.output / "scaling.csv"
    todo = itertools.product(map(int, filter(None, args.ranks.split(","))), args.arms.split(","))
    for ranks, arm in todo:
        for name, network in networks(ranks // PPN).items():
            if args.networks and name not in args.networks.split(";"):
                continue
            job = Job(network, [rank // PPN for rank in range(ranks)])
            done = {row.point for row in read(table) if row.arm == arm}
            wanted = [it for it in cases(ranks) if (name, ranks, it.operation, it.bytes) not in done]
            for operation in args.operations.split(","):
                some = [
                    it for it in wanted if it.operation == operation and (arm not in TREES or operation == "broadcast")
                ]
                for row in run(name, job, arm, some) if some else ():
                    append(table, row)
    rows = read(table)
    text = summarise(rows)
    (args.output / "scaling.svg").write_text(draw(rows), encoding="utf-8")
    if args.page:
        write_page(args.page, text)
    print(text)


if __name__ == "__main__":
    main()
