"""What the compiled module shows to Python."""

from __future__ import annotations

import pytest

from espalier import _core


def a_plan() -> _core.Plan:
    return _core.build(_core.Topology([0, 0, 1], single_copy=True), "bcast", 100, 1, "knomial,cell=64,cells=2")


def test_topologies_number_nodes_by_first_appearance() -> None:
    topology = _core.Topology([7, 3, 7, 9], oversubscribed=True)
    assert topology.node_of == [0, 1, 0, 2]
    assert topology.local_rank == [0, 0, 1, 0]
    assert (topology.ranks, topology.nodes, topology.largest_node) == (4, 3, 2)
    assert (topology.is_blocked, topology.oversubscribed, topology.single_copy) == (False, True, False)


def test_plans_show_their_programs() -> None:
    plan = a_plan()
    assert (plan.operation, plan.bytes, plan.root) == ("broadcast", 100, 1)
    assert plan.choice.between == "knomial"
    assert plan.longest_program == max(len(program.steps) for program in plan.programs)
    assert plan.programs[1].window_bytes == 100
    send = next(step for step in plan.programs[1].steps if step.op == "send")
    assert (send.peer, send.buffer, send.offset, send.bytes, send.slot) == (2, "output", 0, 100, 0)
    assert (send.flag, send.tick, send.neighbour, send.window_offset) == (None, None, None, None)
    assert str(send) == "send 100 B at 0 of output to rank 2"


def test_programs_outlive_their_plan() -> None:
    program = a_plan().programs[0]
    assert [step.op for step in program.steps][-1] == "post"


def test_traffic_has_one_entry_per_node() -> None:
    root, other = a_plan().traffic()
    assert (root["messages_out"], root["bytes_out"], root["messages_in"]) == (1, 100, 0)
    assert (other["messages_in"], other["bytes_in"], other["connections_in"]) == (1, 100, 1)
    assert (root["shared_written"], root["shared_read"]) == (100, 100)


def test_choices_compare_by_value() -> None:
    text = "knomial,radix=4,segment=64K,within=cells,cell=32K,cells=8"
    assert _core.parse_choice("broadcast", text) == _core.parse_choice("bcast", "broadcast_" + text)
    assert str(_core.parse_choice("broadcast", text)) == text


def test_sizes() -> None:
    assert _core.parse_bytes("64KiB") == 65536
    assert _core.format_bytes(3 << 20) == "3M"


def test_virtual_nodes() -> None:
    assert [_core.virtual_node_of("3,1,4", index, 9) for index in range(9)] == [0, 0, 0, 1, 2, 2, 2, 2, 3]
    assert [_core.virtual_node_of("cyclic:2", index, 4) for index in range(4)] == [0, 1, 0, 1]


def test_settings_are_documented() -> None:
    settings = {setting.name: setting for setting in _core.settings()}
    assert settings["ESPALIER_VIRTUAL_NODES"].is_collective
    assert all(name.startswith("ESPALIER_") and setting.help for name, setting in settings.items())


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: _core.parse_bytes("many"), "many"),
        (lambda: _core.Topology([]), "at least one rank"),
        (lambda: _core.build(_core.Topology([0, 1]), "bcast", 8, 2, "chain"), "root 2"),
        (lambda: _core.build(_core.Topology([0, 1]), "bcast", 8, 0, "chain,within=single_copy"), "single copy"),
        (lambda: _core.build(_core.Topology([0, 1], window_bytes=4096), "bcast", 8, 0, "chain"), "window of 4K"),
        (lambda: _core.parse_choice("allgather", "chain"), "unknown algorithm 'chain'"),
        (lambda: _core.parse_choice("bcast", "chain,speed=9"), "unknown knob 'speed'"),
        (lambda: _core.choose(_core.Topology([0]), "gossip", 8), "gossip"),
        (lambda: _core.virtual_node_of("0", 0, 1), "'0'"),
        (lambda: _core.virtual_node_of("2", 3, 3), "index 3"),
    ],
)
def test_bad_arguments_name_themselves(call: object, text: str) -> None:
    with pytest.raises(_core.Error, match=text):
        call()  # type: ignore[operator]


def test_errors_are_value_errors() -> None:
    assert issubclass(_core.Error, ValueError)


def test_random_proofs_report_progress_and_repeat() -> None:
    seen: list[int] = []
    assert _core.verify_random(20, 4, seen.append) == {"checked": 20, "violations": []}
    assert seen == list(range(1, 21))


def test_a_callback_may_stop_a_proof() -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        _core.verify_random(1000, 4, stop)
