"""Measures the topology service on a fabric of 4096 hosts and 448 switches.

    python bench/fabric/measure.py [--seconds 5] [--connections 64] [--json]

Writes the dumps, starts `espalier serve`, asks with bench_ask (build/release/bench), prints what it saw: service and
clients share the machine. Numbers of a busy machine mean little: the load average is printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from espalier.fabric.generated import FatTree, write

ROOT = Path(__file__).parents[2]
ASK = ROOT / "build" / "release" / "bench" / "bench_ask"
SETUP = ROOT / "build" / "release" / "bench" / "bench_setup"


def ask(service: int, *words: object) -> dict[str, Any]:
    """One measurement of bench_ask, with the processor time of both sides: that a busy machine does not change."""
    before = processor_s(service), children_s()
    done = subprocess.run([str(ASK), *map(str, words)], capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        return {"failed": done.stderr.strip() or done.stdout.strip()}
    facts: dict[str, Any] = json.loads(done.stdout)
    used = round(processor_s(service) - before[0], 3), round(children_s() - before[1], 3)
    return facts | {"service_cpu_s": used[0], "client_cpu_s": used[1]}


def set_up(port: str, hosts: str) -> dict[str, dict[str, str]]:
    """What a job's first use of the service costs: the table of bench_setup, a row for each number of leaders."""
    words = [str(SETUP), f"127.0.0.1:{port}", hosts, "32", "32", "256", "1024"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    head, *rows = done.stdout.splitlines()
    names = re.split(r"\s{2,}", head.strip())[1:-1]
    return {row.split()[0]: dict(zip(names, row.split()[1:], strict=True)) for row in rows}


def processor_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_for(log: Path, pattern: str) -> str:
    while (found := re.search(pattern, log.read_text())) is None:
        time.sleep(0.05)
    return found[1]


def megabytes(process: int, name: str) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) >> 10  # type: ignore[index]


def measure(folder: Path, seconds: float, connections: int) -> dict[str, Any]:
    log = folder.parent / "serve.log"
    with log.open("w") as file:
        options = ["--listen", "127.0.0.1:0", "--per-address", "16384"]
        service = subprocess.Popen([sys.executable, "-m", "espalier", "serve", str(folder), *options], stderr=file)
    try:
        port = wait_for(log, r"lines at \S+ port (\d+)")
        facts: dict[str, Any] = {
            "tables_mb": (folder / "dump_fts.txt").stat().st_size // 10**6,
            "load_s": float(wait_for(log, r"read in ([\d.]+) s")),
            "memory_mb": megabytes(service.pid, "VmHWM"),
        }
        facts["one request on the way"] = ask(service.pid, "queries", port, connections, 1, seconds)
        facts["16 requests on the way"] = ask(service.pid, "queries", port, connections, 16, seconds)
        for leaders, cost in set_up(port, "node[00000-04095]").items():
            facts[f"first use, {leaders} leaders"] = cost
        for metric in ("hops", "combined:65536"):
            facts[f"matrix {metric}"] = ask(service.pid, "matrix", port, metric, 1024, 9)
        facts["10000 connections"] = ask(service.pid, "hold", port, 10000, 3)
        facts["memory_after_mb"] = megabytes(service.pid, "VmRSS")
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)
    facts["load_average"] = round(os.getloadavg()[0], 1)
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "dumps"
        write(FatTree(pods=16, leaves=16, hosts=16, aggregations=8, cores=64), folder)
        facts = measure(folder, options.seconds, options.connections)
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        print(f"{name:24} {value}")


if __name__ == "__main__":
    main()
