"""A fabric as SVG: a row per level, hosts at the bottom, cables coloured by speed, routes on top.

  ┌core┐   ┌core┐
┌agg┐ ┌agg┐ ┌agg┐ ┌agg┐
leaf   leaf   leaf   leaf
⋮⋮⋮    ⋮⋮⋮    ⋮⋮⋮    ⋮⋮⋮
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from espalier.draw.page import compose_page
from espalier.draw.style import open_svg
from espalier.fabric.view import View

_STEP_Y, _BOX_W, _BOX_H, _GAP, _MARGIN = 110, 92, 26, 14, 24
_HOST_H, _STEM, _TICK = 15, 38, 10  # hosts hang on a stem left of their leaf's middle, each by a tick
# Beyond that a host's name could not be read; its leaf shows how many there are.
_MOST_HOSTS = 512
_WIDEST = 9.0  # of a link that many routes take
_MOST_NAMES = 12  # of routes, on one link
# Slow to fast, of palette.css.
_COLOURS = ("--slow", "--c5", "--c3", "--c0", "--fast", "--c2")
_UNKNOWN = "--line"

_STYLE = """
svg .stem { fill: none; stroke: var(--line); stroke-opacity: .5; }
svg .cable { fill: none; stroke-opacity: .6; stroke-width: 1.2; }
svg .route { fill: none; stroke: var(--mark); stroke-linejoin: round; stroke-opacity: .8; }
svg .number { text-anchor: middle; font-weight: 700; paint-order: stroke; stroke: var(--ground); stroke-width: 3; }
"""


@dataclass(frozen=True)
class Spot:
    """Where a node is drawn: the middle of a switch's box; where a host's name begins."""

    x: float
    y: float


def draw_svg(view: View, routes: Iterable[Any] = ()) -> str:
    """The fabric, with these routes (FabricRoute) highlighted, each link by how many take it."""
    spots, width, height = _place(view)
    colours = _colours(view)
    parts = [
        open_svg("the fabric", width, height, _STYLE),
        *_draw_cables(view, spots, colours),
        *_draw_routes(view, spots, routes),
        *_draw_switches(view, spots),
        *_draw_hosts(view, spots),
        *_draw_legend(colours, height),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def draw_page(view: View, routes: Sequence[Any], title: str, remarks: Sequence[str]) -> str:
    """The drawing on a page of its own, with what there is to say about it."""
    width = ["The wider a link, the more routes take it; between switches their number stands on it."]
    said = "".join(f"<li>{escape(remark)}</li>" for remark in [*remarks, *(width if len(routes) > 1 else [])])
    body = f'<h1>{escape(title)}</h1><ul>{said}</ul>\n<figure class="wide">{draw_svg(view, routes)}</figure>'
    return compose_page(title, body)


def _place(view: View) -> tuple[dict[int, Spot], float, float]:
    """Every node's spot, and the size of the whole. A row is as wide as it must be; all rows are spread evenly."""
    top = max(view.levels.values(), default=1)
    rows = [[index for index in view.switches if view.levels[index] == level] for level in range(top, 0, -1)]
    if rows:
        rows[-1].sort(key=lambda index: _first_host(view, index))
    width = _MARGIN * 2 + max((len(row) for row in rows), default=1) * (_BOX_W + _GAP)
    spots: dict[int, Spot] = {}
    for number, row in enumerate(rows):
        step = (width - 2 * _MARGIN) / max(1, len(row))
        for place, index in enumerate(row):
            spots[index] = Spot(_MARGIN + step * (place + 0.5), _MARGIN + _BOX_H / 2 + number * _STEP_Y)
    deepest = _place_hosts(view, spots, _MARGIN + len(rows) * _STEP_Y - 20)
    return spots, width, deepest + _MARGIN * 2


def _first_host(view: View, switch: int) -> str:
    names = [view.adapters[far] for _, far, *_ in view.nodes[switch].cables if far in view.adapters]
    return min(names, default="~")


def _place_hosts(view: View, spots: dict[int, Spot], begin: float) -> float:
    """Hosts stand in a column below the switch of their first port."""
    filled: dict[int, int] = {}
    deepest = begin
    if len(view.hosts) > _MOST_HOSTS:
        return deepest
    for host in view.hosts:
        first = host.endpoints[0]
        leaf = next((far for port, far, *_ in view.nodes[first.node].cables if port == first.port), None)
        if leaf not in spots:
            continue
        row = filled.get(leaf, 0)
        filled[leaf] = row + 1
        spot = Spot(spots[leaf].x - _STEM + _TICK, begin + row * _HOST_H)
        deepest = max(deepest, spot.y)
        for end in host.endpoints:
            spots[end.node] = spot
    return deepest


def _colours(view: View) -> dict[str, str]:
    """A colour per rate, slow to fast."""
    rates = sorted({(cable.gbps, cable.rate) for cable in view.cables})
    known = [rate for gbps, rate in rates if gbps > 0]
    colours = {rate: _COLOURS[min(place, len(_COLOURS) - 1)] for place, rate in enumerate(known)}
    return {rate: colours.get(rate, _UNKNOWN) for _, rate in rates}


