"""Slurm on the emulated cluster: what it is told, what it needs, and, as root (`make lab`), that nothing of it stays.

What its users type is tested in tests/mpi/test_slurm.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.lab import cluster, slurm
from espalier.lab.slurm import Node, Site, format_config

LAB = [sys.executable, "-m", "espalier", "lab"]


def a_site(prolog: Path | None = None) -> Site:
    nodes = tuple(Node(f"node{number}", f"10.77.0.{10 + number}", ()) for number in range(3))
    return Site(Path("/state"), Node("front", "10.77.0.1", ()), nodes, 8, prolog)


def test_the_configuration_names_every_node_once_and_keeps_all_files_in_one_folder() -> None:
    lines = format_config(a_site()).splitlines()
    nodes = [line for line in lines if line.startswith("NodeName=")]
    assert len(nodes) == 3
    assert "NodeName=node1 NodeHostname=node1 NodeAddr=10.77.0.11 CPUs=8 State=UNKNOWN" in nodes
    assert "SlurmctldHost=front(10.77.0.1)" in lines
    paths = [line.partition("=")[2].removeprefix("socket=") for line in lines if "/" in line and "plug" not in line]
    own = [path for path in paths if path.startswith("/")]
    assert own
    assert all(path.startswith("/state/") for path in own)


def test_a_prolog_is_told_only_where_there_is_one() -> None:
    assert "TaskProlog" not in format_config(a_site())
    assert "TaskProlog=/site/prolog.sh" in format_config(a_site(Path("/site/prolog.sh"))).splitlines()


def test_what_is_not_installed_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm.shutil, "which", lambda tool, path=None: None if tool == "munged" else f"/bin/{tool}")
    with pytest.raises(UserError, match="--slurm needs munged") as caught:
        slurm.check_means()
    assert "apt-get install" in caught.value.remedy


def daemons() -> list[str]:
    """Processes of Slurm and munge that run, whoever has started them; not those that nobody has waited for yet."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if Path(words[0]).name in ("munged", "slurmctld", "slurmd", "slurmstepd:"):
            found.append(" ".join(words))
    return found


@pytest.fixture
def no_cluster() -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    if cluster.STATE.exists():
        pytest.skip("a cluster is up, and not ours")
    try:
        slurm.check_means()
    except UserError as error:
        pytest.skip(error.message)
    before = daemons()
    yield
    subprocess.run([*LAB, "down"], capture_output=True, check=True, timeout=60)
    assert not cluster.STATE.exists()
    assert daemons() == before


def call(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LAB, *words], capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.lab
def test_down_ends_slurm_and_the_jobs_that_run_on_it(no_cluster: None) -> None:
    done = call("up", "--nodes", "2", "--rate", "1gbit", "--slurm", "--cpus", "2")
    assert done.returncode == 0, done.stderr
    assert json.loads(call("status", "--json").stdout)["slurm"]
    assert sorted(call("enter", "--", "srun", "-N2", "hostname").stdout.split()) == ["node0", "node1"]
    job = call("enter", "--", "sbatch", "--output=/dev/null", "--wrap=sleep 4321")
    assert "Submitted batch job" in job.stdout
    sleeping = ["pgrep", "-f", "sleep 4321"]
    deadline = time.monotonic() + 20
    while subprocess.run(sleeping, capture_output=True, check=False).returncode and time.monotonic() < deadline:
        time.sleep(0.2)
    assert call("down").returncode == 0
    assert subprocess.run(sleeping, capture_output=True, check=False).returncode == 1


@pytest.mark.lab
def test_a_slurm_that_does_not_come_up_takes_the_cluster_with_it(
    no_cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "format_config", lambda site: "ClusterName=lab\nNonsense=yes\n")
    with pytest.raises(UserError, match="slurmctld"):
        cluster.up(cluster.network.parse_spec(2, "1gbit", None), cluster.WantedSlurm(2))
    assert not cluster.STATE.exists()
