"""The tuner's report: what was found for each operation, the machine's curves, and every number; also its tables."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Table

from espalier import __version__
from espalier.base.units import counted, format_bytes, format_time
from espalier.base.writing import replace_file
from espalier.draw.chart import Series, draw_times
from espalier.draw.heat import Heat, draw_heat
from espalier.draw.page import compose_page
from espalier.tuning.problems.problem import FORMS, OPERATIONS, Shape
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.search.run import Result
from espalier.tuning.verdict.summary import Summary, geometric_mean, ratio_of

# Of a curve's lines, the first one first.
_STYLES = ("own", "line1", "line0", "line2", "line4", "native")

# How to draw a curve: its title, what its horizontal axis is and what tells its lines apart.
_CURVES = {
    "copy": ("Copying a message through a cell, by the cell's size", "cell", "bytes"),
    "pipeline": ("Broadcast of 1M, by the number of cells", "cells", "cell"),
    "single_copy": ("Broadcast, by size: cells or single copy", "bytes", "way"),
    "latency": ("A message one way, by size", "bytes", "between"),
    "connections": ("16 x 64K on each connection, by their number", "connections", ""),
}

# Without the table: what is worth a line.
_SLOWER = 1.2

# What the lists are about.
_GUIDELINES = (
    "An operation should take no longer than what a program could put together from others, and a small message no "
    "longer than a large one: which guideline, at which size, what the operation takes and what it should."
)
_APPARENT = (
    "The table's times were measured minutes apart, and, where a host moves the processors about, with these at "
    "different distances. Measured side by side these hold."
)
_UNTUNED = "How many times as long a job takes that does not load this table, and so has the built-in choice."

# A longer list is folded.
_MOST_OPEN = 8


def write_report(result: Result, summary: Summary, signature: Any, shape: Shape, mpi: str, path: Path) -> None:
    """Writes the page to `path`, complete or not at all."""
    decisions = sorted_decisions(result.decisions.values())
    nodes = "1 node" if shape.nodes == 1 else f"{shape.nodes} nodes ({shape})"
    title = f"Tuned for {mpi}: {counted(shape.ranks, 'rank')} on {nodes}"
    head = f"Espalier {__version__}, {time.strftime('%-d %B %Y, %H:%M')}; {signature.machine}; {signature.mpi}"
    body = "\n".join(
        [
            f'<h1>{escape(title)}</h1><p class="faint">{escape(head)}</p>',
            "".join(f"<p>{escape(line)}</p>" for line in summary.lines()),
            _gains(decisions),
            _operations(decisions),
            _curves(result.curves),
            _findings("Guidelines that do not hold", map(str, result.violations), _GUIDELINES),
            _findings("Guidelines that deciding again has put right", map(str, result.repaired), _GUIDELINES),
            _findings("Guidelines that fail by these times only", map(str, result.apparent), _APPARENT),
            _findings("Tried against everything on the grid", map(_sample, result.samples)),
            _findings("Clearly slower without the table", map(_untuned, _slower(result)), _UNTUNED),
            _findings("Remarks", result.remarks),
            _numbers(decisions),
        ]
    )
    replace_file(path, compose_page(title, body))


def sorted_decisions(decisions: Iterable[Decision]) -> list[Decision]:
    """By operation, then by size."""
    return sorted(decisions, key=lambda it: ((*OPERATIONS, *FORMS).index(it.problem.operation), it.problem.bytes))


def summary_table(result: Result, shape: Shape) -> Table:
    """One line per operation, for the terminal."""
    table = Table(title=f"shape {shape}; native ÷ chosen", title_justify="left", box=None, pad_edge=False)
    for name in ("operation", "sizes", "tuned", "mean", "lowest", "highest"):
        table.add_column(name, justify="left" if name == "operation" else "right")
    for operation, group in groupby(sorted_decisions(result.decisions.values()), key=lambda it: it.problem.operation):
        entries = list(group)
        ratios = [ratio_of(entry) for entry in entries]
        tuned = sum(entry.selection != NATIVE for entry in entries)
        cells = (f"{value:.2f}×" for value in (geometric_mean(ratios), min(ratios), max(ratios)))
        table.add_row(operation, str(len(entries)), str(tuned), *cells)
    return table


def _gains(decisions: Sequence[Decision]) -> str:
    """Native ÷ chosen by operation and size; an operation's name leads to its race."""
    ratios = {(it.problem.operation, "bytes", format_bytes(it.problem.bytes)): ratio_of(it) for it in decisions}
    operations = list(dict.fromkeys(it.problem.operation for it in decisions))
    sizes = [format_bytes(size) for size in sorted({it.problem.bytes for it in decisions})]
    if not sizes:
        return ""
    heat = Heat("native ÷ chosen", operations, {"bytes": sizes}, ratios, {it: f"#{it}" for it in operations})
    return f'<h2>What is gained</h2><figure class="wide">{draw_heat(heat)}</figure>'


