"""The emulated cluster: what it would do, what it refuses, and, as root (`make lab`), the thing itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from espalier.base.errors import UserError
from espalier.lab import cluster, network

LAB = [sys.executable, "-m", "espalier", "lab"]


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LAB, *arguments], capture_output=True, text=True, check=False, timeout=120)


def test_rates_repeat_over_the_nodes() -> None:
    assert network.parse_spec(3, "200mbit,100mbit", None).rates == ("200mbit", "100mbit", "200mbit")


def test_a_cluster_says_what_it_is() -> None:
    assert str(network.Spec(("200mbit",) * 4)) == "4 emulated nodes at 200mbit"
    mixed = network.Spec(("200mbit", "100mbit"), "50us", 0.55)
    assert str(mixed) == "2 emulated nodes at 200mbit, 100mbit, 50us away, one connection at most 0.55 of it"


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


def test_every_rail_is_a_network_of_its_own() -> None:
    spec = network.parse_spec(2, "1gbit", None, rails=3)
    commands = [" ".join(command) for command in network.up_commands(spec)]
    bridges = {command.split()[3] for command in commands if command.endswith(" type bridge")}
    for rail in range(3):
        name = network.interface(rail)
        assert sum(f"addr add {network.address(1, rail)}/24 dev {name}" in command for command in commands) == 1
        assert sum(f"dev {name} root" in command for command in commands) == 2, "both nodes' links are shaped"
    assert len(bridges) == 3
    assert str(spec) == "2 emulated nodes at 1gbit, 3 rails"
    with pytest.raises(UserError, match="--rails 9"):
        network.parse_spec(2, "1gbit", None, rails=9)


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
    as_json = lab("status", "--json")
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout) == {"nodes": [], "slurm": False}


@pytest.fixture
def no_cluster() -> None:
    """Never takes down a cluster that somebody else has put up."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    if cluster.STATE.exists():
        pytest.skip("a cluster is up, and not ours")


@pytest.mark.lab
def test_up_status_and_down_leave_nothing(no_cluster: None) -> None:
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


@pytest.mark.lab
def test_up_and_down_are_told_as_json(no_cluster: None) -> None:
    try:
        told = json.loads(lab("up", "--nodes", "2", "--rate", "100mbit", "--json").stdout)
        assert [(node["node"], node["rate"]) for node in told["nodes"]] == [(0, "100mbit"), (1, "100mbit")]
        assert told["slurm"] is False
    finally:
        done = lab("down", "--json")
    assert json.loads(done.stdout) == {"taken_down": 2}


def test_links_are_removed_before_their_namespaces_which_take_their_time() -> None:
    commands = network.down_commands([network.node_name(0)], ["esplab-br", "esplab0", "esplabf"])
    assert commands[:3] == [["ip", "link", "del", link] for link in ("esplab-br", "esplab0", "esplabf")]
    assert commands[3:] == [["ip", "netns", "del", network.node_name(0)]]


@pytest.mark.lab
def test_after_down_it_can_be_put_up_at_once(no_cluster: None) -> None:
    """Though something ran there whose end takes a while."""
    try:
        for _ in range(4):
            assert lab("up", "--nodes", "4", "--rate", "100mbit").returncode == 0
            agent = [str(cluster.STATE / "agent"), network.address(1)]
            with subprocess.Popen([*agent, "sleep 100 & sleep 100"]) as busy:
                done = lab("down")
                assert done.returncode == 0, done.stderr
                busy.wait(timeout=20)
    finally:
        lab("down")


def test_up_that_is_killed_halfway_takes_down_what_it_has_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[network.Command] = []
    taken_down: list[int] = []

    def run(command: network.Command, script: str | None = None) -> str:
        built.append(command)
        if len(built) == 5:
            signal.raise_signal(signal.SIGTERM)
        return ""

    monkeypatch.setattr(cluster, "_check_means", lambda: None)
    monkeypatch.setattr(cluster, "_namespaces", list)
    monkeypatch.setattr(cluster, "_run", run)
    monkeypatch.setattr(cluster, "down", lambda: taken_down.append(len(built)))
    with pytest.raises(SystemExit) as ended:
        cluster.up(network.Spec(("100mbit",) * 2))
    assert ended.value.code == 128 + signal.SIGTERM
    assert taken_down == [5]


