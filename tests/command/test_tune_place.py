"""Where a tuning job runs, and what follows for the candidates."""

from __future__ import annotations

import pytest

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.measure.worker import Hello
from espalier.tuning.environment.place import learn_groups, learn_messages, shape_of, survey
from tuning_bench import a_machine


def hello(node_of: list[int], cores: int, node_cores: int) -> Hello:
    return Hello(len(node_of), cores, node_cores, tuple(node_of), "MPICH Version: 5.0.2")


def test_emulated_nodes_share_the_cores_but_each_believes_them_its_own() -> None:
    machine = survey(load_core(), hello([0, 0, 1, 1, 2, 2, 3, 3], cores=2, node_cores=2), {})
    assert str(machine.shape) == "4x2"
    assert machine.parameters.cores == 1
    assert not machine.topology.oversubscribed
    assert survey(load_core(), hello([0, 0, 0, 1, 1, 1], 2, 2), {}).topology.oversubscribed


def test_virtual_nodes_part_the_ranks_of_a_node() -> None:
    core = load_core()
    assert shape_of(core, hello([0, 0, 0, 0], 2, 2), "3,1").node_of == (0, 0, 0, 1)
    assert shape_of(core, hello([0, 0, 1, 1], 2, 2), "2").node_of == (0, 1, 2, 3)
    with pytest.raises(UserError):
        shape_of(core, hello([0, 0], 2, 2), "cyclic:0")


def test_the_cost_of_messages_between_nodes_is_learnt_from_the_latency_curve() -> None:
    points = [{"between": "nodes", "bytes": size, "us": 30 + size / 25} for size in (8, 65536, 1 << 20, 4 << 20)]
    learnt = learn_messages(a_machine(2, 2), points).parameters
    assert learnt.link_rate == pytest.approx(25)
    assert 25 < learnt.latency <= 31
    assert learnt.cores == 2


def _groups(*points: tuple[int, str, float]) -> list[dict[str, object]]:
    return [{"groups": g, "way": way, "bytes": 1 << 20, "us": 1.0, "mb_per_s": rate} for g, way, rate in points]


def test_where_connections_together_carry_more_than_one_the_link_has_their_rate_and_one_its_own() -> None:
    pings = [{"between": "nodes", "bytes": size, "us": 30 + size / 14} for size in (8, 1 << 20, 4 << 20)]
    machine = learn_messages(a_machine(2, 2), pings)
    learnt = learn_groups(machine, _groups((1, "ring", 13.0), (2, "direct", 24.0))).parameters
    assert (learnt.link_rate, learnt.flow_rate) == (pytest.approx(24), pytest.approx(14))
    assert machine.parameters.flow_rate > 1e9, "the machine that it came from stays as it is"


def test_where_one_connection_fills_the_link_it_has_no_bound_of_its_own() -> None:
    pings = [{"between": "nodes", "bytes": size, "us": 30 + size / 25} for size in (8, 1 << 20, 4 << 20)]
    learnt = learn_groups(learn_messages(a_machine(2, 2), pings), _groups((1, "ring", 24.0), (4, "ring", 25.5)))
    assert learnt.parameters.flow_rate > 1e9
    assert learnt.parameters.link_rate == pytest.approx(25)


def test_without_messages_between_nodes_nothing_is_learnt() -> None:
    machine = a_machine(2, 2)
    inside = [{"between": "ranks of one node", "bytes": 8 << i, "us": 1.0 + i} for i in range(5)]
    assert learn_messages(machine, inside) is machine
    assert learn_messages(machine, []) is machine
