"""espalier explain, verify and doctor: what they say, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from espalier.base import machine
from espalier.jobs import diagnosis
from espalier.jobs.diagnosis import Level
from workshop import Command


def test_explain_names_choice_reason_traffic_and_steps(command: Command, core) -> None:
    outcome = command("explain", "bcast", "--bytes", "64K", "--nodes", "4", "--ppn", "4")
    assert outcome.code == 0
    for text in (
        "bcast of 64K",
        "16 ranks on 4 nodes",
        "knomial,radix=4",
        "small enough",
        "4.2 us  knomial,radix=4",
        "61.0 us  chain",
        "a tree",
        "put 4",
        "4 B / 1 / 1",
        "64 B",
    ):
        assert text in outcome.out


def test_explain_as_json_holds_the_same(command: Command, core) -> None:
    outcome = command("explain", "broadcast", "--placement", "3,1,4", "--root", "2", "--rank", "all", "--json")
    facts = json.loads(outcome.out)
    assert (facts["ranks"], facts["root"], facts["bytes"]) == (8, 2, 65536)
    assert facts["node_of"] == [0, 0, 0, 1, 2, 2, 2, 2]
    assert [program["rank"] for program in facts["programs"]] == list(range(8))
    assert facts["programs"][0]["steps"] == [
        {"text": "put 4", "op": "put", "bytes": 4},
        {"text": "post ready", "op": "post", "flag": "ready"},
    ]
    assert len(facts["traffic"]) == 3
    assert facts["algorithm"] == {"name": "broadcast_knomial", "summary": "a tree", "source": "folklore"}
    assert facts["estimates"][1] == {"choice": "chain", "us": 61.0}


def test_explain_places_ranks_in_turn(command: Command, core) -> None:
    facts = json.loads(command("explain", "bcast", "--placement", "cyclic:3", "--ppn", "2", "--json").out)
    assert facts["node_of"] == [0, 1, 2, 0, 1, 2]
    facts = json.loads(command("explain", "bcast", "--placement", "cyclic:3", "--ranks", "4", "--json").out)
    assert facts["node_of"] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        (["--algorithm", "chain"], "chain"),
        (["--algorithm", "chain", "--set", "segment=64K"], "chain,segment=64K"),
        (["--set", "radix=8"], "knomial,radix=8,cells=8"),
    ],
)
def test_explain_takes_algorithms_and_knobs(command: Command, core, options: list[str], choice: str) -> None:
    facts = json.loads(command("explain", "bcast", *options, "--json").out)
    assert (facts["choice"], facts["reason"]) == (choice, "as asked for")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scatter"], "'scatter' is no operation"),
        (["bcast", "--bytes", "much"], "'much' is no number of bytes"),
        (["bcast", "--root", "99"], "only ranks 0 to 3"),
        (["bcast", "--rank", "7"], "not a rank of this plan"),
        (["bcast", "--algorithm", "magic"], "unknown algorithm"),
        (["bcast", "--set", "radix"], "no value"),
    ],
)
def test_explain_refuses_what_it_does_not_know(command: Command, core, arguments: list[str], message: str) -> None:
    outcome = command("explain", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert "remedy" in outcome.err


def test_equal_nodes_share_a_line(command: Command, core) -> None:
    outcome = command("explain", "bcast", "--nodes", "100", "--ppn", "1", "--rank", "none")
    assert "0…99" in outcome.out
    assert len(outcome.out.splitlines()) < 20


def test_verify_reports_what_it_checked(command: Command, core) -> None:
    facts = json.loads(command("verify", "--random", "20", "--seed", "3", "--json").out)
    assert (facts["checked"], facts["seed"], facts["violations"]) == (20, 3, [])
    outcome = command("verify", "--random", "20")
    assert outcome.code == 0
    assert "20 plans checked, 0 violations" in outcome.out


def test_a_violation_is_shown_and_changes_the_exit_code(command: Command, core) -> None:
    place = {"kind": "race", "rank": 3, "step": 7, "call": 0, "buffer": "window", "first": 0, "last": 64}
    core.violations = [{**place, "text": "read before it is written", "plan": "build(…)"}]
    outcome = command("verify")
    assert outcome.code == 1
    assert "race at rank 3, step 7, call 0, bytes 0 to 63 of window: read before it is written" in outcome.out
    assert "build(…)" in outcome.out
    outcome = command("verify", "--json")
    assert outcome.code == 1
    assert json.loads(outcome.out)["violations"][0]["text"] == "read before it is written"


def test_without_the_compiled_core_the_message_says_what_to_do(command: Command, monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "espalier._core", None)
    for arguments in (["explain", "bcast"], ["verify"]):
        outcome = command(*arguments)
        assert outcome.code == 2
        assert "compiled part" in outcome.err


@pytest.fixture
def healthy(monkeypatch, core, libraries):
    """A machine on which everything is fine."""
    monkeypatch.setattr(diagnosis, "_examine_mpis", lambda: iter([diagnosis.Finding("MPI", Level.OK, "one")]))
    monkeypatch.setattr(diagnosis, "_load_problem", lambda path: "")
    monkeypatch.setattr(machine, "probe_single_copy", lambda: "")
    return monkeypatch


def findings(command: Command) -> tuple[int, dict[str, dict[str, str]]]:
    outcome = command("doctor", "--json")
    report = json.loads(outcome.out)
    assert report["usable"] is (outcome.code == 0)
    return outcome.code, {finding["topic"]: finding for finding in report["findings"]}


def test_doctor_finds_a_healthy_machine_usable(command: Command, healthy) -> None:
    code, report = findings(command)
    assert code == 0
    assert not [topic for topic, finding in report.items() if finding["level"] == "error"]
    assert "usable" in command("doctor").out


def test_doctor_tells_the_settings_with_the_values_in_force(command: Command, healthy) -> None:
    healthy.setenv("ESPALIER_SHM_LIMIT", "64M")
    settings = {it["name"]: it for it in json.loads(command("doctor", "--json").out)["settings"]}
    assert settings["ESPALIER_SHM_LIMIT"]["value"] == "64M"
    assert settings["ESPALIER_STATS"]["value"] is None
    told = command("doctor").out
    assert "ESPALIER_SHM_LIMIT" in told
    assert "ESPALIER_VIRTUAL_NODES" not in told, "which nobody has set"


def test_settings_lists_all_or_those_that_tell_of_a_word_with_the_values_in_force(
    command: Command, core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESPALIER_STATS", "here.json")
    listed = {it["name"]: it["value"] for it in json.loads(command("settings", "--json").out)}
    assert listed["ESPALIER_STATS"] == "here.json"
    assert listed["ESPALIER_VERBOSE"] is None
    told = command("settings", "shm", "limit").out
    assert "ESPALIER_SHM_LIMIT" in told
    assert "VERBOSE" not in told
    assert command("settings", "telepathy").code == 2


def test_doctor_warns_of_settings_that_do_not_exist(command: Command, healthy) -> None:
    healthy.setenv("ESPALIER_VERBOSITY", "1")
    code, report = findings(command)
    assert code == 0
    assert "ESPALIER_VERBOSITY" in report["settings"]["text"]
    assert "ESPALIER_VERBOSE" in report["settings"]["remedy"]


def test_doctor_warns_when_single_copy_is_forbidden(command: Command, healthy) -> None:
    healthy.setattr(machine, "probe_single_copy", lambda: "Operation not permitted")
    code, report = findings(command)
    assert (code, report["single copy (CMA)"]["level"]) == (0, "warning")
    assert "ptrace_scope" in report["single copy (CMA)"]["remedy"]


@pytest.mark.parametrize(
    ("facts", "level", "code"),
    [
        (machine.SharedMemory("/dev/shm", 64 << 20, 1 << 20, ""), "warning", 0),
        (machine.SharedMemory("/dev/shm", 0, 0, "No space left on device"), "error", 1),
    ],
)
def test_doctor_looks_at_shared_memory(command: Command, healthy, facts, level: str, code: int) -> None:
    healthy.setattr(machine, "probe_shared_memory", lambda: facts)
    ended, report = findings(command)
    assert (ended, report["shared memory"]["level"]) == (code, level)
    assert "MPI" in report["shared memory"]["remedy"]
    assert "left to the MPI" not in report["shared memory"]["remedy"]


def test_doctor_reports_a_library_that_does_not_load(command: Command, core, libraries) -> None:
    code, report = findings(command)  # the stand-ins for the libraries are empty files
    assert (code, report["library, mpich ABI"]["level"]) == (1, "error")
    assert "does not load" in report["library, mpich ABI"]["text"]


def test_doctor_without_any_mpi_says_how_to_get_one(command: Command, only_mpis, core, libraries) -> None:
    only_mpis()
    code, report = findings(command)
    assert (code, report["MPI"]["text"]) == (1, "no usable MPI")
    assert "install" in report["MPI"]["remedy"]


def test_shared_memory_is_really_tried(tmp_path: Path) -> None:
    assert machine.probe_shared_memory(str(tmp_path)).problem == ""
    assert machine.probe_shared_memory(str(tmp_path / "nowhere")).problem != ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tree", "group", "file"),
    [("", "0::/job/step\n", "memory.max"), ("memory", "4:memory:/job/step\n0::/\n", "memory.limit_in_bytes")],
    ids=["cgroup v2", "cgroup v1"],
)
def test_the_control_groups_memory_is_read(tmp_path: Path, monkeypatch, tree: str, group: str, file: str) -> None:
    real_read = machine._read
    monkeypatch.setattr(machine, "_read", lambda it: group if str(it) == "/proc/self/cgroup" else real_read(it))
    step = tmp_path / tree / "job" / "step"
    step.mkdir(parents=True)
    assert machine.memory_limit(tmp_path) is None
    (step / file).write_text("max\n")
    assert machine.memory_limit(tmp_path) is None
    (step.parent / file).write_text(f"{300 << 20}\n")
    (step / file).write_text("9223372036854771712\n")
    assert machine.memory_limit(tmp_path) == 300 << 20


@pytest.mark.parametrize(("text", "limit"), [("200000 100000\n", 2.0), ("max 100000\n", None), ("50000 100000\n", 0.5)])
def test_the_control_groups_quota_is_read(tmp_path: Path, monkeypatch, text: str, limit: float | None) -> None:
    (tmp_path / "job" / "step").mkdir(parents=True)
    (tmp_path / "job" / "cpu.max").write_text(text)
    (tmp_path / "job" / "step" / "cpu.max").write_text("max 100000\n")
    real_read = machine._read
    monkeypatch.setattr(
        machine, "_read", lambda path: "0::/job/step\n" if str(path) == "/proc/self/cgroup" else real_read(path)
    )
    assert machine.cpu_quota(tmp_path) == limit
