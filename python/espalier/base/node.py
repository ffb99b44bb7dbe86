"""One node as jobs see it: its NICs in use, where ranks sit, who leads for which operation and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# One of each kind, and who else is of that kind: the root sends, the root receives, all do both.
OPERATIONS = {"broadcast": "broadcast, scatter", "gather": "gather, reduce", "allgather": "all others"}


@dataclass(frozen=True)
class Leadership:
    """Who speaks for a node during an operation; ranks count from 0 on the node."""

    operation: str
    has_root: bool  # the operation's root sits on this node
    leaders: list[tuple[int, int]]  # (rank, index of its NIC among those in use; -1: not known)
    reason: str


@dataclass(frozen=True)
class NodeView:
    """What there is to show of one node."""

    node: Any  # espalier._core.MachineNode
    nics: list[int]  # in use
    why_nics: str
    seats: list[str]  # the processors of each rank
    unbound: list[int]  # ranks on several NUMA nodes, or nobody knows where
    leaderships: list[Leadership]


def view_node(core: Any, node: Any, seats: list[str], *, policy: str, count: int, root: int, nic: str) -> NodeView:
    """Elects leaders among ranks bound to `seats`, for a job of two such nodes with the root on the first."""
    nics, why = core.nics_in_use(node, nic)
    facts = [core.rank_facts(node, nics, cpus) for cpus in seats]
    topology = core.Topology([0] * len(seats) + [1] * len(seats), facts=facts * 2)
    leaderships = []
    for operation in OPERATIONS:
        for home in (True, False) if operation != "allgather" else (False,):
            pairs, reason = core.leaders_of(topology, 0 if home else 1, operation, root, policy, count)
            local = [(rank % len(seats), its_nic) for rank, its_nic in pairs]
            leaderships.append(Leadership(operation, home, local, reason))
    unbound = [rank for rank, it in enumerate(facts) if it.binding != "bound"]
    return NodeView(node, nics, why, seats, unbound, leaderships)


def overlooked(node: Any, why_nics: str, nic: str) -> str:
    """What to say when `nic`, as a user named cards, names none of this node's; empty otherwise."""
    if not nic or "ESPALIER_NIC=" in why_nics:
        return ""
    return f"{nic} names no network device of {node.source}; {why_nics}"


def as_json(view: NodeView) -> dict[str, Any]:
    """The same facts as plain values."""
    return {
        "source": view.node.source,
        "cpus": view.node.cpus,
        "packages": view.node.packages,
        "numa_nodes": [{"os_index": it.os_index, "cpus": it.cpus} for it in view.node.numa_nodes],
        "distances": view.node.distances,
        "l3_groups": view.node.l3_groups,
        "nics": [
            {
                "names": it.names,
                "bus": it.bus,
                "near": it.near,
                "mbits": it.mbits,
                "is_fabric": it.is_fabric,
                "is_active": it.is_active,
                "is_used": index in view.nics,
            }
            for index, it in enumerate(view.node.nics)
        ],
        "why_nics": view.why_nics,
        "ranks": [{"rank": rank, "cpus": cpus} for rank, cpus in enumerate(view.seats)],
        "leaders": [
            {
                "operation": it.operation,
                "has_root": it.has_root,
                "leaders": [{"rank": rank, "nic": nic_name(view, nic)} for rank, nic in it.leaders],
                "reason": it.reason,
            }
            for it in view.leaderships
        ],
    }


def nic_name(view: NodeView, index: int) -> str:
    """The name of the `index`-th NIC in use; empty for -1."""
    return str(view.node.nics[view.nics[index]].names[0]) if index >= 0 else ""


def share_out(core: Any, node: Any) -> tuple[list[tuple[str, list[int]]], list[int]]:
    """Packages with the NUMA nodes in each; and NUMA nodes that reach across packages, as where memory is interleaved:
    packages that have none of their own are left out then."""
    sets = [set(core.parse_cpus(it.cpus)) for it in node.numa_nodes]
    packages = []
    for package in node.packages or [node.cpus]:
        inside = set(core.parse_cpus(package))
        packages.append((package, [index for index, own in enumerate(sets) if own <= inside]))
    across = sorted(set(range(len(sets))) - {index for _, indices in packages for index in indices})
    return [it for it in packages if it[1] or not across], across
