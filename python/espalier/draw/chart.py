"""Small line charts as inline SVG: time over message size, both axes logarithmic, two series.

Colours are the page's CSS variables, so that a chart follows its light and dark themes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from espalier.base.units import format_bytes

_WIDTH, _HEIGHT = 440, 270
_LEFT, _TOP, _BOTTOM = 52, 30, 50
# Room for the lines' names at their ends: at least so much, and by the width of a bold letter for long ones.
_RIGHT, _LETTER = 66, 7
_TAG = re.compile("<[^>]*>")
# From this ratio between the largest and the smallest value on, powers of ten are enough of a scale.
_WIDE = 100


@dataclass(frozen=True)
class Series:
    """One line: its name, its CSS class, and one value per size."""

    name: str
    style: str
    values: Sequence[float]


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis from `low` to `high` that spans the pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def draw_times(
    title: str, sizes: Sequence[int], series: Sequence[Series], marks: Sequence[str], foremost: int = 0
) -> str:
    """A chart of microseconds over bytes. `marks[i]` is written below size i (already HTML, e.g. a ratio), where there
    is room, but below size `foremost` in any case."""
    return draw_lines(title, sizes, series, marks, _time, foremost)


def draw_lines(
    title: str,
    sizes: Sequence[int],
    series: Sequence[Series],
    marks: Sequence[str],
    label: Callable[[float], str],
    foremost: int = 0,
) -> str:
    """The same of any quantity: `label` writes a round value of it."""
    right = max(_RIGHT, 12 + _LETTER * max(len(line.name) for line in series))
    x = Axis(min(sizes), max(max(sizes), min(sizes) * 2), _LEFT, _WIDTH - right)
    values = [value for line in series for value in line.values]
    bottom, top = _HEIGHT - _BOTTOM, _TOP
    ticks = _ticks(min(values), max(values) * 1.001)
    y = Axis(ticks[0], ticks[-1], bottom, top)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<text class="title" x="{_LEFT}" y="16">{escape(title)}</text>',
        *_grid(x, y, ticks, label),
        *_size_labels(x, sizes, marks, foremost),
        *(_line(line, sizes, x, y, " µs" if label is _time else "") for line in series),
        *_names(series, x, y),
        "</svg>",
    ]
    return "\n".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten around the values; where these span less than two decades, also twice and five times that much."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if high / low >= _WIDE:
        return [10.0**exponent for exponent in range(first, last + 1)]
    steps = [factor * 10.0**exponent for exponent in range(first, last + 1) for factor in (1, 2, 5)]
    below = [step for step in steps if step <= low]
    above = [step for step in steps if step >= high]
    return [step for step in steps if below[-1] <= step <= above[0]]


def _grid(x: Axis, y: Axis, ticks: Sequence[float], label: Callable[[float], str]) -> list[str]:
    """A line and a label at each tick."""
    parts = []
    for tick in ticks:
        height = y(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{x.end}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(f'<text class="label" x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{label(tick)}</text>')
    return parts


def _time(us: float) -> str:
    unit, scale = ("µs", 1.0) if us < 1e3 else ("ms", 1e3) if us < 1e6 else ("s", 1e6)
    return f"{us / scale:g} {unit}"


def _size_labels(x: Axis, sizes: Sequence[int], marks: Sequence[str], foremost: int) -> list[str]:
    """One below the foremost size, and below each other, but for those that would touch one before, as sizes half-way
    do."""
    parts: list[str] = []
    taken: list[tuple[float, float]] = []
    for at in dict.fromkeys((foremost, *range(len(sizes)))):
        size, mark = sizes[at], marks[at]
        name = format_bytes(size)
        half = max(len(name), len(_TAG.sub("", mark))) * _LETTER / 2
        begin, end = x(size) - half, x(size) + half
        if any(begin < other_end and other_begin < end for other_begin, other_end in taken):
            continue
        taken.append((begin, end))
        parts.append(f'<text class="label" x="{x(size):.1f}" y="{_HEIGHT - 32}" text-anchor="middle">{name}</text>')
        parts.append(f'<text class="mark" x="{x(size):.1f}" y="{_HEIGHT - 14}" text-anchor="middle">{mark}</text>')
    return parts


def _line(line: Series, sizes: Sequence[int], x: Axis, y: Axis, unit: str) -> str:
    points = [(x(size), y(value)) for size, value in zip(sizes, line.values, strict=True)]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    dots = "".join(
        f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5"><title>{escape(line.name)}, {format_bytes(size)}: '
        f"{value:.2f}{unit}</title></circle>"
        for (px, py), size, value in zip(points, sizes, line.values, strict=True)
    )
    return f'<g class="{line.style}"><polyline points="{path}"/>{dots}</g>'


def _names(series: Sequence[Series], x: Axis, y: Axis) -> list[str]:
    """Each line's name at its end, pushed apart where the lines end close together."""
    place: Callable[[Series], float] = lambda line: y(line.values[-1])  # noqa: E731
    parts, lowest = [], -math.inf
    for line in sorted(series, key=place):
        lowest = max(place(line) + 4, lowest + 14)
        parts.append(f'<text class="name {line.style}" x="{x.end + 8}" y="{lowest:.1f}">{escape(line.name)}</text>')
    return parts
