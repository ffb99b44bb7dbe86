"""What could be selected for a problem: the catalogue's algorithms with their knobs on a grid, as far as they apply.

The catalogue says which knobs an algorithm has and their ranges ("radix=2..64 segment=0|1K..1G within=…"); here are the
values worth trying. The library itself says what applies (why_invalid) and which spellings mean the same (parse_choice,
str), so that nothing is measured twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from espalier.base.units import format_bytes, parse_bytes
from espalier.tuning.problems.problem import Problem, Shape, element_of

# Powers of four, and of two where the paper (Wu, Kendall, Aluru, section 6) found the optimum to be narrow.
_GRID: Mapping[str, Sequence[str]] = {
    "radix": ("2", "4", "8", "16"),
    "segment": ("0", "8K", "32K", "128K", "512K"),
    "cell": ("4K", "8K", "16K", "32K", "64K", "128K", "256K"),
    "cells": ("1", "2", "4", "8", "16"),
    "groups": ("1", "2", "4", "8"),
    "exchange": ("direct", "ring", "bruck", "recursive_doubling"),
    "connections": ("0", "2", "8"),
    "staging": ("copy", "zero_copy"),  # auto is one of them
    "leaders": ("near", "natural", "spread"),
    "order": ("auto",),  # depends on where a job's nodes are, which no table knows
    "stores": ("cached", "streaming"),
}
# What a search starts from: one value in the middle each; the search varies the winner's knobs afterwards.
_SEEDS: Mapping[str, Sequence[str]] = {
    "radix": ("2", "4"),
    "segment": ("0", "32K", "128K"),
    "cell": ("8K", "32K"),
    "cells": ("4",),
    "groups": ("2",),
    "exchange": ("direct", "ring"),
    "connections": ("0",),
    "staging": ("auto",),
    "leaders": ("near",),
    "order": ("auto",),
    "stores": ("cached",),
}
# On one node there is nothing between nodes to turn knobs of.
_ONE_NODE: Mapping[str, Sequence[str]] = {
    **_GRID,
    "radix": ("2",),
    "segment": ("0",),
    "groups": ("2",),
    "exchange": ("direct",),
    "connections": ("0",),
    "staging": ("auto",),
    "leaders": ("near",),
}


# Of one rank's result: below this it stays in some cache and streaming stores only drive it out of there.
_LEAST_STREAMED = 1 << 20

# The cost model orders choices rather than predicts times: what it takes for hopeless is left out, and of a crowd those
# behind the most promising, but for each algorithm's best.
_HOPELESS = 4.0
_MOST_PROMISING = 12
# From so many microseconds on, most of a call is on the wire, of which the model knows enough to leave out more; and of
# which trying everything would take hours.
_LONG = 3e3
_LONG_HOPELESS, _MOST_LONG, _MOST_OF_ONE = 1.3, 4, 2
_VERY_LONG = 300e3  # there the model's first meets native without a race
_WORTH_A_TRY = 0.97


@dataclass(frozen=True)
class Machine:
    """What decides which candidates apply: Espalier's topology, and the compiled core that knows."""

    core: Any
    shape: Shape
    topology: Any
    parameters: Any  # espalier._core.CostParameters
    most_groups: int = 0  # more leaders per node than this gain nothing on this network; 0: nobody has looked
    most_connections: int = 0  # the same of a node's messages under way at once
    transport: str = "mpi"  # what carries messages between nodes


def seeds(machine: Machine, problem: Problem) -> list[str]:
    """Where the search starts: the dedicated path, the built-in choice, and every algorithm with middling knobs."""
    return _prune(machine, problem, _distinct(machine, problem, _texts(machine, problem, _SEEDS)))


def choose_by_model(machine: Machine, problem: Problem) -> str:
    """What the cost model would choose that knows this machine; for an uneven form, of blocks as the worker deals
    them."""
    counts: list[int] = []
    if problem.is_uneven and problem.even.operation != "alltoall":
        half = problem.bytes // 2
        counts = [half + (rank % 2) * problem.bytes for rank in range(machine.shape.ranks)]
    ranked = machine.core.rank_choices(
        machine.topology, problem.even.operation, problem.bytes, 0, machine.parameters, element_of(problem), counts
    )
    return str(ranked[0][0])


def exhaustive(machine: Machine, problem: Problem) -> list[str]:
    """Everything on the grid."""
    return _distinct(machine, problem, _texts(machine, problem, _fit(_GRID, machine, problem)))


def count_exhaustive(machine: Machine, problem: Problem) -> int:
    """How many selections the grid has that apply; no plans are built, so some of them may be the same."""
    grid = _fit(_ONE_NODE if machine.shape.nodes == 1 else _GRID, machine, problem)
    texts = _texts(machine, problem, grid)
    return len({normal_form(machine, problem, text) for text in texts if is_valid(machine, problem, text)})


