"""Whether what Subramoni et al. state of their figures is true of the points. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from espalier.base.units import format_bytes
from espalier.papers.figure import Data, Kind, Point, Verdict
from espalier.papers.judging import Claim, Truth, Unjudged, ratios, weigh

UNAWARE, HOMOGENEOUS = "as numbered, half slow", "as numbered, all fast"
AWARE = "speed-aware (breadth-first), half slow"
_MOST = 14.0  # per cent, figure 6
_LITTLE = 5.0  # per cent: "not significant", our reading
_PAR = 1.1  # times as long: "on par", our reading
_NO_ORDER = 0.002  # ms: an order that was not derived, since none is better than another
_EQUALLY_FAR = Unjudged("these leaders are equally far apart: there is nothing to order")
_MEDIUM = 8 << 10  # bytes: "small to medium", our reading


def judge_latencies(data: Data) -> Verdict:
    """The simulated network's latencies are the paper's, by construction."""
    (panel,) = data.panels
    stated, ours = data.curve(panel, "the paper"), data.curve(panel, "simulated network")
    pairs = [(x, stated[x].value, ours[x].value) for x in stated if x in ours]
    if not pairs:
        return Verdict(Kind.OPEN, "nothing was simulated")
    same = all(abs(theirs - own) <= 0.01 for _, theirs, own in pairs)
    said = ", ".join(f"{own:.2f} µs ({x})" for x, _, own in pairs)
    if not same:
        return Verdict(Kind.FAILS, f"the simulated network has {said}")
    return Verdict(
        Kind.OPEN,
        f"the simulated network has {said}, but because its cables were given these latencies; 5 hops take a fourth "
        "level of switches",
    )


_OURS = "Espalier's choice"  # the order whose gains are judged; the others are told


def judge_sizes(data: Data) -> Verdict:
    """Figure 6 a: large messages gain up to 14 %, small ones little."""
    return _judge_gain(data, lambda x: x >= 1 << 20, lambda x: x <= 1 << 10, "1 MB", "messages up to 1 KB")


def judge_jobs(data: Data) -> Verdict:
    """Figure 6 b: large jobs gain up to 14 %, small ones little."""
    return _judge_gain(data, lambda x: x >= 1024, lambda x: x <= 256, "1024 cores", "jobs up to 256 cores")


def _judge_gain(
    data: Data, is_large: Callable[[float], bool], is_small: Callable[[float], bool], what: str, less: str
) -> Verdict:
    """Medians over placements, each oversubscription and way to place a job by itself."""
    claims: list[Claim] = []
    best = -100.0
    for panel in data.panels:
        for curve in data.curves(panel):
            order, _, place = curve.partition(", ")
            points = data.curve(panel, curve)
            large = [it.value for x, it in points.items() if is_large(float(x))]
            small = [it.value for x, it in points.items() if is_small(float(x))]
            if order != _OURS or not large:
                continue
            best = max(best, *large)
            where = f"{panel}, {place}" if place else panel
            grows = max(large) >= median(small) + 1 if small else None
            claims.append((f"gains more with {what} ({where}: {max(large):+.1f} %, {less} {_spread(small)})", grows))
            calm = max(abs(value) for value in small) <= _LITTLE if small else None
            claims.append((f"{less} gain at most {_LITTLE:g} % ({where}: {_spread(small)})", calm))
    if claims:
        claims.append(
            (f"14 % are reached with {what} by a median over placements ({best:.0f} % at most)", best >= _MOST)
        )
    return weigh(
        claims,
        _told(data, is_large, what),
        f"with each oversubscription and way to place jobs, medians over placements: {_OURS} gains at least one per "
        f"cent more with {what} than {less}, and these at most {_LITTLE:g} %; somewhere 14 % are reached",
    )


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):+.1f} to {max(values):+.1f} %" if values else "not simulated"


def _told(data: Data, is_large: Callable[[float], bool], what: str) -> str:
    """What all orders gain, one by one."""
    by_curve: dict[str, list[float]] = {}
    for point in data.points:
        if is_large(float(point.x)):
            by_curve.setdefault(point.curve, []).append(point.value)
    said = "; ".join(f"{curve} {min(own):+.0f} to {max(own):+.0f} %" for curve, own in by_curve.items())
    return f"time saved with {what}, medians over placements: {said}" if said else ""


def judge_speeds(data: Data) -> Verdict:
    """Figures 7 and 8: 1.7 to 2 times as fast somewhere; on par with fast cards up to medium sizes."""
    claims: list[Claim] = []
    for panel in data.panels:
        gains = ratios(data, UNAWARE, AWARE, [panel])
        best = max(gains, key=lambda it: it.value, default=None)
        least = min((it.value for it in gains), default=None)
        if best is None or least is None:
            claims.append((f"70 to 100 % better ({panel})", None))
            continue
        text = f"up to {best.value:.2f} times as fast, at {format_bytes(int(best.x))} ({panel}; paper: 1.7 to 2)"
        claims.append((text, best.value >= 1.7))
        claims.append((f"never slower ({panel}: at least {least:.2f}×)", least >= 0.99))
        slower = [it.value for it in ratios(data, AWARE, HOMOGENEOUS, [panel]) if it.x <= _MEDIUM]
        text = f"on par with all cards fast up to 8 KB ({panel}: {max(slower, default=0):.2f} times as long at most)"
        claims.append((text, max(slower) <= _PAR if slower else None))
    return weigh(
        claims,
        hypothesis="with every tree and numbering of nodes: somewhere 1.7 times as fast, nowhere slower, and up to "
        "8 KB as fast as if all cards were fast, to a tenth",
    )


def judge_joining(data: Data) -> Verdict:
    """Figure 9: broadcasts alone are the most that an application can gain. Judged at the largest job, by medians."""
    best: dict[str, list[Point]] = {}  # by number of processes: of each network, the best order's broadcasts alone
    for panel in data.panels:
        whole = [point for point in data.points if point.panel == panel and float(point.x) == 100]
        if whole:
            best.setdefault(panel.partition(",")[0], []).append(max(whole, key=lambda it: it.value))
    claims: list[Claim] = []
    for number, (processes, points) in enumerate(best.items()):
        most = max(points, key=lambda it: it.value)
        text = (
            f"{processes}: broadcasts alone save {min(it.value for it in points):.1f} to {most.value:.1f} % by the "
            f"median over placements, {max(it.high for it in points):.0f} % with the luckiest"
        )
        claims.append((text, _enough_for_8_percent(most) if number + 1 == len(best) else _SMALLER_JOB))
    return weigh(
        claims,
        hypothesis="by the median over placements, broadcasts of rows save enough for 8 % of an application of 256 "
        "processes, as many as it may spend its time in",
    )


_SMALLER_JOB = Unjudged("the paper says of fewer processes only that they gain little")


def _enough_for_8_percent(broadcasts: Point) -> Truth:
    """False where not even an application of broadcasts alone gains as much; more nobody can tell."""
    if broadcasts.value < 8:
        return False
    share = 100 * 8 / broadcasts.value
    return Unjudged(f"8 % take {share:.0f} % of the time in broadcasts, and nobody told what share it was")


def judge_setup(data: Data) -> Verdict:
    """Table III: set-up is paid once; other roots cost little, the same root nothing."""
    claims: list[Claim] = []
    if len(data.panels) < 3:
        return Verdict(Kind.OPEN, "not all costs were measured")
    first, other, same = (data.curve(panel, "Espalier") for panel in data.panels)
    for x, point in first.items():
        share = 100 * other[x].value / point.value if x in other and point.value else None
        text = f"another root costs {share or 0:.1f} % of the first call's {point.value:.2f} ms ({float(x):g} leaders)"
        is_flat = x in other and other[x].value < _NO_ORDER
        claims.append((text, _EQUALLY_FAR if is_flat else share <= 5 if share is not None else None))
    cheap = [point.value for point in same.values()]
    if cheap:
        claims.append((f"the same root costs {max(cheap):.4f} ms at most", max(cheap) < 0.01))
    paper = data.curve(data.panels[0], "the paper")
    quicker = [paper[x].value / first[x].value for x in first if x in paper and first[x].value > 0]
    prefix = (
        f"the first call is {min(quicker):.0f} to {max(quicker):.0f} times as quick as the paper's" if quicker else ""
    )
    return weigh(
        claims,
        prefix,
        "where leaders differ in how far they are apart, another root costs at most 5 % of the first call; the same "
        "root at most 0.01 ms",
    )
