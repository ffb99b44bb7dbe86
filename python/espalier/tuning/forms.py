"""The uneven forms, MPI's calls with blocks of different sizes: their algorithms are those of equal blocks, so there is
nothing to search; whether they beat native is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from espalier.tuning.candidates import Machine
from espalier.tuning.decisions import Decision
from espalier.tuning.problems import Problem
from espalier.tuning.racing import NATIVE

# What the worker deals as the largest of uneven blocks, in parts of their mean; what the dedicated path keeps beside
# a block, for its size (src/execute/short_blocks.hpp).
_LARGEST_OF_MEAN = 1.5
_SIZE_BYTES = 8


def find_challenger(machine: Machine, problem: Problem, even: Decision) -> str:
    """What was best for equal blocks; the built-in choice where that does not take the largest of uneven ones."""
    largest = math.ceil(_LARGEST_OF_MEAN * problem.bytes) + _SIZE_BYTES
    if even.best == "tiny" and machine.core.is_tiny(problem.even.operation, largest, machine.shape.ranks):
        return "tiny"
    if even.best not in ("", "tiny"):
        return even.best
    return str(machine.core.choose(machine.topology, problem.even.operation, problem.bytes).choice)


def settle_exchanged(duels: Mapping[Problem, Decision], margin: float) -> dict[Problem, Decision]:
    """Of an uneven form whose sizes must be exchanged first: ours at all of the sizes, or native at all.

    `duels` are decisions by size. Ours has to win by the margin in geometric mean, and must not be slower anywhere.
    """
    measured = [it for it in duels.values() if it.calls and it.best_us > 0]
    ratios = [it.native_us / it.best_us for it in measured]
    wins = bool(ratios) and min(ratios) >= 1 and math.prod(ratios) ** (1 / len(ratios)) >= 1 + margin
    settled = {}
    for problem, it in duels.items():
        if wins and it.calls:
            settled[problem] = replace(it, selection=it.best, chosen_us=it.best_us, note="")
        else:
            lost = f"{it.best} is {it.native_us / it.best_us:.2f}x native here; " if it.best_us > 0 else ""
            note = f"{lost}sizes have to be exchanged first, and that pays not at all of them"
            settled[problem] = replace(it, selection=NATIVE, chosen_us=it.native_us, note=note)
    return settled
