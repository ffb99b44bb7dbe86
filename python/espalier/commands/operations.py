"""Operations as people name them on a command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from espalier.errors import UserError


def pick_operations(text: str, known: Sequence[str], others: Mapping[str, str]) -> list[str]:
    """The operations of `--ops bcast,MPI_Allreduce`, each once; "all" for all that are known.

    `others` are further names, in lower case, and what they stand for. Raises UserError for what is none.
    """
    words = [word.strip().lower().removeprefix("mpi_") for word in text.split(",")]
    names = list(dict.fromkeys(others.get(word, word) for word in words if word))
    if names == ["all"]:
        return list(known)
    listed = f"known: all, {', '.join(known)}"
    for name in names:
        if name not in known:
            raise UserError(f"--ops: '{name}' is no operation of Espalier", listed)
    if not names:
        raise UserError("--ops names no operation", listed)
    return names
