"""What communicators cost beside the MPI's own: memory, set-up, and how many may live at a time.

    python bench/communicators.py [--mpi mpich-5,openmpi-5,intel] [--jobs 5] [--part Memory] [--page FILE]

Jobs with and without Espalier take turns; of each figure the median over jobs is given, with its range. Prints a table
for each part and writes them as a page where one is named. Takes some ten minutes on two cores. Where ranks outnumber
cores, as with eight and 64 of them on two, times are those of ranks that take turns, natively as well.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "mpi"))
from espalier.jobs.mpis import Family
from launch import JobTimedOut, TestMpi, find_test_mpis

ROOT = Path(__file__).resolve().parents[1]

# As users have it: communicators begin with native calls, and nothing was tuned or learned before.
SETTINGS = {"ESPALIER_SETUP_CALLS": "10", "ESPALIER_STORE": "off", "ESPALIER_TABLE": "off", "ESPALIER_LEARN": "on"}
AT_ONCE = {"ESPALIER_SETUP_CALLS": "0"}
USES = 12  # more than ESPALIER_SETUP_CALLS, or nothing would be set up


@dataclass(frozen=True)
class Arms:
    """One figure of several jobs, natively and with Espalier."""

    native: list[float]
    ours: list[float]

    def show(self, digits: int) -> str:
        """Both medians, and the ratio of the neighbouring jobs, native by ours, with its range."""
        ratios = sorted(native / ours for native, ours in zip(self.native, self.ours, strict=True))
        native, ours = statistics.median(self.native), statistics.median(self.ours)
        spread = f"{ratios[0]:.2f} – {ratios[-1]:.2f}"
        return f"{native:.{digits}f} | {ours:.{digits}f} | {statistics.median(ratios):.2f} ({spread})"


class JobFailed(Exception):
    """An MPI does not get through a job."""


def run_job(mpi: TestMpi, name: str, arguments: Sequence[str], ranks: int, settings: Mapping[str, str] | None) -> str:
    """What a benchmark of bench/micro prints; natively where there are no settings."""
    program = ROOT / "build" / "release" / "bench" / f"{name}_{mpi.abi}"
    outcome = mpi.run([str(program), *arguments], ranks, native=settings is None, settings=settings, timeout=300)
    if outcome.code != 0:
        raise JobFailed(f"{mpi.name}, {ranks} ranks: {name} {' '.join(arguments)}\n{outcome}")
    return outcome.out


def take_turns(
    jobs: int, run: Callable[[Mapping[str, str] | None], dict[str, float]], settings: Mapping[str, str]
) -> dict[str, Arms]:
    """`run(settings)` gives a job's figures by name; None: without Espalier."""
    pairs = [(run(None), run(settings)) for _ in range(jobs)]
    return {
        name: Arms([native[name] for native, _ in pairs], [ours[name] for _, ours in pairs]) for name in pairs[0][0]
    }


def read_live(text: str) -> dict[str, float]:
    """Of the last line of bench_live_communicators, KB per communicator and rank."""
    private, shared = re.findall(r"([\d.]+) KB private and +([\d.]+) KB shared", text)[-1]
    return {"private": float(private), "shared": float(shared)}


def measure_memory(mpis: Sequence[TestMpi], jobs: int) -> Iterator[str]:
    """What stays of a communicator that is used a little."""
    yield "| MPI | ranks | live | native, KB | with Espalier, KB | of that ours, private + shared |"
    yield "|---|---|---|---|---|---|"
    for mpi in mpis:
        for ranks in (2, 8):
            live = find_bearable(mpi, ranks)
            arms = take_turns(
                jobs,
                lambda settings, mpi=mpi, ranks=ranks, live=live: read_live(
                    run_job(mpi, "bench_live_communicators", [str(live), str(USES)], ranks, settings)
                ),
                SETTINGS,
            )
            native, ours = (
                {name: statistics.median(getattr(figures, arm)) for name, figures in arms.items()}
                for arm in ("native", "ours")
            )
            private, shared = ours["private"] - native["private"], ours["shared"] - native["shared"]
            yield (
                f"| {mpi.name} | {ranks} | {live} | {native['private'] + native['shared']:.1f} "
                f"| {ours['private'] + ours['shared']:.1f} | {private:.1f} + {shared:.1f} |"
            )


def measure_lives(mpis: Sequence[TestMpi], jobs: int) -> Iterator[str]:
    """Duplicate, use, free: both ways in turns within one job."""
    yield "| MPI | ranks | uses | native, µs | with Espalier, µs | native ÷ ours (range of jobs) |"
    yield "|---|---|---|---|---|---|"
    for mpi in mpis:
        for ranks, rounds in ((2, 501), (8, 101)):
            texts = [run_job(mpi, "bench_communicators", [str(rounds)], ranks, SETTINGS) for _ in range(jobs)]
            found = [dict(read_turns(text)) for text in texts]
            for uses in found[0]:
                arms = Arms([job[uses][0] for job in found], [job[uses][1] for job in found])
                yield f"| {mpi.name} | {ranks} | {uses} | {arms.show(0)} |"


def find_bearable(mpi: TestMpi, ranks: int) -> int:
    """So many communicators the MPI itself keeps alive: with 1000 of two ranks Intel MPI 2021.18 ends in an error."""
    for live in (1000, 300, 100):
        try:
            run_job(mpi, "bench_live_communicators", [str(live), "1"], ranks, None)
        except JobFailed:
            continue
        return live
    raise SystemExit(f"{mpi.name} does not keep 100 communicators of {ranks} ranks alive")


