"""espalier explain: which plan a collective gets on a machine, why, what it moves, and its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from espalier import console
from espalier.core import load_core, user_errors
from espalier.errors import UserError
from espalier.fabric.laid import LaidPlan, find_site
from espalier.fabric.view import split_hosts
from espalier.report.plan_svg import draw_plan
from espalier.tuning.candidates import is_dedicated
from espalier.tuning.lookup import Verdict, consult_table
from espalier.units import approximate_bytes, check_ranks, name_problem, parse_bytes
from espalier.writing import write_text

# So many of the cost model's candidates are shown, the fastest first.
_MOST_ESTIMATES = 5

# Of a plan of more steps only one node's programs are built, and the rank's that is shown: in a second or two.
_MOST_STEPS = 10_000_000

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
    verdict: Verdict | None  # of a tuned table
    node: int  # whose accounting to show
    estimates: list[tuple[str, float]]  # choices and microseconds by the cost model, fastest first
    laid: LaidPlan | None  # on a network, where one was named


def explain(
    operation: Annotated[str, typer.Argument(metavar="OP", help="Any collective: broadcast, allreduce …")],
    bytes_: Annotated[
        str, typer.Option("--bytes", help="Size of the message or vector, or of one rank's block.")
    ] = "64K",
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Number of nodes. Default: 1, or with --hosts as many as hosts.")
    ] = None,
    ppn: Annotated[int, typer.Option(min=1, help="Ranks per node.")] = 4,
    placement: Annotated[
        str | None, typer.Option(help="Instead of --nodes: ranks per node as 3,1,4, or cyclic:4 (with --ranks).")
    ] = None,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="Number of ranks. Default: nodes × ppn, or the sum of the placement.")
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="Who has the message.")] = 0,
    algorithm: Annotated[str | None, typer.Option(help="This one instead of the built-in choice.")] = None,
    knobs: Annotated[
        list[str] | None, typer.Option("--set", metavar="KNOB=VALUE", help="Turn a knob; may be repeated.")
    ] = None,
    rank: Annotated[str, typer.Option(help="Whose steps to show: a rank, `all` or `none`.")] = "root",
    node: Annotated[int, typer.Option(min=0, help="Whose connections and shared memory to account for.")] = 0,
    single_copy: Annotated[bool, typer.Option(help="Neighbours may read each other's memory (CMA).")] = True,
    oversubscribed: Annotated[bool, typer.Option(help="More ranks than processors on a node.")] = False,
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A tuned table. Default: the one a job would load.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw the plan, phase by phase.")] = None,
    fabric: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Dumps of a network: shows how the tree lies on it.")
    ] = None,
    hosts: Annotated[
        list[str] | None, typer.Option(help="With --fabric: the nodes' hosts, node[000-003]. Default: the first ones.")
    ] = None,
    map_: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="With --fabric: draw that, as a page or as .svg.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Explain the plan for OP: the choice and its reason, the traffic per node, one rank's steps."""
    core = load_core()
    if fabric is None and (hosts or map_ is not None):
        raise UserError("--hosts and --map are about a network", "name its dumps with --fabric DIR")
    with user_errors("see espalier explain --help"):
        nodes = nodes or (len(split_hosts(hosts)) if hosts else 1)
        node_of = place(core, nodes, ppn, placement, ranks)
        if root >= len(node_of):
            raise UserError(f"--root {root}: there are only ranks 0 to {len(node_of) - 1}", "choose one of those")
        if node > max(node_of):
            raise UserError(f"--node {node}: there are only nodes 0 to {max(node_of)}", "choose one of those")
        shown = _ranks_to_show(rank, root, len(node_of))
        site = find_site(fabric, hosts or [], max(node_of) + 1) if fabric else None
        distances = site.distances() if site else {}
        topology = core.Topology(node_of, single_copy, oversubscribed, **distances)
        size = parse_bytes(bytes_)
        choice, reason = choose(core, topology, operation, size, root, algorithm, knobs or [])
        asked = algorithm is not None or bool(knobs)
        verdict = None if asked else consult_table(core, topology, operation, size, table)
        if verdict is not None:
            choice, reason = _follow(core, topology, operation, size, choice, verdict)
        if not asked and (why := core.why_invalid(topology, operation, size, choice)):
            if svg is not None or map_ is not None:
                raise UserError(f"there is no plan to draw: {why}", "leave out --svg and --map")
            _tell_native(operation, size, root, node_of, _why_native(verdict, why), verdict, json)
            return
        is_whole = _is_small(core, topology, operation, size, root, choice)
        if not is_whole and (rank == "all" or svg is not None):
            raise UserError(
                f"a plan of more than {_MOST_STEPS:,} steps is neither shown nor drawn whole",
                "name one --rank, leave out --svg, or explain a smaller job",
            )
        seen = [*shown, *(index for index, where in enumerate(node_of) if where == node)]
        plan = (
            core.build(topology, operation, size, root, choice)
            if is_whole
            else core.build_part(topology, operation, size, root, choice, seen)
        )
        ranked = core.rank_choices(topology, operation, size, root)[:_MOST_ESTIMATES]
        laid = LaidPlan(site, core.lay_tree(topology, operation, size, root, choice)) if site else None
    estimates = [(str(it), round(us, 3)) for it, us in ranked]
    shown_choice = "native" if verdict is not None and verdict.selection == "native" else str(choice)
    explanation = Explanation(
        operation, size, root, node_of, shown_choice, reason, plan, is_whole, verdict, node, estimates, laid
    )
    if svg is not None:
        write_text(svg, draw_plan(plan, node_of, _title(explanation)))
        console.note(f"wrote {svg}")
    if json:
        console.print_json(_as_json(core, explanation, shown))
    else:
        _print(core, explanation, shown)
    if laid is not None and map_ is not None:
        laid.draw(map_, f"{name_problem(operation, size)} on {fabric}: {shown_choice}")
        console.note(f"drawn in {map_}")


