"""What others have written is shown, and not obeyed; what somebody has named is read, and never waited for."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.reading import read_regular
from espalier.base.stacked import stack
from espalier.jobs.programs import inspect_program
from workshop import Command

HOSTILE = "node\x1b[2J\x9b1m\x7f"
SHOWN = r"node\x1b[2J\x9b1m\x7f"


def test_errors_and_notes_show_control_characters(capfd: pytest.CaptureFixture[str]) -> None:
    console.print_error(UserError(f"{HOSTILE}\nsecond line", HOSTILE))
    console.note(HOSTILE)
    err = capfd.readouterr().err
    assert err.count(SHOWN) == 3
    assert "\x1b[2J" not in err
    assert "\nsecond line" in err


def test_tables_show_control_characters_and_keep_their_colours() -> None:
    table = Table("name")
    table.add_row(f"[green]{HOSTILE}[/]")
    shown = console._Clean(file=io.StringIO(), force_terminal=True, color_system="standard", width=100)
    shown.print(table)
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert f"\x1b[32m{SHOWN}" in text
    assert HOSTILE not in text


def test_without_a_terminal_a_row_is_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    table = Table("file", "why", box=None, pad_edge=False)
    table.add_row("a" * 300, "long " * 100 + "end")
    table.add_row("b", "short")
    console.print_table(table)
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("end")
    assert not any(line.endswith(" ") for line in lines)


WIDE = [
    ("collective", "calls", "time", "of run", "communicator", "done by"),
    ("MPI_Bcast", "759", "78.65 ms", "13.6 %", "4 ranks on 1 node", "tiny"),
    (
        "MPI_Reduce_scatter_block",
        "3",
        "~9.46 ms",
        "5.6 %",
        "4 ranks on 2 nodes",
        "knomial,radix=2,cell=32K,cells=8, as learned",
    ),
]


def wide_table() -> Table:
    table = Table(box=None, pad_edge=False)
    for number, title in enumerate(WIDE[0]):
        table.add_column(title, justify="right" if number in (1, 2, 3) else "left")
    for row in WIDE[1:]:
        table.add_row(*row)
    return table


@pytest.mark.parametrize("width", [*range(40, 130, 5), 200])
def test_a_table_that_is_too_wide_loses_no_word_below_its_rows(width: int) -> None:
    shown = console._Clean(file=io.StringIO(), width=width)
    shown.print(stack(wide_table(), 2, width, shown))
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert all(len(line) <= width for line in text.splitlines())
    assert Counter("".join(text.split())) == Counter("".join("".join(cell.split()) for row in WIDE for cell in row))


def test_as_few_columns_as_are_enough_go_below(capfd: pytest.CaptureFixture[str]) -> None:
    def show(width: int) -> list[str]:
        shown = console._Clean(file=io.StringIO(), width=width)
        shown.print(stack(wide_table(), 2, width, shown))
        return [line.rstrip() for line in shown.file.getvalue().splitlines()]  # type: ignore[attr-defined]

    assert len(show(200)) == 3
    assert show(90)[2:4] == [
        "MPI_Bcast                   759  78.65 ms  13.6 %  4 ranks on 1 node",
        "    tiny",
    ]
    assert show(60)[2:4] == ["MPI_Bcast                   759  78.65 ms  13.6 %", "    4 ranks on 1 node  tiny"]
    console.print_table(wide_table(), beneath=2)
    printed = capfd.readouterr().out.splitlines()
    assert printed[2:4] == show(90)[2:4], "without a terminal as if it had 100 columns"
    assert not any(line.endswith(" ") for line in printed)


def test_logs_show_control_characters() -> None:
    record = logging.LogRecord("it", logging.ERROR, "", 0, "%s", (HOSTILE,), None)
    assert console.PrintableFormatter("%(message)s").format(record) == SHOWN


def test_names_of_dumps_show_control_characters(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "a\x1b[2Jb").write_text("vendid=0x2c9\nSwitch\t36 oops\n")
    outcome = command("fabric", "check", str(folder))
    assert outcome.code == 2
    assert "\x1b" not in outcome.err + outcome.out


def test_a_pipe_or_a_device_is_no_table_no_program_and_no_snapshot(command: Command, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe, 0o777)
    assert "no regular file" in command("table", "show", str(pipe)).err
    assert "no regular file" in command("table", "show", "/dev/zero").err
    assert "no regular file" in command("node", str(pipe)).err
    with pytest.raises(UserError, match="no regular file"):
        inspect_program(str(pipe))


def test_more_than_the_bound_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_regular(file, 5) == b"12345"
    with pytest.raises(OSError, match="larger than the 4 bytes"):
        read_regular(file, 4)


def test_a_bar_whose_steps_are_done_goes_on_with_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True, width=80))
    with console.progress("tuning", 2) as tell:
        tell("a", 2)
        tell("meets native again", 0)
    shown = screen.getvalue()
    assert "2/2" not in shown.split("meets native again")[-1], "no end is known of what goes on"
    assert "meets native again" in shown


@pytest.mark.parametrize(
    ("arguments", "said", "remedy"),
    [
        (["explain"], "missing argument 'OP'", "see espalier explain --help"),
        (["verify", "--foo"], "no such option: --foo", "see espalier verify --help"),
        (["nosuch"], "no such command 'nosuch'", "see espalier --help"),
        (["verify", "--random", "many"], "invalid value for '--random'", "see espalier verify --help"),
    ],
)
def test_wrong_usage_is_told_like_all_other_errors(
    command: Command, arguments: list[str], said: str, remedy: str
) -> None:
    done = command(*arguments)
    assert done.code == 2
    assert done.err.startswith(f"espalier: {said}")
    assert f"remedy: {remedy}" in done.err
    assert "─" not in done.err


def test_no_words_at_all_show_what_there_is(command: Command) -> None:
    done = command()
    assert done.code == 2
    assert "explain" in done.out + done.err


def test_a_file_takes_as_much_memory_as_it_has_bytes_whatever_it_might_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100_000)
    code = (
        "import resource, sys; from pathlib import Path; from espalier.base.reading import read_regular\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "print(len(read_regular(Path(sys.argv[1]), 8 << 30)))"
    )
    done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
    assert done.stdout == "100000\n", done.stderr


def test_a_file_that_says_it_is_empty_is_read_to_its_end() -> None:
    assert read_regular(Path("/proc/self/maps"), 1 << 30).endswith(b"\n")
    with pytest.raises(OSError, match="is larger than the 10 bytes"):
        read_regular(Path("/proc/self/maps"), 10)
