"""espalier hang, through the command line. Real jobs are those of tests/mpi/test_hang.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from espalier.commands import hang
from espalier.health import standstill
from espalier.jobs.processes import tell_program
from espalier.jobs.stacks import shorten
from workshop import Command


@pytest.fixture
def seen(core):
    """What the core would see: two ranks of this process's, and the standstills that a test puts here."""
    found: list[SimpleNamespace] = []
    core.list_ranks = lambda pid, apart: [seen_as(os.getpid(), rank) for rank in (0, 1)]
    core.diagnose = lambda told, least: found
    return found


def seen_as(pid: int, rank: int = 0, **facts: object) -> dict[str, Any]:
    """As the core tells of a rank that waits in nothing."""
    usual = {"community": 3, "pid": pid, "world_rank": rank, "rank": rank, "job": 0, "life": "running"}
    return {**usual, "place": 0, "call": 0, "finished": 21, **facts}


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


def a_standstill(*ranks: SimpleNamespace) -> SimpleNamespace:
    text = "MPI_COMM_WORLD (2 ranks) has stood still for 3.0 s at call 8\n  Rank 1 has not come.\n"
    facts = {"community": "MPI_COMM_WORLD (2 ranks)", "call": 8, "seconds": 3.0, "culprit": "Rank 1 has not come."}
    facts |= {"is_left_to_mpi": False}
    return SimpleNamespace(**facts, text=text, ranks=list(ranks) or [a_rank()])


def test_of_a_job_that_goes_on_no_more_is_said_than_is_seen(command: Command, seen) -> None:
    outcome = command("hang")
    known = "no rank stands still in a collective that Espalier sees (2 ranks of communicators looked at); "
    assert (outcome.code, outcome.out.startswith(known)) == (0, True)
    assert "messages, files, windows and the making of communicators are not seen: " in outcome.out
    assert outcome.out.endswith("--stacks shows where ranks are\n")


def pretend_to_debug(monkeypatch: pytest.MonkeyPatch, shown: dict[int, list[str]]) -> list[int]:
    """A debugger that shows these stacks. Returns whom it will have been asked about."""
    asked: list[int] = []
    monkeypatch.setattr(standstill, "read_stack", lambda pid: asked.append(pid) or shown.get(pid, []))
    monkeypatch.setattr(hang, "find_debugger", lambda: "gdb")
    return asked


def test_where_nothing_stands_still_stacks_are_of_some_of_those_looked_at(
    command: Command, core, seen, monkeypatch
) -> None:
    ranks = [
        seen_as(10),
        seen_as(10, community=8),
        seen_as(11, 1, life="dead"),
        *(seen_as(it, it) for it in range(12, 18)),
    ]
    core.list_ranks = lambda pid, apart: ranks
    asked = pretend_to_debug(monkeypatch, {10: ["MPI_Comm_split", "main"], 12: ["MPI_Recv", "main"]})
    outcome = command("hang", "--stacks")
    first, *told = outcome.out.splitlines()
    assert (outcome.code, first.endswith("the making of communicators are not seen")) == (0, True)
    assert told == [
        "  rank 0 (process 10) is in MPI_Comm_split < main",
        "  rank 12 (process 12) is in MPI_Recv < main",
        "  rank 13 (process 13): the debugger shows nothing of it",
        "  rank 14 (process 14): the debugger shows nothing of it",
        "  4 more processes not asked",
    ]
    assert asked == [10, 12, 13, 14]


def test_json_tells_where_ranks_are_that_stand_nowhere_still(command: Command, core, seen, monkeypatch) -> None:
    core.list_ranks = lambda pid, apart: [seen_as(10), seen_as(11, 1), seen_as(12, 2, life="dead")]
    pretend_to_debug(monkeypatch, {10: ["MPI_Recv", "main"]})
    monkeypatch.setattr(standstill, "tell_program", lambda pid: "./app")
    outcome = command("hang", "--stacks", "--json")
    told = json.loads(outcome.out)
    assert (outcome.code, told["standstills"], told["silent"]) == (0, [], {})
    usual = {"rank": 0, "world_rank": 0, "pid": 10, "program": "./app", "host": None, "life": "running"}
    assert told["processes"][0] == {**usual, "stack": "MPI_Recv < main"}
    assert [it["stack"] for it in told["processes"]] == ["MPI_Recv < main", "", None], "nothing shown; not asked"
    told = json.loads(command("hang", "--json").out)
    assert [it["stack"] for it in told["processes"]] == [None] * 3


