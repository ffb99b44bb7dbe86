"""The topology service: what it answers, what it does with bad dumps and bad clients, its page."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.base.core import load_core
from espalier.fabric import load
from espalier.service.keeper import INCONSISTENT
from fabrics import DAMAGES, DATA, Damage, damaged, expected_routes, read
from services import Service, serving
from workshop import Command

CAPTURES = sorted(str(path.parent.relative_to(DATA)) for path in DATA.glob("**/expected-routes.tsv*"))
BASELINE = DATA / "s16" / "00-baseline"


def put_dumps(source: Path, folder: Path) -> None:
    """As a collector does: written beside, then renamed."""
    for name in ("ibnetdiscover.txt", "dump_fts.txt"):
        (folder / f".{name}").write_text(read(source / name))
    for name in ("ibnetdiscover.txt", "dump_fts.txt"):
        (folder / f".{name}").rename(folder / name)


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    folder = tmp_path / "dumps"
    folder.mkdir()
    put_dumps(BASELINE, folder)
    return folder


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One of s16, for tests that do not touch its dumps."""
    with serving(BASELINE, tmp_path_factory.mktemp("service"), "--http", "127.0.0.1:0") as it:
        yield it


def answers(engine: Any, *requests: str) -> list[str]:
    return [str(engine.answer(request.encode()).decode("ascii")).rstrip("\n") for request in requests]


@pytest.mark.parametrize("capture", CAPTURES)
def test_every_pair_of_a_capture_is_answered_as_it_was_captured(capture: str) -> None:
    engine = load_core().FabricEngine()
    fabric = load(DATA / capture).core
    engine.publish(fabric, 0)
    hosts = {host.name for host in fabric.hosts}
    for line in expected_routes(DATA / capture):
        source, target, status, links, hops = line.split("\t")
        if not {source, target} <= hosts:
            continue  # an aggregation node is no host
        query, route, count = answers(engine, *(f"{it} {source} {target}" for it in ("query", "route", "hops")))
        if status != "ok":
            assert {query.split(" ")[1], route.split(" ")[1], count.split(" ")[1]} == {status}
            continue
        switches = [] if hops == "-" else hops.split(" ")
        assert query.split(" ") == [source, *(switch.split("[")[0] for switch in switches), target]
        assert count == links
        words = route.split(" ")
        assert words[:4] == [source, target, "status=ok", f"links={links}"]
        assert [word.split(",")[0] + "]" for word in words if "[" in word] == switches


def test_the_matrix_agrees_with_the_hops_of_each_pair() -> None:
    engine = load_core().FabricEngine()
    fabric = load(DATA / "m128" / "00-baseline").core
    engine.publish(fabric, 0)
    hosts = [host.name for host in fabric.hosts][::5]
    rows = [row.split(" ") for row in answers(engine, " ".join(["matrix hops", *hosts]))[0].splitlines()[1:]]
    assert rows == [answers(engine, *(f"hops {source}:{target}" for target in hosts)) for source in hosts]


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_whatever_is_asked_is_answered_in_one_printable_line(request_: bytes) -> None:
    reply = ENGINE.answer(request_.replace(b"\n", b" "))
    assert reply.count(b"\n") == (1 if reply.startswith(b"error ") else reply.count(b"\n"))
    assert all(32 <= byte < 127 or byte == 10 for byte in reply)
    assert reply == b"" or reply.endswith(b"\n")


words = st.sampled_from(
    ["node000", "node001/1", "0x0002c90300010010", "0x", "/", ":", "node000:node001", "a:b:c", "\0"]
)
commands = st.sampled_from(
    ["query", "route", "hops", "matrix", "matrix hops", "matrix combined:9", "classes", "hosts", "help"]
)


@given(commands, st.lists(words, max_size=6), st.sampled_from([" ", "\t", ":", "  "]))
def test_what_is_almost_a_request_gets_as_many_lines_as_its_reply_says(
    command_: str, arguments: list[str], gap: str
) -> None:
    reply = ENGINE.answer(gap.join([command_, *arguments]).encode()).decode("ascii")
    first, *rest = reply.splitlines()
    if first.startswith(("matrix ", "classes ", "hosts ", "help ")):
        assert len(rest) == int(first.split(" ")[1])
    else:
        assert not rest


