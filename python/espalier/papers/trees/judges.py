"""Whether what Subramoni et al. state of their figures is true of the points. Pure."""

from __future__ import annotations

from statistics import median

from espalier.base.units import format_bytes
from espalier.papers.figure import Data, Kind, Point, Verdict
from espalier.papers.judging import ratios, weigh

UNAWARE, HOMOGENEOUS = "as numbered, half slow", "as numbered, all fast"
AWARE = "speed-aware (breadth-first), half slow"
_MOST = 14.0  # per cent, figure 6
_LITTLE = 5.0  # per cent: "not significant", our reading
_PAR = 1.1  # times as long: "on par", our reading
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
        Kind.CONDITIONAL,
        f"the simulated network has {said}, but because its cables were given these latencies; 5 hops take a fourth "
        "level of switches",
    )


def judge_sizes(data: Data) -> Verdict:
    """Figure 6 a: large messages gain up to 14 %, small ones little."""
    large = [point for point in data.points if float(point.x) >= 1 << 20]
    small = [point for point in data.points if float(point.x) <= 1 << 10]
    return _judge_gain(large, small, "1 MB", "up to 1 KB")


def judge_jobs(data: Data) -> Verdict:
    """Figure 6 b: large jobs gain up to 14 %, small ones little."""
    large = [point for point in data.points if float(point.x) >= 1024]
    small = [point for point in data.points if float(point.x) <= 256]
    return _judge_gain(large, small, "1024 cores and more", "up to 256 cores")


def _judge_gain(large: list[Point], small: list[Point], what: str, less: str) -> Verdict:
    """14 % somewhere and nowhere a loss holds; somewhere, under conditions. One line per curve."""
    if not large:
        return Verdict(Kind.OPEN, f"no points of {what}")
    said = "; ".join(_range_of(curve, large) for curve in dict.fromkeys(point.curve for point in large))
    reached = sorted({point.panel for point in large if point.value >= _MOST})
    loses = [point for point in large if point.value < 0]
    calm = median(abs(point.value) for point in small) <= _LITTLE if small else None
    little = {True: "less than 5 % as the median", False: "more than 5 % as the median", None: "not simulated"}[calm]
    text = f"time saved with {what}, medians over seeds: {said}; {less}: {little}"
    if not reached:
        most, best = max(point.value for point in large), max(point.high for point in large)
        kind = Kind.FAILS if most <= _LITTLE and best < _MOST else Kind.CONDITIONAL
        single = f", {best:.0f} % for the luckiest placement" if best > most else ""
        return Verdict(kind, f"no median over placements reaches 14 % ({most:.0f} % at most{single}); {text}")
    if loses or calm is False:
        return Verdict(Kind.CONDITIONAL, f"14 % are reached at {', '.join(reached)}, but not for all orders; {text}")
    return Verdict(Kind.HOLDS, f"14 % are reached at {', '.join(reached)}; {text}")


def _range_of(curve: str, points: list[Point]) -> str:
    values = [point.value for point in points if point.curve == curve]
    return f"{curve} {min(values):+.0f} to {max(values):+.0f} %"


def judge_speeds(data: Data) -> Verdict:
    """Figures 7 and 8: 1.7 to 2 times as fast somewhere; on par with fast cards up to medium sizes."""
    claims: list[tuple[str, bool | None]] = []
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
    return weigh(claims)


def judge_joining(data: Data) -> Verdict:
    """Figure 9: 8 % would follow where broadcasts are a certain share of the time."""
    best: dict[str, list[Point]] = {}  # by number of processes: of each network, the best order's broadcasts alone
    for panel in data.panels:
        whole = [point for point in data.points if point.panel == panel and float(point.x) == 100]
        if whole:
            best.setdefault(panel.partition(",")[0], []).append(max(whole, key=lambda it: it.value))
    if not best:
        return Verdict(Kind.OPEN, "the broadcasts alone were not simulated")
    said = "; ".join(
        f"{processes}: broadcasts alone save {min(it.value for it in points):.1f} to "
        f"{max(it.value for it in points):.1f} %, with the luckiest placement {max(it.high for it in points):.0f} %"
        for processes, points in best.items()
    )
    most = max(list(best.values())[-1], key=lambda it: it.value)
    if max(it.high for points in best.values() for it in points) < 8:
        return Verdict(Kind.FAILS, f"no share of broadcasts gives an application 8 %: {said}")
    if most.value < 8:
        return Verdict(Kind.CONDITIONAL, f"only lucky placements could give an application 8 %: {said}")
    return Verdict(
        Kind.CONDITIONAL,
        f"{said}; at best ({most.panel}, {most.curve}) an application saves 8 % where it spends "
        f"{100 * 8 / most.value:.0f} % of its time in them, and nobody told what share it was",
    )


def judge_setup(data: Data) -> Verdict:
    """Table III: set-up is paid once; other roots cost little, the same root nothing."""
    claims: list[tuple[str, bool | None]] = []
    if len(data.panels) < 3:
        return Verdict(Kind.OPEN, "not all costs were measured")
    first, other, same = (data.curve(panel, "Espalier") for panel in data.panels)
    for x, point in first.items():
        share = 100 * other[x].value / point.value if x in other and point.value else None
        text = f"another root costs {share or 0:.1f} % of the first call's {point.value:.2f} ms ({float(x):g} leaders)"
        claims.append((text, share <= 5 if share is not None else None))
    cheap = [point.value for point in same.values()]
    if cheap:
        claims.append((f"the same root costs {max(cheap):.4f} ms at most", max(cheap) < 0.01))
    paper = data.curve(data.panels[0], "the paper")
    quicker = [paper[x].value / first[x].value for x in first if x in paper and first[x].value > 0]
    prefix = (
        f"the first call is {min(quicker):.0f} to {max(quicker):.0f} times as quick as the paper's" if quicker else ""
    )
    return weigh(claims, prefix)
