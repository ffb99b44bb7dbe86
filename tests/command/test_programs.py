"""Telling which MPI a program uses, without running it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.jobs.libraries import Abi
from espalier.jobs.programs import Kind, inspect_program
from workshop import MPI_TEXT, compile_c, make_mpi

MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"


def script(path: Path, first_line: str) -> str:
    path.write_text(first_line + "\nexit 0\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("text", "soname", "abi"),
    [
        ("mpich", "libmpi.so.12", Abi.MPICH),
        ("mpich", "libmpich.so.12", Abi.MPICH),
        ("openmpi", "libmpi.so.40", Abi.OPENMPI),
        ("mpich", "libmpi_abi.so.1", Abi.STANDARD),
    ],
)
def test_a_linked_program_names_its_mpi(tmp_path: Path, text: str, soname: str, abi: Abi) -> None:
    library = make_mpi(tmp_path / "mpi", MPI_TEXT[text], soname)
    program = inspect_program(str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}")))
    assert (program.kind, program.abi) == (Kind.LINKED, abi)
    assert program.library is not None
    assert program.library.samefile(library)


def test_a_program_whose_mpi_is_not_found_still_has_an_abi(tmp_path: Path) -> None:
    library = make_mpi(tmp_path / "mpi", MPI_TEXT["openmpi"], "libmpi.so.20")  # so old that no system has it
    program = inspect_program(str(compile_c(MAIN, tmp_path / "app", str(library))))
    assert (program.kind, program.abi, program.library) == (Kind.LINKED, Abi.OPENMPI, None)


def test_a_program_without_mpi_is_said_to_have_none(tmp_path: Path) -> None:
    program = inspect_program(str(compile_c("int main(void) { return 0; }", tmp_path / "app")))
    assert (program.kind, program.abi) == (Kind.NONE, None)


def test_a_script_tells_nothing(tmp_path: Path) -> None:
    assert inspect_program(script(tmp_path / "job.sh", "#!/bin/sh")).kind is Kind.SCRIPT


@pytest.mark.parametrize(
    "line", [f"#!{sys.executable}", f"#!/usr/bin/env {sys.executable}", f"#!/usr/bin/env -S {sys.executable} -u"]
)
def test_a_python_script_is_asked_through_its_interpreter(tmp_path: Path, line: str) -> None:
    assert inspect_program(script(tmp_path / "job.py", line)).kind is Kind.PYTHON


def test_a_version_managers_shim_is_asked_like_the_interpreter_behind_it(tmp_path: Path) -> None:
    shim = tmp_path / "python3"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    shim.chmod(0o755)
    assert inspect_program(str(shim)).kind is Kind.PYTHON


def test_a_python_without_mpi4py_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hider = tmp_path / "sitecustomize.py"
    hider.write_text("import sys\nsys.modules['mpi4py'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    program = inspect_program(sys.executable)
    assert (program.kind, program.abi) == (Kind.PYTHON, None)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/nowhere/app", "no such program"),
        ("surely-not-a-program", "no such program"),
        ("data.txt", "not executable"),
        (".", "is a folder"),
    ],
)
def test_what_cannot_run_is_refused(tmp_path: Path, monkeypatch, name: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("data")
    with pytest.raises(UserError, match=message) as caught:
        inspect_program(name)
    assert caught.value.remedy


def test_a_script_of_pythons_that_nobody_made_executable_is_for_python_to_run(tmp_path: Path) -> None:
    script = tmp_path / "mean.py"
    script.write_text("print(1)")
    with pytest.raises(UserError) as caught:
        inspect_program(str(script))
    assert f"python {script}" in caught.value.remedy


def test_a_program_of_this_folder_must_be_named_with_its_folder(tmp_path: Path, monkeypatch) -> None:
    compile_c("int main(void) { return 0; }", tmp_path / "app")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(UserError) as caught:
        inspect_program("app")
    assert "./app" in caught.value.remedy


def test_an_executable_text_without_an_interpreter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither an executable nor a script"):
        inspect_program(script(tmp_path / "notes", "just words"))


@pytest.mark.parametrize(
    ("first_line", "message"),
    [("#!/nowhere/sh -e", "/nowhere/sh, which there is not"), ("#!/bin/sh\r", "line ends of Windows")],
)
def test_a_script_that_nothing_can_run_is_refused(tmp_path: Path, first_line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        inspect_program(script(tmp_path / "job", first_line))
