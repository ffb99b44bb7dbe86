"""espalier bench connections: how many connections at once the network likes (Qian, Rashti, Afsahi, section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.settings import parse_settings
from espalier.base.units import format_bytes
from espalier.base.writing import check_output
from espalier.commands.launching import (
    HostFile,
    Lab,
    LauncherWords,
    MeasuredRanks,
    Nodes,
    Overcommit,
    PerNode,
    place_measuring,
)
from espalier.draw.connections import write_page
from espalier.jobs.layout import Wish
from espalier.jobs.mpis import find_default_mpi, select_mpi
from espalier.jobs.placement import Means
from espalier.measure.connections import Groups, Scaling, parse_points
from espalier.measure.worker import Worker, WorkerLostError


def connections(
    mpi: Annotated[str | None, typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path.")] = None,
    ranks: MeasuredRanks = None,
    nodes: Nodes = None,
    ppn: PerNode = None,
    lab: Lab = False,
    launcher: LauncherWords = None,
    hostfile: HostFile = None,
    overcommit: Overcommit = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also a page with the charts.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The points as JSON.")] = False,
) -> None:
    """Concurrent allgathers of groups of one rank per node: round a ring (one connection each) and to all at once."""
    check_output("--output", output, ".html")
    chosen = select_mpi(mpi) if mpi is not None else find_default_mpi()
    means = Means(launcher, hostfile, overcommit)
    placed = place_measuring(chosen, Wish(ranks, nodes, ppn), means, lab, lab_ppn=4)
    try:
        with Worker(chosen, placed.ranks, parse_settings(settings or []), placed) as worker:
            scaling = Scaling(parse_points(worker.curve("groups")))
    except WorkerLostError as error:
        raise UserError(str(error), "see the job's messages above; try: espalier doctor") from error
    if not scaling.points:
        raise UserError("all ranks share one node: there are no connections to count", "espalier lab up, then --lab")
    if output is not None:
        write_page(scaling, str(chosen), output)
        console.note(f"wrote {output}")
    if json:
        console.print_json({"mpi": str(chosen), "points": [point.as_dict() for point in scaling.points]})
        return
    console.out.print(_table(scaling, str(chosen)))
    for line in scaling.findings():
        console.out.print(line)


def _table(scaling: Scaling, mpi: str) -> Table:
    title = f"{mpi}; what leaves one node, MB/s, and how it compares with one group's ring"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("bytes", justify="right")
    kinds = scaling.kinds()
    for kind in kinds:
        table.add_column(str(kind), justify="right")
    for size in scaling.sizes():
        table.add_row(format_bytes(size), *(_cell(scaling, kind, size) for kind in kinds))
    return table


def _cell(scaling: Scaling, kind: Groups, size: int) -> str:
    ratio = scaling.ratio(kind, size)
    colour = "green" if ratio > 1.05 else "red" if ratio < 0.95 else "dim"
    return f"{scaling.rate(kind, size):.3g} [{colour}]{ratio:.2f}×[/]"
