"""espalier topo: draws the network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.base.writing import check_output, write_text
from espalier.draw.fabric import draw_page, draw_svg
from espalier.fabric import load
from espalier.fabric.loading import core_faults
from espalier.fabric.routes import route_facts
from espalier.fabric.view import View, split_hosts


def topo(
    fabric: Annotated[
        Path, typer.Option("--fabric", metavar="DIR", help="A folder with dumps of the fabric (or one of them).")
    ],
    hosts: Annotated[list[str] | None, typer.Option(help="Zoom to these: node[000-003],login.")] = None,
    highlight: Annotated[
        list[str] | None,
        typer.Option(metavar="A:B", help="Draw this pair's route on top; may be repeated, as for the edges of a tree."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A page, or with .svg the drawing alone.")
    ] = Path("fabric.html"),
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Draw the fabric: levels, cables coloured by speed, routes. One node: `espalier node`."""
    check_output("--output", output, ".html", ".svg")
    _draw_fabric(fabric, hosts or [], highlight or [], output, json)


def _draw_fabric(fabric: Path, hosts: list[str], highlight: list[str], output: Path, json: bool) -> None:
    snapshot = load(fabric)
    view = View(snapshot.core, split_hosts(hosts))
    with core_faults("`espalier routes --all` lists all hosts"):
        routes = [_trace(snapshot.core, pair) for pair in highlight]
    if output.suffix == ".svg":
        text = draw_svg(view, routes)
    else:
        size = f"{counted(len(view.switches), 'switch')}, {counted(len(view.hosts), 'host')}"
        remarks = [f"{size}; routes known from {snapshot.core.basis}"]
        remarks += [f"{it.kind}: {it.text}" for it in snapshot.core.findings]
        text = draw_page(view, routes, f"The fabric of {fabric.name}", remarks)
    write_text(output, text)
    if json:
        console.print_json(
            {
                "drawn": str(output),
                "switches": len(view.switches),
                "hosts": len(view.hosts),
                "basis": snapshot.core.basis,
                "findings": [{"kind": it.kind, "text": it.text} for it in snapshot.core.findings],
                "routes": [route_facts(snapshot.core, it) for it in routes],
            }
        )
    else:
        console.note(f"drawn in {output}")


def _trace(core: Any, pair: str) -> Any:
    source, colon, target = pair.partition(":")
    if not colon:
        raise UserError(f"'{pair}' is no pair of hosts", "write --highlight node000:node005")
    return core.trace_route(*core.find_pair(source, target))
