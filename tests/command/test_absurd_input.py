"""What makes no sense is refused at once: one message with what to do about it, exit code 2, and nothing written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workshop import Command

BASELINE = str(Path(__file__).parents[1] / "data" / "fabric" / "s16" / "00-baseline")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("explain bcast --bytes 99999999999T", "more than 1T, the most there is"),
        ("explain bcast --nodes 1000000000", "4000000000 ranks: plans are made for up to 4194304"),
        ("explain bcast --nodes 99999999999999999999", "ranks: plans are made for up to"),
        ("explain bcast --placement 99999999999,1", "ranks: plans are made for up to"),
        ("explain bcast --placement 0,0", "'0,0' does not say how to split ranks"),
        ("explain bcast --placement cyclic:0", "'cyclic:0' does not say how to split ranks"),
        ("explain bcast --hosts node001", "--hosts and --map are about a network"),
        ("explain bcast --map map.html", "--hosts and --map are about a network"),
        ("simulate bcast --bytes 99999999999T", "more than 1T, the most there is"),
        ("simulate bcast --nodes 1000000000", "ranks: plans are made for up to"),
        ("simulate bcast --ranks 99999999999", "ranks: plans are made for up to"),
        ("simulate bcast --ranks ²", "'²' is no list of counts"),
        ("simulate bcast --bytes 1T --nodes 4 --execute", "--execute moves real bytes, up to 1G"),
        ("simulate bcast --bytes 1T --nodes 4 --platform star", "knomial"),
        ("simulate bcast --nodes 4 --platform=", "unknown kind of network ''"),
        ("simulate bcast --nodes 4 --platform star:rate=nan", "rate=nan: write a number"),
        ("simulate bcast --nodes 4 --map random:x", "--map random:x: no such map"),
        ("simulate bcast --nodes 4 --platform star:hosts=4,slow_hosts=5", "slow_hosts=5: there are only 4 hosts"),
        ("simulate bcast --nodes 4 --connection-rate inf", "--connection-rate inf: that is no bound"),
        ("simulate bcast --nodes 4 --bytes 3 --execute", "--execute moves whole 4-byte numbers, not 3 bytes"),
        ("simulate scatterv --nodes 4", "ask for scatter"),
        ("explain MPI_Alltoallv", "plans are shown for equal blocks"),
        ("explain bcast --nodes 2 --placement 3,1", "--placement and --nodes say the same"),
        ("bench --sizes 1T", "sizes go from 1 to 1G"),
        ("bench --virtual-nodes x", "'x' does not say how to split ranks"),
        ("run --virtual-nodes 3,x true", "'3,x' does not say how to split ranks"),
        ("run --launcher-flags ' true", "--launcher-flags ': no closing quotation"),
        ("node -n 100000000", "less than or equal to 4096"),
        (f"routes --fabric {BASELINE} nobody", "routes from 'nobody' to where?"),
        (f"routes --fabric {BASELINE} nobody node000", "'nobody' is no host"),
        (f"fabric export {BASELINE} --hosts nobody", "`espalier routes --all` lists all hosts"),
        (f"fabric matrix {BASELINE} latency --latency 2:-1", "write LINKS:µs"),
        (f"fabric matrix {BASELINE} latency --latency 2:inf", "write LINKS:µs"),
        (f"serve {BASELINE} --listen none", "there is nowhere to answer"),
        ("reproduce --from-data --output .", "has no data of any figure"),
        ("explain bcast --svg x.png", "--svg x.png: what is written there is SVG, not PNG"),
        ("explain bcast --html x.svg", "name it x.html"),
        ("explain bcast --svg new/folder/x.svg", "create it first: mkdir -p"),
        (f"explain bcast --nodes 2 --fabric {BASELINE} --map x.png", "name it x.html or x.svg"),
        ("simulate bcast --gantt x.html", "what is written there is SVG, not HTML"),
        ("simulate bcast --links x.html", "what is written there is SVG, not HTML"),
        ("simulate bcast --bytes 1K,2K --plot x.pdf", "what is written there is SVG, not PDF"),
        ("node -o x.png", "what is written there is HTML or SVG, not PNG"),
        (f"topo --fabric {BASELINE} -o x.png", "what is written there is HTML or SVG, not PNG"),
        (f"fabric export {BASELINE} --format simgrid -o x.json", "what is written there is XML, not JSON"),
        ("reproduce smp/3 --page x.html", "what is written there is Markdown, not HTML"),
        ("profile -o x.svg true", "what is written there is HTML, not SVG"),
        ("profile --trace x.html true", "what is written there is JSON, not HTML"),
        ("run --stats x.csv true", "what is written there is JSON, not CSV"),
        ("bench connections -o x.svg", "what is written there is HTML, not SVG"),
        ("tune -o x.html", "what is written there is JSON, not HTML"),
        ("tune --report x.json", "what is written there is HTML, not JSON"),
        ("table export -o x.html", "what is written there is JSON, not HTML"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = command(*words.split())
    assert outcome.code == 2
    assert complaint in outcome.err
    assert outcome.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", ["algorithms", "algorithms --json", "explain bcast --json"])
def test_a_full_disk_behind_the_output_is_said_in_one_line(words: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "espalier", *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "espalier: the output: No space left on device"


def test_one_rank_is_one_rank_and_operations_may_be_called_as_mpi_does(command: Command) -> None:
    outcome = command("explain", "MPI_Bcast", "--bytes", "1K", "--ranks", "1", "--rank", "none")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("bcast of 1K on 1 rank on 1 node,")


def test_a_barrier_has_no_size(command: Command) -> None:
    outcome = command("simulate", "barrier", "--nodes", "4", "--platform", "star")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("barrier on 16 ranks")
