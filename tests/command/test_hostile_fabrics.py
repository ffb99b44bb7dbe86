"""Dumps that lie, are cut off or are none: each folder of tests/data/fabric/hostile behaves as its EXPECT.txt says.

`oracle-routes.tsv` comes from a trace that checks nothing: where it arrives and we do too, the routes are equal.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from fabrics import DATA, expected_routes
from workshop import Command

HOSTILE = DATA / "hostile"


@dataclass(frozen=True)
class Outcome:
    """What must come of a folder: a fault that rejects it, or statuses of its 240 pairs, and what is found."""

    statuses: dict[str, int] = field(default_factory=dict)
    finding: str = ""
    fault: str = ""


OUTCOMES = {
    "01-truncated-nd": Outcome(fault="truncated"),
    "02-truncated-fts": Outcome({"ok": 36, "no-entry": 204}, "truncated-table"),
    "03-missing-one-lft": Outcome({"ok": 144, "no-entry": 96}, "missing-table"),
    "04-loop": Outcome({"ok": 228, "loop": 12}),
    "05-wrong-end": Outcome({"ok": 236, "wrong-end": 4}),
    "06-port255": Outcome({"ok": 236, "no-entry": 4}),
    "07-down-port": Outcome({"ok": 236, "port-down": 4}),
    "08-stale-wiring": Outcome({"ok": 144, "stale-table": 96}, "stale-table"),
    "09-stale-lft": Outcome({"ok": 240}, "missing-table"),
    "10-dup-guid": Outcome({"ok": 240}, "duplicate-guid"),
    "11-crlf": Outcome({"ok": 240}),
    "12-latin1-nul": Outcome({"ok": 240}),
    "13-long-line": Outcome({"ok": 240}),
    "14-bad-numbers": Outcome(fault="bad-number"),
    "15-dup-hostname": Outcome({"ok": 240}, "ambiguous-name"),
    "16-empty": Outcome(fault="empty"),
    "17-stderr-mixed": Outcome({"ok": 240}),
    "18-asymmetric": Outcome({"ok": 225, "wrong-end": 15}, "asymmetric-link"),
}


def test_every_folder_has_its_outcome() -> None:
    assert sorted(OUTCOMES) == sorted(path.name for path in HOSTILE.iterdir())


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_hostile_folder_behaves_as_expected(command: Command, name: str) -> None:
    folder, wanted = HOSTILE / name, OUTCOMES[name]
    outcome = command("routes", "--fabric", str(folder), "--all")
    if wanted.fault:
        assert outcome.code == 2
        assert f"{wanted.fault}:" in outcome.err
        assert outcome.out == "", "never an answer from half a graph"
        return
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert Counter(line.split("\t")[2] for line in lines) == wanted.statuses
    if wanted.finding != "ambiguous-name":  # a trace by names loses one of the two
        assert _ways(lines) <= _ways(expected_routes(folder, "oracle-routes.tsv"))
    report = json.loads(command("fabric", "check", str(folder), "--json").out)
    kinds = {finding["kind"] for finding in report["findings"]}
    assert wanted.finding in kinds if wanted.finding else not kinds


def _ways(lines: Iterable[str]) -> set[str]:
    """The switches and ports of routes that arrive; names may not be text."""
    return {line.split("\t")[4] for line in lines if "\tok\t" in line}
