"""Headers name the standard's headers that they need: where a build reads those once for all, no compiler would miss
one. What they need of ours is compiled (tests/unit/headers)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"

# Where names of the standard library come from; of several headers any will do.
_STRINGS = "string string_view"
_BOXES = f"array deque map optional set span tuple unordered_map unordered_set utility variant vector {_STRINGS}"
_COMMON = f"algorithm bit chrono functional limits memory {_BOXES}"
ORIGINS = {
    f"cstddef {_COMMON}": "byte max_align_t ptrdiff_t size_t",
    "cstdint": "int8_t int16_t int32_t int64_t intptr_t uint8_t uint16_t uint32_t uint64_t uintptr_t",
    f"utility {_COMMON}": "as_const exchange forward move pair swap",
    "utility": "index_sequence make_index_sequence",
    f"iterator {_BOXES}": "begin end next prev",
    "algorithm": "all_of any_of clamp copy copy_n count_if fill find find_if is_sorted lower_bound max max_element min "
    "min_element minmax none_of ranges sort stable_sort upper_bound",
    "array": "array",
    "atomic": "atomic atomic_ref memory_order memory_order_acq_rel memory_order_acquire memory_order_relaxed "
    "memory_order_release memory_order_seq_cst",
    "bit": "bit_cast bit_ceil bit_floor bit_width countr_zero popcount",
    "bitset": "bitset",
    "charconv": "from_chars",
    "chrono": "chrono",
    "cmath": "abs ceil floor log2 pow sqrt",
    "complex": "complex",
    "compare": "strong_ordering",
    "concepts": "integral invocable same_as",
    "condition_variable": "condition_variable",
    "cstring": "memcmp memcpy memmove memset strlen",
    "deque": "deque",
    "exception": "exception",
    "filesystem": "filesystem",
    "functional": "function greater less",
    "initializer_list": "initializer_list",
    "iosfwd ostream": "ostream",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map",
    "memory": "make_shared make_unique make_unique_for_overwrite shared_ptr unique_ptr weak_ptr",
    "mutex": "lock_guard mutex once_flag scoped_lock unique_lock",
    "new": "align_val_t bad_alloc",
    "numeric": "accumulate gcd iota lcm",
    "optional": "nullopt optional",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64",
    "set": "set",
    "shared_mutex": "shared_mutex",
    "span": "span",
    "stdexcept": "invalid_argument logic_error runtime_error",
    "string": "string to_string",
    _STRINGS: "string_view",
    "system_error charconv": "errc",
    "thread": "thread",
    "tuple": "apply tie tuple",
    "type_traits": "conditional_t decay_t enable_if_t has_unique_object_representations_v is_enum_v "
    "is_floating_point_v is_same_v is_trivially_copyable_v remove_cvref_t underlying_type_t",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set",
    "variant": "variant",
    f"{_BOXES}": "erase",
    "vector": "vector",
}
ORIGIN_OF = {name: set(headers.split()) for headers, names in ORIGINS.items() for name in names.split()}


@cache
def read_code(header: Path) -> str:
    """A header without its comments."""
    return re.sub(r"//[^\n]*", "", header.read_text(encoding="utf-8"))


def find_included(header: Path, folder: Path, seen: set[Path]) -> set[str]:
    """The standard's headers that come with this one, by itself or by ours that it includes."""
    if header in seen or not header.exists():
        return set()
    seen.add(header)
    found = set(re.findall(r"#include <([^>]+)>", read_code(header)))
    for own in re.findall(r'#include "([^"]+)"', read_code(header)):
        found |= find_included(folder / own, folder, seen)
    return found


def list_faults(folder: Path, origin_of: Mapping[str, set[str]]) -> Iterator[str]:
    for header in sorted(folder.rglob("*.hpp")):
        included = find_included(header, folder, set())
        for name in sorted(set(re.findall(r"\bstd::(\w+)", read_code(header)))):
            if name not in origin_of:
                yield f"{header.relative_to(folder)}: std::{name}, of which this test knows no header"
            elif not origin_of[name] & included:
                yield f"{header.relative_to(folder)}: std::{name} without <{min(origin_of[name])}>"


def test_headers_include_what_they_need_of_the_standards() -> None:
    assert list(list_faults(SOURCES, ORIGIN_OF)) == []


@pytest.mark.parametrize(("text", "faults"), [("#include <vector>\n", 0), ('#include "two.hpp"\n', 0), ("", 1)])
def test_one_that_is_missing_is_found(text: str, faults: int, tmp_path: Path) -> None:
    (tmp_path / "one.hpp").write_text(f"{text}std::vector<int> all;  // std::map is a comment's\n")
    (tmp_path / "two.hpp").write_text("#include <vector>\n")
    assert len(list(list_faults(tmp_path, ORIGIN_OF))) == faults