@pytest.fixture(scope="module", autouse=True)
def _engine() -> None:
    global ENGINE
    ENGINE = load_core().FabricEngine()
    ENGINE.publish(load(BASELINE).core, 0)


ENGINE: Any = None


def test_the_command_answers_over_tcp_and_over_a_socket(service: Service, tmp_path: Path) -> None:
    lines = service.connect()
    assert lines.ask("query node000:node005") == (
        "node000 0x0002c90200400010 0x0002c90200400060 0x0002c90200400020 node005"
    )
    assert lines.ask("hops node000:node001") == "2"
    assert lines.ask_lines("matrix hops node000 node001 node004") == ["0 2 4", "2 0 4", "4 4 0"]
    assert len(lines.ask_lines("hosts")) == 16
    assert lines.ask("version").startswith("version 1 ")
    assert lines.ask("query node000:nobody").startswith("error unknown-host ")
    door = tmp_path / "door"
    with serving(BASELINE, tmp_path, "--socket", str(door)):
        asked = subprocess.run(
            ["python3", "-c", ASK_UNIX, str(door)], capture_output=True, text=True, check=True, timeout=60
        )
        assert asked.stdout == "4\n"
    assert not door.exists()


ASK_UNIX = """
import socket, sys
with socket.socket(socket.AF_UNIX) as it:
    it.connect(sys.argv[1]); it.sendall(b"hops node000:node005\\nquit\\n"); print(it.makefile().read(), end="")
"""


def test_new_dumps_are_taken_whole(dumps: Path, tmp_path: Path) -> None:
    with serving(dumps, tmp_path) as service:
        lines = service.connect()
        assert "0x0002c90200400050" in lines.ask("query node000:node004")
        put_dumps(DATA / "s16" / "01-link-leaf01-spine01-down", dumps)
        service.wait_for("snapshot", "2")
        assert "0x0002c90200400060" in lines.ask("query node000:node004")


@pytest.mark.parametrize(
    "damage",
    [it for it in DAMAGES if it.fault or it.finding in INCONSISTENT],
    ids=lambda damage: damage.name,
)
def test_bad_dumps_are_not_taken_and_the_operator_is_told(damage: Damage, dumps: Path, tmp_path: Path) -> None:
    with serving(dumps, tmp_path) as service:
        lines = service.connect()
        damaged(damage, dumps)
        stats = service.wait_for("rejects", "1")
        assert stats["snapshot"] == "1"
        assert stats["trouble"] != "-"
        assert (damage.fault or damage.finding) in service.said("ERROR (.*)")[1]
        assert lines.ask("hops node000:node004") == "4"
        put_dumps(BASELINE, dumps)
        assert service.wait_for("snapshot", "2")["trouble"] == "-"


def test_tables_that_are_gone_are_missed(dumps: Path, tmp_path: Path) -> None:
    with serving(dumps, tmp_path) as service:
        lines = service.connect()
        before = lines.ask("query node000:node004")
        (dumps / "dump_fts.txt").unlink()
        stats = service.wait_for("rejects", "1")
        assert (stats["snapshot"], stats["basis"]) == ("1", "tables")
        assert "the forwarding tables are gone (dump_fts.txt)" in stats["trouble"]
        assert "missing-tables" in service.said("ERROR (.*)")[1]
        assert lines.ask("query node000:node004") == before
        (dumps / "dump_fts.txt").touch()
        service.wait_for("rejects", "2")
        put_dumps(BASELINE, dumps)
        assert service.wait_for("snapshot", "2")["trouble"] == "-"


def test_wiring_alone_answers_until_there_are_tables(dumps: Path, tmp_path: Path) -> None:
    (dumps / "dump_fts.txt").unlink()
    with serving(dumps, tmp_path) as service:
        assert service.wait_for("snapshot", "1")["basis"] == "shortest"
        put_dumps(BASELINE, dumps)
        assert service.wait_for("snapshot", "2")["basis"] == "tables"


