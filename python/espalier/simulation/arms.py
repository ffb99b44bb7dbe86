"""Several ways to do one thing, each in a simulation of its own: plans played, and libraries executed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from espalier.base.errors import UserError
from espalier.simulation.executor import OURS, Case, Job, Timing, execute
from espalier.simulation.simulator import Answer, Request, simulate_all


@dataclass(frozen=True)
class Arm:
    """One way to do it, and what the simulation said."""

    name: str
    answer: Answer | None
    problem: str = ""  # why there is no answer


def play_orders(request: Request, choice: str) -> list[Arm]:
    """What each order of nodes makes of a choice (src/trees/order.hpp)."""
    knobs = [knob for knob in choice.split(",") if not knob.startswith("order=")]
    names = [f"order={order}" for order in ("natural", "breadth", "depth", "auto")]
    return _play_each(names, [replace(request, choice=",".join([*knobs, name])) for name in names])


def play_algorithms(core: Any, request: Request) -> list[Arm]:
    """Every algorithm of the operation, knobs at their defaults."""
    names = [entry.name for entry in core.algorithms() if entry.operation == request.operation]
    return _play_each(names, [replace(request, choice=name) for name in names])


def _play_each(names: list[str], requests: list[Request]) -> list[Arm]:
    return [
        Arm(name, None, answer.message) if isinstance(answer, UserError) else Arm(name, answer)
        for name, answer in zip(names, simulate_all(requests), strict=True)
    ]


@dataclass(frozen=True)
class ExecutedArm:
    """One library's timing, or why there is none."""

    name: str
    timing: Timing | None
    problem: str = ""


def run_arms(job: Job, case: Case, arms: list[str]) -> list[ExecutedArm]:
    """Each in a simulation of its own. Ours must work; another that fails is shown as such."""
    ours = ExecutedArm(OURS, execute(job, OURS, [case])[0])
    return [ours, *(_attempt(job, case, name) for name in arms[1:])]


def _attempt(job: Job, case: Case, name: str) -> ExecutedArm:
    try:
        return ExecutedArm(name, execute(job, name, [case])[0])
    except UserError as error:
        return ExecutedArm(name, None, error.message)
