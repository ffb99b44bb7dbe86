"""espalier simulate: answers, pictures and what it says to mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from espalier.errors import UserError
from espalier.libraries import find_simulator
from workshop import Command


@pytest.fixture(autouse=True)
def _simulator() -> None:
    try:
        find_simulator()
    except UserError as error:
        pytest.skip(str(error))


def test_what_does_not_apply_or_exist_is_said(command: Command) -> None:
    outcome = command("simulate", "bcast", "--platform", "torus:x=3", "--nodes", "2")
    assert outcome.code == 2
    assert "unknown kind of network 'torus'" in outcome.err
    outcome = command("simulate", "bcast", "--platform", "star:hosts=2", "--nodes", "4")
    assert outcome.code == 2
    assert "is not in the network, which has 2" in outcome.err
    outcome = command("simulate", "bcast", "--nodes", "64", "--ppn", "4", "--gantt", "x.svg")
    assert outcome.code == 2
    assert "--gantt draws up to 64 ranks" in outcome.err


def test_the_command_compares_algorithms_and_draws(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    outcome = command(
        "simulate", "allgather", "--bytes", "64K", "--nodes", "4", "--ppn", "2", "--platform", "star:hosts=4", "--all",
        "--json", "--gantt", str(picture),
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    arms = json.loads(outcome.out)["arms"]
    assert arms[0]["name"] == "built-in choice"
    assert {"allgather_ring", "allgather_bruck"} <= {arm["name"] for arm in arms}
    assert picture.read_text(encoding="utf-8").count("<line") > 8
