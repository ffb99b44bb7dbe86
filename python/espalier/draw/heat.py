"""A table of ratios as a picture: green where Espalier is faster, red where native is, the stronger the more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from espalier.draw.style import open_svg

_LEFT, _TOP, _ROW, _CELL, _BETWEEN = 150, 64, 20, 46, 14
# A ratio of so much, or its inverse, has the full colour.
_FULL = 4.0

_STYLE = """
svg .better { fill: var(--own); } svg .worse { fill: var(--bad); }
svg rect.even { fill: var(--rule); fill-opacity: .5; stroke: none; }
svg a text { text-decoration: underline; }
"""


@dataclass(frozen=True)
class Heat:
    """What is shown: ratios by row and column. Columns of one group stand together below its name."""

    title: str
    rows: Sequence[str]
    groups: Mapping[str, Sequence[str]]
    ratios: Mapping[tuple[str, str, str], float]  # by row, group and column; above 1 Espalier is faster
    links: Mapping[str, str] = field(default_factory=dict)  # where a row's name leads to


def draw_heat(heat: Heat) -> str:
    """The picture; a cell without a ratio stays empty."""
    lefts, right = _lefts(heat.groups)
    height = _TOP + _ROW * len(heat.rows) + 14
    parts = [
        open_svg(heat.title, right + 10, height, _STYLE),
        f'<text class="title" x="8" y="20">{escape(heat.title)}</text>',
    ]
    for group, columns in heat.groups.items():
        parts.append(f'<text class="name" x="{lefts[group, columns[0]] + 2}" y="42">{escape(group)}</text>')
        parts += [
            f'<text class="label middle" x="{lefts[group, column] + _CELL / 2}" y="58">{escape(column)}</text>'
            for column in columns
        ]
    for number, row in enumerate(heat.rows):
        parts += _draw_row(heat, row, _TOP + number * _ROW, lefts)
    return "\n".join([*parts, "</svg>", ""])


def _lefts(groups: Mapping[str, Sequence[str]]) -> tuple[dict[tuple[str, str], float], float]:
    """Where each column begins, and where the last one ends. A group is at least as wide as its name."""
    lefts, x = {}, float(_LEFT)
    for group, columns in groups.items():
        for number, column in enumerate(columns):
            lefts[group, column] = x + number * _CELL
        x += max(_CELL * len(columns), 6.6 * len(group)) + _BETWEEN
    return lefts, x - _BETWEEN


def _draw_row(heat: Heat, row: str, y: float, lefts: Mapping[tuple[str, str], float]) -> list[str]:
    name = f'<text class="end" x="{_LEFT - 10}" y="{y + 14}">{escape(row)}</text>'
    parts = [f'<a href="{escape(heat.links[row])}">{name}</a>' if row in heat.links else name]
    for (group, column), x in lefts.items():
        ratio = heat.ratios.get((row, group, column))
        if ratio is not None:
            label = f"{row}, {group}, {column}: {ratio:.2f}"
            parts.append(
                f"<g><title>{escape(label)}</title>"
                f'<rect {_shade(ratio)} x="{x}" y="{y}" width="{_CELL - 2}" height="{_ROW - 2}" rx="2"/>'
                f'<text class="middle" x="{x + _CELL / 2 - 1}" y="{y + 13}">{_spell(ratio)}</text></g>'
            )
    return parts


def _shade(ratio: float) -> str:
    """The class and strength of a cell's colour; what rounds of equal programs differ by is no colour."""
    if 0.97 < ratio < 1.03:
        return 'class="even"'
    strength = min(1.0, abs(math.log(max(ratio, 1e-3))) / math.log(_FULL))
    return f'class="{"better" if ratio > 1 else "worse"}" fill-opacity="{0.12 + 0.5 * strength:.2f}"'


def _spell(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"
