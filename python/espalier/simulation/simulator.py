"""One simulation: a request for espalier-simulator (src/simulate/main.cpp) and its answer.

Each runs in a process of its own, since SimGrid allows one engine per process, so several may run side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from espalier.base.errors import UserError
from espalier.base.machine import count_cpus
from espalier.base.names import refuse
from espalier.jobs.libraries import find_simulator
from espalier.simulation.process import run_simulation


@dataclass(frozen=True)
class Request:
    """One collective on one network. Rates in bytes per µs, times in µs.

    Which hosts the nodes are is said by one of `placement`, `hosts` and `host_of_node`; without any, node n is host n.
    `metric` is what the job knows of the network, as from a topology service: without it no order of nodes is better
    than another, with it `order=auto|breadth|depth` lays trees and rings onto the network.
    """

    network: str  # "fat_tree:leaves=4,down=16,oversubscription=2", "fabric:FOLDER" (src/simulate/network.hpp)
    operation: str
    bytes: int
    node_of: list[int]  # of every rank
    choice: str = ""  # algorithm and knobs; empty: the built-in choice
    root: int = 0
    host_of_node: list[int] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)  # by name: "host3", or as the dumps call them
    placement: str = ""  # block, racks:K, random:SEED, scattered:SEED (src/simulate/placement.hpp)
    metric: str = "none"  # none, latency, speed, combined
    connection_rate: float = 0  # of one connection at most; 0: as fast as its links
    solver: str = ""  # simgrid, simgrid_full, fluid (src/flows/fluid.hpp); empty: by itself (src/simulate/main.cpp)
    parameters: dict[str, Any] = field(default_factory=dict)  # of cost::Parameters, by name
    ends: bool = False
    loads: bool = False
    spans: bool = False
    flights: bool = False


@dataclass(frozen=True)
class Load:
    """What crossed one link, and the share of the whole time it was busy with that."""

    link: str
    bytes: float
    busy: float


@dataclass(frozen=True)
class Span:
    """One step of one rank, waiting included."""

    rank: int
    step: int
    op: str
    begin: float
    end: float


@dataclass(frozen=True)
class Flight:
    """One message on its way."""

    origin: int
    target: int
    bytes: int
    set_out: float
    arrival: float


@dataclass(frozen=True)
class Answer:
    """What came out; the lists only as far as they were asked for."""

    network: str
    choice: str
    solver: str  # who shared the links: simgrid, simgrid_full, fluid
    microseconds: float
    messages: int
    ends: list[float]
    loads: list[Load]
    spans: list[Span]
    flights: list[Flight]


def simulate(request: Request, timeout: float | None = None) -> Answer:
    """Runs one simulation. Raises UserError for a request that makes no sense, or one that takes too long (seconds)."""
    return ask({name: value for name, value in vars(request).items() if value or name in ("network", "bytes")}, timeout)


def ask(request: dict[str, Any], timeout: float | None = None) -> Answer:
    """The simulator's answer to a request as it reads it (src/simulate/main.cpp)."""
    done = run_simulation([str(find_simulator())], text=json.dumps(request), timeout=timeout)
    if done.returncode != 0:
        raise refuse(done.stderr.strip() or "the simulator stopped", "see espalier simulate --help")
    return _read(json.loads(done.stdout))


def simulate_all(requests: Iterable[Request], timeout: float | None = None) -> Iterator[Answer | UserError]:
    """Runs many, as many at once as there are processors; answers in order, an error in the place of a failure."""

    def attempt(request: Request) -> Answer | UserError:
        try:
            return simulate(request, timeout)
        except UserError as error:
            return error

    with ThreadPoolExecutor(count_cpus()) as pool:
        yield from pool.map(attempt, requests)


def all_answers(requests: Iterable[Request]) -> Iterator[Answer]:
    """As simulate_all, where all must work. Raises the first failure, a UserError."""
    for answer in simulate_all(requests):
        if isinstance(answer, UserError):
            raise answer
        yield answer


def _read(reply: dict[str, Any]) -> Answer:
    total = reply["microseconds"]
    return Answer(
        network=reply["network"],
        choice=reply["choice"],
        solver=reply["solver"],
        microseconds=total,
        messages=reply["messages"],
        ends=reply.get("ends", []),
        loads=[
            Load(it["link"], it["bytes"], it["bytes"] / it["rate"] / total if total else 0)
            for it in reply.get("loads", [])
        ],
        spans=[Span(**it) for it in reply.get("spans", [])],
        flights=[
            Flight(it["from"], it["to"], it["bytes"], it["set_out"], it["arrival"]) for it in reply.get("flights", [])
        ],
    )
