"""A small plan in time: one bar per rank, coloured by what it does, and an arrow for each message."""

from __future__ import annotations

from html import escape

from espalier.base.units import format_bytes, format_time
from espalier.simulation.simulator import Answer, Span

# More bars or arrows than this are no picture any more.
MOST_RANKS = 64
_MOST_ARROWS = 2000

_WIDTH, _LEFT, _TOP, _ROW, _BAR = 960, 64, 40, 22, 12
_PALETTE = {"copying": "#2b7a78", "combining": "#b5651d", "starting": "#3a5a9b", "waiting": "#e3e6e8"}
_KIND = {
    "put": "copying",
    "get": "copying",
    "pull": "copying",
    "push": "copying",
    "copy": "copying",
    "reduce": "combining",
    "send": "starting",
    "recv": "starting",
    "post": "starting",
    "await": "waiting",
    "await_all": "waiting",
    "finish": "waiting",
}


def draw_gantt(title: str, answer: Answer, ranks: int) -> str:
    """An SVG of the spans and flights of an answer that was asked for both. Time runs to the right."""
    scale = (_WIDTH - _LEFT - 20) / (answer.microseconds or 1)
    height = _TOP + ranks * _ROW + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"',
        ' font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<defs><marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0 6 3 0 6z" fill="#555"/></marker></defs>',
        f'<text x="{_LEFT}" y="20" font-size="13" font-weight="bold">{escape(title)}</text>',
    ]
    for rank in range(ranks):
        parts.append(f'<text x="{_LEFT - 8}" y="{_middle(rank) + 4}" text-anchor="end">rank {rank}</text>')
    parts += [_bar(span, scale) for span in answer.spans if span.end > span.begin]
    for flight in answer.flights[:_MOST_ARROWS]:
        x1, x2 = _LEFT + flight.set_out * scale, _LEFT + flight.arrival * scale
        label = f"{format_bytes(flight.bytes)}: {format_time(flight.set_out)} to {format_time(flight.arrival)}"
        parts.append(
            f'<line x1="{x1:.1f}" y1="{_middle(flight.origin)}" x2="{x2:.1f}" y2="{_middle(flight.target)}" '
            f'stroke="#555" stroke-opacity=".6" marker-end="url(#head)"><title>{escape(label)}</title></line>'
        )
    parts += [*_axis(answer.microseconds, scale, _TOP + ranks * _ROW), "</svg>", ""]
    return "\n".join(parts)


def _middle(rank: int) -> float:
    return _TOP + rank * _ROW + _BAR / 2


def _bar(span: Span, scale: float) -> str:
    x, width = _LEFT + span.begin * scale, max((span.end - span.begin) * scale, 0.3)
    label = f"rank {span.rank}, step {span.step}: {span.op}, {format_time(span.end - span.begin)}"
    return (
        f'<rect x="{x:.2f}" y="{_TOP + span.rank * _ROW}" width="{width:.2f}" height="{_BAR}" '
        f'fill="{_PALETTE[_KIND[span.op]]}"><title>{escape(label)}</title></rect>'
    )


def _axis(total: float, scale: float, y: float) -> list[str]:
    parts = []
    for tick in range(5):
        x = _LEFT + total * scale * tick / 4
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 4}" x2="{x:.1f}" y2="{y:.1f}" stroke="#bbb" stroke-opacity=".5"/>'
        )
        anchor = "end" if tick == 4 else "middle"
        parts.append(
            f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="{anchor}">{format_time(total * tick / 4)}</text>'
        )
    for index, (kind, colour) in enumerate(_PALETTE.items()):
        x = _LEFT + 110 * index
        parts.append(f'<rect x="{x}" y="{y + 24:.1f}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 17}" y="{y + 34:.1f}">{kind}</text>')
    return parts