def test_where_somebody_hides_stacks_are_said_to_show_it(command: Command, seen, monkeypatch) -> None:
    seen.append(a_standstill())
    monkeypatch.setattr(hang, "find_debugger", lambda: "gdb")
    assert command("hang").out.endswith("Rank 1 has not come.\n--stacks shows where it is\n")
    monkeypatch.setattr(hang, "find_debugger", lambda: None)
    assert command("hang").out.endswith("\nwith gdb installed, --stacks shows where it is\n")
    seen[:] = [a_standstill(a_rank(), a_rank(pid=1))]
    assert command("hang").out.endswith("--stacks shows where they are\n")
    for known in ({"life": "dead"}, {"life": "in_kernel"}, {"stand": "elsewhere"}, {"stand": "waits"}):
        seen[:] = [a_standstill(a_rank(**known))]
        assert command("hang").out.endswith("Rank 1 has not come.\n"), known


def test_standstills_of_several_jobs_are_told_apart(command: Command, core, seen, monkeypatch) -> None:
    """The first job's two communicators share no process, but that of all ranks."""
    programs = dict.fromkeys((4711, 4712, 4713, 4715), "./lmp") | {30: "python3 -m solver", 31: "python3 -m solver"}
    monkeypatch.setattr(standstill, "tell_program", lambda pid: programs[pid])
    core.list_ranks = lambda pid, apart: [
        *(seen_as(pid, community=5) for pid in (4711, 4712, 4713, 4715)),
        *(seen_as(pid, community=9) for pid in (30, 31)),
        *(seen_as(pid, community=20, job=9) for pid in (30, 31)),
    ]
    pretend_to_debug(monkeypatch, {4711: ["work", "main"], 30: ["read", "main"]})
    one, other, another = (a_standstill(a_rank(pid=pid)) for pid in (4711, 30, 4713))
    seen[:] = [one, other, another]
    told = [line for line in command("hang", "--stacks").out.splitlines() if not line.startswith("  Rank")]
    stood = "MPI_COMM_WORLD (2 ranks) has stood still for 3.0 s at call 8"
    assert told == [
        "./lmp (processes 4711 to 4713, 4715):",
        f"standstill 1: {stood}",
        f"standstill 2: {stood}",
        "python3 -m solver (processes 30, 31):",
        f"standstill 3: {stood}",
        "  rank 1 of standstill 1 is in work < main",
        "  rank 1 of standstill 3 is in read < main",
    ]
    assert command("hang").out.splitlines()[1] == stood, "numbers are for stacks"
    programs_told = [it["ranks"][0]["program"] for it in json.loads(command("hang", "--json").out)["standstills"]]
    assert programs_told == ["./lmp", "./lmp", "python3 -m solver"]
    seen[:] = [one, another]
    assert command("hang").out.startswith(stood), "of one job"


