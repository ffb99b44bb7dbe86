"""Draws figures 1 to 7 of Wu, Kendall and Aluru's paper on tunable collectives for this machine and its MPIs.

    python bench/papers/smp.py --output build/figures --mpi mpich-5,openmpi-5,intel --on-node 2,8 --nodes 4 --per-node 4

The paper's nodes had 16 processors. Here several nodes are virtual, the ranks of one machine told apart by a setting:
messages between them take the MPI's own way, so they show the algorithms' copies and messages, not a wire. With --lab
they are those of the emulated cluster (espalier lab up), whose links have a rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from figures import NATIVE, OWN, Curve, Figure, Panel, style_of, write_figures
from jobs import Effort, Place, choice_job, compare, time_choices

from espalier import console
from espalier.errors import UserError
from espalier.lab import cluster
from espalier.measure import Row
from espalier.mpis import Mpi, select_mpi
from espalier.units import format_bytes, parse_counts

SOURCE = "After Wu, Kendall, Aluru: A tunable collective communication framework on a cluster of SMPs, 2005."
REMARKS = (
    "A × B: A nodes with B ranks each, all on this one machine.",
    "Sizes are one rank's block (all-to-all: one pair's); the paper gives the sum over ranks.",
    "With more ranks than cores, times include waiting for a core, and only large differences mean something.",
    "Medians over rounds of medians over calls; what is compared in one diagram took turns in one job, except the "
    "broadcasts of figure 7.",
)
VIRTUAL = "Several nodes are virtual: groups of ranks, told apart by a setting, that exchange messages through memory."
EMULATED = "Several nodes are emulated: network namespaces, links at {}."
# The paper's broadcast before and after tuning: two buffers of 4 KB against what the left panel finds.
UNTUNED = "knomial,radix=2,within=cells,cell=4K,cells=2"


@dataclass(frozen=True)
class Setup:
    """What the figures are drawn for."""

    mpi: Mpi
    on_node: Sequence[int]  # numbers of ranks on one node
    nodes: Place  # several nodes
    effort: Effort
    sizes: Sequence[int]

    @property
    def places(self) -> list[Place]:
        return [*(Place(1, ranks) for ranks in self.on_node), self.nodes]


def access_cost(it: Setup) -> Figure:
    """Figure 1: x is the number of ranks, both curves deliver 8 KB to all of them."""
    block = 8 << 10
    ranks = [2, 4, 8, 16]
    group = f"knomial,radix=2,within=cells,cell={format_bytes(block)},cells=4"
    rows = [compare(it.mpi, Place(1, p), it.effort, ["bcast_by_stages"], [block], group) for p in ranks]
    cells = [row["bcast_by_stages", block] for row in rows]
    curves = [
        Curve("stages", NATIVE, [row.native_p50_us for row in cells]),
        Curve("one group", OWN, [row.espalier_p50_us for row in cells]),
    ]
    return Figure(
        1,
        "Cost of accessing 8 KB within a node",
        "one stage of Sender_put, Group_sync, Group_get beats log p stages of shared-memory send and receive, and "
        "grows less with p.",
        [Panel(f"{it.mpi}", "ranks", ranks, curves)],
    )


def copy_cost(it: Setup) -> Figure:
    """Figure 2."""
    with choice_job(it.mpi, Place(1, 2), {}) as worker:
        points = worker.curve("copy")
    totals = sorted({int(point["bytes"]) for point in points})
    every = sorted({int(point["cell"]) for point in points if point["cell"] <= totals[0]})
    cells = every[::2]  # room for their labels
    time = {(int(point["bytes"]), int(point["cell"])): point["us"] for point in points}
    curves = [
        Curve(format_bytes(total), style_of(i), [time[total, cell] for cell in cells]) for i, total in enumerate(totals)
    ]
    return Figure(
        2,
        "Shared buffer size and copying performance",
        "buffers of 4 to 16 KB copy 8 MB fastest; larger ones miss in caches and TLB.",
        [Panel("Sender_put", "bytes of the buffer", cells, curves)],
    )


def pipeline(it: Setup) -> Figure:
    """Figure 3: depth × cell size for one large broadcast; then the best of them over all sizes."""
    panels = []
    for ranks in it.on_node:
        left, tuned = _depths(it, ranks)
        panels += [left, _tuned(it, ranks, tuned)]
    return Figure(
        3,
        "Broadcast as a function of buffers",
        "two buffers of 8 KB lose to two of 16 KB, sixteen of 8 KB beat all; against the vendor's broadcast 30 % "
        "slower before tuning (two buffers of 4 KB), 50 % faster after.",
        panels,
    )


def _depths(it: Setup, ranks: int) -> tuple[Panel, str]:
    size, cells, depths = 1 << 20, [4 << 10, 8 << 10, 16 << 10, 32 << 10], [1, 2, 4, 8, 16, 32]
    names = {
        (cell, depth): f"knomial,radix=2,within=cells,cell={format_bytes(cell)},cells={depth}"
        for cell in cells
        for depth in depths
    }
    with choice_job(it.mpi, Place(1, ranks), {"ESPALIER_SHM_WINDOW": "2M"}) as worker:
        arms = time_choices(worker, "broadcast", size, list(names.values()), it.effort)
    times = {key: arms[name].us for key, name in names.items()}
    reasons = {arm.refused for arm in arms.values() if arm.us is None}
    known = {key: us for key, us in times.items() if us is not None}
    if not known:
        raise UserError(f"no pipelined broadcast could run: {'; '.join(reasons)}")
    curves = []
    for i, cell in enumerate(cells):
        values = [known[cell, depth] for depth in depths if (cell, depth) in known]
        if len(values) == len(depths):
            curves.append(Curve(f"{format_bytes(cell)} cells", style_of(i), values))
    best = min(known, key=lambda key: known[key])
    panel = Panel(f"{it.mpi}, 1 × {ranks}, {format_bytes(size)}", "number of cells", depths, curves, sorted(reasons))
    return panel, names[best]


def _tuned(it: Setup, ranks: int, tuned: str) -> Panel:
    arms = {"native": "native", "untuned": UNTUNED, "tuned": tuned}
    panel = _side_by_side(it, Place(1, ranks), "broadcast", arms, {"ESPALIER_SHM_WINDOW": "2M"})
    return Panel(panel.title, panel.x_means, panel.x, panel.curves, [*panel.notes, f"1 × {ranks}, tuned: {tuned}"])


def broadcast(it: Setup) -> Figure:
    """Figure 4."""
    return Figure(
        4,
        "Broadcast against the native one",
        "at least 30 % faster, for small messages more than 50 %, on one node and on 16.",
        [_native_and_own(it, place, "bcast") for place in it.places],
    )


def scatter(it: Setup) -> Figure:
    """Figure 5."""
    return Figure(
        5,
        "Scatter against the native one",
        "40 % faster on one node up to 128 KB in all, up to 30 % on eight nodes.",
        [_native_and_own(it, place, "scatter") for place in it.places],
    )


def alltoall(it: Setup) -> Figure:
    """Figure 6: the shared-memory ways of Espalier and native, on one node."""
    arms = {"native": "native", "Espalier": "auto", "cells": "pairwise,within=cells"}
    arms["single copy"] = "pairwise,within=single_copy"
    return Figure(
        6,
        "All-to-all on one node",
        "shared memory beats the native pairwise exchange for small and medium sizes; large ones are left to it.",
        [_side_by_side(it, Place(1, ranks), "alltoall", arms, {}) for ranks in it.on_node],
    )


def two_stage(it: Setup) -> Figure:
    """Figure 7: scatter, then allgather: among single ranks per node, among all ranks, among leaders."""
    sizes = [size for size in it.sizes if size >= 16 << 10] or list(it.sizes)
    return Figure(
        7,
        "Two-stage broadcast",
        "with one rank per node it beats the vendor's broadcast; among all ranks of 16 × 16 it is much worse, since "
        "it copies within nodes again and again; between leaders only it wins, even over the binomial tree.",
        [_two_stage_alone(it, sizes), _two_stage_on_leaders(it, sizes)],
    )


def _two_stage_alone(it: Setup, sizes: Sequence[int]) -> Panel:
    place = replace(it.nodes, per_node=1)
    rows = compare(it.mpi, place, it.effort, ["bcast", "bcast_two_stage"], sizes)
    curves = [
        Curve("native", NATIVE, [rows["bcast", size].native_p50_us for size in sizes]),
        Curve("two-stage", style_of(0), [rows["bcast_two_stage", size].native_p50_us for size in sizes]),
    ]
    return Panel(f"{it.mpi}, {place}", "bytes", list(sizes), curves)


def _two_stage_on_leaders(it: Setup, sizes: Sequence[int]) -> Panel:
    ways = {"binomial": "knomial,radix=2", "on leaders": "scatter_allgather"}
    ops = ["bcast", "bcast_two_stage"]
    jobs = {name: compare(it.mpi, it.nodes, it.effort, ops, sizes, choice) for name, choice in ways.items()}
    rows = jobs["binomial"]
    curves = [
        Curve("native", NATIVE, [rows["bcast", size].native_p50_us for size in sizes]),
        Curve("among all", style_of(0), [rows["bcast_two_stage", size].native_p50_us for size in sizes]),
    ]
    notes = []
    for i, (name, choice) in enumerate(ways.items()):
        own = [jobs[name]["bcast", size] for size in sizes]
        if all(_took(row, choice) for row in own):
            curves.append(Curve(name, style_of(i + 1), [row.espalier_p50_us for row in own]))
        else:
            notes.append(f"{name}: '{choice}' was not taken but '{own[0].choice}'")
    return Panel(f"{it.mpi}, {it.nodes}", "bytes", list(sizes), curves, notes)


def _took(row: Row, choice: str) -> bool:
    """Whether the forced choice was taken: the library says what it did."""
    return row.choice.startswith(choice.split(",")[0])


def _native_and_own(it: Setup, place: Place, op: str) -> Panel:
    rows = compare(it.mpi, place, it.effort, [op], it.sizes)
    curves = [
        Curve("native", NATIVE, [rows[op, size].native_p50_us for size in it.sizes]),
        Curve("Espalier", OWN, [rows[op, size].espalier_p50_us for size in it.sizes]),
    ]
    return Panel(f"{it.mpi}, {place}", "bytes", list(it.sizes), curves)


def _side_by_side(it: Setup, place: Place, op: str, arms: dict[str, str], settings: dict[str, str]) -> Panel:
    """All arms in one job. An arm that can not serve every size is left out, with the reason."""
    with choice_job(it.mpi, place, settings) as worker:
        results = [time_choices(worker, op, size, list(arms.values()), it.effort) for size in it.sizes]
    curves, notes = [], []
    styles = {"native": NATIVE, "Espalier": OWN}
    for i, (name, choice) in enumerate(arms.items()):
        times = [result[choice].us for result in results]
        values = [us for us in times if us is not None]
        if len(values) == len(times):
            curves.append(Curve(name, styles.get(name, style_of(i)), values))
        else:
            reason = next(result[choice].refused for result in results if result[choice].us is None)
            notes.append(f"{place}, {name} ({choice}): {reason}")
    return Panel(f"{it.mpi}, {place}", "bytes", list(it.sizes), curves, notes)


FIGURES: tuple[Callable[[Setup], Figure], ...] = (
    access_cost,
    copy_cost,
    pipeline,
    broadcast,
    scatter,
    alltoall,
    two_stage,
)
COPY_FIGURE = 2  # has nothing to do with the MPI


def main(
    output: Annotated[Path, typer.Option(help="Folder for smp.html and smp.json.")] = Path("build/figures"),
    mpi: Annotated[str, typer.Option(help="MPIs, separated by commas, as espalier run takes them.")] = (
        "mpich-5,openmpi-5,intel"
    ),
    only: Annotated[str, typer.Option(help="Numbers of the figures to draw.")] = "1,2,3,4,5,6,7",
    on_node: Annotated[str, typer.Option(help="Numbers of ranks on one node.")] = "2,8",
    nodes: Annotated[int, typer.Option(min=2, help="Virtual nodes.")] = 4,
    per_node: Annotated[int, typer.Option(min=1, help="Ranks on each of them.")] = 4,
    lab: Annotated[bool, typer.Option("--lab", help="The emulated cluster's nodes, in place of --nodes.")] = False,
    rounds: Annotated[int, typer.Option(min=1)] = 5,
    budget_ms: Annotated[int, typer.Option(min=1, help="Time for one size in one round.")] = 40,
    quick: Annotated[bool, typer.Option("--quick", help="Three sizes and one round: does everything run?")] = False,
) -> None:
    """Measure and draw. Takes some minutes for each MPI; nothing else should run meanwhile."""
    sizes = [4, 4 << 10, 256 << 10] if quick else [4 << 2 * i for i in range(10)]
    effort = Effort(1, 4) if quick else Effort(rounds, budget_ms)
    mpis = [select_mpi(name) for name in mpi.split(",")]
    spec = cluster.load() if lab else None
    several = Place(spec.nodes if spec else nodes, per_node, lab)
    setups = [Setup(one, parse_counts(on_node), several, effort, sizes) for one in mpis]
    figures = [_draw_for_all(number, setups) for number in sorted(set(parse_counts(only))) if number <= len(FIGURES)]
    remarks = [*REMARKS, EMULATED.format(", ".join(sorted(set(spec.rates)))) if spec else VIRTUAL]
    page = write_figures("A tunable framework's figures, on this machine", SOURCE, remarks, figures, output)
    console.note(f"figures: {page}")


def _draw_for_all(number: int, setups: Sequence[Setup]) -> Figure:
    """One figure with the panels of all MPIs. What fails under one of them is said on the page."""
    drawn: list[Figure] = []
    notes: list[str] = []
    for setup in setups[:1] if number == COPY_FIGURE else setups:
        console.note(f"figure {number}, {setup.mpi}")
        try:
            drawn.append(FIGURES[number - 1](setup))
        except UserError as error:
            console.print_error(error)
            notes.append(f"{setup.mpi}: {error.message}")
    if not drawn:
        return Figure(number, "not drawn", "see below", [], notes)
    panels = [panel for figure in drawn for panel in figure.panels]
    return Figure(number, drawn[0].title, drawn[0].paper, panels, notes)


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        console.print_error(error)
        raise SystemExit(2) from error
