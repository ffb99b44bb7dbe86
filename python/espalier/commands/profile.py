"""espalier profile: where a program's time goes in its collectives."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.settings import parse_settings, split_nodes
from espalier.base.units import counted, format_time
from espalier.base.writing import check_output, is_stream, replace_file
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
from espalier.draw.profile_page import write_page
from espalier.jobs.launch import Job, build_command, choose_target, is_here, split_flags, tell_unreached
from espalier.jobs.layout import Wish
from espalier.jobs.placement import Means, place_job
from espalier.jobs.programs import Kind, inspect_program
from espalier.profile.last import keep_last
from espalier.profile.reading import read_profile
from espalier.profile.sites import name_sites
from espalier.profile.summary import Profile, Row, name_size, sum_up

# More kinds of calls than this are for the page.
_MOST_ROWS = 20
_ESTIMATED = (
    "~: all calls are counted, and some of these short ones timed; see --json for how many, and the uncertainty."
)


def profile(
    command: Program,
    ranks: Ranks = None,
    nodes: Nodes = None,
    ppn: PerNode = None,
    sample: Annotated[
        str | None, typer.Option(metavar="1/N", help="Leave every Nth call to native, to see what that takes.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write a page with pictures.")] = None,
    sites: Annotated[bool, typer.Option("--sites", help="Tell calls apart by where the program makes them.")] = False,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write when each rank was in which call (Chrome's format).")
    ] = None,
    keep: Annotated[Path | None, typer.Option(help="Keep what the ranks have recorded, for --from.")] = None,
    from_file: Annotated[
        bool, typer.Option("--from", help="PROGRAM is a file that --keep or ESPALIER_PROFILE has written.")
    ] = False,
    mpi: WantedMpi = None,
    virtual_nodes: VirtualNodes = None,
    settings: SetTexts = None,
    launcher: LauncherWords = None,
    launcher_flags: LauncherFlags = "",
    hostfile: HostFile = None,
    overcommit: Overcommit = False,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON, in place of the table.")] = False,
) -> None:
    """Run PROGRAM and say where its time goes in collectives: waiting for the last rank, or moving data.

    The exit code is the job's, also where it ends without a profile; 2 if it ends well without one.
    """
    code, recorded = 0, None
    before = _stamp_of(trace)
    # The run may take hours.
    check_output("--output", output, ".html")
    check_output("--trace", trace, ".json")
    check_output("--keep", keep)
    if from_file:
        if len(command) > 1:
            raise _refuse_behind(command[0], command[1:])
        result = sum_up(name_sites(read_profile(Path(command[0]))))
    else:
        variables = parse_settings(settings or []) | split_nodes(virtual_nodes) | _parse_sample(sample)
        variables |= {"ESPALIER_PROFILE_SITES": "1"} if sites else {}
        variables |= {"ESPALIER_PROFILE_TRACE": str(trace.absolute())} if trace else {}
        target, flags = choose_target(command[0], mpi), split_flags(launcher_flags)
        placed = place_job(target.mpi, Wish(ranks, nodes, ppn), 1, Means(launcher, hostfile, overcommit))
        if placed.ranks == 1:
            raise UserError("one rank has nobody to wait for: its collectives are not recorded", "give more, as -n 2")
        job = Job(target, placed.ranks, command, False, variables, flags, placed)
        code, result, recorded = _run(job, keep, to_stderr=json)
    if json:
        console.print_json(result.as_json())
    else:
        _print(result)
    sys.stdout.flush()  # whatever becomes of files; and before them, where one is stdout
    if keep is not None and recorded is not None:
        replace_file(keep, recorded)
    if output is not None:
        write_page(result, " ".join(command), output)
    if trace is not None and not from_file and not is_stream(trace) and _stamp_of(trace) == before:
        console.note(f"--trace {trace} was not written: the job has said why")
        code = code or 2
    raise typer.Exit(code)


def _stamp_of(file: Path | None) -> tuple[int, int] | None:
    """What changes where somebody replaces it."""
    if file is None or not file.exists():
        return None
    facts = file.stat()
    return facts.st_ino, facts.st_mtime_ns


def _refuse_behind(file: str, words: list[str]) -> UserError:
    """Words behind a profile's file: options that have lost their place, or more than one file."""
    told = f"--from {file}: '{' '.join(words)}' behind the file"
    if any(word.startswith("-") for word in words):
        return UserError(f"{told} is no option any more", f"write espalier profile --from {' '.join(words)} {file}")
    return UserError(f"{told} is one too many", "give one file; each is told of by itself")


