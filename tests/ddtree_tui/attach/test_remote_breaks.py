"""What is shown stays right while connections break, the server sums up, or says what no server says."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from canned import Canned, canned, http, stream
from linked import until, watching
from make_recording import Recording
from served import Served, serving

from ddtree_tui import exit_codes
from ddtree_tui.attach import wire
from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.connection import Reach, pause_after
from ddtree_tui.attach.remote_controller import REASON_CELLS, RemoteController
from ddtree_tui.escape import fit
from ddtree_tui.plain_log import PlainLog
from ddtree_tui.server.watch import framed
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Finished, Loaded, Round
from engine.settings import DecodeSettings

REQUESTS = "/v1/ddtree/requests"
EVENTS = "/v1/ddtree/events"


class Proxy:
    """Between a link and a server, to be cut."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.pairs: list[tuple[socket.socket, socket.socket]] = []
        self.shut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.shut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                self.pairs.append((near, far))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    @staticmethod
    def _pump(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        for pair in self.pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
        self.pairs.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("served") / "server.log"
    with serving(log, scenario="ok") as served:
        served.wait_for("ok")
        yield served


@pytest.fixture
def proxy(server: Served) -> Iterator[Proxy]:
    between = Proxy(server.port)
    yield between
    between.close()


def test_a_broken_connection_goes_on_where_it_was(server: Served, proxy: Proxy):
    with watching(server.url) as asking, watching(proxy.url) as viewer:
        for each in (asking, viewer):
            until(each, lambda each=each: each.session.loaded)
        asking.submit("slow, for all to see")
        until(viewer, lambda: len(viewer.session.rounds) > 2)
        seen = len(viewer.session.rounds)
        proxy.shut = True
        proxy.cut()
        until(viewer, lambda: viewer.link.connection.reach is Reach.LOST)
        assert viewer.state[0].startswith("connection lost, again in")
        assert len(viewer.session.rounds) >= seen
        until(asking, lambda: len(asking.session.rounds) > seen + 5)
        proxy.shut = False
        until(viewer, lambda: len(viewer.session.rounds) > seen + 8)
        assert viewer.state == ("watching", "busy")
        proxy.cut()
        asking.stop()
        until(asking, lambda: not asking.busy)
        until(viewer, lambda: viewer.session.answer.finished)
        (answer,) = viewer.session.answers
        assert [*answer.rounds] == [*asking.session.answer.rounds]
        assert answer.text.answer == asking.session.answer.text.answer
        notices = [notice for notice in viewer.notices if "broke" in notice or "reached" in notice]
        assert 1 <= len(notices) <= 2  # a sentence for each break


def test_a_prompt_whose_connection_breaks_ends_and_says_so(server: Served, proxy: Proxy):
    with watching(proxy.url) as controller:
        until(controller, lambda: controller.session.loaded)
        controller.submit("slow")
        until(controller, lambda: controller.session.rounds)
        proxy.cut()
        until(controller, lambda: not controller.busy)
        assert controller.session.answer.finished.reason == "cancelled"
        assert any("broke" in notice for notice in controller.notices)


def test_the_next_attempt_is_ever_later():
    pauses = [pause_after(number) for number in range(1, 2000)]
    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 30


# A server that sums up


@pytest.fixture
def run() -> list[AnyEvent]:
    """A recorded answer: what spells its tokens, ``loaded`` and the answer's events."""
    recording = Recording(5)
    start = [event for event in recording.start() if isinstance(event, Loaded) or "Tokens" in repr(event)]
    return [*start, *recording.answer("hello", settings=DecodeSettings(budget=8), rounds=20)]


def loaded_of(run: list[AnyEvent]) -> bytes:
    return next(encode_event(event) for event in run if isinstance(event, Loaded))


def events_of(run: list[AnyEvent]) -> list[bytes]:
    return [encode_event(event) for event in run if not isinstance(event, Loaded)]


def data(*frames: bytes) -> bytes:
    return b"".join(b"data: " + frame + b"\n\n" for frame in frames)


def summary(first: int, last: int, rounds: int) -> bytes:
    told = {"first": first, "last": last, "rounds": rounds, "tokens": 3 * rounds}
    return msgspec.json.encode({"request": "r", "seq": last, "summary": told})


def answering(
    server: Canned, told: Callable[[str | None, int, int], list[bytes] | int]
) -> Callable[[socket.socket], None]:
    """Has ``told`` say what is sent: to whom asks for this request, from that event on, the n-th time. A
    number is the status of a refusal; after a stream that ends with nothing the connection breaks."""

    def answer(connection: socket.socket) -> None:
        asked = [head for head in server.asked if head.startswith(f"GET {EVENTS}")]
        query = parse_qs(urlsplit(asked[-1].split(" ")[1]).query)
        request, first = query.get("request", [None])[0], int(query.get("first", ["0"])[0])
        frames = told(request, first, len(asked))
        if isinstance(frames, int):
            connection.sendall(http(frames, {"error": {"message": "It is gone."}}))
            return
        connection.sendall(stream(b": hello\n\n" + data(*filter(None, frames)), whole=False))
        if frames[-1:] != [b""]:
            connection.recv(1)  # until hung up on

    return answer


@contextlib.contextmanager
def summing_up(
    told: Callable[[str | None, int, int], list[bytes] | int],
) -> Iterator[tuple[Canned, RemoteController]]:
    with canned({"/health": http(200, {"status": "ok"})}) as server:
        server.answers[EVENTS] = answering(server, told)
        with watching(server.url) as controller:
            yield server, controller


def test_what_was_summed_up_is_fetched(run: list[AnyEvent]):
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        if request is None:
            whole = [framed("r", number, lines[number]) for number in range(6)]
            return [*frames, *whole, summary(6, 15, 14), framed("r", 16, lines[16])]
        until_ = 12 if time_ == 2 else len(lines)
        frames += [framed(request, number, lines[number]) for number in range(first, until_)]
        return frames if time_ == 3 else [*frames, summary(12, 18, 17)]

    with summing_up(told) as (server, controller):
        until(controller, lambda: controller.session.answer and controller.session.answer.finished)
        (answer,) = controller.session.answers
        rounds = [event for event in run if isinstance(event, Round)]
        assert [*answer.rounds] == rounds
        asked = [re.findall(r"first=(\d+)", head) for head in server.asked if EVENTS in head]
        assert asked[:3] == [[], ["6"], ["12"]]


def test_how_far_behind_one_is_can_be_seen(run: list[AnyEvent]):
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        if request is None:
            return [*frames, *(framed("r", n, lines[n]) for n in range(6)), summary(6, 15, 14)]
        return frames

    with summing_up(told) as (_, controller):
        until(controller, lambda: "behind" in controller.state[0])
        rounds = controller.link.shown.rounds
        assert 0 < rounds < 14
        assert controller.state == (f"watching, {14 - rounds} rounds behind", "busy")


def test_a_gap_that_cannot_be_filled_is_told_and_nothing_made_up(run: list[AnyEvent]):
    lines = events_of(run)
    first_round = next(n for n, event in enumerate(events_of(run)) if b'"type":"round"' in event)
    kept, after = first_round + 4, first_round + 11

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        if request is None:
            numbers = [*range(kept), *range(after, len(lines))]
        else:
            numbers = [n for n in [*range(kept), *range(after, len(lines))] if n >= first]
        return [*frames, *(framed("r", number, lines[number]) for number in numbers)]

    with summing_up(told) as (_, controller):
        until(controller, lambda: controller.session.answer and controller.session.answer.finished)
        one, two = controller.session.answers
        rounds = [event for event in run if isinstance(event, Round)]
        assert [*one.rounds] == rounds[:4]
        assert [*two.rounds] == rounds[11:]
        missing = sum(event.acceptance_length for event in rounds[4:11])
        assert one.failed.message.startswith(f"Rounds 5 to 11, {missing} tokens, are unknown here")
        assert two.prefilled.first_id == rounds[11].root_id
        assert isinstance(two.finished, Finished)
        assert not controller.take_problems()


def test_a_server_that_is_started_again_knows_the_request_no_more(run: list[AnyEvent]):
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes] | int:
        frames = [framed(None, 0, loaded_of(run))]
        match request, time_:
            case None, 1:
                return [*frames, *(framed("r", n, lines[n]) for n in range(6)), b""]
            case None, _:
                return [*frames, *(framed("s", n, line) for n, line in enumerate(lines))]
        return 404

    with summing_up(told) as (_, controller):
        until(controller, lambda: controller.session.answer and controller.session.answer.finished)
        lost, new = controller.session.answers
        assert lost.failed.error == "remote_missing"
        assert [*new.rounds] == [event for event in run if isinstance(event, Round)]


