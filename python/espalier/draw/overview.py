"""Many comparisons in one picture: a dot for each, how many times faster than native, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from espalier.draw.chart import Axis

_WIDTH, _TOP, _ROW, _BOTTOM = 900, 44, 26, 30
# Room for the names of lanes, by the width of a letter, and right of the last dot.
_LETTER, _RIGHT = 6.6, 24
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Dot:
    """Native ÷ Espalier of one thing, once it has learned and in the run before."""

    name: str
    ratio: float
    first: float


@dataclass(frozen=True)
class Lane:
    """What belongs together: a program, an MPI, a number of ranks."""

    name: str
    dots: Sequence[Dot]


def draw_overview(title: str, lanes: Sequence[Lane]) -> str:
    """An SVG picture. Right of the line at 1 Espalier is faster; the dot that is furthest on the left is named."""
    ratios = [value for lane in lanes for dot in lane.dots for value in (dot.ratio, dot.first)]
    low = max((it for it in _TICKS if it <= min([*ratios, 1.0])), default=_TICKS[0])
    high = min((it for it in _TICKS if it >= max([*ratios, 2.0])), default=_TICKS[-1])
    left = 16 + _LETTER * max(len(lane.name) for lane in lanes)
    x = Axis(low, high, left, _WIDTH - _RIGHT)
    height = _TOP + _ROW * len(lanes) + _BOTTOM
    worst = min((dot for lane in lanes for dot in lane.dots), key=lambda it: it.ratio)
    rows = [_draw_lane(lane, _TOP + _ROW * (at + 0.5), x, worst) for at, lane in enumerate(lanes)]
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
            f'<text class="title" x="16" y="18">{escape(title)}</text>',
            *_scale(x, height),
            *rows,
            *_legend(left),
            "</svg>",
        ]
    )


def _scale(x: Axis, height: float) -> Iterable[str]:
    for tick in (it for it in _TICKS if x.low <= it <= x.high):
        at = f"{x(tick):.1f}"
        style = "even" if tick == 1 else "grid"
        yield f'<line class="{style}" x1="{at}" x2="{at}" y1="{_TOP}" y2="{height - _BOTTOM}"/>'
        yield f'<text class="label" x="{at}" y="{height - 12}" text-anchor="middle">{tick:g}×</text>'


def _draw_lane(lane: Lane, y: float, x: Axis, worst: Dot) -> str:
    parts = [f'<text x="16" y="{y + 4:.1f}">{escape(lane.name)}</text>']
    for style, radius in (("first", 3.0), ("own", 4.5)):
        dots = (_draw_dot(it, style, radius, y, x) for it in lane.dots)
        parts.append(f'<g class="{style}">{"".join(dots)}</g>')
    if worst in lane.dots:
        style = "loss" if worst.ratio < 1 else "mark"
        text = f"lowest: {worst.ratio:.2f}×, {escape(worst.name)}"
        parts.append(f'<text class="name {style}" x="{x(worst.ratio):.1f}" y="{y - 8:.1f}">{text}</text>')
    return "".join(parts)


def _draw_dot(dot: Dot, style: str, radius: float, y: float, x: Axis) -> str:
    ratio = dot.first if style == "first" else dot.ratio
    when = "in the first run" if style == "first" else "having learned"
    told = f"<title>{escape(dot.name)}: {ratio:.2f}× {when}</title>"
    return f'<circle cx="{x(min(max(ratio, x.low), x.high)):.1f}" cy="{y:.1f}" r="{radius}">{told}</circle>'


def _legend(left: float) -> Iterable[str]:
    for at, style, text in ((0, "own", "with what was learned"), (170, "first", "first run: nothing was known")):
        yield f'<g class="{style}"><circle cx="{left + at:.1f}" cy="32" r="4"/></g>'
        yield f'<text class="label" x="{left + at + 9:.1f}" y="36">{text}</text>'