def _is_small(core: Any, topology: Any, operation: str, size: int, root: int, choice: Any) -> bool:
    """Whether all programs together fit, if they are as long as the root's."""
    sample = core.build_part(topology, operation, size, root, choice, [root])
    return int(sample.longest_program) * int(topology.ranks) <= _MOST_STEPS


def place(core: Any, nodes: int, ppn: int, placement: str | None, ranks: int | None) -> list[int]:
    """The node of each rank. Sizes (3,1,4) repeat while ranks remain, as in ESPALIER_VIRTUAL_NODES."""
    spec = placement or str(nodes)
    if ranks is None:
        ranks = sum(int(size) for size in spec.split(",")) if "," in spec and _all_digits(spec) else nodes * ppn
        if placement is not None and placement.startswith("cyclic:") and placement[7:].isdecimal():
            ranks = int(placement[7:]) * ppn
    ranks = max(1, check_ranks(ranks))  # of no ranks at all the core says what is wrong with the placement
    return [core.virtual_node_of(spec, index, ranks) for index in range(ranks)]


def choose(
    core: Any, topology: Any, operation: str, size: int, root: int, algorithm: str | None, knobs: Iterable[str]
) -> tuple[Any, str]:
    """The choice and why: the library's own unless the user names an algorithm or turns a knob."""
    decision = core.choose(topology, operation, size, root)
    knobs = list(knobs)
    if algorithm is None and not knobs:
        return decision.choice, decision.reason
    for knob in knobs:
        if not knob.partition("=")[1]:
            raise UserError(f"--set {knob}: no value", "write --set KNOB=VALUE")
    # A knob alone changes the built-in choice; a new algorithm starts from its own defaults.
    start = str(decision.choice).split(",") if algorithm is None else [algorithm]
    values = {name: value for name, _, value in (knob.partition("=") for knob in (*start[1:], *knobs))}
    text = ",".join([start[0], *(f"{name}={value}" for name, value in values.items())])
    return core.parse_choice(operation, text), "as asked for"


