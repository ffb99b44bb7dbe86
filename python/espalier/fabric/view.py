"""A fabric as people see it: hosts instead of adapters, levels, cables once. Drawings and exports are made from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError


@dataclass(frozen=True)
class Cable:
    """One cable; `near` is the end on the lower level. Nodes are indices into the fabric's."""

    near: int
    near_port: int
    far: int
    far_port: int
    rate: str
    gbps: float


class View:
    """A fabric, or the part of it that some hosts use."""

    def __init__(self, core: Any, hosts: Sequence[str] = ()) -> None:
        """With `hosts`, only those, and the switches on the routes between them. Raises UserError for unknown ones."""
        self.core = core
        self.nodes: list[Any] = core.nodes
        self.hosts: list[Any] = _find_hosts(core, hosts) if hosts else core.hosts
        self.adapters: dict[int, str] = {end.node: host.name for host in self.hosts for end in host.endpoints}
        self._kept = self._on_routes() if hosts else None

    def _on_routes(self) -> set[int]:
        names = [host.name for host in self.hosts]
        return {
            hop[0]
            for source in names
            for target in names
            if source != target
            for hop in self.core.trace_route(*self.core.find_pair(source, target)).hops
        }

    @cached_property
    def switches(self) -> list[int]:
        """By GUID."""
        indices = [index for index, node in enumerate(self.nodes) if node.kind == "switch"]
        if self._kept is not None:
            indices = [index for index in indices if index in self._kept]
        return sorted(indices, key=lambda index: str(self.nodes[index].guid))

    @cached_property
    def levels(self) -> dict[int, int]:
        """Level of every switch: 1 with hosts, else one more than its lowest neighbour's. Adapters are on level 0."""
        neighbours = {index: [cable[1] for cable in self.nodes[index].cables] for index in self.switches}
        levels = {
            index: 1 for index, ends in neighbours.items() if any(self.nodes[end].kind == "adapter" for end in ends)
        }
        frontier = list(levels)
        for index in frontier:
            for end in neighbours[index]:
                if end in neighbours and end not in levels:
                    levels[end] = levels[index] + 1
                    frontier.append(end)
        return {index: levels.get(index, 1) for index in self.switches}

    @cached_property
    def cables(self) -> list[Cable]:
        """Cables between what is shown, each once, as its switch on the upper level (or the lower GUID) sees it."""
        shown = {*self.switches, *self.adapters}
        cables: dict[tuple[tuple[int, int], tuple[int, int]], Cable] = {}
        for index in sorted(shown):
            for port, far, far_port, rate, gbps in self.nodes[index].cables:
                if far not in shown:
                    continue
                low, high = sorted([(index, port), (far, far_port)], key=lambda end: (self._level(end[0]), end))
                cables.setdefault((low, high), Cable(*low, *high, rate, gbps))
        return list(cables.values())

    def _level(self, index: int) -> int:
        return self.levels.get(index, 0)

    def label(self, index: int) -> str:
        """The host's name, or the node's own."""
        return self.adapters.get(index) or self.nodes[index].name or str(self.nodes[index].guid)


def _find_hosts(core: Any, names: Iterable[str]) -> list[Any]:
    """The hosts that these names mean, each once: with their domains or, where that is unique, without. Raises
    UserError for unknown ones."""
    known: dict[str, list[Any]] = {}
    for host in core.hosts:
        known.setdefault(host.name.split(".")[0], []).append(host)
    meant = {name: it[0] for name, it in known.items() if len(it) == 1} | {host.name: host for host in core.hosts}
    unknown = next((name for name in names if name not in meant), None)
    if unknown is not None:
        raise UserError(
            f"unknown-host: '{unknown}' is no host of this fabric", "`espalier routes --all` lists all hosts"
        )
    return list({meant[name].name: meant[name] for name in names}.values())


def split_hosts(texts: Iterable[str]) -> list[str]:
    """Host lists as Slurm writes them ("node[000-003],login") into names."""
    core = load_core()
    with user_errors("write names as node[000-003],login"):
        return [name for text in texts for name in core.expand_host_list(text)]
