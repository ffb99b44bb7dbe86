"""Whether what Qian, Rashti and Afsahi state of their figures is true of the points. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from espalier.base.units import format_bytes
from espalier.papers.figure import Data, Kind, Verdict, Where
from espalier.papers.judging import weigh

# Who is best from which size to which, by the paper: a word of the curve's name.
_RANGES = ((1, 32, "gather-based"), (64, 2 << 10, "1 group"), (4 << 10, 64 << 10, "2 groups"))
_NATIVE_FROM = 128 << 10
_STATED = {"1 direct": 1.8, "2 direct": 2.6, "3 direct": 2.7, "4 direct": 2.7}
_LARGE = 64 << 10  # from here on the paper's ratios fall below one


def judge_table(data: Data) -> Verdict:
    """Equal, number for number."""
    wrong = []
    for panel in data.panels:
        stated, counted = data.curve(panel, "the paper"), data.curve(panel, "counted")
        wrong += [
            f"{panel} of {x}: {counted[x].value:g}, not {stated[x].value:g}"
            for x in stated
            if x not in counted or counted[x].value != stated[x].value
        ]
    numbers = sum(len(data.curve(panel, "the paper")) for panel in data.panels)
    if not numbers:
        return Verdict(Kind.OPEN, "nothing was counted")
    if wrong:
        return Verdict(Kind.FAILS, f"{len(wrong)} of {numbers} numbers differ: {'; '.join(wrong)}")
    return Verdict(Kind.HOLDS, f"all {numbers} numbers are the paper's, exactly")


def judge_bandwidth(data: Data) -> Verdict:
    """More connections carry more for small and medium blocks, and no longer for large ones."""
    claims: list[tuple[str, bool | None]] = []
    for panel in data.panels:
        ring = data.curve(panel, "1 ring")
        for curve, stated in _STATED.items():
            direct = data.curve(panel, curve)
            ratio = {float(x): direct[x].value / ring[x].value for x in direct if x in ring and ring[x].value > 0}
            small, large = ({x: r for x, r in ratio.items() if (x >= _LARGE) == is_large} for is_large in (False, True))
            most = max(small.values(), default=0.0)
            groups = f"{curve[0]} group{'s' * (curve[0] != '1')}, {panel}"
            text = f"below 64 KB up to {most:.1f}× the ring, the paper {stated}× ({groups})"
            claims.append((text, most >= 0.9 * stated if small else None))
            least = min(large.values(), default=0.0)
            text = f"falls below one from 64 KB on, to {least:.2f}× ({groups})"
            claims.append((text, least < 1 if large else None))
    return _with_caveat(data, weigh(claims))


def _with_caveat(data: Data, verdict: Verdict) -> Verdict:
    """Emulated nodes share a machine's cores: short messages wait for those, not for the network."""
    if data.where is not Where.EMULATED:
        return verdict
    caveat = (
        "below 64 KB ranks wait for one of this machine's cores more than for the network, so only larger blocks count"
    )
    return Verdict(verdict.kind, f"{verdict.because}; {caveat}", verdict.parts)


def judge_family(data: Data) -> Verdict:
    """Who is best where, among the paper's algorithms; then how often our lean forms, which it has not, beat them."""
    claims: list[tuple[str, bool | None]] = []
    leaner = 0
    for panel in data.panels:
        best = _winners(data, panel, [curve for curve in data.curves(panel) if ", lean" not in curve])
        every = _winners(data, panel, data.curves(panel))
        leaner += sum(", lean" in winner for winner in every.values())
        for first, last, name in _RANGES:
            found = {x: winner for x, winner in best.items() if first <= x <= last}
            wins = sum(name in winner for winner in found.values())
            others = sorted({winner for winner in found.values() if name not in winner})
            but = f", else {' or '.join(others)}" if others else ""
            sizes = f"{format_bytes(first)} to {format_bytes(last)}"
            text = f"{name} is best from {sizes} ({panel}: at {wins} of {len(found)} sizes{but})"
            claims.append((text, wins > len(found) / 2 if found else None))
        if data.curve(panel, "native"):
            claims.append(_native_wins(data, panel, best))
    verdict = weigh(claims)
    because = f"{verdict.because}; our lean forms, not the paper's, beat all at {leaner} points"
    because += _against_natives(data)
    return _with_caveat(data, Verdict(verdict.kind, because, verdict.parts))


def _winners(data: Data, panel: str, curves: Sequence[str]) -> dict[int, str]:
    """The fastest of these members of the family at each size."""
    best: dict[int, tuple[float, str]] = {}
    for curve in curves:
        if curve in ("native", "Espalier"):
            continue
        for x, point in data.curve(panel, curve).items():
            size = int(x)
            best[size] = min(best.get(size, (point.value, curve)), (point.value, curve))
    return {size: curve for size, (_, curve) in sorted(best.items())}


def _against_natives(data: Data) -> str:
    """The best member against the best native of all MPIs, from 64 KB to 1 MB of result; and each MPI's own race."""
    ratios, own, picks = [], [], []
    for size in (4 << 10, 16 << 10, 64 << 10):
        x = float(size)
        natives = [curve[x].value for panel in data.panels if x in (curve := data.curve(panel, "native"))]
        best = [_winners(data, panel, data.curves(panel)).get(size, "") for panel in data.panels]
        times = [data.curve(panel, name)[x].value for panel, name in zip(data.panels, best, strict=True) if name]
        if not natives or len(times) != len(natives):
            continue
        ratios.append(min(natives) / min(times))
        own += [native / time for native, time in zip(natives, times, strict=True)]
        picks += [
            native / data.curve(panel, "Espalier")[x].value
            for panel, native in zip(data.panels, natives, strict=True)
            if x in data.curve(panel, "Espalier")
        ]
    if not ratios:
        return ""
    picked = f", Espalier's pick at least {min(picks):.2f}×" if picks else ""
    return (
        f"; with blocks of 4K to 64K the best member is {min(ratios):.2f} to {max(ratios):.2f}× as fast as the best "
        f"native of all MPIs; against the native beside it the best member is at least {min(own):.2f}×{picked}"
    )


def _native_wins(data: Data, panel: str, best: dict[int, str]) -> tuple[str, bool | None]:
    native = data.curve(panel, "native")
    ratio = {
        size: native[float(size)].value / data.curve(panel, winner)[float(size)].value
        for size, winner in best.items()
        if size >= _NATIVE_FROM and float(size) in native
    }
    said = ", ".join(f"{value:.2f}× at {format_bytes(size)}" for size, value in ratio.items())
    text = f"native wins from 128 KB on ({panel}: the family is {said or 'not measured'})"
    return text, all(value < 1 for value in ratio.values()) if ratio else None
