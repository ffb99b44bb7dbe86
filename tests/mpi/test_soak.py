"""Random jobs for as long as one likes: SOAK_MINUTES (30 by default), SOAK_SEED. Run with `make soak`."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from launch import JobTimedOut, Outcome, TestMpi
from places import make_places
from test_lifetime import assert_nothing_left, end_processes, read_processes

GetMpi = Callable[[str], TestMpi]
MPIS = ("mpich-5", "openmpi-5", "intel", "mpich-4", "openmpi-4")
JOB_SECONDS = 20
# What `ulimit` lowers for a job.
LIMITS = ("", "", "ulimit -f 20000", "ulimit -n 200")


def draw_settings(dice: random.Random) -> dict[str, str]:
    """Placement, memory and set-up of one job."""
    return {
        "ESPALIER_VIRTUAL_NODES": dice.choice(["1", "1", "2", "cyclic:2", "2,1,1"]),
        "ESPALIER_SETUP_CALLS": dice.choice(["0", "0", "3", "10"]),
        "ESPALIER_SHM_LIMIT": dice.choice(["1G", "1G", "8M", "512K"]),
        "ESPALIER_SHM_WINDOW": dice.choice(["256K", "256K", "16K"]),
        "ESPALIER_SINGLE_COPY": dice.choice(["auto", "off"]),
    }


def limited(limit: str, command: list[str]) -> list[str]:
    return ["sh", "-c", f'{limit}; exec "$@"', "sh", *command] if limit else command


@cache
def lives_within(mpi: TestMpi, limit: str, ranks: int) -> bool:
    """Whether the MPI itself does: segments of its own may be longer, and grow with the ranks."""
    outcome = mpi.run(limited(limit, [mpi.program("soak"), "1", "1", "1", "plain"]), ranks, native=True)
    return outcome.code == 0 and "soak: ok" in outcome.out


def find_wrong(outcome: Outcome) -> set[str]:
    """What of its results a job of `soak` says to be wrong."""
    return set(re.findall(r"soak: wrong ([\w: ]+), call", outcome.err))


def is_wrong_itself(mpi: TestMpi, command: list[str], ranks: int, ours: Outcome) -> bool:
    """Whether the MPI gives wrong results of the same kinds in this job without Espalier.

    Intel MPI 2021.18 does on six ranks that use several communicators, with one thread (`soak 930136320 4 1 plain`) and
    with three (`soak 254482808 4 3 plain`): wrong broadcasts, each time."""
    wrong = find_wrong(ours)
    if ours.code == 0 or not wrong:
        return False
    native = mpi.run(command, ranks, native=True, timeout=JOB_SECONDS * 8)
    print(f"{mpi.name} without Espalier: {native.out.strip()} {native.err.strip()}")
    return wrong <= find_wrong(native)


def soak(mpi: TestMpi, dice: random.Random) -> None:
    """A job that makes and uses what it likes."""
    settings = draw_settings(dice)
    ranks = 4 if settings["ESPALIER_VIRTUAL_NODES"] == "2,1,1" else dice.choice([2, 3, 4, 6])
    threads = dice.choice([1, 1, 3])
    limit = dice.choice(LIMITS)
    if limit and not lives_within(mpi, limit, ranks):
        limit = ""
    leaves_some = settings["ESPALIER_SETUP_CALLS"] != "0" or settings["ESPALIER_SHM_LIMIT"] != "1G" or bool(limit)
    command = [mpi.program("soak"), str(dice.randrange(1 << 30)), str(JOB_SECONDS), str(threads)]
    if leaves_some:
        command.append("plain")
    command = limited(limit, command)
    what = f"{mpi.name}, {ranks} ranks, {threads} threads, {limit or 'no limit'}, {settings}: {command}"
    try:
        outcome = mpi.run(command, ranks, settings=settings, timeout=JOB_SECONDS * 8)
    except JobTimedOut as hang:
        raise AssertionError(f"{what}\n{hang}") from None
    if leaves_some and is_wrong_itself(mpi, command, ranks, outcome):
        return
    assert outcome.code == 0, f"{what}\n{outcome}"
    grown = re.search(r"private memory (\d+) -> (\d+) KB", outcome.out)
    assert grown is not None, f"{what}\n{outcome}"
    # An MPI's own pools, and malloc's, grow a little; a leak of ours grows with the number of communicators.
    assert int(grown[2]) <= 1.5 * int(grown[1]) + 20_000, f"{what}\n{outcome}"


def kill(mpi: TestMpi, dice: random.Random, folder: Path) -> None:
    """A job in the middle of collectives, all of whose ranks are killed."""
    places = make_places(folder)
    before = places.named()
    line, environment = mpi.command([mpi.program("endless")], dice.choice([2, 4]), settings=draw_settings(dice))
    with places.start(line, environment) as job:
        assert job.stdout is not None
        processes = read_processes(job.stdout)
        time.sleep(dice.random())
        try:
            for process in dice.sample(processes, len(processes)):
                os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the launcher was faster
        try:
            job.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            end_processes(processes)
            raise
    assert_nothing_left(processes, places, before)


@pytest.mark.soak
def test_random_jobs_neither_hang_nor_grow_nor_differ_between_ranks(get_mpi: GetMpi, tmp_path: Path) -> None:
    seed = int(os.environ.get("SOAK_SEED", time.time_ns() % 1_000_000))
    end = time.monotonic() + 60 * float(os.environ.get("SOAK_MINUTES", "30"))
    dice = random.Random(seed)
    jobs = 0
    while time.monotonic() < end:
        mpi = get_mpi(MPIS[jobs % len(MPIS)])
        if dice.random() < 0.1:
            (tmp_path / str(jobs)).mkdir()
            kill(mpi, dice, tmp_path / str(jobs))
        else:
            soak(mpi, dice)
        jobs += 1
        print(f"SOAK_SEED={seed}: {jobs} jobs passed", flush=True)
