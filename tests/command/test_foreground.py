"""How `espalier run` ends: as the launcher does, and after Ctrl-C as shells have it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

RUN = "import sys; from espalier.jobs.foreground import run; sys.exit(run(sys.argv[1:], {'GIVEN': 'yes'}))"
# A launcher that answers an interrupt with 1, as some do, and leaves a mark of every signal.
LAUNCHER = """
trap "echo int >>marks; exit 1" INT
trap "echo term >>marks; exit 3" TERM
touch ready
while :; do sleep 0.05; done
"""


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """Tests that run in the background ignore interrupts, and with them whatever they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(tmp_path: Path, *command: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", RUN, *command], cwd=tmp_path)
    wait_for(tmp_path / "ready")
    return process


def wait_for(file: Path) -> None:
    end = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < end, f"{file.name} did not appear"
        time.sleep(0.02)


def wait_for_end(child: int) -> int:
    """Its exit code."""
    end = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        assert time.monotonic() < end, "it did not end"
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(ended[1])


@pytest.mark.parametrize(("command", "code"), [("exit 42", 42), ("exit 0", 0), ("kill -9 $$", 137), ("kill $$", 143)])
def test_the_code_is_the_launchers(command: str, code: int) -> None:
    assert subprocess.run([sys.executable, "-c", RUN, "sh", "-c", command], check=False).returncode == code


def test_variables_and_standard_input_reach_it() -> None:
    script = 'read line; echo "$line $GIVEN"'
    done = subprocess.run(
        [sys.executable, "-c", RUN, "sh", "-c", script], input="a line\n", capture_output=True, text=True, check=True
    )
    assert done.stdout == "a line yes\n"


def test_an_interrupt_is_passed_on_and_ends_with_130(tmp_path: Path) -> None:
    process = start(tmp_path, "sh", "-c", LAUNCHER)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert (tmp_path / "marks").read_text() == "int\n"


def test_what_a_batch_system_sends_reaches_the_launcher(tmp_path: Path) -> None:
    process = start(tmp_path, "sh", "-c", LAUNCHER)
    process.terminate()
    assert process.wait(20) == 3
    assert (tmp_path / "marks").read_text() == "term\n"


def test_a_key_on_the_terminal_interrupts_the_launcher_once(tmp_path: Path) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", RUN, "sh", "-c", LAUNCHER])
    wait_for(tmp_path / "ready")
    os.write(terminal, b"\x03")
    assert wait_for_end(child) == 130
    assert (tmp_path / "marks").read_text() == "int\n"


def test_a_launcher_does_not_outlive_who_waits_for_it(tmp_path: Path) -> None:
    process = start(tmp_path, "sh", "-c", LAUNCHER)
    process.kill()
    process.wait(20)
    wait_for(tmp_path / "marks")
    assert (tmp_path / "marks").read_text() == "term\n"


def test_a_program_that_is_not_there_is_an_error() -> None:
    done = subprocess.run([sys.executable, "-c", RUN, "/nowhere/mpiexec"], capture_output=True, text=True, check=False)
    assert "/nowhere/mpiexec" in done.stderr
