"""espalier node: one node's processors and NICs, and which of its ranks speak on the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.node import as_json, overlooked, view_node
from espalier.base.writing import check_output, write_text
from espalier.draw.node_page import draw_node_page
from espalier.draw.node_svg import draw_node
from espalier.draw.node_text import render_node

_MOST_RANKS = 4096  # more than a node has processors, and as many as a picture can show


def node(
    machine: Annotated[
        str,
        typer.Argument(
            metavar="MACHINE", help="FILE.xml (of lstopo), or hwloc's synthetic notation. Default: this machine."
        ),
    ] = "",
    ranks: Annotated[
        int | None, typer.Option("-n", min=1, max=_MOST_RANKS, help="Ranks on the node. Default: one per processor.")
    ] = None,
    mapping: Annotated[str, typer.Option(help="packed, scattered, unbound or half.")] = "packed",
    policy: Annotated[str, typer.Option(help="natural, near or spread.")] = "near",
    leaders: Annotated[int, typer.Option(min=1, help="Leaders per node.")] = 1,
    root: Annotated[int, typer.Option(min=0, help="The root, where it sits on this node.")] = 0,
    nic: Annotated[str, typer.Option(help="As ESPALIER_NIC: the devices in use.")] = "",
    hwloc: Annotated[bool, typer.Option("--hwloc", help="This machine as hwloc sees it, not the kernel.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", "--svg", metavar="FILE", help="Draw it, too: a page, or with .svg the drawing alone."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Draw a node: NUMA nodes, caches, NICs; where ranks sit; who leads for which operation, and why."""
    core = load_core()
    if hwloc and machine:
        raise UserError("--hwloc is about this machine", "leave out MACHINE: snapshots are read with hwloc anyway")
    check_output("--output", output, ".html", ".svg")
    with user_errors("see espalier node --help"):
        facts = core.probe_hwloc() if hwloc else core.probe_node(machine)
        count = ranks or len(core.parse_cpus(facts.cpus))
        if root >= count:
            raise UserError(f"--root {root}: there are only ranks 0 to {count - 1}", "choose one of those")
        seats = [core.binding_of(facts, mapping, index) for index in range(count)]
        setting = nic or os.environ.get("ESPALIER_NIC", "")
        view = view_node(core, facts, seats, policy=policy, count=leaders, root=root, nic=setting)
    if remark := overlooked(facts, view.why_nics, setting):
        console.note(remark)
    if output is not None:
        write_text(output, draw_node(core, view) if output.suffix == ".svg" else draw_node_page(core, view))
    if json:
        console.print_json(as_json(view))
    else:
        console.out.print(render_node(core, view))
