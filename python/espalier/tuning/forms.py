"""The uneven forms, MPI's calls with blocks of different sizes: their algorithms are those of equal blocks, so there is
nothing to search; whether they beat native is measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from espalier.tuning.candidates import Machine
from espalier.tuning.decisions import Decision
from espalier.tuning.problems import EXCHANGED, Problem
from espalier.tuning.racing import NATIVE

# What the worker deals as the largest of uneven blocks, in parts of their mean; what the dedicated path keeps beside
# a block, for its size (src/execute/short_blocks.hpp).
_LARGEST_OF_MEAN = 1.5
_SIZE_BYTES = 8
# What native may lose by a look that finds blocks too long: no more than what counts as no harm done.
_LEAST_AFTER_A_LOOK = 0.95
# Up to so many ranks the look brings the root's sizes along (tells_sizes in src/execute/short_blocks.hpp).
_MOST_TOLD_RANKS = 20


def find_challenger(machine: Machine, problem: Problem, even: Decision) -> str:
    """What was best for equal blocks; the built-in choice where that does not take the largest of uneven ones.

    Where sizes would have to be exchanged, the dedicated path, which needs none, wherever it takes the largest block.
    """
    largest = math.ceil(_LARGEST_OF_MEAN * problem.bytes) + _SIZE_BYTES
    is_wanted = even.best == "tiny" or (problem.operation in EXCHANGED and machine.shape.nodes == 1)
    if is_wanted and machine.core.is_tiny(problem.even.operation, largest, machine.shape.ranks):
        return "tiny"
    if even.best not in ("", "tiny"):
        return even.best
    return str(machine.core.choose(machine.topology, problem.even.operation, problem.bytes).choice)


def settle_exchanged(duels: Mapping[Problem, Decision], margin: float) -> dict[Problem, Decision]:
    """Of an uneven form whose sizes must be exchanged first: ours at all of the sizes, or native at all.

    `duels` are decisions by size. Ours has to win by the margin in geometric mean, and must not be slower anywhere.
    """
    wins = _is_won([_ratio(it) for it in duels.values() if it.calls and it.best_us > 0], margin)
    settled = {}
    for problem, it in duels.items():
        if wins and it.calls:
            settled[problem] = replace(it, selection=it.best, chosen_us=it.best_us, note="")
        else:
            lost = f"{it.best} is {_ratio(it):.2f}x native here; " if it.best_us > 0 else ""
            note = f"{lost}sizes have to be exchanged first, and that pays not at all of them"
            settled[problem] = replace(it, selection=NATIVE, chosen_us=it.native_us, note=note)
    return settled


def list_shorts(duels: Mapping[Problem, Decision], margin: float) -> list[Problem]:
    """The sizes, from the smallest on, at which the dedicated path of short blocks wins: it needs no exchange."""
    shorts = []
    for problem, it in sorted(duels.items(), key=lambda item: item[0].bytes):
        if it.best != "tiny" or not it.calls or _ratio(it) < 1:
            break
        shorts.append(problem)
    return shorts if _is_won([_ratio(duels[problem]) for problem in shorts], margin) else []


def needs_a_look(machine: Machine, duels: Mapping[Problem, Decision], shorts: Collection[Problem]) -> list[Problem]:
    """The sizes that native would do after a look whether blocks are short, when these short ones are not native.

    All others; but where the look brings the sizes along, only those at which ours has not won.
    """
    is_told = machine.shape.nodes == 1 and machine.shape.ranks <= _MOST_TOLD_RANKS
    is_rooted = all(problem.operation != "alltoallv" for problem in duels)
    all_shorts_win = all(problem in shorts for problem, it in duels.items() if it.best == "tiny")
    others = [problem for problem in duels if problem not in shorts]
    if is_told and is_rooted and all_shorts_win:
        return [problem for problem in others if duels[problem].selection == NATIVE]
    return others


def settle_shorts(
    duels: Mapping[Problem, Decision], looks: Mapping[Problem, Decision]
) -> dict[Problem, Decision] | None:
    """Native at the sizes of `looks`, ours at all others; None where that costs too much.

    `looks` are decisions with the dedicated path for challenger: it looks whether blocks are short, and when they are
    not, native does the call. That look is all that these sizes pay.
    """
    if any(not it.calls or _ratio(it) < _LEAST_AFTER_A_LOOK for it in looks.values()):
        return None
    settled = {}
    for problem, it in duels.items():
        if problem not in looks:
            settled[problem] = replace(it, selection=it.best, chosen_us=it.best_us, note="")
        else:
            look = looks[problem]
            note = f"{look.best_us} us with a first look whether blocks are short"
            settled[problem] = replace(look, selection=NATIVE, chosen_us=look.best_us, best=it.best, note=note)
    return settled


def _ratio(decision: Decision) -> float:
    return decision.native_us / decision.best_us if decision.best_us > 0 else 0.0


def _is_won(ratios: Sequence[float], margin: float) -> bool:
    """By the margin on average, and nowhere lost."""
    return bool(ratios) and min(ratios) >= 1 and math.prod(ratios) ** (1 / len(ratios)) >= 1 + margin
