"""Every plan, for whatever machine, problem and choice, is proved correct."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from espalier import _core
from strategies import Case, cases, placements

# Proving is quick, but on a loaded machine not always.
thorough = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def lines(violations: list[_core.Violation]) -> str:
    return "\n".join(map(str, violations))


@settings(thorough, max_examples=300)
@given(cases())
def test_every_plan_is_correct(case: Case) -> None:
    violations = _core.verify(case.build())
    assert not violations, lines(violations)


# Those by several leaders have knobs of their own, so that what all algorithms get together is too little for them.
@pytest.mark.parametrize(
    "name", [it.name for it in _core.algorithms() if "group" in it.name or "gather_based" in it.name]
)
@settings(thorough, max_examples=40)
@given(data=st.data())
def test_every_member_of_the_groups_is_correct(name: str, data: st.DataObject) -> None:
    violations = _core.verify(data.draw(cases(name)).build())
    assert not violations, lines(violations)


@settings(thorough, max_examples=60)
@given(placements(most_ranks=10), st.data())
def test_different_calls_in_a_row_are_correct(node_of: tuple[int, ...], data: st.DataObject) -> None:
    topology = _core.Topology(node_of, single_copy=True)
    calls = []
    for _ in range(data.draw(st.integers(1, 6))):
        algorithm = data.draw(st.sampled_from(_core.algorithms()))
        within = data.draw(st.sampled_from(["cells", "single_copy"]))
        text = f"{algorithm.name},within={within},cell=64,cells={data.draw(st.integers(1, 3))}"
        root = data.draw(st.integers(0, len(node_of) - 1))
        size = data.draw(st.sampled_from([0, 1, 63, 200]))
        assume(
            not _core.why_invalid(topology, algorithm.operation, size, _core.parse_choice(algorithm.operation, text))
        )
        calls.append(_core.build(topology, algorithm.operation, size, root, text))
    violations = _core.verify_sequence(calls)
    assert not violations, lines(violations)


@settings(thorough, max_examples=150)
@given(cases(), st.booleans())
def test_the_built_in_choice_is_correct_and_applies(case: Case, oversubscribed: bool) -> None:
    topology = _core.Topology(case.node_of, case.single_copy, oversubscribed)
    decision = _core.choose(topology, case.operation, case.bytes, case.root)
    assert decision.reason
    assert not _core.why_invalid(topology, case.operation, case.bytes, decision.choice)
    violations = _core.verify(_core.build(topology, case.operation, case.bytes, case.root, decision.choice))
    assert not violations, lines(violations)


@settings(thorough, max_examples=200)
@given(cases())
def test_windows_that_are_said_to_have_one_reader_are_read_by_one_rank_or_once(case: Case) -> None:
    """One rank may want the same bytes twice, as a neighbourhood does that has it twice."""
    plan = case.build()
    written, read = [0] * len(case.node_of), [0] * len(case.node_of)
    readers: list[set[int]] = [set() for _ in case.node_of]
    for rank, program in enumerate(plan.programs):
        neighbours = [other for other, node in enumerate(case.node_of) if node == case.node_of[rank]]
        for step in program.steps:
            if step.op == "put" or (step.op in ("recv", "pull", "copy", "reduce") and step.buffer == "window"):
                written[rank] += step.bytes
            if step.op == "get" or (step.op == "reduce" and step.far_buffer == "window"):
                owner = neighbours[step.neighbour]
                read[owner] += step.bytes * (owner != rank)
                readers[owner] |= {rank} - {owner}
    for rank, program in enumerate(plan.programs):
        is_read_by_one = len(readers[rank]) <= 1
        assert not program.has_one_reader or is_read_by_one or read[rank] <= written[rank], rank


@settings(thorough, max_examples=100)
@given(cases())
def test_choices_survive_being_written_down(case: Case) -> None:
    plan = case.build()
    again = replace(case, choice=str(plan.choice)).build()
    assert again.programs == plan.programs


@settings(thorough, max_examples=100)
@given(cases())
def test_what_is_sent_arrives(case: Case) -> None:
    traffic = case.build().traffic()
    for out, into in (
        ("messages_out", "messages_in"),
        ("bytes_out", "bytes_in"),
        ("connections_out", "connections_in"),
    ):
        assert sum(node[out] for node in traffic) == sum(node[into] for node in traffic)


@settings(thorough, max_examples=100)
@given(cases())
def test_a_broadcast_sends_its_bytes_once_to_every_other_node(case: Case) -> None:
    plan = case.build()
    if case.operation == "broadcast":
        assert sum(node["bytes_out"] for node in plan.traffic()) == case.bytes * (plan.topology.nodes - 1)
