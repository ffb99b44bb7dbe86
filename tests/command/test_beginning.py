"""How the command begins: without what it does not need, and without a word when it is interrupted."""

from __future__ import annotations

import subprocess
import sys

import pytest


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
