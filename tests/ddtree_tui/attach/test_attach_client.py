"""What comes from a server is bounded, what goes to it goes nowhere else, and every refusal is a sentence."""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from canned import canned, http, listed, stream

from ddtree_tui import cli, exit_codes
from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.options import AttachOptions
from ddtree_tui.attach.probe import probe
from engine.errors import EngineError


def client(url: str, key: str | None = None) -> Client:
    return Client(read_address(url), key)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("127.0.0.1:30000", "http://127.0.0.1:30000"),
        ("http://box/", "http://box"),
        ("https://box:443/v1/", "https://box"),
        ("https://box/models/one/v1", "https://box/models/one"),
        (" http://[::1]:8000 ", "http://[::1]:8000"),
        ("HTTP://Box:80", "http://box"),
    ],
)
def test_addresses_as_they_are_typed(typed: str, read: str):
    assert str(read_address(typed)) == read


@pytest.mark.parametrize(
    "typed",
    [
        *("", "ftp://box", "http://", "http://box:99999", "http://a b", "http://box\x1b[31m"),
        *("http://me:pw@box", "http://box/?q=1", "http://[::1", "http://bööx"),
    ],
)
def test_what_is_no_address(typed: str, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(EngineError) as told:
        read_address(typed)
    assert told.value.kind == "usage"
    assert "\x1b" not in told.value.message
    assert cli.main(["attach", typed]) == exit_codes.BAD_INPUT


def test_what_travels_in_secret():
    urls = ["https://box", "http://127.0.0.1:1", "http://localhost", "http://[::1]", "http://box"]
    assert [read_address(url).secret for url in urls] == [True, True, True, True, False]


def test_the_key_comes_from_the_option_or_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    log = ["--log", str(tmp_path / "log")]
    monkeypatch.setenv("DDTREE_API_KEY", "of-environment")
    options = cli.parse(["attach", "box", *log])
    assert options.attach == AttachOptions(read_address("box"), "of-environment")
    assert "of-environment" not in repr(options)
    assert cli.parse(["attach", "box", "--api-key", "k", "--request", "r", *log]).attach.key == "k"
    monkeypatch.setenv("DDTREE_API_KEY", "two\nlines")
    with pytest.raises(EngineError, match="API key"):
        cli.parse(["attach", "box", *log])


def test_json_both_ways_with_the_key():
    with canned({"/a": http(200, {"x": [1]}), "/v1/b": http(200, b"null")}) as server:
        assert client(server.url, "secret").get("/a") == {"x": [1]}
        assert client(f"{server.url}/v1").post("/v1/b", {"ü": 1}) is None
        assert "Authorization: Bearer secret\r\n" in server.asked[0]
        assert "Authorization" not in server.asked[1]
        assert server.asked[1].endswith('{"ü":1}')


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else():
    with canned({}) as other:
        elsewhere = http(302, b"", Location=f"{other.url}/v1/models\x1b[31m")
        with canned({"/v1/ddtree/requests": elsewhere}) as server:
            with pytest.raises(EngineError, match="elsewhere") as told:
                probe(client(server.url, "secret"))
            assert told.value.kind == "remote_moved"
            assert other.url in told.value.message
            assert "\x1b" not in told.value.message
        assert not other.asked


@pytest.mark.parametrize(
    ("status", "headers", "kind", "words"),
    [
        (400, {}, "remote_refused", "refused (status 400): Say\\u241b"),
        (401, {}, "remote_key", "DDTREE_API_KEY"),
        (403, {}, "remote_key", "localhost"),
        (429, {"Retry_After": "17"}, "remote_busy", "Try again in 17 s."),
        (503, {"Retry_After": "soon"}, "remote_busy", "Try again later."),
        (500, {}, "remote_refused", "log"),
    ],
)
def test_refusals_are_sentences(status: int, headers: dict[str, str], kind: str, words: str):
    answer = http(status, {"error": {"message": "Say\x1bwhat?" + "!" * 5000}}, **headers)
    with canned({"/": answer}) as server, pytest.raises(EngineError) as told:
        client(server.url).get("/")
    error = told.value
    assert error.kind == kind
    assert words.encode().decode("unicode_escape") in f"{error.message} {error.hint}"
    assert len(error.message) < 600
    assert "\x1b" not in error.message


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"[" * 100_000, b'{"error": 5}', b'{"error": {}}', b"<html>"]
)
def test_whatever_a_refusal_says(body: bytes):
    with canned({"/": http(418, body)}) as server, pytest.raises(EngineError, match="418"):
        client(server.url).get("/")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "remote_unreachable"),
        (b"", "remote_lost"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", "remote_unreachable"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000, "remote_unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "remote_lost"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "remote_lost"),
        (http(200, b"nothing"), "remote_answer"),
        (http(200, b"[" * 100_000), "remote_answer"),
    ],
)
def test_what_is_no_answer(answer: bytes, kind: str):
    with canned({"/": answer}) as server, pytest.raises(EngineError) as told:
        client(server.url).get("/")
    assert told.value.kind == kind


