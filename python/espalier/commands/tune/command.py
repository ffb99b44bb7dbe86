"""espalier tune: find by measuring what is fastest on this machine and MPI, and write it down as a table."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from espalier.base import console
from espalier.base.core import load_core
from espalier.base.settings import parse_settings, split_nodes
from espalier.base.writing import check_output
from espalier.commands.launching import (
    HostFile,
    Lab,
    LauncherWords,
    MeasuredRanks,
    Overcommit,
    place_measuring,
)
from espalier.commands.operations import pick_sizes
from espalier.commands.tune.batch import write_scripts
from espalier.commands.tune.request import (
    check_place,
    only_one,
    parse_duration,
    parse_numbers,
    parse_operations,
    parse_transports,
)
from espalier.commands.tune.told import tell
from espalier.draw.tuning_page import write_report
from espalier.jobs.layout import Wish
from espalier.jobs.mpis import find_default_mpi, select_mpi
from espalier.jobs.placement import Means
from espalier.lab import cluster
from espalier.tuning.legs import TRANSPORT, Leg, Request, tune_over
from espalier.tuning.problems.problem import DEFAULT_SIZES
from espalier.tuning.table.file import MPI
from espalier.tuning.table.places import lab_table, own_table

_INTERRUPTED = 130  # as shells report it


def tune(
    context: typer.Context,
    ops: Annotated[str, typer.Option(help="`all`, or operations separated by commas.")] = "all",
    sizes: Annotated[str | None, typer.Option(help="Sizes, separated by commas: 4,1K,1M. Default: 4 to 4M.")] = None,
    ranks: MeasuredRanks = None,
    nodes: Annotated[str | None, typer.Option(help="So many of the job's nodes; with --sbatch several: 2,4,8.")] = None,
    ppn: Annotated[str | None, typer.Option(help="Ranks on each node; with --sbatch several: 16,32.")] = None,
    sbatch: Annotated[
        bool,
        typer.Option("--sbatch", help="Measure nothing: write a batch script of Slurm's for each --nodes and --ppn."),
    ] = False,
    budget: Annotated[str, typer.Option(help="Most time to spend: 90s, 10m, 1h.")] = "10m",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The table. Default: your own, in ~/.config (with --lab: table-lab-MPI.json)."
        ),
    ] = None,
    mpi: Annotated[str | None, typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path.")] = None,
    virtual_nodes: Annotated[str | None, typer.Option(help="4, or 3,1,4, or cyclic:4.")] = None,
    transport: Annotated[
        str | None,
        typer.Option(help="What carries messages between nodes: mpi, ucx, or auto: both, to find the faster."),
    ] = None,
    lab: Lab = False,
    launcher: LauncherWords = None,
    hostfile: HostFile = None,
    overcommit: Overcommit = False,
    margin: Annotated[float, typer.Option(min=0, max=1, help="Native stays unless beaten by this share.")] = 0.05,
    cold: Annotated[bool, typer.Option("--cold", help="Buffers that are in no cache.")] = False,
    samples: Annotated[int, typer.Option(min=0, help="Problems on which to try everything, as a check.")] = 2,
    curves: Annotated[bool, typer.Option(help="Also measure the machine's curves.")] = True,
    report: Annotated[Path | None, typer.Option(help="The page. Default: beside the table.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting; may be repeated.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Measure what is fastest for each operation and size, native included, and write the table that Espalier loads.

    Can be stopped at any time (Ctrl-C): what has been decided is written, and the same command goes on from there.
    """
    deadline = time.monotonic() + parse_duration(budget)
    check_output("--output", output, ".json")
    check_output("--report", report, ".html")
    core = load_core()
    variables = parse_settings(settings or []) | split_nodes(virtual_nodes)
    operations, wanted_sizes = parse_operations(core, ops), pick_sizes(sizes, DEFAULT_SIZES)
    transports = parse_transports(transport or variables.get(TRANSPORT, MPI))
    shapes = parse_numbers("--nodes", nodes), parse_numbers("--ppn", ppn)
    if sbatch:
        write_scripts(context, *shapes, parse_duration(budget))
        return
    chosen = select_mpi(mpi) if mpi is not None else find_default_mpi()
    wish = Wish(ranks, only_one("--nodes", shapes[0]), only_one("--ppn", shapes[1]))
    placed = place_measuring(chosen, wish, Means(launcher, hostfile, overcommit), lab)
    network = str(cluster.load()) if lab else ""
    path = output or (lab_table(core, chosen) if lab else own_table(core, chosen))
    check_place(path)
    if report is not None:
        check_place(report, "--report")
    request = Request(
        chosen, placed.ranks, variables, placed, network, operations, wanted_sizes, margin, cold,
        samples, curves, path, report or path.with_suffix(".html"),
    )  # fmt: skip
    try:
        with _terminate_as_interrupt():
            legs = tune_over(core, request, transports, deadline, _write_page)
    except KeyboardInterrupt:
        left = f"{path} stays as it is" if path.exists() else "no table is written"
        console.note(f"interrupted before anything was decided: {left}")
        raise typer.Exit(_INTERRUPTED) from None
    tell(legs, json)
    if legs[-1].how == "interrupted":
        raise typer.Exit(_INTERRUPTED)


def _write_page(leg: Leg) -> None:
    write_report(leg.result, leg.summary, leg.signature, leg.shape, str(leg.request.mpi), leg.request.report)


@contextlib.contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM, as batch systems send it at the end of the allotted time, stops like Ctrl-C."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
