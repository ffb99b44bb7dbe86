"""espalier compare: two arms in turns, times, exit codes and outputs. The launcher is a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from espalier.base.errors import UserError
from espalier.measure.compared import Metric
from espalier.measure.likeness import Difference, Likeness, compare_outputs
from espalier.measure.programs import Finished
from espalier.measure.rounds import Rounds, in_turns
from workshop import MPI_TEXT, Command, compile_c, make_mpi

MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"
# What the launcher's own script finds out: whether Espalier is preloaded, and the settings of this arm.
ARM = 'case "$*" in *libespalier*) arm=ours;; *) arm=native;; esac; echo "$arm $*" >> "$0.log"'


@pytest.fixture
def app(tmp_path: Path, only_mpis, libraries, core) -> str:
    library = make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "mpich")
    return str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}"))


@pytest.fixture
def launcher(app: str, tmp_path: Path):
    """Makes mpiexec do something in place of the program: a few words of shell, which see `$arm`."""
    path = tmp_path / "mpich" / "bin" / "mpiexec"

    def behave(script: str) -> Path:
        path.write_text(f"#!/bin/sh\n{ARM}\n{script}\n")
        return path.with_name("mpiexec.log")

    return behave


def test_both_arms_run_in_turns_and_neither_is_always_first(command: Command, app: str, launcher) -> None:
    log = launcher("echo 42")
    outcome = command("compare", "-n", "3", "--rounds", "4", "--", app)
    assert outcome.code == 0, outcome.err
    arms = [line.split()[0] for line in log.read_text().splitlines()]
    assert arms == ["native", "ours", "ours", "native", "native", "ours", "ours", "native"]


def test_five_rounds_are_the_default_and_whole_runs_are_timed(command: Command, app: str, launcher) -> None:
    launcher("[ $arm = native ] && sleep 0.5; echo 42")
    result = json.loads(command("compare", "--json", "--", app).out)
    assert [len(result[arm]["seconds"]) for arm in "ab"] == [5, 5]
    assert result["a"]["seconds_median"] > 0.5 > result["b"]["seconds_median"]
    assert result["ratio"]["min"] > 1
    assert result["ratio"]["decided"]
    assert "Espalier is" in result["verdict"]


def test_two_sets_of_settings_can_be_compared(command: Command, app: str, launcher) -> None:
    log = launcher("echo 42")
    options = ("--a", "SHM_LIMIT=64M", "--b", "ESPALIER_SHM_LIMIT=1G", "--set", "VERBOSE=1", "--rounds", "1")
    outcome = command("compare", *options, "--json", "--", app)
    first, second = log.read_text().splitlines()
    assert first.startswith("ours")
    assert "ESPALIER_SHM_LIMIT 64M" in first
    assert second.startswith("ours")
    assert "ESPALIER_SHM_LIMIT 1G" in second
    assert first.count("ESPALIER_VERBOSE 1") == second.count("ESPALIER_VERBOSE 1") == 1
    assert json.loads(outcome.out)["a"]["arm"] == "Espalier SHM_LIMIT=64M"


def test_the_second_arm_may_be_native(command: Command, app: str, launcher) -> None:
    log = launcher("echo 42")
    command("compare", "--a", "VERBOSE=1", "--b", "native", "--rounds", "1", "--", app)
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["ours", "native"]


def test_outputs_that_differ_are_shown_where_they_part(command: Command, app: str, launcher) -> None:
    launcher('echo same; echo "sum $arm"')
    outcome = command("compare", "--rounds", "2", "--", app)
    assert outcome.code == 1
    assert "output: differs" in outcome.out
    assert "line 2" in outcome.out
    assert "a  sum native" in outcome.out
    assert "b  sum ours" in outcome.out
    assert "do not do the same" in outcome.out


def test_what_espalier_complains_of_is_not_lost(command: Command, app: str, launcher) -> None:
    launcher('[ $arm = native ] || echo "espalier: no algorithm chian" >&2; echo same')
    outcome = command("compare", "--rounds", "2", "--", app)
    assert "Espalier: no algorithm chian" in outcome.out
    found = json.loads(command("compare", "--rounds", "2", "--json", "--", app).out)
    assert (found["a"]["warnings"], found["b"]["warnings"]) == ([], ["espalier: no algorithm chian"])


def test_lines_that_are_to_differ_can_be_left_out(command: Command, app: str, launcher) -> None:
    launcher('echo same; echo "sum $arm"')
    outcome = command("compare", "--rounds", "2", "--ignore", "^sum", "--", app)
    assert (outcome.code, "output: identical" in outcome.out) == (0, True)


COUNTS = """[ $arm = native ] || echo '{}' > "$(echo "$*" | sed 's/.*ESPALIER_STATS \\([^ ]*\\).*/\\1/')" """


def test_a_program_that_uses_no_mpi_is_named(command: Command, app: str, launcher) -> None:
    launcher("echo 42")
    outcome = command("compare", "-n", "2", "--rounds", "2", "--", "/bin/true")
    assert outcome.code == 0
    assert "/bin/true made no MPI call that Espalier saw" in outcome.err
    assert "is it the right program?" in outcome.err
    both_native = ("--a", "native", "--b", "native", "--rounds", "1")
    assert command("compare", *both_native, "--", "/bin/true").err == "", "nobody looked"
    launcher(COUNTS)
    assert command("compare", "-n", "2", "--rounds", "2", "--", "/bin/true").err == "", "a script may start one"


@pytest.mark.parametrize("option", ["--a", "--b", "--set"])
@pytest.mark.parametrize(
    ("value", "message", "remedy"),
    [
        ("VERBOSE=maybe", "ESPALIER_VERBOSE=maybe: write 1 or 0", "espalier settings"),
        ("CHOICE_BROADCAST=zzz", "ESPALIER_CHOICE_BROADCAST=zzz: unknown algorithm", "espalier algorithms"),
    ],
)
def test_values_that_every_job_would_refuse_are_refused_before_the_first_round(
    command: Command, app: str, launcher, option: str, value: str, message: str, remedy: str
) -> None:
    log = launcher("echo 42")
    outcome = command("compare", option, value, "--", app)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert remedy in outcome.err
    assert not log.exists()


def test_a_program_that_prints_times_proves_nothing_by_its_output(command: Command, app: str, launcher) -> None:
    launcher("date +%N")
    outcome = command("compare", "--rounds", "2", "--", app)
    assert (outcome.code, "differs from run to run" in outcome.out) == (0, True)


def test_an_arm_that_fails_ends_the_comparison_with_its_last_words(command: Command, app: str, launcher) -> None:
    log = launcher("[ $arm = native ] || { echo broken >&2; exit 3; }; echo 42")
    outcome = command("compare", "--", app)
    assert outcome.code == 1
    assert "exit code 3" in outcome.out
    assert "broken" in outcome.out
    assert "output: not compared" in outcome.out
    assert len(log.read_text().splitlines()) == 2


def test_an_arm_that_does_not_end_is_ended(command: Command, app: str, launcher) -> None:
    launcher("[ $arm = native ] || sleep 60; echo 42")
    outcome = command("compare", "--timeout", "0.5", "--json", "--", app)
    assert outcome.code == 1
    assert json.loads(outcome.out)["b"]["exit_codes"] == [None]


def test_the_time_that_a_program_prints_counts_in_place_of_the_whole_run(command: Command, app: str, launcher) -> None:
    launcher("[ $arm = native ] && echo 'Loop time of 2.0 s' || echo 'Loop time of 1.0 s'")
    result = json.loads(command("compare", "--metric", r"Loop time of (\S+)", "--json", "--", app).out)
    assert result["a"]["metric"] == [2.0] * 5
    assert result["ratio"]["median"] == 2.0


def test_a_time_may_go_to_standard_error(command: Command, app: str, launcher) -> None:
    launcher("[ $arm = native ] && echo '2.0 us per call' >&2 || echo '1.0 us per call' >&2; echo 42")
    result = json.loads(command("compare", "--metric", r"(\S+) us per call", "--json", "--", app).out)
    assert (result["ratio"]["median"], result["output"]) == (2.0, "identical")


@pytest.mark.parametrize(
    ("rounds", "doubt"), [(1, "1 round is too few to decide"), (2, "2 rounds are"), (4, "4 rounds are")]
)
def test_few_rounds_decide_nothing_however_well_they_agree(
    command: Command, app: str, launcher, rounds: int, doubt: str
) -> None:
    launcher("[ $arm = native ] && echo 'took 2.0' || echo 'took 1.0'")
    options = ("--metric", r"took (\S+)", "--ignore", "took", "--rounds", str(rounds))
    outcome = command("compare", *options, "--", app)
    assert doubt in outcome.out
    assert f"native / Espalier is 2.00 (2.00 to 2.00 in {rounds} round" in outcome.out
    ratio = json.loads(command("compare", *options, "--json", "--", app).out)["ratio"]
    assert (ratio["median"], ratio["decided"]) == (2.0, False)
    assert doubt in ratio["doubt"]


def test_a_rate_is_better_where_it_is_greater(command: Command, app: str, launcher) -> None:
    launcher("[ $arm = native ] && echo 'rate 4' || echo 'rate 8'")
    options = ("--metric", r"rate (\d+)", "--more-is-better", "--ignore", "rate")
    outcome = command("compare", *options, "--", app)
    assert "Espalier is 2.00 times as fast as native" in outcome.out


def test_what_espalier_did_is_told(command: Command, app: str, launcher) -> None:
    stats = '{"MPI_Bcast": {"handled": 5, "native": 2, "reasons": {"one rank": 2}}}'
    launcher(f"""[ $arm = native ] || echo '{stats}' > "$(echo "$*" | sed 's/.*ESPALIER_STATS \\([^ ]*\\).*/\\1/')" """)
    outcome = command("compare", "--rounds", "1", "--", app)
    assert "5 by Espalier, 2 left to native (2x one rank)" in outcome.out


def test_what_espalier_did_in_a_program_without_mpi_finalize_is_not_known(command: Command, app: str, launcher) -> None:
    launcher("echo 42; exit 3")
    outcome = command("compare", "--rounds", "1", "--", app)
    assert "not known: no MPI_Finalize was seen" in outcome.out
    assert "0 by Espalier" not in outcome.out
    result = json.loads(command("compare", "--rounds", "1", "--json", "--", app).out)
    assert (result["a"]["calls"], result["b"]["calls"]) == (None, None)
    launcher(COUNTS)
    result = json.loads(command("compare", "--rounds", "1", "--json", "--", app).out)
    assert result["b"]["calls"] == {"handled": 0, "native": 0, "reasons": {}}


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (["--a", "SHM_LIMT=1"], "--a SHM_LIMT=1: there is no setting", "ESPALIER_SHM_LIMIT"),
        (["--b", "SHM_LIMIT"], "--b SHM_LIMIT: no value", "NAME=VALUE"),
        (["--a", "native", "--a", "VERBOSE=1"], "--a native has no settings", "either"),
        (["--metric", "("], "--metric (: no regular expression", "quote"),
        (["--ignore", "("], "--ignore (: no regular expression", "quote"),
        (["--metric", "nowhere"], "nothing in the output matches", "prints"),
        (["--metric", "forty"], "no positive number", "( )"),
        (["--more-is-better"], "without --metric", "give"),
    ],
)
def test_mistakes_are_explained(
    command: Command, app: str, launcher, options: list[str], message: str, remedy: str
) -> None:
    launcher("echo forty 42")
    outcome = command("compare", *options, "--", app)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert remedy in outcome.err


def test_a_program_that_always_ends_with_one_code_is_compared_and_the_code_is_told(
    command: Command, app: str, launcher
) -> None:
    launcher("echo value 42; echo 3 not converged >&2; exit 3")
    outcome = command("compare", "--metric", r"value (\d+)", "--", app)
    assert outcome.code == 0, outcome.err
    assert "all runs of both end with exit code 3" in outcome.out
    assert "3 not converged" in outcome.out
    assert "output: identical" in outcome.out
    assert "no difference beyond noise" in outcome.out
    result = json.loads(command("compare", "--rounds", "2", "--json", "--", app).out)
    assert (result["exit_code"], result["same"], result["a"]["exit_codes"]) == (3, True, [3, 3])


@pytest.mark.parametrize(
    "script",
    ["[ $arm = native ] && exit 3; exit 4", '[ "$(wc -l < "$0.log")" -gt 2 ] && exit 3; exit 4'],
    ids=["between the arms", "between the rounds"],
)
def test_codes_that_differ_end_the_comparison(command: Command, app: str, launcher, script: str) -> None:
    log = launcher(script)
    outcome = command("compare", "--json", "--", app)
    result = json.loads(outcome.out)
    assert (outcome.code, result["exit_code"], result["same"]) == (1, None, False)
    assert "do not always end alike" in result["verdict"]
    assert len(log.read_text().splitlines()) < 10


def test_a_program_that_never_ends_is_no_case_for_comparing(command: Command, app: str, launcher) -> None:
    launcher("echo waiting for input >&2; sleep 60")
    outcome = command("compare", "--timeout", "0.5", "--", app)
    assert outcome.code == 2
    assert "does not end in time under both" in outcome.err
    assert "waiting for input" in outcome.err


def test_lines_of_several_ranks_may_come_in_any_order() -> None:
    assert compare_outputs(["1\n2\n"], ["2\n1\n"]).likeness is Likeness.REORDERED


def test_an_output_that_ends_early_differs_there() -> None:
    found = compare_outputs(["1\n2\n", "1\n2\n"], ["1\n", "1\n"])
    assert (found.likeness, found.difference) == (Likeness.DIFFERS, Difference(2, "2", None))


def test_rounds_that_disagree_decide_nothing() -> None:
    assert Rounds((1.0, 2.0, 1.0, 1.0, 1.0), (2.0, 1.0, 2.0, 2.0, 2.0)).doubt == "no difference beyond noise"
    assert Rounds((2.0, 2.2, 2.1, 2.0, 2.0), (1.0,) * 5).is_decided
    assert Rounds((1.0,) * 5, (2.0, 2.2, 2.1, 2.0, 2.0)).is_decided
    assert Rounds((1.005,) * 5, (1.0,) * 5).doubt == "no difference beyond noise", "nearer than machines can tell"


def test_the_order_of_the_arms_alternates() -> None:
    assert [in_turns(number) for number in range(3)] == [(0, 1), (1, 0), (0, 1)]


@pytest.mark.parametrize("value", ["-5", "nan", "0"])
def test_a_metric_that_is_no_positive_number_is_not_told_to_be_put_into_brackets(value: str) -> None:
    run = Finished(0, 1.0, f"Loop time of {value} on 2\n", "")
    with pytest.raises(UserError, match="which is no positive number") as error:
        Metric(r"Loop time of (\S+)").read(run)
    assert "( )" not in error.value.remedy
    with pytest.raises(UserError, match="which is no positive number") as error:
        Metric(r"Loop time of \S+").read(run)
    assert "( )" in error.value.remedy