def read_turns(text: str) -> Iterator[tuple[int, tuple[float, float]]]:
    """By number of uses: us natively and with Espalier."""
    for uses, native, ours in re.findall(r"^ *(\d+) uses: native ([\d.]+) us, ours ([\d.]+) us", text, re.MULTILINE):
        yield int(uses), (float(native), float(ours))


def read_first(text: str) -> dict[str, float]:
    """What bench_first_call prints, ms."""
    number = r"([\d.]+)"
    found = re.search(f"MPI_Init {number}, .*?broadcast {number}; MPI_Comm_dup {number}, .*?broadcast {number}", text)
    if found is None:
        raise SystemExit(f"bench_first_call printed something else:\n{text}")
    init, first, made, first_of_it = (float(group) for group in found.groups())
    return {
        "MPI_Init and the first broadcast": init + first,
        "that broadcast": first,
        "MPI_Comm_dup and the first broadcast of what it makes": made + first_of_it,
    }


def measure_first(mpis: Sequence[TestMpi], jobs: int) -> Iterator[str]:
    """How a job begins, and a communicator that is set up at once."""
    yield "| MPI | ranks | | native, ms | with Espalier, ms | native ÷ ours (range of jobs) |"
    yield "|---|---|---|---|---|---|"
    for mpi in mpis:
        for ranks in (8, 64):
            arms = take_turns(
                jobs,
                lambda settings, mpi=mpi, ranks=ranks: read_first(
                    run_job(mpi, "bench_first_call", [], ranks, settings)
                ),
                {**SETTINGS, **AT_ONCE},
            )
            for what, figures in arms.items():
                yield f"| {mpi.name} | {ranks} | {what} | {figures.show(2)} |"


def measure_many(mpis: Sequence[TestMpi]) -> Iterator[str]:
    """As many live communicators as were asked for, or as there could be."""
    yield "| MPI | ranks | wanted | native | with Espalier |"
    yield "|---|---|---|---|---|"
    for mpi in [it for it in mpis if it.mpi.family is Family.OPENMPI]:
        for ranks, wanted in ((8, 10_000), (64, 1000)):
            reached = [count_live(mpi, ranks, wanted, settings) for settings in (None, SETTINGS)]
            yield f"| {mpi.name} | {ranks} | {wanted} | {reached[0]} | {reached[1]} |"


def count_live(mpi: TestMpi, ranks: int, wanted: int, settings: Mapping[str, str] | None) -> str:
    try:
        text = run_job(mpi, "bench_live_communicators", [str(wanted), str(USES)], ranks, settings)
    except JobTimedOut:
        return "no end"
    except JobFailed:
        return "the job ends with an error"
    found = re.findall(r"^ *(\d+) of \d+ ranks.*?([\d.]+) KB private and +([\d.]+) KB shared", text, re.MULTILINE)
    live, private, shared = found[-1]
    return f"{live}, {float(private) + float(shared):.1f} KB each and rank"


HEAD = """# What communicators cost

Written by `python bench/communicators.py --jobs {jobs} --page docs/communicators.md` on {machine}.
Jobs with and without Espalier take turns, {jobs} of each; medians, and the range of neighbouring jobs' ratios (above 1
Espalier takes less). The settings are the defaults, nothing was learned before: a communicator other than
MPI_COMM_WORLD begins with ten native calls ([ADR 23](adr/0023-a-communicator-owns-little.md)). Ranks that outnumber
cores take turns, natively as well.
"""
PARTS = {
    "Memory": "Resident, for each communicator and rank, of duplicates that were used 12 times with 8 bytes and stay "
    "alive (`bench_live_communicators`): what ranks share counts once.",
    "Short lives": "Duplicate, so many allreduces of 8 bytes, free, for the slowest rank: both ways in turns within "
    "one job (`bench_communicators`).",
    "Set-up": "`bench_first_call`, for the slowest rank. Of communicators the median of 21, each set up at once, "
    "without native calls before (ESPALIER_SETUP_CALLS=0): what Espalier adds to MPI_Comm_dup.",
    "Many at a time": "`bench_live_communicators`, under Open MPI: MPICH 5 makes 2045 communicators, and with "
    "1000 of two ranks Intel MPI ends in an error of its own.",
}


def describe_machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(os.sched_getaffinity(0))} processors ({models[0] if models else platform.machine()})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpi", default="mpich-5,openmpi-5,intel")
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--part", choices=list(PARTS))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    present = find_test_mpis()
    mpis = [present[name] for name in options.mpi.split(",")]
    measured = {
        "Memory": measure_memory(mpis, options.jobs),
        "Short lives": measure_lives(mpis, options.jobs),
        "Set-up": measure_first(mpis, options.jobs),
        "Many at a time": measure_many(mpis),
    }
    if options.part is not None:
        measured = {options.part: measured[options.part]}
    page = [HEAD.format(machine=describe_machine(), jobs=options.jobs)]
    for name, rows in measured.items():
        print(f"\n{name}\n", flush=True)
        page += [f"## {name}\n", f"{PARTS[name]}\n"]
        for row in rows:
            print(row, flush=True)
            page.append(row)
        page.append("")
    if options.page is not None:
        options.page.write_text("\n".join(page))


if __name__ == "__main__":
    main()
