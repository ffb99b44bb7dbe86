"""espalier simulate without --execute: plans played on a simulated network, and what is drawn of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import counted, format_time, name_problem
from espalier.base.writing import write_text
from espalier.commands.simulate.busiest import print_busiest
from espalier.draw.gantt import MOST_RANKS, draw_gantt
from espalier.draw.links import draw_links
from espalier.simulation.arms import Arm, play_algorithms, play_orders
from espalier.simulation.simulator import Request, simulate


def play(
    core: Any, request: Request, all_: bool, orders: bool, gantt: Path | None, links: Path | None, as_json: bool
) -> None:
    """The plan as it is chosen, what it is to be compared with, and its drawings."""
    ranks = len(request.node_of)
    if gantt is not None and ranks > MOST_RANKS:
        raise UserError(f"--gantt draws up to {MOST_RANKS} ranks, not {ranks}", "give fewer --nodes or --ppn")
    first = simulate(replace(request, spans=gantt is not None, flights=gantt is not None))
    arms = [Arm(request.choice or "built-in choice", first)]
    if orders:
        arms += play_orders(request, first.choice)
    if all_:
        arms += play_algorithms(core, request)
    what = name_problem(request.operation, request.bytes)
    if gantt is not None:
        write_text(gantt, draw_gantt(f"{what}: {first.choice}", first, request.node_of))
    if links is not None:
        write_text(links, draw_links(f"{what}, {counted(ranks, 'rank')}: {first.choice}", first))
    if as_json:
        console.print_json(_as_json(request, arms))
    else:
        _print(request, arms, [path for path in (gantt, links) if path is not None])


def _as_json(request: Request, arms: list[Arm]) -> dict[str, Any]:
    return {
        "operation": request.operation,
        "bytes": request.bytes,
        "ranks": len(request.node_of),
        "platform": request.network,
        "metric": request.metric,
        "arms": [
            {"name": arm.name, "problem": arm.problem}
            if arm.answer is None
            else {
                "name": arm.name,
                "choice": arm.answer.choice,
                "microseconds": arm.answer.microseconds,
                "solver": arm.answer.solver,
                "messages": arm.answer.messages,
                "loads": [asdict(load) for load in arm.answer.loads],
            }
            for arm in arms
        ],
    }


def _print(request: Request, arms: list[Arm], drawn: list[Path]) -> None:
    first = arms[0].answer
    assert first is not None
    nodes = max(request.node_of) + 1
    machine = f"{counted(len(request.node_of), 'rank')}, {counted(nodes, 'node')}; {escape(first.network)}"
    if first.solver == "fluid":
        machine += "; links shared by our own solver"
    console.out.print(f"[bold]{name_problem(request.operation, request.bytes)}[/] on {machine}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "time", "against the first", "messages", "choice"):
        is_text = heading in ("", "choice")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=heading != "choice", overflow="fold")
    for arm in arms:
        if arm.answer is None:
            table.add_row(arm.name, "–", "", "", escape(arm.problem), style="dim")
            continue
        ratio = arm.answer.microseconds / first.microseconds if first.microseconds else 1
        table.add_row(
            arm.name,
            format_time(arm.answer.microseconds),
            f"{ratio:.2f}",
            str(arm.answer.messages),
            escape(arm.answer.choice),
        )
    console.print_table(table)
    print_busiest("busiest links", first)
    if drawn:
        console.out.print(f"\ndrawn in {escape(', '.join(map(str, drawn)))}")
