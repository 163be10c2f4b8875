"""Answers of other servers as events: of a real vLLM, recorded, and of what others are documented to say."""

import json
import time

import pytest
from canned import http, listed, stream
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded_server import answers_of, ask, attached, chunks, events, heard, in_turn, recording, sent

from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.plain_chat import Chat
from ddtree_tui.attach.plain_link import PlainLink
from ddtree_tui.attach.plain_server import PlainServer
from ddtree_tui.session import Session
from engine.commands import Cancel, Generate, MeasureMemory
from engine.errors import EngineError
from engine.event_check import check_event
from engine.events import UNKNOWN_ID, Failed, Finished, Piece, Prefilled, Round, Tokens
from engine.settings import DecodeSettings

CHAT = "/v1/chat/completions"
FIELDS = (
    *("choices", "delta", "content", "reasoning", "index", "token_ids", "logprobs", "token", "bytes"),
    *("usage", "prompt_tokens", "completion_tokens", "prompt_token_ids", "finish_reason", "metrics", "error"),
    *("speculative_decoding", "num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens"),
    *("per_step_accepted", "per_step_drafted", "sglext", "spec_tokens_details", "spec_verify_ct"),
)


def only(kind, events):
    return [event for event in events if isinstance(event, kind)]


def shown(loaded, events):
    """What the app makes of them."""
    session = Session()
    session.apply(loaded)
    for event in events:
        check_event(event)
        session.apply(event)
    assert session.answer is not None
    return session.answer


def told(recorded, kind):
    """Text and numbers as the recorded server said them."""
    parts = chunks(recorded, kind)
    text = "".join((part["choices"] or [{"delta": {}}])[0]["delta"].get("content") or "" for part in parts)
    return text, parts[-1]["usage"]["completion_tokens"], parts[-1].get("metrics", {})


@pytest.mark.parametrize("kind", ["list", "stop", "shared"])
def test_vllm_that_tells_every_step(kind):
    """With an n-gram drafter some steps have no draft, and vLLM tells of the others alone."""
    recorded = recording("vllm_detailed.json")
    with attached(answers_of(recorded, kind)) as (link, _, loaded):
        found = ask(link)
    assert (loaded.system, loaded.mode, loaded.block_size, loaded.context_length) == (
        "vllm",
        "chain",
        6,
        1024,
    )
    assert loaded.versions == {"vllm": "0.32.0"}
    text, tokens, metrics = told(recorded, kind)
    steps = metrics["speculative_decoding"]
    prefilled, rounds, finished = only(Prefilled, found)[0], only(Round, found), only(Finished, found)[0]
    assert prefilled.source is not None
    assert {"mode", "temperature", "max_new_tokens", "thinking"} <= {*prefilled.source.settings}
    assert "budget" not in prefilled.source.settings
    assert len(prefilled.prompt_ids) == chunks(recorded, kind)[0]["usage"]["prompt_tokens"]
    assert [len(round_.accepted) for round_ in rounds] == steps["per_step_accepted"]
    assert [len(round_.nodes.ids) for round_ in rounds] == steps["per_step_drafted"]
    assert (finished.text, finished.tokens, finished.counted) == (text, tokens, "answer")
    assert finished.mean_acceptance_length == pytest.approx(steps["mean_acceptance_length"])
    assert finished.acceptance_histogram == [0, *steps["acceptance_histogram"]]
    assert finished.reason == ("stop" if kind == "stop" else "length")
    assert all(
        not round_.nodes.logprobs and not round_.nodes.ranks and not round_.ms.total for round_ in rounds
    )
    answer = shown(loaded, found)
    assert answer.text is not None
    assert answer.text.answer == text


def test_pieces_are_the_text_token_by_token():
    recorded = recording("vllm_detailed.json")
    with attached(answers_of(recorded, "list")) as (link, server, _):
        found = ask(link, "Hello there")
    pieces = only(Piece, found)
    ids = [
        token
        for part in chunks(recorded, "list")
        for c in part["choices"]
        for token in c.get("token_ids") or []
    ]
    assert [piece.id for piece in pieces] == ids
    assert [piece.tokens for piece in pieces] == list(range(1, len(ids) + 1))
    assert "".join(piece.text for piece in pieces) == told(recorded, "list")[0]
    spelled = {}
    for event in found:
        if isinstance(event, Tokens):
            spelled |= event.pieces
        elif isinstance(event, Piece):
            assert spelled[str(event.id)] == event.text, "an id is spelled before it is used"
    [body] = sent(server)
    assert body["messages"] == [{"role": "user", "content": "Hello there"}]
    assert body["return_token_ids"]
    assert "top_p" not in body, "means nothing without a temperature"


