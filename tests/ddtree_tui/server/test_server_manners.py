"""How the server behaves around its engine: a scripted one, so that every way to go wrong can be had."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from overhead import cpu_seconds
from served import Served, port_of, serving, start

from ddtree_tui.server.engine_host import LONGEST_PAUSE, pause_after

CHAT = "/v1/chat/completions"
CPU_MS = 3.0
"""For a round, in the server's process: a few times what it takes on a machine with nothing else to do."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("echo") / "log", scenario="ok") as served:
        yield served


@pytest.fixture
def echo(running):
    running.wait_for("ok")
    until(lambda: metric(running, "ddtree_running") == 0)
    return running


def body(content: str, **fields: Any) -> dict[str, Any]:
    return {"model": "demo", "messages": [{"role": "user", "content": content}], **fields}


def streaming(served: Served, content: str, client: str = "127.0.0.1", **fields: Any) -> socket.socket:
    """A streamed answer under way, on a connection to hang up. ``client``: the address it is from."""
    data = json.dumps(body(content, stream=True, **fields)).encode()
    connection = socket.create_connection(("127.0.0.1", served.port), 30, source_address=(client, 0))
    head = (
        f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n"
    )
    connection.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return connection


def read_until(connection: socket.socket, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        part = connection.recv(65536)
        assert part, seen
        seen += part
    return seen


def rest_of(connection: socket.socket) -> bytes:
    with closing(connection):
        seen = b""
        while part := connection.recv(65536):
            seen += part
        return seen


def frames(data: bytes) -> list[Any]:
    return [
        json.loads(line[6:]) if line != b"data: [DONE]" else "[DONE]"
        for line in data.split(b"\r\n" if b"\r\ndata" in data else b"\n")
        for line in line.splitlines()
        if line.startswith(b"data: ")
    ]


def metric(served: Served, name: str) -> float:
    lines = served.get("/metrics")[1].decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def until(holds: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_half_characters_and_stop_strings_stream_as_they_are_written_whole(echo):
    for text, stop in (
        ("naïve 你好 👩‍👩‍👧 ẞ", None),
        ("one STOP two", ["STOP"]),
        ("a\n\nQ: b", ["\n\nQ:", "b"]),
    ):
        fields = {"stop": stop, "logprobs": True, "top_logprobs": 1}
        status, whole = echo.chat(text, **fields)
        assert status == 200
        choice = whole["choices"][0]
        events = [*echo.stream(CHAT, body(text, stream=True, **fields))]
        assert events.pop() == "[DONE]"
        chunks = [event["choices"][0] for event in events]
        streamed = "".join(chunk["delta"].get("content", "") for chunk in chunks)
        told = [each for chunk in chunks if chunk["logprobs"] for each in chunk["logprobs"]["content"]]
        assert streamed == choice["message"]["content"]
        assert "\ufffd" not in streamed
        assert told == choice["logprobs"]["content"]
        spelled = b"".join(bytes(each["bytes"]) for each in told).decode()
        assert spelled == streamed
        assert text.startswith(streamed)
        assert (len(streamed) < len(text)) == (stop is not None)


def test_a_client_that_hangs_up_frees_the_device(echo):
    connection = streaming(echo, "slow")
    read_until(connection, b"abc")
    assert metric(echo, "ddtree_running") == 1
    connection.close()
    until(lambda: metric(echo, "ddtree_running") == 0)  # without that it would go on for ever
    assert echo.chat("hello")[1]["choices"][0]["message"]["content"] == "hello"
    lines = [line for line in echo.lines() if line.get("outcome") == "client_gone"]
    assert lines[-1]["path"] == CHAT


def test_a_client_that_hangs_up_while_it_waits_leaves_the_line(echo):
    first = streaming(echo, "slow")
    read_until(first, b"abc")
    waiting = streaming(echo, "never asked")
    until(lambda: metric(echo, "ddtree_queue_waiting") == 1)
    waiting.close()
    until(lambda: metric(echo, "ddtree_queue_waiting") == 0)
    first.close()
    assert echo.chat("next")[0] == 200
    assert not any(b"never" in line for line in events_of(echo))


def test_a_client_that_reads_nothing_is_not_waited_for(echo):
    connection = streaming(echo, "flood")
    until(lambda: metric(echo, "ddtree_running") == 1)
    until(lambda: metric(echo, "ddtree_running") == 0, 30)
    assert echo.chat("hello")[0] == 200
    requests = json.loads(echo.get("/v1/ddtree/requests")[1])["data"]
    assert requests[1]["state"] == "cancelled"
    connection.close()


def test_a_round_costs_the_servers_process_little(echo):
    """``overhead.py`` compares the times, on a machine that is quiet."""

    def read_rounds(count: int) -> None:
        for _ in range(count):
            read_until(connection, b"abc")

    connection = streaming(echo, "slow")
    read_rounds(20)
    before, rounds = cpu_seconds(echo.pid), metric(echo, "ddtree_rounds_total")
    read_rounds(80)
    rounds = metric(echo, "ddtree_rounds_total") - rounds
    assert rounds >= 50
    assert 1000 * (cpu_seconds(echo.pid) - before) / rounds < CPU_MS
    connection.close()


def events_of(served: Served) -> list[bytes]:
    requests = json.loads(served.get("/v1/ddtree/requests")[1])["data"]
    return [served.get(f"/v1/ddtree/requests/{each['id']}/events")[1] for each in requests]


def test_a_full_queue_is_429_with_a_time_to_try_again(tmp_path):
    """With ``--log-prompts`` questions and answers are in the log."""
    with serving(tmp_path / "log", "--max-queue", "4", "--log-prompts", scenario="ok") as served:
        served.wait_for("ok")
        running = streaming(served, "slow")
        read_until(running, b"abc")
        waiting = [streaming(served, each) for each in ("one", "two", "three")]
        until(lambda: metric(served, "ddtree_queue_waiting") == 3)
        refused = read_until(streaming(served, "four"), b"queue_full")
        assert b"3 of your requests wait already" in refused
        waiting.append(streaming(served, "another's", "127.0.0.2"))
        until(lambda: metric(served, "ddtree_queue_waiting") == 4)
        refused = read_until(streaming(served, "a third one's", "127.0.0.3"), b"queue_full")
        assert b"4 requests wait already" in refused
        assert b" 429 " in refused.splitlines()[0]
        assert b"\r\nretry-after: " in refused
        running.close()
        answers = [rest_of(connection) for connection in waiting]
        assert [b"[DONE]" in answer for answer in answers] == 4 * [True]
        until(lambda: any(line.get("text") == "another's" for line in served.lines()))


def test_without_a_queue_one_request_is_answered_at_a_time(tmp_path):
    with serving(tmp_path / "log", "--max-queue", "0", scenario="ok") as served:
        served.wait_for("ok")
        assert served.chat("late")[0] == 200  # whose memory report is to come
        assert served.chat("hello")[0] == 200
        running = streaming(served, "slow")
        read_until(running, b"abc")
        assert served.chat("hello")[0] == 429
        running.close()
        until(lambda: metric(served, "ddtree_running") == 0)
        assert served.chat("hello")[0] == 200


def test_answers_come_in_the_order_of_the_questions(echo):
    running = streaming(echo, "slow")
    read_until(running, b"abc")
    order: list[int] = []

    def ask(number: int) -> None:
        assert echo.chat(f"question {number}")[1]["choices"][0]["message"]["content"] == f"question {number}"
        order.append(number)

    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(ask, number)
            until(lambda number=number: metric(echo, "ddtree_queue_waiting") == number + 1)
        running.close()
    asked = [json.loads(events.splitlines()[2])["prompt_text"] for events in reversed(events_of(echo))]
    assert [text for text in asked if text.startswith("question")] == [f"question {n}" for n in range(8)]
    assert sorted(order) == [*range(8)]


def test_kill_9_of_the_engine_under_load(echo):
    pid, restarts = echo.engine_pid(), echo.health()["engine_restarts"]
    streams = [streaming(echo, "slow"), streaming(echo, "slow too")]
    read_until(streams[0], b"abc")
    whole: list[tuple[int, Any]] = []
    waiting = threading.Thread(target=lambda: whole.append(echo.chat("not streamed")))
    waiting.start()
    until(lambda: metric(echo, "ddtree_queue_waiting") == 2)
    os.kill(pid, signal.SIGKILL)
    last = frames(rest_of(streams[0]))[-1]
    assert last["error"]["code"] == "engine_died"
    assert "SIGKILL" in last["error"]["message"]
    refused = rest_of(streams[1])
    assert b" 503 " in refused.splitlines()[0]
    assert b"retry-after" in refused.lower()
    waiting.join()
    assert whole[0][0] == 503
    assert whole[0][1]["error"]["code"] == "engine_died"
    assert echo.wait_for("ok")["engine_restarts"] == restarts + 1
    assert echo.engine_pid() != pid
    assert echo.chat("again")[1]["choices"][0]["message"]["content"] == "again"


def test_an_engine_that_cannot_be_understood_is_ended(echo):
    """What it goes on to say is of another answer than the next."""
    restarts = echo.health()["engine_restarts"]
    status, failed = echo.chat("garble")
    assert (status, failed["error"]["code"]) == (503, "engine_died")
    assert echo.wait_for("ok")["engine_restarts"] == restarts + 1
    assert echo.chat("again")[1]["choices"][0]["message"]["content"] == "again"


def test_what_comes_late_is_of_no_other_answer(echo):
    """Of what is behind an answer's end: a finding, and the failure of what was asked for beside it."""
    for question in ("late", "unmeasured", "next"):
        assert echo.chat(question)[1]["choices"][0]["message"]["content"] == question
    requests = json.loads(echo.get("/v1/ddtree/requests")[1])["data"][:3]
    assert [each["state"] for each in requests] == ["stop"] * 3
    findings = [b'"type":"finding"' in events for events in events_of(echo)[:3]]
    assert findings == [False, False, True]


def test_pauses_between_starts_grow_to_a_bound():
    assert [pause_after(deaths) for deaths in (1, 2, 3, 4)] == [0, 1, 3, 7]
    assert pause_after(10_000) == LONGEST_PAUSE


def test_while_the_engine_starts_again_requests_are_503(tmp_path):
    """And where it cannot be loaded again it is tried again, with the reason told meanwhile."""
    fail, go = tmp_path / "log.engine.fail", tmp_path / "log.engine.go"
    with serving(tmp_path / "log", scenario="told") as served:
        status, refused = served.chat("too early")
        assert (status, refused["error"]["code"]) == (503, "engine_starting")
        assert served.health()["status"] == "starting"
        go.touch()
        served.wait_for("ok")
        go.unlink()
        fail.touch()
        os.kill(served.engine_pid(), signal.SIGKILL)
        until(lambda: "The memory is full." in (served.health()["reason"] or ""))
        assert served.chat("in between")[1]["error"]["code"] == "engine_starting"
        go.touch()
        served.wait_for("ok")
        assert served.health()["engine_restarts"] == 2
        assert served.chat("hello")[0] == 200


def test_an_engine_that_cannot_be_loaded_is_never_served(tmp_path):
    with serving(tmp_path / "log", scenario="not_loaded") as served:
        assert "There is no model x." in served.wait_for("failed")["reason"]
        assert served.get("/health")[0] == 503
        status, refused = served.chat("hello")
        assert (status, refused["error"]["code"]) == (503, "engine_failed")
        told = rest_of(streaming(served, "hello"))
        assert b" 503 " in told.splitlines()[0]
        assert b"retry-after" not in told.lower()  # it would be no other
        assert served.get("/v1/models")[0] == 200


def test_what_the_engine_cannot_do_is_told(echo):
    status, failed = echo.chat("fail")
    assert (status, failed["error"]["code"]) == (503, "out_of_memory")
    status, failed = echo.chat("die")
    assert (status, failed["error"]["code"]) == (503, "engine_died")
    echo.wait_for("ok")
    status, failed = echo.chat("x" * 300)
    assert (status, failed["error"]["code"]) == (400, "context_length_exceeded")
    assert "300 tokens" in failed["error"]["message"]
    assert "200" in failed["error"]["message"]
    status, failed = echo.chat("x" * 100, max_tokens=101)
    assert (status, failed["error"]["code"]) == (400, "context_length_exceeded")
    assert "100 of the prompt and 101 of the answer" in failed["error"]["message"]
    assert failed["error"]["param"] == "max_tokens"
    for prompt, limit, param in ((150, 60, "messages"), (60, 150, "max_completion_tokens")):
        failed = echo.chat("x" * prompt, max_completion_tokens=limit)[1]
        assert failed["error"]["param"] == param
    assert echo.chat("x" * 100, max_tokens=100)[0] == 200


def test_answers_that_take_too_long_are_504(tmp_path):
    """An engine that says nothing is ended, and another started. Its first answers may take longer: it
    compiles what it decodes with."""
    limits = ("--request-timeout", "3", "--idle-timeout", "1")
    with serving(tmp_path / "log", *limits, scenario="slow_check") as served:
        for content in ("slow", "silent"):
            served.wait_for("ok")
            assert served.health()["engine_restarts"] == 0
            last = frames(rest_of(streaming(served, content)))[-1]
            assert last["error"]["code"] == "timeout"
        until(lambda: metric(served, "ddtree_running") == 0)
        assert served.wait_for("ok")["engine_restarts"] == 1
        assert served.chat("hello")[0] == 200


def test_told_to_end_it_lets_the_answer_under_way_end(tmp_path):
    log = tmp_path / "log"
    process = start(log, "--shutdown-grace", "1.5", scenario="ok")
    served = Served(port_of(process, log), log)
    served.wait_for("ok")
    engine = served.engine_pid()
    running, waiting = streaming(served, "slow"), streaming(served, "hello")
    read_until(running, b"abc")
    viewer = socket.create_connection(("127.0.0.1", served.port))
    viewer.sendall(b"GET /v1/ddtree/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    read_until(viewer, b'"type":"round"')
    process.send_signal(signal.SIGTERM)
    until(lambda: served.health()["status"] == "failed")
    assert served.get("/v1/ddtree/events")[0] == 503
    seen = rest_of(running)
    last = frames(seen)[-1]
    assert last["error"]["code"] == "shutting_down"
    assert seen.endswith(b"0\r\n\r\n")
    assert b" 503 " in rest_of(waiting).splitlines()[0]
    assert rest_of(viewer).endswith(b"0\r\n\r\n")
    assert process.wait(60) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(engine, 0)


def test_no_text_of_anybody_is_in_the_log(echo):
    echo.chat("a secret")
    echo.post(CHAT, {"model": "demo", "messages": "a secret"})
    echo.post("/v1/completions", {"model": "demo", "prompt": "a secret", "foo": "a secret"})
    log = echo.log.read_text()
    assert '"path": "/v1/chat/completions"' in log
    assert "secret" not in log
