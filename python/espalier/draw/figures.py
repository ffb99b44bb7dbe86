"""Draws a figure's data: one diagram per panel, side by side, as SVG for pages and PNG for everything else."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.base.errors import UserError
from espalier.base.units import format_bytes
from espalier.base.writing import replace_file
from espalier.draw.style import read
from espalier.papers.figure import Axes, Data
from espalier.papers.store import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Diagram
    from matplotlib.figure import Figure as Sheet

# Told apart by most eyes, on paper and on screens; the native library's line is grey wherever it appears.
_COLOURS = ("#1f7a4d", "#3b6fb6", "#c2702a", "#7b52ab", "#1f9aa8", "#b8336a", "#8c7a1f", "#4d4d4d", "#d18fb0")
_NATIVE = "#8a8f98"
_COLUMNS = 3
_MOST_INSIDE = 6  # curves whose legend leaves room for the curves
# As palette.css calls them.
_NAMES = {
    **dict(zip(_COLOURS, ("--own", "--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--ink", "--bad"), strict=True)),
    _NATIVE: "--native",
    "#ffffff": "--ground",
    "#000000": "--ink",
    "#b0b0b0": "--rule",
}
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small files, and one can search them
    "svg.hashsalt": "espalier",  # the same picture is the same file
    "font.size": 8,
    "font.family": "sans-serif",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw_figure(result: Result, folder: Path) -> None:
    """Writes NAME.svg and NAME.png. Raises UserError without matplotlib."""
    try:
        import matplotlib as mpl

        mpl.use("agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise UserError("drawing needs matplotlib", "pip install matplotlib") from error
    data, axes = _as_drawn(result.data, result.way.axes)
    columns = min(_COLUMNS, max(1, len(data.panels)))
    rows = math.ceil(max(1, len(data.panels)) / columns)
    with mpl.rc_context(_STYLE):
        sheet, grid = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3.2 * rows), squeeze=False)
        for diagram in grid.flat[len(data.panels) :]:
            diagram.set_visible(False)
        for panel, diagram in zip(data.panels, grid.flat, strict=False):
            _draw_panel(diagram, data, panel, axes)
        sheet.tight_layout()
        _write(sheet, folder / f"{result.name}.svg", "svg")
        _write(sheet, folder / f"{result.name}.png", "png")
        pyplot.close(sheet)


def _as_drawn(data: Data, axes: Axes) -> tuple[Data, Axes]:
    """Times, or how many times as fast as one of the curves."""
    if not axes.against:
        return data, axes
    points = []
    for point in data.points:
        base = data.curve(point.panel, axes.against).get(point.x)
        if base is not None:
            fast, slow = base.value / point.low, base.value / point.high
            points.append(replace(point, value=base.value / point.value, low=slow, high=fast))
    return replace(data, points=points), replace(axes, y=f"times as fast as {axes.against}", log_y=False)


def _write(sheet: Sheet, path: Path, kind: str) -> None:
    picture = io.BytesIO()
    # No date in the file: drawn again from the same points it is the same.
    sheet.savefig(picture, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else {})
    drawn = picture.getvalue()
    replace_file(path, follow_reader(drawn.decode()).encode() if kind == "svg" else drawn)


def follow_reader(svg: str) -> str:
    """The same picture in the colours of all others, which follow a reader's light or dark."""
    for colour, name in _NAMES.items():
        svg = svg.replace(f": {colour}", f": var({name})")
    style = f'<style type="text/css">{read("palette.css")}svg text {{ fill: var(--ink); }}</style>\n'
    return svg.replace(" <defs>\n", f" {style} <defs>\n", 1)


def _draw_panel(diagram: Diagram, data: Data, panel: str, axes: Axes) -> None:
    for name, (low, high) in axes.stated.items():
        if low == high:
            diagram.axhline(low, color=_NATIVE, linestyle=":", linewidth=1, label=name)
        else:
            diagram.axhspan(low, high, color=_NATIVE, alpha=0.2, linewidth=0, label=name)
    if any(isinstance(point.x, str) for point in data.points if point.panel == panel):
        _draw_bars(diagram, data, panel)
    else:
        _draw_lines(diagram, data, panel, axes)
    if axes.log_y and all(point.value > 0 for point in data.points if point.panel == panel):
        diagram.set_yscale("log")
    diagram.set_title(panel, fontsize=8)
    diagram.set_xlabel(axes.x)
    diagram.set_ylabel(axes.y)
    diagram.grid(alpha=0.25, linewidth=0.5)
    if len(data.curves(panel)) <= _MOST_INSIDE:
        diagram.legend(fontsize=6, frameon=False)
    else:  # it would hide lines
        diagram.legend(fontsize=6, frameon=False, ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.22))


def _draw_lines(diagram: Diagram, data: Data, panel: str, axes: Axes) -> None:
    for index, curve in enumerate(data.curves(panel)):
        points = list(data.curve(panel, curve).values())
        x = [float(point.x) for point in points]
        colour = _colour(curve, index)
        diagram.plot(x, [point.value for point in points], marker="o", markersize=2.5, linewidth=1.2, color=colour,
                     label=curve)  # fmt: skip
        diagram.fill_between(x, [point.low for point in points], [point.high for point in points], color=colour,
                             alpha=0.18, linewidth=0)  # fmt: skip
    if axes.log_x:
        diagram.set_xscale("log", base=2)
    places = sorted({float(point.x) for point in data.points if point.panel == panel})
    shown = places if len(places) <= 8 else places[:: math.ceil(len(places) / 8)]
    diagram.set_xticks(shown, [_spell(place, axes) for place in shown])
    diagram.minorticks_off()


def _draw_bars(diagram: Diagram, data: Data, panel: str) -> None:
    curves = data.curves(panel)
    groups = list(dict.fromkeys(str(point.x) for point in data.points if point.panel == panel))
    width = 0.8 / len(curves)
    for index, curve in enumerate(curves):
        points = data.curve(panel, curve)
        at = [place for place, group in enumerate(groups) if group in points]
        values = [points[groups[place]].value for place in at]
        lefts = [place - 0.4 + (index + 0.5) * width for place in at]
        bars = diagram.bar(lefts, values, width, color=_colour(curve, index), label=curve)
        diagram.bar_label(bars, [f"{value:.3g}" for value in values], fontsize=5)
    diagram.set_xticks(range(len(groups)), groups, fontsize=6)


def _colour(curve: str, index: int) -> str:
    return _NATIVE if curve == "native" else _COLOURS[index % len(_COLOURS)]


def _spell(place: float, axes: Axes) -> str:
    return format_bytes(int(place)) if axes.x.startswith("bytes") else f"{place:g}"
