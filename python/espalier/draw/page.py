"""What all pages have in common: their head and their style."""

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
