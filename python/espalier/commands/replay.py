"""espalier replay: the collectives of a program that was profiled, without the program."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.settings import parse_settings, split_nodes
from espalier.base.units import counted, format_bytes, format_time
from espalier.commands.launching import SetTexts, VirtualNodes
from espalier.jobs.mpis import find_default_mpi, find_like, select_mpi
from espalier.profile.reading import read_profile
from espalier.replay.played import Replay, play_script
from espalier.replay.script import Piece, Script, derive_script
from espalier.replay.simulated import SimulatedReplay, simulate_script
from espalier.simulation.executor import OURS, SELECTORS

_MOST_ROWS = 20
# Calls alone on a simulated cluster are made once, without computation, under no MPI of this machine.
_SIMULATED_ONLY = ("ppn", "against")
_PLAYED_ONLY = ("rounds", "calls", "compute", "mpi", "virtual_nodes", "settings", "timeout")


def replay(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What ESPALIER_PROFILE or `espalier profile --keep` has written.")],
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="How often both play, in turns.")] = 5,
    calls: Annotated[
        int,
        typer.Option(min=1, max=1000000, help="At most about so many calls in a round, of all kinds in proportion."),
    ] = 2000,
    compute: Annotated[
        bool, typer.Option(help="Compute between calls as long as the program did, up to 1 ms for each.")
    ] = True,
    platform: Annotated[
        str | None,
        typer.Option(metavar="NETWORK", help="On a simulated cluster instead: see espalier simulate --help."),
    ] = None,
    ppn: Annotated[
        int | None, typer.Option(min=1, help="With --platform: ranks per node. Default: the nodes of the recorded run.")
    ] = None,
    against: Annotated[
        str, typer.Option(metavar="MPI,…", help=f"With --platform: {', '.join(SELECTORS)}, as SimGrid knows them.")
    ] = "mpich",
    mpi: Annotated[
        str | None,
        typer.Option(help="mpich, openmpi, intel, mpich-4 …, or a path. Default: what it was recorded under, if here."),
    ] = None,
    virtual_nodes: VirtualNodes = None,
    settings: SetTexts = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for all rounds.")] = 600.0,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON, in place of the table.")] = False,
) -> None:
    """Play the collectives of a recorded run natively and with Espalier in turns, here or on a simulated cluster.

    As many ranks make the same calls in the same proportions, on the same communicators; each comes as early or late as
    it came, after as much computation. What is summed are doubles, or floats; blocks with counts have each rank's mean.
    """
    _refuse_idle(context, platform)
    recorded = read_profile(file)
    script = derive_script(recorded, calls, compute)
    if platform is not None:
        nodes = recorded.nodes if ppn is None else [rank // ppn for rank in range(script.ranks)]
        arms = _parse(against)
        jobs = (1 + len(arms)) * len({piece.members for piece in script.pieces})
        with console.progress("replay", jobs) as show:
            simulated = simulate_script(script, platform, nodes, arms, lambda what: show(what, 1))
        _show(simulated, json)
        return
    variables = parse_settings(settings or []) | split_nodes(virtual_nodes)
    chosen = select_mpi(mpi) if mpi else find_like(recorded.mpi) or find_default_mpi()
    with tempfile.TemporaryDirectory() as scratch, console.progress("replay", 1) as show:
        show(f"{script.ranks} ranks under {chosen}", 1)
        played = play_script(script, chosen, rounds, variables, Path(scratch), timeout)
    _show(played, json)


def _refuse_idle(context: typer.Context, platform: str | None) -> None:
    """Raises UserError for an option of the command line that would change nothing."""
    idle = _SIMULATED_ONLY if platform is None else _PLAYED_ONLY
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in idle or source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[parameter.name]
        option = parameter.secondary_opts[0] if value is False else parameter.opts[0]
        if platform is None:
            raise UserError(
                f"{option} without --platform: it is about a simulated cluster", "give --platform, or leave it out"
            )
        raise UserError(
            f"{option} with --platform {platform}: it is about ranks on this machine",
            f"leave out {option}, or --platform",
        )


def _parse(against: str) -> Sequence[str]:
    names = list(SELECTORS) if against == "all" else list(dict.fromkeys(filter(None, against.split(","))))
    for name in names:
        if name not in SELECTORS:
            raise UserError(f"--against {name}: SimGrid has no such MPI", suggest(name, (*SELECTORS, "all")))
    return names


def _show(result: Replay | SimulatedReplay, as_json: bool) -> None:
    if as_json:
        console.print_json(result.as_json())
        return
    if isinstance(result, Replay):
        _print_played(result)
    else:
        _print_simulated(result)
    _print_left_out(result.script)
    console.out.print(escape(result.verdict), soft_wrap=True)


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("collective")
    for title in ("block", "calls", *titles):
        table.add_column(title, justify="right")
    table.add_column("communicator")
    table.add_column("done by", overflow="fold")
    return table


def _facts(piece: Piece) -> list[str]:
    return [piece.key.name, format_bytes(sum(piece.blocks) // len(piece.blocks)), str(piece.calls)]


def _print_played(result: Replay) -> None:
    console.out.print(escape(result.heading), soft_wrap=True)
    table = _table("native", "Espalier", "ratio", "from – to")
    for row in result.rows[:_MOST_ROWS]:
        least, greatest = row.rounds.range
        numbers = [format_time(row.native_us), format_time(row.own_us), f"{row.rounds.ratio:.2f}"]
        span = f"{least:.2f} – {greatest:.2f}"
        communicator = result.script.name_communicator(row.piece)
        table.add_row(*_facts(row.piece), *numbers, span, communicator, escape(row.choice))
    console.print_table(table, beneath=2)
    _print_rest(len(result.rows))
    if result.oversubscribed:
        console.out.print(
            "There are fewer processors than ranks, which take turns: times say little of other machines."
        )
    if not result.one_clock:
        console.out.print("Ranks read several clocks: times hold waiting, too.")


def _print_simulated(result: SimulatedReplay) -> None:
    console.out.print(escape(result.heading), soft_wrap=True)
    others = [arm for arm in result.arms if arm != OURS]
    table = _table(OURS, *others)
    for row in result.rows[:_MOST_ROWS]:
        own = row.times.get(OURS)
        cells = [_against(row.times.get(arm), own) for arm in result.arms]
        table.add_row(*_facts(row.piece), *cells, result.communicator(row), escape(row.choice))
    console.print_table(table, beneath=2)
    _print_rest(len(result.rows))


def _against(time: float | None, own: float | None) -> str:
    if time is None:
        return "–"
    return f"{format_time(time)} ({time / own:.2f}×)" if own and time is not own else format_time(time)


def _print_rest(rows: int) -> None:
    if rows > _MOST_ROWS:
        console.out.print(f"and {counted(rows - _MOST_ROWS, 'kind')} of calls that took less: see --json")


def _print_left_out(script: Script) -> None:
    if script.left_out:
        told = ", ".join(f"{calls} {name}" for name, calls in script.left_out.items())
        console.out.print(f"not played: {told}", soft_wrap=True)
