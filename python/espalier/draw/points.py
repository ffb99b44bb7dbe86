"""Times over sizes or numbers of ranks, a chart below the other."""

from __future__ import annotations

from collections.abc import Sequence

from espalier.base.units import counted, format_time, name_problem
from espalier.draw.chart import Series, draw_lines
from espalier.draw.style import SERIES, open_svg
from espalier.simulation.points import Point

_WIDTH, _HEIGHT = 440, 270  # of one of chart.py's


def draw_points(operation: str, points: Sequence[Point]) -> str:
    """An SVG: time over bytes, a chart for each number of ranks; with one size only, time over ranks."""
    over_bytes = len({point.bytes for point in points}) > 1
    groups: dict[int, list[Point]] = {}
    for point in points:
        groups.setdefault(point.ranks if over_bytes else point.bytes, []).append(point)
    charts = []
    for key, some in groups.items():
        title = (
            f"{operation}, {counted(key, 'rank')}, over bytes"
            if over_bytes
            else f"{name_problem(operation, key)}, over ranks"
        )
        charts.append(_chart(title, [it.bytes if over_bytes else it.ranks for it in some], some))
    placed = "".join(
        f'<g transform="translate(0 {_HEIGHT * i})">{chart}</g>'.replace(
            "<svg ", f'<svg width="{_WIDTH}" height="{_HEIGHT}" '
        )
        for i, chart in enumerate(charts)
    )
    return f"{open_svg(operation, _WIDTH, _HEIGHT * len(charts))}{placed}</svg>\n"


def _chart(title: str, places: Sequence[int], points: Sequence[Point]) -> str:
    arms = [arm for arm in points[0].times if all(arm in point.times for point in points)]
    lines = [Series(arm, f"line{i % SERIES}", [it.times[arm] for it in points]) for i, arm in enumerate(arms)]
    return draw_lines(title, places, lines, [""] * len(places), lambda us: format_time(us).replace(".00", ""))
