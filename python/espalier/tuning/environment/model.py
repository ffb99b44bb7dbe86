"""From the machine's curves to the costs that the built-in choice reckons with where a table has no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from espalier.tuning.environment.place import learn_groups, learn_messages
from espalier.tuning.problems.candidates import Machine

Curves = Mapping[str, Sequence[Mapping[str, Any]]]

# Between these two sizes a broadcast is one put and one get, or one copy: two points make a line.
_SHORT, _LONG = 1 << 10, 16 << 10
# A flag behind data takes half as much again as one that is alone (src/cost/parameters.hpp).
_BEHIND_DATA = 1.5


def model_of(machine: Machine, curves: Curves) -> dict[str, Any]:
    """The table's "model": only what was measured, and only where it makes sense. Times in microseconds."""
    model: dict[str, Any] = {}
    assumed = machine.core.CostParameters()
    if machine.shape.ppn <= machine.parameters.cores:
        model |= _on_node(curves, assumed)
    learned = learn_messages(machine, curves.get("latency", [])).parameters
    if learned.link_rate != machine.parameters.link_rate:
        learned = learn_groups(replace(machine, parameters=learned), curves.get("groups", [])).parameters
        model |= {"latency": round(learned.latency, 3), "link_rate": round(learned.link_rate, 1)}
    if learned.flow_rate < learned.link_rate:
        model["flow_rate"] = round(learned.flow_rate, 1)
    return model


def _on_node(curves: Curves, assumed: Any) -> dict[str, Any]:
    """Solves what a broadcast takes (src/cost/node_time.cpp) for its parts."""
    hops = [float(it["us"]) for it in curves.get("waiting", []) if it["way"] == "spin_yield"]
    flag = _BEHIND_DATA * hops[0] if hops else float(assumed.flag)
    model: dict[str, Any] = {"flag": round(flag, 3)} if hops else {}
    times = {(it["way"], int(it["bytes"])): float(it["us"]) for it in curves.get("single_copy", [])}
    if line := _line(times, "cells", flag, 2):
        model |= {"put": line, "get": line}
    if line := _line(times, "single_copy", 2 * flag, 1):
        model["single_copy"] = line
    return model


def _line(times: Mapping[tuple[str, int], float], way: str, waiting: float, copies: int) -> list[float] | None:
    """What each of so many equal copies takes: [fixed, rate]; None where the points make no sense."""
    short, long = times.get((way, _SHORT)), times.get((way, _LONG))
    if short is None or long is None or long <= short:
        return None
    rate = copies * (_LONG - _SHORT) / (long - short)
    fixed = (short - waiting) / copies - _SHORT / rate
    return [round(fixed, 3), round(rate, 1)] if fixed > 0 else None
