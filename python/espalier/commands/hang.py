"""espalier hang: why does a job stand still?"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.jobs.stacks import find_debugger, read_stack, shorten

# Whoever is waited for may be one of many.
_MOST_STACKS = 4


def hang(
    pid: Annotated[
        int | None, typer.Argument(min=1, help="A process of the job. Default: all jobs of this host.", metavar="[PID]")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="What has waited for less is no standstill.")] = 1.0,
    stacks: Annotated[
        bool, typer.Option("--stacks", help="Where those who are waited for are in their code; takes gdb.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
) -> None:
    """Say who is waited for, in the collectives of the jobs on this host that run with Espalier.

    Looks at the memory that the ranks share, and disturbs nobody; --stacks stops those who are waited for a moment.
    Exit code 1 if something stands still.
    """
    if stacks and find_debugger() is None:
        raise UserError("--stacks: there is no gdb here", "install it, or leave --stacks out")
    core = load_core()
    with user_errors("give a process of this host, or none"):
        watched = core.count_watched(pid or 0)
        standstills = core.find_standstills(pid or 0, seconds)
    if not watched:
        whose = f"process {pid} has no" if pid else "no process here that you may look at has"
        raise UserError(f"{whose} communicators that Espalier serves", "is it preloaded, and is this the right user?")
    where = {it.pid: shorten(read_stack(it.pid)) for it in _awaited(standstills)} if stacks else {}
    if json:
        console.print_json([_describe(standstill, where) for standstill in standstills])
    else:
        _print(standstills, watched, where)
    raise typer.Exit(1 if standstills else 0)


def _awaited(standstills: list[Any]) -> list[Any]:
    """Living ranks that have not come; those of one communicator are enough to tell."""
    found = [
        rank
        for standstill in standstills
        for rank in standstill.ranks
        if rank.stand in ("not_come", "elsewhere") and rank.life not in ("dead", "stopped")
    ]
    return found[:_MOST_STACKS]


def _describe(standstill: Any, where: dict[int, str]) -> dict[str, Any]:
    ranks = [
        {
            "rank": rank.rank,
            "world_rank": rank.world_rank,
            "pid": rank.pid,
            "stand": rank.stand,
            "life": rank.life,
            "seconds": round(rank.seconds, 3),
            "call": rank.call,
            "stack": where.get(rank.pid),
        }
        for rank in standstill.ranks
    ]
    return {
        "communicator": standstill.community,
        "call": standstill.call,
        "seconds": round(standstill.seconds, 3),
        "culprit": standstill.culprit,
        "ranks": ranks,
    }


def _print(standstills: list[Any], watched: int, where: dict[int, str]) -> None:
    if not standstills:
        console.out.print(f"nothing stands still: {watched} ranks of communicators go on, or do something else")
    for standstill in standstills:
        *facts, culprit = standstill.text.rstrip("\n").split("\n")
        for line in facts:
            console.out.print(escape(line), soft_wrap=True)
        console.out.print(f"[bold]{escape(culprit)}[/]", soft_wrap=True)
        for rank in standstill.ranks:
            if stack := where.get(rank.pid):
                console.out.print(f"  rank {rank.rank} is in {escape(stack)}", soft_wrap=True)
