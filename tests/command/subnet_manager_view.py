"""A second opinion on routes: from what opensm itself writes, read by other code than ours.

opensm-subnet.lst says what is cabled, opensm.fdbs how switches forward. Neither is what the service reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_END = r"\{ (CA|SW)(?:-SM)? Ports:\w+ SystemGUID:\w+ NodeGUID:(\w+) PortGUID:\w+ .*?\{(.*?)\} LID:(\w+) PN:(\w+) \}"


@dataclass
class View:
    """Who is cabled to whom, and which port every switch sends a LID to."""

    cables: dict[tuple[str, int], tuple[str, int]]
    switches: set[str]
    hosts: dict[str, tuple[str, int, int]]
    """Name → (GUID, port, LID) of the host's only adapter."""
    tables: dict[str, dict[int, int]]

    def query(self, source: str, target: str) -> str:
        """What the service should answer, or "error" and why."""
        guid, port, _ = self.hosts[source]
        wanted, wanted_port, lid = self.hosts[target]
        at, entered = self.cables[guid, port]
        crossed: list[str] = []
        while at in self.switches:
            if at in crossed:
                return "error loop"
            crossed.append(at)
            out = self.tables.get(at, {}).get(lid, 255)
            if out == 255:
                return "error no-entry"
            if (at, out) not in self.cables:
                return "error port-down"
            at, entered = self.cables[at, out]
        if (at, entered) != (wanted, wanted_port):
            return "error wrong-end"
        return " ".join([source, *(f"0x{switch}" for switch in crossed), target])


def read_view(folder: Path) -> View:
    view = View({}, set(), {}, {})
    for line in (folder / "opensm-subnet.lst").read_text().splitlines():
        ends = re.findall(_END, line)
        if len(ends) != 2 or "LOG=ACT" not in line:
            continue
        (kind, guid, name, lid, port), (_, far, _, _, far_port) = ends
        view.cables[guid.lower(), int(port, 16)] = far.lower(), int(far_port, 16)
        if kind == "SW":
            view.switches.add(guid.lower())
        else:
            view.hosts[name.split(" ")[0]] = guid.lower(), int(port, 16), int(lid, 16)
    table: dict[int, int] = {}
    for line in (folder / "opensm.fdbs").read_text().splitlines():
        if head := re.match(r"dump_ucast_routes: Switch 0x(\w+)", line):
            table = view.tables.setdefault(head[1].lower(), {})
        elif entry := re.match(r"0x(\w{4}) : (\d{3}) ", line):
            table[int(entry[1], 16)] = int(entry[2])
    return view
