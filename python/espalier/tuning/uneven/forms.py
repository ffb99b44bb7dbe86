"""The uneven forms, MPI's calls with blocks of different sizes: their algorithms are those of equal blocks, so there is
little to search; which of them is fastest here, and whether it beats native, is measured."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from espalier.base.units import format_bytes
from espalier.tuning.environment.distances import is_same
from espalier.tuning.problems.candidates import Machine, choose_by_model, is_very_long, seeds
from espalier.tuning.problems.problem import EXCHANGED, Problem
from espalier.tuning.search.decisions import Decision, leave_to_native
from espalier.tuning.search.racing import NATIVE

# What the worker deals as the largest of uneven blocks, in parts of their mean; what the dedicated path keeps beside
# a block, for its size (src/execute/lines/uneven_blocks.hpp).
_LARGEST_OF_MEAN = 1.5
_SIZE_BYTES = 8
_ELEMENT_BYTES = 8  # of reductions, or less
# Whose rounds between nodes last as long as the longest block's message.
_PACED_BY_THE_LONGEST = frozenset(("allgatherv", "reduce_scatterv"))
# What native may lose by a look that finds blocks too long: no more than what counts as no harm done.
_LEAST_AFTER_A_LOOK = 0.95
# The same of ours at single sizes, where one way has to serve all of them.
_LEAST_AT_A_SIZE = 0.97
# Duels over one size at one distance of the processors, at most: where ranks share cores, a call may take 0.8 of
# native's time or 1.2, and by one size all are lost.
MOST_DUELS = 9
# Sizes of one form that may be lost by accident; where more are, they are lost.
MOST_IN_DOUBT = 3
# A look takes as long as a call with next to no data; native pays for it where it takes this many times as long.
_MANY_LOOKS = 20
# Up to which block the dedicated path may use windows, other than by itself: where ranks have cores of their own, two
# copies through memory may take less than one by the system, if the cores share a cache (src/tune/dedicated.hpp).
_USUAL_WINDOW, _WINDOWS = 8 << 10, (32 << 10,)
# Of two ranks, whose readers take over the lines of what they have read (src/execute/closeness.hpp), also as much as a
# window holds (ESPALIER_SHM_WINDOW).
_WINDOWS_OF_TWO = (*_WINDOWS, 256 << 10)
# Up to so many ranks the dedicated path takes uneven blocks (src/execute/lines/uneven_blocks.hpp).
_MOST_UNEVEN_RANKS = 74
# Up to so many ranks the look brings the root's sizes along (tells_sizes in src/execute/lines/uneven_blocks.hpp).
_MOST_TOLD_RANKS = 20


def takes_any_size(machine: Machine, problem: Problem) -> bool:
    """Whether the dedicated path does the form whatever its sizes, which no rank has to know for that."""
    is_one_node = machine.shape.nodes == 1 and machine.shape.ranks <= _MOST_UNEVEN_RANKS
    return problem.operation in EXCHANGED and is_one_node and bool(machine.topology.single_copy)


def is_known_to_both(machine: Machine, problem: Problem) -> bool:
    """Whether sizes choose how such a form is done although no rank knows all of them: both of two ranks know what goes
    from one to the other (src/mpi/decide/uneven_ways.hpp)."""
    return machine.shape.ranks == 2 and takes_any_size(machine, problem)


def has_one_way(machine: Machine, problem: Problem) -> bool:
    """Whether the form is done in one way at all sizes, or up to some, since no size can choose it."""
    return problem.operation in EXCHANGED and not is_known_to_both(machine, problem)


def list_settings(machine: Machine) -> dict[str, int]:
    """The ways in which the dedicated path may do a whole form, by the longest block that they send through windows;
    the usual one first."""
    windows = _WINDOWS_OF_TWO if machine.shape.ranks == 2 else _WINDOWS
    others = () if machine.topology.oversubscribed else windows
    return {"tiny": _USUAL_WINDOW, **{f"tiny,window={format_bytes(it)}": it for it in others}}


def arm_of(machine: Machine, problem: Problem, setting: str) -> str:
    """What stands for a setting at one size: the first that does the same there."""
    settings, longest = list_settings(machine), math.ceil(_LARGEST_OF_MEAN * problem.bytes)
    return next(it for it in settings if (longest <= settings[it]) == (longest <= settings[setting]))


def find_challengers(machine: Machine, problem: Problem, even: Decision) -> list[str]:
    """What may meet native: where all ranks know all sizes, whatever the search for equal blocks would start from, too.

    Of the forms whose ranks would have to tell each other, one: no size can choose among several. Where the dedicated
    path takes them at any size, one for each of its settings that matters. One of very long calls, too.
    """
    if takes_any_size(machine, problem):
        return list(dict.fromkeys(arm_of(machine, problem, setting) for setting in list_settings(machine)))
    first = find_challenger(machine, problem, even)
    if problem.operation in EXCHANGED or (first != "tiny" and is_very_long(machine, problem.even, first)):
        return [first]
    others = [arm for arm in seeds(machine, as_the_longest(problem)) if arm != "tiny" or _fits_lines(machine, problem)]
    return list(dict.fromkeys([first, *([even.best] if even.best not in ("", "tiny") else []), *others]))


def as_the_longest(problem: Problem) -> Problem:
    """Equal blocks as long as the longest uneven one, in whole elements: a cell that holds all of the mean may not hold
    that, so that choices are told apart by it (2 ranks, allgatherv of 4K, far cores: the ring by cells of 4K, which was
    best for equal blocks, 2.2 us, of 8K, which was the same there, 1.2 us)."""
    longest = math.ceil(_LARGEST_OF_MEAN * problem.bytes)
    return replace(problem.even, bytes=longest + -longest % _ELEMENT_BYTES)


def find_challenger(machine: Machine, problem: Problem, even: Decision) -> str:
    """What was best for equal blocks; the built-in choice where that does not take the largest of uneven ones. Between
    nodes, where what takes equal ones best may wait for the longest in every round, what the model says of uneven ones.

    Where sizes would have to be exchanged, the dedicated path, which needs none, wherever it takes the largest block.
    """
    is_wanted = even.best == "tiny" or (problem.operation in EXCHANGED and machine.shape.nodes == 1)
    if is_wanted and _fits_lines(machine, problem):
        return "tiny"
    if machine.shape.nodes > 1 and problem.operation in _PACED_BY_THE_LONGEST:
        return choose_by_model(machine, problem)
    if even.best not in ("", "tiny"):
        return even.best
    return str(machine.core.choose(machine.topology, problem.even.operation, problem.bytes).choice)


def _fits_lines(machine: Machine, problem: Problem) -> bool:
    largest = math.ceil(_LARGEST_OF_MEAN * problem.bytes) + _SIZE_BYTES
    return bool(machine.core.is_tiny(problem.even.operation, largest, machine.shape.ranks))


def settled_together(machine: Machine, forms: Iterable[Problem]) -> list[list[Problem]]:
    """One group for each form whose ranks would have to tell each other sizes: no size can choose its way alone. Of
    the others every size by itself."""
    groups: dict[str | Problem, list[Problem]] = {}
    for problem in forms:
        groups.setdefault(problem.operation if has_one_way(machine, problem) else problem, []).append(problem)
    return list(groups.values())


def leave_open(duels: Sequence[Decision]) -> bool:
    """Whether duels of one arm over one size, all at one distance, do not tell yet whether it may be ours: they
    disagree, or the only one was lost, which may be an accident."""
    lost = sum(it.best_ratio < _LEAST_AT_A_SIZE for it in duels)
    won = len(duels) - lost
    return (min(won, lost) > 0 or (won, lost) == (0, 1)) and max(won, lost) <= MOST_DUELS // 2


def pick_middle(duels: Sequence[Decision]) -> Decision:
    """Of duels at one distance; of two the less favourable."""
    return sorted(duels, key=lambda it: it.best_ratio)[(len(duels) - 1) // 2]


def settle_settings(
    duels: Mapping[str, Mapping[Problem, Decision]], patient: Collection[Problem], margin: float
) -> dict[Problem, Decision]:
    """Of the dedicated path's settings, by which these are the duels, the one that does most sizes; of two that do as
    many the one that gains more on native. At `patient` sizes native can pay for a look (list_patient)."""
    settled = [settle_any_size(duels[setting], patient, margin, setting) for setting in duels]
    return max(settled, key=_gain_of)


def list_patient(fought: Mapping[Problem, Sequence[Decision]]) -> list[Problem]:
    """The sizes of a form, with all duels over them, at which native takes so long that a look whether blocks are that
    long costs it next to nothing, wherever the processors lie: what is nothing far apart may be much nearby.

    A look takes no less than a call of few bytes, when nothing disturbed that: the fastest call of ours.
    """
    looks: dict[float, float] = {}
    for duel in [it for duels in fought.values() for it in duels if it.best_us > 0]:
        at = _place_of(duel, looks)
        looks[at] = min(duel.best_us, looks.get(at, duel.best_us))
    return [
        problem
        for problem, duels in fought.items()
        if all(it.native_us >= _MANY_LOOKS * looks.get(_place_of(it, looks), math.inf) for it in duels)
    ]


def _place_of(duel: Decision, places: Iterable[float]) -> float:
    """Where the processors lay, as one of the places if that is the same."""
    line_ns = duel.met[0].line_ns if duel.met else 0.0
    return next((it for it in places if is_same(it, line_ns)), line_ns)


def _gain_of(settled: Mapping[Problem, Decision]) -> tuple[int, float]:
    ratios = [it.best_ratio for it in settled.values() if it.selection != NATIVE]
    return len(ratios), math.prod(ratios)


def settle_any_size(
    duels: Mapping[Problem, Decision], patient: Collection[Problem], margin: float, setting: str = "tiny"
) -> dict[Problem, Decision]:
    """Of an uneven form that the dedicated path takes at any size: ours up to the largest size that allows it, which is
    all of them if may be, and native beyond.

    Ours has to win by the margin in geometric mean and must do no harm anywhere. Native beyond pays for a look whether
    blocks are that long, which it can at `patient` sizes. Of a single size, which chooses for itself: ours or native.
    """
    order = sorted(duels, key=lambda problem: problem.bytes)
    least = next((at for at in range(len(order), 0, -1) if order[at - 1] not in patient), 0)
    counts = range(len(order), max(least, 1) - 1, -1)
    count = next((count for count in counts if _may_be_ours([duels[it] for it in order[:count]], margin)), 0)
    ours = {it: replace(duels[it], selection=setting, chosen_us=duels[it].best_us, note="") for it in order[:count]}
    why = "one way serves all sizes up to some" if len(order) > 1 else f"{duels[order[0]].best_ratio:.2f}x native"
    return ours | {it: leave_to_native(duels[it], why) for it in order[count:]}


def _may_be_ours(duels: Sequence[Decision], margin: float) -> bool:
    is_measured = all(it.calls and it.best_us > 0 for it in duels)
    return is_measured and _is_won([it.best_ratio for it in duels], margin, _LEAST_AT_A_SIZE)


def settle_exchanged(duels: Mapping[Problem, Decision], margin: float) -> dict[Problem, Decision]:
    """Of an uneven form whose sizes must be exchanged first: ours at all of the sizes, or native at all.

    `duels` are decisions by size. Ours has to win by the margin in geometric mean, and must not be slower anywhere.
    """
    wins = _is_won([it.best_ratio for it in duels.values() if it.calls and it.best_us > 0], margin)
    settled = {}
    for problem, it in duels.items():
        if wins and it.calls:
            settled[problem] = replace(it, selection=it.best, chosen_us=it.best_us, note="")
        else:
            lost = f"{it.best} is {it.best_ratio:.2f}x native here; " if it.best_us > 0 else ""
            note = f"{lost}sizes have to be exchanged first, and that pays not at all of them"
            settled[problem] = replace(it, selection=NATIVE, chosen_us=it.native_us, note=note)
    return settled


def list_shorts(duels: Mapping[Problem, Decision], margin: float) -> list[Problem]:
    """The sizes, from the smallest on, at which the dedicated path of short blocks wins: it needs no exchange."""
    shorts = []
    for problem, it in sorted(duels.items(), key=lambda item: item[0].bytes):
        if it.best != "tiny" or not it.calls or it.best_ratio < 1:
            break
        shorts.append(problem)
    return shorts if _is_won([duels[problem].best_ratio for problem in shorts], margin) else []


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
    if any(not it.calls or it.best_ratio < _LEAST_AFTER_A_LOOK for it in looks.values()):
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


def _is_won(ratios: Sequence[float], margin: float, least: float = 1.0) -> bool:
    """By the margin on average, and nowhere below `least`."""
    return bool(ratios) and min(ratios) >= least and math.prod(ratios) ** (1 / len(ratios)) >= 1 + margin
