"""Operations and sizes as people name them on a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from espalier.base.errors import UserError
from espalier.base.names import suggest
from espalier.base.units import parse_bytes
from espalier.tuning.problems.problem import FORMS


def pick_sizes(text: str | None, default: Sequence[int]) -> list[int]:
    """Sizes of "4,1K,1M", or the default. Raises UserError for what is none, or more than native alone does."""
    sizes = list(default) if text is None else [parse_bytes(size) for size in text.split(",")]
    if any(not 0 < size <= 1 << 30 for size in sizes):
        raise UserError("--sizes: sizes go from 1 to 1G", "write them as 4,1K,1M")
    return sizes


def pick_operation(word: str) -> str:
    """The operation of `bcast` or `MPI_Bcast`, for the core to look up. Raises UserError for a v-form: whatever its
    blocks' sizes, it is done as the operation that it is a form of, or goes without a plan."""
    name = word.lower().removeprefix("mpi_")
    if name in FORMS:
        raise UserError(f"{word}: plans are shown for equal blocks", f"ask for {FORMS[name]}")
    return name


def pick_operations(
    text: str, known: Sequence[str], others: Mapping[str, str], groups: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """The operations of `--ops bcast,MPI_Allreduce`, each once; "all" for all that are known.

    `others` are further names, in lower case, and what they stand for; `groups` those of operations that are not part
    of `all`. Raises UserError for what is none.
    """
    groups = groups or {}
    words = [word.strip().lower().removeprefix("mpi_") for word in text.split(",")]
    if words == ["all"]:
        return list(known)
    names = [name for word in words if word for name in groups.get(word, (others.get(word, word),))]
    possible = [*known, *(name for group in groups.values() for name in group)]
    for name in names:
        if name not in possible:
            hint = suggest(name, ("all", *groups, *possible), also=others)
            raise UserError(f"--ops: '{name}' is no operation of Espalier", hint)
    if not names:
        raise UserError("--ops names no operation", suggest("", ("all", *groups, *known)))
    return list(dict.fromkeys(names))
