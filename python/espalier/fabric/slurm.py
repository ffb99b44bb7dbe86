"""A fabric as Slurm's topology.conf: a tree, whatever the network is.

Switches of one level that reach the same switches below stand for one another; the tree keeps the one with the lowest
GUID. A level that joins nothing new is left out.

       core1 core2              SwitchName=core1 Switches=agg1,agg3
       / \\ / \\ …                SwitchName=agg1  Switches=leaf[1-2]
    agg1 agg2 agg3 agg4    →    SwitchName=leaf1 Nodes=node[0-7]
     leaf1 leaf2 leaf3 …
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from espalier.base.core import load_core
from espalier.fabric.loading import Snapshot
from espalier.fabric.view import View


@dataclass
class _Group:
    """A subtree: its topmost switch, and all switches in it."""

    top: int
    members: set[int]
    lines: list[str] = field(default_factory=list)


def export_slurm(_: Snapshot, view: View) -> str:
    """Lines of topology.conf, leaves first. Every host hangs below the switch of its first port."""
    core, names = load_core(), _unique_names(view)
    groups = _leaves(core, view, names)
    for level in range(2, max(view.levels.values(), default=1) + 1):
        for switch in (index for index in view.switches if view.levels[index] == level):
            groups = _join(core, view, names, groups, switch, level)
    lines = [line for group in groups for line in group.lines]
    for part in sorted({view.nodes[group.top].part for group in groups}):
        tops = [group for group in groups if view.nodes[group.top].part == part]
        if len(tops) > 1:
            # No switch joins these from above, as in a torus or a dragonfly: they are equally far for Slurm.
            children = core.compress_host_list([names[group.top] for group in tops])
            lines.append(f"SwitchName=fabric{part} Switches={children}")
    return "\n".join([*lines, ""])


def _leaves(core: Any, view: View, names: dict[int, str]) -> list[_Group]:
    below: dict[int, list[str]] = {}
    for host in view.hosts:
        first = host.endpoints[0]
        for port, far, *_ in view.nodes[first.node].cables:
            if port == first.port and far in names:
                below.setdefault(far, []).append(host.name)
    leaves = []
    for index in view.switches:
        if hosts := below.get(index):
            line = f"SwitchName={names[index]} Nodes={core.compress_host_list(sorted(hosts))}"
            leaves.append(_Group(index, {index}, [line]))
    return leaves


def _join(core: Any, view: View, names: dict[int, str], groups: list[_Group], switch: int, level: int) -> list[_Group]:
    """The groups that this switch reaches become one, below it, or below the switch of its level that came first."""
    reached = {far for _, far, *_ in view.nodes[switch].cables}
    joined = [group for group in groups if group.members & reached]
    if not joined:
        return groups
    if len(joined) == 1:
        joined[0].members.add(switch)
        return groups
    # What an equal switch joined before is opened again, so that a level stays one level.
    same = [group for group in joined if view.levels[group.top] == level]
    children = [line for group in joined if group not in same for line in [names[group.top]]]
    for group in same:
        children = [*_children(core, group.lines.pop()), *children]
    top = same[0].top if same else switch
    merged = _Group(top, {switch}.union(*(group.members for group in joined)))
    merged.lines = [line for group in joined for line in group.lines]
    merged.lines.append(f"SwitchName={names[top]} Switches={core.compress_host_list(children)}")
    first = groups.index(joined[0])
    rest = [group for group in groups if group not in joined]
    return [*rest[:first], merged, *rest[first:]]


def _children(core: Any, line: str) -> list[str]:
    return list(core.expand_host_list(line.split("Switches=", 1)[1]))


def _unique_names(view: View) -> dict[int, str]:
    """Names that Slurm takes: the switch's own, without what it cannot read; with its GUID where two are alike."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for index in view.switches:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", view.label(index)).strip("_") or str(view.nodes[index].guid)
        if name in taken:
            name = f"{name}-{view.nodes[index].guid}"
        taken.add(name)
        names[index] = name
    return names
