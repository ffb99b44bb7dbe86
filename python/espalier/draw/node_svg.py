"""A node as a picture: NUMA nodes side by side, processors with their ranks, NICs below the NUMA node they hang off.

┌ package 0 ────────────┐ ┌ package 1 ────────────┐
│ ┌ NUMA node 0 ──────┐ │ │ ┌ NUMA node 1 ──────┐ │
│ │ [0] [1] [2] [3]   │ │ │ │ [4] [5] [6] [7]   │ │      filled: leads an allgather
│ │ ▔▔▔▔▔▔▔ ▔▔▔▔▔▔▔   │ │ │ │ ▔▔▔▔▔▔▔ ▔▔▔▔▔▔▔   │ │      bars: these share a last-level cache
│ └───────────────────┘ │ │ └─────────┬─────────┘ │
└───────────────────────┘ └───────────┼───────────┘
                           [ mlx5_0 · in use ]
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from espalier.base.node import NodeView, share_out
from espalier.base.units import counted
from espalier.draw.style import open_svg

_CELL, _GAP, _HEAD, _NIC = 26, 8, 18, 24
_PER_ROW = 8  # processors of a row
_WIDEST = 1200  # packages that would reach farther begin a new row: letters must stay readable

_STYLE = "svg .l3 { fill: var(--line); } svg .used { fill: var(--own); fill-opacity: .2; stroke: var(--own); }"


@dataclass(frozen=True)
class _Numa:
    """One NUMA node's part of the picture."""

    index: int
    cpus: list[int]
    nics: list[int]

    @property
    def width(self) -> int:
        return max(min(len(self.cpus), _PER_ROW) * _CELL, 110) + 2 * _GAP

    @property
    def rows(self) -> int:
        return -(-len(self.cpus) // _PER_ROW)


def draw_node(core: Any, view: NodeView) -> str:
    """A whole SVG file. Processors carry the ranks bound to them alone; those that lead an allgather are filled in;
    bars join those that share a last-level cache."""
    packages = [set(core.parse_cpus(package)) for package in view.node.packages]
    numas = [
        _Numa(index, cpus, [n for n, nic in enumerate(view.node.nics) if set(core.parse_cpus(nic.near)) & set(cpus)])
        for index, cpus in enumerate(_by_package(core.parse_cpus(it.cpus), packages) for it in view.node.numa_nodes)
    ]
    rank_at = {cpus[0]: rank for rank, cpus in enumerate(map(core.parse_cpus, view.seats)) if len(cpus) == 1}
    leaders = {rank for it in view.leaderships if it.operation == "allgather" for rank, _ in it.leaders}
    numa_height = _HEAD + max(numa.rows for numa in numas) * _CELL + _GAP
    most_nics = max((len(numa.nics) for numa in numas), default=0)
    row = _HEAD + numa_height + 4 * _GAP + most_nics * (_NIC + 4)
    body, x, y, right = [], _GAP, 0, 0
    for title, inside in _frames(core, view.node, numas):
        width = sum(numa.width + _GAP for numa in inside) + _GAP
        if x > _GAP and x + width > _WIDEST:
            x, y = _GAP, y + row
        body += [_box("frame", x, y + _GAP, width, _HEAD + numa_height + _GAP)]
        body += [f'<text x="{x + _GAP}" y="{y + _GAP + 14}">{title}</text>']
        x += _GAP
        for numa in inside:
            body += _draw_numa(core, view, numa, x, y + _HEAD + _GAP, numa_height, rank_at, leaders)
            x += numa.width + _GAP
        x += _GAP
        right = max(right, x)
    return open_svg(view.node.source, right, y + row, _STYLE) + "\n" + "\n".join(body) + "\n</svg>\n"


def _by_package(cpus: list[int], packages: list[set[int]]) -> list[int]:
    """Neighbours in the picture are neighbours in the machine, also where the system numbers packages in turn."""
    return sorted(cpus, key=lambda cpu: next((at for at, package in enumerate(packages) if cpu in package), 0))


def _frames(core: Any, node: Any, numas: list[_Numa]) -> list[tuple[str, list[_Numa]]]:
    """Packages with their NUMA nodes; one frame for all NUMA nodes that reach across packages."""
    packages, across = share_out(core, node)
    frames = [
        (f"package {node.packages.index(package) if node.packages else 0}", [numas[index] for index in inside])
        for package, inside in packages
    ]
    if across:
        frames.append((f"across {counted(len(node.packages), 'package')}", [numas[index] for index in across]))
    return frames


def _draw_numa(
    core: Any, view: NodeView, numa: _Numa, x: int, y: int, height: int, rank_at: dict[int, int], leaders: set[int]
) -> list[str]:
    os_index = view.node.numa_nodes[numa.index].os_index
    parts = [_box("node", x, y, numa.width, height), f'<text x="{x + 5}" y="{y + 13}">NUMA node {os_index}</text>']
    for place, cpu in enumerate(numa.cpus):
        left, top = x + _GAP + place % _PER_ROW * _CELL, y + _HEAD + place // _PER_ROW * _CELL
        rank = rank_at.get(cpu)
        leads = rank in leaders
        parts.append(_box("leader" if leads else "box", left, top, _CELL - 3, _CELL - 3))
        if rank is not None:
            style = "middle on" if leads else "middle"
            parts.append(f'<text class="{style}" x="{left + _CELL / 2 - 1.5}" y="{top + 15}">{rank}</text>')
    parts += _draw_caches(core, view, numa, x + _GAP, y + _HEAD)
    if numa.nics:
        parts.append(f'<path class="wire" d="M{x + numa.width / 2} {y + height} v{3 * _GAP}"/>')
    for line, index in enumerate(numa.nics):
        top = y + height + 3 * _GAP + line * (_NIC + 4)
        used = index in view.nics
        parts.append(_box("used" if used else "frame", x, top, numa.width, _NIC))
        names = escape(" ".join(view.node.nics[index].names))
        parts.append(f'<text x="{x + 6}" y="{top + 16}">{names}{" · in use" if used else ""}</text>')
    return parts


def _draw_caches(core: Any, view: NodeView, numa: _Numa, x: int, y: int) -> list[str]:
    group_of = {cpu: group for group, cpus in enumerate(view.node.l3_groups) for cpu in core.parse_cpus(cpus)}
    places = [(place // _PER_ROW, group_of.get(cpu), place % _PER_ROW) for place, cpu in enumerate(numa.cpus)]
    bars = []
    for (row, group), run in groupby(places, key=lambda it: it[:2]):
        columns = [it[2] for it in run]
        if group is not None:
            left, width = x + columns[0] * _CELL + 2, len(columns) * _CELL - 7
            bars.append(f'<rect class="l3" x="{left}" y="{y + (row + 1) * _CELL - 2}" width="{width}" height="2"/>')
    return bars


def _box(style: str, x: int, y: int, width: int, height: int) -> str:
    return f'<rect class="{style}" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'
