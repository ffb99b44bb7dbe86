"""`espalier hang` on several hosts: those of the emulated cluster (as root, `make lab`), each with its own ranks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from espalier.jobs.launch import Hosts, Job, Target, build_command
from espalier.lab import cluster
from espalier.lab.network import parse_spec
from launch import TestMpi

GetMpi = Callable[[str], TestMpi]
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    if cluster.STATE.exists():
        pytest.skip("a cluster is up already, and others may be using it")
    spec = parse_spec(2, "500mbit", None)
    cluster.up(spec)
    try:
        yield cluster.hosts(spec, 2)
    finally:
        cluster.down()


@contextmanager
def standing(mpi: TestMpi, hosts: Hosts) -> Iterator[None]:
    """Four ranks, of which rank 2, the first of the second host, sleeps."""
    target, settings = Target(mpi.mpi, True, ""), {"ESPALIER_SETUP_CALLS": "0"}
    words = [mpi.program("standstill"), "sleep", "2"]
    job = Job(target, hosts.ranks, words, False, settings, hosts=hosts, library=mpi.espalier)
    argv, environment = build_command(job)
    with subprocess.Popen(
        argv, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert any(line.strip() == "standing" for line in process.stdout)
        try:
            yield
        finally:
            cluster.down()  # and whatever still runs there
            process.kill()


def ask(agent: Path, addresses: tuple[str, ...]) -> str:
    options = ["--hosts", ",".join(addresses), "--via", f"{agent} {{host}}"]
    words = [sys.executable, "-m", "espalier", "hang", *options]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout


def test_who_is_waited_for_is_named_with_its_host(get_mpi: GetMpi, hosts: Hosts) -> None:
    with standing(get_mpi("mpich-5"), hosts):
        deadline, said = time.monotonic() + 20, ""
        while time.monotonic() < deadline and "Rank 2" not in said:
            said = ask(hosts.agent, hosts.addresses)
    assert re.search(r"Rank 2 \(process \d+ on node1\) has not come; it is asleep", said), said
