"""One drawing style for all pictures and pages: colours by what they stand for, readable on light and dark ground."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path

# How many lines or senders are told apart by colour: --c0 to --c5 of palette.css.
SERIES = 6

_FOLDER = Path(__file__).parent


@cache
def read(name: str) -> str:
    """One of the style sheets or scripts beside this file."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def series_style() -> str:
    """Lines and texts of the classes line0 to line5, and strokes of c0 to c5."""
    return "".join(
        f"svg .line{i} polyline {{ stroke: var(--c{i}); }} "
        f"svg .line{i} circle, svg text.line{i}, svg rect.line{i} {{ fill: var(--c{i}); }} "
        f"svg .c{i} {{ stroke: var(--c{i}); }} svg .head.c{i} {{ fill: var(--c{i}); stroke: none; }}\n"
        for i in range(SERIES)
    )


def svg_style() -> str:
    """What every picture needs where no page has it."""
    return read("palette.css") + read("svg.css") + series_style()


def open_svg(title: str, width: float, height: float, more_style: str = "", widest: float = 2) -> str:
    """The begin of a picture that is a file of its own or part of a page: its style, and its ground.

    Pages stretch pictures to their own width, at most `widest` times as wide as drawn. `title` is for those who do not
    see it, too.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img"'
        f' aria-label="{escape(title)}" style="max-width: {widest * width:.0f}px">\n<title>{escape(title)}</title>'
        f"<style>{svg_style()}{more_style}</style>\n"
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>'
    )
