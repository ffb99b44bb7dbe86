"""What all pages have in common: their head and their style."""

from __future__ import annotations

from html import escape

from espalier.draw.style import read, svg_style


def compose_page(title: str, body: str, style: str = "", script: str = "") -> str:
    """A page of HTML. `title` is text; `body`, `style` and `script` are HTML, CSS (behind that of all pages) and
    JavaScript."""
    run = f"\n<script>\n{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{svg_style()}{read('style.css')}{style}</style></head>\n"
        f"<body>\n{body}{run}\n</body></html>\n"
    )
