"""Whether two runs of a program printed the same, and if not, where they part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest


class Likeness(StrEnum):
    """How alike the outputs of all runs are."""

    IDENTICAL = "identical"
    REORDERED = "same lines in another order"  # ranks print when they come to it
    VARIES = "differs from run to run of either"  # so nothing can be said: it prints times, or dates
    DIFFERS = "differs"
    UNKNOWN = "not compared, as no run of one of them has ended well"


@dataclass(frozen=True)
class Difference:
    """The first line in which two outputs differ; None: there is no such line."""

    line: int  # from 1
    first: str | None
    second: str | None


@dataclass(frozen=True)
class Outputs:
    """What is to be said of the outputs of two arms."""

    likeness: Likeness
    difference: Difference | None = None  # the first between the arms


def compare_outputs(first: Sequence[str], second: Sequence[str], ignore: str | None = None) -> Outputs:
    """Compares the outputs of all runs of two arms; lines that `ignore`, a regular expression, finds do not count.

    An arm that differs from itself says that the program prints what changes from run to run; then the other arm's
    output proves nothing.
    """
    if not first or not second:
        return Outputs(Likeness.UNKNOWN)
    arms = [[_lines(text, ignore) for text in arm] for arm in (first, second)]
    everything = [lines for arm in arms for lines in arm]
    difference = next((found for lines in everything[1:] if (found := _find_difference(everything[0], lines))), None)
    if difference is None:
        return Outputs(Likeness.IDENTICAL)
    if _are_equal(map(sorted, everything)):
        return Outputs(Likeness.REORDERED)
    between = _find_difference(arms[0][0], arms[1][0]) or difference
    steady = all(_are_equal(map(sorted, arm)) for arm in arms)
    return Outputs(Likeness.DIFFERS if steady and len(first) > 1 else Likeness.VARIES, between)


def _lines(text: str, ignore: str | None) -> list[str]:
    lines = text.splitlines()
    return lines if ignore is None else [line for line in lines if not re.search(ignore, line)]


def _are_equal(texts: Iterable[list[str]]) -> bool:
    texts = list(texts)
    return all(text == texts[0] for text in texts)


def _find_difference(first: list[str], second: list[str]) -> Difference | None:
    for number, (one, other) in enumerate(zip_longest(first, second), start=1):
        if one != other:
            return Difference(number, one, other)
    return None
