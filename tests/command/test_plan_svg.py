"""espalier explain --svg: the pictures are counted from the plans."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from espalier.base.core import load_core
from espalier.base.errors import UserError
from espalier.draw.plan_svg import draw_plan, find_masters, find_panels

NODE_OF = [rank // 4 for rank in range(16)]


def a_plan(operation: str, choice: str) -> object:
    core = load_core()
    return core.build(core.Topology(NODE_OF, True), operation, 1024, 0, choice)


def test_masters_are_who_has_messages() -> None:
    assert find_masters(a_plan("allgather", "multi_group,groups=2")) == {0, 2, 4, 6, 8, 10, 12, 14}
    assert find_masters(a_plan("allgather", "single_group_direct")) == {0, 4, 8, 12}


def test_panels_are_the_phases_with_what_they_move() -> None:
    gather, exchange, spread = find_panels(a_plan("allgather", "multi_group,groups=2"), NODE_OF)
    assert [panel.name for panel in (gather, exchange, spread)] == ["phase 1", "phase 2", "phase 3"]
    assert not gather.messages
    assert len(exchange.messages) == 4 * 6
    assert {move.bytes for move in exchange.messages} == {2048}
    assert sum(move.bytes for move in spread.local if move.target == -1) == 4 * 2 * 8 * 1024


def test_a_plan_without_phases_is_one_panel() -> None:
    (panel,) = find_panels(a_plan("broadcast", "chain,segment=1K"), NODE_OF)
    assert [(move.source, move.target, move.bytes) for move in panel.messages] == [
        (0, 4, 1024), (4, 8, 1024), (8, 12, 1024)
    ]  # fmt: skip


def test_every_operation_can_be_drawn(tmp_path: Path) -> None:
    core = load_core()
    topology = core.Topology([0, 0, 0, 1, 2, 2], True)
    for operation in {algorithm.operation for algorithm in core.algorithms()}:
        plan = core.build(topology, operation, 4096, 0, core.choose(topology, operation, 4096).choice)
        picture = ElementTree.fromstring(draw_plan(plan, [0, 0, 0, 1, 2, 2], operation))
        assert picture.tag.endswith("svg")


def test_too_many_ranks_for_a_picture_are_refused() -> None:
    core = load_core()
    node_of = list(range(13))
    plan = core.build(core.Topology(node_of), "broadcast", 8, 0, "knomial")
    with pytest.raises(UserError, match="too many for a picture"):
        draw_plan(plan, node_of, "")


def test_explain_writes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "plan.svg"
    command = [sys.executable, "-m", "espalier", "explain", "allgather", "--nodes", "2", "--ppn", "2", "--rank", "none"]
    done = subprocess.run([*command, "--svg", str(file)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "node 1" in file.read_text()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "plan.svg"
    command = [sys.executable, "-m", "espalier", "explain", "allgather", "--svg", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(f"espalier: --svg {file}: there is no folder {file.parent}")
