"""The curve of bench/papers/nuioa.py as a page: gain over the far memory's share of the wire, and the paper's bands."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from espalier.report import chart

_STYLE = Path(chart.__file__).with_name("style.css")
_COLOURS = ("#1f7a4d", "#3b6fb6", "#7b52ab", "#c2702a", "#8c7a1f")
_LEFT, _TOP, _WIDTH, _HEIGHT = 48, 30, 640, 300
# What the paper measured: a band for one rank per core (figure 7), a line for one rank per node (figure 8).
BAND, MOST = (10.0, 25.0), 50.0


def crossing(shares: Sequence[float], gains: Sequence[float], wanted: float) -> float | None:
    """The share at which a curve reaches `wanted` per cent, between points by straight lines; None when it does not."""
    points = list(zip(shares, gains, strict=True))
    for (share, gain), (next_share, next_gain) in itertools.pairwise(points):
        if gain <= wanted <= next_gain and next_gain > gain:
            return share + (next_share - share) * (wanted - gain) / (next_gain - gain)
    return None


def draw_page(shares: Sequence[float], cases: Mapping[str, Sequence[float]]) -> str:
    """A self-contained page."""
    title = "What near leaders bring a broadcast, simulated"
    rows = "".join(_row(name, shares, gains) for name, gains in cases.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE.read_text()}</style></head>\n<body>\n<h1>{title}</h1>\n"
        '<p class="faint">Eight nodes of four sockets, the card on one of them, flows that share fairly '
        "(bench/papers/nuioa.py); after Goglin and Moreaud 2011. Consistent with the paper, no proof: "
        "the share is what cannot be known without the machine.</p>\n"
        f'<figure>{draw_svg(shares, cases)}</figure>\n<div class="scroll"><table><tr><th class="left">case</th>'
        f"<th>10 % at</th><th>25 % at</th><th>50 % at</th></tr>{rows}</table></div>\n</body></html>\n"
    )


def draw_svg(shares: Sequence[float], cases: Mapping[str, Sequence[float]]) -> str:
    """The diagram alone. The far memory gets slower to the right."""
    top = max(100.0, *(gain for gains in cases.values() for gain in gains))

    def x(share: float) -> float:
        return _LEFT + (shares[0] - share) / (shares[0] - shares[-1]) * _WIDTH

    def y(gain: float) -> float:
        return _TOP + (1 - gain / top) * _HEIGHT

    def label(text: str, left: float, base: float, more: str = "") -> str:
        return f'<text class="label" x="{left:.1f}" y="{base:.1f}"{more}>{text}</text>'

    band = f'y="{y(BAND[1]):.1f}" width="{_WIDTH}" height="{y(BAND[0]) - y(BAND[1]):.1f}" fill="#8a8f9833"'
    title = "gain of near leaders, %, over the far memory's share of the wire"
    parts = [
        f'<text class="title" x="{_LEFT}" y="16">{title}</text>',
        f'<rect x="{_LEFT}" {band}/>',
        label("the paper, one rank per core: 10 to 25 %", _LEFT + 6, y(BAND[1]) + 12),
        f'<path d="M{_LEFT} {y(MOST):.1f}h{_WIDTH}" stroke="#8a8f98" stroke-dasharray="5 4"/>',
        label("the paper, one rank per node: up to 50 %", _LEFT + 6, y(MOST) - 5),
    ]
    for tick in range(0, int(top) + 1, 25):
        parts.append(label(str(tick), _LEFT - 6, y(tick) + 4, ' text-anchor="end"'))
    for share in shares:
        parts.append(label(f"{share:.2f}", x(share), _TOP + _HEIGHT + 16, ' text-anchor="middle"'))
    for number, (name, gains) in enumerate(cases.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        line = " ".join(f"{x(share):.1f},{y(gain):.1f}" for share, gain in zip(shares, gains, strict=True))
        parts.append(f'<polyline points="{line}" style="stroke:{colour}"/>')
        key = _TOP + _HEIGHT + 36 + 16 * number
        parts.append(f'<path d="M{_LEFT} {key - 4}h22" stroke="{colour}" stroke-width="2"/>')
        parts.append(label(escape(name), _LEFT + 30, key))
    height = _TOP + _HEIGHT + 44 + 16 * len(cases)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 20} {height}">'
        + "".join(parts)
        + "</svg>"
    )


def _row(name: str, shares: Sequence[float], gains: Sequence[float]) -> str:
    at = (crossing(shares, gains, wanted) for wanted in (*BAND, MOST))
    cells = "".join(f"<td>{'–' if share is None else f'{share:.2f}'}</td>" for share in at)
    return f'<tr><td class="left">{escape(name)}</td>{cells}</tr>'