def neighbours(machine: Machine, problem: Problem, winner: str) -> list[str]:
    """The winner with each knob in turn set to every other value of the grid; of cells that get so long that the window
    does not hold all, as many as it does: ranks that share cores may want one as long as the window."""
    if winner in ("native", "tiny"):
        return []
    name, *knobs = winner.split(",")
    now = dict(knob.split("=", 1) for knob in knobs)
    options = _knobs_of(machine, problem.operation, name)
    texts = [
        ",".join([name, *(f"{knob}={value}" for knob, value in _turn(machine, now, turned, value).items())])
        for turned, values in options.items()
        for value in _values(turned, values, _fit(_GRID, machine, problem))
    ]
    around = [text for text in _distinct(machine, problem, texts) if text != winner]
    if machine.shape.nodes > 1 and estimate_us(machine, problem, winner) >= _LONG:
        return _promise_more(machine, problem, winner, around)
    return _prune(machine, problem, around)


def _turn(machine: Machine, now: Mapping[str, str], knob: str, value: str) -> Mapping[str, str]:
    turned = {**now, knob: value}
    if knob != "cell" or "cells" not in now:
        return turned
    room = max(1, machine.topology.window_bytes // parse_bytes(value))
    return {**turned, "cells": str(min(int(now["cells"]), room))}


def _promise_more(machine: Machine, problem: Problem, winner: str, texts: Sequence[str]) -> list[str]:
    """Those few of which the model says that they beat the winner of a race among long calls."""
    if is_very_long(machine, problem, winner):
        return []
    costs = {text: estimate_us(machine, problem, text) for text in texts}
    limit = _WORTH_A_TRY * estimate_us(machine, problem, winner)
    better = sorted((text for text in texts if costs[text] < limit), key=lambda text: costs[text])
    return better[:_MOST_OF_ONE]


def normal_form(machine: Machine, problem: Problem, text: str) -> str:
    """The one spelling of a selection."""
    if text == "native" or is_dedicated(text):
        return text
    return str(machine.core.parse_choice(problem.operation, text))


def is_dedicated(selection: str) -> bool:
    """Whether it is the dedicated path of short messages, with or without its knob."""
    return selection.partition(",")[0] == "tiny"


def is_valid(machine: Machine, problem: Problem, selection: str) -> bool:
    """Whether the library would run the problem as selected."""
    if selection == "native":
        return True
    if is_dedicated(selection):
        one_node = machine.shape.nodes == 1
        return one_node and bool(machine.core.is_tiny(problem.operation, problem.bytes, machine.shape.ranks))
    choice = machine.core.parse_choice(problem.operation, selection)
    reason = machine.core.why_invalid(
        machine.topology, problem.operation, problem.bytes, choice, element=element_of(problem)
    )
    return not reason


def _fit(grid: Mapping[str, Sequence[str]], machine: Machine, problem: Problem) -> Mapping[str, Sequence[str]]:
    """The grid with the machine's own caps, and without what gains nothing at this size."""
    fitted = {**grid, "connections": list(dict.fromkeys([*grid["connections"], *_caps(machine)]))}
    blocks = machine.shape.ranks if problem.operation in ("allgather", "alltoall") else 1
    return fitted if blocks * problem.bytes >= _LEAST_STREAMED else {**fitted, "stores": ("cached",)}


def _caps(machine: Machine) -> list[str]:
    """What is one master's part of the connections that the curve "groups" calls useful, by the number of groups, where
    it is fewer than a master would use."""
    tried = [int(groups) for groups in _GRID["groups"] if int(groups) <= max(2, machine.most_groups)]
    shares = [-(-machine.most_connections // groups) for groups in tried]
    return [str(share) for share in shares if 0 < share < machine.shape.nodes - 1]


def _texts(machine: Machine, problem: Problem, grid: Mapping[str, Sequence[str]]) -> Iterator[str]:
    yield "tiny"
    if machine.shape.nodes > 1:
        yield choose_by_model(machine, problem)
    yield str(machine.core.choose(machine.topology, problem.operation, problem.bytes).choice)
    for algorithm in machine.core.algorithms():
        if algorithm.operation != problem.operation:
            continue
        options = _parse_knobs(algorithm.knobs)
        for values in itertools.product(*(_values(knob, words, grid) for knob, words in options.items())):
            yield ",".join([algorithm.between, *(f"{k}={v}" for k, v in zip(options, values, strict=True))])


def _distinct(machine: Machine, problem: Problem, texts: Iterable[str]) -> list[str]:
    """Those that apply, each once; what differs only in knobs that change no program here counts as the same."""
    found: dict[str, None] = {}
    for text in texts:
        if not _has_too_many_groups(machine, text) and is_valid(machine, problem, text):
            found.setdefault(normal_form(machine, problem, text))
    return _different_plans(machine, problem, list(found))


def _has_too_many_groups(machine: Machine, text: str) -> bool:
    """More than the machine's curve "groups" calls useful, and than the two that are worth a try on any network."""
    if machine.most_groups == 0:
        return False
    groups = [int(word.removeprefix("groups=")) for word in text.split(",") if word.startswith("groups=")]
    return any(number > max(2, machine.most_groups) for number in groups)


def _different_plans(machine: Machine, problem: Problem, texts: Sequence[str]) -> list[str]:
    """The first of those whose plans are the same, step by step on all ranks."""
    kept: list[str] = []
    alike: dict[Any, list[Any]] = {}  # by what is seen at a glance, as there are thousands
    for text in texts:
        if text != "tiny":
            plan = _build(machine, problem, text)
            programs = plan.programs
            first = programs[0]
            glance = (plan.longest_program, first.scratch_bytes, first.window_bytes, first.slots, first.stores)
            others = alike.setdefault(glance, [])
            if any(programs == other for other in others):
                continue
            others.append(programs)
        kept.append(text)
    return kept


def _prune(machine: Machine, problem: Problem, texts: Sequence[str]) -> list[str]:
    """Without those for which the cost model (src/cost) sees no hope, in the order they came in."""
    costs = {text: estimate_us(machine, problem, text) for text in texts}
    ranked = sorted(texts, key=lambda text: costs[text])
    promising = set(ranked[:_MOST_PROMISING])
    least: dict[str, str] = {}
    for text in ranked:
        least.setdefault(text.partition(",")[0], text)
    fastest = min((cost for cost in costs.values() if cost > 0), default=0.0)
    if machine.shape.nodes > 1 and fastest >= _LONG:
        return _prune_long(texts, costs, ranked)
    limit = _HOPELESS * fastest
    return [text for text in texts if costs[text] <= limit and (text in promising or text in least.values())]


def _prune_long(texts: Sequence[str], costs: Mapping[str, float], ranked: Sequence[str]) -> list[str]:
    """The most promising of long calls: the first, which is what the model would choose, and few others, not all of one
    algorithm."""
    fastest = costs[ranked[0]]
    if fastest >= _VERY_LONG:
        return [texts[0]]
    kept = [texts[0]]
    for text in ranked:
        name = text.partition(",")[0]
        of_one = sum(other.partition(",")[0] == name for other in kept)
        if text not in kept and costs[text] <= _LONG_HOPELESS * fastest and of_one < _MOST_OF_ONE:
            kept.append(text)
    return [text for text in texts if text in kept[:_MOST_LONG]]


def is_very_long(machine: Machine, problem: Problem, text: str) -> bool:
    """Whether every call between nodes costs a noticeable part of a tuner's time."""
    return machine.shape.nodes > 1 and estimate_us(machine, problem, text) >= _VERY_LONG


def estimate_us(machine: Machine, problem: Problem, text: str) -> float:
    """Estimated microseconds; none for the dedicated path, which is no plan and always worth a try."""
    return 0.0 if text == "tiny" else machine.core.estimate(_build(machine, problem, text), machine.parameters)


def _build(machine: Machine, problem: Problem, text: str) -> Any:
    return machine.core.build(machine.topology, problem.operation, problem.bytes, 0, text, element=element_of(problem))


def _knobs_of(machine: Machine, operation: str, between: str) -> dict[str, list[str]]:
    for algorithm in machine.core.algorithms():
        if (algorithm.operation, algorithm.between) == (operation, between):
            return _parse_knobs(algorithm.knobs)
    return {}


def _parse_knobs(text: str) -> dict[str, list[str]]:
    """ "radix=2..64 within=cells|single_copy" by knob: its alternatives, each a value or a range."""
    return {knob: values.split("|") for knob, _, values in (word.partition("=") for word in text.split())}


def _values(knob: str, alternatives: Sequence[str], grid: Mapping[str, Sequence[str]]) -> list[str]:
    """The values of the grid that the algorithm takes; for a knob that the grid does not know, its words and four steps
    over its ranges."""
    if knob in grid:
        return [value for value in grid[knob] if any(_takes(alternative, value) for alternative in alternatives)]
    return [value for alternative in alternatives for value in _steps(alternative)]


def _takes(alternative: str, value: str) -> bool:
    first, dots, last = alternative.partition("..")
    return parse_bytes(first) <= parse_bytes(value) <= parse_bytes(last) if dots else value == alternative


def _steps(alternative: str) -> list[str]:
    """A word as it is; of a range four values, evenly on a logarithmic scale, spelled as its ends are."""
    first, dots, last = alternative.partition("..")
    if not dots:
        return [alternative]
    low, high = max(1, parse_bytes(first)), parse_bytes(last)
    spell = str if last.isdigit() else format_bytes
    return list(dict.fromkeys(spell(round(low * (high / low) ** (step / 3))) for step in range(4)))