def test_a_server_that_does_not_serve_says_why(run: list[AnyEvent]):
    ready = threading.Event()

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        return [framed(None, 0, loaded_of(run))] if ready.is_set() else []

    with summing_up(told) as (server, controller):
        server.answers["/health"] = http(
            503, {"status": "failed", "reason": "The oracle\x1b found a defect."}
        )
        controller.link.reconnect()
        told_once = "The server does not serve: The oracle␛ found a defect."
        until(controller, lambda: told_once in controller.notices)
        assert controller.state == ("not serving: The oracle␛ found a defect.", "bad")
        assert controller.notices.count(told_once) == 1
        assert not controller.submit("hello")
        (problem,) = controller.take_problems()
        assert problem.message == told_once


def test_what_is_loaded_does_not_serve_yet(run: list[AnyEvent]):
    checking = "A first answer is being checked."

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        return [framed(None, 0, loaded_of(run))]

    with canned({"/health": http(503, {"status": "starting", "reason": checking})}) as server:
        server.answers[EVENTS] = answering(server, told)
        with watching(server.url) as controller:
            until(controller, lambda: controller.session.loaded)
            assert controller.state == (f"not serving: {fit(checking, REASON_CELLS)}", "bad")
            assert controller.notices == [f"The server does not serve: {checking}"]
            assert controller.submit("hello")
            assert (controller.waiting, controller.busy) == ("hello", True)
            server.answers["/health"] = http(200, {"status": "ok"})
            until(controller, lambda: controller.waiting is None)
            until(controller, lambda: any(asked.startswith("POST") for asked in server.asked))
            assert controller.notices[-1] == "The server serves."


