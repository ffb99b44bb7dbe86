"""Goglin and Moreaud's cluster as simulated nodes, and our own plans on it (docs/ideas/nodes.md).

Nodes of four sockets, two cores each, a cache for each core, the card on socket 1. What the paper found in hardware is
the one thing that figures sweep: a card reaches the memory of a far socket at only a share of the wire's rate. That
sending is not slowed is the paper's finding, and an assumption here.

The wire carries 1.4 GB/s, as the paper's DDR InfiniBand on PCIe 1.1 x8. The other rates are our estimates for its
Opterons, about half of what two channels of DDR2-667 and a 1 GHz HyperTransport link promise; the memory's decides how
much of a collective is network at all, so two values of it are shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from espalier.simulation.inside import InsideRequest, simulate_inside

WIRE = 1.4  # GB/s
MEMORIES = (3.0, 4.0)  # wires: 4.2 and 5.6 GB/s of one socket, reads and writes together
BYTES = 1 << 20

CARD = 1  # the socket with the card
FAR = 2
# Sockets of a node's ranks, by their number. A single one sits where it is bound to.
SOCKETS = {2: (CARD, FAR), 4: (0, 1, 2, 3), 8: (0, 0, 1, 1, 2, 2, 3, 3)}


@dataclass(frozen=True)
class Cluster:
    """How many nodes, how many ranks on each, and the two rates that nobody knows."""

    nodes: int
    per_node: int
    share_far: float  # at which a card reaches a far socket's memory, of the wire's rate
    memory: float  # of one socket, in wires

    def platform(self) -> str:
        """A platform file (src/simulate/nodes/node_platform.hpp)."""
        sockets = [core // 2 for core in range(8)]
        return json.dumps(
            {
                "name": "opteron",
                "what": "four sockets of two Opteron cores, card on the second",
                "caches": [{"cores": 1, "numa": socket, "socket": socket} for socket in sockets],
                "handover_ns": [[100 if one == two else 150 for two in sockets] for one in sockets],
                "memory_latency_ns": 250,
                "service_ns": 10,
                "lines": 8,  # of 64 bytes in 250 ns: 2 GB/s, one core copying
                "private_kib": 64,
                "cache_kib": 1024,
                "cache_gb": 8,
                "port_in_gb": 8,
                "port_out_gb": 8,
                "socket_gb": 1.5 * WIRE,
                "memory_gb": self.memory * WIRE,
                "cards": [{"numa": CARD, "rate_gb": WIRE, "far_share": self.share_far}],
            }
        )


@cache
def play(it: Cluster, operation: str, choice: str, cores: tuple[int, ...]) -> float:
    """Microseconds of our plan for 1 MB (or blocks of that); `cores` of all ranks, node by node. Rank 0 is the root."""
    request = InsideRequest(
        it.platform(),
        operation,
        BYTES,
        ranks=it.per_node,
        nodes=it.nodes,
        core_of_rank=list(cores),
        choice=choice,
        single_copy=False,
    )
    return simulate_inside(request).microseconds


def cores_of(sockets: Sequence[int]) -> tuple[int, ...]:
    """A core for each rank of a node that sits on these sockets."""
    used = dict.fromkeys(sockets, 0)
    cores = []
    for socket in sockets:
        cores.append(2 * socket + used[socket])
        used[socket] += 1
    return tuple(cores)


def _single(it: Cluster, root: int, others: int) -> tuple[int, ...]:
    return (2 * root,) + (2 * others,) * (it.nodes - 1)


def broadcast_single(it: Cluster, root: int, others: int, algorithm: str = "knomial") -> float:
    """One rank per node: the root on one socket, the others on another. Usually a binomial tree, whole messages."""
    return play(it, "broadcast", f"{algorithm},cell=32K,cells=8", _single(it, root, others))


def gather_single(it: Cluster, root: int, others: int) -> float:
    """One rank per node; each sends its block to the root."""
    return play(it, "gather", "flat,cell=32K,cells=8", _single(it, root, others))


def broadcast(it: Cluster, algorithm: str, leaders: str) -> float:
    """The root and, on every node, its local rank sit on the far socket. With natural leaders those speak for their
    nodes, which is the paper's baseline; near ones sit beside the card."""
    if it.per_node == 1:
        return broadcast_single(it, FAR, CARD if leaders == "near" else FAR, algorithm)
    sockets = list(SOCKETS[it.per_node])
    sockets.sort(key=lambda socket: socket != FAR)
    choice = f"{algorithm},leaders={leaders},cell=32K,cells=8"
    return play(it, "broadcast", choice, cores_of(sockets) * it.nodes)
