"""Goglin and Moreaud's cluster as flows between sockets, memories, links and cards (fluid.py).

Nodes of four sockets in a square, two cores each, the card on socket 1. A message flows from a card into the memory of
the socket where its receiver sits. What the paper found in hardware is the one thing that figures sweep: a card reaches
the memory of a far socket at only a share of the wire's rate, because few packets may be under way on the links
between. Sending is not slowed; that, too, is the paper's finding, and an assumption here.

Rates are in wires: 1 is what the network carries, about 1.4 GB/s for the paper's DDR InfiniBand on PCIe 1.1 x8. The
others are our estimates for its Opterons, about half of what two channels of DDR2-667 and a 1 GHz HyperTransport link
promise. The memory's rate decides how much of a collective is network at all, so two values of it are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from espalier.papers.leaders.fluid import Flow, run_flows

LINK = 1.5  # 2 GB/s: between neighbouring sockets, per direction
COPY = 1.4  # 2 GB/s: one core copying
MEMORIES = (3.0, 4.0)  # 4.2 and 5.6 GB/s: of one socket, reads and writes together

NEIGHBOURS = {0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)}
CARD = 1  # the socket with the card
FAR = 2  # the one farthest from it
# Sockets of a node's ranks, by their number. A single one sits where it is bound to.
SOCKETS = {1: (), 2: (CARD, FAR), 4: (0, 1, 2, 3), 8: (0, 0, 1, 1, 2, 2, 3, 3)}


@dataclass(frozen=True)
class Cluster:
    """How many nodes, how many ranks on each, and the two rates that nobody knows."""

    nodes: int
    per_node: int
    share_far: float  # at which a card reaches a far socket's memory, of the wire's rate
    memory: float

    def run(self, flows: Sequence[Flow]) -> float:
        return run_flows(flows, {"wire": 1.0, "link": LINK, "memory": self.memory, "reach": self.share_far})


def broadcast(it: Cluster, root: int, leader: int, pieces: int) -> float:
    """Time of one message to all: a binomial tree of nodes for a whole message, a chain for several pieces. The root is
    on socket `root`, the other nodes' leaders on socket `leader`."""
    leaders = [root] + [leader] * (it.nodes - 1)
    targets = list(range(1, it.nodes))
    if pieces == 1:  # parents before their children, and the child with the largest subtree first
        targets.sort(key=lambda node: (node.bit_count(), -node))
    flows: list[Flow] = []
    at: dict[int, Flow] = {}  # the latest message into each node
    sent: dict[int, Flow] = {}  # the latest message out of each
    read: dict[int, list[Flow]] = {}
    for _ in range(pieces):
        arrived: dict[int, Flow] = {}
        for target in targets:
            source = target - 1 if pieces > 1 else target & (target - 1)
            after = [it for it in (arrived.get(source), at.get(target), sent.get(source)) if it]
            arrived[target] = sent[source] = _message(
                source, leaders[source], target, leaders[target], 1 / pieces, after
            )
        flows += arrived.values()
        at = arrived
        for node in range(it.nodes if it.per_node > 1 else 0):
            # Whole: first leaders among themselves, as in the paper's component. Pieces: both at once.
            ready = [flow for flow in (arrived.get(node), sent.get(node) if pieces == 1 else None) if flow]
            read[node] = _copies(it, node, leaders[node], 1 / pieces, ready, read.get(node, []))
            flows += read[node]
    return it.run(flows)


def gather(it: Cluster, root: int, others: int) -> float:
    """Time in which one rank per node sends its block to a root on socket `root`; the others are on socket `others`."""
    return it.run([_message(node, others, 0, root, 1.0, []) for node in range(1, it.nodes)])


def chain(it: Cluster, is_threaded: bool, pieces: int) -> float:
    """Time of a pipeline through all ranks, node by node: by rank, or so that each node is entered beside its card."""
    by_rank = list(SOCKETS[it.per_node])
    sockets = sorted(by_rank, key=lambda socket: (socket != CARD, socket)) if is_threaded else by_rank
    places = [(node, socket) for node in range(it.nodes) for socket in sockets]
    flows: list[Flow] = []
    last: list[Flow | None] = [None] * len(places)  # the latest piece over each hop
    for _ in range(pieces):
        for hop in range(1, len(places)):
            (source, here), (target, there) = places[hop - 1], places[hop]
            after = [flow for flow in (last[hop - 1], last[hop]) if flow]
            last[hop] = (
                _copy(source, here, there, 1 / pieces, after)
                if source == target
                else _message(source, here, target, there, 1 / pieces, after)
            )
            flows += [flow for flow in (last[hop],) if flow]
    return it.run(flows)


def _message(source: int, here: int, target: int, there: int, size: float, after: Iterable[Flow]) -> Flow:
    """From socket `here` of one node to socket `there` of another."""
    ends = (f"wire out {source}", f"wire in {target}", f"memory {source} {here}", f"memory {target} {there}")
    reach = (f"reach {target}",) if there != CARD else ()
    return Flow(size, (*ends, *reach, *_links(source, here, CARD), *_links(target, CARD, there)), after=list(after))


def _copies(it: Cluster, node: int, leader: int, size: float, ready: list[Flow], previous: list[Flow]) -> list[Flow]:
    """The node's other ranks copy from the leader's memory to theirs, each when it is done with the last piece."""
    sockets = list(SOCKETS[it.per_node])
    sockets.remove(leader)
    return [
        _copy(node, leader, socket, size, ready + ([previous[i]] if previous else []))
        for i, socket in enumerate(sockets)
    ]


def _copy(node: int, source: int, target: int, size: float, after: Iterable[Flow]) -> Flow:
    both = (f"memory {node} {target}",) if target != source else ()
    return Flow(size, (f"memory {node} {source}", *_links(node, source, target), *both), COPY, list(after))


def _links(node: int, source: int, target: int) -> tuple[str, ...]:
    """The way between two sockets of a square: none, one link, or two by way of the lower-numbered corner."""
    if source == target:
        return ()
    if target in NEIGHBOURS[source]:
        return (f"link {node} {source} {target}",)
    middle = min(set(NEIGHBOURS[source]) & set(NEIGHBOURS[target]))
    return _links(node, source, middle) + _links(node, middle, target)
