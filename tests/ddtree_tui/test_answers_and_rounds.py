"""The run model: everything shown is derived from events."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest
from make_recording import END_THINK, IM_END, VOCABULARY, Recording, conversation, loaded, spelled, token_id

from ddtree_tui.answer_text import PREFILL, AnswerText
from ddtree_tui.ending import ending
from ddtree_tui.labels import Labels
from ddtree_tui.session import Phase, Session
from ddtree_tui.viewpoint import Viewpoint
from ddtree_tui.vocabulary import SeenVocabulary
from engine.events import Failed, Finished, Prefilled, Round, Tokens
from engine.settings import DecodeSettings, Mode


def play(events: list) -> Session:
    session = Session()
    for event in events:
        session.apply(event)
    return session


@pytest.mark.parametrize("mode", ["ar", "chain", "tree"])
@pytest.mark.parametrize("thinking", [True, False])
def test_totals_are_the_engines(mode: Mode, thinking: bool) -> None:
    events = conversation(1, rounds=30, mode=mode, thinking=thinking)
    finished = events[-1]
    assert isinstance(finished, Finished)
    session = play(events[:-1])
    assert session.phase is Phase.RUNNING
    answer = session.answer
    assert answer is not None
    collected = answer.statistics
    assert answer.tokens == finished.tokens
    assert collected.acceptance.rounds == finished.rounds == len(session.rounds)
    assert collected.acceptance.mean == pytest.approx(finished.mean_acceptance_length)
    assert collected.speed.mean == pytest.approx(finished.tokens_per_second)
    assert collected.acceptance.histogram == finished.acceptance_histogram
    assert collected.stages.ms["verify"] == pytest.approx(finished.ms.verify)
    session.apply(finished)
    assert session.phase is Phase.READY
    assert answer.text is not None
    assert answer.text.answer == finished.text
    assert answer.text.thinking.strip("\r\n") == finished.thinking_text.strip("\r\n")
    assert bool(answer.text.thinking) == thinking


def test_every_character_belongs_to_one_round() -> None:
    session = play(conversation(2, rounds=25))
    answer = session.answers[0]
    assert answer.text is not None
    covered: dict[str, list[tuple[int, int]]] = {"thinking": [], "answer": []}
    for number in range(PREFILL, len(answer.rounds)):
        for stretch in answer.text.stretches(number):
            covered[stretch.section].append((stretch.start, stretch.end))
    for section, text in (("thinking", answer.text.thinking), ("answer", answer.text.answer)):
        place = 0
        for start, end in covered[section]:
            assert start == place
            assert end > start
            place = end
        assert place == len(text)


def prefilled(first: int, *, thinking: bool = False, stop: tuple[str, ...] = ()) -> Prefilled:
    return Prefilled(
        prompt_ids=[1],
        prompt_text="<think>\n" if thinking else "x",
        messages=[{"role": "user", "content": "hello"}],
        thinking=thinking,
        settings=DecodeSettings(thinking=thinking, stop=stop),
        stop_ids=[IM_END],
        seconds=0.0,
        first_id=first,
    )


def full_vocabulary() -> SeenVocabulary:
    vocabulary = SeenVocabulary()
    vocabulary.add(spelled(list(range(len(VOCABULARY)))))
    return vocabulary


def test_half_a_character_waits_for_the_rest() -> None:
    text = AnswerText(full_vocabulary(), prefilled(token_id("a")))
    text.push([token_id("a"), token_id("界".encode()[:2])], PREFILL)
    assert (text.answer, text.pending) == ("a", "界".encode()[:2])
    text.push([token_id("界".encode()[2:])], 0)
    assert (text.answer, text.pending) == ("a界", b"")
    (stretch,) = text.stretches(0)
    assert (stretch.start, stretch.end) == (1, 2)


def test_half_a_character_at_the_end_is_kept_visible() -> None:
    text = AnswerText(full_vocabulary(), prefilled(token_id("a")))
    text.push([token_id("🙂".encode()[:3])], 0)
    text.close()
    assert text.answer == "\ufffd"


def test_thinking_ends_where_the_tag_is() -> None:
    text = AnswerText(full_vocabulary(), prefilled(token_id("a"), thinking=True))
    text.push([token_id("a"), END_THINK, token_id("b")], 0)
    assert (text.thinking, text.answer, text.section) == ("a", "b", "answer")
    assert [stretch.section for stretch in text.stretches(0)] == ["thinking", "answer"]


@pytest.mark.parametrize(
    ("reason", "thinking_rounds", "said"),
    [
        (
            "length",
            20,
            ["cut at max-new-tokens while thinking · ", "It came to no answer: raise max new tokens"],
        ),
        ("stop", 20, ["ended by itself while thinking · ", "It wrote no answer: turn thinking off"]),
        ("cancelled", 20, ["stopped while thinking · "]),
        ("length", 2, ["cut at max-new-tokens · "]),
    ],
)
def test_an_answer_that_ends_while_thinking_says_so(
    reason: Literal["stop", "length", "cancelled"], thinking_rounds: int, said: list[str]
) -> None:
    session = Session()
    settings = DecodeSettings(thinking=True)
    events = Recording(1).answer("hello", settings=settings, rounds=8, thinking_rounds=thinking_rounds)
    for event in [*Recording(1).start(), *events]:
        session.apply(msgspec.structs.replace(event, reason=reason) if isinstance(event, Finished) else event)
    answer = session.answers[0]
    lines = ending(answer).split("\n")
    assert [line[: len(what)] for line, what in zip(lines, said, strict=True)] == said


def test_a_stop_string_cuts_the_text_and_its_marks() -> None:
    text = AnswerText(full_vocabulary(), prefilled(token_id("a"), stop=("xt dr",)))
    text.push([token_id("a"), token_id(" text")], 0)
    text.push([token_id(" draft"), token_id("b")], 1)
    assert text.answer == "a te"
    assert [(s.start, s.end) for s in text.stretches(0)] == [(0, 4)]
    assert text.stretches(1) == []


def test_labels_know_unknown_ids() -> None:
    vocabulary = SeenVocabulary()
    labels = Labels(vocabulary)
    assert labels(5) == ("#5", 2)
    vocabulary.add(Tokens(pieces={"5": " the"}))
    assert labels(5) == ("␣the", 4)


def test_a_conversation_of_two_answers() -> None:
    recording = Recording(4)
    first = list(recording.answer("one", rounds=4))
    finished = first[-1]
    assert isinstance(finished, Finished)
    second = list(
        recording.answer(
            "two",
            rounds=3,
            history=(
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": finished.text},
            ),
        )
    )
    session = play([*recording.start(), *first, *second])
    assert [answer.prompt for answer in session.answers] == ["one", "two"]
    assert [answer.first_round for answer in session.answers] == [0, 4]
    assert len(session.rounds) == 7
    messages = session.messages()
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant"]
    assert messages[1]["content"] == finished.text
    session.forget_answers()
    assert session.messages() == []
    assert session.labels(token_id("a"))[0] == "a"


def test_a_failed_answer_stays_on_the_screen_and_out_of_the_conversation() -> None:
    session = play([loaded(), spelled(list(range(len(VOCABULARY))))])
    session.ask("too long", DecodeSettings())
    session.apply(Failed(error="prompt_too_long", message="The prompt is too long.", hint="Shorten it."))
    assert session.phase is Phase.READY
    assert session.answers[0].failed is not None
    assert session.messages() == []


def test_a_dead_engine_keeps_text_and_rounds() -> None:
    session = play(conversation(1, rounds=10)[:-3])
    before = len(session.rounds)
    session.apply(Failed(error="engine_died", message="The engine was killed.", hint="Start it again."))
    assert session.phase is Phase.BROKEN
    assert session.loaded is None
    assert len(session.rounds) == before > 0
    session.engine_restarted()
    assert session.phase is Phase.LOADING
    session.apply(loaded())
    assert session.phase is Phase.READY


def test_rounds_without_an_answer_are_left_out() -> None:
    rounds = [event for event in conversation(1, rounds=3) if isinstance(event, Round)]
    assert len(play(list(rounds)).rounds) == 0


def test_viewpoint() -> None:
    view = Viewpoint()
    assert view.index(0) is None
    view.move(-1, 0)
    assert view.following
    assert view.index(10) == 9
    view.move(-1, 10)
    assert (view.index(10), view.index(12), view.following) == (8, 8, False)
    view.move(-100, 12)
    assert view.index(12) == 0
    view.move(11, 12)
    assert (view.index(12), view.following) == (11, True)
    view.move(1, 12)
    assert view.following
    view.choose(5, 12)
    assert view.index(3) == 2
    view.follow()
    assert view.index(12) == 11


def test_rounds_of_all_answers_are_behind_one_another() -> None:
    recording = Recording(0)
    session = Session()
    first = list(recording.answer("a", rounds=3))
    third = list(recording.answer("c", rounds=2))
    for event in [*recording.start(), *first]:
        session.apply(event)
    session.ask("b", DecodeSettings())  # fails before its first round
    session.apply(Failed(error="out_of_memory", message="No memory."))
    for event in third:
        session.apply(event)
    rounds = [event for event in [*first, *third] if isinstance(event, Round)]
    assert [round_ for _, round_ in session.rounds] == rounds
    assert [answer.prompt for answer, _ in session.rounds] == ["a"] * 3 + ["c"] * 2
    assert session.rounds.place(4) == (session.answers[2], 1)
    assert session.rounds[-1] == session.rounds[4]
    assert session.rounds[3:] == [session.rounds[3], session.rounds[4]]
    with pytest.raises(IndexError):
        session.rounds[5]
    session.forget_answers()
    assert len(session.rounds) == 0
