"""Leaders that are not first ranks: jobs that pretend to sit in a machine with several NUMA nodes, and jobs about whose
places little or nothing can be known.

On virtual nodes every rank of a node is bound to another NUMA node of the paper's machine (tests/snapshots), whose card
hangs off the second: so local rank 1 speaks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cases import Case
from launch import CHECKOUT, Outcome, TestMpi
from stats import assert_handled, read_stats
from test_conformance import assert_passed, themes_for

GetMpi = Callable[[str], TestMpi]

MACHINES = CHECKOUT / "tests" / "snapshots" / "machines"
OPTERON = {"ESPALIER_MACHINE": str(MACHINES / "opteron-4s.xml"), "ESPALIER_MACHINE_MAPPING": "scattered"}

# Each goes through a part of what themes go through: what differs between MPIs is not what depends on who leads.
OFTEN = (
    Case("mpich-5", 8, "2", 0),
    Case("openmpi-5", 5, "3,2", 1),
    Case("intel", 5, "cyclic:2", 2),
    Case("mpich-4", 4, "2", 0),
    Case("openmpi-4", 4, "2", 1),
    Case("mpich-5-abi", 5, "2", 2),
    Case("intel-abi", 4, "cyclic:2", 0),
)
CASES = (
    *OFTEN,
    *(pytest.param(replace(case, part=None), marks=pytest.mark.long) for case in OFTEN),
    pytest.param(Case("openmpi-5", 8, "3,1,4"), marks=pytest.mark.long),
    pytest.param(Case("intel", 8, "cyclic:4"), marks=pytest.mark.long),
    pytest.param(Case("openmpi-4", 8, "2"), marks=pytest.mark.long),
)

# What goes between nodes; the rest is the same whoever speaks (test_conformance.py).
MOVING = ("communicators", "barriers", "movements", "reductions", "operators")


def said(outcome: Outcome, what: str) -> list[str]:
    return [line for line in outcome.err.splitlines() if line.startswith("espalier: ") and what in line]


def speakers(outcome: Outcome) -> list[str]:
    """Who speaks for the first node, and why: once for each communicator."""
    return [match[1] for line in said(outcome, "NIC: ") if (match := re.search(r"; rank (\d+ speaks .*)", line))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_call_moves_the_right_bytes_through_near_leaders(case: Case, get_mpi: GetMpi, tmp_path: Path) -> None:
    mpi, file = get_mpi(case.mpi), tmp_path / "stats.json"
    settings = {**case.settings, **OPTERON, "ESPALIER_STATS": str(file), "ESPALIER_VERBOSE": "2"}
    themes = [theme for theme in themes_for(mpi) if theme in MOVING]
    outcome = mpi.run([mpi.program("conformance"), *case.words, *themes], case.ranks, settings=settings, timeout=300)
    assert_passed(outcome)
    assert_handled(read_stats(file), 0.8)
    assert any(line.endswith("speaks for the first node: near their NIC") for line in speakers(outcome)), str(outcome)


def run_movements(mpi: TestMpi, settings: dict[str, str], before: Sequence[str] = ()) -> Outcome:
    """A short job on two nodes of four ranks; `before` starts each rank's program. Some of the sizes are enough to show
    that who speaks does so: all of them are the other tests' affair."""
    everything = {"ESPALIER_VIRTUAL_NODES": "2", "ESPALIER_VERBOSE": "2", "ESPALIER_VERIFY": "1", **settings}
    outcome = mpi.run([*before, mpi.program("conformance"), "--part", "0/3", "sizes"], 8, settings=everything)
    assert_passed(outcome)
    return outcome


@pytest.mark.parametrize(
    ("settings", "speaker"),
    [
        ({}, "1 speaks for the first node: near their NIC"),
        ({"ESPALIER_LEADERS": "natural"}, "0 speaks for the first node: as asked"),
        ({"ESPALIER_LEADERS": "spread"}, "1 speaks for the first node: on different NUMA nodes"),
        ({"ESPALIER_MACHINE_MAPPING": "unbound"}, "0 speaks for the first node: no rank is bound to a NUMA node"),
        ({"ESPALIER_MACHINE_MAPPING": "half"}, "2 speaks for the first node: near their NIC"),
    ],
)
def test_the_speaker_is_elected_by_policy_and_place(settings: dict[str, str], speaker: str, get_mpi: GetMpi) -> None:
    assert speakers(run_movements(get_mpi("mpich-5"), {**OPTERON, **settings}))[0] == speaker


