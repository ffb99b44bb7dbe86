"""espalier tune from its command line to the files, with a stand-in for the job that measures."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.commands.tune.request import parse_duration
from espalier.lab import cluster
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.run import OutOfTimeError
from espalier.tuning.session import Session
from workshop import MPI_TEXT, Command, make_mpi

# Speaks the worker's language: native takes 2 µs, everything else 1.
WORKER = """
import json, sys
say = lambda value: print(json.dumps(value), flush=True)
print("some MPI's chatter", flush=True)
say({"hello": 1, "ranks": 2, "cores": 2, "node_cores": 2, "node_of": [0, 0], "library": "MPICH Version: 5.0.2\\n"})
for line in sys.stdin:
    word, *rest = line.split()
    if word == "quit":
        break
    if word == "curve":
        say({"curve": rest[0], "points": [{"way": "spin", "ranks": 2, "us": 0.2}] if rest[0] == "waiting" else []})
        continue
    if word == "look":
        say({"line_ns": 0})
        continue
    operation, size, rounds, _, _, arms = rest
    if operation in sys.argv[1:]:
        sys.exit(3)
    us = {"native": 2.0}
    say({"op": operation, "bytes": int(size), "arms": [
        {"arm": arm, "said": "" if arm == "native" else arm, "refused": "", "calls": 8,
         "p50_us": [us.get(arm, 1.0)] * int(rounds), "p10_us": [us.get(arm, 1.0)] * int(rounds)}
        for arm in arms.split(";")]})
