"""Whether what Qian, Rashti and Afsahi state of their figures is true of the points. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from espalier.base.units import counted, format_bytes
from espalier.papers.figure import Data, Kind, Verdict, Where
from espalier.papers.judging import Claim, Truth, Unjudged, share_of, weigh

# Who is best from which size to which, by the paper: a word of the curve's name.
_RANGES = ((1, 32, "gather-based"), (64, 2 << 10, "1 group"), (4 << 10, 64 << 10, "2 groups"))
_NATIVE_FROM = 128 << 10
_STATED = {"1 direct": 1.8, "2 direct": 2.6, "3 direct": 2.7, "4 direct": 2.7}
_LARGE = 64 << 10  # from here on the paper's ratios fall below one


_TABLE = "every number of the table, counted from our plans, is the paper's"


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
        because = f"{len(wrong)} of {numbers} numbers differ: {'; '.join(wrong)}"
        return Verdict(Kind.FAILS, because, points=(numbers - len(wrong), numbers), hypothesis=_TABLE)
    because = f"all {numbers} numbers are the paper's, exactly"
    return Verdict(Kind.HOLDS, because, points=(numbers, numbers), hypothesis=_TABLE)


def judge_bandwidth(data: Data) -> Verdict:
    """More connections carry more for small and medium blocks, and no longer for large ones."""
    claims: list[Claim] = []
    for panel in data.panels:
        ring = data.curve(panel, "1 ring")
        for curve, stated in _STATED.items():
            direct = data.curve(panel, curve)
            ratio = {float(x): direct[x].value / ring[x].value for x in direct if x in ring and ring[x].value > 0}
            small, large = ({x: r for x, r in ratio.items() if (x >= _LARGE) == is_large} for is_large in (False, True))
            most = max(small.values(), default=0.0)
            groups = f"{counted(int(curve[0]), 'group')}, {panel}"
            text = f"below 64 KB up to {most:.1f}× the ring, the paper {stated}× ({groups})"
            claims.append((text, _count_short(data, most >= 0.9 * stated if small else None)))
            spread = f"{min(large.values(), default=0.0):.2f} to {max(large.values(), default=0.0):.2f}×"
            claims.append((f"below one from 64 KB on: {spread} ({groups})", share_of(it < 1 for it in large.values())))
    return weigh(
        claims,
        hypothesis="over the ring of one connection, groups reach nine tenths of the paper's gain at some size below "
        "64 KB, and fall below one at every size from 64 KB on",
    )


_WAITS_FOR_CORES = Unjudged("emulated nodes share this machine's cores: below 64 KB ranks wait for those")


def _count_short(data: Data, truth: Truth) -> Truth:
    """Of blocks below 64 KB."""
    return _WAITS_FOR_CORES if data.where is Where.EMULATED and truth is not None else truth


def judge_family(data: Data) -> Verdict:
    """Who is best where, among the paper's algorithms; then how often our lean forms, which it has not, beat them."""
    claims: list[Claim] = []
    leaner = 0
    for panel in data.panels:
        best = _winners(data, panel, [curve for curve in data.curves(panel) if ", lean" not in curve])
        every = _winners(data, panel, data.curves(panel))
        leaner += sum(", lean" in winner for winner in every.values())
        for first, last, name in _RANGES:
            claims += _judge_range(data, panel, {x: it for x, it in best.items() if first <= x <= last}, name)
        if data.curve(panel, "native"):
            claims += [*_native_gains(data, panel), _native_wins(data, panel, best)]
    verdict = weigh(
        claims,
        hypothesis="among the paper's algorithms gather-based is the fastest at every size up to 32 bytes, one group "
        "from 64 bytes to 2 KB, two groups from 4 to 64 KB; 3.1, 2.3 and 1.8 times as fast as native at 4 bytes, "
        "64 bytes and 4 KB",
    )
    because = f"{verdict.because}; our lean forms, not the paper's, beat all at {counted(leaner, 'point')}"
    return replace(verdict, because=because + _against_natives(data))


def _judge_range(data: Data, panel: str, found: Mapping[int, str], name: str) -> list[Claim]:
    """A claim for the sizes that count, and one for those that do not."""
    claims: list[Claim] = []
    for is_short in (True, False):
        own = {size: winner for size, winner in found.items() if (size < _LARGE) == is_short}
        if not own:
            continue
        others = sorted({winner for winner in own.values() if name not in winner})
        but = f", else {' or '.join(others)}" if others else ""
        sizes = ", ".join(format_bytes(size) for size in own)
        truth = share_of(name in winner for winner in own.values())
        text = f"{name} is best at {sizes} ({panel}{but})"
        claims.append((text, _count_short(data, truth) if is_short else truth))
    return claims


# The abstract's gains over native: at this size, this member, so many times.
_GAINS = ((4, "gather-based", 3.1), (64, "1 group", 2.3), (4 << 10, "2 groups", 1.8))


def _native_gains(data: Data, panel: str) -> list[Claim]:
    claims: list[Claim] = []
    native = data.curve(panel, "native")
    for size, name, stated in _GAINS:
        curves = [
            it for it in data.curves(panel) if it == name or it.startswith("gather-based" if name[0] == "g" else "-")
        ]
        points = data.curve(panel, curves[0]) if curves else {}
        x = float(size)
        ratio = native[x].value / points[x].value if x in native and x in points else None
        said = f"{ratio:.1f}×" if ratio else "not measured"
        text = f"{name} at {format_bytes(size)} against native: {said}, the paper {stated}× ({panel})"
        claims.append((text, _count_short(data, None if ratio is None else ratio >= 0.9 * stated)))
    return claims


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


def _native_wins(data: Data, panel: str, best: dict[int, str]) -> Claim:
    native = data.curve(panel, "native")
    ratio = {
        size: native[float(size)].value / data.curve(panel, winner)[float(size)].value
        for size, winner in best.items()
        if size >= _NATIVE_FROM and float(size) in native
    }
    said = ", ".join(f"{value:.2f}× at {format_bytes(size)}" for size, value in ratio.items())
    text = f"native wins from 128 KB on ({panel}: the family is {said or 'not measured'})"
    return text, Unjudged("beating native is no failure") if ratio else None
