"""espalier hang, through the command line. Real jobs are those of tests/mpi/test_hang.py."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

from espalier.jobs.stacks import shorten
from workshop import Command


@pytest.fixture
def seen(core):
    """What the core would see: two ranks, and the standstills that a test puts here."""
    found: list[SimpleNamespace] = []
    core.count_watched = lambda pid: 2
    core.find_standstills = lambda pid, least: found
    return found


def a_rank(**facts: object) -> SimpleNamespace:
    usual = {"rank": 1, "world_rank": 1, "pid": os.getpid(), "stand": "not_come", "life": "running", "seconds": 0.0}
    return SimpleNamespace(**{**usual, "call": None, **facts})


def a_standstill() -> SimpleNamespace:
    text = "MPI_COMM_WORLD (2 ranks) has stood still for 3.0 s at call 8\n  Rank 1 has not come.\n"
    facts = {"community": "MPI_COMM_WORLD (2 ranks)", "call": 8, "seconds": 3.0, "culprit": "Rank 1 has not come."}
    return SimpleNamespace(**facts, text=text, ranks=[a_rank()])


def test_a_job_that_goes_on_is_said_to(command: Command, seen) -> None:
    outcome = command("hang")
    assert (outcome.code, outcome.out.startswith("nothing stands still: 2 ranks")) == (0, True)


def test_a_standstill_is_told_and_is_exit_code_1(command: Command, seen) -> None:
    seen.append(a_standstill())
    outcome = command("hang")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == "  Rank 1 has not come."


def test_a_standstill_as_json_has_every_rank(command: Command, seen) -> None:
    seen.append(a_standstill())
    found = json.loads(command("hang", "--json").out)[0]
    assert (found["communicator"], found["culprit"]) == ("MPI_COMM_WORLD (2 ranks)", "Rank 1 has not come.")
    assert found["ranks"][0]["stand"] == "not_come"


def test_where_nothing_can_be_seen_says_why(command: Command, core) -> None:
    core.count_watched = lambda pid: 0
    core.find_standstills = lambda pid, least: []
    outcome = command("hang", "17")
    assert outcome.code == 2
    assert "process 17 has communicators" not in outcome.out
    assert "preloaded" in outcome.err


def test_a_process_that_is_not_there_is_an_error(command: Command, core) -> None:
    def refuse(pid: int) -> int:
        raise ValueError(f"there is no process {pid}")

    core.count_watched = refuse
    outcome = command("hang", "17")
    assert (outcome.code, "there is no process 17" in outcome.err) == (2, True)


def test_a_stack_begins_at_the_call_of_mpi_that_the_program_makes() -> None:
    stack = ["sched_yield", "MPID_Progress_wait", "PMPI_Recv", "solve", "main"]
    assert shorten(stack) == "PMPI_Recv < solve < main"
    ours = ["sched_yield", "PMPI_Recv", "do_MPI_Recv", "solve", "main"]
    assert shorten(ours) == "MPI_Recv < solve < main"
    assert shorten(["__nanosleep", "??", "wait_a_while", "main"]) == "__nanosleep < wait_a_while < main"