@pytest.mark.parametrize("reset", [True, False])
def test_a_server_that_dies_before_its_answer_has_broken_off(reset: bool):
    def die(connection: socket.socket) -> None:
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with canned({"/v1/chat/completions": die}) as server, pytest.raises(EngineError) as told:
        client(server.url).post("/v1/chat/completions", {"prompt": "It waits its turn."})
    assert told.value.kind == "remote_lost"
    assert told.value.message == f"The connection to {server.url} broke."
    assert "that the server still runs" in told.value.hint


def test_an_answer_that_does_not_end_is_cut():
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"y" * 2**16)

    with canned({"/": talk}) as server:
        with client(server.url).open("GET", "/") as reply, pytest.raises(EngineError, match="1 MiB"):
            reply.json(most=2**20)
        with client(server.url).open("GET", "/") as reply, pytest.raises(EngineError, match="a line of more"):
            next(reply.events(most=2**20))


def test_events_of_a_stream():
    parts = [b"data: 1\n\n: nothing\n\nda", b"ta:2\ndata: 3\r\nid: 7\n\r\n", b"event: x\ndata\n\ndata: cut"]
    with canned({"/": stream(*parts), "/broken": stream(b"data: 1\n\nd", whole=False)}) as server:
        with client(server.url).open("GET", "/") as reply:
            assert [*reply.events()] == [b"1", b"2\n3", b""]
        with client(server.url).open("GET", "/broken") as reply:
            events = reply.events()
            assert next(events) == b"1"
            with pytest.raises(EngineError, match="broke"):
                next(events)
        endless = stream(b"data: 1\n" * 200_000, whole=False)
        server.answers["/endless"] = endless
        with (
            client(server.url).open("GET", "/endless") as reply,
            pytest.raises(EngineError, match="an event"),
        ):
            next(reply.events(most=2**20))


@pytest.mark.parametrize("begun", [True, False])
def test_another_thread_can_hang_up(begun: bool):
    waiting = threading.Event()

    def silent(connection: socket.socket) -> None:
        if begun:
            connection.sendall(stream(b"data: 1\n\n", whole=False))
        waiting.set()
        connection.recv(1)

    line = Line()
    told: list[EngineError] = []

    def read(server_url: str) -> None:
        try:
            with client(server_url).open("GET", "/", timeout=None, line=line) as reply:
                list(reply.events())
        except EngineError as error:
            told.append(error)

    with canned({"/": silent}) as server:
        reader = threading.Thread(target=read, args=(server.url,))
        reader.start()
        assert waiting.wait(10)
        line.hang_up()
        reader.join(10)
        assert [error.kind for error in told] == ["remote_lost"]
        with pytest.raises(EngineError, match="broke"):
            client(server.url).open("GET", "/", line=line)


def test_silence_is_not_waited_for():
    silent = {"/": lambda connection: connection.recv(1)}
    with canned(silent) as server, pytest.raises(EngineError, match="in time"):
        client(server.url).open("GET", "/", timeout=0.05)


def test_tls_on_one_side_alone():
    with canned({}) as server:
        with pytest.raises(EngineError, match="TLS") as told:
            client(server.url.replace("http:", "https:")).get("/")
        assert server.url in told.value.hint


