"""A plan's tree or ring laid onto a fabric: who sits where, how far messages go, and what the order is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.fabric import load
from espalier.fabric.loading import core_faults
from espalier.fabric.view import split_hosts

# A larger tree is no picture any more.
_MOST_SHOWN = 128


@dataclass(frozen=True)
class Site:
    """The hosts of a job on a fabric, in order of its nodes."""

    name: str
    fabric: Any
    hosts: Sequence[str]

    @cached_property
    def delays(self) -> Any:
        return self.fabric.derive_delays(list(self.hosts))

    def distances(self) -> dict[str, Any]:
        """What a Topology takes of it."""
        names = ("class_of", "ways", "leaf_of", "trunks", "cables")
        return dict(zip(names, load_core().derive_distances(self.fabric, list(self.hosts)), strict=True))


def find_site(folder: Path, hosts: Sequence[str], nodes: int) -> Site:
    """The fabric in a folder of dumps, and the first `nodes` of these hosts (of all, when none are named)."""
    fabric = load(folder).core
    names = split_hosts(hosts) if hosts else [host.name for host in fabric.hosts]
    if len(names) < nodes:
        raise UserError(
            f"{nodes} nodes, but only {counted(len(names), 'host')}",
            "name more with --hosts, or ask for fewer --nodes",
        )
    site = Site(folder.name, fabric, names[:nodes])
    with core_faults("`espalier routes --all` lists all hosts"):
        _ = site.delays
    return site


class LaidPlan:
    """A choice's tree between the nodes of a site."""

    def __init__(self, site: Site, tree: Any) -> None:
        self.site = site
        self.tree = tree
        self.host_at = [site.hosts[node] for node in tree.node_at]

    @property
    def is_ordered(self) -> bool:
        """Whether the exchange between nodes is a tree or ring at all."""
        return bool(self.tree.shape != "flat" and len(self.host_at) > 1)

    def edges(self) -> list[tuple[int, int]]:
        """Pairs of positions that exchange messages, parent first."""
        edges = [(parent, child) for child, parent in enumerate(self.tree.parents) if parent >= 0]
        if self.tree.shape == "ring":
            edges.append((len(self.host_at) - 1, 0))
        return edges

    def links(self, near: int, far: int) -> int:
        """Links between two positions; -1 without a route."""
        return int(self._hops[self.tree.node_at[near]][self.tree.node_at[far]])

    @cached_property
    def _hops(self) -> Any:
        rows = self.site.delays.matrix("hops")
        return [[hops if hops != float("inf") else -1 for hops in row] for row in rows]

    def facts(self) -> dict[str, Any]:
        return {
            "fabric": self.site.name,
            "shape": self.tree.shape,
            "order": self.tree.traversal,
            "estimated_us": self.tree.reach,
            "estimated_us_natural": self.tree.natural_reach,
            "links": sum(self.links(*edge) for edge in self.edges()),
            "edges": [
                {"from": self.host_at[near], "to": self.host_at[far], "links": self.links(near, far)}
                for near, far in self.edges()
            ],
        }

    def sentence(self) -> str:
        """What the order is and what it brings."""
        if not self.is_ordered:
            return "no tree and no ring between nodes: no order of them is better than another"
        links = counted(sum(self.links(*edge) for edge in self.edges()), "link")
        text = f"{self.tree.traversal}: {self.tree.reach:.4g} µs until the last node has all (estimated), {links}"
        if self.tree.traversal == "natural" or self.tree.reach <= 0:
            return text
        return (
            f"{text}; in the order of their numbers {self.tree.natural_reach:.4g} µs, "
            f"{self.tree.natural_reach / self.tree.reach:.3g} times as long"
        )

    @property
    def is_small(self) -> bool:
        return len(self.host_at) <= _MOST_SHOWN
