"""Goglin and Moreaud's figures 4 to 9, by our own plans in simulated nodes (plans.py): what cannot be known without
their machine is swept.

Gains are in per cent of throughput: 100 means that the slower arm takes twice as long. x is the share of the wire's
rate at which a card reaches a far socket's memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.jobs.mpis import Mpi
from espalier.measure import nuioa
from espalier.papers.figure import Axes, Data, Figure, Point, Task, Verdict, Way, Where
from espalier.papers.leaders import judges
from espalier.papers.leaders.plans import (
    CARD,
    FAR,
    MEMORIES,
    Cluster,
    broadcast,
    broadcast_single,
    gather_single,
)
from espalier.papers.measuring import Part, under_each_mpi

_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 2 / 3, 0.6, 0.55, 0.5)
_FEW_SHARES = (1.0, 2 / 3, 0.5)
_HOW = (
    "our own plans, played in simulated nodes of four sockets (python/espalier/papers/leaders/plans.py); 1 MB, root "
    "and baseline on the far socket"
)
_NOTE = (
    "The share is unknown without the paper's machine and swept; that only receivers suffer is taken from the paper."
)

Gain = Callable[[Cluster], float]


def _gain(slow: Callable[[Cluster], float], fast: Callable[[Cluster], float]) -> Gain:
    return lambda cluster: 100 * (slow(cluster) / fast(cluster) - 1)


_WHOLE, _PIECES, _THREADED = "knomial", "chain,segment=64K", "threaded,segment=64K"


def _near_leaders(algorithm: str) -> Gain:
    """Against the paper's baseline: leaders with the local rank of the root, which sits far."""
    return _gain(lambda it: broadcast(it, algorithm, "natural"), lambda it: broadcast(it, algorithm, "near"))


_NEAR_TARGETS = _gain(lambda it: broadcast_single(it, CARD, FAR), lambda it: broadcast_single(it, CARD, CARD))
_NEAR_ROOT = _gain(lambda it: broadcast_single(it, FAR, CARD), lambda it: broadcast_single(it, CARD, CARD))
_NEAR_RECEIVER = _gain(lambda it: gather_single(it, FAR, CARD), lambda it: gather_single(it, CARD, CARD))
_NEAR_SENDERS = _gain(lambda it: gather_single(it, CARD, FAR), lambda it: gather_single(it, CARD, CARD))


def sweep(task: Task, panels: Mapping[str, float], curves: Mapping[str, tuple[int, int, Gain]]) -> Data:
    """`panels`: the memory's rate of each; `curves`: nodes, ranks per node, and what is gained there."""
    shares = _FEW_SHARES if task.quick else _SHARES
    points = [
        Point.exact(panel, curve, round(share, 3), round(gain(Cluster(nodes, per_node, share, memory)), 2))
        for panel, memory in panels.items()
        for curve, (nodes, per_node, gain) in curves.items()
        for share in shares
    ]
    return Data(Where.SIMULATED, points, [_NOTE])


_BOTH = {f"memory {memory:g} × wire": memory for memory in MEMORIES}
_ONE = {"any memory": MEMORIES[0]}  # one flow at a time on each node: its memory is never full


def measure(task: Task, operation: str, nodes: int) -> Data:
    """What nearness brings an MPI's own calls between real nodes. Raises UserError where no place is better."""
    core = load_core()
    with user_errors("name the card with ESPALIER_NIC"):
        seats = nuioa.find_seats(core, core.probe_node(), os.environ.get("ESPALIER_NIC", ""))
    if isinstance(seats, str):
        raise UserError(seats, "run it in a batch job on nodes with several sockets; or --where simulated")
    plan = nuioa.Plan(nodes, rounds=1, budget_ms=10) if task.quick else nuioa.Plan(nodes)

    def part(mpi: Mpi) -> Part:
        rows = [row for row in nuioa.measure(mpi, plan) if row.op == operation]
        gains = {"root near": [row.root_gain for row in rows], "others near": [row.others_gain for row in rows]}
        return Part(
            [
                Point(f"{mpi}, {nodes} nodes", curve, row.bytes, *gain)
                for curve, values in gains.items()
                for row, gain in zip(rows, values, strict=True)
            ]
        )

    return under_each_mpi(task, Where.REAL, [f"{nodes} nodes, one rank each; {seats.why}"], part)


