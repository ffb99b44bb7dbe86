"""One service from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from espalier.base.core import load_core, user_errors
from espalier.base.errors import UserError
from espalier.service.keeper import Keeper

Asker = tuple[str, int, float]  # as in http.py, which needs packages that lines do not

log = logging.getLogger("espalier.serve")


@dataclass(frozen=True)
class Door:
    """A TCP address to listen at; port 0 takes a free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Door:
        """Reads HOST:PORT, [IPv6]:PORT or PORT, which is localhost's. Raises UserError."""
        host, _, port = text.rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise UserError(f"'{text}' is no address to listen at", "write HOST:PORT")
        return cls(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


@dataclass(frozen=True)
class Options:
    """What a service is to be."""

    folder: Path
    lines: Door | None
    socket: Path | None
    http: Door | None
    poll_s: float = 0.5
    connections: int = 16384
    per_address: int = 4096
    memory: int = 512 << 20
    idle_s: float = 300
    slow_s: float = 10
    latency: Sequence[tuple[int, float]] = ()


def serve(options: Options) -> None:
    """Serves until SIGINT or SIGTERM. SIGHUP reads the dumps again. Raises UserError when it cannot begin."""
    if not (options.lines or options.socket or options.http):
        raise UserError("there is nowhere to answer", "give --socket or --http with --listen none")
    if not options.folder.is_dir():
        raise UserError(f"there is no folder {options.folder}", "`espalier fabric collect DIR` fills one")
    _allow_descriptors(options.connections)
    core = load_core()
    engine = core.FabricEngine(list(options.latency))
    keeper = Keeper(options.folder, engine)
    server = core.FabricServer(
        engine,
        options.connections,
        per_address=options.per_address,
        memory=options.memory,
        idle=options.idle_s,
        slow=options.slow_s,
    )
    with user_errors("name another address with --listen or --socket"):
        if options.lines:
            port = server.listen_tcp(options.lines.host, options.lines.port)
            log.info("lines at %s port %d", options.lines.host, port)
        if options.socket:
            server.listen_unix(str(options.socket))
            log.info("lines at %s", options.socket)
    keeper.refresh(patient=False)
    server.start()
    try:
        asyncio.run(_attend(options, keeper, server.askers))
    finally:
        server.stop()
        log.info("ended")


def _allow_descriptors(connections: int) -> None:
    """Every connection is a file; what the shell allows at first is often 1024."""
    wanted = connections + 256
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        log.warning("this system allows %d open files, less than %d connections need", allowed, connections)


async def _attend(options: Options, keeper: Keeper, askers: Callable[[], list[Asker]]) -> None:
    """The interpreter's part: HTTP, signals, new dumps."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    loop.add_signal_handler(signal.SIGHUP, keeper.forget)
    async with AsyncExitStack() as doors:
        if options.http:
            await _open_http(options.http, options.slow_s, keeper, askers, doors)
        log.info("serving %s", options.folder)
        while not end.is_set():
            await asyncio.to_thread(keeper.refresh)
            with suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), options.poll_s)


async def _open_http(
    door: Door, slow_s: float, keeper: Keeper, askers: Callable[[], list[Asker]], doors: AsyncExitStack
) -> None:
    try:
        from espalier.service import http
        from espalier.service.door import Bounds
    except ImportError as error:
        raise UserError(
            f"--http needs {error.name}, which is not installed", "pip install aiohttp prometheus-client"
        ) from error
    try:
        bounds = Bounds(slow_s=slow_s)
        port = await doors.enter_async_context(http.serving(keeper, door.host, door.port, bounds, askers))
    except OSError as error:
        raise UserError(f"cannot listen at {door.host}:{door.port}: {error.strerror}", "name another --http") from error
    log.info("HTTP at http://%s:%d/", door.host, port)