@pytest.mark.parametrize("kind", ["list", "stop"])
def test_vllm_whose_every_step_has_a_draft_tells_which_tokens_a_round_wrote(kind):
    recorded = recording("vllm_draft_model.json")
    with attached(answers_of(recorded, kind)) as (link, _, loaded):
        found = ask(link)
    text, tokens, metrics = told(recorded, kind)
    ids = [
        token
        for part in chunks(recorded, kind)
        for c in part["choices"]
        for token in c.get("token_ids") or []
    ]
    rounds, finished = only(Round, found), only(Finished, found)[0]
    assert [rounds[0].root_id, *(token for round_ in rounds for token in round_.committed_ids)] == ids
    assert finished.output_ids == ids
    assert len(rounds) == metrics["speculative_decoding"]["num_spec_steps"]
    for round_ in rounds:
        known = round_.committed_ids[: len(round_.accepted)]
        assert round_.nodes.ids == [*known, *[UNKNOWN_ID] * (3 - len(known))], "what was rejected is unknown"
    answer = shown(loaded, found)
    assert answer.text is not None
    assert answer.text.answer == text
    assert len(answer.text) == tokens, "written by rounds, no longer in pieces"
    assert [answer.text.token(number).id for number in range(tokens)] == ids
    assert finished.tokens_per_second > 0


def one_step(ids, spelled, **fields):
    entries = [{"token": "?", "bytes": list(data)} for data in spelled]
    delta = {name: fields.pop(name) for name in ("content", "reasoning") if name in fields}
    choice = {"index": 0, "delta": delta, "token_ids": ids, "logprobs": {"content": entries}} | fields
    return {"choices": [choice]}


def last(accepted, drafted, tokens):
    spec = {
        "num_spec_steps": len(accepted),
        "num_accepted_draft_tokens": sum(accepted),
        "num_draft_tokens": sum(drafted),
        "per_step_accepted": accepted,
        "per_step_drafted": drafted,
    }
    usage = {"prompt_tokens": 4, "completion_tokens": tokens}
    return {"choices": [], "usage": usage, "metrics": {"speculative_decoding": spec}}


def vllm_that_streams(*parts):
    recorded = recording("vllm_draft_model.json")
    return answers_of(recorded, "stop") | {CHAT: events(*parts)}


@pytest.mark.parametrize("opened", [False, True])
def test_thinking_with_its_tokens(opened):
    """The prompt may have opened it; a reasoning parser takes the tags out of the text."""
    tags = [] if opened else [b"<think>"]
    parts = [
        one_step(list(range(len(tags))), tags, reasoning=""),
        one_step([5, 6], [b"12", b" + 30"], reasoning="12 + 30"),
        one_step([7, 8, 9], [b"</think>", b"42", b"<end>"], content="42", finish_reason="stop"),
        last([1, 2] if opened else [2, 2], [2, 2], 5 + len(tags)),
    ]
    with attached(vllm_that_streams(*parts)) as (link, _, loaded):
        found = ask(link)
    assert only(Prefilled, found)[0].opens_thinking
    assert len(only(Round, found)) == 2
    answer = shown(loaded, found)
    assert answer.text is not None
    assert not answer.text.in_pieces
    assert (answer.text.thinking, answer.text.answer) == ("12 + 30", "42")


def test_tokens_that_do_not_spell_the_text_are_not_shown_as_if_they_did():
    parts = [
        one_step([5, 6], [b"12", b"x"], content="12 + 30"),
        one_step([7], [b"!"], content="!", finish_reason="length"),
        last([1], [2], 3),
    ]
    with attached(vllm_that_streams(*parts)) as (link, _, loaded):
        found = ask(link)
    [round_] = only(Round, found)
    assert round_.committed_ids == [UNKNOWN_ID, UNKNOWN_ID]
    answer = shown(loaded, found)
    assert answer.text is not None
    assert answer.text.answer == "12 + 30!"


def test_numbers_that_contradict_each_other_are_left_away_with_a_sentence():
    parts = [one_step([5], [b"Hi"], content="Hi", finish_reason="stop"), last([3], [2], 1)]
    with attached(vllm_that_streams(*parts)) as (link, _, loaded):
        found = ask(link)
        [notice] = link.notices()
    assert "numbers of this answer are left away: what it says contradicts itself" in notice
    assert not only(Round, found)
    assert only(Finished, found)[0].text == "Hi"
    assert shown(loaded, found).over