@pytest.mark.parametrize(
    ("nodes", "cap", "named"), [(4, 1.5, "--flow-cap 1.5"), (4, 0.0, "--flow-cap"), (17, 0.5, "16")]
)
def test_caps_that_make_no_sense_are_refused(nodes: int, cap: float, named: str) -> None:
    with pytest.raises(UserError, match=named):
        network.parse_spec(nodes, "100mbit", None, cap)


def test_every_class_of_a_capped_node_has_a_filter() -> None:
    lines = network.flow_script(network.Spec(("200mbit",) * 3, None, 0.5), 1).splitlines()
    classes = {line.split(" classid ")[1].split()[0] for line in lines if line.startswith("class") and " ceil " in line}
    assert classes == {line.split(" classid ")[1] for line in lines if line.startswith("filter") and "classid" in line}
    assert len(classes) == 2 * 256
    assert all(" ceil 100000000bit " in line for line in lines if " ceil " in line)


@pytest.mark.lab
def test_one_connection_gets_its_cap_and_several_fill_the_link(no_cluster: None) -> None:
    try:
        done = lab("up", "--nodes", "2", "--rate", "100mbit", "--flow-cap", "0.5")
        assert done.returncode == 0, done.stderr
        one, four = measure_mbit(flows=1), measure_mbit(flows=4)
        assert one == pytest.approx(50, rel=0.15)
        assert four == pytest.approx(100, rel=0.15)
    finally:
        assert lab("down").returncode == 0


def measure_mbit(flows: int) -> float:
    """What `flows` connections from node 0 to node 1 carry together, in Mbit/s of payload and headers, by node 1's own
    counter: shaping counts both."""
    ports = [str(5001 + 3 * index) for index in range(flows)]
    sink = subprocess.Popen([*enter(1), sys.executable, "-c", _SINK, *ports], stdout=subprocess.PIPE, text=True)
    try:
        assert sink.stdout is not None
        assert sink.stdout.readline() == "listening\n"
        before, begin = cluster.counters(cluster.load())[1].received, time.monotonic()
        subprocess.run([*enter(0), sys.executable, "-c", _SOURCE, network.address(1), *ports], check=True, timeout=60)
        seconds = time.monotonic() - begin
        return (cluster.counters(cluster.load())[1].received - before) * 8e-6 / seconds
    finally:
        sink.kill()
        sink.wait()


def enter(node: int) -> list[str]:
    return ["ip", "netns", "exec", network.node_name(node)]


# Accepts one connection on each port and reads.
_SINK = """
import selectors, socket, sys
chosen = selectors.DefaultSelector()
for port in sys.argv[1:]:
    chosen.register(socket.create_server(("", int(port))), selectors.EVENT_READ, "door")
print("listening", flush=True)
while True:
    for key, _ in chosen.select():
        if key.data == "door":
            chosen.register(key.fileobj.accept()[0], selectors.EVENT_READ, "flow")
        elif not key.fileobj.recv(1 << 16):
            chosen.unregister(key.fileobj)
"""
# Writes to all for two seconds, whoever takes it.
_SOURCE = """
import selectors, socket, sys, time
chosen = selectors.DefaultSelector()
for port in sys.argv[2:]:
    flow = socket.create_connection((sys.argv[1], int(port)))
    flow.setblocking(False)
    chosen.register(flow, selectors.EVENT_WRITE)
end = time.monotonic() + 2
while time.monotonic() < end:
    for key, _ in chosen.select(0.1):
        try:
            key.fileobj.send(bytes(1 << 14))
        except BlockingIOError:
            pass
"""
