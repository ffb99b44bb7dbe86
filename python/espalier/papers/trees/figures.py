"""Subramoni et al.'s figures 6 and 9 and table II on simulated networks: what their gain depends on is swept.

Order of nodes is the only difference between arms: as numbered, breadth-first, depth-first, or as Espalier chooses. The
job's own messages are all there is on the network, and switches route by destination.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median

from espalier.papers.figure import Axes, Data, Figure, Point, Task, Verdict, Way, Where
from espalier.papers.trees import judges
from espalier.papers.trees.setup import SETUP
from espalier.papers.trees.speeds import SPEEDS
from espalier.simulation.simulator import Request, all_answers

_OVERSUBSCRIPTIONS = (1.0, 1.25, 1.5, 2.0, 4.0)
_ORDERS = {"breadth": "breadth-first", "depth": "depth-first", "auto": "Espalier's choice"}
_PER_NODE = 16  # Ranger
_SDR = 1000  # bytes per µs
_RACK = 60  # hosts of a leaf switch; divisible by all oversubscriptions. Ranger's racks had 48
# Jobs on Ranger in April 2011 (the paper's Table I): average hosts, and the racks they lay on.
_RACKS_OF_HOSTS = ((2, 2), (28, 22), (58, 40), (106, 58), (224, 74))
_TREE, _LARGE = "knomial,radix=4", "scatter_allgather"  # MVAPICH2's, for small and for large messages
_LARGE_FROM = 16 << 10
_ROW = 32 << 10  # of figure 9: one row of 4096 distances


@dataclass(frozen=True)
class Job:
    """So many nodes on a fat tree, and the host of each."""

    nodes: int
    oversubscription: float
    leaves: int
    hosts: tuple[int, ...]
    seed: int

    @property
    def network(self) -> str:
        spines = round(_RACK / self.oversubscription)
        return (
            f"fat_tree:leaves={self.leaves},down={_RACK},spines={spines},oversubscription={self.oversubscription:g},"
            f"rate={_SDR}"
        )

    def request(self, size: int, order: str) -> Request:
        """A broadcast; cables are as fast as cards, so that oversubscription means fewer of them."""
        choice = f"{_TREE if size < _LARGE_FROM else _LARGE},order={order}"
        return Request(
            self.network,
            "broadcast",
            size,
            [node for node in range(self.nodes) for _ in range(_PER_NODE)],
            choice,
            host_of_node=list(self.hosts),
            metric="combined",
            parameters={"cores": _PER_NODE},
        )


def racks_of(hosts: int) -> int:
    """On how many racks an average job of so many hosts lay, between Table I's rows by straight lines."""
    for (few, first), (many, last) in itertools.pairwise(_RACKS_OF_HOSTS):
        if hosts <= many:
            return max(1, round(first + (last - first) * (max(hosts, few) - few) / (many - few)))
    return _RACKS_OF_HOSTS[-1][1]


def spread_job(nodes: int, oversubscription: float, seed: int) -> Job:
    """Hosts scattered over as many racks as Table I says, in random order."""
    dice = random.Random(seed)
    racks = racks_of(nodes)
    of_rack = [1] * racks
    for _ in range(nodes - racks):
        of_rack[dice.randrange(racks)] += 1
    hosts = [rack * _RACK + slot for rack in range(racks) for slot in dice.sample(range(_RACK), of_rack[rack])]
    dice.shuffle(hosts)
    return Job(nodes, oversubscription, racks, tuple(hosts), seed)


