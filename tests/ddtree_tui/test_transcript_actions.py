"""The text and its keys: from a token to the round and the node that wrote it, and back."""

from __future__ import annotations

import re

import pytest
from make_recording import Recording, conversation
from playing import Playing, replaying

from ddtree_tui.answer_text import PREFILL
from ddtree_tui.draft_shape import BONUS, ROOT
from ddtree_tui.transcript_lines import Place
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.transcript import Transcript
from engine.events import AnyEvent
from engine.settings import DecodeSettings


def text_of(play: Playing) -> Transcript:
    return play.app.query_one(Transcript)


def tree_of(play: Playing) -> DraftTreeView:
    return play.app.query_one(DraftTreeView)


def shown(play: Playing) -> int | None:
    return play.controller.viewpoint.index(play.rounds)


def chat() -> list[AnyEvent]:
    recording = Recording(1, awkward=0.0)
    events: list[AnyEvent] = [*recording.start()]
    for prompt in ("one", "two"):
        settings = DecodeSettings(thinking=True)
        events += recording.answer(prompt, settings=settings, rounds=20, thinking_rounds=5)
    return events


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_cursor_shows_who_wrote_each_token(size: tuple[int, int]) -> None:
    async with replaying(conversation(1, rounds=12), size=size) as play:
        answer = play.controller.session.answers[0]
        assert answer.text is not None
        await play.pilot.press("r", "home")
        assert play.app.focused is text_of(play)
        await play.settle()
        assert text_of(play).cursor == Place(0, 0)
        assert tree_of(play).look.pointed == ROOT
        assert "the prefill" in play.part("#token-line")
        for index in range(1, len(answer.text)):
            await play.pilot.press("right")
            await play.settle()
            token = answer.text.token(index)
            assert shown(play) == token.round
            round_ = answer.rounds[token.round]
            assert round_.committed_ids[token.place] == token.id
            pointed = tree_of(play).look.pointed
            assert pointed is not None
            if token.place < len(round_.accepted):
                assert round_.nodes.ids[pointed] == token.id
                assert f"drafted at depth {round_.nodes.depths[pointed]}" in play.part("#token-line")
            else:
                assert pointed == BONUS
                assert "★ bonus" in play.part("#token-line")
            assert f"id {token.id} " in play.part("#token-line")
            assert f"round {token.round + 1}" in play.part("#token-line")
            assert "wrote the token" in play.part("#heading")
        await play.pilot.press("right")  # the last one: stays
        assert text_of(play).cursor == Place(0, len(answer.text) - 1)
        await play.pilot.press("escape")
        await play.settle()
        assert text_of(play).cursor is None
        assert tree_of(play).look.pointed is None
        assert not text_of(play).app.query_one("#token-line").display


async def test_the_cursor_goes_by_lines_and_answers() -> None:
    async with replaying(chat()) as play:
        first, second = (len(answer.text) for answer in play.controller.session.answers)  # type: ignore[arg-type]
        await play.pilot.press("r", "home", "left")
        assert text_of(play).cursor == Place(0, first - 1)
        await play.pilot.press("right", "end")
        assert text_of(play).cursor == Place(1, second - 1)
        lines = set()
        for _ in range(60):
            await play.pilot.press("up")
            cursor = text_of(play).cursor
            assert cursor is not None
            lines.add(text_of(play)._lines.line_of(cursor))
        assert text_of(play).cursor.answer == 0  # type: ignore[union-attr]
        made = text_of(play)._lines
        with_tokens = {
            number
            for number in range(len(made))
            for token, *_ in made.line(number).tokens
            if made.line_of(Place(made.line(number).answer, token)) == number
        }
        assert lines | {max(with_tokens)} == with_tokens
        await play.pilot.press("down")
        assert made.line_of(text_of(play).cursor) == sorted(with_tokens)[1]  # type: ignore[arg-type,type-var]


async def test_a_click_selects_a_token_and_enter_goes_to_its_node() -> None:
    async with replaying(chat()) as play:
        await play.pilot.press("home")
        await play.settle()
        lines = play.part("#transcript").split("\n")
        y = next(y for y, line in enumerate(lines) if line.strip().startswith("┆") and "thinking" not in line)
        await play.pilot.click("#transcript", offset=(9, y))
        await play.settle()
        token = text_of(play).token()
        assert token is not None
        answer = play.controller.session.answers[0]
        assert shown(play) == max(0, token.round)
        thinking = answer.text.thinking[token.start : token.end]  # type: ignore[union-attr]
        assert thinking.strip() in lines[y]
        await play.pilot.press("enter")
        await play.settle()
        assert play.app.focused is tree_of(play)
        expected = BONUS if token.place == len(answer.rounds[token.round].accepted) else None
        place = tree_of(play).look.cursor
        assert place is not None
        assert place == expected or answer.rounds[token.round].nodes.ids[place] == token.id


