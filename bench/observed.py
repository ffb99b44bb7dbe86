"""What ESPALIER_PROFILE adds to short calls: jobs of two ranks with and without, in turns.

    python bench/observed.py [--mpi mpich-5] [--pairs 11] [--rounds 100] [--calls 6000]

For each operation: nanoseconds per call without a profile and with one, medians of the jobs' median rounds, and the
ratio of neighbouring jobs, median and range. Nothing is learned meanwhile, so that both do the same. Needs a core for
each rank, and a quiet machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "mpi"))
from launch import TestMpi, find_test_mpis

RANKS = 2
SETTINGS = {"ESPALIER_LEARN": "off", "ESPALIER_STORE": "off", "ESPALIER_TABLE": "off"}


def run_job(mpi: TestMpi, arguments: list[str], profile: str) -> dict[str, float]:
    program = Path(
        str(mpi.program("conformance")).replace("tests/mpi", "bench").replace("conformance", "bench_observed")
    )
    settings = {**SETTINGS, **({"ESPALIER_PROFILE": profile} if profile else {})}
    outcome = mpi.run([program, *arguments], RANKS, settings=settings)
    if outcome.code != 0:
        raise SystemExit(f"the job ended with code {outcome.code}:\n{outcome.err}")
    lines = (line.split() for line in outcome.out.splitlines())
    return {name: float(median) for name, _, median in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", default="mpich-5")
    for name, value in (("pairs", 11), ("rounds", 100), ("calls", 6000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    mpi = find_test_mpis()[options.mpi]
    arguments = [str(options.rounds), str(options.calls)]
    with tempfile.TemporaryDirectory() as folder:
        profile = str(Path(folder) / "profile.json")
        pairs = [(run_job(mpi, arguments, ""), run_job(mpi, arguments, profile)) for _ in range(options.pairs)]
    print("operation  without, ns  with, ns  ratio (range)")
    for name in pairs[0][0]:
        without, observed = ([pair[arm][name] for pair in pairs] for arm in (0, 1))
        ratios = [more / less for less, more in zip(without, observed, strict=True)]
        print(
            f"{name:<9}  {statistics.median(without):11.1f}  {statistics.median(observed):8.1f}  "
            f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
