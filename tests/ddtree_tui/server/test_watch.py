"""The events for those who watch: kept, sent on, summed up for the slow."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from ddtree_tui.server import watch as watch_module
from ddtree_tui.server.run import Run
from ddtree_tui.server.watch import Viewer, Watch
from engine.commands import Generate
from engine.event_lines import decode_event, encode_event
from engine.events import AnyEvent, Finished, Nodes, Round, StageTimes, TargetRows, Tokens
from engine.settings import DecodeSettings
from engine.trace import read_trace


def run(name: str) -> Run:
    return Run(name, Generate(messages=[], settings=DecodeSettings()), "")


def round_(index: int) -> Round:
    return Round(
        index=index,
        mode="ar",
        position=index,
        root_id=0,
        nodes=Nodes(),
        target=TargetRows(ids=[1], logprobs=[0.0], gaps=[1.0]),
        accepted=[],
        bonus_id=1,
        miss=None,
        committed_ids=[1],
        acceptance_length=1,
        ms=StageTimes(),
    )


FINISHED = Finished(
    reason="stop",
    output_ids=[],
    text="",
    thinking_text="",
    rounds=0,
    tokens=0,
    mean_acceptance_length=0,
    acceptance_histogram=[],
    tokens_per_second=0,
    ttft_s=0,
    ms=StageTimes(),
    drafted=0,
    accepted=0,
)


def play(watch: Watch, name: str, rounds: int = 3) -> list[AnyEvent]:
    under_way = run(name)
    watch.begin(under_way)
    events: list[AnyEvent] = [Tokens(pieces={"1": "a"}), *map(round_, range(rounds)), FINISHED]
    for event in events:
        watch.take(event, under_way)
    return events


async def seen(viewer: Viewer) -> list[dict]:
    """What is there now."""
    viewer.end()
    return [json.loads(line) async for line in viewer.lines(1)]


async def test_viewers_get_every_event_with_its_request_and_number():
    watch = Watch(10**6)
    viewers = [watch.join(), watch.join()]
    events = play(watch, "a") + play(watch, "b")
    for viewer in viewers:
        got = await seen(viewer)
        assert [(each["request"], each["seq"]) for each in got] == [(n, i) for n in "ab" for i in range(5)]
        assert [decode_event(json.dumps(each["event"])) for each in got] == events
        watch.leave(viewer)
    assert watch.viewers == 0


async def test_a_viewer_of_one_request_sees_it_from_its_beginning():
    watch = Watch(10**6)
    play(watch, "a")
    under_way = run("b")
    watch.begin(under_way)
    watch.take(round_(0), under_way)
    past, present, everything = watch.join("a"), watch.join("b"), watch.join()
    watch.take(FINISHED, under_way)
    assert (past.ended, present.ended, everything.ended) == (True, True, False)
    assert [each["event"]["type"] for each in await seen(past)] == ["tokens", *["round"] * 3, "finished"]
    for viewer in (present, everything):  # what is under way is sent from its beginning
        assert [each["event"]["type"] for each in await seen(viewer)] == ["round", "finished"]


async def test_a_slow_viewer_gets_summaries_and_can_fetch_the_rest(monkeypatch):
    monkeypatch.setattr(watch_module, "VIEWER_BYTES", 1000)
    watch = Watch(10**6)
    viewer = watch.join()
    events = play(watch, "a", rounds=100)
    assert viewer._bytes < 3000
    got = await seen(viewer)
    (summed,) = (each for each in got if "summary" in each)
    whole = [each for each in got if "event" in each]
    assert summed["summary"] == {
        "first": whole[-2]["seq"] + 1,
        "last": 100,
        "rounds": 100,
        "tokens": 100,
    }
    assert whole[-1]["event"]["type"] == "finished"
    assert whole[-1]["seq"] == 101
    found = watch.find("a")
    assert [(number, decode_event(line)) for number, line in found.events] == [*enumerate(events)]


async def test_the_summary_of_an_answer_under_way_comes_once_the_viewer_has_caught_up(monkeypatch):
    monkeypatch.setattr(watch_module, "VIEWER_BYTES", 1000)
    watch = Watch(10**6)
    viewer, under_way = watch.join(), run("a")
    watch.begin(under_way)
    for index in range(50):
        watch.take(round_(index), under_way)
    lines = viewer.lines(1)
    got = [json.loads(await anext(lines)) for _ in range(4)]
    while "summary" not in got[-1]:
        got.append(json.loads(await anext(lines)))
    assert got[-1]["summary"]["last"] == 49
    watch.take(round_(50), under_way)
    assert json.loads(await anext(lines))["seq"] == 50


def test_a_viewer_that_reads_nothing_is_let_go(monkeypatch):
    monkeypatch.setattr(watch_module, "VIEWER_BYTES", 1000)
    monkeypatch.setattr(watch_module, "MOST_VIEWER_BYTES", 20_000)
    watch = Watch(10**6)
    viewer = watch.join()
    for number in range(100):
        play(watch, f"r{number}")
    assert viewer.ended
    assert viewer._bytes < 25_000
    assert not viewer._waiting


def test_memory_is_bounded():
    watch = Watch(20_000)
    for number in range(50):
        play(watch, f"r{number}", rounds=10)
    kept = watch.requests()
    assert kept[0].id == "r49"
    assert 1 < len(kept) < 10
    assert sum(each.size for each in kept) <= 20_000
    play(watch, "long", rounds=500)
    (long,) = watch.requests()
    assert long.count == 502
    assert long.size <= 20_000 + len(encode_event(FINISHED))
    assert long.summary()["events_kept"] == len(long.events) < 502
    assert long.state == "stop"
    assert long.events[-1] == (
        501,
        encode_event(FINISHED),
    )  # with the text, which could not be read otherwise
    assert [number for number, _ in long.events[:-1]] == [*range(len(long.events) - 1)]


async def test_a_viewer_can_go_on_where_it_was_and_learns_how_tokens_are_spelled():
    watch = Watch(5_000)
    under_way = run("a")
    watch.begin(under_way)
    for index in range(50):
        watch.take(Tokens(pieces={str(index): "a"}), under_way)
        watch.take(round_(index), under_way)
    kept = len(watch.find("a").events)
    assert 50 < kept < 100
    got = await seen(watch.join("a", 7))
    assert got[0]["seq"] == 7
    numbers = [each["seq"] for each in got]
    assert numbers == sorted(numbers)
    assert [each["seq"] for each in got if each["event"]["type"] == "tokens"] == [*range(8, 100, 2)]


def test_requests_are_few_however_small(monkeypatch):
    monkeypatch.setattr(watch_module, "MAX_REQUESTS", 3)
    watch = Watch(10**6)
    for number in range(5):
        play(watch, f"r{number}", rounds=0)
    assert [each.id for each in watch.requests()] == ["r4", "r3", "r2"]
    assert watch._size == sum(each.size for each in watch.requests())


def test_over_http(server, tmp_path: Path):
    _, answer = server.chat("What is 12 + 30?", ddtree_trace="yes")
    trace = answer["ddtree"]["trace"]
    assert next(event["type"] for event in trace if event["type"] != "tokens") == "prefilled"
    listed = json.loads(server.get("/v1/ddtree/requests")[1])["data"]
    found = next(each for each in listed if each["id"] == answer["id"])
    assert (found["state"], found["rounds"]) == ("stop", answer["ddtree"]["decode_rounds"])
    status, lines = server.get(f"/v1/ddtree/requests/{answer['id']}/events")
    assert status == 200
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines)
    loaded, *events = read_trace(path).events
    assert loaded.block_size == 16
    assert events == [decode_event(json.dumps(event)) for event in trace]
    streamed = [*server.events(f"?request={answer['id']}")]
    assert [each["event"] for each in streamed[1:]] == trace
    assert server.get("/v1/ddtree/events?request=other")[0] == 404
    assert server.get("/v1/ddtree/requests/other/events")[0] == 404


def test_a_streamed_answer_brings_its_events(server):
    body = {"model": "demo", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    chunks = [*server.stream("/v1/chat/completions", body | {"ddtree_trace": True, "max_tokens": 6})][:-1]
    events = [event for chunk in chunks for event in chunk.get("ddtree_events") or []]
    assert events[-1]["type"] == "finished"
    whole = server.chat("hello", ddtree_trace=True, max_tokens=6)[1]["ddtree"]["trace"]
    assert [event["type"] for event in events] == [event["type"] for event in whole]


@pytest.mark.parametrize("name", ["a/b", "ü", "%20"])
def test_odd_names(server, name):
    assert server.get(f"/v1/ddtree/requests/{quote(name, safe='')}/events")[0] == 404
