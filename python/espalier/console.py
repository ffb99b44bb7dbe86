"""Everything the command prints goes through here: results to stdout, messages to stderr, JSON on request."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console
from rich.markup import escape

from espalier.errors import UserError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


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
