"""The whole chain, live: a simulated subnet with a real subnet manager, the real tools, collector, service, clients."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import simulator
from fabrics import DATA, read
from services import Lines, Service, serving
from simulator import Simulation, simulate
from subnet_manager_view import read_view

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not simulator.is_there(), reason="no ibsim, opensm or infiniband-diags here"),
]

LEAF01, SPINE01, SPINE02 = (f"S-0002c902004000{number}" for number in ("10", "50", "60"))
EVENTS = {
    "a link fails": [f'Unlink "{LEAF01}"[5]'],
    "it comes back": [f'ReLink "{LEAF01}"[5]'],
    "a switch fails": [f'Unlink "{SPINE02}"'],
    "it comes back too": [f'ReLink "{SPINE02}"'],
}


@contextmanager
def collecting(simulation: Simulation, folder: Path, *options: str) -> Iterator[Path]:
    """`espalier fabric collect`, staying; its log."""
    log = simulation.folder / "collect.log"
    environment = dict(os.environ, PATH=f"{simulation.tools}:{os.environ['PATH']}")
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "espalier", "fabric", "collect", str(folder), *options], stderr=file, env=environment
        )
    try:
        yield log
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait(60)


def ask_all(lines: Lines, names: list[str]) -> list[str]:
    """Every pair's answer, in one go; of an error only its code."""
    pairs = [(source, target) for source in names for target in names if source != target]
    lines.send("".join(f"query {source}:{target}\n" for source, target in pairs))
    answers = [lines.line() for _ in pairs]
    return [" ".join(it.split(" ")[:2]) if it.startswith("error ") else it for it in answers]


def expect_all(simulation: Simulation, names: list[str]) -> list[str]:
    view = read_view(simulation.folder)
    return [view.query(source, target) for source in names for target in names if source != target]


class Clients:
    """Ask without pause; count what is no answer."""

    def __init__(self, service: Service, count: int = 3) -> None:
        self.answered, self.odd, self._stop = 0, list[str](), threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(service,)) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _ask(self, service: Service) -> None:
        lines = service.connect()
        while not self._stop.wait(0.01):
            reply = lines.ask("query node000:node004")
            # While the network changes, there may be no route for a while: that is an answer.
            if not reply.startswith(("node000 0x", "error no-entry ", "error stale-table ", "error port-down ")):
                self.odd.append(reply)
            self.answered += 1

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_answers_follow_the_network_while_links_and_switches_fail(tmp_path: Path) -> None:
    network = tmp_path / "network"
    network.write_text(read(DATA / "s16" / "00-baseline" / "ibnetdiscover.txt"))
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    names = [f"node{number:03d}" for number in range(16)]
    with (
        simulate(network, tmp_path) as simulation,
        collecting(simulation, dumps, "--on-log", str(simulation.log)),
        serving(dumps, tmp_path) as service,
    ):
        service.wait_for("snapshot", "1")
        lines, clients = service.connect(), Clients(service)
        seen = {tuple(ask_all(lines, names))}
        assert ask_all(lines, names) == expect_all(simulation, names)
        for number, (name, events) in enumerate(EVENTS.items()):
            simulation.happen(*events)
            service.wait_for("snapshot", str(number + 2))
            answers = ask_all(lines, names)
            assert answers == expect_all(simulation, names), name
            assert not any(answer.startswith("error") for answer in answers), name
            seen.add(tuple(answers))
        clients.stop()
    assert clients.odd == []
    assert clients.answered > 100
    assert len(seen) >= 3, "failures change routes"


def test_a_collector_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    network = tmp_path / "network"
    network.write_text(read(DATA / "s16" / "00-baseline" / "ibnetdiscover.txt"))
    with simulate(network, tmp_path) as simulation:
        environment = dict(os.environ, PATH=f"{simulation.tools}:{os.environ['PATH']}")
        call = [sys.executable, "-m", "espalier", "fabric", "collect", str(tmp_path / "dumps")]
        subprocess.run(call, env=environment, check=True, timeout=120)
        before = {path.name: path.read_bytes() for path in (tmp_path / "dumps").iterdir()}
        assert set(before) == {"ibnetdiscover.txt", "dump_fts.txt"}
        (simulation.tools / "dump_fts").write_text("#!/bin/sh\nhead -c 1000 " + str(tmp_path / "dumps/dump_fts.txt\n"))
        failed = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert failed.returncode == 2
        assert "truncated-table" in failed.stderr
        assert {path.name: path.read_bytes() for path in (tmp_path / "dumps").iterdir()} == before
