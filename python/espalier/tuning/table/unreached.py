"""Sizes that were asked for and that a budget did not reach: rows about others must not reach over them unseen."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from espalier.base.units import format_bytes, parse_bytes
from espalier.tuning.problems.candidates import Machine, is_valid
from espalier.tuning.problems.problem import FORMS, Problem, list_forms, way_of
from espalier.tuning.search.decisions import BUILT_IN, Decision, unmeasured
from espalier.tuning.search.racing import NATIVE
from espalier.tuning.uneven.forms import has_one_way, takes_any_size

# What a message is cut into; the rounding of a number between two, as a power of two. Cells get longer and fewer, so
# that as much of a window holds them.
_PIECES = {"cell": math.ceil, "cells": math.floor, "segment": math.ceil}


def leave_unreached(
    machine: Machine,
    problems: Sequence[Problem],
    decisions: Mapping[Problem, Decision],
    measured: Collection[Problem] = (),
) -> list[Decision]:
    """What holds, unmeasured, at the sizes of `problems`, what was asked for, that are not among the decisions; nothing
    of operations that were reached nowhere. At those that an earlier run has `measured` its rows stay.

    Without this the row above would reach down over them: 8 ranks on two cores, alltoall of 64 KB, Intel MPI: 0.90 of
    native by what won at 256 KB, with stores past the caches.
    """
    return [
        unmeasured(problem, BUILT_IN if problem in measured else selection)
        for problem in [*problems, *_list_forms(machine, problems, {*decisions, *measured})]
        if problem not in decisions and (selection := _what_holds(machine, problem, decisions)) is not None
    ]


def _list_forms(machine: Machine, problems: Sequence[Problem], known: Iterable[Problem]) -> Iterator[Problem]:
    """The forms of what was asked for. Of those that are done in one way, only what is known of no size: what was
    decided for some holds for all, by rows without a gap. Sizes half-way between, where only equal blocks are measured,
    follow those around.
    """
    reached = {problem.operation for problem in known}
    return (it for it in list_forms(problems) if not (has_one_way(machine, it) and it.operation in reached))


def _what_holds(machine: Machine, problem: Problem, decisions: Mapping[Problem, Decision]) -> str | None:
    """Native where it won beside; what won at the next smaller size where the next larger one is done in that way, too,
    with pieces that have grown as far as the size has; else the built-in choice.

    Native beside: the model has just been wrong about that operation here (16 ranks on two cores, reduce_scatter of
    1 MB: 0.6 of native by the built-in choice, after native had won at 256 KB).
    Uneven blocks have native in place of the built-in choice, and wherever equal ones were measured: else they would
    follow rows about those (16 ranks on 4 nodes, alltoallv: 0.93 of native by a row that is 1.2 times as fast with
    equal blocks).
    """
    beside = _decided_beside(problem, decisions)
    if problem.is_uneven and (not beside or problem.even in decisions):
        has_rows = any(it.operation == problem.even.operation and decisions[it].calls for it in decisions)
        return NATIVE if has_rows else None
    if not beside:
        return None
    ways = [way_of(it.selection) for it in beside]
    if [NATIVE] in ways:
        return NATIVE
    if len(beside) == 2 and ways[0] == ways[1]:
        selection = _between(beside, problem.bytes)
        if _applies(machine, problem, selection):
            return selection
    return NATIVE if problem.is_uneven else BUILT_IN


def _between(beside: Sequence[Decision], size: int) -> str:
    """What won at the next smaller size, the first of two, with pieces in between the two as the size is, on
    logarithmic scales: a message is cut into no more of them than at one of its neighbours. The smaller size's own
    cells would be too short (16 ranks on two cores, MPICH: a gather of 256 B by cells of 64 B, which had won at
    64 B, took 224 us, natively 173).
    """
    smaller, larger = beside
    low, high = smaller.problem.bytes, larger.problem.bytes
    weight = math.log(size / low) / math.log(high / low)
    knobs, above = _knobs_in(smaller.selection), _knobs_in(larger.selection)
    for knob, rounded in _PIECES.items():
        pieces = [parse_bytes(its.get(knob, "0")) for its in (knobs, above)]
        if 0 not in pieces:
            power = (1 - weight) * math.log2(pieces[0]) + weight * math.log2(pieces[1])
            knobs[knob] = format_bytes(1 << rounded(round(power, 6)))
    name = smaller.selection.partition(",")[0]
    return ",".join([name, *(f"{knob}={value}" for knob, value in knobs.items())])


def _knobs_in(selection: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in selection.split(",")[1:])


def _applies(machine: Machine, problem: Problem, selection: str) -> bool:
    return takes_any_size(machine, problem) or is_valid(machine, problem.even, selection)


def _decided_beside(problem: Problem, decisions: Mapping[Problem, Decision]) -> list[Decision]:
    """At the next smaller size and at the next larger one, as far as there are any."""
    sizes = {it.bytes: decision for it, decision in decisions.items() if it.operation == problem.operation}
    smaller = max((size for size in sizes if size < problem.bytes), default=None)
    larger = min((size for size in sizes if size > problem.bytes), default=None)
    return [sizes[size] for size in (smaller, larger) if size is not None]


def list_measured(rows: Iterable[Mapping[str, Any]], machine: Machine) -> set[Problem]:
    """What rows of an older table about this shape have measured."""
    form_of = {operation: form for form, operation in FORMS.items()}
    shape = [machine.shape.nodes] * 2, [machine.shape.ppn] * 2
    return {
        Problem(form_of[row["operation"]] if "form" in row else row["operation"], row["measured"]["bytes"])
        for row in rows
        if (row["nodes"], row["ppn"]) == shape
        and row["measured"]["calls"]
        and (machine.shape.nodes == 1 or row.get("transport", "mpi") == machine.transport)
    }
