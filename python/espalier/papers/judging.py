"""What judges share: ratios between two curves, and ranges of sizes in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from espalier.base.units import counted, format_bytes
from espalier.papers.figure import Data, Kind, Verdict


def spell_bytes(x: float) -> str:
    return format_bytes(int(x))


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


class Unjudged(str):
    """Why a claim does not count, whatever its points say: "more ranks than cores"."""


class Share(NamedTuple):
    """Of so many points of a claim so many are as it says."""

    yes: int
    of: int


Truth = bool | Share | Unjudged | None  # None: there were no data for it
Claim = tuple[str, Truth]


def noise_floor(ranks: int) -> float:
    """Below so many times as fast a difference is noise on this project's machine of 2 cores (bench/METHOD.md)."""
    return 1.3 if ranks <= 2 else 1.5


def share_of(values: Iterable[bool]) -> Truth:
    """How many of the points are as the claim says; None where there is none."""
    all_ = list(values)
    return Share(sum(all_), len(all_)) if all_ else None


def kind_of(yes: int, of: int) -> Kind:
    """Of the hypothesis whose points these are: a statement that most points are against fails."""
    if of == 0:
        return Kind.OPEN
    return Kind.HOLDS if yes == of else Kind.CONDITIONAL if 2 * yes >= of else Kind.FAILS


def split(
    found: Sequence[Ratio],
    good: Callable[[Ratio], bool],
    claim: str,
    spell: Callable[[float], str] = spell_bytes,
    hypothesis: str = "",
) -> Verdict:
    """Every point is judged by itself; where some are not good those are named by panel and x."""
    if not found:
        return Verdict(Kind.OPEN, "no points of both kinds were measured", hypothesis=hypothesis)
    yes, no = [it for it in found if good(it)], [it for it in found if not good(it)]
    spread = f"{min(it.value for it in found):.2f} to {max(it.value for it in found):.2f} times"
    points = (len(yes), len(found))
    if not no:
        because = f"{claim} at all {counted(len(found), 'point')} ({spread})"
    elif not yes:
        because = f"{claim} at none of {counted(len(found), 'point')} ({spread})"
    else:
        because = f"{claim} at {len(yes)} of {counted(len(found), 'point')} ({spread}); not {places(no, spell)}"
    return Verdict(kind_of(*points), because, points=points, hypothesis=hypothesis)


def places(these: Sequence[Ratio], spell: Callable[[float], str]) -> str:
    """ "at 64K, 1M in mpich 5, 1 × 2; at 4 in …": panel by panel."""
    by_panel: dict[str, list[float]] = {}
    for it in these:
        by_panel.setdefault(it.panel, []).append(it.x)
    return "; ".join(f"at {', '.join(spell(x) for x in sorted(xs))} in {panel}" for panel, xs in by_panel.items())


def weigh(claims: Sequence[Claim], prefix: str = "", hypothesis: str = "") -> Verdict:
    """Counts the points of all claims that could be judged; the others are told, and why."""
    ordered = sorted(claims, key=lambda it: _rank(it[1]))
    parts = tuple(f"{_answer(truth)}: {text}{_why(truth)}" for text, truth in ordered)
    counts = [_count(truth) for _, truth in claims]
    yes, of = sum(count.yes for count in counts), sum(count.of for count in counts)
    if of == 0:
        return Verdict(Kind.OPEN, "the points it would take were not measured", parts, hypothesis=hypothesis)
    because = f"{yes} of {counted(of, 'point')} are as the paper says"
    return Verdict(kind_of(yes, of), f"{prefix}; {because}" if prefix else because, parts, (yes, of), hypothesis)


def _count(truth: Truth) -> Share:
    if isinstance(truth, Share):
        return truth
    return Share(int(truth), 1) if isinstance(truth, bool) else Share(0, 0)


def _rank(truth: Truth) -> int:
    if truth is None or isinstance(truth, Unjudged):
        return 4 if truth is None else 3
    count = _count(truth)
    return 0 if count.yes == count.of else 2 if count.yes == 0 else 1


def _answer(truth: Truth) -> str:
    if truth is None:
        return "not measured"
    if isinstance(truth, Unjudged):
        return "not judged"
    count = _count(truth)
    if count.yes in (0, count.of):
        return "yes" if count.yes else "no"
    return f"{count.yes} of {count.of}"


def _why(truth: Truth) -> str:
    return f" ({truth})" if isinstance(truth, Unjudged) else ""
