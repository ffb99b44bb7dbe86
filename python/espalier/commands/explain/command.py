"""espalier explain: which plan a collective gets on a machine, why, what it moves, and its steps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.units import check_ranks, counted, name_problem, parse_bytes
from espalier.base.writing import check_output, write_text
from espalier.commands.explain.told import Explanation, tell, tell_native
from espalier.commands.operations import pick_operation
from espalier.draw.laid import draw_map
from espalier.draw.plan_page import Shown, draw_plan_page
from espalier.draw.plan_svg import draw_plan
from espalier.fabric.laid import LaidPlan, find_site
from espalier.fabric.view import split_hosts
from espalier.simulation.usual import usual_choice
from espalier.tuning.table.lookup import consult_table, follow, why_native

# So many of the cost model's candidates are shown, the fastest first.
_MOST_ESTIMATES = 5

# Of a plan of more steps only one node's programs are built, and the rank's that is shown: in a second or two.
_MOST_STEPS = 10_000_000


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
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also a page that plays the plan: who holds which bytes when.")
    ] = None,
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
    core, operation = load_core(), pick_operation(operation)
    if placement is not None and nodes is not None:
        raise UserError("--placement and --nodes say the same", "give one of them")
    if fabric is None and (hosts or map_ is not None):
        raise UserError("--hosts and --map are about a network", "name its dumps with --fabric DIR")
    check_output("--svg", svg, ".svg")
    check_output("--html", html, ".html")
    check_output("--map", map_, ".html", ".svg")
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
        topology = core.Topology(
            node_of, single_copy, oversubscribed, slow_handover=core.probe_slow_handover(), **distances
        )
        size = parse_bytes(bytes_)
        choice, reason = choose(core, topology, operation, size, root, algorithm, knobs or [])
        asked = algorithm is not None or bool(knobs)
        fired = None if asked else consult_table(core, topology, operation, size, table)
        if fired is not None:
            choice, reason = follow(core, topology, operation, size, choice, fired)
        if not asked and (why := core.why_invalid(topology, operation, size, choice)):
            if svg is not None or html is not None or map_ is not None:
                raise UserError(f"there is no plan to draw: {why}", "leave out --svg, --html and --map")
            tell_native(operation, size, root, node_of, why_native(fired, why), fired, json)
            return
        is_whole = _is_small(core, topology, operation, size, root, choice)
        if not is_whole and (rank == "all" or svg is not None or html is not None):
            raise UserError(
                f"a plan of more than {_MOST_STEPS:,} steps is neither shown nor drawn whole",
                "name one --rank, leave out --svg and --html, or explain a smaller job",
            )
        seen = [*shown, *(index for index, where in enumerate(node_of) if where == node)]
        plan = (
            core.build(topology, operation, size, root, choice)
            if is_whole
            else core.build_part(topology, operation, size, root, choice, seen)
        )
        ranked = core.rank_choices(topology, operation, size, root)[:_MOST_ESTIMATES]
        laid = LaidPlan(site, core.lay_tree(topology, operation, size, root, choice)) if site else None
    estimates = [(str(it), us) for it, us in ranked]
    shown_choice = "native" if fired is not None and fired.selection == "native" else str(choice)
    explanation = Explanation(
        operation, size, root, node_of, shown_choice, reason, plan, is_whole, fired, node, estimates, laid
    )
    if svg is not None:
        write_text(svg, draw_plan(plan, node_of, _title(explanation)))
        console.note(f"wrote {svg}")
    if html is not None:
        write_text(html, draw_plan_page(core, _heading(explanation), _compared(core, topology, explanation), node_of))
        console.note(f"wrote {html}")
    tell(core, explanation, shown, json)
    if laid is not None and map_ is not None:
        draw_map(laid, map_, f"{name_problem(operation, size)} on {fabric}: {shown_choice}")
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


def _compared(core: Any, topology: Any, it: Explanation) -> list[Shown]:
    """The plan, and beside it what MPI libraries usually do, where that is known and something else."""
    plans = [Shown(f"Espalier: {it.plan.choice}", it.plan)]
    usual = usual_choice(core, topology, it.operation, it.bytes)
    if usual is not None and usual.between != it.plan.choice.between:
        plan = core.build(topology, it.operation, it.bytes, it.root, usual)
        plans.append(Shown(f"Usual: {str(usual).split(',within')[0]}", plan))
    return plans


def _heading(it: Explanation) -> str:
    ranks, nodes = counted(len(it.node_of), "rank"), counted(max(it.node_of) + 1, "node")
    return f"{name_problem(it.operation, it.bytes)} on {ranks}, {nodes}"


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