def _draw_cables(view: View, spots: dict[int, Spot], colours: dict[str, str]) -> list[str]:
    """Parallel cables are fanned out. A host's first port is the tick that it hangs by."""
    lines, seen = [], dict[tuple[int, int], int]()
    for cable in view.cables:
        if cable.near not in spots or cable.far not in spots:
            continue
        number = seen[cable.near, cable.far] = seen.get((cable.near, cable.far), -1) + 1
        near, far = spots[cable.near], spots[cable.far]
        ends = f"{view.label(cable.near)} [{cable.near_port}] – [{cable.far_port}] {view.label(cable.far)}"
        title = f"<title>{escape(f'{ends}: {cable.rate}')}</title>"
        colour = colours[cable.rate]
        if _hangs(near, far):
            x = near.x - _TICK
            lines.append(f'<path class="stem" d="M{x:.1f} {far.y:.1f} V{near.y:.1f}"/>')
            tick = f'd="M{x:.1f} {near.y:.1f} h{_TICK - 2}"'
            lines.append(f'<path class="cable" style="stroke-width:3; stroke:var({colour})" {tick}>{title}</path>')
            continue
        middle = f"{(near.x + far.x) / 2 + number * 8:.1f} {(near.y + far.y) / 2:.1f}"
        curve = f'd="M{near.x:.1f} {near.y:.1f} Q{middle} {far.x:.1f} {far.y:.1f}"'
        lines.append(f'<path class="cable" style="stroke:var({colour})" {curve}>{title}</path>')
    return lines


def _hangs(host: Spot, leaf: Spot) -> bool:
    """The host stands below this very switch."""
    return host.y > leaf.y and abs(leaf.x - _STEM + _TICK - host.x) < 1


def _draw_routes(view: View, spots: dict[int, Spot], routes: Iterable[Any]) -> list[str]:
    """Each link that routes take, once: the more of them, the wider, and between switches their number on it."""
    users: dict[tuple[int, int], list[str]] = {}
    for route in routes:
        nodes = [route.source.node, *(hop[0] for hop in route.hops)]
        if route.status == "ok":
            nodes.append(route.target.node)
        name = f"{view.label(route.source.node)} → {view.label(route.target.node)}: {route.status}"
        for near, far in pairwise(node for node in nodes if node in spots):
            users.setdefault((min(near, far), max(near, far)), []).append(name)
    links, numbers = [], []
    for (near, far), names in users.items():
        links.append(_draw_link(spots[near], spots[far], names))
        if len(names) > 1 and not _hangs(spots[near], spots[far]) and not _hangs(spots[far], spots[near]):
            numbers.append(_draw_number(spots[near], spots[far], len(names)))
    return links + numbers


def _draw_link(near: Spot, far: Spot, names: Sequence[str]) -> str:
    points = [near, far]
    if _hangs(near, far):
        points.insert(1, Spot(near.x - _TICK, far.y))
        points.insert(1, Spot(near.x - _TICK, near.y))
    elif _hangs(far, near):
        points.insert(1, Spot(far.x - _TICK, far.y))
        points.insert(1, Spot(far.x - _TICK, near.y))
    path = " L".join(f"{spot.x:.1f} {spot.y:.1f}" for spot in points)
    width = min(1.5 * len(names) ** 0.5, _WIDEST)
    title = escape("\n".join([*names[:_MOST_NAMES], *(["…"] if len(names) > _MOST_NAMES else [])]))
    return f'<path class="route" style="stroke-width:{width:.1f}" d="M{path}"><title>{title}</title></path>'


def _draw_number(near: Spot, far: Spot, number: int) -> str:
    """Beside the lower switch: farther up links cross."""
    low, high = (near, far) if near.y > far.y else (far, near)
    part = _BOX_H / max(low.y - high.y, _BOX_H)
    x, y = low.x + (high.x - low.x) * part, low.y + (high.y - low.y) * part
    return f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}">{number}</text>'


def _draw_switches(view: View, spots: dict[int, Spot]) -> list[str]:
    lines = []
    for index in view.switches:
        spot, node = spots[index], view.nodes[index]
        hosts = {view.adapters[far] for _, far, *_ in node.cables if far in view.adapters}
        count = f" ({len(hosts)})" if hosts and len(view.hosts) > _MOST_HOSTS else ""
        lines.append(
            f"<g><title>{escape(f'{node.guid} {node.name}, LID {node.lid}')}</title>"
            f'<rect class="box" x="{spot.x - _BOX_W / 2:.1f}" y="{spot.y - _BOX_H / 2:.1f}" width="{_BOX_W}" '
            f'height="{_BOX_H}" rx="4"/><text x="{spot.x:.1f}" y="{spot.y + 4:.1f}" text-anchor="middle">'
            f"{escape(_short(view.label(index), 14) + count)}</text></g>"
        )
    return lines


def _draw_hosts(view: View, spots: dict[int, Spot]) -> list[str]:
    return [
        f'<text x="{spot.x + 1:.1f}" y="{spot.y + 4:.1f}"><title>{escape(host.name)}</title>'
        f"{escape(_short(_without_domain(host.name), 14))}</text>"
        for host in view.hosts
        if (spot := spots.get(host.endpoints[0].node))
    ]


def _draw_legend(colours: dict[str, str], height: float) -> list[str]:
    lines, x = [], float(_MARGIN)
    for rate, colour in colours.items():
        y = height - 12
        text = rate if rate != "?" else "rate not known"
        lines.append(
            f'<path style="stroke:var({colour})" stroke-width="3" d="M{x:.0f} {y:.0f} h20"/>'
            f'<text x="{x + 25:.0f}" y="{y + 4:.0f}">{escape(text)}</text>'
        )
        x += 45 + 7 * len(text)
    return lines


def _without_domain(name: str) -> str:
    """c011-007.cluster is c011-007; addresses stay."""
    first = name.split(".")[0]
    return name if not first or first.isdecimal() else first


def _short(text: str, most: int) -> str:
    """Both ends of a long name: what tells switches apart is often last."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2 - 1) :]}"