@pytest.mark.parametrize("at_once", [True, False])
def test_a_prompt_to_a_server_that_has_failed_is_not_answered(run: list[AnyEvent], at_once: bool):
    failed = http(503, {"status": "failed", "reason": "planted: mask-id."})
    starting = http(503, {"status": "starting", "reason": "A first answer is being checked."})

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        return [framed(None, 0, loaded_of(run))]

    out = io.StringIO()

    def failed_by_then(connection: socket.socket) -> None:
        end = time.monotonic() + 60
        while "The prompt waits" not in out.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
        connection.sendall(failed)

    with canned({"/health": failed_by_then if at_once else starting}) as server:
        server.answers[EVENTS] = answering(server, told)
        with watching(server.url) as controller:
            log = PlainLog(controller, lambda: "", out)
            tick, controller.tick = controller.tick, lambda now: fail(server, failed, tick(now))
            assert log.run("hello", ()) == exit_codes.NOT_LOADED
    assert "The prompt waits for the server." in out.getvalue()
    assert "The prompt was not answered: The server does not serve: planted: mask-id." in out.getvalue()
    assert not any(asked.startswith("POST") for asked in server.asked)


def fail(server: Canned, failed: bytes, changed: bool) -> bool:
    """Once it was asked how it is."""
    if any(asked.startswith("GET /health") for asked in server.asked):
        server.answers["/health"] = failed
    return changed


