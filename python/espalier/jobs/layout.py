"""How many ranks a job has and how they lie on nodes, from what was asked for and what a batch system gave. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from espalier.base.errors import UserError
from espalier.base.units import counted
from espalier.jobs.allocation import Allocation, Host, System

# What gives this job more, by who gave it.
_MORE = {
    System.SLURM: "salloc or sbatch with --nodes={nodes} --ntasks-per-node={ppn}",
    System.PBS: "qsub -l select={nodes}:ncpus={ppn}:mpiprocs={ppn}",
    System.LSF: 'bsub -n {n} -R "span[ptile={ppn}]"',
    System.FLUX: "flux alloc -N{nodes} -n{n}",
    System.HOSTFILE: "more hosts, or slots, in that file",
}


@dataclass(frozen=True)
class Wish:
    """What the command line says; None: nothing."""

    ranks: int | None = None
    nodes: int | None = None
    ppn: int | None = None


@dataclass(frozen=True)
class Layout:
    """What is started. None: nothing says so, and the launcher decides."""

    ranks: int
    nodes: int | None = None
    ppn: int | None = None  # None also where nodes have unequal numbers

    def __str__(self) -> str:
        where = f" on {counted(self.nodes, 'node')}" if self.nodes is not None else ""
        return counted(self.ranks, "rank") + where


def settle_layout(wish: Wish, allocation: Allocation | None, otherwise: int, overcommit: bool = False) -> Layout:
    """What to start: as wished; else as allocated; else `otherwise` ranks. More ranks than an allocation has processors
    for are refused unless `overcommit`. Raises UserError for what does not fit."""
    if allocation is None:
        return _settle_anywhere(wish, otherwise)
    nodes = _count_nodes(wish)
    if nodes is not None and nodes > allocation.nodes:
        ppn = wish.ppn or max(host.slots for host in allocation.hosts)
        message = f"{nodes} nodes are asked for, and there are fewer: {allocation}"
        raise UserError(message, _how_to_get(allocation, nodes, ppn))
    layout = _settle_on(wish, allocation.hosts[:nodes])
    if not overcommit:
        _check_room(layout, allocation)
    return layout


def _settle_anywhere(wish: Wish, otherwise: int) -> Layout:
    if wish.nodes is not None and wish.ppn is not None:
        return _multiply(wish, wish.nodes, wish.ppn)
    if wish.nodes is not None or wish.ppn is not None:
        given, lacking = ("--nodes", "--ppn") if wish.ppn is None else ("--ppn", "--nodes")
        raise UserError(
            f"{given} alone: no batch system and no host file says what nodes there are",
            f"add {lacking}; or name the hosts with --hostfile FILE; or run this inside salloc or sbatch",
        )
    return Layout(wish.ranks or otherwise)


def _count_nodes(wish: Wish) -> int | None:
    """How many were asked for, by number or by what ranks need; None: all."""
    if wish.nodes is None and wish.ranks is not None and wish.ppn is not None:
        return -(-wish.ranks // wish.ppn)
    return wish.nodes


def _settle_on(wish: Wish, hosts: tuple[Host, ...]) -> Layout:
    """On all of these hosts; ranks that were given without a place may leave some empty."""
    slots = {host.slots for host in hosts}
    allocated = sum(host.slots for host in hosts)
    if wish.ppn is not None:
        if wish.nodes is None and wish.ranks is not None:
            return Layout(wish.ranks, len(hosts), wish.ppn)
        return _multiply(wish, len(hosts), wish.ppn)
    if wish.ranks in (None, allocated):
        return Layout(allocated, len(hosts), slots.pop() if len(slots) == 1 else None)
    assert wish.ranks is not None
    if wish.nodes is None:
        return Layout(wish.ranks)
    return Layout(wish.ranks, wish.nodes, None if wish.ranks % wish.nodes else wish.ranks // wish.nodes)


def _multiply(wish: Wish, nodes: int, ppn: int) -> Layout:
    if wish.ranks not in (None, nodes * ppn):
        raise UserError(
            f"-n {wish.ranks}, but {counted(nodes, 'node')} with {counted(ppn, 'rank')} on each make {nodes * ppn}",
            "leave one of them out",
        )
    return Layout(nodes * ppn, nodes, ppn)


def _check_room(layout: Layout, allocation: Allocation) -> None:
    cpus = [host.cpus for host in allocation.hosts[: layout.nodes]]
    wanted, most, where = layout.ranks, sum(cpus), "hosts"
    if layout.ppn is not None:
        wanted, most, where = layout.ppn, min(cpus), "a host"
    if wanted > most:
        nodes = layout.nodes or allocation.nodes
        remedy = _how_to_get(allocation, nodes, -(-layout.ranks // nodes))
        raise UserError(
            f"{wanted} ranks on {where} with processors for {most}: {allocation}",
            f"{remedy}; or --overcommit, to let ranks share processors",
        )


def _how_to_get(allocation: Allocation, nodes: int, ppn: int) -> str:
    return "ask for more: " + _MORE[allocation.system].format(n=nodes * ppn, nodes=nodes, ppn=ppn)
