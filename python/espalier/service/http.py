"""The service over HTTP: JSON of what the line protocol answers, /metrics, and a page for people.

GET /api/v1/query?from=A&to=B     also route, hops
GET /api/v1/matrix?metric=hops&hosts=A,B,C     or POST {"metric": …, "hosts": […]}
GET /api/v1/hosts     also stats, version, askers
GET /api/v1/loads?among=A,B,C     of each link: how many of all routes among these take it
GET /fabric.svg?from=A&to=B, or ?among=A,B,C     GET /metrics     GET /
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from importlib import resources
from typing import Any

from aiohttp import web

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.draw.fabric import draw_svg
from espalier.draw.page import compose_page
from espalier.fabric.loads import count_loads, routes_among
from espalier.fabric.routes import route_facts
from espalier.fabric.view import split_hosts
from espalier.service import metrics
from espalier.service.door import Bounds, DoorKeeper, Handler
from espalier.service.keeper import Keeper, Kept

# A matrix of 4096 hosts whose names have 60 letters.
_LONGEST_BODY = 256 << 10
# How many may wait to be let in: a flood of them is let in and shown out at once, rather than kept from the door.
_BACKLOG = 1024
# What takes long, at the same time.
_MOST_AT_WORK = 2
_STATUS = {"unknown-host": 404, "no-data": 503, "busy": 503, "too-many-hosts": 413}
_REFUSED = {"bad-request": 400, "unknown-command": 400, "unknown-metric": 400}
_KEEPER = web.AppKey("keeper", Keeper)
_BOUNDS = web.AppKey("bounds", Bounds)
_AT_WORK = web.AppKey("at_work", asyncio.Semaphore)
# Of who asked and of busy links the page shows so many; the routes of a crowd are its square.
_MOST_ASKERS, _MOST_LOADS, _MOST_IN_A_CROWD = 50, 30, 64

Asker = tuple[str, int, float]  # an address, its requests, when last: seconds since 1970
_ASKERS: web.AppKey[Callable[[], list[Asker]]] = web.AppKey("askers")


class _NoAnswer(Exception):
    def __init__(self, code: str, text: str) -> None:
        self.code, self.text = code, text


@asynccontextmanager
async def serving(
    keeper: Keeper, host: str, port: int, bounds: Bounds = Bounds(), askers: Callable[[], list[Asker]] = list
) -> AsyncIterator[int]:
    """Serves while the context lasts, which is given the port. `askers` says who asked by lines. Raises OSError when it
    cannot listen."""
    app = web.Application(client_max_size=_LONGEST_BODY)
    runner = web.AppRunner(app, access_log=None)
    door = DoorKeeper(runner, bounds)
    app.middlewares.extend([door.mark, _errors_as_json])
    app[_KEEPER], app[_BOUNDS], app[_AT_WORK] = keeper, bounds, asyncio.Semaphore(_MOST_AT_WORK)
    app[_ASKERS] = askers
    routes: list[tuple[str, Handler]] = [
        *((f"/api/v1/{name}", _pair) for name in ("query", "hops")),
        ("/api/v1/route", _route),
        ("/api/v1/matrix", _matrix),
        ("/api/v1/hosts", _hosts),
        ("/api/v1/stats", _stats),
        ("/api/v1/version", _version),
        ("/api/v1/askers", _askers),
        ("/api/v1/loads", _loads),
        ("/fabric.svg", _drawing),
        ("/metrics", _metrics),
        ("/", _page),
    ]
    app.add_routes([web.get(path, handler) for path, handler in routes])
    app.add_routes([web.post("/api/v1/matrix", _matrix)])
    await runner.setup()
    watch = asyncio.create_task(door.watch())
    try:
        server = await asyncio.get_running_loop().create_server(door, host, port, backlog=_BACKLOG)
        async with server:
            yield int(server.sockets[0].getsockname()[1])
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        await runner.cleanup()


@web.middleware
async def _errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except _NoAnswer as error:
        # A pair without a route is a fact about the network, not a mistake of the client's.
        status = _STATUS.get(error.code) or _REFUSED.get(error.code, 422)
        return web.json_response({"error": {"code": error.code, "text": error.text}}, status=status)


def _ask(request: web.Request, line: str) -> list[str]:
    """The engine's reply, line by line."""
    reply = request.app[_KEEPER].engine.answer(line.encode("utf-8", "replace")).decode("ascii", "replace")
    if reply.startswith("error "):
        _, code, text = reply.rstrip("\n").split(" ", 2)
        raise _NoAnswer(code, text)
    return list(reply.splitlines())


def _ends(request: web.Request) -> tuple[str, str]:
    ends = request.query.get("from", ""), request.query.get("to", "")
    for end in ends:
        if not end or any(c.isspace() for c in end):
            raise _NoAnswer("bad-request", "say ?from=HOST&to=HOST")
    return ends


def _kept(request: web.Request) -> Kept:
    kept = request.app[_KEEPER].current
    if kept is None:
        raise _NoAnswer("no-data", "no good set of dumps has been read yet")
    return kept


async def _beside(request: web.Request, work: Callable[[], Any]) -> Any:
    """What takes long runs in a thread, and not too much of it at once."""
    if request.app[_AT_WORK].locked():
        raise _NoAnswer("busy", "others are being served: ask again later")
    async with request.app[_AT_WORK]:
        return await asyncio.to_thread(work)


async def _pair(request: web.Request) -> web.Response:
    source, target = _ends(request)
    name = request.path.rsplit("/", 1)[1]
    words = (await _beside(request, lambda: _ask(request, f"{name} {source} {target}")))[0].split()
    if name == "hops":
        return web.json_response({"source": source, "target": target, "hops": int(words[0])})
    return web.json_response({"source": source, "target": target, "switches": words[1:-1]})


