"""espalier run: start a program under its MPI with the right build of Espalier in front."""

from __future__ import annotations

import os
import shlex
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.settings import parse_settings, split_nodes
from espalier.base.writing import check_output
from espalier.commands.launching import (
    HostFile,
    LauncherFlags,
    LauncherWords,
    Nodes,
    Overcommit,
    PerNode,
    Program,
    Ranks,
    SetTexts,
    VirtualNodes,
    WantedMpi,
)
from espalier.jobs import foreground
from espalier.jobs.launch import Job, build_command, choose_target, is_here, split_flags, tell_unreached, tell_unserved
from espalier.jobs.layout import Wish
from espalier.jobs.placement import Means, Placement, place_job


def run(
    command: Program,
    ranks: Ranks = None,
    nodes: Nodes = None,
    ppn: PerNode = None,
    mpi: WantedMpi = None,
    native: Annotated[bool, typer.Option("--native", help="Without Espalier, everything else the same.")] = False,
    virtual_nodes: VirtualNodes = None,
    stats: Annotated[Path | None, typer.Option(help="Write rank 0's counts to this file, as JSON.")] = None,
    settings: SetTexts = None,
    verbose: Annotated[
        int, typer.Option("-v", "--verbose", count=True, metavar="", help="Say what was chosen and done; -vv more.")
    ] = 0,
    launcher: LauncherWords = None,
    launcher_flags: LauncherFlags = "",
    hostfile: HostFile = None,
    overcommit: Overcommit = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the command line instead of running it.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --dry-run: as JSON.")] = False,
) -> None:
    """Run PROGRAM on N ranks. The exit code is the job's."""
    if json and not dry_run:
        raise UserError("--json without --dry-run", "what PROGRAM prints is its own; its counts as JSON: --stats FILE")
    variables = parse_settings(settings or []) | split_nodes(virtual_nodes)
    if stats is not None:
        # The ranks may run in another folder, and where the file goes shows only when the job is over.
        check_output("--stats", stats, ".json")
        variables["ESPALIER_STATS"] = str(stats.absolute())
    if verbose:
        variables["ESPALIER_VERBOSE"] = str(verbose)

    target = choose_target(command[0], mpi)
    placed = place_job(target.mpi, Wish(ranks, nodes, ppn), 1, Means(launcher, hostfile, overcommit))
    job = Job(target, placed.ranks, command, native, variables, split_flags(launcher_flags), placed)
    argv, environment = build_command(job)
    if dry_run:
        _print_command(argv, environment, json)
        return
    if verbose or os.environ.get("ESPALIER_VERBOSE", "0") != "0":
        console.note(f"{target.mpi} ({target.mpi.library}): {target.note}")
        console.note(_tell_place(placed))
    if unreached := tell_unreached(job):
        console.note(unreached)
    raise typer.Exit(_run_watched(job) if _is_doubtful(job) else foreground.run(argv, environment))


def _is_doubtful(job: Job) -> bool:
    """Whether only a run tells if the program uses an MPI, and this one can: rank 0's counts come here."""
    is_asked = "ESPALIER_STATS" in {**os.environ, **job.settings}
    return bool(job.target.doubt) and not job.native and not is_asked and is_here(job.hosts)


def _run_watched(job: Job) -> int:
    """Runs the job, and says so when it has ended well without an MPI that Espalier was in front of."""
    with tempfile.TemporaryDirectory(prefix="espalier-") as scratch:
        counts = Path(scratch) / "counts"
        code = foreground.run(*build_command(replace(job, settings={**job.settings, "ESPALIER_STATS": str(counts)})))
        if code == 0 and not counts.exists():
            console.note(tell_unserved(job))
    return code


def _tell_place(placed: Placement) -> str:
    where = f", in {placed.allocation}" if placed.allocation else ""
    return f"{placed.layout} by {placed.launcher}{where}"


def _print_command(argv: list[str], environment: dict[str, str], json: bool) -> None:
    if json:
        console.print_json({"command": argv, "environment": environment})
    else:
        print(shlex.join([*(["env"] if environment else []), *(f"{k}={v}" for k, v in environment.items()), *argv]))
