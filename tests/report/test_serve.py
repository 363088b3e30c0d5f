"""A real server on a port of its own: what it shows, and what it does not."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import NamedTuple
from urllib.parse import quote, urlencode

import pytest

from teen import UserError
from teen.cli.serve import command
from teen.disk.lock import locked
from teen.report import listing
from teen.report.library import RunSummary
from teen.report.serve import HEADERS, Server

from .synthetic import EVERY, HOSTILE, evaluate, score, write_run

SECRET = "swordfish"


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str


@pytest.fixture
def root(tmp_path):
    """Runs, and beside their folder what must stay unseen."""
    write_run(tmp_path / "outside" / "run", SECRET)
    (tmp_path / "outside" / "secret.csv").write_text(f"seed,step,policy,episode,return,length\n0,1,mean,0,{SECRET},1\n")
    runs = tmp_path / "runs"
    write_run(runs / "first", level=1)
    write_run(runs / "sweep" / "alpha=0", "teen", evaluations=4)
    write_run(runs / "sweep" / "alpha=1", "teen", alpha=1.0)
    for age, run in enumerate(("first", "sweep/alpha=1", "sweep/alpha=0")):
        for path in (runs / run).iterdir():
            os.utime(path, (1e9 - age, 1e9 - age))
    return runs


@pytest.fixture
def server(root):
    with Server(root, port=0) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server, path, method="GET", host="localhost", seconds=20, **headers) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=seconds)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Host": host, **headers}.items():
        if value is not None:
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return Answer(answer.status, answer.headers, text)


def test_the_list_has_every_run_newest_first(server, root):
    (root / "first" / "lock").write_text("123")  # left by a process that died
    with locked(root / "sweep"):
        answer = ask(server, "/")
    assert answer.status == 200
    rows = answer.text.split("<tr data-keys=")[1:]
    assert [row.count("being written") for row in rows] == [0, 1, 1]
    for row, parts in zip(
        rows,
        (
            ("first", "td3", "Hopper-v5", ">3<", ">100,000<", ">101.0<"),
            ("sweep/alpha=1", "/run?name=sweep%2Falpha%3D1", "teen", ">100,000<"),
            ("sweep/alpha=0", "teen", "40,000 of 100,000", ">41.0<"),
        ),
        strict=True,
    ):
        for part in parts:
            assert part in row


def test_runs_are_shown_alone_and_beside_each_other(server):
    for path in ("/run?name=first", "/compare?name=first&name=sweep%2Falpha%3D1"):
        answer = ask(server, path)
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert 'data-live="yes"' in answer.text
    data = json.loads(ask(server, "/data?name=first&name=sweep%2Falpha%3D1").text)
    assert data["labels"] == ["td3", "teen"]
    assert data["environments"][0]["curves"][0]["mean"][-1] == score(1, 10 * EVERY, 1)


@pytest.mark.parametrize("path", ["/compare", "/compare?", "/compare?name=", "/compare?other=first"])
def test_a_comparison_of_nothing_is_the_list_with_a_word(server, path):
    answer, usual = ask(server, path), ask(server, "/")
    assert (answer.status, usual.status) == (200, 200)
    word = '<span id="advice" role="alert"{}>Choose at least one run to compare.</span>'
    assert word.format("") in answer.text
    assert word.format(" hidden") in usual.text
    assert answer.text.replace(word.format(""), word.format(" hidden")) == usual.text


def test_a_row_has_a_key_for_each_column(server, root):
    write_run(root / "broken")
    (root / "broken" / "config.toml").write_text("steps = = 3")
    text = ask(server, "/").text
    assert re.findall(r"<th [^>]*>([^<]*)<", text) == list(listing.COLUMNS)
    rows = [json.loads(unescape(keys)) for keys in re.findall(r'data-keys="([^"]*)"', text)]
    keys = {row[0]: row[1:] for row in rows}
    assert keys["sweep/alpha=0"] == [41.0, 40_000, "teen", "Hopper-v5", 3, 1e9 - 2, 0]
    assert keys["broken"][:5] == [None] * 5
    assert all(len(row) == len(listing.COLUMNS) for row in rows)


@pytest.mark.parametrize(
    ("score", "text"),
    [(None, "–"), (0.0, "0.0"), (-1234.56, "-1,234.6"), (9_999_999.0, "9,999,999.0"), (-3e99, "-3.00e+99")],
)
def test_a_score_is_never_long(score, text):
    assert f">{text}</td>" in listing.render([RunSummary("a", score=score)], "x")


def test_data_follow_a_run_and_are_not_sent_twice(server, root):
    first = ask(server, "/data?name=first")
    again = ask(server, "/data?name=first", If_None_Match=first.headers["ETag"])
    assert (again.status, again.text) == (304, "")
    evaluate(root / "first", 11 * EVERY, 1, (0, 1, 2))
    later = ask(server, "/data?name=first", If_None_Match=first.headers["ETag"])
    assert later.status == 200
    assert json.loads(later.text)["environments"][0]["curves"][0]["steps"][-1] == 11 * EVERY


@pytest.mark.parametrize(
    "path",
    [
        "/../outside/run/config.toml",
        "/%2e%2e/outside/run/config.toml",
        "/runs/first/config.toml",
        "/first/config.toml",
        "//etc/passwd",
        "/etc/passwd",
        "/run?name=../outside/run",
        "/run?name=%2e%2e%2foutside%2frun",
        "/run?name=..",
        "/run?name=.",
        "/run?name=sweep",
        "/run?name=first/../first",
        "/run?name=%2Fetc",
        "/run?name=first%00",
        "/run",
        "/run?name=",
        "/data?name=first&name=../outside/run",
        "/favicon.ico",
        "http://[/",
    ],
)
def test_only_the_runs_that_were_found_have_an_address(server, path):
    answer = ask(server, path)
    assert answer.status in (400, 404)
    assert SECRET not in answer.text
    assert len(answer.text) < 100


def test_links_out_of_the_folder_are_not_followed(server, root):
    outside = root.parent / "outside"
    (root / "linked").symlink_to(outside / "run")
    write_run(root / "log")
    (root / "log" / "eval.csv").unlink()
    (root / "log" / "eval.csv").symlink_to(outside / "secret.csv")
    write_run(root / "config")
    (root / "config" / "config.toml").unlink()
    (root / "config" / "config.toml").symlink_to(outside / "run" / "config.toml")
    page = ask(server, "/")
    assert SECRET not in page.text
    assert "linked" not in page.text
    assert page.text.count("it is a link, and links in a run folder are not followed") == 2
    assert ask(server, "/run?name=linked").status == 404
    for name in ("log", "config"):
        answer = ask(server, f"/data?name={name}")
        assert "it is a link" in json.loads(answer.text)["error"]
        assert SECRET not in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8722", "localhost.evil.example", "127.0.0.1.nip.io", "", None]
)
def test_a_foreign_host_is_refused(server, host):
    for path in ("/", "/data?name=first"):
        answer = ask(server, path, host=host)
        assert answer.status == 403
        assert "first" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8722", "LOCALHOST:1"])
def test_ones_own_host_is_served(server, host):
    assert ask(server, "/", host=host).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_nothing_but_reading_is_allowed(server, method):
    answer = ask(server, "/run?name=first", method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


def test_every_answer_has_the_headers_and_head_has_no_body(server):
    for path, method in (
        ("/", "GET"),
        ("/run?name=first", "GET"),
        ("/data?name=first", "HEAD"),
        ("/x", "GET"),
        ("/", "POST"),
    ):
        answer = ask(server, path, method)
        for name, value in HEADERS.items():
            assert answer.headers.get_all(name) == [value]
        assert "Python" not in answer.headers["Server"]
        assert (answer.text == "") == (method == "HEAD")
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_damaged_runs_are_listed_with_what_is_wrong(server, root):
    for name, harm in (
        ("toml", "steps = = 3"),
        ("bare", "steps = 3"),
        ("versions", 'algo = "a"\nenv = "e"\nversions = "x"'),
    ):
        write_run(root / name)
        (root / name / "config.toml").write_text(harm)
    write_run(root / "log")
    (root / "log" / "eval.csv").write_text("seed,step,policy,episode,return,length\n0,1,mean,0,much,1\n")
    write_run(root / "diagnostics")
    (root / "diagnostics" / "diagnostics.csv").write_text("seed\n1\n")
    write_run(root / "pipe")
    (root / "pipe" / "config.toml").unlink()
    os.mkfifo(root / "pipe" / "config.toml")
    answer = ask(server, "/")
    assert answer.status == 200
    assert answer.text.count('class="text wrong"') == 5
    assert "first" in answer.text
    for name in ("toml", "bare", "versions", "log", "diagnostics", "pipe"):
        page = ask(server, f"/run?name={name}")
        assert page.status == 200
        assert json.loads(ask(server, f"/data?name={name}").text)["error"]
        both = json.loads(ask(server, f"/data?name=first&name={name}").text)
        assert "error" in both


def test_hostile_names_are_escaped(server, root):
    name = HOSTILE.replace("/", "∕")
    write_run(root / name, HOSTILE, HOSTILE)
    page = ask(server, "/").text
    assert "<img" not in page
    assert page.count("<script") == 2  # for the theme and for the list
    assert f"/run?name={quote(name, safe='')}" in page.replace("+", "%20")
    answer = ask(server, f"/run?name={quote(name, safe='')}")
    assert answer.status == 200
    assert "<img" not in answer.text


ODD_NAMES = [os.fsdecode(b"\xff\xfe run"), "line\nbreak", "\x1b[31m", "a%2Fb+c&d=e", "ünï"]


def test_any_name_of_a_folder_is_a_name_of_a_run(server, root):
    for k, name in enumerate(ODD_NAMES):
        write_run(root / name, seeds=(k,))
    page = ask(server, "/").text
    for name in ODD_NAMES:
        quoted = quote(name, safe="", errors="surrogateescape")
        assert f"/run?name={quoted}".replace("%20", "+") in page
        for path in ("/run", "/data"):
            assert ask(server, f"{path}?name={quoted}").status == 200
    # A form sends what stands in its boxes as UTF-8, and turns line breaks into \r\n.
    boxes = [(unescape(key), unescape(value)) for key, value in re.findall(r'name="(\w+)" value="([^"]*)"', page)]
    assert all(value.isprintable() for _, value in boxes)
    sent = urlencode([pair for pair in boxes if pair[1] not in ("first", "sweep/alpha=0", "sweep/alpha=1")])
    data = json.loads(ask(server, f"/data?{sent}").text)
    assert sorted(run["name"] for run in data["runs"]) == sorted(ODD_NAMES)


def test_simultaneous_requests_are_all_answered(server):
    paths = ("/", "/run?name=first", "/data?name=sweep%2Falpha%3D1", "/nowhere")
    begin = threading.Barrier(200)

    def request(number):
        begin.wait(60)
        return ask(server, paths[number % 4], seconds=60).status

    with ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(request, range(200)))
    assert answers == [200, 200, 200, 404] * 50


def test_files_may_have_any_time(server, root):
    for path in (root / "first").iterdir():
        os.utime(path, ns=(2**62, 2**62))
    assert ">first<" in ask(server, "/").text
    assert listing.render([RunSummary("a", changed) for changed in (1e300, -1e300, 0)], "x").count(">–<") >= 2


def test_a_request_that_fails_is_one_line(server, monkeypatch, capsys):
    monkeypatch.setattr(server.library, "summaries", lambda: 1 / 0)
    with pytest.raises(http.client.RemoteDisconnected):
        ask(server, "/")
    deadline = time.monotonic() + 60
    while not (error := capsys.readouterr().err) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert error == "teen: a request failed: ZeroDivisionError: division by zero\n"


def test_an_empty_folder_waits_and_a_folder_may_itself_be_a_run(tmp_path):
    (tmp_path / "new").mkdir()
    run = write_run(tmp_path / "run")
    for folder, expected in ((tmp_path / "new", "no run here yet"), (run, "/run?name=run")):
        with Server(folder, port=0) as running:
            threading.Thread(target=running.handle_request).start()
            assert expected in ask(running, "/").text


def test_a_port_in_use_and_a_missing_folder_are_named(server, root):
    assert server.server_address[0] == "127.0.0.1"
    with pytest.raises(UserError, match=rf"port {server.server_port} cannot be used.*choose another --port"):
        command([str(root), "--port", str(server.server_port)])
    with pytest.raises(UserError, match="port 70000 cannot be used"):
        command([str(root), "--port", "70000"])
    with pytest.raises(UserError, match="is not a folder"):
        command([str(root / "missing")])


@pytest.mark.parametrize("module", ["serve", "compare", "write"])
def test_reading_runs_needs_neither_jax_nor_environments_nor_matplotlib(module):
    light = (
        f"import sys, teen.report.{module}; print({{'jax', 'gymnasium', 'mujoco', 'matplotlib'}} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", light], check=True, capture_output=True, text=True)
    assert process.stdout == "set()\n"


def test_ctrl_c_ends_it_quietly(root):
    program = (
        # A shell in the background hands down an ignored SIGINT.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from teen.cli.serve import command; raise SystemExit(command([{str(root)!r}, '--port', '0']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")


def test_a_connection_that_waits_ends_with_its_server(tmp_path):
    """A browser opens connections ahead of need, and would ask this server what is meant for the next at its port."""
    with Server(tmp_path, 0) as first:
        thread = threading.Thread(target=first.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        waiting = socket.create_connection(("127.0.0.1", first.server_port), timeout=10)
        while not first._connections:  # accepted
            time.sleep(0.01)
        first.shutdown()
        thread.join()
    with waiting:
        assert waiting.recv(1) == b""
