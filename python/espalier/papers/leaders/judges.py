"""Whether what Goglin and Moreaud state of their figures is true of the points. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from espalier.papers.figure import Data, Kind, Verdict
from espalier.papers.judging import weigh

# With one process per node the gain of a broadcast is the reciprocal of the share, so the paper's 50 % fix it. All
# other figures are then predictions.
CALIBRATED = 2 / 3
_PREDICTED = f"at the share of {CALIBRATED:.2f} that figure 5's 50 % fix, the model predicts"
_NOT_SIMULATED = Verdict(Kind.OPEN, "the share that figure 5 fixes was not simulated")


def at(data: Data, panel: str, curve: str, share: float = CALIBRATED) -> float | None:
    """A curve's gain at a share; None when there is no such point."""
    point = data.curve(panel, curve).get(round(share, 3))
    return point.value if point else None


def crossing(data: Data, panel: str, curve: str, wanted: float) -> float | None:
    """The share at which a curve reaches `wanted` per cent, by straight lines between points; None if nowhere."""
    points = sorted(data.curve(panel, curve).values(), key=lambda it: -float(it.x))
    for one, two in itertools.pairwise(points):
        if one.value <= wanted <= two.value and two.value > one.value:
            x, other = float(one.x), float(two.x)
            return x + (other - x) * (wanted - one.value) / (two.value - one.value)
    return None


def judge_direction(receiving: str, sending: str, low: float, high: float) -> Callable[[Data], Verdict]:
    """The receiver's place brings low to high per cent, the sender's none (put into the model, not found)."""

    def judge(data: Data) -> Verdict:
        (panel,) = data.panels
        first, last = crossing(data, panel, receiving, low), crossing(data, panel, receiving, high)
        none = max((abs(point.value) for point in data.curve(panel, sending).values()), default=0)
        if first is None or last is None:
            return Verdict(Kind.FAILS, f"in the model no share gives a gain of {low:g} to {high:g} %")
        shares = f"{first:.2f}" if low == high else f"{last:.2f} to {first:.2f}"
        return Verdict(
            Kind.OPEN,
            f"in a model, {_percent(low, high)} follow where a card reaches far memory at {shares} of the wire's rate; "
            f"that the sender's place matters little ({none:.0f} % at most) is put in, not found; "
            "only nodes with several sockets can show it",
        )

    return judge


def _percent(low: float, high: float) -> str:
    return f"{low:g} %" if low == high else f"{low:g} to {high:g} %"


def judge_algorithms(data: Data) -> Verdict:
    """10 to 25 % for every algorithm, at the share that figure 5 fixes."""
    gains = {
        f"{curve}, {panel}": value
        for panel in data.panels
        for curve in data.curves(panel)
        if (value := at(data, panel, curve)) is not None
    }
    if not gains:
        return _NOT_SIMULATED
    inside = {name: value for name, value in gains.items() if 10 <= value <= 25}
    said = "; ".join(f"{name}: {value:.0f} %" for name, value in gains.items())
    text = f"{_PREDICTED} {said}"
    if len(inside) == len(gains):
        return Verdict(Kind.HOLDS, f"{text}: all within 10 to 25 %, in a model")
    kind = Kind.CONDITIONAL if inside else Kind.FAILS
    return Verdict(kind, f"{text}; {len(inside)} of {len(gains)} lie within 10 to 25 %, in a model")


def judge_trend(order: Sequence[str], first: float, last: float) -> Callable[[Data], Verdict]:
    """Gains go from `first` to `last` along `order`, at the share that figure 5 fixes."""

    def judge(data: Data) -> Verdict:
        panel = data.panels[0]
        gains = [at(data, panel, curve) for curve in order]
        values = [gain for gain in gains if gain is not None]
        if len(values) != len(order):
            return _NOT_SIMULATED
        is_same_way = all((two - one) * (last - first) > 0 for one, two in itertools.pairwise(values))
        said = ", ".join(f"{value:.0f} % ({curve})" for value, curve in zip(values, order, strict=True))
        text = f"{_PREDICTED} {said}"
        paper = f"the paper goes from {first:g} to {last:g} %"
        if not is_same_way:
            return Verdict(Kind.FAILS, f"{text}, while {paper}")
        if abs(values[0] - first) <= 5 and abs(values[-1] - last) <= 5:
            return Verdict(Kind.HOLDS, f"{text}; {paper}")
        return Verdict(Kind.CONDITIONAL, f"{text}: the same trend, other amounts; {paper}")

    return judge


def judge_measured(receiving: str, sending: str) -> Callable[[Data], Verdict]:
    """From 32 KB up the receiver's place brings at least a tenth and the sender's less; noise is about as large."""

    def judge(data: Data) -> Verdict:
        claims: list[tuple[str, bool | None]] = []
        for panel in data.panels:
            for curve, is_large in ((receiving, True), (sending, False)):
                gains = [it.value for x, it in data.curve(panel, curve).items() if float(x) >= 32 << 10]
                text = f"{curve}: {min(gains, default=0):+.0f} to {max(gains, default=0):+.0f} % from 32 KB ({panel})"
                claims.append((text, (max(gains) >= 10) == is_large if gains else None))
        return weigh(claims)

    return judge
