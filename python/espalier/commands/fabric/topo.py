"""espalier topo: draws the network, or one node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.node import overlooked, view_node
from espalier.base.writing import write_text
from espalier.draw.fabric import draw_page, draw_svg
from espalier.draw.node_page import draw_node_page
from espalier.draw.node_svg import draw_node
from espalier.fabric import load
from espalier.fabric.loading import core_faults
from espalier.fabric.view import View, split_hosts


def topo(
    fabric: Annotated[
        Path | None, typer.Option("--fabric", metavar="DIR", help="A folder with dumps of the fabric (or one of them).")
    ] = None,
    machine: Annotated[
        str,
        typer.Argument(
            metavar="MACHINE",
            help="With --node, as `espalier node` takes it: this one, a file of lstopo, or hwloc's synthetic notation.",
        ),
    ] = "this",
    node: Annotated[bool, typer.Option("--node", help="Draw a node instead: this one, or MACHINE.")] = False,
    hosts: Annotated[list[str] | None, typer.Option(help="Zoom to these: node[000-003],login.")] = None,
    highlight: Annotated[
        list[str] | None,
        typer.Option(metavar="A:B", help="Draw this pair's route on top; may be repeated, as for the edges of a tree."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A page, or with .svg the drawing alone. Default: fabric.html or node.html.",
        ),
    ] = None,
) -> None:
    """Draw the fabric: levels, cables coloured by speed, routes. Or a node: sockets, caches, NICs, ranks, leaders."""
    if (fabric is None) != node:
        raise UserError("there is a fabric or a node to draw", "write --fabric DIR, or --node [MACHINE]")
    if machine != "this" and not node:
        raise UserError(f"{machine}: only a node has a machine", f"write --node {machine}")
    if node and (hosts or highlight):
        raise UserError("--hosts and --highlight are about a fabric", "leave them out, or write --fabric DIR")
    if fabric is not None:
        _draw_fabric(fabric, hosts or [], highlight or [], output or Path("fabric.html"))
    if node:
        _draw_node("" if machine == "this" else machine, output or Path("node.html"))


def _draw_fabric(fabric: Path, hosts: list[str], highlight: list[str], output: Path) -> None:
    snapshot = load(fabric)
    view = View(snapshot.core, split_hosts(hosts))
    with core_faults("`espalier routes --all` lists all hosts"):
        routes = [_trace(snapshot.core, pair) for pair in highlight]
    if output.suffix == ".svg":
        text = draw_svg(view, routes)
    else:
        remarks = [f"{len(view.switches)} switches, {len(view.hosts)} hosts; routes known from {snapshot.core.basis}"]
        remarks += [f"{it.kind}: {it.text}" for it in snapshot.core.findings]
        text = draw_page(view, routes, f"The fabric of {fabric.name}", remarks)
    _write(output, text)


def _draw_node(machine: str, output: Path) -> None:
    core = load_core()
    with user_errors("see espalier topo --help"):
        facts = core.probe_node(machine)
        seats = [core.binding_of(facts, "packed", index) for index in range(len(core.parse_cpus(facts.cpus)))]
        nic = os.environ.get("ESPALIER_NIC", "")
        view = view_node(core, facts, seats, policy="near", count=1, root=0, nic=nic)
    if remark := overlooked(facts, view.why_nics, nic):
        console.note(remark)
    _write(output, draw_node(core, view) if output.suffix == ".svg" else draw_node_page(core, view))


def _write(output: Path, text: str) -> None:
    write_text(output, text)
    console.note(f"drawn in {output}")


def _trace(core: Any, pair: str) -> Any:
    source, colon, target = pair.partition(":")
    if not colon:
        raise UserError(f"'{pair}' is no pair of hosts", "write --highlight node000:node005")
    return core.trace_route(*core.find_pair(source, target))
