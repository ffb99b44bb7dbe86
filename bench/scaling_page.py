"""What docs/scaling.md says, computed from the points of bench/scaling.py: verdicts, curves, tables, costs."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scaling_points import BEST, CROWDED, OPERATIONS, PLAYED, Compared, Cost, Place, Row, compare, mean

from espalier.base.units import counted, format_bytes
from espalier.simulation.executor import OURS, SELECTORS

BEGIN, END = "<!-- written by bench/scaling.py -->\n", "<!-- end of what is written -->"
_COLOURS = ("#1f7a4d", "#3b6fb6", "#c2702a")  # by size, the smallest first
_GREY = "#444"
_NETWORKS = ("fat tree", "three levels, 2:1", "dragonfly")  # drawn in this order
_NEAR = 0.01  # who is ahead by less is not said to be


def summarise(rows: list[Row], costs: list[Cost]) -> str:
    """Markdown; what has no points is left out."""
    points = compare(rows)
    verdict = _verdict(points) + _fewer(points, rows, costs)
    compared = (_behind(points), _registry(points, rows), _trees(points))
    parts = (verdict, *compared, _agreement(points), _played(rows), _costs(costs), _all(points))
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _name(place: Place) -> list[object]:
    return [place.operation, place.ranks, place.network, format_bytes(place.bytes)]


def _verdict(points: list[Compared]) -> str:
    """By operation, then by number of ranks."""
    large = [it for it in points if it.place.received >= 64 << 10]
    kinds = [("all", points), ("64 KB or more for each rank", large)]
    kinds += [(operation, [it for it in points if it.place.operation == operation]) for operation in OPERATIONS]
    kinds += [(f"{ranks} ranks", [it for it in points if it.place.ranks == ranks]) for ranks in _ranks(points)]
    lines = []
    for what, some in kinds:
        if ratios := [it.ratio for it in some if it.ratio]:
            ahead = f"{sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}"
            lines.append([what, ahead, f"**{mean(ratios):.2f}**", f"{min(ratios):.2f}", f"{max(ratios):.2f}"])
    heads = ["points", "at or ahead of the best other", "its time over ours, geometric mean", "worst", "best"]
    return "### Against the best of the others\n\n" + _table(heads, lines) if lines else ""


def _fewer(points: list[Compared], rows: list[Row], costs: list[Cost]) -> str:
    """Where not all of the others have a time: too slow to simulate, wrong data, or not run."""
    lines = [
        [arm, *_name(it.place), _why_missing(it.place, arm, rows, costs)]
        for it in points
        if it.ratio
        for arm in SELECTORS
        if arm not in it.arms
    ]
    said = "\n\nPoints that have no time of one of the four, and why:\n\n"
    return said + _table(["arm", "operation", "ranks", "network", "bytes", "why"], lines) if lines else ""


def _why_missing(place: Place, arm: str, rows: list[Row], costs: list[Cost]) -> str:
    wrong = [row.wrong for row in rows if (row.place, row.arm) == (place, arm) and row.wrong]
    failures = [cost.failure for cost in costs if (cost.place, cost.arm) == (place, arm) and cost.failure]
    return f"wrong data at {wrong[0]} ranks" if wrong else failures[0] if failures else "not run"


def _ranks(points: list[Compared]) -> list[int]:
    return sorted({it.place.ranks for it in points})


def _behind(points: list[Compared]) -> str:
    behind = sorted((it.ratio, it) for it in points if it.ratio and it.ratio < 1 - _NEAR)
    if not behind:
        return ""
    lines = [[*_name(it.place), f"{it.arms[OURS]:.1f}", _other(it), f"{ratio:.2f}"] for ratio, it in behind]
    heads = ["operation", "ranks", "network", "bytes", "ours, µs", "best other, µs", "ratio"]
    return "### Where ours is behind\n\n" + _table(heads, lines)


def _other(it: Compared) -> str:
    return f"{it.other[0]:.1f} ({it.other[1]})" if it.other else ""


def _registry(points: list[Compared], rows: list[Row]) -> str:
    """The built-in choice, as it was executed where it was, and the best of the registry, played."""
    found = [(it.ours / it.arms[BEST], it) for it in points if it.ours and BEST in it.arms]
    if not found:
        return ""
    missed = [ratio for ratio, _ in found]
    good = sum(ratio <= 1.1 for ratio in missed)
    said = [
        f"- {operation}: {mean(some):.2f} times as long in the geometric mean of {len(some)}, {max(some):.2f} at worst."
        for operation in OPERATIONS
        if (some := [ratio for ratio, it in found if it.place.operation == operation])
    ]
    return (
        "### Against the best of our own registry\n\n"
        f"The built-in choice is within 10 % of the best at {good} of {len(missed)} points; in the geometric mean it "
        f"takes {mean(missed):.2f} times as long, {max(missed):.2f} times at worst. By operation:\n\n"
        + "\n".join(said)
        + _missed(found, {row.place: row.choice for row in rows if row.arm == BEST})
    )


def _missed(found: list[tuple[float, Compared]], best: dict[Place, str]) -> str:
    lines = [
        [*_name(it.place), f"{it.ours:.1f}", f"{it.arms[BEST]:.1f}", f"`{best[it.place]}`"]
        for ratio, it in sorted(found, key=lambda pair: -pair[0])
        if ratio > 1.1
    ]
    heads = ["operation", "ranks", "network", "bytes", "ours, µs", "best, µs", "which is"]
    return "\n\nFurther away:\n\n" + _table(heads, lines) if lines else ""


def _trees(points: list[Compared]) -> str:
    found = [it for it in points if "binomial" in it.arms and "bine" in it.arms]
    if not found:
        return ""
    ratios = [it.arms["binomial"] / it.arms["bine"] for it in found]
    better, worse = (sum(sign * ratio > sign * (1 + sign * 0.005) for ratio in ratios) for sign in (1, -1))
    lines = [
        [*_name(it.place), f"{it.arms['binomial']:.1f}", f"{it.arms['bine']:.1f}", f"{ratio:.2f}"]
        for it, ratio in zip(found, ratios, strict=True)
    ]
    return (
        "### Bine trees\n\n"
        f"Bine order is the quicker at {better} of {len(ratios)} points and the slower at {worse} (by more than "
        f"0.5 %), geometric mean {mean(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}.\n\n"
        + _folded(_table(["operation", "ranks", "network", "bytes", "binomial, µs", "bine, µs", "ratio"], lines))
    )


def _agreement(points: list[Compared]) -> str:
    ratios = [it.arms[PLAYED] / it.arms[OURS] for it in points if PLAYED in it.arms and OURS in it.arms]
    if not ratios:
        return ""
    off = sorted(abs(ratio - 1) for ratio in ratios)
    return (
        "### Played and executed\n\n"
        f"At {len(off)} points our choice was both executed and played. They differ by {off[len(off) // 2]:.1%} "
        f"in the median, by more than 5 % at {sum(it > 0.05 for it in off)} of them, by {off[-1]:.0%} at most."
    )


def _played(rows: list[Row]) -> str:
    executed = {row.place for row in rows if row.arm == OURS}
    lines = [
        [*_name(row.place), f"{row.microseconds:.1f}", f"`{row.choice}`"]
        for row in rows
        if row.arm == PLAYED and row.place not in executed
    ]
    heads = ["operation", "ranks", "network", "bytes", "µs", "choice"]
    return "### Played only\n\n" + _table(heads, lines) if lines else ""


def _costs(costs: list[Cost]) -> str:
    """Worst of the networks and sizes, and what did not end."""
    heads = ["ranks", "operation", "arm", "seconds of a processor", "MB"]
    arms = ((OURS, [OURS]), ("the others", [*SELECTORS]), (PLAYED, [PLAYED]), (f"{BEST}, all its plans", [BEST]))
    kinds = itertools.product(sorted({it.ranks for it in costs}), OPERATIONS, ("", CROWDED), arms)
    lines = []
    for ranks, operation, crowd, (what, names) in kinds:
        some = [it for it in costs if (it.ranks, it.operation) == (ranks, operation) and it.arm in names]
        if ended := [it for it in some if not it.failure and it.network.endswith(CROWDED) == bool(crowd)]:
            lines.append([ranks, operation + crowd, what, *_most(ended)])
    failed = [[it.arm, *_name(it.place), it.failure, f"{it.seconds:.0f}", it.megabytes] for it in costs if it.failure]
    if not costs:
        return ""
    why = ["arm", "operation", "ranks", "network", "bytes", "why", "seconds of a processor", "MB"]
    ends = "\n\nWithout a result:\n\n" + _folded(_table(why, failed)) if failed else ""
    return "### What it costs to simulate one point, at most\n\n" + _folded(_table(heads, lines)) + ends


def _most(costs: list[Cost]) -> list[object]:
    return [f"{max(it.seconds for it in costs):.0f}", max(it.megabytes for it in costs)]


def _all(points: list[Compared]) -> str:
    heads = ["operation", "ranks", "network", "bytes", "ours, µs", "best other, µs", "ratio", "registry's best, µs"]
    lines = []
    for it in points:
        if OURS in it.arms:
            best = f"{it.arms[BEST]:.1f}" if BEST in it.arms else ""
            ratio = f"{it.ratio:.2f}" if it.ratio else ""
            lines.append([*_name(it.place), f"{it.arms[OURS]:.1f}", _other(it), ratio, best])
    return "### Every executed point\n\n" + _folded(_table(heads, lines)) if lines else ""


def _folded(table: str) -> str:
    return f"<details><summary>{counted(table.count(chr(10)) - 1, 'row')}</summary>\n\n{table}\n\n</details>"


def draw_curves(rows: list[Row], folder: Path) -> None:
    """curves.svg: time by number of ranks, a panel per operation and network, a colour per size."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    points = compare(rows)
    operations = [it for it in OPERATIONS if any(point.place.operation == it for point in points)]
    networks = [it for it in _NETWORKS if any(row.network == it for row in rows)]
    if not operations:
        return
    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "espalier", "font.size": 8,
                             "axes.spines.top": False, "axes.spines.right": False}  # fmt: skip
    with mpl.rc_context(style):
        sheet, grid = pyplot.subplots(
            len(operations), len(networks), figsize=(3.6 * len(networks), 2.7 * len(operations)), squeeze=False,
            sharex=True, sharey="row",
        )  # fmt: skip
        for line, operation in enumerate(operations):
            for column, network in enumerate(networks):
                some = [it for it in points if (it.place.operation, it.place.network) == (operation, network)]
                crowded = [
                    it for it in points if (it.place.operation, it.place.network) == (operation, network + CROWDED)
                ]
                _draw_crowded(grid[line][column], crowded)
                _draw_panel(grid[line][column], some, _ranks(points))
                grid[line][column].set_title(f"{operation}, {network}", fontsize=8)
            grid[line][0].set_ylabel("µs")
        for diagram in grid[-1]:
            diagram.set_xlabel("ranks")
        _explain(sheet)
        picture = io.BytesIO()
        sheet.savefig(picture, format="svg", metadata={"Date": None})
        pyplot.close(sheet)
    (folder / "curves.svg").write_bytes(picture.getvalue())