"""


@pytest.fixture
def job(tmp_path: Path, only_mpis, libraries):
    """An MPICH whose launcher runs the stand-in; it dies at these operations."""

    def prepare(*deadly: str) -> Path:
        make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
        (tmp_path / "worker.py").write_text(WORKER)
        launcher = tmp_path / "mpich" / "bin" / "mpiexec"
        launcher.write_text(f"#!/bin/sh\nexec {sys.executable} {tmp_path}/worker.py {' '.join(deadly)}\n")
        only_mpis(tmp_path / "mpich")
        return tmp_path / "table.json"

    return prepare


def selections(path: Path) -> dict[tuple[str, int], str]:
    rows = load_core().Table.load(str(path)).rows
    return {(row.operation, row.measured_bytes): row.selection for row in rows}


def test_tune_writes_a_table_the_library_loads_and_a_page(command: Command, job) -> None:
    path = job()
    outcome = command("tune", "--ops", "bcast,barrier", "--sizes", "4,64K", "-o", str(path))
    assert outcome.code == 0
    assert selections(path)[("broadcast", 4)] == selections(path)[("barrier", 0)] == "tiny"
    assert "4 of 4 entries beat native; 2.00x" in outcome.out
    page = path.with_suffix(".html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert sorted(it.name for it in path.parent.glob("table*")) == ["table.html", "table.json"]


def test_a_transport_that_a_job_cannot_use_is_not_tuned(command: Command, job) -> None:
    path = job()
    worker = path.parent / "worker.py"
    spread = '"node_of": [0, 1], "transport": "mpi"'
    worker.write_text(worker.read_text().replace('"node_of": [0, 0]', spread))
    arguments = ("tune", "--ops", "barrier", "--no-curves", "-o", str(path), "--transport")
    outcome = command(*arguments, "ucx")
    assert outcome.code == 2
    assert "ucx cannot be used here" in outcome.err
    outcome = command(*arguments, "auto")
    assert outcome.code == 0
    assert "only those are tuned" in outcome.err
    assert json.loads(path.read_text())["rows"][0].get("transport") is None


def test_both_transports_are_tuned_and_the_faster_one_is_named(command: Command, job) -> None:
    path = job()
    worker, launcher = path.parent / "worker.py", path.parent / "mpich" / "bin" / "mpiexec"
    text = worker.read_text().replace('"node_of": [0, 0]', '"node_of": [0, 1], "transport": sys.argv[1]')
    worker.write_text(text.replace("us.get(arm, 1.0)", 'us.get(arm, 0.5 if sys.argv[1] == "ucx" else 1.0)'))
    which = 'case "$*" in *ucx*) over=ucx;; *) over=mpi;; esac'
    launcher.write_text(f"#!/bin/sh\n{which}\nexec {sys.executable} {worker} $over\n")
    outcome = command("tune", "--ops", "barrier", "--no-curves", "-o", str(path), "--transport", "auto")
    assert outcome.code == 0, outcome.err
    table = json.loads(path.read_text())
    assert table["transport"] == "ucx"
    assert sorted(row.get("transport", "mpi") for row in table["rows"]) == ["mpi", "ucx"]
    assert "UCX carries messages" in outcome.out
    assert sorted(it.name for it in path.parent.glob("table*")) == ["table-ucx.html", "table.html", "table.json"]


def test_tune_as_json_holds_every_decision(command: Command, job) -> None:
    path = job()
    facts = json.loads(command("tune", "--ops", "barrier", "--no-curves", "-o", str(path), "--json").out)
    assert facts["ended"] == "complete"
    assert facts["summary"]["tuned"] == 1
    (decision,) = facts["decisions"]
    assert (decision["operation"], decision["selection"], decision["native_us"]) == ("barrier", "tiny", 2.0)


def test_a_second_run_adds_to_the_table(command: Command, job) -> None:
    path = job()
    command("tune", "--ops", "barrier", "--no-curves", "-o", str(path))
    command("tune", "--ops", "bcast", "--sizes", "4", "--no-curves", "-o", str(path))
    assert set(selections(path)) == {("barrier", 0), ("broadcast", 4)}


def test_a_job_that_dies_leaves_native_and_the_rest_is_tuned(command: Command, job) -> None:
    path = job("allgather")
    outcome = command("tune", "--ops", "allgather,barrier", "--sizes", "4", "--no-curves", "-o", str(path))
    assert outcome.code == 0
    assert set(selections(path)) == {("barrier", 0)}
    assert "the job ended during: measure allgather" in outcome.err
    assert "native stays there" in outcome.err


def test_a_budget_too_small_leaves_no_table(command: Command, job) -> None:
    path = job()
    outcome = command("tune", "--ops", "barrier", "--budget", "0.001s", "-o", str(path))
    assert outcome.code == 2
    assert "the budget was spent before anything was decided: no table is written" in outcome.err
    assert not path.exists()


def test_an_interruption_before_the_first_decision_is_no_mistake(
    command: Command, job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = job()
    for place in ("espalier.tuning.session.Session.run", "espalier.tuning.legs.Request.start"):
        monkeypatch.setattr(place, interrupt)
        outcome = command("tune", "--ops", "barrier", "--no-curves", "-o", str(path))
        assert outcome.code == 130
        assert "interrupted before anything was decided: no table is written" in outcome.err
        assert list(path.parent.glob("table*")) == []


def test_more_ranks_than_a_machine_can_start_are_refused_before_any_does(command: Command, job) -> None:
    path = job()
    outcome = command("tune", "-n", "100000", "-o", str(path))
    assert outcome.code == 2
    assert "-n 100000: this machine's processors are measured with up to 64 ranks on each" in outcome.err
    assert not path.exists()


def test_sigterm_while_the_job_starts_ends_it_like_an_interruption(
    command: Command, job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("espalier.measure.worker._parse_hello", lambda _: signal.raise_signal(signal.SIGTERM))
    path = job()
    outcome = command("tune", "--ops", "barrier", "--no-curves", "-o", str(path))
    assert outcome.code == 130
    assert "interrupted before anything was decided: no table is written" in outcome.err


def test_what_a_budget_did_not_reach_keeps_what_an_earlier_run_has_measured(
    command: Command, job, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = job()
    assert command("tune", "--ops", "bcast", "--sizes", "64", "--no-curves", "-o", str(path)).code == 0
    settle = Session._settle

    def settle_some(session: Session, problem: Problem) -> None:
        if problem.bytes in (64, 256):
            raise OutOfTimeError
        settle(session, problem)

    monkeypatch.setattr(Session, "_settle", settle_some)
    monkeypatch.setattr("espalier.tuning.problems.problem._coarse_to_fine", lambda sizes: (4, 16, 1024, 64, 256))
    outcome = command("tune", "--ops", "bcast", "--sizes", "4,16,64,256,1K", "--no-curves", "-o", str(path))
    assert "broadcast: no time was left for some sizes" in outcome.err
    measured = {it["measured"]["bytes"]: it["measured"]["calls"] for it in json.loads(path.read_text())["rows"]}
    assert measured[64] > 0, "the earlier one"
    assert measured[256] == 0, "tiny at both sides"


def test_a_table_of_another_machine_is_not_overwritten(command: Command, job) -> None:
    path = job()
    text = '{"espalier_table": 1, "machine": "a desk", "mpi": "an MPI", "rows": []}'
    path.write_text(text)
    outcome = command("tune", "--ops", "barrier", "-o", str(path))
    assert outcome.code == 2
    assert "made for another machine (a desk)" in outcome.err
    assert path.read_text() == text


def test_a_corrupt_file_is_not_overwritten(command: Command, job) -> None:
    path = job()
    path.write_text("{")
    outcome = command("tune", "--ops", "barrier", "-o", str(path))
    assert outcome.code == 2
    assert "truncated" in outcome.err
    assert path.read_text() == "{"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ops", "teleport"], "'teleport' is no operation"),
        (["--ops", ","], "names no operation"),
        (["--sizes", "4,big"], "'big' is no number of bytes"),
        (["--sizes", "0"], "sizes go from 1 to 1G"),
        (["--budget", "soon"], "no duration"),
        (["-o", "/dev/null/table.json"], "/dev/null is no folder"),
        (["-o", "/"], "that is a folder"),
        (["--transport", "pigeon"], "no such transport"),
        (["--virtual-nodes", "cyclic:0"], "write --virtual-nodes"),
    ],
)
def test_tune_refuses_what_it_cannot_do(command: Command, job, arguments: list[str], message: str) -> None:
    path = job()
    defaults = ["--ops", "barrier", "--no-curves", "-o", str(path)]
    outcome = command("tune", *defaults, *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert not path.exists()


def test_durations_are_read_as_people_write_them() -> None:
    assert [parse_duration(text) for text in ("90s", "10m", "1.5h", "45")] == [90, 600, 5400, 45]
    with pytest.raises(UserError):
        parse_duration("0s")


def test_a_table_made_on_another_network_is_not_added_to(command: Command, job) -> None:
    path = job()
    arguments = ("tune", "--ops", "barrier", "--no-curves", "-o", str(path))
    assert command(*arguments).code == 0
    table = json.loads(path.read_text())
    table["made"]["network"] = "2 emulated nodes at 200mbit"
    path.write_text(json.dumps(table))
    outcome = command(*arguments)
    assert outcome.code == 2
    assert "made for another network (2 emulated nodes at 200mbit)" in outcome.err


def test_tuning_on_a_cluster_that_is_not_up_says_how_to_get_one(
    command: Command, job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = job()
    monkeypatch.setattr(cluster, "STATE", tmp_path / "nowhere")
    outcome = command("tune", "--lab", "--ppn", "2", "-o", str(path))
    assert outcome.code == 2
    assert "espalier lab up" in outcome.err
