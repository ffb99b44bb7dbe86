"""espalier explain counts connections and shared memory as Qian, Rashti and Afsahi's Table 1 does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

M = 1024
ONCE, ALL = (1, 16 * M), (4, 16 * M)

# algorithm and knobs: connections, network (bytes, connections, steps), phases (name, writes, reads)
TABLE_1: list[tuple[list[str], int, tuple[int, int, int], list[tuple[str, Any, Any]]]] = [
    (["single_group_ring"], 1, (4 * M, 1, 3), [("phase 1", (4, M), (1, 4 * M)), ("phase 3", ONCE, ALL)]),
    (["single_group_direct"], 3, (4 * M, 3, 1), [("phase 1", (4, M), (1, 4 * M)), ("phase 3", ONCE, ALL)]),
    (["gather_based", "groups=4"], 3, (4 * M, 3, 1), [("phase 1", (4, M), (4, 4 * M)), ("phase 3", ONCE, ALL)]),
    (["multi_group", "groups=2"], 6, (2 * M, 6, 1), [("phase 1", (4, M), (2, 2 * M)), ("phase 3", (2, 8 * M), ALL)]),
    (["multi_group", "groups=4"], 12, (M, 12, 1), [("phase 2", (4, 4 * M), ALL)]),
]


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "espalier", "explain", "allgather", "--nodes", "4", "--ppn", "4", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(("words", "connections", "network", "phases"), TABLE_1, ids=lambda it: str(it)[:40])
def test_table_1(words: list[str], connections: int, network: tuple[int, int, int], phases: list[Any]) -> None:
    knobs = [word for knob in words[1:] for word in ("--set", knob)]
    done = explain("--algorithm", words[0], *knobs, "--bytes", "1K", "--node", "2", "--rank", "none", "--json")
    assert done.returncode == 0, done.stderr
    accounting = json.loads(done.stdout)["accounting"]
    assert accounting == {
        "node": 2,
        "connections_in": connections,
        "connections_out": connections,
        "network": [dict(zip(("bytes", "connections", "steps"), network, strict=True))],
        "phases": [
            {
                "name": name,
                "writes": [dict(zip(("count", "bytes"), writes, strict=True))],
                "reads": [dict(zip(("count", "bytes"), reads, strict=True))],
            }
            for name, writes, reads in phases
        ],
    }


def test_people_read_it_too() -> None:
    done = explain("--algorithm", "multi_group", "--set", "groups=2", "--bytes", "1K", "--rank", "none")
    assert "active connections: 6 in, 6 out" in done.stdout
    assert "phase 1: 4 × 1 KiB written, 2 × 2 KiB read" in done.stdout


def test_a_node_that_does_not_exist_is_named() -> None:
    done = explain("--node", "4")
    assert done.returncode == 2
    assert "--node 4" in done.stderr
