"""Figures of a paper as measured here: their data, one self-contained page, and the same as JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path

from espalier import __version__, machine
from espalier.report import chart
from espalier.report.chart import Series, draw_times

NATIVE, OWN = "native", "own"  # the styles that the report's style sheet knows
# Further lines, in the order in which a panel uses them: told apart in light and dark themes and by most eyes.
_COLOURS = ("#3b6fb6", "#c2702a", "#7b52ab", "#1f9aa8", "#b8336a", "#8c7a1f")
_STYLE = Path(chart.__file__).with_name("style.css")


@dataclass(frozen=True)
class Curve:
    """One line of a panel: microseconds, one for each x."""

    name: str
    style: str  # NATIVE, OWN, or style_of(i)
    values: list[float]


@dataclass(frozen=True)
class Panel:
    """One diagram. Both axes are logarithmic."""

    title: str
    x_means: str  # bytes, ranks, cells …
    x: list[int]
    curves: list[Curve]
    notes: list[str] = field(default_factory=list)  # what is missing, and why


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures: what the authors found, and what came out here."""

    number: int
    title: str
    paper: str
    panels: list[Panel]
    notes: list[str] = field(default_factory=list)  # of the figure as a whole


def style_of(index: int) -> str:
    """The style of a panel's further curves."""
    return f"line{index % len(_COLOURS)}"


def write_figures(
    title: str, source: str, remarks: Sequence[str], figures: Sequence[Figure], folder: Path, name: str = "smp"
) -> Path:
    """Writes NAME.html and NAME.json into `folder`, each complete or not at all; returns the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "title": title,
        "source": source,
        "espalier": __version__,
        "machine": _machine(),
        "remarks": list(remarks),
        "figures": [asdict(figure) for figure in figures],
    }
    _replace(folder / f"{name}.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    page = folder / f"{name}.html"
    _replace(page, _page(title, source, remarks, figures))
    return page


def _machine() -> str:
    return f"{machine.processor_name()}, {machine.count_cores()} cores, Linux {platform.release()}"


def _page(title: str, source: str, remarks: Sequence[str], figures: Sequence[Figure]) -> str:
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="faint">{escape(source)} Measured with Espalier {__version__}; {escape(_machine())}.</p>',
        f"<ul>{''.join(f'<li>{escape(remark)}</li>' for remark in remarks)}</ul>",
        *(_section(figure) for figure in figures),
    ]
    lines = "".join(
        f"svg .line{i} polyline {{ stroke: {colour}; }} svg .line{i} circle, svg text.line{i} {{ fill: {colour}; }}\n"
        for i, colour in enumerate(_COLOURS)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text()}{lines}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _section(figure: Figure) -> str:
    drawings = "".join(f"<figure>{_draw(panel)}</figure>" for panel in figure.panels if panel.curves)
    notes = [*figure.notes, *(note for panel in figure.panels for note in panel.notes)]
    missing = f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else ""
    return (
        f"<h2>Figure {figure.number}. {escape(figure.title)}</h2><p>The paper: {escape(figure.paper)}</p>"
        f'<div class="charts">{drawings}</div>{missing}'
    )


def _draw(panel: Panel) -> str:
    series = [Series(curve.name, curve.style, curve.values) for curve in panel.curves]
    return draw_times(f"{panel.title}; µs over {panel.x_means}", panel.x, series, _marks(panel))


def _marks(panel: Panel) -> list[str]:
    """Below each x: native ÷ Espalier, where a panel has just these two to compare."""
    native = [curve for curve in panel.curves if curve.style == NATIVE]
    own = [curve for curve in panel.curves if curve.style == OWN]
    if len(native) != 1 or len(own) != 1:
        return [""] * len(panel.x)
    ratios = [theirs / ours for theirs, ours in zip(native[0].values, own[0].values, strict=True)]
    return [f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×" if ratio >= 0.1 else "<0.1×" for ratio in ratios]


def _replace(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
