"""espalier fabric collect, with stand-ins for InfiniBand's tools (with the real ones: test_fabric_live.py)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from espalier.service.collecting import follow
from fabrics import DATA, read
from workshop import Command

BASELINE = DATA / "s16" / "00-baseline"
LATER = DATA / "s16" / "03-spine02-removed"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder first in PATH whose tools print the baseline."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for tool in ("ibnetdiscover", "dump_fts"):
        put_tool(folder, tool, f"cat '{BASELINE / tool}.txt'")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def put_tool(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_dumps_are_checked_and_put_into_place(command: Command, tools: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "dumps"
    outcome = command("fabric", "collect", str(folder))
    assert outcome.code == 0
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        name: read(BASELINE / name) for name in ("ibnetdiscover.txt", "dump_fts.txt")
    }


@pytest.mark.parametrize(
    ("tool", "script", "says"),
    [
        ("ibnetdiscover", "echo 'no device' >&2; exit 3", "ibnetdiscover failed: no device"),
        ("dump_fts", "exit 3", "dump_fts failed: exit code 3"),
        ("ibnetdiscover", f"head -c 2000 '{BASELINE}/ibnetdiscover.txt'", "truncated"),
        ("ibnetdiscover", "true", "empty"),
        ("dump_fts", f"head -c 2000 '{BASELINE}/dump_fts.txt'", "the dumps do not fit together: truncated-table"),
        ("dump_fts", "true", "the dumps do not fit together: missing-tables"),
        ("dump_fts", "printf 'no\\033[2J device' >&2; exit 3", "dump_fts failed: no\\x1b[2J device"),
        ("dump_fts", "exec sleep 30", "not ended within 1 s"),
    ],
)
def test_what_is_not_good_changes_nothing(
    command: Command, tools: Path, tmp_path: Path, tool: str, script: str, says: str
) -> None:
    folder = tmp_path / "dumps"
    assert command("fabric", "collect", str(folder)).code == 0
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    put_tool(tools, tool, script)
    outcome = command("fabric", "collect", str(folder), "--limit", "1")
    assert outcome.code == 2
    assert says in outcome.err
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before


def test_a_network_that_changed_between_the_dumps_is_dumped_again(
    command: Command, tools: Path, tmp_path: Path
) -> None:
    for name in ("ibnetdiscover.txt", "dump_fts.txt"):
        (tmp_path / f"later-{name}").write_text(read(LATER / name))
    # The first tables are from before the switch was removed.
    put_tool(tools, "ibnetdiscover", f"cat '{tmp_path}/later-ibnetdiscover.txt'")
    again = (
        f"if [ -e '{tmp_path}/again' ]; then cat '{tmp_path}/later-dump_fts.txt'; exit; fi; touch '{tmp_path}/again'"
    )
    put_tool(tools, "dump_fts", f"{again}; cat '{BASELINE}/dump_fts.txt'")
    assert command("fabric", "collect", str(tmp_path / "dumps")).code == 0
    assert (tmp_path / "dumps" / "dump_fts.txt").read_text() == read(LATER / "dump_fts.txt")


def test_a_folder_that_takes_nothing_is_named(command: Command, tools: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", Path("/proc/nowhere")):
        outcome = command("fabric", "collect", str(folder))
        assert outcome.code == 2
        assert f"cannot write into {folder}" in outcome.err


def test_missing_tools_are_named(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    outcome = command("fabric", "collect", str(tmp_path / "dumps"))
    assert outcome.code == 2
    assert "there is no ibnetdiscover here" in outcome.err
    assert "infiniband-diags" in outcome.err
    assert not (tmp_path / "dumps").exists(), "what has failed leaves nothing"


def test_one_collects_at_a_time_and_clears_what_a_killed_one_left(
    command: Command, tools: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "dumps"
    left = folder / ".collecting-left"
    left.mkdir(parents=True)
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    outcome = command("fabric", "collect", str(folder))
    assert outcome.code == 2
    assert "somebody else collects" in outcome.err
    assert left.exists()
    os.close(lock)
    assert command("fabric", "collect", str(folder)).code == 0
    assert not left.exists()


def test_news_in_the_log_are_a_reason_even_in_pieces_and_after_rotation(tmp_path: Path) -> None:
    log = tmp_path / "opensm.log"
    log.write_text("SUBNET UP long ago\n")
    reasons = follow(log, None, poll_s=0.01)
    log.open("a").write("osm_ucast: SUBNET UP\n")
    assert "swept" in next(reasons)
    log.open("a").write("nothing of interest\n")
    log.rename(tmp_path / "opensm.log.1")
    log.write_text("SUBNET UP\n")
    assert "swept" in next(reasons)
    log.open("a").write("SUBN")
    quiet = follow(log, 0.1, poll_s=0.01)
    assert "seconds are over" in next(quiet)
    log.open("a").write("ET UP\n")
    assert "swept" in next(quiet)


def test_time_is_a_reason_even_without_a_log(tmp_path: Path) -> None:
    assert "0.02 seconds are over" in next(follow(tmp_path / "nowhere", 0.02, poll_s=0.01))
