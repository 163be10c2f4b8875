"""Tokens as they are written: all of them, in order, however they come and however it is wrapped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from make_recording import END_THINK, IM_END, VOCABULARY, token_id
from test_answers_and_rounds import full_vocabulary, prefilled

from ddtree_tui.answer_text import AR, BONUS, FIRST, PREFILL, AnswerText
from ddtree_tui.escape import escape
from ddtree_tui.written_text import VIEWS, Writing, WrittenText, sign

IDS = st.lists(st.integers(0, len(VOCABULARY) - 1), max_size=60)
ROUNDS = st.lists(st.lists(st.integers(0, len(VOCABULARY) - 1), min_size=1, max_size=6), max_size=15)


def answer(rounds: list[list[int]], *, thinking: bool = False) -> AnswerText:
    text = AnswerText(full_vocabulary(), prefilled(token_id("a"), thinking=thinking))
    text.push([token_id("a")], PREFILL)
    for number, ids in enumerate(rounds):
        text.push(ids, number, [place + 1 for place in range(len(ids) - 1)] + [BONUS])
    return text


def whole(written: WrittenText) -> str:
    """The lines, joined where they were broken, apart where the text has line breaks."""
    shown, before = "", 0
    for line in written.lines:
        shown += "\n" * (line.start - before) + written.text(line)
        before = line.end
    return shown


@given(ROUNDS, st.booleans(), st.integers(2, 50))
def test_the_text_view_is_the_text_escaped(rounds: list[list[int]], thinking: bool, width: int) -> None:
    text = answer(rounds, thinking=thinking)
    for section in ("thinking", "answer"):
        written = WrittenText(text, section, Writing(), width)  # type: ignore[arg-type]
        written.update()
        source = text.thinking if section == "thinking" else text.answer
        assert whole(written) == "\n".join(escape(line) for line in source.split("\n"))


@given(ROUNDS, st.sampled_from(VIEWS), st.booleans(), st.booleans(), st.integers(2, 50))
def test_it_is_the_same_whether_it_came_at_once_or_bit_by_bit(
    rounds: list[list[int]], view: str, signs: bool, close: bool, width: int
) -> None:
    writing = Writing(view, signs)  # type: ignore[arg-type]
    text = AnswerText(full_vocabulary(), prefilled(token_id("a")))
    growing = WrittenText(text, "answer", writing, width)
    for number, ids in enumerate(rounds):
        text.push(ids, number, [AR] * len(ids))
        growing.update()
    if close:
        text.close()
        growing.update()
    at_once = WrittenText(text, "answer", writing, width)
    at_once.update()
    assert growing.lines == at_once.lines
    assert [growing.text(line) for line in growing.lines] == [at_once.text(line) for line in at_once.lines]


@given(ROUNDS, st.sampled_from(VIEWS), st.booleans(), st.integers(2, 50))
def test_every_character_is_of_one_token_and_every_token_has_its_line(
    rounds: list[list[int]], view: str, signs: bool, width: int
) -> None:
    text = answer(rounds)
    written = WrittenText(text, "answer", Writing(view, signs), width)  # type: ignore[arg-type]
    written.update()
    seen: list[int] = []
    first_line: dict[int, int] = {}
    for number, line in enumerate(written.lines):
        place = 0
        for token, start, end in written.pieces(line):
            assert start == place
            assert end > start
            place = end
            seen.append(token)
            first_line.setdefault(token, number)
        assert place == line.end - line.start
    assert seen == sorted(seen)
    if view != "text":
        assert set(seen) == set(text.of_section["answer"])
    assert {token: written.line_of(token) for token in first_line} == first_line


@given(IDS)
def test_ids_and_bytes_are_all_there(ids: list[int]) -> None:
    text = answer([[token] for token in ids])
    for section in ("thinking", "answer"):
        tokens = [text.token(index) for index in text.of_section[section]]  # type: ignore[index]
        written = WrittenText(text, section, Writing("ids"), 30)  # type: ignore[arg-type]
        written.update()
        assert whole(written).split() == [str(token.id) for token in tokens]
        written = WrittenText(text, section, Writing("bytes"), 30)  # type: ignore[arg-type]
        written.update()
        shown = whole(written).split()
        assert len(shown) == len(tokens)
        for word, token in zip(shown, tokens, strict=True):
            special = token.id in text.vocabulary.special_ids
            assert word == (VOCABULARY[token.id].decode() if special else VOCABULARY[token.id].hex())


def test_control_tokens_are_seen_among_the_tokens_alone() -> None:
    text = answer([[token_id(" and"), END_THINK, token_id("\n"), token_id(" a"), IM_END]], thinking=True)
    shown = {}
    for view in ("text", "tokens"):
        for section in ("thinking", "answer"):
            written = WrittenText(text, section, Writing(view), 60)  # type: ignore[arg-type]
            written.update()
            shown[view, section] = whole(written)
    assert shown["text", "thinking"] == "a and"
    assert shown["text", "answer"] == " a"
    assert shown["tokens", "thinking"] == "a ␣and </think> "
    assert shown["tokens", "answer"] == "↵ \n␣a <|im_end|> "


def test_signs_say_where_a_token_comes_from() -> None:
    text = AnswerText(full_vocabulary(), prefilled(token_id("a")))
    text.push([token_id("a")], PREFILL)
    text.push([token_id(" draft"), token_id(" tree"), token_id(" is")], 0, [1, 12, BONUS])
    text.push([token_id("b")], 1, [AR])
    written = WrittenText(text, "answer", Writing("text", signs=True), 60)
    written.update()
    assert whole(written) == "ᵖa ¹draft ¹²tree ★isᵃb"


@pytest.mark.parametrize(("origin", "text"), [(1, "¹"), (15, "¹⁵"), (BONUS, "★"), (AR, "ᵃ"), (FIRST, "ᵖ")])
def test_each_origin_has_a_sign_of_its_own(origin: int, text: str) -> None:
    assert sign(origin) == text


def test_what_a_token_is_can_be_looked_up() -> None:
    text = answer([[token_id(" fox"), token_id(" dog")], [token_id(" tree")]])
    fox, dog, tree = text.token(1), text.token(2), text.token(3)
    assert [text.answer[t.start : t.end] for t in (fox, dog, tree)] == [" fox", " dog", " tree"]
    assert [(t.round, t.place, t.origin) for t in (fox, dog, tree)] == [
        (0, 0, 1),
        (0, 1, BONUS),
        (1, 0, BONUS),
    ]
    assert list(text.of_round(0)) == [1, 2]
    assert text.token(0).round == PREFILL
