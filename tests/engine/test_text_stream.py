from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text_stream import TextStream

OPEN, CLOSE, SPECIAL = 1, 2, 3


class Bytes:
    """A vocabulary made on the fly: every id stands for the bytes it was given."""

    special_ids = frozenset({OPEN, CLOSE, SPECIAL})
    think_open_id: int | None = OPEN
    think_close_id: int | None = CLOSE
    strips_first_space = False

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}

    def token(self, data: bytes) -> int:
        token_id = 10 + len(self.known)
        self.known[token_id] = data
        return token_id

    def tokens(self, parts: Iterable[bytes | int]) -> list[int]:
        return [part if isinstance(part, int) else self.token(part) for part in parts]

    def token_bytes(self, token_id: int) -> bytes:
        return self.known[token_id]


def stream_of(
    parts: Sequence[bytes | int], *, stop: Sequence[str] = (), in_thinking: bool = False
) -> TextStream:
    """Push until a stop string hits; then close."""
    vocabulary = Bytes()
    stream = TextStream(vocabulary, stop=stop, in_thinking=in_thinking)
    for token_id in vocabulary.tokens(parts):
        if stream.push(token_id):
            break
    stream.close()
    return stream


def split_at(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Cut into tokens; empty ones may occur."""
    borders = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(borders)]


places = st.lists(st.integers(0, 10_000), max_size=12)


@given(text=st.text(), cuts=places)
@example(text="🏳️‍🌈 né", cuts=list(range(30)))
def test_any_split_of_text_gives_the_text(text: str, cuts: list[int]) -> None:
    assert stream_of(split_at(text.encode(), cuts)).text == text


@given(data=st.binary(), cuts=places)
@example(data=b"\xf0\x9f\x98", cuts=[1, 2])
@example(data=b"\xe4\xb8a\xff", cuts=[1, 2, 3])
def test_any_split_of_bytes_gives_what_decoding_at_once_gives(data: bytes, cuts: list[int]) -> None:
    assert stream_of(split_at(data, cuts)).text == data.decode("utf-8", "replace")


@given(data=st.binary(), cuts=places)
def test_text_only_grows_and_pending_bytes_complete_it(data: bytes, cuts: list[int]) -> None:
    vocabulary = Bytes()
    stream = TextStream(vocabulary)
    pushed, before = b"", ""
    for part in split_at(data, cuts):
        stream.push(vocabulary.token(part))
        pushed += part
        assert stream.text.startswith(before)
        assert len(stream.pending) < 4
        assert stream.text + stream.pending.decode("utf-8", "replace") == pushed.decode("utf-8", "replace")
        before = stream.text


def test_half_a_character_waits() -> None:
    vocabulary = Bytes()
    stream = TextStream(vocabulary)
    first, second = vocabulary.tokens([b"a\xe4\xbd", b"\xa0b"])
    stream.push(first)
    assert (stream.text, stream.pending) == ("a", b"\xe4\xbd")
    stream.push(second)
    assert (stream.text, stream.pending) == ("a你b", b"")


def test_special_tokens_are_not_text_and_do_not_break_a_character() -> None:
    assert stream_of([b"a\xe4", SPECIAL, b"\xbd\xa0"]).text == "a你"


# -- thinking ---------------------------------------------------------------------------------------------


def test_thinking_and_answer_are_two_texts() -> None:
    stream = stream_of([OPEN, b"\nlet me", b" see\n", CLOSE, b"\n", b"\nIt is", b"\n42"])
    assert (stream.thinking_text, stream.text) == ("let me see\n", "It is\n42")


def test_a_prompt_that_left_the_block_open() -> None:
    stream = stream_of([b"hm", CLOSE, b"\n\nyes"], in_thinking=True)
    assert (stream.thinking_text, stream.text) == ("hm", "yes")


def test_thinking_that_never_ends_leaves_no_answer() -> None:
    stream = stream_of([b"and so on"], in_thinking=True)
    assert (stream.thinking_text, stream.text, stream.in_thinking) == ("and so on", "", True)


def test_line_breaks_elsewhere_are_text() -> None:
    assert stream_of([b"\n\na\n\nb\n"]).text == "\n\na\n\nb\n"


def test_a_closing_tag_outside_thinking_changes_nothing() -> None:
    stream = stream_of([b"a\xe4", CLOSE, b"\xbd\xa0", b"\nb"])
    assert (stream.text, stream.thinking_text) == ("a你\nb", "")


def test_half_a_character_before_a_tag_is_lost_for_sure() -> None:
    stream = stream_of([b"a\xe4\xbd", CLOSE, b"\xa0b"], in_thinking=True)
    assert (stream.thinking_text, stream.text) == ("a\ufffd", "\ufffdb")


def test_tags_spelled_with_ordinary_tokens_are_text() -> None:
    assert stream_of([b"<think>", b"x", b"</think>"]).text == "<think>x</think>"


def test_without_think_ids_everything_is_answer() -> None:
    vocabulary = Bytes()
    vocabulary.think_open_id = vocabulary.think_close_id = None
    stream = TextStream(vocabulary)
    for token_id in (OPEN, vocabulary.token(b"x"), CLOSE):
        stream.push(token_id)
    assert (stream.text, stream.thinking_text) == ("x", "")


@given(
    thoughts=st.binary(max_size=30),
    answer=st.binary(max_size=30),
    first=places,
    second=places,
    opened=st.booleans(),
)
def test_the_split_does_not_depend_on_token_borders(
    thoughts: bytes, answer: bytes, first: list[int], second: list[int], opened: bool
) -> None:
    begin: list[bytes | int] = [] if opened else [OPEN]
    stream = stream_of(
        [*begin, *split_at(thoughts, first), CLOSE, *split_at(answer, second)], in_thinking=opened
    )
    expected = thoughts.decode("utf-8", "replace")
    assert stream.thinking_text == (expected if opened else expected.lstrip("\r\n"))
    assert stream.text == answer.decode("utf-8", "replace").lstrip("\r\n")


def test_sentencepiece_drops_the_first_space_only() -> None:
    vocabulary = Bytes()
    vocabulary.strips_first_space = True
    stream = TextStream(vocabulary)
    for token_id in vocabulary.tokens([SPECIAL, b" Hello", b" world"]):
        stream.push(token_id)
    assert stream.text == "Hello world"


# -- stop strings -----------------------------------------------------------------------------------------


def first_stop(text: str, stops: Sequence[str]) -> int | None:
    """Where the text ends: the stop that is complete first, the longest of those. Read off the text."""
    for end in range(1, len(text) + 1):
        starts = [end - len(stop) for stop in stops if text[:end].endswith(stop)]
        if starts:
            return min(starts)
    return None


letters = st.text(alphabet="abé", max_size=24)


@given(text=letters, stops=st.lists(st.text(alphabet="abé", min_size=1, max_size=4), max_size=3), cuts=places)
@example(text="xxENDyy", stops=["END"], cuts=[3, 4])
@example(text="abab", stops=["bab", "ab"], cuts=[])
def test_a_stop_string_is_found_wherever_token_borders_fall(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    parts = split_at(text.encode(), cuts)
    stream = stream_of(parts, stop=stops)
    start = first_stop(text, stops)
    if start is None:
        assert (stream.text, stream.stopped, stream.tokens) == (text, None, len(parts))
        return
    assert stream.text == text[:start]
    assert stream.stopped in stops
    # The token that completes the stop string is the last one kept, not one more and not one less.
    kept = b"".join(parts[: stream.tokens])
    short = b"".join(parts[: stream.tokens - 1])
    assert first_stop(kept.decode("utf-8", "ignore"), stops) == start
    assert first_stop(short.decode("utf-8", "ignore"), stops) is None


@given(text=letters, stops=st.lists(st.text(alphabet="abé", min_size=1, max_size=4), max_size=3), cuts=places)
def test_settled_text_is_never_taken_back(text: str, stops: list[str], cuts: list[int]) -> None:
    vocabulary = Bytes()
    stream = TextStream(vocabulary, stop=stops)
    shown = ""
    for token_id in vocabulary.tokens(split_at(text.encode(), cuts)):
        stopped = stream.push(token_id)
        settled = stream.text[: stream.settled]
        assert settled.startswith(shown)
        shown = settled
        if stopped:
            break
    assert stream.text.startswith(shown)
    # Nothing is held back that no stop string begins with.
    rest = stream.text[stream.settled :]
    assert rest == "" or any(stop.startswith(rest) for stop in stops)


def test_stop_strings_do_not_apply_to_thinking() -> None:
    stream = stream_of([b"END END", CLOSE, b"\n\nEN", b"D"], in_thinking=True, stop=["END"])
    assert (stream.thinking_text, stream.text, stream.tokens) == ("END END", "", 4)


def test_a_stop_string_does_not_reach_back_over_the_thinking() -> None:
    stream = stream_of([b"EN", CLOSE, b"D"], in_thinking=True, stop=["END"])
    assert (stream.text, stream.stopped) == ("D", None)


def test_after_a_stop_string_nothing_can_be_pushed() -> None:
    vocabulary = Bytes()
    stream = TextStream(vocabulary, stop=["."])
    end, more = vocabulary.tokens([b"a. b\xe4", b"x"])
    assert stream.push(end)
    assert (stream.text, stream.pending, stream.stopped, stream.tokens) == ("a", b"", ".", 1)
    with pytest.raises(RuntimeError):
        stream.push(more)
    assert stream.tokens == 1
