"""Who may come in over HTTP, and for how long without asking anything: the limits that aiohttp leaves to others.

A connection waits until the head of a request is whole, is served until its handler has ended, and is read until its
client has taken the reply. Waiting and reading have their time; when all places are taken, the one that has waited
longest makes room for the next, so that halves of requests, however many, lock nobody out.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# A reply that is not read must shrink by so much in its time.
_SLOW_BYTES = 64 << 10


@dataclass(frozen=True)
class Bounds:
    """How much one door takes upon itself."""

    connections: int = 512
    per_address: int = 64
    slow_s: float = 10
    """For the head of a request, its body, and 64 KiB of a reply."""


@dataclass
class _Guest:
    """One connection."""

    transport: asyncio.Transport
    address: str
    since: float
    """When its waiting began, or its reply last shrank."""
    at_work: bool = False
    unread: int = 0
    """Bytes of its reply at the last look that counted."""


class DoorKeeper:
    """Lets connections in to a web server, and shows out those that take too long. For one event loop."""

    def __init__(self, runner: web.AppRunner, bounds: Bounds) -> None:
        self._runner = runner
        self._bounds = bounds
        self._guests: dict[asyncio.BaseTransport, _Guest] = {}

    def __call__(self) -> asyncio.Protocol:
        """The protocol of a new connection."""
        return _Threshold(self)

    @web.middleware
    async def mark(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """A middleware: the head is whole, and what follows takes the time that it takes."""
        guest = self._guests.get(request.transport) if request.transport else None
        if guest is None:
            return await handler(request)
        guest.at_work = True
        try:
            return await handler(request)
        finally:
            guest.at_work, guest.unread = False, 0
            guest.since = _now()

    async def watch(self) -> None:
        """Looks at all connections, for ever."""
        while True:
            await asyncio.sleep(min(1.0, self._bounds.slow_s / 4))
            now = _now()
            for guest in list(self._guests.values()):
                if self._is_gone(guest):
                    del self._guests[guest.transport]
                elif self._is_too_slow(guest, now):
                    self._show_out(guest)

    def admit(self, transport: asyncio.Transport) -> asyncio.Protocol | None:
        """Who serves this connection from now on; nobody when there is no place."""
        address = _address_of(transport)
        for guest in [it for it in self._guests.values() if self._is_gone(it)]:
            del self._guests[guest.transport]
        if not self._has_room(address):
            return None
        self._guests[transport] = _Guest(transport, address, _now())
        server = self._runner.server
        assert server is not None
        return server()

    def _has_room(self, address: str) -> bool:
        counts = Counter(guest.address for guest in self._guests.values())
        if counts[address] >= self._bounds.per_address:
            return self._make_room(address)
        if len(self._guests) >= self._bounds.connections:
            return self._make_room(max(counts, key=lambda it: counts[it]))
        return True

    def _make_room(self, address: str) -> bool:
        waiting = [it for it in self._guests.values() if it.address == address and self._is_waiting(it)]
        if not waiting:
            return False
        self._show_out(min(waiting, key=lambda it: it.since))
        return True

    def _is_waiting(self, guest: _Guest) -> bool:
        return not guest.at_work and guest.transport.get_write_buffer_size() == 0

    def _is_too_slow(self, guest: _Guest, now: float) -> bool:
        if guest.at_work:
            return False
        unread = guest.transport.get_write_buffer_size()
        if unread and (not guest.unread or unread + _SLOW_BYTES <= guest.unread):
            guest.unread, guest.since = unread, now
        elif guest.unread and not unread:
            guest.unread, guest.since = 0, now
        return now - guest.since >= self._bounds.slow_s

    @staticmethod
    def _is_gone(guest: _Guest) -> bool:
        return guest.transport.is_closing()

    def _show_out(self, guest: _Guest) -> None:
        self._guests.pop(guest.transport, None)
        guest.transport.abort()


class _Threshold(asyncio.Protocol):
    """Where a connection stands before anybody serves it: only here its address is known."""

    def __init__(self, keeper: DoorKeeper) -> None:
        self._keeper = keeper

    def connection_made(self, transport: Any) -> None:
        protocol = self._keeper.admit(transport)
        if protocol is None:
            transport.close()
            return
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


def _address_of(transport: asyncio.BaseTransport) -> str:
    """An IPv4 address, or the 64 bits of an IPv6 address that one host may choose below."""
    peer = transport.get_extra_info("peername")
    try:
        address = ipaddress.ip_address(peer[0].partition("%")[0])
    except (TypeError, ValueError, IndexError):
        return ""
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def _now() -> float:
    return asyncio.get_running_loop().time()
