"""Platform files of nodes (python/espalier/simulation/nodes), from measured latencies and vendors' rates.

    python bench/node_platforms.py FOLDER     # the CSV files of core-to-core-latency

Hand-over is measured (docs/ideas/nodes.md cites where); caches' sizes and the rates of memory and sockets are vendors';
what a cache's port carries, lines under way and the service of a crowded line are estimates, and said to be.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from core_latencies import find_caches, hand_over, read_latencies

from espalier.base.writing import write_text

NODES = Path(__file__).parents[1] / "python/espalier/simulation/nodes"
SOURCE = (
    "hand-over: core-to-core-latency, MIT licence, Copyright (c) 2022 Nicolas Viennot, results contributed by its "
    "users, https://github.com/nviennot/core-to-core-latency; the rest: docs/ideas/nodes.md"
)


@dataclass(frozen=True)
class Rates:
    """Of a platform file (src/simulate/nodes/node_platform.hpp): GB/s, KiB, ns."""

    memory_latency_ns: float
    service_ns: float
    lines: int
    private_kib: int
    cache_kib: int
    cache_gb: float
    port_in_gb: float
    port_out_gb: float
    socket_gb: float
    memory_gb: float


@dataclass(frozen=True)
class Machine:
    csv: str
    what: str
    threads: int
    sockets: int
    rates: Rates


# Memory: four fifths of what its channels promise. Ports of AMD's chiplets: 32 and 16 bytes per cycle of the fabric, in
# and out, which two groups of four cores share on Zen 2. Elsewhere a cache's port is its socket's link.
MACHINES = (
    Machine("dual-epyc-7742", "2 x AMD EPYC 7742 (Zen 2), 128 cores", 2, 2,
            Rates(95, 5, 22, 512, 16 << 10, 200, 23, 12, 100, 164)),
    Machine("epyc-7773x", "AMD EPYC 7773X (Zen 3), 64 cores", 2, 1,
            Rates(95, 5, 24, 512, 96 << 10, 400, 46, 23, 100, 164)),
    Machine("epyc-7r13", "2 x AMD EPYC 7R13 (Zen 3), 96 cores", 2, 2,
            Rates(95, 5, 24, 512, 32 << 10, 400, 46, 23, 100, 164)),
    Machine("xeon-8375c", "2 x Intel Xeon Platinum 8375C (Ice Lake), 64 cores", 2, 2,
            Rates(90, 5, 16, 1280, 54 << 10, 350, 60, 60, 60, 164)),
    Machine("dual-xeon-6242", "2 x Intel Xeon Gold 6242 (Cascade Lake), 32 cores", 2, 2,
            Rates(85, 5, 16, 1024, 22 << 10, 250, 55, 55, 55, 112)),
    Machine("graviton3", "AWS Graviton3, 64 cores", 1, 1,
            Rates(110, 5, 20, 1024, 32 << 10, 500, 200, 200, 200, 245)),
    Machine("xeon-phi-7210", "Intel Xeon Phi 7210, 64 cores in tiles of two", 1, 1,
            Rates(150, 34, 12, 32, 1024, 40, 15, 15, 200, 82)),
)  # fmt: skip


def derive(machine: Machine, folder: Path) -> dict[str, object]:
    latencies = read_latencies(folder / f"{machine.csv}.csv", machine.threads)
    caches = find_caches(latencies)
    per_socket = len(caches) // machine.sockets
    socket_of = [i // per_socket for i in range(len(caches))]
    return {
        "name": machine.csv,
        "what": machine.what,
        "source": SOURCE,
        "caches": [{"cores": len(it), "numa": s, "socket": s} for it, s in zip(caches, socket_of, strict=True)],
        **asdict(machine.rates),
        "handover_ns": hand_over(latencies, caches),
    }


def spell(platform: dict[str, object]) -> str:
    """JSON with a line for each entry, and for each row of a matrix."""

    def entry(value: object) -> str:
        if isinstance(value, list):
            return "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        return json.dumps(value)

    return "{\n" + ",\n".join(f" {json.dumps(name)}: {entry(value)}" for name, value in platform.items()) + "\n}\n"


def main(folder: Path) -> None:
    for machine in MACHINES:
        platform = derive(machine, folder)
        write_text(NODES / f"{machine.csv}.json", spell(platform))
        print(f"{machine.csv}: {len(platform['caches'])} caches")  # type: ignore[arg-type]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