def without_metrics(recorded, kind):
    """The recorded stream as a server sends it that was not told to tell of single answers."""
    return [
        {name: value for name, value in part.items() if name != "metrics"} for part in chunks(recorded, kind)
    ]


def test_vllm_that_only_counts_and_wrote_nothing_else():
    recorded = recording("vllm_detailed.json")
    steps = told(recorded, "list")[2]["speculative_decoding"]
    answers = answers_of(recorded, "list") | {CHAT: events(*without_metrics(recorded, "list"))}
    with attached(answers) as (link, _, loaded):
        found = ask(link)
    assert not only(Round, found)
    finished = only(Finished, found)[0]
    assert finished.counted == "server"
    assert (finished.rounds, finished.drafted, finished.accepted) == (
        steps["num_spec_steps"],
        steps["num_draft_tokens"],
        steps["num_accepted_draft_tokens"],
    )
    assert finished.acceptance_histogram == [0, *steps["acceptance_histogram"]]
    assert finished.mean_acceptance_length == pytest.approx(steps["mean_acceptance_length"])
    assert shown(loaded, found).statistics.acceptance.mean == pytest.approx(steps["mean_acceptance_length"])


def test_vllm_that_only_counts_and_wrote_another_answer_too():
    recorded = recording("vllm_detailed.json")
    answers = answers_of(recorded, "shared") | {CHAT: events(*without_metrics(recorded, "shared"))}
    with attached(answers) as (link, _, loaded):
        found = ask(link)
    finished = only(Finished, found)[0]
    assert finished.counted == "shared"
    # The same answer was written twice: the mean is right.
    steps = told(recorded, "shared")[2]["speculative_decoding"]
    assert finished.mean_acceptance_length == pytest.approx(steps["mean_acceptance_length"])
    assert finished.rounds == round((finished.tokens - 1) / finished.mean_acceptance_length)
    assert (finished.drafted, finished.acceptance_histogram) == (0, [])
    assert not shown(loaded, found).statistics.acceptance.mean, "no estimate among the statistics"


def test_a_server_that_says_only_text():
    """``/v1/models`` and a stream, as OpenAI documents them: all numbers are unknown but the times."""
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    parts = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Hel", "lo")]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    with attached({"/v1/models": listed("m"), CHAT: events(*parts, end, usage)}) as (link, server, loaded):
        found = ask(link)
        assert (loaded.system, loaded.mode, loaded.block_size) == ("openai", None, None)
    assert [(piece.text, piece.id, piece.tokens) for piece in only(Piece, found)] == [
        ("Hel", UNKNOWN_ID, None),
        ("lo", UNKNOWN_ID, None),
    ]
    finished = only(Finished, found)[0]
    assert (finished.text, finished.tokens, finished.reason) == ("Hello", 2, "stop")
    assert (finished.rounds, finished.mean_acceptance_length) == (0, 0)
    assert finished.ttft_s > 0
    assert "return_token_ids" not in sent(server)[0]
    answer = shown(loaded, found)
    assert answer.text is not None
    assert answer.text.answer == "Hello"


def test_steps_that_may_be_trees_are_shown_without_a_shape():
    """Another server than vLLM that uses its names, such as this program's own."""
    parts = [one_step([5], [b"Hi"], content="Hi", finish_reason="stop"), last([1, 2], [8, 8], 6)]
    with attached({"/v1/models": listed("m"), CHAT: events(*parts)}) as (link, _, loaded):
        found = ask(link)
    rounds, finished = only(Round, found), only(Finished, found)[0]
    assert [round_.acceptance_length for round_ in rounds] == [2, 3]
    assert not any(round_.tree_known or round_.nodes.ids for round_ in rounds)
    assert (finished.drafted, finished.accepted) == (16, 3)
    assert shown(loaded, found).over


def documented(**changes):
    return recording("sglang_documented.json") | changes


def test_sglang_tells_totals_of_its_answer():
    recorded = documented()
    with attached(answers_of(recorded, "chain")) as (link, server, loaded):
        found = ask(link)
    assert (loaded.system, loaded.mode, loaded.block_size) == ("sglang", "chain", 5)
    assert loaded.drafter is not None
    assert sent(server)[0]["return_spec_tokens_details"]
    finished = only(Finished, found)[0]
    details = chunks(recorded, "chain")[-2]["sglext"]["spec_tokens_details"]
    assert not only(Round, found)
    assert (finished.rounds, finished.drafted, finished.accepted, finished.counted) == (
        details["spec_verify_ct"],
        details["spec_num_proposed_drafts"],
        details["spec_num_correct_drafts"],
        "answer",
    )
    assert finished.mean_acceptance_length == details["spec_accept_length"]
    assert finished.acceptance_histogram == [0, *details["spec_correct_drafts_histogram"]]
    assert (finished.thinking_text, finished.text) == ("12 and 30.", "It is 42.")
    answer = shown(loaded, found)
    assert answer.text is not None
    assert (answer.text.thinking, answer.text.answer) == ("12 and 30.", "It is 42.")


