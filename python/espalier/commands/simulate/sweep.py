"""espalier simulate with several sizes or numbers of ranks: one table of them all, and a drawing of the times."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from espalier.base import console
from espalier.base.units import format_bytes, format_time
from espalier.simulation.executor import OURS
from espalier.simulation.points import Point


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