@pytest.mark.parametrize(("answered", "code"), [(True, exit_codes.OK), (False, exit_codes.NOT_LOADED)])
def test_the_exit_code_says_whether_there_was_an_answer(run: list[AnyEvent], answered: bool, code: int):
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        own = [framed("r", n, line) for n, line in enumerate(lines)] if request == "r" else []
        return [framed(None, 0, loaded_of(run)), *own]

    with summing_up(told) as (server, controller):
        server.answers["/v1/chat/completions"] = (
            stream(data(b'{"id": "r"}', b"[DONE]")) if answered else lambda connection: None
        )
        out = io.StringIO()
        assert PlainLog(controller, lambda: "", out).run("hello", ()) == code
    assert ("The connection to" in out.getvalue()) is not answered


def test_a_prompt_that_is_refused_says_what_to_do(run: list[AnyEvent]):
    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        return [framed(None, 0, loaded_of(run))]

    refusals = {
        "17 requests wait already; try again later. Try again in 7 s.": http(
            429, {"error": {"message": "17 requests wait already; try again later."}}, Retry_After="7"
        ),
        "The engine is being started. Try again in 5 s.": http(
            503, {"error": {"message": "The engine is being started."}}, Retry_After="5"
        ),
        "This API key is not one of the server's. Give the right key": http(
            401, {"error": {"message": "This API key is not one of the server's."}}
        ),
        "elsewhere: http://other": http(307, b"", Location="http://other"),
        "There is no parameter": http(400, {"error": {"message": "There is no parameter 'x'."}}),
        "not JSON": stream(data(b"nonsense")),
        "answered with nothing": stream(data(b"[DONE]")),
        "cut short": stream(data(b'{"error": {"message": "It was cut short."}}')),
    }
    with summing_up(told) as (server, controller):
        until(controller, lambda: controller.session.loaded)
        for words, answer in refusals.items():
            server.answers["/v1/chat/completions"] = answer
            assert controller.submit("hello")
            until(controller, lambda: not controller.busy)
            (problem,) = controller.take_problems()
            assert words in f"{problem.message} {problem.hint}"
            assert not problem.restart
        assert not controller._conversation()


def test_a_prompt_of_ones_own_stays_that_behind_a_gap(run: list[AnyEvent]):
    lines = events_of(run)
    first_round = next(n for n, event in enumerate(lines) if b'"type":"round"' in event)
    there = [n for n in range(len(lines)) if not first_round + 2 <= n < first_round + 5]
    end = threading.Event()

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        numbers = there if end.is_set() else there[:-1]
        return frames if request is None else [*frames, *(framed("r", n, lines[n]) for n in numbers)]

    def post(connection: socket.socket) -> None:
        connection.sendall(stream(data(b'{"id": "r"}'), whole=False))
        connection.recv(1)

    with summing_up(told) as (server, controller):
        server.answers["/v1/chat/completions"] = post
        until(controller, lambda: controller.session.loaded)
        controller.submit("hello")
        until(controller, lambda: len(controller.session.rounds) == 17)
        one, two = controller.session.answers
        assert one.failed.error == "remote_gap"
        assert controller.busy
        assert controller.state == ("decoding", "busy")
        end.set()
        controller.link.reconnect()
        until(controller, lambda: not controller.busy)
        assert two.finished is not None
        said = [message["content"] for message in controller._conversation()]
        assert said == ["hello", two.finished.text]