def test_what_a_server_refuses_is_left_away_and_told_if_it_matters():
    refusals = [
        http(
            400, {"object": "error", "message": "return_spec_tokens_details: Extra inputs are not permitted"}
        ),
        http(422, {"detail": "something is wrong"}),
        http(400, {"error": {"message": "Unrecognized request argument supplied: top_k", "param": "top_k"}}),
    ]
    recorded = documented()
    answers = answers_of(recorded, "chain")
    answers[CHAT] = in_turn(*refusals, answers[CHAT])
    with attached(answers) as (link, server, _):
        found = ask(link, temperature=0.7, top_k=20)
        bodies = sent(server)
        assert len(bodies) == 4
        assert "return_spec_tokens_details" not in bodies[1]
        assert "logprobs" not in bodies[2]
        assert "continuous_usage_stats" not in bodies[2]["stream_options"]
        assert bodies[3]["stream_options"] == {"include_usage": True}
        assert "top_k" not in bodies[3]
        assert (bodies[3]["temperature"], bodies[3]["seed"], bodies[3]["top_p"]) == (0.7, 0, 1.0)
        assert only(Finished, found)
        [notice] = link.notices()
        assert "top_k" in notice
        prefilled = only(Prefilled, found)[0]
        assert prefilled.source is not None
        assert "top_k" not in prefilled.source.settings
        ask(link, temperature=0.7, top_k=20)
        assert len(sent(server)) == 5, "the next request is right at once"
        assert not link.notices()


@pytest.mark.parametrize(
    ("which", "kind", "words"),
    [
        ("prompt", "remote_refused", "maximum context length is 1024 tokens"),
        ("model", "remote_missing", "`another` does not exist"),
        ("value", "remote_refused", "temperature must be non-negative"),
    ],
)
def test_vllm_refuses_in_its_own_words(which, kind, words):
    recorded = recording("vllm_detailed.json")
    refusal = recorded["refused"][which]
    answers = answers_of(recorded, "stop") | {CHAT: http(refusal["status"], refusal["body"].encode())}
    with attached(answers) as (link, _, loaded):
        [failed] = ask(link)
        assert isinstance(failed, Failed)
        assert failed.error == kind
        assert words in failed.message
        session = Session()
        session.apply(loaded)
        session.ask("Hello", DecodeSettings())
        session.apply(failed)
        assert not session.running


def test_more_tokens_than_the_context_has_are_as_many_as_it_has():
    recorded = recording("vllm_detailed.json")
    refusal = recorded["refused"]["too much"]
    answers = answers_of(recorded, "stop")
    refused = http(refusal["status"], refusal["body"].encode())
    answers[CHAT] = in_turn(refused, refused, answers[CHAT])
    with attached(answers) as (link, server, _):
        found = ask(link, max_new_tokens=100_000)
        assert only(Finished, found)
        lengths = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in sent(server)]
        assert lengths == [(100_000, None), (None, 100_000), (None, None)]
        assert link.notices() == ["vLLM refuses so many new tokens: the context alone limits the answer."]
        assert "max_new_tokens" not in only(Prefilled, found)[0].source.settings
        ask(link, max_new_tokens=10)
        assert sent(server)[-1]["max_tokens"] == 10


def test_the_newer_name_of_the_length_is_remembered():
    """As OpenAI's newer models want it."""
    words = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    refusal = http(400, {"error": {"message": words, "param": "max_tokens"}})
    answer = events({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
    with attached({"/v1/models": listed("m"), CHAT: in_turn(refusal, answer)}) as (link, server, _):
        found = ask(link, max_new_tokens=7)
        assert "max_new_tokens" in only(Prefilled, found)[0].source.settings
        ask(link, max_new_tokens=7)
        assert [body.get("max_completion_tokens") for body in sent(server)] == [None, 7, 7]
        assert not link.notices()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10) | st.just(10**30) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4), max_size=4))
