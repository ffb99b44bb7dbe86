"""Programs into which nothing can be preloaded: those with rights of their own, and those of other machines."""

from __future__ import annotations

import json
import os
import platform
import struct
from pathlib import Path

import pytest

from espalier.base import machine
from espalier.jobs import diagnosis, privileges
from espalier.jobs.privileges import find_privileges
from workshop import MPI_TEXT, Command, compile_c, make_mpi

MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"


@pytest.fixture
def app(tmp_path: Path, only_mpis, libraries, core, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program on a machine on which everything is fine, and where files may give rights."""
    monkeypatch.setattr(diagnosis, "_load_problem", lambda path: "")
    monkeypatch.setattr(machine, "probe_single_copy", lambda: "")
    monkeypatch.setattr(privileges, "_are_void", lambda program: False)
    library = make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "mpich")
    return compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}")


def be_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No owner of files of ours, and no root."""
    for name in ("getuid", "getgid"):
        monkeypatch.setattr(os, name, lambda: 4711)


@pytest.mark.parametrize(
    ("mode", "told"), [(0o4755, "owner (set-user-ID)"), (0o2755, "group (set-group-ID)"), (0o2745, ""), (0o755, "")]
)
def test_who_is_not_the_owner_gets_rights_with_a_program(app: Path, monkeypatch, mode: int, told: str) -> None:
    app.chmod(mode)
    assert find_privileges(app) == "", "the owner has them"
    be_somebody_else(monkeypatch)
    found = find_privileges(app)
    assert found == (told and f"has the rights of its {told}, so nothing can be preloaded")


@pytest.mark.parametrize(
    ("words", "has_some"),
    [((0x02000001, 0, 0, 0, 0), True), ((0x02000000, 1 << 13, 0, 0, 0), True), ((0x02000000, 0, 0, 1, 0), True),
     ((0x02000000, 0, 1 << 13, 0, 0), False)],
)  # fmt: skip
def test_capabilities_count_where_they_are_in_force_or_may_be_taken(app: Path, monkeypatch, words, has_some) -> None:
    monkeypatch.setattr(os, "getxattr", lambda path, name: struct.pack("<5I", *words))
    be_somebody_else(monkeypatch)
    assert find_privileges(app) == ("has capabilities of its own (setcap), so nothing can be preloaded" * has_some)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert find_privileges(app) == "", "root has them all"


def test_rights_that_are_not_given_are_in_nobodys_way(app: Path, monkeypatch) -> None:
    app.chmod(0o4755)
    be_somebody_else(monkeypatch)
    monkeypatch.setattr(privileges, "_are_void", lambda program: True)
    assert find_privileges(app) == ""


def test_a_program_with_rights_of_its_own_is_not_usable(command: Command, app: Path, monkeypatch) -> None:
    app.chmod(0o4755)
    be_somebody_else(monkeypatch)
    outcome = command("doctor", "--json", str(app))
    (found,) = (it for it in json.loads(outcome.out)["findings"] if it["level"] == "error")
    assert outcome.code == 1
    assert "(set-user-ID), so nothing can be preloaded: every call is left to the MPI" in found["text"]
    assert "cp makes a copy" in found["remedy"]


def test_jobs_of_such_a_program_say_so(command: Command, app: Path, monkeypatch) -> None:
    app.chmod(0o4755)
    be_somebody_else(monkeypatch)
    told = f"{app} has the rights of its owner (set-user-ID), so nothing can be preloaded"
    outcome = command("run", "-n", "2", str(app))
    assert (outcome.code, outcome.err.startswith(f"espalier: {told}")) == (0, True)
    assert command("run", "-n", "2", "--native", str(app)).err == ""
    outcome = command("profile", "-n", "2", str(app))
    assert (outcome.code, f"remedy: {told}" in outcome.err) == (2, True)
    assert told in command("compare", "--rounds", "1", str(app)).err


def make_foreign(program: Path, machine_number: int) -> None:
    """As if it were compiled for another machine, of the same byte order."""
    code = bytearray(program.read_bytes())
    code[18:20] = struct.pack("=H", machine_number)
    program.write_bytes(code)


@pytest.mark.parametrize(
    ("number", "name"), [(183 if platform.machine() != "aarch64" else 62, None), (999, "machine 999 of the ELF spec")]
)
def test_a_program_for_another_machine_is_refused_before_anything_starts(
    command: Command, app: Path, number: int, name: str | None
) -> None:
    make_foreign(app, number)
    told = f"{app} is for {name or {183: 'aarch64', 62: 'x86_64'}[number]}"
    for words in (["run", "-n", "2"], ["profile", "-n", "2"], ["compare"], ["lib", "--for"]):
        outcome = command(*words, str(app))
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith(f"espalier: {told}")
        assert f", this machine is {platform.machine()}\n" in outcome.err
    outcome = command("doctor", "--json", str(app))
    (found,) = (it for it in json.loads(outcome.out)["findings"] if it["level"] == "error")
    assert (outcome.code, found["topic"], found["text"].startswith(told)) == (1, "program", True)


def test_a_program_with_other_words_is_for_another_machine(command: Command, app: Path) -> None:
    """Its first bytes are enough: a file of 32 bits has more than that in other places."""
    header = bytearray(app.read_bytes()[:64])
    header[4] = 1
    app.write_bytes(header + bytes(64))
    outcome = command("run", "-n", "2", str(app))
    assert (outcome.code, "with 32 bits, this machine is" in outcome.err) == (2, True), outcome.err
