"""espalier doctor PROGRAM: what keeps a program from being served well. The machine is test_front_ends.py's."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from espalier.base import machine
from espalier.base.errors import UserError
from espalier.fabric.loading import load
from espalier.health import network
from espalier.health import program as health
from espalier.health.network import examine_fabric
from espalier.jobs import diagnosis
from espalier.jobs.diagnosis import Level
from espalier.profile.last import keep_last
from services import serving
from test_profile import a_row, moments, write
from workshop import MPI_TEXT, Command, compile_c, make_mpi

DUMPS = Path(__file__).resolve().parents[1] / "data" / "fabric" / "slurm-tree"
MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"


@pytest.fixture
def app(tmp_path: Path, only_mpis, libraries, core, monkeypatch) -> str:
    """A program on a machine on which everything is fine."""
    monkeypatch.setattr(diagnosis, "_load_problem", lambda path: "")
    monkeypatch.setattr(machine, "probe_single_copy", lambda: "")
    library = make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "mpich")
    return str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}"))


def findings(command: Command, *words: str) -> tuple[int, dict[str, dict[str, str]]]:
    outcome = command("doctor", "--json", *words)
    report = json.loads(outcome.out)
    assert report["usable"] is (outcome.code == 0)
    return outcome.code, {it["topic"]: it for it in report["findings"]}


def test_a_programs_mpi_and_the_build_that_fits_are_named(command: Command, app: str, libraries: Path) -> None:
    code, found = findings(command, app)
    assert code == 0
    assert "libmpi.so.12" in found["program"]["text"]
    assert "mpich 5.0.2" in found["program's MPI"]["text"]
    assert found["program's build"]["text"] == str(libraries / "libespalier-mpich.so")


def test_a_program_that_is_linked_with_no_mpi_may_open_one(command: Command, app: str) -> None:
    code, found = findings(command, "/bin/ls")
    assert (code, found["program"]["level"]) == (0, "warning")
    assert "whether it opens one as it runs cannot be told" in found["program"]["text"]


def test_nothing_is_preloaded_into_a_program_that_is_linked_statically(command: Command, tmp_path: Path) -> None:
    source, program = tmp_path / "main.c", tmp_path / "static"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", source, "-o", program], check=True)
    code, found = findings(command, str(program))
    assert (code, found["program"]["level"]) == (1, "error")
    assert "is linked statically: nothing can be preloaded" in found["program"]["text"]


def test_a_program_whose_mpi_is_gone_is_not_usable(command: Command, app: str, tmp_path: Path) -> None:
    (tmp_path / "mpich" / "lib" / "libmpi.so.12").unlink()
    code, found = findings(command, app)
    assert (code, found["program"]["level"]) == (1, "error")
    assert "not found" in found["program"]["text"]


def test_a_program_that_is_not_there_is_a_mistake(command: Command, app: str) -> None:
    outcome = command("doctor", "/nowhere/app")
    assert (outcome.code, "no such program" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    "words", [["doctor"], ["run", "-n", "2"], ["profile", "-n", "2"], ["compare"], ["lib", "--for"]]
)
def test_an_empty_name_is_no_program(command: Command, app: str, words: list[str]) -> None:
    outcome = command(*words, "")
    assert (outcome.code, "'' is no program's name: it is empty" in outcome.err) == (2, True), outcome.err


def test_a_job_without_a_table_is_told_that_it_can_have_one(command: Command, app: str) -> None:
    _, found = findings(command, app)
    assert (found["table"]["level"], "espalier tune" in found["table"]["remedy"]) == ("warning", True)


def test_a_table_that_cannot_be_read_is_said_not_to_be_used(command: Command, app: str, monkeypatch, tmp_path) -> None:
    (tmp_path / "table.json").write_text("{}")

    def refuse(core, path):
        raise UserError(f"{path}: no rows")

    monkeypatch.setattr(health, "read_table", refuse)
    monkeypatch.setenv("ESPALIER_TABLE", str(tmp_path / "table.json"))
    code, found = findings(command, app)
    assert code == 0
    assert "not used" in found["table"]["text"]
    assert "no rows" in found["table"]["text"]


@pytest.mark.parametrize(("reason", "level"), [("for another MPI", Level.WARNING), ("", Level.OK)])
def test_a_table_of_another_mpi_is_said_not_to_be_used(monkeypatch, reason: str, level: Level) -> None:
    signature = SimpleNamespace(mpi="MPICH 4")
    monkeypatch.setattr(
        health, "read_table", lambda core, path: SimpleNamespace(core=SimpleNamespace(signature=signature))
    )
    core = SimpleNamespace(why_foreign=lambda made_for, here: reason, probe_signature=lambda version: version)
    found = health.judge_table(core, Path("t.json"), "MPICH 5")
    assert found.level is level
    assert reason in found.text


def test_all_tables_that_a_job_looks_at_are_judged(command: Command, app: str, monkeypatch, tmp_path: Path) -> None:
    """The first may be another machine's, and the second this one's."""
    verdicts = {"theirs.json": Level.WARNING, "ours.json": Level.OK, "broken.json": Level.WARNING}
    files = [tmp_path / name for name in verdicts]
    monkeypatch.setattr(health, "files_in_force", lambda core: files)
    monkeypatch.setattr(
        health, "judge_table", lambda core, path, mpi: health.Finding("table", verdicts[path.name], path.name)
    )
    report = json.loads(command("doctor", "--json", app).out)["findings"]
    tables = [(it["level"], it["text"]) for it in report if it["topic"] == "table"]
    assert tables == [("ok", "ours.json"), ("ok", "2 more that this job does not use (espalier table list)")]
    monkeypatch.setenv("ESPALIER_TABLE", "broken.json")
    report = json.loads(command("doctor", "--json", app).out)["findings"]
    assert ("warning", "broken.json") in [(it["level"], it["text"]) for it in report], "somebody has named it"
    monkeypatch.delenv("ESPALIER_TABLE")
    del verdicts["ours.json"], files[1]
    report = json.loads(command("doctor", "--json", app).out)["findings"]
    tables = [(it["level"], it["text"]) for it in report if it["topic"] == "table"]
    assert tables == [("warning", "theirs.json"), ("warning", "broken.json")], "each says why"


def test_the_verdict_comes_last_and_of_settings_those_that_are_given(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setenv("ESPALIER_VERBOSE", "1")
    lines = command("doctor", app).out.splitlines()
    marked = sum(line.startswith("!") for line in lines)
    assert lines[-1].strip() in ("usable", f"usable, and {marked} line{'s' * (marked != 1)} marked ! may cost speed")
    assert [line.split()[0] for line in lines if line.startswith("ESPALIER_")] == ["ESPALIER_VERBOSE"]


def test_more_ranks_than_processors_are_worth_a_warning() -> None:
    assert health.judge_ranks(8, 2).level is Level.WARNING
    assert health.judge_ranks(2, 2).level is Level.OK


def test_ranks_of_no_program_are_a_mistake(command: Command, core) -> None:
    outcome = command("doctor", "-n", "4")
    assert (outcome.code, "of which program" in outcome.err) == (2, True)


def test_values_that_a_job_would_not_take_are_told(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setenv("ESPALIER_VERBOSE", "maybe")
    _, found = findings(command)
    assert found["settings"]["text"] == "ESPALIER_VERBOSE=maybe: write 1 or 0"


def test_a_control_group_with_less_memory_than_ranks_may_share_is_told(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setattr(machine, "memory_limit", lambda: 300 << 20)
    monkeypatch.setenv("ESPALIER_SHM_LIMIT", str(1 << 30))
    found = findings(command, "-n", "2", app)[1]["shared memory"]
    assert found["level"] == "warning"
    assert "the control group may hold 300 MiB of memory" in found["text"]
    assert "1 GiB of it (ESPALIER_SHM_LIMIT)" in found["text"]
    assert "ESPALIER_SHM_LIMIT=150M" in found["remedy"]
    monkeypatch.setenv("ESPALIER_SHM_LIMIT", str(150 << 20))
    assert findings(command, app)[1]["shared memory"]["text"].startswith("/dev/shm")
    monkeypatch.setattr(machine, "memory_limit", lambda: None)
    monkeypatch.delenv("ESPALIER_SHM_LIMIT")
    assert findings(command, app)[1]["shared memory"]["text"].startswith("/dev/shm")


def test_what_the_control_group_and_the_processors_allow_is_told(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    found = findings(command, "-n", "2", app)[1]
    assert found["processors"]["text"].startswith("1 of 4 processors allowed")
    assert (found["ranks"]["level"], found["ranks"]["text"]) == ("warning", "2 ranks on 1 processor: they take turns")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(machine, "cpu_quota", lambda: 1.5)
    found = findings(command, app)[1]
    assert found["processors"]["level"] == "warning"
    assert "the control group grants the time of 1.5" in found["processors"]["text"]
    assert "run at most 1 rank" in found["processors"]["remedy"]


def test_a_service_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        where = f"127.0.0.1:{door.getsockname()[1]}"
    assert examine_fabric(where).level is Level.WARNING
    assert examine_fabric("nonsense").level is Level.WARNING
    found = examine_fabric(str(tmp_path / "no.sock"))
    assert (found.level, "neither a folder of dumps nor a service's socket" in found.text) == (Level.WARNING, True)
    assert "a folder of dumps" in found.remedy


def test_who_listens_and_is_no_service_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:

        def greet() -> None:
            with door.accept()[0] as guest:
                guest.recv(100)
                guest.sendall(b"220 mail.example ESMTP\n")

        other = Thread(target=greet)
        other.start()
        found = examine_fabric(f"127.0.0.1:{door.getsockname()[1]}")
        other.join()
    assert (found.level, "no `espalier serve`" in found.text) == (Level.WARNING, True)


def test_a_service_is_asked_for_this_host_and_for_its_troubles(tmp_path: Path, monkeypatch) -> None:
    (known, *_) = sorted(it.name for it in load(DUMPS).core.hosts)
    with serving(DUMPS, tmp_path) as service:
        monkeypatch.setattr(platform, "node", lambda: "another.example")
        found = examine_fabric(f"127.0.0.1:{service.port}")
        assert found.level is Level.WARNING
        assert "; this one, another, is not among them, so its dumps are of another network, or older" in found.text
        monkeypatch.setattr(platform, "node", lambda: f"{known}.cluster.example")
        found = examine_fabric(f"127.0.0.1:{service.port}")
        assert (found.level, "answers, of a network of" in found.text) == (Level.OK, True)
    monkeypatch.setattr(network, "_ask", lambda where, host: ({"snapshot": "0", "hosts": "0"}, "error no-data"))
    assert "has read no dumps yet" in examine_fabric("door:1").text
    told = {"snapshot": "3", "hosts": "8", "trouble": "ibnetdiscover: cut short"}
    monkeypatch.setattr(network, "_ask", lambda where, host: (told, "0"))
    found = examine_fabric("door:1")
    assert (found.level, found.text.endswith("newest dumps: ibnetdiscover: cut short")) == (Level.WARNING, True)


def test_dumps_that_do_not_know_this_host_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = examine_fabric(str(DUMPS))
    assert (found.level, "is not among them" in found.text) == (Level.WARNING, True)
    (host, *_) = sorted(it.name for it in load(DUMPS).core.hosts)
    monkeypatch.setattr(platform, "node", lambda: f"{host}.cluster.example")
    assert examine_fabric(str(DUMPS)).level is Level.OK
    assert examine_fabric(str(tmp_path)).level is Level.WARNING, "no dumps"


def test_what_is_switched_off_is_not_usable(command: Command, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ESPALIER_DISABLE", "1")
    code, found = findings(command)
    assert (code, found["settings"]["text"]) == (1, "ESPALIER_DISABLE=1: every call is left to the MPI")


TOOL = "int PMPI_{0}(void); int MPI_{0}(void) {{ return PMPI_{0}(); }}"


def test_a_tool_in_front_of_mpi_is_told(command: Command, app: str, tmp_path: Path, monkeypatch) -> None:
    library = tmp_path / "mpich" / "lib" / "libmpi.so.12"
    shared = ["-shared", "-fPIC", "-Wl,--allow-shlib-undefined"]
    counts = compile_c(TOOL.format("Bcast"), tmp_path / "libcounts.so", *shared)
    waits = compile_c(TOOL.format("Wait"), tmp_path / "libwaits.so", *shared)
    linked = ["-Wl,--no-as-needed,--allow-shlib-undefined", str(counts), str(library)]
    program = compile_c(MAIN, tmp_path / "tooled", *linked, f"-Wl,-rpath,{library.parent}:{tmp_path}")
    assert "tool" not in findings(command, app)[1]
    tool = findings(command, str(program))[1]["tool"]
    assert (tool["level"], tool["text"].startswith(str(counts))) == ("ok", True)
    monkeypatch.setenv("LD_PRELOAD", str(waits))
    tool = findings(command, app)[1]["tool"]
    assert (tool["level"], "nonblocking collectives stay with the MPI" in tool["text"]) == ("warning", True)


def test_a_tool_for_another_mpi_is_a_warning(command: Command, app: str, tmp_path: Path, monkeypatch) -> None:
    other = make_mpi(tmp_path / "openmpi", MPI_TEXT["openmpi"], "libmpi.so.40")
    linked = ["-shared", "-fPIC", "-Wl,--no-as-needed,--allow-shlib-undefined", f"-Wl,-rpath,{other.parent}"]
    monkeypatch.setenv("LD_PRELOAD", str(compile_c(TOOL.format("Bcast"), tmp_path / "libtool.so", *linked, str(other))))
    tool = findings(command, app)[1]["tool"]
    assert tool["level"] == "warning"
    assert "libmpi.so.40, which has the openmpi ABI; the program's MPI has the mpich ABI" in tool["text"]
    assert "sees every call once" not in tool["text"]
    assert "a build of it for the program's MPI" in tool["remedy"]


@pytest.mark.parametrize("name", ["libasan.so.8", "libclang_rt.asan-x86_64.so"])
def test_a_program_with_a_sanitizer_is_told_what_it_wants_in_front(
    command: Command, app: str, tmp_path: Path, monkeypatch, name: str
) -> None:
    library = tmp_path / "mpich" / "lib" / "libmpi.so.12"
    runtime = compile_c("", tmp_path / name, "-shared", f"-Wl,-soname,{name}")
    linked = ["-Wl,--no-as-needed", str(runtime), str(library), f"-Wl,-rpath,{library.parent}:{tmp_path}"]
    program = str(compile_c(MAIN, tmp_path / "watched", *linked))
    assert "sanitizer" not in findings(command, app)[1]
    code, report = findings(command, program)
    found = report["sanitizer"]
    assert (code, found["level"]) == (1, "error"), "it would not begin"
    assert f"needs AddressSanitizer's {name}" in found["text"]
    assert "ASAN_OPTIONS=verify_asan_link_order=0" in found["remedy"]
    assert f"LD_PRELOAD={runtime}:" in found["remedy"]
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0")
    code, report = findings(command, program)
    assert (code, "sanitizer" in report) == (0, False)
    monkeypatch.delenv("ASAN_OPTIONS")
    monkeypatch.setenv("LD_PRELOAD", f"{runtime}:/nowhere/libespalier-mpich.so")
    assert "sanitizer" not in findings(command, program)[1]


def test_a_build_of_ours_that_is_preloaded_is_told_from_a_tool(
    command: Command, app: str, libraries: Path, tmp_path: Path, monkeypatch
) -> None:
    shared = ["-shared", "-fPIC", "-Wl,--allow-shlib-undefined"]
    fitting, wrong, either = (
        compile_c(TOOL.format("Wait"), libraries / f"libespalier-{build}.so", *shared)
        for build in ("mpich", "openmpi", "any")
    )
    link = tmp_path / "libours.so"
    link.symlink_to(fitting)
    for path, text in (
        (fitting, "the build for the mpich ABI"),
        (link, "the build for the mpich ABI"),
        (either, "that fits"),
    ):
        monkeypatch.setenv("LD_PRELOAD", str(path))
        for words in ([], [app]):
            found = findings(command, *words)[1]
            assert "tool" not in found
            assert (found["preloaded"]["level"], text in found["preloaded"]["text"]) == ("ok", True)
            assert found["preloaded"]["text"].startswith(f"{path} is Espalier's own")
    monkeypatch.setenv("LD_PRELOAD", str(wrong))
    assert findings(command)[1]["preloaded"]["level"] == "ok"
    found = findings(command, app)[1]["preloaded"]
    assert found["level"] == "warning"
    assert "the build for the openmpi ABI; the program's MPI has the mpich ABI" in found["text"]
    assert "espalier lib --for" in found["remedy"]
    monkeypatch.setenv("LD_PRELOAD", f"{wrong}:{fitting}")
    report = json.loads(command("doctor", "--json", app).out)["findings"]
    assert [it["level"] for it in report if it["topic"] == "preloaded"] == ["warning", "warning"]
    monkeypatch.setenv("LD_PRELOAD", "/nowhere/libespalier-mpich.so.0")
    assert "no such file" in findings(command, app)[1]["preloaded"]["text"]


def test_with_a_build_of_ours_in_front_the_others_load_without_a_word() -> None:
    library = subprocess.run(
        [sys.executable, "-m", "espalier", "lib", "--abi", "mpich"], capture_output=True, text=True, check=True
    ).stdout.strip()
    words = [sys.executable, "-m", "espalier", "doctor"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": library})
    assert done.stderr == ""
    assert f"{library} is Espalier's own: the build for the mpich ABI" in done.stdout


def test_a_profile_tells_which_calls_were_left_to_the_mpi_and_why(command: Command, app: str, tmp_path: Path) -> None:
    rows = [
        a_row(calls=300),
        a_row(operation="MPI_Bcast", calls=100, native=100, choice="native: the table says so"),
        a_row(operation="MPI_Gather", calls=100, native=10, sample=moments(10)),
    ]
    file = write(tmp_path / "p.json", rows, rows)
    _, found = findings(command, "--profile", str(file))
    assert found["profile"]["level"] == "warning"
    assert found["profile"]["text"] == (
        "100 of 500 calls were left to the MPI (20 %): 100 MPI_Bcast (the table says so)"
    )
    file = write(tmp_path / "p.json", rows[:1])
    assert findings(command, "--profile", str(file))[1]["profile"]["text"] == (
        "0 of 300 calls were left to the MPI (0 %)"
    )
    assert command("doctor", "--profile", str(tmp_path / "nothing.json")).code == 2


def test_without_a_file_it_is_the_programs_last_profile(command: Command, app: str, tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", [a_row(calls=300, native=300, choice="native: the table says so")])
    assert "profile" not in findings(command, app)[1]
    keep_last(Path(app), file)
    found = findings(command, app)[1]["profile"]
    assert found["level"] == "warning"
    text = r"the last of app, \d{4}-\d\d-\d\d \d\d:\d\d: 300 of 300 calls were left to the MPI \(100 %\)"
    assert re.match(text, found["text"]), found
    assert "profile" not in findings(command, "/bin/ls")[1], "of another program"
    keep_last(Path(app), tmp_path / "nothing")
    assert findings(command, app)[1]["profile"] == found, "what cannot be read replaces nothing"


def test_the_batch_job_that_this_is_in_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "2(x3)")
    (finding,) = diagnosis._examine_batch()
    assert (finding.level, finding.text) == (Level.OK, "Slurm (7): 3 hosts, 6 ranks; espalier run fills it")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "many")
    (finding,) = diagnosis._examine_batch()
    assert finding.level is Level.WARNING
    assert "2(x3),1" in finding.remedy


def ask_installed(*words: str, **variables: str) -> dict[str, Any]:
    """The installed command, whose library knows names and numbers."""
    line = [sys.executable, "-m", "espalier", "doctor", "--json", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    return json.loads(done.stdout)


def test_memory_that_nothing_fits_into_is_not_usable(tmp_path: Path) -> None:
    def judge(limit: str, *words: str) -> tuple[bool, list[tuple[str, str]]]:
        report = ask_installed(*words, ESPALIER_SHM_LIMIT=limit)
        found = [it for it in report["findings"] if it["text"].startswith("ESPALIER_SHM_LIMIT")]
        return report["usable"], [(it["level"], it["text"]) for it in found]

    text = "2 ranks of a node share 4K at least, so every call is left to the MPI"
    assert judge("12") == (False, [("error", f"ESPALIER_SHM_LIMIT=12: {text}")])
    assert judge("4K") == (True, [])
    app = compile_c("int main(void) { return 0; }", tmp_path / "app")
    text = "16 ranks of a node share 32K at least, so calls of all are left to the MPI"
    assert judge("4K", "-n", "16", str(app))[1] == [("warning", f"ESPALIER_SHM_LIMIT=4K: {text}")]
    assert judge("64M", "-n", "16", str(app))[1] == []
    assert judge("nonsense")[0], "a job says so, and takes the default"


def test_a_program_that_is_not_to_be_served_is_not_usable(tmp_path: Path) -> None:
    app = str(compile_c("int main(void) { return 0; }", tmp_path / "app"))
    told = f"ESPALIER_NOT excludes {app}: every call is left to the MPI"
    report = ask_installed(app, ESPALIER_NOT="*/app")
    assert not report["usable"]
    assert ("error", told) in [(it["level"], it["text"]) for it in report["findings"]]
    assert not ask_installed(app, ESPALIER_ONLY="lmp:vasp*")["usable"]
    assert ask_installed(app, ESPALIER_ONLY="app", ESPALIER_NOT="/bin/*")["usable"]


def test_a_program_for_accelerators_is_not_usable_unless_somebody_vouches_for_its_buffers(tmp_path: Path) -> None:
    runtime = compile_c(
        "int f(void) { return 0; }", tmp_path / "libcudart.so.12", "-shared", "-Wl,-soname,libcudart.so.12"
    )
    linked = ["-Wl,--no-as-needed", str(runtime), f"-Wl,-rpath,{tmp_path}"]
    app = str(compile_c("int main(void) { return 0; }", tmp_path / "app", *linked))
    report = ask_installed(app)
    (found,) = (it for it in report["findings"] if it["topic"] == "accelerators")
    assert (report["usable"], found["level"]) == (False, "error")
    assert found["text"].startswith(f"{runtime} is for accelerators")
    assert "ESPALIER_ASSUME_HOST_BUFFERS=1" in found["remedy"]
    assert ask_installed(app, ESPALIER_ASSUME_HOST_BUFFERS="1")["usable"]


def test_a_build_that_is_not_the_programs_may_be_broken(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setattr(diagnosis, "_load_problem", lambda path: "no GLIBC_2.99" if "openmpi" in path else "")
    code, found = findings(command, app)
    assert (code, found["library, openmpi ABI"]["level"]) == (0, "warning")
    code, found = findings(command)
    assert (code, found["library, openmpi ABI"]["level"]) == (1, "error")


def test_values_that_a_job_would_refuse_are_told() -> None:
    variables = {
        "ESPALIER_CHOICE_BROADCAST": "chian",
        "ESPALIER_CHOICE_ALLREDUCE": "native",
        "ESPALIER_VIRTUAL_NODES": "0,x",
        "ESPALIER_PROFILE": "/nonexistent/x.json",
    }
    told = [it["text"] for it in ask_installed(**variables)["findings"] if it["topic"] == "settings"]
    assert [text.partition(" ")[0] for text in told] == [
        "ESPALIER_CHOICE_BROADCAST=chian:",
        "ESPALIER_VIRTUAL_NODES:",
        "ESPALIER_PROFILE",
    ]


def settings_told(command: Command, *words: str) -> list[str]:
    """What is said of settings, but for those that the stand-in for the core does not have."""
    told = [
        it["text"]
        for it in json.loads(command("doctor", "--json", *words).out)["findings"]
        if it["topic"] == "settings"
    ]
    return [text for text in told if "there is no such setting" not in text]


def test_virtual_nodes_that_ranks_do_not_fill_are_told(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setenv("ESPALIER_VIRTUAL_NODES", "3,3")
    assert "3,3 are of 6 ranks together, and the job has 4" in settings_told(command, "-n", "4", app)[0]
    assert not settings_told(command, "-n", "6", app)


def test_a_launcher_that_is_not_there_is_told(command: Command, app: str, monkeypatch) -> None:
    monkeypatch.setenv("ESPALIER_LAUNCHER", "nosuch {n}")
    told = "ESPALIER_LAUNCHER=nosuch {n}: no such program: nosuch"
    assert settings_told(command)[0] == told
    outcome = command("run", "-n", "2", app)
    assert (outcome.code, outcome.err.splitlines()[0]) == (2, f"espalier: {told}")
    monkeypatch.setenv("ESPALIER_LAUNCHER", "srun {x}")
    assert settings_told(command)[0].startswith("ESPALIER_LAUNCHER=srun {x}: '{x}' stands for nothing")
    outcome = command("run", "-n", "2", "--launcher", "nosuch {n}", app)
    assert outcome.err.startswith("espalier: --launcher nosuch {n}: no such program: nosuch")
    monkeypatch.setenv("ESPALIER_LAUNCHER", "mpiexec")
    assert not settings_told(command)


def test_a_store_that_takes_no_files_is_told(command: Command, app: str, core, monkeypatch, tmp_path: Path) -> None:
    core.probe_store = lambda setting: "" if setting == "off" else setting
    (tmp_path / "file").touch()
    monkeypatch.setenv("ESPALIER_STORE", str(tmp_path / "file" / "store"))
    assert f"{tmp_path}/file takes no files" in settings_told(command)[0]
    for fine in (str(tmp_path / "new" / "store"), "off"):
        monkeypatch.setenv("ESPALIER_STORE", fine)
        assert not settings_told(command)
    assert not (tmp_path / "new").exists()
