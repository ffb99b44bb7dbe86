"""Whether what Wu, Kendall and Aluru state of their figures is true of the points. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from espalier.base.units import format_bytes
from espalier.papers.figure import Data, Verdict
from espalier.papers.judging import Claim, Ratio, Unjudged, noise_floor, ratios, saving, share_of, split, weigh

_SMALL = 1 << 10  # "small" messages; the paper gives no number
_MEDIUM = 4 << 10  # "small to medium" blocks of an all-to-all
_CROWDED = Unjudged("more ranks than cores, who wait for a core")
_OWN_WIN = Unjudged("beating native is no failure")
_OTHER_JOB = Unjudged("each was timed in a job of its own")
_CORES = 2  # of the machine that these figures are measured on (bench/METHOD.md)


def judge_access(data: Data) -> Verdict:
    """Figure 1, where every rank has a core."""
    claims: list[Claim] = []
    for panel in data.panels:
        found = {int(it.x): it.value for it in ratios(data, "stages", "one group", [panel])}
        for ranks, ratio in found.items():
            text = f"one group operation is faster than stages ({panel}, {ranks} ranks: {ratio:.2f}×)"
            claims.append((text, _CROWDED if ranks > _CORES else ratio >= noise_floor(ranks)))
        alone = [ranks for ranks in found if ranks <= _CORES]
        text = f"it grows less with the number of ranks ({panel})"
        claims.append((text, _CROWDED if len(alone) < 2 else found[max(alone)] > found[min(alone)]))
    return weigh(
        claims,
        hypothesis="with a core for each rank one group operation takes less time than stages, by more than noise, and "
        "grows less with the number of ranks",
    )


def judge_copy(data: Data) -> Verdict:
    """Figure 2: 4 to 16 KB are best; within 10 % of the best counts as best, which is noise."""
    claims: list[Claim] = []
    for panel in data.panels:
        for curve in data.curves(panel):
            times = {float(x): point.value for x, point in data.curve(panel, curve).items()}
            best = min(times, key=lambda cell: times[cell])
            middling = min((us for cell, us in times.items() if 4 << 10 <= cell <= 16 << 10), default=None)
            text = f"{curve} is copied fastest by {format_bytes(int(best))} ({panel})"
            truth = None if middling is None else middling <= 1.1 * times[best]
            claims.append((text, truth if curve == "8M" else Unjudged("the paper copied 8 MB")))
    return weigh(claims, hypothesis="of all sizes of a buffer one of 4 to 16 KB copies 8 MB within 10 % of the fastest")


def judge_pipeline(data: Data) -> Verdict:
    """Figure 3: depth matters, sixteen of 8 KB are best, tuning turns a loss into a gain."""
    claims: list[Claim] = []
    for panel in data.panels:
        if "by number of cells" in panel:
            claims += _judge_depths(data, panel)
        else:
            claims += _judge_tuning(data, panel)
    return weigh(
        claims,
        hypothesis="two buffers of 8 KB take longer than two of 16 KB, sixteen of 8 KB less than all others (both by "
        "more than 10 %, which is noise, or as long as the best); before tuning 30 % slower than native at some size, "
        "after it 50 % faster",
    )


def _judge_depths(data: Data, panel: str) -> list[Claim]:
    times = {(curve, int(x)): it.value for curve in data.curves(panel) for x, it in data.curve(panel, curve).items()}
    where = panel.removesuffix(", by number of cells")
    two, larger, sixteen = (times.get(key) for key in (("8K cells", 2), ("16K cells", 2), ("8K cells", 16)))
    best = min(times, key=lambda key: times[key])
    ratio, behind = (two or 0) / (larger or 1), (sixteen or 0) / times[best]
    return [
        (f"2 buffers of 8K lose to 2 of 16K ({where}: {ratio:.2f}×)", ratio >= 1.1 if two and larger else None),
        (
            f"16 buffers of 8K beat all ({where}: {behind:.2f}× the time of {best[1]} of {best[0].split()[0]})",
            behind <= 1.1 if sixteen else None,
        ),
    ]


def _judge_tuning(data: Data, panel: str) -> list[Claim]:
    untuned = [it.value for it in ratios(data, "native", "untuned", [panel])]
    tuned = [it.value for it in ratios(data, "native", "tuned", [panel])]
    if not untuned or not tuned:
        return [(f"tuning helps ({panel})", None)]
    floor = noise_floor(_ranks(panel))
    return [
        (
            f"before tuning 30 % slower than native at some size ({panel}: {min(untuned):.2f}×)",
            min(untuned) <= 1 / floor,
        ),
        (f"after tuning 50 % faster at some size ({panel}: up to {max(tuned):.1f}×)", saving(max(tuned)) >= 50),
    ]


def judge_broadcast(data: Data) -> Verdict:
    """Figure 4."""
    found = ratios(data, "native", "Espalier")
    verdict = split(
        found,
        lambda it: saves(it, 30),
        "at least 30 % less time than native",
        hypothesis="at every size at least 30 % less time than native, and more than noise",
    )
    small = [it for it in found if it.x <= _SMALL]
    half = sum(saves(it, 50) for it in small)
    return replace(verdict, because=f"{verdict.because}; more than 50 % at {half} of {len(small)} points up to 1K")


def saves(it: Ratio, per_cent: float) -> bool:
    """So much of the native time, and more than noise."""
    return saving(it.value) >= per_cent and it.value >= noise_floor(_ranks(it.panel))


def judge_scatter(data: Data) -> Verdict:
    """Figure 5: one node up to 128 KB in all; several nodes somewhere."""
    claims: list[Claim] = []
    for panel in data.panels:
        nodes, ranks = _shape(panel)
        found = ratios(data, "native", "Espalier", [panel])
        if nodes == 1:
            few = [saves(it, 40) for it in found if it.x * ranks <= 128 << 10]
            claims.append((f"40 % less time up to 128 KB in all ({panel}: {sum(few)} sizes)", share_of(few)))
        else:
            most = max((saving(it.value) for it in found), default=None)
            text = f"up to 30 % less time on several nodes ({panel}: {most or 0:.0f} % at most)"
            claims.append((text, any(saves(it, 30) for it in found) if found else None))
    if all(_shape(panel)[0] > 1 for panel in data.panels):
        claims.append(("40 % less time up to 128 KB in all on one node", None))
    return weigh(
        claims,
        hypothesis="on one node at least 40 % less time than native at every size up to 128 KB in all; on several "
        "nodes 30 % less at some size; both more than noise",
    )


def _shape(panel: str) -> tuple[int, int]:
    """ "mpich 5.0.2, 4 × 4" → nodes, ranks of each."""
    nodes, _, ranks = panel.rpartition(", ")[2].partition(" × ")
    return int(nodes), int(ranks)


def _ranks(panel: str) -> int:
    nodes, ranks = _shape(panel)
    return nodes * ranks


def judge_alltoall(data: Data) -> Verdict:
    """Figure 6."""
    claims: list[Claim] = []
    for panel in data.panels:
        found, floor = ratios(data, "native", "cells", [panel]), noise_floor(_ranks(panel))
        wins = share_of(it.value >= floor for it in found if it.x <= _MEDIUM)
        claims.append((f"cells beat native up to 4 KB ({panel})", wins))
        large = [it.value for it in found if it.x > _MEDIUM]
        text = f"native wins at some larger size ({panel}: cells at worst {min(large, default=0):.2f}×)"
        claims.append((text, _OWN_WIN if large else None))
    return weigh(claims, hypothesis="up to 4 KB cells take less time than native at every size, by more than noise")


def judge_two_stage(data: Data) -> Verdict:
    """Figure 7. What ran in different jobs is not compared: on the machine itself the broadcasts on leaders did."""
    claims: list[Claim] = []
    for panel in data.panels:
        _, ranks = _shape(panel)
        floor = noise_floor(_ranks(panel))
        two = [it.value for it in ratios(data, "native", "two stages, all ranks", [panel])]
        if ranks == 1:
            claims.append(_above(two, floor, f"two stages beat native with one rank per node ({panel})"))
            continue
        slower = [1 / value for value in two]
        claims.append(_above(slower, floor, f"among all ranks two stages lose to native ({panel})"))
        for rival, text in (("native", "native"), ("binomial", "our binomial tree")):
            values = [it.value for it in ratios(data, rival, "on leaders", [panel])]
            claim = _above(values, floor, f"on leaders they beat {text} ({panel})")
            claims.append((claim[0], _OTHER_JOB) if values else claim)
    return weigh(
        claims,
        hypothesis="at every size, by more than noise: with one rank per node two stages beat native; among all ranks "
        "of several nodes they lose to it; on leaders only they beat it, and the binomial tree",
    )


def _above(values: Sequence[float], floor: float, text: str) -> Claim:
    spread = f": {min(values):.2f} to {max(values):.2f}×" if values else ""
    return f"{text}{spread}", share_of(value >= floor for value in values)
