"""How the command begins: without what it does not need, and without a word when it is interrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from espalier.base.preload import is_sanitizer


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["lib", "run", "table", "fabric"])
def test_a_command_is_imported_without_the_others(name: str) -> None:
    """All of them together take a second."""
    done = run_python(
        f"import sys; from espalier.cli import build_app; build_app({name!r})\n"
        "print(*(it for it in sys.modules if it.startswith('espalier.')))"
    )
    assert done.returncode == 0, done.stderr
    modules = done.stdout.split()
    assert any(it.startswith(f"espalier.commands.{name}") or ".tune.table" in it for it in modules), modules
    assert not [it for it in modules if it.startswith(("espalier.papers", "espalier.service.serving"))]


def test_what_is_no_command_is_looked_for_among_all() -> None:
    done = subprocess.run([sys.executable, "-m", "espalier", "rum"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Did you mean 'run'?" in done.stderr) == (2, True), done.stderr


def test_who_interrupts_its_beginning_gets_no_traceback() -> None:
    done = run_python(
        "import sys, importlib.abc\n"
        "class Interrupt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'espalier.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from espalier.__main__ import main\n"
        "main()\n"
    )
    assert (done.returncode, done.stderr) == (130, "")


@pytest.fixture
def asan() -> Path:
    """AddressSanitizer's runtime, where the compiler has one."""
    found = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False).stdout
    if "/" not in found:
        pytest.skip("this compiler has no AddressSanitizer")
    return Path(found.strip())


def run_with(preloaded: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "espalier", *words],
        env={**os.environ, "LD_PRELOAD": str(preloaded)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_doctor_tells_of_a_sanitizer_that_is_preloaded_and_is_not_its_patient(asan: Path) -> None:
    done = run_with(asan, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = [it for it in json.loads(done.stdout)["findings"] if it["topic"] == "preloaded"]
    assert (found["level"], found["text"].startswith(f"{asan} is a sanitizer's runtime")) == ("warning", True)


def test_a_sanitizer_that_is_preloaded_reaches_the_ranks(asan: Path) -> None:
    done = run_with(asan, "run", "--native", "-n", "1", "--", "printenv", "LD_PRELOAD")
    assert done.stdout.strip() == str(asan), done.stderr


@pytest.mark.parametrize(
    ("library", "is_one"),
    [
        ("libasan.so", True),
        ("/usr/lib/libtsan.so.2", True),
        ("/opt/llvm/libclang_rt.asan-x86_64.so", True),
        ("libclang_rt.ubsan_standalone-x86_64.so", True),
        ("/libasan.so.8/libours.so", False),
        ("libsan.so", False),
    ],
)
def test_a_sanitizer_is_known_by_its_name(library: str, is_one: bool) -> None:
    assert is_sanitizer(library) == is_one
