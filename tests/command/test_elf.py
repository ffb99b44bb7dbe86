"""The ELF reader and the loader's search, checked against programs made here and against ldd."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from espalier.jobs.elf import NotElf, read_elf
from espalier.jobs.loader import find_dependencies, read_cache
from workshop import compile_c, compile_library

MAIN = "int leaf(void); int main(void) { return leaf(); }"
LEAF = "int leaf(void) { return 7; }"


@pytest.fixture
def leaf(tmp_path: Path) -> Path:
    return compile_library("libleaf.so.3", tmp_path / "leaf", LEAF)


def found(program: Path, name: str, library_path: str = "") -> Path | None:
    by_name = {it.name: it.path for it in find_dependencies(program, {"LD_LIBRARY_PATH": library_path})}
    return by_name[name]


def test_soname_needed_and_interpreter_are_read(tmp_path: Path, leaf: Path) -> None:
    program = compile_c(MAIN, tmp_path / "program", str(leaf))
    assert read_elf(leaf).soname == "libleaf.so.3"
    assert read_elf(leaf).interpreter is None
    assert "libleaf.so.3" in read_elf(program).needed
    assert "ld" in (read_elf(program).interpreter or "")


def test_runpath_and_rpath_are_told_apart(tmp_path: Path, leaf: Path) -> None:
    new = compile_c(MAIN, tmp_path / "new", str(leaf), "-Wl,--enable-new-dtags,-rpath,/a:/b")
    old = compile_c(MAIN, tmp_path / "old", str(leaf), "-Wl,--disable-new-dtags,-rpath,/a:/b")
    assert (read_elf(new).runpath, read_elf(new).rpath) == (("/a", "/b"), ())
    assert (read_elf(old).runpath, read_elf(old).rpath) == ((), ("/a", "/b"))


def test_a_library_that_nobody_finds_is_listed_without_a_path(tmp_path: Path, leaf: Path) -> None:
    assert found(compile_c(MAIN, tmp_path / "program", str(leaf)), "libleaf.so.3") is None


def test_origin_is_the_folder_of_the_file(tmp_path: Path, leaf: Path) -> None:
    program = compile_c(MAIN, tmp_path / "bin" / "program", str(leaf), "-Wl,-rpath,$ORIGIN/../leaf")
    path = found(program, "libleaf.so.3")
    assert path is not None
    assert path.samefile(leaf)


def test_rpath_comes_before_the_library_path_and_runpath_after_it(tmp_path: Path, leaf: Path) -> None:
    other = compile_library("libleaf.so.3", tmp_path / "other", LEAF)
    for dtags, expected in (("--disable-new-dtags", leaf), ("--enable-new-dtags", other)):
        program = compile_c(MAIN, tmp_path / dtags, str(leaf), f"-Wl,{dtags},-rpath,{leaf.parent}")
        path = found(program, "libleaf.so.3", library_path=str(other.parent))
        assert path is not None
        assert path.samefile(expected)


def test_an_rpath_also_serves_the_libraries_of_libraries_and_a_runpath_does_not(tmp_path: Path, leaf: Path) -> None:
    middle = compile_library(
        "libmiddle.so", leaf.parent, "int leaf(void); int mid(void) { return leaf(); }", [str(leaf)]
    )
    source = "int mid(void); int main(void) { return mid(); }"
    link = (str(middle), "-Wl,--allow-shlib-undefined")
    old = compile_c(source, tmp_path / "old", *link, f"-Wl,--disable-new-dtags,-rpath,{leaf.parent}")
    new = compile_c(source, tmp_path / "new", *link, f"-Wl,--enable-new-dtags,-rpath,{leaf.parent}")
    assert found(old, "libleaf.so.3") is not None
    assert found(new, "libleaf.so.3") is None


def test_a_file_of_another_machine_is_passed_over(tmp_path: Path, leaf: Path) -> None:
    wrong = tmp_path / "wrong" / "libleaf.so.3"
    wrong.parent.mkdir()
    data = bytearray(leaf.read_bytes())
    data[18] ^= 0xFF  # e_machine
    wrong.write_bytes(data)
    program = compile_c(MAIN, tmp_path / "program", str(leaf))
    path = found(program, "libleaf.so.3", library_path=f"{wrong.parent}:{leaf.parent}")
    assert path is not None
    assert path.samefile(leaf)


@pytest.mark.parametrize("name", ["cmake", "git", "make", "gcc"])
def test_real_programs_resolve_as_ldd_says(name: str) -> None:
    program = shutil.which(name)
    if program is None or not Path(program).read_bytes().startswith(b"\x7fELF"):
        pytest.skip(f"{name} is no executable here")
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    expected = {match[1]: Path(match[2]) for match in re.finditer(r"(\S+) => (/\S+)", text)}
    ours = {it.name: it.path for it in find_dependencies(Path(program))}
    for library, path in expected.items():
        mine = ours[library]
        assert mine is not None
        assert mine.samefile(path)


def test_the_loaders_cache_knows_the_c_library() -> None:
    assert any(path.exists() for path in read_cache(Path("/etc/ld.so.cache")).get("libc.so.6", ()))


def test_a_missing_or_unknown_cache_is_empty(tmp_path: Path) -> None:
    strange = tmp_path / "cache"
    strange.write_bytes(b"something else entirely")
    assert read_cache(strange) == {}
    assert read_cache(tmp_path / "nothing") == {}


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF", b"\x7fELF" + b"\x09" * 100])
def test_what_is_not_elf_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    with pytest.raises(NotElf):
        read_elf(file)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused_but_never_crashes(tmp_path: Path, data: st.DataObject) -> None:
    original = tmp_path / "libdamage.so"
    if not original.exists():
        compile_library(original.name, tmp_path, LEAF)
    content = bytearray(original.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, 1023))] = data.draw(st.integers(0, 255))
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(NotElf):
        read_elf(damaged)


def test_a_static_program_needs_nothing(tmp_path: Path) -> None:
    program = compile_c("int main(void) { return 0; }", tmp_path / "static", "-static")
    assert find_dependencies(program, dict(os.environ)) == []
