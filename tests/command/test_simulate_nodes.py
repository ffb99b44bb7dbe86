"""espalier simulate --node-platform, and where its platforms come from."""

from __future__ import annotations

import json
from pathlib import Path

from espalier.simulation.inside import InsideRequest, platform_names, read_platform, simulate_inside
from workshop import Command


def test_every_platform_says_where_it_comes_from_and_plays_a_barrier() -> None:
    for name in platform_names():
        text = read_platform(name)
        assert "MIT licence" in json.loads(text)["source"]
        assert simulate_inside(InsideRequest(text, "barrier", 0, ranks=16)).microseconds > 0


def test_simulate_shows_ours_beside_peers_and_draws_it(command: Command, tmp_path: Path) -> None:
    picture = tmp_path / "who-waits.svg"
    node = ("simulate", "bcast", "--bytes", "16K", "--node-platform", "epyc-7773x", "--ranks", "16")
    shown = command(*node, "--gantt", str(picture))
    assert shown.code == 0, shown.err
    assert "simulated, peers in shape only" in shown.out
    assert "<svg" in picture.read_text(encoding="utf-8")
    arms = json.loads(command(*node, "--json").out)["arms"]
    assert [arm["name"] for arm in arms] == ["ours", "flat", "tuned", "xhc", "acoll"]


def test_what_a_platform_does_not_have_is_said(command: Command) -> None:
    outcome = command("simulate", "bcast", "--node-platform", "abacus")
    assert outcome.code == 2
    assert "no node platform abacus" in outcome.err
    outcome = command("simulate", "bcast", "--node-platform", "graviton3", "--ranks", "65")
    assert outcome.code == 2
    assert "65 ranks on 64 cores" in outcome.err
