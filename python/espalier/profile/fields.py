"""What a file of numbers holds, checked while it is read: what cannot be is told with the place where it stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

# What 64 bits count, and some thirty years: of one rank, nothing is more.
_MOST = (1 << 64) - 1
_MOST_SECONDS = 1e9

Value = TypeVar("Value")


@dataclass(frozen=True)
class Fields:
    """A JSON object. All methods raise ValueError, naming the place, for what is not there or is none of its kind."""

    raw: Mapping[str, Any]
    place: str  # for people; empty: the file's own

    @classmethod
    def of(cls, raw: Any, place: str = "") -> Fields:
        if not isinstance(raw, Mapping):
            raise ValueError(f"{place}{': ' if place else ''}{_shown(raw)} is no object")
        return cls(raw, place)

    def has(self, key: str) -> bool:
        return key in self.raw

    def inner(self, key: str) -> Fields:
        """The object there."""
        return Fields.of(self._get(key), self._at(key))

    def text(self, key: str, default: str | None = None) -> str:
        value = self._get(key, default)
        return str(self._require(key, value, isinstance(value, str), "a text"))

    def flag(self, key: str) -> bool:
        value = self._get(key)
        return bool(self._require(key, value, isinstance(value, bool), "true or false"))

    def whole(self, key: str, least: int = 0, most: int = _MOST) -> int:
        """A number of things, or of one of them."""
        value = self._get(key)
        return int(self._require(key, value, _is_whole(value, least, most), f"a number from {least} to {most}"))

    def seconds(self, key: str) -> float:
        return self.number(key, most=_MOST_SECONDS)

    def number(self, key: str, default: float | None = None, most: float = _MOST) -> float:
        """Any that is not negative."""
        value = self._get(key, default)
        return float(self._require(key, value, _is_number(value, most), f"a number from 0 to {most:.3g}"))

    def listed(self, key: str) -> Sequence[Any]:
        value: Any = self._get(key)
        self._require(key, value, isinstance(value, list), "a list")
        return value  # type: ignore[no-any-return]

    def ranks(self, key: str, ranks: int) -> tuple[int, ...]:
        """A list of numbers below `ranks`."""
        found = self.listed(key)
        for it in found:
            self._require(key, it, _is_whole(it, 0, ranks - 1), f"a rank of {ranks}")
        return tuple(found)

    def by_rank(self, key: str, ranks: int, read: Callable[[Fields, str], Value]) -> Iterator[tuple[int, Value]]:
        """An object whose keys are numbers below `ranks`; what each has, `read` takes from it."""
        inner = self.inner(key)
        for name in inner.raw:
            is_rank = name.isdecimal() and len(name) < 10 and int(name) < ranks
            self._require(key, name, is_rank, f"a rank of {ranks}")
            yield int(name), read(inner, name)

    def fail(self, key: str, trouble: str) -> ValueError:
        """An error about what is there."""
        return ValueError(f"{self._at(key)}: {trouble}")

    def _at(self, key: str) -> str:
        return f"{self.place}, {key}" if self.place else key

    def _get(self, key: str, default: Any = None) -> Any:
        value = self.raw.get(key, default)
        if value is None:
            raise self.fail(key, "is missing")
        return value

    def _require(self, key: str, value: Any, is_fine: bool, what: str) -> Any:
        if not is_fine:
            raise self.fail(key, f"{_shown(value)} is not {what}")
        return value


def _is_whole(value: Any, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_number(value: Any, most: float) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= most
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
