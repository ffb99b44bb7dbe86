"""Scaling curves: the library without a table against other MPIs' algorithms, on networks that one does not have.

    python bench/scaling.py --ranks 128 --output build/scaling     # what `make scaling` does
    python bench/scaling.py --ranks 1024,4096 --arms espalier      # ours alone goes far beyond

Every point executes the library itself (docs/guides/simulation.md), data checked, and for each other MPI SimGrid's
copy of its algorithms on the same simulated job. `--best` adds the quickest plan of our own registry, found by playing
every algorithm with a grid of knobs: where that is far below, the built-in choice is wrong. Results go to scaling.csv,
one line per point and arm as they come; what is there already is not run again: a run can be cut short and resumed.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from espalier.core import load_core
from espalier.errors import UserError
from espalier.simulation.executor import OURS, SELECTORS, Case, Job, execute
from espalier.simulation.simulator import Request, simulate_all
from espalier.units import format_bytes

PPN = 8
BEST = "registry"
_PATIENCE_S = 600

# By number of nodes: a two-level fat tree, a three-level one whose up-links carry half, a dragonfly.
_THREE = {16: (2, 2, 4), 64: (4, 4, 4), 128: (4, 8, 4), 512: (8, 8, 8)}
_FLY = {16: (4, 2, 2), 64: (8, 4, 2), 128: (8, 4, 4), 512: (16, 8, 4)}

# Of the message or vector, or of a block. An all-to-all's messages are all under way at once, and SimGrid's fluid model
# then shares links among ranks squared of them: minutes from 256 ranks on.
_SIZES = {
    "broadcast": (1 << 10, 64 << 10, 1 << 20),
    "allreduce": (1 << 10, 64 << 10, 1 << 20),
    "allgather": (1 << 10, 16 << 10),
    "alltoall": (256, 4 << 10),
}
_MOST_RANKS = {"alltoall": 128, "allgather": 1024}

# What `--best` turns; an algorithm's other knobs keep their defaults.
_GRID: Mapping[str, tuple[str, ...]] = {
    "radix": ("2", "4", "8"),
    "segment": ("0", "16K", "64K", "256K"),
    "within": ("cells,cell=16K,cells=4", "cells,cell=64K,cells=4", "single_copy"),
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


def run_point(name: str, job: Job, arm: str, todo: list[Case]) -> Iterator[Row]:
    """One simulation for all cases of an arm; none where it fails, which is said."""
    ranks = len(job.node_of)
    begin = time.monotonic()
    try:
        for it in execute(job, arm, todo, timeout=_PATIENCE_S):
            yield Row(name, ranks, it.case.operation, it.case.bytes, arm, it.microseconds, it.wrong, it.choice)
    except UserError as error:
        print(f"{name}, {ranks} ranks, {arm}: {error.message}")
    print(f"{name}, {ranks} ranks, {arm}: {time.monotonic() - begin:.0f} s", flush=True)


def find_best(core: Any, name: str, job: Job, case: Case) -> Row | None:
    """The quickest plan of the registry, played."""
    texts = [text for entry in core.algorithms() if entry.operation == case.operation for text in _variants(entry)]
    requests = [Request(job.network, case.operation, case.bytes, list(job.node_of), text) for text in texts]
    answers = [it for it in simulate_all(requests, timeout=120) if not isinstance(it, UserError)]
    if not answers:
        return None
    best = min(answers, key=lambda it: it.microseconds)
    return Row(name, len(job.node_of), case.operation, case.bytes, BEST, best.microseconds, 0, best.choice)


def _variants(entry: Any) -> Iterator[str]:
    turned = [[f",{knob}={value}" for value in values] for knob, values in _GRID.items() if f"{knob}=" in entry.knobs]
    for combination in itertools.product(*turned):
        yield entry.name + "".join(combination)


def summarise(rows: list[Row]) -> str:
    """Markdown: every point, the best other arm with right data, and the registry's best; ratios above 1 are ours."""
    lines = [
        "| network | ranks | operation | bytes | ours, µs | best other, µs | ratio | registry's best, µs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for point in dict.fromkeys(row.point for row in rows):
        arms = {row.arm: row for row in rows if row.point == point and row.wrong == 0}
        if OURS not in arms:
            continue
        ours = arms[OURS].microseconds
        others = sorted((row.microseconds, row.arm) for row in arms.values() if row.arm in SELECTORS)
        other, ratio = "", ""
        if others:
            ratios.append(others[0][0] / ours)
            other, ratio = f"{others[0][0]:.1f} ({others[0][1]})", f"{ratios[-1]:.2f}"
        best = f"{arms[BEST].microseconds:.1f}" if BEST in arms else ""
        network, ranks, operation, size = point
        lines.append(
            f"| {network} | {ranks} | {operation} | {format_bytes(size)} | {ours:.1f} | {other} | {ratio} | {best} |"
        )
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        ahead = sum(ratio >= 1 for ratio in ratios)
        lines.append(
            f"\nAgainst the best other arm of each point: ahead at {ahead} of {len(ratios)} points, "
            f"geometric mean {mean:.2f}, worst {min(ratios):.2f}, best {max(ratios):.2f}."
        )
    return "\n".join(lines) + "\n"


def draw(rows: list[Row]) -> str:
    """An SVG: for each point a dot per other arm, by its time over ours on a logarithmic axis; right of 1 we lead."""
    points = [p for p in dict.fromkeys(row.point for row in rows) if any(r.point == p and r.arm == OURS for r in rows)]
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
    parser.add_argument("--ranks", default="128", help="numbers of ranks: 128, 512, 1024, 4096")
    parser.add_argument("--arms", default=",".join((OURS, *SELECTORS)))
    parser.add_argument("--operations", default=",".join(_SIZES))
    parser.add_argument("--best", action="store_true", help="also the quickest plan of our own registry")
    parser.add_argument("--output", type=Path, default=Path("build/scaling"))
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    table = args.output / "scaling.csv"
    for ranks, arm in itertools.product(map(int, args.ranks.split(",")), args.arms.split(",")):
        wanted = [case for case in cases(ranks) if case.operation in args.operations.split(",")]
        for name, network in networks(ranks // PPN).items():
            job = Job(network, [rank // PPN for rank in range(ranks)])
            done = {(row.point, row.arm) for row in read(table)}
            todo = [case for case in wanted if ((name, ranks, case.operation, case.bytes), arm) not in done]
            for row in run_point(name, job, arm, todo) if todo else ():
                append(table, row)
            if args.best and arm == OURS:
                for case in wanted:
                    if ((name, ranks, case.operation, case.bytes), BEST) not in done:
                        best = find_best(load_core(), name, job, case)
                        if best is not None:
                            append(table, best)
    rows = read(table)
    (args.output / "scaling.md").write_text(summarise(rows), encoding="utf-8")
    (args.output / "scaling.svg").write_text(draw(rows), encoding="utf-8")
    print(summarise(rows))


if __name__ == "__main__":
    main()
