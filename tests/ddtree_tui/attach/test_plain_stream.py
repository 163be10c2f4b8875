"""The chunks of a streamed answer: pieces, tokens, and what only the end says."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddtree_tui.attach.plain_stream import Part, Stream, read_chunk
from engine.errors import EngineError
from engine.events import UNKNOWN_ID


def chunk(content=None, *, ids=None, spelled=None, **fields):
    """A chunk as vLLM sends it."""
    choice = {"index": 0, "delta": {"content": content}, "token_ids": ids}
    if spelled is not None:
        choice["logprobs"] = {"content": [{"token": "?", "bytes": list(data)} for data in spelled]}
    return {"id": "chatcmpl-1", "model": "m", "choices": [choice | fields.pop("choice", {})]} | fields


def taken(*values):
    stream = Stream()
    parts = [stream.take(read_chunk(json.dumps(value).encode())) for value in values]
    return stream, parts


def test_tokens_whose_bytes_are_the_text_are_pieces_of_their_own():
    stream, parts = taken(
        chunk("", prompt_token_ids=[1, 2, 3]),
        chunk("It", ids=[5], spelled=[b"It"]),
        chunk(" is 4", ids=[6, 7], spelled=[b" is", b" 4"]),
    )
    assert parts == [[], [Part("answer", "It", 5)], [Part("answer", " is", 6), Part("answer", " 4", 7)]]
    assert (stream.text, stream.ids, stream.prompt_ids, stream.tokens) == ("It is 4", [5, 6, 7], [1, 2, 3], 3)


def test_text_that_was_kept_back_is_one_piece_of_unknown_tokens():
    """Half a character: the first byte's chunk has no text, the next has more than its token."""
    stream, parts = taken(
        chunk("", ids=[8], spelled=["é".encode()[:1]]),
        chunk("é!", ids=[9, 10], spelled=["é".encode()[1:], b"!"]),
    )
    assert parts == [[], [Part("answer", "é!", UNKNOWN_ID)]]
    assert stream.ids == [8, 9, 10]
    assert b"".join(bytes(entry.bytes or []) for entry in stream.entries).decode() == "é!"


def test_a_chunk_without_its_tokens_makes_all_ids_unknown():
    stream, _ = taken(chunk("a", ids=[1], spelled=[b"a"]), chunk("b"), chunk("c", ids=[3], spelled=[b"c"]))
    assert (stream.text, stream.ids, stream.entries, stream.tokens) == ("abc", [], [], None)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_by_either_name(name):
    stream, parts = taken(
        chunk(choice={"delta": {name: "12 + 30"}}), chunk("42", choice={"finish_reason": "stop"})
    )
    assert parts == [[Part("thinking", "12 + 30")], [Part("answer", "42")]]
    assert (stream.thinking, stream.text, stream.finish_reason) == ("12 + 30", "42", "stop")


def test_the_server_counts_better_than_we_do():
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    stream, _ = taken(chunk("a b c", usage=usage), {"choices": [], "usage": usage | {"completion_tokens": 4}})
    assert (stream.tokens, stream.prompt_tokens) == (4, 7)


def test_what_only_the_end_has_and_other_choices():
    other = {"index": 1, "delta": {"content": "no"}}
    stream, parts = taken(
        {"choices": [other]},
        {"choices": [], "metrics": {"x": 1}, "unknown": [1]},
        {"choices": [], "sglext": {"y": 2}, "usage": None},
    )
    assert parts == [[], [], []]
    assert (stream.metrics, stream.sglext, stream.text) == ({"x": 1}, {"y": 2}, "")


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (
            b'{"error": {"message": "The engine is dead.", "code": 500}}',
            "remote_refused",
            "The engine is dead.",
        ),
        (b'{"object": "error", "message": "Too long", "code": 400}', "remote_refused", "Too long."),
        (b'{"error": "out of memory"}', "remote_refused", "out of memory."),
        (b'{"choices": "none"}', "remote_answer", "no part of a chat answer"),
        (b'{"choices": [{"delta": {"content": 5}}]}', "remote_answer", "no part of a chat answer"),
        (b"[1, 2]", "remote_answer", "no part of a chat answer"),
        (b"\xff", "remote_answer", "no part of a chat answer"),
        (b"[" * 100_000, "remote_answer", "no part of a chat answer"),
    ],
)
def test_what_is_no_chunk_is_a_sentence(data, kind, says):
    with pytest.raises(EngineError) as raised:
        read_chunk(data)
    assert raised.value.kind == kind
    assert says in raised.value.message
    assert not raised.value.message.endswith("..")


TOKENS = st.lists(
    st.sampled_from(["a", " b", "é", "漢", "\n", "🦊"]).map(str.encode), min_size=1, max_size=20
)


@settings(max_examples=40)
@given(TOKENS, st.lists(st.integers(1, 4), max_size=20), st.booleans())
def test_pieces_together_are_the_text_however_it_is_cut(spelled, cuts, told):
    """A server sends whole characters; several tokens may come at once."""
    values, start = [], 0
    for size in [*cuts, len(spelled)]:
        part = spelled[start : start + size]
        if part:
            ids = list(range(start, start + len(part)))
            values.append(chunk(b"".join(part).decode(), **({"ids": ids, "spelled": part} if told else {})))
        start += size
    stream, parts = taken(*values)
    text = b"".join(spelled).decode()
    pieces = [part for these in parts for part in these]
    assert "".join(part.text for part in pieces) == stream.text == text
    if told:
        assert [part.id for part in pieces] == stream.ids == list(range(len(spelled)))
