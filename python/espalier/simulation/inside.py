"""Plans inside simulated nodes: caches, memories and cards as a platform file has them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from espalier.base.errors import UserError
from espalier.base.machine import count_cpus
from espalier.base.names import suggest
from espalier.simulation.simulator import Answer, ask

_NODES = Path(__file__).with_name("nodes")
PEERS = ("flat", "tuned", "xhc", "acoll")  # src/simulate/nodes/peers.hpp


@dataclass(frozen=True)
class InsideRequest:
    """One collective on nodes that are all alike. Times in µs."""

    node_platform: str  # the text of a platform file
    operation: str
    bytes: int
    ranks: int = 0  # on each node; 0: one on every core
    nodes: int = 1
    cores: str = "packed"  # packed, spread (src/simulate/nodes/node_platform.hpp)
    core_of_rank: list[int] = field(default_factory=list)  # or each by itself, node by node
    root: int = 0
    element: int = 1  # of reductions: bytes of one
    way: str = ""  # "" what a job would do; plan, lines, or one of PEERS (src/simulate/nodes/node_request.hpp)
    choice: str = ""  # algorithm and knobs
    single_copy: bool = True  # whether the system lets ranks copy out of each other's memory
    latency: float = 0  # between nodes; 0: the usual one
    parameters: dict[str, Any] = field(default_factory=dict)  # of cost::Parameters, by name
    ends: bool = False
    loads: bool = False
    spans: bool = False


def platform_names() -> list[str]:
    """Of the platforms that are here."""
    return sorted(path.stem for path in _NODES.glob("*.json"))


def read_platform(name: str) -> str:
    """The text of a platform that is here, or of a file. Raises UserError where there is neither."""
    path = _NODES / f"{name}.json" if name in platform_names() else Path(name)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"no node platform {name}", f"{suggest(name, platform_names())}; or name a file") from error


def read_ranks(request: InsideRequest) -> int:
    """How many there are on all nodes together. Raises UserError where the platform cannot be read."""
    if request.ranks:
        return request.ranks * request.nodes
    try:
        caches = json.loads(request.node_platform)["caches"]
        return request.nodes * sum(int(cache["cores"]) for cache in caches)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"node platform: {error}", "see docs/ideas/nodes.md") from error


def simulate_inside(request: InsideRequest, timeout: float | None = None) -> Answer:
    """Runs one simulation. Raises UserError for a request that makes no sense, or one that takes too long (seconds)."""
    always = ("node_platform", "operation", "bytes", "single_copy")
    return ask({name: value for name, value in vars(request).items() if value or name in always}, timeout)


def simulate_all_inside(requests: Iterable[InsideRequest]) -> Iterator[Answer | UserError]:
    """Runs many, as many at once as there are processors; answers in order, an error in the place of a failure."""

    def attempt(request: InsideRequest) -> Answer | UserError:
        try:
            return simulate_inside(request)
        except UserError as error:
            return error

    with ThreadPoolExecutor(count_cpus()) as pool:
        yield from pool.map(attempt, requests)
