"""What judges share: ratios between two curves, and ranges of sizes in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from espalier.base.units import format_bytes
from espalier.papers.figure import Data, Kind, Verdict


def spell_bytes(x: float) -> str:
    return format_bytes(int(x))


def spell_number(x: float) -> str:
    return f"{x:g}"


@dataclass(frozen=True)
class Ratio:
    """One curve over another at one place: above 1, `of` is the larger."""

    panel: str
    x: float
    value: float


def ratios(data: Data, over: str, of: str, panels: Iterable[str] | None = None) -> list[Ratio]:
    """`over` ÷ `of` wherever both curves have a point; with times, above 1 means that `of` is the faster."""
    found = []
    for panel in data.panels if panels is None else panels:
        slow, fast = data.curve(panel, over), data.curve(panel, of)
        found += [
            Ratio(panel, float(x), slow[x].value / fast[x].value) for x in slow if x in fast and fast[x].value > 0
        ]
    return found


def saving(ratio: float) -> float:
    """The share of the time that is saved, in per cent: 2 becomes 50."""
    return 100 * (1 - 1 / ratio)


def split(
    found: Sequence[Ratio], good: Callable[[Ratio], bool], claim: str, spell: Callable[[float], str] = spell_bytes
) -> Verdict:
    """Holds where all points are good, under conditions where some are: those are named by panel and x."""
    if not found:
        return Verdict(Kind.OPEN, "no points of both kinds were measured")
    yes, no = [it for it in found if good(it)], [it for it in found if not good(it)]
    spread = f"{min(it.value for it in found):.2f} to {max(it.value for it in found):.2f} times"
    if not no:
        return Verdict(Kind.HOLDS, f"{claim} at all {len(found)} points ({spread})")
    if not yes:
        return Verdict(Kind.FAILS, f"{claim} at none of {len(found)} points ({spread})")
    return Verdict(
        Kind.CONDITIONAL, f"{claim} at {len(yes)} of {len(found)} points ({spread}); not {places(no, spell)}"
    )


def places(these: Sequence[Ratio], spell: Callable[[float], str]) -> str:
    """ "at 64K, 1M in mpich 5, 1 × 2; at 4 in …": panel by panel."""
    by_panel: dict[str, list[float]] = {}
    for it in these:
        by_panel.setdefault(it.panel, []).append(it.x)
    return "; ".join(f"at {', '.join(spell(x) for x in sorted(xs))} in {panel}" for panel, xs in by_panel.items())


def weigh(claims: Sequence[tuple[str, bool | None]], prefix: str = "") -> Verdict:
    """Holds where all claims are true, under conditions where some are. None: there were no data for it."""
    words = {True: "yes", False: "no", None: "not measured"}
    ordered = sorted(claims, key=lambda it: (it[1] is not True, it[1] is None))
    parts = tuple(f"{words[holds]}: {text}" for text, holds in ordered)
    true, missing = sum(holds is True for _, holds in claims), sum(holds is None for _, holds in claims)
    if missing == len(claims):
        return Verdict(Kind.OPEN, "the points it would take were not measured", parts)
    because = f"{true} of {len(claims)} parts of the statement are true"
    kind = Kind.HOLDS if true == len(claims) else Kind.CONDITIONAL if true else Kind.FAILS
    return Verdict(kind, f"{prefix}; {because}" if prefix else because, parts)
