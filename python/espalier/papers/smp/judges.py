"""Whether what Wu, Kendall and Aluru state of their figures is true of the points. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from espalier.base.units import format_bytes
from espalier.papers.figure import Data, Verdict
from espalier.papers.judging import Ratio, ratios, saving, spell_number, split, weigh

_SMALL = 1 << 10  # "small" messages; the paper gives no number
_MEDIUM = 4 << 10  # "small to medium" blocks of an all-to-all


def judge_access(data: Data) -> Verdict:
    """Figure 1."""
    found = ratios(data, "stages", "one group")
    verdict = split(found, lambda it: it.value > 1, "one group operation is faster than stages", spell_number)
    growing = [panel for panel in data.panels if _grows([it for it in found if it.panel == panel])]
    return Verdict(
        verdict.kind,
        f"{verdict.because}; the advantage is larger with most ranks than with fewest in {len(growing)} of "
        f"{len(data.panels)} panels",
    )


def _grows(found: Sequence[Ratio]) -> bool:
    ordered = sorted(found, key=lambda it: it.x)
    return len(ordered) > 1 and ordered[-1].value > ordered[0].value


def judge_copy(data: Data) -> Verdict:
    """Figure 2: 4 to 16 KB are best; within 10 % of the best counts as best, which is noise."""
    claims: list[tuple[str, bool | None]] = []
    for panel in data.panels:
        for curve in data.curves(panel):
            times = {float(x): point.value for x, point in data.curve(panel, curve).items()}
            best = min(times, key=lambda cell: times[cell])
            middling = min((us for cell, us in times.items() if 4 << 10 <= cell <= 16 << 10), default=None)
            text = f"{curve} is copied fastest by {format_bytes(int(best))} ({panel})"
            claims.append((text, None if middling is None else middling <= 1.1 * times[best]))
    return weigh(claims, "4 to 16 KB copy within 10 % of the fastest")


def judge_pipeline(data: Data) -> Verdict:
    """Figure 3: depth matters, sixteen of 8 KB are best, tuning turns a loss into a gain."""
    claims: list[tuple[str, bool | None]] = []
    for panel in data.panels:
        if "by number of cells" in panel:
            claims += _judge_depths(data, panel)
        else:
            claims += _judge_tuning(data, panel)
    return weigh(claims)


def _judge_depths(data: Data, panel: str) -> list[tuple[str, bool | None]]:
    times = {(curve, int(x)): it.value for curve in data.curves(panel) for x, it in data.curve(panel, curve).items()}
    best, two = min(times, key=lambda key: times[key]), min((times[key] for key in times if key[1] == 2), default=None)
    where = panel.removesuffix(", by number of cells")
    if two is None:
        return [(f"more than two buffers help ({where})", None)]
    text = f"{best[1]} buffers ({best[0]}) are fastest, {two / times[best]:.2f}× two at their best ({where})"
    return [(text, best[1] > 2)]


def _judge_tuning(data: Data, panel: str) -> list[tuple[str, bool | None]]:
    untuned = [it.value for it in ratios(data, "native", "untuned", [panel])]
    tuned = [it.value for it in ratios(data, "native", "tuned", [panel])]
    if not untuned or not tuned:
        return [(f"tuning helps ({panel})", None)]
    return [
        (f"before tuning slower than native at some size ({panel}: {min(untuned):.2f}×)", min(untuned) < 1),
        (f"after tuning 50 % faster at some size ({panel}: up to {max(tuned):.1f}×)", saving(max(tuned)) >= 50),
    ]


def judge_broadcast(data: Data) -> Verdict:
    """Figure 4."""
    found = ratios(data, "native", "Espalier")
    verdict = split(found, lambda it: saving(it.value) >= 30, "at least 30 % less time than native")
    small = [it for it in found if it.x <= _SMALL]
    half = sum(saving(it.value) >= 50 for it in small)
    return Verdict(verdict.kind, f"{verdict.because}; more than 50 % at {half} of {len(small)} points up to 1K")


def judge_scatter(data: Data) -> Verdict:
    """Figure 5: one node up to 128 KB in all; several nodes somewhere."""
    claims: list[tuple[str, bool | None]] = []
    for panel in data.panels:
        nodes, ranks = _shape(panel)
        found = ratios(data, "native", "Espalier", [panel])
        if nodes == 1:
            few = [it for it in found if it.x * ranks <= 128 << 10]
            good = [it for it in few if saving(it.value) >= 40]
            text = f"40 % less time up to 128 KB in all ({panel}: {len(good)} of {len(few)} sizes)"
            claims.append((text, len(good) == len(few) if few else None))
        else:
            most = max((saving(it.value) for it in found), default=None)
            text = f"up to 30 % less time on several nodes ({panel}: {most or 0:.0f} % at most)"
            claims.append((text, None if most is None else most >= 30))
    if all(_shape(panel)[0] > 1 for panel in data.panels):
        claims.append(("40 % less time up to 128 KB in all on one node", None))
    return weigh(claims)


def _shape(panel: str) -> tuple[int, int]:
    """ "mpich 5.0.2, 4 × 4" → nodes, ranks of each."""
    nodes, _, ranks = panel.rpartition(", ")[2].partition(" × ")
    return int(nodes), int(ranks)


def judge_alltoall(data: Data) -> Verdict:
    """Figure 6."""
    claims: list[tuple[str, bool | None]] = []
    for panel in data.panels:
        found = ratios(data, "native", "cells", [panel])
        small = [it.value for it in found if it.x <= _MEDIUM]
        large = [it.value for it in found if it.x > _MEDIUM]
        wins = sum(value > 1 for value in small)
        text = f"cells beat native up to 4 KB ({panel}: at {wins} of {len(small)} sizes)"
        claims.append((text, wins == len(small) if small else None))
        text = f"native wins at some larger size ({panel}: cells at worst {min(large, default=0):.2f}×)"
        claims.append((text, min(large) < 1 if large else None))
    return weigh(claims)


def judge_two_stage(data: Data) -> Verdict:
    """Figure 7."""
    claims: list[tuple[str, bool | None]] = []
    for panel in data.panels:
        _, ranks = _shape(panel)
        two = [it.value for it in ratios(data, "native", "two stages, all ranks", [panel])]
        if ranks == 1:
            claims.append(_most(two, f"two stages beat native with one rank per node ({panel})"))
            continue
        slower = [1 / value for value in two]
        claims.append(_most(slower, f"among all ranks two stages lose to native ({panel})"))
        leaders = [it.value for it in ratios(data, "native", "on leaders", [panel])]
        claims.append(_most(leaders, f"on leaders they beat native ({panel})"))
        binomial = [it.value for it in ratios(data, "binomial", "on leaders", [panel])]
        claims.append(_most(binomial, f"on leaders they beat our binomial tree ({panel})"))
    return weigh(claims)


def _most(values: Sequence[float], text: str) -> tuple[str, bool | None]:
    """True where most sizes say so."""
    wins = sum(value > 1 for value in values)
    return f"{text}: at {wins} of {len(values)} sizes", (wins > len(values) / 2 if values else None)
