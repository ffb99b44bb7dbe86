"""espalier table and what explain says of a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from espalier.base.core import load_core
from espalier.tuning.problems.problem import Problem
from espalier.tuning.search.decisions import Decision
from espalier.tuning.search.meetings import Meeting
from espalier.tuning.table.file import format_table, rows_of
from espalier.tuning.table.lookup import consult_table
from tuning_bench import a_machine
from workshop import MPI_TEXT, Command, make_mpi

KNOMIAL = "knomial,radix=2,within=cells,cell=32K,cells=4"


def decided(operation: str, size: int, selection: str, own: float = 1.0) -> Decision:
    return Decision(Problem(operation, size), selection, 2.0, own, 1.9, 2.1, 100, selection, own, "")


@pytest.fixture
def write(tmp_path: Path):
    """Writes a table for this machine under the stand-in MPICH."""

    def put(name: str, *decisions: Decision, mpi: str = "MPICH Version: 5.0.2", machine: str | None = None) -> Path:
        core = load_core()
        here = core.probe_signature(mpi)
        signature = core.Signature(machine or here.machine, here.mpi)
        path = tmp_path / name
        path.write_text(format_table(core, signature, {"when": "today"}, rows_of(decisions, a_machine(2))))
        return path

    return put


@pytest.fixture
def mpich(tmp_path: Path, only_mpis) -> None:
    make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "mpich")


def test_show_prints_for_whom_and_every_row(command: Command, write) -> None:
    path = write("table.json", decided("broadcast", 1024, "tiny"), decided("barrier", 0, "native"))
    out = command("table", "show", str(path)).out
    for text in ("MPICH Version: 5.0.2", "when today", "broadcast", "tiny", "barrier", "native", "2.00", "1.90–2.10"):
        assert text in out
    assert json.loads(command("table", "show", str(path), "--json").out)["espalier_table"] == 1


def test_uneven_forms_are_shown_by_their_own_names(command: Command, write) -> None:
    path = write("table.json", decided("gather", 64, "tiny"), decided("gatherv", 64, "native"))
    lines = command("table", "show", str(path)).out.splitlines()
    assert [line.split()[1] for line in lines[-2:]] == ["gatherv", "gather"]


def test_rows_over_two_transports_stand_side_by_side(
    command: Command, write, mpich: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("table.json", decided("broadcast", 1024, KNOMIAL))
    table = json.loads(path.read_text())
    (row,) = table["rows"]
    row |= {"nodes": [2, 2]}
    table["rows"] = [row, {**row, "transport": "ucx"}]
    path.write_text(json.dumps(table))
    assert "2 over ucx" in command("table", "show", str(path)).out
    assert command("table", "check", str(path)).code == 0
    for number, transport in enumerate(("mpi", "ucx"), 1):
        monkeypatch.setenv("ESPALIER_TRANSPORT", transport)
        fired = consult_table(load_core(), a_machine(2, 2).topology, "broadcast", 1024, path)
        assert fired is not None
        assert fired.row == number


def test_where_the_processors_lay_is_said_of_the_table_and_of_the_row(command: Command, write) -> None:
    both, near = (
        replace(
            decided("broadcast", size, KNOMIAL), met=tuple(Meeting(KNOMIAL, distance, 1.2) for distance in distances)
        )
        for size, distances in ((1024, (110.0, 560.0)), (4096, (110.0,)))
    )
    path = write("table.json", both, near)
    table = json.loads(path.read_text())
    table["made"]["line_ns"] = [110, 560]
    path.write_text(json.dumps(table))
    out = command("table", "show", str(path)).out
    assert "processors 110 and 560 ns apart" in out
    assert "1 of 2 rows that are not native met it at one of these only" in out
    fired = consult_table(load_core(), a_machine(2).topology, "broadcast", 4096, path)
    assert str(fired).endswith("with processors 110 ns apart")


@pytest.mark.parametrize("told", ["far", [None], {"near": 1}])
def test_distances_that_make_no_sense_are_passed_over(command: Command, write, told: object) -> None:
    path = write("table.json", decided("broadcast", 1024, KNOMIAL))
    table = json.loads(path.read_text())
    table["made"]["line_ns"] = table["rows"][0]["measured"]["line_ns"] = told
    path.write_text(json.dumps(table))
    assert "ns apart" not in command("table", "show", str(path)).out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "truncated: its JSON breaks off at its end, after 0 bytes"),
        ('{"espalier_table": 1, "rows": [', "truncated: its JSON breaks off"),
        ('{"espalier_table": 1, rows: []}', "corrupt: no JSON from byte 23 of 31 on"),
        ("[]", "not a table of Espalier"),
        ('{"espalier_table": 99}', "newer than this Espalier reads"),
    ],
)
def test_what_is_no_usable_table_is_refused_with_the_reason(
    command: Command, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "table.json").write_text(text)
    outcome = command("table", "show", str(tmp_path / "table.json"))
    assert outcome.code == 2
    assert message in outcome.err
    assert "cannot be read" in command("table", "show", str(tmp_path / "missing.json")).err


def test_diff_says_where_tables_select_differently(command: Command, write) -> None:
    one = write("one.json", decided("broadcast", 4, "tiny"), decided("barrier", 0, "tiny"))
    two = write("two.json", decided("broadcast", 4, "native"), decided("barrier", 0, "tiny"))
    same = command("table", "diff", str(one), str(one))
    assert (same.code, same.out) == (0, "the same selections everywhere\n")
    outcome = command("table", "diff", str(one), str(two), "--json")
    assert outcome.code == 1
    (difference,) = json.loads(outcome.out)["differences"]
    assert (difference["operation"], difference["first"], difference["second"]) == ("broadcast", "tiny", "native")
    assert "broadcast" in command("table", "diff", str(one), str(two)).out


def test_check_accepts_a_table_of_this_machine_and_mpi(command: Command, write, mpich: None) -> None:
    outcome = command("table", "check", str(write("table.json", decided("broadcast", 4, "tiny"))))
    assert outcome.code == 0
    assert "usable" in outcome.out


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        ({"machine": "a desk"}, "made for another machine (a desk)"),
        ({"mpi": "Open MPI v5"}, "another MPI (Open MPI v5)"),
    ],
)
def test_check_refuses_a_foreign_table(command: Command, write, mpich: None, foreign: dict, message: str) -> None:
    outcome = command("table", "check", str(write("table.json", decided("broadcast", 4, "tiny"), **foreign)))
    assert outcome.code == 1
    assert message in outcome.out


def test_check_finds_rows_that_never_fire_entries_that_lose_and_broken_guidelines(
    command: Command, write, mpich: None
) -> None:
    path = write("table.json", decided("scan", 64, "native", 9), decided("scan", 256, "native", 2))
    table = json.loads(path.read_text())
    lost = {**table["rows"][0], "selection": "tiny", "operation": "broadcast"}
    table["rows"] += [lost, lost]
    path.write_text(json.dumps(table))
    facts = json.loads(command("table", "check", str(path), "--json").out)
    assert not facts["usable"]
    assert "row 4 can never fire: row 3 matches first" in facts["problems"]
    assert any("row 3 is slower than native" in problem for problem in facts["problems"])
    assert any("scan is monotone" in remark for remark in facts["remarks"])


def test_of_several_tables_show_takes_the_first_and_check_the_one_that_fits(
    command: Command, write, mpich: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "espalier" / "tables"
    folder.mkdir(parents=True)
    write("espalier/tables/a.json", decided("broadcast", 4, "tiny"), mpi="Open MPI v5.0.11")
    write("espalier/tables/b.json", decided("barrier", 0, "tiny"))
    outcome = command("table", "check")
    assert outcome.code == 0, outcome.out
    assert "1 more table" in command("table", "show").err
    assert command("table", "show", str(folder / "a.json")).err == ""


def test_show_and_check_take_the_table_in_force(command: Command, write, mpich: None, monkeypatch) -> None:
    monkeypatch.setenv("ESPALIER_TABLE", str(write("table.json", decided("broadcast", 4, "tiny"))))
    assert "broadcast" in command("table", "show").out
    assert command("table", "check").code == 0
    monkeypatch.setenv("ESPALIER_TABLE", "off")
    assert "jobs load no table here" in command("table", "show").err


def test_check_lets_an_uneven_form_lose_a_little_at_a_size(command: Command, write, mpich: None) -> None:
    path = write("table.json", decided("gatherv", 64, "tiny"))
    table = json.loads(path.read_text())
    for chosen_us, code in ((1.03, 0), (1.2, 1)):
        table["rows"][0]["measured"] |= {"native_us": 1.0, "chosen_us": chosen_us}
        path.write_text(json.dumps(table))
        assert command("table", "check", str(path)).code == code


def test_check_counts_guidelines_that_held_side_by_side_and_names_the_others(
    command: Command, write, mpich: None
) -> None:
    sizes = (64, 9.0), (256, 5.0), (1024, 2.0)
    path = write("table.json", *(decided("scan", size, "native", us) for size, us in sizes))
    table = json.loads(path.read_text())
    table["made"]["guidelines_hold"] = ["scan is monotone in size at 64"]
    path.write_text(json.dumps(table))
    lines = command("table", "check", str(path)).out.splitlines()
    assert [line for line in lines if line.startswith("guideline:")] == [
        "guideline: scan is monotone in size at 256: 5.00 µs > 2.00 µs"
    ]
    assert any(line.startswith("guidelines: 1 more fail") for line in lines)
    assert len(json.loads(command("table", "check", str(path), "--json").out)["remarks"]) == 2


def test_show_cuts_nothing_where_there_is_no_terminal(command: Command, write) -> None:
    knobs = "knomial,radix=2,within=cells,cell=128K,cells=4,stores=streaming"
    path = write("table.json", decided("reduce_scatterv", 4, "native"), decided("broadcast", 2 << 20, knobs))
    out = command("table", "show", str(path)).out
    assert knobs in out
    assert "…" not in out


def test_explain_says_which_row_fires_and_what_it_measured(command: Command, write) -> None:
    knomial = "knomial,radix=2,within=cells,cell=8K,cells=4"
    path = write("table.json", decided("broadcast", 4, "tiny"), decided("broadcast", 65536, knomial))
    ask = ("explain", "bcast", "--ppn", "2", "--table", str(path), "--json", "--bytes")
    facts = json.loads(command(*ask, "64K").out)
    assert facts["choice"] == knomial
    assert facts["reason"].startswith(
        f"row 2 of {path} (MPICH Version: 5.0.2): native took 2.00 µs at 64K, this 1.00 µs"
    )
    assert (facts["table"]["row"], facts["table"]["selection"]) == (2, knomial)
    assert "dedicated path" in json.loads(command(*ask, "8").out)["reason"]
    assert json.loads(command(*ask, "1M").out)["table"] is None


def test_explain_passes_over_the_table_in_force_when_it_is_another_machines(
    command: Command, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("table.json", decided("broadcast", 65536, "native"), machine="a desk")
    monkeypatch.setenv("ESPALIER_TABLE", str(path))
    outcome = command("explain", "bcast", "--ppn", "2", "--json")
    assert json.loads(outcome.out)["table"] is None
    assert "made for another machine (a desk)" in outcome.err