def test_a_service_may_start_before_its_dumps(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    with serving(folder, tmp_path) as service:
        lines = service.connect()
        assert lines.ask("query node000:node004").startswith("error no-data ")
        put_dumps(BASELINE, folder)
        service.wait_for("snapshot", "1")
        assert lines.ask("hops node000:node004") == "4"
        shutil.rmtree(folder)
        assert service.wait_for("rejects", "2")["snapshot"] == "1"
        assert lines.ask("hops node000:node004") == "4"


def test_reloads_under_load_lose_no_query(dumps: Path, tmp_path: Path) -> None:
    wrong: list[str] = []
    asked = [0, 0, 0]
    stop = threading.Event()

    def ask(service: Service, number: int) -> None:
        lines = service.connect()
        while not stop.is_set():
            lines.send("hops node000:node004\n" * 50)
            wrong.extend(reply for reply in (lines.line() for _ in range(50)) if reply != "4")
            asked[number] += 50

    with serving(dumps, tmp_path) as service:
        clients = [threading.Thread(target=ask, args=(service, number)) for number in range(len(asked))]
        for client in clients:
            client.start()
        events = ["01-link-leaf01-spine01-down", "00-baseline", "03-spine02-removed", "00-baseline"]
        for number, event in enumerate(events):
            put_dumps(DATA / "s16" / event, dumps)
            service.wait_for("snapshot", str(number + 2))
        stop.set()
        for client in clients:
            client.join()
    assert not wrong
    assert min(asked) > 0


def test_slow_and_half_open_clients_are_ended_and_others_served(tmp_path: Path) -> None:
    with serving(BASELINE, tmp_path, "--slow", "0.3") as service:
        half = [service.connect() for _ in range(20)]
        for lines in half:
            lines.send("query node0")
        flood = service.connect()
        flood.socket.settimeout(0.2)
        with suppress(TimeoutError, ConnectionError):
            while True:  # asks and never reads
                flood.send("route node000:node005\n" * 1000)
        lines = service.connect()
        assert lines.ask("hops node000:node004") == "4"
        for silent in half:
            assert silent.line().startswith("error too-slow ")
        service.wait_for("too_slow", "21")
        assert lines.ask("hops node000:node004") == "4"


def fetch(service: Service, path: str, body: bytes | None = None) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(service.url + path, data=body, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_http_answers_the_same_as_json(service: Service) -> None:
    def get(path: str) -> Any:
        return json.loads(fetch(service, path)[1])

    pair = "from=node000&to=node005"
    assert get(f"api/v1/query?{pair}")["switches"] == ["0x0002c90200400010", "0x0002c90200400060", "0x0002c90200400020"]
    assert get(f"api/v1/hops?{pair}")["hops"] == 4
    route = get(f"api/v1/route?{pair}")
    assert [it["name"] for it in route["switches"]] == ["leaf01", "spine02", "leaf02"]
    assert get("api/v1/matrix?metric=hops&hosts=node000,node001")["delays"] == [[0, 2], [2, 0]]
    posted = fetch(service, "api/v1/matrix", b'{"metric": "speed", "hosts": ["node000", "node001"]}')
    assert json.loads(posted[1])["delays"] == [[0, 0.001], [0.001, 0]]
    assert len(get("api/v1/hosts")["hosts"]) == 16
    assert get("api/v1/version")["protocol"] == 1
    stats = get("api/v1/stats")
    assert (stats["snapshot"], stats["trouble"], stats["what_was_found"]) == (1, "-", [])
    assert fetch(service, f"fabric.svg?{pair}")[1].count('class="route"') == 4


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("api/v1/hops?from=node000&to=nobody", None, 404, "unknown-host"),
        ("api/v1/route?from=node000&to=nobody", None, 404, "unknown-host"),
        ("api/v1/hops?from=node000", None, 400, "bad-request"),
        ("api/v1/hops?from=node000&to=a%0Aquit", None, 400, "bad-request"),
        ("api/v1/matrix?metric=far&hosts=node000", None, 400, "unknown-metric"),
        ("api/v1/matrix?metric=hops", None, 400, "bad-request"),
        ("api/v1/matrix", b"{", 400, "bad-request"),
        ("api/v1/matrix", b"[" * 100_000, 400, "bad-request"),
        ("fabric.svg?from=nobody&to=node000", None, 404, "unknown-host"),
    ],
)
def test_http_refuses_with_a_code(service: Service, path: str, body: bytes | None, status: int, code: str) -> None:
    got, text = fetch(service, path, body)
    assert (got, json.loads(text)["error"]["code"]) == (status, code)


def test_http_takes_no_body_without_end(service: Service) -> None:
    assert fetch(service, "api/v1/matrix", b"x" * (1 << 20))[0] == 413


