"""Files that a user names for results: what exists there, and what becomes of it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from threading import Thread

import pytest

from espalier.base.writing import check_output, replace_file


def test_a_new_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    replace_file(tmp_path / "page.html", "new")
    assert [(it.name, it.read_text()) for it in tmp_path.iterdir()] == [("page.html", "new")]


def test_a_file_is_replaced_and_who_may_read_it_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(0o640)
    before = page.stat().st_ino
    replace_file(page, "new")
    assert page.read_text() == "new"
    assert page.stat().st_ino != before, "whoever reads the old one reads all of it"
    assert stat.S_IMODE(page.stat().st_mode) == 0o640


def test_behind_a_symbolic_link_the_file_that_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, page = tmp_path / "link.html", tmp_path / "there" / "page.html"
    link.symlink_to("there/page.html")
    for text in ("new", "newer"):  # at first there is no such file
        check_output("-o", link, ".html")
        replace_file(link, text)
        assert link.is_symlink()
        assert page.read_text() == text
    assert list((tmp_path / "there").iterdir()) == [page]


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    replace_file(pipe, "page")
    reader.join(60)
    assert read == ["page"]
    assert pipe.is_fifo()


def test_a_device_that_is_full_is_named_and_stays(tmp_path: Path) -> None:
    device = tmp_path / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        device.open("wb").close()
    except OSError:
        pytest.skip("no devices can be made here")
    with pytest.raises(OSError, match="No space left on device") as error:
        replace_file(device, "page")
    assert error.value.filename == str(device)
    assert [it.name for it in tmp_path.iterdir() if it.is_char_device()] == ["full"]


def test_a_full_disk_is_told_with_the_files_name_and_leaves_what_was_there(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    (tmp_path / "page.html.part").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as error:
        replace_file(page, "new")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(page))
    assert [(it.name, it.read_text()) for it in tmp_path.iterdir()] == [("page.html", "old")]


def test_what_this_process_has_open_is_written_behind_what_is_there(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as file:
        file.write(b"a table\n")
        file.flush()
        replace_file(Path(f"/dev/fd/{file.fileno()}"), "a page\n")
    assert (tmp_path / "output").read_text() == "a table\na page\n"
