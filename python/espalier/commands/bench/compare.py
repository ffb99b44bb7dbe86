"""espalier bench: native against Espalier, operation by operation and size by size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.settings import parse_settings, split_nodes
from espalier.base.units import counted, format_bytes
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
from espalier.commands.operations import pick_operations, pick_sizes
from espalier.jobs.layout import Wish
from espalier.jobs.mpis import Mpi, find_default_mpi, select_mpi
from espalier.jobs.placement import Means
from espalier.measure.paired import (
    DEFAULT_SIZES,
    FORMS,
    GRAPHS,
    NEIGHBORS,
    OPERATIONS,
    TYPES,
    Plan,
    Row,
    best_peer,
    measure,
    split_by_distance,
)


def bench(
    context: typer.Context,
    ops: Annotated[
        str,
        typer.Option(
            help=f"`all`, or some of: {', '.join(OPERATIONS)}; `neighbors`, or some of {', '.join(NEIGHBORS)}."
        ),
    ] = "bcast,allgather,barrier",
    ranks: MeasuredRanks = None,
    nodes: Nodes = None,
    ppn: PerNode = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Sizes of one rank's block (bcast: the message; reductions: the vector; alltoall: one pair's block), "
            "separated by commas: 4,1K,1M."
        ),
    ] = None,
    type_: Annotated[str, typer.Option("--type", help=f"Elements of reductions: {', '.join(TYPES)}.")] = "double",
    mpi: Annotated[str | None, typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path.")] = None,
    against: Annotated[
        str | None, typer.Option(help="Several MPIs, separated by commas: measure all, compare with the best.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often to repeat everything.")] = 5,
    budget_ms: Annotated[int | None, typer.Option(min=1, help="Time for one size of one arm in one round.")] = None,
    graph: Annotated[
        str,
        typer.Option(
            help=f"What neighbourhood collectives go along, {', '.join(GRAPHS)}: 5 points, 27, or N random edges from "
            "each rank."
        ),
    ] = "grid",
    form: Annotated[
        str, typer.Option(help=f"{', '.join(FORMS)}; what does not block is timed from start to the end of wait.")
    ] = "blocking",
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Also with compute between start and wait, as long as the call alone.")
    ] = False,
    test_us: Annotated[
        float, typer.Option("--test-us", min=0, help="With --overlap: MPI_Test every so many µs of it; 0: never.")
    ] = 0,
    cold: Annotated[bool, typer.Option("--cold", help="Buffers that are in no cache.")] = False,
    barrier: Annotated[
        bool, typer.Option("--barrier", help="Begin each call after a native barrier, not all ranks at one moment.")
    ] = False,
    virtual_nodes: Annotated[str | None, typer.Option(help="4, or 3,1,4, or cyclic:4.")] = None,
    lab: Lab = False,
    launcher: LauncherWords = None,
    hostfile: HostFile = None,
    overcommit: Overcommit = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The rows as JSON.")] = False,
) -> None:
    """Compare native and Espalier in one job, interleaved round by round."""
    if context.invoked_subcommand is not None:
        return
    if mpi is not None and against is not None:
        raise UserError("--mpi and --against exclude each other", "name all MPIs with --against")
    variables = parse_settings(settings or []) | split_nodes(virtual_nodes)
    if type_ not in TYPES:
        raise UserError(f"--type: '{type_}' is no type of elements", suggest(type_, TYPES))
    _check_graph(graph)
    _check_form(form, overlap, test_us)
    wish, means = Wish(ranks, nodes, ppn), Means(launcher, hostfile, overcommit)
    operations = pick_operations(ops, OPERATIONS, {"broadcast": "bcast"}, {"neighbors": NEIGHBORS})
    plan = Plan(
        operations,
        pick_sizes(sizes, DEFAULT_SIZES),
        rounds=rounds,
        budget_ms=budget_ms,
        type=type_,
        graph=graph,
        barrier=barrier,
        form=form,
        overlap=overlap,
        test_us=test_us,
        cold=cold,
        settings=variables,
    )
    mpis = [select_mpi(name) for name in against.split(",")] if against else [_one_mpi(mpi)]
    places = [place_measuring(one, wish, means, lab) for one in mpis]
    plans = [replace(plan, ranks=it.ranks, hosts=it) for it in places]
    rows = [row for one, own in zip(mpis, plans, strict=True) for row in _measure_with_progress(one, own)]
    if json:
        console.print_json({"rows": [asdict(row) | best_peer(row, rows, len(mpis)) for row in rows]})
        return
    for one in mpis:
        own = [row for row in rows if row.mpi == str(one)]
        console.out.print(_table(one, own, plan))
        if overlap:
            console.out.print(_overlap_table(own))
    if len(mpis) > 1:
        console.out.print(_peer_table(rows))
    if told := describe_others(rows):
        console.note(told)


def describe_others(rows: Sequence[Row]) -> str:
    """What other programs did meanwhile, and to how many rows; nothing where they left the processors alone."""
    disturbed = [row for row in rows if row.disturbed]
    if not disturbed:
        return ""
    most = max(row.others for row in disturbed)
    return (
        f"other programs kept up to {most:.2f} processors busy while {len(disturbed)} of {counted(len(rows), 'row')} "
        "were measured: measure again when the machine is idle"
    )


def _one_mpi(wanted: str | None) -> Mpi:
    return select_mpi(wanted) if wanted is not None else find_default_mpi()


def _measure_with_progress(mpi: Mpi, plan: Plan) -> list[Row]:
    # A barrier has no size: one line per round.
    total = plan.rounds * sum(1 if op == "barrier" else len(plan.sizes) for op in plan.ops)
    with console.progress(str(mpi), total) as tell:
        return measure(mpi, plan, lambda sample: tell(f"{sample.op} {format_bytes(sample.bytes)}", 1))


def _check_graph(graph: str) -> None:
    if not re.fullmatch(r"grid|stencil|random:[1-9]\d{0,5}", graph):
        raise UserError(f"--graph: '{graph}' is no graph", f"one of {', '.join(GRAPHS)}, as random:8")


def _check_form(form: str, overlap: bool, test_us: float) -> None:
    if form not in FORMS:
        raise UserError(f"--form: '{form}' is no form of calls", suggest(form, FORMS))
    if overlap and form == "blocking":
        raise UserError("--overlap: a blocking call leaves nothing to compute beside", "add --form nonblocking")
    if test_us > 0 and not overlap:
        raise UserError("--test-us says how often to test while computing", "add --overlap")


def _table(mpi: Mpi, rows: list[Row], plan: Plan) -> Table:
    what = "call" if plan.form == "blocking" else f"{plan.form} call, start and wait"
    title = f"{mpi}, {rows[0].ranks} ranks on {counted(rows[0].nodes, 'node')}; µs per {what} (p50)"
    if any(row.op in NEIGHBORS for row in rows):
        title += f"; neighbours: {plan.graph}"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("op", min_width=max(len(row.op) for row in rows))  # the choice gives way on narrow screens
    for name in ("bytes", "native", "Espalier", "native ÷ Espalier", "range", "noise"):
        table.add_column(name, justify="right")
    moved = len(split_by_distance(rows)) > 1
    if moved:
        table.add_column("cores apart", justify="right")
    table.add_column("choice", style="dim")
    for row in rows:
        table.add_row(
            row.op,
            format_bytes(row.bytes),
            f"{row.native_p50_us:.2f}",
            f"{row.espalier_p50_us:.2f}",
            console.ratio_text(row.ratio_median),
            f"{row.ratio_min:.2f}–{row.ratio_max:.2f}",
            f"{row.control_min:.2f}–{row.control_max:.2f}",
            *([f"{row.line_ns:.0f} ns"] if moved else []),
            escape(row.choice),
        )
    return table


def _overlap_table(rows: list[Row]) -> Table:
    title = "start, compute and wait, the compute as long as start and wait alone"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("op", "bytes", "native, µs", "Espalier, µs", "native overlap", "Espalier overlap"):
        table.add_column(name, justify="left" if name == "op" else "right")
    for row in rows:
        if (it := row.overlap) is not None:
            times = (f"{it.native_us:.2f}", f"{it.espalier_us:.2f}")
            table.add_row(
                row.op, format_bytes(row.bytes), *times, f"{it.native_percent:.0f} %", f"{it.espalier_percent:.0f} %"
            )
    return table


def _peer_table(rows: list[Row]) -> Table:
    mpis = list(dict.fromkeys(row.mpi for row in rows))
    table = Table(title="best native ÷ Espalier on each MPI", title_justify="left", box=None, pad_edge=False)
    for name in ("op", "bytes", "best native", "µs", *(f"on {mpi}" for mpi in mpis)):
        table.add_column(name, justify="left" if name in ("op", "best native") else "right")
    for op, size in dict.fromkeys((row.op, row.bytes) for row in rows):
        for part in split_by_distance(row for row in rows if (row.op, row.bytes) == (op, size)):
            group = {row.mpi: row for row in part}
            best = min(part, key=lambda row: row.native_p50_us)
            ratios = (best.native_p50_us / group[mpi].espalier_p50_us if mpi in group else None for mpi in mpis)
            texts = (console.ratio_text(ratio) if ratio is not None else "–" for ratio in ratios)
            table.add_row(op, format_bytes(size), best.mpi, f"{best.native_p50_us:.2f}", *texts)
    return table