def _follow(core: Any, topology: Any, operation: str, size: int, builtin: Any, verdict: Verdict) -> tuple[Any, str]:
    """The choice that a table's row stands for. What is no plan (tiny, native) keeps the built-in one to look at; what
    does not apply gives way to it."""
    if verdict.selection == "native":
        return builtin, f"{verdict}; the plan below is the built-in one, for comparison"
    if is_dedicated(verdict.selection):
        return builtin, f"{verdict}; the dedicated path for short messages runs instead of the plan below"
    choice = core.parse_choice(operation, verdict.selection)
    if why := core.why_invalid(topology, operation, size, choice):
        return builtin, f"{verdict}; the built-in choice instead of {verdict.selection}: {why}"
    return choice, str(verdict)


def _why_native(verdict: Verdict | None, why: str) -> str:
    """Where no plan is left to look at. What to set, as it would say to somebody who asks for a plan, does not help."""
    if verdict is not None and verdict.selection == "native":
        return str(verdict)
    return f"no plan fits, so that an MPI job leaves the call to the MPI library: {why.partition(': ')[0]}"


def _tell_native(
    operation: str, size: int, root: int, node_of: list[int], reason: str, verdict: Verdict | None, json: bool
) -> None:
    """What _print() and _as_json() say, without a plan."""
    if not json:
        _print_head(operation, size, root, node_of, "native", reason)
        return
    facts: dict[str, Any] = {"operation": operation, "bytes": size, "root": root, "ranks": len(node_of)}
    facts |= {"node_of": node_of, "choice": "native", "reason": reason, "estimates": []}
    facts |= {"table": asdict(verdict) if verdict else None, "algorithm": {}, "traffic": [], "network": None}
    console.print_json(facts | {"accounting": None, "longest_program": 0, "programs": []})


def _title(it: Explanation) -> str:
    """ "allgather of 1K by multi_group, groups=2, …"."""
    name, *knobs = str(it.plan.choice).split(",")
    what = name_problem(it.operation, it.bytes)
    return ", ".join(
        [f"{what} by {name}", *(knob for knob in knobs if knob.startswith(("groups", "exchange", "radix")))]
    )


def _all_digits(spec: str) -> bool:
    return all(part.isdecimal() for part in spec.split(","))


def _ranks_to_show(rank: str, root: int, count: int) -> list[int]:
    special = {"root": [root], "all": list(range(count)), "none": []}
    if rank in special:
        return special[rank]
    if rank.isdecimal() and int(rank) < count:
        return [int(rank)]
    raise UserError(f"--rank {rank}: not a rank of this plan", f"give 0 to {count - 1}, `all` or `none`")


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
        "estimates": [{"choice": choice, "us": us} for choice, us in it.estimates],
        "table": asdict(it.verdict) if it.verdict else None,
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
    """What the registry says about the plan's algorithm: its name, in one sentence, and where it comes from."""
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
    machine = f"{len(node_of)} ranks on {len(sizes)} node{'s' * (len(sizes) > 1)}"
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
            console.out.print(it.laid.picture())
    console.out.print()
    if it.is_whole:
        console.out.print(traffic_table([counts for _, counts in _traffic(it)]))
    else:
        console.out.print(f"The plan is too large to count all of it: node {it.node}'s programs only (`--node`).\n")
        console.out.print(traffic_table([counts for _, counts in _traffic(it)], first=it.node))
    console.out.print(f"\nnode {it.node}")
    for line in _account_text(core, it.plan, it.node):
        console.out.print(f"  {escape(line)}")
    programs = it.plan.programs
    for rank in shown:
        program = programs[rank]
        console.out.print()
        console.out.print(_steps_table(rank, program.steps))


def _steps_table(rank: int, steps: Sequence[Any]) -> Table:
    table = Table(title=f"rank {rank}: {len(steps)} steps", title_justify="left", box=None, pad_edge=False)
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


def traffic_table(traffic: list[dict[str, int]], first: int = 0) -> Table:
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
