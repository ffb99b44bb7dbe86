"""From decisions to rows: which sizes a row speaks for, what is written, what an older table keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import BUILT_IN, Decision, unmeasured
from espalier.tuning.table.file import format_table, merge_rows, preferred_transport, read_table, rows_of, write_table
from espalier.tuning.table.unreached import leave_unreached
from tuning_bench import a_machine

KNOMIAL = "knomial,radix=2,within=cells,cell=32K,cells=4"


def decided(operation: str, size: int, selection: str) -> Decision:
    return Decision(Problem(operation, size), selection, 2.0, 1.0, 1.9, 2.1, 100, selection, 1.0, "")


def ranges(*decisions: Decision) -> list[list[int]]:
    return [row["bytes"] for row in rows_of(decisions, a_machine(2))]


def test_each_size_speaks_for_those_nearest_to_it() -> None:
    sizes = [decided("broadcast", size, KNOMIAL) for size in (4, 16, 64)]
    assert ranges(*sizes) == [[0, 8], [9, 32], [33, 127]]


def test_far_apart_sizes_leave_what_lies_between_to_the_built_in_choice() -> None:
    assert ranges(decided("broadcast", 4, KNOMIAL), decided("broadcast", 65536, KNOMIAL)) == [[0, 15], [16384, 131071]]


def test_a_selection_speaks_for_no_size_it_does_not_apply_to_and_its_neighbour_takes_over() -> None:
    spans = ranges(decided("broadcast", 4096, "tiny"), decided("broadcast", 16384, KNOMIAL))
    assert spans == [[1024, 4144], [4145, 32767]]


def test_a_barrier_has_one_size() -> None:
    assert ranges(decided("barrier", 0, "tiny")) == [[0, 0]]


def test_a_problem_that_could_not_be_measured_has_no_row() -> None:
    assert rows_of([Decision(Problem("barrier", 0), "native", 0, 0, 1, 1, 0, "", 0, "lost")], a_machine(2)) == []


@given(st.sets(st.integers(1, 1 << 22), min_size=1, max_size=12), st.sampled_from([KNOMIAL, "native"]))
def test_ranges_hold_their_sizes_and_never_overlap(sizes: set[int], selection: str) -> None:
    spans = ranges(*(decided("broadcast", size, selection) for size in sizes))
    assert all(first <= size <= last for (first, last), size in zip(spans, sorted(sizes), strict=True))
    assert all(one[1] < other[0] for one, other in pairwise(spans))


def a_text(rows: list[dict]) -> str:
    core = load_core()
    return format_table(core, core.Signature("a box", "an MPI"), {"when": "today"}, rows)


def test_what_is_written_is_read_back_by_the_library(tmp_path: Path) -> None:
    rows = rows_of([decided("broadcast", 4, "tiny"), decided("barrier", 0, "native")], a_machine(3, 1))
    write_table(load_core(), tmp_path / "new" / "table.json", a_text(rows))
    table = read_table(load_core(), tmp_path / "new" / "table.json")
    assert [(row.operation, row.selection) for row in table.core.rows] == [("broadcast", "tiny"), ("barrier", "native")]
    assert (table.core.rows[0].nodes, table.core.rows[0].ppn) == ((2, 2), (3, 3))
    assert table.core.signature.machine == "a box"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["table.json"]


def test_every_row_has_a_line_of_its_own() -> None:
    text = a_text(rows_of([decided("broadcast", 4, "tiny"), decided("barrier", 0, "tiny")], a_machine(2)))
    assert sum('"selection"' in line for line in text.splitlines()) == 2
    assert json.loads(text)["espalier_table"] == 1


def test_a_table_that_the_library_would_refuse_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown algorithm"):
        write_table(
            load_core(), tmp_path / "table.json", a_text(rows_of([decided("barrier", 0, "magic")], a_machine(2)))
        )
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write"):
        write_table(load_core(), tmp_path / "file" / "table.json", a_text([]))


def test_new_rows_replace_old_ones_about_the_same_and_keep_the_rest() -> None:
    old = rows_of([decided("broadcast", 4, "tiny"), decided("broadcast", 1024, "tiny")], a_machine(2))
    old += rows_of([decided("broadcast", 4, "tiny")], a_machine(4))
    new = rows_of([decided("broadcast", 4, "native")], a_machine(2))
    merged = merge_rows(old, new)
    kept = [(row["ppn"][0], row["measured"]["bytes"], row["selection"]) for row in merged]
    assert kept == [(2, 4, "native"), (2, 1024, "tiny"), (4, 4, "tiny")]


def test_rows_follow_the_published_schema() -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "table-schema.json").read_text())
    table = json.loads(a_text(rows_of([decided("broadcast", 4, "tiny")], a_machine(2))))
    assert set(table) | {"transport", "model", "learned"} == set(schema["properties"])
    (row,) = table["rows"]
    assert set(row) | {"form", "transport", "learned"} == set(schema["$defs"]["row"]["properties"])
    assert set(row["measured"]) | {"line_ns"} == set(schema["$defs"]["measured"]["properties"])


def over(transport: str, chosen_us: float, shape: tuple[int, ...] = (2, 2)) -> list[dict]:
    decision = replace(decided("allgather", 4096, "ring"), chosen_us=chosen_us)
    return rows_of([decision], replace(a_machine(*shape), transport=transport))


def test_rows_say_which_transport_they_were_measured_over() -> None:
    assert [row.get("transport") for row in (*over("mpi", 1.0), *over("ucx", 1.0))] == [None, "ucx"]
    assert "transport" not in over("ucx", 1.0, (2,))[0], "on one node nothing is carried"
    assert merge_rows(over("mpi", 1.0), over("ucx", 1.0)) == [*over("ucx", 1.0), *over("mpi", 1.0)]


def test_a_table_names_the_transport_that_was_faster_where_both_were_measured() -> None:
    assert preferred_transport([*over("mpi", 1.0), *over("ucx", 0.5)]) == "ucx"
    assert preferred_transport([*over("mpi", 1.0), *over("ucx", 0.98)]) == "mpi", "not worth another library"
    assert preferred_transport(over("ucx", 0.5)) == "mpi", "nobody knows what MPI would have taken"
    table = load_core().Table.parse(a_text([*over("mpi", 1.0), *over("ucx", 0.5)]), "it")
    assert table.transport == "ucx"
    found = [table.find(a_machine(2, 2).topology, "allgather", 4096, name).chosen_us for name in ("", "mpi", "ucx")]
    assert found == [0.5, 1.0, 0.5]


def test_rows_about_uneven_blocks_come_first_and_name_the_operation() -> None:
    ring = "ring,within=cells,cell=32K,cells=4"
    rows = rows_of([decided("allgather", 64, "tiny"), decided("allgatherv", 64, ring)], a_machine(2))
    assert [(row["operation"], row.get("form"), row["selection"]) for row in rows] == [
        ("allgather", "uneven", ring),
        ("allgather", None, "tiny"),
    ]
    table = load_core().Table.parse(a_text(rows), "it")
    assert [row.uneven for row in table.rows] == [True, False]
    assert table.find(a_machine(2).topology, "allgather", 64).selection == "tiny"


@pytest.mark.parametrize(("operation", "form"), [("allgather", "allgatherv"), ("gather", "gatherv")])
def test_uneven_blocks_that_nobody_has_measured_do_not_follow_the_rows_of_equal_ones(operation: str, form: str) -> None:
    ring = "ring,within=cells,cell=32K,cells=4" if operation == "allgather" else KNOMIAL
    machine, even = a_machine(2, 2), decided(operation, 4096, ring)
    rows = rows_of([even], machine, leave_unreached(machine, [even.problem], {even.problem: even}))
    assert [(row.get("form"), row["selection"]) for row in rows] == [("uneven", "native"), (None, ring)]
    assert rows[0]["bytes"][0] <= rows[1]["bytes"][0]
    assert rows[0]["bytes"][1] >= rows[1]["bytes"][1]
    assert load_core().Table.parse(a_text(rows), "it").rows[0].calls == 0
    measured = rows_of([even, decided(form, 4096, ring)], machine)
    assert merge_rows(rows, measured) == measured, "a later run that gets there takes its place"


def test_what_was_not_reached_has_room_between_rows_about_others() -> None:
    decisions = [decided("broadcast", 4096, KNOMIAL), decided("broadcast", 65536, KNOMIAL)]
    assert [row["bytes"] for row in rows_of(decisions, a_machine(2))] == [[1024, 16383], [16384, 131071]]
    for selection, spans in ((BUILT_IN, [[1024, 8192], [32769, 131071]]), ("native", [[1024, 8192], [8193, 32768]])):
        rows = rows_of(decisions, a_machine(2), [unmeasured(Problem("broadcast", 16384), selection)])
        assert [row["bytes"] for row in rows][:2] == spans
    assert (rows[1]["selection"], rows[1]["measured"]["calls"]) == ("native", 0)


def test_a_form_whose_sizes_must_be_exchanged_is_native_at_all_but_short_blocks_or_not_at_all() -> None:
    machine = a_machine(2, single_copy=False)
    mixed = [decided("gatherv", 64, "native"), decided("gatherv", 65536, KNOMIAL)]
    (row,) = rows_of(mixed, machine)
    assert (row["selection"], row["bytes"][0]) == ("native", 0)
    assert row["bytes"][1] >= 1 << 40
    assert len(rows_of([decided("gatherv", 64, KNOMIAL), decided("gatherv", 65536, KNOMIAL)], machine)) == 2


def test_short_blocks_before_native_ones_leave_no_gap_that_would_need_sizes() -> None:
    sizes = {4: "tiny", 64: "tiny", 1024: "native", 16384: "native"}
    machine = a_machine(2, single_copy=False)
    rows = rows_of([decided("gatherv", size, selection) for size, selection in sizes.items()], machine)
    assert [(row["selection"], row["bytes"][0]) for row in rows] == [("tiny", 0), ("tiny", 16), ("native", 256)]
    assert (rows[1]["bytes"][1], rows[2]["bytes"][1]) == (255, 1 << 40)
    assert rows[2]["measured"]["bytes"] == 1024


@pytest.mark.parametrize(
    ("ways", "begins"), [(("tiny", "tiny"), [0, 513]), (("tiny", "native"), [0, 513]), (("native", "native"), [0])]
)
def test_a_form_that_the_dedicated_path_takes_at_any_size_has_rows_about_all_sizes(
    ways: Sequence[str], begins: list[int]
) -> None:
    decisions = [decided("gatherv", size, way) for size, way in zip((64, 4096), ways, strict=True)]
    rows = rows_of(decisions, a_machine(3))
    assert [row["bytes"][0] for row in rows] == begins
    assert rows[-1]["bytes"][1] == 1 << 40
    assert [row["selection"] for row in rows] == list(ways)[: len(begins)]


def test_where_the_look_brings_sizes_along_every_size_has_its_row() -> None:
    sizes = {4: "tiny", 64: "tiny", 16384: KNOMIAL, 1 << 20: "native"}
    machine = a_machine(2, single_copy=False)
    rows = rows_of([decided("gatherv", size, selection) for size, selection in sizes.items()], machine)
    assert [row["selection"] for row in rows] == list(sizes.values())


def test_a_form_whose_size_both_of_two_ranks_know_has_a_row_for_each_size_and_no_gap() -> None:
    sizes = {64: "tiny", 1024: "native", 16 << 10: "tiny,window=32K", 1 << 20: "native", 4 << 20: "tiny"}
    rows = rows_of([decided("gatherv", size, way) for size, way in sizes.items()], a_machine(2))
    assert [row["selection"] for row in rows] == list(sizes.values())
    assert (rows[0]["bytes"][0], rows[-1]["bytes"][1]) == (0, 1 << 40)
    assert all(one["bytes"][1] + 1 == other["bytes"][0] for one, other in pairwise(rows))
