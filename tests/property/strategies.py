"""Random machines, problems and choices for Hypothesis, which shrinks what fails to the smallest case."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from espalier import _core

# Bounds the steps of one plan; a pipeline shows all it does within a few rounds.
MOST_PIECES = 200

ROOTED = ("broadcast", "scatter", "gather", "reduce")
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")
BLOCKED = ("scatter", "gather", "allgather", "alltoall", "reduce_scatter")


@dataclass(frozen=True)
class Case:
    """One plan by what it is built from; its text builds it again."""

    node_of: tuple[int, ...]
    single_copy: bool
    operation: str
    bytes: int
    root: int
    choice: str
    element: int = 1
    is_commutative: bool = True
    counts: tuple[int, ...] = ()
    is_symmetric: bool = True

    def build(self) -> _core.Plan:
        topology = _core.Topology(self.node_of, self.single_copy)
        details = self.element, self.is_commutative, list(self.counts)
        plan = self.operation, self.bytes, self.root, self.choice
        return _core.build(topology, *plan, *details, is_symmetric=self.is_symmetric)

    def why_invalid(self) -> str:
        topology = _core.Topology(self.node_of, self.single_copy)
        choice = _core.parse_choice(self.operation, self.choice)
        details = self.element, self.is_commutative, list(self.counts)
        return _core.why_invalid(topology, self.operation, self.bytes, choice, *details)


@st.composite
def placements(draw: st.DrawFn, most_ranks: int = 24) -> tuple[int, ...]:
    """Blocks of any sizes, one node and one rank per node among them; then in order, dealt round robin, or shuffled."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=1, max_size=8))
    node_of = [node for node, size in enumerate(sizes) for _ in range(size)][:most_ranks]
    mapping = draw(st.sampled_from(["block", "cyclic", "shuffled"]))
    if mapping == "cyclic":
        node_of = [rank % len(sizes) for rank in range(len(node_of))]
    if mapping == "shuffled":
        node_of = draw(st.permutations(node_of))
    return tuple(node_of)


@st.composite
def choices(draw: st.DrawFn, algorithm: _core.Algorithm, single_copy: bool) -> str:
    """Any value of any knob, small ones first. Knobs of groups only for those that have them: others print none."""
    knobs = {
        "radix": draw(st.integers(2, 9)),
        "segment": draw(st.just(0) | st.integers(1024, 9000)),
        "within": draw(st.sampled_from(["cells", "single_copy"] if single_copy else ["cells"])),
        "cell": draw(st.sampled_from([64, 65, 127, 128, 512, 4096])),
        "cells": draw(st.integers(1, 6)),
        "groups": draw(st.integers(1, 6)),
        "exchange": draw(st.sampled_from(["direct", "ring", "bruck", "recursive_doubling"])),
        "connections": draw(st.integers(0, 4)),
        "staging": draw(st.sampled_from(["auto", "copy", "zero_copy"])),
        "stores": draw(st.sampled_from(["cached", "streaming"])),
    }
    of_groups = {"groups", "exchange", "connections", "staging"}
    own = {name: value for name, value in knobs.items() if name not in of_groups or f"{name}=" in algorithm.knobs}
    return ",".join([algorithm.name, *(f"{name}={value}" for name, value in own.items())])


def sizes(operation: str, choice: _core.Choice) -> st.SearchStrategy[int]:
    """0, 1, odd ones, and those around a cell, all cells, a segment and the share that a writer pushes."""
    if operation == "barrier":
        return st.just(0)
    edges = [choice.cell, choice.cell * choice.cells, choice.segment, 8192, 56]
    around = st.builds(
        lambda edge, times, shift: max(0, edge * times + shift),
        st.sampled_from(edges), st.integers(0, 4), st.integers(-1, 1),
    )  # fmt: skip
    return st.integers(0, 3) | around | st.integers(0, 70000)


@st.composite
def cases(draw: st.DrawFn, name: str = "") -> Case:
    """Any plan that is not too long to be proved quickly; by this algorithm, if one is named."""
    node_of = draw(placements())
    single_copy = draw(st.booleans())
    algorithm = draw(st.sampled_from([it for it in _core.algorithms() if name in ("", it.name)]))
    text = draw(choices(algorithm, single_copy))
    choice = _core.parse_choice(algorithm.operation, text)
    size = draw(sizes(algorithm.operation, choice))
    ranks = len(node_of)
    blocks = ranks if algorithm.operation in BLOCKED else 1
    assume(choice.within == "single_copy" or size * blocks <= MOST_PIECES * choice.cell)
    root = draw(st.integers(0, ranks - 1)) if algorithm.operation in ROOTED else 0
    element, is_commutative = draw(reductions()) if algorithm.operation in REDUCTIONS else (1, True)
    size -= size % element
    counts = draw(uneven(algorithm.operation, ranks, size, element)) if algorithm.operation in BLOCKED else ()
    operation, is_symmetric = algorithm.operation, algorithm.operation not in REDUCTIONS or draw(st.booleans())
    case = Case(node_of, single_copy, operation, size, root, text, element, is_commutative, counts, is_symmetric)
    assume(not case.why_invalid())  # some algorithms do not apply everywhere
    return case


def reductions() -> st.SearchStrategy[tuple[int, bool]]:
    """Size of an element, and whether operands may change places."""
    return st.tuples(st.sampled_from([1, 4, 8, 12, 16]), st.booleans())


@st.composite
def uneven(draw: st.DrawFn, operation: str, ranks: int, size: int, element: int) -> tuple[int, ...]:
    """Blocks that differ, some of them empty; none in most cases."""
    if draw(st.integers(0, 2)) > 0:
        return ()
    blocks = ranks * ranks if operation == "alltoall" else ranks
    pattern = draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=7))
    return tuple(pattern[i % len(pattern)] * (size // 2 // element * element) for i in range(blocks))
