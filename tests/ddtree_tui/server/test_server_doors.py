"""Who may come in, and with how much."""

from __future__ import annotations

import json
import socket
import sys

import pytest
from served import serving

from ddtree_tui import cli
from ddtree_tui.server.auth import Auth
from ddtree_tui.server.options import is_loopback
from engine.errors import EngineError

KEY = "a-long-random-key"


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    log = tmp_path_factory.mktemp("locked") / "log"
    options = ("--api-key", KEY, "--api-key", "other", "--max-body", "1", "--idle-timeout", "1.5")
    with serving(log, *options, scenario="ok", key=KEY) as served:
        served.wait_for("ok")
        yield served


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_beyond_the_loopback_a_key_is_needed(host, monkeypatch):
    monkeypatch.delenv("DDTREE_API_KEY", raising=False)
    with pytest.raises(EngineError) as refused:
        cli.parse(["serve", "--host", host])
    assert refused.value.kind == "usage"
    assert "Without an API key" in refused.value.message
    assert cli.parse(["serve", "--host", host, "--api-key", KEY]).api_keys == (KEY,)
    monkeypatch.setenv("DDTREE_API_KEY", KEY)
    assert cli.parse(["serve", "--host", host]).api_keys == (KEY,)
    monkeypatch.setenv("DDTREE_API_KEY", "")
    with pytest.raises(EngineError):
        cli.parse(["serve", "--host", host])


def test_the_command_says_so(capsys, monkeypatch):
    monkeypatch.delenv("DDTREE_API_KEY", raising=False)
    assert cli.main(["serve", "--host", "0.0.0.0"]) == 2
    assert "Without an API key the server does not listen on 0.0.0.0" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_on_the_loopback_none_is(host):
    assert is_loopback(host)
    assert cli.parse(["serve", "--host", host]).api_keys == ()


@pytest.mark.parametrize("options", [["--port", "70000"], ["--max-queue", "-1"], ["--idle-timeout", "0"]])
def test_options_that_cannot_be(options):
    with pytest.raises(EngineError) as refused:
        cli.parse(["serve", *options])
    assert refused.value.kind == "bad_setting"


def test_without_the_servers_packages_it_says_which_and_how(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "ddtree_tui.server.command", raising=False)
    assert cli.main(["serve"]) == 2
    assert "pip install 'ddtree-tui[server]'" in capsys.readouterr().err


def test_a_port_that_is_taken(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert cli.main(["serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot listen" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["a..b", "x" * 64], ids=["empty", "long"])
def test_a_host_that_none_can_be_called(host, capsys):
    assert cli.main(["serve", "--host", host, "--api-key", KEY, "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert f"cannot listen at {host}:0: no host can have that name." in told
    assert told.count("\n") == 1


PATHS = ["/v1/models", "/metrics", "/openapi.json", "/v1/ddtree/events", "/v1/ddtree/requests", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", f"Bearer {KEY}x", KEY])
def test_without_the_key_nothing_is_told(locked, path, given):
    status, answer = locked.get(path, Authorization=given)
    assert status == 401
    assert json.loads(answer)["error"]["code"] == "invalid_api_key"
    assert KEY.encode() not in answer


def test_with_a_key_all_is_open(locked):
    assert locked.get("/v1/models")[0] == 200
    assert locked.get("/v1/models", Authorization="Bearer other")[0] == 200
    assert locked.chat("hello")[0] == 200
    assert locked.get("/health", Authorization="")[0] == 200


def test_keys_are_compared_in_constant_time():
    """All of them, by their digests, which have one length."""
    auth = Auth(None, ["short", "a much longer key than the other one"])
    assert len({len(digest) for digest in auth._digests}) == 1


def test_a_web_page_cannot_use_a_server_without_a_key(server):
    status, answer = server.get("/v1/models", Host="evil.example")
    assert (status, json.loads(answer)["error"]["code"]) == (403, "host_not_allowed")
    for host in ("localhost", "localhost:30000", "127.0.0.1:1", "[::1]:30000"):
        assert server.get("/v1/models", Host=host)[0] == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example:80"):
        status, answer = server.get("/v1/ddtree/events", Origin=origin)
        assert (status, json.loads(answer)["error"]["code"]) == (403, "origin_not_allowed")
    for origin in ("http://localhost:3000", "http://[::1]:1", "https://127.0.0.1"):
        assert server.get("/v1/models", Origin=origin)[0] == 200
    question = json.dumps({"model": "demo", "messages": [{"role": "user", "content": "hi"}]}).encode()
    status, answer = server.post("/v1/chat/completions", question, **{"Content-Type": "text/plain"})
    assert status == 400
    assert "Content-Type: application/json" in answer["error"]["message"]


def test_a_body_that_is_too_long(locked):
    body = b'{"model": "' + b"x" * 2**20 + b'"}'
    status, answer = locked.post("/v1/chat/completions", body)
    assert (status, answer["error"]["code"]) == (413, "body_too_large")
    with socket.create_connection(("127.0.0.1", locked.port)) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        part = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        connection.sendall(17 * part + b"0\r\n\r\n")
        assert b" 413 " in connection.recv(4096)


def test_a_body_that_never_comes(locked):
    with socket.create_connection(("127.0.0.1", locked.port), timeout=60) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        connection.sendall(head.encode() + b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in connection.recv(4096)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 10_000, b'{"model": ' + b"9" * 9000 + b"}"]
)
def test_rubbish_is_400(locked, body):
    for path in ("/v1/chat/completions", "/v1/completions"):
        status, answer = locked.post(path, body)
        assert status == 400
        assert answer["error"]["type"] == "invalid_request_error"
        assert "None" not in answer["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"max_tokens": 3, "max_completion_tokens": 4}, "max_tokens"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"chat_template_kwargs": {"enable_thinking": "maybe"}}, "chat_template_kwargs.enable_thinking"),
        ({"messages": [{"role": "user", "content": [{"type": "audio"}]}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": "a", "foo": 1}]}, "messages[0].foo"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages[0]"),
        ({"temperature": "hot"}, "temperature"),
        ({"stop": ["a", 1]}, "stop"),
        ({"model": None}, "model"),
    ],
)
def test_what_is_wrong_is_named(locked, fields, param):
    status, answer = locked.chat("hello", **fields)
    error = answer["error"]
    assert (status, error["code"], error["param"]) == (400, "invalid_value", param)
    assert error["message"].endswith((".", ")"))


def test_paths_and_methods_that_are_none(locked):
    assert locked.get("/v1/nothing")[0] == 404
    assert locked.get("/v1/chat/completions")[0] == 405
    status, answer = locked.post("/v1/models", {})
    assert (status, answer["error"]["code"]) == (405, "method_not_allowed")
