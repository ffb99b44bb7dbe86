"""A node as text: packages, NUMA nodes, caches, NICs, which rank sits where, who leads for which operation and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from espalier.base.node import OPERATIONS, NodeView, nic_name, share_out
from espalier.base.units import counted


def render_node(core: Any, view: NodeView) -> RenderableType:
    """For a terminal."""
    return Group(_draw_machine(core, view), Text(), _leader_table(view))


def _draw_machine(core: Any, view: NodeView) -> Tree:
    node = view.node
    tree = Tree(f"[bold]{escape(node.source)}[/]: {counted(len(core.parse_cpus(node.cpus)), 'processor')}")
    everywhere = [index for index, nic in enumerate(node.nics) if not nic.near]
    packages, across = share_out(core, node)
    for package, inside in packages:
        branch = tree.add(f"package [dim]{package}[/]")
        for index in inside:
            _draw_numa(core, view, index, branch.add(_numa_label(view, index)), ())
    for index in across:
        _draw_numa(core, view, index, tree.add(_numa_label(view, index)), node.packages)
    for index in everywhere:
        tree.add(_nic_label(view, index) + " [yellow]where it sits is not known[/]")
    return tree


def _draw_numa(core: Any, view: NodeView, index: int, branch: Tree, packages: Sequence[str]) -> None:
    """`packages`: those that the NUMA node may reach across."""
    cpus = view.node.numa_nodes[index].cpus
    own = set(core.parse_cpus(cpus))
    parts = [package for package in packages if set(core.parse_cpus(package)) <= own]
    for part in parts:
        _draw_caches(core, view, part, branch.add(f"package [dim]{part}[/]"))
    if not parts:
        _draw_caches(core, view, cpus, branch)
    for number, nic in enumerate(view.node.nics):
        if nic.near and own & set(core.parse_cpus(nic.near)):
            branch.add(_nic_label(view, number))


def _draw_caches(core: Any, view: NodeView, cpus: str, branch: Tree) -> None:
    own = set(core.parse_cpus(cpus))
    groups = [it for it in view.node.l3_groups if set(core.parse_cpus(it)) <= own]
    for group in groups or [cpus]:
        inside = set(core.parse_cpus(group))
        ranks = [rank for rank, cpus in enumerate(view.seats) if _sits_in(core, cpus, inside)]
        shown = _rank_list(ranks) if ranks else "[dim]no rank[/]"
        branch.add(f"{'L3' if groups else 'processors'} [dim]{group}[/]  {shown}")


def _sits_in(core: Any, cpus: str, inside: set[int]) -> bool:
    own = set(core.parse_cpus(cpus))
    return bool(own) and own <= inside


def _numa_label(view: NodeView, index: int) -> str:
    numa = view.node.numa_nodes[index]
    return f"NUMA node {numa.os_index} [dim]{numa.cpus}, distances {' '.join(map(str, view.node.distances[index]))}[/]"


def _nic_label(view: NodeView, index: int) -> str:
    nic = view.node.nics[index]
    rate = f"{nic.mbits / 1000:g} Gbit/s" if nic.mbits else "rate not known"
    state = "" if nic.is_active else ", down"
    text = f"NIC {escape(' '.join(nic.names))} [dim]{nic.bus} {rate}{state}[/]"
    return f"[green]{text} ← in use[/]" if index in view.nics else text


def _rank_list(ranks: list[int]) -> str:
    """Ranks as ranges: 0-3, 8."""
    return f"rank{'s' * (len(ranks) > 1)} " + ", ".join(_ranges(ranks))


def _ranges(numbers: list[int]) -> Iterator[str]:
    start = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            first, last = numbers[start], numbers[end - 1]
            yield str(first) if first == last else f"{first}-{last}"
            start = end


def _leader_table(view: NodeView) -> Table:
    title = f"leaders among {counted(len(view.seats), 'rank')}; NIC: {view.why_nics}"
    if view.unbound:
        title += f"\n{_rank_list(view.unbound)}: not bound to one NUMA node"
    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("operation", "node of", "leaders", "why"):
        table.add_column(name)
    for it in view.leaderships:
        leaders = ", ".join(f"[bold]{rank}[/] {nic_name(view, nic)}".rstrip() for rank, nic in it.leaders)
        where = "the root" if it.has_root else "all" if it.operation == "allgather" else "others"
        table.add_row(OPERATIONS[it.operation], where, leaders, escape(it.reason))
    return table
