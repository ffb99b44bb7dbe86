"""`espalier explain --html`: a plan as an animation, who holds which bytes when, beside what MPI libraries usually do.

Times are those of the cost model. A link to the page may end in #0.5: it then begins half way through.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from espalier.base.errors import UserError
from espalier.base.units import format_time
from espalier.draw.gantt import KIND_OF, MOST_RANKS, draw_gantt
from espalier.draw.page import compose_page
from espalier.draw.style import SERIES, read
from espalier.simulation.contents import REDUCTIONS, data_of, first_byte, follow
from espalier.simulation.simulator import Answer, Flight, Span

MOST_ANIMATED = 96  # ranks: a row each
_MOST_STEPS = 60_000  # of all ranks together: some megabytes of page
_KINDS = ("copying", "combining", "starting", "waiting")
_TOLD = ("send", "put", "get", "pull", "push", "copy", "reduce")
_BLOCKS = ("scatter", "gather", "allgather", "alltoall", "reduce_scatter")


@dataclass(frozen=True)
class Shown:
    """One plan of the page."""

    title: str
    plan: Any


def draw_plan_page(core: Any, title: str, plans: Sequence[Shown], node_of: Sequence[int]) -> str:
    """The page. Raises UserError for plans that are too large to be watched."""
    steps = max(sum(len(program.steps) for program in it.plan.programs) for it in plans)
    if len(node_of) > MOST_ANIMATED or steps > _MOST_STEPS:
        raise UserError(
            f"--html: {len(node_of)} ranks with {steps:,} steps are too many to watch",
            f"show at most {MOST_ANIMATED} ranks and {_MOST_STEPS:,} steps: fewer ranks, or longer segments",
        )
    played = [core.play(it.plan) for it in plans]
    facts = [_facts(it.plan, node_of, play) for it, play in zip(plans, played, strict=True)]
    panels = "".join(
        f'<figure id="plan{i}"><h2>{escape(it.title)}</h2><canvas role="img" aria-label="{escape(it.title)}"></canvas>'
        f"<output>{format_time(play[0])}</output></figure>"
        for i, (it, play) in enumerate(zip(plans, played, strict=True))
    )
    body = f'<h1>{escape(title)}</h1>{_explanation(plans)}{_CONTROLS}<div class="panels">{panels}</div>{_KEYS}'
    if len(node_of) <= MOST_RANKS:
        pictures = [_draw_times(it, node_of, play) for it, play in zip(plans, played, strict=True)]
        body += "<h2>All of it at once</h2>" + "".join(f'<figure class="wide">{it}</figure>' for it in pictures)
    data = json.dumps(facts, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return compose_page(title, body, read("plan_page.css"), f"const plans = {data};\n{read('plan_page.js')}")


def _explanation(plans: Sequence[Shown]) -> str:
    reductions = (
        " The stronger the colour, the more ranks' contributions are in it."
        if plans[0].plan.operation in REDUCTIONS
        else ""
    )
    beside = (
        " Beside it: what MPICH's papers give for this size between nodes, with Espalier's shared memory inside them."
        if len(plans) > 1
        else ""
    )
    return (
        '<p class="faint">A row for each rank: what it does, the messages under way, and which of the bytes it holds.'
        f"{reductions} Times are the cost model's: they order plans rather than predict them.{beside}</p>"
    )


_CONTROLS = (
    '<div class="controls"><button id="go">Play</button><button id="back" aria-label="one step back">‹</button>'
    '<button id="on" aria-label="one step on">›</button>'
    '<input id="when" type="range" min="0" max="1000" step="any" value="0" aria-label="time"><b id="clock"></b></div>'
)
_KEYS = (
    '<ul class="keys">'
    + "".join(
        f'<li><i style="background: var(--{colour})"></i>{kind}</li>'
        for kind, colour in zip(_KINDS, ("idle", "half", "c0", "rule"), strict=True)
    )
    + "<li>✓ has all it needs</li></ul>"
)


def _facts(plan: Any, node_of: Sequence[int], play: tuple[float, list[Any], list[Any]]) -> dict[str, Any]:
    """What the page's script knows of a plan."""
    total, spans, flights = play
    operation, size, ranks = str(plan.operation), int(plan.bytes), len(node_of)
    origins = [first_byte(operation, size, rank, ranks) for rank in range(ranks)]
    data = data_of(operation, size, ranks)
    holds = [
        [round(it.us, 4), it.rank, it.first - origins[it.rank], it.last - origins[it.rank], it.contributions]
        for it in follow(plan, node_of, spans)
        if origins[it.rank] <= it.first < origins[it.rank] + max(data, 1)
    ]
    programs = [program.steps for program in plan.programs]
    return {
        "us": total,
        "data": max(data, 1),
        "most": ranks if operation in REDUCTIONS else 1,
        "nodes": list(node_of),
        "tints": [node_of[rank] % SERIES for rank in range(ranks)] if operation in _BLOCKS else [],
        "holds": holds,
        "needs": [_need(operation, size, rank, ranks, int(plan.root)) for rank in range(ranks)],
        "spans": _activities(spans, programs),
        "flights": [[a, b, length, round(out, 4), round(there, 4)] for a, b, length, out, there in flights],
        "steps": [
            [round(end, 4), rank, str(programs[rank][step])]
            for rank, step, _, end in spans
            if programs[rank][step].op in _TOLD
        ],
    }


def _activities(spans: Sequence[Any], programs: Sequence[Any]) -> list[list[list[float]]]:
    """By rank: begin, end and kind of what takes time; neighbouring ones of a kind are one."""
    rows: list[list[list[float]]] = [[] for _ in programs]
    for rank, step, begin, end in spans:
        kind = _KINDS.index(KIND_OF[programs[rank][step].op])
        row = rows[rank]
        if row and row[-1][2] == kind and begin - row[-1][1] < 1e-9:
            row[-1][1] = round(end, 4)
        elif end > begin:
            row.append([round(begin, 4), round(end, 4), kind])
    return rows


def _need(operation: str, size: int, rank: int, ranks: int, root: int) -> tuple[int, int, int]:
    """What a rank must hold in the end: from, to, and of how many ranks."""
    everything = data_of(operation, size, ranks)
    if operation in ("gather", "reduce") and rank != root:
        return 0, 0, 0
    if operation in ("scatter", "reduce_scatter"):
        return rank * size, (rank + 1) * size, ranks if operation == "reduce_scatter" else 1
    of = {"reduce": ranks, "allreduce": ranks, "scan": rank + 1, "exscan": rank}.get(operation, 1)
    return 0, everything if of else 0, of


def _draw_times(it: Shown, node_of: Sequence[int], play: tuple[float, list[Any], list[Any]]) -> str:
    total, spans, flights = play
    programs = [program.steps for program in it.plan.programs]
    answer = Answer(
        network="", choice=it.title, solver="", microseconds=total, messages=len(flights), ends=[], loads=[],
        spans=[Span(rank, step, programs[rank][step].op, begin, end) for rank, step, begin, end in spans],
        flights=[Flight(*flight) for flight in flights],
    )  # fmt: skip
    return draw_gantt(it.title, answer, node_of)
