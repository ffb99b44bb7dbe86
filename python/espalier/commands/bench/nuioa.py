"""espalier bench nuioa: what it costs to sit far from the network card, between real nodes."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.units import format_bytes, parse_bytes
from espalier.jobs.mpis import find_default_mpi, select_mpi
from espalier.measure.nuioa import DEFAULT_SIZES, Plan, Row, Seats, find_seats, measure


def nuioa(
    ranks: Annotated[int, typer.Option("-n", "--nodes", min=2, help="Nodes, one rank on each.")] = 2,
    mpi: Annotated[str | None, typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Message sizes, separated by commas: 32K,1M.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often to repeat everything.")] = 5,
    budget_ms: Annotated[int, typer.Option(min=1, help="Time for one size of one placement in one round.")] = 100,
    near: Annotated[str, typer.Option(help="These processors are near the card, on all nodes: 0-7.")] = "",
    far: Annotated[str, typer.Option(help="These are far; with --near.")] = "",
    json: Annotated[bool, typer.Option("--json", help="The rows as JSON.")] = False,
) -> None:
    """Measure ping-pong, broadcast and gather with ranks bound near to and far from the network card.

    As in Goglin and Moreaud's figures 4 to 6: one rank per node, the MPI's own calls, no Espalier in front.
    Start it where `mpiexec` reaches the nodes, as in a batch job. Only the receiver's place should matter.
    """
    wanted = DEFAULT_SIZES if sizes is None else [parse_bytes(size) for size in sizes.split(",")]
    chosen = select_mpi(mpi) if mpi is not None else None  # mistakes are named even where there is nothing to measure
    seats = _seats(near, far)
    if isinstance(seats, str):
        _print_nothing(seats, json)
        return
    chosen = chosen or find_default_mpi()
    rows = measure(chosen, Plan(ranks, wanted, rounds, budget_ms, seats if near else None))
    if json:
        console.print_json(
            {"mpi": str(chosen), "nodes": ranks, "seats": asdict(seats), "rows": [asdict(r) for r in rows]}
        )
    else:
        console.out.print(_table(f"{chosen}, {ranks} nodes; {seats.why}", rows))


def _print_nothing(why: str, json: bool) -> None:
    if json:
        console.print_json({"nothing": why, "rows": []})
    else:
        console.out.print(f"nothing to measure: {why}", soft_wrap=True)


def _seats(near: str, far: str) -> Seats | str:
    if bool(near) != bool(far):
        raise UserError("--near and --far belong together", "name both, or neither")
    core = load_core()
    if near:
        with user_errors("write lists as the kernel does: 0-7,16"):
            core.parse_cpus(near), core.parse_cpus(far)
        return Seats(near, far, f"near: processors {near}, far: {far}, as asked")
    with user_errors("name the processors with --near and --far"):
        return find_seats(core, core.probe_node(), os.environ.get("ESPALIER_NIC", ""))


def _table(title: str, rows: list[Row]) -> Table:
    """Throughput with everybody near, and what nearness of the root and of the others brings."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("operation", "size", "near, MB/s", "root near", "others near"):
        table.add_column(name, justify="left" if name == "operation" else "right")
    for row in rows:
        rate = f"{row.bytes / row.us['near/near']:.0f}" if row.us.get("near/near") else ""
        table.add_row(row.op, format_bytes(row.bytes), rate, _gain(row.root_gain), _gain(row.others_gain))
    return table


def _gain(gain: tuple[float, float, float]) -> str:
    middle, least, most = gain
    return f"{middle:+.0f} % [dim]({least:+.0f} … {most:+.0f})[/]"
