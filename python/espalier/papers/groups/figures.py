"""Qian, Rashti and Afsahi's Table 1 and figures 1 and 5: counted from plans, on the emulated cluster, simulated.

Their network gave one connection 1/1.8 of what three carried together. `espalier lab up --flow-cap 0.55` stands in for
that on the emulated cluster, a bound per connection in the simulation.

The curve "Espalier" of figure 5 is what a user's program would get: what `espalier tune --lab --ppn 4 --ops allgather`
has found under that MPI, if it has been run, else the built-in choice. A note says which, and where it switches.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.base.units import format_bytes
from espalier.jobs.mpis import Mpi
from espalier.lab import cluster
from espalier.measure.connections import Scaling, parse_points
from espalier.papers.figure import Axes, Data, Figure, Point, Task, Way, Where
from espalier.papers.groups import judges
from espalier.papers.measuring import Effort, Part, Place, choice_job, time_choices, under_each_mpi
from espalier.simulation.simulator import Request, all_answers
from espalier.tuning.table.file import read_table
from espalier.tuning.table.places import lab_table

_NODES, _PER_NODE = 4, 4  # the paper's cluster
_CELLS = "within=cells,cell=32K,cells=8"
# What the paper's card and bus carried, roughly: DDR InfiniBand behind PCIe 1.1 x8, bytes per µs.
_RATE = 1500.0
_CAP = 1 / 1.8
_SIZES = [1 << i for i in range(0, 20, 2)]


@dataclass(frozen=True)
class Member:
    """One line of figure 5."""

    name: str
    choice: str


def members(per_node: int) -> list[Member]:
    """The family for nodes of so many ranks."""
    found = [
        Member("1 group, ring", "single_group_ring"),
        Member("1 group", "single_group_direct"),
        Member(f"gather-based, {per_node} groups", f"gather_based,groups={per_node}"),
    ]
    for groups in sorted({min(2, per_node), per_node} - {1}):
        found.append(Member(f"{groups} groups", f"multi_group,groups={groups}"))
        found.append(Member(f"{groups} groups, lean", f"multi_group_lean,groups={groups}"))
    ring = Member("1 group, lean ring", "multi_group_lean,groups=1,exchange=ring,segment=32K")
    return [*found, ring] if per_node > 1 else [*found[:2], ring]


# ---- Table 1 ---------------------------------------------------------------------------------------------------------

# Per node, in multiples of one rank's block M: connections, M over each of them, steps, M written, M read.
TABLE_1: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "1 group, ring": ("single_group_ring", (1, 4, 3, 20, 68)),
    "1 group": ("single_group_direct", (3, 4, 1, 20, 68)),
    "gather-based, 4": ("gather_based,groups=4", (3, 4, 1, 20, 80)),
    "2 groups": ("multi_group,groups=2", (6, 2, 1, 20, 68)),
    "4 groups": ("multi_group,groups=4", (12, 1, 1, 16, 64)),
}
_QUANTITIES = (
    "active connections, each way",
    "M over each connection in a step",
    "consecutive steps",
    "M written to shared memory",
    "M read from shared memory",
)


def count_table(task: Task) -> Data:
    """Everything in the table, from the plans' steps."""
    core, block = load_core(), 1 << 10
    topology = core.Topology([rank // _PER_NODE for rank in range(_NODES * _PER_NODE)], True, False)
    points = []
    for name, (choice, stated) in TABLE_1.items():
        plan = core.build(topology, "allgather", block, 0, core.parse_choice("allgather", choice))
        for quantity, ours, paper in zip(_QUANTITIES, _count(core.account_for(plan, 0), block), stated, strict=True):
            points += [Point.exact(quantity, "the paper", name, paper), Point.exact(quantity, "counted", name, ours)]
    return Data(Where.COUNTED, points, ["M is one rank's block. Phase by phase: tests/command/test_accounting.py."])


def _count(account: Any, block: int) -> tuple[float, ...]:
    (stream,) = account.network
    written = sum(share.count * share.bytes for phase in account.phases for share in phase.writes)
    read = sum(share.count * share.bytes for phase in account.phases for share in phase.reads)
    return account.connections_out, stream.bytes / block, stream.steps, written / block, read / block


# ---- on the emulated cluster -----------------------------------------------------------------------------------------


def measure_bandwidth(task: Task) -> Data:
    """Figure 1: independent allgathers of groups of one rank per node, round a ring or to all at once."""
    spec = cluster.load()
    place = Place(spec.nodes, task.per_node, is_lab=True)

    def part(mpi: Mpi) -> Part:
        with choice_job(mpi, place, {}) as worker:
            scaling = Scaling(parse_points(worker.curve("groups")))
        if not scaling.points:
            raise UserError("all ranks share one node: there are no connections to count", "espalier lab up --nodes 4")
        rates = [
            Point.exact(f"{mpi}, aggregate", str(point.kind), point.bytes, point.mb_per_s) for point in scaling.points
        ]
        return Part(rates)

    return under_each_mpi(task, Where.EMULATED, _lab_notes(), part)


def measure_family(task: Task) -> Data:
    """Figure 5: all members and the native allgather take turns in one job; each member in its faster form."""
    spec = cluster.load()
    place = Place(spec.nodes, task.per_node, is_lab=True)
    sizes = [4, 16 << 10] if task.quick else [4, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10]
    effort = Effort(1, 4) if task.quick else Effort(3, 40)
    return under_each_mpi(task, Where.EMULATED, _lab_notes(), lambda mpi: _family(mpi, place, sizes, effort))


def _family(mpi: Mpi, place: Place, sizes: list[int], effort: Effort) -> Part:
    panel, points, notes = f"{mpi}, {place}", [], set()
    table = _tuned(mpi)
    with choice_job(mpi, place, {"ESPALIER_TABLE": str(table)} if table else {}) as worker:
        picked = _switches(table, place, worker.hello.library) if table else "the built-in choice"
        notes.add(f"Espalier under {mpi}: {picked}.")
        for size in sizes:
            forms = {
                member.name: [f"{member.choice},{way}" for way in (_CELLS, "within=single_copy")]
                for member in members(place.per_node)
            }
            arms = ["native", "auto", *(it for choices in forms.values() for it in choices)]
            times = time_choices(worker, "allgather", size, arms, effort)
            points += [times["native"].point(panel, "native", size), times["auto"].point(panel, "Espalier", size)]
            for name, choices in forms.items():
                ran = [times[it] for it in choices if times[it].rounds]
                if ran:
                    points.append(min(ran, key=lambda arm: arm.us or 0).point(panel, name, size))
                else:
                    notes.add(f"{panel}, {name}: {times[choices[0]].refused}")
    return Part(points, sorted(notes))


def _tuned(mpi: Mpi) -> Path | None:
    """The table that is named, or the one that `espalier tune --lab` has written under this MPI."""
    named = os.environ.get("ESPALIER_TABLE", "")
    path = Path(named) if named else lab_table(load_core(), mpi)
    return path if path.exists() else None


def _switches(path: Path, place: Place, library: str) -> str:
    """From which block on which selection holds by a table, if it was made here and under this MPI. Raises UserError
    for one that cannot be read."""
    core = load_core()
    table = read_table(core, path)
    if reason := core.why_foreign(table.core.signature, core.probe_signature(library)):
        return f"the built-in choice, since {path} is {reason}"
    rows = sorted(
        (row["measured"]["bytes"], str(row["selection"]))
        for row in table.raw["rows"]
        if (row["operation"], row["nodes"][0], row["ppn"][0]) == ("allgather", place.nodes, place.per_node)
    )
    runs = [(choice, [size for size, _ in same]) for choice, same in itertools.groupby(rows, key=lambda it: it[1])]
    told = [f"{choice} {_span(sizes)}" for choice, sizes in runs]
    return f"tuned, {'; '.join(told)}" if told else "the built-in choice: its table has no row for this shape"


def _span(sizes: list[int]) -> str:
    first, last = format_bytes(sizes[0]), format_bytes(sizes[-1])
    return f"at {first}" if first == last else f"from {first} to {last}"


def _lab_notes() -> list[str]:
    spec = cluster.load()
    return [
        f"{spec.nodes} emulated nodes on this one machine, links at {' and '.join(sorted(set(spec.rates)))}; one "
        f"connection gets {spec.flow_cap:.0%} of its link at most.",
        "Sizes are one rank's block.",
    ]


# ---- simulated -------------------------------------------------------------------------------------------------------


def simulate_family(task: Task) -> Data:
    """Figure 5 on a simulated network, with and without a bound per connection. There is no native library there."""
    sizes = [16, 16 << 10] if task.quick else _SIZES
    panels = {"a connection carries 1/1.8 of a card": _RATE * _CAP, "no bound per connection": 0.0}
    node_of = [rank // _PER_NODE for rank in range(_NODES * _PER_NODE)]
    asked = [
        (panel, member.name, size, Request(
            f"star:hosts={_NODES},rate={_RATE:g}", "allgather", size, node_of, f"{member.choice},{way}",
            connection_rate=cap, parameters={"cores": _PER_NODE},
        ))
        for panel, cap in panels.items()
        for member in members(_PER_NODE)
        for size in sizes
        for way in (_CELLS, "within=single_copy")
    ]  # fmt: skip
    best: dict[tuple[str, str, int], float] = {}
    for (panel, name, size, _), answer in zip(asked, all_answers(it[3] for it in asked), strict=True):
        key = panel, name, size
        best[key] = min(answer.microseconds, best.get(key, answer.microseconds))
    points = [Point.exact(panel, name, size, us) for (panel, name, size), us in best.items()]
    rate = f"Cards of {_RATE / 1000:g} GB/s on one switch; processors as those of src/cost/parameters.hpp."
    return Data(Where.SIMULATED, points, [rate, "Sizes are one rank's block."])


_SIMULATOR = "plans played on a simulated network (espalier simulate): 4 nodes of 4 ranks"
_LAB = "on the emulated cluster: espalier lab up --nodes 4 --rate 200mbit --flow-cap 0.55, as root"

FIGURES = (
    Figure(
        "groups/1",
        "Figure 1",
        "Aggregate bandwidth of independent allgathers",
        "with all connections of a group active at once, one group carries up to 1.8 times what a single-connection "
        "ring does, two 2.6, three and four 2.7; from 64 KB on the ratio falls below one.",
        [
            Way(
                Where.EMULATED,
                measure_bandwidth,
                judges.judge_bandwidth,
                Axes("bytes of one rank's block", "MB/s that leave a node"),
                _LAB,
                "4 min",
                uses_mpi=True,
            )
        ],
    ),
    Figure(
        "groups/table1",
        "Table 1",
        "Connections, network and shared memory of each algorithm",
        "for 4 nodes of 4: 12 M leave each node in any case, over 1, 3, 3, 6 or 12 connections; 16 to 20 M are written "
        "to and 64 to 80 M read from shared memory.",
        [
            Way(
                Where.COUNTED,
                count_table,
                judges.judge_table,
                Axes("algorithm", "number", log_y=False),
                "counted from the steps of the plans (espalier explain)",
                "1 s",
            )
        ],
    ),
    Figure(
        "groups/5",
        "Figure 5",
        "The family of allgathers",
        "the gather-based algorithm is best up to 32 bytes, one group from 64 bytes to 2 KB, two groups from 4 to 64 "
        "KB; from 128 KB the native allgather wins.",
        [
            Way(
                Where.SIMULATED,
                simulate_family,
                judges.judge_family,
                Axes("bytes of one rank's block", "µs", against="1 group"),
                _SIMULATOR,
                "40 s",
            ),
            Way(
                Where.EMULATED,
                measure_family,
                judges.judge_family,
                Axes("bytes of one rank's block", "µs", against="native"),
                _LAB,
                "10 min",
                uses_mpi=True,
            ),
        ],
    ),
)
