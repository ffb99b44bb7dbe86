"""Another tool of the profiling interface in the process: it sees every call of the program once, and we do the work.

The tool (tools/counting_tool.c) counts calls, and goes on to PMPI as all such tools do.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from espalier.jobs.launch import Job, build_command, choose_target
from launch import CHECKOUT, Outcome, TestMpi, clean_environment, run_command
from stats import read_stats

GetMpi = Callable[[str], TestMpi]
RANKS = 2
CALM = {"ESPALIER_SETUP_CALLS": "0", "ESPALIER_LEARN": "off"}
MPIS = ("mpich-5", "openmpi-5", "intel")
SOURCES = CHECKOUT / "tests" / "mpi" / "tools"
SEEN = "tool: 1 init, 500 allreduce, 20 barrier, 10 send, 5 iallreduce, 5 wait"


@dataclass(frozen=True)
class Workshop:
    """What is compiled for one MPI."""

    mpi: TestMpi
    folder: Path

    def compile(self, name: str, *words: str) -> Path:
        headers = CHECKOUT / "build" / "mpi" / ("openmpi" if self.mpi.abi == "openmpi" else "mpich") / "include"
        output = self.folder / name
        subprocess.run(["cc", "-O1", "-I", str(headers), "-o", str(output), *words], check=True)
        return output

    @property
    def tool(self) -> Path:
        source = str(SOURCES / "counting_tool.c")
        return self.compile("libtool.so", "-shared", "-fPIC", "-Wl,-soname,libtool.so", source)

    def program(self, *more: str) -> Path:
        library = self.mpi.mpi.library
        last = [str(library), f"-Wl,-rpath,{library.parent}:{self.folder}", "-Wl,--allow-shlib-undefined"]
        return self.compile("counted", str(SOURCES / "counted.c"), *more, *last)

    def run(self, program: Path, *preload: Path, **settings: str) -> tuple[Outcome, Path]:
        file = self.folder / "stats.json"
        more = {"ESPALIER_STATS": str(file), "LD_PRELOAD": ":".join(map(str, preload)), **settings}
        return self.mpi.run([str(program)], RANKS, settings=more, native=True, bare=True), file


@pytest.fixture
def make_workshop(get_mpi: GetMpi, tmp_path: Path) -> Callable[[str], Workshop]:
    return lambda name: Workshop(get_mpi(name), tmp_path)


def assert_seen_once_and_ours(outcome: Outcome, file: Path) -> None:
    assert outcome.code == 0, str(outcome)
    assert re.findall("tool: .*", outcome.out) == [SEEN], str(outcome)
    assert "program: right" in outcome.out
    assert handled(file)["MPI_Allreduce"] >= 500
    assert handled(file)["MPI_Barrier"] == 20


def handled(file: Path) -> Mapping[str, int]:
    return {name: counts.handled for name, counts in read_stats(file).items()}


@pytest.mark.parametrize("name", MPIS)
def test_a_tool_that_is_preloaded_before_us(make_workshop, name: str) -> None:
    shop = make_workshop(name)
    assert_seen_once_and_ours(*shop.run(shop.program(), shop.tool, shop.mpi.espalier))


@pytest.mark.parametrize("name", MPIS)
def test_a_tool_that_is_preloaded_after_us(make_workshop, name: str) -> None:
    shop = make_workshop(name)
    assert_seen_once_and_ours(*shop.run(shop.program(), shop.mpi.espalier, shop.tool))


@pytest.mark.parametrize("is_before", [False, True], ids=("after", "before"))
@pytest.mark.parametrize("name", MPIS)
def test_a_tool_sees_none_of_our_own_messages_between_nodes(make_workshop, name: str, is_before: bool) -> None:
    shop = make_workshop(name)
    preload = (shop.tool, shop.mpi.espalier) if is_before else (shop.mpi.espalier, shop.tool)
    outcome, file = shop.run(shop.program(), *preload, ESPALIER_VIRTUAL_NODES="1,1", **CALM)
    assert_seen_once_and_ours(outcome, file)
    assert "tool: messages" not in outcome.out, str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_a_tool_behind_us_that_goes_past_us_is_named(make_workshop, name: str) -> None:
    """By the next MPI_Allreduce, not by PMPI_Allreduce: which is the MPI's."""
    workshop = make_workshop(name)
    source = str(SOURCES / "passing_tool.c")
    tool = workshop.compile("libpassing.so", "-shared", "-fPIC", "-D_GNU_SOURCE", source)
    program = workshop.program()
    behind, _ = workshop.run(program, workshop.mpi.espalier, tool)
    assert behind.code == 0, str(behind)
    assert behind.err.count(f"espalier: {tool} stands behind Espalier and goes on to the MPI by itself") == 1
    before, file = workshop.run(program, tool, workshop.mpi.espalier)
    assert (before.code, "stands behind" in before.err) == (0, False), str(before)
    assert handled(file)["MPI_Allreduce"] > 0


@pytest.mark.parametrize("name", MPIS)
def test_a_tool_that_the_program_is_linked_with(make_workshop, name: str) -> None:
    shop = make_workshop(name)
    program = shop.program("-Wl,--no-as-needed", str(shop.tool))
    assert_seen_once_and_ours(*shop.run(program, shop.mpi.espalier))


@pytest.mark.parametrize("name", MPIS)
def test_a_tool_that_is_part_of_the_program(make_workshop, name: str) -> None:
    shop = make_workshop(name)
    program = shop.program(str(SOURCES / "counting_tool.c"))
    assert_seen_once_and_ours(*shop.run(program, shop.mpi.espalier))


