"""Everything the command prints goes through here: results to stdout, messages to stderr, JSON on request."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from espalier.base.errors import UserError
from espalier.base.stacked import stack

# What is no terminal has room: a file, `less -S`, grep.
_WIDE = 200
_BOUNDLESS = 1 << 16
# For what would be wider still, and can be told in several lines.
_PAGE = 100


# What a terminal would obey: control characters but for line ends and tabs, those of ISO 6429's second set, and halves
# of characters, which is how undecodable bytes of names come.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """A text of others (services, dumps, tools, names of files) as it is shown: nothing in it moves the cursor."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found[0]) & 0xFF:02x}", text)


class _Clean(Console):
    """Shows whatever is printed as text, and nothing of it as a command to the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)  # before anybody asks how wide it is

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            is_plain = segment.control is not None or _OBEYED.search(segment.text) is None
            yield segment if is_plain else Segment(printable(segment.text), segment.style)


class PrintableFormatter(logging.Formatter):
    """The same for a log."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def log_to_stderr() -> None:
    """What services and collectors say, with the time."""
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)


def _open(*, stderr: bool = False) -> Console:
    # What users wrote is printed as they wrote it: "random:x:" is no emoji.
    console = _Clean(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, _WIDE)
    return console


out = _open()
err = _open(stderr=True)


def print_table(table: Table, beneath: int = 0) -> None:
    """A table with many columns on stdout: as wide as the terminal; where there is none, a line for each row.

    Of its last columns, `beneath` at most go below their rows where there is no room; then a file's lines have an end.
    """
    shown = stack(table, beneath, out.width if out.is_terminal else _PAGE, out) if beneath else table
    if out.is_terminal:
        out.print(shown)
        return
    width = _BOUNDLESS if isinstance(shown, Table) else _PAGE
    wide = _Clean(file=io.StringIO(), width=width, highlight=False, emoji=False)
    with wide.capture() as printed:
        wide.print(shown)
    # Cells are filled up with blanks; those of the last one hold nothing apart.
    sys.stdout.write("".join(f"{line.rstrip(' ')}\n" for line in printed.get().splitlines()))


def ratio_text(ratio: float) -> str:
    """A ratio with its colour; between 0.95 and 1.05 nothing can be said."""
    colour = "green" if ratio > 1.05 else "red" if ratio < 0.95 else "dim"
    return f"[{colour}]{ratio:.2f}×[/]"


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
    on top of those before. Work that goes on after the last step has no known end: bar and clock go on, too."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(escape(title), total=total)

        def tell(work: str, steps: int) -> None:
            bar.update(task, advance=steps, description=escape(f"{title}  {work}"))
            if bar.tasks[0].completed >= total:
                # A bar that is full stops its clock. No total cannot be said by update().
                bar.tasks[0].total, bar.tasks[0].finished_time = None, None

        yield tell
