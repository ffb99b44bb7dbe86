"""Which links of the network a plan loads: a bar per link, the busiest first, and all of them in one profile."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from espalier.base.units import approximate_bytes, counted
from espalier.draw.style import open_svg
from espalier.simulation.simulator import Answer, Load

# More bars than this are no picture any more; the profile shows the others.
MOST_BARS = 48

_WIDTH, _LEFT, _TOP, _ROW, _BAR = 960, 200, 64, 18, 12
_RIGHT = 130  # for the numbers
_PROFILE = 90
_SHADES = ((0.9, "busy"), (0.6, "half"), (0.3, "some"), (0.0, "idle"))  # of palette.css


def draw_links(title: str, answer: Answer) -> str:
    """An SVG of the loads of an answer that was asked for them: the share of the whole time that each link was busy,
    and the bytes that crossed it. Links that nothing crossed are not in it."""
    loads = sorted(answer.loads, key=lambda it: -round(it.busy, 6))  # equal ones as the network lists them
    shown = loads[:MOST_BARS]
    below = _TOP + _ROW * len(shown)
    parts = [
        open_svg(title, _WIDTH, below + _PROFILE + 70),
        f'<text class="title" x="16" y="20">{escape(title)}</text>',
        f'<text class="faint" x="16" y="38">{escape(answer.network)}: {_count(loads)}; shares of the whole time</text>',
        *_scale(below),
    ]
    for row, load in enumerate(shown):
        parts += _bar(load, _TOP + _ROW * row)
    return "\n".join([*parts, *_profile(loads, below + 40), "</svg>", ""])


def _count(loads: Sequence[Load]) -> str:
    if not loads:
        return "no message crossed any link"
    rest = f", the busiest {MOST_BARS} drawn" if len(loads) > MOST_BARS else ""
    return f"{counted(len(loads), 'link')} with traffic{rest}"


def _x(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(share, 1)


def _shade(share: float) -> str:
    return next(name for least, name in _SHADES if share >= least)


def _scale(below: float) -> list[str]:
    parts = []
    for percent in (0, 25, 50, 75, 100):
        x = _x(percent / 100)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{below}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{_TOP - 10}" class="faint middle">{percent} %</text>')
    return parts


def _bar(load: Load, y: float) -> list[str]:
    end, middle = _x(load.busy), y + _BAR - 2
    return [
        f'<text x="{_LEFT - 8}" y="{middle}" class="end">{escape(load.link)}</text>',
        f'<rect class="link" x="{_LEFT}" y="{y}" width="{max(end - _LEFT, 0.5):.1f}" height="{_BAR}" '
        f'style="fill: var(--{_shade(load.busy)})"><title>{escape(load.link)}: {load.bytes:.0f} bytes</title></rect>',
        f'<text x="{end + 6:.1f}" y="{middle}">{load.busy:.0%}, {approximate_bytes(load.bytes)}</text>',
    ]


def _profile(loads: Sequence[Load], top: float) -> list[str]:
    """All links from the busiest to the idlest: is the traffic everywhere, or do a few carry it?"""
    if not loads:
        return []
    width = (_WIDTH - _LEFT - _RIGHT) / len(loads)
    bottom = top + _PROFILE
    steps = "".join(
        f"L{_LEFT + width * i:.1f} {bottom - _PROFILE * min(load.busy, 1):.1f}h{width:.2f}"
        for i, load in enumerate(loads)
    )
    mean = sum(load.busy for load in loads) / len(loads)
    return [
        f'<path d="M{_LEFT} {bottom}{steps}V{bottom}z" style="fill: var(--idle); fill-opacity: .35"/>',
        f'<path d="M{_LEFT} {top}V{bottom}H{_x(1):.1f}" class="frame"/>',
        f'<text x="{_LEFT - 8}" y="{top + 8}" class="faint end">100 %</text>',
        f'<text x="{_LEFT - 8}" y="{bottom}" class="faint end">0 %</text>',
        f'<text x="{_LEFT}" y="{bottom + 16}" class="faint">all {counted(len(loads), "link")}, the busiest first; '
        f"busy for {mean:.0%} of the time on average</text>",
    ]