@pytest.mark.parametrize(
    "frame",
    [
        b"{}",
        b"[1]",
        b"no json",
        b"[" * 100_000,
        b'{"request": 5, "seq": 0, "event": {}}',
        b'{"request": "r", "seq": -1, "event": {"v": 1, "type": "round"}}',
        b'{"request": "r", "seq": 1e400, "event": {"v": 1, "type": "round"}}',
        b'{"request": "%s", "seq": 0}' % (b"x" * 1000),
        b'{"request": "r", "seq": 0, "event": {"v": 1, "type": "finished"}}',
        b'{"request": "r", "seq": 0, "event": {"v": 7, "type": "round"}}',
        b'{"request": "r", "seq": 0, "summary": {"first": "a"}}',
        b'{"request": null, "seq": 0, "event": {"v": 1, "type": "tokens", "pieces": {"\x1b[31m": "x"}}}',
    ],
)
def test_what_no_server_says_ends_the_connection_and_not_the_app(run: list[AnyEvent], frame: bytes):
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        if time_ < 3:
            return [*frames, *(framed("r", n, lines[n]) for n in range(first, 4)), frame]
        return [*frames, *(framed("r", n, lines[n]) for n in range(first, len(lines)))]

    with summing_up(told) as (_, controller):
        until(controller, lambda: controller.session.answer and controller.session.answer.finished)
        assert [*controller.session.answer.rounds] == [event for event in run if isinstance(event, Round)]
        assert not controller.take_problems()
        assert all("\x1b" not in notice for notice in controller.notices)


def test_a_round_that_contradicts_itself_is_no_event(run: list[AnyEvent]):
    round_ = next(event for event in run if isinstance(event, Round) and event.nodes.parents)
    parents = [*round_.nodes.parents[:-1], 10**6]
    bad = msgspec.structs.replace(round_, nodes=msgspec.structs.replace(round_.nodes, parents=parents))
    frame = framed("r", 3, encode_event(bad))
    with pytest.raises(EngineError, match="no event"):
        wire.read_item(frame, read_address("http://box"))


def test_events_of_other_requests_are_not_taken_for_those_that_were_asked_for(run: list[AnyEvent]):
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        if request is None:
            return frames
        mixed = [framed("other", n, lines[n]) for n in range(8)]
        return [*frames, *mixed, *(framed(request, n, lines[n]) for n in range(first, len(lines)))]

    with canned({"/health": http(200, {"status": "ok"})}) as server:
        server.answers[EVENTS] = answering(server, told)
        with watching(server.url, only="r") as controller:
            until(controller, lambda: controller.session.answer and controller.session.answer.finished)
            assert len(controller.session.answers) == 1


def test_a_screen_that_is_behind_keeps_the_server_waiting_and_loses_nothing(
    run: list[AnyEvent], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ddtree_tui.attach.outlet.MOST_WAITING", 3)
    lines = events_of(run)

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        return [framed(None, 0, loaded_of(run)), *(framed("r", n, line) for n, line in enumerate(lines))]

    with summing_up(told) as (_, controller):
        end = time.monotonic() + 10
        while not controller.link._outlet.full:
            assert time.monotonic() < end
            time.sleep(0.005)
        until(controller, lambda: controller.session.answer and controller.session.answer.finished)
        assert [*controller.session.answer.rounds] == [event for event in run if isinstance(event, Round)]


def test_a_dead_engine_is_told_once_where_the_text_is(run: list[AnyEvent]):
    lines = events_of(run)
    died = encode_event(Failed(error="engine_died", message="It ended."))

    def told(request: str | None, first: int, time_: int) -> list[bytes]:
        frames = [framed(None, 0, loaded_of(run))]
        if time_ > 1:
            return []
        whole = [framed("r", n, lines[n]) for n in range(6)]
        return [*frames, *whole, framed("r", 6, died), framed(None, 0, died)]

    with summing_up(told) as (_, controller):
        until(controller, lambda: controller.session.answer and controller.session.answer.failed)
        assert not controller.take_problems()  # it was nobody's here
        until(controller, lambda: "stopped" in controller.state[0])
