"""espalier profile: what is made of the ranks' records. Real jobs are those of tests/mpi/test_profile.py."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from espalier.base.errors import UserError
from espalier.profile.reading import Key, Moments, name_members, parse_members, read_profile
from espalier.profile.summary import Profile, describe, sum_up
from workshop import MPI_TEXT, Command, ask_browser, compile_c, make_mpi

MAIN = "int MPI_Get_library_version(char *, int *); int main(void) { return MPI_Get_library_version(0, 0); }"


def moments(calls: int = 0, each: float = 0.0, spread: float = 0.0) -> dict[str, float]:
    """Of `calls` times, half of them `spread` above and half below `each`."""
    return {"calls": calls, "seconds": calls * each, "squares": calls * (each**2 + spread**2)}


def a_row(**facts: Any) -> dict[str, Any]:
    usual = {
        "communicator": "2 ranks on 1 node",
        "operation": "MPI_Allreduce",
        "form": "blocking",
        "counts": False,
        "size_class": 4,
        "calls": 100,
        "bytes": 800,
        "native": 0,
        "seconds": 2.0,
        "waiting": 1.0,
        "split": 100,
        "own": moments(100, 0.01),
        "sample": moments(),
        "choice": "tiny",
        "waited_for": {},
        "start": 0.0,
        "between": 0.0,
        "gap": 0.5,
        "first": 0.1,
        "last": 9.0,
        "roots": {},
    }
    return {**usual, **facts}


def write(path: Path, *ranks: list[dict[str, Any]], sample: int = 0) -> Path:
    """Where a row does not say otherwise, its communicator is of all ranks."""
    usual = {"members": f"0-{len(ranks) - 1}"}
    parts = [
        {"rank": rank, "seconds": 10.0, "rows": [{**usual, **row} for row in rows]} for rank, rows in enumerate(ranks)
    ]
    path.write_text(json.dumps({"format": 3, "sample": sample, "nodes": [0] * len(parts), "ranks": parts}))
    return path


def read(path: Path, *ranks: list[dict[str, Any]]) -> Profile:
    return sum_up(read_profile(write(path / "p.json", *ranks)))


def test_of_many_short_calls_some_are_timed_and_the_uncertainty_is_told(tmp_path: Path) -> None:
    timed = {"calls": 100, "weight": 10000, "weights_squared": 1e6, "seconds": 2.0, "squares": 10000 * 5e-8}
    row = a_row(calls=10000, seconds=2.0, timed=timed, own=timed)
    profile = read(tmp_path, [row], [a_row(calls=10000)])
    (found,) = profile.rows
    assert found.calls == 10000
    assert found.timed.calls == 100
    assert found.timed.mean == 2e-4
    # The standard deviation of one is 1e-4; of the mean of 100, 1e-5; for 10000 calls 0.1 s; and twice that.
    assert found.uncertainty == pytest.approx(0.2, rel=0.01)
    (as_json,) = profile.as_json()["rows"]
    assert (as_json["timed_calls"], as_json["seconds_uncertainty"]) == (100, found.uncertainty)
    assert profile.verdict.startswith("20.0 ± 1.0 % of the run is spent in collectives")
    assert profile.is_estimated
    assert not read(tmp_path, [a_row()], [a_row()]).is_estimated


def test_one_long_call_that_stands_for_itself_does_not_stand_for_all_that_were_not_timed(tmp_path: Path) -> None:
    # 16 calls are seen each, the first takes 1 s; then one in 100, all of 100 us.
    timed = {"calls": 116, "weight": 10016, "weights_squared": 16 + 100 * 100**2}
    timed |= {"seconds": 1.0 + 10015e-4, "squares": 1.0 + 10015e-8}
    row = a_row(calls=10016, seconds=timed["seconds"], timed=timed, own=timed)
    (found,) = read(tmp_path, [row], []).rows
    assert 0 < found.uncertainty <= 2 * found.seconds, "no more than there was"
    profile = read(tmp_path, [row], [row])
    assert profile.uncertainty == pytest.approx(2 * found.uncertainty), "ranks time the same calls, and miss the same"
    assert profile.verdict.startswith("About 20 % of the run is spent in collectives, ")
    everything = {**timed, "weights_squared": 10016}  # each for itself
    assert read(tmp_path, [{**row, "timed": everything}], []).uncertainty == 0


def test_savings_are_no_more_certain_than_the_time_that_they_are_part_of(tmp_path: Path) -> None:
    timed = {"calls": 100, "weight": 10000, "weights_squared": 1e6, "seconds": 2.0, "squares": 10000 * 5e-8}
    measured = {"native": 3e-4, "own": 2e-4, "uncertainty": 0.0}
    (row,) = read(tmp_path, [a_row(calls=10000, seconds=2.0, timed=timed, own=timed, measured=measured)], []).rows
    assert row.saving is not None
    assert row.saving.uncertainty / row.saving.seconds == pytest.approx(row.uncertainty / row.seconds)
    assert row.saving.uncertainty > 0


def test_what_a_program_computes_before_calls_that_were_not_all_timed_fits_into_its_run(tmp_path: Path) -> None:
    timed = {"calls": 100, "weight": 10000, "weights_squared": 1e6, "seconds": 2.0, "squares": 10000 * 5e-8}
    estimated = a_row(calls=10000, seconds=2.0, timed=timed, own=timed, gap=30.0)
    known = a_row(operation="MPI_Barrier", seconds=2.0, gap=0.5)
    kinds = read_profile(write(tmp_path / "p.json", [estimated, known], [{**estimated, "gap": 4.0}, known])).kinds
    gaps = {kind.key.operation: [part.gap for part in parts] for kind, parts in kinds.items()}
    assert gaps == {"MPI_Allreduce": [10.0 - 2.0 - 2.0 - 0.5, 4.0], "MPI_Barrier": [0.5, 0.5]}


def test_options_behind_a_profiles_file_are_not_lost(command: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", [a_row()], [a_row()])
    outcome = command("profile", "--from", str(path), "-o", "page.html")
    assert outcome.code != 0
    assert f"write espalier profile --from -o page.html {path}" in outcome.err
    outcome = command("profile", "--from", str(path), "extra")
    assert outcome.code == 2
    assert "'extra' behind the file is one too many" in outcome.err
    assert "remedy: give one file" in outcome.err


def test_what_is_not_known_of_native_is_told(tmp_path: Path) -> None:
    known = a_row(seconds=1.0, measured={"native": 0.02, "own": 0.015, "uncertainty": 0.001})
    profile = read(tmp_path, [known, a_row(size_class=9, seconds=4.0)], [known, a_row(size_class=9, seconds=4.0)])
    assert "; of calls that take 40 % of the run it is not known (--sample 1/32)" in profile.verdict
    assert "not known" not in read(tmp_path, [known], [known]).verdict


@pytest.mark.parametrize(("native", "own"), [(0.2, 0.01), (0.0005, 0.01), (0.1, 0.05), (0.003, 0.002)])
def test_what_a_busy_machine_has_measured_is_not_taken_for_a_saving(tmp_path: Path, native: float, own: float) -> None:
    """One is too much slower than the other, or Espalier took much longer, or much less, than in these calls."""
    row = a_row(measured={"native": native, "own": own, "uncertainty": 0.001})
    profile = read(tmp_path, [row], [row])
    assert profile.saving is None
    assert "What native would take is not known" in profile.verdict


def test_where_several_threads_make_calls_shares_are_of_their_time(tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", [a_row(seconds=12.0)], [a_row(seconds=12.0)])
    told = json.loads(file.read_text())
    for rank in told["ranks"]:
        rank["threads"] = 2
    file.write_text(json.dumps(told))
    profile = sum_up(read_profile(file))
    assert profile.verdict.startswith("60.0 % of the run is spent")
    assert profile.remark.startswith(
        "Up to 2 threads of a rank made calls: shares of the run are of all threads' time."
    )
    assert profile.as_json()["threads"] == 2


def test_no_share_of_a_run_is_more_than_all_of_it(tmp_path: Path) -> None:
    profile = read(tmp_path, [a_row(seconds=25.0)], [a_row(seconds=25.0)])
    assert profile.verdict.startswith("100.0 % of the run is spent")
    slow = a_row(own=moments(2000, 0.01), measured={"native": 0.1, "own": 0.01, "uncertainty": 0.001})
    share, uncertainty = read(tmp_path, [slow], [slow]).share_saved
    assert 90 < share < 100
    assert uncertainty < 1


def test_what_was_measured_while_the_job_learned_says_what_native_takes(tmp_path: Path) -> None:
    row = a_row(measured={"native": 0.02, "own": 0.015, "uncertainty": 0.001})
    profile = read(tmp_path, [row], [row])
    (found,) = profile.rows
    assert found.native_mean == pytest.approx(0.015)
    assert found.saving is not None
    assert (found.saving.seconds, found.saving.uncertainty) == (pytest.approx(1.0), pytest.approx(0.2))
    assert profile.verdict.endswith(
        "Espalier saves 4.8 ± 0.9 % of the run's native time, as measured when the choices were made."
    )
    sampled = read(tmp_path, [{**row, "sample": moments(10, 0.02)}], [{**row, "sample": moments(10, 0.02)}])
    assert sampled.saving is not None
    assert sampled.saving.seconds == pytest.approx(2.0), "the program's own calls say more"
    assert "learned" not in sampled.verdict


def test_time_is_split_into_waiting_and_moving_and_who_is_waited_for_is_named(tmp_path: Path) -> None:
    late = a_row(seconds=0.5, waiting=0.0)
    profile = read(tmp_path, [a_row(seconds=3.5, waiting=3.0, waited_for={"1": 3.0})], [late])
    (row,) = profile.rows
    assert (row.seconds, row.waiting, row.moving, row.calls) == (4.0, 3.0, 1.0, 100)
    assert row.imbalance == 3.5 / 2
    assert profile.verdict.startswith(
        "20.0 % of the run is spent in collectives, 15.0 % waiting for the last rank to come (100 % of it for rank 1)."
    )


def test_what_took_longest_comes_first(tmp_path: Path) -> None:
    rows = [a_row(seconds=1.0), a_row(size_class=5, seconds=3.0), a_row(operation="MPI_Bcast", seconds=2.0)]
    assert [row.seconds for row in read(tmp_path, rows).rows] == [3.0, 2.0, 1.0]


def test_between_hosts_it_is_said_that_waiting_is_not_known(tmp_path: Path) -> None:
    profile = read(tmp_path, [a_row(split=0, waiting=0.0)])
    assert profile.waiting is None
    assert "how much of that is waiting is not known" in profile.verdict


def test_what_native_takes_is_told_with_its_uncertainty(tmp_path: Path) -> None:
    row = a_row(own=moments(100, 0.010, 0.001), sample=moments(25, 0.014, 0.002))
    profile = read(tmp_path, [row])
    saving = profile.rows[0].saving
    assert saving is not None
    assert saving.seconds == pytest.approx(0.4)
    error = (0.001**2 / 99 + 0.002**2 / 24) ** 0.5
    assert saving.uncertainty == pytest.approx(2 * error * 100)
    assert "Espalier saves 3.8 ± 0.8 % of the run's native time" in profile.verdict


def test_no_saving_is_claimed_that_does_not_show(tmp_path: Path) -> None:
    row = a_row(own=moments(100, 0.010, 0.02), sample=moments(25, 0.011, 0.02))
    verdict = read(tmp_path, [row]).verdict
    assert re.search(r"Whether Espalier saves anything does not show: 1\.\d ± \d+\.\d % of the run's native", verdict)


def test_where_native_is_clearly_faster_tuning_is_recommended(tmp_path: Path) -> None:
    row = a_row(own=moments(100, 0.02, 0.001), sample=moments(25, 0.01, 0.001), size_class=17)
    verdict = read(tmp_path, [row]).verdict
    assert "Espalier costs" in verdict
    assert "native does MPI_Allreduce of 64K+ faster, so `espalier tune` is worth it" in verdict


def test_too_few_samples_say_nothing(tmp_path: Path) -> None:
    profile = read(tmp_path, [a_row(sample=moments(2, 0.014))])
    assert profile.saving is None
    assert "--sample 1/32" in profile.verdict


def test_a_job_without_collectives_has_a_verdict_too(tmp_path: Path) -> None:
    assert read(tmp_path, [], []).verdict == "No collective of several ranks was called. There is nothing to gain."


def test_kinds_of_calls_have_the_names_that_mpi_gives_them() -> None:
    assert describe(Key("", "MPI_Gather", True, 4)) == "MPI_Gatherv of 8+"
    assert describe(Key("", "MPI_Reduce_scatter", False, 11)) == "MPI_Reduce_scatter_block of 1K+"
    assert describe(Key("", "MPI_Barrier", False, 0)) == "MPI_Barrier"
    assert describe(Key("", "MPI_Gather", True, 4, "nonblocking")) == "MPI_Igatherv of 8+"
    assert describe(Key("", "MPI_Alltoall", True, 4, has_types=True)) == "MPI_Alltoallw of 8+"
    assert describe(Key("", "MPI_Alltoall", True, 0, "nonblocking")) == "MPI_Ialltoallv"
    assert describe(Key("", "MPI_Bcast", False, 4, "persistent")) == "MPI_Bcast_init of 8+"


def test_ranks_of_a_communicator_are_told_as_ranges() -> None:
    assert parse_members("0-3") == (0, 1, 2, 3)
    assert parse_members("1-13:4,0") == (1, 5, 9, 13, 0)
    assert parse_members("") == ()
    for text in ("0-3", "1-13:4,0", "0,2", "3", "5,4,1-2", ""):
        assert name_members(parse_members(text)) == text
    with pytest.raises(ValueError, match="no ranks: 3-"):
        parse_members("3-")


def test_calls_of_one_shape_on_several_communicators_are_one_row_with_one_part_for_each_rank(tmp_path: Path) -> None:
    rows = [a_row(members="0,2"), a_row(members="0-1", calls=20, seconds=1.0)]
    (row,) = read(tmp_path, rows, [a_row(members="0-1", calls=20)], [a_row(members="0,2")]).rows
    assert {part.rank: part.calls for part in row.parts} == {0: 120, 1: 20, 2: 100}
    assert row.parts[0].seconds == 3.0


def test_the_error_of_a_mean_of_one_call_is_not_known() -> None:
    assert Moments.of_all(1, 2.0, 4.0).error_squared == 0.0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1, "ranks": [], "sample": 0}', '{"format": 3, "ranks": [{}]}']
)
def test_what_is_no_profile_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"p\.json is no profile"):
        read_profile(path)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.55, 0.71, 0.9, 0.99])
def test_a_profile_that_was_cut_off_is_said_to_be(tmp_path: Path, share: float) -> None:
    path = write(tmp_path / "p.json", [a_row()], [a_row()])
    text = path.read_text()
    for end in range(int(share * len(text)), int(share * len(text)) + 8):
        path.write_text(text[:end])
        with pytest.raises(UserError, match="is cut off, at its line 1") as caught:
            read_profile(path)
        assert "profile the program again" in caught.value.remedy


def test_what_is_no_text_or_no_json_is_said_in_plain_words(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for content, trouble in (
        (b"\x9c\x80\xff", "it is no text"),
        (b" \n", "it is empty"),
        (b"MPI_Bcast took long", "it is no JSON"),
        (b'{"format": 3,\n "ranks": [}], "nodes": [0]}', "it is damaged at line 2, column 12"),
        (b'{"format": ' + b"9" * 5000 + b"}", "it holds a number that is too long"),
    ):
        path.write_bytes(content)
        outcome = command("replay", str(path))
        assert (outcome.code, f"{path} is no profile: {trouble}" in outcome.err) == (2, True), outcome.err
        assert "codec" not in outcome.err


@pytest.mark.parametrize("words", [["profile", "--from"], ["replay"], ["doctor", "--profile"]])
def test_a_misspelt_name_and_a_folder_are_told_from_a_job_that_left_nothing(
    command: Command, tmp_path: Path, words: list[str]
) -> None:
    nothing = command(*words, str(tmp_path / "nothing.json"))
    assert f"{tmp_path}/nothing.json: there is no such file" in nothing.err
    assert "check the spelling" in nothing.err
    folder = command(*words, str(tmp_path))
    assert f"{tmp_path}: that is a folder" in folder.err
    assert "name the file in it" in folder.err
    assert (nothing.code, folder.code) == (2, 2)
    assert "MPI_Finalize" not in nothing.err + folder.err


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({"calls": -5}, "calls: -5 is not a number from 0"),
        ({"calls": 2.5}, "calls: 2.5 is not"),
        ({"calls": True}, "calls: True is not"),
        ({"calls": 10**30}, "calls: 1000000000000000000000000000000 is not"),
        ({"calls": None}, "calls: is missing"),
        ({"calls": 10**15}, "calls: 1000000000000000 is not a number from 0 to 10000000000000"),
        ({"native": 10**15}, "native: 1000000000000000 is not"),
        ({"bytes": -1}, "bytes: -1 is not"),
        ({"calls": 2, "bytes": 2 * 10**15}, "bytes: 2000000000000000 is not a number from 0 to 2199023255552"),
        ({"seconds": -0.5}, "seconds: -0.5 is not"),
        ({"seconds": 1e300}, "seconds: 1e+300 is not a number from 0 to 1e+09"),
        ({"seconds": float("nan")}, "seconds: nan is not"),
        ({"gap": "long"}, "gap: 'long' is not"),
        ({"size_class": 400}, "size_class: 400 is not a number from -1 to 41"),
        ({"form": "sideways"}, "form: sideways is none of blocking"),
        ({"members": "0-1999999999"}, "members: no ranks: 0-1999999999"),
        ({"members": "0-7"}, "members: 0-7 are not ranks of 2"),
        ({"members": "0,1,0-1"}, "members: a rank comes twice"),
        ({"waited_for": {"2": 1.0}}, "waited_for: '2' is not a rank of 2"),
        ({"waited_for": {"1": -1.0}}, "waited_for, 1: -1.0 is not"),
        ({"roots": {"-1": 3}}, "roots: '-1' is not a rank of 2"),
        ({"from": [0], "to": [9]}, "to: 9 is not a rank of 2"),
        ({"own": {"calls": 3, "seconds": -1, "squares": 0}}, "own, seconds: -1 is not"),
        ({"own": []}, "own: [] is no object"),
        ({"measured": {"native": 1, "own": 1}}, "measured, uncertainty: is missing"),
    ],
)
def test_numbers_that_cannot_be_are_refused_with_their_place(
    command: Command, tmp_path: Path, facts: dict[str, Any], place: str
) -> None:
    path = write(tmp_path / "p.json", [a_row()], [a_row(operation="MPI_Bcast"), a_row(**facts)])
    for words in (["profile", "--from"], ["replay"], ["doctor", "--profile"]):
        outcome = command(*words, str(path))
        assert (outcome.code, outcome.out) == (2, "")
        assert f"{path} is no profile: rank 1, row 2, {place}" in outcome.err
        assert "profile the program again" in outcome.err


@pytest.mark.parametrize(
    ("facts", "place"),
    [
        ({"ranks": []}, "ranks: there are 0"),
        ({"ranks": 7}, "ranks: 7 is not a list"),
        ({"nodes": [0]}, "nodes: 1 number for 2 ranks"),
        ({"nodes": [0, -1]}, "nodes: -1 is not a rank of 2"),
        ({"sample": -1}, "sample: -1 is not"),
        ({"mpi": 5}, "mpi: 5 is not a text"),
        ({"ranks": [{"rank": 0, "seconds": 1, "rows": []}] * 2}, "rank 1, rank: 0 is not 1"),
        ({"ranks": [{"rank": 0, "seconds": -1, "rows": []}] * 2}, "rank 0, seconds: -1 is not"),
    ],
)
def test_a_file_that_does_not_fit_itself_is_refused(tmp_path: Path, facts: dict[str, Any], place: str) -> None:
    path = write(tmp_path / "p.json", [], [])
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
    with pytest.raises(UserError, match=re.escape(f"{path} is no profile: {place}")):
        read_profile(path)


def test_a_table_and_a_verdict_are_printed_from_a_file(command: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", [a_row(waited_for={"1": 1.0})], [a_row(waiting=0.0)])
    outcome = command("profile", "--from", str(path))
    assert outcome.code == 0
    assert "MPI_Allreduce" in outcome.out
    assert "20.0 % of the run is spent in collectives" in outcome.out


def test_what_is_printed_without_a_terminal_has_lines_of_100_columns(command: Command, tmp_path: Path) -> None:
    choice = "rabenseifner,radix=2,within=cells,cell=32K,cells=8,leaders=near,order=auto,segment=64K"
    sites = {"site": "/nowhere/libsolver.so+0x12 solve"}
    started = a_row(form="nonblocking", operation="MPI_Reduce_scatter", choice=choice, **sites)
    path = write(tmp_path / "p.json", *[[a_row(choice=choice, size_class=20, **sites), started]] * 2)
    lines = command("profile", "--from", str(path)).out.splitlines()
    assert max(map(len, lines[:-1])) <= 100, "but for the sentence at the end"
    assert sum(choice in line for line in lines) == 2
    assert " ".join(" ".join(lines).split()).count(f"2 ranks on 1 node {choice} solve in libsolver.so") == 2


def test_the_page_has_its_pictures_before_its_table(command: Command, tmp_path: Path) -> None:
    row = a_row(waited_for={"0": 1.0}, sample=moments(25, 0.014), choice="<i>")
    write(tmp_path / "p.json", [row], [row], sample=4)
    page = tmp_path / "page.html"
    assert command("profile", "--from", "-o", str(page), str(tmp_path / "p.json")).code == 0
    text = page.read_text()
    assert text.count("<svg") == 3
    assert text.rindex("<svg") < text.index("<table")
    assert "&lt;i&gt;" in text
    assert "<i>" not in text


def test_the_page_names_sizes_as_the_terminal_does_and_explains_its_columns(command: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", *[[a_row(size_class=13), a_row(size_class=1, operation="MPI_Scan")]] * 2)
    page = tmp_path / "page.html"
    assert "4K+" in command("profile", "--from", "-o", str(page), str(path)).out
    text = page.read_text()
    assert "MPI_Allreduce of 4K+" in text
    assert "MPI_Scan of 1<" in text
    for column in ("waiting", "imbalance", "saved", "done by"):
        assert f"<th>{column}</th>" in text
        assert f"<b>{column}</b>: " in text


def test_where_time_goes_holds_what_does_not_block_too(command: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    rows = [a_row(seconds=1.0), started(operation="MPI_Bcast", seconds=5.2)]
    assert command("profile", "--from", "-o", str(page), str(write(tmp_path / "p.json", rows, rows))).code == 0
    times = page.read_text().partition("Where time goes")[2].partition("</svg>")[0]
    assert "blue: starting and completing what does not block" in times
    assert times.index("MPI_Ibcast of 8+") < times.index("MPI_Allreduce"), "the longest comes first"
    assert "52.0 % of the run" in times
    assert times.count('class="bar"') == 1
    write(tmp_path / "p.json", rows[:1], rows[:1])
    assert command("profile", "--from", "-o", str(page), str(tmp_path / "p.json")).code == 0
    assert "does not block" not in page.read_text()


def test_the_pages_table_is_no_wider_than_a_window(command: Command, tmp_path: Path) -> None:
    choice = "knomial,radix=2,segment=16K,within=cells,cell=32K,cells=8,window=32K (is being learned)"
    row = a_row(
        choice=choice, site="/usr/lib/x86_64-linux-gnu/libsolver.so.1+0x12 exchange_halos", sample=moments(9, 1)
    )
    write(tmp_path / "p.json", [row], [row], sample=4)
    page = tmp_path / "page.html"
    assert command("profile", "--from", "-o", str(page), str(tmp_path / "p.json")).code == 0
    widths = "[...document.querySelectorAll('.scroll')].map(it => it.scrollWidth - it.clientWidth)"
    assert set(ask_browser(page, 1300, widths).split(",")) == {"0"}
    assert int(ask_browser(page, 500, "document.documentElement.scrollWidth")) <= 500


def started(**facts: Any) -> dict[str, Any]:
    """100 nonblocking calls, 1 s in start, 2 s until completion and 4 s there."""
    return a_row(
        **{"form": "nonblocking", "seconds": 5.0, "start": 1.0, "between": 2.0, "waiting": 0.0, "split": 0} | facts
    )


def test_what_does_not_block_is_shown_apart_with_start_completion_and_what_lies_between(
    command: Command, tmp_path: Path
) -> None:
    path = write(tmp_path / "p.json", [a_row(), started()], [a_row(), started()])
    lines = command("profile", "--from", str(path)).out.splitlines()
    blocking = next(line for line in lines if line.startswith("MPI_Allreduce"))
    other = next(line for line in lines if line.startswith("MPI_Iallreduce"))
    assert lines.index(blocking) < lines.index(other)
    assert all(time in other for time in ("10.00 ms", "20.00 ms", "40.00 ms")), other
    found = json.loads(command("profile", "--from", "--json", str(path)).out)
    (row,) = [row for row in found["rows"] if row["form"] == "nonblocking"]
    assert (row["start_seconds"], row["between_seconds"], row["completion_seconds"]) == (2.0, 4.0, 8.0)
    assert "50.0 % starting and completing what does not block" in found["verdict"]
    page = tmp_path / "page.html"
    assert command("profile", "--from", "-o", str(page), str(path)).code == 0
    assert "A call that does not block, of one rank" in page.read_text()


def test_a_job_that_only_starts_calls_has_a_verdict_too(tmp_path: Path) -> None:
    verdict = read(tmp_path, [started()]).verdict
    assert "50.0 % starting" in verdict
    assert "waiting" not in verdict


def test_places_in_the_program_become_functions_and_lines(command: Command, tmp_path: Path) -> None:
    program = compile_c(
        "int work(void) { return 7; }\nint main(void) { return work(); }", tmp_path / "app", "-g", "-O0"
    )
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    (work,) = [int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" T work")]
    rows = [a_row(site=f"{program}+{work:#x} main"), a_row(site="/nowhere/lib.so+0x12 solve", operation="MPI_Bcast")]
    path = write(tmp_path / "p.json", rows)
    sites = [row["site"] for row in json.loads(command("profile", "--from", "--json", str(path)).out)["rows"]]
    assert sites[0].startswith("work at ")
    assert sites[0].endswith(":1")
    assert sites[1] == "solve in lib.so"
    assert "called at" in command("profile", "--from", str(path)).out


def test_times_of_calls_that_some_ranks_have_not_made_go_with_their_shares(command: Command, tmp_path: Path) -> None:
    alltoallv = {"operation": "MPI_Alltoall", "counts": True}
    one, other = (a_row(**alltoallv, size_class=size, seconds=0.6) for size in (9, 10))
    ranks = [one], [other], [other], [one, a_row(**alltoallv, size_class=11, seconds=1.0)]
    path = write(tmp_path / "p.json", *ranks)
    outcome = command("profile", "--from", "-o", str(tmp_path / "p.html"), str(path))
    shown = {line.split()[1]: line for line in outcome.out.splitlines() if line.startswith("MPI_")}
    for size, time, share in (("256+", "300 ms", "3.0 %"), ("512+", "300 ms", "3.0 %"), ("1K+", "250 ms", "2.5 %")):
        assert time in shown[size], shown[size]
        assert share in shown[size], shown[size]
    remark = "Of 3 kinds of calls some ranks made none"
    assert remark in outcome.out
    assert remark in (tmp_path / "p.html").read_text()
    found = json.loads(command("profile", "--from", "--json", str(path)).out)
    assert [(row["calling_ranks"], row["mean_seconds"]) for row in found["rows"]] == [(2, 0.3), (2, 0.3), (1, 0.25)]
    assert found["remark"].startswith(remark)
    write(path, [one], [one])
    assert "some ranks made none" not in command("profile", "--from", str(path)).out


def test_json_holds_every_rank(command: Command, tmp_path: Path) -> None:
    path = write(tmp_path / "p.json", [a_row()], [a_row(seconds=3.0)])
    found = json.loads(command("profile", "--from", "--json", str(path)).out)
    assert found["rows"][0]["seconds_by_rank"] == {"0": 2.0, "1": 3.0}
    assert found["rows"][0]["bytes_from"] == 8


@pytest.fixture
def app(tmp_path: Path, only_mpis, libraries, core) -> str:
    library = make_mpi(tmp_path / "mpich", MPI_TEXT["mpich"], "libmpi.so.12")
    only_mpis(tmp_path / "mpich")
    return str(compile_c(MAIN, tmp_path / "app", str(library), f"-Wl,-rpath,{library.parent}"))


def pretend_to_run(folder: Path, code: int = 0) -> None:
    """The launcher of `app` then leaves a profile, and ends so."""
    write(folder / "ready.json", [a_row(sample=moments(25, 0.014))], [a_row(sample=moments(25, 0.014))], sample=8)
    (folder / "mpich" / "bin" / "mpiexec").write_text(
        f"#!/bin/sh\nfile=$(echo \"$*\" | sed 's/.*ESPALIER_PROFILE \\([^ ]*\\).*/\\1/')\n"
        f'cp {folder}/ready.json "$file"; exit {code}\n'
    )


def test_the_exit_code_is_the_jobs(command: Command, app: str, tmp_path: Path) -> None:
    pretend_to_run(tmp_path, code=5)
    outcome = command("profile", "-n", "2", "--sample", "1/8", "--", app)
    assert outcome.code == 5
    assert "of the run is spent in collectives" in outcome.out


def test_the_exit_code_is_that_of_a_job_that_leaves_no_profile_too(command: Command, app: str, tmp_path: Path) -> None:
    launcher = tmp_path / "mpich" / "bin" / "mpiexec"
    for end, code, told in (
        ("exit 5", 5, "ended with exit code 5: does it natively, too"),
        ("kill -9 $$", 137, "ended with signal 9 (SIGKILL): "),
        ("exit 139", 139, "ended with signal 11 (SIGSEGV): "),
        ("exit 255", 255, "ended with exit code 255: "),
        ("exit 0", 2, "it has to end by MPI_Finalize"),
    ):
        launcher.write_text(f"#!/bin/sh\n{end}\n")
        outcome = command("profile", "-n", "2", "--", app)
        assert outcome.code == code
        assert f"left no profile (exit code {code % 2 and code})" in outcome.err
        assert outcome.err.index(told) <= outcome.err.index("it has to end by MPI_Finalize"), outcome.err


def test_what_is_kept_goes_into_pipes_and_behind_links(command: Command, app: str, tmp_path: Path) -> None:
    pretend_to_run(tmp_path)
    pipe, link, read = tmp_path / "pipe", tmp_path / "link.json", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert command("profile", "-n", "2", "--keep", str(pipe), "--", app).code == 0
    reader.join(60)
    assert read == [(tmp_path / "ready.json").read_text()]
    assert pipe.is_fifo()
    link.symlink_to("kept.json")
    assert command("profile", "-n", "2", "--keep", str(link), "--", app).code == 0
    assert link.is_symlink()
    assert (tmp_path / "kept.json").read_text() == read[0]


def test_a_page_that_has_no_room_costs_nothing_but_itself(command: Command, app: str, tmp_path: Path) -> None:
    pretend_to_run(tmp_path)
    for option in ("-o", "--keep"):
        (tmp_path / "page.html.part").symlink_to("/dev/full")
        outcome = command("profile", "-n", "2", option, str(tmp_path / "page.html"), "--", app)
        assert outcome.code == 2
        assert "of the run is spent in collectives" in outcome.out
        assert outcome.err.splitlines()[0] == f"espalier: {tmp_path}/page.html: No space left on device"
        assert not list(tmp_path.glob("page*"))


def test_a_trace_that_the_job_could_not_write_is_missed(command: Command, app: str, tmp_path: Path) -> None:
    pretend_to_run(tmp_path)
    outcome = command("profile", "-n", "2", "--trace", str(tmp_path / "trace.json"), "--", app)
    assert outcome.code == 2
    assert f"--trace {tmp_path}/trace.json was not written" in outcome.err


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        (["--sample", "32"], "--sample 32: no part of all calls", "1/32"),
        (["--sample", "1/1"], "--sample 1/1", "1/32"),
        (["-n", "2"], "left no profile (exit code 0)", "MPI_Finalize"),
    ],
)
def test_mistakes_are_explained(
    command: Command, app: str, options: list[str], message: str, remedy: str, core
) -> None:
    outcome = command("profile", *options, "--", app)
    assert outcome.code == 2
    assert message in outcome.err
    assert remedy in outcome.err


def test_a_program_without_mpi_is_told_from_one_that_does_not_end(command: Command, app: str, core) -> None:
    outcome = command("profile", "-n", "2", "--", "/bin/true")
    assert (outcome.code, "linked with no MPI" in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-n", "2", "-o", "/nowhere/p.html"], "--output /nowhere/p.html: there is no folder /nowhere"),
        (["-n", "2", "--keep", "/nowhere/p.json"], "--keep /nowhere/p.json: there is no folder /nowhere"),
        (["-n", "2", "--trace", "/"], "--trace /: that is a folder"),
        ([], "one rank has nobody to wait for"),
    ],
)
def test_what_would_leave_nothing_is_refused_before_the_program_runs(
    command: Command, app: str, tmp_path: Path, options: list[str], message: str, core
) -> None:
    (tmp_path / "mpich" / "bin" / "mpiexec").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    outcome = command("profile", *options, "--", app)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not (tmp_path / "ran").exists()
