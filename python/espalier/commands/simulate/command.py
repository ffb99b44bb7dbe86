"""espalier simulate: how long plans take on a network that one does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from espalier.base import console
from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.base.units import counted, format_bytes, parse_bytes, parse_counts
from espalier.base.writing import check_output, write_text
from espalier.commands.operations import pick_operation
from espalier.commands.simulate.executed import parse_arms, report
from espalier.commands.simulate.inside import Outputs, play_inside
from espalier.commands.simulate.played import play
from espalier.commands.simulate.sweep import report as report_points
from espalier.draw.gantt import MOST_RANKS
from espalier.draw.points import draw_points
from espalier.fabric.view import split_hosts
from espalier.simulation.arms import run_arms
from espalier.simulation.executor import Case, Job
from espalier.simulation.inside import InsideRequest, platform_names, read_platform
from espalier.simulation.points import execute_points, play_points, spread_ranks
from espalier.simulation.simulator import Request

_MOST_EXECUTED = 1 << 30  # bytes: what jobs leave to native beyond


def simulate(
    operation: Annotated[str, typer.Argument(metavar="OP", help="Any collective: broadcast, allreduce …")],
    bytes_: Annotated[
        str, typer.Option("--bytes", help="Size of the message or vector, or of one rank's block. 1K,64K: one by one.")
    ] = "1M",
    platform: Annotated[
        str,
        typer.Option(
            metavar="NETWORK",
            help="star:hosts=8, fat_tree:leaves=4,down=16 (and spines=8, oversubscription=2), "
            "three_level:pods=4,leaves=4,down=8, dragonfly:groups=9,routers=4,down=4; "
            "each with rate=10000 (bytes per µs), latency=0.785/0.235/0.205, "
            "slow_hosts=N, slow_rate=R. Or fabric:DIR, dumps of a network that exists.",
        ),
    ] = "fat_tree:leaves=4,down=16",
    node_platform: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Instead of a network: inside a node of this kind, whose caches and memories plans share. "
            f"{', '.join(platform_names())}, or a file like those; --ranks of one node, by default one on each core.",
        ),
    ] = None,
    cores: Annotated[
        str, typer.Option(metavar="HOW", help="With --node-platform: ranks on cores packed, or spread over all.")
    ] = "packed",
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Number of nodes, each a host. Default: 64, or as many as --hosts.")
    ] = None,
    ppn: Annotated[int, typer.Option(min=1, help="Ranks per node.")] = 4,
    ranks: Annotated[
        str | None,
        typer.Option(
            metavar="COUNT",
            help="Ranks in all, instead of --nodes; the last node has what is left. 64,256: one by one.",
        ),
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="Who has the message.")] = 0,
    algorithm: Annotated[
        str | None, typer.Option(help="This one instead of the built-in choice; with knobs: chain,segment=64K.")
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Also every other algorithm of the operation, knobs at their defaults.")
    ] = False,
    map_: Annotated[
        str,
        typer.Option(
            "--map",
            metavar="HOW",
            help="Which ranks a node has: blocks (neighbours), cyclic (dealt out one by one), random:SEED.",
        ),
    ] = "blocks",
    placement: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Which hosts the nodes are: block (the first ones), racks:K (K of each rack in turn), random:SEED, "
            "scattered:SEED (random ones, in ascending order).",
        ),
    ] = None,
    hosts: Annotated[
        list[str] | None, typer.Option(help="Or these hosts, in this order: host[0-15], or as the dumps call them.")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="What the job knows of the network: none, latency, speed, or combined. Trees and rings are then laid "
            "onto it, as their knob order=auto|natural|breadth|depth says.",
        ),
    ] = "none",
    orders: Annotated[
        bool, typer.Option("--orders", help="Also the same choice in each order of nodes. Implies --metric combined.")
    ] = False,
    connection_rate: Annotated[
        float, typer.Option(min=0, help="Most that one connection carries, bytes per µs; 0: no bound.")
    ] = 0,
    solver: Annotated[
        str,
        typer.Option(
            metavar="SOLVER",
            help="Who shares the links among messages: simgrid, simgrid_full (without its shortcut), fluid (our own, "
            "of the same model), or auto: simgrid, where it is installed, below 8192 messages.",
        ),
    ] = "auto",
    gantt: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Draw who waits for whom (SVG, up to {MOST_RANKS} ranks).")
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw how busy the network's links are and what crosses them (SVG)."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the times of several --bytes or --ranks (SVG).")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Run the library itself on simulated ranks, instead of playing the plan.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(metavar="MPI,…", help="With --execute: also mvapich2, ompi, mpich, impi, or all of SimGrid's."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Play the plan for OP on a simulated network: messages share links, copies and flags take their time."""
    core, operation = load_core(), pick_operation(operation)
    if not math.isfinite(connection_rate):
        raise UserError(f"--connection-rate {connection_rate}: that is no bound", "write a number of bytes per µs")
    for option, file in (("--gantt", gantt), ("--links", links), ("--plot", plot)):
        check_output(option, file, ".svg")
    names = split_hosts(hosts) if hosts else []
    sizes = [0] if operation == "barrier" else [parse_bytes(size) for size in bytes_.split(",")]
    if node_platform is not None:
        with user_errors("see espalier simulate --help"):
            name = _full_name(core, operation)
        inside = InsideRequest(
            read_platform(node_platform),
            name,
            _one(sizes, "--bytes"),
            ranks=_one(parse_counts(ranks), "--ranks") if ranks else 0,
            nodes=nodes or 1,
            cores=cores,
            root=root,
            choice=algorithm or "",
        )
        play_inside(core, inside, all_, Outputs(gantt, json))
        return
    jobs = _spread(nodes, ppn, ranks, map_, names)
    for node_of in jobs:
        if root >= len(node_of):
            raise UserError(f"--root {root}: there are only ranks 0 to {len(node_of) - 1}", "choose one of those")
    with user_errors("see espalier simulate --help"):
        name = _full_name(core, operation)
    requests = [
        Request(
            network=platform,
            operation=name,
            bytes=size,
            node_of=node_of,
            choice=algorithm or "",
            root=root,
            hosts=names[: max(node_of) + 1],
            placement=placement or "",
            metric="combined" if orders and metric == "none" else metric,
            connection_rate=connection_rate,
            solver=solver,
            loads=True,
        )
        for node_of in jobs
        for size in sizes
    ]
    executes = execute or against is not None
    compares = {"--gantt": gantt, "--links": links, "--all": all_, "--orders": orders}
    of_one_plan = [option for option, value in compares.items() if value]
    _refuse(executes, len(requests) > 1, plot, of_one_plan, solver)
    if len(requests) > 1:
        _sweep(requests, parse_arms(against) if executes else [], plot, json)
    elif executes:
        _execute(requests[0], against, json)
    else:
        play(core, requests[0], all_, orders, gantt, links, json)


