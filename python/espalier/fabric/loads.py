"""Which links many routes have in common: what a job feels when all its hosts talk to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LinkLoad:
    """A link in one direction, and how many of the routes take it."""

    near: str
    far: str
    near_port: int
    rate: str
    routes: int


def routes_among(core: Any, hosts: Sequence[str]) -> list[Any]:
    """The routes of all ordered pairs, FabricRoute each. O(hosts²)."""
    return [core.trace_route(*core.find_pair(a, b)) for a in hosts for b in hosts if a != b]


def count_loads(core: Any, routes: Sequence[Any]) -> list[LinkLoad]:
    """Every link between switches, and into hosts, that routes take; the busiest first, equal ones by name."""
    taken = Counter((hop[0], hop[2]) for route in routes if route.status == "ok" for hop in route.hops)
    nodes = core.nodes
    cables = {(node, port): (far, rate) for node, _ in taken for port, far, _, rate, _ in nodes[node].cables}
    loads = [
        LinkLoad(_name(nodes[node]), _name(nodes[far]), port, rate, count)
        for (node, port), count in taken.items()
        if (node, port) in cables
        for far, rate in [cables[node, port]]
    ]
    return sorted(loads, key=lambda it: (-it.routes, it.near, it.near_port))


def _name(node: Any) -> str:
    return str(node.name or node.guid)
