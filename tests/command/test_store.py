"""espalier table: tables of several machines and MPIs beside each other, tuned and learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from espalier.base.core import load_core

Write = Callable[..., Path]


def row_of(size: int, selection: str = "native") -> dict[str, Any]:
    measured = {"bytes": size, "native_us": 2, "chosen_us": 2, "lowest_ratio": 1, "highest_ratio": 1, "calls": 8}
    about = {"operation": "broadcast", "nodes": [1, 1], "ppn": [2, 2], "bytes": [size, size]}
    return {**about, "selection": selection, "measured": measured}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, as jobs look for it; nothing else is in force."""
    for name in ("ESPALIER_TABLE", "ESPALIER_STORE", "ESPALIER_LEARN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "espalier" / "tables"
    folder.mkdir(parents=True)
    return folder


def write(
    path: Path, *rows: Mapping[str, Any], machine: str = "", mpi: str = "MPICH Version: 5.0.2", **more: Any
) -> Path:
    machine = machine or load_core().probe_signature("").machine
    path.write_text(json.dumps({"espalier_table": 1, "machine": machine, "mpi": mpi, **more, "rows": list(rows)}))
    return path


def test_list_names_what_jobs_look_at_and_what_is_of_no_use(config: Path, command: Any) -> None:
    write(config / "tuned-mpich.json", row_of(4))
    write(config / "learned-openmpi.json", row_of(4), row_of(64), mpi="Open MPI v5.0.11", learned=True)
    (config / "torn.json").write_text("{")
    tables = json.loads(command("table", "list", "--json").out)["tables"]
    assert [(Path(it["path"]).name, it.get("kind"), it.get("rows")) for it in tables] == [
        ("torn.json", None, None),
        ("tuned-mpich.json", "tuned", 1),
        ("learned-openmpi.json", "learned", 2),
    ]
    assert "truncated" in tables[0]["trouble"]
    assert "of no use" in command("table", "list").out


def test_list_says_how_tables_come_about_where_there_are_none(config: Path, command: Any) -> None:
    assert "ESPALIER_LEARN" in command("table", "list").out


def test_merge_takes_the_later_rows_about_the_same_calls(config: Path, command: Any, tmp_path: Path) -> None:
    first = write(tmp_path / "a.json", row_of(4), row_of(64))
    second = write(tmp_path / "b.json", row_of(64, "tiny"), row_of(256))
    outcome = command("table", "merge", str(first), str(second), "-o", str(tmp_path / "all.json"))
    assert outcome.code == 0, outcome.err
    rows = json.loads((tmp_path / "all.json").read_text())["rows"]
    assert sorted((row["bytes"][0], row["selection"]) for row in rows) == [(4, "native"), (64, "tiny"), (256, "native")]


def test_merge_refuses_tables_of_different_machines(config: Path, command: Any, tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.json", row_of(4)), write(tmp_path / "b.json", row_of(4), machine="a desk")
    outcome = command("table", "merge", str(first), str(second), "-o", str(tmp_path / "all.json"))
    assert outcome.code != 0
    assert "a desk" in outcome.err
    assert not (tmp_path / "all.json").exists()


def test_a_table_goes_to_another_machine_and_is_found_there(config: Path, command: Any, tmp_path: Path) -> None:
    write(config / "learned-mpich.json", row_of(4), learned=True)
    assert command("table", "export", "-o", str(tmp_path / "out.json")).code == 0
    assert command("table", "forget").code == 0
    assert not list(config.glob("*.json"))
    assert command("table", "import", str(tmp_path / "out.json")).code == 0
    (table,) = json.loads(command("table", "list", "--json").out)["tables"]
    assert (table["kind"], table["rows"]) == ("learned", 1)


def test_a_table_of_one_row_has_one_row_and_goes_to_no_folder_that_is_not_there(
    config: Path, command: Any, tmp_path: Path
) -> None:
    write(config / "tuned-mpich.json", row_of(4))
    assert ": 1 row of " in command("table", "export", "-o", str(tmp_path / "out.json")).out
    for words in (("export",), ("merge", str(tmp_path / "out.json"))):
        outcome = command("table", *words, "-o", str(tmp_path / "new" / "folder" / "x"))
        assert outcome.code == 2
        assert f"there is no folder {tmp_path / 'new'}\n" in outcome.err
        assert not (tmp_path / "new").exists()


def test_what_is_done_with_tables_is_told_as_json(config: Path, command: Any, tmp_path: Path) -> None:
    learned = write(config / "learned-mpich.json", row_of(4), learned=True)
    out, image = str(tmp_path / "out.json"), str(tmp_path / "image")

    def tell(*words: str) -> Any:
        outcome = command("table", *words, "--json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    exported = tell("export", "-o", out)
    assert (exported["path"], exported["rows"], exported["kind"]) == (out, 1, "learned")
    assert exported["source"] == str(learned)
    assert tell("merge", out, out, "-o", str(tmp_path / "both.json"))["rows"] == 1
    assert tell("install", "--system", "--root", image, out)["path"].startswith(image)
    assert tell("forget") == {"removed": [str(learned)]}
    assert tell("forget") == {"removed": []}
    imported = tell("import", out)
    assert imported in tell("list")["tables"]


def test_forget_leaves_tuned_tables_alone(config: Path, command: Any) -> None:
    tuned = write(config / "tuned-mpich.json", row_of(4))
    learned = write(config / "learned-mpich.json", row_of(4), learned=True)
    assert str(learned) in command("table", "forget").out
    assert tuned.exists()
    assert not learned.exists()
    assert "nothing was learned" in command("table", "forget").out


def test_install_is_for_all_users_and_says_so(config: Path, command: Any, tmp_path: Path) -> None:
    table = write(tmp_path / "a.json", row_of(4))
    refused = command("table", "install", str(table))
    assert refused.code != 0
    assert "--system" in refused.err
    assert command("table", "install", "--system", "--root", str(tmp_path / "image"), str(table)).code == 0
    (place,) = (tmp_path / "image" / "etc" / "espalier" / "tables").glob("tuned-mpich-version-5-*.json")
    assert json.loads(place.read_text())["rows"]


def test_explain_finds_the_row_in_whichever_table_has_it(config: Path, command: Any) -> None:
    write(config / "tuned-mpich.json", row_of(4))
    learned = write(config / "learned-mpich.json", row_of(1024, "tiny"), learned=True)
    facts = json.loads(command("explain", "bcast", "--ppn", "2", "--bytes", "1K", "--json").out)
    assert facts["table"]["table"] == str(learned)
