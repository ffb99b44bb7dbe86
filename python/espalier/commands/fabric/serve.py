"""espalier serve: a topology service for the jobs of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from espalier.base import console
from espalier.base.units import parse_bytes
from espalier.commands.fabric.app import read_latency
from espalier.service.serving import Door, Options
from espalier.service.serving import serve as run_service


def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The dumps; watched, and read again when they change.")],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to answer lines; 'none' for nowhere.")
    ] = "127.0.0.1:7171",
    socket: Annotated[Path | None, typer.Option(metavar="PATH", help="A Unix socket to answer lines at.")] = None,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where to serve JSON, /metrics and a page.")
    ] = None,
    poll: Annotated[float, typer.Option(min=0.05, help="Seconds between looks at the folder.")] = 0.5,
    connections: Annotated[int, typer.Option(min=1, help="As many at a time.")] = 16384,
    per_address: Annotated[int, typer.Option(min=1, help="As many of one host, or of one user of the socket.")] = 4096,
    memory: Annotated[str, typer.Option(help="For half requests and unread replies together.")] = "512M",
    idle: Annotated[float, typer.Option(min=1, help="Seconds that a connection may be silent.")] = 300,
    slow: Annotated[float, typer.Option(min=0.1, help="Seconds for half a request, or 64 KiB of a reply.")] = 10,
    latency: Annotated[
        str | None, typer.Option(help="µs by links crossed, as 2:1.57,3:2.04. Default: TACC Ranger's.")
    ] = None,
) -> None:
    """Answer questions about the network: routes, delays of a job's hosts (docs/reference/protocol.md)."""
    console.log_to_stderr()
    run_service(
        Options(
            folder=folder,
            lines=None if listen == "none" else Door.parse(listen),
            socket=socket,
            http=Door.parse(http) if http else None,
            poll_s=poll,
            connections=connections,
            per_address=per_address,
            memory=parse_bytes(memory),
            idle_s=idle,
            slow_s=slow,
            latency=read_latency(latency),
        )
    )
