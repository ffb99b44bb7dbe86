"""espalier topo: draws the network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from espalier import console
from espalier.commands.route import FabricOption
from espalier.errors import UserError
from espalier.fabric import load
from espalier.fabric.drawing import draw_page, draw_svg
from espalier.fabric.loading import core_faults
from espalier.fabric.view import View, split_hosts


def topo(
    fabric: FabricOption,
    hosts: Annotated[list[str] | None, typer.Option(help="Zoom to these: node[000-003],login.")] = None,
    highlight: Annotated[
        list[str] | None,
        typer.Option(metavar="A:B", help="Draw this pair's route on top; may be repeated, as for the edges of a tree."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A page, or with .svg the drawing alone.")
    ] = Path("fabric.html"),
) -> None:
    """Draw the fabric: levels, cables coloured by speed, routes."""
    snapshot = load(fabric)
    view = View(snapshot.core, split_hosts(hosts or []))
    with core_faults("`espalier routes --all` lists all hosts"):
        routes = [_trace(snapshot.core, pair) for pair in highlight or []]
    if output.suffix == ".svg":
        text = draw_svg(view, routes)
    else:
        remarks = [f"{len(view.switches)} switches, {len(view.hosts)} hosts; routes known from {snapshot.core.basis}"]
        remarks += [f"{it.kind}: {it.text}" for it in snapshot.core.findings]
        text = draw_page(view, routes, f"The fabric of {fabric.name}", remarks)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}", "name another file with --output") from error
    console.note(f"drawn in {output}")


def _trace(core: Any, pair: str) -> Any:
    source, colon, target = pair.partition(":")
    if not colon:
        raise UserError(f"'{pair}' is no pair of hosts", "write --highlight node000:node005")
    return core.trace_route(*core.find_pair(source, target))
