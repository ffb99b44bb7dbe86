"""A plan as a picture: a panel for each of its phases, nodes side by side, what moves between ranks as arrows.

  phase 1                                      phase 2
  ┌ node 0 ─────┐  ┌ node 1 ─────┐            ┌ node 0 ─────┐  ┌ node 1 ─────┐
  │ (0)──►▮     │  │ (2)──►▮     │            │ (0)◄────────┼──┼─►(2)        │    ▮ shared memory
  │ (1)──►▮──►… │  │ (3)──►▮     │            │ (1)         │  │ (3)         │
  └─────────────┘  └─────────────┘            └─────────────┘  └─────────────┘

Everything is counted from the steps. Ranks that have messages are filled: the masters. Arrows between nodes have the
colour of the local rank that sends; hover over one for its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from espalier.base.errors import UserError
from espalier.base.units import approximate_bytes, counted
from espalier.draw.style import SERIES, open_svg

MOST_NODES, MOST_RANKS = 12, 96

_STEP, _RADIUS = 34, 11  # between ranks of a node; of their circles
_BOX, _BETWEEN, _MARGIN, _HEAD = 96, 40, 14, 40
_CIRCLE_X, _BAR_X = 22, 70  # in the box
_MOST_LABELS = 16  # of messages in one panel


@dataclass(frozen=True)
class Move:
    """What goes the same way in one phase, added up. Ranks; -1 stands for the node's shared memory."""

    source: int
    target: int
    bytes: int


@dataclass(frozen=True)
class Panel:
    """One phase."""

    name: str
    messages: list[Move]
    local: list[Move]


def draw_plan(plan: Any, node_of: list[int], title: str) -> str:
    """A whole SVG file. Raises UserError when the plan has more ranks or nodes than a picture can show."""
    nodes = max(node_of) + 1
    if nodes > MOST_NODES or len(node_of) > MOST_RANKS:
        raise UserError(
            f"--svg: {len(node_of)} ranks on {counted(nodes, 'node')} are too many for a picture",
            f"draw at most {MOST_RANKS} ranks on {MOST_NODES} nodes: the pattern is the same",
        )
    picture = _Picture(node_of, find_masters(plan))
    body, y = [f'<text class="name" x="{_MARGIN}" y="18">{escape(title)}</text>'], 30
    for panel in find_panels(plan, node_of):
        body += picture.draw(panel, y)
        y += picture.height(panel)
    return f"{open_svg(title, picture.width, y)}\n{_markers()}\n" + "\n".join(body) + "\n</svg>\n"


def find_masters(plan: Any) -> set[int]:
    """The ranks that send or receive messages."""
    return {rank for rank, it in enumerate(plan.programs) if any(step.op in ("send", "recv") for step in it.steps)}


def find_panels(plan: Any, node_of: list[int]) -> list[Panel]:
    """The phases in the order of their first steps; one for all of a plan that names none."""
    messages: dict[str, dict[tuple[int, int], int]] = {}
    local: dict[str, dict[tuple[int, int], int]] = {}
    on_node = [[rank for rank, node in enumerate(node_of) if node == wanted] for wanted in range(max(node_of) + 1)]
    for rank, program in enumerate(plan.programs):
        for phase, step in _named_steps(program):
            way = _way_of(step, rank, on_node[node_of[rank]])
            if way is None:
                continue
            moves = (messages if step.op == "send" else local).setdefault(phase, {})
            moves[way] = moves.get(way, 0) + step.bytes
    names = sorted({*messages, *local})
    return [Panel(name, _moves(messages.get(name, {})), _moves(local.get(name, {}))) for name in names]


def _named_steps(program: Any) -> Iterator[tuple[str, Any]]:
    phases = [*program.phases, ("", len(program.steps))]
    begins = [0, *(first for _, first in phases)]
    names = ["", *(name for name, _ in phases)]
    for name, first, last in zip(names, begins, begins[1:], strict=False):
        for step in program.steps[first:last]:
            yield name, step