def _draw_crowded(diagram: Any, points: list[Compared]) -> None:
    """Jobs on nodes of 64: squares; hollow ones are played. The others are crosses, too."""
    for it in points:
        if it.other:
            diagram.plot(it.place.ranks, it.other[0], color=_GREY, marker="x", markersize=4)
        if it.ours:
            face, said = _GREY if OURS in it.arms else "white", f"{format_bytes(it.place.bytes)}, nodes of 64"
            diagram.plot(it.place.ranks, it.ours, color=face, markeredgecolor=_GREY, marker="s", markersize=4)
            diagram.annotate(
                said,
                (it.place.ranks, it.ours),
                (0, -13),
                textcoords="offset points",
                color=_GREY,
                fontsize=7,
                ha="center",
            )


def _draw_panel(diagram: Any, points: list[Compared], ranks: list[int]) -> None:
    sizes = sorted({it.place.bytes for it in points})
    for size, colour in zip(sizes, _COLOURS, strict=False):
        some = [it for it in points if it.place.bytes == size]
        ours = [(it.place.ranks, it.ours) for it in some if it.ours]
        played = [(it.place.ranks, it.ours) for it in some if it.ours and OURS not in it.arms]
        other = [(it.place.ranks, it.other[0]) for it in some if it.other]
        best = [(it.place.ranks, it.arms[BEST]) for it in some if BEST in it.arms]
        diagram.plot(*_split(ours), color=colour, linewidth=1.4, marker="o", markersize=3)
        diagram.plot(*_split(played), color="white", markeredgecolor=colour, linestyle="", marker="o", markersize=4)
        diagram.plot(*_split(other), color=colour, linewidth=1, linestyle="--", marker="x", markersize=4)
        diagram.plot(*_split(best), color=colour, linestyle="", marker="_", markersize=9)
        if ours:
            diagram.annotate(
                format_bytes(size), ours[-1], (6, -3), textcoords="offset points", color=colour, fontsize=7
            )
    diagram.set_xscale("log", base=2)
    diagram.set_yscale("log")
    diagram.set_xticks(ranks, [f"{it // 1024}K" if it >= 1024 else str(it) for it in ranks])
    diagram.set_xlim(ranks[0] / 1.3, ranks[-1] * 2)
    diagram.minorticks_off()
    diagram.grid(alpha=0.25, linewidth=0.5)


def _split(pairs: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]


def _explain(sheet: Any) -> None:
    from matplotlib.lines import Line2D

    kinds: tuple[tuple[str, dict[str, Any]], ...] = (
        ("ours, executed", {"color": _GREY, "marker": "o", "markersize": 3}),
        ("ours, played", {"color": "white", "markeredgecolor": _GREY, "linestyle": "", "marker": "o", "markersize": 4}),
        ("quickest of the other four", {"color": _GREY, "linestyle": "--", "marker": "x", "markersize": 4}),
        ("quickest of our registry, played", {"color": _GREY, "linestyle": "", "marker": "_", "markersize": 9}),
    )
    handles = [Line2D([], [], label=label, **look) for label, look in kinds]
    sheet.legend(handles=handles, loc="upper center", ncol=4, fontsize=8, frameon=False)
    sheet.tight_layout(rect=(0, 0, 1, 0.97))
