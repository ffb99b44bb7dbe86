"""What a far leader costs, simulated: Goglin and Moreaud's cluster as a network of sockets, links and cards.

    python bench/papers/nuioa.py [--json] [--output FOLDER]

Eight nodes of four sockets in a square, two cores each, the card on socket 1. A message flows from a card into the
memory of the socket where its receiver sits; all flows share sockets' links, memories and cards max-min fairly, a usual
model of fluid networks. What the paper found in hardware is the one thing swept: a card reaches memory of a far socket
at only a share of the wire's rate, because few packets may be under way on the links between. Sending is not slowed.

Rates are in wires: 1 is what the network carries, about 1.4 GB/s for the paper's DDR InfiniBand on PCIe 1.1 x8. The
others are our estimates for its Opterons, about half of what two channels of DDR2-667 and a 1 GHz HyperTransport link
promise. The memory's rate decides how much of a collective is network at all, so two values of it are shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from nuioa_chart import draw_page

LINK = 1.5  # 2 GB/s: between neighbouring sockets, per direction
COPY = 1.4  # 2 GB/s: one core copying
MEMORIES = (3.0, 4.0)  # 4.2 and 5.6 GB/s: of one socket, reads and writes together

NODES = 8
NEIGHBOURS = {0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)}
CARD = 1  # the socket with the card
FAR = 2  # the one farthest from it

SHARES = (1.0, 0.9, 0.8, 0.7, 0.667, 0.6, 0.5)


@dataclass
class Flow:
    """`size` bytes (in messages) over shared resources, begun when all of `after` are done."""

    size: float
    uses: tuple[str, ...]
    limit: float = float("inf")
    after: list[Flow] = field(default_factory=list)
    left: float = 0.0
    done: bool = False


def simulate(flows: list[Flow], memory: float) -> float:
    """The time until all flows are done."""
    for flow in flows:
        flow.left, flow.done = flow.size, False
    waiting, running, now = list(flows), list[Flow](), 0.0
    while waiting or running:
        running += [flow for flow in waiting if all(it.done for it in flow.after)]
        waiting = [flow for flow in waiting if not all(it.done for it in flow.after)]
        rates = share(running, memory)
        step = min(flow.left / rate for flow, rate in zip(running, rates, strict=True))
        now += step
        for flow, rate in zip(running, rates, strict=True):
            flow.left -= rate * step
            flow.done = flow.left < 1e-9
        running = [flow for flow in running if not flow.done]
    return now


def share(flows: list[Flow], memory: float) -> list[float]:
    """Max-min fair rates: all grow together; who meets a full resource, or its own limit, stops there."""
    rates, growing = [0.0] * len(flows), set(range(len(flows)))
    capacity = {"wire": 1.0, "link": LINK, "memory": memory}
    free = {name: capacity[name.split()[0]] for flow in flows for name in flow.uses}
    while growing:
        users = {name: sum(name in flows[i].uses for i in growing) for name in free}
        step = min(free[name] / count for name, count in users.items() if count)
        step = min(step, *(flows[i].limit - rates[i] for i in growing))
        for i in growing:
            rates[i] += step
        for name, count in users.items():
            free[name] -= step * count
        growing = {
            i
            for i in growing
            if rates[i] < flows[i].limit - 1e-12 and all(free[name] > 1e-12 for name in flows[i].uses)
        }
    return rates


def _links(node: int, source: int, target: int) -> tuple[str, ...]:
    """The way between two sockets of a square: none, one link, or two by way of the lower-numbered corner."""
    if source == target:
        return ()
    if target in NEIGHBOURS[source]:
        return (f"link {node} {source} {target}",)
    middle = min(set(NEIGHBOURS[source]) & set(NEIGHBOURS[target]))
    return _links(node, source, middle) + _links(node, middle, target)


def message(source: int, target: int, leaders: list[int], size: float, share_far: float, after: Iterable[Flow]) -> Flow:
    """From one node's leader to another's; `leaders` are the sockets they sit on."""
    here, there = leaders[source], leaders[target]
    ends = (f"wire out {source}", f"wire in {target}", f"memory {source} {here}", f"memory {target} {there}")
    uses = (*ends, *_links(source, here, CARD), *_links(target, CARD, there))
    return Flow(size, uses, share_far if there != CARD else 1.0, list(after))


def copies(node: int, leader: int, size: float, ready: list[Flow], previous: list[Flow]) -> list[Flow]:
    """The node's other ranks copy from the leader's memory to theirs, each when it is done with the last piece."""
    sockets = [socket for socket in NEIGHBOURS for _ in range(2)]
    sockets.remove(leader)
    flows = []
    for i, socket in enumerate(sockets):
        uses: tuple[str, ...] = (f"memory {node} {leader}", *_links(node, leader, socket))
        uses += (f"memory {node} {socket}",) if socket != leader else ()
        after = ready + ([previous[i]] if previous else [])
        flows.append(Flow(size, uses, COPY, after))
    return flows


def broadcast(leader: int, ranks: int, pieces: int, share_far: float, memory: float) -> float:
    """Time of one message to all: a binomial tree of nodes for a whole message, a chain for several pieces. The root is
    on the far socket of its node in either case, as the paper's roots may be."""
    leaders = [FAR] + [leader] * (NODES - 1)
    targets = list(range(1, NODES))
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
            arrived[target] = sent[source] = message(source, target, leaders, 1 / pieces, share_far, after)
        flows += arrived.values()
        at = arrived
        for node in range(NODES if ranks > 1 else 0):
            # Whole: first leaders among themselves, as in the paper's component. Pieces: both at once.
            ready = [it for it in (arrived.get(node), sent.get(node) if pieces == 1 else None) if it]
            read[node] = copies(node, leaders[node], 1 / pieces, ready, read.get(node, []))
            flows += read[node]
    return simulate(flows, memory)


def gains(ranks: int, pieces: int, memory: float) -> list[float]:
    """By how many percent near leaders raise the throughput, for each share of SHARES."""
    times = ([broadcast(leader, ranks, pieces, it, memory) for it in SHARES] for leader in (FAR, CARD))
    return [100 * (far / near - 1) for far, near in zip(*times, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description="What a far leader costs, simulated.")
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")
    parser.add_argument(
        "--output", type=Path, help="also a page with the curve and the paper's bands: FOLDER/nuioa.html"
    )
    options = parser.parse_args()
    cases = {"1 rank per node, whole": gains(1, 1, MEMORIES[0])}  # one flow at a time: the memory is never full
    for memory in MEMORIES:
        cases[f"8 ranks, whole, memory {memory:g}"] = gains(8, 1, memory)
        cases[f"8 ranks, 16 pieces, memory {memory:g}"] = gains(8, 16, memory)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "nuioa.html").write_text(draw_page(SHARES, cases), encoding="utf-8")
    if options.json:
        json.dump({"shares": SHARES, "gains_percent": cases}, sys.stdout, indent=2)
        return
    print(f"{'far memory at this share of the wire':38}" + "".join(f"{share:>7.2f}" for share in SHARES))
    for name, values in cases.items():
        print(f"{name:38}" + "".join(f"{value:>+6.0f}%" for value in values))


if __name__ == "__main__":
    main()