def _trace(kept: Kept, source: str, target: str) -> Any:
    core = kept.snapshot.core
    try:
        return core.trace_route(*core.find_pair(source, target))
    except load_core().FabricError as error:
        raise _NoAnswer(error.fault, error.reason) from error


async def _route(request: web.Request) -> web.Response:
    source, target = _ends(request)
    kept = _kept(request)
    facts = await _beside(request, lambda: route_facts(kept.snapshot.core, _trace(kept, source, target)))
    return web.json_response({"snapshot": kept.number, **facts})


async def _matrix(request: web.Request) -> web.Response:
    metric, hosts = request.query.get("metric", "hops"), request.query.get("hosts", "").split(",")
    if request.method == "POST":
        metric, hosts = _read_question(await _body(request))
    if any(not host or any(c.isspace() for c in host) for host in [metric, *hosts]):
        raise _NoAnswer("bad-request", 'say ?metric=hops&hosts=A,B,C, or post {"metric": "hops", "hosts": ["A", "B"]}')
    line = " ".join(["matrix", metric, *hosts])
    text = await _beside(request, lambda: _matrix_text(metric, hosts, _ask(request, line)))
    return web.Response(text=text, content_type="application/json")


async def _body(request: web.Request) -> str:
    try:
        async with asyncio.timeout(request.app[_BOUNDS].slow_s):
            return await request.text()
    except TimeoutError as error:
        raise web.HTTPRequestTimeout(text="the body of this request has not come in time") from error
    except UnicodeDecodeError as error:
        raise _NoAnswer("bad-request", "the body is no text of its character set") from error


def _read_question(text: str) -> tuple[str, list[str]]:
    try:
        body = json.loads(text)
        return str(body["metric"]), [str(host) for host in body["hosts"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _NoAnswer("bad-request", 'post {"metric": "hops", "hosts": ["A", "B"]}') from error


def _matrix_text(metric: str, hosts: list[str], lines: list[str]) -> str:
    """The rows are numbers already; JSON has no infinity."""
    rows = ",\n".join(f"[{line.replace(' ', ',').replace('inf', 'null')}]" for line in lines[1:])
    return f'{{"metric": {json.dumps(metric)}, "hosts": {json.dumps(hosts)}, "delays": [\n{rows}]}}\n'


async def _hosts(request: web.Request) -> web.Response:
    return web.json_response({"hosts": _ask(request, "hosts")[1:]})


async def _stats(request: web.Request) -> web.Response:
    pairs = (line.split(" ", 1) for line in _ask(request, "stats")[1:])
    facts = {name: int(value) if value.isdecimal() else value for name, value in pairs}
    kept = request.app[_KEEPER].current
    found = [{"kind": it.kind, "text": it.text} for it in kept.snapshot.core.findings] if kept else []
    return web.json_response(facts | {"what_was_found": found})


async def _version(request: web.Request) -> web.Response:
    _, protocol, program = _ask(request, "version")[0].split(" ", 2)
    return web.json_response({"protocol": int(protocol), "program": program})


async def _askers(request: web.Request) -> web.Response:
    now = time.time()
    known = request.app[_ASKERS]()
    facts = [
        {"address": address, "requests": count, "seconds_ago": max(0, int(now - last))}
        for address, count, last in known
    ]
    return web.json_response({"askers": facts[:_MOST_ASKERS]})


def _crowd(request: web.Request, kept: Kept) -> Callable[[], list[Any]]:
    """The routes among the hosts that were named."""
    core = kept.snapshot.core
    with _no_answer_for_faults():
        hosts = list(dict.fromkeys(split_hosts([request.query["among"]])))
    if len(hosts) > _MOST_IN_A_CROWD:
        raise _NoAnswer("too-many-hosts", f"at most {_MOST_IN_A_CROWD} hosts at a time, not {len(hosts)}")

    def trace() -> list[Any]:
        with _no_answer_for_faults():
            return routes_among(core, hosts)

    return trace


@contextmanager
def _no_answer_for_faults() -> Iterator[None]:
    try:
        yield
    except load_core().FabricError as error:
        raise _NoAnswer(error.fault, error.reason) from error
    except UserError as error:
        raise _NoAnswer("bad-request", error.message) from error


async def _loads(request: web.Request) -> web.Response:
    kept = _kept(request)
    if not request.query.get("among"):
        raise _NoAnswer("bad-request", "say ?among=A,B,C or ?among=node[000-015]")
    trace = _crowd(request, kept)
    loads = await _beside(request, lambda: count_loads(kept.snapshot.core, trace()))
    return web.json_response({"snapshot": kept.number, "loads": [asdict(it) for it in loads[:_MOST_LOADS]]})


async def _drawing(request: web.Request) -> web.Response:
    kept = _kept(request)
    routes: Callable[[], list[Any]] = list
    if request.query.get("among"):
        routes = _crowd(request, kept)
    elif request.query:
        source, target = _ends(request)
        routes = lambda: [_trace(kept, source, target)]  # noqa: E731
    text = await _beside(request, lambda: draw_svg(kept.view, routes()))
    return web.Response(text=text, content_type="image/svg+xml")


async def _metrics(request: web.Request) -> web.Response:
    return web.Response(body=metrics.render(request.app[_KEEPER]), headers={"Content-Type": metrics.CONTENT_TYPE})


async def _page(_: web.Request) -> web.Response:
    body, style, script = (
        resources.files("espalier.service").joinpath(f"page.{kind}") for kind in ("html", "css", "js")
    )
    text = compose_page("The fabric", body.read_text("utf-8"), style.read_text("utf-8"), script.read_text("utf-8"))
    return web.Response(text=text, content_type="text/html")
