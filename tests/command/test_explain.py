"""espalier explain of jobs whose plan does not fit: one node's programs and the closed forms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from espalier.base.core import load_core
from workshop import Command


def test_a_job_of_65536_ranks_is_explained_by_one_node(command: Command) -> None:
    outcome = command(
        "explain", "alltoall", "--bytes", "64", "--nodes", "8192", "--ppn", "8", "--node", "5", "--rank", "none",
        "--json",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    facts = json.loads(outcome.out)
    (traffic,) = facts["traffic"]
    assert traffic["node"] == 5
    assert traffic["messages_out"] == traffic["messages_in"] == traffic["connections_in"] == 8191
    assert facts["estimates"]


def test_what_needs_the_whole_of_it_is_refused(command: Command) -> None:
    outcome = command("explain", "alltoall", "--bytes", "64", "--nodes", "8192", "--ppn", "8", "--rank", "all")
    assert outcome.code == 2
    assert "neither shown nor drawn whole" in outcome.err


def test_a_node_alone_counts_the_same_as_in_the_whole_plan() -> None:
    core = load_core()
    topology = core.Topology([rank // 4 for rank in range(32)], True, False)
    choice = core.choose(topology, "alltoall", 64, 0).choice
    whole = core.build(topology, "alltoall", 64, 0, choice)
    part = core.build_part(topology, "alltoall", 64, 0, choice, [8, 9, 10, 11])
    assert dict(part.traffic()[2]) == dict(whole.traffic()[2])
    assert part.programs[9] == whole.programs[9]
    assert not part.programs[0].steps


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_call_that_no_plan_fits_is_native_and_says_why(command: Command, arguments: list[str]) -> None:
    outcome = command("explain", "alltoall", "--bytes", "32K", "--nodes", "4096", "--ppn", "64", *arguments)
    assert outcome.code == 0, outcome.err
    assert "an MPI job leaves the call to the MPI library" in outcome.out
    assert "a message between nodes would exceed 1G" in outcome.out
    assert "set segment" not in outcome.out, "that would not help"
    if arguments:
        facts = json.loads(outcome.out)
        assert (facts["choice"], facts["ranks"], facts["programs"]) == ("native", 4096 * 64, [])


def test_a_plan_that_was_asked_for_and_does_not_fit_is_refused(command: Command, tmp_path: Path) -> None:
    big = ("explain", "alltoall", "--bytes", "32K", "--nodes", "4096", "--ppn", "64")
    for arguments in (["--algorithm", "pairwise"], ["--svg", str(tmp_path / "plan.svg")]):
        outcome = command(*big, *arguments)
        assert outcome.code == 2
        assert "a message between nodes would exceed 1G" in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["1K", "16K", "64K", "256K"])
def test_the_reason_and_the_model_say_the_same_time(command: Command, size: str) -> None:
    told = command("explain", "bcast", "--bytes", size, "--nodes", "4", "--ppn", "4", "--rank", "none").out
    (choice,) = re.findall(r"^choice +(\S+)", told, re.MULTILINE)
    (why,) = re.findall(r"^why .*?: ([\d.]+) us estimated", told, re.MULTILINE)
    (model,) = re.findall(rf"^model +([\d.]+) us +{re.escape(choice)}$", told, re.MULTILINE)
    assert why == model
