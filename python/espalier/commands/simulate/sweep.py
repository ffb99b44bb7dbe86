"""espalier simulate with several sizes or numbers of ranks: one table of them all, and a drawing of the times."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.errors import UserError
from espalier.base.units import check_ranks, format_bytes, format_time, name_problem
from espalier.commands.simulate.executed import run_arms
from espalier.draw.chart import Series, draw_lines
from espalier.simulation.executor import OURS, Case, Job
from espalier.simulation.simulator import Request, all_answers

_COLOURS = ("#1f7a4d", "#3b6fb6", "#c2702a", "#7b52ab", "#1f9aa8")
_WIDTH, _HEIGHT = 440, 270  # of one of draw/chart.py's


@dataclass(frozen=True)
class Point:
    """One size and one number of ranks: µs by arm, those with right data only, and what ours chose."""

    ranks: int
    bytes: int
    times: dict[str, float]
    choice: str


def spread_ranks(ranks: int, ppn: int, how: str = "blocks") -> list[int]:
    """The node of every rank: so many on each, and on the last one what is left.

    `how`: "blocks", neighbours together; "cyclic", dealt out one by one; "random:SEED", as in blocks but in any order.
    """
    node_of = [rank // ppn for rank in range(check_ranks(ranks))]
    if how == "cyclic":
        nodes = node_of[-1] + 1
        return [rank % nodes for rank in range(ranks)]
    if how.startswith("random:") and how[7:].isdecimal():
        random.Random(int(how[7:])).shuffle(node_of)
    elif how != "blocks":
        raise UserError(f"--map {how}: no such map", "one of blocks, cyclic, random:SEED")
    return node_of


def play_points(requests: Sequence[Request]) -> list[Point]:
    """Each request's plan, played. Raises UserError for the first that makes no sense."""
    answers = all_answers(replace(it, loads=False) for it in requests)
    return [
        Point(len(request.node_of), request.bytes, {OURS: answer.microseconds}, answer.choice)
        for request, answer in zip(requests, answers, strict=True)
    ]


def execute_points(jobs: Sequence[tuple[Job, Case]], arms: Sequence[str]) -> list[Point]:
    """Each case executed by each arm, the first of which is ours."""
    points = []
    for job, case in jobs:
        timings = [arm.timing for arm in run_arms(job, case, list(arms))]
        times = {
            name: timing.microseconds
            for name, timing in zip(arms, timings, strict=True)
            if timing is not None and timing.wrong == 0
        }
        choice = timings[0].choice if timings[0] is not None else ""
        points.append(Point(len(job.node_of), case.bytes, times, choice))
    return points


def report(operation: str, network: str, points: Sequence[Point], as_json: bool) -> None:
    """A line per point; behind another arm's time how many times ours it is."""
    if as_json:
        console.print_json({"operation": operation, "platform": network, "points": [vars(point) for point in points]})
        return
    console.out.print(f"[bold]{operation}[/] on {escape(network)}")
    others = list(dict.fromkeys(arm for point in points for arm in point.times if arm != OURS))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("ranks", "bytes", OURS, *others):
        table.add_column(heading, justify="right")
    table.add_column("choice", overflow="fold")
    for point in points:
        ours = point.times.get(OURS)
        cells = [_against(point.times.get(arm), ours) for arm in others]
        time = "wrong data" if ours is None else format_time(ours)
        table.add_row(str(point.ranks), format_bytes(point.bytes), time, *cells, escape(point.choice))
    console.print_table(table)


def _against(time: float | None, ours: float | None) -> str:
    if time is None:
        return "–"
    return f"{format_time(time)} ({time / ours:.2f}×)" if ours else format_time(time)


def draw(operation: str, points: Sequence[Point]) -> str:
    """An SVG: time over bytes, a chart for each number of ranks; with one size only, time over ranks."""
    over_bytes = len({point.bytes for point in points}) > 1
    groups: dict[int, list[Point]] = {}
    for point in points:
        groups.setdefault(point.ranks if over_bytes else point.bytes, []).append(point)
    charts = []
    for key, some in groups.items():
        title = f"{operation}, {key} ranks, over bytes" if over_bytes else f"{name_problem(operation, key)}, over ranks"
        charts.append(_chart(title, [it.bytes if over_bytes else it.ranks for it in some], some))
    placed = "".join(
        f'<g transform="translate(0 {_HEIGHT * i})">{chart}</g>'.replace(
            "<svg ", f'<svg width="{_WIDTH}" height="{_HEIGHT}" '
        )
        for i, chart in enumerate(charts)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT * len(charts)}">'
        f'<style>{_style()}</style><rect width="100%" height="100%" fill="#fff"/>{placed}</svg>\n'
    )


def _chart(title: str, places: Sequence[int], points: Sequence[Point]) -> str:
    arms = [arm for arm in points[0].times if all(arm in point.times for point in points)]
    lines = [Series(arm, f"line{i % len(_COLOURS)}", [it.times[arm] for it in points]) for i, arm in enumerate(arms)]
    return draw_lines(title, places, lines, [""] * len(places), lambda us: format_time(us).replace(".00", ""))


def _style() -> str:
    lines = "".join(
        f".line{i} polyline {{ stroke: {colour}; }} .line{i} circle, text.line{i} {{ fill: {colour}; }} "
        for i, colour in enumerate(_COLOURS)
    )
    return (
        "text { font: 11px sans-serif; fill: #444; } .title, .name { font-weight: bold; } "
        f".grid {{ stroke: #ddd; }} polyline {{ fill: none; stroke-width: 1.6; }} {lines}"
    )