def _way_of(step: Any, rank: int, neighbours: list[int]) -> tuple[int, int] | None:
    """From whom to whom a step moves data; None when it moves none."""
    if step.op == "send":
        return rank, step.peer
    if step.op == "put":
        return rank, -1
    if step.op in ("get", "reduce"):
        return (-1, rank) if step.op == "get" or step.far_buffer == "window" else None
    if step.op == "pull":
        return neighbours[step.neighbour], rank
    if step.op == "push":
        return rank, neighbours[step.neighbour]
    return None


def _moves(found: dict[tuple[int, int], int]) -> list[Move]:
    return [Move(source, target, size) for (source, target), size in found.items()]


class _Picture:
    """Where things are, and how they are drawn."""

    def __init__(self, node_of: list[int], masters: set[int]) -> None:
        self._node_of = node_of
        self._masters = masters
        self._local = [node_of[:rank].count(node) for rank, node in enumerate(node_of)]
        self._nodes = max(node_of) + 1
        self._rows = max(self._local) + 1
        self.width = max(2 * _MARGIN + self._nodes * (_BOX + _BETWEEN) - _BETWEEN, 420)

    def height(self, panel: Panel) -> int:
        return _HEAD + self._headroom(panel) + self._rows * _STEP + 2 * _MARGIN

    def draw(self, panel: Panel, y: int) -> list[str]:
        parts = [
            f'<text class="name" x="{_MARGIN}" y="{y + 14}">{escape(panel.name or "all steps")}</text>',
            f'<text x="{_MARGIN}" y="{y + 29}">{escape(self._caption(panel))}</text>',
        ]
        top = y + _HEAD + self._headroom(panel)
        parts += [part for node in range(self._nodes) for part in self._draw_node(node, top, bool(panel.local))]
        parts += self._draw_messages(panel.messages, top)
        parts += [part for move in panel.local for part in self._draw_local(move, top)]
        parts += [part for rank in range(len(self._node_of)) for part in self._draw_rank(rank, top)]
        return parts

    def _headroom(self, panel: Panel) -> int:
        return max((_bulge(self._distance(it)) for it in panel.messages), default=0)

    def _distance(self, move: Move) -> int:
        return abs(self._node_of[move.source] - self._node_of[move.target])

    def _place(self, rank: int, top: int) -> tuple[int, int]:
        x = _MARGIN + self._node_of[rank] * (_BOX + _BETWEEN) + _CIRCLE_X
        return x, top + self._local[rank] * _STEP + _STEP // 2 + 4

    def _caption(self, panel: Panel) -> str:
        """Of the busiest node: "network 6 × 2 KiB; shared memory 4 × 1 KiB written, 2 × 2 KiB read"."""
        sent = _amounts(it for it in panel.messages if self._node_of[it.source] == self._busiest(panel.messages))
        mine = [it for it in panel.local if self._node_of[max(it.source, it.target)] == self._busiest(panel.local)]
        written = _amounts(it for it in mine if it.target == -1)
        read = _amounts(it for it in mine if it.source == -1)
        single = _amounts(it for it in mine if min(it.source, it.target) >= 0)
        words = [f"{text} {what}" for text, what in ((sent, "sent"), (written, "written"), (read, "read")) if text]
        words += [f"{single} in single copies"] if single else []
        return "a node: " + ", ".join(words) if words else ""

    def _busiest(self, moves: list[Move]) -> int:
        nodes = [self._node_of[it.source if it.source >= 0 else it.target] for it in moves]
        return max(set(nodes), key=lambda node: (nodes.count(node), -node), default=0)

    def _draw_node(self, node: int, top: int, has_memory: bool) -> list[str]:
        x, count = _MARGIN + node * (_BOX + _BETWEEN), self._node_of.count(node)
        height = count * _STEP + 8
        parts = [
            f'<rect class="node" x="{x}" y="{top}" width="{_BOX}" height="{height}" rx="5"/>',
            f'<text class="label small middle" x="{x + _BOX / 2}" y="{top + height + 11}">node {node}</text>',
        ]
        if has_memory and count > 1:
            parts.append(
                f'<rect class="solid" x="{x + _BAR_X}" y="{top + 8}" width="7" height="{height - 16}" rx="2"/>'
            )
        return parts

    def _draw_rank(self, rank: int, top: int) -> list[str]:
        x, y = self._place(rank, top)
        style = "leader" if rank in self._masters else "box"
        text = "middle on" if rank in self._masters else "middle"
        return [
            f'<circle class="{style}" cx="{x}" cy="{y}" r="{_RADIUS}"/>',
            f'<text class="{text}" x="{x}" y="{y + 4}">{rank}</text>',
        ]

    def _draw_messages(self, moves: list[Move], top: int) -> list[str]:
        """One line for both directions where they carry the same."""
        carried = {(it.source, it.target): it.bytes for it in moves}
        parts = []
        for (source, target), size in carried.items():
            is_mutual = carried.get((target, source)) == size
            if is_mutual and source > target:
                continue
            parts += self._draw_message(Move(source, target, size), is_mutual, len(moves) <= _MOST_LABELS, top)
        return parts

    def _draw_message(self, move: Move, is_mutual: bool, is_labelled: bool, top: int) -> list[str]:
        (x1, y1), (x2, y2) = self._place(move.source, top), self._place(move.target, top)
        y1, y2 = y1 - _RADIUS, y2 - _RADIUS
        middle, high = (x1 + x2) / 2, min(y1, y2) - 2 * _bulge(self._distance(move)) + 16
        colour = f"c{self._local[move.source] % SERIES}"
        both = f' marker-start="url(#{colour})"' if is_mutual else ""
        what = f"{move.source} {'↔' if is_mutual else '→'} {move.target}: {approximate_bytes(move.bytes)}"
        parts = [
            f'<path class="arrow {colour}" d="M{x1} {y1} Q{middle} {high} {x2} {y2}" '
            f'marker-end="url(#{colour})"{both}><title>{what}</title></path>'
        ]
        if is_labelled:
            label = (y1 + y2) / 4 + high / 2 - 3
            parts.append(
                f'<text class="small middle" x="{middle}" y="{label:.0f}">{approximate_bytes(move.bytes)}</text>'
            )
        return parts

    def _draw_local(self, move: Move, top: int) -> list[str]:
        what = f"<title>{approximate_bytes(move.bytes)}</title>"
        if min(move.source, move.target) >= 0:  # a single copy, from circle to circle
            (x, y1), (_, y2) = self._place(move.source, top), self._place(move.target, top)
            x += _RADIUS
            bend = x + 8 + 4 * abs(self._local[move.source] - self._local[move.target])
            return [f'<path class="arrow wire" d="M{x} {y1} Q{bend} {(y1 + y2) / 2} {x + 1} {y2}" '
                    f'marker-end="url(#local)">{what}</path>']  # fmt: skip
        x, y = self._place(max(move.source, move.target), top)
        bar = x - _CIRCLE_X + _BAR_X
        begin, end, line = (x + _RADIUS, bar - 1, y - 5) if move.target == -1 else (bar, x + _RADIUS + 1, y + 5)
        return [f'<path class="arrow wire" d="M{begin} {line} H{end}" marker-end="url(#local)">{what}</path>']


def _bulge(distance: int) -> int:
    """How high a message rises above its ranks, over so many nodes."""
    return 10 + 9 * distance


def _amounts(moves: Iterable[Move]) -> str:
    """ "4 × 1 KiB and 2 × 2 KiB"."""
    sizes = sorted((it.bytes for it in moves), reverse=True)
    return " and ".join(f"{sizes.count(size)} × {approximate_bytes(size)}" for size in dict.fromkeys(sizes))


def _markers() -> str:
    """Arrow heads; they take no colour from their lines."""
    heads = [*((f"c{i}", f"head c{i}") for i in range(SERIES)), ("local", "solid")]
    return (
        "<defs>"
        + "".join(
            f'<marker id="{name}" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" '
            f'orient="auto-start-reverse"><path class="{style}" d="M0 0 L6 3 L0 6 z"/></marker>'
            for name, style in heads
        )
        + "</defs>"
    )