async def test_what_the_shown_round_wrote_is_marked_and_in_view() -> None:
    async with replaying(conversation(4, rounds=150), size=(80, 24)) as play:
        transcript = text_of(play)
        answer = play.controller.session.answers[0]
        assert answer.text is not None
        for index in (0, 75, 120, 30, 149):
            play.controller.show(index)
            play.app.changed()
            await play.settle()
            tokens = answer.text.of_round(index)
            lines = [transcript._lines.line_of(Place(0, token)) for token in tokens]
            top, height = transcript.scroll_offset.y, transcript.size.height
            assert all(line is not None and top <= line < top + height for line in lines)
            marked = [
                drawn.text[start:end]
                for drawn in (transcript._lines.line(n) for n in range(len(transcript._lines)))
                for token, start, end in drawn.tokens
                if "mark" in transcript._roles(drawn, token)
            ]
            pieces = [answer.text.token(token) for token in tokens]
            texts = [answer.text.answer[piece.start : piece.end] for piece in pieces]
            assert len(marked) >= len([text for text in texts if text.strip()])


async def test_ids_bytes_and_control_tokens_are_seen_on_demand() -> None:
    async with replaying(chat(), size=(120, 60)) as play:
        answer = play.controller.session.answers[1]
        assert answer.text is not None
        assert "</think>" not in play.part("#transcript")
        await play.pilot.press("r", "escape", "v")
        await play.settle()
        assert "every token" in play.part("#token-line")
        assert "</think>" in play.part("#transcript")
        assert "<|im_end|>" in play.part("#transcript")
        assert "␣" in play.part("#transcript")
        await play.pilot.press("v")
        await play.settle()
        seen = re.findall(r"\d+", play.part("#transcript").split("❯ two")[1].split("ended")[0])
        ids = [answer.text.token(index).id for index in range(len(answer.text))]
        assert [int(word) for word in seen] == ids
        await play.pilot.press("v")
        await play.settle()
        assert "hexadecimal" in play.part("#token-line")
        assert answer.text.vocabulary.token_bytes(ids[3]).hex() in play.part("#transcript")
        await play.pilot.press("v")
        await play.settle()
        assert "</think>" not in play.part("#transcript")


async def test_tints_have_a_legend_and_signs() -> None:
    async with replaying(chat()) as play:
        await play.pilot.press("r", "escape", "b")
        await play.settle()
        assert "drafted at depth" in play.part("#token-line")
        assert "★" not in play.part("#transcript")
        roles = {
            role
            for n in range(len(text_of(play)._lines))
            for token, *_ in text_of(play)._lines.line(n).tokens
            for role in text_of(play)._roles(text_of(play)._lines.line(n), token)
        }
        assert {"near", "bonus", "first"} <= roles
        await play.pilot.press("b")
        await play.settle()
        assert "★ bonus" in play.part("#token-line")
        assert "★" in play.part("#transcript")
        assert "¹" in play.part("#transcript")
        await play.pilot.press("b")
        await play.settle()
        assert "★" not in play.part("#transcript")
        assert not play.app.query_one("#token-line").display


async def test_thinking_folds() -> None:
    async with replaying(chat(), size=(120, 60)) as play:
        await play.pilot.press("z", "z")
        await play.settle()
        assert play.part("#transcript").count("┆ thinking") == 2
        before = play.part("#transcript").count("┆")
        await play.pilot.press("r", "escape", "o")
        await play.settle()
        assert play.part("#transcript").count("▸ thinking, ") == 2
        assert play.part("#transcript").count("┆") == 2
        await play.pilot.press("o")
        await play.settle()
        assert play.part("#transcript").count("┆") == before
        y = next(y for y, line in enumerate(play.part("#transcript").split("\n")) if "┆ thinking" in line)
        await play.pilot.click("#transcript", offset=(6, y))
        await play.settle()
        assert play.part("#transcript").count("▸ thinking, ") == 1
        play.controller.show(0)
        play.app.changed()
        await play.settle()
        await play.pilot.press("r")  # a token that is folded away: its section's title stands for it
        assert text_of(play).cursor is not None
        answer = play.controller.session.answers[0]
        assert answer.text is not None
        assert answer.text.token(text_of(play).cursor.token).round in (PREFILL, 0)


async def test_lines_that_are_kept_are_what_would_be_drawn_anew() -> None:
    events = [
        *Recording(3, awkward=0.4).start(),
        *Recording(3, awkward=0.4).answer("one", rounds=7, settings=DecodeSettings(thinking=True)),
        *Recording(4, awkward=0.4).answer("two", rounds=5),
    ]
    async with replaying(events, at_once=False, size=(70, 24)) as play:
        await play.pilot.press("H")  # the clock waits for every round
        transcript = play.app.query_one(Transcript)
        kept = 0
        for key in (*["right"] * 5, *["left"] * 3, *["right"] * 6, "b", *["right"] * 4, "home", "end"):
            before = dict(transcript._strips)
            await play.pilot.press(key)
            await play.settle()
            for line, strip in transcript._strips.items():
                assert strip == transcript.draw_line(line), (key, line)
                kept += strip is before.get(line)
        assert play.rounds == 12
        assert kept > 10
