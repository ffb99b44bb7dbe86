"""How short jobs begin, on ranks that nobody binds: native and ours in turns, many jobs under each MPI.

    python bench/beginnings.py --jobs 100 --mpi mpich-5,openmpi-5,intel [-n 2] [--ms 100] [--together]

A launcher that binds nothing starts ranks wherever it runs itself: now and then two on one core. What the first 100 ms
of 4-byte broadcasts take then depends on how soon the kernel parts them (docs/adr/0021). Each job tells its own
median; one whose median over the first 20 ms is above 10 us began slowly. Arms: native, ours, spin (ours with
ESPALIER_WAIT=spin). Keeps every job's numbers in build/beginnings/MPI.jsonl and prints a table. Exit code 1 where more
of our jobs began slowly than of native's. Needs a machine with nothing else to do: how many processors others kept busy
is printed with the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from espalier.jobs.launch import Job, build_command, measuring_job
from espalier.jobs.mpis import Family, Mpi, select_mpi

ROOT = Path(__file__).parents[1]
WORKERS = ROOT / "build" / "release" / "bench"
SLOW_US = 10.0
ARMS = {"native": {}, "ours": {}, "spin": {"ESPALIER_WAIT": "spin"}}


@dataclass(frozen=True)
class Beginning:
    """One job's first moments."""

    arm: str
    first_us: float
    median_us: float
    p99_us: float
    early_median_us: float
    early_p99_us: float
    longest_us: float
    settled_ms: float
    others: float  # processors that others kept busy meanwhile, launcher included

    @property
    def is_slow(self) -> bool:
        return self.early_median_us > SLOW_US


def make_job(mpi: Mpi, arm: str, options: argparse.Namespace) -> Job:
    """Ranks that nobody binds."""
    command = [str(WORKERS / f"bench_beginnings_{mpi.abi}"), "--ms", str(options.ms)]
    command += ["--together"] if options.together else []
    settings = {"ESPALIER_TABLE": "off", **ARMS[arm], **({"I_MPI_PIN": "0"} if mpi.family is Family.INTEL else {})}
    flags = ["--bind-to", "none"] if mpi.family is Family.OPENMPI else []
    return replace(measuring_job(mpi, command, options.ranks, settings), native=arm == "native", launcher_flags=flags)


def busy_and_all() -> tuple[float, float]:
    """What the processors have done so far, in ticks."""
    fields = [int(it) for it in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def wait_for_quiet(patience_s: float, processors: int) -> float:
    """Until less than a tenth of one processor is busy, or patience is at its end; how many are."""
    end = time.monotonic() + patience_s
    while True:
        before = busy_and_all()
        time.sleep(0.1)
        after = busy_and_all()
        busy = processors * (after[0] - before[0]) / max(1.0, after[1] - before[1])
        if busy < 0.1 or time.monotonic() > end:
            return busy


def run_job(mpi: Mpi, arm: str, options: argparse.Namespace) -> Beginning | None:
    """None for a job that failed, which is said."""
    words, environment = build_command(make_job(mpi, arm, options))
    busy = wait_for_quiet(options.patience, options.processors)
    prefix = ["env", *(f"{name}={value}" for name, value in environment.items())]
    try:
        done = subprocess.run([*prefix, *words], capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        print(f"{mpi} {arm}: a job did not end", file=sys.stderr)
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        print(f"{mpi} {arm}: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return None
    facts: dict[str, Any] = json.loads(lines[0])
    del facts["rounds"]
    return Beginning(arm, others=round(busy, 2), **facts)


def tell(mpi: Mpi, arm: str, jobs: Sequence[Beginning]) -> None:
    """One line of the table."""
    early = sorted(job.early_median_us for job in jobs)
    settled = sorted(job.settled_ms for job in jobs)
    columns = (
        f"{statistics.median(early):8.2f} {early[int(len(early) * 0.9)]:8.2f} {early[-1]:8.1f}",
        f"{statistics.median(job.early_p99_us for job in jobs):8.2f}",
        f"{statistics.median(settled):8.2f} {settled[int(len(settled) * 0.9)]:8.2f} {settled[-1]:8.1f}",
        f"{statistics.median(job.first_us for job in jobs) / 1e3:8.2f}",
        f"{sum(job.is_slow for job in jobs):4} of {len(jobs):4}",
        f"{statistics.mean(job.others for job in jobs):6.2f}",
    )
    print(f"{mpi!s:16} {arm:7} {' '.join(columns)}", flush=True)


def campaign(mpi: Mpi, options: argparse.Namespace) -> bool:
    """All jobs under one MPI. Whether no more of ours began slowly than of native's."""
    arms = options.arms.split(",")
    jobs: dict[str, list[Beginning]] = {arm: [] for arm in arms}
    options.output.mkdir(parents=True, exist_ok=True)
    with (options.output / f"{mpi.family}-{mpi.version}.jsonl").open("w") as file:
        for number in range(options.jobs):
            for arm in arms if number % 2 == 0 else reversed(arms):
                begun = run_job(mpi, arm, options)
                if begun is None:
                    continue
                jobs[arm].append(begun)
                file.write(json.dumps(vars(begun)) + "\n")
                file.flush()
    for arm in arms:
        if jobs[arm]:
            tell(mpi, arm, jobs[arm])
    slow = {arm: sum(job.is_slow for job in it) / len(it) if it else 1.0 for arm, it in jobs.items()}
    return slow.get("ours", 0.0) <= slow.get("native", 1.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100, help="of each arm, under each MPI")
    parser.add_argument("--mpi", default="mpich-5,openmpi-5")
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--ms", type=float, default=100)
    parser.add_argument("--together", action="store_true", help="all ranks begin on one core")
    parser.add_argument("--arms", default="native,ours", help=", ".join(ARMS))
    parser.add_argument("--patience", type=float, default=5, help="seconds to wait for others before each job")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "beginnings")
    options = parser.parse_args()
    options.processors = os.cpu_count() or 1
    print("us of a call over the first 20 ms: median, p90 and worst of the jobs' medians; median of their p99;")
    print("ms until settled: median, p90, worst; ms of the first calls; jobs that began slowly; others' processors")
    fine = [campaign(select_mpi(name), options) for name in options.mpi.split(",")]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