def test_whatever_is_streamed_ends_the_answer(chunks):
    """With an end, or a sentence; and every event agrees with itself."""
    found = []
    server = PlainServer(system="vllm", model="m", models=("m",), mode="chain")
    body = events(*chunks).partition(b"\r\n\r\n")[2]
    chat = Chat(ServesOnce(body), server, found.append, found.append)
    try:
        chat.answer(Generate(messages=[{"role": "user", "content": "x"}], settings=DecodeSettings()), Line())
    except EngineError as error:
        found.append(Failed(error=error.kind, message=error.message))
    end = next(event for event in reversed(found) if not isinstance(event, str))
    assert isinstance(end, Finished | Failed)
    if isinstance(end, Failed):
        assert end.error.startswith("remote_")
        assert end.message.endswith(".")
    for event in found:
        if not isinstance(event, str):
            check_event(event)


class ServesOnce:
    """In a client's place."""

    def __init__(self, body):
        self._body = body

    def open(self, *_, **__):
        return self

    def events(self):
        return (frame.removeprefix(b"data: ") for frame in self._body.split(b"\n\n") if frame)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_an_error_in_the_stream_and_a_stream_that_breaks_off():
    parts = without_metrics(recording("vllm_detailed.json"), "list")[:5]
    frames = [b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts]
    with attached({"/v1/models": listed("m"), CHAT: stream(*frames, whole=False)}) as (link, _, loaded):
        found = ask(link)
    failed = only(Failed, found)[0]
    assert failed.error == "remote_lost"
    answer = shown(loaded, found)
    assert answer.text is not None
    assert answer.text.answer == "".join(part["choices"][0]["delta"]["content"] for part in parts)
    error = {"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError"}}
    with attached({"/v1/models": listed("m"), CHAT: events(*parts, error)}) as (link, _, _):
        failed = only(Failed, ask(link))[0]
    assert "EngineCore encountered an issue." in failed.message


def test_stopped_it_ends_with_what_is_there():
    parts = without_metrics(recording("vllm_detailed.json"), "list")[:5]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    def slowly(connection):
        connection.sendall(head + b"".join(b"data: " + json.dumps(part).encode() + b"\n\n" for part in parts))
        connection.recv(1)  # until it hangs up

    with attached({"/v1/models": listed("m"), CHAT: slowly}) as (link, _, loaded):
        link.send(Generate(messages=[{"role": "user", "content": "Hello"}], settings=DecodeSettings()))
        found = heard(link, Piece)
        link.send(Cancel())
        found += heard(link, Finished)
    finished = only(Finished, found)[0]
    assert finished.reason == "cancelled"
    assert finished.text == "".join(part["choices"][0]["delta"]["content"] for part in parts)
    assert shown(loaded, found).over


def test_stopped_before_anything_came():
    def never(connection):
        connection.recv(1)

    with attached({"/v1/models": listed("m"), CHAT: never}) as (link, server, _):
        link.send(Generate(messages=[{"role": "user", "content": "Hello"}], settings=DecodeSettings()))
        while not sent_any(server):
            time.sleep(0.002)
        link.send(Cancel())
        finished = only(Finished, heard(link, Finished))[0]
    assert (finished.reason, finished.tokens, finished.text) == ("cancelled", 0, "")


def sent_any(server):
    return any(text.startswith("POST") for text in server.asked)


def test_which_model_answers():
    answers = {"/v1/models": listed("a", "b"), CHAT: events()}
    with attached(answers) as (link, server, loaded):
        assert loaded.target.name == "a"
        ask(link)
        assert sent(server)[0]["model"] == "a"
        [notice] = link.notices()
        assert "other models too: b." in notice
    with attached(answers, model="b") as (link, _, loaded):
        assert loaded.target.name == "b"
        assert not link.notices()


@pytest.mark.parametrize(
    ("model", "answers", "words"),
    [
        ("c", {"/v1/models": listed("a", "b")}, "does not serve c. It serves a, b."),
        (None, {"/v1/models": listed()}, "serves no model"),
        (None, {"/v1/models": http(401, {"error": {"message": "no"}})}, "does not let you in"),
    ],
)
def test_a_server_that_cannot_be_used(model, answers, words):
    from canned import canned

    with canned(answers) as server:
        link = PlainLink(Client(read_address(server.url)), model=model)
        link.start()
        failed = only(Failed, heard(link))[0]
        assert words in f"{failed.message} {failed.hint}"
        link.stop()


def test_what_such_a_server_cannot_do_is_not_sent():
    with attached({"/v1/models": listed("m")}) as (link, server, _):
        asked = len(server.asked)
        link.send(MeasureMemory())
        assert len(server.asked) == asked
        assert not link.drain()
