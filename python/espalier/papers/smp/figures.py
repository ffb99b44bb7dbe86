"""Wu, Kendall and Aluru's figures 1 to 7: this machine and its MPIs, or the emulated cluster's nodes.

The paper's nodes had 16 processors. On one real machine several nodes are virtual, its ranks told apart by a setting:
messages between them take the MPI's own way, so they show the algorithms' copies and messages, not a wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from espalier.base.errors import UserError
from espalier.base.units import format_bytes
from espalier.jobs.mpis import Mpi
from espalier.lab import cluster
from espalier.measure.paired import Row
from espalier.papers.figure import Axes, Data, Figure, Point, Task, Verdict, Way, Where
from espalier.papers.measuring import (
    Effort,
    Part,
    Place,
    choice_job,
    compare,
    native_point,
    own_point,
    time_choices,
    under_each_mpi,
)
from espalier.papers.smp import judges

_NOTES = (
    "A × B: A nodes of B ranks each, all on this one machine; with more ranks than cores, times include waiting for a "
    "core. Sizes are one rank's block; the paper gives the sum over ranks.",
    "Without a tuned table unless one is named (ESPALIER_TABLE). Below 1.3 times with 2 ranks, and 1.5 times with more "
    "ranks than cores, differences are noise.",
    "Medians over rounds of medians over calls; what one panel compares took turns in one job (the broadcasts on "
    "leaders of figure 7 in one job each).",
)
_VIRTUAL = "Several nodes are virtual: groups of ranks that exchange messages through memory."
# The paper's broadcast before tuning: two buffers of 4 KB. After: what the depths' panel finds.
_UNTUNED = "knomial,radix=2,within=cells,cell=4K,cells=2"
_WINDOW = {"ESPALIER_SHM_WINDOW": "2M"}  # room for the deepest pipeline
_SIZES = [4 << 2 * i for i in range(10)]
_FEW_SIZES = [4, 4 << 10, 256 << 10]


@dataclass(frozen=True)
class Bench:
    """What a figure is measured on."""

    mpi: Mpi
    on_node: Sequence[int]  # numbers of ranks on one node; none on the emulated cluster
    nodes: Place  # several nodes
    effort: Effort
    sizes: Sequence[int]

    @property
    def places(self) -> list[Place]:
        return [*(Place(1, ranks) for ranks in self.on_node), self.nodes]

    def panel(self, place: Place, more: str = "") -> str:
        return f"{self.mpi}, {place}{more}"


Measure = Callable[[Bench], Part]


def on_this_machine(measure: Measure) -> Callable[[Task], Data]:
    """Nodes of 2 and 8 ranks, and four virtual ones."""

    def produce(task: Task) -> Data:
        def part(mpi: Mpi) -> Part:
            return measure(_bench(mpi, task, [2] if task.quick else [2, 8], Place(4, task.per_node)))

        return under_each_mpi(task, Where.REAL, [*_NOTES, _VIRTUAL], part)

    return produce


def on_the_cluster(measure: Measure) -> Callable[[Task], Data]:
    """All nodes of the emulated cluster."""

    def produce(task: Task) -> Data:
        spec = cluster.load()

        def part(mpi: Mpi) -> Part:
            return measure(_bench(mpi, task, [], Place(spec.nodes, task.per_node, is_lab=True)))

        rates = ", ".join(sorted(set(spec.rates)))
        emulated = f"Several nodes are emulated: network namespaces of this machine, links at {rates}."
        return under_each_mpi(task, Where.EMULATED, [*_NOTES, emulated], part)

    return produce


def _bench(mpi: Mpi, task: Task, on_node: Sequence[int], nodes: Place) -> Bench:
    effort = Effort(1, 4) if task.quick else Effort(5, 40)
    return Bench(mpi, on_node, nodes, effort, _FEW_SIZES if task.quick else _SIZES)


def access_cost(it: Bench) -> Part:
    """Figure 1: x is the number of ranks, both curves deliver 8 KB to all of them."""
    block = 8 << 10
    group = f"knomial,radix=2,within=cells,cell={format_bytes(block)},cells=4"
    panel, points = f"{it.mpi}", []
    for ranks in (2, 4) if len(it.sizes) < len(_SIZES) else (2, 4, 8, 16):
        row = compare(it.mpi, Place(1, ranks), it.effort, ["bcast_by_stages"], [block], group)["bcast_by_stages", block]
        points += [native_point(row, panel, "stages", ranks), own_point(row, panel, "one group", ranks)]
    return Part(points)


def copy_cost(it: Bench) -> Part:
    """Figure 2. Has nothing to do with the MPI, but its curves come from a job of one."""
    with choice_job(it.mpi, Place(1, 2), {}) as worker:
        measured = worker.curve("copy")
    ordered = sorted(measured, key=lambda point: (point["bytes"], point["cell"]))
    return Part(
        [
            Point.exact(f"{it.mpi}", format_bytes(int(point["bytes"])), int(point["cell"]), float(point["us"]))
            for point in ordered
        ]
    )


def pipeline(it: Bench) -> Part:
    """Figure 3: depth × cell size for one large broadcast; then the best of them over all sizes."""
    points, notes = [], []
    for ranks in it.on_node:
        depths, tuned = _depths(it, ranks)
        arms = {"native": "native", "untuned": _UNTUNED, "tuned": tuned}
        sizes = _side_by_side(it, Place(1, ranks), "broadcast", arms, _WINDOW)
        points += [*depths.points, *sizes.points]
        notes += [*depths.notes, *sizes.notes, f"{it.mpi}, 1 × {ranks}, tuned: {tuned}"]
    return Part(points, notes)


def _depths(it: Bench, ranks: int) -> tuple[Part, str]:
    """The panel of all depths and cell sizes, and the fastest choice."""
    size = 1 << 20
    cells = [4 << 10, 8 << 10, 16 << 10, 32 << 10]
    depths = [2, 8] if len(it.sizes) < len(_SIZES) else [1, 2, 4, 8, 16, 32]
    names = {
        (cell, depth): f"knomial,radix=2,within=cells,cell={format_bytes(cell)},cells={depth}"
        for cell in cells
        for depth in depths
    }
    with choice_job(it.mpi, Place(1, ranks), _WINDOW) as worker:
        arms = time_choices(worker, "broadcast", size, list(names.values()), it.effort)
    ran = {key: arms[name] for key, name in names.items() if arms[name].rounds}
    if not ran:
        reasons = "; ".join(sorted({arm.refused for arm in arms.values()}))
        raise UserError(f"no pipelined broadcast could run: {reasons}")
    panel = it.panel(Place(1, ranks), f", {format_bytes(size)}, by number of cells")
    points = [arm.point(panel, f"{format_bytes(cell)} cells", depth) for (cell, depth), arm in ran.items()]
    best = min(ran, key=lambda key: ran[key].us or 0)
    return Part(points, sorted({arm.refused for arm in arms.values() if arm.refused})), names[best]


def native_and_own(op: str) -> Measure:
    """Figures 4 and 5."""

    def measure(it: Bench) -> Part:
        points = []
        for place in it.places:
            rows = compare(it.mpi, place, it.effort, [op], it.sizes)
            panel = it.panel(place)
            points += [native_point(rows[op, size], panel, "native", size) for size in it.sizes]
            points += [own_point(rows[op, size], panel, "Espalier", size) for size in it.sizes]
        return Part(points)

    return measure


def alltoall(it: Bench) -> Part:
    """Figure 6: the shared-memory ways of Espalier and native, on one node."""
    arms = {"native": "native", "Espalier": "auto", "cells": "pairwise,within=cells"}
    arms["single copy"] = "pairwise,within=single_copy"
    parts = [_side_by_side(it, Place(1, ranks), "alltoall", arms, {}) for ranks in it.on_node]
    return Part([point for part in parts for point in part.points], [note for part in parts for note in part.notes])


def two_stage(it: Bench) -> Part:
    """Figure 7: scatter, then allgather: among single ranks per node, among all ranks, among leaders."""
    sizes = [size for size in it.sizes if size >= 16 << 10]
    alone, crowded = replace(it.nodes, per_node=1), it.nodes
    ops = ["bcast", "bcast_two_stage"]
    rows = compare(it.mpi, alone, it.effort, ops, sizes)
    points = _native_curves(rows, it.panel(alone), sizes)
    notes = []
    for name, choice in {"binomial": "knomial,radix=2", "on leaders": "scatter_allgather"}.items():
        rows = compare(it.mpi, crowded, it.effort, ops, sizes, choice)
        panel = it.panel(crowded)
        points += _native_curves(rows, panel, sizes) if name == "binomial" else []
        # The library says what it did: a forced choice that does not apply is not taken.
        if all(rows["bcast", size].choice.startswith(choice.split(",")[0]) for size in sizes):
            points += [own_point(rows["bcast", size], panel, name, size) for size in sizes]
        else:
            notes.append(f"{panel}, {name}: '{choice}' was not taken but '{rows['bcast', sizes[0]].choice}'")
    return Part(points, notes)


def _native_curves(rows: Mapping[tuple[str, int], Row], panel: str, sizes: Sequence[int]) -> list[Point]:
    return [
        *(native_point(rows["bcast", size], panel, "native", size) for size in sizes),
        *(native_point(rows["bcast_two_stage", size], panel, "two stages, all ranks", size) for size in sizes),
    ]


def _side_by_side(it: Bench, place: Place, op: str, arms: Mapping[str, str], settings: Mapping[str, str]) -> Part:
    """All arms in one job. Where an arm could not run there is no point, and a note."""
    with choice_job(it.mpi, place, settings) as worker:
        results = {size: time_choices(worker, op, size, list(arms.values()), it.effort) for size in it.sizes}
    points = [
        times[choice].point(it.panel(place), name, size)
        for name, choice in arms.items()
        for size, times in results.items()
        if times[choice].rounds
    ]
    refusals = {
        f"{it.panel(place)}, {name} ({choice}): {times[choice].refused}"
        for name, choice in arms.items()
        for times in results.values()
        if not times[choice].rounds
    }
    return Part(points, sorted(refusals))


def _ways(measure: Measure, judge: Callable[[Data], Verdict], x: str, on_cluster: bool, takes: str) -> list[Way]:
    axes = Axes(x, "µs")
    how = "jobs of this machine's MPIs, native and Espalier taking turns (bench/METHOD.md)"
    ways = [Way(Where.REAL, on_this_machine(measure), judge, axes, how, takes, uses_mpi=True)]
    if on_cluster:
        lab = "the same on the emulated cluster (espalier lab up, as root)"
        ways.append(Way(Where.EMULATED, on_the_cluster(measure), judge, axes, lab, "4 min", uses_mpi=True))
    return ways


FIGURES = (
    Figure(
        "smp/1",
        "Figure 1",
        "Cost of accessing 8 KB within a node",
        "one stage of Sender_put, Group_sync, Group_get beats log p stages of shared-memory send and receive, and "
        "grows less with p.",
        _ways(access_cost, judges.judge_access, "ranks", False, "40 s"),
    ),
    Figure(
        "smp/2",
        "Figure 2",
        "Shared buffer size and copying performance",
        "buffers of 4 to 16 KB copy 8 MB fastest; larger ones miss in caches and TLB.",
        _ways(copy_cost, judges.judge_copy, "bytes of the buffer", False, "10 s"),
    ),
    Figure(
        "smp/3",
        "Figure 3",
        "Broadcast as a function of buffers",
        "two buffers of 8 KB lose to two of 16 KB, sixteen of 8 KB beat all; against the vendor's broadcast 30 % "
        "slower before tuning (two buffers of 4 KB), 50 % faster after.",
        _ways(pipeline, judges.judge_pipeline, "bytes, or number of cells", False, "2 min"),
    ),
    Figure(
        "smp/4",
        "Figure 4",
        "Broadcast against the native one",
        "usually at least 30 % faster, for small messages sometimes more than 50 %, on one node and on 16.",
        _ways(native_and_own("bcast"), judges.judge_broadcast, "bytes", True, "2 min"),
    ),
    Figure(
        "smp/5",
        "Figure 5",
        "Scatter against the native one",
        "about 40 % faster on one node up to 128 KB in all, up to 30 % on eight nodes.",
        _ways(native_and_own("scatter"), judges.judge_scatter, "bytes of one rank's block", True, "2 min"),
    ),
    Figure(
        "smp/6",
        "Figure 6",
        "All-to-all on one node",
        "shared memory beats the other ways for small and medium sizes; large ones are left to the native pairwise "
        "exchange.",
        _ways(alltoall, judges.judge_alltoall, "bytes of one pair's block", False, "2 min"),
    ),
    Figure(
        "smp/7",
        "Figure 7",
        "Two-stage broadcast",
        "with one rank per node it beats the vendor's broadcast; among all ranks of 16 × 16 it is much worse, since it "
        "copies within nodes again and again; between leaders only it wins, even over the binomial tree.",
        _ways(two_stage, judges.judge_two_stage, "bytes", True, "2 min"),
    ),
)
