"""A plan's tree or ring on a network: as text, and on the network's picture."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.tree import Tree

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.draw.fabric import draw_page, draw_svg
from espalier.fabric.laid import LaidPlan
from espalier.fabric.view import View


def draw_tree(laid: LaidPlan) -> Tree:
    """The tree as text, each host with the links between it and the one above."""
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(laid.tree.parents):
        children.setdefault(parent, []).append(child)
    root = Tree(f"[bold]{escape(laid.host_at[0])}[/]")
    branches = [(root, 0)]
    while branches:
        branch, position = branches.pop()
        for child in sorted(children.get(position, []), reverse=laid.tree.shape != "binary"):
            label = f"{escape(laid.host_at[child])} [dim]{counted(laid.links(position, child), 'link')}[/]"
            # A chain is a list: it would walk off the page as a tree.
            below = branch if laid.tree.shape in ("chain", "ring") else None
            added = branch.add(label)
            branches.append((below or added, child))
    return root


def draw_map(laid: LaidPlan, output: Path, title: str) -> None:
    """The network with the routes of the tree's edges on it: a page, or with .svg the drawing alone."""
    view = View(laid.site.fabric, laid.site.hosts)
    trace, pair = laid.site.fabric.trace_route, laid.site.fabric.find_pair
    routes = [trace(*pair(laid.host_at[near], laid.host_at[far])) for near, far in laid.edges()]
    is_svg = output.suffix == ".svg"
    text = draw_svg(view, routes) if is_svg else draw_page(view, routes, title, [laid.sentence()])
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}", "name another file with --map") from error
