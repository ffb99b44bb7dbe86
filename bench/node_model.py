"""How far simulated nodes are right (docs/ideas/nodes.md): what was measured on machines, and what the model says.

python bench/node_model.py           # our 16 Xeon cores, and acoll against coll/tuned as published
python bench/node_model.py --here    # also this machine: pairs of cores, by bench_node. Wants to be alone.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from espalier.simulation.inside import InsideRequest, simulate_all_inside, simulate_inside

BENCH_NODE = Path(__file__).parents[1] / "build/release/bench/bench_node"


def platform(name: str, caches: list[dict[str, int]], handover: list[list[float]], **rates: float) -> str:
    usual = {
        "memory_latency_ns": 100,
        "service_ns": 5,
        "lines": 16,
        "private_kib": 2048,
        "cache_kib": 36 << 10,
        "cache_gb": 250,
        "port_in_gb": 100,
        "port_out_gb": 100,
        "socket_gb": 100,
        "memory_gb": 100,
    }
    return json.dumps({"name": name, "what": name, "caches": caches, "handover_ns": handover, **usual, **rates})


# 2.1 GHz, a virtual machine. Fitted: hand-over 120 ns, service 5 ns, 16 lines.
XEON = platform("16 Xeon cores", [{"cores": 16, "numa": 0, "socket": 0}], [[120]])


@dataclass(frozen=True)
class Measured:
    operation: str
    ranks: int
    bytes: int
    way: str  # lines, plan, or a choice
    microseconds: float


def _lines_and_cells(operation: str, ranks: int, size: int, lines: float, cells: float) -> list[Measured]:
    return [Measured(operation, ranks, size, "lines", lines), Measured(operation, ranks, size, "plan", cells)]


def _both_sums(ranks: int, size: int, whole: float, slices: float) -> list[Measured]:
    return [
        Measured("allreduce", ranks, size, f"gather_reduce,within=cells,cell={size}", whole),
        Measured("allreduce", ranks, size, f"rabenseifner,within=cells,cell={size}", slices),
    ]


def _both_copies(ranks: int, single: float, cells: float) -> list[Measured]:
    return [
        Measured("broadcast", ranks, 256 << 10, "knomial,within=single_copy", single),
        Measured("broadcast", ranks, 256 << 10, "knomial,within=cells,cell=32K,cells=8", cells),
    ]


# By bench_node, as they stand beside the rules that they led to: src/choice/choose.cpp (lines and cells),
# src/algorithms/allreduce/gather_reduce.cpp (sums), src/algorithms/candidates/on_node.cpp (copies).
ON_XEON = [
    *_lines_and_cells("broadcast", 8, 256, 0.7, 0.9),
    *_lines_and_cells("broadcast", 8, 512, 1.1, 0.9),
    *_lines_and_cells("broadcast", 16, 256, 1.1, 1.0),
    *_lines_and_cells("broadcast", 16, 512, 1.6, 1.1),
    *_lines_and_cells("reduce", 8, 256, 1.0, 1.3),
    *_lines_and_cells("reduce", 8, 512, 1.4, 1.5),
    *_lines_and_cells("reduce", 16, 256, 2.2, 2.3),
    *_lines_and_cells("reduce", 16, 512, 3.0, 2.6),
    *_lines_and_cells("allreduce", 8, 256, 1.3, 1.7),
    *_lines_and_cells("allreduce", 8, 512, 2.1, 1.7),
    *_lines_and_cells("allreduce", 16, 256, 2.7, 2.8),
    *_lines_and_cells("allreduce", 16, 512, 4.5, 3.0),
    *_lines_and_cells("broadcast", 4, 2048, 0.7, 1.5),
    *_lines_and_cells("reduce", 4, 2048, 1.3, 1.7),
    *_lines_and_cells("allreduce", 4, 2048, 4.3, 2.4),
    *_both_sums(8, 512, 1.8, 2.0),
    *_both_sums(8, 1024, 2.7, 2.1),
    *_both_sums(8, 2048, 4.2, 2.7),
    *_both_sums(16, 256, 2.3, 3.1),
    *_both_sums(16, 512, 3.1, 3.3),
    *_both_sums(16, 1024, 5.4, 3.3),
    *_both_sums(16, 2048, 8.8, 3.9),
    *_both_copies(4, 75, 39),
    *_both_copies(8, 204, 44),
    *_both_copies(16, 440, 47),
]


def _element(operation: str) -> int:
    return 4 if "reduce" in operation else 1


def compare(name: str, text: str, measured: Iterable[Measured]) -> None:
    ratios = []
    print(f"{name}: measured, simulated, their ratio")
    for it in measured:
        is_way = it.way in ("lines", "plan")
        request = InsideRequest(
            text,
            it.operation,
            it.bytes,
            ranks=it.ranks,
            way=it.way if is_way else "",
            choice="" if is_way else it.way,
            element=_element(it.operation),
        )
        time = simulate_inside(request).microseconds
        ratios.append(time / it.microseconds)
        what = f"{it.operation:10}{it.ranks:3}{it.bytes:8}  {it.way:40}"
        print(f"  {what}{it.microseconds:8.2f}{time:8.2f}{ratios[-1]:6.2f}")
    logs = [log(ratio) for ratio in ratios]
    mean, spread = exp(statistics.fmean(logs)), exp(statistics.pstdev(logs))
    print(f"  mean {mean:.2f}, {spread:.2f} either way, {min(ratios):.2f} to {max(ratios):.2f}\n")


def _genoa() -> str:
    """2 x 96 cores, four domains on each socket: hand-over assumed, between those of Zen 3 that were measured."""

    def hand(i: int, j: int) -> float:
        if i == j:
            return 24
        if i // 12 != j // 12:
            return 200
        return 90 if i // 3 == j // 3 else 110

    return platform(
        "2 x AMD EPYC 9654 (Zen 4), assumed",
        [{"cores": 8, "numa": i // 3, "socket": i // 12} for i in range(24)],
        [[hand(i, j) for j in range(24)] for i in range(24)],
        lines=24,
        private_kib=1024,
        cache_kib=32 << 10,
        cache_gb=400,
        port_in_gb=57,
        port_out_gb=28,
        socket_gb=150,
        memory_gb=92,
        memory_latency_ns=105,
    )


# Open MPI pull request 12484: mean time saved over 32 to 192 ranks and 8 B to 8 MB, per cent.
PUBLISHED = {"allreduce": 37.7, "broadcast": 39.4, "gather": 27.5}
KEPT_ASIDE = ("broadcast", "gather")  # not looked at before the model was as it is


def acoll_against_tuned() -> None:
    text = _genoa()
    print("acoll against coll/tuned, 2 x 96 EPYC cores: mean time saved, published and modelled")
    for operation, published in PUBLISHED.items():
        most = 16 if operation == "gather" else 23  # longer gathers take the simulator minutes
        saved = []
        for ranks in (32, 64, 96, 128, 192):
            for size in (1 << power for power in range(3, most + 1, 2)):
                requests = [
                    InsideRequest(text, operation, size, ranks=ranks, way=peer, element=_element(operation))
                    for peer in ("tuned", "acoll")
                ]
                tuned, acoll = (answer.microseconds for answer in simulate_all_inside(requests))  # type: ignore[union-attr]
                saved.append(100 * (1 - acoll / tuned))
        aside = "  (kept aside)" if operation in KEPT_ASIDE else ""
        print(f"  {operation:10}{published:6.1f} %{statistics.fmean(saved):6.1f} %{aside}", flush=True)


def here() -> None:
    """Two ranks on two cores of this machine: hand-over from the shortest message, then what the model makes of it."""

    def bench(operation: str, size: int, choice: str) -> float:
        done = subprocess.run(
            [BENCH_NODE, "2", operation, str(size), choice], capture_output=True, text=True, check=True
        )
        found = re.search(r"p50\D*([\d.]+)", done.stdout)
        if found is None:
            raise SystemExit(f"bench_node says: {done.stdout}")
        return float(found[1])

    handover = 1000 * bench("broadcast", 8, "tiny") / 2
    text = platform("this machine", [{"cores": 2, "numa": 0, "socket": 0}], [[round(handover, 1)]])
    cases = [
        ("broadcast", 16 << 10, "knomial,within=cells,cell=4K,cells=8"),
        ("broadcast", 256 << 10, "knomial,within=cells,cell=32K,cells=8"),
        ("broadcast", 256 << 10, "knomial,within=single_copy"),
        ("reduce", 64 << 10, "knomial,within=cells,cell=8K,cells=8"),
        ("allgather", 64 << 10, "ring,within=cells,cell=32K,cells=8"),
    ]
    compare(
        f"two cores here, hand-over {handover:.0f} ns",
        text,
        [Measured(operation, 2, size, choice, bench(operation, size, choice)) for operation, size, choice in cases],
    )


if __name__ == "__main__":
    compare("16 Xeon cores", XEON, ON_XEON)
    acoll_against_tuned()
    if "--here" in sys.argv[1:]:
        here()
