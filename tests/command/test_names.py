"""Names that are none of those that there are: the command says which may have been meant."""

from __future__ import annotations

from string import ascii_lowercase

import pytest

from espalier.base.core import user_errors
from espalier.base.errors import UserError
from espalier.base.names import suggest
from workshop import Command


def test_the_nearest_comes_before_the_list() -> None:
    assert suggest("brodcast", ["allreduce", "broadcast"]) == "did you mean broadcast? known: allreduce, broadcast"


def test_where_none_is_near_there_is_the_list_alone() -> None:
    assert suggest("x", ["allreduce", "broadcast"]) == "known: allreduce, broadcast"


def test_who_is_near_one_of_many_is_spared_the_list() -> None:
    assert suggest("lllll", [letter * 6 for letter in ascii_lowercase]) == "did you mean llllll?"


def test_what_all_begin_with_makes_none_near() -> None:
    known = ["ESPALIER_VERBOSE", "ESPALIER_STATS"]
    assert "did you mean" not in suggest("ESPALIER_FOO", known, prefix="ESPALIER_")


def test_capitals_do_not_matter_and_other_names_may_be_meant() -> None:
    assert suggest("Bcats", ["broadcast"], also=["bcast"]) == "did you mean bcast? known: broadcast"


def test_what_the_core_refuses_is_near_to_something_too() -> None:
    with pytest.raises(UserError) as caught, user_errors("see --help"):
        raise ValueError("unknown knob 'radx': one of cell, cells, radix")
    assert caught.value.remedy == "did you mean radix? see --help"
    with pytest.raises(UserError) as caught, user_errors("see --help"):
        raise ValueError("3 ranks on '2' cores")
    assert caught.value.remedy == "see --help"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["explain", "brodcast"], "broadcast"),
        (["explain", "broadcast", "--set", "radx=4"], "radix"),
        (["explain", "broadcast", "--algorithm", "knomail"], "knomial"),
        (["algorithms", "brodcast"], "broadcast"),
        (["bench", "--ops", "alreduce"], "allreduce"),
        (["bench", "--ops", "brodcast"], "broadcast"),
        (["bench", "--form", "nonblockin"], "nonblocking"),
        (["bench", "--type", "duble"], "double"),
        (["tune", "--ops", "brodcast"], "broadcast"),
        (["tune", "--transport", "ucs"], "ucx"),
        (["reproduce", "spm/3"], "smp/3"),
        (["reproduce", "smp/3", "--where", "simulatd"], "simulated"),
        (["simulate", "brodcast"], "broadcast"),
        (["simulate", "broadcast", "--map", "cylic"], "cyclic"),
        (["simulate", "broadcast", "--node-platform", "epyc-7742"], "dual-epyc-7742"),
        (["simulate", "broadcast", "--execute", "--against", "mpihc"], "mpich"),
        (["fabric", "matrix", ".", "hopps"], "hops"),
        (["node", "--policy", "nearst"], "near"),
        (["node", "--mapping", "pakced"], "packed"),
        (["settings", "verbsoe"], "ESPALIER_VERBOSE"),
        (["run", "--launcher", "srnu", "true"], "srun"),
        (["run", "--set", "VERBOS=1", "true"], "ESPALIER_VERBOSE"),
        (["lib", "--abi", "mpihc"], "mpich"),
    ],
)
def test_every_command_says_what_may_have_been_meant(command: Command, words: list[str], meant: str) -> None:
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"did you mean {meant}" in outcome.err, outcome.err
