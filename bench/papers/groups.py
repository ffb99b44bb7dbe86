"""Draws figure 5 of Qian, Rashti and Afsahi's paper on multi-connection allgather, on the emulated cluster.

    espalier lab up --nodes 4 --rate 200mbit --flow-cap 0.55
    python bench/papers/groups.py --output build/figures --mpi mpich-5,openmpi-5,intel --ppn 4

The paper's network gave one connection 1/1.8 of what three carried together; the lab's cap of 0.55 stands in for that.
Every member of the family and the native allgather take turns in one job; each member is shown copy-based or
zero-copy, whichever is faster, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from figures import NATIVE, Curve, Figure, Panel, style_of, write_figures
from jobs import Effort, Place, choice_job, time_choices

from espalier import console
from espalier.errors import UserError
from espalier.lab import cluster
from espalier.mpis import Mpi, select_mpi
from espalier.units import format_bytes, parse_bytes

SOURCE = "After Qian, Rashti, Afsahi: Multi-connection and multi-core aware all-gather on InfiniBand clusters, 2010."
PAPER = (
    "the gather-based algorithm is best up to 32 bytes, one group from 64 bytes to 2 KB, two groups from 4 to 64 KB; "
    "beyond, the native allgather wins."
)
CELLS = "within=cells,cell=32K,cells=8"


@dataclass(frozen=True)
class Member:
    """One line of the figure."""

    name: str
    choice: str


def members(ppn: int) -> list[Member]:
    """The family for nodes of so many ranks."""
    found = [
        Member("1 group, ring", "single_group_ring"),
        Member("1 group", "single_group_direct"),
        Member(f"gather-based, {ppn} groups", f"gather_based,groups={ppn}"),
    ]
    for groups in sorted({min(2, ppn), ppn} - {1}):
        found.append(Member(f"{groups} groups", f"multi_group,groups={groups}"))
        found.append(Member(f"{groups} groups, lean", f"multi_group_lean,groups={groups}"))
    return found if ppn > 1 else [*found[:2], Member("1 group, lean", "multi_group_lean,groups=1")]


@dataclass(frozen=True)
class Line:
    """Microseconds at each size: the native's, each member's."""

    native: list[float]
    of: dict[str, list[float]]

    def best(self, index: int) -> tuple[str, float]:
        return min(((name, values[index]) for name, values in self.of.items()), key=lambda it: it[1])


def measure(mpi: Mpi, place: Place, sizes: list[int], effort: Effort) -> Line:
    """All arms side by side in one job."""
    family = members(place.per_node)
    native: list[float] = []
    of: dict[str, list[float]] = {member.name: [] for member in family}
    with choice_job(mpi, place, {}) as worker:
        for size in sizes:
            arms = {member.name: [f"{member.choice},{it}" for it in (CELLS, "within=single_copy")] for member in family}
            times = time_choices(
                worker, "allgather", size, ["native", *(it for choices in arms.values() for it in choices)], effort
            )
            native.append(times["native"].us or float("nan"))
            for name, choices in arms.items():
                of[name].append(min(times[it].us or float("inf") for it in choices))
            console.note(f"{mpi}, {format_bytes(size)}: native {native[-1]:.0f} µs")
    return Line(native, of)


def draw(lines: dict[str, Line], place: Place, sizes: list[int]) -> Figure:
    panels, notes = [], []
    for mpi, line in lines.items():
        curves = [Curve("native", NATIVE, line.native)]
        curves += [Curve(name, style_of(i), values) for i, (name, values) in enumerate(line.of.items())]
        panels.append(Panel(f"{mpi}, {place}", "bytes of one rank", sizes, curves))
        notes += switching_points(mpi, line, sizes)
    notes += against_best(lines, sizes)
    return Figure(5, "The family of allgathers", PAPER, panels, notes)


def switching_points(mpi: str, line: Line, sizes: list[int]) -> list[str]:
    """From which size on which member is the fastest, and how it compares with this MPI's own."""
    notes, last = [], ""
    for index, size in enumerate(sizes):
        name, us = line.best(index)
        if name != last:
            notes.append(f"{mpi}: from {format_bytes(size)} on {name}, {line.native[index] / us:.2f}× native")
        last = name
    return notes


def against_best(lines: dict[str, Line], sizes: list[int]) -> list[str]:
    """The best member on any MPI against the best native of all."""
    notes = []
    for index, size in enumerate(sizes):
        theirs, native = min(((mpi, line.native[index]) for mpi, line in lines.items()), key=lambda it: it[1])
        mpi, (name, us) = min(((mpi, line.best(index)) for mpi, line in lines.items()), key=lambda it: it[1][1])
        notes.append(
            f"{format_bytes(size)}: {name} on {mpi} takes {us / 1000:.1f} ms, the best native ({theirs}) "
            f"{native / 1000:.1f} ms: {native / us:.2f}×"
        )
    return notes


def main(
    output: Annotated[Path, typer.Option(help="Where the page and the numbers go.")] = Path("build/figures"),
    mpi: Annotated[str, typer.Option(help="Which MPIs, separated by commas.")] = "mpich-5,openmpi-5,intel",
    ppn: Annotated[int, typer.Option(min=1, help="Ranks per node.")] = 4,
    sizes: Annotated[str, typer.Option(help="Of one rank's block.")] = "4K,16K,64K,256K",
    rounds: Annotated[int, typer.Option(min=1)] = 3,
) -> None:
    """Needs the emulated cluster; without one it says so and draws nothing."""
    try:
        spec = cluster.load()
    except UserError:
        console.note("figure 5 of Qian, Rashti, Afsahi is left out: espalier lab up --flow-cap 0.55 (as root) first")
        return
    place = Place(spec.nodes, ppn, is_lab=True)
    blocks = [parse_bytes(size) for size in sizes.split(",")]
    lines = {str(one): measure(one, place, blocks, Effort(rounds, 40)) for one in map(select_mpi, mpi.split(","))}
    remarks = [
        f"{spec.nodes} emulated nodes of {ppn} ranks on this one machine, links at {' and '.join(set(spec.rates))}.",
        f"One connection gets {spec.flow_cap:.0%} of its link at most.",
        "Medians over rounds of medians over calls, all arms in turn in one job.",
    ]
    figure = draw(lines, place, blocks)
    page = write_figures("Multi-connection allgather", SOURCE, remarks, [figure], output, "groups")
    for note in figure.notes:
        console.out.print(note)
    console.note(f"wrote {page}")


if __name__ == "__main__":
    typer.run(main)
