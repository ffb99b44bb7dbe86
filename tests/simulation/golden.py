"""The simulations whose results are kept.

`python tests/simulation/golden.py` writes golden.json anew. Look at the difference before committing it: it says which
plans became slower.
"""

from __future__ import annotations

import json
from pathlib import Path

from espalier.simulation.simulator import Request, simulate

GOLDEN = Path(__file__).with_name("golden.json")

_TREE = "fat_tree:leaves=4,down=4,spines=2,oversubscription=2"
_THREE = "three_level:pods=2,leaves=2,down=4,spines=2,oversubscription=1.5"
_FLY = "dragonfly:groups=5,routers=2,down=2"
_CHOICES = {
    "broadcast": ["knomial", "knomial,radix=4", "chain,segment=64K", "flat", "scatter_allgather"],
    "scatter": ["knomial", "flat"],
    "gather": ["knomial", "flat"],
    "allgather": ["ring", "bruck", "recursive_doubling", "multi_group,groups=2", "gather_based,groups=2"],
    "alltoall": ["pairwise"],
    "reduce": ["knomial", "knomial,segment=64K"],
    "allreduce": ["recursive_doubling", "rabenseifner", "ring"],
    "reduce_scatter": ["pairwise"],
    "barrier": ["dissemination"],
}


def requests() -> list[Request]:
    """Every algorithm above, short and long, on each kind of network."""
    return [
        Request(
            network=network, operation=operation, bytes=size, node_of=[rank // 2 for rank in range(32)], choice=choice
        )
        for network in (_TREE, _THREE, _FLY)
        for operation, choices in _CHOICES.items()
        for choice in choices
        for size in ((0,) if operation == "barrier" else (1 << 10, 128 << 10))
    ]


def key(request: Request) -> str:
    return f"{request.network} {request.operation} {request.bytes} {request.choice}"


def main() -> None:
    times = {key(request): simulate(request).microseconds for request in requests()}
    GOLDEN.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
