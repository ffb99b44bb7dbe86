"""Figure 1 of Qian, Rashti and Afsahi for this machine: bandwidth and ratio over message size, one page."""

from __future__ import annotations

from html import escape
from pathlib import Path

from espalier.base.writing import replace_file
from espalier.draw.chart import Series, draw_lines
from espalier.draw.page import compose_page
from espalier.draw.style import SERIES
from espalier.measure.connections import Groups, Scaling


def write_page(scaling: Scaling, mpi: str, path: Path) -> None:
    """Writes the page to `path`, complete or not at all."""
    title = f"Concurrent allgathers: {mpi}"
    charts = "".join(f"<figure>{drawing}</figure>" for drawing in draw_figure(scaling))
    findings = "".join(f"<li>{escape(line)}</li>" for line in scaling.findings())
    body = (
        f"<h1>{escape(title)}</h1><p>After figure 1 of Qian, Rashti, Afsahi: groups of one rank per node, each with an "
        f'allgather of its own.</p><div class="charts">{charts}</div><ul>{findings}</ul>'
    )
    replace_file(path, compose_page(title, body))


def draw_figure(scaling: Scaling) -> list[str]:
    """Its two panels: what leaves a node, and the ratio to one group's ring."""
    kinds = [kind for kind in scaling.kinds() if kind == scaling.BASELINE or kind.way == "direct"]
    sizes = scaling.sizes()
    rates = [Series(_name(kind), _style(i), [scaling.rate(kind, size) for size in sizes]) for i, kind in _count(kinds)]
    ratios = [
        Series(_name(kind), _style(i), [scaling.ratio(kind, size) for size in sizes]) for i, kind in _count(kinds)
    ]
    blank = [""] * len(sizes)
    return [
        draw_lines("MB/s that leave one node; over bytes", sizes, rates, blank, lambda rate: f"{rate:g}"),
        draw_lines("ratio to one group's ring; over bytes", sizes, ratios, blank, lambda ratio: f"{ratio:g}×"),
    ]


def _style(i: int) -> str:
    """The baseline is grey."""
    return "native" if i == 0 else f"line{(i - 1) % SERIES}"


def _count(kinds: list[Groups]) -> list[tuple[int, Groups]]:
    return list(enumerate(kinds))


def _name(kind: Groups) -> str:
    return "ring" if kind == Scaling.BASELINE else f"{kind.groups} direct"
