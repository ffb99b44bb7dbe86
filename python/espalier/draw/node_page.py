"""A node as one self-contained page: the picture, and who leads for which operation, and why."""

from __future__ import annotations

from html import escape
from typing import Any

from espalier.base.node import OPERATIONS, NodeView, nic_name
from espalier.base.units import counted
from espalier.draw import node_svg
from espalier.draw.page import compose_page


def draw_node_page(core: Any, view: NodeView) -> str:
    """The page's text."""
    title = f"{view.node.source}: who speaks for the node"
    ranks = counted(len(view.seats), "rank")
    unbound = f"<p>Not bound to one NUMA node: {len(view.unbound)} of {ranks}.</p>" if view.unbound else ""
    body = (
        f"<h1>{escape(title)}</h1>\n"
        f'<p class="faint">{ranks}; NIC: {escape(view.why_nics)}. '
        "Filled: leads an allgather. Bars join processors with a last-level cache in common.</p>\n"
        f"<figure>{node_svg.draw_node(core, view)}</figure>\n{unbound}{_leader_table(view)}"
    )
    return compose_page(title, body)


def _leader_table(view: NodeView) -> str:
    rows = []
    for it in view.leaderships:
        where = "the root" if it.has_root else "all" if it.operation == "allgather" else "others"
        leaders = ", ".join(f"{rank} {nic_name(view, nic)}".rstrip() for rank, nic in it.leaders)
        cells = (OPERATIONS[it.operation], where, leaders, it.reason)
        rows.append("<tr>" + "".join(f'<td class="left">{escape(cell)}</td>' for cell in cells) + "</tr>")
    head = "".join(f'<th class="left">{name}</th>' for name in ("operation", "node of", "leaders", "why"))
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
