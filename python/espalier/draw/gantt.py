"""A plan in time: one bar per rank, coloured by what it does; nodes apart; an arrow where a rank waited for a message.

Messages that were there before anybody waited for them are a dot where they arrived, and of very many arrows those that
made the plan take so long stand out: with arrows for all, a picture of 64 ranks shows nothing but arrows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from html import escape

from espalier.base.units import format_bytes, format_time
from espalier.draw.style import SERIES, open_svg
from espalier.draw.ticks import spell_tick, time_ticks
from espalier.simulation.simulator import Answer, Flight, Span

# More bars than this are no picture any more. Of more arrows, those of the last chain alone are drawn strongly.
MOST_RANKS = 64
_MOST_ARROWS = 1200

_WIDTH, _LEFT, _RIGHT, _TOP = 960, 84, 24, 44
_ROW, _BAR, _BETWEEN = 18, 11, 10  # of a rank; of its bar; between nodes
_DENSE = 32  # from so many ranks on rows are half as high, and every fourth has its number
_KINDS = {
    "copying": ("put", "get", "pull", "push", "copy"),
    "combining": ("reduce",),
    "starting": ("send", "recv", "post"),
    "waiting": ("await", "await_all", "finish"),
}
KIND_OF = {op: kind for kind, ops in _KINDS.items() for op in ops}


def draw_gantt(title: str, answer: Answer, node_of: Sequence[int]) -> str:
    """An SVG of the spans and flights of an answer that was asked for both. Time runs to the right, in µs."""
    picture = _Picture(answer, node_of)
    parts = [
        open_svg(title, _WIDTH, picture.bottom + 62),
        _heads(),
        f'<text class="title" x="16" y="22">{escape(title)}</text>',
        *picture.axis(),
        *picture.labels(),
        *(picture.bar(span) for span in answer.spans if span.end > span.begin),
        *picture.messages(),
        *_legend(picture.bottom + 34),
        "</svg>",
        "",
    ]
    return "\n".join(parts)


class _Picture:
    """Where ranks and times are."""

    def __init__(self, answer: Answer, node_of: Sequence[int]) -> None:
        self._answer, self._node_of = answer, node_of
        self._scale = (_WIDTH - _LEFT - _RIGHT) / (answer.microseconds or 1)
        is_dense = len(node_of) > _DENSE
        self._row, self._bar = _ROW / (1 + is_dense), _BAR / (1 + is_dense)
        self._step = 4 if is_dense else 1
        order = sorted(range(len(node_of)), key=lambda rank: (node_of[rank], rank))
        self._top: dict[int, float] = {}
        y, before = float(_TOP), node_of[order[0]]
        for rank in order:
            y += _BETWEEN if node_of[rank] != before else 0
            self._top[rank], before = y, node_of[rank]
            y += self._row
        self.bottom = y

    def _x(self, us: float) -> float:
        return _LEFT + us * self._scale

    def _middle(self, rank: int) -> float:
        return self._top[rank] + self._bar / 2

    def axis(self) -> list[str]:
        """A line and a round number for each tick."""
        parts = []
        for tick in time_ticks(self._answer.microseconds):
            x = self._x(tick)
            parts.append(f'<path class="grid" d="M{x:.1f} {_TOP - 6}V{self.bottom:.1f}"/>')
            label = spell_tick(tick, self._answer.microseconds)
            parts.append(f'<text class="label middle" x="{x:.1f}" y="{self.bottom + 16:.1f}">{label}</text>')
        return parts

    def labels(self) -> list[str]:
        """Ranks by their numbers, and each node of several by its name at its first rank."""
        parts, seen = [], set[int]()
        for rank, y in self._top.items():
            node = self._node_of[rank]
            if node not in seen:
                seen.add(node)
                parts.append(f'<text class="label" x="8" y="{y + 9:.1f}">node {node}</text>')
            if self._step == 1 or self._node_of[:rank].count(node) % self._step == 0:
                parts.append(f'<text class="end" x="{_LEFT - 6}" y="{y + 9:.1f}">{rank}</text>')
        return parts

    def bar(self, span: Span) -> str:
        x, width = self._x(span.begin), max((span.end - span.begin) * self._scale, 0.3)
        label = f"rank {span.rank}, step {span.step}: {span.op}, {format_time(span.end - span.begin)}"
        return (
            f'<rect class="{KIND_OF[span.op]}" x="{x:.2f}" y="{self._top[span.rank]:.1f}" width="{width:.2f}" '
            f'height="{self._bar}"><title>{escape(label)}</title></rect>'
        )

    def messages(self) -> list[str]:
        """Arrows for those that somebody waited for, dots for the others."""
        waits: dict[int, list[Span]] = {}
        for span in self._answer.spans:
            if span.op == "finish" and span.end > span.begin:
                waits.setdefault(span.rank, []).append(span)
        awaited, dots = [], []
        for flight in self._answer.flights:
            if _is_waited_for(waits.get(flight.target, []), flight.arrival):
                awaited.append(flight)
            else:
                dots.append(self._dot(flight))
        if len(awaited) <= _MOST_ARROWS:
            return dots + [self._arrow(flight) for flight in awaited]
        chain = find_last_chain(self._answer, awaited)
        return dots + [self._hint(flight) for flight in awaited] + [self._arrow(flight) for flight in chain]

    def _dot(self, flight: Flight) -> str:
        x, y = self._x(flight.arrival), self._middle(flight.target)
        return f'<circle class="solid" cx="{x:.1f}" cy="{y:.1f}" r="1.6"><title>{_tell(flight)}</title></circle>'

    def _arrow(self, flight: Flight) -> str:
        colour = f"c{self._node_of[flight.origin] % SERIES}"
        head = f'marker-end="url(#at-{colour})"'
        title = f"<title>{_tell(flight)}</title>"
        return f'<path class="arrow {colour}" {self._way(flight)} stroke-opacity=".8" {head}>{title}</path>'

    def _hint(self, flight: Flight) -> str:
        return f'<path class="wire" {self._way(flight)} stroke-opacity=".12"/>'

    def _way(self, flight: Flight) -> str:
        begin = f"M{self._x(flight.set_out):.1f} {self._middle(flight.origin):.1f}"
        return f'd="{begin}L{self._x(flight.arrival):.1f} {self._middle(flight.target):.1f}"'


def find_last_chain(answer: Answer, awaited: Sequence[Flight]) -> list[Flight]:
    """The message that the last rank waited for last, the one that its sender had waited for last, and so on back to
    the beginning: what made the plan take as long as it took, as far as messages did."""
    last = max(answer.spans, key=lambda span: span.end)
    rank, when, chain = last.rank, last.end, list[Flight]()
    into: dict[int, list[Flight]] = {}
    for flight in sorted(awaited, key=lambda it: it.arrival):
        into.setdefault(flight.target, []).append(flight)
    while (at := bisect_right(into.get(rank, []), when, key=lambda it: it.arrival)) > 0:
        chain.append(into[rank][at - 1])
        rank, when = chain[-1].origin, chain[-1].set_out
    return chain[::-1]


def _is_waited_for(waits: Sequence[Span], arrival: float) -> bool:
    """Whether it falls into one of these, which follow each other. A wait goes on until the message is taken in."""
    at = bisect_right(waits, arrival, key=lambda span: span.begin)
    return at > 0 and arrival <= waits[at - 1].end


def _tell(flight: Flight) -> str:
    when = f"{format_time(flight.set_out)} to {format_time(flight.arrival)}"
    return f"{flight.origin} → {flight.target}, {format_bytes(flight.bytes)}: {when}"


def _heads() -> str:
    heads = "".join(
        f'<marker id="at-c{i}" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
        f'<path class="head c{i}" d="M0 0 6 3 0 6z"/></marker>'
        for i in range(SERIES)
    )
    return f"<defs>{heads}</defs>"


def _legend(y: float) -> list[str]:
    parts, x = [], float(_LEFT)
    for kind in _KINDS:
        parts.append(f'<rect class="{kind}" x="{x}" y="{y:.1f}" width="12" height="12"/>')
        parts.append(f'<text x="{x + 17}" y="{y + 10:.1f}">{kind}</text>')
        x += 100
    parts.append(f'<path class="arrow c0" d="M{x} {y + 6:.1f}h22" marker-end="url(#at-c0)"/>')
    parts.append(f'<text x="{x + 28}" y="{y + 10:.1f}">a message that was waited for, in its node\'s colour</text>')
    parts.append(f'<circle class="solid" cx="{x + 326}" cy="{y + 6:.1f}" r="2"/>')
    parts.append(f'<text x="{x + 334}" y="{y + 10:.1f}">one that was not</text>')
    return parts
