"""espalier explain --fabric shows a plan's tree on the network, and what its order is worth."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from fabrics import DATA

S16 = str(DATA / "s16" / "00-baseline")


def explain(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "espalier", "explain", *arguments, "--rank", "none"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def network(*arguments: str) -> dict[str, Any]:
    done = explain(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["network"]
    assert isinstance(facts, dict)
    return facts


def test_the_tree_is_shown_with_the_links_of_every_edge() -> None:
    done = explain("bcast", "--fabric", S16, "--hosts", "node[000-015]", "--ppn", "1", "--root", "5", "--bytes", "8")
    assert done.returncode == 0, done.stderr
    assert "node005" in done.stdout
    assert all(f"node{number:03}" in done.stdout for number in range(16))
    assert "links" in done.stdout
    assert "µs until the last node has all" in done.stdout


def test_a_chain_takes_fewer_links_than_in_the_order_of_numbers() -> None:
    shuffled = "node000,node004,node008,node012,node001,node005,node009,node013"
    chain = ["bcast", "--fabric", S16, "--hosts", shuffled, "--ppn", "1", "--bytes", "1M", "--algorithm", "chain"]
    ours, natural = network(*chain), network(*chain, "--set", "order=natural")
    assert natural["order"] == "natural"
    assert ours["links"] < natural["links"]
    assert ours["estimated_us"] < natural["estimated_us"] == ours["estimated_us_natural"]
    assert len(ours["edges"]) == 7


def test_what_is_no_tree_says_so() -> None:
    done = explain("alltoall", "--fabric", S16, "--nodes", "4", "--ppn", "2", "--bytes", "64")
    assert done.returncode == 0, done.stderr
    assert "no order of them is better" in done.stdout.replace("\n", " ")


def test_more_nodes_than_hosts_and_unknown_hosts_are_told() -> None:
    assert "only 2 hosts" in explain("bcast", "--fabric", S16, "--hosts", "node[000-001]", "--nodes", "3").stderr
    done = explain("bcast", "--fabric", S16, "--hosts", "node000,nobody")
    assert done.returncode != 0
    assert "nobody" in done.stderr


def test_the_tree_is_drawn_on_the_network(tmp_path: Path) -> None:
    output = tmp_path / "tree.svg"
    done = explain("bcast", "--fabric", S16, "--hosts", "node[000-007]", "--ppn", "1", "--map", str(output))
    assert done.returncode == 0, done.stderr
    text = output.read_text()
    assert text.startswith("<svg")
    assert len(set(re.findall(r"node\d+ → node\d+: ok", text))) == 7