def _simulated(
    panels: Mapping[str, float],
    curves: Mapping[str, tuple[int, int, Gain]],
    judge: Callable[[Data], Verdict],
    stated: tuple[float, float],
) -> Way:
    axes = Axes(
        "far memory's rate, share of the wire's",
        "gain in throughput, %",
        log_x=False,
        log_y=False,
        stated={"the paper": stated},
    )
    return Way(Where.SIMULATED, lambda task: sweep(task, panels, curves), judge, axes, _HOW, "1 min")


def _measured(operation: str, nodes: int, judge: Callable[[Data], Verdict]) -> Way:
    how = f"espalier bench nuioa between {nodes} real nodes: the MPI's own calls, ranks bound near and far in turn"
    axes = Axes("bytes", "gain in throughput, %", log_y=False)
    return Way(Where.REAL, lambda task: measure(task, operation, nodes), judge, axes, how, "2 min", uses_mpi=True)


_RANKS = ("1 rank per node", "2 ranks", "4 ranks", "8 ranks")
_NODES = ("2 nodes", "4 nodes", "8 nodes")

FIGURES = (
    Figure(
        "leaders/4",
        "Figure 4",
        "Ping-pong and broadcast between two processes",
        "from 32 KB up, throughput is 25 to 30 % higher when the receiver sits near the card (about 5 % below, 180 "
        "ns); where the sender sits does not matter.",
        [
            _simulated(
                _ONE,
                {"receiver near": (2, 1, _NEAR_TARGETS), "sender near": (2, 1, _NEAR_ROOT)},
                judges.judge_direction("receiver near", "sender near", 25, 30),
                (25, 30),
            ),
            _measured("bcast", 2, judges.judge_measured("others near", "root near")),
        ],
    ),
    Figure(
        "leaders/5",
        "Figure 5",
        "Broadcast among 8 processes, one per node",
        "up to 50 % more throughput when all but the root sit near their cards; the root's place does not matter.",
        [
            _simulated(
                _ONE,
                {"others near": (8, 1, _NEAR_TARGETS), "root near": (8, 1, _NEAR_ROOT)},
                judges.judge_direction("others near", "root near", 50, 50),
                (50, 50),
            ),
            _measured("bcast", 8, judges.judge_measured("others near", "root near")),
        ],
    ),
    Figure(
        "leaders/6",
        "Figure 6",
        "Gather among 8 processes, one per node",
        "47 % more throughput when the root, who receives, sits near its card; the others' places do not matter.",
        [
            _simulated(
                _ONE,
                {"root near": (8, 1, _NEAR_RECEIVER), "others near": (8, 1, _NEAR_SENDERS)},
                judges.judge_direction("root near", "others near", 47, 47),
                (47, 47),
            ),
            _measured("gather", 8, judges.judge_measured("root near", "others near")),
        ],
    ),
    Figure(
        "leaders/7",
        "Figure 7",
        "Broadcast among 64 processes by algorithm",
        "near leaders bring the hierarchical broadcast, whole or in pieces, 10 to 25 %; re-threading the default chain "
        "so that it enters each node beside the card helps, too.",
        [
            _simulated(
                _BOTH,
                {
                    "hierarchical, whole": (8, 8, _near_leaders(_WHOLE)),
                    "hierarchical, 16 pieces": (8, 8, _near_leaders(_PIECES)),
                    "chain of all ranks, 16 pieces": (8, 8, _near_leaders(_THREADED)),
                },
                judges.judge_algorithms,
                (10, 25),
            )
        ],
    ),
    Figure(
        "leaders/8",
        "Figure 8",
        "Hierarchical broadcast with 1 to 8 processes on each of 8 nodes",
        "the gain falls from 50 to 10 % as work inside the nodes is added.",
        [
            _simulated(
                _BOTH,
                {name: (8, ranks, _near_leaders(_WHOLE)) for name, ranks in zip(_RANKS, (1, 2, 4, 8), strict=True)},
                judges.judge_trend(_RANKS, 50, 10),
                (10, 50),
            )
        ],
    ),
    Figure(
        "leaders/9",
        "Figure 9",
        "Hierarchical broadcast on 2 to 8 nodes of 8 processes",
        "the gain grows from 2 % with 2 nodes to 10 % with 8.",
        [
            _simulated(
                _BOTH,
                {name: (nodes, 8, _near_leaders(_WHOLE)) for name, nodes in zip(_NODES, (2, 4, 8), strict=True)},
                judges.judge_trend(_NODES, 2, 10),
                (2, 10),
            )
        ],
    ),
)
