"""Services to test with: the real command in a process of its own, and a client of its line protocol."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# A busy machine may take its time.
PATIENCE_S = 60


class Lines:
    """A connection to a service: requests out, lines in."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._file = self.socket.makefile("r", encoding="ascii", newline="\n")

    def send(self, text: str | bytes) -> None:
        self.socket.sendall(text.encode() if isinstance(text, str) else text)

    def line(self) -> str:
        """The next line, without its end; empty when the connection has ended."""
        return self._file.readline().rstrip("\n")

    def ask(self, request: str) -> str:
        self.send(request + "\n")
        return self.line()

    def ask_lines(self, request: str) -> list[str]:
        """The lines behind the first, which says how many there are."""
        return [self.line() for _ in range(int(self.ask(request).split(" ")[1]))]

    def stats(self) -> dict[str, str]:
        return dict(line.split(" ", 1) for line in self.ask_lines("stats"))

    def close(self) -> None:
        self._file.close()
        self.socket.close()


@dataclass
class Service:
    """A running `espalier serve`."""

    process: subprocess.Popen[str]
    log: Path

    def said(self, pattern: str) -> re.Match[str]:
        """Waits until the log says this."""
        end = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.log.read_text())) is None:
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"the service did not say {pattern!r}:\n{self.log.read_text()}")
            time.sleep(0.02)
        return found

    @property
    def port(self) -> int:
        return int(self.said(r"lines at \S+ port (\d+)")[1])

    @property
    def url(self) -> str:
        return self.said(r"HTTP at (\S+)")[1]

    def connect(self) -> Lines:
        return Lines(self.port)

    def wait_for(self, name: str, value: str) -> dict[str, str]:
        """Waits until `stats` says this; returns all it says."""
        lines, end = self.connect(), time.monotonic() + PATIENCE_S
        while (stats := lines.stats())[name] != value:
            assert time.monotonic() < end, stats
            time.sleep(0.02)
        lines.close()
        return stats


@contextmanager
def serving(folder: Path, scratch: Path, *options: str) -> Iterator[Service]:
    """A service on free ports, quick to see new dumps."""
    log = scratch / "serve.log"
    arguments = [str(folder), "--listen", "127.0.0.1:0", "--poll", "0.05", *options]
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "espalier", "serve", *arguments], stderr=file, text=True)
    service = Service(process, log)
    try:
        service.said("serving ")
        yield service
        assert process.poll() is None, log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0, log.read_text()
