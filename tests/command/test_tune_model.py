"""What the machine's curves say about costs, for sizes without a row."""

from __future__ import annotations

import json

import pytest

from espalier.base.core import load_core
from espalier.tuning.environment.model import model_of
from espalier.tuning.table.file import format_table
from tuning_bench import a_machine

HOPS = {"waiting": [{"way": "spin", "us": 0.1}, {"way": "spin_yield", "us": 0.2}]}
PINGS = {"latency": [{"between": "nodes", "bytes": n, "us": 100 + n / 25} for n in (8, 1 << 20, 4 << 20)]}


def broadcasts(flag: float, fixed: float, rate: float) -> dict[str, list[dict]]:
    """Points as the closed form of a broadcast makes them."""
    points = []
    for size in (1 << 10, 4 << 10, 16 << 10):
        one = fixed + size / rate
        points.append({"bytes": size, "way": "cells", "us": flag + 2 * one})
        points.append({"bytes": size, "way": "single_copy", "us": 2 * flag + one})
    return {"single_copy": points}


def test_the_points_of_a_broadcast_give_back_what_its_copies_take() -> None:
    model = model_of(a_machine(2), HOPS | broadcasts(0.3, 0.25, 12000))
    assert model["flag"] == pytest.approx(0.3)
    for name in ("put", "get", "single_copy"):
        assert model[name] == pytest.approx([0.25, 12000], rel=0.01)
    assert "link_rate" not in model, "one node has no links"


def test_a_slow_network_is_known_by_its_largest_messages() -> None:
    model = model_of(a_machine(1, 1), PINGS)
    assert model["link_rate"] == pytest.approx(25, rel=0.01)
    assert model["latency"] == pytest.approx(99.5, abs=1)


def test_a_network_whose_connections_are_held_back_is_known_by_its_groups() -> None:
    groups = [{"groups": 2, "way": "direct", "bytes": 1 << 20, "us": 1.0, "mb_per_s": 45.0}]
    model = model_of(a_machine(1, 1), {**PINGS, "groups": groups})
    assert (model["link_rate"], model["flow_rate"]) == (45, pytest.approx(25, rel=0.01))


def test_points_that_make_no_sense_and_crowded_nodes_leave_costs_to_be_assumed() -> None:
    upside_down = {
        "single_copy": [{"bytes": 1024, "way": "cells", "us": 9.0}, {"bytes": 16384, "way": "cells", "us": 1.0}]
    }
    assert model_of(a_machine(2), upside_down) == {}
    crowded = a_machine(8)
    crowded.parameters.cores = 2
    assert model_of(crowded, HOPS | broadcasts(0.3, 0.25, 12000)) == {}


def test_a_table_carries_the_costs_to_the_library() -> None:
    core = load_core()
    text = format_table(core, core.Signature("a box", "an MPI"), {}, [], {"link_rate": 25.0, "put": [0.1, 9000.0]})
    assert json.loads(text)["model"]["link_rate"] == 25.0
    parameters = core.Table.parse(text, "it").parameters
    assert (parameters.link_rate, parameters.put.rate) == (25.0, 9000.0)
    assert parameters.latency == core.CostParameters().latency
