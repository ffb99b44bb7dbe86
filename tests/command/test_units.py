"""Byte counts and times as people read and write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.base.errors import UserError
from espalier.base.units import approximate_bytes, counted, format_bytes, format_time, parse_bytes, parse_counts


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("4", 4), ("64K", 65536), ("64k", 65536), ("1M", 1 << 20), ("2GiB", 2 << 30), (" 7B ", 7)],
)
def test_sizes_are_read_with_binary_suffixes(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "K", "-4", "1.5K", "4 K", "64Q", "0x10", "1025G"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_bytes(text)
    assert text in caught.value.message
    assert "64K" in caught.value.remedy


@given(st.integers(min_value=0, max_value=1 << 40))
def test_the_written_form_reads_back_exactly(count: int) -> None:
    assert parse_bytes(format_bytes(count)) == count


@given(st.floats(min_value=0, max_value=1e15))
def test_forms_for_reading_stay_short(value: float) -> None:
    assert len(approximate_bytes(value)) <= 12
    assert format_time(value).endswith(("µs", "ms", "s"))


def test_times_change_their_unit_with_size() -> None:
    assert [format_time(us) for us in (0.694, 999, 89274, 1.5e6)] == ["0.69 µs", "999 µs", "89.27 ms", "1.50 s"]


def test_counts_are_whole_numbers_above_zero() -> None:
    assert parse_counts("2, 4") == [2, 4]
    for text in ("", "2,", "0", "two"):
        with pytest.raises(UserError):
            parse_counts(text)


def test_one_is_one_and_others_are_several() -> None:
    assert counted(1, "row") == "1 row"
    things = ("row", "switch", "process", "entry", "key")
    assert [counted(2, it) for it in things] == ["2 rows", "2 switches", "2 processes", "2 entries", "2 keys"]
    assert counted(0, "entry") == "0 entries"
