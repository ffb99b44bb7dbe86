"""espalier bench nuioa: near and far seats, its worker, what is said where there is nothing to measure."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.jobs.launch import Job, Target, build_command
from espalier.jobs.libraries import find_nuioa_worker
from espalier.jobs.mpis import find_default_mpi
from espalier.measure import nuioa
from workshop import Command

_MACHINES = Path(__file__).parents[1] / "snapshots" / "machines"


def _seats(machine: str) -> nuioa.Seats | str:
    core: Any = load_core()
    return nuioa.find_seats(core, core.probe_node(str(_MACHINES / machine)))


def test_seats_are_the_nearest_and_the_farthest_numa_node() -> None:
    seats = _seats("opteron-4s.xml")
    assert isinstance(seats, nuioa.Seats)
    assert (seats.near, seats.far) == ("2-3", "4-5")
    assert "2.2 times as far" in seats.why


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ("arm-flat.xml", "has one NUMA node"),
        ("vm-no-pci.xml", "no network device is up"),
        ("xeon-2s-nowhere.xml", "where it sits is not known"),
    ],
)
def test_where_no_seat_is_better_there_is_nothing_to_measure(machine: str, why: str) -> None:
    seats = _seats(machine)
    assert isinstance(seats, str)
    assert why in seats


def test_this_machine_says_so_or_measures(command: Command) -> None:
    done = command("bench", "nuioa", "--sizes", "4K", "--rounds", "1", "--budget-ms", "1", "--json")
    if done.code != 0:  # several NUMA nodes, but no second host
        assert "as in a batch job" in done.err
        return
    report = json.loads(done.out)
    assert bool(report.get("nothing")) != bool(report["rows"])


def test_processors_named_by_hand_are_measured_anywhere(command: Command) -> None:
    everywhere = load_core().probe_cpus()  # ranks on one processor would wait for each other's time slices
    options = (
        "--near",
        everywhere,
        "--far",
        everywhere,
        "--sizes",
        "4K,32K",
        "--rounds",
        "2",
        "--budget-ms",
        "1",
        "--json",
    )
    done = command("bench", "nuioa", *options)
    assert done.code == 0, done.err
    rows = json.loads(done.out)["rows"]
    assert [(row["op"], row["bytes"]) for row in rows] == [
        (op, size) for size in (4096, 32768) for op in ("pingpong", "bcast", "gather")
    ]
    for row in rows:
        assert set(row["us"]) == {"near/near", "near/far", "far/near", "far/far"}
        assert all(us > 0 for us in row["us"].values())


@pytest.mark.parametrize(("option", "value", "message"), [("--sizes", "3Q", "3Q"), ("--mpi", "nowhere", "nowhere")])
def test_mistakes_are_named_even_where_there_is_nothing_to_measure(
    command: Command, option: str, value: str, message: str
) -> None:
    done = command("bench", "nuioa", option, value)
    assert done.code == 2
    assert message in done.err


def test_ranks_that_share_a_host_measure_no_card() -> None:
    mpi = find_default_mpi()
    cpus = load_core().probe_cpus()
    worker = [str(find_nuioa_worker(mpi.abi)), "--sizes", "4096", "--near", cpus, "--far", cpus]
    argv, environment = build_command(Job(Target(mpi, True, "benchmark"), 2, worker, native=True))
    done = subprocess.run(argv, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "ranks share a host, so their messages pass no network card" in done.stderr
    assert '"op"' not in done.stdout


def test_one_list_of_processors_is_not_enough(command: Command) -> None:
    done = command("bench", "nuioa", "--near", "0")
    assert done.code == 2
    assert "--near and --far belong together" in done.err


def test_gains_compare_placements_of_one_round() -> None:
    def sample(round_: int, root: str, others: str, us: float) -> nuioa.Sample:
        return nuioa.Sample("bcast", 1024, round_, root, others, us)

    samples = []
    for round_, slow in enumerate((1.0, 3.0, 10.0)):  # the machine itself gets slower
        samples += [sample(round_, "near", "near", 2 * slow), sample(round_, "near", "far", 3 * slow)]
        samples += [sample(round_, "far", "near", 2 * slow), sample(round_, "far", "far", 3 * slow)]
    (row,) = nuioa.condense(samples)
    assert row.others_gain == (50.0, 50.0, 50.0)
    assert row.root_gain == (0.0, 0.0, 0.0)
    assert row.us["near/far"] == 9.0


def test_a_broken_line_is_named() -> None:
    with pytest.raises(UserError, match="cannot be read"):
        nuioa._parse('{"op": "bcast"}')
