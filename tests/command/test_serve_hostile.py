"""A topology service among clients that mean it no good: what they may not take from others."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from espalier.fabric.generated import FatTree, write
from fabrics import DATA
from services import PATIENCE_S, Service, serving

BASELINE = DATA / "s16" / "00-baseline"
HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: "


def call(service: Service, address: str = "127.0.0.1") -> socket.socket:
    place = urlsplit(service.url)
    return socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S, source_address=(address, 0))


def page_s(service: Service) -> float:
    """How long the page takes."""
    begin = time.monotonic()
    with urllib.request.urlopen(service.url, timeout=PATIENCE_S) as reply:
        assert reply.status == 200
    return time.monotonic() - begin


def has_ended(connection: socket.socket) -> bool:
    with suppress(ConnectionError):
        while connection.recv(1 << 16):
            pass
    return True


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(BASELINE, tmp_path_factory.mktemp("door"), "--http", "127.0.0.1:0", "--slow", "1") as it:
        yield it


def test_six_hundred_halves_of_requests_do_not_lock_the_page_out(tmp_path: Path) -> None:
    with serving(BASELINE, tmp_path, "--http", "127.0.0.1:0") as service, ExitStack() as halves:
        for index in range(600):
            # Of several hosts, so that the limit of all counts as well as that of each.
            half = halves.enter_context(call(service, f"127.0.0.{1 + index % 12}"))
            with suppress(ConnectionError):
                half.sendall(HALF_A_HEAD)
        assert page_s(service) < 5


def test_half_a_request_is_ended_even_when_it_drips(impatient: Service) -> None:
    with call(impatient) as silent, call(impatient) as dripping:
        silent.sendall(HALF_A_HEAD)
        begin = time.monotonic()
        with suppress(ConnectionError):
            dripping.sendall(HALF_A_HEAD)
            while time.monotonic() - begin < 20:
                dripping.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - begin < 10
        assert has_ended(silent)


def test_a_body_that_does_not_come_is_not_waited_for(impatient: Service) -> None:
    with call(impatient) as it:
        it.sendall(b"POST /api/v1/matrix HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{")
        assert it.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_connection_that_asks_again_in_time_is_kept(impatient: Service) -> None:
    with call(impatient) as it:
        for _ in range(6):
            it.sendall(b"GET /api/v1/version HTTP/1.1\r\nHost: here\r\n\r\n")
            assert it.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.4)


@contextmanager
def hammering(port: int, request: bytes, clients: int) -> Iterator[list[int]]:
    """So many clients that repeat one request as fast as they are answered; how much each has received."""
    stop, received = threading.Event(), [0] * clients

    def hammer(index: int) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as it:
            room = bytearray(1 << 20)
            while not stop.is_set():
                it.sendall(request)
                size, lines, last = 0, 0, b""
                while not stop.is_set():
                    got = it.recv_into(room)
                    piece = bytes(room[:got])
                    size, lines = size + got, lines + piece.count(b"\n")
                    received[index] += got
                    last = (last + piece)[-1:]
                    if got == 0 or (last == b"\n" and (lines > 4096 or size < 200)):
                        break

    threads = [threading.Thread(target=hammer, args=(index,)) for index in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield received
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.long
def test_a_jobs_question_is_answered_while_eight_clients_repeat_the_largest_matrix(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    write(FatTree(pods=16, leaves=16, hosts=16, aggregations=8, cores=64), folder)
    with serving(folder, tmp_path) as service:
        lines = service.connect()
        hosts = lines.ask_lines("hosts")
        request = " ".join(["matrix combined:65536", *hosts[:4096]]).encode() + b"\n"
        with hammering(service.port, request, 8):
            time.sleep(3)
            took = []
            for _ in range(10):
                begin = time.monotonic()
                assert len(lines.ask_lines(" ".join(["classes", *hosts[:1024]]))) > 64
                took.append(time.monotonic() - begin)
                time.sleep(0.2)
        assert max(took) < 1, took