def test_tls_checks_the_certificate_and_can_be_hung_up(tmp_path: Path):
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("no openssl to make a certificate with")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make = (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=box -addext subjectAltName=IP:127.0.0.1".split()
    )
    subprocess.run([openssl, *make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate, key)
    begun = threading.Event()

    def endless(connection: socket.socket) -> None:
        connection.sendall(stream(b"data: 1\n\n", whole=False))
        begun.set()
        connection.recv(1)

    with canned({"/": http(200, {"x": 1}), "/endless": endless}, theirs) as server:
        with pytest.raises(EngineError, match="certificate is not trusted") as told:
            client(server.url, "secret").get("/")
        assert "SSL_CERT_FILE" in told.value.hint
        assert not server.asked
        trusting = Client(read_address(server.url), "secret", ssl.create_default_context(cafile=certificate))
        assert trusting.get("/") == {"x": 1}
        line = Line()
        with trusting.open("GET", "/endless", line=line) as reply:
            events = reply.events()
            assert next(events) == b"1"
            threading.Timer(0.05, line.hang_up).start()
            with pytest.raises(EngineError, match="broke"):
                next(events)


def test_who_is_there():
    ours = {"/v1/ddtree/requests": http(200, {"object": "list", "data": []}), "/v1/models": listed("demo")}
    with canned(ours) as server:
        found = probe(client(server.url))
        assert (found.kind, found.models) == ("ddtree", ("demo",))
    with canned({"/v1/models": listed("a", "b")}) as server:
        found = probe(client(server.url))
        assert (found.kind, found.models) == ("plain", ("a", "b"))


@pytest.mark.parametrize(
    "models", [http(200, {"object": "list", "data": [5, {"id": 7}, {}]}), listed(), http(200, [])]
)
def test_who_is_not(models: bytes):
    with canned({"/v1/models": models}) as server, pytest.raises(EngineError, match="neither"):
        probe(client(server.url))


def test_the_command_says_what_is_wrong_before_the_app(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    log = ["--log", str(tmp_path / "log"), "--plain-log"]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with canned({"/v1/ddtree/requests": http(401, {"error": {"message": "Who?"}})}) as server:
        assert cli.main(["attach", server.url, *log]) == exit_codes.NOT_LOADED
        told = capfd.readouterr().err
        assert "does not let you in: Who? Give the right key" in told
        assert len(told.splitlines()) == 1
    assert cli.main(["attach", server.url, *log]) == exit_codes.NOT_LOADED
    assert "nothing listens there" in capfd.readouterr().err


def test_names_that_a_server_gives_are_shown_as_data(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    hostile = ["\x1b]0;owned\x07\r\n", "y" * 10_000, *map(str, range(1000))]
    with canned({"/v1/models": listed(*hostile)}) as server:
        command = ["attach", server.url, "--model", "z", "--log", str(tmp_path / "log"), "--plain-log"]
        assert cli.main([*command, "--no-record"]) == exit_codes.BAD_INPUT
    told = capfd.readouterr().err
    assert told.isprintable() or told.rstrip("\n").isprintable()
    assert "It serves ␛]0;owned‹07›‹0d›↵, yyy" in told
    assert "17 and 982 more. Choose one with --model." in told
    assert len(told) < 500


def test_what_is_told_of_an_error_drives_no_terminal(capfd: pytest.CaptureFixture[str]):
    assert cli.main(["stats", "\x1b[2J\nno file"]) == exit_codes.TRACE_FAILED
    told = capfd.readouterr().err
    assert "\x1b" not in told
    assert "␛[2J\nno file" in told


def test_a_start_that_fails_leaves_no_trace(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    trace = tmp_path / "t.jsonl"
    command = ["--trace", str(trace), "--log", str(tmp_path / "log"), "--plain-log", "--no-record"]
    none = http(200, {"object": "list", "data": []})
    with canned({"/v1/ddtree/requests": none, "/v1/models": listed("demo")}) as server:
        assert cli.main(["attach", server.url, "--request", "wrong", *command]) == exit_codes.NOT_LOADED
    assert "has no events of a request 'wrong'" in capfd.readouterr().err
    assert not trace.exists()
    trace.write_bytes(b"mine")
    with canned({"/v1/ddtree/requests": none, "/v1/models": listed("demo")}) as server:
        cli.main(["attach", server.url, *command])
    assert "exists already" in capfd.readouterr().err
    assert trace.read_bytes() == b"mine"


def test_the_help_lists_no_models_that_are_loaded_here(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        cli.main(["attach", "--help"])
    told = capfd.readouterr().out
    assert "presets for --model" not in told
    assert "exit codes:" in told
