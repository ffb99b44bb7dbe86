"""A fabric in the words of others: JSON, Graphviz, Slurm's topology.conf, a SimGrid platform."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.fabric.loading import Snapshot
from espalier.fabric.slurm import export_slurm
from espalier.fabric.view import View

# SimGrid wants a bandwidth. Used, and said, where the dumps tell none.
_UNKNOWN_GBPS = 10.0
# Of a link and the switch behind it: Ranger's 2.85 µs over seven links, without the hosts' share.
_LINK_LATENCY_US = 0.3
# One route for each pair: a quarter of a million lines.
_MOST_SIMGRID_HOSTS = 512


def export_json(snapshot: Snapshot, view: View) -> str:
    """Everything that is known: nodes, cables, hosts, findings. `version` grows when a field changes its meaning."""
    fabric = snapshot.core
    document = {
        "version": 1,
        "basis": fabric.basis,
        "files": [{"path": str(path), "format": format} for path, format in snapshot.files],
        "switches": [
            {"guid": node.guid, "name": node.name, "lid": node.lid, "level": view.levels[index], "part": node.part}
            for index, node in ((index, view.nodes[index]) for index in view.switches)
        ],
        "hosts": [
            {"name": host.name, "ports": [_port_facts(view, end) for end in host.endpoints]} for host in view.hosts
        ],
        "cables": [
            {
                "near": {"guid": view.nodes[it.near].guid, "port": it.near_port},
                "far": {"guid": view.nodes[it.far].guid, "port": it.far_port},
                "rate": it.rate,
                "gbps": it.gbps,
            }
            for it in view.cables
        ],
        "findings": [{"kind": it.kind, "text": it.text} for it in fabric.findings],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _port_facts(view: View, end: Any) -> dict[str, Any]:
    node = view.nodes[end.node]
    return {"guid": node.guid, "port": end.port, "lid": view.core.lid_of(end), "name": node.name, "part": node.part}


def export_graphviz(_: Snapshot, view: View) -> str:
    """An undirected graph, one rank per level; parallel cables are one edge with their number."""
    lines = [
        "graph fabric {",
        '  rankdir="BT"; node [fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=9];',
    ]
    for level in sorted(set(view.levels.values())):
        names = " ".join(f'"{view.nodes[index].guid}";' for index in view.switches if view.levels[index] == level)
        lines.append(f"  {{ rank=same; {names} }}")
    for index in view.switches:
        lines.append(f'  "{view.nodes[index].guid}" [shape=box, label={_quoted(view.label(index))}];')
    lines += [f"  {_quoted('host ' + host.name)} [shape=ellipse, label={_quoted(host.name)}];" for host in view.hosts]
    bundles: dict[tuple[str, str, str], int] = {}
    for cable in view.cables:
        key = (_vertex(view, cable.near), _vertex(view, cable.far), cable.rate)
        bundles[key] = bundles.get(key, 0) + 1
    for (near, far, rate), count in bundles.items():
        label = rate if count == 1 else f"{count} × {rate}"
        lines.append(f"  {near} -- {far} [label={_quoted(label)}];")
    return "\n".join([*lines, "}", ""])


def _vertex(view: View, index: int) -> str:
    host = view.adapters.get(index)
    return _quoted(f"host {host}") if host else f'"{view.nodes[index].guid}"'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def export_simgrid(_: Snapshot, view: View) -> str:
    """A platform in which every pair of hosts takes its actual route. A link per direction of each cable."""
    if len(view.hosts) > _MOST_SIMGRID_HOSTS:
        raise UserError(
            f"a SimGrid platform with all routes takes up to {_MOST_SIMGRID_HOSTS} hosts, not {len(view.hosts)}",
            "name some with --hosts node[000-127]",
        )
    links: dict[str, float] = {}
    routes = [line for source in view.hosts for line in _simgrid_routes(view, source.name, links)]
    unknown = sum(gbps == 0 for gbps in links.values())
    return "\n".join(
        [
            '<?xml version="1.0"?>',
            '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
            "<!-- Routes and rates are the fabric's; the hosts' speed and the latency of a link are to be calibrated."
            + (f" {_UNKNOWN_GBPS:g}Gbps stand for the unknown rate of {counted(unknown, 'link')}." if unknown else "")
            + " -->",
            '<platform version="4.1">',
            ' <zone id="fabric" routing="Full">',
            *(f'  <host id="{escape(host.name)}" speed="1Gf"/>' for host in view.hosts),
            *(
                f'  <link id="{name}" bandwidth="{gbps or _UNKNOWN_GBPS:g}Gbps" latency="{_LINK_LATENCY_US}us"/>'
                for name, gbps in links.items()
            ),
            *routes,
            " </zone>",
            "</platform>",
            "",
        ]
    )


def _simgrid_routes(view: View, source: str, links: dict[str, float]) -> list[str]:
    lines = []
    for target in view.hosts:
        if target.name == source:
            continue
        route = view.core.trace_route(*view.core.find_pair(source, target.name))
        if route.status != "ok":
            continue
        crossed = [(route.source.node, route.source.port), *((hop[0], hop[2]) for hop in route.hops)]
        names = [_simgrid_link(view, node, port, links) for node, port in crossed]
        inner = "".join(f'<link_ctn id="{name}"/>' for name in names)
        lines.append(f'  <route src="{escape(source)}" dst="{escape(target.name)}" symmetrical="NO">{inner}</route>')
    return lines


def _simgrid_link(view: View, index: int, port: int, links: dict[str, float]) -> str:
    node = view.nodes[index]
    name = f"{node.guid}:{port}"
    if name not in links:
        links[name] = next(gbps for number, _, _, _, gbps in node.cables if number == port)
    return name


EXPORTS: dict[str, Callable[[Snapshot, View], str]] = {
    "json": export_json,
    "dot": export_graphviz,
    "slurm": export_slurm,
    "simgrid": export_simgrid,
}