def _operations(decisions: Sequence[Decision]) -> str:
    figures = []
    for operation, group in groupby(decisions, key=lambda it: it.problem.operation):
        entries = [entry for entry in group if entry.calls and entry.native_us > 0]
        if len(entries) < 2:
            continue
        lines = [
            Series("native", "native", [entry.native_us for entry in entries]),
            Series("best", "line1", [entry.best_us or entry.native_us for entry in entries]),
            Series("chosen", "own", [entry.chosen_us for entry in entries]),
        ]
        sizes = [entry.problem.bytes for entry in entries]
        chart = draw_times(operation, sizes, lines, [_mark(entry) for entry in entries])
        figures.append(f'<figure id="{operation}">{chart}</figure>')
    if not figures:
        return ""
    note = (
        "Time per call over size: native, the fastest other selection (whether selected or not), and what the table "
        "chooses. Below each size: native ÷ chosen, or a dash where native stays."
    )
    return f'<h2>Operations</h2><p class="faint">{note}</p><div class="charts">{"".join(figures)}</div>'


def _mark(entry: Decision) -> str:
    return "–" if entry.selection == NATIVE else f'<tspan class="win">{ratio_of(entry):.1f}×</tspan>'


def _curves(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    figures = [_curve(name, points) for name, points in curves.items() if name in _CURVES]
    body = f'<div class="charts">{"".join(figure for figure in figures if figure)}</div>'
    return f"<h2>The machine</h2>{body}{_waiting(curves.get('waiting', []))}" if curves else ""


def _curve(name: str, points: Sequence[Mapping[str, Any]]) -> str:
    """One chart; its lines have the points that all of them have in common."""
    title, across, apart = _CURVES[name]
    lines: dict[Any, dict[int, float]] = {}
    for point in points:
        if point["us"] > 0:
            lines.setdefault(point.get(apart, "µs"), {})[point[across]] = point["us"]
    common = sorted(set.intersection(*(set(line) for line in lines.values()))) if lines else []
    common = common[:: max(1, -(-len(common) // 9))]  # labels of more than nine would touch
    if len(common) < 2:
        return ""
    series = [
        Series(format_bytes(key) if isinstance(key, int) else str(key), style, [line[x] for x in common])
        for (key, line), style in zip(lines.items(), _STYLES, strict=False)
    ]
    return f"<figure>{draw_times(title, common, series, [''] * len(common))}</figure>"


def _waiting(points: Sequence[Mapping[str, Any]]) -> str:
    if not points:
        return ""
    rows = "".join(
        f'<tr><td class="left">{escape(str(point["way"]))}</td><td>{format_time(point["us"])}</td></tr>'
        for point in points
    )
    head = f'<tr><th class="left">waiting by</th><th>hand-over among {points[0]["ranks"]} ranks of a host</th></tr>'
    return f"<table>{head}{rows}</table>"


def _findings(title: str, lines: Iterable[str], about: str = "") -> str:
    """A list under a headline; nothing where it is empty."""
    items = [f"<li>{escape(line)}</li>" for line in lines]
    if not items:
        return ""
    shown = f"<ul>{''.join(items)}</ul>"
    if len(items) > _MOST_OPEN:
        shown = f"<details><summary>{len(items)} of them</summary>{shown}</details>"
    note = f'<p class="faint">{escape(about)}</p>' if about else ""
    return f"<h2>{escape(title)}</h2>{note}{shown}"


def _sample(sample: Mapping[str, Any]) -> str:
    what = f"{sample['operation']} {format_bytes(sample['bytes'])}"
    count, best, pick = sample["selections"], sample["best"], sample["pick"]
    if best == pick:
        return f"{what}: none of {count} selections is faster than the pick {pick}"
    return f"{what}: of {count} selections {best} is the fastest, {sample['distance']:.0%} faster than the pick {pick}"


def _slower(result: Result) -> list[Mapping[str, Any]]:
    """What the table gains most on, that first."""
    return sorted((it for it in result.untuned if it["ratio"] > _SLOWER), key=lambda it: -it["ratio"])


def _untuned(found: Mapping[str, Any]) -> str:
    return f"{found['operation']} {format_bytes(found['bytes'])}: {found['ratio']:.2f}×"


def _numbers(decisions: Iterable[Decision]) -> str:
    rows = "".join(
        f'<tr><td class="left">{escape(it.problem.operation)}</td><td>{format_bytes(it.problem.bytes)}</td>'
        f"<td>{format_time(it.native_us)}</td><td>{format_time(it.chosen_us)}</td><td>{ratio_of(it):.2f}×</td>"
        f"<td>{it.lowest_ratio:.2f}–{it.highest_ratio:.2f}</td>"
        f'<td class="left">{escape(it.selection)}</td><td class="left">{escape(it.note)}</td></tr>'
        for it in decisions
    )
    head = (
        '<tr><th class="left">operation</th><th>bytes</th><th>native</th><th>chosen</th><th>native ÷ chosen</th>'
        '<th>range</th><th class="left">selection</th><th class="left">why native stays</th></tr>'
    )
    return f'<h2>Every number</h2><div class="scroll"><table>{head}{rows}</table></div>'
