"""An answer that comes piece by piece, whose rounds are told at its end or never."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddtree_tui.answer_text import UNTOLD, AnswerText
from ddtree_tui.pieces import Pieces
from ddtree_tui.session import Session
from ddtree_tui.totals import counts_text, totals_text
from ddtree_tui.vocabulary import SeenVocabulary
from ddtree_tui.written_text import Writing, WrittenText
from engine.event_lines import decode_event, encode_event
from engine.events import UNKNOWN_ID, Finished, Piece, Prefilled, Source, StageTimes
from engine.settings import DecodeSettings


def prefilled(**changes):
    fields = {
        "prompt_ids": [],
        "prompt_text": "",
        "messages": [{"role": "user", "content": "hello"}],
        "thinking": False,
        "settings": DecodeSettings(),
        "stop_ids": [],
        "seconds": 0.5,
        "first_id": UNKNOWN_ID,
        "source": Source(system="vllm", name="m"),
    }
    return Prefilled(**(fields | changes))


def finished(**changes):
    fields = {
        "reason": "stop",
        "output_ids": [],
        "text": "Hi.",
        "thinking_text": "",
        "rounds": 0,
        "tokens": 5,
        "mean_acceptance_length": 0.0,
        "acceptance_histogram": [],
        "tokens_per_second": 0.0,
        "ttft_s": 0.5,
        "ms": StageTimes(),
        "drafted": 0,
        "accepted": 0,
    }
    return Finished(**(fields | changes))


ROUNDS = {"rounds": 2, "mean_acceptance_length": 2.0}
PIECES = st.lists(
    st.builds(
        Piece,
        section=st.sampled_from(["thinking", "answer"]),
        text=st.text(st.sampled_from("a é\n漢🦊"), max_size=4),
        id=st.integers(-1, 3),
    ),
    max_size=20,
)


@settings(max_examples=40)
@given(PIECES)
def test_sections_and_tokens_are_as_they_came(pieces):
    text = AnswerText(SeenVocabulary(), prefilled())
    text.push([UNKNOWN_ID], -1)  # what stands for a first token that is not known
    written = {section: WrittenText(text, section, Writing("text"), 20) for section in ("thinking", "answer")}
    for piece in pieces:
        text.take_piece(piece)
        written[piece.section].update()
    for section in ("thinking", "answer"):
        said = "".join(piece.text for piece in pieces if piece.section == section)
        assert text.text_of(section) == said
        if pieces:
            fresh = WrittenText(text, section, Writing("text"), 20)
            fresh.update()
            written[section].update()
            assert [fresh.text(line) for line in fresh.lines] == [
                written[section].text(line) for line in written[section].lines
            ]
    if pieces:
        tokens = [text.token(number) for number in range(len(text))]
        assert [(token.id, token.section, token.origin) for token in tokens] == [
            (piece.id, piece.section, UNTOLD) for piece in pieces
        ]
        said = [text.text_of(token.section)[token.start : token.end] for token in tokens]
        assert said == [piece.text for piece in pieces]


def test_speed_counts_from_the_first_counted_piece():
    pieces = Pieces()
    assert pieces.tokens_per_second == 0
    for t, tokens in ((0.5, None), (1.0, 3), (1.5, 5), (2.0, None), (3.0, 11)):
        pieces.add(Piece(t=t, section="answer", text="x", tokens=tokens))
    assert (pieces.count, pieces.tokens) == (5, 11)
    assert pieces.tokens_per_second == pytest.approx((11 - 3) / (3.0 - 1.0))


@pytest.mark.parametrize(
    ("changes", "counts", "told"),
    [
        ({}, "5 tokens, rounds unknown", "rounds unknown"),
        (ROUNDS, "5 tokens in 2 rounds", "2 rounds, and only their totals are known"),
        (ROUNDS | {"counted": "server"}, "5 tokens in 2 rounds", "2 rounds, by the server's counters"),
        (ROUNDS | {"counted": "shared"}, "5 tokens in ≈2 rounds", "≈2 rounds, an estimate"),
        (ROUNDS | {"tokens": 9}, "9 tokens in 2 rounds with a draft", "2 rounds, and only"),
        ({"tokens": 1}, "1 token in 0 rounds", "0 rounds"),
    ],
)
def test_how_sure_the_number_of_rounds_is_is_said(changes, counts, told):
    session = Session()
    session.apply(prefilled())
    session.apply(Piece(section="answer", text="Hi.", tokens=3))
    answer = session.answer
    assert answer is not None
    assert counts_text(answer) == "3 tokens, rounds unknown"
    assert totals_text(answer) == "its rounds are told at its end, or never"
    session.apply(finished(**changes))
    assert counts_text(answer) == counts
    assert totals_text(answer).startswith(told)


def test_pieces_and_how_numbers_were_counted_are_kept_in_traces():
    for event in (Piece(section="answer", text="é", id=5, tokens=2), finished(counted="shared")):
        assert decode_event(encode_event(event)) == event
    old = encode_event(finished()).replace(b',"counted":"answer"', b"")
    assert decode_event(old) == finished()
