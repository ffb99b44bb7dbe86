"""Trees in Newick's format, as the sets of taxa that their branches separate."""

from __future__ import annotations

import re

Split = frozenset[str]


def read_splits(text: str) -> set[Split]:
    """The splits of an unrooted tree, each as the side without the alphabetically first taxon; single taxa left out."""
    open_sets: list[set[str]] = []
    found: list[set[str]] = []
    everyone: set[str] = set()
    for token in re.findall(r"[(),;]|:[^(),;]*|[^(),:;\s][^(),:;]*", text.strip()):
        if token == "(":
            open_sets.append(set())
        elif token == ")":
            closed = open_sets.pop()
            found.append(closed)
            if open_sets:
                open_sets[-1] |= closed
        elif token not in ",;" and not token.startswith(":") and open_sets:
            open_sets[-1].add(token)
            everyone.add(token)
    first = min(everyone)
    sides = [frozenset(everyone - side if first in side else side) for side in found]
    return {side for side in sides if 1 < len(side) < len(everyone) - 1}


def robinson_foulds(one: str, other: str) -> int:
    """How many splits are in one of the two trees only."""
    return len(read_splits(one) ^ read_splits(other))