@pytest.mark.parametrize("place", ["after", "before", "linked"])
@pytest.mark.parametrize("name", MPIS)
def test_a_tool_sees_the_same_where_all_is_left_to_native(make_workshop, name: str, place: str) -> None:
    shop = make_workshop(name)
    words = ["-Wl,--no-as-needed", str(shop.tool)] if place == "linked" else []
    preload = {"after": [shop.mpi.espalier, shop.tool], "before": [shop.tool, shop.mpi.espalier]}
    outcome, file = shop.run(shop.program(*words), *preload.get(place, [shop.mpi.espalier]), ESPALIER_DISABLE="1")
    assert re.findall("tool: .*", outcome.out) == [SEEN], str(outcome)
    assert "program: right" in outcome.out
    assert handled(file)["MPI_Allreduce"] == 0


@pytest.mark.parametrize("is_before", [False, True], ids=("after", "before"))
@pytest.mark.parametrize("name", MPIS)
def test_a_tool_sees_the_same_where_calls_are_compared(make_workshop, name: str, is_before: bool) -> None:
    """In front of us it waits for requests at native, which must not be ours: those calls are not compared."""
    shop = make_workshop(name)
    preload = (shop.tool, shop.mpi.espalier) if is_before else (shop.mpi.espalier, shop.tool)
    outcome, file = shop.run(shop.program(), *preload, ESPALIER_CHECK="1")
    assert_seen_once_and_ours(outcome, file)
    assert outcome.err.count("leaves out calls that do not block") == is_before, str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_without_a_tool_pmpi_is_native(make_workshop, name: str) -> None:
    """What programs ask for by that name, benchmarks among them."""
    shop = make_workshop(name)
    words = "-DMPI_Allreduce=PMPI_Allreduce", "-DMPI_Barrier=PMPI_Barrier"
    outcome, file = shop.run(shop.program(*words), shop.mpi.espalier)
    assert "program: right" in outcome.out, str(outcome)
    assert handled(file)["MPI_Barrier"] == 0


@pytest.mark.parametrize("name", MPIS)
def test_a_process_with_a_runtime_for_accelerators_is_left_alone(make_workshop, name: str) -> None:
    """Unless somebody vouches for where its buffers lie."""
    shop = make_workshop(name)
    source = shop.folder / "nothing.c"
    source.touch()
    runtime = shop.compile("libcudart.so.12", "-shared", str(source))
    for vouches, calls in ({}, 0), ({"ESPALIER_ASSUME_HOST_BUFFERS": "1"}, 505):
        outcome, file = shop.run(shop.program(), shop.mpi.espalier, runtime, ESPALIER_VERBOSE="1", **CALM, **vouches)
        assert "program: right" in outcome.out, str(outcome)
        assert handled(file)["MPI_Allreduce"] == calls
        assert ("a rank uses an accelerator" in outcome.err) == (not calls), str(outcome)


@pytest.mark.parametrize("name", MPIS)
def test_mpi_that_is_opened_later_and_for_itself_is_found(make_workshop, name: str) -> None:
    """As Python's mpi4py, and MPI.jl, do: by dlopen with RTLD_LOCAL, in a program that does not know of MPI."""
    shop = make_workshop(name)
    library = shop.mpi.mpi.library
    inner = shop.compile(
        "inner.so",
        "-shared",
        "-fPIC",
        "-Dmain=run",
        str(SOURCES / "counted.c"),
        str(library),
        f"-Wl,-rpath,{library.parent}",
    )
    outer = shop.compile("outer", str(SOURCES / "opening.c"), "-ldl")
    file = shop.folder / "stats.json"
    settings = {"ESPALIER_STATS": str(file), "LD_PRELOAD": str(shop.mpi.espalier)}
    outcome = shop.mpi.run([str(outer), str(inner)], RANKS, settings=settings, native=True, bare=True)
    assert "program: right" in outcome.out, str(outcome)
    assert handled(file)["MPI_Allreduce"] >= 500


def test_a_tool_that_the_program_is_linked_with_sees_the_same_under_another_mpi(
    make_workshop: Callable[[str], Workshop], get_mpi: GetMpi, tmp_path: Path
) -> None:
    """Which is preloaded in place of the program's own."""
    shop, other, file = make_workshop("mpich-5"), get_mpi("intel"), tmp_path / "stats.json"
    program = str(shop.program("-Wl,--no-as-needed", str(shop.tool)))
    job = Job(choose_target(program, "intel"), RANKS, [program], settings={**CALM, "ESPALIER_STATS": str(file)})
    line, environment = build_command(job)
    outcome = run_command(line, {**clean_environment(), **environment}, 60)
    assert_seen_once_and_ours(outcome, file)
    assert job.target.mpi.library == other.mpi.library


@pytest.mark.parametrize("name", MPIS)
def test_what_the_mpi_says_of_a_message_that_failed_is_told(make_workshop, name: str) -> None:
    """Not a tool, but in the place of one: the MPI's own sends begin to fail."""
    shop = make_workshop(name)
    failing = shop.compile("libfailing.so", "-shared", "-fPIC", str(SOURCES / "failing.c"), "-ldl")
    outcome, _ = shop.run(shop.program(), shop.mpi.espalier, failing, ESPALIER_VIRTUAL_NODES="1,1", **CALM)
    assert outcome.code != 0, str(outcome)
    said = r"espalier: a message of the MPI's failed in the middle of a collective \(.*memory.*\); the communicator"
    assert re.search(said, outcome.err, re.IGNORECASE), str(outcome)