def test_communicators_take_turns_among_equally_near_ranks(get_mpi: GetMpi) -> None:
    settings = {**OPTERON, "ESPALIER_MACHINE_MAPPING": "packed"}
    mpi = get_mpi("mpich-5")
    outcome = mpi.run(
        [mpi.program("conformance"), "communicators"],
        8,
        settings={"ESPALIER_VIRTUAL_NODES": "2", "ESPALIER_VERBOSE": "2", **settings},
    )
    assert_passed(outcome)
    ranks = {line.split()[0] for line in speakers(outcome) if line.endswith("near their NIC")}
    assert {"2", "3"} <= ranks, f"both ranks of the near NUMA node should have a turn: {ranks}"


NOTHING_KNOWN = {
    "the snapshot is missing": ({"ESPALIER_MACHINE": "/nowhere/machine.xml"}, "/nowhere/machine.xml: cannot be read"),
    "the mapping is wrong": ({**OPTERON, "ESPALIER_MACHINE_MAPPING": "dense"}, '"dense" is no mapping'),
    "the card is not there": ({**OPTERON, "ESPALIER_NIC": "mlx5_7"}, "ESPALIER_NIC=mlx5_7 names no network device"),
}


@pytest.mark.parametrize("trouble", NOTHING_KNOWN)
def test_a_setting_that_cannot_be_followed_is_said_once_and_costs_nothing(trouble: str, get_mpi: GetMpi) -> None:
    settings, line = NOTHING_KNOWN[trouble]
    outcome = run_movements(get_mpi("mpich-5"), {**settings, "ESPALIER_VERBOSE": "0"})
    assert len(said(outcome, line)) == 1, str(outcome)


def test_a_wrong_hwloc_file_is_not_even_looked_at(get_mpi: GetMpi) -> None:
    outcome = run_movements(get_mpi("openmpi-4"), {**OPTERON, "HWLOC_XMLFILE": "/nowhere/machine.xml"})
    assert speakers(outcome)[0] == "1 speaks for the first node: near their NIC"


def per_rank(variable: str, value: str, ranks: str) -> list[str]:
    """Starts a program with a variable set for some ranks of MPI_COMM_WORLD only (a pattern of the shell)."""
    script = f'case "$PMI_RANK$OMPI_COMM_WORLD_RANK" in {ranks}) export {variable}="{value}";; esac; exec "$@"'
    return ["sh", "-c", script, "sh"]


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5"])
def test_a_container_that_hides_the_card_from_some_ranks_leaves_first_ranks_leading(name: str, get_mpi: GetMpi) -> None:
    hidden = per_rank("ESPALIER_MACHINE", str(MACHINES / "vm-no-pci.xml"), "2|3")
    outcome = run_movements(get_mpi(name), OPTERON, hidden)
    assert speakers(outcome)[0] == "0 speaks for the first node: its ranks see different NICs"


def test_nodes_may_be_different_machines(get_mpi: GetMpi) -> None:
    other = per_rank("ESPALIER_MACHINE", str(MACHINES / "xeon-2s-2nic.xml"), "4|5|6|7")
    assert speakers(run_movements(get_mpi("mpich-5"), OPTERON, other))[0].endswith("near their NIC")


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel"])
def test_ranks_that_may_use_one_processor_only_elect_all_the_same(name: str, get_mpi: GetMpi) -> None:
    run_movements(get_mpi(name), {}, ["taskset", "-c", "0"])


@pytest.mark.parametrize("name", ["mpich-5", "openmpi-5", "intel", "openmpi-4"])
def test_ranks_may_move_between_elections(name: str, get_mpi: GetMpi) -> None:
    mpi = get_mpi(name)
    settings = {**OPTERON, "ESPALIER_VIRTUAL_NODES": "2"}
    outcome = mpi.run([mpi.program("migrant"), "20"], 4, settings=settings)
    assert (outcome.code, outcome.out.strip()) == (0, "20 rounds right"), str(outcome)
