"""What all pages have in common: their head, their style, and that a file is complete or not there."""

from __future__ import annotations

from html import escape
from pathlib import Path

_STYLE = Path(__file__).with_name("style.css")


def compose_page(title: str, body: str, style: str = "") -> str:
    """A page of HTML. `title` is text, `body` and `style`, which comes behind that of all pages, are HTML and CSS."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text()}{style}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def replace_file(path: Path, text: str) -> None:
    """Writes the file, complete or not at all. Raises OSError."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