def _parse_sample(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    found = re.fullmatch(r"1/([1-9]\d{0,5})", text)
    if found is None or found[1] == "1":
        raise UserError(f"--sample {text}: no part of all calls", "write 1/32: every 32nd call is left to native")
    return {"ESPALIER_PROFILE_SAMPLE": found[1]}


def _run(job: Job, keep: Path | None, to_stderr: bool) -> tuple[int, Profile, bytes | None]:
    """The exit code, the result, and what is still to be kept.

    What the program prints goes where it would go without us; with --json, that is for the result. A rank of another
    host writes where both may look: to what is to be kept, or here, as temporary files are each host's own."""
    is_left_to_us = keep is None or is_here(job.hosts) or is_stream(keep)
    shared = None if is_here(job.hosts) or not os.access(".", os.W_OK) else "."
    with tempfile.TemporaryDirectory(dir=shared) as scratch:
        file = keep.resolve() if keep and not is_left_to_us else Path(scratch).resolve() / "profile.json"
        file.unlink(missing_ok=True)
        job = replace(job, settings={**job.settings, "ESPALIER_PROFILE": str(file)})
        argv, environment = build_command(job)
        sys.stdout.flush()
        done = subprocess.run(
            argv, env={**os.environ, **environment}, check=False, stdout=sys.stderr.fileno() if to_stderr else None
        )
        if not file.exists():
            code = done.returncode if done.returncode >= 0 else 128 - done.returncode
            error = UserError(f"{job.command[0]} left no profile (exit code {code})", _why_none(job, code))
            if code == 0:
                raise error
            console.print_error(error)
            raise typer.Exit(code)
        result = sum_up(name_sites(read_profile(file)))
        keep_last(inspect_program(job.command[0]).path, file)
        return done.returncode, result, file.read_bytes() if keep and is_left_to_us else None


def _why_none(job: Job, code: int) -> str:
    """What to do about it: first about how the program ended, then about what it takes to leave one."""
    remedies = [_tell_end(code)] if code else []
    if unreached := tell_unreached(job):
        remedies.append(unreached)
    elif inspect_program(job.command[0]).kind is Kind.NONE:
        remedies.append("it is linked with no MPI: is it the right program?")
    else:
        remedies.append("it has to end by MPI_Finalize, on two ranks or more, all with the same settings")
    return "; ".join(remedies)


def _tell_end(code: int) -> str:
    """Shells and launchers tell a signal as 128 more than its number; of others a number may be either."""
    name = next((it.name for it in signal.Signals if it == code - 128), "")
    end = f"signal {code - 128} ({name})" if name else f"exit code {code}"
    return f"the program, or what starts it, ended with {end}: does it natively, too (espalier run --native)?"


def _print(result: Profile) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("collective")
    titles = ("bytes", "calls", "time", "of run", "waiting", "for rank", "per call", "native", "imbalance")
    for title in titles:
        table.add_column(title, justify="right")
    table.add_column("communicator")
    table.add_column("done by", overflow="fold")
    if result.has_sites:
        table.add_column("called at", overflow="fold")
    for row in result.blocking[:_MOST_ROWS]:
        table.add_row(*_cells(row, result), row.key.communicator, escape(row.choice), *_site(row, result))
    if result.blocking or not result.started:
        console.print_table(table, beneath=3 if result.has_sites else 2)
    if result.started:
        _print_started(result)
    hidden = sum(max(0, len(rows) - _MOST_ROWS) for rows in (result.blocking, result.started))
    if hidden:
        console.out.print(f"and {counted(hidden, 'kind')} of calls that took less: see --json or --output")
    if result.is_estimated:
        console.out.print(_ESTIMATED, soft_wrap=True)
    if result.remark:
        console.out.print(result.remark, soft_wrap=True)
    console.out.print(escape(result.verdict), soft_wrap=True)


def _print_started(result: Profile) -> None:
    """What does not block, apart: times are those of a call."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("started")
    for title in ("bytes", "calls", "of run", "start", "in between", "completion"):
        table.add_column(title, justify="right")
    table.add_column("communicator")
    table.add_column("done by", overflow="fold")
    if result.has_sites:
        table.add_column("called at", overflow="fold")
    for row in result.started[:_MOST_ROWS]:
        calls = max(1, sum(part.calls for part in row.parts))
        times = [format_time(1e6 * seconds / calls) for seconds in (row.start, row.between, row.completion)]
        share = f"{result.share(row.seconds):.1f} %"
        facts = [row.key.name, name_size(row.key), str(row.calls), share, *times]
        table.add_row(*facts, row.key.communicator, escape(row.choice), *_site(row, result))
    console.print_table(table, beneath=3 if result.has_sites else 2)


def _site(row: Row, result: Profile) -> list[str]:
    return [escape(row.key.site)] if result.has_sites else []


def _cells(row: Row, result: Profile) -> list[str]:
    """Times are means over all ranks of the job; those per call are without waiting."""
    waited = max(row.waited_for, key=lambda rank: row.waited_for[rank], default=None)
    made = row.own.mean if row.own.calls else row.moving / max(1, sum(part.calls for part in row.parts))
    return [
        row.key.name,
        name_size(row.key),
        str(row.calls),
        f"{'~' if row.timed.calls else ''}{format_time(1e6 * result.mean_seconds(row))}",
        f"{result.share(row.seconds):.1f} %",
        "?" if row.waiting is None else f"{100 * row.waiting / row.seconds:.0f} %" if row.seconds else "0 %",
        "" if waited is None else str(waited),
        format_time(made * 1e6),
        "" if row.native_mean is None else format_time(row.native_mean * 1e6),
        f"{row.imbalance:.2f}",
    ]
