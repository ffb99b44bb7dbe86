"""What `espalier explain` tells, to people or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.units import approximate_bytes, counted, name_problem
from espalier.draw.laid import draw_tree
from espalier.fabric.laid import LaidPlan
from espalier.tuning.table.lookup import FiredRow

# Of a longer program its beginning and its end are shown; --json has all of it.
_MOST_STEPS_SHOWN = 2000

# Above this many ranks a table of every node is no longer an explanation.
_MOST_NODES_SHOWN = 32


@dataclass(frozen=True)
class Explanation:
    """What there is to say about one call; `plan` is what runs unless `choice` is native."""

    operation: str
    bytes: int
    root: int
    node_of: list[int]
    choice: str
    reason: str
    plan: Any  # with all programs, or those of `node` and the rank that is shown
    is_whole: bool
    fired: FiredRow | None  # of a tuned table
    node: int  # whose accounting to show
    estimates: list[tuple[str, float]]  # choices and microseconds by the cost model, fastest first
    laid: LaidPlan | None  # on a network, where one was named


def tell(core: Any, it: Explanation, shown: list[int], as_json: bool) -> None:
    """Everything, with the steps of the ranks in `shown`."""
    if as_json:
        console.print_json(_as_json(core, it, shown))
    else:
        _print(core, it, shown)


def tell_native(
    operation: str, size: int, root: int, node_of: list[int], reason: str, fired: FiredRow | None, json: bool
) -> None:
    """The same where no plan fits."""
    if not json:
        _print_head(operation, size, root, node_of, "native", reason)
        return
    facts: dict[str, Any] = {"operation": operation, "bytes": size, "root": root, "ranks": len(node_of)}
    facts |= {"node_of": node_of, "choice": "native", "reason": reason, "estimates": []}
    facts |= {"table": asdict(fired) if fired else None, "algorithm": {}, "traffic": [], "network": None}
    console.print_json(facts | {"accounting": None, "longest_program": 0, "programs": []})


def _as_json(core: Any, it: Explanation, shown: list[int]) -> dict[str, Any]:
    programs = it.plan.programs
    return {
        "operation": it.plan.operation,
        "bytes": it.bytes,
        "root": it.root,
        "ranks": len(it.node_of),
        "node_of": it.node_of,
        "choice": it.choice,
        "reason": it.reason,
        "estimates": [{"choice": choice, "us": round(us, 3)} for choice, us in it.estimates],
        "table": asdict(it.fired) if it.fired else None,
        "algorithm": _algorithm_facts(core, it.plan),
        "traffic": [{"node": node} | counts for node, counts in _traffic(it)],
        "network": it.laid.facts() if it.laid else None,
        "accounting": {"node": it.node} | _account_facts(core.account_for(it.plan, it.node)),
        "longest_program": it.plan.longest_program,
        "programs": [
            {
                "rank": rank,
                "scratch_bytes": programs[rank].scratch_bytes,
                "window_bytes": programs[rank].window_bytes,
                "slots": programs[rank].slots,
                "steps": [_step_facts(step) for step in programs[rank].steps],
            }
            for rank in shown
        ],
    }


def _traffic(it: Explanation) -> list[tuple[int, dict[str, int]]]:
    """Of every node, or of the one whose programs have been built."""
    all_ = [(node, dict(counts)) for node, counts in enumerate(it.plan.traffic())]
    return all_ if it.is_whole else [all_[it.node]]


def _account_facts(account: Any) -> dict[str, Any]:
    """One node's connections, messages and shared memory, as Qian, Rashti and Afsahi's Table 1 counts them."""

    def shares(these: Any) -> list[dict[str, int]]:
        return [{"count": share.count, "bytes": share.bytes} for share in these]

    return {
        "connections_in": account.connections_in,
        "connections_out": account.connections_out,
        "network": [
            {"bytes": stream.bytes, "connections": stream.connections, "steps": stream.steps}
            for stream in account.network
        ],
        "phases": [
            {"name": phase.name, "writes": shares(phase.writes), "reads": shares(phase.reads)}
            for phase in account.phases
        ],
    }


def _account_text(core: Any, plan: Any, node: int) -> list[str]:
    """The same in sentences: "phase 1: 4 ranks write 1K each; 2 ranks read 2K each"."""
    account = core.account_for(plan, node)
    lines = [f"active connections: {account.connections_in} in, {account.connections_out} out"]
    for stream in account.network:
        steps = f" in each of {stream.steps} steps" if stream.steps > 1 else ""
        over = "1 connection" if stream.connections == 1 else f"each of {stream.connections} connections"
        lines.append(f"network: {approximate_bytes(stream.bytes)} on {over}{steps}")
    for phase in account.phases:
        writes = [f"{share.count} × {approximate_bytes(share.bytes)} written" for share in phase.writes]
        reads = [f"{share.count} × {approximate_bytes(share.bytes)} read" for share in phase.reads]
        lines.append(f"{phase.name or 'shared memory'}: {', '.join(writes + reads)}")
    return lines


def _algorithm_facts(core: Any, plan: Any) -> dict[str, str]:
    """What the catalogue says about the plan's algorithm: its name, in one sentence, and where it comes from."""
    for entry in core.algorithms():
        if (entry.operation, entry.between) == (plan.operation, plan.choice.between):
            return {"name": entry.name, "summary": entry.summary, "source": entry.source}
    return {}


