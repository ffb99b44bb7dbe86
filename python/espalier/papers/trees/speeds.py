"""Subramoni et al.'s figures 7 and 8: a broadcast among nodes of which half have slow cards, on a simulated switch."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from statistics import median

from espalier.papers.figure import Axes, Data, Figure, Point, Task, Way, Where
from espalier.papers.trees import judges
from espalier.simulation.simulator import Request, all_answers

_PER_NODE = 8  # Glenn
_SDR, _DDR = 1000, 2000  # bytes per µs
_CURVES = {
    "natural": judges.UNAWARE,
    "breadth": judges.AWARE,
    "depth": "depth-first, half slow",
    "auto": "Espalier's choice, half slow",
}


def number_at_random(nodes: int, seed: int) -> list[int]:
    """The host of each node; hosts with odd numbers are the slow ones (src/simulate/network.cpp)."""
    return random.Random(seed).sample(range(nodes), nodes)


def number_slow_first(nodes: int, seed: int) -> list[int]:
    """A fast root, then all slow ones, then the other fast ones; among equals at random."""
    root, *rest = sorted(number_at_random(nodes, seed), key=lambda host: host % 2)
    return [root, *sorted(rest, key=lambda host: -(host % 2))]


def number_fast_first(nodes: int, seed: int) -> list[int]:
    """All fast ones, then all slow ones; among equals at random."""
    return sorted(number_at_random(nodes, seed), key=lambda host: host % 2)


_NUMBERINGS = {
    "numbered at random": number_at_random,
    "slow ones first": number_slow_first,
    "fast ones first": number_fast_first,
}
_TREES = {"binomial": "knomial,radix=2", "k-nomial, radix 4": "knomial,radix=4"}


def _simulate(processes: int) -> Callable[[Task], Data]:
    """Half of the cards slow, half fast; all fast for comparison."""

    def produce(task: Task) -> Data:
        nodes = processes // _PER_NODE
        sizes = [1 << 10, 64 << 10] if task.quick else [4 << 2 * i for i in range(9)]
        seeds = range(1, 2 if task.quick else 6)
        points = [
            point
            for tree, choice in _TREES.items()
            for numbering, number in _NUMBERINGS.items()
            for size in sizes
            for point in _speeds(f"{tree}; {numbering}", choice, size, [number(nodes, seed) for seed in seeds])
        ]
        return Data(Where.SIMULATED, points, _NOTES)

    return produce


def _speeds(panel: str, tree: str, size: int, placements: Sequence[Sequence[int]]) -> list[Point]:
    nodes = len(placements[0])
    star = f"star:hosts={nodes},rate={_DDR}"
    mixed = f"{star},slow_hosts={nodes // 2},slow_rate={_SDR}"
    asked = [_request(mixed, size, f"{tree},order={order}", hosts) for order in _CURVES for hosts in placements]
    times = [it.microseconds for it in all_answers([*asked, _request(star, size, tree, placements[0])])]
    points = []
    for index, curve in enumerate(_CURVES.values()):
        own = times[index * len(placements) : (index + 1) * len(placements)]
        points.append(Point(panel, curve, size, median(own), min(own), max(own)))
    return [*points, Point.exact(panel, judges.HOMOGENEOUS, size, times[-1])]


_NOTES = (
    f"One switch; cards of {_DDR / 1000:g} GB/s, half of them {_SDR / 1000:g} GB/s; {_PER_NODE} ranks a node. "
    "All cards have the same latency, which Glenn's had not.",
    "How nodes are numbered decides what there is to gain: at random (the root may be slow), or after a fast root all "
    "slow or all fast ones first. Medians over seeds; shades: least and greatest.",
)


def _request(network: str, size: int, choice: str, hosts: Sequence[int]) -> Request:
    node_of = [node for node in range(len(hosts)) for _ in range(_PER_NODE)]
    return Request(
        network,
        "broadcast",
        size,
        node_of,
        choice,
        host_of_node=list(hosts),
        metric="combined",
        parameters={"cores": _PER_NODE},
    )


_HOW = "plans played on a simulated switch (espalier simulate), each order of nodes against the natural one"


def _ways(processes: int) -> list[Way]:
    axes = Axes("bytes", "µs", against=judges.UNAWARE)
    return [Way(Where.SIMULATED, _simulate(processes), judges.judge_speeds, axes, _HOW, "1 min")]


SPEEDS = (
    Figure(
        "trees/7",
        "Figure 7",
        "Speed-aware broadcast among 128 processes, half slow cards, half fast",
        "two times as fast as without; on par with all cards fast for small to medium messages.",
        _ways(128),
    ),
    Figure(
        "trees/8",
        "Figure 8",
        "Speed-aware broadcast among 256 processes, half slow cards, half fast",
        "as figure 7; in all 70 to 100 % better than without.",
        _ways(256),
    ),
)
