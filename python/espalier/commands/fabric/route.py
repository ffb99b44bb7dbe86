"""espalier route: the way from one host to another, switch by switch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.fabric import load
from espalier.fabric.loading import core_faults
from espalier.fabric.routes import route_facts

FabricOption = Annotated[
    Path, typer.Option("--fabric", metavar="DIR", help="A folder with dumps of the fabric (or one of them).")
]

_BASIS = {
    "tables": "the switches' forwarding tables",
    "shortest": "shortest path of the wiring: there are no forwarding tables",
    "tree": "distance in the scheduler's tree: neither wiring nor tables are known",
}


def route(
    source: Annotated[str, typer.Argument(metavar="A", help="A host, host/PORT, host/DEVICE or a GUID.")],
    target: Annotated[str, typer.Argument(metavar="B", help="The same.")],
    fabric: FabricOption,
    path: Annotated[int, typer.Option(min=0, max=127, help="Which of the destination's LIDs (LMC > 0).")] = 0,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Show the route from A to B: switches, ports, speeds and the slowest link. Exit code 1 when there is none."""
    core = load(fabric).core
    with core_faults("`espalier fabric check` names the hosts' problems; `espalier routes --all` lists all hosts"):
        ends = core.find_pair(source, target)
    lids = 1 << core.lmc_of(ends[1])
    if path >= lids:
        raise UserError(f"{target} answers to {counted(lids, 'LID')}: --path goes from 0 to {lids - 1}")
    it = core.trace_route(*ends, path)
    facts = route_facts(core, it)
    if json:
        console.print_json(facts)
    else:
        _print(source, target, facts)
    raise typer.Exit(0 if it.status in ("ok", "self") else 1)


def _print(source: str, target: str, facts: dict[str, Any]) -> None:
    status = facts["status"]
    colour = "green" if status in ("ok", "self") else "red"
    links = f", {counted(facts['links'], 'link')}" if facts["links"] > 0 else ""
    rate, gbps = facts["bottleneck"]["rate"], facts["bottleneck"]["gbps"]
    slowest = f", slowest {rate} ({gbps:g} Gbit/s)" if gbps and status == "ok" else ""
    console.out.print(f"[bold]{escape(source)} → {escape(target)}[/]  [{colour}]{status}[/]{links}{slowest}")
    if facts["reason"]:
        console.out.print(escape(facts["reason"]), soft_wrap=True)
    console.out.print(f"[dim]known from {_BASIS[facts['basis']]}[/]")
    if len(facts.get("equal_routes", [])) > 1:
        console.out.print(f"[dim]one of {len(facts['equal_routes'])} equally short ones[/]")
    if facts["switches"]:
        table = Table(box=None, pad_edge=False)
        for name in ("switch", "GUID", "in", "out", "link out"):
            table.add_column(name, justify="right" if name in ("in", "out") else "left")
        for hop in facts["switches"]:
            cells = (escape(hop["name"]), hop["guid"], str(hop["in"]), str(hop["out"]), hop["rate"] or "nothing there")
            table.add_row(*cells)
        console.out.print(table)
