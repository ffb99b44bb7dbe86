"""The emulated cluster: what it would do, what it refuses, and, as root (`make lab`), the thing itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from espalier.errors import UserError
from espalier.lab import cluster, network

LAB = [sys.executable, "-m", "espalier", "lab"]


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LAB, *arguments], capture_output=True, text=True, check=False, timeout=120)


def test_rates_repeat_over_the_nodes() -> None:
    assert network.parse_spec(3, "200mbit,100mbit", None).rates == ("200mbit", "100mbit", "200mbit")


@pytest.mark.parametrize(
    ("nodes", "rate", "delay", "named"),
    [(0, "1gbit", None, "--nodes 0"), (4, "fast", None, "'fast'"), (4, "1gbit", "soon", "'soon'"), (4, "", None, "''")],
)
def test_nonsense_is_refused_by_name(nodes: int, rate: str, delay: str | None, named: str) -> None:
    with pytest.raises(UserError, match=named):
        network.parse_spec(nodes, rate, delay)


def test_each_link_is_shaped_at_both_ends() -> None:
    commands = [" ".join(command) for command in network.up_commands(network.Spec(("200mbit", "100mbit")))]
    shaped = [command for command in commands if " class add " in command]
    assert len([command for command in shaped if "rate 200mbit" in command]) == 2
    assert len([command for command in shaped if "rate 100mbit" in command]) == 2
    assert sum(f"-n {network.node_name(0)} " in command for command in shaped) == 1


def test_addresses_and_names_are_distinct() -> None:
    nodes = range(network.MOST_NODES)
    assert len({network.address(node) for node in nodes} | {network.FRONT_ADDRESS}) == network.MOST_NODES + 1
    assert all(network.is_ours(network.node_name(node)) for node in nodes)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_without_a_cluster_status_says_how_to_get_one() -> None:
    if cluster.STATE.exists():
        pytest.skip("a cluster is up")
    done = lab("status")
    assert done.returncode == 2
    assert "no cluster is up" in done.stderr
    assert "espalier lab up" in done.stderr


@pytest.mark.lab
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_up_status_and_down_leave_nothing() -> None:
    try:
        assert lab("up", "--nodes", "2", "--rate", "100mbit").returncode == 0
        assert "a cluster is up already" in lab("up").stderr
        for node in range(2):
            name = subprocess.run(
                [str(cluster.STATE / "agent"), "-x", network.address(node), "hostname"],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            assert name.stdout.strip() == f"node{node}"
        assert [counter.rate for counter in cluster.counters(cluster.load())] == ["100mbit"] * 2
    finally:
        assert lab("down").returncode == 0
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert network.PREFIX not in listed
    assert not cluster.STATE.exists()
    assert "nothing is left" in lab("down").stderr