# What a step may say about itself; each kind of step has some of them.
_STEP_FIELDS = (
    "op",
    "buffer",
    "offset",
    "bytes",
    "peer",
    "slot",
    "neighbour",
    "window_offset",
    "far_buffer",
    "far_offset",
    "flag",
    "tick",
    "calls_back",
)


def _step_facts(step: Any) -> dict[str, Any]:
    facts = {name: getattr(step, name) for name in _STEP_FIELDS}
    return {"text": str(step)} | {name: value for name, value in facts.items() if value is not None}


def _print_head(operation: str, size: int, root: int, node_of: list[int], choice: str, reason: str) -> None:
    sizes = [len(list(group)) for _, group in groupby(sorted(node_of))]
    machine = f"{counted(len(node_of), 'rank')} on {counted(len(sizes), 'node')}"
    if len(set(sizes)) > 1 and len(sizes) <= _MOST_NODES_SHOWN:
        machine += f" ({', '.join(str(size) for size in sizes)})"
    console.out.print(f"[bold]{name_problem(operation, size)}[/] on {machine}, root {root}")
    console.out.print(f"[bold]choice[/]  {escape(choice)}\n[bold]why[/]     {escape(reason)}")


def _print(core: Any, it: Explanation, shown: list[int]) -> None:
    _print_head(it.operation, it.bytes, it.root, it.node_of, it.choice, it.reason)
    for name, text in _algorithm_facts(core, it.plan).items():
        if name != "name" and text:
            console.out.print(f"[bold]{name:7}[/] {escape(text)}")
    for choice, us in it.estimates:
        console.out.print(f"[bold]model[/]   {us:9.1f} us  {escape(choice)}")
    if it.laid is not None:
        console.out.print(f"[bold]order[/]   {escape(it.laid.sentence())}")
        if it.laid.is_ordered and it.laid.is_small:
            console.out.print(draw_tree(it.laid))
    console.out.print()
    if it.is_whole:
        console.out.print(_traffic_table([counts for _, counts in _traffic(it)]))
    else:
        console.out.print(f"The plan is too large to count all of it: node {it.node}'s programs only (`--node`).\n")
        console.out.print(_traffic_table([counts for _, counts in _traffic(it)], first=it.node))
    console.out.print(f"\nnode {it.node}")
    for line in _account_text(core, it.plan, it.node):
        console.out.print(f"  {escape(line)}")
    programs = it.plan.programs
    for rank in shown:
        program = programs[rank]
        console.out.print()
        console.out.print(_steps_table(rank, program.steps))


def _steps_table(rank: int, steps: Sequence[Any]) -> Table:
    table = Table(title=f"rank {rank}: {counted(len(steps), 'step')}", title_justify="left", box=None, pad_edge=False)
    table.add_column("step", justify="right", style="dim")
    table.add_column("")
    half = len(steps) if len(steps) <= _MOST_STEPS_SHOWN else _MOST_STEPS_SHOWN // 2
    for index, step in enumerate(steps[:half]):
        table.add_row(str(index), escape(str(step)))
    if half < len(steps):
        table.add_row("…", "all of them: --json")
        for index, step in enumerate(steps[-half:], len(steps) - half):
            table.add_row(str(index), escape(str(step)))
    return table


def _traffic_table(traffic: list[dict[str, int]], first: int = 0) -> Table:
    """One row per node from `first` on and a sum; neighbouring nodes with equal numbers share a row, so that large
    machines fit."""
    table = Table(
        title="traffic per node (bytes / messages / connections)",
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for name in ("node", "sent", "received", "cells: put, get", "single copy", "steps"):
        table.add_column(name, justify="left" if name == "node" else "right")
    for values, group in groupby(traffic):
        last = first + len(list(group)) - 1
        table.add_row(str(first) if first == last else f"{first}…{last}", *_traffic_cells(values))
        first = last + 1
    if len(traffic) > 1:
        total = {name: sum(node[name] for node in traffic) for name in traffic[0]}
        table.add_row("all", *_traffic_cells(total), style="bold")
    return table


def _traffic_cells(node: Mapping[str, int]) -> list[str]:
    return [
        _messages(node["messages_out"], node["bytes_out"], node["connections_out"]),
        _messages(node["messages_in"], node["bytes_in"], node["connections_in"]),
        f"{approximate_bytes(node['shared_written'])}, {approximate_bytes(node['shared_read'])}",
        approximate_bytes(node["single_copied"]),
        str(node["steps"]),
    ]


def _messages(count: int, size: int, connections: int) -> str:
    if count == 0:
        return "–"
    return f"{approximate_bytes(size)} / {count} / {connections}"
