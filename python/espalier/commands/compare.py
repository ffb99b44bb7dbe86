"""espalier compare: a program natively and with Espalier, or under two sets of settings, in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.settings import find_refused, parse_settings, split_nodes
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
from espalier.jobs.launch import Job, choose_target, is_here, split_flags, tell_unreached, tell_unserved
from espalier.jobs.layout import Wish
from espalier.jobs.placement import Means, place_job
from espalier.measure.compared import Arm, Compared, Metric, Wishes, compare_program

_NATIVE = "native"


def compare(
    command: Program,
    ranks: Ranks = None,
    nodes: Nodes = None,
    ppn: PerNode = None,
    a: Annotated[
        list[str] | None,
        typer.Option("--a", metavar="NAME=VALUE", help="Setting of the first arm, or native. May be repeated."),
    ] = None,
    b: Annotated[
        list[str] | None,
        typer.Option("--b", metavar="NAME=VALUE", help="Setting of the second arm, or native. May be repeated."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="How often both run, in turns.")] = 5,
    metric: Annotated[
        str | None, typer.Option(metavar="REGEX", help=r"A time that the program prints: 'Loop time of (\S+)'.")
    ] = None,
    more_is_better: Annotated[bool, typer.Option("--more-is-better", help="The metric is no time but a rate.")] = False,
    ignore: Annotated[
        str | None, typer.Option(metavar="REGEX", help="Lines of the output that need not be the same.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds for one run. Default: no limit.")] = None,
    mpi: WantedMpi = None,
    virtual_nodes: VirtualNodes = None,
    settings: SetTexts = None,
    launcher: LauncherWords = None,
    launcher_flags: LauncherFlags = "",
    hostfile: HostFile = None,
    overcommit: Overcommit = False,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> None:
    """Run PROGRAM natively and with Espalier in turns: times, exit codes, and whether both print the same.

    Exit code 1 if they do not do the same. Whole runs are timed, from the launcher's start to its end.
    """
    if more_is_better and metric is None:
        raise UserError("--more-is-better without --metric", "give the metric that it is about")
    both = parse_settings(settings or []) | split_nodes(virtual_nodes)
    arms = (_parse_arm("--a", a, native=not a), _parse_arm("--b", b, native=False))
    wishes = Wishes(rounds, timeout, Metric(metric, more_is_better) if metric else None, ignore)
    target, flags = choose_target(command[0], mpi), split_flags(launcher_flags)
    placed = place_job(target.mpi, Wish(ranks, nodes, ppn), 1, Means(launcher, hostfile, overcommit))
    _check_values([both, *(arm.settings for arm in arms)])
    job = Job(target, placed.ranks, command, settings=both, launcher_flags=flags, hosts=placed)
    with tempfile.TemporaryDirectory() as scratch, console.progress("compare", 2 * rounds) as show:
        result = compare_program(job, arms, wishes, Path(scratch), lambda work: show(work, 1))
    if json:
        console.print_json(result.as_json())
    else:
        _print(result)
    if unreached := tell_unreached(job):
        console.note(unreached)
    elif result.exit_code == 0 and result.is_unserved and target.doubt and is_here(placed):
        console.note(tell_unserved(job))
    raise typer.Exit(0 if result.is_same else 1)


def _parse_arm(option: str, words: list[str] | None, native: bool) -> Arm:
    words = words or []
    pairs = [word for word in words if word != _NATIVE]
    if _NATIVE in words and pairs:
        raise UserError(f"{option} native has no settings", f"give {option} either native or settings of Espalier")
    return Arm(native or _NATIVE in words, parse_settings(pairs, option))


def _check_values(settings: Iterable[Mapping[str, str]]) -> None:
    """Raises UserError for what every job would refuse: both arms would do the same."""
    for variables in settings:
        for complaint, remedy in find_refused(variables):
            raise UserError(complaint, remedy)


def _print(result: Compared) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for title in ("seconds", "from – to", *(("metric", "from – to") if result.metrics else ()), "exit codes"):
        table.add_column(title, justify="right")
    table.add_column("calls", overflow="fold")
    for place, arm in enumerate(result.arms):
        numbers = _numbers([run.seconds for run in result.runs[place]])
        if (values := result.metric_values(place)) is not None:
            numbers += _numbers(values)
        codes = ", ".join(dict.fromkeys("none" if code is None else str(code) for code in result.codes[place]))
        table.add_row(escape(str(arm)), *numbers, codes, escape(_calls(result, place)))
    console.print_table(table)
    for place, arm in enumerate(result.arms):
        for line in result.runs[place][-1].warnings:
            console.out.print(escape(f"{arm}: {line.removeprefix('espalier: ')}"), soft_wrap=True)
    _print_output(result)
    console.out.print(escape(result.verdict), soft_wrap=True)


def _numbers(values: list[float]) -> list[str]:
    return [f"{median(values):.4g}", f"{min(values):.4g} – {max(values):.4g}"]


def _calls(result: Compared, place: int) -> str:
    if result.arms[place].native:
        return ""
    calls = result.calls(place)
    if calls is None:
        return "not known: no MPI_Finalize was seen"
    handled, native, reasons = calls
    why = "; ".join(f"{count}x {reason}" for reason, count in reasons.items())
    return f"{handled} by Espalier, {native} left to native" + (f" ({why})" if why else "")


def _print_output(result: Compared) -> None:
    outputs = result.outputs
    console.out.print(f"output: {outputs.likeness}")
    if outputs.difference:
        console.out.print(f"  line {outputs.difference.line}:")
        for name, text in (("a", outputs.difference.first), ("b", outputs.difference.second)):
            console.out.print(f"    {name}  {escape(text) if text is not None else '[dim](ends before)[/]'}")
    if result.exit_code == 0:
        return
    if result.exit_code is not None:
        words = result.runs[0][-1].errors.strip().splitlines()[-5:]
        told = f"all runs of both end with exit code {result.exit_code}, which is taken for the program's way to end"
        console.out.print(escape("\n".join([told, *words])), soft_wrap=True)
        return
    for place, runs in enumerate(result.runs):
        failed = next((run for run in runs if run.code != 0), None)
        if failed is not None:
            end = "no end in time" if failed.code is None else f"exit code {failed.code}"
            console.out.print(escape(f"{result.arms[place]}: {end}\n{failed.last_words}"))