def test_prometheus_reads_counts_ages_and_whether_the_data_is_good(service: Service) -> None:
    text = fetch(service, "metrics")[1]
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values["espalier_data_good"]) == 1
    assert float(values["espalier_hosts"]) == 16
    assert float(values["espalier_data_age_seconds"]) > 0
    assert 'espalier_requests_total{request="query"}' in values
    assert "# TYPE espalier_reloads_total counter" in text


def test_it_says_who_asked_by_lines_and_how_often(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as line:
        line.sendall(b"hops node000:node005\nhops node000:node004\nquit\n")
        while line.recv(4096):
            pass
    (asker, *_) = json.loads(fetch(service, "api/v1/askers")[1])["askers"]
    assert asker["address"] == "127.0.0.1"
    assert asker["requests"] >= 3
    assert asker["seconds_ago"] < 60


def test_it_says_which_links_the_routes_among_hosts_share(service: Service) -> None:
    loads = json.loads(fetch(service, "api/v1/loads?among=node[000-002],node005")[1])["loads"]
    assert sum(it["routes"] for it in loads if it["far"].startswith("node005")) == 3, "everybody's route to node005"
    assert [it["routes"] for it in loads] == sorted((it["routes"] for it in loads), reverse=True)
    drawing = fetch(service, "fabric.svg?among=node[000-002],node005")[1]
    assert drawing.count('class="route"') > 4


def test_an_unknown_host_is_said_to_be_one_once(service: Service) -> None:
    error = json.loads(fetch(service, "api/v1/route?from=nobody&to=node000")[1])["error"]
    assert error["code"] == "unknown-host"
    assert "unknown-host" not in error["text"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "bad-request"),
        ("among=node000,nobody", 404, "unknown-host"),
        ("among=node[000-1", 400, "bad-request"),
        ("among=node[0000-9999]", 413, "too-many-hosts"),
    ],
)
def test_loads_among_what_cannot_be_are_refused(service: Service, query: str, status: int, code: str) -> None:
    found, text = fetch(service, f"api/v1/loads?{query}")
    assert (found, json.loads(text)["error"]["code"]) == (status, code)


def test_the_page_shows_the_fabric_its_age_and_a_route(service: Service) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    dom = subprocess.run(
        [browser, *flags, f"{service.url}?from=node000&to=node005"], capture_output=True, text=True, timeout=120
    ).stdout
    assert "</b><span>age of the data</span>" in dom
    assert "ok, 4 links, slowest 4xSDR (8 Gbit/s)" in dom
    assert "<td>spine02</td><td>0x0002c90200400060</td>" in dom
    assert dom.count('class="route"') == 4
    assert '<option value="node015">' in dom


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/nonexistent"], "there is no folder"),
        ([str(BASELINE), "--listen", "nowhere"], "no address to listen at"),
        ([str(BASELINE), "--listen", "192.0.2.1:1"], "cannot listen at 192.0.2.1:1"),
        ([str(BASELINE), "--listen", "none", "--socket", "/nonexistent/door"], "cannot listen at /nonexistent/door"),
        ([str(BASELINE), "--listen", "none", "--http", "192.0.2.1:1"], "cannot listen at 192.0.2.1:1"),
    ],
)
def test_what_cannot_begin_says_why(command: Command, arguments: list[str], says: str) -> None:
    outcome = command("serve", *arguments)
    assert outcome.code == 2
    assert says in outcome.err


def test_the_same_files_are_read_again_on_sighup(dumps: Path, tmp_path: Path) -> None:
    with serving(dumps, tmp_path) as service:
        service.process.send_signal(1)
        service.wait_for("snapshot", "2")


def test_files_that_are_still_being_written_are_waited_for(dumps: Path, tmp_path: Path) -> None:
    with serving(dumps, tmp_path, "--poll", "2") as service:
        text = read(DATA / "s16" / "01-link-leaf01-spine01-down" / "dump_fts.txt")
        with (dumps / "dump_fts.txt").open("w") as file:
            for at in range(0, len(text), len(text) // 10):
                file.write(text[at : at + len(text) // 10])
                file.flush()
                time.sleep(0.1)
        put_dumps(DATA / "s16" / "01-link-leaf01-spine01-down", dumps)
        stats = service.wait_for("snapshot", "2")
        assert stats["rejects"] == "0"
