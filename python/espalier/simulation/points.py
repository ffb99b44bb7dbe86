"""Simulations at several sizes and numbers of ranks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.units import check_ranks
from espalier.simulation.arms import run_arms
from espalier.simulation.executor import OURS, Case, Job
from espalier.simulation.simulator import Request, all_answers


@dataclass(frozen=True)
class Point:
    """One size and one number of ranks: µs by arm, those with right data only, and what ours chose."""

    ranks: int
    bytes: int
    times: dict[str, float]
    choice: str


def spread_ranks(ranks: int, ppn: int, how: str = "blocks") -> list[int]:
    """The node of every rank: so many on each, and on the last one what is left.

    `how`: "blocks", neighbours together; "cyclic", dealt out one by one; "random:SEED", as in blocks but in any order.
    """
    node_of = [rank // ppn for rank in range(check_ranks(ranks))]
    if how == "cyclic":
        nodes = node_of[-1] + 1
        return [rank % nodes for rank in range(ranks)]
    if how.startswith("random:") and how[7:].isdecimal():
        random.Random(int(how[7:])).shuffle(node_of)
    elif how != "blocks":
        raise UserError(f"--map {how}: no such map", suggest(how, ("blocks", "cyclic", "random:SEED")))
    return node_of


def play_points(requests: Sequence[Request]) -> list[Point]:
    """Each request's plan, played. Raises UserError for the first that makes no sense."""
    answers = all_answers(replace(it, loads=False) for it in requests)
    return [
        Point(len(request.node_of), request.bytes, {OURS: answer.microseconds}, answer.choice)
        for request, answer in zip(requests, answers, strict=True)
    ]


def execute_points(jobs: Sequence[tuple[Job, Case]], arms: Sequence[str]) -> list[Point]:
    """Each case executed by each arm, the first of which is ours."""
    points = []
    for job, case in jobs:
        timings = [arm.timing for arm in run_arms(job, case, list(arms))]
        times = {
            name: timing.microseconds
            for name, timing in zip(arms, timings, strict=True)
            if timing is not None and timing.wrong == 0
        }
        choice = timings[0].choice if timings[0] is not None else ""
        points.append(Point(len(job.node_of), case.bytes, times, choice))
    return points