def _spread(nodes: int | None, ppn: int, ranks: str | None, how: str, names: list[str]) -> list[list[int]]:
    """The node of every rank, for each number of ranks that is asked for."""
    if ranks is not None and nodes is not None:
        raise UserError("--ranks and --nodes say the same", "give one of them")
    jobs = [
        spread_ranks(count, ppn, how)
        for count in ([(nodes or len(names) or 64) * ppn] if ranks is None else parse_counts(ranks))
    ]
    most = max(max(node_of) for node_of in jobs) + 1
    if names and len(names) < most:
        raise UserError(
            f"{counted(most, 'node')}, but only {counted(len(names), 'host')}",
            "name more, or ask for fewer nodes or ranks",
        )
    return jobs


def _one(values: Sequence[int], option: str) -> int:
    if len(values) != 1:
        raise UserError(f"--node-platform takes one value of {option}", "ask for one after the other")
    return values[0]


def _refuse(executes: bool, is_sweep: bool, plot: Path | None, of_one_plan: list[str], solver: str) -> None:
    """What does not go together."""
    played = [*of_one_plan, *(["--solver"] if solver != "auto" else [])]
    if played and executes:
        raise UserError(
            f"{_are(played)} for plans that are played", "leave out --execute and --against, or what is not for them"
        )
    if is_sweep and of_one_plan:
        raise UserError(f"{_are(of_one_plan)} for one size and one number of ranks", "give one of each")
    if plot is not None and not is_sweep:
        raise UserError("--plot draws times over several sizes or numbers of ranks", "give some: --bytes 1K,64K,1M")


def _are(options: list[str]) -> str:
    return f"{' and '.join(options)} {'are' if len(options) > 1 else 'is'}"


def _sweep(requests: list[Request], arms: list[str], plot: Path | None, as_json: bool) -> None:
    points = execute_points([_as_job(it) for it in requests], arms) if arms else play_points(requests)
    if plot is not None:
        write_text(plot, draw_points(requests[0].operation, points))
    report_points(requests[0].operation, requests[0].network, points, as_json)
    if plot is not None and not as_json:
        console.out.print(f"\ndrawn in {escape(str(plot))}")


def _as_job(request: Request) -> tuple[Job, Case]:
    if request.hosts or request.connection_rate:
        raise UserError("--execute has no bound on connections and knows no hosts by name", "leave the option out")
    if request.bytes > _MOST_EXECUTED:
        raise UserError(
            f"--execute moves real bytes, up to {format_bytes(_MOST_EXECUTED)}", "ask for less, or leave it out"
        )
    if request.bytes % 4:
        raise UserError(
            f"--execute moves whole 4-byte numbers, not {request.bytes} bytes", "give a multiple of 4, or leave it out"
        )
    choices = {request.operation: request.choice} if request.choice else {}
    job = Job(request.network, request.node_of, choices, request.placement or "block", request.metric)
    return job, Case(request.operation, request.bytes, request.root)


def _execute(request: Request, against: str | None, as_json: bool) -> None:
    job, case = _as_job(request)
    report(job, case, run_arms(job, case, parse_arms(against)), as_json)


def _full_name(core: Any, operation: str) -> str:
    """`bcast` is `broadcast` to the simulator."""
    topology = core.Topology([0, 0], True, False)
    return str(core.build(topology, operation, 1, 0, core.choose(topology, operation, 1, 0).choice).operation)
