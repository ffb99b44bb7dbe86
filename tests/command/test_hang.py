"""espalier hang, through the command line. Real jobs are those of tests/mpi/test_hang.py."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from espalier.commands import hang
from espalier.health import standstill
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
    usual = {
        "rank": 1,
        "world_rank": 1,
        "pid": os.getpid(),
        "stand": "not_come",
        "life": "running",
        "seconds": 0.0,
        "host": "",
    }
    return SimpleNamespace(**{**usual, "call": None, **facts})


def a_standstill() -> SimpleNamespace:
    text = "MPI_COMM_WORLD (2 ranks) has stood still for 3.0 s at call 8\n  Rank 1 has not come.\n"
    facts = {"community": "MPI_COMM_WORLD (2 ranks)", "call": 8, "seconds": 3.0, "culprit": "Rank 1 has not come."}
    facts |= {"is_left_to_mpi": False}
    return SimpleNamespace(**facts, text=text, ranks=[a_rank()])


def test_of_a_job_that_goes_on_no_more_is_said_than_is_seen(command: Command, seen) -> None:
    outcome = command("hang")
    known = "no rank stands still in a collective that Espalier sees (2 ranks of communicators looked at)\n"
    assert (outcome.code, outcome.out) == (0, known)


def test_a_standstill_is_told_and_is_exit_code_1(command: Command, seen) -> None:
    seen.append(a_standstill())
    outcome = command("hang")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == "  Rank 1 has not come."


def test_what_is_known_is_told_before_stacks_are_read(
    command: Command, seen, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen.append(a_standstill())
    before: list[str] = []

    def read(pid: int) -> list[str]:
        before.append(capfd.readouterr().out)
        return ["work", "main"]

    monkeypatch.setattr(standstill, "read_stack", read)
    monkeypatch.setattr(hang, "find_debugger", lambda: "gdb")
    outcome = command("hang", "--stacks")
    assert [text.splitlines()[-1] for text in before] == ["  Rank 1 has not come."]
    assert (outcome.code, outcome.out) == (1, "  rank 1 is in work < main\n")


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


def told(host: str, *ranks: int) -> str:
    """What a host records: ranks of one communicator, of which rank 1 has not come."""
    usual = {"community": 3, "ranks": 4, "finished": 7, "operation": 0, "form": 0, "blocks": 0, "bytes": 64, "root": 0}
    usual |= {"left": 0, "left_seconds": 0.0, "job": 0, "place": 0, "members": []}
    described = [
        {
            **usual,
            "pid": 100,
            "world_rank": it,
            "rank": it,
            "call": 0 if it == 1 else 8,
            "number": 8,
            "seconds": 5.0,
            "life": "asleep",
            "is_here": True,
        }
        for it in ranks
    ]
    return json.dumps(
        {"espalier_hang": 4, "host": host, "ranks": described, "stacks": {"100": f"work_on_{host} < main"}}
    )


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """Reaches hosts a and b; others do not answer."""
    (tmp_path / "a").write_text("a greeting\n" + told("a", 0, 1) + "\n")
    (tmp_path / "b").write_text(told("b", 2, 3) + "\n")
    return f"sh -c 'cat {tmp_path}/{{host}}' ssh"


def test_hosts_are_asked_and_ranks_of_all_of_them_are_one_job(command: Command, agent: str) -> None:
    outcome = command("hang", "--hosts", "a,b", "--via", agent, "--stacks", "--json")
    assert outcome.code == 1, outcome.err
    (found,) = json.loads(outcome.out)
    assert "Rank 1 (process 100 on a) has not come; it is asleep" in found["culprit"]
    assert [rank["stand"] for rank in found["ranks"]] == ["waits", "not_come", "waits", "waits"]
    assert [rank["host"] for rank in found["ranks"]] == ["a", "a", "b", "b"]
    assert found["ranks"][1]["stack"] == "work_on_a < main"


def test_hosts_that_do_not_answer_are_named_and_their_ranks_are_unseen(command: Command, agent: str) -> None:
    outcome = command("hang", "--hosts", "a,nowhere", "--via", agent)
    assert outcome.code == 1
    assert "nowhere has not answered" in outcome.err
    assert "not seen here" in outcome.out
    outcome = command("hang", "--hosts", "nowhere", "--via", agent)
    assert outcome.code == 2
    assert "no host has answered: nowhere: " in outcome.err


def test_of_hosts_that_show_the_same_process_the_one_that_has_it_is_named(command: Command, tmp_path: Path) -> None:
    both = (told("a", 0, 1, 2, 3), told("b", 0, 1, 2, 3).replace('"is_here": true', '"is_here": false'))
    for order in (both, both[::-1]):
        (tmp_path / "all").write_text("\n".join(order) + "\n")
        found = json.loads(command("hang", "--via", f"sh -c 'cat {tmp_path}/all' srun", "--json").out)
        assert {rank["host"] for rank in found[0]["ranks"]} == {"a"}


def test_a_launcher_that_starts_a_command_everywhere_is_used_once(command: Command, tmp_path: Path) -> None:
    (tmp_path / "all").write_text(f"{told('a', 0, 1)}\n{told('b', 2, 3)}\n")
    outcome = command("hang", "--via", f"sh -c 'cat {tmp_path}/all' srun", "--json")
    (found,) = json.loads(outcome.out)
    assert {rank["host"] for rank in found["ranks"]} == {"a", "b"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hosts", "a", "--via", "srun"], "do not go together"),
        (["--via", "ssh {host}"], "do not go together"),
        (["--via", "ssh '"], "no closing quotation"),
        (["--hosts", "a", "17"], "a process is one of this host"),
    ],
)
def test_mistakes_about_hosts_are_explained(command: Command, options: list[str], message: str) -> None:
    outcome = command("hang", *options)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err


def test_a_stack_begins_at_the_call_of_mpi_that_the_program_makes() -> None:
    stack = ["sched_yield", "MPID_Progress_wait", "PMPI_Recv", "solve", "main", "__libc_start_call_main", "_start"]
    assert shorten(stack) == "PMPI_Recv < solve < main"
    ours = ["sched_yield", "PMPI_Recv", "do_MPI_Recv", "solve", "main"]
    assert shorten(ours) == "MPI_Recv < solve < main"
    assert shorten(["__nanosleep", "??", "wait_a_while", "main"]) == "__nanosleep < wait_a_while < main"
