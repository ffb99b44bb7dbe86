"""The machine's curves: those the worker measures by itself, and those that are arms of a collective."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from espalier.base.units import format_bytes
from espalier.measure.worker import Worker
from espalier.tuning.problems import candidates
from espalier.tuning.problems.candidates import Machine
from espalier.tuning.problems.problem import Problem

CURVES = ("copy", "pipeline", "waiting", "single_copy", "latency", "connections", "groups")

_ROUNDS = 3
_PIPELINE_BYTES = 1 << 20
_CROSSOVER_SIZES = tuple(1024 * 4**step for step in range(7))  # 1 KiB … 4 MiB


def draw_curve(machine: Machine, worker: Worker, name: str, batch_us: float) -> list[dict[str, Any]]:
    """The points of one curve, each a dict with "us" and what it depends on. Empty where it means nothing here."""
    if name == "pipeline":
        return _draw_pipeline(machine, worker, batch_us)
    if name == "single_copy":
        return _draw_single_copy(machine, worker, batch_us)
    return worker.curve(name)


def _draw_pipeline(machine: Machine, worker: Worker, batch_us: float) -> list[dict[str, Any]]:
    """Broadcast against the number and the size of cells (Wu, Kendall, Aluru, figure 3)."""
    problem = Problem("broadcast", _PIPELINE_BYTES)
    arms = {
        f"knomial,within=cells,cell={format_bytes(cell)},cells={cells}": {"cell": cell, "cells": cells}
        for cell in (4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10)
        for cells in (2, 4, 8, 16, 32)
    }
    return _times_of(machine, worker, problem, arms, batch_us)


def _draw_single_copy(machine: Machine, worker: Worker, batch_us: float) -> list[dict[str, Any]]:
    """Through cells or straight from buffer to buffer: who wins from which size on?"""
    points = []
    for size in _CROSSOVER_SIZES:
        arms = {f"knomial,within={way}": {"bytes": size, "way": way} for way in ("cells", "single_copy")}
        points += _times_of(machine, worker, Problem("broadcast", size), arms, batch_us)
    return points


def _times_of(
    machine: Machine, worker: Worker, problem: Problem, arms: dict[str, dict[str, Any]], batch_us: float
) -> list[dict[str, Any]]:
    valid: Sequence[str] = [arm for arm in arms if candidates.is_valid(machine, problem, arm)]
    if not valid:
        return []
    times = worker.measure(problem.operation, problem.bytes, valid, _ROUNDS, batch_us)
    return [{**arms[it.arm], "us": round(median(it.p50), 3)} for it in times if not it.refused]
