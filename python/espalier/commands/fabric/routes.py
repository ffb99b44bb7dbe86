"""espalier routes: the routes of many pairs, a line each, for scripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from espalier.base import console
from espalier.base.errors import UserError
from espalier.commands.fabric.route import FabricOption
from espalier.fabric import load
from espalier.fabric.loading import core_faults
from espalier.fabric.routes import parse_route
from espalier.fabric.view import split_hosts


def routes(
    fabric: FabricOption,
    hosts: Annotated[
        list[str] | None, typer.Argument(metavar="HOST…", help="Between these; node[000-003] is understood.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Between all hosts.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Print `source, target, status, links, switches` of every ordered pair, separated by tabs.

    A status other than `ok` is the fault's name; links are then -1, and the switches are those up to the fault.
    A switch is GUID\\[port in>port out].
    """
    if every == bool(hosts):
        raise UserError("routes between which hosts?", "name some, or give --all")
    names = list(dict.fromkeys(split_hosts(hosts or [])))
    if len(names) == 1:
        raise UserError(f"routes from '{names[0]}' to where?", "name two hosts or more, or give --all")
    core = load(fabric).core
    with core_faults("`espalier routes --all` lists all hosts"):
        texts = _all(core) if every else _between(core, names)
        if json:
            console.print_json({"routes": [parse_route(line) for text in texts for line in text.splitlines()]})
            return
        for text in texts:
            sys.stdout.write(text)


def _all(core: Any) -> Iterator[str]:
    for host in core.hosts:
        yield core.routes_from(host)


def _between(core: Any, names: list[str]) -> Iterator[str]:
    for source in names:
        for target in names:
            if source != target:
                it = core.trace_route(*core.find_pair(source, target))
                yield f"{source}\t{target}\t{it.status}\t{it.links}\t{core.format_hops(it)}\n"
