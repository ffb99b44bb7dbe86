"""espalier explain --html: who holds which bytes when, counted from the steps; and what MPI libraries usually do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.draw.plan_page import Shown, draw_plan_page
from espalier.simulation.contents import Buffer, Extent, combine, follow
from espalier.simulation.usual import usual_choice
from workshop import Command

NODE_OF = [0, 0, 0, 1, 2, 2, 2, 2]
ALL = frozenset(range(len(NODE_OF)))
# The vectors' elements are so long that every algorithm divides them, and not evenly.
SIZE = 3000


def extent(first: int, last: int, at: int = 0, *origins: int) -> Extent:
    return Extent(first, last, at, frozenset(origins))


def test_a_write_replaces_what_it_covers_and_splits_what_it_cuts() -> None:
    buffer = Buffer([extent(0, 100, 0, 1)])
    buffer.write(40, 60, [extent(0, 20, 500, 2)])
    assert buffer.read(30, 70) == [extent(0, 10, 30, 1), extent(10, 30, 500, 2), extent(30, 40, 60, 1)]


def test_operands_are_combined_where_they_are_of_the_same_bytes() -> None:
    left = [extent(0, 10, 0, 1), extent(10, 20, 10, 2)]
    assert combine(left, [extent(0, 20, 0, 3)]) == [extent(0, 10, 0, 1, 3), extent(10, 20, 10, 2, 3)]
    assert combine(left, [extent(0, 20, 7, 3)]) == []


def is_covered(first: int, last: int, pieces: Iterable[tuple[int, int]]) -> bool:
    for begin, end in sorted(pieces):
        if begin <= first:
            first = max(first, end)
    return first >= last


def algorithms() -> list[tuple[str, str]]:
    core = load_core()
    topology = core.Topology(NODE_OF, True)
    known = [(it.operation, it.between) for it in core.algorithms() if it.operation != "barrier"]
    return [
        (operation, name)
        for operation, name in known
        if not core.why_invalid(topology, operation, SIZE, core.parse_choice(operation, name))
    ]


@pytest.mark.parametrize(("operation", "name"), algorithms())
def test_in_the_end_every_rank_holds_what_the_operation_gives_it(operation: str, name: str) -> None:
    core = load_core()
    plan = core.build(core.Topology(NODE_OF, True), operation, SIZE, 2, core.parse_choice(operation, name))
    facts = json.loads(re.search(r"const plans = (.*);\n", page_of(plan))[1])[0]  # type: ignore[index]
    for rank, (first, last, level) in enumerate(facts["needs"]):
        held = [(it[2], it[3]) for it in facts["holds"] if it[1] == rank and it[4] >= level]
        assert is_covered(first, last, held), f"rank {rank} lacks some of {first} to {last} from {level} ranks"


def page_of(plan: Any) -> str:
    return draw_plan_page(load_core(), "a plan", [Shown("ours", plan)], NODE_OF)


def test_nobody_holds_anything_before_it_can_be_there() -> None:
    core = load_core()
    plan = core.build(core.Topology(NODE_OF, True), "broadcast", SIZE, 0, core.parse_choice("broadcast", "flat"))
    total, spans, flights = core.play(plan)
    first = {it.rank: it.us for it in reversed(list(follow(plan, NODE_OF, spans)))}
    assert first[0] == 0
    assert first[4] >= min(arrival for _, to, _, _, arrival in flights if to == 4) > 0
    assert max(first.values()) <= total


def test_the_usual_algorithm_is_known_by_size_and_only_between_nodes() -> None:
    core = load_core()
    topology = core.Topology(NODE_OF, True)
    assert usual_choice(core, topology, "broadcast", 1 << 10).between == "knomial"  # type: ignore[union-attr]
    assert usual_choice(core, topology, "broadcast", 1 << 20).between == "scatter_allgather"  # type: ignore[union-attr]
    assert usual_choice(core, core.Topology([0, 0], True), "broadcast", 1 << 20) is None


def test_plans_too_large_to_be_watched_are_refused() -> None:
    core = load_core()
    node_of = [rank // 10 for rank in range(100)]
    plan = core.build(core.Topology(node_of, True), "broadcast", 8, 0, core.parse_choice("broadcast", "knomial"))
    with pytest.raises(UserError, match="too many to watch"):
        draw_plan_page(core, "", [Shown("", plan)], node_of)


@pytest.fixture(scope="module")
def browser() -> list[str]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here")
    return [path, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]


def test_the_page_plays_in_a_browser(command: Command, tmp_path: Path, browser: list[str]) -> None:
    page = tmp_path / "plan.html"
    asked = ("broadcast", "--nodes", "4", "--ppn", "4", "--algorithm", "chain", "--rank", "none", "--html", str(page))
    assert command("explain", *asked).code == 0

    def dom(at: str) -> str:
        return subprocess.run(
            [*browser, f"file://{page}#{at}"], capture_output=True, text=True, timeout=120, check=True
        ).stdout

    assert "1 of 16 ranks have all they need" in dom("0")
    assert dom("1").count("16 of 16 ranks have all they need") == 2, "ours and the usual one"
