"""What is tried: whatever the registry lists, with knobs on a grid; what cannot win is left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from espalier.base.core import load_core
from espalier.tuning.problems import candidates
from espalier.tuning.problems.candidates import Machine, exhaustive, neighbours, seeds
from espalier.tuning.problems.problem import OPERATIONS, Problem
from tuning_bench import a_machine

SIZE = 1 << 16


def algorithms_of(texts: list[str]) -> set[str]:
    return {text.partition(",")[0] for text in texts}


def listed(machine: Machine, problem: Problem) -> set[str]:
    """The registry's algorithms that can do the problem with some of the grid's knobs."""
    texts = candidates._texts(machine, problem, candidates._GRID)
    return algorithms_of([text for text in texts if candidates.is_valid(machine, problem, text)])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_grid_has_every_algorithm_of_the_registry_that_applies_unless_its_plan_is_anothers(operation: str) -> None:
    machine, problem = a_machine(2, 2), Problem(operation, 0 if operation == "barrier" else SIZE)
    names = {it.between for it in machine.core.algorithms() if it.operation == operation}
    found = algorithms_of(exhaustive(machine, problem))
    assert found
    assert found <= names
    assert found <= listed(machine, problem)


class WithStreaming:
    """The core with one more knob, as if an algorithm had learnt it."""

    def __init__(self, knobs: str) -> None:
        self._core, self._knobs = load_core(), knobs

    def algorithms(self) -> list[Any]:
        return [SimpleNamespace(operation="scan", between="chain", knobs=self._knobs)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ("streaming=off|on", ["chain,streaming=off", "chain,streaming=on"]),
        ("ahead=1..64", ["chain,ahead=1", "chain,ahead=4", "chain,ahead=16", "chain,ahead=64"]),
        (
            "limit=0|1K..64K",
            ["chain,limit=0", "chain,limit=1K", "chain,limit=4K", "chain,limit=16K", "chain,limit=64K"],
        ),
    ],
)
def test_a_knob_that_nobody_told_the_tuner_of_is_tried_by_its_words_and_over_its_range(
    knobs: str, words: list[str]
) -> None:
    core = WithStreaming(knobs)
    machine = Machine(core, a_machine(2).shape, a_machine(2).topology, None)
    texts = list(candidates._texts(machine, Problem("scan", SIZE), candidates._GRID))
    assert texts[2:] == words  # behind the dedicated path and the built-in choice


def test_of_a_crowd_the_most_promising_and_each_algorithms_best_are_raced() -> None:
    machine, problem = a_machine(2, 2, 2), Problem("allgather", 1 << 14)
    raced = seeds(machine, problem)
    assert len(raced) < len(exhaustive(machine, problem)) / 4
    assert len(raced) <= 12 + len({it.between for it in machine.core.algorithms() if it.operation == "allgather"})
    assert str(machine.core.choose(machine.topology, "allgather", 1 << 14).choice).partition(",")[0] in algorithms_of(
        raced
    )


def test_neighbours_differ_from_the_winner_in_one_knob() -> None:
    winner = "knomial,radix=2,within=cells,cell=32K,cells=4"
    knobs = set(winner.split(","))
    around = neighbours(a_machine(2), Problem("broadcast", 1 << 20), winner)
    assert around
    assert all(len(set(text.split(",")) - knobs) == 1 for text in around if "cells=4" in text)


def test_longer_cells_are_tried_as_many_as_the_window_holds() -> None:
    winner = "knomial,radix=2,within=cells,cell=32K,cells=4"
    around = neighbours(a_machine(2), Problem("broadcast", 1 << 20), winner)
    assert "knomial,radix=2,within=cells,cell=64K,cells=4" in around
    assert "knomial,radix=2,within=cells,cell=128K,cells=2" in around
    assert "knomial,radix=2,within=cells,cell=256K,cells=1" in around


def test_streaming_stores_are_tried_where_one_ranks_result_leaves_its_caches() -> None:
    def are_tried(operation: str, size: int) -> bool:
        winner = ("ring" if operation == "allgather" else "knomial,radix=2") + ",within=cells,cell=32K,cells=4"
        return any("streaming" in text for text in neighbours(a_machine(8), Problem(operation, size), winner))

    assert are_tried("allgather", 128 << 10), "from eight ranks, one megabyte"
    assert not are_tried("allgather", 64 << 10)
    assert are_tried("broadcast", 1 << 20)
    assert not are_tried("broadcast", 128 << 10)


@pytest.mark.parametrize("operation", ["broadcast", "scatter", "allgather", "alltoall", "reduce", "reduce_scatter"])
def test_of_calls_that_are_long_because_of_the_links_few_are_tried_what_the_model_would_choose_first(
    operation: str,
) -> None:
    machine, problem = a_machine(1, 1, 1, 1), Problem(operation, 1 << 20)
    machine.parameters.latency, machine.parameters.link_rate = 60.0, 25.0
    texts = seeds(machine, problem)
    assert texts[0] == candidates.choose_by_model(machine, problem)
    assert len(texts) <= 4
    machine.parameters.link_rate = 2.0
    assert len(seeds(machine, problem)) == 1, "of those that take seconds"
