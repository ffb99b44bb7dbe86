"""Parts of the reference that are made from the program itself: a page has an empty block `{generated} NAME` there.

Each part is a function that returns Markdown. None of them measures or looks at the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import header
import pages
import schema

from espalier.base.core import load_core
from espalier.tuning.problems.algorithms import describe

ROOT = Path(__file__).resolve().parents[2]
_PLACE = re.compile(r"^```\{generated\} (\S+)\n```$", re.MULTILINE)
_SIGNS = re.compile(r"[*_<\[\]]")


def list_commands() -> str:
    """Every command with its arguments and options, as Typer has them."""
    return "\n".join(describe_command(it) for it in pages.walk(pages.root()))


def describe_command(command: Any) -> str:
    """A section of its own; a command of a group is one level down."""
    level = "##" if len(command.words) < 3 else "###"
    usage = " ".join([*command.words, *command.click.collect_usage_pieces(command.context)])
    text = (command.click.help or "").replace("\b\n", "").strip()
    text = "\n".join(line.strip() for line in plain(text).splitlines())
    asked = [it.get_help_record(command.context) for it in command.click.get_params(command.context)]
    options = table(("", ""), [(code(name), plain(" ".join(about.split()))) for name, about in filter(None, asked)])
    return f"{level} {' '.join(command.words)}\n\n```text\n{usage}\n```\n\n{text}\n\n{options}\n"


def list_settings() -> str:
    """The variables that the library reads, from the table it reads them with."""
    rows = [(code(it.name), code(it.default) if it.default else "–", plain(it.help)) for it in load_core().settings()]
    return table(("variable", "default", "what it does"), rows)


def list_algorithms() -> str:
    """The catalogue, by operation."""
    entries = [describe(it) for it in load_core().algorithms()]
    parts = []
    for operation, group in groupby(entries, key=lambda it: it["operation"]):
        rows = [
            (code(it["between"]), plain(it["summary"]), plain(it["source"]), spell_knobs(it["knobs"])) for it in group
        ]
        parts.append(f"## {operation}\n\n{table(('algorithm', 'what it does', 'source', 'knobs'), rows)}")
    return "\n".join(parts)


def spell_knobs(knobs: Mapping[str, str]) -> str:
    """Each with its values."""
    return " ".join(code(f"{name}={values}") for name, values in knobs.items()) or "none"


def list_functions() -> str:
    """The C interface, from its header."""
    return header.describe(ROOT / "include" / "espalier" / "espalier.h")


def list_table_fields() -> str:
    """The members of a tuned table, from its schema."""
    return schema.describe(ROOT / "docs" / "reference" / "table-schema.json")


PARTS: dict[str, Callable[[], str]] = {
    "commands": list_commands,
    "settings": list_settings,
    "algorithms": list_algorithms,
    "functions": list_functions,
    "table-fields": list_table_fields,
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; nothing of no rows."""
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def code(text: str) -> str:
    """Text as it is typed."""
    return f"`{text}`" if "`" not in text else f"`` {text} ``"


def plain(text: str) -> str:
    """Text without signs that Markdown would take for its own."""
    return _SIGNS.sub(r"\\\g<0>", text)


def fill(_: Any, __: str, source: list[str]) -> None:
    """Puts the parts into a page's source, before it is parsed: only so its headings are sections of the page."""
    source[0] = _PLACE.sub(lambda place: PARTS[place[1]](), source[0])


def setup(app: Any) -> None:
    app.connect("source-read", fill)
