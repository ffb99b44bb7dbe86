"""docs/nodes.md: what simulated nodes say of our algorithms beside modelled peers, before and after.

python bench/nodes_page.py     # from docs/nodes/before.csv and docs/nodes/after.csv (bench/nodes_points.py)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import fmean

from nodes_points import OURS, SIZES, Point, read_points

from espalier.base.units import format_bytes
from espalier.base.writing import write_text

DOCS = Path(__file__).parents[1] / "docs"
LEAST = 0.95
SHOWN_LOSSES = 12

HEAD = """# Inside nodes of many cores

*Written by `make nodes`; edit the code or the data, not this page.* How our collectives on one node compare with
others on machines that this project does not have, in [simulated nodes](ideas/nodes.md). Of what stands here

- **measured** is a line's hand-over between any two cores of seven machines, and what single steps cost a core;
- **simulated** is every time: our own plans and short messages, step by step, and the peers;
- **assumed** are rates of caches' ports and, in part, of memory; and the peers, which are shapes after their
  documentation, written in our instruction set: no time of theirs is quoted, and they are as fast as that makes them.

| peer | what it does | described in |
|---|---|---|
"""

PEERS_TOLD = (
    ("flat", "whoever needs something takes it from who has it, in one stage", ""),
    (
        "tuned",
        "sends and receives: binomial and doubling while short, four chains, rings and pairwise when long; 4 KB "
        "copied, longer through the kernel; 0.1 µs a message for matching",
        "Open MPI, fixed decisions of `coll/tuned`, `btl/sm`",
    ),
    (
        "xhc",
        "NUMA domains and their leaders; maps memory; pieces of 16 KB; members fold slices",
        "Open MPI pull request 11418; Katevenis, Ploumidis, Marazakis, CLUSTER 2022",
    ),
    ("acoll", "caches, sockets and their leaders; otherwise as xhc", "Open MPI pull requests 12484 and 13222"),
)

METHOD = """
Numbers are the best peer's time over ours, geometric means over sizes (barrier; broadcast, reduce, allreduce 4 B to
1 MB; allgather and alltoall, by block, 4 B to 16 and 8 KB): above 1 we are faster than whichever peer is best there.
Ranks sit on neighbouring cores. *Before* is the choice as it was, *after* as it is.
"""

TAIL = """
All points: [before](nodes/before.csv), [after](nodes/after.csv). `espalier simulate OP --node-platform NAME` shows
one of them, its Gantt chart and its busiest links; `python bench/nodes_points.py FILE` makes the points again.
"""


@dataclass(frozen=True)
class Case:
    platform: str
    ranks: int
    operation: str
    bytes: int


def gains(points: Iterable[Point]) -> dict[Case, tuple[float, str]]:
    """The best peer's time over ours, and who that is."""
    times: dict[Case, dict[str, float]] = defaultdict(dict)
    for it in points:
        times[Case(it.platform, it.ranks, it.operation, it.bytes)][it.way] = it.microseconds
    best = {case: min((time, way) for way, time in ways.items() if way != OURS) for case, ways in times.items()}
    return {case: (time / times[case][OURS], way) for case, (time, way) in best.items()}


def mean(values: Iterable[float]) -> float:
    return exp(fmean(log(value) for value in values))


def both(before: list[float], after: list[float]) -> str:
    was, now = f"{mean(before):.2f}", f"{mean(after):.2f}"
    return now if was == now else f"{was} → **{now}**"


def _table(before: dict[Case, tuple[float, str]], after: dict[Case, tuple[float, str]]) -> list[str]:
    rows = ["| machine | ranks | " + " | ".join(SIZES) + " | all |", "|---|---|" + "---|" * (len(SIZES) + 1)]
    for platform, ranks in sorted({(case.platform, case.ranks) for case in after}):
        cells = []
        for operation in [*SIZES, ""]:
            here = [
                case
                for case in after
                if (case.platform, case.ranks) == (platform, ranks) and operation in ("", case.operation)
            ]
            cells.append(both([before[case][0] for case in here], [after[case][0] for case in here]))
        rows.append(f"| {platform} | {ranks} | " + " | ".join(cells) + " |")
    return rows


def _summary(name: str, all_: dict[Case, tuple[float, str]]) -> str:
    values = [gain for gain, _ in all_.values()]
    lost = sum(value < LEAST for value in values)
    return f"| {name} | {mean(values):.2f} | {min(values):.2f} | {lost} of {len(values)} |"


def _losses(after: dict[Case, tuple[float, str]]) -> list[str]:
    worst = sorted((it for it in after.items() if it[1][0] < LEAST), key=lambda it: it[1][0])[:SHOWN_LOSSES]
    rows = ["| machine | ranks | operation | bytes | best peer | its time over ours |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {case.platform} | {case.ranks} | {case.operation} | {format_bytes(case.bytes)} | {peer} | {gain:.2f} |"
        for case, (gain, peer) in worst
    ]
    return rows


def main() -> None:
    before, after = (gains(read_points(DOCS / f"nodes/{name}.csv")) for name in ("before", "after"))
    lines = [
        HEAD + "\n".join(f"| {' | '.join(row)} |" for row in PEERS_TOLD),
        METHOD,
        "| | geometric mean | worst | below 0.95 |",
        "|---|---|---|---|",
        _summary("before", before),
        _summary("after", after),
        "",
        *_table(before, after),
        "",
        "## Where the best peer is faster still",
        "",
        f"The {SHOWN_LOSSES} worst:",
        "",
        *_losses(after),
        TAIL,
    ]
    write_text(DOCS / "nodes.md", "\n".join(lines))


if __name__ == "__main__":
    main()