def packed_job(nodes: int, oversubscription: float, seed: int) -> Job:
    """As few racks as hold 16 hosts each, in random order."""
    racks = max(1, -(-nodes // 16))
    hosts = [node % racks * _RACK + node // racks for node in range(nodes)]
    random.Random(seed).shuffle(hosts)
    return Job(nodes, oversubscription, racks, tuple(hosts), seed)


Placement = Callable[[int, float, int], Job]
_PLACES: Mapping[str, Placement] = {"Table I's racks": spread_job, "few racks": packed_job}


def savings(jobs: Sequence[Job], size: int) -> dict[str, list[float]]:
    """By order, one number per job: per cent of the time of the natural order that is saved."""
    times = [_times(job, size) for job in jobs]
    return {order: [100 * (1 - own[1 + index] / own[0]) for own in times] for index, order in enumerate(_ORDERS)}


@cache
def _times(job: Job, size: int) -> tuple[float, ...]:
    """Of the natural order, then the others. Kept, since figures 6 a and b meet in one point."""
    return tuple(answer.microseconds for answer in all_answers(job.request(size, it) for it in ("natural", *_ORDERS)))


def _points(panel: str, place: str, x: float, found: Mapping[str, Sequence[float]]) -> list[Point]:
    return [
        Point(panel, f"{_ORDERS[order]}, {place}", x, round(median(values), 2), round(min(values), 2),
              round(max(values), 2))
        for order, values in found.items()
    ]  # fmt: skip


_NOTES = (
    f"Leaves of {_RACK} hosts, cards and cables of {_SDR / 1000:g} GB/s, as many spines as the oversubscription "
    "leaves; latencies as Table II. Nothing else runs on the network.",
    f"Below 16 KB a k-nomial tree (radix 4), from there scatter and allgather round a ring, among leaders; "
    f"{_PER_NODE} ranks a node, who share by shared memory.",
    "Medians over seeds, which place and number the nodes at random: on as many racks as Table I says, or 16 hosts a "
    "rack. Shades: least and greatest.",
)


def simulate_sizes(task: Task) -> Data:
    """Figure 6 a: 1024 cores, by size."""
    nodes = 8 if task.quick else 64
    sizes = [1 << 10, 1 << 20] if task.quick else [64, 1 << 10, 8 << 10, 1 << 20]
    return _simulate(task, [(size, nodes, size) for size in sizes])


def simulate_jobs(task: Task) -> Data:
    """Figure 6 b: 1 MB, by cores."""
    counts = [4, 8] if task.quick else [8, 16, 32, 64]
    return _simulate(task, [(nodes * _PER_NODE, nodes, 1 << 20) for nodes in counts])


def _simulate(task: Task, columns: Sequence[tuple[float, int, int]]) -> Data:
    """A panel for each oversubscription; a column is where its point stands, the nodes and the size."""
    points = [
        point
        for over in _few(task)
        for place, make in _PLACES.items()
        for x, nodes, size in columns
        for point in _points(_panel(over), place, x, savings([make(nodes, over, seed) for seed in _seeds(task)], size))
    ]
    return Data(Where.SIMULATED, points, _NOTES)


def _few(task: Task) -> Sequence[float]:
    return (1.0, 2.0) if task.quick else _OVERSUBSCRIPTIONS


def _seeds(task: Task) -> range:
    return range(1, 2 if task.quick else 6)


def _panel(oversubscription: float) -> str:
    return f"oversubscription {oversubscription:g}"


# ---- table II and figure 9 -------------------------------------------------------------------------------------------

# Links crossed in a fat tree of three levels, and the paper's latency; its fourth distance takes a fourth level.
_DISTANCES = (("same leaf", 1, 1.57), ("one leaf on", 2, 2.04), ("another pod", 4, 2.45))


def simulate_latencies(task: Task) -> Data:
    """Table II: one byte from host 0 to hosts at every distance, without the processors' shares."""
    free = dict.fromkeys(("overhead", "gap", "step", "flag"), 0.0)
    points = []
    for name, host, stated in _DISTANCES:
        request = Request(
            "three_level:pods=2,leaves=2,down=2,spines=1", "broadcast", 1, [0, 1], "flat", host_of_node=[0, host],
            parameters=free,
        )  # fmt: skip
        (answer,) = all_answers([request])
        points += [
            Point.exact("latency by distance", "the paper", name, stated),
            Point.exact("latency by distance", "simulated network", name, round(answer.microseconds, 3)),
        ]
    return Data(Where.SIMULATED, points, ["The simulated cables' latencies were chosen to add up to these."])


def simulate_joining(task: Task) -> Data:
    """Figure 9: what the broadcasts of rows gain, and an application that spends a share of its time in them."""
    points = []
    for nodes in (8,) if task.quick else (8, 16):
        for over in _few(task):
            found = savings([spread_job(nodes, over, seed) for seed in _seeds(task)], _ROW)
            panel = f"{nodes * _PER_NODE} processes, {_panel(over)}"
            points += [point for order, values in found.items() for point in _shares(panel, _ORDERS[order], values)]
    row = f"Rows of {_ROW >> 10} KB (4096 distances), Table I's racks."
    return Data(Where.SIMULATED, points, [*_NOTES, row, "The share of broadcasts in the application is not known."])


def _shares(panel: str, curve: str, values: Sequence[float]) -> list[Point]:
    """What an application gains that spends 25 to 100 % of its time in such broadcasts."""
    gains = {share: [share / 100 * value for value in values] for share in (25, 50, 75, 100)}
    return [Point(panel, curve, share, median(own), min(own), max(own)) for share, own in gains.items()]


_HOW = "plans played on simulated fat trees (espalier simulate), each order of nodes against the natural one"
_GAIN = "time saved, %"


def _simulated(produce: Callable[[Task], Data], judge: Callable[[Data], Verdict], axes: Axes, takes: str) -> list[Way]:
    return [Way(Where.SIMULATED, produce, judge, axes, _HOW, takes)]


_TREE_AXES = Axes("bytes", _GAIN, log_y=False, stated={"the paper: up to 14 %": (14, 14)})
_SHARE_AXES = Axes(
    "share of broadcasts in the time, %", _GAIN, log_x=False, log_y=False, stated={"the paper: 8 %": (8, 8)}
)

FIGURES = (
    Figure(
        "trees/table2",
        "Table II",
        "Latency by distance",
        "1.57 µs within a chassis, 2.04 between chassis, 2.45 and 2.85 over the spine by 3 and 5 hops.",
        _simulated(simulate_latencies, judges.judge_latencies, Axes("distance", "µs", log_y=False), "1 s"),
    ),
    SETUP,
    Figure(
        "trees/6a",
        "Figure 6 a",
        "Topology-aware broadcast on 1024 cores, by size",
        "small messages gain little; the gain grows with size, up to 14 % less time for 1 MB.",
        _simulated(simulate_sizes, judges.judge_sizes, _TREE_AXES, "2 min"),
    ),
    Figure(
        "trees/6b",
        "Figure 6 b",
        "Topology-aware broadcast of 1 MB, by cores",
        "small jobs gain little; the gain grows with the job, up to 14 % less time on 1024 cores.",
        _simulated(simulate_jobs, judges.judge_jobs, replace(_TREE_AXES, x="cores"), "2 min"),
    ),
    *SPEEDS,
    Figure(
        "trees/9",
        "Figure 9",
        "Neighbour joining with topology-aware broadcasts",
        "little gain on 128 processes, up to 8 % less time of the whole application on 256.",
        _simulated(simulate_joining, judges.judge_joining, _SHARE_AXES, "2 min"),
    ),
)
