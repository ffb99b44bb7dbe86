"""Everything the command prints goes through here: results to stdout, messages to stderr, JSON on request."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from espalier.errors import UserError

# What is no terminal has room: a file, `less -S`, grep.
_WIDE = 200


def _open(*, stderr: bool = False) -> Console:
    # What users wrote is printed as they wrote it: "random:x:" is no emoji.
    console = Console(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    return console


out = _open()
err = _open(stderr=True)


def print_table(table: Table) -> None:
    """A table with many columns on stdout: as wide as the terminal, without cuts where there is none."""
    out.print(table, crop=out.is_terminal)


def print_json(value: Any) -> None:
    """One JSON document on stdout, never wrapped or coloured."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_error(error: UserError) -> None:
    """The message and, on a line of its own, the remedy."""
    err.print(f"[bold red]espalier:[/] {escape(error.message)}", soft_wrap=True)
    if error.remedy:
        err.print(f"  [dim]remedy:[/] {escape(error.remedy)}", soft_wrap=True)


def note(text: str) -> None:
    """A remark for those who asked for them."""
    err.print(f"[dim]espalier: {escape(text)}[/]", soft_wrap=True)


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[str, int], None]]:
    """A bar on stderr, where that is a terminal. Yields what tells it: the work at hand, and how many steps are done
    on top of those before."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(escape(title), total=total)
        yield lambda work, steps: bar.update(task, advance=steps, description=escape(f"{title}  {work}"))
