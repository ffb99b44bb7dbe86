"""espalier simulate --node-platform: plans inside a node that one does not have, beside what others do there."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
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
from espalier.simulation.inside import PEERS, InsideRequest, read_ranks, simulate_all_inside, simulate_inside
from espalier.simulation.simulator import Answer


@dataclass(frozen=True)
class Outputs:
    """What to show beside the times."""

    gantt: Path | None = None
    as_json: bool = False


def play_inside(core: Any, request: InsideRequest, all_: bool, outputs: Outputs) -> None:
    """The plan as it is chosen, the peers, and with `all_` every algorithm of the operation."""
    ranks = read_ranks(request)
    if outputs.gantt is not None and ranks > MOST_RANKS:
        raise UserError(f"--gantt draws up to {MOST_RANKS} ranks, not {ranks}", "give fewer --ranks")
    first = simulate_inside(replace(request, spans=outputs.gantt is not None, loads=True))
    names = [peer for peer in PEERS if request.nodes == 1]
    requests = [replace(request, way=peer, choice="") for peer in names]
    if all_:
        algorithms = [entry.name for entry in core.algorithms() if entry.operation == request.operation]
        names += algorithms
        requests += [replace(request, choice=name) for name in algorithms]
    arms: list[tuple[str, Answer | UserError]] = [(request.choice or "ours", first)]
    arms += zip(names, simulate_all_inside(requests), strict=True)
    what = name_problem(request.operation, request.bytes)
    if outputs.gantt is not None:
        node_of = [rank * request.nodes // ranks for rank in range(ranks)]
        write_text(outputs.gantt, draw_gantt(f"{what}: {first.choice}", first, node_of))
    if outputs.as_json:
        console.print_json(_as_json(request, ranks, arms))
    else:
        _print(what, ranks, first, arms)
        if outputs.gantt is not None:
            console.out.print(f"\ndrawn in {escape(str(outputs.gantt))}")


def _as_json(request: InsideRequest, ranks: int, arms: list[tuple[str, Answer | UserError]]) -> dict[str, Any]:
    return {
        "operation": request.operation,
        "bytes": request.bytes,
        "ranks": ranks,
        "arms": [
            {"name": name, "problem": answer.message}
            if isinstance(answer, UserError)
            else {
                "name": name,
                "choice": answer.choice,
                "microseconds": answer.microseconds,
                "loads": [asdict(load) for load in answer.loads],
            }
            for name, answer in arms
        ],
    }


def _print(what: str, ranks: int, first: Answer, arms: list[tuple[str, Answer | UserError]]) -> None:
    console.out.print(
        f"[bold]{what}[/] among {counted(ranks, 'rank')} of {escape(first.network)}; simulated, peers in shape only"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "time", "against the first", "choice"):
        is_text = heading in ("", "choice")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=heading != "choice", overflow="fold")
    for name, answer in arms:
        if isinstance(answer, UserError):
            table.add_row(name, "–", "", escape(answer.message), style="dim")
            continue
        ratio = answer.microseconds / first.microseconds if first.microseconds else 1
        choice = "" if answer.choice == name else escape(answer.choice)
        table.add_row(name, format_time(answer.microseconds), f"{ratio:.2f}", choice)
    console.print_table(table)
    print_busiest("busiest inside", first)
