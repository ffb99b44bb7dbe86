"""A page's part that is computed: it stands between two marks, and what is around it is written by hand."""

from __future__ import annotations

from pathlib import Path

from espalier.base.errors import UserError


def embed(text: str, page: Path, begin: str, end: str) -> None:
    """Replaces what stands between the marks of a page. Raises UserError when they are not there."""
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise UserError(f"{page} has no place for this", f"put {begin.strip()} and {end.strip()} where it belongs")
    page.write_text(before + begin + text + end + after, encoding="utf-8")
