"""What there is to say about routes: one of them, switch by switch, and how many pairs have one at all."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any


def route_facts(core: Any, it: Any) -> dict[str, Any]:
    """All that there is to say about a route."""
    rate, gbps = core.bottleneck(it)
    facts: dict[str, Any] = {
        "source": _end_facts(core, it.source),
        "target": _end_facts(core, it.target),
        "status": it.status,
        "reason": core.explain(it),
        "basis": it.basis,
        "links": it.links,
        "bottleneck": {"rate": rate, "gbps": gbps},
        "switches": [_hop_facts(core, hop) for hop in it.hops],
    }
    if it.basis != "tables" and it.status == "ok":
        facts["equal_routes"] = [core.format_hops(one) for one in core.find_shortest_routes(it.source, it.target)]
    return facts


def parse_route(line: str) -> dict[str, Any]:
    """The same of a line of `espalier routes`, as far as that tells."""
    source, target, status, links, hops = line.split("\t")
    found = re.findall(r"([^\[\]\s]+)\[(\d+)>(\d+)\]", hops)
    switches = [{"guid": guid, "in": int(entry), "out": int(exit_)} for guid, entry, exit_ in found]
    return {"source": source, "target": target, "status": status, "links": int(links), "switches": switches}


def _end_facts(core: Any, end: Any) -> dict[str, Any]:
    node = core.nodes[end.node]
    cable = next((it for it in node.cables if it[0] == end.port), None)
    facts = {"name": core.label(end), "guid": node.guid, "port": end.port, "lid": core.lid_of(end)}
    return facts | {"rate": cable[3] if cable else None}


def _hop_facts(core: Any, hop: tuple[int, int, int]) -> dict[str, Any]:
    node = core.nodes[hop[0]]
    cable = next((it for it in node.cables if it[0] == hop[2]), None)
    return {"guid": node.guid, "name": node.name, "in": hop[1], "out": hop[2], "rate": cable[3] if cable else None}


def count_routes(core: Any) -> list[dict[str, Any]]:
    """How many pairs have which status, with an example; hosts of different parts are no pair."""

    def part(host: Any) -> int:
        return int(core.nodes[host.endpoints[0].node].part)

    counts: dict[str, dict[str, Any]] = {}
    for _, hosts in groupby(sorted(core.hosts, key=part), key=part):
        names = [host.name for host in hosts]
        for status, pairs, source, target in core.derive_delays(names).count_statuses():
            entry = counts.setdefault(status, {"status": status, "pairs": 0, "example": [names[source], names[target]]})
            entry["pairs"] += pairs
    return sorted(counts.values(), key=lambda entry: (entry["status"] != "ok", entry["status"]))
