"""espalier algorithms: the catalogue, as text and as JSON."""

from __future__ import annotations

import json

from espalier.base.core import load_core
from workshop import Command


def test_every_algorithm_is_listed_with_what_the_registry_knows(command: Command) -> None:
    entries = json.loads(command("algorithms", "--json").out)["algorithms"]
    registry = load_core().algorithms()
    assert [entry["name"] for entry in entries] == [entry.name for entry in registry]
    assert all(entry["summary"] and entry["source"] for entry in entries)
    (chain,) = [entry for entry in entries if entry["name"] == "broadcast_chain"]
    assert chain["knobs"]["within"] == "cells|single_copy"


def test_one_operation_may_be_asked_for_by_either_name(command: Command) -> None:
    entries = json.loads(command("algorithms", "bcast", "--json").out)["algorithms"]
    assert {entry["operation"] for entry in entries} == {"broadcast"}
    assert entries == json.loads(command("algorithms", "broadcast", "--json").out)["algorithms"]
    out = " ".join(command("algorithms", "broadcast").out.split())
    assert "knomial" in out
    assert "tiny,window=32K" in out, "what tables select that is no algorithm of the catalogue is told, too"


def test_an_unknown_operation_is_refused_with_the_known_ones(command: Command) -> None:
    outcome = command("algorithms", "teleport")
    assert outcome.code == 2
    assert "'teleport' is no operation" in outcome.err
    assert "broadcast" in outcome.err


def test_for_a_size_it_says_what_applies_and_what_a_node_sends(command: Command) -> None:
    entries = json.loads(command("algorithms", "bcast", "--bytes", "64K", "--nodes", "4", "--json").out)["algorithms"]
    (chain,) = [entry for entry in entries if entry["name"] == "broadcast_chain"]
    assert chain["bytes"] == 65536
    assert chain["messages"] >= 1
    assert "applies: one node sends at most" in command("algorithms", "bcast", "--bytes", "64K").out
