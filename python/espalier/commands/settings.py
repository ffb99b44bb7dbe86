"""espalier settings: what the library reads from the environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.names import ask
from espalier.base.settings import PREFIX, Setting, known_settings


def settings(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Only those that tell of all these words.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The settings as JSON.")] = False,
) -> None:
    """List the variables that jobs read (ESPALIER_*), with their defaults, or the values that they have here."""
    known = known_settings()
    found = [it for it in known.values() if _tells(it, words or [])]
    if not found:
        near = ask("_".join(words or []), known, PREFIX)
        raise UserError(f"no setting tells of {' '.join(words or [])}", f"{near}`espalier settings` lists all of them")
    if json:
        console.print_json([asdict(it) for it in found])
    else:
        console.out.print(settings_table(found))


def _tells(setting: Setting, words: Iterable[str]) -> bool:
    text = f"{setting.name} {setting.help}".lower()
    return all(word.lower() in text for word in words)


def settings_table(found: Iterable[Setting]) -> Table:
    """Settings with their defaults, or with the values that the environment gives them."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for setting in found:
        value = f"[bold]{escape(setting.value)}[/]" if setting.value is not None else escape(setting.default)
        table.add_row(setting.name, value, f"[dim]{escape(setting.help)}[/]")
    return table
