"""espalier hang: why does a job stand still?"""

from __future__ import annotations

import json as json_text
import sys
from typing import Annotated, Any

import typer
from rich.markup import escape

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.fabric.view import split_hosts
from espalier.health.standstill import MOST_STACKS, Findings, ask_all, look_here, record
from espalier.health.together import process_of
from espalier.jobs.elsewhere import SSH, reach_job
from espalier.jobs.stacks import find_debugger


def hang(
    pid: Annotated[
        int | None,
        typer.Argument(
            min=1, help="A rank of the job, or its launcher. Default: all jobs of this host.", metavar="[PID]"
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="What has waited for less is no standstill.")] = 1.0,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Where those who are waited for are in their code; takes gdb.")
    ] = False,
    hosts: Annotated[list[str] | None, typer.Option(help="Ask these hosts, not this one: node[0-3], a,b.")] = None,
    via: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND",
            help=f"What reaches them: '{SSH}'. Without {{host}} in it, what starts a command once on each host of the "
            "job: 'srun --jobid 17 --overlap --nodes 4 --ntasks-per-node 1', which --job 17 stands for.",
        ),
    ] = None,
    job: Annotated[str | None, typer.Option(metavar="ID", help="Ask the hosts of this Slurm job.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for hosts.")] = 60.0,
    recording: Annotated[
        bool, typer.Option("--record", help="What this host shows, as one line of JSON: what hosts are asked for.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
) -> None:
    """Say who is waited for, in the collectives of the jobs on this host, or on others, that run with Espalier.

    Looks at the memory that the ranks share, and disturbs nobody; --stacks stops those who are waited for a moment.
    Calls that are left to the MPI are seen, too: by two looks, --seconds apart. Exit code 1 if something stands still.
    """
    if job is not None:
        if hosts or via:
            raise UserError(f"--job {job} has hosts of its own, and srun reaches them", "leave --hosts and --via out")
        via = reach_job(job)
    if stacks and not (hosts or via) and find_debugger() is None:
        raise UserError("--stacks: there is no gdb here", "install it, or leave --stacks out")
    if recording:
        print(json_text.dumps(record(pid or 0, seconds, stacks)))
        return
    if hosts or via:
        if pid is not None:
            raise UserError("a process is one of this host", "leave it out, or --hosts and --via")
        found = ask_all(via or SSH, split_hosts(hosts) if hosts else [], seconds, stacks, timeout)
    else:
        found = look_here(pid or 0, seconds, stacks)
    _refuse_nothing(found, pid)
    for host, why in found.silent.items():
        console.note(f"{host} has not answered: {why}")
    if json:
        console.print_json(_describe_all(found))
    else:
        _print(found, stacks)
    raise typer.Exit(1 if found.standstills else 0)


def _refuse_nothing(found: Findings, pid: int | None) -> None:
    if found.watched:
        return
    whose = "no process here that you may look at has"
    if pid:
        whose = f"neither process {pid} nor one that it has started has"
    raise UserError(f"{whose} communicators that Espalier serves", "is it preloaded, and is this the right user?")


def _describe_all(found: Findings) -> dict[str, Any]:
    """What stands still; whom was looked at, and where in their code those are whose stacks were wanted and read."""
    return {
        "standstills": [_describe(standstill, found) for standstill in found.standstills],
        "processes": [
            {
                "rank": rank["rank"],
                "world_rank": rank["world_rank"],
                "pid": rank["pid"],
                "program": rank.get("program") or None,
                "host": rank["host"] or None,
                "life": rank["life"],
                "stack": found.stacks.get(process_of(rank)),
            }
            for rank in found.processes
        ],
        "silent": dict(found.silent),
    }


def _describe(standstill: Any, found: Findings) -> dict[str, Any]:
    programs = {process_of(rank): rank.get("program") or None for rank in found.ranks}
    ranks = [
        {
            "rank": rank.rank,
            "world_rank": rank.world_rank,
            "pid": rank.pid,
            "program": programs.get((rank.host, rank.pid)),
            "host": rank.host or None,
            "stand": rank.stand,
            "life": rank.life,
            "seconds": round(rank.seconds, 3),
            "call": rank.call,
            "stack": found.stacks.get((rank.host, rank.pid)),
        }
        for rank in standstill.ranks
    ]
    return {
        "communicator": standstill.community,
        "call": standstill.call or None,
        "left_to_mpi": standstill.is_left_to_mpi,
        "seconds": round(standstill.seconds, 3),
        "culprit": standstill.culprit,
        "ranks": ranks,
    }


def _print(found: Findings, stacks: bool) -> None:
    if not found.standstills:
        _print_nothing(found, stacks)
        return
    jobs = [found.job_of(it) for it in found.standstills]
    numbers = [f" of standstill {at}" if stacks and len(jobs) > 1 else "" for at in range(1, len(jobs) + 1)]
    told = None if any(it is not jobs[0] for it in jobs) else jobs[0]
    for job, number, standstill in zip(jobs, numbers, found.standstills, strict=True):
        if job is not told:
            _say(f"{job}:")
            told = job
        _print_standstill(standstill, number)
    sys.stdout.flush()  # before stacks are read, which takes long
    for number, standstill in zip(numbers, found.standstills, strict=True):
        for rank in standstill.ranks:
            if stack := found.stacks.get((rank.host, rank.pid)):
                _say(f"  rank {rank.rank}{number} is in {stack}")
    if found.hidden and not stacks:
        _say(_tell_where("it is" if len(found.hidden) == 1 else "they are", found))


def _print_standstill(standstill: Any, number: str) -> None:
    first, *facts, culprit = standstill.text.rstrip("\n").split("\n")
    for line in (f"{number.removeprefix(' of ')}: {first}" if number else first, *facts):
        _say(line)
    console.out.print(f"[bold]{escape(culprit)}[/]", soft_wrap=True)


def _print_nothing(found: Findings, stacks: bool) -> None:
    """What was looked at, and what is not seen; with stacks, where ranks are, whatever they do there."""
    seen = f"no rank stands still in a collective that Espalier sees ({counted(found.watched, 'rank')} of "
    unseen = "communicators looked at); messages, files, windows and the making of communicators are not seen"
    _say(seen + unseen + ("" if stacks else f": {_tell_where('ranks are', found)}"))
    sys.stdout.flush()  # before stacks are read, which takes long
    if not stacks:
        return
    shown = [rank for rank in found.processes if process_of(rank) in found.stacks][:MOST_STACKS]
    for rank in shown:
        of_which = f" of {rank['program']}" if len(found.jobs) > 1 and rank.get("program") else ""
        on = f" on {rank['host']}" if rank["host"] else ""
        stack = found.stacks[process_of(rank)]
        told = f" is in {stack}" if stack else ": the debugger shows nothing of it"
        _say(f"  rank {rank['rank']}{of_which} (process {rank['pid']}{on}){told}")
    if others := len(found.processes) - len(shown):
        _say(f"  {counted(others, 'more process')} not asked")


def _tell_where(who: str, found: Findings) -> str:
    """What shows where `who`."""
    if any(rank["host"] for rank in found.ranks):
        return f"--stacks shows where {who}, on hosts that have gdb"
    return f"{'' if find_debugger() else 'with gdb installed, '}--stacks shows where {who}"


def _say(line: str) -> None:
    console.out.print(escape(line), soft_wrap=True)
