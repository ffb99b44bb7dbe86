"""Subramoni et al.'s table III, measured: what it costs a job to learn its network and to lay trees onto it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from espalier.base.checkout import find_checkout
from espalier.base.errors import UserError
from espalier.base.own_module import own_module
from espalier.fabric.generated import FatTree, write
from espalier.papers.figure import Axes, Data, Figure, Point, Task, Way, Where
from espalier.papers.trees import judges

_LEADERS = (8, 16, 32)
# The paper's totals in ms: first call, another root, the same root. A further 256 and 1024 leaders are ours alone.
_STATED = {8: (11.6, 0.13, 0.0), 16: (30.8, 1.5, 0.0), 32: (115.5, 2.4, 0.0)}
_PANELS = ("first call, ms", "another root, ms", "the same root, ms")
_PATIENCE_S = 60.0


def measure_setup(task: Task) -> Data:
    """Dumps of a made-up fabric, a service in front of them, and a job's questions over its socket."""
    bench = _find_bench()
    tree = FatTree(2, 4, 8, 4, 8) if task.quick else FatTree(16, 16, 16, 8, 64)
    counts = _LEADERS if task.quick else (*_LEADERS, 256, 1024)
    with tempfile.TemporaryDirectory(prefix="espalier-") as scratch:
        folder = Path(scratch) / "dumps"
        write(tree, folder)
        with _serve(folder) as port:
            hosts = f"node[00000-{len(tree.hosts) - 1:05d}]"
            # The first question to a service that has just read its dumps is not a job's usual one: asked, not counted.
            command = [str(bench), f"127.0.0.1:{port}", hosts, *map(str, (counts[0], *counts))]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    if done.returncode != 0:
        raise UserError(f"{bench.name} failed: {done.stderr.strip()}", f"run it by hand: {' '.join(command)}")
    size = f"{len(tree.hosts)} hosts and {len(tree.switches)} switches"
    notes = [
        f"A made-up three-level fat tree of {size} behind `espalier serve` on this machine; leaders at even distances.",
        "First call: asking over a socket, classes, order. The paper's also broadcasts the matrix; not here.",
    ]
    return Data(Where.REAL, parse_times(done.stdout), notes)


def parse_times(text: str) -> list[Point]:
    """From what bench_setup prints: leaders, classes, KB, then ms to ask, for an order, again, and of another root. Of
    several lines for as many leaders the last one counts."""
    rows = [[float(word) for word in line.split()] for line in text.splitlines()[1:]]
    points = []
    for leaders, _, _, ask, order, same, other in {row[0]: row for row in rows}.values():
        ours = (ask + order, other, same)
        stated = _STATED.get(int(leaders), (None,) * 3)
        for panel, own, paper in zip(_PANELS, ours, stated, strict=True):
            points.append(Point.exact(panel, "Espalier", leaders, own))
            if paper is not None:
                points.append(Point.exact(panel, "the paper", leaders, paper))
    return sorted(points, key=lambda point: _PANELS.index(point.panel))


def _find_bench() -> Path:
    checkout = find_checkout()
    bench = checkout / "build" / "release" / "bench" / "bench_setup" if checkout else None
    if bench is None or not bench.exists():
        raise UserError("bench_setup is missing", "it is built in the source tree: make setup")
    return bench


@contextmanager
def _serve(folder: Path) -> Iterator[int]:
    """A topology service that has read the dumps; yields its port."""
    log = folder.parent / "serve.log"
    with log.open("w") as file:
        command = [*own_module("espalier"), "serve", str(folder), "--listen", "127.0.0.1:0"]
        service = subprocess.Popen(command, stderr=file, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        yield _wait_for_port(service, log)
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(_PATIENCE_S)


def _wait_for_port(service: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while (found := re.search(r"lines at \S+ port (\d+)", log.read_text())) is None:
        if service.poll() is not None or time.monotonic() > deadline:
            raise UserError(f"the topology service did not start: {log.read_text().strip()}", "try: espalier serve")
        time.sleep(0.05)
    return int(found[1])


SETUP = Figure(
    "trees/table3",
    "Table III",
    "What learning the topology costs",
    "11.6, 30.8 and 115.5 ms in the first call with 8, 16 and 32 leaders, of which 5.7, 23.7 and "
    "103.1 for the delay matrix; 0.13, 1.5 and 2.4 ms for another root, nothing for the same one.",
    [
        Way(
            Where.REAL,
            measure_setup,
            judges.judge_setup,
            Axes("leaders", "ms"),
            "bench_setup asks a topology service on this machine (bench/micro/setup_cost.cpp)",
            "1 min",
        )
    ],
)