def test_a_process_is_told_by_its_command_line() -> None:
    assert "pytest" in tell_program(os.getpid()) or "python" in tell_program(os.getpid())
    with subprocess.Popen(["sleep", "60"]) as process:
        assert tell_program(process.pid) == "sleep"
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert tell_program(process.pid) == "sleep", "it has ended, and is not gone"
    assert tell_program(process.pid) == ""
    words = [sys.executable, "-u", "-c", "import time; print(); time.sleep(60)"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        assert tell_program(process.pid) == f"{sys.executable} -u -c {words[3]}"[:60] + "…"
        process.kill()


def test_a_standstill_is_told_and_is_exit_code_1(command: Command, seen) -> None:
    seen.append(a_standstill())
    outcome = command("hang")
    assert outcome.code == 1
    assert "  Rank 1 has not come." in outcome.out.splitlines()


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
    found = json.loads(command("hang", "--json").out)["standstills"][0]
    assert (found["communicator"], found["culprit"]) == ("MPI_COMM_WORLD (2 ranks)", "Rank 1 has not come.")
    assert found["ranks"][0]["stand"] == "not_come"


def make_squeue(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    """One that says this of any job, and a srun that shows how it was called, and a rank."""
    answer = json.dumps(json.loads(told("a", 0, 1)))
    for name, script in (("squeue", says), ("srun", f"echo \"$@\" > {folder}/called; echo '{answer}'")):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_all_hosts_of_a_slurm_job_are_asked(command: Command, tmp_path: Path, monkeypatch) -> None:
    make_squeue(tmp_path, monkeypatch, "echo 4")
    command("hang", "--job", "17", "--json")
    called = (tmp_path / "called").read_text()
    assert called.startswith("--jobid 17 --overlap --nodes 4 --ntasks-per-node 1 "), "or one of them would be"


@pytest.mark.parametrize(
    ("says", "complaint"),
    [
        ("true", "--job 17: it is not running"),
        ("echo 4; echo 2", "--job 17: these are several jobs"),
        (
            "echo slurm_load_jobs error: Invalid job id specified >&2; exit 1",
            "--job 17: slurm_load_jobs error: Invalid",
        ),
    ],
)
def test_a_job_that_slurm_does_not_know_is_an_error(
    command: Command, tmp_path: Path, monkeypatch, says: str, complaint: str
) -> None:
    make_squeue(tmp_path, monkeypatch, says)
    outcome = command("hang", "--job", "17")
    assert (outcome.code, complaint in outcome.err) == (2, True), outcome.err
    assert command("hang", "--job", "17", "--hosts", "a").code == 2


def test_where_nothing_can_be_seen_says_why(command: Command, core, seen) -> None:
    core.list_ranks = lambda pid, apart: []
    outcome = command("hang", "17")
    assert outcome.code == 2
    assert "process 17 has communicators" not in outcome.out
    assert "preloaded" in outcome.err


def test_a_process_that_is_not_there_is_an_error(command: Command, core) -> None:
    def refuse(pid: int, apart: float) -> int:
        if pid > 2**31 - 1:
            raise TypeError("incompatible function arguments")
        raise ValueError(f"there is no process {pid}")

    core.list_ranks = refuse
    for pid in ("17", "99999999999999"):
        for options in ([], ["--record"]):
            outcome = command("hang", pid, *options)
            assert (outcome.code, f"there is no process {pid}" in outcome.err) == (2, True)


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
    (found,) = json.loads(outcome.out)["standstills"]
    assert "Rank 1 (process 100 on a) has not come; it is asleep" in found["culprit"]
    assert [rank["stand"] for rank in found["ranks"]] == ["waits", "not_come", "waits", "waits"]
    assert [rank["host"] for rank in found["ranks"]] == ["a", "a", "b", "b"]
    assert found["ranks"][1]["stack"] == "work_on_a < main"


def test_stacks_of_other_hosts_are_shown_where_nothing_stands_still(command: Command, tmp_path: Path) -> None:
    idle = told("a", 0, 1).replace('"call": 8', '"call": 0')
    (tmp_path / "a").write_text(f"{idle}\n")
    via = f"sh -c 'cat {tmp_path}/{{host}}' ssh"
    outcome = command("hang", "--hosts", "a", "--via", via)
    assert outcome.out.endswith("are not seen: --stacks shows where ranks are, on hosts that have gdb\n")
    outcome = command("hang", "--hosts", "a", "--via", via, "--stacks")
    assert outcome.out.splitlines()[1:] == ["  rank 0 (process 100 on a) is in work_on_a < main"]
    (there,) = json.loads(command("hang", "--hosts", "a", "--via", via, "--stacks", "--json").out)["processes"]
    assert (there["host"], there["stack"]) == ("a", "work_on_a < main")


def test_of_a_host_with_many_ranks_those_that_may_be_waited_for_are_looked_at(
    command: Command, core, monkeypatch
) -> None:
    others = [seen_as(it, community=2) for it in range(1, 9)]
    core.list_ranks = lambda pid, apart: [*others, seen_as(20, call=22), seen_as(21, 1), seen_as(22, 2, life="stopped")]
    pretend_to_debug(monkeypatch, {})
    recorded = json.loads(command("hang", "--record", "--stacks").out)
    assert list(recorded["stacks"]) == ["21", "1", "2", "3"]


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
        assert {rank["host"] for rank in found["standstills"][0]["ranks"]} == {"a"}


def test_a_launcher_that_starts_a_command_everywhere_is_used_once(command: Command, tmp_path: Path) -> None:
    (tmp_path / "all").write_text(f"{told('a', 0, 1)}\n{told('b', 2, 3)}\n")
    outcome = command("hang", "--via", f"sh -c 'cat {tmp_path}/all' srun", "--json")
    (found,) = json.loads(outcome.out)["standstills"]
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
