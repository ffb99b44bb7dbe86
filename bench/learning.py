"""What a program gets without a table: native, untuned, and learning from its own calls, in jobs that take turns.

    python bench/learning.py [--mpi mpich-5] [-n 2] [--calls 2000] [--largest 262144] [--rounds 5] [--store]

For each operation and size: native's median call, and native / Espalier of the last hundred calls without and with
learning, of the first hundred with it, and of all calls of the run (means). With --store each round ends with a second
job that begins with what was learned.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "mpi"))
from launch import TestMpi, find_test_mpis

Key = tuple[str, int]


@dataclass(frozen=True)
class Times:
    """Microseconds per call: medians of the first and of the last hundred, and the mean of all."""

    first: float
    last: float
    all: float


def run_job(mpi: TestMpi, ranks: int, arguments: list[str], settings: Mapping[str, str] | None) -> dict[Key, Times]:
    program = Path(
        str(mpi.program("conformance")).replace("tests/mpi", "bench").replace("conformance", "bench_learning")
    )
    outcome = mpi.run([program, *arguments], ranks, native=settings is None, settings=settings or {}, timeout=1200)
    if outcome.code != 0:
        raise SystemExit(f"the job ended with code {outcome.code}:\n{outcome.err}")
    times = {}
    for line in outcome.out.splitlines():
        name, size, first, last, mean = line.split()
        times[name, int(size)] = Times(float(first), float(last), float(mean))
    return times


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", default="mpich-5")
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--largest", type=int, default=262144)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    mpi = find_test_mpis()[options.mpi]
    arguments = [str(options.calls), str(options.largest)]
    common = dict(setting.split("=", 1) for setting in options.set)
    arms: dict[str, list[dict[Key, Times]]] = {"native": [], "off": [], "on": [], "again": []}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as store:
            place = {**common, "ESPALIER_STORE": store if options.store else "off", "ESPALIER_TABLE": "off"}
            arms["native"].append(run_job(mpi, options.n, arguments, None))
            arms["off"].append(run_job(mpi, options.n, arguments, {**place, "ESPALIER_LEARN": "off"}))
            arms["on"].append(run_job(mpi, options.n, arguments, {**place, "ESPALIER_LEARN": "on"}))
            if options.store:
                arms["again"].append(run_job(mpi, options.n, arguments, {**place, "ESPALIER_LEARN": "on"}))
    report(arms)


def report(arms: Mapping[str, list[dict[Key, Times]]]) -> None:
    columns = {
        "off": [("off", "last"), ("off", "all")],
        "on": [("on", "first"), ("on", "last"), ("on", "all")],
        "again": [("again", "first"), ("again", "last"), ("again", "all")],
    }
    shown = [column for arm, those in columns.items() if arms[arm] for column in those]
    print(f"{'operation':15}{'bytes':>8}{'native us':>11}" + "".join(f"{arm + ' ' + what:>13}" for arm, what in shown))
    ratios: dict[tuple[str, str], list[float]] = {column: [] for column in shown}
    for key in arms["native"][0]:
        line = f"{key[0]:15}{key[1]:8}{statistics.median(job[key].last for job in arms['native']):11.2f}"
        for arm, what in shown:
            base = "last" if what == "first" else what
            pairs = zip(arms["native"], arms[arm], strict=True)
            ratio = statistics.median(getattr(native[key], base) / getattr(ours[key], what) for native, ours in pairs)
            ratios[arm, what].append(ratio)
            line += f"{ratio:13.2f}"
        print(line)
    print(f"{'geometric mean':34}" + "".join(f"{geometric_mean(ratios[column]):13.2f}" for column in shown))
    print(f"{'least':34}" + "".join(f"{min(ratios[column]):13.2f}" for column in shown))


if __name__ == "__main__":
    try:
        main()
    except (KeyError, subprocess.SubprocessError) as error:
        raise SystemExit(f"learning: {error}") from error
